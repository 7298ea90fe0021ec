"""Clusters of rows in a stream: each counts once, which keeps the evidence of windows valid.

With a weight of one over the rows of its cluster, a cluster adds the mean of its rows' z - u, or of
those that lie in one bin. That lies in [-1, 1], has the mean 0 where predictions are calibrated,
and its variance is at most the mean of u (1 - u), whatever the dependence: Bennett's inequality
holds for it as it does for a single row (`calibrant._inference.streams`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._api.streaming.spans import WindowWidth
from calibrant._core.errors import InputError
from calibrant._data.times import moment


def check_grouped(grouped: bool, groups: Any, sample_weight: Any) -> None:
    """An error where clusters are named and not expected, or expected and not named."""
    if grouped and groups is None:
        raise InputError(
            "this Monitor was made with grouped=True: name the cluster of each row with groups="
        )
    if groups is not None and not grouped:
        raise InputError(
            "groups= needs a Monitor that counts clusters: make it with Monitor(grouped=True)"
        )
    if groups is not None and sample_weight is not None:
        raise InputError(
            "groups= and sample_weight= do not go together: with groups each cluster has the "
            "weight 1, divided among its rows"
        )


def cluster_weights(
    groups: Any, data: Any, us: NDArray[np.int64], kept: NDArray[np.bool_], every: WindowWidth
) -> NDArray[np.float64]:
    """One over the number of rows in each row's cluster, of rows that are kept.

    `us` are times, or one for all. A cluster whose rows lie in several windows is an error: what
    its later rows show depends on its earlier ones, and no window may be judged with that.
    """
    # Imported here: programs that add rows without clusters never need it.
    from calibrant._api.groups import read_groups

    values, gaps = read_groups(groups, data)
    n = kept.size
    if values.shape != (n,):
        raise InputError(f"groups must name a cluster for each of the {n} rows; got {values.shape}")
    if gaps[kept].any():
        row = int(np.flatnonzero(gaps & kept)[0])
        raise InputError(
            f"groups[{row}] is missing: every row needs a cluster; its own if it belongs to none"
        )
    names = values.astype(str) if values.dtype.kind == "O" else values
    _, index = np.unique(names, return_inverse=True)
    if us.ndim:
        _check_in_one_window(names, index, us, kept, every)
    sizes = np.bincount(index[kept], minlength=int(index.max(initial=-1)) + 1)
    return np.asarray(1.0 / np.maximum(sizes[index], 1))


def _check_in_one_window(
    names: NDArray[Any],
    index: NDArray[np.intp],
    us: NDArray[np.int64],
    kept: NDArray[np.bool_],
    every: WindowWidth,
) -> None:
    """An error for a cluster with rows in several windows."""
    starts = every.numbers(us) * every.us + every.offset
    first = np.full(int(index.max(initial=-1)) + 1, np.iinfo(np.int64).max)
    last = np.full(first.size, np.iinfo(np.int64).min)
    np.minimum.at(first, index[kept], starts[kept])
    np.maximum.at(last, index[kept], starts[kept])
    spread = np.flatnonzero(first < last)
    if spread.size:
        name = names[np.flatnonzero(index == spread[0])[0]]
        raise InputError(
            f"the rows of cluster {str(name)!r} lie in windows from "
            f"{moment(int(first[spread[0]])).isoformat()} to "
            f"{moment(int(last[spread[0]])).isoformat()} ({spread.size} such "
            f"cluster{'s' if spread.size > 1 else ''}): evidence is valid where a cluster lies in "
            "one window. Give all its rows one time, such as its last, or make windows wider"
        )
