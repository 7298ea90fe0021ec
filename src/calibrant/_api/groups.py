"""Clusters of rows that belong together: from an array or a column to numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError, counted
from calibrant._core.typing import Index
from calibrant._data.arrays import bring_here
from calibrant._data.columns import is_lazy, pick
from calibrant._data.missing import row_gaps
from calibrant._data.samples import Samples
from calibrant._inference.blocks import as_groups


def group_index(groups: Any, samples: Samples, data: Any) -> Any:
    """Clusters as numbers, from an array or a column of data."""
    if groups is None:
        return None
    values, gaps = read_groups(groups, data)
    return numbered_groups(samples.own_rows(values), samples.own_rows(gaps), samples.n)


def read_groups(groups: Any, data: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The names of clusters as given, and which are missing."""
    if isinstance(groups, str):
        if data is None:
            raise InputError(
                f"groups={groups!r} names a column, but there is no data=frame to find it in"
            )
        groups = pick(data, groups, "groups")
    if is_lazy(groups):
        raise InputError(f"groups is a {bring_here(groups)}")
    return row_gaps(groups, "groups")


def numbered_groups(array: NDArray[Any], missing: NDArray[np.bool_], n: int) -> Index:
    """Clusters as numbers, if each of so many rows has one."""
    if array.shape != (n,):
        raise InputError(f"groups must name a group for each of the {n} rows; got {array.shape}")
    if missing.any():
        raise InputError(
            f"groups is missing in {counted(int(missing.sum()), 'row', '')}, first in row "
            f"{int(np.argmax(missing))}: every row needs a cluster; its own if it belongs to none"
        )
    index = as_groups(array, n)
    if index.size and int(index.max()) < 1:
        raise InputError("groups must hold at least two groups: one alone cannot be resampled")
    return index


def renumbered(groups: Index | None, rows: NDArray[Any]) -> Index | None:
    """The clusters of some rows, numbered anew without gaps."""
    if groups is None:
        return None
    return np.unique(groups[rows], return_inverse=True)[1].astype(np.intp)
