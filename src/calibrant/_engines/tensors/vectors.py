"""Sums per cell for vector predictions in tensors; `arrays.vectors` describes what the cells
are.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from calibrant._core.bin_tables import VectorTable
from calibrant._core.binning import LevelSets, Quantile, Rule, fixed_cuts
from calibrant._core.given_cells import Cells
from calibrant._core.typing import Array
from calibrant._data.tensor_samples import TensorSamples
from calibrant._engines.arrays import engine as arrays
from calibrant._engines.protocol import Findings
from calibrant._engines.tensors.blocks import Rows, edges_of, row_blocks
from calibrant._engines.tensors.columns import column
from calibrant._engines.tensors.quantiles import bins_by_rank, quantile_edges
from calibrant._engines.tensors.tally import Tally, resolved


def vector_table(
    samples: TensorSamples, rule: Rule, phi: Array | None = None
) -> tuple[VectorTable, Findings]:
    """Sums by cell of vector predictions, for a linear property of the label, and the findings.

    `phi` (k, d) has the property's value for each class; None means the label itself, as a vector
    with a 1 for its class. A cell is which coordinate is largest and the bin of that coordinate.
    Level sets, and bins by rank, need every vector prediction at once, on the device.
    """
    if isinstance(rule, Cells):
        return arrays.vector_table(samples.in_memory(), rule, phi)
    tally = Tally(samples.place)
    property_ = _Property(samples, phi)
    if isinstance(rule, LevelSets):
        return _level_table(samples, property_, tally)
    if isinstance(rule, Quantile) and rule.ties == "rank":
        return _rank_table(samples, rule.m, property_, tally)
    edges = _edges(samples, rule, property_)
    m = edges.numel() + 1
    sums = _CellSums(property_.d * m, property_.d, samples.place)
    for rows in row_blocks(samples, tally):
        u, z, w = property_.vectors(rows)
        largest, top = property_.scaled(u).max(dim=1)
        sums.add(top * m + torch.bucketize(largest, edges, right=True), u - z, w)
    if rule.drops_one:
        sums.residual[m - 1 :: m] = 0.0  # in no bin, but of the weight
    return sums.table(tally)


class _Property:
    """A linear property of the label with d coordinates: each class's values `phi` (k, d) and the
    range of each coordinate. Without `phi` it is the label itself.
    """

    def __init__(self, samples: TensorSamples, phi: Array | None) -> None:
        self.phi, self.d = None, samples.n_classes
        if phi is not None:
            self.phi = torch.tensor(phi, dtype=torch.float64, device=samples.place)
            self.d = phi.shape[1]
            self.low = self.phi.amin(dim=0)
            span = self.phi.amax(dim=0) - self.low
            self.span = torch.where(span > 0, span, 1.0)

    def vectors(self, rows: Rows) -> tuple[Tensor, Tensor, Tensor]:
        """Vector predictions, vector targets, both (rows, d), and weights of a block."""
        p, q = rows.p, rows.target_rows()
        w = torch.ones_like(p[:, 0]) if rows.w is None else rows.w
        return (p, q, w) if self.phi is None else (p @ self.phi, q @ self.phi, w)

    def all_vectors(self, samples: TensorSamples, tally: Tally) -> tuple[Tensor, ...]:
        """Vector predictions, vector targets, both (n, d), and weights of all rows."""
        parts = [self.vectors(rows) for rows in row_blocks(samples, tally)]
        return tuple(torch.cat(part) for part in zip(*parts, strict=True))

    def scaled(self, u: Tensor) -> Tensor:
        """Vector predictions with each coordinate scaled from its range to [0, 1], so that
        coordinates can be compared and binned.
        """
        return u if self.phi is None else (u - self.low) / self.span


def _edges(samples: TensorSamples, rule: Rule, property_: _Property) -> Tensor:
    """The inner edges between the bins of the largest coordinate, scaled to [0, 1]."""
    if rule.is_fixed:
        own = samples.precision if property_.phi is None else np.dtype(np.float64)
        return edges_of(fixed_cuts(rule, own), samples.place)
    assert isinstance(rule, Quantile)
    # A pass of its own, whose counts must not be added to those of the next.
    apart = Tally(samples.place)
    if property_.phi is None:
        whole = column(samples, "confidence", apart)
        largest, w = whole.u, whole.w
    else:
        largest = torch.cat(list(_largest_coordinate(samples, property_, apart)))
        w = samples.weight_block(0, samples.n)
    return quantile_edges(largest[None], w, rule.m)[0]


def _largest_coordinate(
    samples: TensorSamples, property_: _Property, tally: Tally
) -> Iterator[Tensor]:
    """Yield the largest coordinate, scaled to [0, 1], of the rows of each block."""
    for rows in row_blocks(samples, tally):
        yield property_.scaled(property_.vectors(rows)[0]).amax(dim=1).clamp(0.0, 1.0)


def _rank_table(
    samples: TensorSamples, m: int, property_: _Property, tally: Tally
) -> tuple[VectorTable, Findings]:
    """The table whose cells are which coordinate is largest and its bin by rank, and the findings;
    every vector prediction is on the device at once.
    """
    u, z, w = property_.all_vectors(samples, tally)
    largest, top = property_.scaled(u).max(dim=1)
    bins = bins_by_rank(largest, w if samples.weighted else None, m)
    sums = _CellSums(property_.d * m, property_.d, u.device)
    sums.add(top * m + bins, u - z, w)
    return sums.table(tally)


def _level_table(
    samples: TensorSamples, property_: _Property, tally: Tally
) -> tuple[VectorTable, Findings]:
    """The table with a cell for each distinct vector prediction, and the findings."""
    u, z, w = property_.all_vectors(samples, tally)
    levels, level = torch.unique(u + 0.0, dim=0, return_inverse=True)  # -0.0 and 0.0 are one
    sums = _CellSums(len(levels), property_.d, u.device)
    sums.add(level, u - z, w)
    return sums.table(tally)


class _CellSums:
    """Sums of weights (cells,) and of weighted prediction less target (cells, d), on the device."""

    def __init__(self, cells: int, d: int, device: torch.device) -> None:
        self.weight = torch.zeros(cells, dtype=torch.float64, device=device)
        self.residual = torch.zeros((cells, d), dtype=torch.float64, device=device)

    def add(self, cell: Tensor, difference: Tensor, w: Tensor) -> None:
        """Add rows to their cells: `difference` (rows, d) is prediction less target, w the weights,
        `cell` the number of each row's cell.
        """
        d = self.residual.shape[1]
        self.weight.index_add_(0, cell, w)
        at = cell[:, None] * d + torch.arange(d, device=cell.device)
        masses = (w[:, None] * difference).reshape(-1)
        self.residual.view(-1).index_add_(0, at.reshape(-1), masses)

    def table(self, tally: Tally) -> tuple[VectorTable, Findings]:
        """The sums as a table on the host, and the findings of the pass. Raises BadRow."""
        findings, (weight, residual) = resolved(tally, self.weight, self.residual)
        return VectorTable(weight, residual), findings
