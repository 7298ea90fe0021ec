"""How often differences of absolute errors name the better slope, and hold the true difference."""

import pytest

from slopes import ABSOLUTE, named_better, times_held


def test_the_better_of_two_slopes_is_named_in_most_samples():
    named = named_better(ABSOLUTE, 1.35, range(10, 14))
    assert min(named.values()) >= 3, named


def test_a_recalibrated_predictor_is_named_in_most_samples():
    named = named_better(("ece", "smooth_ece", "ks_error"), 1.0, range(20, 24))
    assert min(named.values()) >= 3, named


@pytest.mark.parametrize(("n", "slope", "truth"), [(300, 1.35, 0.0156), (1000, 1.0, 0.0611)])
def test_limits_contain_the_difference_of_two_slopes_in_forty_samples(n, slope, truth):
    assert times_held(n, slope, truth, range(100, 140)) >= 36
