"""Rows of a frame pooled by narrow cells of their predictions, for curves and for bins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.binning import Cuts
from calibrant._core.typing import Array, Index
from calibrant._data.frame_samples import FrameSamples
from calibrant._data.samples import Notion
from calibrant._engines.arrays.streams import EPS
from calibrant._engines.cells import LABELS, N_LINEAR, PooledColumns
from calibrant._engines.frames.expressions import clipped, col, floor
from calibrant._engines.frames.groups import Groups
from calibrant._engines.frames.keys import steps_of
from calibrant._engines.frames.pooled import cluster_names
from calibrant._engines.frames.query import Query
from calibrant._engines.frames.soft_labels import pooled_by_label

# Up to this many rows are pooled by their predictions themselves.
MOST_ROWS = 1 << 15
DOUBLE = np.dtype(np.float64)
# Cells in a range of 1 of the logit.
PER_LOGIT = 128


@dataclass(frozen=True, eq=False)
class CellGroups:
    """Rows of one cell, label and cluster, pooled: their `columns`, the cell of each, and the group
    with weight that each is from. By cell, (cells,), in increasing order: the mean, the smallest
    and the largest prediction.
    """

    columns: PooledColumns
    cell: Index
    group: Index
    mean: Array
    low: Array
    high: Array


def curve_groups(
    samples: FrameSamples, notion: Notion, places: int, clusters: str | None
) -> CellGroups:
    """The rows of a scalar problem in some 5,000 cells, narrow in the prediction and in its logit,
    from one query; up to MOST_ROWS rows by their predictions themselves.

    The edges of this many equal `places` of [0, 1] are among those of the cells; `clusters` is the
    column that names clusters.
    """
    own = () if clusters is None else (clusters,)
    query = Query(samples, notion, by=own).add_fields()
    if samples.count_rows() <= MOST_ROWS:
        query.by = (*own, "z")
        query.frame = query.frame.with_columns(**{f"by{len(own)}": col("z")})
        groups = query.grouped(col("u"))
        groups.check_rows()
        return by_cell(groups, groups.columns["key"], clusters)
    query.let(
        {"lg_inside": clipped(col("u"), EPS, 1.0 - EPS)},
        {"lg": (col("lg_inside") / (1.0 - col("lg_inside"))).log()},
    )
    query.steps += [floor(col("u") * float(N_LINEAR)), floor(col("lg") * float(PER_LOGIT))]
    query.steps.append(steps_of(col("u"), Cuts(np.linspace(0.0, 1.0, places + 1)[1:-1]), DOUBLE))
    query.logit_cell = floor(col("z") * float(LABELS))
    groups = query.run()
    return by_cell(groups, groups.cell_part, clusters)


def bin_groups(
    samples: FrameSamples, notion: Notion, cuts: Cuts, clusters: str
) -> tuple[CellGroups, Index]:
    """The rows of a scalar problem pooled by bin between the cuts, by label and cluster; and the
    bin of each cell.
    """
    query = Query(samples, notion, by=(clusters,)).add_fields().add_cuts(cuts)
    query.logit_cell = floor(col("z") * float(LABELS))
    groups = query.run()
    found = by_cell(groups, cuts.find(groups["low"]), clusters)
    return found, cuts.find(found.low)


def by_cell(groups: Groups, cell: NDArray[Any], clusters: str | None) -> CellGroups:
    """The groups with weight as pooled columns; `cell` is a number for the cell of each."""
    kept = groups.fields[:, 1] > 0
    groups = groups.select(kept)
    numbers, cell = np.unique(cell[kept], return_inverse=True)
    cell, size = cell.reshape(-1), numbers.size
    fields = groups.fields.copy()
    low, high = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(low, cell, groups["low"])
    np.maximum.at(high, cell, groups["high"])
    # Equal predictions are what they are, to the last bit.
    weight, of_predictions = (np.bincount(cell, fields[:, j]) for j in (1, 3))
    mean = np.clip(of_predictions / weight, low, high)
    fields[:, 3] = fields[:, 1] * mean[cell]
    names = None if clusters is None else cluster_names(groups.columns["by0"])
    columns, group = pooled_by_label(fields, names, hard=not groups.findings.soft)
    return CellGroups(columns, cell[group], group, mean, low, high)
