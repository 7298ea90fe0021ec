"""Rows of a file as samples: columns side by side, labels numbered, gaps an error or dropped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError
from calibrant._core.messages import find_note, name_of, setting
from calibrant._data.answers import as_answers
from calibrant._data.checks import inferred_from
from calibrant._data.counts import COUNTED, COUNTED_BESIDE, NOT_COUNTED, ONE_HOT, BadCount
from calibrant._data.explain import explain, first_bad_row
from calibrant._data.readers.chunks import Chunk, Column, Field, Names, location_of
from calibrant._data.readers.columns import ColumnMapping, ColumnSpec
from calibrant._data.readers.find import File
from calibrant._data.readers.named_labels import numbered
from calibrant._data.readers.written import (
    PLAIN,
    Written,
    compared,
    number_column,
    probabilities,
)
from calibrant._data.samples import BadRow, Samples
from calibrant._data.to_samples import to_samples


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows of a file, as arrays."""

    file: File
    chunk: Chunk
    y_true: NDArray[Any]
    y_proba: NDArray[Any]
    sample_weight: NDArray[Any] | None
    votes: NDArray[Any] | None
    by: tuple[Names, ...]
    # Which rows of the chunk these are, if some were dropped; and how many were.
    rows: NDArray[np.intp] | None = None
    n_missing: int = 0
    # The columns of `by` in the rows that were dropped.
    by_dropped: tuple[Names, ...] = ()
    # What labels were taken for, where classes are known.
    taken: str | None = None

    @property
    def n(self) -> int:
        return int(self.y_proba.shape[0])

    def samples(
        self, from_logits: bool, class_names: tuple[str, ...] | None, *, in_memory: bool = False
    ) -> Samples:
        """These rows as samples; shapes and types are checked. Rows that are to be `in_memory` with
        all others are looked at together once more.
        """
        try:
            checked = to_samples(
                self.y_true, self.y_proba, sample_weight=self.sample_weight, votes=self.votes,
                from_logits=from_logits, stream=not (in_memory and self.votes is not None),
            )  # fmt: skip
        except BadCount as bad:
            number = self.number_of(bad.row)
            location = location_of(self.file, number, self.chunk.line)
            raise InputError(f"{location}: {bad.told(bad.template, number)}") from None
        except InputError as error:
            raise InputError(f"{self.file}: {error}") from None
        inferred = inferred_from(
            checked.targets, checked.predictions, from_logits, self.taken,
            find_note(checked.inferred, COUNTED, COUNTED_BESIDE, ONE_HOT, NOT_COUNTED),
            answers=checked.answers,
        )  # fmt: skip
        return replace(
            checked, class_names=class_names, n_missing=self.n_missing, inferred=inferred
        )

    def number_of(self, row: int) -> int:
        """The number of a row within the file, dropped ones counted."""
        return self.chunk.first_row + int(row if self.rows is None else self.rows[row])

    @contextmanager
    def explained(self, samples: Samples) -> Iterator[None]:
        """Turn a bad row into an error that says where in the file it is."""
        try:
            yield
        except BadRow as bad:
            row = first_bad_row(samples, bad.row)
            number = self.number_of(row)
            location = location_of(self.file, number, self.chunk.line)
            raise InputError(f"{location}: {explain(samples, row, shown=number)}") from None


def batch_of(
    file: File,
    chunk: Chunk,
    chosen: ColumnMapping,
    *,
    missing: str,
    as_double: bool,
    written: Written = PLAIN,
) -> Batch:
    """The rows of a chunk in which nothing is missing."""
    predictions = _predictions(file, chunk, chosen, written)
    labels = _labels(file, chunk, chosen, predictions)
    targets, taken = numbered(file, chunk, labels, chosen, predictions)
    parts = {"y_proba": predictions, "y_true": targets}
    if chosen.sample_weight is not None:
        weights = chunk.columns[Field(chosen.sample_weight, "number")]
        assert isinstance(weights, Column)
        parts["sample_weight"] = weights
    if chosen.votes is not None:
        votes = chunk.columns[Field(chosen.votes, "number")]
        assert isinstance(votes, Column)
        parts["votes"] = votes
    values = predictions.values
    if as_double:
        values = values.astype(np.float64, copy=False)
    by = tuple(chunk.columns[Field(name, "text")] for name in chosen.by)
    batch = Batch(
        file,
        chunk,
        as_answers(targets.values) if chosen.answers else targets.values,
        values,
        parts["sample_weight"].values if "sample_weight" in parts else None,
        parts["votes"].values if "votes" in parts else None,
        tuple(names for names in by if isinstance(names, Names)),
        taken=taken,
    )
    if missing == "error":
        for argument, column in parts.items():
            _check_no_gaps(file, chunk, argument, column)
        return batch
    gone = np.zeros(chunk.n_rows, dtype=np.bool_)
    for column in parts.values():
        gone |= _gaps(column)
    return _without(batch, gone) if gone.any() else batch


def _predictions(file: File, chunk: Chunk, chosen: ColumnMapping, written: Written) -> Column:
    """Predictions as probabilities, or as logits."""
    spec = chosen.y_proba
    columns = [chunk.columns[Field(name, chosen.proba_role)] for name in spec.names]
    if written != PLAIN:
        columns = [
            number_column(file, chunk, name, column, written)
            for name, column in zip(spec.names, columns, strict=True)
        ]
    together = _side_by_side(file, spec, columns)
    assert isinstance(together, Column)
    return probabilities(file, chunk, together, written)


def _labels(file: File, chunk: Chunk, chosen: ColumnMapping, predictions: Column) -> Column | Names:
    columns = [chunk.columns[Field(name, chosen.label_role)] for name in chosen.y_true.names]
    if not chosen.compared:
        return _side_by_side(file, chosen.y_true, columns)
    if predictions.values.ndim == 2:
        raise InputError(
            f"{file}: {name_of('answer')} and {name_of('gold')} say whether the answer was right, "
            "which needs one confidence a row; y_proba has several columns: give labels as class "
            "indices (y_true)"
        )
    answer, gold = columns
    assert isinstance(answer, Names) and isinstance(gold, Names)
    return compared(answer, gold)


def _side_by_side(file: File, spec: ColumnSpec, columns: list[Column | Names]) -> Column | Names:
    """One column as it is, or several as one with one column per class."""
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


def _check_no_gaps(file: File, chunk: Chunk, argument: str, column: Column) -> None:
    if column.gaps is None or not column.gaps.any():
        return
    first = chunk.first_row + int(np.argmax(column.gaps))
    raise InputError(
        f"{location_of(file, first, chunk.line)}: {argument} is missing, here and in "
        f"{np.count_nonzero(column.gaps) - 1} more of the {chunk.n_rows} rows read with it: fix "
        "these rows, or drop such rows and have them counted with "
        f"{setting('missing', 'drop')}"
    )


def _gaps(column: Column) -> NDArray[np.bool_]:
    """The rows with a null, or with NaN."""
    gone = np.zeros(column.values.shape[0], dtype=np.bool_) if column.gaps is None else column.gaps
    if column.values.dtype.kind == "f":
        nan = np.isnan(column.values)
        gone = gone | (nan if nan.ndim == 1 else nan.any(axis=1))
    return gone


def _without(batch: Batch, gone: NDArray[np.bool_]) -> Batch:
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
