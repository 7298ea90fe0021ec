"""Measures that need the reports in order: over tables with a bin per distinct report (or per
fine cell, where a stream was summed).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calibrant.binning import ROUNDING, MiddleRanks
from calibrant.measures.binned import binned_error
from calibrant.statistics.bins import FIELDS, BinTable


def ks_error(levels: BinTable) -> float:
    """The largest partial sum of residuals in order of reports: ``max_t |sum_{u<=t} R| / W``."""
    partial = np.cumsum(levels.residual, axis=1)
    return float((np.abs(partial).max(axis=1) / levels.total_weight).mean())


def sweep_error(levels: BinTable, norm: str = "l1") -> float:
    """Binned error at the largest number of equal-mass bins whose mean targets never fall."""
    return binned_error(sweep_bins(levels), norm)


def sweep_bins(levels: BinTable) -> BinTable:
    """The equal-mass bins at which a sweep over their number stops: one before the first fall."""
    sums = levels.sums[0][levels.sums[0, :, 1] > 0]
    ranks = MiddleRanks.of(sums[:, 1])
    w, wz = np.ascontiguousarray(sums[:, 1]), np.ascontiguousarray(sums[:, 4])
    best = 1
    for m in range(2, len(sums) + 1):
        firsts = ranks.firsts(m)
        # Bins without a report say nothing: only the others are summed.
        held = firsts[:-1][firsts[:-1] < firsts[1:]]
        mean_z = np.add.reduceat(wz, held) / np.add.reduceat(w, held)
        if (mean_z[1:] - mean_z[:-1] < -ROUNDING).any():
            break
        best = m
    return merge_levels(sums, best)


def merge_levels(sums: NDArray[np.float64], m: int) -> BinTable:
    """Level sets (levels x fields) put together into m equal-mass bins."""
    firsts = MiddleRanks.of(sums[:, 1]).firsts(m)
    held = firsts[:-1] < firsts[1:]
    merged = np.zeros((m, len(FIELDS)))
    merged[held] = np.add.reduceat(sums, firsts[:-1][held], axis=0)
    return BinTable(merged[None])
