"""Samples: what every measure starts from. Shapes and types are checked when samples are made;
values are checked while they are summed, so that rows are read once.

A prediction is a row's probability, logit, or probabilities of all classes; its target is its
label, or the probabilities (shares of votes) of a soft label.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, Literal, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from calibrant._core.typing import Array, Mask, Shape
from calibrant._data.links import ROW_SUM_TOLERANCE, sigmoid, softmax

Notion: TypeAlias = Literal["binary", "confidence", "classwise", "full"]
# What rows are stored in: arrays or tensors.
Values = TypeVar("Values", bound=Any)


def shape_of(n_columns: int, answers: bool) -> Shape:
    """The kind of problem, from the number of columns of predictions: "multiclass" for several
    columns; for one column "answers" if labels say whether an answer was right (`answers`), else
    "binary".
    """
    if n_columns > 1:
        return "multiclass"
    return "answers" if answers else "binary"


class BadRow(Exception):
    """The error of an engine for a row with a value that no measure can take; `explain` turns it
    into a message.
    """

    def __init__(self, row: int) -> None:
        """Store the number of the row."""
        super().__init__(row)
        self.row = row


@dataclass(frozen=True, eq=False)
class Block:
    """A run of consecutive rows in the few types that kernels take.

    Predictions are float32 or float64, in C order. Targets are labels (uint8, int32 or int64) or
    numbers (float64); weights are float64 or None.
    """

    predictions: NDArray[Any]
    targets: NDArray[Any]
    weights: Array | None


@dataclass(frozen=True, eq=False)
class RowSamples(Generic[Values]):
    """What samples in arrays and in tensors share: shapes and types are known to be right.

    Predictions are (n,) for binary problems and (n, k) for multiclass ones; targets (n,) or (n, k).
    """

    predictions: Values
    targets: Values
    weights: Values | None = None
    from_logits: bool = False
    class_names: tuple[str, ...] | None = None
    inferred: tuple[str, ...] = ()
    # How far from 1 the sum of a row of predictions may be; further if they came in half precision.
    row_sum_tolerance: float = ROW_SUM_TOLERANCE
    # The number of rows that were dropped because something in them was missing.
    n_missing: int = 0
    # The same for a row of soft labels, which may have another precision.
    label_sum_tolerance: float = ROW_SUM_TOLERANCE
    # The exponent of the power of two that weights were divided by; 0 if they were not scaled.
    weight_exponent: int = 0
    # A mask of the rows, as the user gave them, that were not dropped; None if none was dropped.
    kept: Mask | None = None
    # The number of votes behind each row's target, which is then a share; None if it is not known.
    votes: Values | None = None
    # Whether (n,) labels say if an answer was right, so that predictions are confidences in it.
    answers: bool = False

    # The number of predictions that are looked at in one step, to see if all are 0 or 1.
    glance: ClassVar[int] = 1 << 14

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.predictions.shape[0])

    def count_rows(self) -> int:
        """The number of rows; the same as `n`, which samples in lazy frames lack."""
        return self.n

    @property
    def multiclass(self) -> bool:
        """Whether predictions are (n, k), a column for each class."""
        return bool(self.predictions.ndim == 2)

    @property
    def shape(self) -> Shape:
        """The kind of problem: "binary", "answers" or "multiclass"."""
        return shape_of(self.n_columns, self.answers)

    @property
    def n_classes(self) -> int:
        """The number of classes: the columns of predictions (n, k), or 2 for predictions (n,)."""
        return int(self.predictions.shape[1]) if self.multiclass else 2

    @property
    def n_columns(self) -> int:
        """The number of columns of predictions: one for each class, or 1 for a binary problem."""
        return int(self.predictions.shape[1]) if self.multiclass else 1

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return self.weights is not None

    @property
    def soft_rows(self) -> bool:
        """Whether targets are (n, k), rows of class probabilities."""
        return bool(self.targets.ndim == 2)

    @property
    def voted(self) -> bool:
        """Whether the number of votes behind each row's target is known."""
        return self.votes is not None

    def values_of_kept(self, values: NDArray[Any]) -> NDArray[Any]:
        """Select from `values`, which has an entry for each row that the user gave, the entries of
        the rows that were not dropped. The values are returned unchanged if no row was dropped, or
        if they have another length.
        """
        if self.kept is None or values.shape[:1] != self.kept.shape:
            return values
        return values[self.kept]

    def every_prediction_is_zero_or_one(self) -> bool:
        """Whether all predictions are 0 or 1, as if labels were given in their place; False for
        logits.
        """
        if self.from_logits:
            return False
        step = max(1, self.glance // self.n_classes)
        for start in range(0, self.n, step):  # the first look mostly ends it
            predictions = self.predictions[start : start + step]
            if not bool(((predictions == 0) | (predictions == 1)).all()):
                return False
        return True

    def take(self, rows: Any) -> Self:
        """The samples of some rows: a slice, row numbers, or a mask. The result has no mask `kept`,
        which refers to the rows as the user gave them.
        """
        weights = None if self.weights is None else self.weights[rows]
        return replace(
            self,
            predictions=self.predictions[rows],
            targets=self.targets[rows],
            weights=weights,
            kept=None,
            votes=None if self.votes is None else self.votes[rows],
        )


@dataclass(frozen=True, eq=False)
class Samples(RowSamples[NDArray[Any]]):
    """Predictions, targets and weights as arrays.

    Only `calibrant._data` makes these. Nothing is copied or converted until a block is asked for.
    """

    engine: ClassVar[str] = "calibrant._engines.arrays.engine"

    def row(self, number: int) -> Samples:
        """The samples of one row, by its number."""
        return self.take(slice(number, number + 1))

    @property
    def precision(self) -> np.dtype[Any]:
        """The dtype in which predictions are compared with bin edges: float64 for logits and whole
        numbers, else that of the predictions.
        """
        if self.from_logits or self.predictions.dtype.kind != "f":
            return np.dtype(np.float64)
        return self.predictions.dtype

    @property
    def is_plain(self) -> bool:
        """Whether compiled kernels can take the arrays of a binary problem without conversion:
        probabilities without weights, in types that kernels have, in C order.
        """
        return (
            not self.from_logits
            and self.weights is None
            and self.predictions.dtype in (np.float32, np.float64)
            and self.targets.dtype in (np.bool_, np.uint8, np.int8, np.int32, np.int64, np.float64)
            and self.predictions.flags.c_contiguous
            and self.targets.flags.c_contiguous
        )

    def block(self, start: int, stop: int) -> Block:
        """The rows from `start` up to `stop` in the types that kernels take, logits converted to
        probabilities. Arrays that have such a type already are not copied; raise BadRow for a logit
        that is not finite.
        """
        raw = self.predictions[start:stop]
        if self.from_logits:
            # A logit that is not finite has no probability.
            finite = np.isfinite(raw)
            if not finite.all():
                raise BadRow(start + _first_false(finite))
            predictions: NDArray[Any] = softmax(raw) if self.multiclass else sigmoid(raw)
        else:
            half = np.dtype(np.float32 if raw.dtype == np.float16 else np.float64)
            native = raw.dtype if raw.dtype in (np.float32, np.float64) else half
            predictions = np.ascontiguousarray(raw, dtype=native)
        weights = self.weights
        return Block(
            predictions,
            self._targets(start, stop),
            None if weights is None else np.ascontiguousarray(weights[start:stop], np.float64),
        )

    def _targets(self, start: int, stop: int) -> NDArray[Any]:
        """Targets of the rows from `start` up to `stop` in the types that kernels take: class
        indices and whole labels as whole numbers; all others as float64. Raise BadRow for a class
        index that is not whole.
        """
        raw = self.targets[start:stop]
        if self.multiclass and raw.ndim == 1:
            if raw.dtype.kind == "f":
                whole = raw.astype(np.float64)
                is_index = (np.floor(whole) == whole) & (np.abs(whole) < 2**53)
                if not is_index.all():
                    raise BadRow(start + _first_false(is_index))
                return whole.astype(np.int64)
            return np.ascontiguousarray(raw, dtype=np.int64)
        if raw.ndim == 1 and (raw.dtype.kind == "b" or raw.dtype == np.int8):
            # A negative label becomes a large one, which is as bad.
            return np.ascontiguousarray(raw).view(np.uint8)
        if raw.ndim == 1 and raw.dtype.kind in "iu":
            if raw.dtype in (np.uint8, np.int32, np.int64):
                return np.ascontiguousarray(raw)
            return raw.astype(np.int64)
        return np.ascontiguousarray(raw, dtype=np.float64)


def _first_false(flags: Mask) -> int:
    """The first row that has a False in a mask (n,) or (n, k), which has at least one."""
    rows = flags if flags.ndim == 1 else flags.all(axis=1)
    return int(np.argmin(rows))
