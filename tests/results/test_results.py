"""What comes out: readable, complete, and the same in every form."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError, examples

EXAMPLE = examples.load("fashion")
HARD = cal.evaluate(EXAMPLE.test_labels, EXAMPLE.test_proba, classes=EXAMPLE.class_names)
SOFT = cal.evaluate(EXAMPLE.test_soft_labels, EXAMPLE.test_proba, classes=EXAMPLE.class_names)


def test_every_measure_that_applies_is_there():
    multiclass = [m for m in cal.catalogue("multiclass") if not m.on_request]
    assert set(SOFT.values) == {m.name for m in multiclass}
    assert set(HARD.values) == {m.name for m in multiclass if not m.soft_only}
    assert all(math.isfinite(value) for value in SOFT.values.values())


def test_what_was_inferred_is_said():
    assert "multiclass probabilities, 10 classes" in HARD.inferred
    assert HARD.inferred[1].startswith("labels are class indices: 0 is 'T-shirt/top', 1 is")
    assert "targets are class indices" in cal.evaluate([0, 1], [[0.7, 0.3], [0.4, 0.6]]).inferred
    assert "labels are soft (probabilities)" in SOFT.inferred
    binary = cal.evaluate([0.0, 1.0], [0.2, 0.7])
    assert binary.inferred == ("binary probabilities", "labels are hard (0 or 1)")


def test_the_recipe_gives_the_numbers_again():
    assert HARD.recipe["bins"] == "15 equal-width bins, left-closed"
    assert HARD.recipe["truthful_bins"] == "15 quantile bins, ties together"
    assert HARD.recipe["n"] == 4000
    assert HARD["ece"] == cal.ece(EXAMPLE.test_labels, EXAMPLE.test_proba, bins=15)
    logits = cal.evaluate(EXAMPLE.test_labels, EXAMPLE.test_logits, from_logits=True)
    assert logits.recipe["from_logits"] is True
    assert logits["ece"] == pytest.approx(HARD["ece"], rel=1e-12)


def test_what_was_clipped_is_told():
    rows = np.array([[1.00005, -0.00004], [0.3, 0.7]], dtype=np.float64)
    notes = cal.evaluate([0, 1], rows).notes
    assert any(note.startswith("2 predictions outside [0, 1]") for note in notes)
    off = cal.evaluate([0, 1], [[0.50002, 0.50002], [0.3, 0.7]]).notes
    assert any(note.startswith("1 row of y_proba sums to 1 only") for note in off)
    zero = cal.evaluate([1, 0], [[1.0, 0.0], [0.3, 0.7]]).notes
    assert any("log loss" in note for note in zero)
    assert cal.evaluate([0, 1, 1], [[0.5, 0.5], [0.3, 0.7], [0.6, 0.4]]).notes == ()


def test_classes_come_worst_first_under_their_names():
    assert HARD.classes is not None
    errors = HARD.classes["ece"]
    assert errors == sorted(errors, reverse=True)
    assert set(HARD.classes["class"]) == set(EXAMPLE.class_names)
    worst = EXAMPLE.class_names.index(HARD.classes["class"][0])
    column = cal.ece(EXAMPLE.test_labels == worst, EXAMPLE.test_proba[:, worst])
    assert errors[0] == pytest.approx(column, rel=1e-12)


def test_json_holds_everything_and_nothing_that_json_cannot():
    loaded = json.loads(SOFT.to_json())
    assert {m["name"]: m["value"] for m in loaded["measures"]} == SOFT.values
    bins = loaded["reliability"]["bins"]
    assert sum(bins["n"]) == 4000
    assert bins["mean_predicted"][0] is None  # an empty bin, not NaN
    assert loaded["recipe"]["n_classes"] == 10


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_frames_of_results(backend):
    pytest.importorskip(backend)
    frame = SOFT.to_frame(backend)
    assert type(frame).__module__.startswith(backend)
    assert len(frame) == len(SOFT.estimates)
    assert len(SOFT.reliability.to_frame(backend)) == 15


def test_an_unknown_frame_library_is_refused():
    with pytest.raises(InputError, match="did you mean 'pandas'"):
        SOFT.to_frame("panda")


def test_lookup_suggests_the_nearest_name():
    with pytest.raises(InputError, match="did you mean 'brier'"):
        HARD["bier"]
    with pytest.raises(InputError, match="did you mean 'log_loss'"):
        cal.evaluate([0, 1], [0.2, 0.7], measures=["logloss"])
    with pytest.raises(InputError, match="not defined for binary"):
        cal.evaluate([0, 1], [0.2, 0.7], measures=["classwise_ce"])
    with pytest.raises(InputError, match="a list of names"):
        cal.evaluate([0, 1], [0.2, 0.7], measures="ece")


def test_results_by_name_can_be_gone_through():
    """Without an iterator of its own, Python asks such a result for the measures 0, 1, 2, ..."""
    y, u = [0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]
    evaluation, bins = cal.evaluate(y, u), cal.bin_sensitivity(y, u, bins=range(1, 4))
    assert {name: evaluation[name] for name in evaluation} == evaluation.values
    assert {name: bins[name] for name in bins} == bins.values
    assert len(evaluation) == len(evaluation.estimates) and len(bins) == len(bins.measures)
    assert "ece" in evaluation and "ece" in bins and "no such" not in bins


def test_a_measure_that_is_asked_for_twice_is_there_once():
    y, u = [0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]
    twice = {"measures": ["brier", "ece", "ECE", "brier_score"]}
    assert list(cal.evaluate(y, u, **twice)) == ["brier", "ece"]
    assert len(cal.evaluate(y, u, **twice)) == 2
    assert list(cal.Accumulator().update(y, u).evaluate(**twice)) == ["brier", "ece"]
    compared = cal.compare(y, {"a": u, "b": u[::-1]}, n_resamples=100, **twice)
    assert compared.measures == ("brier", "ece")


def test_text_and_html_show_the_values():
    assert "ECE" in repr(HARD) and "0.0728" in repr(HARD)
    assert "ece" in HARD.to_text() and "0.0728" in HARD.to_text()
    html = HARD._repr_html_()
    assert html.count("<table>") == 4 and "0.0728" in html  # the summary has one of its own


class TestReliability:
    def test_empty_bins_stay_and_counts_add_up(self):
        table = cal.reliability([0, 1, 1], [0.05, 0.95, 1.0], bins=10)
        columns = table.columns()
        assert columns["n"] == [1, 0, 0, 0, 0, 0, 0, 0, 0, 2]
        assert math.isnan(columns["mean_predicted"][4])
        assert table.n == 3 and table.n_dropped == 0

    def test_the_dropped_ones_are_counted(self):
        table = cal.reliability(
            [0, 1, 1], [0.05, 0.95, 1.0], bins=cal.EqualWidth(10, drop_one=True)
        )
        assert table.n == 2 and table.n_dropped == 1
        assert "1 row in no bin" in repr(table)

    def test_edges_are_the_rule_s(self):
        columns = cal.reliability([0, 1], [0.05, 0.95], bins=cal.Edges([0, 0.3, 1])).columns()
        assert columns["lower"] == [0.0, 0.3] and columns["upper"] == [0.3, 1.0]

    def test_level_sets_show_their_values(self):
        columns = cal.reliability([0, 1, 1], [0.7, 0.2, 0.7], bins=cal.LevelSets()).columns()
        assert columns["lower"] == [0.2, 0.7] and columns["n"] == [1, 2]
        assert columns["mean_target"] == [1.0, 0.5]

    def test_quantile_bins_hold_equal_mass(self):
        predictions = np.random.default_rng(0).random(300)
        columns = cal.reliability(predictions > 0.4, predictions, bins=cal.Quantile(3)).columns()
        assert columns["n"] == [100, 100, 100]
        assert columns["upper"][0] == columns["lower"][1]

    def test_weights_are_shown_only_where_they_say_something(self):
        assert "weight" not in repr(cal.reliability([0, 1], [0.2, 0.7], bins=2))
        assert "weight" in repr(cal.reliability([0, 1], [0.2, 0.7], bins=2, sample_weight=[2, 1]))

    def test_one_table_is_of_one_problem(self):
        with pytest.raises(InputError, match="one class's column"):
            cal.reliability([0, 1], [[0.5, 0.5], [0.3, 0.7]], notion="classwise")


def test_mccaffrey_s_bins_as_printed():
    """The tutorial's ten bins: counts, mean predictions and accuracies give its 0.1270."""
    counts = np.array([0, 0, 6, 12, 18, 10, 12, 14, 16, 12])
    predictions = np.array([0, 0, 0.24, 0.36, 0.44, 0.52, 0.68, 0.74, 0.86, 0.92])
    accuracy = np.array([0, 0, 0.50, 0.67, 0.56, 0.60, 0.58, 0.71, 0.75, 0.83])
    u, z = np.repeat(predictions, counts), np.repeat(accuracy, counts)
    assert round(cal.soft_ece(z, u, bins=10), 4) == 0.1270
    table = cal.reliability(z, u, bins=10)
    assert table.columns()["n"] == counts.tolist()


class TestConventions:
    def test_each_tool_is_there_with_a_reason(self):
        table = cal.conventions(EXAMPLE.test_labels, EXAMPLE.test_proba)
        tools = " ".join(row.tool for row in table.rows)
        for tool in (
            "Calibrant",
            "torchmetrics",
            "scikit-learn",
            "netcal",
            "relplot",
            "McCaffrey",
            "Leznik",
        ):
            assert tool in tools
        assert all(row.why.endswith(".") for row in table.rows)
        assert table.rows[0].at_common == cal.ece(EXAMPLE.test_labels, EXAMPLE.test_proba)

    def test_a_sentence_names_the_tools_with_the_same_number(self):
        y, p = [0, 1, 1, 0] * 50, [0.21, 0.7, 0.91, 0.4] * 50
        table = cal.conventions(y, p)
        sentence = repr(table).splitlines()[1].strip()
        same, other = sentence.split(" These give another number: ")
        assert same.startswith(
            f"With 15 bins, these give Calibrant's {table.rows[0].at_common:.4f}:"
        )
        for row in table.rows[1:]:
            if row.at_common is not None:
                agrees = round(row.at_common, 4) == round(table.rows[0].at_common, 4)
                assert row.tool in (same if agrees else other)
        assert sentence in table._repr_html_().replace("&#x27;", "'")

    def test_a_tool_without_bins_has_none(self):
        table = cal.conventions([0, 1, 1, 0] * 50, [0.2, 0.7, 0.9, 0.4] * 50)
        smooth = [row.tool for row in table.rows].index("relplot smECE")
        assert table.columns()["its_bins"][smooth] == 0  # in frames and JSON it stays a number
        assert table.display_columns()["its_bins"][smooth] is None
        line = next(each for each in repr(table).splitlines() if "relplot smECE" in each)
        assert " 0 " not in line

    def test_no_release_of_scikit_learn_has_what_is_called_proposed(self):
        metrics = pytest.importorskip("sklearn.metrics")
        table = cal.conventions([0, 1, 1, 0] * 50, [0.2, 0.7, 0.9, 0.4] * 50)
        assert "scikit-learn calibration_error (proposed)" in [row.tool for row in table.rows]
        assert not hasattr(metrics, "calibration_error")

    def test_soft_labels_are_refused_or_wrong_where_they_are(self):
        table = cal.conventions(EXAMPLE.test_soft_labels, EXAMPLE.test_proba)
        answers = {row.tool: row.answer for row in table.rows}
        assert answers["torchmetrics"] == "rejects soft labels"
        assert answers["netcal ECE"] == "wrong with soft labels"
        assert answers["relplot binnedECE"] == "answers"

    def test_a_reliability_table_in_every_form(self):
        table = cal.conventions([0, 1, 1], [0.1, 0.9, 1.0], bins=10)
        assert json.loads(table.to_json())["bins"] == 10
        assert "with_10_bins" in table.columns()
        assert "torchmetrics:" in repr(table) and "<table>" in table._repr_html_()
        with pytest.raises(InputError, match="one scalar problem"):
            cal.conventions([0, 1], [[0.5, 0.5], [0.3, 0.7]], notion="classwise")


@pytest.mark.parametrize("bins", [10, 15])
def test_conventions_say_which_tools_agree(bins):
    rng = np.random.default_rng(0)
    p = rng.random(500)
    table = cal.conventions((rng.random(500) < p).astype(int), p, bins=bins)
    own, *others = table.rows
    given = [row for row in others if row.at_common is not None]
    same = [row.tool for row in given if f"{row.at_common:.4f}" == f"{own.at_common:.4f}"]
    other = [row.tool for row in given if row.tool not in same]
    assert len(same) > 3 and len(other) > 3 and len(given) < len(others)
    sentences = (
        f"With {bins} bins, these give Calibrant's {own.at_common:.4f}: {'; '.join(same)}. "
        f"These give another number: {'; '.join(other)}."
    )
    assert sentences in repr(table)
    assert sentences.replace("'", "&#x27;") in table._repr_html_().replace("&#39;", "&#x27;")
