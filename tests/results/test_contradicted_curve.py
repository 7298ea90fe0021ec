"""A smoothed curve that the bins of its own rows contradict says so, and is not drawn unasked."""

import json

import matplotlib as mpl
import numpy as np
import pytest

import calibrant as cal
from calibrant.plots import SmoothReliabilityDisplay

mpl.use("Agg")


@pytest.fixture(scope="module")
def crowded():
    """A crowd of right predictions near 1, and few below it that are often wrong: the crowd draws
    the curve up.
    """
    rng = np.random.default_rng(0)
    p = np.concatenate([rng.uniform(0.97, 1, 3000), rng.uniform(0.86, 0.93, 300), rng.random(100)])
    y = rng.random(p.size) < np.where(p > 0.97, 0.99, 0.6 * p)
    return y.astype(int), p


@pytest.fixture(scope="module")
def smooth():
    rng = np.random.default_rng(1)
    p = rng.random(1000)
    return (rng.random(1000) < p).astype(int), p


def test_bins_outside_the_band_are_told(crowded):
    curve = cal.smooth_reliability(*crowded)
    y, p = crowded
    worst = max(curve.outside, key=lambda part: abs(part.mean_target - part.curve))
    inside = (p >= worst.lower) & (p < worst.upper)
    assert worst.n == inside.sum() and worst.mean_target == pytest.approx(y[inside].mean())
    assert worst.curve > worst.high and f"{worst.mean_target:.3f}" in curve.contradiction
    assert "Trust the bins" in repr(curve) and curve.contradiction in curve._repr_html_()
    told = json.loads(curve.to_json())
    assert told["outside"][0]["n"] == curve.outside[0].n and told["notes"] == list(curve.notes)


def test_a_curve_that_follows_is_left_alone(smooth):
    curve = cal.smooth_reliability(*smooth)
    assert curve.outside == () and curve.contradiction == ""
    assert len(curve.notes) == 1 and "bias" in curve.notes[0]


@pytest.mark.parametrize("options", [{"kind": "logit", "sigma": 2.0}, {"sigma": 0.05}])
def test_every_kind_of_curve_is_held_against_bins(crowded, options):
    assert cal.smooth_reliability(*crowded, **options).outside


def test_frames_soft_labels_and_rows_of_classes(crowded):
    polars = pytest.importorskip("polars")
    y, p = crowded
    lazy = polars.DataFrame({"y": y, "p": p}).lazy()
    assert [part.n for part in cal.smooth_reliability("y", "p", data=lazy).outside] == [
        part.n for part in cal.smooth_reliability(y, p).outside
    ]
    assert cal.smooth_reliability(np.clip(y, 0.01, 0.99), p).outside
    rows = np.stack([p, 1 - p], axis=1)
    assert cal.smooth_reliability(1 - y, rows).outside[0].lower >= 0.5


def test_the_diagram_shows_the_bins_that_it_contradicts(crowded, smooth):
    display = SmoothReliabilityDisplay.from_predictions(*crowded)
    assert display.outside_ is not None
    x = display.outside_.lines[0].get_xdata()
    np.testing.assert_allclose(
        np.asarray(x, float), [part.mean_predicted for part in display.curve.outside]
    )
    assert "bins outside its band" in [
        text.get_text() for text in display.ax_.get_legend().get_texts()
    ]
    assert SmoothReliabilityDisplay.from_predictions(*smooth).outside_ is None


def test_the_page_does_not_draw_it_unasked(crowded, smooth):
    few = {"measures": ["ece"], "recalibrate": "platt"}
    page = cal.report(*crowded, **few).to_html()
    assert '<option value="" selected>none' in page and "Trust the bins" in page
    page = cal.report(*smooth, **few).to_html()
    assert '<option value="" selected>none' in page and "Trust the bins" not in page
    assert "its band does not include that bias" in page
