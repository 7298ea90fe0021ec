"""Lazy frames cut into windows by their engine: the same sums as of rows in memory."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

import calibrant as cal
from every_engine import LAZY
from needs import need

RNG = np.random.default_rng(8)
BEGIN = datetime(2026, 1, 5)
HOURS = RNG.choice([0, 5, 48, 54], 200)  # where windows begin, too; a day between has no rows
Y, P = RNG.integers(0, 2, 200), RNG.random(200)


def frame(times=None):
    polars = need("polars")
    at = [BEGIN + timedelta(hours=int(h)) for h in HOURS] if times is None else times
    return polars.DataFrame({"y": Y, "p": P, "at": at})


def times(kind):
    """The hours as a column of Arrow, of one kind or another."""
    naive = [BEGIN + timedelta(hours=int(h)) for h in HOURS]
    if kind == "dates":
        return [each.date() for each in naive]
    if kind == "naive":
        return naive
    pyarrow = need("pyarrow")
    return pyarrow.array(
        [each.replace(tzinfo=UTC) for each in naive], pyarrow.timestamp("us", kind)
    )


MEASURES = ("ece", "brier", "log_loss")
KINDS = ("naive", "UTC", "America/New_York", "dates")
CASES = set(itertools.product(LAZY, KINDS)) - {("dask", "dates")}  # to which dates are text


@pytest.mark.parametrize(("engine", "kind"), sorted(CASES))
def test_the_windows_are_those_of_rows(engine, kind):
    table = need("pyarrow").table({"y": Y, "p": P, "at.utc": times(kind)})
    given = {"time": "at.utc", "data": LAZY[engine](table)}
    options = {"every": "1d" if kind == "dates" else "12h", "measures": MEASURES}
    mine = cal.Monitor(**options).update("y", "p", **given).windows()
    rows = cal.Monitor(**options).update(Y, P, time=table["at.utc"]).windows()
    assert len(rows) == 2 and list(mine) == list(rows)
    for start, window in rows.items():
        assert mine[start].n_rows == window.n_rows > 0
        assert mine[start].evaluate().values == pytest.approx(window.evaluate().values, rel=1e-12)


def test_errors_and_missing_times():
    table = frame()
    with pytest.raises(cal.InputError, match="did you mean 'at'"):
        cal.Monitor().update("y", "p", time="att", data=table.lazy())
    with pytest.raises(cal.InputError, match="must hold datetimes"):
        cal.Monitor().update("y", "p", time="p", data=table.lazy())
    with pytest.raises(cal.InputError, match="windows of 1s"):
        cal.Monitor(every="1s").update("y", "p", time="at", data=table.lazy())
    gaps = frame([None, *(BEGIN for _ in range(199))]).lazy()
    with pytest.raises(cal.InputError, match="time is missing in 1 row"):
        cal.Monitor().update("y", "p", time="at", data=gaps)
    monitor = cal.Monitor(missing="drop").update("y", "p", time="at", data=gaps)
    assert (monitor.n_rows, monitor.n_without_time) == (199, 1)
