"""Predictions so small that their squares are 0 in doubles: numbers or our errors, never others."""

from __future__ import annotations

import math

import numpy as np
import pytest

import calibrant as cal

N = 60
RARE = (np.arange(N) % 12 == 0).astype(int)
OUTCOMES = {"some": RARE, "none": 0 * RARE, "all": 0 * RARE + 1}
TINY = {
    "1e-300": np.full(N, 1e-300),
    "1e-160": np.full(N, 1e-160),
    "subnormal": np.full(N, 1e-320),
    "mixed": np.where(np.arange(N) % 2, 1e-300, 1e-310),
}
cases = [
    pytest.mark.parametrize("outcomes", OUTCOMES),
    pytest.mark.parametrize("tiny", TINY),
    pytest.mark.filterwarnings("ignore"),
]


def each_case(test):
    for mark in cases:
        test = mark(test)
    return test


@each_case
def test_evaluations_of_tiny_predictions(tiny, outcomes):
    found = cal.evaluate(OUTCOMES[outcomes], TINY[tiny], uncertainty=True)
    assert math.isclose(found["brier"], OUTCOMES[outcomes].mean(), abs_tol=1e-12)
    assert str(found)


@each_case
def test_comparisons_of_tiny_predictions(tiny, outcomes):
    p = TINY[tiny]
    measures = ["brier", "ece", "lin_ce"]
    found = cal.compare(OUTCOMES[outcomes], {"a": p, "b": 2 * p}, measures=measures)
    assert found.value("a", "ece") == pytest.approx(OUTCOMES[outcomes].mean())
    assert str(found)


@each_case
def test_intervals_of_tiny_predictions(tiny, outcomes):
    for measure in ("ece", "lin_ce", "atb", "brier", "log_loss", "smooth_ece", "ks_error"):
        found = cal.interval(OUTCOMES[outcomes], TINY[tiny], measure=measure)
        assert found.low <= found.estimate <= found.high, measure


def test_columns_of_subnormal_numbers_are_shown():
    from calibrant.results._rendering import scaled_columns

    columns = scaled_columns({"x": [1e-320, 0.0]})
    assert list(columns) == ["x (1e-300)"] and columns["x (1e-300)"] == [1e-20, 0.0]
