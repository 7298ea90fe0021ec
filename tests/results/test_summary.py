"""An evaluation in ten lines, and tables that fit a width."""

from __future__ import annotations

import itertools
import re
from typing import ClassVar

import numpy as np
import pytest

import calibrant as cal
from calibrant._core.lines import shortened_middle, wrapped
from calibrant._core.messages import FOUND, Note, about_measures
from calibrant.results._summary import input_lines, summary_columns, summary_notes
from calibrant.results._text_tables import fitted_text

rng = np.random.default_rng(5)
N = 800
P = rng.random(N)
Y = (rng.random(N) < 0.3 + 0.4 * P).astype(int)
ROWS = rng.dirichlet([1.0, 1.0, 1.0], N)
LABELS = (rng.random(N)[:, None] > ROWS.cumsum(axis=1)).sum(axis=1)


@pytest.fixture(scope="module")
def evaluation():
    return cal.evaluate(Y, P, uncertainty=True, by=np.where(P > 0.5, "high", "low"))


def test_a_session_shows_what_a_person_reads(evaluation):
    text = repr(evaluation)
    lines = text.splitlines()
    assert 8 <= len(lines) <= 16 and max(map(len, lines)) <= 88
    assert lines[0] == "Evaluation of 800 rows"
    assert str(evaluation.verdict) in " ".join(text.split())
    for name in ("ECE", "smooth ECE", "Brier score", "AUROC", "calibration slope (98% CI)"):
        assert sum(line.startswith(f"  {name}  ") for line in lines) == 1, name
    line = f"all {len(evaluation)} measures are in to_text() and to_frame(), the slices are in"
    assert line in text and text.split()[-1] == ".clinical"


def test_its_numbers_are_those_of_the_evaluation(evaluation):
    columns = summary_columns(evaluation)
    rows = dict(zip(columns["measure"], zip(*list(columns.values())[1:], strict=True), strict=True))
    ece = evaluation.estimate("ece")
    estimate, interval, value = rows["ECE"]
    assert estimate == ece.estimate and value == ece.value
    assert interval == f"{ece.interval.low:.4f} to {ece.interval.high:.4f}"
    verdict = evaluation.verdict
    assert rows["calibration slope (98% CI)"][0] == verdict.slope
    assert "%" not in rows["calibration slope (98% CI)"][1]


def test_nothing_is_lost(evaluation):
    whole = evaluation.to_text()
    assert all(f"\n  {name} " in whole for name in evaluation)
    assert all(line in whole for line in (*evaluation.inferred, *evaluation.notes))
    assert "Slices by" in whole
    assert "measure" in evaluation.to_markdown().splitlines()[0]
    assert len(evaluation.to_markdown().splitlines()) == 2 + len(evaluation)


def test_measures_that_were_named_are_all_shown():
    named = cal.evaluate(Y, P, measures=["log_loss", "mce"])
    assert summary_columns(named)["measure"] == ["log loss", "maximum calibration error"] or (
        summary_columns(named)["value"] == [named["log_loss"], named["mce"]]
    )
    assert "uncertainty=True adds confidence intervals" in repr(named)
    assert "all 2 measures" not in repr(named)


def test_of_several_classes_it_has_the_accuracy():
    names = summary_columns(cal.evaluate(LABELS, ROWS))["measure"]
    assert names == ["ECE", "smooth ECE", "Brier score", "accuracy", "AUROC"]


def test_notebooks_show_the_summary_and_the_rest_folded(evaluation):
    page = evaluation._repr_html_()
    before, _, folded = page.partition("<details>")
    assert "smooth ECE" in before and "sweep_ece" not in before
    assert f"All {len(evaluation)} measures" in folded and "sweep_ece" in folded


def test_columns_that_were_found_are_one_line():
    found = [
        Note("y_true is the column 'label', by its name", FOUND, argument="y_true", columns=("y",)),
        Note("y_proba is ...", FOUND, argument="y_proba", columns=("p_0", "p_1", "p_2")),
    ]
    assert input_lines(["binary probabilities", "labels are hard (0 or 1)", *found, found[0]]) == [
        "binary probabilities; labels are hard (0 or 1)",
        "columns found by name: label 'y', prediction 'p_0' to 'p_2'",
    ]


def test_notes_on_other_measures_are_left_out():
    evaluation = cal.evaluate(Y, P, measures=["ece"])
    notes = ["for all", about_measures("on one", ["mce"]), about_measures("mine", ["ece", "mce"])]
    assert summary_notes(notes, evaluation.estimates) == ["for all", "mine"]


class TestFitting:
    TABLE: ClassVar = {
        "slice": ["a very long name of a hospital and its department", "b"],
        "n": [10, 2000],
        "mean_predicted": [0.25, 0.5],
        "mean_target": [0.125, 0.75],
        "verdict": ["not enough data", "calibrated within noise"],
        **{f"measure_{i}": [i / 100, 0.5] for i in range(8)},
    }

    @pytest.mark.parametrize("width", [40, 60, 80, 100, 140, 300])
    def test_lines_fit_and_no_number_is_lost(self, width):
        text = fitted_text(self.TABLE, width, indent="  ")
        assert max(map(len, text.splitlines())) <= width
        words = text.split()
        for name, values in itertools.islice(self.TABLE.items(), 1, None):
            assert all(piece in text for piece in name.split("_")), name
            if isinstance(values[0], float):
                assert all(words.count(f"{value:.4f}") for value in values)

    def test_a_table_that_fits_is_left_alone(self):
        assert fitted_text({"a_b": [1], "c": ["x"]}, 80) == "a_b  c\n  1  x"

    def test_names_are_cut_in_the_middle(self):
        assert shortened_middle("predictions_of_2026.csv", 11) == "predi…6.csv"
        text = fitted_text({"name": ["x" * 60 + "end"], "n": [1]}, 40)
        assert "end  1" in text and "…" in text

    def test_tables_below_begin_with_the_names_of_the_rows(self):
        text = fitted_text(self.TABLE, 60)
        assert text.count("slice") == text.count("\n\n") + 1


def test_sentences_are_broken_at_spaces():
    lines = wrapped("  one two " + "x" * 50 + " three", 30)
    assert lines[0] == "  one two" and len(lines) == 3
    assert all(len(line) <= 30 and line.startswith("  ") for line in lines)
    assert wrapped("", 30) == [""]
    assert wrapped("aa bb", 4, hanging="  ") == ["aa", "  bb"]


def test_a_p_value_below_the_least_says_so_everywhere():
    """Its number, 1e-12, is the end of a fitted tail; JSON and columns keep it."""
    rows = cal.evaluate(Y, P**3, measures=["ece"], uncertainty=True, by=P > 0.5, tolerance=0.02)
    floor = rows.estimate("ece").noise_floor
    assert floor.p_value == 1e-12 and rows.columns()["p_value"] == [1e-12]
    assert rows.to_dict()["measures"][0]["noise_floor"]["p_value"] == 1e-12
    for text in (rows.to_text(), rows.to_markdown(), str(floor), repr(rows.slices)):
        assert "1e-12" in text.replace("p < ", "<") and "1e-12" not in re.sub(
            "<1e-12|< 1e-12", "", text
        )
    assert "<1e-09" in repr(rows.slices)  # corrected for the number of slices
    for page in (rows._repr_html_(), cal.report(Y, P**3, measures=["ece"], bins=5).to_html()):
        shown = page.partition("<script")[0]
        assert "&lt;1e-12<" in shown and ">1e-12" not in shown


def test_p_values_of_large_samples_and_of_names_alike():
    columns = {"p_value": [1e-40, 0.25], "p_value_of": [1e-40, 0.25]}
    text = fitted_text(columns, 80)
    assert text.split() == ["p_value", "p_value_of", "<1e-12", "1e-40", "0.2500", "0.2500"]


def test_the_methods_of_an_evaluation_are_its_numbers(evaluation):
    text, ece = evaluation.methods(), evaluation.estimate("ece")
    assert text.startswith("On 800 rows, the ECE (15 equal-width bins, left-closed) is ")
    interval = ece.interval
    limits = f"95% CI {interval.low:.3f} to {interval.high:.3f}"
    assert (
        f"{interval.estimate:.3f} (bias-corrected; {limits}; sample value {ece.value:.3f})" in text
    )
    assert f"stay below {ece.noise_floor.upper:.3f} in 95% of samples" in text
    assert (
        "Brier score is" in text and f"({evaluation.estimate('brier').interval.method}" not in text
    )
    assert f"{interval.method} (ECE)" in text
    assert text.endswith(
        f"Computed by Calibrant {cal.__version__} with 1,000 resamples and seed 0."
    )
    plain = cal.evaluate(Y, P, measures=["log_loss", "auroc"])
    for name, measures in (("log loss", None), ("AUROC", ["auroc"])):
        value = plain["log_loss" if measures is None else "auroc"]
        expected = f"On 800 rows, the {name} is {value:.3f}. Computed"
        assert plain.methods(measures=measures).startswith(expected)
    for wrong in ("ece", [], ["ece"]):
        with pytest.raises(cal.InputError):
            plain.methods(measures=wrong)


def test_the_methods_of_a_comparison_name_the_best_and_the_difference():
    models = {"sharp": ROWS, "flat": np.full(ROWS.shape, 1 / 3), "same": ROWS}
    found = cal.compare(LABELS, models, n_resamples=100, seed=4)
    text = found.methods()
    start = "3 models are compared on the same 800 rows. The top-label ECE"
    assert text.startswith(f"{start} ({found.recipe['bins']}) is ")
    for measure in ("ece", "brier"):
        first, second = found.order(measure)[:2]
        gap = found.difference(second, first, measure)
        assert found.sentence(measure) in text
        assert f"of {second} less that of {first} is " in text
        assert f"{gap.low:.3g}" in text or f"{gap.low:.3f}" in text
    assert text.endswith("with 100 resamples and seed 4.")
    lin = found.methods(measures=["classwise_ce"])
    assert (
        f"The classwise LinCE ({found.recipe['truthful_bins']}) is" in lin and "ECE (15" not in lin
    )
    many = cal.compare(
        LABELS, {f"m{i}": ROWS for i in range(6)}, measures=["brier"], n_resamples=50
    )
    assert many.methods().count(" for m") == 2  # a table has the others


def test_the_methods_of_a_comparison_name_slopes_if_they_are_asked_for():
    y = np.tile([0, 1, 1, 0, 1, 0, 1, 0], 20)
    p = np.tile([0.2, 0.7, 0.9, 0.4, 0.6, 0.3, 0.4, 0.5], 20)
    models = {"one": p, "other": p**2}
    found = cal.compare(y, models, measures=["ece", "slope"], n_resamples=50)
    assert "slope" not in found.methods()  # the first error and the first loss
    first, second = found.order("slope")
    text = found.methods(measures=["calibration_slope"])
    assert f"The calibration slope is {found.intervals('slope')['estimate'][0]:.3f}" in text
    assert f"The calibration slope of {second} less that of {first} is " in text
    alone = cal.compare(y, models, measures=["slope"], n_resamples=50)
    assert "The calibration slope is" in alone.methods()
    with pytest.raises(cal.InputError, match="this comparison has no measure 'brier'"):
        alone.methods(measures=["brier"])
