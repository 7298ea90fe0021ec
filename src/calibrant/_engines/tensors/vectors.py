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
from calibrant._core.typing import Array
from calibrant._data.tensor_samples import TensorSamples
from calibrant._engines.protocol import Findings
from calibrant._engines.tensors.blocks import Rows, edges_of, row_blocks
from calibrant._engines.tensors.columns import column
from calibrant._engines.tensors.quantiles import by_rank, quantile_edges
from calibrant._engines.tensors.tally import Tally, resolved


def vector_table(
    samples: TensorSamples, rule: Rule, phi: Array | None = None
) -> tuple[VectorTable, Findings]:
    """The table of the linear property with values phi (k, d); None is the label itself (e_y).

    Level sets need every vector prediction at once, on the device.
    """
    tally = Tally(samples.place)
    property_ = _Property(samples, phi)
    if isinstance(rule, LevelSets):
        return _levels(samples, property_, tally)
    if isinstance(rule, Quantile) and rule.ties == "rank":
        return _ranked(samples, rule.m, property_, tally)
    edges = _edges(samples, rule, property_)
    m, d = edges.numel() + 1, property_.d
    weight = torch.zeros(d * m, dtype=torch.float64, device=samples.place)
    residual = torch.zeros((d * m, d), dtype=torch.float64, device=samples.place)
    for rows in row_blocks(samples, tally):
        u, z, w = property_.vectors(rows)
        largest, top = property_.scaled(u).max(dim=1)
        cell = top * m + torch.bucketize(largest, edges, right=True)
        _add(weight, residual, cell, u - z, w)
    if rule.drops_one:
        residual[m - 1 :: m] = 0.0  # in no bin, but of the weight
    findings, (sum_w, sums) = resolved(tally, weight, residual)
    return VectorTable(sum_w, sums), findings


class _Property:
    """A linear property of the label, and where each of its coordinates lies."""

    def __init__(self, samples: TensorSamples, phi: Array | None) -> None:
        self.phi, self.d = None, samples.n_classes
        if phi is not None:
            self.phi = torch.tensor(phi, dtype=torch.float64, device=samples.place)
            self.d = phi.shape[1]
            self.low = self.phi.amin(dim=0)
            span = self.phi.amax(dim=0) - self.low
            self.span = torch.where(span > 0, span, 1.0)

    def vectors(self, rows: Rows) -> tuple[Tensor, Tensor, Tensor]:
        """Vector predictions, vector targets and weights of a block."""
        if rows.label is not None:
            q = torch.zeros_like(rows.p).scatter(1, rows.label[:, None], 1.0)
        else:
            assert rows.q is not None
            q = rows.q
        w = torch.ones_like(rows.p[:, 0]) if rows.w is None else rows.w
        if self.phi is None:
            return rows.p, q, w
        return rows.p @ self.phi, q @ self.phi, w

    def scaled(self, u: Tensor) -> Tensor:
        """Coordinates of any scale brought to [0, 1], so that they can be compared and binned."""
        return u if self.phi is None else (u - self.low) / self.span


def _edges(samples: TensorSamples, rule: Rule, property_: _Property) -> Tensor:
    """The inner edges of the largest coordinate."""
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
        largest = torch.cat(list(_largest(samples, property_, apart)))
        w = samples.weight_block(0, samples.n)
    return quantile_edges(largest[None], w, rule.m)[0]


def _largest(samples: TensorSamples, property_: _Property, tally: Tally) -> Iterator[Tensor]:
    for rows in row_blocks(samples, tally):
        yield property_.scaled(property_.vectors(rows)[0]).amax(dim=1).clamp(0.0, 1.0)


def _ranked(
    samples: TensorSamples, m: int, property_: _Property, tally: Tally
) -> tuple[VectorTable, Findings]:
    """Bins by rank of the largest coordinate: every vector prediction at once, on the device."""
    parts = [property_.vectors(rows) for rows in row_blocks(samples, tally)]
    u, z, w = (torch.cat(part) for part in zip(*parts, strict=True))
    largest, top = property_.scaled(u).max(dim=1)
    order, bins = by_rank(largest, w if samples.weighted else None, m)
    cell = torch.empty_like(order)
    cell[order] = bins
    weight = torch.zeros(property_.d * m, dtype=torch.float64, device=u.device)
    residual = torch.zeros((property_.d * m, property_.d), dtype=torch.float64, device=u.device)
    _add(weight, residual, top * m + cell, u - z, w)
    findings, (sum_w, sums) = resolved(tally, weight, residual)
    return VectorTable(sum_w, sums), findings


def _levels(
    samples: TensorSamples, property_: _Property, tally: Tally
) -> tuple[VectorTable, Findings]:
    parts = [property_.vectors(rows) for rows in row_blocks(samples, tally)]
    u, z, w = (torch.cat(part) for part in zip(*parts, strict=True))
    levels, where = torch.unique(u + 0.0, dim=0, return_inverse=True)  # -0.0 and 0.0 are one
    weight = torch.zeros(len(levels), dtype=torch.float64, device=u.device)
    residual = torch.zeros_like(levels)
    _add(weight, residual, where, u - z, w)
    findings, (sum_w, sums) = resolved(tally, weight, residual)
    return VectorTable(sum_w, sums), findings


def _add(weight: Tensor, residual: Tensor, cell: Tensor, difference: Tensor, w: Tensor) -> None:
    d = residual.shape[1]
    weight.index_add_(0, cell, w)
    at = cell[:, None] * d + torch.arange(d, device=cell.device)
    residual.view(-1).index_add_(0, at.reshape(-1), (w[:, None] * difference).reshape(-1))
