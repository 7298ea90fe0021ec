"""The one figure of clinical papers: what it draws is what the numbers say."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from needs import need

need("matplotlib")


def rows(n=300):
    rng = np.random.default_rng(2)
    p = rng.beta(1.5, 3, n)
    return (rng.random(n) < p**1.4).astype(int), p


def test_curve_line_strip_and_statistics():
    y, p = rows()
    display = cal.clinical_plot(y, p, n_resamples=50)
    fit = cal.cox_calibration(y, p)
    x, line = display.logistic_.get_data()
    expected = 1 / (1 + np.exp(-(fit.intercept + fit.slope * np.log(x / (1 - x)))))
    assert line == pytest.approx(expected, rel=1e-12)
    at, curve = display.line_.get_data()
    distance = np.abs(np.interp(p, at, curve) - p)
    # The drawn curve is clipped to [0, 1], and has 256 points.
    assert distance.mean() == pytest.approx(cal.ici(y, p), rel=0.01)
    text = display.ax_.texts[-1].get_text()
    assert f"events {y.sum()}" in text and f"slope {fit.slope:.2f} ({fit.slope_low:.2f} to" in text
    large = f"calibration in the large\n   {fit.intercept_at_slope_1:.2f} ("
    assert large in text and "span 0.75" in display.line_.get_label()
    entries = [each.get_text() for each in display.ax_.get_legend().get_texts()]
    assert entries[-1] == "perfect calibration"
    strip = display.ax_.child_axes[0]
    heights = np.array([bar.get_height() for bar in strip.patches])
    assert heights.size == 80 and heights.max() == 1.0 and heights.min() == -1.0


def test_one_outcome_alone_has_no_line():
    display = cal.clinical_plot([0] * 30, np.linspace(0.05, 0.6, 30), n_resamples=50)
    assert display.logistic_ is None
    assert "slope not estimable" in display.ax_.texts[-1].get_text()
    with pytest.raises(cal.InputError, match="needs one outcome"):
        cal.clinical_plot([0, 1, 2], np.eye(3), n_resamples=50)
