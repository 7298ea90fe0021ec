"""A measure over time: the windows' own values, floors and rows, and gaps where there are none."""

# ruff: noqa: N806 - X is the name that scikit-learn has for features.

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError
from calibrant.plots import WindowsDisplay
from needs import need

need("matplotlib")
from matplotlib.colors import to_rgba  # noqa: E402
from matplotlib.dates import date2num  # noqa: E402

BLUE = "#0072B2"  # of the first series, where nothing else is asked for


def sample(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.5, 3, n)
    day = rng.integers(0, 12, n)
    keep = ~np.isin(day, [4, 5])
    p, day = p[keep], day[keep]
    y = (rng.random(p.size) < np.where(day < 9, p, 0.3 * p)).astype(int)
    return y, p, np.datetime64("2026-01-05") + day.astype("timedelta64[D]")


def test_values_floors_and_rows_are_those_of_the_table():
    y, p, time = sample()
    table = cal.Monitor(every="1d").update(y, p, time=time).evaluate()
    display = table.plot()
    columns = table.columns()
    drawn = np.asarray(display.line_.get_ydata(), dtype=float)
    assert drawn[~np.isnan(drawn)].tolist() == columns["ece"]
    dots = next(c for c in display.ax_.collections if len(c.get_offsets()) == 10)
    np.testing.assert_allclose(dots.get_offsets()[:, 0], date2num(columns["start"]))
    beyond = [tuple(face) == to_rgba(BLUE) for face in dots.get_facecolors()]
    pairs = zip(columns["ece"], columns["noise_95"], strict=True)
    assert beyond == [value > noise for value, noise in pairs]
    floor = np.concatenate([path.vertices for path in display.noise_.get_paths()])
    assert set(columns["noise_95"]) <= set(floor[:, 1])
    bars = display.counts_ax_.collections[0].get_segments()
    assert [bar[:, 1].max() for bar in bars] == columns["n"]


def test_the_line_is_broken_where_there_are_no_rows():
    y, p, time = sample()
    display = WindowsDisplay.from_predictions(y, p, time=time, every="1d")
    drawn = np.asarray(display.line_.get_ydata(), dtype=float)
    assert np.flatnonzero(np.isnan(drawn)).tolist() == [4]
    assert len(drawn) == 11


def test_other_columns_have_no_floor():
    y, p, time = sample()
    table = cal.Monitor(every="1d").update(y, p, time=time).evaluate(baseline=2)
    shift = table.plot(measure="shift")
    assert shift.noise_ is None and shift.ax_.get_ylabel() == "shift"
    brier = WindowsDisplay(table).plot(measure="brier", counts=False, color="black")
    assert brier.noise_ is None and brier.counts_ax_ is None
    assert brier.line_.get_color() == "black"
    assert [t.get_text() for t in brier.ax_.get_legend().get_texts()] == ["brier"]
    with pytest.raises(InputError, match="did you mean 'brier'"):
        table.plot(measure="bier")


def test_one_window_is_enough():
    display = WindowsDisplay.from_predictions([0, 1], [0.2, 0.7], time="2026-01-05")
    display.figure_.draw_without_rendering()
    assert len(display.line_.get_ydata()) == 1


def test_windows_display_of_a_classifier():
    need("sklearn")
    from sklearn.datasets import load_iris
    from sklearn.naive_bayes import GaussianNB

    X, y = load_iris(return_X_y=True)
    time = np.datetime64("2026-01-05") + (np.arange(150) % 3).astype("timedelta64[D]")
    model = GaussianNB().fit(X, y)
    display = WindowsDisplay.from_estimator(model, X, y, time=time, bins=4)
    first = np.arange(150) % 3 == 0
    expected = cal.ece(y[first], model.predict_proba(X)[first], bins=4)
    assert display.windows.columns()["ece"][0] == pytest.approx(expected)
