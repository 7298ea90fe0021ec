"""Columns of a lazy frame as samples that stay in its engine."""

from __future__ import annotations

import sys
from functools import reduce
from operator import add
from typing import Any

import narwhals as nw

from calibrant._core.errors import InputError
from calibrant._core.messages import setting
from calibrant._core.texts import message
from calibrant._core.validation import is_number
from calibrant._data.answers import are_answers
from calibrant._data.checks import describe
from calibrant._data.columns import check_different_columns, checked_column_names
from calibrant._data.counts import COUNTED, COUNTED_BESIDE, note_undecided, vote_note
from calibrant._data.frame_samples import FrameSamples, Labels, column_of
from calibrant._data.input import Input
from calibrant._data.labels import Lookup, are_indices, are_truths, note_on_labels, number_of
from calibrant._data.links import HALF_ROW_SUM_TOLERANCE, ROW_SUM_TOLERANCE

# Fractions among labels are looked for in this many first rows.
_FEW = 256
# The name of the column that is added if the number of votes is the same for all rows.
_EVERY_ROW = "calibrant votes of every row"
# The most distinct texts of labels that are collected; classes do not have more spellings.
_MOST_TEXTS = 10_000


class FrameInput(Input[FrameSamples]):
    """The adapter of a lazy frame: its columns are checked by name and type, and stay in its
    engine. Rows are read only by small queries that find out how labels are written.
    """

    # Values of the column of labels, each with its class index; None if it holds class indices.
    labels: Labels | None = None
    # The columns whose sum is a row's number of votes, if labels are vote counts; and a column that
    # must have the same number.
    vote_columns: tuple[str, ...] = ()
    stated_votes: str | None = None

    def __init__(self, data: Any) -> None:
        """Store the lazy frame that has the arguments as columns, and ask for its schema."""
        self.data = data
        self.frame: Any = nw.from_native(data)
        self.schema = self.frame.collect_schema()

    def read(
        self, y_true: Any, y_proba: Any, sample_weight: Any, votes: Any, *, drop: bool
    ) -> None:
        """Store the names of columns, and check that the columns exist and that predictions are
        numbers. `drop`: rows in which a value is missing are to be dropped when they are summed.
        """
        check_different_columns(y_true, y_proba)
        self.predictions = self.column_names = named_columns(y_proba, "y_proba", self.schema)
        self.targets = named_columns(y_true, "y_true", self.schema)
        if sample_weight is not None:
            self.weights = named_columns(sample_weight, "sample_weight", self.schema)
        self.votes, self.drop = votes, drop
        if not isinstance(y_proba, str):
            self.n_columns, self.class_names = len(self.predictions), self.predictions
        self._check_counts()
        for name in self.predictions:
            self._check_number(name, "y_proba")
        self.answers = self.n_columns is None and are_answers(y_true, self.data)

    def exponentiate(self) -> None:
        """Replace one column of log-probabilities by their exp. Several columns stay: their
        softmax, which is taken later, is the same as that of logits.
        """
        if self.n_columns is None:
            (name,) = self.predictions
            self._set_frame(self.frame.with_columns(self._doubles(name).exp().alias(name)))

    def encode(self, classes: list[Any], *, are_indices: bool) -> None:
        """Find which values of the column of labels stand for which class, and note how labels were
        read. Labels in several columns, or labels that are class indices already (`are_indices`),
        stay.
        """
        if len(self.targets) == 1 and not are_indices:
            (name,) = self.targets
            self.labels = _class_values(self.frame, name, self.schema, classes)
            self.label_note = note_on_labels(
                classes, self.n_columns is not None, self.labels is None
            )

    def read_labels(self, stream: bool) -> None:
        """Check that labels and votes are numbers, and find out whether labels are counts of votes.
        `stream`: the rows are one part of many.
        """
        if self.labels is None:
            for name in self.targets:
                self._check_number(name, "y_true")
        if self.votes is not None:
            if isinstance(self.votes, str):
                (self.votes,) = named_columns(self.votes, "votes", self.schema)
            self._check_votes()
        if self.labels is None:
            self._read_counts(stream)

    def read_weights(self) -> None:
        """Raise InputError unless the column of weights holds numbers."""
        for name in self.weights:
            self._check_number(name, "sample_weight")

    def check_logits(self, stream: bool) -> None:
        """Do nothing: logits in a frame are not looked at before they are summed."""

    def samples(self) -> FrameSamples:
        """The samples: the names and the meaning of the columns, with notes on how the input was
        read.
        """
        multiclass, soft_rows = self.n_columns is not None, len(self.targets) > 1
        kind = "logits" if self.logits else "probabilities"
        notes = describe(
            "log-probabilities" if self.logprobs else kind,
            self.n_columns,
            soft_rows=soft_rows,
            label_note=self.label_note,
            votes_note=self.votes_note,
            answers=self.answers,
        )
        one_class_each = multiclass or self.labels is not None or self._is_whole(self.targets[0])
        prediction_types = [self.schema[name] for name in self.predictions]
        return FrameSamples(
            self.frame,
            self.predictions,
            self.targets,
            self.weights[0] if self.weights else None,
            multiclass=multiclass,
            from_logits=self.logits or (self.logprobs and multiclass),
            labels=self.labels,
            class_names=self.class_names,
            inferred=(*notes, f"summed in {self.frame.implementation.value}"),
            rounded_to=_array_type(prediction_types),
            hard=one_class_each and not soft_rows and not self.vote_columns,
            missing="drop" if self.drop else "error",
            row_sum_tolerance=_sum_tolerance(prediction_types),
            label_sum_tolerance=_sum_tolerance([self.schema[name] for name in self.targets]),
            vote_columns=self.vote_columns,
            stated_votes=self.stated_votes,
            voted=bool(self.vote_columns) or self.votes is not None,
            answers=self.answers,
        )

    def _set_frame(self, frame: Any) -> None:
        """Replace the frame by another, and store its schema."""
        self.frame, self.schema = frame, frame.collect_schema()

    def _is_whole(self, name: str) -> bool:
        """Whether the type of a column holds only whole numbers or truth values."""
        dtype = self.schema[name]
        return bool(dtype.is_integer() or dtype == nw.Boolean)

    def _check_counts(self) -> None:
        """Raise InputError unless y_true, y_proba and sample_weight name as many columns as fit
        together.
        """
        predictions, targets = self.predictions, self.targets
        multiclass = self.n_columns is not None
        if multiclass and len(predictions) < 2:
            raise InputError(
                f"y_proba names {len(predictions)} columns: one column is one class, but at least "
                "two are needed. For a binary problem give the name itself, not a list of it"
            )
        if len(targets) > 1 and not multiclass and len(targets) != 2:
            raise InputError(
                f"y_true names {len(targets)} columns while y_proba names one: binary predictions "
                "need one column of targets, or vote counts for both classes in two. If there are "
                "several classes, name a column of y_proba for each; the order is (y_true, "
                "y_proba)"
            )
        if not targets or (multiclass and len(targets) > 1 and len(targets) != len(predictions)):
            raise InputError(message("same_classes", n=len(targets), k=len(predictions)))
        if self.weights is not None and len(self.weights) != 1:
            raise InputError(f"sample_weight must name one column; it names {len(self.weights)}")

    def _check_votes(self) -> None:
        """Raise InputError unless `votes` is a column of numbers, or one whole number of at least
        1.
        """
        votes = self.votes
        if is_number(votes) and votes >= 1 and float(votes).is_integer():
            return
        if not isinstance(votes, str):
            raise InputError(
                "with a lazy frame, votes must be a column's name, or a whole number of at least 1 "
                f"for all rows; got {votes if is_number(votes) else type(votes).__name__}"
            )
        if not self.schema[votes].is_numeric():
            raise InputError(
                f"votes must be numbers; the column {votes!r} holds {self.schema[votes]}"
            )

    def _read_counts(self, stream: bool) -> None:
        """Find out by small queries whether targets are counts of votes, and if so note it.
        `stream`: the rows are one part of many, so that labels which could be shares or counts are
        an InputError.
        """
        votes, targets, multiclass = self.votes, self.targets, self.n_columns is not None
        if is_number(votes):
            self._set_frame(self.frame.with_columns(**{_EVERY_ROW: nw.lit(float(votes))}))
            votes = _EVERY_ROW
        if not all(self.schema[name].is_numeric() for name in targets):
            return
        if len(targets) > 1 and multiclass:
            total = reduce(add, map(self._doubles, targets))
            # The limit is 1.5, because sums of shares may be slightly above 1.
            several = (total > 1.5) & total.is_finite()
            if not self._has_fraction(targets) and self._has_row(several):
                self._take_as_counts(COUNTED, targets, votes)
        elif len(targets) > 1:  # votes for class 0 and for class 1
            self._take_as_counts(COUNTED, targets, votes)
            self.targets = targets[1:]
        elif votes is not None and not multiclass:
            if self._has_above_one(targets[0]):
                self._take_as_counts(COUNTED_BESIDE, (votes,))
            elif not self._has_fraction(targets) and self._has_above_one(votes):
                self.votes_note = note_undecided(stream)

    def _take_as_counts(
        self, code: str, vote_columns: tuple[str, ...], stated: str | None = None
    ) -> None:
        """Note that targets are counts of votes; `code` is the code of the note. The columns
        `vote_columns` sum to a row's number of votes, which the column `stated`, if it is not None,
        must equal.
        """
        self.votes_note = vote_note(code)
        self.vote_columns, self.stated_votes = vote_columns, stated

    def _has_fraction(self, names: tuple[str, ...]) -> bool:
        """Whether one of these columns has a number that is not whole among the first rows, as soft
        labels mostly do.
        """
        floats = [name for name in names if not self.schema[name].is_integer()]
        if not floats:
            return False
        places = {f"c{j}": self._doubles(name) for j, name in enumerate(floats)}
        rows = self.frame.select(**places).head(_FEW).collect()
        numbers = [x for place in places for x in rows[place].to_list() if x is not None and x == x]
        return any(not float(x).is_integer() for x in numbers)

    def _has_above_one(self, name: str) -> bool:
        """Whether a column holds a number above 1.5, which is no share of votes."""
        return self._has_row(self._doubles(name) > 1.5)

    def _has_row(self, flag: Any) -> bool:
        """Whether a condition (a narwhals expression) is true in some row; null counts as false."""
        rows = self.frame.select(flag=flag.fill_null(False)).filter(nw.col("flag"))
        return not rows.head(1).collect().is_empty()

    def _doubles(self, name: str) -> Any:
        """An expression for a column as float64."""
        return column_of(self.frame, name).cast(nw.Float64)

    def _check_number(self, name: str, argument: str) -> None:
        """Raise InputError unless the column `name` holds numbers or truth values. `argument` is
        the argument that named the column.
        """
        dtype = self.schema[name]
        if dtype.is_numeric() or dtype == nw.Boolean:
            return
        what = "text" if dtype == nw.String else f"the type {dtype}"
        hint = "convert it to numbers"
        if dtype in (nw.List, nw.Array):
            hint = "make a column of each entry, and name these"
        elif argument == "y_true":
            hint = f"name the class of each label with {setting('classes', [...])}"
        raise InputError(f"{argument} must be numbers; the column {name!r} holds {what}: {hint}")


def named_columns(names: Any, argument: str, schema: Any) -> tuple[str, ...]:
    """The columns of a lazy frame that an argument names, after checks: raise InputError if one
    does not exist, or if an engine would take its name for a pattern. `schema` is the frame's
    schema.
    """
    wanted = checked_column_names(names, argument, schema)
    for name in wanted:
        if name in ("", "*") or (name.startswith("^") and name.endswith("$")):
            raise InputError(
                f"{argument} names the column {name!r}, which engines read as a pattern or as no "
                "name: rename it first"
            )
    return tuple(wanted)


def _array_type(dtypes: list[Any]) -> str:
    """The name of the dtype that an array of columns of these types has: "float16", "float32" or
    "float64".
    """
    if all(dtype == nw.Float16 for dtype in dtypes):
        return "float16"
    return "float32" if all(dtype in (nw.Float16, nw.Float32) for dtype in dtypes) else "float64"


def _sum_tolerance(dtypes: list[Any]) -> float:
    """How far from 1 the sum over columns of these types may be in a row: further if one has half
    precision.
    """
    any_half = any(dtype == nw.Float16 for dtype in dtypes)
    return HALF_ROW_SUM_TOLERANCE["float16"] if any_half else ROW_SUM_TOLERANCE


def _class_values(frame: Any, name: str, schema: Any, classes: list[Any]) -> Labels | None:
    """The values of the column `name` that stand for a class, each with the index of the class;
    None if the column holds class indices already.
    """
    dtype = schema[name]
    if dtype in (nw.String, nw.Categorical) or isinstance(dtype, nw.Enum):
        return _class_texts(frame, name, classes)
    if not (dtype.is_numeric() or dtype == nw.Boolean):
        raise InputError(
            f"y_true must be numbers or text; the column {name!r} holds the type {dtype}"
        )
    kind = "b" if dtype == nw.Boolean else "f"
    if are_indices(kind, classes):
        return None
    wanted = [number_of(label) for label in classes]
    if kind == "b" or are_truths(classes):
        truth = {"true": 1, "false": 0}
        wanted = [truth.get(str(label).lower(), number_of(label)) for label in classes]
    if any(number is None for number in wanted):
        raise InputError(
            f"classes={list(classes)!r} cannot be found in the column {name!r} of y_true, which "
            f"holds the type {dtype}: give values of this type, in the order of the classes"
        )
    known = Lookup(classes)
    candidates = [as_held for number in wanted for as_held in _in_column_type(number, dtype)]
    found = {value: known.find(value) for value in candidates}
    # Queries compare with floats, or with a whole number that is too large for doubles.
    return tuple(
        (value if isinstance(value, int) and abs(value) >= 2**53 else float(value), index)
        for value, index in found.items()
        if index is not None
    )


def _class_texts(frame: Any, name: str, classes: list[Any]) -> Labels:
    """The texts of the column `name` that stand for a class, each with the index of the class.

    If some class is a number or a truth value, the engine is asked for the column's other texts
    too, because "1.0" stands for the class "1".
    """
    texts = {str(label): index for index, label in enumerate(classes)}
    if are_truths(classes) or any(number_of(label) is not None for label in classes):
        known, column = Lookup(classes), column_of(frame, name).cast(nw.String)
        rest = frame.select(text=column).filter(~nw.col("text").is_in(list(texts)))
        for text in rest.unique().head(_MOST_TEXTS).collect()["text"].to_list():
            index = known.find(text)
            if index is not None:
                texts[text] = index
    return tuple(texts.items())


def _in_column_type(number: Any, dtype: Any) -> list[Any]:
    """The number of a class, converted to the type of a column, as a list of one entry; an empty
    list if the type cannot hold the number.
    """
    if dtype == nw.Boolean:
        return [bool(number)] if number in (0, 1) else []
    if dtype.is_integer():
        low, high = (-(2**63), 2**63) if dtype.is_signed_integer() else (0, 2**64)
        return [number] if isinstance(number, int) and low <= number < high else []
    fits = abs(number) <= sys.float_info.max and float(number) == number
    return [float(number)] if fits else []
