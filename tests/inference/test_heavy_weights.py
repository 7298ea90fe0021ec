"""Means of rows of which a few carry most of the weight, as those of surveys do."""

import numpy as np
import pytest

import calibrant as cal
from calibrant._inference.means import influences
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


@pytest.mark.parametrize(("n", "spread"), [(100, 1.5), (400, 2.0)])
def test_limits_hold_the_truth(n, spread):
    measures = ("brier", "log_loss", "classification_error")
    # Weights of no concern: the truth is that of all rows alike.
    y, right, over, _ = survey(np.random.default_rng(0), 300_000, spread)
    true = [cal.evaluate(y, p, measures=measures) for p in (over, right)]
    outside = {}
    for seed in range(REPEATS):
        y, right, over, w = survey(np.random.default_rng((1, seed)), n, spread)
        found = cal.compare(
            y, {"over": over, "right": right}, measures=measures, sample_weight=w, n_resamples=50
        )
        own = intervals(y, over, measures, sample_weight=w)
        for m in measures:
            apart = found.difference("over", "right", m)
            for what, limits, truth in (
                ("alone", own[m], true[0][m]), ("apart", apart, true[0][m] - true[1][m])
            ):  # fmt: skip
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
