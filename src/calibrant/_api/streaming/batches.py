"""A batch of rows with times becomes the sums of each window they lie in, before any is kept."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._api.streaming.accumulator import Accumulator
from calibrant._api.streaming.batch import Batch
from calibrant._api.streaming.clusters import cluster_weights
from calibrant._api.streaming.lazy_windows import lazy_batch
from calibrant._api.streaming.spans import Rows, WindowWidth, split
from calibrant._core.errors import InputError
from calibrant._core.messages import setting
from calibrant._data.columns import is_lazy, pick
from calibrant._data.explain import explained
from calibrant._data.missing import with_gaps
from calibrant._data.samples import BadRow, Samples
from calibrant._data.times import Times, microseconds
from calibrant._data.to_samples import to_samples, to_samples_in_place
from calibrant._engines.arrays.streams import StreamSums


def batch_of(
    stream: Accumulator,
    every: WindowWidth,
    y_true: Any,
    y_proba: Any,
    time: Any,
    *,
    sample_weight: Any,
    votes: Any = None,
    groups: Any = None,
    data: Any,
) -> Batch:
    """What a stream like this one would add to each window for these rows."""
    if groups is not None and is_lazy(data):
        raise InputError(
            "groups= needs the rows in memory, to know how many a cluster has: collect() the frame"
        )
    if is_lazy(data) and isinstance(time, str):
        return lazy_batch(
            stream, every, y_true, y_proba, time, sample_weight=sample_weight, votes=votes,
            data=data,
        )  # fmt: skip
    times = _times(time, data, stream.missing)
    given = {
        "y_true": y_true, "y_proba": y_proba, "sample_weight": sample_weight, "votes": votes,
        "data": data, "from_logits": stream.given, "classes": stream.classes,
        "missing": stream.missing,
        "stream": True,
    }  # fmt: skip
    us, missing = times
    if groups is not None:
        given = _with_clusters(given, groups, us, missing, every)
    windows = split(np.atleast_1d(us), np.atleast_1d(missing), every)
    if not us.ndim or (len(windows) == 1 and not missing.any()):
        # All rows in one window, as mostly: they stay where they are.
        samples = to_samples_in_place(**given)
        with explained(samples):
            sums = stream.sums_of(samples)
        n = sums.n_rows + sums.n_missing
        _one_each(us, n)
        if not windows:
            return Batch([], samples.n_columns, n)
        return Batch([(windows[0][0], sums)], samples.n_columns)
    rows = to_samples(**given)
    _one_each(us, rows.n + rows.n_missing)
    positions = _positions(given) if rows.n_missing else None
    with explained(rows):
        parts = [(start, _sums(stream, rows, which, positions)) for start, which in windows]
    return Batch(parts, rows.n_columns, int(missing.sum()))


def _with_clusters(
    given: dict[str, Any],
    groups: Any,
    us: NDArray[np.int64],
    missing: NDArray[np.bool_],
    every: WindowWidth,
) -> dict[str, Any]:
    """The rows with the weights that clusters give them, no longer as names of columns."""
    data = given["data"]
    if data is not None:
        named = {name: pick(data, given[name], name) for name in ("y_true", "y_proba")}
        given = {**given, **named, "data": None}
    if given["missing"] == "drop":
        kept = _positions(given) >= 0
    else:
        kept = np.ones(len(given["y_true"]), dtype=bool)
    if us.ndim:
        _one_each(us, kept.size)
    kept = kept & ~missing
    return {**given, "sample_weight": cluster_weights(groups, data, us, kept, every)}


def _times(time: Any, data: Any, missing: str) -> Times:
    """The times of the rows, if they can be had and none is missing that must not be."""
    lazy = is_lazy(data)
    named = data is not None and isinstance(time, str)
    times = None if lazy and named else microseconds(_column(data, time) if named else time)
    if times is None or (lazy and times[0].ndim):
        raise InputError(
            "the rows of a lazy frame are not cut into windows here: give one time for all of them "
            "as a datetime, with the frame filtered to its window; or collect() the frame; or let "
            "its engine group by a column of days, evaluate(..., by='day')"
        )
    us, absent = times
    if us.ndim > 1:
        raise InputError(f"time must be one time, or one for each row; got the shape {us.shape}")
    if missing != "drop" and absent.any():
        row = f"[{int(np.argmax(absent))}]" if us.ndim else ""
        raise InputError(
            f"time{row} is missing: remove such rows, or drop them with "
            f"{setting('missing', 'drop')}"
        )
    return times


def _column(data: Any, name: str) -> Any:
    try:
        return pick(data, name, "time")
    except InputError as error:
        try:
            datetime.fromisoformat(name)
        except ValueError:
            raise error from None
        raise InputError(
            f"{error}. One time for all rows of a frame is given as a datetime"
        ) from None


def _one_each(us: NDArray[np.int64], n: int) -> None:
    if us.ndim and us.size != n:
        raise InputError(f"time must be one time, or one for each of the {n} rows; got {us.size}")


def _positions(given: dict[str, Any]) -> NDArray[np.intp]:
    """The position of each row once rows with something missing are dropped; -1 for those."""
    absent: Any = False
    for name in ("y_true", "y_proba", "sample_weight"):
        value = given[name]
        if value is not None:
            column = value if given["data"] is None else pick(given["data"], value, name)
            absent = absent | with_gaps(column, name)[1]
    return np.where(absent, -1, np.cumsum(~absent) - 1)


def _sums(
    stream: Accumulator, samples: Samples, rows: Rows, positions: NDArray[np.intp] | None
) -> StreamSums:
    """The sums of some rows; a bad one is known by its number in the batch."""
    n_missing = 0
    if positions is not None:
        kept = positions[rows]
        rows = kept[kept >= 0]
        n_missing = int(kept.size - rows.size)
    try:
        return stream.sums_of(replace(samples.take(rows), n_missing=n_missing))
    except BadRow as bad:
        row = rows.start + bad.row if isinstance(rows, slice) else int(rows[bad.row])
        raise BadRow(row) from None
