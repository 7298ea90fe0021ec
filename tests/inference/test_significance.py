"""Tests of calibration: oracles, laws under the right predictions, power, and what they refuse."""

import json
import math
import re
import warnings
from itertools import product

import numpy as np
import pytest
from scipy import stats

import calibrant as cal
from calibrant import InputError
from calibrant._api.slices import holm
from calibrant._inference.cells import Problem
from calibrant._inference.coefficients import fit_logistic, parameter_influences
from calibrant._inference.significance import (
    drawn_p,
    drawn_sums,
    drawn_tail,
    hosmer_lemeshow,
    linear_null,
    scaled_chi_square_tail,
    two_sided,
)
from needs import need

TESTS = ("spiegelhalter", "hosmer_lemeshow", "truthful_test", "cox_calibration")


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def data_a():
    r = np.random.default_rng(12345)
    p = r.random(2000)
    y = (r.random(2000) < p**1.3).astype(int)
    return y, p, p**1.3, r.random(2000)


def sample(seed, n=1000, slope=1.0, shift=0.0):
    rng = np.random.default_rng((7, seed))
    h = rng.normal(0, 1.5, n)
    return (rng.random(n) < sigmoid(h)).astype(int), sigmoid(slope * h + shift)


# --- oracles --------------------------------------------------------------------------------------


def test_spiegelhalter_of_data_a():
    y, p, _, _ = data_a()
    found = cal.spiegelhalter(y, p)
    assert found.statistic == pytest.approx(-0.9532081246599523, rel=1e-12)
    assert found.p_value == pytest.approx(0.3404846306892655, rel=1e-12)


def test_cox_of_data_a():
    y, p, _, _ = data_a()
    found = cal.cox_calibration(y, p)
    assert found.slope == pytest.approx(1.0645882587809685, rel=1e-6)
    assert found.intercept == pytest.approx(-0.3882699312169107, rel=1e-6)


def test_spiegelhalter_is_two_sided():
    y, p = sample(0, 3000, slope=2.0)
    z, under = cal.spiegelhalter(y, p), cal.spiegelhalter(*sample(0, 3000, slope=0.3))
    assert z.statistic > 5 and z.p_value < 1e-6
    assert under.statistic < -5 and under.p_value < 1e-6
    assert two_sided(-1.0) == two_sided(1.0) == pytest.approx(0.31731050786291415)


def test_hosmer_lemeshow_by_hand():
    y, p = sample(1, 500)
    found = cal.hosmer_lemeshow(y, p)
    order = np.argsort(p, kind="stable").reshape(10, 50)
    seen, expected = y[order].sum(axis=1), p[order].sum(axis=1)
    mean = expected / 50
    statistic = ((seen - expected) ** 2 / (50 * mean * (1 - mean))).sum()
    assert found.statistic == pytest.approx(statistic)
    stats = need("scipy.stats")
    assert found.p_value == pytest.approx(stats.chi2.sf(statistic, 10))
    fitted = cal.hosmer_lemeshow(y, p, fitted=True)
    assert fitted.p_value == pytest.approx(stats.chi2.sf(statistic, 8))
    assert "8 degrees" in fitted.null
    assert hosmer_lemeshow(cal.reliability(y, p, bins=cal.Quantile(10)).table)[1] == 10


def test_weights_of_spiegelhalter_by_hand():
    y, p = sample(2, 50)
    w = np.random.default_rng(0).random(50)
    lean = 1 - 2 * p
    z = (w * (y - p) * lean).sum() / math.sqrt((w**2 * lean**2 * p * (1 - p)).sum())
    assert cal.spiegelhalter(y, p, sample_weight=w).statistic == pytest.approx(z)
    assert cal.spiegelhalter(y, p, sample_weight=7 * w).statistic == pytest.approx(z)


# --- the truthful error under the right predictions -----------------------------------------------


@pytest.mark.parametrize("weights", [None, (1.0, 2.0, 0.5, 0.0, 3.0, 1.5, 0.25)])
def test_mean_and_variance_of_the_truthful_error_are_those_of_all_outcomes(weights):
    u = np.array([0.1, 0.25, 0.4, 0.5, 0.7, 0.9, 1.0])
    bins = np.array([0, 0, 1, 1, 2, 2, 2])
    w = None if weights is None else np.array(weights)
    full = np.ones(7) if w is None else w
    values, chances = [], []
    for outcome in product((0.0, 1.0), repeat=7):
        z = np.array(outcome)
        residual = np.bincount(bins, full * (u - z))
        values.append((residual**2).sum() / full.sum() ** 2)
        chances.append(np.prod(np.where(z == 1, u, 1 - u)))
        seen = linear_null(Problem(u, z, w, bins, 3, True))
        assert seen[0] == pytest.approx(values[-1])
    mean = np.dot(chances, values)
    variance = np.dot(chances, (np.array(values) - mean) ** 2)
    assert seen[1] == pytest.approx(mean, rel=1e-12)
    assert seen[2] == pytest.approx(variance, rel=1e-12)


def test_truthful_test_shows_the_truthful_error():
    y, p = sample(3, 400)
    found = cal.truthful_test(y, p)
    assert found.statistic == pytest.approx(cal.lin_ce(y, p))
    assert cal.truthful_test(y, p, bins=4).statistic == pytest.approx(cal.lin_ce(y, p, bins=4))
    fixed = cal.truthful_test(y, p, bins=cal.EqualWidth(5))
    assert fixed.statistic == pytest.approx(cal.lin_ce(y, p, bins=cal.EqualWidth(5)))
    assert scaled_chi_square_tail(0.0, 0.0, 0.0) == 1.0
    assert scaled_chi_square_tail(1.0, 0.0, 0.0) == 0.0
    assert scaled_chi_square_tail(1e9, 1.0, 1.0) > 0  # a number ends before a chance does


# --- laws -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TESTS)
def test_p_values_are_uniform_under_the_right_predictions(name):
    kstest = need("scipy.stats").kstest
    function = getattr(cal, name)
    p = np.array([function(*sample(seed, 800)).p_value for seed in range(200)])
    assert kstest(p, "uniform").pvalue > 0.01
    assert 0.02 <= (p < 0.05).mean() <= 0.09


@pytest.mark.parametrize("name", TESTS)
def test_power_against_overconfident_predictions(name):
    function = getattr(cal, name)
    strong = [function(*sample(seed, 1000, slope=2.0)).p_value < 0.05 for seed in range(3)]
    assert np.mean(strong) == 1.0
    # Of 30: 0.59 of the truthful test, 0.87 and more of the others.
    weak = [function(*sample(seed, 1000, slope=1.3)).p_value < 0.05 for seed in range(30)]
    assert np.mean(weak) > (0.6 if name in ("spiegelhalter", "cox_calibration") else 0.3)


# --- Cox ------------------------------------------------------------------------------------------


def newton(z, h, w, free_slope=True):
    """Plain Newton steps from nothing, for comparison."""
    basis = np.stack([np.ones_like(h), h]) if free_slope else np.ones((1, h.size))
    offset = 0.0 if free_slope else h
    theta = np.zeros(len(basis))
    for _ in range(50):
        p = sigmoid(theta @ basis + offset)
        theta = theta + np.linalg.solve(
            (basis * (w * p * (1 - p))) @ basis.T, basis @ (w * (z - p))
        )
    return theta


def minus_log_likelihood(theta, z, h, w):
    line = theta[0] + theta[1] * h
    return -(w * (z * line - np.logaddexp(0, line))).sum()


def test_cox_against_a_logistic_regression():
    linear = need("sklearn.linear_model")
    y, p = sample(4, 1500, slope=1.7, shift=0.4)
    h = np.log(p / (1 - p))
    found = cal.cox_calibration(y, p)
    fit = linear.LogisticRegression(C=1e12, tol=1e-12, max_iter=1000).fit(h[:, None], y)
    assert found.slope == pytest.approx(fit.coef_[0, 0], rel=1e-5)
    assert found.intercept == pytest.approx(fit.intercept_[0], rel=1e-5)
    ones = np.ones_like(h)
    np.testing.assert_allclose([found.intercept, found.slope], newton(y, h, ones), rtol=1e-9)
    assert found.intercept_at_slope_1 == pytest.approx(newton(y, h, ones, False)[0], rel=1e-9)


def test_cox_standard_errors_are_those_of_the_curvature():
    y, p = sample(5, 800, slope=1.4)
    h, w = np.log(p / (1 - p)), np.ones(800)
    fit = fit_logistic(y.astype(float), h, None)
    theta, step = np.array([fit.intercept, fit.slope]), 1e-3
    hessian = np.zeros((2, 2))
    for i, j in product(range(2), repeat=2):
        a, b = step * np.eye(2)[i], step * np.eye(2)[j]
        hessian[i, j] = sum(
            s * minus_log_likelihood(theta + t, y, h, w)
            for s, t in ((1, a + b), (-1, a - b), (-1, b - a), (1, -a - b))
        ) / (4 * step**2)
    np.testing.assert_allclose(fit.inverse_information, np.linalg.inv(hessian), rtol=1e-4)
    found = cal.cox_calibration(y, p)
    half = 1.959963984540054 * math.sqrt(np.linalg.inv(hessian)[1, 1])
    assert found.slope_high - found.slope == pytest.approx(half, rel=1e-4)
    assert found.slope - found.slope_low == pytest.approx(half, rel=1e-4)
    wider = cal.cox_calibration(y, p, level=0.99)
    assert wider.slope_high > found.slope_high and wider.slope == found.slope


def test_cox_weights_repeat_rows():
    y, p = sample(6, 120)
    w = np.random.default_rng(1).integers(0, 4, 120)
    weighted = cal.cox_calibration(y, p, sample_weight=w.astype(float))
    repeated = cal.cox_calibration(np.repeat(y, w), np.repeat(p, w))
    for name in ("slope", "intercept", "intercept_at_slope_1"):
        assert getattr(weighted, name) == pytest.approx(getattr(repeated, name), rel=1e-9)


def test_cox_of_soft_targets():
    _, p = sample(7, 500)
    exact = sigmoid(0.3 + 0.6 * np.log(p / (1 - p)))
    found = cal.cox_calibration(exact, p)
    assert found.slope == pytest.approx(0.6, abs=1e-9)
    assert found.intercept == pytest.approx(0.3, abs=1e-9)
    # Labels that do not scatter leave nothing to doubt.
    assert found.slope_high - found.slope_low < 1e-6


def test_cox_limits_of_soft_targets_shrink_with_the_votes():
    rng = np.random.default_rng(8)
    ratios = []
    for seed in range(20):
        _, p = sample(seed, 1000)
        one, many = (cal.cox_calibration(rng.binomial(k, p) / k, p) for k in (1, 25))
        ratios.append((one.slope_high - one.slope_low) / (many.slope_high - many.slope_low))
    assert np.mean(ratios) == pytest.approx(5, rel=0.05)


def test_cox_limits_hold_the_truth():
    held = np.zeros(3)
    for seed in range(200):
        found = cal.cox_calibration(*sample(seed, 400))
        held += [
            found.slope_low <= 1 <= found.slope_high,
            found.intercept_low <= 0 <= found.intercept_high,
            found.intercept_at_slope_1_low <= 0 <= found.intercept_at_slope_1_high,
        ]
    assert ((held / 200 >= 0.91) & (held / 200 <= 0.99)).all()


@pytest.mark.parametrize(
    ("y", "p", "why", "in_the_large"),
    [
        ([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9], "separate the", True),
        ([1, 1, 0, 0], [0.1, 0.2, 0.8, 0.9], "separate the", True),  # the wrong way round
        ([0, 0, 1, 1], [0.1, 0.3, 0.3, 0.9], "separate the", True),  # but for one place they share
        (
            [0, 0.5, 1, 1],
            [0.1, 0.3, 0.4, 0.9],
            "separate the",
            True,
        ),  # a soft label is both classes
        ([0, 0, 0, 0], [0.1, 0.2, 0.8, 0.9], "every outcome is 0", False),
        ([1, 1, 1], [0.5, 0.5, 0.5], "every outcome is 1", False),
        ([1], [0.3], "every outcome is 1", False),
    ],
)
def test_cox_is_not_estimable_without_overlap(y, p, why, in_the_large):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = cal.cox_calibration(y, p)
    assert why in found.note and "not estimable" in found.note
    names = ["slope", "intercept"] + ([] if in_the_large else ["intercept_at_slope_1"])
    for name in [*(n + end for n in names for end in ("", "_low", "_high")), "p_value"]:
        assert math.isnan(getattr(found, name))
        assert json.loads(found.to_json())[name] is None
    assert "slope not estimable" in repr(found) and "no p-value" in repr(found)
    if in_the_large:
        width = found.intercept_at_slope_1_high - found.intercept_at_slope_1_low
        assert math.isfinite(found.intercept_at_slope_1) and width > 0.1


@pytest.mark.parametrize(
    ("y", "p"),
    [
        ([0, 1, 0, 1], [0.1, 0.5, 0.9, 0.5]),  # one class in the midst of the other
        ([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4]),
        ([0, 0.5, 1, 0.5], [0.1, 0.3, 0.4, 0.9]),
        ([0, 1, 0, 1], [0.5, 0.5 + 1e-9, 0.5 + 2e-9, 0.5 + 3e-9]),  # all but alike
        ([0, 1, 0, 1], [0.0, 1.0, 1.0, 0.0]),
    ],
)
def test_cox_is_estimable_where_the_classes_overlap(y, p):
    found = cal.cox_calibration(y, p)
    for value in (found.slope, found.intercept, found.intercept_at_slope_1, found.p_value):
        assert math.isfinite(value)
    assert 0 <= found.p_value <= 1
    assert found.slope_low < found.slope < found.slope_high


def test_cox_of_predictions_that_are_alike():
    alike = cal.cox_calibration([0, 1, 1, 0] * 5, [0.3] * 20)
    assert "do not vary" in alike.note
    assert alike.intercept_at_slope_1 == pytest.approx(math.log(7 / 3), rel=1e-9)  # up to 1/2
    assert math.isnan(alike.slope) and math.isnan(alike.intercept)
    assert 0.01 < alike.p_value < 0.1  # 10 of 20 where 6 were expected


def test_cox_beside_predictions_of_exactly_zero_and_one():
    # One event at a prediction of 0 among 92 rows decided everything: slope 0.11, p = 2e-35.
    y, p = sample(11, 90)
    y, p = np.append(y, [1, 0]), np.append(p, [0.0, 1.0])
    found, plain = cal.cox_calibration(y, p), cal.cox_calibration(y[:90], p[:90])
    assert found.n_clipped == 2 and "2 predictions clipped to [1e-06, 1 - 1e-06]" in found.note
    assert found.without_clipped == plain and plain.without_clipped is None
    assert found.slope < 0.5 < plain.slope and found.p_value < 1e-6 < plain.p_value
    assert f"without the 2 clipped: slope {plain.slope:.4f}" in repr(found)
    assert json.loads(found.to_json())["without_clipped"]["slope"] == plain.slope
    assert cal.cox_calibration([0, 1, 1], [0.0, 1.0, 0.0]).without_clipped is None


# --- input ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["spiegelhalter", "hosmer_lemeshow", "truthful_test"])
def test_soft_labels_are_refused_where_outcomes_are_needed(name):
    with pytest.raises(InputError, match="needs outcomes"):
        getattr(cal, name)([0.2, 0.7, 0.4], [0.1, 0.8, 0.5])


@pytest.mark.parametrize("name", TESTS)
def test_swapped_arguments_are_told(name):
    with pytest.raises(InputError, match="swapped"):
        getattr(cal, name)([0.2, 0.7, 0.4], [0, 1, 1])


@pytest.mark.parametrize("name", TESTS)
def test_top_label_and_json(name):
    rng = np.random.default_rng(9)
    rows = rng.dirichlet(np.ones(4), 300)
    y = rng.integers(0, 4, 300)
    top = getattr(cal, name)(y, rows)
    scalar = getattr(cal, name)(y == rows.argmax(axis=1), rows.max(axis=1))
    assert top == scalar
    assert json.loads(top.to_json())["p_value"] == top.p_value
    assert re.search("p [=<] ", repr(top))
    with pytest.raises(InputError, match="notion"):
        getattr(cal, name)(y, rows, notion="classwise")


def test_options_out_of_range_are_refused():
    y, p = sample(10, 50)
    with pytest.raises(InputError, match="sample_weight"):  # it counts rows
        cal.hosmer_lemeshow(y, p, sample_weight=np.ones(50))
    with pytest.raises(InputError, match="three or more bins"):
        cal.hosmer_lemeshow(y, p, bins=2, fitted=True)
    with pytest.raises(InputError, match="edges"):
        cal.truthful_test(y, p, bins=cal.EqualWidth(5, drop_one=True))
    assert 0 < cal.truthful_test(y, p, bins=cal.LevelSets()).p_value <= 1
    for level in (0, 1, 95, "0.95"):
        with pytest.raises(InputError, match="level"):
            cal.cox_calibration(y, p, level=level)
    with pytest.raises(InputError, match="eps"):
        cal.cox_calibration(y, p, eps=0.7)
    with pytest.raises(InputError, match="at least one must be positive"):
        cal.spiegelhalter(y, p, sample_weight=np.zeros(50))


def test_predictions_that_say_nothing():
    found = cal.spiegelhalter([0, 1, 1, 0], [0.5] * 4)
    assert found.p_value == 1.0 and "not defined" in found.note
    assert json.loads(found.to_json())["statistic"] is None
    with pytest.raises(InputError, match="strictly between 0 and 1"):
        cal.hosmer_lemeshow([0, 1], [0.0, 1.0])
    assert cal.truthful_test([0, 1], [0.0, 1.0]).p_value == 1.0
    assert cal.truthful_test([1, 1], [0.0, 1.0]).p_value == 0.0


@pytest.mark.parametrize("seed", range(3))
def test_a_fitted_tail_is_not_believed_for_ever(seed):
    """Of 2,000 draws two seeds gave 1e-41 and 1e-52 for the same value."""
    drawn = np.random.default_rng(seed).chisquare(1, 2000)
    assert drawn_tail(3.84, drawn) == pytest.approx(0.05, rel=0.3)
    assert 1e-8 < drawn_tail(25.0, drawn) < 5e-4  # 5.7e-7
    assert drawn_tail(1000.0, drawn) == 1e-12


def test_calibration_in_the_large_holds_where_the_slope_is_off():
    """The curvature of a model that does not hold is no standard error: 20 % of samples missed."""
    outside = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        h = 3 * rng.standard_t(2, 500)
        y = (rng.random(500) < 1 / (1 + np.exp(-h / 3))).astype(int)
        found = cal.cox_calibration(y, 1 / (1 + np.exp(-np.clip(h, -13, 13))))
        outside += not found.intercept_at_slope_1_low <= 0 <= found.intercept_at_slope_1_high
    assert outside <= 11
    # Where the slope is 1, or may be, limits are those of the likelihood.
    h = rng.normal(size=400)
    y = (rng.random(400) < 1 / (1 + np.exp(-h))).astype(int)
    found = cal.cox_calibration(y, 1 / (1 + np.exp(-h)))
    p = 1 / (1 + np.exp(-(h + found.intercept_at_slope_1)))
    width = found.intercept_at_slope_1_high - found.intercept_at_slope_1_low
    assert width == pytest.approx(2 * 1.959964 / np.sqrt((p * (1 - p)).sum()), rel=1e-6)


@pytest.mark.parametrize(("n", "drawn"), [(100, True), (200, False)])
def test_a_sum_that_is_not_normal_is_drawn(n, drawn):
    """Of rows at 0.1 the squared skewness is 7.1 / n."""
    y = (np.arange(n) % 10 == 0).astype(int)
    assert ("draws" in cal.spiegelhalter(y, np.full(n, 0.1)).null) == drawn


@pytest.mark.parametrize(("n", "whole"), [(150, True), (280, False)])
def test_up_to_a_hundred_surprises_are_drawn_one_by_one(n, whole):
    """Of rows at 0.5 every second is a surprise: sums are whole numbers, or partly normal."""
    rng = np.random.default_rng(61)
    bins = np.zeros(n, dtype=np.intp)
    drawn = drawn_sums(np.full(n, 0.5), np.ones(n), bins, 1, 200, rng)
    assert (np.abs(drawn - np.rint(drawn)).max() < 1e-9) == whole
    assert drawn.std() == pytest.approx(np.sqrt(n) / 2, rel=0.15)


@pytest.mark.parametrize(("chance", "draws"), [(0.15, 1000), (0.07, 10_000)])
def test_a_hundred_draws_beyond_settle_a_p_value(chance, draws):
    n = 400
    bins = np.zeros(n, dtype=np.intp)
    value = float(stats.chi2.isf(chance, 1)) * n / 4
    given = np.full(n, 0.5), np.ones(n), bins, 1, 0
    found = drawn_p(value, *given, lambda sums: (sums**2).sum(axis=1))
    assert found.n_draws == draws
    assert found.p_value == pytest.approx(chance, abs=3.5 * np.sqrt(chance / draws))


@pytest.mark.parametrize(
    ("draws", "reached", "counted"),
    [(10_000, 70, True), (10_000, 35, False), (400, 25, True), (400, 15, False)],
)
def test_a_tail_is_fitted_where_few_draws_reach_a_value(draws, reached, counted):
    """Fewer than fifty, and of the largest twentieth. A law with a lump far out shows which."""
    drawn = -np.log1p(-(np.arange(draws) + 0.5) / draws)
    drawn[-reached:] += 30.0
    found = drawn_tail(float(drawn[-reached]), drawn)
    assert (found == (reached + 1) / (draws + 1)) == counted


def test_a_row_that_pulls_a_line_moves_it_as_leaving_it_out_does():
    """Up to a leverage of 0.9: one that decides alone has no scatter, and the limits an end."""
    rng = np.random.default_rng(62)
    h = np.append(rng.normal(0, 1, 60), 1.0)
    z = np.append((rng.random(60) < 0.5).astype(float), 0.0)
    groups = np.arange(61)
    for heavy, left in ((60.0, None), (4000.0, 0.1)):
        w = np.append(np.ones(60), heavy)
        soft = np.where(groups == 60, 0.5, z)
        fit = fit_logistic(soft, h, w)
        moved = parameter_influences(fit, soft, h, w, groups)[:, 60]
        p = 1 / (1 + np.exp(-fit.intercept - fit.slope * h[60]))
        basis = np.array([1.0, h[60]])
        leverage = float(basis @ fit.inverse_information @ basis) * heavy * p * (1 - p)
        assert 0.6 < leverage < 0.85 if left is None else leverage > 0.95
        score = fit.inverse_information @ basis * heavy * (0.5 - p)
        assert moved == pytest.approx(score / (left or 1.0 - leverage), rel=1e-6)


@pytest.mark.parametrize(("rows", "drawn"), [(15, True), (30, False)])
def test_a_bin_that_expects_less_than_two_events_has_no_chi_square(rows, drawn):
    """Rows at 0.1 beside others at 0.6: one and a half events are expected of them, or three."""
    u = np.append(np.full(rows, 0.1), np.full(100, 0.6))
    y = np.append(np.arange(rows) == 0, np.arange(100) < 60).astype(int)
    found = cal.hosmer_lemeshow(y, u, bins=cal.EqualWidth(2))
    assert ("draws" in found.null) == drawn


def test_drawn_sums_have_the_moments_of_their_law():
    rng = np.random.default_rng(9)
    u, b, bins = rng.random(800), rng.lognormal(0, 1, 800), np.arange(800) % 3
    drawn = drawn_sums(u, b, bins, 3, 20_000, rng)  # 200 surprises: a part of them is normal
    for j in range(3):
        of_bin = bins == j
        spread = u[of_bin] * (1 - u[of_bin])
        variance = (b[of_bin] ** 2 * spread).sum()
        third = (b[of_bin] ** 3 * spread * (1 - 2 * u[of_bin])).sum()
        assert drawn[:, j].mean() == pytest.approx(0, abs=4 * math.sqrt(variance / 20_000))
        assert drawn[:, j].var() == pytest.approx(variance, rel=0.05)
        assert (drawn[:, j] ** 3).mean() == pytest.approx(third, abs=0.15 * variance**1.5)


def test_exact_chances_of_few_outcomes():
    u = np.array([0.2, 0.6, 0.9])
    drawn = drawn_sums(
        u, np.ones(3), np.zeros(3, dtype=np.intp), 1, 50_000, np.random.default_rng(1)
    )
    total = drawn[:, 0] + u.sum()
    for count, chance in ((0, 0.8 * 0.4 * 0.1), (3, 0.2 * 0.6 * 0.9)):
        assert (np.abs(total - count) < 1e-9).mean() == pytest.approx(chance, abs=0.005)


def test_a_fitted_tail_goes_on_where_the_draws_end():
    rng = np.random.default_rng(2)
    chi2 = need("scipy.stats").chi2
    drawn = rng.chisquare(3, 10_000)
    for x in (5.0, 12.0, 30.0):
        assert math.log(drawn_tail(x, drawn)) == pytest.approx(math.log(chi2.sf(x, 3)), rel=0.25)


def test_holm_by_hand():
    """Slices whose p-value is not known count neither among the others nor for themselves."""
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([0.5]) == [0.5] and holm([]) == []
    found = holm([0.01, math.nan, 0.02])
    assert found[0] == pytest.approx(0.02) and math.isnan(found[1]) and found[2] == 0.02


def test_slope_is_found_from_predictions_that_are_all_but_certainly_wrong():
    """At slope 1 the information is next to 0 there, and a first Newton step has no end."""
    rng = np.random.default_rng(5)
    p = np.where(rng.random(900) < 0.9, 0.0, rng.uniform(0.05, 0.6, 900))
    y = (rng.random(900) < 0.97).astype(int)
    fit = cal.cox_calibration(y, p)
    u = np.clip(p, 1e-6, 1 - 1e-6)
    h = np.log(u / (1 - u))
    left = y - 1 / (1 + np.exp(-(fit.intercept + fit.slope * h)))
    assert abs(left.sum()) < 1e-8 and abs((left * h).sum()) < 1e-7
    left = y - 1 / (1 + np.exp(-(fit.intercept_at_slope_1 + h)))
    assert abs(left.sum()) < 1e-8
    rows = need("polars").DataFrame({"y": y, "p": p}).lazy()
    of_sums = cal.cox_calibration("y", "p", data=rows)
    assert of_sums.slope == pytest.approx(fit.slope, rel=1e-9)
    assert of_sums.intercept_at_slope_1 == pytest.approx(fit.intercept_at_slope_1, rel=1e-9)
