"""From samples to smoothing grids."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from calibrant._core.engine_choice import n_threads
from calibrant._core.grid import LOGIT_LIMIT, LogitGrid, UnitGrid
from calibrant._core.typing import Array, Counts
from calibrant._data.links import sigmoid
from calibrant._data.samples import Notion, Samples
from calibrant._data.source import has_raw_logits
from calibrant._engines.arrays.counting import class_columns
from calibrant._engines.arrays.ordering import level_table
from calibrant._engines.arrays.passes import (
    LANES_FROM,
    N_LANES,
    ScalarBlock,
    Span,
    equal_runs,
    in_threads,
    matrix_sums,
    raise_bad,
    scalar_blocks,
    sum_over_lanes,
)
from calibrant._engines.arrays.selection import kernels
from calibrant._engines.protocol import N_LOGIT_CLIPPED, Findings, new_status

# Masses at nodes, what was seen on the way, and how many logits were clipped.
Masses = tuple[Array, Findings, int]
# A block is predictions (or logits), targets and weights; a Deposit adds one to masses at nodes.
Block = Sequence[Any]
Deposit = Callable[[Array, Block, bool, Counts], None]


def logit_grid(
    samples: Samples, notion: Notion, spacing: float, eps: float, *, whole: bool = False
) -> tuple[LogitGrid, Findings, int]:
    """The scalar problem as masses on a grid of logits, the findings, and how many logits were
    clipped.

    A row with weight w and target z adds w z and w (1 - z) to the nodes around its logit. Without
    `whole` the nodes beyond the reach of probabilities clipped to [eps, 1 - eps] are left out.
    """
    nodes = LogitGrid.n_nodes(spacing, logit_reach(eps, whole or samples.from_logits))

    def add(masses: Array, block: Block, are_logits: bool, status: Counts) -> None:
        """Add a block of rows to the two rows of masses. `are_logits` says that its predictions are
        logits already.
        """
        (plus, minus), (u, z, w) = masses, block
        low, high = (-LOGIT_LIMIT, LOGIT_LIMIT) if are_logits else (eps, 1.0 - eps)
        kernels().deposit_logits(plus, minus, u, z, w, 1.0 / spacing, low, high, are_logits, status)

    sums, findings, n_clipped = _grid_masses(samples, notion, (2, nodes), add)
    return LogitGrid(spacing, sums[:, 0], sums[:, 1]), findings, n_clipped


def logit_reach(eps: float, whole: bool) -> float:
    """The largest logit on the grid: that of a probability clipped to [eps, 1 - eps] or, for the
    `whole` grid, the limit to which all logits are clipped.
    """
    if whole:
        return LOGIT_LIMIT
    # 1 - eps is rounded: where eps is small its logit is not that of eps.
    low, high = eps, 1.0 - eps
    return float(max(np.log((1.0 - low) / low), np.log(high / (1.0 - high))))


def unit_grid(
    samples: Samples, notion: Notion, cells: int, *, residual_only: bool = True
) -> tuple[UnitGrid, Findings]:
    """The scalar problem as masses on a grid of [0, 1] with this many cells, and the findings.

    A row with weight w, prediction u and target z adds w (z - u) to the nodes around u, or, without
    `residual_only`, the three masses w, w u and w z. Mass beyond the ends of [0, 1] is folded back
    inside.
    """

    def add(masses: Array, block: Block, are_logits: bool, status: Counts) -> None:
        """Add a block of rows to the masses; `are_logits` is ignored."""
        u, z, w = block
        kernels().deposit_units(masses, sigmoid(u) if are_logits else u, z, w, status)

    sums, findings, _ = _grid_masses(samples, notion, (1 if residual_only else 3, cells + 4), add)
    return folded(sums), findings


def uniform_error(
    samples: Samples, notion: Notion, sigma: float, eps: float
) -> tuple[float, float, Findings] | None:
    """LS-ECE with uniform noise of width `sigma`, in parts: the integral before division by the
    total weight, that weight, and the findings.

    None without a compiled kernel, for the classwise notion, and for binary logits. Probabilities
    are clipped to [eps, 1 - eps] before their logits are taken.
    """
    if kernels().name == "numpy" or notion == "classwise" or has_raw_logits(samples):
        return None
    from calibrant._engines.arrays.native import uniform_error as integral

    levels, findings = level_table(samples, notion)
    u, w, wz = levels.mean_u[0], levels.sum_w[0], levels.sum_wz[0]
    h = np.empty(u.size)
    lanes = N_LANES if u.size >= LANES_FROM else 1
    threads = n_threads() if lanes > 1 else 1

    def take_logits(span: Span) -> None:
        """Write the logits of a run (first, end) of distinct predictions to the result."""
        here = slice(*span)
        v = np.clip(u[here], eps, 1.0 - eps)
        np.log(v / (1.0 - v), out=h[here])
        # The logarithm rounds up or down: this keeps the logits in order.
        np.maximum.accumulate(h[here], out=h[here])

    in_threads(take_logits, equal_runs(u.size, lanes), threads)
    runs = equal_runs(2 * u.size, lanes)
    parts = in_threads(lambda run: integral(h, w, wz, sigma, *run), runs, threads)
    return math.fsum(parts) / sigma, float(w.sum()), findings


def folded(sums: Array) -> UnitGrid:
    """A unit grid from masses (classes, rows, cells + 4): the masses at the nodes beyond [0, 1]
    (one below, two above) are added to their mirror images inside.
    """
    cells = sums.shape[2] - 4
    inside = sums[:, :, 1 : cells + 2].copy()
    inside[:, :, 1] += sums[:, :, 0]
    inside[:, :, cells - 1] += sums[:, :, cells + 2]
    inside[:, :, cells - 2] += sums[:, :, cells + 3]
    return UnitGrid(inside)


def _grid_masses(samples: Samples, notion: Notion, shape: tuple[int, int], add: Deposit) -> Masses:
    """Grid masses of the notion's problem (for "classwise", of each class's), (classes, *shape),
    the findings, and how many logits were clipped. `add` adds a block of rows to the masses.
    """
    if notion != "classwise":
        sums, findings, n_clipped = _grid_masses_of_problem(samples, notion, shape, add)
        return sums[None], findings, n_clipped
    rows_checked = matrix_sums(samples).findings
    parts = [
        _grid_masses_of_problem(column, "binary", shape, add) for column in class_columns(samples)
    ]
    return np.stack([p[0] for p in parts]), rows_checked, sum(p[2] for p in parts)


def _grid_masses_of_problem(
    samples: Samples, notion: Notion, shape: tuple[int, int], add: Deposit
) -> Masses:
    """Grid masses of one scalar problem, of the given shape, the findings, and how many logits were
    clipped. `add` adds a block of rows to the masses.
    """

    def work(spans: list[Span]) -> Masses:
        """The grid masses, the findings and the number of clipped logits of some blocks of rows,
        each (first row, end).
        """
        sums, status = np.zeros(shape), new_status()
        for start, *block in _grid_blocks(samples, notion, spans, status):
            add(sums, block, has_raw_logits(samples), status)
            raise_bad(status, start)
        return sums, Findings.from_status(status), int(status[N_LOGIT_CLIPPED])

    size = shape[0] * shape[1]
    # A deposit costs ten times a bin's sums: threads are worth it earlier.
    return sum_over_lanes(samples, work, state_size=size // 8, threads_from=LANES_FROM)


def _grid_blocks(
    samples: Samples, notion: Notion, spans: list[Span], status: Counts
) -> Iterator[ScalarBlock]:
    """Yield the scalar problem block by block, as `scalar_blocks` does. For a binary problem of
    logits the predictions are these logits (for the confidence, their absolute values).
    """
    if not has_raw_logits(samples):
        yield from scalar_blocks(samples, notion, spans, status)
        return
    for start, stop in spans:
        block = samples.block(start, stop)
        logits = np.ascontiguousarray(samples.predictions[start:stop], dtype=np.float64)
        z = block.targets.astype(np.float64)
        if notion == "confidence":
            z = np.where(logits > 0, z, 1.0 - z)
            logits = np.abs(logits)
        yield start, logits, z, block.weights
