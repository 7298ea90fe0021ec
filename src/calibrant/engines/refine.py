"""Exact quantile bins of rows that can be read again, but not held: cells first, then a closer look
at the few that an edge of a bin falls into.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from calibrant.binning import ROUNDING, Cuts, middle_rank_bins
from calibrant.errors import InputError
from calibrant.statistics.bins import FIELDS, BinTable

Floats = NDArray[np.float64]
# Rows with low <= report <= high for some span, grouped: their smallest and largest report, and
# their sums (groups x fields). With a number of parts, a span's rows are grouped by
# floor((u - low) / (high - low) * parts); with None, by report.
Look = Callable[[Floats, Floats, int | None], tuple[Floats, Floats, Floats]]

# Rows that are worth grouping by report at once; more are cut into finer parts first.
FEW_ROWS = 1 << 18
PARTS = 4096


def exact_quantile_bins(cells: Floats, cuts: Cuts, m: int, look: Look) -> BinTable:
    """The m bins of equal mass, ties together, given sums of cells and a way to look again."""
    _, _, sums = quantile_groups(cells, cuts, m, look)
    merged = np.zeros((m, len(FIELDS)))
    np.add.at(merged, middle_rank_bins(sums[:, 1], m), sums)
    return BinTable(merged[None])


def quantile_groups(cells: Floats, cuts: Cuts, m: int, look: Look) -> tuple[Floats, Floats, Floats]:
    """Groups of reports in order, each of them in one of the m bins: ends and sums.

    A group of reports whose ranks no border of a bin divides is in one bin as a whole; the others
    are looked at until they hold one report only. Two looks suffice for any number of rows that
    fits a disk, and mostly one.
    """
    held = cells[:, FIELDS.index("sum_w")] > 0
    low = np.concatenate([[0.0], cuts.inner])[held]
    high = np.concatenate([np.nextafter(cuts.inner, -np.inf), [1.0]])[held]
    sums = cells[held]
    while True:
        open_ = _divided(sums[:, 1], m) & (low < high)
        if not open_.any():
            break
        n_rows = float(sums[open_, 0].sum())
        parts = None if n_rows <= FEW_ROWS else PARTS
        new_low, new_high, new_sums = look(low[open_], high[open_], parts)
        _same_rows(n_rows, float(new_sums[:, 0].sum()))
        low = np.concatenate([low[~open_], new_low])
        high = np.concatenate([high[~open_], new_high])
        sums = np.concatenate([sums[~open_], new_sums])
        weighty = sums[:, 1] > 0
        low, high, sums = low[weighty], high[weighty], sums[weighty]
        order = np.argsort(low, kind="stable")
        low, high, sums = low[order], high[order], sums[order]
    return low, high, sums


def _divided(mass: Floats, m: int) -> NDArray[np.bool_]:
    """Which groups, in order of reports, have a border j W / m strictly inside their ranks."""
    through = np.cumsum(mass)
    total = through[-1]
    # Half a part in 10^12 either way: a group too many is looked at, never one too few.
    below = np.ceil((through - mass) * m / total * (1 - ROUNDING))
    above = np.floor(through * m / total * (1 + ROUNDING))
    first = np.maximum(below, 1)
    last = np.minimum(above, m - 1)
    divided: NDArray[np.bool_] = first <= last
    return divided


def _same_rows(before: float, after: float) -> None:
    if before != after:
        raise InputError(
            f"the data changed while they were read: {before:.0f} rows in one pass, {after:.0f} in "
            "the next. Measure a copy that nobody writes to"
        )
