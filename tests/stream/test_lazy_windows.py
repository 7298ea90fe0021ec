"""Lazy frames cut into windows by their engine: the same sums as of rows in memory."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

import calibrant as cal
from needs import need

RNG = np.random.default_rng(8)
BEGIN = datetime(2026, 1, 5)
HOURS = RNG.choice([1, 5, 30, 75, 90], 200)  # a day between has no rows
Y, P = RNG.integers(0, 2, 200), RNG.random(200)


def frame(times=None):
    polars = need("polars")
    at = [BEGIN + timedelta(hours=int(h)) for h in HOURS] if times is None else times
    return polars.DataFrame({"y": Y, "p": P, "at": at})


def zoned():
    polars = need("polars")
    column = polars.col("at").dt.replace_time_zone("UTC").dt.convert_time_zone("Europe/Berlin")
    return frame().with_columns(column).lazy()


def in_duckdb():
    return need("duckdb").from_arrow(frame().to_arrow())


@pytest.mark.parametrize("lazy", [lambda: frame().lazy(), zoned, in_duckdb])
def test_the_windows_are_those_of_rows(lazy):
    mine = cal.Monitor(every="6h").update("y", "p", time="at", data=lazy()).evaluate()
    rows = cal.Monitor(every="6h").update(Y, P, time=[
        (BEGIN + timedelta(hours=int(h))).replace(tzinfo=UTC) for h in HOURS
    ]).evaluate()  # fmt: skip
    assert [window.start for window in mine] == [window.start for window in rows]
    assert [window.n for window in mine] == [window.n for window in rows]
    for name in ("ece", "brier", "log_loss"):
        assert mine.columns()[name] == pytest.approx(rows.columns()[name], rel=1e-12)


def test_errors_and_missing_times():
    table = frame()
    with pytest.raises(cal.InputError, match="did you mean 'at'"):
        cal.Monitor().update("y", "p", time="att", data=table.lazy())
    with pytest.raises(cal.InputError, match="must hold datetimes"):
        cal.Monitor().update("y", "p", time="p", data=table.lazy())
    with pytest.raises(cal.InputError, match="windows of 1s"):
        cal.Monitor(every="1s").update("y", "p", time="at", data=table.lazy())
    gaps = frame([None, *(BEGIN for _ in range(199))]).lazy()
    with pytest.raises(cal.InputError, match="time is missing in 1 rows"):
        cal.Monitor().update("y", "p", time="at", data=gaps)
    monitor = cal.Monitor(missing="drop").update("y", "p", time="at", data=gaps)
    assert (monitor.n_rows, monitor.n_without_time) == (199, 1)
