"""Measures that need the predictions in order: over tables with a bin per distinct prediction (or
per fine cell, where a stream was summed).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from calibrant._core.bin_tables import FIELDS, BinTable
from calibrant._core.binning import ROUNDING, MiddleRanks
from calibrant._measures.binned import binned_error

# Bins that a sweep looks at together.
AT_ONCE = 512


def ks_error(levels: BinTable) -> float:
    """The largest partial sum of residuals in order of predictions: ``max_t |sum_{u<=t} R| /
    W``.
    """
    partial = np.cumsum(levels.residual, axis=1)
    return float((np.abs(partial).max(axis=1) / levels.total_weight).mean())


def sweep_error(levels: BinTable, norm: str = "l1") -> float:
    """Binned error at the largest number of equal-mass bins whose mean targets never fall."""
    return binned_error(sweep_bins(levels), norm)


def sweep_bins(levels: BinTable) -> BinTable:
    """The equal-mass bins at which a sweep over their number stops: one before the first fall."""
    sums = levels.sums[0][levels.sums[0, :, 1] > 0]
    ranks = MiddleRanks.of(sums[:, 1])
    through = np.zeros((2, len(sums) + 1))
    np.cumsum(sums[:, [1, 4]].T, axis=1, out=through[:, 1:])
    first = 2
    while first <= len(sums):
        # Several numbers at a time, about AT_ONCE bins in all: most sweeps end within a few dozen.
        more = max(1, int(math.sqrt(first * first + 2 * AT_ONCE)) - first)
        tried = np.arange(first, min(first + more, len(sums) + 1))
        falls = _falls(ranks, through, tried)
        if falls.any():
            return merge_levels(sums, int(tried[falls.argmax()]) - 1)
        first = int(tried[-1]) + 1
    return merge_levels(sums, len(sums))


def _falls(
    ranks: MiddleRanks, through: NDArray[np.float64], tried: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """For each number of bins whether some bin's mean target is below that of the one before."""
    owner = np.repeat(np.arange(tried.size), tried + 1)
    m = tried[owner]
    # Each number has its borders 0 to m in a row.
    j = np.arange(owner.size) - np.repeat(np.cumsum(tried + 1) - (tried + 1), tried + 1)
    at = np.where(j == 0, 0, ranks.doubled.size)
    inner = (j > 0) & (j < m)
    at[inner] = ranks.begins(j[inner].astype(np.float64), m[inner].astype(np.float64))
    # Bins without a prediction say nothing; nor does the step from one number to the next.
    nonempty = np.flatnonzero(at[:-1] < at[1:])
    weight, target = through[:, at[nonempty + 1]] - through[:, at[nonempty]]
    mean = target / weight
    falls = (mean[1:] - mean[:-1] < -ROUNDING) & (owner[nonempty][1:] == owner[nonempty][:-1])
    return np.bincount(owner[nonempty][1:][falls], minlength=tried.size) > 0


def merge_levels(sums: NDArray[np.float64], m: int) -> BinTable:
    """Level sets (levels x fields) put together into m equal-mass bins."""
    firsts = MiddleRanks.of(sums[:, 1]).firsts(m)
    nonempty = firsts[:-1] < firsts[1:]
    merged = np.zeros((m, len(FIELDS)))
    merged[nonempty] = np.add.reduceat(sums, firsts[:-1][nonempty], axis=0)
    return BinTable(merged[None])
