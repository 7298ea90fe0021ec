"""The smoothed diagram: the curve, its band, and where there is neither."""

# ruff: noqa: N806 - X is the name that scikit-learn has for features.

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant.plots import ReliabilityDisplay, SmoothReliabilityDisplay
from needs import need

need("matplotlib")
pytestmark = pytest.mark.usefixtures("any_height")


def sample(n=400, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.7, 1.2, n)
    return (rng.random(n) < p**1.5).astype(int), p, rng.random(n)


@pytest.mark.parametrize("kind", ["unit", "logit"])
@pytest.mark.parametrize("weighted", [False, True])
def test_curve_and_band_are_those_of_the_table(kind, weighted):
    y, p, w = sample()
    options = {"kind": kind, "sample_weight": w if weighted else None}
    display = SmoothReliabilityDisplay.from_predictions(y, p, level=0.9, **options)
    curve = cal.smooth_reliability(y, p, **options)
    columns = curve.intervals(0.9)
    held = curve.n_near >= 1
    x, drawn = display.line_.get_xdata(), display.line_.get_ydata()
    np.testing.assert_array_equal(x, columns["prediction"])
    np.testing.assert_array_equal(np.isnan(drawn), ~held)
    np.testing.assert_array_equal(drawn[held], np.array(columns["mean_target"])[held])
    band = np.concatenate([path.vertices for path in display.band_.get_paths()])
    for name in ("low", "high"):
        expected = {(u, v) for u, v in zip(x[held], np.array(columns[name])[held], strict=True)}
        assert expected <= {(u, v) for u, v in band}
    assert display.density_ax_.get_lines()[0].get_ydata().max() == curve.points["density"].max()
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == [f"smoothed, σ = {curve.sigma:.2g}", "90% interval, pointwise"]


def test_soft_labels_have_no_band():
    _, p, w = sample()
    display = SmoothReliabilityDisplay.from_predictions(np.clip(p + 0.1 * w, 0, 1), p)
    assert display.band_ is None
    assert display.ax_.get_ylabel() == "mean soft label"
    assert len(display.ax_.get_legend().get_texts()) == 1


def test_the_line_is_broken_where_there_is_no_row():
    display = SmoothReliabilityDisplay.from_predictions(
        [0, 0, 1, 1], [0.1, 0.12, 0.9, 0.88], sigma=0.03
    )
    y, x = display.line_.get_ydata(), display.line_.get_xdata()
    assert np.isnan(y[(x > 0.3) & (x < 0.7)]).all()
    assert not np.isnan(y[np.abs(x - 0.11) < 0.01]).any()


def test_a_smooth_curve_may_lie_over_bins():
    y, p, _ = sample()
    bins = ReliabilityDisplay.from_predictions(y, p, name="bins", curve=None)
    heights = len(bins.counts_ax_.patches)
    smooth = SmoothReliabilityDisplay.from_predictions(y, p, name="curve", ax=bins.ax_)
    assert smooth.ax_ is bins.ax_
    assert smooth.line_.get_color() != bins.line_.get_color()
    assert smooth.density_ax_ is bins.counts_ax_ and len(bins.counts_ax_.patches) == heights
    texts = [text.get_text().partition(":")[0] for text in bins.ax_.get_legend().get_texts()]
    assert texts == ["bins", "curve", "95% interval", "95% interval, pointwise"]


def test_parts_can_be_left_out_and_coloured():
    y, p, _ = sample()
    display = cal.smooth_reliability(y, p).plot(level=None)
    assert display.band_ is None
    plain = SmoothReliabilityDisplay(cal.smooth_reliability(y, p)).plot(
        density=False, ref_line=False, color="black", line_kwargs={"linewidth": 3}
    )
    assert plain.density_ax_ is None and len(plain.ax_.lines) == 1
    assert plain.line_.get_color() == "black" and plain.line_.get_linewidth() == 3


def test_smooth_display_of_a_classifier():
    need("sklearn")
    from sklearn.datasets import load_iris
    from sklearn.naive_bayes import GaussianNB

    X, y = load_iris(return_X_y=True)
    model = GaussianNB().fit(X, y)
    display = SmoothReliabilityDisplay.from_estimator(model, X, y, sigma=0.1)
    expected = cal.smooth_reliability(y, model.predict_proba(X), sigma=0.1)
    np.testing.assert_array_equal(
        display.curve.points["mean_target"], expected.points["mean_target"]
    )
    assert display.name == "GaussianNB" and display.ax_.get_xlabel() == "confidence"
    one = SmoothReliabilityDisplay.from_estimator(model, X, y, sigma=0.1, pos_label=2)
    column = cal.smooth_reliability(y == 2, model.predict_proba(X)[:, 2], sigma=0.1)
    np.testing.assert_array_equal(one.curve.points["density"], column.points["density"])
