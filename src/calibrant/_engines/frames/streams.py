"""The sums of a stream: what an Accumulator keeps of a frame, of all rows or of every slice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.binning import fixed_cuts
from calibrant._core.errors import InputError
from calibrant._core.grid import STREAM_SPACING, STREAM_UNIT_CELLS, LogitGrid
from calibrant._core.messages import setting
from calibrant._data.frame_samples import FrameSamples
from calibrant._engines.arrays.streams import EPS, StreamSums, loss_arrays
from calibrant._engines.cells import Cells
from calibrant._engines.frames.classes import class_sums
from calibrant._engines.frames.expressions import col, exact, number, rounded
from calibrant._engines.frames.grids import ask_logits, ask_units, logit_nodes, unit_nodes
from calibrant._engines.frames.groups import Groups
from calibrant._engines.frames.losses import MOST_RANKED, ask_losses, loss_sums, losses_of
from calibrant._engines.frames.query import Query
from calibrant._engines.frames.tables import top_class_sums

# The most groups (slices times bins) whose sums are brought here.
MOST_GROUPS = 1 << 20


def stream_sums(
    samples: FrameSamples, cells: Cells, holds: frozenset[str], *, distances: bool = True
) -> StreamSums:
    """The sums that a stream (Accumulator) keeps of a frame, in its `cells`, from one query.
    `holds` has the names of the groups of arrays to sum.

    Bins of each class take a second query, and distances between prediction and soft labels, unless
    `distances` is False, a third: whether labels are soft is known after the first.
    """
    groups = stream_groups(samples, cells, holds)
    return sums_of_groups(groups, cells, holds, distances=distances)


def stream_groups(
    samples: FrameSamples, cells: Cells, holds: frozenset[str], *, threshold: float | None = None
) -> Groups:
    """The groups of the one query about the sums that a stream keeps of a frame. No group has
    predictions on both sides of the `threshold`.
    """
    query = Query(samples, "confidence" if samples.multiclass else "binary")
    query.add_fields().add_cells(cells)
    if threshold is not None:
        query.steps.append(number(col("u") > exact(rounded(threshold, samples.precision))))
    if "top_cells" in holds:
        query.add_top_cells(cells)
    if "losses" in holds:
        ask_losses(query)
    if "logits" in holds:
        ask_logits(query, STREAM_SPACING, EPS)
    if "residuals" in holds:
        ask_units(query, STREAM_UNIT_CELLS)
    return query.run()


def sums_of_groups(
    groups: Groups, cells: Cells, holds: frozenset[str], *, distances: bool
) -> StreamSums:
    """The sums that a stream keeps, from the groups of `stream_groups`."""
    samples = groups.samples
    cuts = cells.cuts(samples.precision)
    out: dict[str, Any] = {"cells": groups.binned(cuts)}
    if "top_cells" in holds:
        out["top_cells"] = groups.binned(cuts, groups.top_fields, fold=True)
    if "classwise" in holds:
        out["classwise"] = class_sums(samples, fixed_cuts(cells.rule, samples.precision))
    if "by_class" in holds:
        out["by_class"], _ = top_class_sums(samples, fixed_cuts(cells.rule, samples.precision))
    if "losses" in holds:
        losses = losses_of(groups, samples.n_classes)
        wanted = groups.findings.soft or "distribution" in holds
        if distances and wanted and samples.n_classes <= MOST_RANKED:
            losses, _ = loss_sums(samples, distribution=True)
        out |= loss_arrays(losses)
    if "logits" in holds:
        out["logits"] = logit_nodes(groups, LogitGrid.n_nodes(STREAM_SPACING))
        out["logits_clipped"] = np.array([groups.total("found_logit_clipped")])
    if "residuals" in holds:
        out["residuals"] = unit_nodes(groups, STREAM_UNIT_CELLS).sums
    return StreamSums(out, groups.findings, groups.n_rows, groups.n_missing)


def slice_groups(
    samples: FrameSamples,
    by: Sequence[str],
    cells: Cells,
    row_names: Callable[[Sequence[Any]], NDArray[Any]],
    *,
    losses: bool,
) -> Iterator[tuple[str, StreamSums]]:
    """Yield the name of every slice (the rows with equal values of the columns `by`), in order,
    with the sums of its cells and losses. `row_names` makes the names of slices from these columns'
    values.
    """
    query = Query(samples, "confidence" if samples.multiclass else "binary", by=by)
    query.add_fields().add_cells(cells)
    if losses:
        ask_losses(query)
    groups = query.run(MOST_GROUPS + 1)
    if groups["low"].size > MOST_GROUPS:
        raise InputError(
            f"{setting('by', ', '.join(by))} has too many values: slices times bins must not "
            f"exceed {MOST_GROUPS:,}. Choose a coarser column, such as a day for a time"
        )
    parts = [groups.columns[f"by{j}"] for j in range(len(by))]
    names = row_names(parts)
    cuts = cells.cuts(samples.precision)
    for name in sorted(set(names.tolist())):
        part = groups.select(names == name)
        arrays = {"cells": part.binned(cuts)}
        if losses:
            arrays |= loss_arrays(losses_of(part, samples.n_classes))
        yield name, StreamSums(arrays, part.findings, part.n_rows, part.n_missing)
