"""Slices: one evaluation for each value of a column, corrected for their number."""

import json
import math
import warnings

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError
from calibrant._data.slice_names import row_names, rows_by_name
from needs import need


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def sample(n=1200, seed=0):
    """Three slices, of which the last is overconfident."""
    rng = np.random.default_rng((17, seed))
    h = rng.normal(0, 1.5, n)
    names = np.array(["a", "b", "c"])[np.arange(n) % 3]
    y = (rng.random(n) < sigmoid(h)).astype(int)
    return y, sigmoid(np.where(names == "c", 2.5, 1.0) * h), names


def test_slices_are_evaluations_of_their_rows():
    y, u, names = sample()
    result = cal.evaluate(y, u, by=names, measures=["ece", "brier", "log_loss"])
    assert len(result.slices) == 3
    for part in result.slices:
        rows = names == part.name
        assert part.n == rows.sum()
        alone = cal.evaluate(y[rows], u[rows], measures=["ece", "brier", "log_loss"])
        assert part.values == pytest.approx(alone.values)
        floor = cal.noise_floor(y[rows], u[rows])
        assert part.noise_95 == pytest.approx(floor.upper)
        assert part.p_value == pytest.approx(floor.p_value)


@pytest.mark.parametrize("weighted", [False, True])
def test_slices_have_their_means(weighted):
    y, u, names = sample(300)
    w = np.arange(1.0, 301.0) if weighted else None
    p = np.stack([1 - u, u], axis=1)
    for labels, predictions, shape in ((y, u, "binary"), (y, p, "top")):
        slices = cal.evaluate(
            labels, predictions, by=names, measures=["ece"], sample_weight=w, bins=5
        ).slices
        top, hit = (u, y) if shape == "binary" else (p.max(axis=1), p.argmax(axis=1) == y)
        for part in slices:
            rows = names == part.name
            own = None if w is None else w[rows]
            assert part.mean_predicted == pytest.approx(np.average(top[rows], weights=own))
            assert part.mean_target == pytest.approx(np.average(hit[rows], weights=own))
        assert {"mean_predicted", "mean_target"} <= set(slices.columns())


def test_slices_of_confidences_have_their_accuracy_with_its_interval():
    y, u, names = sample(600)
    p = np.stack([1 - u, u * 0.6, u * 0.4], axis=1)
    slices = cal.evaluate(y, p, by=names, measures=["ece"], uncertainty=True).slices
    column = slices.display_columns()["accuracy (95% CI)"]
    for part, text in zip(slices, column, strict=True):
        rows = names == part.name
        alone = cal.interval(y[rows], p[rows], measure="accuracy")
        assert part.accuracy == pytest.approx((alone.value, alone.low, alone.high))
        assert text == f"{alone.value:.4f} ({alone.low:.4f} to {alone.high:.4f})"
    assert "accuracy" not in slices.columns()  # mean_target is the number
    assert not any(each.accuracy for each in cal.evaluate(y, u, by=names, uncertainty=True).slices)


def test_slices_are_judged_by_the_tolerance():
    y, u, names = sample(6000)
    options = {"by": names, "measures": ["ece"], "uncertainty": True, "n_resamples": 200}
    slices = cal.evaluate(y, u, **options).slices
    words = {part.name: part.against_tolerance for part in slices}
    assert words["c"] == "beyond" and set(words.values()) <= {"within", "beyond", "undecided"}
    shown = slices.display_columns()
    assert shown["tolerance 0.05"] == [words[name] for name in shown["slice"]]
    unjudged = cal.evaluate(y, u, by=names, measures=["ece"]).slices
    assert not any(name.startswith("tolerance") for name in unjudged.display_columns())
    drawn = slices.plot()
    assert drawn.bars_ is not None and unjudged.plot().bars_ is None


def test_the_worst_slice_comes_first():
    y, u, names = sample()
    slices = cal.evaluate(y, u, by=names).slices
    assert slices.worst.name == "c" and slices.worst.p_corrected < 0.05
    corrected = [part.p_corrected for part in slices]
    assert corrected == sorted(corrected)
    assert all(part.p_corrected >= part.p_value for part in slices)
    assert all(part.p_corrected > 0.05 for part in slices if part.name != "c")


def test_a_slice_is_found_by_name():
    y, u, _ = sample()
    slices = cal.evaluate(y, u, by=np.arange(1200) % 4, measures=["ece"]).slices
    assert slices[2].name == "2" and slices["2"] is slices[2]
    with pytest.raises(InputError, match="no slice 'x'"):
        slices["x"]


def holm(p_values):
    """Holm's step-down correction by hand: the smallest of m is multiplied by m, the next by
    m - 1 and so on; none is below the one before it or above 1.
    """
    least, corrected = 0.0, {}
    for turn, p in enumerate(sorted(p_values)):
        least = max(least, min(1.0, (len(p_values) - turn) * p))
        corrected[p] = least
    return [corrected[p] for p in p_values]


def test_p_values_of_slices_are_corrected_as_holm_does():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    rng = np.random.default_rng(4)
    u = rng.random(900)
    for m in (1, 2, 9):
        y = (rng.random(900) < u).astype(int)
        slices = cal.evaluate(y, u, by=np.arange(900) % m, measures=["ece"]).slices
        assert len(slices) == m
        expected = holm([part.p_value for part in slices])
        assert [part.p_corrected for part in slices] == pytest.approx(expected, rel=1e-12)
    assert max(expected) == 1.0 and len(set(expected)) > 1


def test_few_of_many_right_slices_stand_out():
    """The chance that any of 20 calibrated slices gets a corrected p below 0.05 is 5 %."""
    alarms = 0
    for seed in range(20):
        rng = np.random.default_rng((18, seed))
        u = rng.random(1000)
        y = (rng.random(1000) < u).astype(int)
        slices = cal.evaluate(y, u, by=np.arange(1000) % 10, measures=["ece"]).slices
        alarms += slices.worst.p_corrected < 0.05
    assert alarms <= 4


def test_slices_by_columns_of_a_frame():
    pandas = need("pandas")
    y, u, names = sample(300)
    frame = pandas.DataFrame({"y": y, "u": u, "where": names, "year": np.arange(300) % 2})
    one = cal.evaluate("y", "u", data=frame, by="where", measures=["ece"]).slices
    assert one.by == "where" and {part.name for part in one} == {"a", "b", "c"}
    two = cal.evaluate("y", "u", data=frame, by=["where", "year"], measures=["ece"]).slices
    assert two.by == "where, year" and len(two) == 6 and two["a, 1"].n == 50
    assert list(two.to_frame("pandas").columns)[:2] == ["where, year", "n"]
    with pytest.raises(InputError, match="where"):
        cal.evaluate("y", "u", data=frame, by="wher")


def test_rows_without_a_value_are_a_slice():
    pandas = need("pandas")
    y, u, names = sample(300)
    column = pandas.Series(names).where(np.arange(300) % 5 > 0)
    slices = cal.evaluate(y, u, by=column, measures=["ece"]).slices
    assert slices["(missing)"].n == 60
    numbers = np.where(np.arange(300) % 5 > 0, 1.0, np.nan)
    assert cal.evaluate(y, u, by=numbers, measures=["ece"]).slices["(missing)"].n == 60
    objects = np.array(["x", None], dtype=object)[np.arange(300) % 2]
    assert cal.evaluate(y, u, by=objects, measures=["ece"]).slices["(missing)"].n == 150


def test_slices_without_weight_are_left_out_and_named():
    y, u, names = sample(300)
    w = np.where(names == "b", 0.0, 1.0)
    slices = cal.evaluate(y, u, by=names, sample_weight=w, measures=["ece"]).slices
    assert {part.name for part in slices} == {"a", "c"}
    assert any(note.startswith("b: 100 rows") for note in slices.notes)
    assert "dropped" in repr(slices)


def test_tiny_slices_have_no_problem():
    y, u, _ = sample(40)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        slices = cal.evaluate(y, u, by=np.arange(40), measures=["ece"]).slices
    assert len(slices) == 40
    assert all(0 < part.p_corrected <= 1 and math.isfinite(part.noise_95) for part in slices)


def test_soft_labels_have_the_p_value_of_their_scatter():
    rng = np.random.default_rng(1)
    u = rng.random(200)
    z = rng.binomial(3, u) / 3
    by = np.arange(200) % 2
    plain = cal.evaluate(z, u, by=by, measures=["ece"]).slices
    assert all(0.01 < part.p_value <= 1 for part in plain)
    wrong = cal.evaluate(rng.binomial(3, u**3) / 3, u, by=by, measures=["ece"]).slices
    assert all(part.p_corrected < 1e-3 for part in wrong)
    for votes in (3, np.full(200, 3)):
        voted = cal.evaluate(z, u, by=by, measures=["ece"], votes=votes).slices
        assert [part.p_value for part in voted] == [part.p_value for part in plain]


def test_slices_of_many_classes():
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.ones(3), 300)
    y = rng.integers(0, 3, 300)
    by = np.arange(300) % 2
    result = cal.evaluate(y, p, by=by)
    for part in result.slices:
        rows = by == int(part.name)
        assert part.values["ece"] == pytest.approx(cal.ece(y[rows], p[rows]))
        assert part.values["brier"] == pytest.approx(cal.brier_score(y[rows], p[rows]))


def test_what_slices_say():
    y, u, names = sample(300)
    result = cal.evaluate(y, u, by=names, measures=["ece", "brier"])
    text = result.to_text()
    assert "worst first" in text and "p_corrected" in text
    assert "<table>" in result.slices._repr_html_()
    again = json.loads(result.to_json())["slices"]
    assert again["slices"]["n"] == [part.n for part in result.slices]
    assert cal.evaluate(y, u, measures=["ece"]).slices is None
    same = cal.evaluate(y, u, by=names, measures=["ece"], seed=0).slices
    other = cal.evaluate(y, u, by=names, measures=["ece"], seed=1).slices
    assert same["a"].p_value == result.slices["a"].p_value
    assert any(same[k].noise_95 != other[k].noise_95 for k in "abc")


@pytest.mark.parametrize(
    ("by", "words"),
    [
        ([1, 2], "each of the 4 rows"),
        ("region", "no frame was given"),
        (np.ones((4, 2)), "each of the 4 rows"),
    ],
)
def test_what_is_no_column_is_refused(by, words):
    with pytest.raises(InputError, match=words):
        cal.evaluate([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], by=by)


def both_ways(columns, by):
    """Names and rows of the slices, from a frame here and from one in an engine of its own."""
    frame = need("polars").DataFrame(columns)
    found = [
        {part.name: part.n for part in cal.evaluate("y", "p", data=data, by=by).slices}
        for data in (frame, frame.lazy())
    ]
    assert found[0] == found[1]
    return found[0]


PAIRS = {"y": [0, 1, 1, 0], "p": [0.1, 0.2, 0.3, 0.4]}


def test_slices_of_other_values_are_others_though_they_read_alike():
    columns = PAIRS | {"a": ["a, b", "a"] * 2, "b": ["c", "b, c"] * 2}
    assert both_ways(columns, ["a", "b"]) == {"'a, b', 'c'": 2, "'a', 'b, c'": 2}
    # What reads alike nowhere is not in quotes.
    assert both_ways(columns, "a") == {"a, b": 2, "a": 2}


def test_the_name_of_missing_values_as_a_value():
    columns = PAIRS | {"a": ["(missing)", None, None, "x"]}
    assert both_ways(columns, "a") == {"(missing)": 2, "'(missing)'": 1, "x": 1}
    columns["a"][3] = "'(missing)'"
    assert len(both_ways(columns, "a")) == 3


@pytest.mark.parametrize(
    "values",
    [
        [1, 1.0, True, "1", None, math.nan, "(missing)"],
        [[1], [2], [1]],
        ["x", "y", "x"],
    ],
    ids=["types", "lists", "texts"],
)
def test_names_are_those_of_each_value(values):
    """A row's name is its value as text, whatever equals it: 1, 1.0 and True are not the same."""
    plain = ["(missing)" if x is None or x != x else str(x) for x in values]
    if "(missing)" in values:
        plain[-1] = "'(missing)'"
    assert (
        row_names([np.array(values, dtype=object) if values[0] == 1 else values]).tolist() == plain
    )
    assert {k: v.tolist() for k, v in rows_by_name(row_names([values])).items()} == {
        name: [i for i, each in enumerate(plain) if each == name] for name in sorted(set(plain))
    }


def test_zero_and_minus_zero_are_one_slice():
    assert both_ways(PAIRS | {"a": [0.0, -0.0, -0.0, 0.0]}, "a") == {"0.0": 4}
    rows = need("duckdb").sql(
        "select i % 2 y, (i % 100) / 100.0 p, "
        "case when i % 5 < 2 then -0.0::double else 0.0::double end g from range(1000) t(i)"
    )
    slices = cal.evaluate("y", "p", data=rows, by="g", measures=["ece"]).slices
    assert [(part.name, part.n) for part in slices] == [("0.0", 1000)]


@pytest.mark.parametrize("door", ["rows", "judged", "frame"])
def test_the_worst_slice_is_the_one_of_the_largest_error_and_not_the_surest(door):
    """Of many rows 5 points are surer than 20 of few, and came first."""
    rng = np.random.default_rng(0)
    names = rng.choice(["many", "some", "few", "right"], 8000, p=[0.7, 0.2, 0.02, 0.08])
    off = {"many": 0.05, "some": 0.1, "few": 0.2, "right": 0.0}
    p = rng.uniform(0.25, 0.9, 8000)
    y = (rng.random(8000) < p - np.vectorize(off.get)(names)).astype(int)
    if door == "frame":
        pl = pytest.importorskip("polars")
        rows = pl.DataFrame({"y": y, "p": p, "site": names}).lazy()
        slices = cal.evaluate("y", "p", by="site", measures=["ece"], data=rows).slices
    else:
        judged = door == "judged"
        slices = cal.evaluate(y, p, by=names, measures=["ece"], uncertainty=judged).slices
    assert [part.name for part in slices] == ["few", "some", "many", "right"]
    assert slices["many"].p_value < slices["few"].p_value
    assert "worst first (by the estimate of ece)" in str(slices)
    # Noise alone makes the value of few rows large; their estimate knows.
    assert slices["right"].excess < slices["right"].values["ece"]


@pytest.mark.parametrize("name", ["n", "ece", "p_value", "low"])
def test_names_of_slices_stay_where_another_column_is_called_so(name):
    pandas = need("pandas")
    rows = pandas.DataFrame({"y": [0, 1] * 60, "p": [0.3, 0.6] * 60, name: ["a", "a", "b"] * 40})
    slices = cal.evaluate("y", "p", data=rows, by=name, measures=["ece"], uncertainty=True).slices
    columns = slices.columns()
    assert sorted(columns[f"slice {name}"]) == ["a", "b"]
    assert columns["n"] == [each.n for each in slices]
    assert f"slice {name}" in slices.display_columns()


def test_a_slice_fails_at_the_level_for_all_slices_alone():
    """Two of eight slices are beyond the tolerance at 95 %, and not for so many slices."""
    rng = np.random.default_rng(3)
    p, part = rng.random(8000), np.arange(8000) % 8
    y = (rng.random(8000) < np.clip(p + 0.09, 0, 1)).astype(int)
    asked = {"measures": ["ece"], "uncertainty": True, "tolerance": 0.05}
    beyond = [s for s in cal.evaluate(y, p, by=part, **asked).slices if s.low > 0.05]
    kept = [s.within_tolerance for s in beyond]
    assert len(beyond) == 4 and kept.count(None) == 2 and kept.count(False) == 2
