"""How often differences of absolute errors name the better slope, and hold the true difference."""

import pytest

from slopes import ABSOLUTE, named_better, times_held


@pytest.mark.parametrize("measure", ABSOLUTE)
def test_the_better_of_two_slopes_is_named_in_most_samples(measure):
    assert named_better(measure, 1.35, range(10, 14)) >= 3


@pytest.mark.parametrize("measure", ["ece", "smooth_ece", "ks_error"])
def test_a_recalibrated_predictor_is_named_in_most_samples(measure):
    assert named_better(measure, 1.0, range(20, 24)) >= 3


@pytest.mark.parametrize(("n", "slope", "truth"), [(300, 1.35, 0.0156), (1000, 1.0, 0.0611)])
def test_limits_contain_the_difference_of_two_slopes_in_forty_samples(n, slope, truth):
    assert times_held(n, slope, truth, range(100, 140)) >= 36
