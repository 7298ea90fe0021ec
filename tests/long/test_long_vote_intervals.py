"""Intervals of what votes identify only in part, in more samples than `make test` has time for."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from vote_worlds import (
    KIN,
    WORLDS,
    certain_or_torn,
    difference_and_bounds,
    held,
    mixed_with_equal,
    right,
    some_off,
)


# Mean widths as they were found. Wider ones are less sharp; narrower ones want coverage measured
# anew, by benchmarks/votes.py.
@pytest.mark.parametrize(
    ("world", "k", "m", "width"),
    [
        (right, 2, 10, 0.0761),
        (mixed_with_equal, 2, 10, 0.0654),
        (certain_or_torn, 2, 10, 0.1143),
        (some_off, 2, 10, 0.1296),
        (right, 3, 3, 0.1819),
        (mixed_with_equal, 3, 3, 0.119),
        (certain_or_torn, 3, 3, 0.193),
        (some_off, 3, 3, 0.2275),
    ],
)
def test_bounds_of_the_distribution_error_in_twelve_samples(world, k, m, width):
    hits, widths = held(world, k, m, 400, ("dist_ce",), 12)
    assert hits["dist_ce"] >= 11
    assert widths["dist_ce"] == pytest.approx(width, rel=0.02)


@pytest.mark.parametrize(
    ("world", "k", "m"),
    [*((each, 2, 3) for each in WORLDS), (mixed_with_equal, 3, 5), (some_off, 3, 5)],
)
def test_bounds_of_its_kin_in_four_samples(world, k, m):
    hits, _ = held(world, k, m, 120, KIN, 4)
    assert min(hits.values()) >= 3, hits


def test_standard_errors_are_those_of_eighty_samples():
    """Folds share their luck: means of bounds scatter by more than rows by themselves do."""
    middles, errors = [], []
    for seed in range(80):
        rng = np.random.default_rng(seed)
        p, q = right(200, 2, rng)
        found = cal.interval(rng.multinomial(10, q), p, measure="dist_ce", seed=seed)
        middles.append(found.estimate)
        errors.append(found.standard_error)
    assert 0.75 < np.std(middles) / np.mean(errors) < 1.2


@pytest.mark.parametrize("measure", ["dist_ce", "ent_ce"])
def test_differences_hold_the_true_one_in_four_samples(measure):
    short = []
    for seed in range(4):
        found, apart, true = difference_and_bounds(measure, seed)
        assert found.low <= true <= found.high
        short.append((found.high - found.low) / apart)
    assert np.mean(short) < 0.95
