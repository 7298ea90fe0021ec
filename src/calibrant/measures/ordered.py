"""Measures that need the reports in order: over tables with a bin per distinct report (or per
fine cell, where a stream was summed).
"""

from __future__ import annotations

import numpy as np

from calibrant.binning import ROUNDING, middle_rank_bins
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
    best = merge_levels(sums, 1)
    for m in range(2, len(sums) + 1):
        candidate = merge_levels(sums, m)
        mean_z = candidate.mean_z[0]
        held = mean_z[~np.isnan(mean_z)]
        if (np.diff(held) < -ROUNDING).any():
            break
        best = candidate
    return best


def merge_levels(sums: np.ndarray[tuple[int, ...], np.dtype[np.float64]], m: int) -> BinTable:
    """Level sets (levels x fields) put together into m equal-mass bins."""
    bins = middle_rank_bins(sums[:, 1], m)
    merged = np.zeros((m, len(FIELDS)))
    np.add.at(merged, bins, sums)
    return BinTable(merged[None])
