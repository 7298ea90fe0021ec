"""Limits of differences: what they hold, and how far they reach."""

from functools import cache

import numpy as np
import pytest

import calibrant as cal
from rivals import (
    calibrated,
    sigmoid,
)


@cache
def truth():
    """Differences of the two predictors of `coverage`, integrated over the logit's law."""
    h = np.linspace(-9, 9, 200_001)
    mass = np.exp(-(h**2) / (2 * 1.5**2))
    mass /= mass.sum()
    p = sigmoid(h)
    errors, losses = [], []
    for u in predictors(h).values():
        bins = np.searchsorted(np.arange(1, 11) / 10, u, side="right")
        errors.append(np.abs(np.bincount(bins, mass * (u - p))).sum())
        losses.append((mass * ((u - p) ** 2)).sum())
    return {"ece": errors[0] - errors[1], "brier": losses[0] - losses[1]}


def predictors(h):
    return {"over": sigmoid(2.2 * h + 0.5), "under": sigmoid(0.5 * h)}


@cache
def coverage(measure, n, reps):
    below = above = 0
    for seed in range(reps):
        rng = np.random.default_rng((36, seed))
        h = rng.normal(0, 1.5, n)
        y = (rng.random(n) < sigmoid(h)).astype(int)
        found = cal.compare(
            y, predictors(h), measures=[measure], bins=10, bin_counts=(5,), n_resamples=100
        )
        d = found.difference("over", "under", measure)
        below += d.high < truth()[measure]
        above += d.low > truth()[measure]
    return 1 - (below + above) / reps, below, above


def test_intervals_of_differences_of_a_loss_hold_the_truth():
    share, below, above = coverage("brier", 300, 80)
    assert 0.90 <= share <= 0.99, (share, below, above)


def test_intervals_of_differences_of_an_error_hold_the_truth():
    share, below, above = coverage("ece", 300, 20)
    assert share >= 0.75, (share, below, above)  # at 95 %, less has a chance of 0.0003


def test_clusters_widen_the_interval():
    """Forty clusters that share an error: resampling rows takes them for 1,000 draws."""
    rng = np.random.default_rng(37)
    group = np.repeat(np.arange(40), 25)
    shared = rng.normal(0, 1, 40)[group]
    y = (rng.random(1000) < sigmoid(shared * 2)).astype(int)
    u = {"a": np.full(1000, 0.3), "b": np.full(1000, 0.6)}
    options = {"measures": ["brier", "ece"], "n_resamples": 100, "bin_counts": (5,)}
    rows = cal.compare(y, u, **options)
    whole = cal.compare(y, u, groups=group, **options)
    for measure in ("brier", "ece"):
        narrow, wide = rows.difference("a", "b", measure), whole.difference("a", "b", measure)
        assert narrow.value == wide.value
        assert wide.high - wide.low > 2 * (narrow.high - narrow.low)
    one_each = cal.compare(y, u, groups=np.arange(1000), **options)
    d, e = one_each.difference("a", "b", "brier"), rows.difference("a", "b", "brier")
    assert d.high - d.low == pytest.approx(e.high - e.low, rel=0.15)


@pytest.mark.parametrize("measure", ["lin_ce", "top_label_ece", "classwise_ece"])
def test_differences_are_within_what_the_limits_of_the_two_allow(measure):
    """Of squares and of errors over all classes they went beyond: two whose limits do not meet were
    tied.
    """
    rng = np.random.default_rng(1)
    scores = rng.normal(0, 1.5, (500, 10))
    steep, right = (np.exp(t * scores) for t in (2.0, 1.0))
    steep, right = (each / each.sum(axis=1, keepdims=True) for each in (steep, right))
    y = (rng.random(500)[:, None] > right.cumsum(axis=1)).sum(axis=1)
    found = cal.compare(y, {"steep": steep, "right": right}, measures=[measure], n_resamples=200)
    limits = found.difference("steep", "right", measure)
    (low, high, _), (least, most, _) = found.limits[:, 0]
    assert (
        low - most - 1e-12 <= limits.low <= limits.estimate <= limits.high <= high - least + 1e-12
    )
    if low > most:
        assert limits.better == "right"


def test_a_share_that_no_row_moves_has_limits_of_its_own():
    """Of six events that are told apart perfectly the difference was a point, and a gate passed."""
    y = np.r_[np.ones(6, int), np.zeros(54, int)]
    apart = np.where(y == 1, 0.9, 0.1) + np.linspace(-0.05, 0.05, 60)
    same = np.full(60, 0.1)
    alone = cal.interval(y, apart, measure="auroc")
    for one, other, sign in ((apart, same, 1), (same, apart, -1)):
        found = cal.compare(y, {"a": one, "b": other}, measures=["auroc"])
        limits = found.difference("a", "b", "auroc")
        ends = sorted(sign * end for end in (limits.low, limits.high))
        assert ends[0] <= alone.low - 0.5 + 1e-12 and ends[1] >= 0.5
    # What keeps the order keeps what is of nothing else, told apart or not.
    for scores in (apart, np.roll(apart, 3)):
        found = cal.compare(y, {"a": scores, "b": scores**2}, measures=["auroc"])
        limits = found.difference("a", "b", "auroc")
        assert limits.low == limits.high == 0.0
    gate = cal.check(y, apart, baseline=same, max_decrease={"auroc": -0.49})
    assert gate.verdict == "undecided"
    other = cal.check(
        y,
        apart,
        baseline={"y_true": y, "y_proba": same},
        paired=False,
        max_decrease={"auroc": -0.49},
    )
    assert other.rows[0].interval.low <= alone.low - 0.5 + 1e-12


def test_rows_that_one_of_two_misses_are_as_rare_as_their_number_allows():
    """One row of a hundred that only the second misses: there may be 5.57, and none."""
    y, p = calibrated(100)
    turned = p.copy()
    row = int(np.flatnonzero((p > 0.5) == y)[0])
    turned[row] = 1 - p[row]
    models = {"a": p, "b": turned, "c": p**1.0001}
    found = cal.compare(y, models, measures=["classification_error"], n_resamples=50)
    limits = found.difference("b", "a", "classification_error")
    assert limits.low <= 0.01 - 0.04572 + 1e-5 and limits.high >= 0.01 + 0.04572 - 1e-5
    # A map that keeps the order of classes keeps what is missed.
    same = found.difference("a", "c", "classification_error")
    assert same.low == same.high == 0.0
