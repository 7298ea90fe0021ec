"""The sums of a stream: what an Accumulator keeps of samples in tensors."""

from __future__ import annotations

import numpy as np

from calibrant._core.binning import Cuts
from calibrant._core.grid import STREAM_SPACING, STREAM_UNIT_CELLS, LogitGrid
from calibrant._core.typing import Array
from calibrant._data.samples import Notion
from calibrant._data.tensor_samples import TensorSamples
from calibrant._engines.arrays.smooth import folded, logit_reach
from calibrant._engines.arrays.streams import EPS, Passes, StreamSums, binned_sums
from calibrant._engines.cells import Cells
from calibrant._engines.protocol import N_LOGIT_CLIPPED, Findings
from calibrant._engines.tensors.grids import LogitMasses, UnitMasses, grid_blocks
from calibrant._engines.tensors.losses import loss_sums
from calibrant._engines.tensors.rows import matrix_sums
from calibrant._engines.tensors.tables import scalar_sums
from calibrant._engines.tensors.tally import Tally, bring_back
from calibrant._engines.tensors.top_classes import top_class_sums

Arrays = dict[str, Array]


def stream_sums(samples: TensorSamples, cells: Cells, holds: frozenset[str]) -> StreamSums:
    """The sums that a stream (Accumulator) keeps of these samples, in its `cells`; `holds` has the
    names of the groups of arrays to sum. One read gives bins and losses, one more the grids.
    """
    passes = Passes(_scalar_sums, matrix_sums, loss_sums, top_class_sums)
    arrays, findings = binned_sums(passes, samples, cells, holds)
    if holds & {"logits", "residuals"}:
        arrays |= _grids(samples, holds)
    return StreamSums(arrays, findings, samples.n, samples.n_missing)


def _scalar_sums(
    samples: TensorSamples, notion: Notion, cuts: Cuts, *, squares: bool = True
) -> tuple[Array, Findings]:
    """The sums (bins, fields) of a scalar problem in the bins between the cuts, and the findings.
    `squares` is ignored: streams of tensors always keep sums of squared predictions.
    """
    return scalar_sums(samples, notion, cuts)


def _grids(samples: TensorSamples, holds: frozenset[str]) -> Arrays:
    """The stream's arrays of the grids named in `holds` ("logits", "residuals"), from one read of
    the scalar problem; with "logits" also `logits_clipped`, how many logits were clipped.
    """
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
