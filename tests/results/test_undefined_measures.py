"""A measure without a value for sound data is not computed, and a note says so; all else is."""

from __future__ import annotations

import math

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError, check
from needs import need

RNG = np.random.default_rng(0)
CLICKS = RNG.random(300) * 0.0099
CLICKED = (RNG.random(300) < CLICKS).astype(int)
# More classes than 100: each has less than 0.01.
UNTRAINED = np.full((40, 104), 1 / 104)
CLASSES = RNG.integers(0, 104, 40)

NOTHING_ABOVE = {"click rates": (CLICKED, CLICKS), "untrained": (CLASSES, UNTRAINED)}


def told(notes) -> bool:
    return any(note.startswith("tace: not computed, no prediction is above the") for note in notes)


@pytest.mark.parametrize("kind", NOTHING_ABOVE)
def test_nothing_above_the_threshold_of_tace(kind, tmp_path):
    y, p = NOTHING_ABOVE[kind]
    found = cal.evaluate(y, p)
    assert told(found.notes) and "tace" not in found and "ace" in found
    assert found["ece"] == cal.ece(y, p)
    np.savez(tmp_path / "rows.npz", label=y, probs=p)
    file = cal.evaluate_file(tmp_path / "rows.npz")
    assert told(file.notes) and file.values == pytest.approx(found.values, rel=1e-11, abs=1e-15)
    stream = cal.Accumulator().update(y, p).evaluate()
    assert stream["ece"] == pytest.approx(found["ece"], rel=1e-12)
    columns = [f"p{r}" for r in range(104)] if p.ndim == 2 else ["p"]
    data = need("polars").LazyFrame({"y": y} | dict(zip(columns, np.atleast_2d(p.T), strict=True)))
    lazy = cal.evaluate("y", columns if p.ndim == 2 else "p", data=data)
    assert "tace" not in lazy and lazy["ece"] == pytest.approx(found["ece"], rel=1e-12)
    assert told(lazy.notes) or any(
        "tace" in note
        and any(words in note for words in ("ask by name", "name the measure", "name them to get"))
        for note in lazy.notes
    )


def test_prediction_and_comparison_of_click_rates():
    found = cal.report(CLICKED[:100], CLICKS[:100], recalibrate="platt")
    assert told(found.evaluation.notes) and "tace" not in found.evaluation
    assert found.evaluation.estimate("ace").interval is not None
    models, measures = {"a": CLICKS, "b": CLICKS / 2}, ["ece", "lin_ce", "brier", "auroc"]
    compared = cal.compare(CLICKED, models, measures=measures, n_resamples=50)
    assert compared.value("a", "ece") > 0


@pytest.mark.parametrize("kind", NOTHING_ABOVE)
def test_by_name_it_is_an_error_that_says_why(kind, tmp_path):
    y, p = NOTHING_ABOVE[kind]
    np.savez(tmp_path / "rows.npz", label=y, probs=p)
    asked = [
        lambda: cal.evaluate(y, p, measures=["ece", "tace"]),
        lambda: cal.tace(y, p),
        lambda: cal.interval(y, p, measure="tace"),
        lambda: check(y, p, at_most={"tace": 0.1}),
        lambda: cal.compare(y, {"a": p, "b": p}, measures=["tace"]),
        lambda: cal.evaluate_file(tmp_path / "rows.npz", measures=["tace"]),
    ]
    for ask in asked:
        with pytest.raises(InputError, match=r"no prediction is above the threshold of 0\.01"):
            ask()
    assert math.isfinite(cal.tace(y, p, threshold=0.0))


ODD = {
    "one row": ([1], [0.3]),
    "two rows": ([1, 0], [0.3, 0.3]),
    "a row a bin": (np.arange(15) % 2, np.linspace(0.02, 0.98, 15)),
    "one outcome": (np.zeros(50, int), RNG.random(50)),
    "sure": (np.arange(40) % 2, np.arange(40) % 2 * 1.0),
    "sure and wrong": (np.arange(40) % 2, 1.0 - np.arange(40) % 2),
    "constant": (np.arange(40) % 2, np.full(40, 0.5)),
    "constant soft": (np.full(40, 0.5), np.full(40, 0.5)),
    "two classes, one row": ([1], [[0.3, 0.7]]),
    "a class without rows": ([0, 1, 0, 1] * 5, np.tile([0.5, 0.5, 0.0], (20, 1))),
    "uniform": (np.arange(20) % 4, np.full((20, 4), 0.25)),
    "uniform soft": (np.full((20, 4), 0.25), np.full((20, 4), 0.25)),
    "a little weight": ([0, 1, 1], [0.2, 0.4, 0.9], [1e-9, 0.0, 1e-9]),
}


@pytest.mark.parametrize("kind", ODD)
def test_odd_data_have_an_evaluation_everywhere(kind, tmp_path):
    y, p, *w = (np.asarray(each) for each in ODD[kind])
    weight = w[0] if w else None
    found = cal.evaluate(y, p, sample_weight=weight)
    known = cal.catalogue("multiclass" if p.ndim == 2 else "binary")
    gone = {m.name for m in known if not m.on_request}
    gone -= set(found.values)
    for name in gone - {m.name for m in known if m.soft_only}:
        assert any(note.startswith(f"{name}: not computed") for note in found.notes), name
    assert all(math.isfinite(value) for value in found.values.values())
    rows = {"label": y, "probs": p} | ({"w": weight} if w else {})
    np.savez(tmp_path / "rows.npz", **rows)
    file = cal.evaluate_file(tmp_path / "rows.npz", sample_weight="w" if w else None)
    assert file.values == pytest.approx(found.values, rel=1e-12, abs=1e-15)
    stream = cal.Accumulator().update(y, p, sample_weight=weight).evaluate().values
    assert stream == pytest.approx({name: found[name] for name in stream}, rel=1e-12, abs=1e-15)


# --- a rule for all, and measures that are defined by another -------------------------------------

OUTCOMES = (RNG.random(400) < 0.4).astype(int)
REPORTS = RNG.beta(0.6, 1.2, 400)
ROWS = RNG.dirichlet(np.ones(3), 400)
LABELS = RNG.integers(0, 3, 400)


@pytest.mark.parametrize(
    ("bins", "own"),
    [
        (cal.EqualWidth(15), 15),
        (cal.EqualWidth(6, "right"), 6),
        ([0, 0.1, 0.4, 1], 3),
        (cal.LevelSets(), 15),
    ],
)
def test_measures_of_equal_mass_keep_their_bins_and_say_so(bins, own):
    for y, p in ((OUTCOMES, REPORTS), (LABELS, ROWS)):
        found = cal.evaluate(y, p, bins=bins)
        assert found["ace"] == cal.ace(y, p, bins=own) != found["ece"]
        assert found["tace"] == cal.tace(y, p, bins=own)
        for name in ("ace", "tace"):
            assert found.estimate(name).rule == str(cal.Quantile(own))
        said = f"ace and tace are defined by bins of equal mass and use {cal.Quantile(own)}"
        assert said in found.notes
        # Truthful in any bins, and of any bins: they follow the rule.
        assert found["debiased_l2"] == cal.debiased_l2(y, p, bins=bins)
        assert found["confidence_ce_corrected"] == cal.confidence_ce(y, p, bins=bins)
    assert cal.evaluate(OUTCOMES, REPORTS, bins=bins, measures=["ece"]).notes == ()


@pytest.mark.parametrize("bins", [15, cal.Quantile(7), cal.Quantile(7, ties="rank")])
def test_quantile_bins_for_all_are_theirs_too(bins):
    found = cal.evaluate(OUTCOMES, REPORTS, bins=bins)
    assert found["ace"] == cal.ace(OUTCOMES, REPORTS, bins=bins)
    assert not any("equal mass" in note for note in found.notes)


def test_their_intervals_are_in_their_bins():
    rule = cal.EqualWidth(10)
    found = cal.evaluate(
        OUTCOMES, REPORTS, bins=rule, measures=["ace", "ece", "lin_ce"], uncertainty=True
    )
    for name, bins in (("ace", 10), ("ece", rule), ("lin_ce", rule)):
        expected = cal.interval(OUTCOMES, REPORTS, measure=name, bins=bins)
        interval = found.estimate(name).interval
        assert (interval.value, interval.low, interval.high) == (
            expected.value,
            expected.low,
            expected.high,
        )
    gate = check(OUTCOMES, REPORTS, at_most={"ace": 0.1}, bins=rule).rows[0]
    assert gate.interval.high == found.estimate("ace").interval.high
    models = {"a": REPORTS, "b": REPORTS**2}
    compared = cal.compare(OUTCOMES, models, measures=["ece", "ace"], bins=rule, n_resamples=100)
    by_mass = cal.compare(OUTCOMES, models, measures=["ace"], bins=10, n_resamples=100)
    np.testing.assert_array_equal(compared.limits[:, 1], by_mass.limits[:, 0])
    np.testing.assert_array_equal(compared.pairs[1], by_mass.pairs[0])


def test_the_functions_refuse_a_rule_that_is_not_of_equal_mass():
    for function in (cal.ace, cal.tace):
        with pytest.raises(InputError, match=r"defined by bins of equal mass.*Use ece"):
            function(OUTCOMES, REPORTS, bins=cal.EqualWidth(15))
