"""Tests of calibration where predictions are so small that the squares of their variances are 0."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal

Y = (np.arange(200) % 7 == 0).astype(int)
TESTS = [cal.spiegelhalter, cal.truthful_test, cal.cutoff_test, cal.hosmer_lemeshow]


@pytest.mark.parametrize("test", TESTS, ids=lambda test: test.__name__)
@pytest.mark.parametrize("tiny", [1e-160, 1e-200, 1e-300, 1e-310, 5e-324])
def test_events_that_cannot_be_are_evidence(test, tiny):
    p = np.full(200, tiny)
    assert test(Y, p).p_value < 1e-3
    assert test(np.zeros(200, dtype=int), p).p_value > 0.05


@pytest.mark.parametrize("test", TESTS, ids=lambda test: test.__name__)
def test_among_others(test):
    p = np.full(200, 1e-300)
    p[0] = 1e-290
    assert test(Y, p).p_value < 1e-3


@pytest.mark.parametrize("tiny", [1e-200, 1e-310, 5e-324])
@pytest.mark.parametrize("y", [Y, 0 * Y], ids=["events", "none"])
def test_every_measure_has_an_interval(tiny, y):
    """Where squares, cubes and ratios of what is seen are 0 or infinite as numbers."""
    p = np.full(200, tiny)
    found = cal.evaluate(y, p, uncertainty=True, n_resamples=50)
    assert found["brier"] == pytest.approx(y.mean()) and (found.verdict.p_value < 0.01) == y.any()
    ratio = found.clinical["observed_expected"]
    if tiny > 1e-300:
        assert ratio.low <= ratio.value <= ratio.high < np.inf
    else:
        assert ratio.note == "no event is expected: every prediction is almost 0"
    for name in ("jsd", "log_loss", "spherical_loss"):
        interval = cal.interval(y, p, measure=name, n_resamples=50)
        assert interval.low <= interval.value <= interval.high
