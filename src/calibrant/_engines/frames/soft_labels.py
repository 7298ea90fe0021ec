"""Groups of rows as pooled rows whose labels scatter as those of the rows do."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant._core.typing import Array, Index
from calibrant._engines.cells import PooledColumns

# A scatter of labels below this is that of equal ones, summed in another order.
_EQUAL_LABELS = 1e-7


def pooled_by_label(fields: Array, clusters: Any, *, hard: bool) -> tuple[PooledColumns, Index]:
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
