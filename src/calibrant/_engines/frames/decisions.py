"""Rows of a frame on either side of thresholds: what decisions at thresholds are judged by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from calibrant._core.binning import Cuts, EqualWidth
from calibrant._core.typing import Array, Index
from calibrant._data.frame_samples import FrameSamples
from calibrant._engines.cells import Cells, PooledColumns
from calibrant._engines.frames.curves import DOUBLE, by_cell
from calibrant._engines.frames.expressions import Expr, Float64, clipped, col, sigmoid
from calibrant._engines.frames.groups import Groups
from calibrant._engines.frames.keys import steps_of
from calibrant._engines.frames.query import Query


@dataclass(frozen=True, eq=False)
class ThresholdGroups:
    """Rows of one label that lie between the same thresholds, pooled: `columns`, and the number of
    thresholds at or below the predictions of each group, (models, groups).
    """

    columns: PooledColumns
    reached: Index
    # The mean prediction of all rows of the group's cell, whatever their label; (groups,).
    u: Array

    def predictions(self, thresholds: Array) -> Array:
        """A prediction for each model and group that is on the same side of every threshold as the
        group's own, (models, groups).
        """
        out: Array = np.append(-1.0, thresholds)[self.reached]
        return out


def threshold_groups(
    samples: FrameSamples, thresholds: Array, clusters: str | None
) -> ThresholdGroups:
    """The rows of one model's predictions, pooled by fine cell and threshold, label and cluster
    (which the column `clusters` names), from one query.
    """
    query = Query(samples, "binary", by=() if clusters is None else (clusters,))
    query.add_fields().add_cells(Cells(EqualWidth(1)))
    _add_thresholds(query, thresholds)
    return _groups(query.run(), thresholds, clusters, [])


def joint_groups(
    samples: FrameSamples, others: Sequence[str], thresholds: Array, clusters: str | None
) -> ThresholdGroups:
    """The rows of several models' predictions, pooled by the thresholds that each reaches, by label
    and cluster. `others` are columns of predictions beside that of the samples, whose rows must
    have been checked.
    """
    own = () if clusters is None else (clusters,)
    query = Query(samples, "binary", by=(*own, *others))
    query.add_fields()
    _add_thresholds(query, thresholds)
    names = [f"by{j}" for j in range(len(own), len(own) + len(others))]
    probabilities = {name: _probability(samples, col(name)) for name in names}
    query.frame = query.frame.with_columns(**probabilities)
    steps: dict[str, Any] = {n: steps_of(col(n), Cuts(thresholds), DOUBLE) for n in names}
    query.frame = query.frame.with_columns(**{n: s.cast(nw.Int64) for n, s in steps.items()})
    return _groups(query.run(), thresholds, clusters, names)


def _add_thresholds(query: Query, thresholds: Array) -> None:
    """Group a query by the thresholds that a prediction reaches, compared as doubles, and by its
    label.
    """
    steps = steps_of(col("u"), Cuts(thresholds), DOUBLE)
    assert steps is not None
    query.steps.append(steps)
    query.add_label_cells()


def _probability(samples: FrameSamples, prediction: Expr) -> Expr:
    """A raw prediction as a probability."""
    value = prediction.cast(Float64)
    return sigmoid(value, (0.0 - value.abs()).exp()) if samples.from_logits else clipped(value)


def _groups(
    groups: Groups, thresholds: Array, clusters: str | None, others: Sequence[str]
) -> ThresholdGroups:
    """The groups of a query as pooled columns, with the thresholds that each model reaches."""
    groups = groups.select(groups.fields[:, 1] > 0)
    own = np.searchsorted(thresholds, groups["low"], side="right")
    # Steps of equal width have one more at 1.
    most = thresholds.size
    rest: list[Any] = [np.minimum(groups.columns[name].astype(np.intp), most) for name in others]
    cells = by_cell(groups, groups.cell_part, clusters)
    reached = np.stack([own, *rest])[:, cells.group]
    return ThresholdGroups(cells.columns, reached, cells.mean[cells.cell])
