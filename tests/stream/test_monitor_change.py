"""Evidence of a change from a baseline: the formula, its promise, and what it is refused for."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar

import calibrant as cal
from calibrant._core.bin_tables import FIELDS, BinTable
from calibrant._inference.change import (
    _divergence,
    _end_of_interval,
    _exponent,
    _Game,
    _log_share,
    _Sums,
    _worst_excess,
    running_change,
)
from calibrant._inference.numbers import BASELINE_BET, REGION_CHANCE
from monitored import DAY

DAY_1 = np.datetime64("2026-01-01")


def off(p):
    """Outcomes of an accepted model, whose ECE is .02."""
    return 1 / (1 + np.exp(0.05 - 0.85 * np.log(p / (1 - p) + 1e-12)))


def rows_of(rng, n, factor=1.0):
    p = rng.beta(0.5, 3, n)
    return (rng.random(n) < factor * off(p)).astype(int), p


def monitor_of(seed, days, n, change=None, factor=0.8, **options):
    rng = np.random.default_rng((71, seed))
    monitor = cal.Monitor(measures=["ece"], **options)
    for day in range(days):
        y, p = rows_of(rng, n, factor if change is not None and day >= change else 1.0)
        monitor.update(y, p, time=day * DAY)
    return monitor


def accepted(seed, n):
    y, p = rows_of(np.random.default_rng((72, seed)), n)
    return cal.Accumulator(measures=["ece"]).update(y, p)


def test_an_accepted_model_gives_no_alarm_and_a_worse_one_does():
    """The error of the baseline is evidence against calibration, and none of a change."""
    calm = monitor_of(0, 40, 3000).evaluate(baseline=accepted(0, 100_000))
    assert calm.alarm is not None and calm.change_alarm is None
    assert max(window.e_change for window in calm) < 20
    worse = monitor_of(1, 40, 3000, change=20).evaluate(baseline=accepted(0, 100_000))
    found = round((worse.change_alarm.start.timestamp()) / DAY)
    assert 20 <= found <= 28
    assert any("alarm: by" in note and "e_change" in note for note in worse.notes)
    assert worse.to_dict()["change_alarm"] == worse.change_alarm.start.isoformat()


@pytest.mark.parametrize("rows", [200, 2000, 20_000])
@pytest.mark.parametrize("kind", ["rows", "clusters", "soft"])
def test_no_alarm_without_a_change(rows, kind):
    """Forty windows against baselines of few rows and of many, 15 streams each; at 5 %, four alarms
    or more have a chance of 0.5 %.
    """
    alarms = 0
    for seed in range(15):
        rng = np.random.default_rng((73, seed, rows))

        def part(n, rng=rng):
            if kind == "soft":
                y, p = rows_of(rng, n)
                return np.where(rng.random(n) < 0.5, y, off(p)), p, None
            if kind == "rows":
                return *rows_of(rng, n), None
            p, groups = np.repeat(rng.beta(0.5, 3, n), 3), np.repeat(np.arange(n), 3)
            return np.repeat((rng.random(n) < off(p[::3])).astype(int), 3), p, groups

        clusters = kind == "clusters"
        monitor = cal.Monitor(measures=["brier"], grouped=clusters)  # no noise floors
        y, p, groups = part(rows)
        monitor.update(y, p, time=0, groups=groups)
        for day in range(1, 41):
            y, p, groups = part(300)
            monitor.update(y, p, time=day * DAY, groups=groups)
        table = monitor.evaluate(baseline=(None, "1970-01-02"))
        assert not any(math.isnan(window.e_change) for window in table.rows[1:])
        alarms += table.change_alarm is not None
    assert alarms < 4


def test_the_bounds_hold_exactly_at_the_true_rates():
    """Step 1: of rows of any rates with their mean; of shares of votes; of clusters in parts."""
    rng = np.random.default_rng(0)
    for bet in (-1.0, -0.1, 0.03, 0.5):
        p = rng.beta(0.4, 2, 30)
        exact = np.log1p(p * np.expm1(bet)).sum()
        assert exact <= 30 * _exponent(bet, p.mean()[None], False)[0][0] + 1e-12
        # A soft label between 0 and 1 has less than an outcome of its mean.
        halves = np.log((1 + np.exp(bet / 2)) / 2)
        assert halves <= _exponent(bet, np.array([0.25]), False)[0][0]
        # Clusters with a part of their weight, w, in the bin.
        w = rng.random(30)
        for each in (p, 1 - p):
            mean = (w * each).sum() / w.sum()
            parts = np.log1p(each * np.expm1(bet * w)).sum()
            assert parts <= w.sum() * _exponent(bet, mean[None], True)[0][0] + 1e-12


@pytest.mark.parametrize("grouped", [False, True])
def test_the_intervals_are_where_the_divergence_says(grouped):
    rate, allowed = np.array([0.0, 0.02, 0.5, 1.0]), np.full(4, 0.05)
    for far in (np.zeros(4), np.ones(4)):
        end = _end_of_interval(rate, far, allowed, grouped)
        inner = end != far
        assert _divergence(rate, end, grouped)[inner] == pytest.approx(0.05, abs=1e-9)
    ends = [_end_of_interval(rate, far, allowed, grouped) for far in (np.zeros(4), np.ones(4))]
    grid = np.linspace(ends[0], ends[1], 2001)[1:-1]
    assert (_divergence(rate, grid, grouped) <= 0.05 + 1e-9).all()
    for bet in (-0.7, 0.2):
        excess = _exponent(bet, grid, grouped)[0] - bet * grid
        if grouped:  # the lesser of two bounds, each of which holds
            excess = np.minimum(grid * (np.expm1(bet) - bet), (1 - grid) * (np.expm1(-bet) + bet))
        worst = _worst_excess(bet, *ends, grouped)
        assert (excess.max(axis=0) <= worst + 1e-12).all()
        assert excess.max(axis=0) == pytest.approx(worst, rel=1e-3)


def slow_log_evidence(then, now):
    """Steps 2 and 3 for one span of windows, the least over a fine grid, in plain Python."""
    n0, u0, z0 = (np.asarray(part, dtype=float) for part in then)
    n, u, z = (np.asarray(part, dtype=float) for part in now)
    game = _Game.against(_Sums(n0, u0, z0), False, REGION_CHANCE)
    below, above = game.below, game.above
    spread = math.sqrt(sum(w * (k / w) * (1 - k / w) for w, k in zip(n0, z0, strict=True)) + 1)
    bins, bets = range(n0.size), game.bets.tolist()
    rate = [z0[b] / n0[b] for b in bins]
    moved = [u[b] / n[b] - u0[b] / n0[b] if n[b] else 0.0 for b in bins]

    def means(bet):
        return [rate[b] + (max(moved[b], 0) if bet > 0 else min(moved[b], 0)) for b in bins]

    def f(bet, p):
        return math.log(1 + p * (math.exp(bet) - 1))

    single = 0.0
    for b in bins:
        for bet in bets:
            worse = min(max(means(bet)[b] + (above[b] if bet > 0 else below[b]), 0), 1)
            single += math.exp(bet * z[b] - n[b] * f(bet, worse)) / len(bets) / n0.size
    least = math.inf
    for g in np.linspace(-10 * spread, 10 * spread, 4001):
        windows = 0.0
        for bet in bets:
            up = math.exp(bet) - 1
            p = means(bet)
            pull = [n[b] * up / (1 + p[b] * up) for b in bins]
            share = sum(pull) / n0.sum()
            log = -share * g
            for b in bins:
                rest = pull[b] - share * n0[b]
                log += bet * z[b] - n[b] * f(bet, p[b])
                log -= rest * (above[b] if rest > 0 else below[b])
            windows += math.exp(log) / len(bets)
        own, bet = 0.0, BASELINE_BET / spread
        for sign, loss in ((1, game.losses[0]), (-1, game.losses[1])):
            own += math.exp(min(sign * bet * g - loss, 600))
        least = min(least, (0.5 + 0.25 * own) * windows)
    return math.log((single + least) / 2)


def test_evidence_by_the_formula():
    rng = np.random.default_rng(4)
    for factor in (1.0, 0.5):
        n0, n = rng.integers(50, 400, 4), rng.integers(0, 90, 4)
        mean = np.array([0.1, 0.3, 0.6, 0.9])
        then = (n0, n0 * mean, rng.binomial(n0, mean * 0.9))
        now = (n, n * (mean + rng.normal(0, 0.01, 4)), rng.binomial(n, mean * 0.9 * factor))
        fast = _Game.against(_Sums(*(part.astype(float) for part in then)), False, REGION_CHANCE)
        rows = _Sums(*(np.asarray(part, dtype=float)[None] for part in now))
        assert fast.log_evidence(rows)[0] == pytest.approx(slow_log_evidence(then, now), abs=1e-3)


def test_the_weights_of_beginnings_sum_to_1():
    shares = np.exp(_log_share(np.arange(1, 2**16)))
    assert shares.sum() == pytest.approx(1 - 1 / 17)
    assert all(a >= b - 1e-12 for a, b in pairwise(shares))


def test_merged_windows_only_lower_the_evidence():
    """Whatever `keep` has merged: beginnings in merged windows are left out."""
    base = accepted(3, 50_000)
    whole, kept = (
        monitor_of(5, 30, 1000, change=10, **options).evaluate(baseline=base)
        for options in ({}, {"keep": 6})
    )
    for window in kept:
        same = whole[window.start]
        assert 0 < window.e_change <= same.e_change * (1 + 1e-9)


def test_baselines_of_every_kind_are_one():
    """Rows, their evaluation, a monitor of them, and a span: the same evidence."""
    y, p = rows_of(np.random.default_rng(6), 5000)
    monitor = monitor_of(7, 12, 800, change=6, factor=0.5)
    joint = cal.Monitor(measures=["ece"]).update(y, p, time=-DAY).merge(monitor)
    span = joint.evaluate(baseline=(None, 0))
    assert math.isnan(span.rows[0].e_change) and math.isnan(span.rows[0].shift)
    found = [window.e_change for window in span.rows[1:]]
    assert max(found) > 20 and "before 1970-01-01" in span.baseline
    for base in (
        cal.Accumulator(measures=["ece"]).update(y, p),
        cal.evaluate(y, p, measures=["ece"]),
        cal.Monitor(measures=["ece"]).update(y, p, time=5),
    ):
        table = monitor.evaluate(baseline=base)
        assert [window.e_change for window in table] == pytest.approx(found, rel=1e-9)
        assert table.baseline == "a baseline of 5000 rows"


def test_windows_of_one_state_or_of_two_that_merge():
    base = accepted(8, 20_000)
    halves = [monitor_of(seed, 8, 500, change=0, factor=0.6) for seed in (9, 10)]
    merged = halves[0].merge(halves[1]).evaluate(baseline=base)
    rng = [np.random.default_rng((71, seed)) for seed in (9, 10)]
    whole = cal.Monitor(measures=["ece"])
    for day in range(8):
        for each in rng:
            whole.update(*rows_of(each, 500, 0.6), time=day * DAY)
    assert [w.e_change for w in merged] == pytest.approx(
        [w.e_change for w in whole.evaluate(baseline=base)], rel=1e-9
    )


def test_top_labels_have_evidence_too():
    rng = np.random.default_rng(11)
    p = rng.dirichlet(np.ones(3), 6000)
    y = np.array([rng.choice(3, p=row) for row in p])
    monitor = cal.Monitor().update(y[:3000], p[:3000], time=0)
    monitor.update((y[3000:] + (rng.random(3000) < 0.3)) % 3, p[3000:], time=DAY)
    assert monitor.evaluate(baseline=(None, DAY)).change_alarm.start.day == 2
    base = cal.evaluate(y[:3000], p[:3000])
    assert monitor.evaluate(start=DAY, baseline=base).change_alarm is not None


def test_what_has_no_evidence_says_why():
    y, p = rows_of(np.random.default_rng(12), 400)
    plain, weights = cal.Monitor().update(y, p, time=0), np.linspace(1, 2, 400)
    grouped = cal.Monitor(grouped=True).update(y, p, time=0, groups=np.arange(400) // 4)
    weighted = cal.Monitor().update(y, p, time=0, sample_weight=weights)
    for monitor, base, said in (
        (weighted, cal.Accumulator().update(y, p), "weights other than 1"),
        (plain, cal.Accumulator().update(y, p, sample_weight=weights), "weights other than 1"),
        (plain, grouped, "rows have clusters"),
        (grouped, plain, "have no clusters"),
        (grouped, cal.Accumulator().update(y, p), "grouped=True"),
    ):
        table = monitor.evaluate(baseline=base)
        assert table.change_alarm is None and math.isnan(table.latest.e_change)
        assert any("no evidence of a change" in note and said in note for note in table.notes)
    of_grouped = grouped.evaluate(baseline=grouped.total())
    assert not math.isnan(of_grouped.latest.e_change)


@pytest.mark.parametrize(
    ("base", "said"),
    [
        ((None, None), "only start may be None"),
        (("1970-01-05", "1970-01-09"), "a time span without rows"),
        (cal.evaluate([0, 1], [0.2, 0.7], bins=7), "must have the monitor's bins"),
        (cal.evaluate([0, 1, 2], np.eye(3) / 2 + 1 / 6), "must have the monitor's bins"),
        (cal.Accumulator(bins=7), "must have the monitor's bins"),
        ("accepted.state", "a number of preceding windows"),
    ],
)
def test_baselines_that_do_not_fit(base, said):
    monitor = cal.Monitor().update([0, 1], [0.2, 0.7], time=0)
    with pytest.raises(cal.InputError, match=said):
        monitor.evaluate(baseline=base)


def test_one_window_and_one_bin_have_the_evidence_of_the_formula():
    """The twin of the formula, by SciPy, with its numbers written out."""
    rows, events, n, seen = 4000, 800, 900, 260
    rate, allowed = events / rows, math.log(2 / 0.005) / rows

    def divergence(m):
        return rate * math.log(rate / m) + (1 - rate) * math.log((1 - rate) / (1 - m)) - allowed

    low, high = brentq(divergence, 1e-9, rate), brentq(divergence, rate, 1 - 1e-9)
    spread = math.sqrt(rows * rate * (1 - rate) + 1)
    bets = [0.2 / spread * 3**k for k in range(1 + int(math.log(spread / 0.2) / math.log(3)))]
    bets += [-bet for bet in bets]

    def log_mean(bet, p):
        return math.log1p(p * math.expm1(bet))

    alone = np.mean(
        [math.exp(bet * seen - n * log_mean(bet, high if bet > 0 else low)) for bet in bets]
    )
    own, p = 4 / spread, np.linspace(low, high, 100_001)
    lost = [rows * (np.log1p(p * math.expm1(b)) - b * p).max() for b in (-own, own)]

    def together(g):
        baseline = 0.5 + 0.25 * (math.exp(own * g - lost[0]) + math.exp(-own * g - lost[1]))
        slopes = [math.expm1(b) / (1 + rate * math.expm1(b)) * n / rows for b in bets]
        windows = np.mean(
            [
                math.exp(b * seen - n * log_mean(b, rate) - slope * g)
                for b, slope in zip(bets, slopes, strict=True)
            ]
        )
        return baseline * windows

    ends = (-10 * spread, 10 * spread)
    least = minimize_scalar(together, bounds=ends, method="bounded", options={"xatol": 1e-9}).fun
    tables = [one_bin(*sums) for sums in ((rows, events), (n, seen))]
    (found,) = running_change(tables[1:], [1], tables[0])
    assert found == pytest.approx(0.9 * 0.5 * (alone + least) / 2, rel=1e-6)


def one_bin(n, outcomes):
    sums = np.zeros((1, 1, len(FIELDS)))
    for name, value in {
        "n": n,
        "sum_w": n,
        "sum_w2": n,
        "sum_wu": 0.2 * n,
        "sum_wz": outcomes,
    }.items():
        sums[0, 0, FIELDS.index(name)] = value
    return BinTable(sums)


def test_evidence_counts_from_the_oldest_window_whatever_is_shown():
    rng = np.random.default_rng(3)
    monitor = cal.Monitor()
    for day in range(1, 9):
        p = rng.random(400)
        monitor.update((rng.random(400) < p**1.1).astype(int), p, time=f"2026-01-{day:02}T12:00")
    every, late = monitor.evaluate(), monitor.evaluate(start="2026-01-05")
    assert [row.start for row in late.rows] == [row.start for row in every.rows[4:]]
    for row, alone in zip(every.rows[4:], late.rows, strict=True):
        assert (row.e_value, row.p_corrected) == (alone.e_value, alone.p_corrected)
    # Evidence up to a window does not know later ones.
    early = monitor.evaluate(stop="2026-01-05")
    assert [row.e_value for row in early.rows] == [row.e_value for row in every.rows[:4]]
    days = {"baseline": ("2026-01-01", "2026-01-03")}
    changes = [row.e_change for row in monitor.evaluate(**days).rows][4:]
    assert changes == [row.e_change for row in monitor.evaluate(start="2026-01-05", **days).rows]
