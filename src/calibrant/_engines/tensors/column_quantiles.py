"""Bins of equal mass of a scalar problem on a CUDA device, without a sort of all rows.

Some rows, in order, tell windows in which the borders surely lie. One read sums what is in no
window, and the rest, a few rows of a hundred, is sorted. Each border is checked: should one lie
elsewhere, or a window hold too many, all rows are sorted instead.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from calibrant._core.bin_tables import BinTable, label_fields
from calibrant._core.binning import ROUNDING, Cuts
from calibrant._engines.protocol import Findings
from calibrant._engines.tensors import order_kernels as kernels
from calibrant._engines.tensors.order import Order
from calibrant._engines.tensors.scalars import DEPTH, WARP, Column, doubles

# From this many rows on, windows are faster than a sort.
MANY_ROWS = 1 << 22
# The sampled rows that say where borders lie, and the slack of a window in standard deviations: one
# call in a thousand needs a sort after all.
SOME_ROWS, SURE = 1 << 20, 4.0
# Room for the rows in windows, as a multiple of their expected number.
ROOM = 1.15
MOST_BINS = 16
# Programs that share the rows in windows.
FEW_PROGRAMS = 512


def quantile_table(column: Column, m: int) -> tuple[BinTable, Cuts, Findings] | None:
    """The table of m bins of equal mass, whose sums of squares and products are NaN; the cuts
    between the bins; and the findings. None if only a sort of all rows can find them.
    """
    if column.double or column.n < MANY_ROWS or not 1 < m <= MOST_BINS:
        return None
    some = _some_in_order(column)
    ranks, share = _windows(some.numel(), m, SURE, column.u.device)
    programs, status = column.warps(), column.new_status()
    room = int(ROOM * share * column.n / programs) + 2 * WARP
    keys = torch.empty((programs, room), dtype=torch.int32, device=column.u.device)
    parts = torch.empty((programs, m, 3), dtype=torch.float64, device=column.u.device)
    kernels.split_by_windows[(programs,)](
        column.u,
        column.z,
        some,
        ranks,
        parts,
        keys,
        status,
        column.n,
        programs * WARP * DEPTH,
        room,
        CONFIDENCE=column.confidence,
        M=m - 1,
        BLOCK=WARP,
        DEPTH=DEPTH,
        num_warps=1,
    )
    below, keys = parts.sum(dim=0), keys.reshape(-1).sort().values
    firsts = torch.empty(2 * m - 2, dtype=torch.int32, device=keys.device)
    borders = torch.empty((m - 1, 3), dtype=torch.float64, device=keys.device)
    kernels.find_borders[(1,)](
        keys,
        below,
        some,
        ranks,
        doubles(keys.device, 1 + ROUNDING),
        firsts,
        borders,
        column.n,
        keys.numel(),
        m,
        LANES=MOST_BINS,
        STEPS=keys.numel().bit_length(),
        num_warps=1,
    )
    within = Order(column, keys, column.findings).sums_between(firsts, FEW_PROGRAMS)
    found = column.resolved(status, below, within, firsts.double(), borders)
    if found is None:
        return None
    findings, lost, (below_here, within_here, firsts_here, borders_here) = found
    value, in_lower, sound = borders_here.T
    if lost or not sound.all():
        return None
    through = below_here
    # Add the rows from the beginning of each window to its border to those below the window.
    through[:-1] += np.stack([np.diff(firsts_here)[::2], *within_here[::2, 1:3].T], axis=1)
    n, z, u = np.diff(through, axis=0, prepend=0.0).T
    unknown = np.full(m, np.nan)
    table = np.stack(label_fields(n, u, unknown, z, unknown), axis=1)
    edges = np.where(in_lower > 0, np.nextafter(value, np.inf), value)
    return BinTable(table[None], has_squares=False), Cuts(np.maximum.accumulate(edges)), findings


def _some_in_order(column: Column) -> Tensor:
    """A sample of the column's predictions, sorted, in float32; those beyond [0, 1] by rounding are
    left unclipped.
    """
    some = column.u[:: max(1, column.n // SOME_ROWS)].float().contiguous()
    if column.confidence:
        some = torch.where(some > 0.5, some, 1.0 - some)
    return some.sort().values


@lru_cache(maxsize=16)
def _windows(n: int, m: int, sure: float, device: torch.device) -> tuple[Tensor, float]:
    """Windows of ranks among n sampled rows, in which the m - 1 borders almost surely lie: lowest
    and highest ranks, (2, m - 1), and the share of rows in the windows. `sure` is the half width in
    standard deviations.
    """
    share = np.arange(1, m) / m
    slack = sure * np.sqrt(n * share * (1 - share)) + sure
    ranks = np.stack([n * share - slack, n * share + slack]).astype(np.int64).clip(0, n - 1)
    # Cached: a transfer to the device would wait for the work begun there.
    return torch.from_numpy(ranks).to(device), float(np.minimum(1.0, 2 * slack.sum() / n))
