"""Intervals of what votes identify only in part, in simulated worlds where the truth is known."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from vote_worlds import (
    KIN,
    WORLDS,
    certain_or_torn,
    difference,
    difference_and_bounds,
    held,
    mixed_with_equal,
    right,
    sharpened,
    some_off,
)


# Mean widths as they were found in two samples; `make long` has twelve. Wider ones are less sharp;
# narrower ones want coverage measured anew, by benchmarks/votes.py.
@pytest.mark.parametrize(
    ("world", "k", "m", "width"),
    [
        (right, 2, 10, 0.0715),
        (mixed_with_equal, 2, 10, 0.0537),
        (certain_or_torn, 2, 10, 0.1233),
        (some_off, 2, 10, 0.1395),
        (right, 3, 3, 0.1616),
        (mixed_with_equal, 3, 3, 0.1302),
        (certain_or_torn, 3, 3, 0.1775),
        (some_off, 3, 3, 0.2274),
    ],
)
def test_bounds_of_the_distribution_error_hold_it_and_are_sharp(world, k, m, width):
    hits, widths = held(world, k, m, 400, ("dist_ce",), 2)
    assert hits["dist_ce"] == 2
    assert widths["dist_ce"] == pytest.approx(width, rel=0.02)


@pytest.mark.parametrize(
    ("world", "k", "m"), [*((each, 2, 3) for each in WORLDS), (some_off, 3, 5)]
)
def test_bounds_of_its_kin_hold_them(world, k, m):
    hits, _ = held(world, k, m, 120, KIN, 1)
    assert min(hits.values()) == 1, hits


def test_standard_errors_are_those_of_samples():
    """Estimates of 80 samples scatter by 0.0095, which `make long` measures."""
    errors = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        p, q = right(200, 2, rng)
        found = cal.interval(rng.multinomial(10, q), p, measure="dist_ce", seed=seed)
        errors.append(found.standard_error)
    assert 0.75 < 0.0095 / np.mean(errors) < 1.2


@pytest.mark.parametrize("resample", ["both", "votes"])
def test_bounds_for_unequal_votes_weights_and_clusters(resample):
    rng, n = np.random.default_rng(3), 500
    p, q = some_off(n, 2, rng)
    votes = rng.integers(1, 6, n)
    counts = rng.multinomial(votes, q)
    weights = rng.exponential(1.0, n)
    true = np.average(0.5 * np.abs(p - q).sum(axis=1), weights=weights)
    options = {"measure": "dist_ce", "resample": resample}
    found = cal.interval(counts, p, sample_weight=weights, **options)
    assert found.low < true < found.high and "bound" in found.method
    assert f"one vote ({(votes == 1).sum()}) widen the interval" in found.note
    plain, four, alone = (
        cal.interval(counts.repeat(j, axis=0), p.repeat(j, axis=0), groups=groups, **options)
        for j, groups in ((1, None), (4, np.arange(n).repeat(4)), (4, None))
    )
    widths = [each.high - each.low for each in (plain, four, alone)]
    assert widths[1] == pytest.approx(widths[0], rel=0.15) and widths[2] < 0.85 * widths[0]


def test_rows_of_one_vote_among_others_make_bounds_wide():
    rng = np.random.default_rng(0)
    p, q = mixed_with_equal(1000, 2, rng)
    single = np.where(rng.random(1000) < 0.7, 1, 5)
    few, many = (
        cal.interval(rng.multinomial(m, q), p, measure="dist_ce")
        for m in (single, np.full(1000, 5))
    )
    true = np.abs(p - q)[:, 0].mean()
    assert few.low < true < few.high and few.high - few.low > 2 * (many.high - many.low)


# --- differences ----------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", ["dist_ce", "ent_ce", "jsd", "rank_cs", "kl"])
def test_a_predictor_does_not_differ_from_itself(measure):
    rng = np.random.default_rng(1)
    p, q = some_off(200, 3, rng)
    found = difference(rng.multinomial(4, q), p, p.copy(), measure)
    assert max(abs(found.low), abs(found.high)) < 1e-9


@pytest.mark.parametrize(("measure", "width"), [("dist_ce", 0.1253), ("ent_ce", 0.1272)])
def test_widths_of_differences(measure, width):
    """As they were found: for two networks, and more votes than count."""
    rng = np.random.default_rng(6)
    q = rng.dirichlet(np.ones(3), 300)
    first, second = (sharpened(q, 1.3) * np.exp(rng.normal(0, 0.4, q.shape)) for _ in range(2))
    models = [each / each.sum(axis=1, keepdims=True) for each in (first, second)]
    found = difference(rng.multinomial(25, q), *models, measure)
    true = getattr(cal, measure)(q, models[0]) - getattr(cal, measure)(q, models[1])
    assert found.low <= true <= found.high
    assert found.high - found.low == pytest.approx(width, rel=0.02)


def test_small_changes_of_predictions_have_short_bounds():
    rng = np.random.default_rng(1)
    p, q = some_off(400, 3, rng)
    found = difference(rng.multinomial(4, q), p, 0.99 * p + 0.01 / 3, "dist_ce")
    most = 0.5 * np.abs(0.01 * p - 0.01 / 3).sum(axis=1).mean()
    assert -1.2 * most < found.low < found.high < 1.2 * most


@pytest.mark.parametrize("measure", ["dist_ce", "ent_ce"])
def test_differences_hold_the_true_one_and_are_shorter_than_two_bounds(measure):
    """The same distributions are behind the votes of both; `make long` has four samples."""
    found, apart, true = difference_and_bounds(measure, 0)
    assert found.low <= true <= found.high
    assert found.high - found.low < 0.95 * apart


def test_the_difference_of_a_relative_entropy_needs_no_bounds():
    """The entropy of the labels cancels, and the rest is linear in them."""
    rng = np.random.default_rng(2)
    p, q = mixed_with_equal(500, 3, rng)
    counts = rng.multinomial(3, q)
    kl, log = (difference(counts, p, sharpened(p), name) for name in ("kl", "log_loss"))
    assert (kl.low, kl.high, kl.estimate) == pytest.approx((log.low, log.high, log.estimate))


def test_models_on_other_rows_have_differences_too():
    rng = np.random.default_rng(4)
    (p, q), (_, other_q) = (mixed_with_equal(n, 3, rng) for n in (400, 300))
    old = {"y_true": rng.multinomial(5, other_q), "y_proba": other_q}
    checked = cal.check(rng.multinomial(5, q), p, baseline=old, max_increase={"dist_ce": 0.5})
    found = checked.rows[0].interval
    true = cal.dist_ce(q, p) - cal.dist_ce(other_q, other_q)
    assert found.low < true < found.high < 0.5


@pytest.mark.parametrize("measure", ["lin_ce", "rmsce"])
def test_squared_errors_of_other_votes_hold_the_truth(measure):
    """By inversion along paths, four intervals of lin_ce in ten did not."""
    misses = 0
    for seed in range(40):
        rng = np.random.default_rng((1, seed))
        logits = rng.normal(0, 1.3, 300)
        shares, predictions = (1 / (1 + np.exp(-slope * logits)) for slope in (1.0, 1.6))
        votes = rng.binomial(5, shares)
        counts = np.stack([5 - votes, votes], axis=1)
        found = cal.interval(counts, predictions, measure=measure, resample="votes")
        # Rows stay as they are: the truth is that of their shares.
        truth = cal.evaluate(shares, predictions, measures=[measure])[measure]
        misses += not found.low <= truth <= found.high
    assert misses <= 4


@pytest.mark.parametrize(("m", "shape"), [(3, 2.0), (10, 0.5)])
def test_the_variance_of_shares_is_held_when_votes_are_drawn_anew(m, shape):
    """Limits from votes drawn about the observed shares held it in 34 to 79 of 100 samples."""
    rng = np.random.default_rng((41, m))
    q = rng.beta(shape, shape, 400)
    held, widths, estimates = 0, [], []
    for _ in range(20):
        y = rng.binomial(m, q) / m
        found = cal.interval(
            y, np.clip(q + 0.05, 0, 1), measure="brier_uncertainty", votes=m, resample="votes"
        )
        held += found.low <= q.var() <= found.high
        widths.append(found.high - found.low)
        estimates.append(found.estimate)
    assert held >= 18
    assert abs(np.mean(estimates) - q.var()) < np.std(estimates, ddof=1)
    assert np.mean(widths) < 3.5 * 3.92 * np.std(estimates, ddof=1)


@pytest.mark.parametrize(
    ("resample", "variance"),
    [("votes", 0.16 / 5), ("both", 0.16 / 5 + 0.09)],
    ids=["votes", "both"],
)
def test_limits_in_one_bin_are_those_of_a_mean(resample, variance):
    """True shares of 0.2 and 0.8 have a variance of 0.09, which the votes of fixed rows lack."""
    rng, n = np.random.default_rng(2), 2000
    shares = rng.binomial(5, np.where(np.arange(n) % 2, 0.2, 0.8)) / 5
    found = cal.interval(shares, np.full(n, 0.3), votes=5, resample=resample)
    assert found.high - found.low == pytest.approx(2 * 1.96 * np.sqrt(variance / n), rel=0.15)
    assert found.low < 0.2 < found.high
