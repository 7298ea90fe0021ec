"""The sums of a stream: what an Accumulator keeps of samples in tensors."""

from __future__ import annotations

import numpy as np

from calibrant._core.binning import fixed_cuts
from calibrant._core.errors import ODD_WEIGHTS, InputError
from calibrant._core.grid import STREAM_SPACING, STREAM_UNIT_CELLS, LogitGrid
from calibrant._core.loss_sums import LossSums
from calibrant._core.typing import Array
from calibrant._data.samples import Notion
from calibrant._data.tensor_samples import TensorSamples
from calibrant._engines.arrays.smooth import folded, logit_reach
from calibrant._engines.arrays.streams import EPS, StreamSums, loss_arrays
from calibrant._engines.cells import Cells
from calibrant._engines.protocol import N_LOGIT_CLIPPED, Findings
from calibrant._engines.tensors.grids import LogitMasses, UnitMasses, grid_blocks
from calibrant._engines.tensors.losses import loss_sums
from calibrant._engines.tensors.rows import row_pass
from calibrant._engines.tensors.tables import scalar_sums
from calibrant._engines.tensors.tally import Tally, bring_back
from calibrant._engines.tensors.top_classes import top_class_sums

Arrays = dict[str, Array]


def stream_sums(samples: TensorSamples, cells: Cells, holds: frozenset[str]) -> StreamSums:
    """The sums of the holdings asked for: one read for bins and losses, one more for grids."""
    if samples.weight_exponent:  # another part of the stream would have another scale
        raise InputError(ODD_WEIGHTS)
    sums = _rows if samples.multiclass else _scalars
    arrays, findings = sums(samples, cells, holds)
    if holds & {"logits", "residuals"}:
        arrays |= _grids(samples, holds)
    return StreamSums(arrays, findings, samples.n, samples.n_missing)


def _scalars(
    samples: TensorSamples, cells: Cells, holds: frozenset[str]
) -> tuple[Arrays, Findings]:
    cuts = cells.cuts(samples.precision)
    out = {}
    # The cells are always summed: their weight is the total.
    out["cells"], findings = scalar_sums(samples, "binary", cuts)
    if "top_cells" in holds:
        out["top_cells"], _ = scalar_sums(samples, "confidence", cuts)
    if "losses" in holds:
        losses, more = loss_sums(samples, distribution=findings.soft or "distribution" in holds)
        out |= loss_arrays(losses)
        findings = findings + Findings(n_log_clipped=more.n_log_clipped)
    return out, findings


def _rows(samples: TensorSamples, cells: Cells, holds: frozenset[str]) -> tuple[Arrays, Findings]:
    by_class = fixed_cuts(cells.rule, samples.precision) if "classwise" in holds else None
    total = row_pass(samples, by_class, cells.cuts(samples.precision), "losses" in holds)
    assert total.confidence is not None
    out = {"cells": total.confidence}
    if total.classwise is not None:
        out["classwise"] = total.classwise
    if "by_class" in holds:
        out["by_class"], _ = top_class_sums(samples, fixed_cuts(cells.rule, samples.precision))
    if total.losses is not None:
        losses = LossSums(total.losses, samples.n_classes)
        if total.findings.soft or "distribution" in holds:
            losses, _ = loss_sums(samples, distribution=True)
        out |= loss_arrays(losses)
    return out, total.findings


def _grids(samples: TensorSamples, holds: frozenset[str]) -> Arrays:
    """The grids of the scalar problem, both from one read."""
    notion: Notion = "confidence" if samples.multiclass else "binary"
    nodes = LogitGrid.n_nodes(STREAM_SPACING, logit_reach(EPS, True))
    masses: dict[str, LogitMasses | UnitMasses] = {}
    if "logits" in holds:
        masses["logits"] = LogitMasses(samples, STREAM_SPACING, EPS, nodes)
    if "residuals" in holds:
        masses["residuals"] = UnitMasses(samples, STREAM_UNIT_CELLS, residual_only=True)
    tally = Tally(samples.place)
    for block in grid_blocks(samples, notion, tally):
        for grid in masses.values():
            grid.add(block, tally)
    status, sums = bring_back(tally, *(grid.sums for grid in masses.values()))
    out = dict(zip(masses, sums, strict=True))
    if "logits" in out:
        out["logits_clipped"] = np.array([float(status[N_LOGIT_CLIPPED])])
    if "residuals" in out:
        out["residuals"] = folded(out["residuals"][None]).sums
    return out
