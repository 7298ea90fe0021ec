"""The histogram of predictions by outcome: each bar is a share of the rows."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant.plots import RiskHistogramDisplay
from needs import need

need("matplotlib")


def heights(bars):
    return np.array([bar.get_height() for bar in bars])


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_bars_are_shares_by_outcome(soft, weighted):
    rng = np.random.default_rng(0)
    p, w = rng.beta(0.7, 1.2, 500), rng.random(500) if weighted else np.ones(500)
    y = rng.random(500) if soft else (rng.random(500) < p).astype(int)
    given = {"sample_weight": w if weighted else None}
    display = RiskHistogramDisplay.from_predictions(y, p, of="rows", **given)
    edges = np.linspace(0, 1, 41)
    events, rest = (np.histogram(p, edges, weights=x / w.sum())[0] for x in (w * y, w * (1 - y)))
    np.testing.assert_allclose(heights(display.events_), events, atol=1e-12)
    np.testing.assert_allclose(heights(display.rest_), -rest, atol=1e-12)
    assert display.ax_.get_ylabel() == f"share of {'weight' if weighted else 'rows'}"
    assert heights(display.events_).sum() - heights(display.rest_).sum() == pytest.approx(1)
    # By default of each outcome, so that rare events can be seen.
    other = RiskHistogramDisplay.from_predictions(y, p, **given)
    np.testing.assert_allclose(heights(other.events_), events / events.sum(), atol=1e-12)
    np.testing.assert_allclose(heights(other.rest_), -rest / rest.sum(), atol=1e-12)


def test_one_outcome_alone():
    display = RiskHistogramDisplay.from_predictions([0, 0, 0], [0.1, 0.2, 0.3])
    assert not heights(display.events_).any() and heights(display.rest_).sum() == pytest.approx(-1)
    with pytest.raises(cal.InputError, match="of='all' is not known"):
        RiskHistogramDisplay.from_predictions([0, 1], [0.1, 0.2], of="all")


def test_outcomes_of_the_top_label_and_of_streams():
    rng = np.random.default_rng(1)
    p, y = rng.dirichlet(np.ones(3), 200), rng.integers(0, 3, 200)
    display = RiskHistogramDisplay.from_predictions(y, p, name="a model")
    words = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    share = (p.argmax(axis=1) == y).mean()
    assert words == [f"right: {100 * share:.3g} %", f"wrong: {100 - 100 * share:.3g} %"]
    assert display.ax_.get_title() == "a model"
    assert heights(display.events_).sum() == pytest.approx(1)
    stream = cal.Accumulator(bins=10).update(y, p).evaluate().reliability
    assert heights(RiskHistogramDisplay(stream).plot().events_).size == 10


def test_level_sets_are_lines():
    table = cal.reliability([0, 1, 1], [0.2, 0.7, 0.7], bins=cal.LevelSets())
    segments = RiskHistogramDisplay(table).plot(of="rows").events_.get_segments()
    assert [segment[1][1] for segment in segments] == pytest.approx([0, 2 / 3])
