"""Predictions of two columns are judged by their top label, and every result says so."""

from __future__ import annotations

import contextlib
import inspect

import numpy as np
import pytest

import calibrant as cal
from calibrant.results import Record, Result
from cli.command import csv, run
from needs import need

rng = np.random.default_rng(0)
N = 300
ONE = rng.random(N)
TWO = np.stack([1 - ONE, ONE], axis=1)
Y = (rng.random(N) < ONE**1.3).astype(int)
NOTE = "with two columns, errors are those of the top label"
COLUMNS = {"label": Y, "p_0": TWO[:, 0], "p_1": ONE}
NAMES = ["p_0", "p_1"]


def tensors():
    torch = need("torch")
    return cal.evaluate(torch.tensor(Y), torch.tensor(TWO), measures=["ece"])


DOORS = {
    "evaluate": lambda: cal.evaluate(Y, TWO, measures=["ece"]),
    "uncertainty": lambda: cal.evaluate(Y, TWO, measures=["ece"], uncertainty=True),
    "frame": lambda: cal.evaluate("label", NAMES, data=need("pandas").DataFrame(COLUMNS)),
    "lazy": lambda: cal.evaluate("label", NAMES, data=need("polars").LazyFrame(COLUMNS)),
    "tensors": tensors,
    "logits": lambda: cal.evaluate(Y, np.log(TWO), from_logits=True, measures=["ece"]),
    "stream": lambda: cal.Accumulator().update(Y, TWO).evaluate(),
    "monitor": lambda: cal.Monitor().update(Y, TWO, time="2026-01-05").evaluate(),
    "compare": lambda: cal.compare(Y, {"a": TWO, "b": TWO**2 / (TWO**2).sum(1, keepdims=True)}),
    "interval": lambda: cal.interval(Y, TWO),
    "verdict": lambda: cal.verdict(Y, TWO),
    "check": lambda: cal.check(Y, TWO, at_most={"ece": 0.5}),
    "bin_sensitivity": lambda: cal.bin_sensitivity(Y, TWO),
    "brier_decomposition": lambda: cal.brier_decomposition(Y, TWO),
    "conventions": lambda: cal.conventions(Y, TWO),
    "cox_calibration": lambda: cal.cox_calibration(Y, TWO),
    "cutoff_test": lambda: cal.cutoff_test(Y, TWO),
    "find_segments": lambda: cal.find_segments(Y, TWO, {"odd": np.arange(N) % 2}),
    "certify": lambda: cal.certify(Y, TWO),
    "hosmer_lemeshow": lambda: cal.hosmer_lemeshow(Y, TWO),
    "hosmer_lemeshow, few bins": lambda: cal.hosmer_lemeshow(Y, TWO, bins=3),
    "noise_floor": lambda: cal.noise_floor(Y, TWO),
    "reliability": lambda: cal.reliability(Y, TWO),
    "reliability of clusters": lambda: cal.reliability(Y, TWO, groups=np.arange(N) // 3),
    "reliability of a lazy frame": lambda: cal.reliability(
        "label", NAMES, data=need("polars").LazyFrame(COLUMNS)
    ),
    "reliability_curve": lambda: cal.reliability_curve(Y, TWO),
    "local curve": lambda: cal.reliability_curve(Y, TWO, method="local"),
    "report": lambda: cal.report(Y, TWO, measures=["ece"], recalibrate="temperature"),
    "risk_coverage": lambda: cal.risk_coverage(Y, TWO),
    "slices": lambda: cal.evaluate(Y, TWO, by=np.arange(N) % 2),
    "smooth_reliability": lambda: cal.smooth_reliability(Y, TWO),
    "truthful_test": lambda: cal.truthful_test(Y, TWO),
    "truthful test of the order": lambda: cal.truthful_test(Y, TWO, measure="atb"),
    "vote_profile": lambda: cal.vote_profile(Y, TWO),
}
# What is not of the top label: losses of all classes, and a table for each class.
OF_ALL_CLASSES = {"classwise_reliability", "decompose", "recommend"}
# Its statistic is the same of either.
SAME_OF_EITHER = {"spiegelhalter"}


def results_of_two_columns():
    """Every public function of labels and predictions that gives more than a number, and is not
    among the doors already.
    """
    decomposition = type(cal.brier_decomposition(Y, ONE))
    for name in cal.__all__:
        function = getattr(cal, name)
        if not inspect.isfunction(function) or name in DOORS:
            continue
        if list(inspect.signature(function).parameters)[:2] != ["y_true", "y_proba"]:
            continue
        # Numbers are numbers; the others that are refused here are in the list by hand.
        with contextlib.suppress(cal.InputError, TypeError):
            if isinstance(function(Y, TWO), Record | decomposition):
                yield name


def test_no_door_is_forgotten():
    assert set(results_of_two_columns()) <= OF_ALL_CLASSES | SAME_OF_EITHER
    one, two = cal.spiegelhalter(Y, ONE), cal.spiegelhalter(Y, TWO)
    assert one.statistic == pytest.approx(two.statistic)


@pytest.mark.parametrize("door", DOORS)
def test_every_result_says_which(door):
    found = DOORS[door]()
    text = found.to_text() if isinstance(found, cal.Evaluation) else str(found)
    assert NOTE[1:] in " ".join(text.split())  # a verdict says it in a sentence of its own
    if isinstance(found, Record):
        assert NOTE[1:] in found.to_json()
    if isinstance(found, Result):
        assert NOTE[1:] in found._repr_html_()


@pytest.mark.parametrize("verb", [["report"], ["check", "--max", "ece=0.5"], ["conventions"]])
def test_so_do_commands(verb, tmp_path):
    file = csv(tmp_path / "rows.csv", COLUMNS)
    assert NOTE in " ".join(run(*verb, file).stdout.split())
    assert NOTE in " ".join(str(cal.evaluate_file(file)).split())


def test_others_do_not():
    three = np.stack([TWO[:, 0] / 2, TWO[:, 0] / 2, ONE], axis=1)
    for predictions in (ONE, three):
        assert NOTE not in str(cal.evaluate(Y, predictions, measures=["ece"]))
        assert NOTE not in str(cal.interval(Y, predictions)) + str(cal.verdict(Y, predictions))
        assert NOTE not in str(cal.reliability(Y, predictions))
        assert NOTE not in str(cal.noise_floor(Y, predictions))
    assert NOTE not in str(cal.interval(Y, TWO, measure="log_loss"))
    assert NOTE not in str(cal.noise_floor(Y, TWO, measure="classwise_ece"))


def test_what_it_says_is_so():
    top = TWO.max(axis=1)
    assert cal.ece(Y, TWO) == cal.ece(TWO.argmax(axis=1) == Y, top)
    assert cal.ece(Y, TWO) != cal.ece(Y, TWO[:, 1])
