"""Sums per cell for vector reports: linear properties of the label, and full calibration.

A vector report is put into the cell (which coordinate is largest, bin of that coordinate). Any
partition that does not look at outcomes keeps the error truthful; this one has k m cells, merges,
and is fine enough to tell classes apart.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calibrant.binning import (
    Cuts,
    Edges,
    EqualWidth,
    LevelSets,
    Quantile,
    Rule,
    fixed_cuts,
    rank_bins,
)
from calibrant.engines.passes import matrix_sums, row_block
from calibrant.engines.protocol import Findings
from calibrant.engines.quantiles import quantile_cuts
from calibrant.samples.samples import Samples
from calibrant.statistics.bins import VectorTable


def vector_table(
    samples: Samples, rule: Rule, phi: NDArray[np.float64] | None = None
) -> tuple[VectorTable, Findings]:
    """The table of the linear property with values phi (k, d); None is the label itself (e_y)."""
    findings = matrix_sums(samples).findings
    d = samples.n_classes if phi is None else phi.shape[1]
    low, span = _range(phi)
    size, total = 0, VectorTable(np.zeros(0), np.zeros((0, d)), np.zeros((0, d)))
    rows = row_block(samples.n_classes)
    levels = _LevelIndex() if isinstance(rule, LevelSets) else None
    cuts = None if levels else _cuts(samples, rule, phi, low, span)
    for start in range(0, samples.n, rows):
        u, z, w = _block(samples, start, min(start + rows, samples.n), phi)
        if levels is not None:
            index = levels.of(u)
            size = len(levels.seen)
        else:
            assert cuts is not None
            unit = (u - low) / span
            top = unit.argmax(axis=1)
            index = top * cuts.m + cuts.find(unit[np.arange(len(u)), top])
            size = d * cuts.m
        total = _grow(total, size)
        np.add.at(total.sum_w, index, w)
        np.add.at(total.sum_wu, index, w[:, None] * u)
        np.add.at(total.sum_wz, index, w[:, None] * z)
    return total, findings


def _block(
    samples: Samples, start: int, stop: int, phi: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Vector reports, vector targets and weights of a run of rows."""
    block = samples.block(start, stop)
    p = np.clip(block.reports.astype(np.float64), 0.0, 1.0)
    if block.targets.ndim == 1:
        q = np.zeros(p.shape)
        q[np.arange(len(p)), block.targets] = 1.0
    else:
        q = block.targets
    w = np.ones(len(p)) if block.weights is None else block.weights
    return (p, q, w) if phi is None else (p @ phi, q @ phi, w)


def _range(
    phi: NDArray[np.float64] | None,
) -> tuple[NDArray[np.float64] | float, NDArray[np.float64] | float]:
    """Where each coordinate lies, so that coordinates of any scale can be compared and binned."""
    if phi is None:
        return 0.0, 1.0
    low = phi.min(axis=0)
    span = phi.max(axis=0) - low
    return low, np.where(span > 0, span, 1.0)


def _cuts(
    samples: Samples,
    rule: Rule,
    phi: NDArray[np.float64] | None,
    low: NDArray[np.float64] | float,
    span: NDArray[np.float64] | float,
) -> Cuts:
    if isinstance(rule, EqualWidth | Edges):
        precision = samples.precision if phi is None else np.dtype(np.float64)
        return fixed_cuts(rule, precision)
    assert isinstance(rule, Quantile)
    if phi is None:
        return quantile_cuts(samples, "confidence", rule.m)
    rows = row_block(samples.n_classes)
    largest = np.concatenate(
        [
            ((_block(samples, i, min(i + rows, samples.n), phi)[0] - low) / span).max(axis=1)
            for i in range(0, samples.n, rows)
        ]
    )
    scalar = Samples(np.clip(largest, 0.0, 1.0), np.zeros(samples.n, np.uint8), samples.weights)
    if rule.ties == "rank":
        ordered = np.sort(largest)
        return Cuts(ordered[np.flatnonzero(np.diff(rank_bins(samples.n, rule.m))) + 1])
    return quantile_cuts(scalar, "binary", rule.m)


class _LevelIndex:
    """A number for each distinct vector report, in the order they are first seen."""

    def __init__(self) -> None:
        self.seen: dict[bytes, int] = {}

    def of(self, u: NDArray[np.float64]) -> NDArray[np.intp]:
        whole = np.ascontiguousarray(u + 0.0)  # -0.0 and 0.0 are one report
        return np.array([self.seen.setdefault(row.tobytes(), len(self.seen)) for row in whole])


def _grow(table: VectorTable, size: int) -> VectorTable:
    more = size - table.sum_w.size
    if more <= 0:
        return table
    d = table.sum_wu.shape[1]
    return VectorTable(
        np.append(table.sum_w, np.zeros(more)),
        np.concatenate([table.sum_wu, np.zeros((more, d))]),
        np.concatenate([table.sum_wz, np.zeros((more, d))]),
    )
