"""BinTable: what a sample is reduced to when predictions are binned. Tables of parts add up."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from calibrant._core.typing import Array

# Per bin: the number of rows of positive weight, and sums of products of weight w, prediction u and
# target z. The compiled kernels write these columns by position. A row adds the square of its
# weight to a variance: sum_w2 and sum_w2z make estimates of noise independent of the scale of
# the weights.
FIELDS = ("n", "sum_w", "sum_w2", "sum_wu", "sum_wz", "sum_wu2", "sum_wuz", "sum_wz2", "sum_w2z")
T = TypeVar("T")
# A long table is read in stretches of this many bins, few enough for a cache.
STRETCH = 1 << 15


def label_fields(n: T, u: T, u2: T, z: T, uz: T) -> tuple[T, ...]:
    """The sums of all fields, in their order, for weights of 1 and targets of 0 or 1: from the
    number of rows n, and the sums of predictions u, of u^2, of targets z, and of u z.
    """
    return n, n, n, u, z, u2, uz, z, z


def empty_sums(n_classes: int, m: int) -> Array:
    """Sums of no rows: zeros of shape (classes, m bins, fields). Each field is contiguous in
    memory, because a formula reads few of the fields.
    """
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
    # False where squares of predictions were left out: errors do not need them, and the pass is
    # faster without.
    has_squares: bool = True

    def __post_init__(self) -> None:
        """Make the arrays read-only, and give the default `dropped` a row of zeros for
        each class.
        """
        if self.dropped.shape[0] != self.sums.shape[0]:
            object.__setattr__(self, "dropped", np.zeros((self.sums.shape[0], len(FIELDS))))
        self.sums.flags.writeable = False
        self.dropped.flags.writeable = False

    def __add__(self, other: BinTable) -> BinTable:
        """The table of all rows of both tables, which must have the same classes and bins."""
        if self.sums.shape != other.sums.shape:
            raise ValueError(f"tables of shapes {self.sums.shape} and {other.sums.shape}")
        both = self.has_squares and other.has_squares
        return BinTable(self.sums + other.sums, self.dropped + other.dropped, both)

    def of_class(self, r: int) -> BinTable:
        """The table of class r alone, as a table of one class."""
        return BinTable(self.sums[r : r + 1], self.dropped[r : r + 1], self.has_squares)

    def as_one_class(self) -> BinTable:
        """The table with a single class that has the bins of all classes as its bins. Each row must
        belong to one class only, as in a table by top class.
        """
        sums = self.sums.reshape(1, -1, len(FIELDS))
        return BinTable(sums, self.dropped.sum(axis=0)[None], self.has_squares)

    def stretches(self) -> Iterator[BinTable]:
        """Yield the bins in order as tables of at most STRETCH bins, few enough for a cache.
        Dropped samples are in none of these tables.
        """
        for start in range(0, self.n_bins, STRETCH):
            yield BinTable(self.sums[:, start : start + STRETCH], has_squares=self.has_squares)

    def pooled_columns(self) -> Array:
        """The sums of w, w z and w z^2 (w: weight, z: target) of the first class in its nonempty
        bins, (3, bins). Neighbouring bins whose mean targets do not rise are pooled by `pool_runs`,
        because every increasing (isotonic) fit pools them too.
        """
        columns = np.stack([self.sum_w[0], self.sum_wz[0], self.sum_wz2[0]])
        return pool_runs(columns if columns[0].all() else columns[:, columns[0] > 0])

    @property
    def n_classes(self) -> int:
        """The number of classes; 1 for binary and confidence problems."""
        return int(self.sums.shape[0])

    @property
    def n_bins(self) -> int:
        """The number of bins of each class."""
        return int(self.sums.shape[1])

    @property
    def n(self) -> NDArray[np.int64]:
        """The number of rows in each bin, (classes, bins); rows of weight 0 do not count."""
        return self._column("n").astype(np.int64)

    @property
    def n_dropped(self) -> int:
        """The number of rows that the binning rule puts in no bin."""
        return int(self.dropped[0, 0])

    def _column(self, name: str) -> Array:
        """The sums of one of FIELDS (`name`) for every class and bin, (classes, bins)."""
        return self.sums[:, :, FIELDS.index(name)]

    @property
    def sum_w(self) -> Array:
        """The sum of weights of each bin, (classes, bins)."""
        return self._column("sum_w")

    @property
    def sum_w2(self) -> Array:
        """The sum of squared weights of each bin, (classes, bins)."""
        return self._column("sum_w2")

    @property
    def sum_wu(self) -> Array:
        """The weighted sum of predictions of each bin, (classes, bins)."""
        return self._column("sum_wu")

    @property
    def sum_wz(self) -> Array:
        """The weighted sum of targets of each bin, (classes, bins)."""
        return self._column("sum_wz")

    @property
    def sum_wu2(self) -> Array:
        """The weighted sum of squared predictions of each bin, (classes, bins), if
        the table has it.
        """
        if not self.has_squares:
            raise ValueError("this table was summed without squares of predictions")
        return self._column("sum_wu2")

    @property
    def sum_wuz(self) -> Array:
        """The weighted sum of prediction times target of each bin, (classes, bins),
        if the table has it.
        """
        if not self.has_squares:
            raise ValueError("this table was summed without products of predictions and targets")
        return self._column("sum_wuz")

    @property
    def sum_wz2(self) -> Array:
        """The weighted sum of squared targets of each bin, (classes, bins)."""
        return self._column("sum_wz2")

    @property
    def sum_w2z(self) -> Array:
        """The sum of squared weight times target of each bin, (classes, bins)."""
        return self._column("sum_w2z")

    @property
    def residual(self) -> Array:
        """The sum of w (u - z), weight times prediction less target, over each bin,
        (classes, bins).
        """
        return self.sum_wu - self.sum_wz

    # Every measure of a table divides by it.
    @cached_property
    def total_weight(self) -> Array:
        """The sum of weights of each class, dropped samples included, (classes,)."""
        return self.sum_w.sum(axis=1) + self.dropped[:, 1]

    @property
    def effective_rows(self) -> Array:
        """The effective number of rows of each bin, (classes, bins): the squared sum of weights
        over the sum of squared weights; 0 where a bin is empty.
        """
        out = np.zeros_like(self.sum_w)
        # In this order it is the count itself, to the bit, where every weight is 1.
        np.divide(self.sum_w, self.sum_w2, out=out, where=self.sum_w2 > 0)
        return self.sum_w * out

    @property
    def mean_u(self) -> Array:
        """The mean prediction of each bin, (classes, bins); NaN where a bin is empty."""
        return ratio(self.sum_wu, self.sum_w)

    @property
    def mean_z(self) -> Array:
        """The mean target of each bin, (classes, bins); NaN where a bin is empty."""
        return ratio(self.sum_wz, self.sum_w)


class ColumnTable(BinTable):
    """A table that stores each of its fields as an array of its own, (classes, bins). A thousand
    tables can share an array, and no memory is written for fields that no formula reads. Squares of
    predictions are not stored, and no sample is dropped.
    """

    def __init__(self, columns: dict[str, Array]) -> None:
        """`columns` holds arrays (classes, bins) by their names in FIELDS; "sum_w" is
        among them.
        """
        object.__setattr__(self, "_columns", columns)
        object.__setattr__(self, "dropped", np.zeros((len(columns["sum_w"]), len(FIELDS))))
        object.__setattr__(self, "has_squares", False)
        self._columns: dict[str, Array]

    # Several measures read these two of the same thousand tables, so that they are kept.

    @cached_property
    def residual(self) -> Array:
        """The sum of weight times (prediction less target) over each bin, (classes, bins)."""
        return self.sum_wu - self.sum_wz

    @cached_property
    def total_weight(self) -> Array:
        """The sum of weights of each class, (classes,)."""
        return self.sum_w.sum(axis=1)

    @cached_property
    def sums(self) -> Array:
        """All fields as a `BinTable` stores them, (classes, bins, fields); 0 for
        fields that are not here.
        """
        out = empty_sums(*self.sum_w.shape)
        for name, column in self._columns.items():
            out[..., FIELDS.index(name)] = column
        out.flags.writeable = False
        return out

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return int(self.sum_w.shape[0])

    @property
    def n_bins(self) -> int:
        """The number of bins of each class."""
        return int(self.sum_w.shape[1])

    def _column(self, name: str) -> Array:
        """The sums of one of FIELDS (`name`) for every class and bin, (classes, bins); raise
        KeyError if the table does not store it.
        """
        return self._columns[name]


# Up to this number of bins, runs are pooled until none is left: a round over so few bins costs next
# to nothing, and importing a method that needs no rounds takes as long as thousands of rounds.
FEW_COLUMNS = 4096


def pool_runs(columns: Array) -> Array:
    """Pool neighbouring bins whose mean targets do not rise: add up their sums. `columns` (sums,
    bins) has the weight of each bin first, the weighted target second, then any other sums; the
    result has fewer bins.

    Each round pools whole runs of these bins. Up to FEW_COLUMNS bins are pooled until all means
    rise. More bins are pooled only as long as a round removes a tenth of them, so that some runs
    may be left.
    """
    while True:
        mean = columns[1] / columns[0]
        firsts = np.append(0, np.flatnonzero(mean[:-1] < mean[1:]) + 1)
        most = mean.size - 1 if mean.size <= FEW_COLUMNS else 0.9 * mean.size
        if firsts.size > most:
            return columns
        columns = np.add.reduceat(columns, firsts, axis=1)


class OrderedLevels(BinTable):
    """The levels (distinct predictions) of one class in increasing order, which stay on a device
    because they are too many to be copied for one measure. The abstract methods below are computed
    there; any other access copies all levels to the host.
    """

    def __init__(self, copy_levels: Callable[[], Array], total: float) -> None:
        """`copy_levels` copies the sums of all levels to the host, (1, levels, fields); `total` is
        the sum of weights.
        """
        object.__setattr__(self, "_copy_levels", copy_levels)
        object.__setattr__(self, "_total", total)
        object.__setattr__(self, "dropped", np.zeros((1, len(FIELDS))))
        object.__setattr__(self, "has_squares", True)
        self._copy_levels: Callable[[], Array]
        self._total: float

    @cached_property
    def sums(self) -> Array:
        """The sums of every level, (1, levels, fields), copied from the device at the
        first access.
        """
        return self._copy_levels()

    def of_class(self, r: int) -> BinTable:
        """The table itself, which has only one class; r is ignored."""
        return self

    @property
    def n_classes(self) -> int:
        """The number of classes: always 1."""
        return 1

    @property
    def total_weight(self) -> Array:
        """The sum of all weights, (1,)."""
        return np.array([self._total])

    @property
    @abstractmethod
    def n_levels(self) -> int:
        """The number of distinct predictions."""

    @property
    @abstractmethod
    def rising(self) -> bool:
        """Whether the mean target never falls from one level to the next."""

    @property
    @abstractmethod
    def totals(self) -> Array:
        """The sum of weights and the weighted sum of targets over all levels, (2,)."""

    @abstractmethod
    def sums_before(self, j: Array, m: Array) -> Array:
        """The sums of weights and of weighted targets over all bins below bin j, of m bins of equal
        mass: (2, len(j)). j and m are arrays; bins are counted from 0, and j is at least 1.
        """

    @abstractmethod
    def largest_partial_residual(self) -> float:
        """The largest absolute value of the partial sums of residuals, weight times (prediction
        less target), from the lowest level up to the end of each level.
        """

    @abstractmethod
    def partial_residual_range(self) -> float:
        """The largest less the smallest of the partial sums of residuals, from the lowest level up
        to the end of each level; the empty sum, 0, is one of them.
        """

    @abstractmethod
    def averaged_two_bins(self, norm: str) -> float:
        """The averaged two-bin error (`calibrant.atb`) with squared sums (norm "l2") or absolute
        ones ("l1").
        """

    @abstractmethod
    def ranked_pairs(self) -> float:
        """The number of pairs of an event and a non-event in which the event has the higher
        prediction; ties count one half.
        """

    @abstractmethod
    def mean_risk(self) -> float:
        """The area under the risk-coverage curve: the mean over rows of the error rate (the mean of
        1 - target) among all rows with the same or a higher prediction.
        """

    @abstractmethod
    def highest_targets(self, coverage: float) -> float:
        """The weighted sum of targets over the rows with the highest predictions; `coverage` is
        their share of all rows.
        """

    @abstractmethod
    def merged(self, m: int) -> BinTable:
        """The levels merged into m bins of equal mass."""

    @abstractmethod
    def pooled(self) -> BinTable:
        """The levels after isotonic pooling, at least in part: levels in one block of the isotonic
        fit (a run with one fitted mean) may be merged into one bin.
        """


def table_has_squares(sums: Array) -> bool:
    """Whether these sums (..., fields) include squares of predictions; an engine that leaves them
    out writes NaN in their place.
    """
    return not np.isnan(sums[..., FIELDS.index("sum_wu2")]).any()


def ratio(sums: Array, weights: Array) -> Array:
    """The quotient sums / weights, elementwise; NaN where the weight is 0."""
    out = np.full(np.broadcast(sums, weights).shape, np.nan)
    np.divide(sums, weights, out=out, where=weights > 0)
    return out


@dataclass(frozen=True, eq=False)
class VectorTable:
    """Sums for each cell of a partition of vector predictions (d numbers each): the weight (cells,)
    and the residual, the sum of weight times (prediction less target), (cells, d).
    """

    sum_w: Array
    residual: Array

    def __add__(self, other: VectorTable) -> VectorTable:
        """The table of all rows of both tables, which must have the same cells."""
        return VectorTable(self.sum_w + other.sum_w, self.residual + other.residual)
