"""What a monitor's windows say: values, noise floors, changes, and how they are shown."""

from __future__ import annotations

import json
from datetime import timedelta
from functools import cache
from itertools import product

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError
from monitored import (
    BEGIN,
    DAY,
    LABELS,
    OUTCOMES,
    REPORTS,
    ROWS,
    SECONDS,
    STREAMS,
    WEIGHTS,
    N,
    rng,
)
from needs import need


@pytest.mark.parametrize("kind", STREAMS)
def test_values_are_those_of_an_evaluation_of_the_rows(kind):
    y, p = STREAMS[kind]
    table = cal.Monitor().update(y, p, time=SECONDS).evaluate()
    assert len(table) == 5 and table.latest.start == BEGIN + timedelta(days=4)
    for window in table:
        begin = window.start.timestamp()
        rows = (begin <= SECONDS) & (begin + DAY > SECONDS)
        whole = cal.evaluate(y[rows], p[rows], measures=list(window.values))
        assert window.values == pytest.approx(whole.values, rel=1e-12)
        bins = cal.reliability(y[rows], p[rows])
        assert window.n == bins.n == rows.sum()
        total = bins.table.sums[0].sum(axis=0)
        assert window.mean_predicted == pytest.approx(total[3] / total[0])
        assert window.mean_target == pytest.approx(total[4] / total[0])


@pytest.mark.parametrize(
    "predictions",
    [REPORTS, REPORTS**6, rng.beta(0.1, 0.1, N), ROWS, np.round(REPORTS)],
    ids=["uniform", "rare", "extreme", "rows", "0 and 1"],
)
@pytest.mark.parametrize("measure", ["ece", "rmsce", "mce"])
def test_the_noise_floor_is_that_of_the_rows(predictions, measure):
    y = OUTCOMES if predictions.ndim == 1 else LABELS
    window = cal.Monitor().update(y, predictions, time=0).evaluate(measures=[measure]).latest
    norm = {"ece": "l1", "rmsce": "l2", "mce": "max"}[measure]
    floor = cal.noise_floor(y, predictions, measure=measure)
    assert window.values[measure] == pytest.approx(cal.ece(y, predictions, norm=norm), rel=1e-12)
    # Two sets of a thousand draws: the 95 % points differ by a few hundredths of themselves.
    assert window.noise_95 == pytest.approx(floor.upper, rel=0.12)
    assert abs(window.p_value - floor.p_value) < 0.08


def test_calibrated_windows_reach_their_95_percent_point_one_time_in_twenty():
    draws = np.random.default_rng(3)
    monitor = cal.Monitor(every="1h", bins=10, measures=["ece"])
    hours = np.repeat(np.arange(300), 300)
    p = draws.beta(0.5, 2, hours.size)
    monitor.update((draws.random(hours.size) < p).astype(int), p, time=hours * 3600)
    table = monitor.evaluate().columns()
    beyond = np.mean(np.array(table["ece"]) > np.array(table["noise_95"]))
    assert 0.02 < beyond < 0.085  # 300 windows: 0.05, give or take three times 0.012


def test_no_floor_is_made_up_for_soft_labels_or_weights():
    soft = cal.Monitor().update(REPORTS**1.2, REPORTS, time=0).evaluate()
    weighted = cal.Monitor().update(OUTCOMES, REPORTS, time=0, sample_weight=WEIGHTS).evaluate()
    for table, said in ((soft, "soft labels"), (weighted, "weighted rows")):
        assert np.isnan(table.latest.noise_95) and np.isnan(table.latest.p_value)
        assert any(said in note for note in table.notes)
    ones = cal.Monitor().update(OUTCOMES, REPORTS, time=0, sample_weight=np.ones(N)).evaluate()
    assert ones.latest.noise_95 > 0
    losses = cal.Monitor().update(OUTCOMES, REPORTS, time=0).evaluate(measures=["brier"])
    assert losses.measure is None and "noise_95" not in losses.columns()


def test_a_change_is_seen_and_its_size_is_told():
    draws = np.random.default_rng(5)
    days = np.repeat(np.arange(12), 2000)
    p = draws.beta(0.5, 3, days.size)
    y = (draws.random(days.size) < np.where(days >= 10, 0.7 * p, p)).astype(int)
    monitor = cal.Monitor().update(y, p, time=days * DAY)
    table = monitor.evaluate(baseline=7).columns()
    assert np.isnan(table["p_change"][0])  # nothing came before it
    assert min(table["p_change"][1:10]) > 0.005
    assert table["p_change"][10] < 1e-5
    assert table["p_change"][11] < 1e-3  # what came before it holds the first bad day
    fixed = monitor.evaluate(baseline=monitor.between(None, "1970-01-11"))
    assert fixed.baseline == "a baseline of 20000 rows"
    gaps = {}
    for name, rows in (("now", days == 10), ("then", days < 10)):
        bins = np.minimum((p[rows] * 15).astype(int), 14)
        gaps[name] = [(y[rows] - p[rows])[bins == b] for b in range(15)]
    moved = [
        now.size * (now.mean() - then.mean())
        for now, then in zip(gaps["now"], gaps["then"], strict=True)
        if now.size and then.size
    ]
    assert fixed["1970-01-11"].shift == pytest.approx(sum(moved) / 2000, rel=1e-9)


# Changes are those of the bins, whichever measures are asked for; a loss has no noise floor, which
# takes most of a window's time.
NO_FLOOR = {"measures": ["brier"]}


def test_changes_do_not_depend_on_the_measures():
    monitor = cal.Monitor().update(OUTCOMES, REPORTS, time=SECONDS)
    tables = [monitor.evaluate(**each, baseline=1).columns() for each in ({}, NO_FLOOR)]
    for column in ("p_change", "shift"):
        assert np.array_equal(tables[0][column], tables[1][column], equal_nan=True)
        assert np.isfinite(tables[0][column][1:]).all()


def test_other_predictions_with_the_same_faults_are_no_change():
    draws = np.random.default_rng(31)
    hours = np.repeat(np.arange(300), 1000)
    now, then = draws.beta(2, 1, hours.size), draws.beta(1, 2, 300_000)

    def outcomes(p):  # a fault that grows with the prediction
        return (draws.random(p.size) < 0.8 * p).astype(int)

    y = outcomes(now)
    before = cal.Accumulator(measures=["ece"]).update(outcomes(then), then)
    monitor = cal.Monitor(every="1h", **NO_FLOOR).update(y, now, time=hours * 3600)
    table = monitor.evaluate(baseline=before)
    assert abs((y - now).mean()) > 0.12  # the gap as a whole is twice what it was
    assert abs(np.mean(table.columns()["shift"])) < 0.003
    assert np.mean(np.array(table.columns()["p_change"]) < 0.05) < 0.1


@cache
def chances_of_no_change(shape, truth):
    """The p-values of 200 windows like what was before them."""
    draws = np.random.default_rng(17)
    make = {
        "uniform": lambda n: draws.random(n),
        "rare": lambda n: draws.beta(0.2, 8, n),
        "extreme": lambda n: draws.beta(0.05, 0.05, n),
    }[shape]
    factor = 1.0 if truth == "calibrated" else 0.5

    def drawn(n):
        p = make(n)
        return (draws.random(n) < factor * p).astype(int), p

    # A baseline of its own for each window would take long; a large one is as good as the truth.
    before = cal.Accumulator(measures=["ece"]).update(*drawn(200_000))
    hours = np.repeat(np.arange(200), 400)
    monitor = cal.Monitor(every="1h", **NO_FLOOR).update(*drawn(hours.size), time=hours * 3600)
    p = np.array(monitor.evaluate(baseline=before).columns()["p_change"])
    assert np.isnan(p).mean() < 0.2
    return p[~np.isnan(p)]


SHAPES, TRUTHS = ("uniform", "rare", "extreme"), ("calibrated", "half")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("truth", TRUTHS)
def test_where_nothing_changes_one_window_in_twenty_seems_to(shape, truth):
    p = chances_of_no_change(shape, truth)
    assert (p < 0.05).mean() < 0.1  # 0.05, give or take three times 0.016
    # Two chances of which one is doubled: on the safe side, and not by much.
    assert (p < 0.05).mean() > 0.01 and (p < 0.5).mean() > 0.2


def test_of_all_windows_without_a_change_one_in_twenty_seems_to():
    p = np.concatenate([chances_of_no_change(*case) for case in product(SHAPES, TRUTHS)])
    assert 0.03 < (p < 0.05).mean() < 0.068  # more than 1000 windows: three times 0.006


def test_predictions_that_move_within_a_bin_are_no_change():
    draws = np.random.default_rng(23)
    hours = np.repeat(np.arange(400), 500)
    rare, less_rare = draws.beta(1, 300, 400_000), draws.beta(1, 60, hours.size)
    before = cal.Accumulator(measures=["ece"])
    before.update((draws.random(rare.size) < rare).astype(int), rare)
    now = (draws.random(hours.size) < less_rare).astype(int)
    monitor = cal.Monitor(every="1h", **NO_FLOOR).update(now, less_rare, time=hours * 3600)
    p = np.array(monitor.evaluate(baseline=before).columns()["p_change"])
    assert (p < 0.05).mean() < 0.09


def test_soft_labels_can_change_too():
    draws = np.random.default_rng(29)
    days = np.repeat(np.arange(6), 1000)
    p = draws.random(days.size)
    z = np.clip(p + draws.normal(0, 0.1, p.size) + np.where(days == 5, 0.03, 0), 0, 1)
    table = cal.Monitor().update(z, p, time=days * DAY).evaluate(baseline=3).columns()
    assert min(table["p_change"][1:5]) > 0.005 and table["p_change"][5] < 1e-6
    same = cal.Monitor().update(p, p, time=days * DAY).evaluate(baseline=3).columns()
    assert np.isnan(same["p_change"]).all()  # nothing scatters, so nothing can be told


def test_a_baseline_must_fit():
    monitor = cal.Monitor().update(OUTCOMES, REPORTS, time=0)
    for baseline in (
        cal.Accumulator(bins=10).update(OUTCOMES, REPORTS),
        cal.Accumulator().update(LABELS, ROWS),
    ):
        with pytest.raises(InputError, match="baseline must have the monitor's bins"):
            monitor.evaluate(baseline=baseline)
    for wrong in (0, 1.5, "last week", True):
        with pytest.raises(InputError, match="baseline must be an Accumulator"):
            monitor.evaluate(baseline=wrong)


def test_a_span_of_windows():
    monitor = cal.Monitor().update(OUTCOMES, REPORTS, time=SECONDS)
    table = monitor.evaluate(start="2026-01-07", stop="2026-01-09", baseline=1)
    whole = monitor.evaluate(baseline=1)
    assert [w.start.day for w in table] == [7, 8]
    assert table["2026-01-07"].p_change == whole["2026-01-07"].p_change  # the 6th still counts
    with pytest.raises(InputError, match="no window with rows"):
        monitor.evaluate(start="2027-01-01")


def test_windows_as_table_frame_json_and_text():
    monitor = cal.Monitor(every="1h").update(OUTCOMES, REPORTS, time=np.round(SECONDS / DAY) * DAY)
    table = monitor.evaluate(baseline=24)
    for backend in ("pandas", "polars", "pyarrow"):
        frame = table.to_frame(need(backend).__name__)
        assert frame.shape == (6, len(table.columns()))
    assert (
        str(table.to_frame("polars")["start"].dtype) == "Datetime(time_unit='us', time_zone='UTC')"
    )
    loaded = json.loads(table.to_json())
    assert loaded["windows"]["start"][0] == "2026-01-05T00:00:00+00:00"
    assert loaded["windows"]["p_change"][0] is None and loaded["measure"] == "ece"
    text = repr(table)
    assert "Windows of 1h, UTC, against the 24 windows before each" in text
    assert "115 windows between the first and the last without rows" in text
    assert "2026-01-05 " in text and "00:00" not in text
    assert "mce" not in text and "mce" in table.columns()
    assert "mce" in repr(monitor.evaluate(measures=["ece", "brier", "rmsce", "mce"]))
    assert "<td>2026-01-05</td>" in table._repr_html_()
    assert table["2026-01-05"] is table[BEGIN] is table[BEGIN.replace(tzinfo=None)]
    for missing in ("2026-01-05T01:00", "soon"):
        with pytest.raises(InputError, match="window"):
            table[missing]
    assert "3000 rows in 6 windows of 1h from 2026-01-05T00:00:00+00:00" in repr(monitor)


@pytest.mark.parametrize(
    ("every", "shown"),
    [("1d", "2026-01-05"), ("15m", "2026-01-05 10:15"), (1, "2026-01-05 10:20:03")],
)
def test_starts_are_shown_as_short_as_they_can_be(every, shown):
    monitor = cal.Monitor(every=every).update([0, 1], [0.2, 0.7], time="2026-01-05T10:20:03")
    assert monitor.evaluate().display_columns()["start"] == [shown]


def test_windows_have_draws_of_their_own():
    """A thousand draws err by a seventh of the 5 % that lie beyond: the same ones for all windows,
    and in all of them p-values below 5 % were as much too many.
    """
    rng = np.random.default_rng(0)
    p = rng.random(40 * 200)
    y = (rng.random(p.size) < p).astype(int)
    days = np.repeat(np.arange(40), 200).astype("timedelta64[D]")
    time = np.datetime64("2026-01-01") + days
    values = cal.Monitor(every="1d", measures=["ece"]).update(y, p, time=time).evaluate().columns()
    # Windows of like rows: floors differ by what they were drawn by, not by their rows alone.
    half = cal.Monitor(every="1d", measures=["ece"]).update(y[:200], p[:200], time=time[:200])
    assert half.evaluate().columns()["noise_95"][0] == values["noise_95"][0]
    once = cal.Monitor(every="1d", measures=["ece"]).update(1 - y[:200], p[:200], time=time[:200])
    assert once.evaluate().columns()["noise_95"][0] != values["noise_95"][0]
