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
from calibrant._engines.cells import N_LINEAR, PooledColumns
from calibrant._engines.frames.expressions import clipped_logit, col, floor
from calibrant._engines.frames.groups import Groups
from calibrant._engines.frames.keys import steps_of
from calibrant._engines.frames.pooled import cluster_names
from calibrant._engines.frames.query import Query

# Up to this many rows are pooled by their predictions themselves.
MOST_ROWS = 1 << 15
DOUBLE = np.dtype(np.float64)
# Cells in a range of 1 of the logit.
PER_LOGIT = 128
# A scatter of labels below this is that of equal ones, summed in another order.
_EQUAL_LABELS = 1e-7


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
    query.let(*clipped_logit(col("u"), EPS, "lg"))
    query.steps += [floor(col("u") * float(N_LINEAR)), floor(col("lg") * float(PER_LOGIT))]
    query.steps.append(steps_of(col("u"), Cuts(np.linspace(0.0, 1.0, places + 1)[1:-1]), DOUBLE))
    groups = query.add_label_cells().run()
    return by_cell(groups, groups.cell_part, clusters)


def bin_groups(
    samples: FrameSamples, notion: Notion, cuts: Cuts, clusters: str
) -> tuple[CellGroups, Index]:
    """The rows of a scalar problem pooled by bin between the cuts, by label and cluster; and the
    bin of each cell.
    """
    query = Query(samples, notion, by=(clusters,)).add_fields().add_cuts(cuts)
    groups = query.add_label_cells().run()
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
    names = cluster_names(groups, clusters)
    columns, group = _pooled_by_label(fields, names, hard=not groups.findings.soft)
    return CellGroups(columns, cell[group], group, mean, low, high)


def _pooled_by_label(fields: Array, clusters: Any, *, hard: bool) -> tuple[PooledColumns, Index]:
    """Sums of groups (groups, fields of `BinTable`) as pooled rows, and the group of each. All
    groups have weight; `clusters` are the names of their clusters, or None.

    A group of soft labels becomes two rows, one with a label above the mean and one with a label
    below, which have the group's mean label and the group's scatter.
    """
    n, w, w2 = fields[:, :3].T
    u, z = (np.clip(fields[:, j] / w, 0.0, 1.0) for j in (3, 4))
    group = np.arange(n.size)
    if not hard:
        mean = z
        scatter = np.sqrt(np.maximum(fields[:, 7] / w - mean**2, 0.0))
        scatter[scatter < _EQUAL_LABELS] = 0.0
        low, high = _two_labels(mean, scatter)
        apart = np.where(high > low, high - low, 1.0)
        upper = np.where(high > low, (mean - low) / apart, 1.0)
        shares, labels = np.concatenate([upper, 1.0 - upper]), np.concatenate([high, low])
        group = np.tile(group, 2)
        some = shares > 0.0
        shares, z, group = shares[some], labels[some], group[some]
        n, w, w2, u = n[group] * shares, w[group] * shares, w2[group] * shares, u[group]
    names = None if clusters is None else clusters[group]
    return PooledColumns(n, w, w2, u, z, clusters=names, hard=hard), group


def _two_labels(mean: Array, scatter: Array) -> tuple[Array, Array]:
    """Two labels in [0, 1] with these means and standard deviations: one deviation below and above
    the mean or, if one of these is beyond 0 or 1, that end and another.
    """
    square = scatter**2
    far = mean + np.divide(square, mean, out=np.zeros_like(mean), where=mean > 0)
    near = mean - np.divide(square, 1.0 - mean, out=np.zeros_like(mean), where=mean < 1)
    below, above = mean - scatter < 0.0, mean + scatter > 1.0
    high = np.where(below, far, np.where(above, 1.0, mean + scatter))
    low = np.where(below, 0.0, np.where(above, near, mean - scatter))
    return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)
