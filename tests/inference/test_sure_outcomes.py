"""Outcomes that are all alike: rates cannot leave [0, 1], but the error of another sample may still
be larger than the one seen, and a fault that was not seen is not ruled out.
"""

import numpy as np
import pytest

import calibrant as cal

FAST = {"n_resamples": 200}


def never(rng):
    """Nothing ever happens; the true error is the mean prediction, 0.0636."""
    return np.zeros(1000, int), rng.beta(0.7, 1.5, 1000) * 0.2


def always(rng):
    """A model that is always right and says 0.8 to 1; the true error is 0.1."""
    return np.ones(500, int), rng.uniform(0.8, 1.0, 500)


def few(rng):
    """Some sure alarms, nearly all of them false; the true error is 0.0352."""
    alarm = rng.random(1000) < 0.03
    outcomes = alarm & (rng.random(1000) < 0.05)
    return outcomes.astype(int), np.where(alarm, 0.9, 0.01)


@pytest.mark.parametrize(
    ("world", "measure", "truth"),
    [(never, "ece", 0.2 * 0.7 / 2.2), (always, "ece", 0.1), (few, "ece", 0.0352),
     (always, "rmsce", np.sqrt(0.01 + 0.04 / 12)), (always, "ks_error", 0.1),
     (always, "ace", 0.1), (always, "smooth_ece", 0.1)],
)  # fmt: skip
def test_a_limit_that_is_broken_seldom_passes(world, measure, truth):
    """At most 2.5 % should; before, four in ten did."""
    n, passed = 12, 0
    for seed in range(n):
        y, p = world(np.random.default_rng((3, seed)))
        at_most = {measure: 0.99 * truth}
        passed += cal.check(y, p, at_most=at_most, **FAST).verdict == "pass"
    # At 2.5 %, 3 or more of 12 have a chance of 0.3 %; at four in ten, 2 or fewer one of 8 %.
    assert passed <= 2


def test_both_limits_move_where_all_outcomes_are_alike():
    interval = cal.interval(np.ones(100, int), np.full(100, 0.7))
    # A rate of 0.97 gives a hundred ones in a row one time in twenty.
    assert 0.25 < interval.low < 0.28
    assert interval.high == pytest.approx(0.3)
    y, p = never(np.random.default_rng(0))
    found = cal.interval(y, p)
    error = p.std() / np.sqrt(p.size)
    assert found.high == pytest.approx(p.mean() + 1.96 * error, abs=0.5 * error)
    assert p.mean() - 5 * error < found.low < p.mean() - 1.5 * error


@pytest.mark.parametrize(
    ("measure", "limit", "share"),
    [("log_loss", 0.1, 0.1 / 27.64), ("brier", 0.1, 0.1), ("rmsce", 0.05, 0.05**2),
     ("debiased_l2", 0.05, 0.05**2), ("mce", 0.05, 0.05 / 15), ("lin_ce", 0.01, 0.1),
     ("ece", 0.02, 0.02)],
)  # fmt: skip
def test_a_pass_needs_rows_that_would_have_shown_the_fault(measure, limit, share):
    """Predictions of 0 that are all right: only rows enough make that a pass."""
    needed = int(np.log(0.025) / np.log1p(-share))
    for n, verdict in ((int(0.95 * needed), "undecided"), (int(1.4 * needed) + 1, "pass")):
        y, p = np.zeros(n, int), np.zeros(n)
        assert cal.check(y, p, at_most={measure: limit}, **FAST).verdict == verdict, n


def test_a_row_of_many_classes_can_be_twice_as_wrong():
    y, rows = np.zeros(60, int), np.tile([1.0, 0.0, 0.0], (60, 1))
    assert cal.check(y, rows, at_most={"brier": 0.1}, **FAST).verdict == "undecided"
    y, rows = np.zeros(100, int), np.tile([1.0, 0.0, 0.0], (100, 1))
    assert cal.check(y, rows, at_most={"brier": 0.1}, **FAST).verdict == "pass"
