"""Predictions of two columns are judged by their top label, and every result says so."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from cli.command import csv, run
from needs import need

rng = np.random.default_rng(0)
N = 300
ONE = rng.random(N)
TWO = np.stack([1 - ONE, ONE], axis=1)
Y = (rng.random(N) < ONE**1.3).astype(int)
NOTE = "of two columns, errors are those of the top label"
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
    "segments": lambda: cal.find_segments(Y, TWO, {"third": np.arange(N) % 3}).notes,
    "segments by sums": lambda: cal.find_segments(
        "label", NAMES, ["third"],
        data=need("polars").LazyFrame({**COLUMNS, "third": np.arange(N) % 3}),
    ).notes,
}  # fmt: skip


@pytest.mark.parametrize("door", DOORS)
def test_every_result_says_which(door):
    assert NOTE[1:] in str(DOORS[door]())  # a verdict says it in a sentence of its own


@pytest.mark.parametrize("verb", [["report"], ["check", "--max", "ece=0.5"]])
def test_so_do_commands(verb, tmp_path):
    file = csv(tmp_path / "rows.csv", COLUMNS)
    assert NOTE in run(*verb, file).stdout
    assert NOTE in str(cal.evaluate_file(file))


def test_others_do_not():
    three = np.stack([TWO[:, 0] / 2, TWO[:, 0] / 2, ONE], axis=1)
    for predictions in (ONE, three):
        assert NOTE not in str(cal.evaluate(Y, predictions, measures=["ece"]))
        assert NOTE not in str(cal.interval(Y, predictions)) + str(cal.verdict(Y, predictions))
    assert NOTE not in str(cal.interval(Y, TWO, measure="log_loss"))


def test_what_it_says_is_so():
    top = TWO.max(axis=1)
    assert cal.ece(Y, TWO) == cal.ece(TWO.argmax(axis=1) == Y, top)
    assert cal.ece(Y, TWO) != cal.ece(Y, TWO[:, 1])
