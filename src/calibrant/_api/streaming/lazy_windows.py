"""A lazy frame cut into windows: its engine filters the rows of each, and sums them there."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from calibrant._api.streaming.accumulator import Accumulator
from calibrant._api.streaming.batch import Batch
from calibrant._api.streaming.spans import WindowWidth
from calibrant._core.errors import InputError, nearest
from calibrant._data.explain import explained
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

    frame = nw.from_native(data)
    zone = _zone(frame.collect_schema(), time)
    column = nw.col(time)
    ends: Any = frame.select(
        column.min().alias("first"), column.max().alias("last"),
        column.is_null().sum().alias("absent"),
    ).collect().rows()[0]  # fmt: skip
    first, last, absent = ends[0], ends[1], int(ends[2] or 0)
    if absent and stream.missing != "drop":
        raise InputError(
            f"time is missing in {absent:,} rows: remove such rows, or drop them with "
            "missing='drop'"
        )
    if first is None:
        return Batch([], 1 if isinstance(y_proba, str) else len(y_proba), absent)
    starts = _starts(first, last, every)

    def within(start: int) -> Any:
        low, high = (_literal(us, zone) for us in (start, start + every.us))
        return (column >= nw.lit(low)) & (column < nw.lit(high))

    counts = frame.select(*(within(s).sum().alias(f"w{s}") for s in starts)).collect().rows()[0]
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


def _zone(schema: Any, time: str) -> str | None:
    """The zone of a column of times; None where it has none, which is taken to be UTC."""
    import narwhals as nw

    if time not in schema:
        raise InputError(f"time names the column {time!r}: {nearest(time, list(schema))}")
    kind = schema[time]
    if not isinstance(kind, nw.Datetime):
        raise InputError(
            f"the column {time!r} of a lazy frame must hold datetimes to be cut into windows, and "
            f"it is of the type {kind}: cast it in the frame"
        )
    return kind.time_zone


def _starts(first: datetime, last: datetime, every: WindowWidth) -> list[int]:
    begin, end = (every.start(single(value, "time")) for value in (first, last))
    n = (end - begin) // every.us + 1
    if n > MOST_WINDOWS:
        raise InputError(
            f"the times span {n:,} windows of {every}, and of a lazy frame each is a query: give "
            f"at most {MOST_WINDOWS:,} at a time (filter the frame), or wider windows"
        )
    return [begin + i * every.us for i in range(n)]


def _literal(us: int, zone: str | None) -> datetime:
    """The start of a window as the column writes times."""
    utc = moment(us)
    return utc.replace(tzinfo=None) if zone is None else utc.astimezone(ZoneInfo(zone))
