"""Losses: what they are when the predictions are right, and limits of a mean of rows."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import calibrant as cal
from calibrant._data.to_samples import to_samples
from calibrant._inference.means import (
    influences,
    mean_limits,
    moment_limits,
    null_losses,
    row_values,
)
from needs import need

# Functions by the field of the sums of losses that they are the mean of.
LOSSES = {m.loss: getattr(cal, m.function) for m in cal.catalogue() if m.statistic == "losses"}
DISTANCES = {
    m.loss: partial(getattr(cal, called), **eval(f"dict({options})"))
    for m in cal.catalogue()
    for called, _, options in [m.function.rstrip(")").partition("(")]
    if m.statistic == "distribution"
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [2, 4])
def test_moments_are_those_of_drawn_outcomes(k, weighted):
    rng = np.random.default_rng(3)
    n, draws = 300, 400
    p = rng.dirichlet(np.array([0.6, 1.0, 2.0, 0.3])[:k], n)
    given = p if k > 2 else p[:, 1]
    w = rng.random(n) if weighted else None
    found = null_losses(to_samples(np.zeros(n, int), given, sample_weight=w))
    through = p.cumsum(axis=1)[:, :-1]
    drawn = {name: [] for name in found}
    for _ in range(draws):
        y = (through < rng.random(n)[:, None]).sum(axis=1)
        values = row_values(to_samples(y, given), distribution=False)
        for name in drawn:
            drawn[name].append(np.average(values[name], weights=w))
    for name, column in drawn.items():
        mean, spread, skew = found[name]
        assert abs(mean - np.mean(column)) < 5 * spread / np.sqrt(draws), name
        assert spread == pytest.approx(np.std(column), rel=0.12), name
        away = (np.array(column) - mean) / spread
        assert skew == pytest.approx((away**3).mean(), abs=0.45), name


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("k", [2, 3])
def test_rows_have_the_losses_of_the_measures(k, soft):
    rng = np.random.default_rng(4)
    p = rng.dirichlet(np.ones(k), 60)
    y = rng.dirichlet(np.ones(k), 60) if soft else rng.integers(0, k, 60)
    if k == 2:
        p, y = p[:, 1], y[:, 1] if soft else y
    for distribution, functions in ((False, LOSSES), (True, DISTANCES)):
        rows = row_values(to_samples(y, p), distribution=distribution)
        for name, function in functions.items():
            assert rows[name].mean() == pytest.approx(function(y, p), rel=1e-10, abs=1e-14), name


def test_limits_of_a_mean_are_those_of_the_bootstrap():
    """Of a skewed mean BCa limits, without any resampling, and wider where few rows carry it."""
    stats = need("scipy.stats")
    values = np.random.default_rng(5).exponential(size=200) ** 2
    slow = stats.bootstrap(
        (values,), np.mean, n_resamples=4000, method="BCa", random_state=0
    ).confidence_interval
    parts = influences(values, None, None)
    low, high, error = moment_limits(parts.variance, parts.third, parts.units, 0.95)
    assert error == pytest.approx(values.std(ddof=1) / np.sqrt(200), rel=1e-9)
    assert values.mean() + low == pytest.approx(slow.low, abs=0.2 * error)
    assert values.mean() + high == pytest.approx(slow.high, abs=0.25 * error)
    # The variance of the squares over that of normal ones gives the degrees of freedom.
    away = values - values.mean()
    assert parts.df == pytest.approx(2 * (away**2).sum() ** 2 / (away**4).sum())
    wider = mean_limits(parts, 0.95)
    student = stats.t.ppf(0.975, parts.df) / stats.t.ppf(0.975, 199)
    assert wider[:2] == pytest.approx((low * student, high * student))
    # Of nearly normal rows nothing changes: there are two degrees of freedom for three rows.
    even = influences(np.random.default_rng(5).normal(size=3000), None, None)
    assert 1800 < even.df < 2200


def test_limits_of_a_mean_know_weights_and_clusters():
    rng = np.random.default_rng(6)
    values = rng.random(120)
    plain = mean_limits(influences(values, None, None), 0.9)
    for weight in (1e-3, 7.0, 1e6):
        same = mean_limits(influences(values, np.full(120, weight), None), 0.9)
        np.testing.assert_allclose(same, plain, rtol=1e-9)
    # Rows that were written down four times are no more rows.
    four = np.repeat(values, 4)
    again = mean_limits(influences(four, None, np.repeat(np.arange(120), 4)), 0.9)
    np.testing.assert_allclose(again, plain, rtol=1e-9)


def test_rare_losses_reach_further_up_than_down():
    """Five events in a thousand rows: a symmetric interval misses the truth above it."""
    y = np.zeros(1000, int)
    y[:5] = 1
    found = cal.interval(y, np.full(1000, 0.005), measure="classification_error")
    assert found.high - found.value > 1.5 * (found.value - found.low)
    assert found.low > 0
    exact = need("scipy.stats").binomtest(5, 1000).proportion_ci(0.95)
    assert found.high == pytest.approx(exact.high, rel=0.1)
