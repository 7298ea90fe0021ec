"""From tensors to smoothing grids."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from calibrant._core.grid import LOGIT_LIMIT, LogitGrid, UnitGrid, cubic_weights
from calibrant._core.typing import Array
from calibrant._data.samples import Notion
from calibrant._data.source import has_raw_logits
from calibrant._data.tensor_samples import TensorSamples
from calibrant._engines.arrays.smooth import folded, logit_reach
from calibrant._engines.protocol import N_LOGIT_CLIPPED, Findings
from calibrant._engines.tensors.blocks import Scalars, logit_blocks, scalar_blocks, sigmoid
from calibrant._engines.tensors.choice import has_kernels
from calibrant._engines.tensors.columns import class_columns
from calibrant._engines.tensors.rows import row_pass
from calibrant._engines.tensors.tally import Tally, bring_back


class LogitMasses:
    """Sums at the nodes of a logit grid, (2, nodes): weight times target, and weight times (1 -
    target).
    """

    def __init__(self, samples: TensorSamples, spacing: float, eps: float, nodes: int) -> None:
        self.raw = has_raw_logits(samples)
        self.spacing, self.eps = spacing, eps
        self.sums = torch.zeros((2, nodes), dtype=torch.float64, device=samples.place)

    def add(self, block: Scalars, tally: Tally) -> None:
        """Add the rows of a block of the scalar problem; the tally counts the logits that are
        clipped.
        """
        low, high = (-LOGIT_LIMIT, LOGIT_LIMIT) if self.raw else (self.eps, 1.0 - self.eps)
        tally.count(N_LOGIT_CLIPPED, (block.u < low) | (block.u > high))
        u = block.u.clamp(low, high)
        h = u if self.raw else torch.log(u / (1.0 - u))
        position = h * (1.0 / self.spacing) + (self.sums.shape[1] - 1) // 2
        wz = block.z if block.w is None else block.w * block.z
        rest = 1.0 - block.z if block.w is None else block.w * (1.0 - block.z)
        _deposit(self.sums, position, (wz, rest))


class UnitMasses:
    """Sums at the nodes of a unit grid, (1 or 3, cells + 4): weight times (target less prediction),
    or weights, weighted predictions and weighted targets.
    """

    def __init__(self, samples: TensorSamples, cells: int, *, residual_only: bool) -> None:
        self.raw = has_raw_logits(samples)
        shape = (1 if residual_only else 3, cells + 4)
        self.sums = torch.zeros(shape, dtype=torch.float64, device=samples.place)

    def add(self, block: Scalars, tally: Tally) -> None:
        """Add the rows of a block of the scalar problem; the tally is not used."""
        u = sigmoid(block.u) if self.raw else block.u
        w = torch.ones_like(u) if block.w is None else block.w
        position = u * (self.sums.shape[1] - 4) + 1
        one = len(self.sums) == 1
        _deposit(self.sums, position, (w * (block.z - u),) if one else (w, w * u, w * block.z))


def grid_blocks(samples: TensorSamples, notion: Notion, tally: Tally) -> Iterator[Scalars]:
    """Yield the scalar problem block by block; for a binary problem of logits the predictions are
    these logits.
    """
    read = logit_blocks if has_raw_logits(samples) else scalar_blocks
    return read(samples, notion, tally)


def logit_grid(
    samples: TensorSamples, notion: Notion, spacing: float, eps: float, *, whole: bool = False
) -> tuple[LogitGrid, Findings, int]:
    """The scalar problem as masses on a grid of logits, the findings, and how many logits were
    clipped.

    A row with weight w and target z adds w z and w (1 - z) to the nodes around its logit. Without
    `whole` the nodes beyond the reach of probabilities clipped to [eps, 1 - eps] are left out.
    """
    nodes = LogitGrid.n_nodes(spacing, logit_reach(eps, whole or samples.from_logits))

    fast = None
    if has_kernels(samples.predictions):
        from calibrant._engines.tensors.scalars import column_of, logit_masses

        whole_column = column_of(samples, notion)
        if whole_column is not None:
            fast = logit_masses(whole_column, spacing, eps, nodes)
    if fast is not None:
        return LogitGrid(spacing, fast[0][None, 0], fast[0][None, 1]), fast[1], fast[2]

    def masses(problem: TensorSamples) -> LogitMasses:
        """A logit grid of zeros for the samples of one problem."""
        return LogitMasses(problem, spacing, eps, nodes)

    sums, findings, n_clipped = _grid_masses(samples, notion, masses)
    return LogitGrid(spacing, sums[:, 0], sums[:, 1]), findings, n_clipped


def unit_grid(
    samples: TensorSamples, notion: Notion, cells: int, *, residual_only: bool = True
) -> tuple[UnitGrid, Findings]:
    """The scalar problem as masses on a grid of [0, 1] with this many cells, and the findings.

    A row with weight w, prediction u and target z adds w (z - u) to the nodes around u, or, without
    `residual_only`, the three masses w, w u and w z. Mass beyond the ends of [0, 1] is folded back
    inside.
    """

    fast = None
    if residual_only and has_kernels(samples.predictions):
        from calibrant._engines.tensors import unit_grids
        from calibrant._engines.tensors.scalars import column_of

        whole_column = column_of(samples, notion)
        if whole_column is not None:
            fast = unit_grids.unit_grid(whole_column, cells)
    if fast is not None:
        return fast

    def masses(problem: TensorSamples) -> UnitMasses:
        """A unit grid of zeros for the samples of one problem."""
        return UnitMasses(problem, cells, residual_only=residual_only)

    sums, findings, _ = _grid_masses(samples, notion, masses)
    return folded(sums), findings


def _grid_masses(
    samples: TensorSamples,
    notion: Notion,
    masses: Callable[[TensorSamples], LogitMasses | UnitMasses],
) -> tuple[Array, Findings, int]:
    """Grid masses of the notion's problem (for "classwise", of each class's), (classes, rows,
    nodes), the findings, and how many logits were clipped. `masses` makes a grid of zeros for one
    problem.
    """
    problems: Iterator[TensorSamples] = iter([samples])
    checked, inner = None, notion
    if notion == "classwise":
        checked, inner = row_pass(samples, None, None, False).findings, "binary"
        problems = class_columns(samples)
    tally, parts = Tally(samples.place), []
    for problem in problems:
        grid = masses(problem)
        for block in grid_blocks(problem, inner, tally):
            grid.add(block, tally)
        parts.append(grid.sums)
    status, (sums,) = bring_back(tally, torch.stack(parts))
    findings = Findings.from_status(status) if checked is None else checked
    return sums, findings, int(status[N_LOGIT_CLIPPED])


def _deposit(nodes: Tensor, position: Tensor, masses: tuple[Tensor, ...]) -> None:
    """Share each mass among the four grid nodes around its position (in units of nodes), with the
    weights of cubic interpolation. `nodes` has a row for each tensor in `masses`.
    """
    j = position.floor()
    t = position - j
    first = j.long() - 1
    for offset, part in enumerate(cubic_weights(t)):
        for row, mass in zip(nodes, masses, strict=True):
            row.index_add_(0, first + offset, mass * part)
