"""A lazy frame cut into windows: its engine filters the rows of each, and sums them there."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from calibrant._api.streaming.accumulator import Accumulator
from calibrant._api.streaming.batch import Batch
from calibrant._api.streaming.spans import WindowWidth
from calibrant._core.errors import InputError, counted, nearest
from calibrant._core.messages import setting
from calibrant._data.explain import explained
from calibrant._data.frame_samples import column_of
from calibrant._data.times import moment, single
from calibrant._data.to_samples import to_samples_in_place

# Each window is a query of its own.
MOST_WINDOWS = 1000


def lazy_batch(
    stream: Accumulator,
    every: WindowWidth,
    y_true: Any,
    y_proba: Any,
    time: str,
    *,
    sample_weight: Any,
    votes: Any,
    data: Any,
) -> Batch:
    """What the rows of a lazy frame add to each window, by a column of times."""
    import narwhals as nw

    frame = _in_utc(nw.from_native(data), time)
    kind = _kind(frame.collect_schema(), time)
    column = column_of(frame, time)
    if kind == nw.Date:
        column = column.cast(nw.Datetime("us"))
    zone = kind.time_zone if isinstance(kind, nw.Datetime) else None
    # To some engines a truth is no number, and has no sum.
    ends: Any = frame.select(
        column.min().alias("first"), column.max().alias("last"),
        column.is_null().cast(nw.Int64).sum().alias("absent"),
    ).collect().rows()[0]  # fmt: skip
    first, last, absent = ends[0], ends[1], int(ends[2] or 0)
    if absent and stream.missing != "drop":
        raise InputError(
            f"time is missing in {counted(absent, 'row')}: remove such rows, or drop them with "
            f"{setting('missing', 'drop')}"
        )
    if first is None:
        return Batch([], 1 if isinstance(y_proba, str) else len(y_proba), absent)
    starts = _starts(first, last, every)

    def within(start: int) -> Any:
        low, high = (_literal(us, zone, frame) for us in (start, start + every.us))
        return (column >= low) & (column < high)

    counts = frame.select(
        *(within(s).cast(nw.Int64).sum().alias(f"w{s}") for s in starts)
    ).collect().rows()[0]  # fmt: skip
    parts, columns = [], 0
    for start, count in zip(starts, counts, strict=True):
        if not count:
            continue
        part = frame.filter(within(start)).to_native()
        samples = to_samples_in_place(
            y_true, y_proba, sample_weight=sample_weight, votes=votes, data=part,
            from_logits=stream.given, classes=stream.classes, missing=stream.missing,
            stream=True,
        )  # fmt: skip
        with explained(samples):
            parts.append((start, stream.sums_of(samples)))
        columns = samples.n_columns
    return Batch(parts, columns, absent)


def _in_utc(frame: Any, time: str) -> Any:
    """A frame of Dask with its times in UTC: of some zones, such as New York's, narwhals does not
    read the type.
    """
    import narwhals as nw

    if not frame.implementation.is_dask() or time not in frame.columns:
        return frame
    native = frame.to_native()
    if getattr(native[time].dtype, "tz", None) is None:
        return frame
    return nw.from_native(native.assign(**{time: native[time].dt.tz_convert("UTC")}))


def _kind(schema: Any, time: str) -> Any:
    """The type of a column of times. A time without a zone is taken to be in UTC."""
    import narwhals as nw

    if time not in schema:
        raise InputError(f"time names the column {time!r}: {nearest(time, list(schema))}")
    kind = schema[time]
    if not isinstance(kind, nw.Datetime | nw.Date):
        raise InputError(
            f"the column {time!r} of a lazy frame must hold datetimes or dates to be cut into "
            f"windows, and it is of the type {kind}: cast it in the frame"
        )
    return kind


def _starts(first: datetime, last: datetime, every: WindowWidth) -> list[int]:
    begin, end = (every.start(single(value, "time")) for value in (first, last))
    n = (end - begin) // every.us + 1
    if n > MOST_WINDOWS:
        raise InputError(
            f"the times span {n:,} windows of {every}, and of a lazy frame each is a query: give "
            f"at most {MOST_WINDOWS:,} at a time (filter the frame), or wider windows"
        )
    return [begin + i * every.us for i in range(n)]


def _literal(us: int, zone: str | None, frame: Any) -> Any:
    """The start of a window as the column writes times."""
    import narwhals as nw

    utc = moment(us)
    if zone is not None:
        return nw.lit(utc.astimezone(ZoneInfo(zone)))
    plain = utc.replace(tzinfo=None)
    if frame.implementation.is_spark_like():  # which takes a datetime for one of its own zone
        return nw.lit(plain.isoformat()).cast(nw.Datetime("us"))
    return nw.lit(plain)
