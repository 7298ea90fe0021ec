"""Squared errors: closed forms against sums over pairs of rows, and what their limits contain."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import calibrant as cal
from calibrant import Quantile
from calibrant._data.to_samples import to_samples
from calibrant._inference.blocks import blocks_of
from calibrant._inference.cells import problem_of
from calibrant._inference.second_moments import second_moments
from calibrant._inference.slots import Slots
from calibrant._inference.squares import (
    Square,
    difference_form,
    limits_of_difference,
    limits_of_square,
    scaled_identity,
)
from rivals import sigmoid

ONE = scaled_identity(1.0)


def rows(n, seed, slope=1.6):
    rng = np.random.default_rng((52, seed))
    h = rng.normal(0, 1.5, n)
    return (rng.random(n) < sigmoid(h)).astype(int), sigmoid(slope * h), h


def slots_of(y, u, bins=5):
    return Slots.of_problem(problem_of(to_samples(y, u), "binary", Quantile(bins)))


def over_pairs(y, u, bins, unit=None):
    """The mean product of residuals of two different rows, or clusters, that share a bin."""
    unit = np.arange(y.size) if unit is None else unit
    total = 0.0
    for i in range(y.size):
        for j in range(y.size):
            if unit[i] != unit[j] and bins[i] == bins[j]:
                total += (y[i] - u[i]) * (y[j] - u[j])
    sizes = np.bincount(unit)
    return total / (y.size**2 - float((sizes**2).sum()))


@pytest.mark.parametrize("clusters", [False, True])
def test_the_estimate_is_a_mean_over_pairs_of_different_units(clusters):
    y, u, _ = rows(60, 0)
    unit = np.arange(60) // 3 if clusters else None
    slots = slots_of(y, u)
    square = Square(second_moments((slots,), blocks_of(60, unit, 0)), ONE)
    if clusters:  # few clusters add to the limits, and not to the estimate
        assert square.noise > 1.2 * square.bias
        estimate = square.value - square.bias
    else:
        estimate = square.estimate
    expected = over_pairs(y, u, slots.index[:, 0], unit)
    assert estimate == pytest.approx(expected, rel=1e-9)


def test_sums_of_joint_bins_are_those_of_rows():
    """Rows of one slot have exact second moments, which those of blocks of one row equal."""
    y, u, h = rows(80, 1)
    both = slots_of(y, u), slots_of(y, sigmoid(0.7 * h + 0.2))
    exact = second_moments(both, None)
    of_rows = second_moments(both, blocks_of(80, np.arange(80), 0))
    assert not exact.sampled and of_rows.sampled
    factors = (each.factor for each in (exact, of_rows))
    first, second = (factor.T @ factor for factor in factors)
    assert first == pytest.approx(second, abs=1e-9)


def test_the_variance_of_a_difference_is_that_of_fresh_samples():
    values, errors = [], []
    for seed in range(300):
        y, u, h = rows(400, seed)
        both = slots_of(y, u, 10), slots_of(y, sigmoid(1.3 * h), 10)
        square = Square(second_moments(both, None), difference_form(ONE, ONE, both[0].size))
        values.append(square.estimate)
        errors.append(square.standard_error)
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(np.std(values), rel=0.15)


def test_limits_are_those_of_a_noncentral_chi_square():
    """Where noise is the same in every direction, R'R / c is one exactly."""
    y, u, _ = rows(500, 3)
    square = Square(second_moments((slots_of(y, u, 10),), None), ONE)
    low, high, estimate = limits_of_square(square, square.value, 0.9)
    assert estimate == pytest.approx(square.estimate)
    scale = square.squares / square.noise
    stretch = np.sqrt(max(square.slope / (scale * square.value), 1.0))
    # What is added where few rows show too little noise lowers the lower limit alone.
    for end, chance, noise in ((low, 0.95, square.noise), (high, 0.05, square.bias)):
        away = (end - estimate) / stretch + estimate
        law = stats.ncx2(noise / scale, away / scale)
        assert law.cdf(square.value / scale) == pytest.approx(chance, abs=1e-6)


@pytest.mark.parametrize("paired", [False, True])
def test_limits_contain_the_truth_and_are_sharp(paired):
    """Of 150 samples 92 to 99 % contain it; width is that of the estimator, to 30 %."""
    big_y, big_u, big_h = rows(400_000, 10**6)
    del big_y
    q = sigmoid(big_h)
    ends, values = [], []
    truths = []
    for u in (big_u, sigmoid(1.3 * big_h)):
        slots = slots_of(q, u, 15)
        truths.append(float(((slots.sums(slots.residuals) / slots.total) ** 2).sum()))
    truth = truths[0] - truths[1] if paired else truths[0]
    for seed in range(150):
        y, u, h = rows(400, seed)
        first = slots_of(y, u, 15)
        if paired:
            second = slots_of(y, sigmoid(1.3 * h), 15)
            square = Square(
                second_moments((first, second), None), difference_form(ONE, ONE, first.size)
            )
            ends.append(limits_of_difference(square, square.value, 0.95)[:2])
        else:
            square = Square(second_moments((first,), None), ONE)
            ends.append(limits_of_square(square, square.value, 0.95)[:2])
        values.append(square.value)
    low, high = np.array(ends).T
    held = float(((low <= truth) & (truth <= high)).mean())
    span = float(np.subtract(*np.quantile(values, [0.975, 0.025])))
    ratio = float((high - low).mean()) / span
    assert 0.91 <= held <= 0.995, held
    assert 0.8 <= ratio <= 1.3, ratio


@pytest.mark.parametrize("errors", [5.0, 2.5, 1.5, 0.5])
def test_limits_of_one_square_and_nothing_are_those_of_its_root(errors):
    """One slot that lies so many standard errors off, against labels as predictions: limits are
    the squares of |R| -+ z s. Where that would turn the lower one is 0, and below one standard
    error the estimate, R^2 - s^2.
    """
    rng = np.random.default_rng(55)
    away = rng.normal(0, 0.1, 200)
    away -= away.mean()
    s = float(away.std(ddof=1)) / np.sqrt(200)
    z = 0.5 + away + errors * s  # soft labels, whose mean lies that far from 0.5
    first, second = slots_of(z, np.full(200, 0.5), 1), slots_of(z, z, 1)
    square = Square(second_moments((first, second), None), difference_form(ONE, ONE, first.size))
    low, high, estimate = limits_of_difference(square, square.value, 0.95)
    far, reach = errors * s, stats.norm.ppf(0.975) * s
    lower = (far - reach) ** 2 if far > reach else min(far**2 - s**2, 0.0)
    assert estimate == pytest.approx(far**2 - s**2, rel=1e-9)
    assert (low, high) == pytest.approx((lower, (far + reach) ** 2), rel=1e-6, abs=1e-12)


def test_limits_of_a_difference_lean_as_a_square_does():
    """A constant 0.40 where the rate is 0.35, against calibrated predictions: 300 samples of 400
    rows. Limits equally far from the estimate on either side miss the truth twice as often.
    """
    truth, missed, even = 0.05**2, 0, 0
    for seed in range(300):
        rng = np.random.default_rng((56, seed))
        u = rng.beta(1.4, 2.6, 400)
        y = (rng.random(400) < u).astype(int)
        first, second = slots_of(y, np.full(400, 0.4), 15), slots_of(y, u, 15)
        square = Square(
            second_moments((first, second), None), difference_form(ONE, ONE, first.size)
        )
        low, high, estimate = limits_of_difference(square, square.value, 0.95)
        missed += not low <= truth <= high
        even += abs(estimate - truth) > stats.norm.ppf(0.975) * square.standard_error
    assert missed <= 34 < even, (missed, even)


def test_every_squared_error_has_limits_in_closed_form():
    rng = np.random.default_rng(4)
    p = rng.dirichlet([1, 1, 1], 300)
    y = (p.cumsum(axis=1) > rng.random((300, 1))).argmax(axis=1)
    binary = (rng.random(300) < p[:, 0]).astype(int)
    names = {"lin_ce": None, "atb": None, "classwise_ce": y, "confidence_ce": y}
    for name, labels in names.items():
        given = (binary, p[:, 0]) if labels is None else (labels, p)
        found = cal.interval(*given, measure=name)
        assert "chi-square" in found.method
        other = cal.interval(*given, measure=name, seed=1)
        assert (found.low, found.high) == (other.low, other.high)  # nothing is drawn


def test_bins_whose_outcomes_are_all_alike_have_noise():
    """Sixty rows that are all right at 0.97: their residuals do not vary at all."""
    y, u = np.ones(60, int), np.linspace(0.96, 0.98, 60)
    found = cal.interval(y, u, measure="lin_ce")
    assert found.low == 0.0 and found.high > 0.03**2 / 15


@pytest.mark.parametrize("events", [0, 1, 5])
def test_outcomes_vary_as_the_rule_of_succession_has_it(events):
    """Laplace's, of ten rows at 1 / 2: an event that was not seen may still come."""
    slots = slots_of((np.arange(10) < events).astype(int), np.full(10, 0.5), 1)
    rate = (events + 1) / 12
    assert slots.outcome_variance(np.array([10.0])) == pytest.approx(rate * (1 - rate))


def test_slots_that_show_less_than_half_of_their_noise_get_the_rest():
    """Ten rows without an event, whose residuals vary as far as their predictions do: by a third
    of what ten outcomes would, or by two thirds.
    """
    usual = rows(2000, 5)
    for spread, lacks in ((0.113, True), (0.165, False)):
        u = 0.3 + spread * np.tile([-1.0, 1.0], 5)
        y, u = np.append(usual[0], np.zeros(10, int)), np.append(usual[1], u)
        bins = np.append(np.minimum((usual[1] * 5).astype(int), 4), np.full(10, 5))
        problem = problem_of(to_samples(y, u), "binary", Quantile(6))
        slots = Slots.of_problem(replace(problem, bins=bins, m=6))
        moments = second_moments((slots,), None)
        assert moments.missing_factor[:, 5].any() == lacks, spread
        assert not moments.missing_factor[:, :5].any()


def test_slots_of_a_row_or_two_do_not_widen_all_others():
    """Of 150 slots of two rows each gaps seem to vary by half of what they do or less: the noise of
    all slots becomes up to twice as large, as variances are, and no more.
    """
    rng = np.random.default_rng(59)
    u = np.repeat(np.linspace(0.02, 0.2, 150), 2)
    y = (rng.random(300) < u).astype(int)
    problem = problem_of(to_samples(y, u), "binary", Quantile(150))
    problem = replace(problem, bins=np.arange(300) // 2, m=150)
    widening = second_moments((Slots.of_problem(problem),), None).widening
    assert 1.3 < widening < 1.6


def test_rare_classes_do_not_lower_an_estimate():
    """Thirty classes of Zipf's frequencies, too sure of the frequent ones. What bins that expect
    few events add to the limits was taken off the estimate: 10 to 16.5 millionths on average.
    """
    frequency = 1 / np.arange(1, 31) ** 1.3
    frequency /= frequency.sum()
    estimates, held = [], 0
    for seed in range(12):
        rng = np.random.default_rng((61, seed))
        logits = rng.normal(0, 1, (1000, 30)) + np.log(frequency)
        logits[np.arange(1000), rng.choice(30, 1000, p=frequency)] += 3
        q, p = (np.exp(each) for each in (logits, logits + 0.25 * np.log(frequency)))
        q, p = q / q.sum(axis=1, keepdims=True), p / p.sum(axis=1, keepdims=True)
        y = (rng.random((1000, 1)) > q.cumsum(axis=1)[:, :-1]).sum(axis=1)
        found = cal.interval(y, p, measure="classwise_ce")
        estimates.append(found.estimate)
        held += found.low <= 1.65e-5 <= found.high
    error = np.std(estimates, ddof=1) / np.sqrt(12)
    assert abs(np.mean(estimates) - 1.65e-5) < 2.5 * error, (np.mean(estimates), error)
    assert np.mean(estimates) > 1.3e-5
    assert held >= 11


def test_half_of_the_noise_in_a_slope_is_taken_off():
    """R' A C A R exceeds its true value by tr(A C A C) on average: at residuals of one standard
    error in ten bins against none in ten others, limits are those of half of that.
    """
    y, u, h = rows(3000, 6)
    slots = slots_of(y, u, 10), slots_of(y, sigmoid(h), 10)
    square = Square(second_moments(slots, None), difference_form(ONE, ONE, 10))
    low, high, estimate = limits_of_difference(square, square.value, 0.95)
    rest = square.squares - square.curvature**2
    slope, bend = np.sqrt(square.slope - 0.5 * rest), square.curvature
    normal = stats.norm.ppf(0.975)
    changes = [2 * t * slope + t * t * bend + bend for t in (-normal, normal)]
    others = normal * np.sqrt(2 * rest)
    assert low == pytest.approx(estimate - np.hypot(min(changes), others), rel=1e-9)
    assert high == pytest.approx(estimate + np.hypot(max(changes), others), rel=1e-9)
