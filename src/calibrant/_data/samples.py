"""Samples: what every measure starts from. Shapes and types are checked; values are checked by
the pass that sums them, which is the only pass there is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, Literal, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from calibrant._core.typing import Array, Mask
from calibrant._data.links import ROW_SUM_TOLERANCE, sigmoid, softmax

Notion: TypeAlias = Literal["binary", "confidence", "classwise", "full"]
Shape: TypeAlias = Literal["binary", "answers", "multiclass"]
# What rows are stored in: arrays or tensors.
Values = TypeVar("Values", bound=Any)


def shape_of(n_columns: int, answers: bool) -> Shape:
    """The shape of predictions in so many columns; `answers` where (n,) labels say if one was
    right.
    """
    if n_columns > 1:
        return "multiclass"
    return "answers" if answers else "binary"


class BadRow(Exception):
    """A value in this row is not what it must be. `inputs.explain` turns it into a sentence."""

    def __init__(self, row: int) -> None:
        super().__init__(row)
        self.row = row


@dataclass(frozen=True, eq=False)
class Block:
    """A run of rows in the few types that kernels take.

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
    # How far from 1 a row may sum: more where rounding alone, to half precision, does more.
    row_sum_tolerance: float = ROW_SUM_TOLERANCE
    # Rows that were dropped, as the caller asked, because something in them was missing.
    n_missing: int = 0
    # How far from 1 a row of soft labels may sum, which need not be as precise as the predictions.
    label_sum_tolerance: float = ROW_SUM_TOLERANCE
    # The power of two by which weights that over- or underflow when squared were divided.
    weight_exponent: int = 0
    # Which of the rows that were given stayed; None where all did.
    kept: Mask | None = None
    # How many votes are behind each row's labels, which are then shares; None where nobody says.
    votes: Values | None = None
    # Whether (n,) labels say if an answer was right, so that predictions are confidences in it.
    answers: bool = False

    # Entries that are looked at together when labels are suspected in the place of predictions.
    glance: ClassVar[int] = 1 << 14

    @property
    def n(self) -> int:
        return int(self.predictions.shape[0])

    def count_rows(self) -> int:
        return self.n

    @property
    def multiclass(self) -> bool:
        return bool(self.predictions.ndim == 2)

    @property
    def shape(self) -> Shape:
        return "multiclass" if self.multiclass else shape_of(1, self.answers)

    @property
    def n_classes(self) -> int:
        return int(self.predictions.shape[1]) if self.multiclass else 2

    @property
    def n_columns(self) -> int:
        """Columns of predictions: one for each class, or one for a binary problem."""
        return int(self.predictions.shape[1]) if self.multiclass else 1

    @property
    def weighted(self) -> bool:
        return self.weights is not None

    @property
    def soft_rows(self) -> bool:
        return bool(self.targets.ndim == 2)

    @property
    def voted(self) -> bool:
        return self.votes is not None

    def every_prediction_is_zero_or_one(self) -> bool:
        if self.from_logits:
            return False
        step = max(1, self.glance // self.n_classes)
        for start in range(0, self.n, step):  # the first look mostly ends it
            predictions = self.predictions[start : start + step]
            if not bool(((predictions == 0) | (predictions == 1)).all()):
                return False
        return True

    def take(self, rows: Any) -> Self:
        """Some rows: a slice, row numbers, or a mask.

        The mask of kept rows is about the rows as they were given, so the result has none.
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

    def own_rows(self, values: NDArray[Any]) -> NDArray[Any]:
        """The values of these rows, from values of all rows that were given."""
        if self.kept is None or values.shape[:1] != self.kept.shape:
            return values
        return values[self.kept]

    def row(self, number: int) -> Samples:
        return self.take(slice(number, number + 1))

    @property
    def precision(self) -> np.dtype[Any]:
        """The precision in which predictions meet bin edges."""
        if self.from_logits or self.predictions.dtype.kind != "f":
            return np.dtype(np.float64)
        return self.predictions.dtype

    @property
    def is_plain(self) -> bool:
        """Whether a binary problem is in kernel types already: unweighted, nothing to convert."""
        return (
            not self.from_logits
            and self.weights is None
            and self.predictions.dtype in (np.float32, np.float64)
            and self.targets.dtype in (np.bool_, np.uint8, np.int8, np.int32, np.int64, np.float64)
            and self.predictions.flags.c_contiguous
            and self.targets.flags.c_contiguous
        )

    def block(self, start: int, stop: int) -> Block:
        """Rows start..stop in kernel types; without a copy where they are in those already."""
        raw = self.predictions[start:stop]
        if self.from_logits:
            # Not finite, or so large that float64 cannot hold it: no probability comes of it.
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
    rows = flags if flags.ndim == 1 else flags.all(axis=1)
    return int(np.argmin(rows))
