"""Means of rows or clusters of which a few carry most of the weight, as in surveys and wards."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import calibrant as cal
from calibrant._inference.means import Influences, influences, mean_limits
from calibrant._inference.paired import SamplingErrors, _largest_decrease, independent_limits
from judged import intervals

REPEATS = 100
# Of 95 % limits 2.5 on either side are expected; more than this is 1 in 400.
MOST = 8


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def survey(rng, n, spread):
    """A right model, one that is overconfident, and weights that have nothing to do with either."""
    h = 1.5 * rng.normal(size=n)
    y = (rng.random(n) < sigmoid(h)).astype(int)
    return y, sigmoid(h), sigmoid(2 * h), np.exp(spread * rng.normal(size=n))


MEASURES = ("brier", "log_loss", "classification_error")


@cache
def truth_of_survey():
    """Weights of no concern: the truth is that of all rows alike."""
    y, right, over, _ = survey(np.random.default_rng(0), 300_000, 0.0)
    return [cal.evaluate(y, p, measures=MEASURES) for p in (over, right)]


@pytest.mark.parametrize(("n", "spread"), [(100, 1.5), (400, 2.0)])
def test_limits_hold_the_truth(n, spread):
    measures, true, outside = MEASURES, truth_of_survey(), {}
    for seed in range(REPEATS):
        y, right, over, w = survey(np.random.default_rng((1, seed)), n, spread)
        found = cal.compare(
            y,
            {"over": over, "right": right},
            measures=measures,
            sample_weight=w,
            n_resamples=50,
            bin_counts=(1,),
        )
        own = intervals(y, over, measures, sample_weight=w)
        for m in measures:
            apart = found.difference("over", "right", m)
            for what, limits, truth in (
                ("alone", own[m], true[0][m]),
                ("apart", apart, true[0][m] - true[1][m]),
            ):
                sides = outside.setdefault((m, what), [0, 0])
                sides[0] += truth < limits.low
                sides[1] += truth > limits.high
    assert max(max(sides) for sides in outside.values()) <= MOST, outside


def test_weights_that_go_with_the_outcome_do_not_widen_limits():
    """Cases and controls, each with one weight: what cases show is not what controls do."""
    rng = np.random.default_rng(2)
    h = rng.normal(-3.5, 1.2, 20_000)
    y = (rng.random(h.size) < sigmoid(h)).astype(int)
    cases, others = np.flatnonzero(y == 1)[:300], np.flatnonzero(y == 0)[:300]
    rows = np.concatenate([cases, others])
    w = np.repeat([1.0, (y == 0).sum() / (y == 1).sum()], 300)
    p, y = sigmoid(h[rows]), y[rows]
    found = cal.interval(y, p, measure="brier", sample_weight=w)
    values = (p - y) ** 2
    mean = np.average(values, weights=w)
    own = np.sqrt(((w * (values - mean)) ** 2).sum()) / w.sum()
    assert found.standard_error == pytest.approx(own, rel=0.01)


def test_equal_weights_are_none_and_the_order_of_rows_does_not_matter():
    rng = np.random.default_rng(3)
    values, w = rng.exponential(size=500), np.exp(1.5 * rng.normal(size=500)).round(1)
    ones = influences(values, np.full(500, 0.3), None)
    assert ones.variance == pytest.approx(influences(values, None, None).variance, rel=1e-12)
    order = rng.permutation(500)
    shuffled = influences(values[order], w[order], None)
    assert shuffled.variance == pytest.approx(influences(values, w, None).variance, rel=1e-12)
    # A row without weight is none.
    more = influences(np.append(values, 1e6), np.append(w, 0.0), None)
    assert more.variance == pytest.approx(influences(values, w, None).variance, rel=0.05)


def test_the_variance_by_hand():
    """Sixty rows: the fifty of most weight tell of each other, and ten of themselves."""
    values = np.where(np.arange(60) % 3 == 0, 1.0, 0.0)
    w = np.arange(60, 0, -1.0) ** 3
    mean = np.average(values, weights=w)
    squares = (values - mean) ** 2
    alike = np.concatenate([np.full(50, squares[:50].mean()), np.full(10, squares[50:].mean())])
    own = (w**2 * squares).sum() / w.sum() ** 2
    known = (w**2 * alike).sum() / w.sum() ** 2
    assert influences(values, w, None).variance == pytest.approx(max(own, known))
    assert known != pytest.approx(own, rel=0.01)
    values = 1.0 - values
    again = influences(values, w, None)
    assert again.variance == pytest.approx(max(own, known))


@pytest.mark.parametrize(("within", "n"), [(0.0, 1000), (0.5, 1000), (1.0, 1000), (1.0, 4000)])
def test_limits_of_clusters_of_any_size_hold_the_truth(within, n):
    """Few clusters are large, and rows of a cluster are alike, more or less."""
    outside, widths, plain = [0, 0], [], []
    for seed in range(REPEATS):
        rng = np.random.default_rng((2, seed))
        sizes = np.minimum((rng.pareto(1.5, n) + 1).astype(int), 200)
        sizes = sizes[: np.searchsorted(np.cumsum(sizes), n) + 1]
        groups = np.repeat(np.arange(sizes.size), sizes)
        own, shared = rng.exponential(size=groups.size) - 1, rng.exponential(size=sizes.size) - 1
        values = np.sqrt(1 - within) * own + np.sqrt(within) * shared[groups]
        parts = influences(values, None, groups)
        low, high, _ = mean_limits(parts, 0.95)
        outside[0] += values.mean() + low > 0
        outside[1] += values.mean() + high < 0
        widths.append(parts.variance)
        plain.append((parts.values**2).sum())
    assert max(outside) <= MOST, outside
    # Without anything in common hardly more than rows show.
    assert within or np.mean(widths) < 1.6 * np.mean(plain)


def test_equal_clusters_are_as_they_were():
    rng = np.random.default_rng(5)
    values, groups = rng.normal(size=600), np.repeat(np.arange(60), 10)
    parts = influences(values, None, groups)
    assert parts.variance == pytest.approx((parts.values**2).sum(), rel=1e-12)
    # One of each cluster, and so less alike than chance would have it.
    winners = (np.arange(600) % 10 == 0).astype(float)
    even = influences(winners + 1e-3 * values, None, groups)
    assert even.variance == pytest.approx((even.values**2).sum(), rel=1e-9)
    half = influences(values / 2, None, groups)
    assert parts.less(half).variance == pytest.approx(half.variance)


def test_weights_that_go_with_the_labels_are_told():
    """With cases and controls, `mce` had p < .05 in two of three calibrated samples."""
    rng = np.random.default_rng(6)
    y, p = rng.integers(0, 2, 60), rng.random(60)
    k3, classes = rng.integers(0, 3, 60), rng.dirichlet(np.ones(3), 60)
    options = {"measures": ["brier"], "uncertainty": True, "n_resamples": 50}

    def told(y, p, w):
        notes = cal.evaluate(y, p, sample_weight=w, **options).notes
        return any("weights depend on the labels" in note for note in notes)

    assert told(y, p, np.where(y == 1, 1.0, 20.0))
    assert told(y, p, np.where(y == 1, 1.0, 20.0) * rng.uniform(1, 2, 60))
    assert told(k3, classes, np.array([1.0, 3.0, 2.0])[k3])
    assert not told(y, p, rng.uniform(1, 2, 60))
    assert not told(y, p, np.ones(60))
    assert not told(k3, classes, np.array([1.0, 1.0, 2.0])[k3])
    assert not told(y[:3], p[:3], [1.0, 2.0, 3.0])
    assert not told(p, p, 1 + p)


def test_differences_of_unequal_clusters_are_those_of_their_rows():
    rng = np.random.default_rng(8)
    groups = np.repeat(np.arange(40), rng.integers(1, 60, 40))
    one, other = rng.exponential(size=(2, groups.size)) + rng.normal(size=40)[groups]
    apart = influences(one, None, groups).less(influences(other, None, groups))
    assert apart.variance == pytest.approx(influences(one - other, None, groups).variance)
    rates = (one > 1).astype(float)
    found = cal.interval(
        rates, 0.5 * np.ones(rates.size), measure="brier_uncertainty", groups=groups
    )
    # Wilson's limits of as many rows as scatter like these clusters.
    q = rates.mean()
    rows = q * (1 - q) / influences(rates, None, groups).variance
    centre = (q + 1.96**2 / 2 / rows) / (1 + 1.96**2 / rows)
    away = 1.96 * np.sqrt(q * (1 - q) / rows + (1.96 / 2 / rows) ** 2) / (1 + 1.96**2 / rows)
    ends = [max(centre - away, 0), min(centre + away, 1)]
    low = min(each * (1 - each) for each in ends)
    assert found.low == pytest.approx(low, rel=1e-3)


def test_limits_of_other_rows_know_the_weights_and_the_side_of_the_skewness():
    rng = np.random.default_rng(9)
    one, other = (
        influences(rng.exponential(size=300), np.exp(2 * rng.normal(size=300)), None)
        for _ in range(2)
    )
    sides = [
        independent_limits(0.0, SamplingErrors(a, None), SamplingErrors(b, None), 0.95)[:2]
        for a, b in ((one, other), (other, one))
    ]
    assert sides[0] == pytest.approx((-sides[1][1], -sides[1][0]))
    plain = [replace(each, shares=None) for each in (one, other)]
    shorter = independent_limits(0.0, *(SamplingErrors(each, None) for each in plain), 0.95)
    assert sides[0][1] - sides[0][0] > 1.05 * (shorter[1] - shorter[0])
    # A skewed sample against one that is not: the limits of the first less the second lean up.
    even = influences(rng.normal(size=3000), None, None)
    low, high, _ = independent_limits(
        0.0, SamplingErrors(one, None), SamplingErrors(even, None), 0.95
    )
    assert (high > -low) == (one.third > 0)


def test_fifty_rows_of_about_its_weight_tell_how_a_heavy_row_varies():
    """One row carries half of the weight and shows nothing, as do the 29 next in weight; the twenty
    after them are off by 1, and no lighter one is.
    """
    weight = np.append(1000.0, np.linspace(11, 10, 99))
    shares = weight / weight.sum()
    off = np.zeros(100)
    off[30:50] = 1.0
    found = Influences(shares * off, 100.0, shares).variance
    assert 0.3 < found / shares[0] ** 2 < 0.5


class TestTheFarthestPoint:
    """Of the ellipse with quarters of their own, against every point of its outline."""

    @staticmethod
    def outlined(ours, theirs, like):
        around = np.linspace(0, 2 * np.pi, 20_001)
        x, y = np.cos(around), like * np.cos(around) + math.sqrt(1 - like**2) * np.sin(around)
        x = np.where(x < 0, ours[0] * x, ours[1] * x)
        y = np.where(y < 0, theirs[0] * y, theirs[1] * y)
        return float((y - x).max())

    def test_the_farthest_point_is_on_the_outline(self):
        rng = np.random.default_rng(0)
        for like in (-0.9, -0.3, 0.0, 0.4, 0.8, 0.97, 1.0):
            for _ in range(20):
                ours, theirs = rng.random((2, 2)) ** 3
                expected = self.outlined(ours, theirs, like)
                assert _largest_decrease(tuple(ours), tuple(theirs), like) == pytest.approx(
                    expected, rel=1e-3
                ), (ours, theirs, like)

    def test_two_that_are_the_same_are_not_apart(self):
        assert _largest_decrease((0.3, 0.1), (0.3, 0.1), 1.0) == 0.0
        assert _largest_decrease((0.0, 0.0), (0.0, 0.0), 0.0) == 0.0
