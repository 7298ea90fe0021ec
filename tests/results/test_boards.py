"""A board of models that answered the same questions: answered share, intervals, risk curves."""

import json

import numpy as np
import pytest

import calibrant as cal
from cli.command import run

RNG = np.random.default_rng(4)
N = 300


def answers(folder, name, right, sure, silent):
    """A file of answers: mean correctness and confidence, and the rows without a confidence."""
    p = np.clip(RNG.normal(sure, 0.1, N), 0.05, 0.99).round(2)
    y = RNG.random(N) < right + 0.6 * (p - sure)
    gone = set(RNG.choice(N, silent, replace=False).tolist())
    records = [
        {"id": i, "model": name, "correct": bool(y[i]), "confidence": None if i in gone else p[i]}
        for i in range(N)
    ]
    file = folder / f"{name}.jsonl"
    file.write_text("\n".join(map(json.dumps, records)))
    return file, y, p, sorted(gone)


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    folder = tmp_path_factory.mktemp("board")
    return folder, {
        "calm": answers(folder, "calm", 0.8, 0.8, 0),
        "loud": answers(folder, "loud", 0.55, 0.92, 30),
    }


@pytest.mark.parametrize("rule", ["excluded", "wrong"])
def test_refusals_by_each_rule(board, rule):
    _, models = board
    file, y, p, gone = models["loud"]
    y, p = y.astype(int), p.copy()
    if rule == "wrong":
        y[gone], p[gone] = 0, 0.0
    else:
        y, p = np.delete(y, gone), np.delete(p, gone)
    rows = cal.read_file(file, refusals=rule)
    assert rows.y_true.tolist() == y.tolist() and rows.y_proba.tolist() == p.tolist()
    found = cal.evaluate_file(file, refusals=rule, measures=["accuracy", "brier"])
    assert found["accuracy"] == pytest.approx(y.mean())
    assert found["brier"] == pytest.approx(np.mean((p - y) ** 2))
    said = {"excluded": "dropped", "wrong": "wrong answers at confidence 0"}[rule]
    right = int(models["loud"][1][gone].sum())
    if rule == "wrong":
        assert right > 0
        said += f", although {right} of them are labelled correct"
    said += f" (refusals='{rule}')"
    assert f"270 of 300 answers have a confidence; 30 without one: {said}" in found.inferred
    assert not any("missing" in note for note in found.notes)


def test_wrong_needs_labels_that_say_right(tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_text('{"label": 1, "p": 0.5}\n{"label": 0, "p": null}')
    with pytest.raises(cal.InputError, match="refusals='wrong' needs labels that say whether"):
        cal.read_file(file, refusals="wrong")
    with pytest.raises(cal.InputError, match="refusals"):
        cal.read_file(file, refusals="skip")
    file.write_text('{"correct": null, "confidence": 0.5}\n{"correct": 0, "confidence": null}')
    with pytest.raises(cal.InputError, match="line 1: y_true is missing, here and in 0 more"):
        cal.read_file(file, refusals="excluded")


@pytest.mark.parametrize("rule", ["excluded", "wrong"])
def test_the_board_of_the_command(board, rule, tmp_path):
    _, models = board
    files = [file for file, *_ in models.values()]
    result = run("compare", *files, "--id", "id", "--refusals", rule, "--json")
    values = json.loads(result.stdout)["values"]
    assert values["answered"] == [1.0, 0.9]
    assert {"accuracy", "ece", "smooth_ece", "brier", "auroc", "aurc"} <= values.keys()
    rows = 270 if rule == "excluded" else 300
    assert json.loads(result.stdout)["recipe"]["n"] == rows
    table = tmp_path / "long.jsonl"
    table.write_text("\n".join(file.read_text() for file in files))
    long = run(
        "compare", table, "--model-column", "model", "--id", "id", "--refusals", rule, "--json"
    )
    assert json.loads(long.stdout)["values"] == values


def test_risks_of_several_models_in_one_figure(board):
    _, models = board
    y = {name: each[1] for name, each in models.items()}
    p = {name: each[2] for name, each in models.items()}
    ids = dict.fromkeys(models, range(N))
    found = cal.compare(y, p, ids=ids, measures=["aurc"], answered={"calm": 1, "loud": 0.9})
    assert found.columns()["answered"] == [1.0, 0.9]
    display = found.plot_risk()
    lines = display.ax_.get_lines()
    assert len(lines) == 2
    for line, name in zip(lines, models, strict=True):
        assert line.get_ydata().tolist() == cal.risk_coverage(y[name], p[name]).risk.tolist()
        assert line.get_ydata().max() < display.ax_.get_ylim()[1]  # the second is not cut off
    with pytest.raises(cal.InputError, match="'aurc' in measures="):
        cal.compare(y, p, ids=ids, measures=["ece"]).plot_risk()
    with pytest.raises(cal.InputError, match="answered has shares of calm, but the predictors are"):
        cal.compare(y, p, ids=ids, answered={"calm": 1.0})
    with pytest.raises(cal.InputError, match=r"answered\['calm'\] is 85"):
        cal.compare(y, p, ids=ids, answered={"calm": 85, "loud": 0.9})
