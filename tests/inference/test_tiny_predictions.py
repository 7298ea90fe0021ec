"""Tests of calibration where predictions are so small that the squares of their variances are 0."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal

Y = (np.arange(200) % 7 == 0).astype(int)
TESTS = [cal.spiegelhalter, cal.truthful_test, cal.cutoff_test, cal.hosmer_lemeshow]


@pytest.mark.parametrize("test", TESTS, ids=lambda test: test.__name__)
@pytest.mark.parametrize("tiny", [1e-160, 1e-200, 1e-300])
def test_events_that_cannot_be_are_evidence(test, tiny):
    p = np.full(200, tiny)
    assert test(Y, p).p_value < 1e-3
    assert test(np.zeros(200, dtype=int), p).p_value > 0.05


@pytest.mark.parametrize("test", TESTS, ids=lambda test: test.__name__)
def test_among_others(test):
    p = np.full(200, 1e-300)
    p[0] = 1e-290
    assert test(Y, p).p_value < 1e-3
