"""Rows of a file as samples: columns are put side by side, labels become class indices, and gaps
(missing values) are an error, or their rows are dropped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError, nearest
from calibrant._core.messages import find_note, name_of, setting
from calibrant._core.texts import message
from calibrant._core.typing import Index, Mask
from calibrant._data.answers import as_answers
from calibrant._data.checks import describe
from calibrant._data.counts import COUNTED, COUNTED_BESIDE, NOT_COUNTED, ONE_HOT, BadCount
from calibrant._data.explain import explain, first_bad_row
from calibrant._data.labels import (
    Lookup,
    are_indices,
    checked_class_names,
    note_on_labels,
    short_repr,
)
from calibrant._data.readers.chunks import Chunk, Column, Field, Location, Names, plain_number
from calibrant._data.readers.columns import ColumnMapping, ColumnSpec
from calibrant._data.readers.confidences import (
    ALL_ROWS,
    IN_WORDS,
    OVERRULED,
    UNANSWERED,
    correctness_column,
)
from calibrant._data.readers.csv_errors import EMPTY
from calibrant._data.readers.find import File
from calibrant._data.readers.written import (
    PLAIN,
    Written,
    compare_answers,
    number_column,
    probabilities,
)
from calibrant._data.samples import BadRow, Samples
from calibrant._data.to_samples import to_samples


@dataclass(frozen=True, eq=False)
class Batch:
    """The rows of a chunk of a file, as arrays; rows with missing values may have been dropped.
    `by` are the columns that are read as text.
    """

    chunk: Chunk
    y_true: NDArray[Any]
    y_proba: NDArray[Any]
    sample_weight: NDArray[Any] | None
    votes: NDArray[Any] | None
    by: tuple[Names, ...]
    # The numbers within the chunk of these rows, None if none was dropped; and how many were
    # dropped.
    rows: Index | None = None
    n_missing: int = 0
    # The columns of `by` in the rows that were dropped.
    by_dropped: tuple[Names, ...] = ()
    # A note on how labels were read; None if no classes are known.
    taken: str | None = None
    # How many confidences of all rows of the chunk were written in which form.
    forms: Counter[str] = field(default_factory=Counter)

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.y_proba.shape[0])

    @property
    def file(self) -> File:
        """The file that these rows are of."""
        return self.chunk.location.file

    def samples(
        self, from_logits: bool, class_names: tuple[str, ...] | None, *, in_memory: bool = False
    ) -> Samples:
        """These rows as samples; raise InputError, with the place in the file, if shapes or types
        are wrong.

        `in_memory` says that all rows are to be looked at together later, so that labels which
        could be shares or counts of votes are no error here.
        """
        try:
            checked = to_samples(
                self.y_true,
                self.y_proba,
                self.sample_weight,
                from_logits,
                votes=self.votes,
                stream=not (in_memory and self.votes is not None),
            )
        except BadCount as bad:
            row, location = self._row_in_chunk(bad.row), self.chunk.location
            message = bad.message(bad.template, location.number(row))
            raise InputError(f"{location.row(row)}: {message}") from None
        except InputError as error:
            raise InputError(f"{self.file}: {error}") from None
        inferred = describe(
            "logits" if from_logits else "probabilities",
            checked.n_columns if checked.multiclass else None,
            soft_rows=checked.soft_rows,
            label_note=self.taken,
            votes_note=find_note(checked.inferred, COUNTED, COUNTED_BESIDE, ONE_HOT, NOT_COUNTED),
            answers=checked.answers,
        )
        return replace(
            checked, class_names=class_names, n_missing=self.n_missing, inferred=inferred
        )

    def _row_in_chunk(self, row: int) -> int:
        """The number within the chunk of a row of this batch; dropped rows are counted
        there too.
        """
        return int(row if self.rows is None else self.rows[row])

    def error_of_row(self, samples: Samples, bad: int) -> InputError:
        """The error for row `bad` of this batch, which no measure can take, with its place in the
        file.
        """
        row, location = self._row_in_chunk(bad), self.chunk.location
        return InputError(
            f"{location.row(row)}: {explain(samples, bad, shown=location.number(row))}"
        )

    @contextmanager
    def explained(self, samples: Samples) -> Iterator[None]:
        """Inside the block, turn a BadRow into an InputError that says where in the file the row
        is, and what is wrong with it.
        """
        try:
            yield
        except BadRow as bad:
            raise self.error_of_row(samples, first_bad_row(samples, bad.row)) from None


def batch_of(
    chunk: Chunk,
    chosen: ColumnMapping,
    *,
    missing: str,
    as_double: bool,
    written: Written,
    refusals: str | None = None,
) -> Batch:
    """The rows of a chunk as arrays of predictions, class indices, weights and votes.

    With `missing` "error" a row with a missing value is an InputError; with "drop" it is dropped.
    With `refusals`, a row without a prediction is "excluded", or "wrong" at confidence 0.
    `as_double`: predictions become float64. `written` says how predictions are written (as
    probabilities, in percent, in words).
    """
    predictions, forms = _predictions(chunk, chosen, written)
    labels = _labels(chunk, chosen, predictions)
    targets, taken = class_indices(chunk.location, labels, chosen, predictions)
    refused = _missing_rows(predictions) if refusals is not None else np.zeros(0, dtype=np.bool_)
    forms[UNANSWERED] += int(np.count_nonzero(refused))
    forms[ALL_ROWS] += chunk.n_rows
    if refusals == "wrong":
        forms[OVERRULED] += int(np.count_nonzero(targets.values[refused] > 0))
        predictions, targets = (_zero_where(refused, each) for each in (predictions, targets))
    parts = {"y_proba": predictions, "y_true": targets}
    for argument, name in chosen.numbers.items():
        column = chunk.columns[Field(name, "number")]
        assert isinstance(column, Column)
        parts[argument] = column
    values = predictions.values
    if as_double:
        values = values.astype(np.float64, copy=False)
    by = tuple(chunk.columns[Field(name, "text")] for name in chosen.by)
    batch = Batch(
        chunk,
        as_answers(targets.values) if chosen.answers else targets.values,
        values,
        parts["sample_weight"].values if "sample_weight" in parts else None,
        parts["votes"].values if "votes" in parts else None,
        tuple(names for names in by if isinstance(names, Names)),
        taken=taken,
        forms=forms,
    )
    gone = refused if refusals == "excluded" else np.zeros(chunk.n_rows, dtype=np.bool_)
    for argument, column in parts.items():
        if missing == "error":
            answers = written.auto and argument == "y_proba"
            _check_no_gaps(chunk, argument, column, gone, answers=answers)
        else:
            gone = gone | _missing_rows(column)
    return _drop_rows(batch, gone) if gone.any() else batch


def _predictions(
    chunk: Chunk, chosen: ColumnMapping, written: Written
) -> tuple[Column, Counter[str]]:
    """The predictions of a chunk, (n,) or (n, k), and how many were written in which form.
    Percentages, words and log-probabilities are converted to probabilities; logits stay.
    """
    spec, forms = chosen.y_proba, Counter[str]()
    columns = [chunk.columns[Field(name, chosen.proba_role)] for name in spec.names]
    if written != PLAIN:
        for i, name in enumerate(spec.names):
            columns[i], found = number_column(chunk.location, name, columns[i], written)
            forms += found
    together = _stack_columns(chunk.location.file, spec, columns)
    assert isinstance(together, Column)
    return probabilities(chunk.location, together) if written.logprobs else together, forms


def _labels(chunk: Chunk, chosen: ColumnMapping, predictions: Column) -> Column | Names:
    """The labels of a chunk, as numbers or names. If answers are compared with right answers, 1 for
    a right and 0 for a wrong one.
    """
    file = chunk.location.file
    columns = [chunk.columns[Field(name, chosen.label_role)] for name in chosen.y_true.names]
    if not chosen.compared:
        return _stack_columns(file, chosen.y_true, columns)
    if predictions.values.ndim == 2:
        raise InputError(
            f"{file}: {name_of('answer')} and {name_of('gold')} say whether the answer was right, "
            "which needs one confidence a row; y_proba has several columns: give labels as class "
            "indices (y_true)"
        )
    answer, gold = columns
    assert isinstance(answer, Names) and isinstance(gold, Names)
    return compare_answers(answer, gold)


def _stack_columns(file: File, spec: ColumnSpec, columns: list[Column | Names]) -> Column | Names:
    """The columns as one of shape (n, k), if there is one for each class (`spec.stacked`), in which
    a row is missing where one of them is; else the first column itself.
    """
    if not spec.stacked:
        return columns[0]
    plain = [column for column in columns if isinstance(column, Column)]
    for name, column in zip(spec.names, columns, strict=True):
        if isinstance(column, Names):
            raise InputError(f"{file}: the column {name!r} holds text: it must be numbers")
        if column.values.ndim != 1:
            raise InputError(
                f"{file}: the column {name!r} holds lists: name it alone, as text, not in a list"
            )
    gaps = [column.gaps for column in plain if column.gaps is not None]
    together = np.logical_or.reduce(gaps) if gaps else None
    return Column(np.column_stack([column.values for column in plain]), together)


def _zero_where(rows: Mask, column: Column) -> Column:
    """A column with 0 in the rows of a mask, which are no gaps then."""
    values = np.where(rows, column.values.dtype.type(0), column.values)
    return Column(values, None if column.gaps is None else column.gaps & ~rows)


def _check_no_gaps(
    chunk: Chunk, argument: str, column: Column, gone: Mask, *, answers: bool
) -> None:
    """Raise InputError if a column has missing values, but for the rows that are `gone` anyway,
    with the place of the first. `argument` is the argument that the column stands for; for
    confidences of `answers`, the message also names the rules for refusals.
    """
    gaps = np.zeros(0, dtype=np.bool_) if column.gaps is None else column.gaps & ~gone
    if not gaps.any():
        return
    first = int(np.argmax(gaps))
    text = message(
        "missing",
        location=chunk.location.row(first),
        argument=argument,
        others=np.count_nonzero(gaps) - 1,
        n=chunk.n_rows,
    )
    if answers:
        ways = [setting("refusals", rule) for rule in ("excluded", "wrong")]
        text += f". For answers without a confidence there are {' and '.join(ways)}"
    raise InputError(text)


def _missing_rows(column: Column) -> Mask:
    """A mask (n,) of the rows in which a column is null or NaN."""
    gone = np.zeros(column.values.shape[0], dtype=np.bool_) if column.gaps is None else column.gaps
    if column.values.dtype.kind == "f":
        nan = np.isnan(column.values)
        gone = gone | (nan if nan.ndim == 1 else nan.any(axis=1))
    return gone


def _drop_rows(batch: Batch, gone: Mask) -> Batch:
    """The batch without the rows in the mask `gone`. The names that these rows have in the columns
    `by` go to `by_dropped`.
    """
    kept = np.flatnonzero(~gone)
    weights = batch.sample_weight
    return replace(
        batch,
        y_true=batch.y_true[kept],
        y_proba=batch.y_proba[kept],
        sample_weight=None if weights is None else weights[kept],
        votes=None if batch.votes is None else batch.votes[kept],
        by=tuple(Names(names.codes[kept], names.known) for names in batch.by),
        rows=kept,
        n_missing=int(gone.size - kept.size),
        by_dropped=tuple(Names(names.codes[gone], names.known) for names in batch.by),
    )


# Formats in which people type: text may write a number, or stand for a missing value.
_TYPED = ("csv", "excel")


def class_indices(
    location: Location, labels: Column | Names, chosen: ColumnMapping, predictions: Column
) -> tuple[Column, str | None]:
    """The class index of each label, and a note on how labels were read. If no classes are known,
    or labels are rows of class probabilities, the labels stay and the note is None.
    """
    multiclass = predictions.values.ndim == 2
    if chosen.classes is None:
        if isinstance(labels, Names) and chosen.answers and not multiclass:
            return correctness_column(location, labels), IN_WORDS
        if isinstance(labels, Names):
            return _numbers_from_names(location, labels), None
        return labels, None
    n_classes = predictions.values.shape[1] if multiclass else 2
    classes = checked_class_names(chosen.classes, n_classes, multiclass)
    if isinstance(labels, Column):
        if labels.values.ndim == 2:
            return labels, None
        # The fields of a record have no order, so a number is no index: labels must be names.
        if chosen.y_proba.record is None and are_indices(labels.values.dtype.kind, classes):
            return labels, note_on_labels(classes, multiclass, indices=True)
        labels = Names.of_numbers(labels)
    names, find = labels, Lookup(classes)

    def index(name: Any) -> int | str | None:
        """The class index of a name; None if the name is missing; the text UNKNOWN if it names no
        class.
        """
        if name is None or name != name:
            return None
        found = find.find(name)
        if found is None and location.file.format in _TYPED and _is_empty(name):
            return None  # text that would be a gap in a column of numbers
        return UNKNOWN if found is None else found

    def unknown(row: int, _: str) -> InputError:
        """The error for a row whose label names no class."""
        return _unknown_label(location.row(row), names.known[names.codes[row]], chosen)

    column = names.as_numbers([index(name) for name in names.known], unknown, np.int64)
    return column, note_on_labels(classes, multiclass, indices=False)


UNKNOWN = "a label that is no class"


def _unknown_label(location: str, label: Any, chosen: ColumnMapping) -> InputError:
    """The error for a label that names no class, with a hint; `location` says where the
    label is.
    """
    known = [str(name) for name in chosen.classes or ()]
    hint = nearest(label, known)
    if chosen.y_proba.record is not None and not isinstance(label, str):
        hint = (
            "the fields of a record are classes by name, so labels must be names too; use one of "
            f"{', '.join(map(repr, known))}"
        )
    if chosen.from_one:
        hint = message("from_one")
    return InputError(
        message("unknown_label", location=location, value=short_repr(label), hint=hint)
    )


def _numbers_from_names(location: Location, labels: Names) -> Column:
    """The labels of a chunk as numbers, where labels came as text and no classes are known. In CSV
    and Excel, text may write numbers, and the first label that writes none is an InputError; in
    other formats any text is an InputError.
    """
    numbers = [plain_number(name) if isinstance(name, str) else None for name in labels.known]
    gone = np.array([_is_empty(name) for name in labels.known], dtype=np.bool_)
    named = np.array([isinstance(name, str) for name in labels.known], dtype=np.bool_) & ~gone
    odd = named & np.array([number is None for number in numbers], dtype=np.bool_)
    if not odd.any() and location.file.format in _TYPED:
        values = np.array([0.0 if number is None else number for number in numbers])
        return Column(values[labels.codes], gone[labels.codes] if gone.any() else None)
    first = int(np.argmax((odd if odd.any() else named)[labels.codes]))
    at, value = location.row(first), repr(labels.known[labels.codes[first]])
    among = np.count_nonzero((named & ~odd)[labels.codes])
    if odd.any() and among > np.count_nonzero(odd[labels.codes]):
        raise InputError(message("named_among", location=at, value=value, n=f"{among:,}"))
    raise InputError(message("named_label", location=at, value=value))


def _is_empty(name: Any) -> bool:
    """Whether a name is missing: None, or a text that stands for no value, such as "" or "NA"."""
    return name is None or (isinstance(name, str) and name.strip() in EMPTY)
