"""A batch of rows with times becomes the sums of each window that the rows lie in. A Monitor keeps
them only once all are made.

Rows may come in clusters. A row then has the weight of one over the rows of its cluster, and a
cluster adds the mean of z - u over its rows, or over those that lie in one bin; u is a row's
prediction and z its target. That mean lies in [-1, 1], has the expectation 0 where predictions are
calibrated, and its variance is at most the mean of u (1 - u), whatever the dependence: Bennett's
inequality holds for it as it does for a single row (`calibrant._inference.streams`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from calibrant._api.rows import read_groups
from calibrant._api.slices import labels_of_rows
from calibrant._api.streaming.accumulator import Accumulator
from calibrant._api.streaming.spans import Rows, WindowWidth, split_by_window
from calibrant._core.errors import InputError, counted, nearest
from calibrant._core.messages import setting
from calibrant._core.typing import Array, Index, Mask
from calibrant._data.columns import is_lazy, pick, scan_if_path
from calibrant._data.explain import explained
from calibrant._data.frame_samples import column_of
from calibrant._data.missing import find_missing_rows
from calibrant._data.samples import BadRow, Samples
from calibrant._data.slice_names import row_names
from calibrant._data.times import Times, microseconds, moment, single
from calibrant._data.to_samples import to_samples, to_source
from calibrant._engines.arrays.streams import StreamSums

# The most windows of a lazy frame, each of which is a query of its own, and the most slices.
MOST_WINDOWS = MOST_SLICES = 1000


@dataclass(frozen=True, eq=False)
class Batch:
    """A batch of rows, summed: for each window of time its start and the sums of its rows.

    Starts are microseconds since 1970. `columns` is the number of columns of y_proba, and
    `n_without_time` the number of rows that were dropped because they have no time. A monitor with
    slices has the parts of each slice, by its name, beside those of all: a window has several.
    """

    parts: list[tuple[int, StreamSums]]
    columns: int
    n_without_time: int = 0
    slices: dict[str, list[tuple[int, StreamSums]]] = field(default_factory=dict)


def sum_by_window(
    stream: Accumulator, every: WindowWidth, time: Any, groups: Any, by: Any = None, **rows: Any
) -> Batch:
    """Sum a batch of rows in each window of time that the rows lie in.

    `stream` is an Accumulator with the options of the monitor, `every` the width of windows. `time`
    is one time for all rows, one for each, or the name of a column; `groups` are the clusters of
    the rows, or None; `by` are names of columns of slices, or a value for each row, or None. `rows`
    has y_true, y_proba, sample_weight, votes and data, as `Monitor.update` takes them.
    """
    given = {
        **rows,
        "data": scan_if_path(rows["data"]),
        "from_logits": stream.given,
        "classes": stream.classes,
        "missing": stream.missing,
        "stream": True,
    }
    if is_lazy(given["data"]):
        if groups is not None:
            raise InputError(
                "groups= needs the rows in memory, to count the rows of each cluster: collect() "
                "the frame"
            )
        if by is not None:
            return sum_lazy_slices(stream, every, time, by, rows)
        if isinstance(time, str):
            return sum_lazy_frame_by_window(stream, every, time, given)
    us, missing = _checked_times(time, given["data"], stream.missing)
    labels = None if by is None else labels_of_rows(by, given["data"])
    if groups is not None:
        given = _with_cluster_weights(given, groups, us, missing, every)
    windows = split_by_window(np.atleast_1d(us), np.atleast_1d(missing), every)
    if labels is None and (not us.ndim or (len(windows) == 1 and not missing.any())):
        # All rows in one window, as mostly: they stay where they are.
        samples = to_source(**given)
        with explained(samples):
            sums = stream.sums_of(samples)
        n = sums.n_rows + sums.n_missing
        _check_one_time_each(us, n)
        if not windows:
            return Batch([], samples.n_columns, n)
        return Batch([(windows[0][0], sums)], samples.n_columns)
    in_memory = to_samples(**given)
    n = in_memory.n + in_memory.n_missing
    _check_one_time_each(us, n)
    positions = _positions_of_complete_rows(given) if in_memory.n_missing else None
    if not us.ndim:  # one time for all
        windows = [(start, slice(0, n)) for start, _ in windows]
    n_without_time = int(missing.sum()) if us.ndim else n * bool(missing)
    with explained(in_memory):
        if labels is not None:
            return _sums_by_slice(stream, in_memory, windows, positions, labels, n_without_time)
        parts = [
            (start, _sums_of_window(stream, in_memory, which, positions))
            for start, which in windows
        ]
    return Batch(parts, in_memory.n_columns, n_without_time)


def _sums_by_slice(
    stream: Accumulator,
    samples: Samples,
    windows: list[tuple[int, Rows]],
    positions: Index | None,
    labels: NDArray[Any],
    n_without_time: int,
) -> Batch:
    """The sums of each slice in each window; `labels` are the names of the slices of all rows."""
    n = samples.n + samples.n_missing
    if labels.shape != (n,):
        raise InputError(f"by must hold a value for each of the {n} rows; got {labels.shape}")
    names, codes = np.unique(labels.astype(str), return_inverse=True)
    if names.size > MOST_SLICES:
        raise InputError(
            f"by names {names.size:,} slices, each with sums in every window: give at most "
            f"{MOST_SLICES:,} at a time"
        )
    slices: dict[str, list[tuple[int, StreamSums]]] = {}
    for start, which in windows:
        rows = np.arange(n)[which]
        rows = rows[np.argsort(codes[rows], kind="stable")]
        first = np.flatnonzero(np.diff(codes[rows], prepend=-1))
        for part in np.split(rows, first[1:]):
            sums = _sums_of_window(stream, samples, part, positions)
            slices.setdefault(str(names[codes[part[0]]]), []).append((start, sums))
    parts = [part for each in slices.values() for part in each]
    return Batch(parts, samples.n_columns, n_without_time, slices)


def _with_cluster_weights(
    given: dict[str, Any], groups: Any, us: NDArray[np.int64], missing: Mask, every: WindowWidth
) -> dict[str, Any]:
    """The arguments `given` with weights that make each cluster of rows count once.

    Names of columns are replaced by the columns themselves, and data by None. `us` are the times in
    microseconds since 1970, and `missing` marks rows without a time.
    """
    data = given["data"]
    if data is not None:
        named = {name: pick(data, given[name], name) for name in ("y_true", "y_proba")}
        given = {**given, **named, "data": None}
    if given["missing"] == "drop":
        kept = _positions_of_complete_rows(given) >= 0
    else:
        kept = np.ones(len(given["y_true"]), dtype=bool)
    if us.ndim:
        _check_one_time_each(us, kept.size)
    kept = kept & ~missing
    return {**given, "sample_weight": cluster_weights(groups, data, us, kept, every)}


def check_grouped(grouped: bool, groups: Any, sample_weight: Any) -> None:
    """Raise an InputError unless clusters are named if, and only if, the monitor counts them.

    Clusters together with weights are an error as well.
    """
    if grouped and groups is None:
        raise InputError(
            "this Monitor was made with grouped=True: give the cluster of each row with groups="
        )
    if groups is not None and not grouped:
        raise InputError(
            "groups= needs a Monitor that counts clusters: make it with Monitor(grouped=True)"
        )
    if groups is not None and sample_weight is not None:
        raise InputError(
            "groups= and sample_weight= cannot be combined: with groups, each cluster has the "
            "weight 1, divided among its rows"
        )


def cluster_weights(
    groups: Any, data: Any, us: NDArray[np.int64], kept: Mask, every: WindowWidth
) -> Array:
    """The weight of each row, (n,): one over the number of kept rows in its cluster.

    `us` are the times in microseconds since 1970, one for each row or one for all; `kept` marks
    rows that are not dropped. A cluster whose rows lie in several windows is an error: what its
    later rows show depends on its earlier ones, and no window may be judged with that.
    """
    values, gaps = read_groups(groups, data)
    n = kept.size
    if values.shape != (n,):
        raise InputError(f"groups must name a cluster for each of the {n} rows; got {values.shape}")
    if gaps[kept].any():
        row = int(np.flatnonzero(gaps & kept)[0])
        raise InputError(
            f"groups[{row}] is missing: every row needs a cluster. Give a row without one a "
            "cluster of its own"
        )
    names = values.astype(str) if values.dtype.kind == "O" else values
    _, index = np.unique(names, return_inverse=True)
    if us.ndim:
        _check_in_one_window(names, index, us, kept, every)
    sizes = np.bincount(index[kept], minlength=int(index.max(initial=-1)) + 1)
    return np.asarray(1.0 / np.maximum(sizes[index], 1))


def _check_in_one_window(
    names: NDArray[Any], index: Index, us: NDArray[np.int64], kept: Mask, every: WindowWidth
) -> None:
    """Raise an InputError for a cluster whose kept rows lie in several windows.

    `index` is the number of each row's cluster, `names` the cluster's name for each row, `us` the
    times in microseconds since 1970, and `kept` marks rows that are not dropped.
    """
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
            f"{moment(int(last[spread[0]])).isoformat()} ({spread.size} "
            f"cluster{'s' if spread.size > 1 else ''} in all), but evidence is valid only if each "
            "cluster lies in one window. Give all its rows one time, such as the last, or use "
            "wider windows"
        )


def _checked_times(time: Any, data: Any, missing: str) -> Times:
    """The times of the rows in microseconds since 1970, and a mask of missing times.

    `time` is a time, one for each row, or the name of a column of `data`. An InputError is raised
    for missing times unless `missing` is "drop", and for several times of a lazy frame.
    """
    named = data is not None and isinstance(time, str)
    us, absent = times = microseconds(_time_column(data, time) if named else time)
    if is_lazy(data) and us.ndim:
        raise InputError(
            "rows of a lazy frame cannot be cut into windows by this time: give one datetime for "
            "all rows of a filtered frame, or collect() the frame, or group by a column of days "
            "with evaluate(..., by='day')"
        )
    if us.ndim > 1:
        raise InputError(f"time must be one time, or one for each row; got the shape {us.shape}")
    if missing != "drop" and absent.any():
        row = f"[{int(np.argmax(absent))}]" if us.ndim else ""
        raise InputError(
            f"time{row} is missing: remove the row, or drop rows without a time with "
            f"{setting('missing', 'drop')}"
        )
    return times


def _time_column(data: Any, name: str) -> Any:
    """The column of times with this name; an InputError if the frame has none.

    If the name reads like a time, the error says that a single time is given as a datetime.
    """
    try:
        return pick(data, name, "time")
    except InputError as error:
        try:
            datetime.fromisoformat(name)
        except ValueError:
            raise error from None
        raise InputError(f"{error}. Give one time for all rows of a frame as a datetime") from None


def _check_one_time_each(us: NDArray[np.int64], n: int) -> None:
    """Raise an InputError unless there is a single time, or one for each of n rows."""
    if us.ndim and us.size != n:
        raise InputError(f"time must be one time, or one for each of the {n} rows; got {us.size}")


def _positions_of_complete_rows(given: dict[str, Any]) -> Index:
    """The position of each row among the complete rows, (n,); -1 if a value is missing."""
    absent: Any = False
    for name in ("y_true", "y_proba", "sample_weight"):
        value = given[name]
        if value is not None:
            column = value if given["data"] is None else pick(given["data"], value, name)
            absent = absent | find_missing_rows(column, name)[1]
    return np.where(absent, -1, np.cumsum(~absent) - 1)


def _sums_of_window(
    stream: Accumulator, samples: Samples, rows: Rows, positions: Index | None
) -> StreamSums:
    """The sums of the rows of one window.

    `rows` are row numbers in the batch. `positions` translates them to numbers in `samples`, from
    which incomplete rows were dropped (-1); None if none was. A BadRow error is raised with the
    number in the batch.
    """
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


def sum_lazy_slices(
    stream: Accumulator, every: WindowWidth, time: Any, by: Any, rows: dict[str, Any]
) -> Batch:
    """Sum the rows of each slice of a lazy frame: each slice and window is a query of its engine.

    `by` names columns of the frame; `time` and `rows` are those of `sum_by_window`.
    """
    import narwhals as nw

    columns = [by] if isinstance(by, str) else list(by)
    if not all(isinstance(name, str) for name in columns):
        raise InputError("by must name columns of the lazy frame")
    frame = nw.from_native(rows["data"])
    known = frame.collect_schema().names()
    for name in columns:
        if name not in known:
            raise InputError(f"by names the column {name!r}: {nearest(name, known)}")
    keys: Any = frame.select(*columns).unique().collect().rows()
    if len(keys) > MOST_SLICES:
        raise InputError(
            f"by names {len(keys):,} slices, and each is a query of the lazy frame: give at most "
            f"{MOST_SLICES:,}"
        )
    labels = row_names([[key[j] for key in keys] for j in range(len(columns))])
    out = Batch([], 0)
    for label, key in sorted(zip(map(str, labels), keys, strict=True), key=lambda pair: pair[0]):
        own = [
            column_of(frame, name).is_null() if value is None else column_of(frame, name) == value
            for name, value in zip(columns, key, strict=True)
        ]
        part = {**rows, "data": frame.filter(*own).to_native()}
        batch = sum_by_window(stream, every, time, None, **part)
        out = Batch(
            [*out.parts, *batch.parts],
            batch.columns,
            out.n_without_time + batch.n_without_time,
            {**out.slices, label: batch.parts},
        )
    return out


def sum_lazy_frame_by_window(
    stream: Accumulator, every: WindowWidth, time: str, given: dict[str, Any]
) -> Batch:
    """Sum the rows of a lazy frame in each window, by the column of times `time`.

    Each window is a query of the frame's engine. `given` are the arguments of `to_source`, with the
    frame as "data".
    """
    import narwhals as nw

    frame = _with_times_in_utc(nw.from_native(given["data"]), time)
    kind = _time_type(frame.collect_schema(), time)
    column = column_of(frame, time)
    if kind == nw.Date:
        column = column.cast(nw.Datetime("us"))
    zone = kind.time_zone if isinstance(kind, nw.Datetime) else None
    # Some engines do not sum truth values: they are cast to numbers.
    ends: Any = (
        frame.select(
            column.min().alias("first"),
            column.max().alias("last"),
            column.is_null().cast(nw.Int64).sum().alias("absent"),
        )
        .collect()
        .rows()[0]
    )
    first, last, absent = ends[0], ends[1], int(ends[2] or 0)
    if absent and stream.missing != "drop":
        raise InputError(
            f"time is missing in {counted(absent, 'row')}: remove these rows, or drop them with "
            f"{setting('missing', 'drop')}"
        )
    if first is None:
        named = given["y_proba"]
        return Batch([], 1 if isinstance(named, str) else len(named), absent)
    starts = _window_starts(first, last, every)

    def in_window(start: int) -> Any:
        """The condition, as an expression, that a row lies in the window that begins at `start`."""
        low, high = (_time_literal(us, zone, frame) for us in (start, start + every.us))
        return (column >= low) & (column < high)

    counts = (
        frame.select(*(in_window(s).cast(nw.Int64).sum().alias(f"w{s}") for s in starts))
        .collect()
        .rows()[0]
    )
    parts, columns = [], 0
    for start, count in zip(starts, counts, strict=True):
        if not count:
            continue
        part = frame.filter(in_window(start)).to_native()
        samples = to_source(**{**given, "data": part})
        with explained(samples):
            parts.append((start, stream.sums_of(samples)))
        columns = samples.n_columns
    return Batch(parts, columns, absent)


def _with_times_in_utc(frame: Any, time: str) -> Any:
    """A Dask frame with its column of times in UTC; other frames unchanged.

    narwhals cannot read the type of times in some zones, such as New York's.
    """
    import narwhals as nw

    if not frame.implementation.is_dask() or time not in frame.columns:
        return frame
    native = frame.to_native()
    if getattr(native[time].dtype, "tz", None) is None:
        return frame
    return nw.from_native(native.assign(**{time: native[time].dt.tz_convert("UTC")}))


def _time_type(schema: Any, time: str) -> Any:
    """The type of the column `time`, a date or a datetime; an InputError for any other type.

    A time without a zone is taken to be in UTC.
    """
    import narwhals as nw

    if time not in schema:
        raise InputError(f"time names the column {time!r}: {nearest(time, list(schema))}")
    kind = schema[time]
    if not isinstance(kind, nw.Datetime | nw.Date):
        raise InputError(
            f"the column {time!r} of a lazy frame must hold datetimes or dates; its type is "
            f"{kind}. Cast it in the frame"
        )
    return kind


def _window_starts(first: datetime, last: datetime, every: WindowWidth) -> list[int]:
    """The starts of all windows from the first time to the last, in microseconds since 1970.

    An InputError is raised for more than MOST_WINDOWS windows.
    """
    begin, end = (every.start(single(value, "time")) for value in (first, last))
    n = (end - begin) // every.us + 1
    if n > MOST_WINDOWS:
        raise InputError(
            f"the times span {n:,} windows of {every}, and each is a query of the lazy frame: give "
            f"at most {MOST_WINDOWS:,} at a time (filter the frame), or use wider windows"
        )
    return [begin + i * every.us for i in range(n)]


def _time_literal(us: int, zone: str | None, frame: Any) -> Any:
    """A time in microseconds since 1970 as an expression to compare the column of times with.

    `zone` is the column's time zone, None if its times have none.
    """
    import narwhals as nw

    utc = moment(us)
    if zone is not None:
        return nw.lit(utc.astimezone(ZoneInfo(zone)))
    plain = utc.replace(tzinfo=None)
    if frame.implementation.is_spark_like():  # which takes a datetime for one of its own zone
        return nw.lit(plain.isoformat()).cast(nw.Datetime("us"))
    return nw.lit(plain)
