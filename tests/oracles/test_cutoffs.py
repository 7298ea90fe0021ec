"""The averaged two-bin and the cutoff error: their theorems, their tests, what others print."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import calibrant as cal
from calibrant import Quantile
from calibrant._data.to_samples import to_samples
from calibrant._inference.cells import problem_of
from calibrant._inference.paths import (
    averaged_null,
    brownian_range_tail,
    weighted_chi_square_tail,
)


def world(n: int = 400, seed: int = 0, strength: float = 1.0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return (rng.random(n) < p**strength).astype(int), p


def expected(measure, truth: np.ndarray, report: np.ndarray) -> float:
    """The exact expectation over every outcome."""
    total = 0.0
    for outcome in itertools.product((0, 1), repeat=truth.size):
        z = np.array(outcome)
        total += np.prod(np.where(z == 1, truth, 1.0 - truth)) * measure(z, report)
    return total


class TestATB:
    def test_the_two_bin_error_is_a_quadratic_form_in_nearness(self):
        y, p = world()
        residual, w = p - y, np.random.default_rng(1).exponential(size=p.size)
        near = 1.0 - np.abs(p[:, None] - p)
        r = w * residual
        assert cal.atb(y, p, sample_weight=w) == pytest.approx(r @ near @ r / w.sum() ** 2)

    def test_no_misreport_has_the_lower_expectation(self):
        rng = np.random.default_rng(2)
        for _ in range(3):
            truth = rng.random(5).round(2)
            honest = expected(cal.atb, truth, truth)
            # Known in closed form, as LinCE's.
            assert honest == pytest.approx((truth * (1 - truth)).sum() / truth.size**2, rel=1e-12)
            for report in (
                np.full(5, 0.5),
                np.full(5, truth.mean()),
                truth**2,
                truth.round(1),
                np.clip(truth + 0.1, 0, 1),
                rng.random(5),
            ):
                assert expected(cal.atb, truth, report) >= honest - 1e-15

    def test_of_classes_against_the_rest_the_truth_is_best_as_well(self):
        truth = np.array([[0.5, 0.3, 0.2], [0.35, 0.45, 0.2]])

        def mean(report: np.ndarray) -> float:
            return sum(
                truth[0, a] * truth[1, b] * cal.atb([a, b], report, notion="classwise")
                for a in range(3)
                for b in range(3)
            )

        assert mean(np.full((2, 3), 1 / 3)) > mean(truth)
        # Calibrated, and knowing less: no better.
        pooled = np.tile(truth.mean(axis=0), (2, 1))
        assert mean(pooled) >= mean(truth) - 1e-15

    def test_a_hair_moves_it_by_a_hair(self):
        y, half = np.array([0, 1] * 50), np.full(100, 0.5)
        hair = half + 1e-9 * (2 * y - 1)
        assert cal.ece(y, hair, bins=2) - cal.ece(y, half, bins=2) == pytest.approx(0.5)
        assert abs(cal.atb(y, hair) - cal.atb(y, half)) < 1e-8

    def test_the_root_and_absolute_values(self):
        y, p = world()
        assert cal.atb(y, p, root=True) ** 2 == pytest.approx(cal.atb(y, p))
        grid = (np.arange(200_000) + 0.5) / 200_000
        order = np.argsort(p)
        before = np.append(0, np.cumsum((p - y)[order]))[np.searchsorted(p[order], grid)]
        by_grid = np.mean(np.abs(before) + np.abs((p - y).sum() - before)) / p.size
        assert cal.atb(y, p, norm="l1") == pytest.approx(by_grid, rel=1e-3)
        with pytest.raises(cal.InputError, match="root=True is for square"):
            cal.atb(y, p, norm="l1", root=True)
        with pytest.raises(cal.InputError, match="norm='l3'"):
            cal.atb(y, p, norm="l3")

    def test_a_gap_of_the_same_size_everywhere_is_that_gap(self):
        rng = np.random.default_rng(3)
        p = rng.uniform(0.2, 0.8, 20_000)
        found = cal.verdict(np.clip(p - 0.1, 0, 1), p, measure="atb", votes=1, n_resamples=50)
        assert "0.1" in str(found)

    def test_its_mean_and_variance_when_calibrated(self):
        rng = np.random.default_rng(4)
        p, w = rng.random(40), rng.exponential(size=40)
        problem = problem_of(to_samples((p > 0.5).astype(int), p, w), "binary", Quantile(15))
        mean, variance = averaged_null(problem)
        drawn = [cal.atb((rng.random(40) < p).astype(int), p, sample_weight=w) for _ in range(900)]
        assert np.mean(drawn) == pytest.approx(mean, rel=0.06)
        assert np.var(drawn) == pytest.approx(variance, rel=0.25)
        floor = cal.noise_floor((p > 0.5).astype(int), p, measure="atb", sample_weight=w)
        assert floor.exact_mean and floor.mean == pytest.approx(mean)


class TestCutoff:
    def test_the_cutoff_error_lies_between_the_ks_error_and_twice_that(self):
        for seed in range(5):
            y, p = world(200, seed, 1.3)
            assert cal.ks_error(y, p) <= cal.cutoff_ce(y, p) <= 2 * cal.ks_error(y, p)

    def test_where_it_is_reached(self):
        y, p = world(20_000, 5)
        wrong = (p > 0.4) & (p < 0.6)
        y = np.where(wrong, 0, y)
        found = cal.cutoff_test(y, p)
        lower, upper = found.where
        assert 0.2 < lower < 0.42 and 0.58 < upper < 0.8
        inside = (p >= lower) & (p <= upper)
        assert found.statistic == pytest.approx((p - y)[inside].sum() / p.size)
        assert found.statistic == pytest.approx(cal.cutoff_ce(y, p)) and found.p_value < 1e-6
        assert "are too high" in found.note
        assert "are too low" in cal.cutoff_test(1 - y, 1 - p).note

    def test_the_statistic_of_others(self):
        # MAPIE's printed example, whose path begins after the first row and not before it.
        y, p = np.array([0, 1, 0, 1, 0]), np.array([0.1, 0.9, 0.21, 0.9, 0.5])
        scale = np.sqrt((p * (1 - p)).sum()) / 5
        assert cal.cutoff_ce(y, p) / scale - 0.1 / 5 / scale == pytest.approx(0.857, abs=5e-4)

    def test_nothing_is_found_where_nothing_is_wrong(self):
        found = cal.cutoff_test([0, 1], [0.0, 1.0])
        assert found.statistic == 0.0 and found.p_value == 1.0
        assert "no interval" in found.note


def test_the_range_of_a_brownian_motion():
    # As MAPIE tabulates it: Feller's distribution.
    for x, chance in ((1, 0.063365), (2, 0.818506), (3, 0.989201)):
        assert 1 - brownian_range_tail(x) == pytest.approx(chance, abs=1e-6)
    assert brownian_range_tail(0.1) == 1.0 and brownian_range_tail(30.0) > 0.0


def test_a_weighted_sum_of_squares():
    from scipy.stats import chi2

    for x in (0.5, 1.0, 3.9999, 4.0, 9.0, 30.0, 200.0):
        # Of equal weights it is a chi-square.
        assert weighted_chi_square_tail(2 * x, np.full(4, 2.0)) == pytest.approx(
            chi2.sf(x, 4), rel=0.02
        )
    drawn = np.random.default_rng(0).standard_normal((100_000, 3)) ** 2 @ [1.0, 0.3, 0.1]
    for x in (0.5, 1.4, 3.0, 6.0):
        assert weighted_chi_square_tail(x, np.array([1.0, 0.3, 0.1])) == pytest.approx(
            (drawn >= x).mean(), rel=0.08
        )


@pytest.mark.parametrize("n", [60, 600])
def test_tests_keep_their_size_and_find_what_is_wrong(n):
    chances = []
    for seed in range(25):
        y, p = world(n, 100 + seed)
        chances.append(
            (cal.truthful_test(y, p, measure="atb").p_value, cal.cutoff_test(y, p).p_value)
        )
    assert ((np.array(chances) < 0.05).sum(axis=0) <= 5).all()
    y, p = world(n, 7, strength=2.0)
    assert cal.truthful_test(y, p, measure="atb").p_value < 0.01
    assert cal.cutoff_test(y, p).p_value < 0.01


def test_clusters_widen_what_is_expected():
    y, p = world(100, 8)
    y, p, groups = np.repeat(y, 30), np.repeat(p, 30), np.repeat(np.arange(100), 30)
    for test in (cal.cutoff_test, lambda *a, **k: cal.truthful_test(*a, measure="atb", **k)):
        assert test(y, p).p_value < 0.05 < test(y, p, groups=groups).p_value


def test_soft_labels_have_no_outcomes_to_test():
    for test in (cal.cutoff_test, lambda *a: cal.truthful_test(*a, measure="atb")):
        with pytest.raises(cal.InputError, match="needs outcomes"):
            test([0.2, 0.7, 0.4], [0.3, 0.6, 0.5])
    with pytest.raises(cal.InputError, match="measure='ece'"):
        cal.truthful_test([0, 1], [0.3, 0.6], measure="ece")
