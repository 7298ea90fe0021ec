"""The metric of Inspect AI, and functions for a task of lm-evaluation-harness."""

import importlib
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.integrations.lm_eval import aggregation, multiple_choice

ROOT = Path(__file__).parents[2]
RNG = np.random.default_rng(4)


@dataclass
class Score:
    value: Any
    metadata: dict[str, Any] | None = field(default_factory=dict)


@dataclass
class SampleScore:
    score: Score


@pytest.fixture
def calibration(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The metric, with as much of Inspect as it needs: the package itself weighs 330 MB."""
    scorer = ModuleType("inspect_ai.scorer")
    known = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
    scorer.metric = lambda function: function  # type: ignore[attr-defined]
    scorer.value_to_float = lambda: lambda value: known.get(value, value)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "inspect_ai", ModuleType("inspect_ai"))
    monkeypatch.setitem(sys.modules, "inspect_ai.scorer", scorer)
    monkeypatch.delitem(sys.modules, "calibrant.integrations.inspect_ai", raising=False)
    yield importlib.import_module("calibrant.integrations.inspect_ai").calibration
    sys.modules.pop("calibrant.integrations.inspect_ai", None)


def test_the_metric_measures_what_scores_say(calibration: Any) -> None:
    values, said = ["C", "I", "P", "C"], [0.9, 0.6, 0.5, 0.8]
    scores = [SampleScore(Score(v, {"sure": p})) for v, p in zip(values, said, strict=True)]
    found = calibration(confidence="sure")([*scores, SampleScore(Score("C", None))])
    assert found["ece"] == cal.soft_ece([1, 0, 0.5, 1], said)
    assert found["brier"] == cal.brier_score([1, 0, 0.5, 1], said)
    assert (found["n"], found["n_missing"]) == (4, 1)


def test_values_of_several_entries_and_percent(calibration: Any) -> None:
    scores = [SampleScore(Score({"score": s, "confidence": c})) for s, c in (("C", 90), ("I", 70))]
    assert calibration(percent=True)(scores)["ece"] == cal.ece([1, 0], [0.9, 0.7])
    with pytest.raises(cal.InputError, match="none is called 'score'"):
        calibration()([SampleScore(Score({"a": 1}))])
    with pytest.raises(cal.InputError, match="no score has 'confidence'"):
        calibration()([SampleScore(Score("C"))])


def test_confidences_as_models_write_them(calibration: Any) -> None:
    said = ["90%", "70 %", 40, "", None, float("nan")]
    scores = [SampleScore(Score("C", {"confidence": each})) for each in said]
    found = calibration(percent=True)(scores)
    assert found["ece"] == cal.ece([1, 1, 1], [0.9, 0.7, 0.4])
    assert (found["n"], found["n_missing"]) == (3, 3)
    texts = [SampleScore(Score("C", {"confidence": each})) for each in ("0.9", " ", 0.5)]
    assert calibration()(texts)["ece"] == cal.ece([1, 1], [0.9, 0.5])
    for percent, bad in (
        (False, "90%"),
        (False, "high"),
        (False, [0.9]),
        (True, "high"),
        (True, 140),
    ):
        with pytest.raises(cal.InputError, match=r"'confidence' of a score is .*percent"):
            calibration(percent=percent)([SampleScore(Score("C", {"confidence": bad}))])


@pytest.mark.parametrize(
    "logs", [[-np.inf, -np.inf], [np.nan, -1.0], [np.inf, -1.0], [np.nan, np.nan]]
)
def test_choices_without_a_probability_are_refused(logs: list[float]) -> None:
    process = multiple_choice("answer")
    with pytest.raises(cal.InputError, match="the log-likelihoods of a document are"):
        process({"answer": 0}, [(x, False) for x in logs])
    found = process({"answer": 1}, [(-np.inf, False), (-1.0, True)])
    assert found["acc"] == 1.0 and found["ece"] == (1, [0.0, 1.0])


def test_the_entry_point_is_there_and_light() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["inspect_ai"] == {
        "calibrant": "calibrant.integrations.inspect_ai"
    }


def test_without_inspect_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "inspect_ai.scorer", None)
    monkeypatch.delitem(sys.modules, "calibrant.integrations.inspect_ai", raising=False)
    with pytest.raises(cal.MissingExtra, match=r"pip install inspect-ai \(the extra 'inspect'\)"):
        importlib.import_module("calibrant.integrations.inspect_ai")


def test_functions_for_a_task() -> None:
    logs = RNG.normal(size=(60, 4)) - 5
    golds = RNG.integers(0, 4, 60).tolist()
    process = multiple_choice(lambda doc: doc["n"], metrics=("ece", "own"))
    found = [
        process({"n": g}, [(x, False) for x in row]) for g, row in zip(golds, logs, strict=True)
    ]
    p = np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True)
    assert aggregation("ece")([each["ece"] for each in found]) == pytest.approx(cal.ece(golds, p))
    assert aggregation("brier", bins="cbrt")([each["own"] for each in found]) == pytest.approx(
        cal.brier_score(golds, p)
    )
    assert [each["acc"] for each in found] == (p.argmax(axis=1) == golds).astype(float).tolist()


def test_different_numbers_of_choices() -> None:
    items = [(0, [0.6, 0.4]), (2, [0.1, 0.2, 0.7]), (0, [0.3, 0.3, 0.4])]
    assert aggregation("ece")(items) == cal.ece([1, 1, 0], [0.6, 0.7, 0.4])
    with pytest.raises(cal.InputError, match="gold is 'B'"):
        multiple_choice("answer")({"answer": "B"}, [(-1, True), (-2, False)])
