"""Measures that need the predictions in order: over tables with a bin for each level.

A level is a distinct prediction u (or a fine cell of them, where a stream was summed). The residual
of a row is w (u - z), with its weight w and target z; W is the weight of all rows.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from calibrant._core.bin_tables import FIELDS, BinTable, OrderedLevels
from calibrant._core.binning import ROUNDING, MiddleRanks
from calibrant._core.level_table import LevelTable
from calibrant._core.typing import Array, Index, Mask
from calibrant._measures.binned import binned_error

# The number of bins that a sweep tries together, at first and at most. On a device it starts with
# the larger number, because each query of the device takes long.
AT_ONCE, FAR_AT_ONCE = 512, 1 << 15


def ks_error(levels: BinTable) -> float:
    """The Kolmogorov-Smirnov error, the mean over classes: ``max_t |sum_{u<=t} w (u - z)| / W``.

    That is the largest absolute partial sum of residuals in order of the predictions, over the
    total weight W.
    """
    if isinstance(levels, OrderedLevels):
        return levels.largest_partial_residual() / float(levels.total_weight[0])
    through = largest = np.zeros(levels.n_classes)
    for stretch in levels.stretches():
        partial = np.cumsum(stretch.residual, axis=1)
        partial += through[:, None]
        most = np.maximum(partial.max(axis=1), -partial.min(axis=1))
        largest, through = np.maximum(largest, most), partial[:, -1].copy()
    return float((largest / levels.total_weight).mean())


def sweep_error(levels: BinTable, norm: str = "l1") -> float:
    """The binned error in the largest number of equal-mass bins whose mean targets never fall."""
    return binned_error(sweep_bins(levels), norm)


def sweep_bins(levels: BinTable) -> BinTable:
    """The table of the largest number of equal-mass bins before the first number at which mean
    targets fall.

    At that first number some bin's mean target is below that of the bin before. The table
    has the sums that an error needs: of weights, predictions and targets.
    """
    if isinstance(levels, OrderedLevels):
        return levels.merged(_first_fall(levels, FAR_AT_ONCE) - 1)
    if not levels.sum_w[0].all():  # cells of a stream may be empty
        levels = BinTable(levels.sums[:1, levels.sum_w[0] > 0], has_squares=levels.has_squares)
    ranks = (
        levels.ranks if isinstance(levels, LevelTable) else MiddleRanks.from_mass(levels.sum_w[0])
    )
    firsts = ranks.firsts(_first_fall(_Levels(ranks, levels.sum_wz[0]), AT_ONCE) - 1)
    merged = np.zeros((firsts.size - 1, len(FIELDS)))
    start = 0
    for stretch in levels.stretches():
        # The bins that this stretch has rows of: from `first` up to, but not including, `last`.
        end = start + stretch.n_bins
        first, last = np.searchsorted(firsts, start, side="right") - 1, np.searchsorted(firsts, end)
        begins = np.maximum(firsts[first : last + 1], start) - start
        begins[-1] = min(begins[-1], stretch.n_bins)
        for name in ("sum_w", "sum_wu", "sum_wz"):
            column = getattr(stretch, name)[0]
            merged[first:last, FIELDS.index(name)] += _sum_over_bins(column, begins)
        start = end
    return BinTable(merged[None], has_squares=False)


class _Levels:
    """Level sets in memory, with the attributes of `OrderedLevels` that `sweep_bins` reads. `wz`
    has the weighted targets of the levels.
    """

    def __init__(self, ranks: MiddleRanks, wz: Array) -> None:
        self.ranks = ranks
        self.n_levels = wz.size
        self.rising = bool((np.diff(wz / ranks.mass) >= 0.0).all())
        self._targets = np.cumsum(wz)

    @property
    def totals(self) -> Array:
        """The sums of w and w z over all levels, (2,)."""
        return np.array([self.ranks.total, self._targets[-1]])

    def sums_before(self, j: Array, m: Array) -> Array:
        """The sums of w and w z before the bin j of m bins of equal mass, (2, bins), for arrays j
        and m.
        """
        at = self.ranks.begins(j, m)
        last = np.maximum(at - 1, 0)
        through = np.stack([self.ranks.through[last], self._targets[last]])
        return np.where(at > 0, through, 0.0)


def _first_fall(order: OrderedLevels | _Levels, at_once: int) -> int:
    """The smallest number of equal-mass bins at which some bin's mean target is below that of the
    bin before.

    If there is none, it is one more than the number of levels. `at_once` is how many bins are
    examined together at first.
    """
    first, most = 2, order.n_levels
    if order.rising:  # then the means of bins rise too, in any number of bins
        return most + 1
    while first <= most:
        # Several numbers are tried together, with about `at_once` bins in all.
        more = max(1, int(math.sqrt(first * first + 2 * at_once)) - first)
        tried = np.arange(first, min(first + more, most + 1))
        falls = _means_fall(order, tried)
        if falls.any():
            return int(tried[falls.argmax()])
        first = int(tried[-1]) + 1
        at_once = min(2 * at_once, FAR_AT_ONCE)  # a long sweep takes fewer steps
    return most + 1


def _means_fall(order: OrderedLevels | _Levels, tried: NDArray[np.int64]) -> Mask:
    """Whether mean targets fall somewhere, for each number of bins in `tried`, (numbers,)."""
    owner = np.repeat(np.arange(tried.size), tried + 1)
    m = tried[owner]
    # The borders 0 to m of every number m tried stand one after the other.
    j = np.arange(owner.size) - np.repeat(np.cumsum(tried + 1) - (tried + 1), tried + 1)
    before = np.where(j == 0, 0.0, order.totals[:, None])
    inner = (j > 0) & (j < m)
    before[:, inner] = order.sums_before(j[inner].astype(np.float64), m[inner].astype(np.float64))
    # Empty bins are left out; the step from one number's bins to the next one's does not count.
    nonempty = np.flatnonzero(before[0, :-1] < before[0, 1:])
    weight, target = before[:, nonempty + 1] - before[:, nonempty]
    mean = target / weight
    falls = (mean[1:] - mean[:-1] < -ROUNDING) & (owner[nonempty][1:] == owner[nonempty][:-1])
    return np.bincount(owner[nonempty][1:][falls], minlength=tried.size) > 0


def _sum_over_bins(column: Array, firsts: Index) -> Array:
    """The sums over bins of a column of levels (or of rows of columns); bins begin at the levels
    `firsts`.

    The last of `firsts` is where the last bin ends. An empty bin has 0.
    """
    nonempty = firsts[:-1] < firsts[1:]
    merged = np.zeros((firsts.size - 1, *column.shape[1:]))
    merged[nonempty] = np.add.reduceat(column, firsts[:-1][nonempty], axis=0)
    return merged


def merge_levels(sums: Array, m: int) -> BinTable:
    """A table of m equal-mass bins from the sums of levels, (levels, fields)."""
    return BinTable(_sum_over_bins(sums, MiddleRanks.from_mass(sums[:, 1]).firsts(m))[None])
