"""The interval of predictions whose gaps add up to most, in the reliability diagram."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import calibrant as cal
from calibrant.plots import ReliabilityDisplay
from needs import need

need("matplotlib")
pytestmark = pytest.mark.usefixtures("any_height")


def sample(n=500, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return (rng.random(n) < np.where(p > 0.6, p - 0.3, p)).astype(int), p, rng.integers(0, 3, n)


@cache
def cutoffs(*, weighted=False):
    y, p, w = sample()
    return cal.cutoff_test(y, p, sample_weight=w if weighted else None)


def drawn(display):
    """The left and the right edge of what is shaded, on the axis of predictions."""
    ends = display.cutoff_.get_extents().transformed(display.ax_.transData.inverted())
    return ends.x0, ends.x1


@pytest.mark.parametrize("weighted", [False, True])
def test_the_interval_is_that_of_the_result(weighted):
    y, p, w = sample()
    weights = w if weighted else None
    found = cutoffs(weighted=weighted)
    display = cal.reliability(y, p, sample_weight=weights).plot(cutoff=found)
    assert drawn(display) == pytest.approx(found.where)
    words = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert f"largest accumulated gap: {found.where[0]:.3g} to {found.where[1]:.3g}" in words
    inside = (p >= found.where[0]) & (p <= found.where[1])
    gap = np.average(inside * (p - y), weights=weights)
    assert gap == pytest.approx(found.statistic)


def test_a_pair_and_a_single_prediction_can_be_shaded_and_nothing_is_unasked():
    y, p, _ = sample()
    assert drawn(ReliabilityDisplay.from_predictions(y, p, cutoff=(0.25, 0.5))) == pytest.approx(
        (0.25, 0.5)
    )
    display = cal.reliability(y, p).plot(cutoff=(0.25, 0.25))
    edges = [line for line in display.ax_.get_lines() if set(line.get_xdata()) == {0.25}]
    assert drawn(display) == pytest.approx((0.25, 0.25)) and len(edges) == 1
    assert cal.reliability(y, p).plot().cutoff_ is None


def test_the_chart_of_a_notebook_has_it_too():
    need("altair")
    y, p, _ = sample()
    found = cutoffs()
    rows = cal.reliability(y, p).chart(cutoff=found).to_dict()
    layers = rows["vconcat"][1]["layer"]
    values = layers[0]["data"]["values"][0]
    assert (values["lower"], values["upper"]) == found.where


def test_the_report_has_the_same_interval():
    y, p, _ = sample()
    found = cutoffs()
    (view,) = cal.report(y, p, measures=["ece"], recalibrate="platt").views
    assert (view.cutoffs.lower, view.cutoffs.upper) == found.where
    assert abs(view.cutoffs.gap) == found.statistic == cal.cutoff_ce(y, p)
    assert view.to_dict(0.95)["cutoffs"]["lower"] == found.where[0]


@pytest.mark.parametrize("cutoff", [True, (0.5,), (0.2, 1.5), "0.2 to 0.4", (0.2, None)])
def test_other_things_are_refused(cutoff):
    y, p, _ = sample(50)
    with pytest.raises(cal.InputError, match="result of cutoff_test, or two predictions"):
        cal.reliability(y, p).plot(cutoff=cutoff)


def test_the_other_order_and_other_tests_are_named():
    y, p, _ = sample(50)
    with pytest.raises(cal.InputError, match="lower prediction first"):
        cal.reliability(y, p).plot(cutoff=(0.7, 0.2))
    with pytest.raises(cal.InputError, match="that of the Spiegelhalter z has none"):
        cal.reliability(y, p).plot(cutoff=cal.spiegelhalter(y, p))
