"""Clusters in a monitor: each counts once, and evidence stays valid however its rows depend."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

import calibrant as cal
from calibrant import InputError, StateError

DAY = "2026-01-05"


def rows(seed=0, n=60, factor=1.0, days=1):
    """Clusters whose rows share one throw of chance, each in one day."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 12, n)
    index = np.repeat(np.arange(n), sizes)
    u = np.clip(rng.beta(1, 2, n)[index] + rng.normal(0, 0.05, index.size), 0, 1)
    z = (rng.random(n)[index] < factor * u).astype(int)
    day = rng.integers(0, days, n)[index]
    time = np.datetime64(DAY) + day.astype("timedelta64[D]")
    return z, u, index, time


def weights_of(groups):
    _, index, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    return 1 / sizes[index]


def test_values_are_those_of_rows_weighted_by_their_cluster():
    z, u, groups, time = rows(days=3)
    table = cal.Monitor(grouped=True).update(z, u, time=time, groups=groups).evaluate()
    assert len(table) == 3
    for window in table:
        inside = time.astype("datetime64[D]").astype(str) == window.start.date().isoformat()
        expected = cal.ece(z[inside], u[inside], sample_weight=weights_of(groups[inside]))
        assert window.values["ece"] == pytest.approx(expected, rel=1e-12)
        assert window.n == inside.sum() and np.isnan(window.p_value) and window.e_value > 0
    assert any(f"{len(np.unique(groups))} clusters" in note for note in table.notes)


def test_the_mean_evidence_of_calibrated_clusters_is_at_most_1():
    """Exactly: rows of a cluster that all come out alike, over every outcome of three clusters."""
    chances, sizes = (0.3, 0.6, 0.05), (4, 1, 7)
    u = np.repeat(chances, sizes)
    groups = np.repeat(["a", "b", "c"], sizes)
    mean = by_rows = 0.0
    for outcome in itertools.product((0, 1), repeat=3):
        chance = np.prod([p if y else 1 - p for p, y in zip(chances, outcome, strict=True)])
        z = np.repeat(outcome, sizes)
        monitor = cal.Monitor(grouped=True, bins=4).update(z, u, time=DAY, groups=groups)
        mean += chance * monitor.evaluate().latest.e_value
        plain = cal.Monitor(bins=4).update(z, u, time=DAY)
        by_rows += chance * plain.evaluate().latest.e_value
    assert mean <= 1 + 1e-12
    assert by_rows > 1.5  # as single rows they are too sure, and the test could fail


def test_calibrated_clusters_raise_no_alarm_and_faults_do():
    def alarmed(grouped, factor):
        monitor = cal.Monitor(grouped=grouped)
        for day in range(30):
            z, u, groups, _ = rows(day + 1000, factor=factor)
            named = {"groups": groups} if grouped else {}
            monitor.update(z, u, time=np.datetime64(DAY) + day, **named)
        return monitor.evaluate().alarm is not None

    assert alarmed(False, 1.0)  # rows by themselves are too sure
    assert not alarmed(True, 1.0)
    assert alarmed(True, 0.5)


def test_single_rows_are_clusters_of_one():
    z, u, _, time = rows(days=4)
    plain = cal.Monitor().update(z, u, time=time).evaluate()
    one_each = cal.Monitor(grouped=True).update(z, u, time=time, groups=np.arange(z.size))
    for mine, theirs in zip(one_each.evaluate(), plain, strict=True):
        assert mine.e_value == pytest.approx(theirs.e_value, rel=1e-12)
        assert mine.values["ece"] == pytest.approx(theirs.values["ece"], rel=1e-12)


def test_a_cluster_in_several_windows_is_refused_and_nothing_is_added():
    monitor = cal.Monitor(grouped=True)
    with pytest.raises(InputError, match=r"cluster 'x' lie in windows from 2026-01-05.*01-07"):
        monitor.update(
            [0, 1, 1], [0.2, 0.7, 0.9], time=[DAY, "2026-01-07", DAY], groups=["x", "x", "y"]
        )
    assert monitor.n_rows == 0


@pytest.mark.parametrize(
    ("grouped", "options", "message"),
    [
        (True, {}, "made with grouped=True"),
        (False, {"groups": [1, 2]}, "Monitor\\(grouped=True\\)"),
        (True, {"groups": [1, 2], "sample_weight": [1.0, 2.0]}, "cannot be combined"),
        (True, {"groups": [1, 2, 3]}, "each of the 2 rows"),
        (True, {"groups": ["a", None]}, r"groups\[1\] is missing"),
        (True, {"groups": "name"}, "no frame was given"),
    ],
)
def test_groups_of_a_monitor_that_are_wrong_are_named(grouped, options, message):
    with pytest.raises(InputError, match=message):
        cal.Monitor(grouped=grouped).update([0, 1], [0.2, 0.7], time=DAY, **options)


def test_not_a_flag():
    with pytest.raises(InputError, match="grouped must be True or False"):
        cal.Monitor(grouped="patient")


def test_frames_missing_values_and_states(tmp_path):
    frame = pd.DataFrame(
        {
            "y": [0, 1, 1, 0, 1],
            "p": [0.2, None, 0.9, 0.4, 0.6],
            "who": ["a", "a", "a", "b", "b"],
            "at": [DAY] * 5,
        }
    )
    monitor = cal.Monitor(grouped=True, missing="drop")
    monitor.update("y", "p", time="at", groups="who", data=frame)
    window = monitor.evaluate().latest
    assert (window.n, window.n_missing) == (4, 1)
    # The row that is dropped does not count in its cluster.
    expected = cal.ece([0, 1, 0, 1], [0.2, 0.9, 0.4, 0.6], sample_weight=[0.5] * 4)
    assert window.values["ece"] == pytest.approx(expected)
    monitor.save(tmp_path / "a.state")
    again = cal.Monitor.load(tmp_path / "a.state")
    assert again.grouped and again.evaluate().to_dict() == monitor.evaluate().to_dict()
    assert again.merge(monitor).total().weight == pytest.approx(4.0)
    with pytest.raises(StateError, match="grouped"):
        again.merge(cal.Monitor(missing="drop"))
    assert "grouped" not in cal.Monitor().recipe()  # older states stay readable, and as they were


def test_lazy_frames_are_refused():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"y": [0, 1], "p": [0.2, 0.7], "who": ["a", "a"]}).lazy()
    with pytest.raises(InputError, match="needs the rows in memory"):
        cal.Monitor(grouped=True).update("y", "p", time=DAY, groups="who", data=frame)
