"""Intervals hold the truth as often as they say, in ten samples of each population.

Of R samples a 95 % interval holds the truth in 95 % give or take ``sqrt(0.95 * 0.05 / R)``, which
is 7 % for 10 samples, and 2 % for those of nine populations together. Seeds are fixed; right ones
would miss a bound in less than one of a thousand other seeds.
"""

from functools import cache

import numpy as np
import pytest

import coverage_worlds as worlds
from coverage_worlds import ERRORS, POPULATIONS, told

FAST = {"n_resamples": 100}


@cache
def counts(kind, name):
    return worlds.coverage(kind, name, 300, 10, (*ERRORS, "brier"), **FAST)


@pytest.mark.parametrize(("kind", "name"), POPULATIONS)
def test_intervals_hold_the_truth_in_ten_samples(kind, name):
    for measure, count in counts(kind, name).items():
        # At 95 %, fewer than 7 of 10 have a chance of 0.001.
        assert count.holds >= 7, told(count, kind, name, measure)


@pytest.mark.parametrize("measure", [*ERRORS, "brier"])
def test_intervals_of_all_populations_together(measure):
    every = [
        counts(kind, name)[measure] for kind, name in POPULATIONS if measure in counts(kind, name)
    ]
    total = worlds.Count(*np.sum(every, axis=0).tolist())
    # Where most populations are near calibration the limits of a root hold nearly always: its lower
    # limit is 0, and the upper one is one-sided.
    most = 1.0 if measure == "rmsce" else 0.995
    assert 0.89 <= total.share <= most, told(total, measure)


@pytest.mark.parametrize("name", ["3 classes, too sure", "10 classes, calibrated"])
def test_errors_over_all_classes_hold_the_truth_in_five_samples(name):
    """The basic bootstrap had 0 to 8 % where predictions are right."""
    measures = ("classwise_ece", "ace", "tace", "classwise_ce", "lin_ce")
    found = worlds.coverage("classes", name, 200, 5, measures, **FAST)
    for measure, count in found.items():
        assert count.holds >= 3, told(count, name, measure)
