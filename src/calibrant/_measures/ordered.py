"""Measures that need the predictions in order: over tables with a bin per distinct prediction (or
per fine cell, where a stream was summed).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from calibrant._core.bin_tables import FIELDS, BinTable, OrderedLevels
from calibrant._core.binning import ROUNDING, MiddleRanks
from calibrant._measures.binned import binned_error

# Bins that a sweep looks at together; where each look takes a way to a device, more of them.
AT_ONCE, FAR_AT_ONCE = 512, 1 << 15


def ks_error(levels: BinTable) -> float:
    """The largest partial sum of residuals in order of predictions: ``max_t |sum_{u<=t} R| /
    W``.
    """
    if isinstance(levels, OrderedLevels):
        return levels.largest_partial_residual() / float(levels.total_weight[0])
    partial = np.cumsum(levels.residual, axis=1)
    return float((np.abs(partial).max(axis=1) / levels.total_weight).mean())


def sweep_error(levels: BinTable, norm: str = "l1") -> float:
    """Binned error at the largest number of equal-mass bins whose mean targets never fall."""
    return binned_error(sweep_bins(levels), norm)


def sweep_bins(levels: BinTable) -> BinTable:
    """The equal-mass bins at which a sweep over their number stops: one before the first fall."""
    order = levels if isinstance(levels, OrderedLevels) else _Levels(levels.sums[0])
    at_once = FAR_AT_ONCE if isinstance(levels, OrderedLevels) else AT_ONCE
    first = 2
    while first <= order.n_levels:
        # Several numbers at a time, about that many bins in all: most sweeps end within a few
        # dozen.
        more = max(1, int(math.sqrt(first * first + 2 * at_once)) - first)
        tried = np.arange(first, min(first + more, order.n_levels + 1))
        falls = _falls(order, tried)
        if falls.any():
            return order.merged(int(tried[falls.argmax()]) - 1)
        first = int(tried[-1]) + 1
    return order.merged(order.n_levels)


def _falls(order: OrderedLevels | _Levels, tried: NDArray[np.int64]) -> NDArray[np.bool_]:
    """For each number of bins whether some bin's mean target is below that of the one before."""
    owner = np.repeat(np.arange(tried.size), tried + 1)
    m = tried[owner]
    # Each number has its borders 0 to m in a row.
    j = np.arange(owner.size) - np.repeat(np.cumsum(tried + 1) - (tried + 1), tried + 1)
    before = np.where(j == 0, 0.0, order.totals[:, None])
    inner = (j > 0) & (j < m)
    before[:, inner] = order.before(j[inner].astype(np.float64), m[inner].astype(np.float64))
    # Bins without a prediction say nothing; nor does the step from one number to the next.
    nonempty = np.flatnonzero(before[0, :-1] < before[0, 1:])
    weight, target = before[:, nonempty + 1] - before[:, nonempty]
    mean = target / weight
    falls = (mean[1:] - mean[:-1] < -ROUNDING) & (owner[nonempty][1:] == owner[nonempty][:-1])
    return np.bincount(owner[nonempty][1:][falls], minlength=tried.size) > 0


class _Levels:
    """Level sets (levels x fields) in the terms of `OrderedLevels`."""

    def __init__(self, sums: NDArray[np.float64]) -> None:
        self.sums = sums[sums[:, 1] > 0]
        self.n_levels = len(self.sums)
        self._ranks = MiddleRanks.of(self.sums[:, 1])
        self._before = np.zeros((2, self.n_levels + 1))
        np.cumsum(self.sums[:, [1, 4]].T, axis=1, out=self._before[:, 1:])

    @property
    def totals(self) -> NDArray[np.float64]:
        return self._before[:, -1]

    def before(self, j: NDArray[np.float64], m: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._before[:, self._ranks.begins(j, m)]

    def merged(self, m: int) -> BinTable:
        return merge_levels(self.sums, m)


def merge_levels(sums: NDArray[np.float64], m: int) -> BinTable:
    """Level sets (levels x fields) put together into m equal-mass bins."""
    firsts = MiddleRanks.of(sums[:, 1]).firsts(m)
    nonempty = firsts[:-1] < firsts[1:]
    merged = np.zeros((m, len(FIELDS)))
    merged[nonempty] = np.add.reduceat(sums, firsts[:-1][nonempty], axis=0)
    return BinTable(merged[None])
