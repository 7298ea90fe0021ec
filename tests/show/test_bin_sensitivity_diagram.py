"""Measures over numbers of bins: the lines are the values, like drawn with like."""

# ruff: noqa: N806 - X is the name that scikit-learn has for features.

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError, bin_sensitivity
from calibrant.plots import BinSensitivityDisplay
from needs import need

need("matplotlib")


def sample(n=400, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return (rng.random(n) < p).astype(int), p


def test_lines_are_the_values_and_like_is_drawn_with_like():
    found = bin_sensitivity(*sample(), bins=range(1, 40))
    display = found.plot()
    assert set(display.lines_) == set(found.measures)
    for name, line in display.lines_.items():
        assert line.get_xdata().tolist() == list(found.bins)
        assert line.get_ydata().tolist() == list(found[name])
        assert line.axes.get_ylabel() == found.scales[name]
    assert [ax.get_ylabel() for ax in display.axes_] == ["mean gap", "largest gap", "squared gap"]
    texts = [text.get_text() for text in display.axes_[-1].get_legend().get_texts()]
    assert texts == list(display.lines_)


def test_one_scale_is_drawn_on_the_axes_given():
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2)
    display = BinSensitivityDisplay.from_predictions(
        *sample(), bins=[2, 5, 30], measures=["ece", "smooth_ece"], ax=axes[0], mark=None
    )
    assert display.axes_ == [axes[0]] and display.figure_ is figure
    assert len(axes[0].lines) == 2
    assert set(display.lines_["smooth_ece"].get_ydata()) == {display.sensitivity["smooth_ece"][0]}
    marked = display.sensitivity.plot(measures=["ece"])
    assert marked.axes_[0].lines[-1].get_xdata() == [15, 15]
    with pytest.raises(InputError, match="did you mean 'ece'"):
        display.sensitivity.plot(measures=["ecee"])


def test_bin_sensitivity_display_of_a_classifier():
    need("sklearn")
    from sklearn.datasets import load_iris
    from sklearn.naive_bayes import GaussianNB

    X, y = load_iris(return_X_y=True)
    model = GaussianNB().fit(X, y)
    display = BinSensitivityDisplay.from_estimator(model, X, y, bins=[3, 7], measures=["ece"])
    expected = [cal.ece(y, model.predict_proba(X), bins=m) for m in (3, 7)]
    assert display.lines_["ece"].get_ydata() == pytest.approx(expected)
    one = BinSensitivityDisplay.from_estimator(model, X, y, bins=[5], measures=["ece"], pos_label=1)
    column = cal.ece(y == 1, model.predict_proba(X)[:, 1], bins=5)
    assert one.sensitivity["ece"] == pytest.approx([column])
