"""Times of every kind, missing ones, and what is not a time."""

from __future__ import annotations

import warnings
from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError
from monitored import (
    BEGIN,
    DAY,
    OUTCOMES,
    REPORTS,
    N,
)
from needs import need

MOMENTS = [BEGIN + timedelta(hours=h, microseconds=7) for h in (1, 30, 2, 55)]
NAIVE = [moment.replace(tzinfo=None) for moment in MOMENTS]
STAMPS = [
    round((m - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(microseconds=1)) for m in MOMENTS
]


def in_tokyo(moment):
    return moment.astimezone(timezone(timedelta(hours=9)))


KINDS = {
    "datetimes": lambda: MOMENTS,
    "naive datetimes": lambda: NAIVE,
    "other zones": lambda: [in_tokyo(moment) for moment in MOMENTS],
    "ISO": lambda: [moment.isoformat() for moment in MOMENTS],
    "ISO with Z": lambda: [moment.isoformat() + "Z" for moment in NAIVE],
    "ISO in an array": lambda: np.array([in_tokyo(moment).isoformat() for moment in MOMENTS]),
    "datetime64[us]": lambda: np.array(NAIVE, dtype="datetime64[us]"),
    "datetime64[ns]": lambda: np.array(NAIVE, dtype="datetime64[ns]"),
    "objects": lambda: np.array(MOMENTS, dtype=object),
    "seconds": lambda: np.array(STAMPS) / 1e6,
    "a list of seconds": lambda: [stamp / 1e6 for stamp in STAMPS],
    "pandas": lambda: need("pandas").Series(MOMENTS),
    "pandas, another zone": lambda: need("pandas").Series(MOMENTS).dt.tz_convert("Asia/Tokyo"),
    "pandas, naive": lambda: need("pandas").Series(NAIVE),
    "pandas, nanoseconds": lambda: need("pandas").Series(MOMENTS).dt.as_unit("ns"),
    "pandas, text": lambda: need("pandas").Series([m.isoformat() for m in MOMENTS]),
    "pandas index": lambda: need("pandas").DatetimeIndex(MOMENTS),
    "polars": lambda: need("polars").Series(MOMENTS),
    "polars, naive": lambda: need("polars").Series(NAIVE),
    "polars, seconds": lambda: need("polars").Series(np.array(STAMPS) / 1e6),
    "pyarrow": lambda: need("pyarrow").chunked_array([MOMENTS]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_times_of_every_kind_are_the_same_times(kind):
    times = KINDS[kind]()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        monitor = cal.Monitor(every=1e-6).update([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4], time=times)
    # Each row is in the microsecond that is its own.
    found = {at: window.evaluate()["ece"] for at, window in monitor.windows().items()}
    assert found == pytest.approx(dict(zip(MOMENTS, [0.1, 0.8, 0.3, 0.6], strict=True)))
    assert monitor.n_without_time == 0


@pytest.mark.parametrize(
    "one",
    [
        BEGIN,
        BEGIN.replace(tzinfo=None),
        date(2026, 1, 5),
        "2026-01-05",
        np.datetime64("2026-01-05"),
        BEGIN.timestamp(),
        int(BEGIN.timestamp()),
        np.array("2026-01-05", dtype="datetime64[s]"),
    ],
    ids=repr,
)
def test_one_time_for_all_rows(one):
    monitor = cal.Monitor().update(OUTCOMES, REPORTS, time=one)
    assert {start: s.n_rows for start, s in monitor.windows().items()} == {BEGIN: N}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (None, "time is None"),
        ("yesterday", "'yesterday', which is not a time"),
        (True, "not a time"),
        (1.7e12, "divide milliseconds by 1000"),
        (float("inf"), "years 1 to 9999"),
        ([0.0, 1.7e12], r"time\[1\] is 1700000000000.0"),
        (["2026-01-05", "soon"], r"time\[1\] is 'soon'"),
        ([0.0], "one for each of the 2 rows; got 1"),
        ([0.0, 1.0, 90_000.0], "one for each of the 2 rows; got 3"),
        (np.zeros((2, 1)), "shape"),
        (np.array([True, False]), "holds bool"),
        ([3 + 1j, 0], "holds complex"),
    ],
    ids=repr,
)
def test_what_is_not_a_time_is_said(given, said):
    monitor = cal.Monitor()
    with pytest.raises(InputError, match=said):
        monitor.update([0, 1], [0.2, 0.7], time=given)
    assert monitor.windows() == {}


NOTHING = {
    "NaT": lambda: np.array(["2026-01-05", "NaT", "2026-01-06"], dtype="datetime64[s]"),
    "None": lambda: [BEGIN, None, BEGIN + timedelta(days=1)],
    "NaN": lambda: [BEGIN.timestamp(), float("nan"), BEGIN.timestamp() + DAY],
    "masked": lambda: np.ma.array(
        [BEGIN.timestamp(), 1e300, BEGIN.timestamp() + DAY], mask=[0, 1, 0]
    ),
    "pandas": lambda: need("pandas").Series([BEGIN, None, BEGIN + timedelta(days=1)]),
    "polars": lambda: need("polars").Series([BEGIN, None, BEGIN + timedelta(days=1)]),
    "pyarrow": lambda: need("pyarrow").chunked_array([[BEGIN, None, BEGIN + timedelta(days=1)]]),
}


@pytest.mark.parametrize("kind", NOTHING)
def test_a_missing_time_is_an_error_or_counted(kind):
    with pytest.raises(InputError, match=r"time\[1\] is missing"):
        cal.Monitor().update([0, 1, 1], [0.2, 0.7, 0.9], time=NOTHING[kind]())
    monitor = cal.Monitor(missing="drop")
    monitor.update([0, 1, 1], [0.2, 0.7, 0.9], time=NOTHING[kind]())
    assert monitor.n_without_time == 1 and monitor.n_rows == 2
    assert [stream.n_rows for stream in monitor.windows().values()] == [1, 1]
    assert any("1 row without a time" in note for note in monitor.evaluate().notes)


def test_no_time_at_all_leaves_the_batch_out():
    monitor = cal.Monitor(missing="drop").update([0, 1], [0.2, 0.7], time=np.datetime64("NaT"))
    monitor.update([0, 1], [0.2, 0.7], time=[None, None])
    assert monitor.n_without_time == 4 and monitor.windows() == {}


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_with_something_missing_are_counted_in_their_window(weighted):
    y = np.array([0, 1, np.nan, 1, 0, 1, 1.0])
    p = np.array([0.2, 0.7, 0.4, np.nan, 0.1, 0.9, np.nan])
    w = np.array([1, 1, 1, 1, np.nan, 2, 1]) if weighted else None
    days = np.array([1, 0, 1, 0, 2, 1, 3])
    monitor = cal.Monitor(missing="drop").update(y, p, time=days * DAY, sample_weight=w)
    found = [(s.n_rows, s.n_missing) for s in monitor.windows().values()]
    assert found == [(1, 1), (2, 1), (0, 1) if weighted else (1, 0), (0, 1)]
    table = monitor.evaluate().columns()
    assert table["n_missing"] == [1, 1, int(weighted), 1]
    assert np.isnan(table["ece"][3]) and table["n"][3] == 0
    kept = cal.Monitor().update(
        [1, 0], [0.9, 0.2], time=DAY, sample_weight=[2, 1] if weighted else None
    )
    assert table["brier"][1] == pytest.approx(kept.evaluate().columns()["brier"][0])


def test_numbers_that_count_rows_are_warned_of():
    p = np.full(50, 0.5)
    with pytest.warns(cal.CalibrantWarning, match="in seconds since 1970 is a time of 1970-01-01"):
        cal.Monitor(every="1d").update(p.round(), p, time=np.arange(50))
    with warnings.catch_warnings():
        warnings.simplefilter("error", cal.CalibrantWarning)
        cal.Monitor(every="1d").update(p.round(), p, time=1.7e9 + np.arange(50))


NUMBERS_THAT_ARE_DATES = {
    "year": 2021,
    "date": 20240101,
    "month": 202401,
    "time": 202401011230,
    "time to the second": 20240101123059,
    "day number of a spreadsheet": 45350,
    "date without its century": 240301,
}


@pytest.mark.parametrize("what", NUMBERS_THAT_ARE_DATES)
@pytest.mark.parametrize("kind", [np.int64, np.float64, list, "pandas", "polars", "one", object])
def test_whole_numbers_that_read_as_dates_are_asked_about(what, kind):
    """As seconds since 1970 all of them would lie in one window of 1970."""
    numbers = NUMBERS_THAT_ARE_DATES[what] + np.arange(3)
    given = {
        list: numbers.tolist,
        "pandas": lambda: need("pandas").Series(numbers),
        "polars": lambda: need("polars").Series(numbers),
        "one": lambda: int(numbers[0]),
    }
    time = given.get(kind, lambda: numbers.astype(kind))()
    monitor = cal.Monitor()
    with pytest.raises(
        cal.InputError, match=f"looks like a {what}, but numbers are read as seconds"
    ):
        monitor.update([0, 1, 1], [0.2, 0.7, 0.9], time=time)
    assert monitor.n_rows == 0


def test_times_to_the_hour_are_asked_about():
    """As seconds they would all lie in 2034."""
    hours = np.array([2024013122, 2024013123, 2024020100])
    with pytest.raises(InputError, match="2024013122, which looks like a time to the hour"):
        cal.Monitor().update([0, 1, 1], [0.2, 0.7, 0.8], time=hours)
    for seconds in (hours + 30, hours[:1]):  # no hour 52; one number is no proof
        rows = seconds.size
        assert cal.Monitor().update([1] * rows, [0.7] * rows, time=seconds).n_rows == rows


@pytest.mark.parametrize(
    "time",
    [
        [20240101, 1704067200],
        [20240101.5, 20240102.5],
        [1.7e9, 1.8e9],
        [45350, 86400],
        [-45350, -45351],
        [240301, 240332],
        [240301.5, 240302.5],
        [101, 1231],
    ],
)
def test_other_numbers_are_seconds(time):
    assert cal.Monitor().update([0, 1], [0.2, 0.7], time=time).n_rows == 2


def test_days_of_a_spreadsheet_may_have_a_time_of_day():
    with pytest.raises(InputError, match=r"time\[0\] is 45350.75, which looks like a day number"):
        cal.Monitor().update([0, 1], [0.2, 0.7], time=[45350.75, 45351.25])
    named = cal.Monitor().update([0, 1], [0.2, 0.7], time=["2024-02-28T18:00", "2024-02-29T06:00"])
    for start in (45350, 240301):  # where windows are asked for, too
        with pytest.raises(InputError, match=f"start is {start}, which looks like a da"):
            named.evaluate(start=start)


@pytest.mark.parametrize(
    ("every", "first"), [("1w", "01-01"), ("1w-sun", "01-07"), ("2w", "01-08")]
)
def test_weeks_begin_on_a_day_that_is_documented(every, first, tmp_path):
    """2024-01-01 was a Monday; in weeks counted from 1970 it was the fifth day."""
    days = np.arange("2024-01-01", "2024-02-01", dtype="datetime64[D]")
    rng = np.random.default_rng(0)
    p = rng.random(days.size)
    y = rng.random(p.size) < p
    monitor = cal.Monitor(every=every).update(y, p, time=days)
    starts = [start.strftime("%a %m-%d") for start in monitor.windows()]
    weekday = "Sun" if every.endswith("sun") else "Mon"
    assert all(start.startswith(weekday) for start in starts) and f"{weekday} {first}" in starts
    # Each half by itself, saved and merged, is the whole: the width is written with its day.
    halves = [
        cal.Monitor(every=every).update(y[s], p[s], time=days[s])
        for s in (slice(0, 10), slice(10, None))
    ]
    monitor.save(tmp_path / "state.npz")
    for again in (halves[0].merge(halves[1]), cal.Monitor.load(tmp_path / "state.npz")):
        assert list(again.windows()) == list(monitor.windows()) and again.every == monitor.every
    clustered = cal.Monitor(every=every, grouped=True).update(
        y, p, time=days, groups=days.astype(str)
    )
    assert list(clustered.windows()) == list(monitor.windows())


def test_printed_times_keep_their_seconds():
    monitor = cal.Monitor(every="10s", measures=["ece"], by="site")
    slices = ["north", "south"] * 100
    for at in range(0, 60, 10):
        right = np.full(200, at < 30)
        monitor.update(right, np.full(200, 0.9), time=86_400 + at, by=slices)
    span = ("1970-01-02T00:00:10", "1970-01-02T00:00:30")
    found = monitor.evaluate(baseline=span)
    assert found.baseline == (
        "the windows from 1970-01-02 00:00:10 to before 1970-01-02 00:00:30 (400 rows)"
    )
    assert "Alarm: changed from the baseline by 1970-01-02 00:00:30 UTC." in found.to_html()
    until = monitor.evaluate(baseline=(None, "1970-01-02T00:01:00"))
    assert until.baseline == "the windows before 1970-01-02 00:01 (1200 rows)"
    alarms = found.slices.display_columns()["alarm"]
    assert alarms == ["1970-01-02 00:00:30"] * 2
