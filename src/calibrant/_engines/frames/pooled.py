"""Rows of a frame pooled by cell, label and cluster: what intervals of weighted, soft or clustered
rows are computed from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np

from calibrant._core.binning import Cuts
from calibrant._core.typing import Array
from calibrant._data.frame_samples import FrameSamples
from calibrant._data.samples import Notion
from calibrant._engines.cells import HALF, LABELS, Cells, PooledColumns, pooled_groups
from calibrant._engines.frames.expressions import Expr, col, floor, total, where
from calibrant._engines.frames.groups import Groups
from calibrant._engines.frames.keys import steps_of
from calibrant._engines.frames.problem import scalar
from calibrant._engines.frames.query import Query


def pooled_columns(
    samples: FrameSamples, notion: Notion, cells: Cells, clusters: str | None
) -> PooledColumns:
    """The rows of the binary or the confidence problem, pooled where they have the same cell,
    nearly the same label and the same cluster, from one query.

    `clusters` is the column that names the cluster of each row, None for independent rows.
    """
    query = Query(samples, notion, by=() if clusters is None else (clusters,))
    groups = query.add_fields().add_cells(cells).add_label_cells().run()
    return _pooled(groups, groups.ends(), groups.fields[:, 3:5], clusters)


def cluster_names(groups: Groups, clusters: str | None) -> Any:
    """The name of each group's cluster, by which rows were grouped first (`by0`), in the type that
    names have as an array: numbers, texts or, with missing ones among them, objects. None for
    independent rows (`clusters` None).
    """
    if clusters is None:
        return None
    names = groups.columns["by0"]
    array = np.array(names.tolist())
    return array if array.ndim == 1 and not any(name is None for name in names) else names


# --- two predictors -------------------------------------------------------------------------------

# The columns of the first predictor beside those of the second.
_U, _Z = "calibrant first u", "calibrant first z"


def joint_columns(
    first: FrameSamples,
    second: FrameSamples,
    notion: Notion,
    cuts: tuple[Sequence[Cuts], Sequence[Cuts]],
    clusters: str | None,
) -> tuple[PooledColumns, PooledColumns]:
    """The rows of two predictors, pooled where both have the same cell, nearly the same label and
    the same cluster, from one query: the sums of each predictor, in the same order.

    Both are columns of one frame, in which no value is missing. `cuts` has the edges that each
    predictor's cells shall not reach over.
    """
    names = tuple(dict.fromkeys((*second.columns, *(() if clusters is None else (clusters,)))))
    by = {name: col(f"by{j}") for j, name in enumerate(names)}
    both = scalar(first, notion, names).select(**{_U: col("u"), _Z: col("z")}, **by)
    query = Query(replace(second, frame=both), notion, by=() if clusters is None else (clusters,))
    # The first predictor's columns come after the cluster, by which rows are grouped.
    query.frame = scalar(query.samples, notion, (*query.by, _U, _Z))
    u, z = (f"by{len(query.by) + j}" for j in (0, 1))
    query.add_fields()
    query.sums |= {"first_wu": query.weigh(col(u)), "first_wz": query.weigh(col(z))}
    query.ends = ("u", u)
    cells = [
        _coarse_cell(column, own, samples.precision)
        for column, own, samples in zip((u, "u"), cuts, (first, second), strict=True)
    ]
    labels = [floor(col(name) * float(LABELS)) for name in (z, "z")]
    key = nw.lit(0.0)
    for part, size in zip((*cells, *labels), (1024, 1024, LABELS + 1, LABELS + 1), strict=True):
        key = key * float(size) + part
    groups = query.grouped(key.cast(nw.Int64))
    groups.check_rows()
    of_first = np.stack([groups["first_wu"], groups["first_wz"]], axis=1)
    return (
        _pooled(groups, groups.ends(u), of_first, clusters),
        _pooled(groups, groups.ends(), groups.fields[:, 3:5], clusters),
    )


def _pooled(groups: Groups, ends: Array, sums: Array, clusters: str | None) -> PooledColumns:
    """The pooled columns of groups of rows. `ends` are each group's smallest and largest
    prediction, `sums`, (groups, 2), the sums of weight times prediction and of weight times label.
    """
    names = cluster_names(groups, clusters)
    return pooled_groups(groups.fields[:, :3].T, ends, sums, names)


def _coarse_cell(name: str, cuts: Sequence[Cuts], precision: Any) -> Expr:
    """A number that steps at all cuts and at the edges of coarse cells, as the prediction in the
    column of this name grows.
    """
    u = col(name)
    below, above = ((each * HALF * HALF).sqrt() for each in (u, 1.0 - u))
    half = where(u < 0.5, floor(below), 2.0 * HALF - floor(above))
    steps = (steps_of(u, each, precision) for each in cuts)
    return total([half, *(step for step in steps if step is not None)])
