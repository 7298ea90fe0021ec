"""BinTable: what a sample is reduced to when predictions are binned. Tables of parts add up."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from calibrant._core.typing import Array

# Per bin: rows with weight, and sums of weight w, prediction u and target z. The compiled kernels
# write these columns by position. The square of a weight is what its row adds to a variance:
# sum_w2 and sum_w2z keep estimates of the noise independent of the weights' scale.
FIELDS = ("n", "sum_w", "sum_w2", "sum_wu", "sum_wz", "sum_wu2", "sum_wuz", "sum_wz2", "sum_w2z")
# Bins of a long table that a formula takes together: few enough for a cache.
STRETCH = 1 << 15


def empty_sums(n_classes: int, m: int) -> Array:
    """Zeros (classes, bins, fields), each field in one piece: few of them are written and read."""
    return np.zeros((len(FIELDS), n_classes, m)).transpose(1, 2, 0)


@dataclass(frozen=True, eq=False)
class BinTable:
    """Sums per class and bin.

    `sums` has the shape (classes, bins, fields); a scalar problem (binary, confidence) has one
    class. Samples that a rule leaves out of every bin are in `dropped` (classes, fields): their
    weight still counts in the total, as in the formula they come from.
    """

    sums: Array
    dropped: Array = field(default_factory=lambda: np.zeros((1, len(FIELDS))))
    # Errors need no squared predictions; a pass that leaves them out is faster.
    has_squares: bool = True

    def __post_init__(self) -> None:
        if self.dropped.shape[0] != self.sums.shape[0]:
            object.__setattr__(self, "dropped", np.zeros((self.sums.shape[0], len(FIELDS))))
        self.sums.flags.writeable = False
        self.dropped.flags.writeable = False

    def __add__(self, other: BinTable) -> BinTable:
        if self.sums.shape != other.sums.shape:
            raise ValueError(f"tables of shapes {self.sums.shape} and {other.sums.shape}")
        both = self.has_squares and other.has_squares
        return BinTable(self.sums + other.sums, self.dropped + other.dropped, both)

    def of_class(self, r: int) -> BinTable:
        """The table of one class, as a scalar problem."""
        return BinTable(self.sums[r : r + 1], self.dropped[r : r + 1], self.has_squares)

    def as_one(self) -> BinTable:
        """The bins of all classes as those of one problem: for classes that share out the rows."""
        sums = self.sums.reshape(1, -1, len(FIELDS))
        return BinTable(sums, self.dropped.sum(axis=0)[None], self.has_squares)

    def stretches(self) -> Iterator[BinTable]:
        """The bins in order, a cache's worth at a time; dropped samples are in none of them."""
        for start in range(0, self.n_bins, STRETCH):
            yield BinTable(self.sums[:, start : start + STRETCH], has_squares=self.has_squares)

    def pooled_columns(self) -> Array:
        """Sums of w, w z and w z^2 of the nonempty bins of the first class. Neighbours that every
        increasing fit of the mean targets pools are pooled, as far as that is quick.
        """
        columns = np.stack([self.sum_w[0], self.sum_wz[0], self.sum_wz2[0]])
        return pool_runs(columns if columns[0].all() else columns[:, columns[0] > 0])

    @property
    def n_classes(self) -> int:
        return int(self.sums.shape[0])

    @property
    def n_bins(self) -> int:
        return int(self.sums.shape[1])

    @property
    def n(self) -> NDArray[np.int64]:
        """Rows per class and bin (rows of weight 0 do not count)."""
        return self._column("n").astype(np.int64)

    @property
    def n_dropped(self) -> int:
        return int(self.dropped[0, 0])

    def _column(self, name: str) -> Array:
        return self.sums[:, :, FIELDS.index(name)]

    @property
    def sum_w(self) -> Array:
        return self._column("sum_w")

    @property
    def sum_w2(self) -> Array:
        return self._column("sum_w2")

    @property
    def sum_wu(self) -> Array:
        return self._column("sum_wu")

    @property
    def sum_wz(self) -> Array:
        return self._column("sum_wz")

    @property
    def sum_wu2(self) -> Array:
        if not self.has_squares:
            raise ValueError("this table was summed without squares of predictions")
        return self._column("sum_wu2")

    @property
    def sum_wuz(self) -> Array:
        if not self.has_squares:
            raise ValueError("this table was summed without products of predictions and targets")
        return self._column("sum_wuz")

    @property
    def sum_wz2(self) -> Array:
        return self._column("sum_wz2")

    @property
    def sum_w2z(self) -> Array:
        return self._column("sum_w2z")

    @property
    def residual(self) -> Array:
        """R_B = sum over the bin of w (u - z)."""
        return self.sum_wu - self.sum_wz

    # Every measure of a table divides by it.
    @cached_property
    def total_weight(self) -> Array:
        """W per class, dropped samples included."""
        return self.sum_w.sum(axis=1) + self.dropped[:, 1]

    @property
    def effective_rows(self) -> Array:
        """W_B^2 / sum w^2: as many rows of equal weight say as much; 0 where a bin is empty."""
        out = np.zeros_like(self.sum_w)
        # In this order it is the count itself, to the bit, where every weight is 1.
        np.divide(self.sum_w, self.sum_w2, out=out, where=self.sum_w2 > 0)
        return self.sum_w * out

    @property
    def mean_u(self) -> Array:
        """Mean prediction per bin; NaN where a bin is empty."""
        return ratio(self.sum_wu, self.sum_w)

    @property
    def mean_z(self) -> Array:
        """Mean target per bin; NaN where a bin is empty."""
        return ratio(self.sum_wz, self.sum_w)


class ColumnTable(BinTable):
    """A table that stores its columns apart, each (classes, bins). A thousand tables can share a
    column, and no memory is written for columns that no formula reads. Squares of predictions are
    not stored.
    """

    def __init__(self, columns: dict[str, Array]) -> None:
        object.__setattr__(self, "_columns", columns)
        object.__setattr__(self, "dropped", np.zeros((len(columns["sum_w"]), len(FIELDS))))
        object.__setattr__(self, "has_squares", False)
        self._columns: dict[str, Array]

    # Several measures read these of the same thousand tables.

    @cached_property
    def residual(self) -> Array:
        return self.sum_wu - self.sum_wz

    @cached_property
    def total_weight(self) -> Array:
        return self.sum_w.sum(axis=1)

    @cached_property
    def sums(self) -> Array:
        """All columns in their places (classes, bins, fields)."""
        out = empty_sums(*self.sum_w.shape)
        for name, column in self._columns.items():
            out[..., FIELDS.index(name)] = column
        out.flags.writeable = False
        return out

    @property
    def n_classes(self) -> int:
        return int(self.sum_w.shape[0])

    @property
    def n_bins(self) -> int:
        return int(self.sum_w.shape[1])

    def _column(self, name: str) -> Array:
        return self._columns[name]


# Columns of which runs are put together to the last: a round of them costs next to nothing, and to
# load a search that needs no rounds takes as long as thousands.
FEW_COLUMNS = 4096


def pool_runs(columns: Array) -> Array:
    """Pool neighbouring bins whose mean targets do not rise, given their sums of w and w z and any
    others. Whole runs are pooled at once while there are many; at most FEW_COLUMNS bins are pooled
    until all means rise.
    """
    while True:
        mean = columns[1] / columns[0]
        firsts = np.append(0, np.flatnonzero(mean[:-1] < mean[1:]) + 1)
        most = mean.size - 1 if mean.size <= FEW_COLUMNS else 0.9 * mean.size
        if firsts.size > most:
            return columns
        columns = np.add.reduceat(columns, firsts, axis=1)


class OrderedLevels(BinTable):
    """Level sets in order that lie on a device: too many to be copied for one measure. The methods
    below are computed there; any other access copies all levels.
    """

    def __init__(self, whole: Callable[[], Array], total: float) -> None:
        object.__setattr__(self, "_whole", whole)
        object.__setattr__(self, "_total", total)
        object.__setattr__(self, "dropped", np.zeros((1, len(FIELDS))))
        object.__setattr__(self, "has_squares", True)
        self._whole: Callable[[], Array]
        self._total: float

    @cached_property
    def sums(self) -> Array:
        """Every level (1, levels, fields)."""
        return self._whole()

    def of_class(self, r: int) -> BinTable:
        return self

    @property
    def n_classes(self) -> int:
        return 1

    @property
    def total_weight(self) -> Array:
        return np.array([self._total])

    @property
    @abstractmethod
    def n_levels(self) -> int:
        """Distinct predictions."""

    @property
    @abstractmethod
    def rising(self) -> bool:
        """Whether the mean target never falls from one level to the next."""

    @property
    @abstractmethod
    def totals(self) -> Array:
        """The sums of w and w z over all levels."""

    @abstractmethod
    def sums_before(self, j: Array, m: Array) -> Array:
        """The sums of w and w z before the bins j of m bins of equal mass, (2, bins); bins are
        counted from 0, and j is above 0.
        """

    @abstractmethod
    def largest_partial_residual(self) -> float:
        """The largest absolute sum of residuals up to the end of a level."""

    @abstractmethod
    def partial_residual_range(self) -> float:
        """The highest less the lowest sum of residuals up to the end of a level, 0 among them."""

    @abstractmethod
    def averaged_two_bins(self, norm: str) -> float:
        """The averaged two-bin error, of squares ("l2") or of absolute values ("l1")."""

    @abstractmethod
    def ranked_pairs(self) -> float:
        """Pairs of an event and a non-event with the event's prediction higher, ties one half."""

    @abstractmethod
    def mean_risk(self) -> float:
        """The mean over rows of the mean of 1 - z among rows predicted at least as high."""

    @abstractmethod
    def highest_targets(self, coverage: float) -> float:
        """The sum of targets of the share `coverage` of rows with the highest predictions."""

    @abstractmethod
    def merged(self, m: int) -> BinTable:
        """The levels put together into m bins of equal mass."""

    @abstractmethod
    def pooled(self) -> BinTable:
        """Levels of one block of the isotonic fit put together, some or all of them."""


def squared(sums: Array) -> bool:
    """Whether squares of predictions were summed: an engine that leaves them out says NaN."""
    return not np.isnan(sums[..., FIELDS.index("sum_wu2")]).any()


def ratio(sums: Array, weights: Array) -> Array:
    """sums / weights, NaN where there is no weight."""
    out = np.full(np.broadcast(sums, weights).shape, np.nan)
    np.divide(sums, weights, out=out, where=weights > 0)
    return out


@dataclass(frozen=True, eq=False)
class VectorTable:
    """Sums per cell for vector predictions: weight (cells,) and R_B = sum of w (u - z), (cells,
    d).
    """

    sum_w: Array
    residual: Array

    def __add__(self, other: VectorTable) -> VectorTable:
        return VectorTable(self.sum_w + other.sum_w, self.residual + other.residual)
