"""The sums of a stream: what an Accumulator keeps of samples in arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from calibrant._core.binning import fixed_cuts
from calibrant._core.errors import ODD_WEIGHTS, InputError
from calibrant._core.grid import STREAM_SPACING, STREAM_UNIT_CELLS
from calibrant._core.loss_sums import LossSums
from calibrant._core.typing import Array
from calibrant._data.samples import Notion, Samples
from calibrant._data.tensor_samples import TensorSamples
from calibrant._engines.arrays.losses import loss_sums
from calibrant._engines.arrays.passes import MatrixSums, matrix_sums, scalar_sums
from calibrant._engines.arrays.smooth import logit_grid, unit_grid
from calibrant._engines.arrays.top_classes import top_class_sums
from calibrant._engines.cells import Cells
from calibrant._engines.protocol import Findings

# Predictions are clipped this far from 0 and 1 before their logit is taken.
EPS = 1e-6

# Among the names of arrays to sum, this one says that sums of squared predictions may be left out,
# which is faster.
NO_SQUARES = "no squares"


@dataclass(frozen=True, eq=False)
class StreamSums:
    """What a stream (Accumulator) adds for some rows: `arrays` of sums by the name they have in its
    state (docs/reference/state-file.md), and the findings.
    """

    arrays: dict[str, Array]
    findings: Findings
    n_rows: int
    # Rows without a prediction or a label, dropped at the request of the caller.
    n_missing: int = 0


class Passes(NamedTuple):
    """The functions of one engine by which it reads rows for a stream."""

    scalar_sums: Callable[..., tuple[Array, Findings]]
    matrix_sums: Callable[..., MatrixSums]
    loss_sums: Callable[..., tuple[LossSums, Findings]]
    top_class_sums: Callable[..., tuple[Array, Findings]]


def stream_sums(
    samples: Samples,
    cells: Cells,
    holds: frozenset[str],
    losses: tuple[int, ...] | None = None,
) -> StreamSums:
    """The sums that a stream (Accumulator) keeps of these samples, in its `cells`; `holds` has the
    names of the groups of arrays to sum. Only the proper losses at the positions `losses` are
    needed; None for all.
    """
    own_losses = loss_sums if losses is None else partial(loss_sums, fields=losses)
    passes = Passes(scalar_sums, matrix_sums, own_losses, top_class_sums)
    arrays, findings = binned_sums(passes, samples, cells, holds)
    notion: Notion = "confidence" if samples.multiclass else "binary"
    if "logits" in holds:
        grid, _, clipped = logit_grid(samples, notion, STREAM_SPACING, EPS, whole=True)
        arrays["logits"] = np.stack([grid.plus[0], grid.minus[0]])
        arrays["logits_clipped"] = np.array([float(clipped)])
    if "residuals" in holds:
        residuals, _ = unit_grid(samples, notion, STREAM_UNIT_CELLS)
        arrays["residuals"] = residuals.sums
    return StreamSums(arrays, findings, samples.n, samples.n_missing)


def binned_sums(
    passes: Passes, samples: Samples | TensorSamples, cells: Cells, holds: frozenset[str]
) -> tuple[dict[str, Array], Findings]:
    """The stream's arrays of bin sums and losses (not of grids) named in `holds`, and the findings,
    computed by an engine's own `passes` over the rows.
    """
    if samples.weight_exponent:  # another part of the stream would have another scale
        raise InputError(ODD_WEIGHTS)
    sums = _rows if samples.multiclass else _scalars
    return sums(passes, samples, cells, holds)


def _scalars(
    passes: Passes, samples: Samples | TensorSamples, cells: Cells, holds: frozenset[str]
) -> tuple[dict[str, Array], Findings]:
    """The stream's arrays of bin sums and losses named in `holds`, for (n,) predictions, and the
    findings.
    """
    cuts = cells.cuts(samples.precision)
    out = {}
    # The cells are always summed: their weight is the total.
    squares = NO_SQUARES not in holds
    out["cells"], findings = passes.scalar_sums(samples, "binary", cuts, squares=squares)
    if "top_cells" in holds:
        out["top_cells"], _ = passes.scalar_sums(samples, "confidence", cuts)
    if "losses" in holds:
        distribution = findings.soft or "distribution" in holds
        losses, more = passes.loss_sums(samples, distribution=distribution)
        out |= loss_arrays(losses)
        findings = findings + Findings(n_log_clipped=more.n_log_clipped)
    return out, findings


def _rows(
    passes: Passes, samples: Samples | TensorSamples, cells: Cells, holds: frozenset[str]
) -> tuple[dict[str, Array], Findings]:
    """The stream's arrays of bin sums and losses named in `holds`, for (n, k) predictions, and the
    findings.
    """
    by_class = fixed_cuts(cells.rule, samples.precision) if "classwise" in holds else None
    total = passes.matrix_sums(
        samples,
        classwise=by_class,
        confidence=cells.cuts(samples.precision),
        losses="losses" in holds,
    )
    assert total.confidence is not None
    out = {"cells": total.confidence}
    if total.classwise is not None:
        out["classwise"] = total.classwise
    if "by_class" in holds:
        cuts = fixed_cuts(cells.rule, samples.precision)
        out["by_class"], _ = passes.top_class_sums(samples, cuts)
    if total.losses is not None:
        losses = LossSums(total.losses, samples.n_classes)
        if total.findings.soft or "distribution" in holds:
            losses, _ = passes.loss_sums(samples, distribution=True)
        out |= loss_arrays(losses)
    return out, total.findings


def loss_arrays(losses: LossSums) -> dict[str, Array]:
    """The loss sums as arrays of a stream's state: `losses`, and `distribution_weight`, the weight
    of the rows whose distances between distributions were summed.
    """
    out = {"losses": losses.sums}
    # The weight of the rows with distances: means of distances need them in every update.
    out["distribution_weight"] = losses.sums[1:2] * float(losses.has_distribution)
    return out
