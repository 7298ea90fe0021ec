"""Bins of equal mass of a scalar problem on a CUDA device, without a sort of all rows.

Some rows, in order, tell windows in which the borders surely lie. One read sums what is in no
window, and the rest, a few rows of a hundred, is sorted. Each border is checked: should one lie
elsewhere, or a window hold too many, all rows are sorted instead.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from calibrant._core.bin_tables import BinTable
from calibrant._core.binning import ROUNDING, Cuts
from calibrant._engines.protocol import Findings
from calibrant._engines.tensors import scalar_kernels as kernels
from calibrant._engines.tensors.order import Order
from calibrant._engines.tensors.scalars import PROGRAMS, Column
from calibrant._engines.tensors.sums import fields_of_labels

# Fewer rows are sorted as fast.
MANY_ROWS = 1 << 22
# Rows that tell where to look, and the slack of a window in standard deviations.
SOME_ROWS, SURE = 1 << 20, 6.0
# Room for rows in windows, in parts of what there should be.
ROOM = 1.5
MOST_BINS = 16
# Rows of a step: one warp's, so that nothing waits for another, and several of each thread.
BLOCK, DEPTH = 32, 8
LAST = 2**31 - 1


def quantile_table(column: Column, m: int) -> tuple[BinTable, Cuts, Findings] | None:
    """The table of m bins of equal mass, but for squares, with the cuts between them; None if it
    takes a sort.
    """
    if column.double or column.n < MANY_ROWS or not 1 < m <= MOST_BINS:
        return None
    windows, share = _windows(column, m)
    programs, status = column.programs(BLOCK * DEPTH, 4 * PROGRAMS), column.new_status()
    room = int(ROOM * share * column.n / programs) + 2 * BLOCK
    keys = torch.full((programs, room), LAST, dtype=torch.int32, device=column.u.device)
    parts = torch.empty((programs, m, 4), dtype=torch.float64, device=column.u.device)
    kernels.split_by_windows[(programs,)](
        column.u, column.z, windows, parts, keys, status, column.n, programs * BLOCK * DEPTH, room,
        CONFIDENCE=column.confidence, M=m - 1, BLOCK=BLOCK, DEPTH=DEPTH, num_warps=1,
    )  # fmt: skip
    below = parts.sum(dim=0)
    sums, edges, sound = _between(column, keys.reshape(-1).sort().values, below, windows, m)
    found = column.resolved(status, sums, edges, sound)
    if found is None:
        return None
    findings, lost, (table, inner, right) = found
    if lost or not right.all():
        return None
    return BinTable(table[None], has_squares=False), Cuts(np.maximum.accumulate(inner)), findings


def _windows(column: Column, m: int) -> tuple[Tensor, float]:
    """Lows and highs of windows around the borders (2, m - 1), and the share of rows in them."""
    some = column.u[:: max(1, column.n // SOME_ROWS)].float()
    if column.confidence:
        some = torch.where(some > 0.5, some, 1.0 - some)
    some = (some.clamp(0.0, 1.0) + 0.0).sort().values
    n = some.numel()
    share = np.arange(1, m) / m
    slack = SURE * np.sqrt(n * share * (1 - share)) + SURE
    ranks = np.stack([n * share - slack, n * share + slack]).astype(np.int64).clip(0, n - 1)
    low, high = some[torch.from_numpy(ranks).to(some.device)]
    high = torch.nextafter(high, high.new_full((), torch.inf))
    return torch.stack([low, high]), float(np.minimum(1.0, 2 * slack.sum() / n))


def _between(
    column: Column, keys: Tensor, below: Tensor, windows: Tensor, m: int
) -> tuple[Tensor, Tensor, Tensor]:
    """The fields of the bins, the edges between them, and whether each border is in its window;
    from keys in order of rows in windows, and sums of those in none below each window.
    """
    n, j = column.n, torch.arange(1, m, dtype=torch.float64, device=keys.device)
    elsewhere = below[:-1, 0].long()
    within = n - below[-1, 0].long()
    at = ((j * n / m).ceil() - 1).long() - elsewhere
    bits = keys[at.clamp(0, keys.numel() - 1)] >> 1
    values = bits.view(torch.float32)
    sound = (at >= 0) & (at < within) & (values >= windows[0]) & (values < windows[1])
    start = torch.searchsorted(keys, bits * 2)
    stop = torch.searchsorted(keys, bits * 2 + 2)
    middle = (start + stop + 2 * elsewhere).double()
    in_lower = middle * m <= 2.0 * j * n * (1 + ROUNDING)
    places = torch.where(in_lower, stop, start)
    firsts = torch.cat([places.new_zeros(1), places, within.reshape(1)])
    here = Order(column, keys, column.findings).sums(firsts)
    counts, z, u, uz = torch.nn.functional.pad(below.T, (1, 0)).diff(dim=1)
    others = fields_of_labels(counts, u, torch.full_like(u, torch.nan), z, uz)
    exact = values.double()
    above = torch.nextafter(exact, exact.new_full((), torch.inf))
    return here + others, torch.where(in_lower, above, exact), sound.double()
