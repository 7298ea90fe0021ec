"""The grid of classes: the worst first, each its own curve, and how many are not shown."""

# ruff: noqa: N806 - X is the name that scikit-learn has for features.

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError
from calibrant.plots import ClasswiseDisplay
from needs import need

need("matplotlib")
NAMES = ("red", "green", "blue", "black", "white", "grey", "pink")


def sample(n=300, k=7, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(k, 0.5), n)
    return rng.integers(0, k, n), p


@pytest.mark.parametrize("bins", [5, cal.Quantile(4)], ids=str)
def test_each_curve_is_that_of_its_class_the_worst_first(bins):
    y, p = sample()
    display = ClasswiseDisplay.from_predictions(y, p, bins=bins, classes=NAMES, level=0.9)
    errors = {name: cal.ece(y == r, p[:, r], bins=bins) for r, name in enumerate(NAMES)}
    worst_first = sorted(errors, key=errors.get, reverse=True)
    titles = [ax.get_title() for ax in display.axes_]
    assert titles == [f"{name}\nECE {errors[name]:.3f}" for name in worst_first]
    for name, line, bars in zip(worst_first, display.lines_, display.intervals_, strict=True):
        r = NAMES.index(name)
        table = cal.reliability(y == r, p[:, r], bins=bins).intervals(0.9)
        held = np.array(table["weight"]) > 0
        np.testing.assert_allclose(line.get_xdata(), np.array(table["mean_predicted"])[held])
        np.testing.assert_allclose(line.get_ydata(), np.array(table["mean_target"])[held])
        limits = np.array([segment[:, 1] for segment in bars.get_segments()])
        low_high = np.column_stack([table["low"], table["high"]])[held]
        np.testing.assert_allclose(limits, low_high)
    assert "Grey columns show the share of rows" in display.caption()
    assert "90% confidence intervals" in display.caption()
    assert "classes are shown" not in display.caption()


def test_what_is_not_shown_is_counted():
    y, p = sample()
    display = ClasswiseDisplay.from_predictions(y, p, cap=4, counts=False, level=None)
    assert len(display.axes_) == 4 == len(display.figure_.axes)
    assert display.intervals_ == [None] * 4
    assert "The worst 4 of 7 classes are shown." in display.caption()
    assert "Grey columns" not in display.caption()
    for cap in (0, 2.5, "3"):
        with pytest.raises(InputError, match="cap must be a whole number"):
            display.plot(cap=cap)


def test_every_column_of_the_grid_has_its_scale_below():
    y, p = sample()
    axes = ClasswiseDisplay.from_predictions(y, p, cap=7).axes_
    labelled = [ax.xaxis.get_major_ticks()[0].label1.get_visible() for ax in axes]
    assert labelled == [False] * 4 + [True] * 3


def test_one_class_of_predictions_is_no_grid():
    with pytest.raises(InputError, match=r"shape \(n, k\)"):
        ClasswiseDisplay.from_predictions([0, 1], [0.2, 0.7])


def test_classwise_display_of_a_classifier():
    need("sklearn")
    from sklearn.datasets import load_iris
    from sklearn.naive_bayes import GaussianNB

    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = GaussianNB().fit(X, names)
    display = ClasswiseDisplay.from_estimator(model, X, names, bins=4)
    place = list(model.classes_).index(display.tables.names[0])
    assert display.tables.tables[0].ece == pytest.approx(
        cal.ece(y == place, model.predict_proba(X)[:, place], bins=4), rel=1e-12
    )
    soft = 0.9 * np.eye(3)[y] + 0.1 / 3
    whole = ClasswiseDisplay.from_estimator(model, X, names, y_soft=soft, bins=4)
    assert set(whole.tables.names) == {"setosa", "versicolor", "virginica"}
    assert not whole.tables["virginica"].is_hard
