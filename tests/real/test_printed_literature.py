"""Two sources of printed numbers, where their predictions are at hand as prepared files.

They are looked for in the folder `literature` beside the other real sets (`test_real_sets`).
"""

import csv
import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import calibrant as cal
from calibrant._research.papers.literature_rows import Rows
from calibrant._research.papers.literature_rules import agrees, measured, search

REPOSITORY = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("CALIBRANT_DATA") or REPOSITORY.parent / "shared" / "data")
FOLDER = DATA / "literature"
QUANTILES = "10 quantile bins, mean over bins"
SHORT = {
    "Mistral 7B": "Mistral",
    "Mixtral 8x7B": "Mixtral",
    "SOLAR 10.7B": "Solar",
    "GPT3.5 Turbo": "gpt-3.5-turbo",
    "GPT4 Turbo": "gpt-4-turbo",
    **{f"Llama 2 {n}B": f"Llama-{n}b" for n in (7, 13, 70)},
    **{f"Llama 3 {n}B": f"Llama3-{n}b" for n in (8, 70)},
    **{
        f"{name} {n}B": f"{name}-{n}b"
        for name, n in (("Falcon", 7), ("Falcon", 40), ("Yi", 6), ("Yi", 34))
    },
}


def table(name: str) -> list[dict[str, str]]:
    path = FOLDER / name
    if not path.is_file():
        pytest.skip(f"{name} is not at hand: CALIBRANT_DATA names the folder to look in")
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@cache
def choices() -> tuple[list[str], np.ndarray, np.ndarray, np.ndarray]:
    path = FOLDER / "llm_multiple_choice.npz"
    if not path.is_file():
        pytest.skip("llm_multiple_choice.npz is not at hand")
    with np.load(path, allow_pickle=False) as file:
        parts = [str(part) for part in file["parts"]]
        return parts, file["part"], file["correct"].astype(float), file["confidence"]


def chosen(*wanted: str) -> Rows:
    """The rows of all parts (benchmark|model|logits|prompt) that have the words that are given."""
    parts, part, correct, confidence = choices()
    found = [i for i, name in enumerate(parts) if set(wanted) <= set(name.split("|"))]
    kept = np.isin(part, found)
    return Rows(confidence[kept], correct[kept], None)


def audited(subset: str, column: str) -> Rows:
    """The rows of a model, and of one domain of it, with questions as clusters."""
    model, _, domain = subset.partition(" / ")
    rows = [
        row
        for row in table("llm_audit_mmlu.csv")
        if row["model"] == model and domain in ("", row["domain"])
    ]
    name, scale = ("stated_confidence", 100) if column == "stated" else ("token_probability", 1)
    return Rows(
        np.array([float(row[name]) for row in rows]) / scale,
        np.array([float(row["correct"]) for row in rows]),
        np.array([row["question"] for row in rows]),
    )


def test_all_aurocs_of_language_models_are_met():
    lines = [line for line in table("printed.csv") if line["measure"] == "auroc"]
    assert len(lines) == 200
    for line in lines:
        value = measured("auroc", "", chosen(*line["subset"].split("|")))
        assert value == pytest.approx(float(line["printed"]), abs=1e-9), line["subset"]


def test_two_eces_of_language_models_leave_out_confidences_of_one():
    lines = [
        line
        for line in table("printed.csv")
        if line["file"] == "llm_multiple_choice.npz" and line["measure"] == "ece"
    ]
    wrong = []
    for line in lines:
        rows = chosen(SHORT[line["subset"]], "norm")
        assert agrees(line["printed"], measured("ece", f"{QUANTILES}, 1 in no bin", rows))
        if not agrees(line["printed"], measured("ece", QUANTILES, rows)):
            wrong.append(line["subset"])
    assert len(lines) == 14 and sorted(wrong) == ["Llama 3 70B", "Mixtral 8x7B"]
    rows = chosen("Llama3-70b", "norm")
    assert int((rows.predictions == 1).sum()) == 11_699 and rows.outcomes.size == 42_814
    assert measured("ece", "10 quantile bins", rows) == pytest.approx(0.174, abs=5e-4)


def test_stated_confidences_of_the_audit_are_met_and_say_less_than_printed():
    lines = [line for line in table("printed.csv") if line["file"] == "llm_audit_mmlu.csv"]
    under = []
    for line in lines:
        rows = audited(line["subset"], line["column"])
        if not agrees(line["printed"], measured("ece", "10 bins", rows)):
            found = search("ece", "10 bins", line["printed"], rows)
            under.append((line["subset"], found))
            assert agrees(line["printed"], measured("ece", "10 bins, linspace", rows))
    assert len(lines) == 13
    assert under == [(f"claude_haiku / {d}", "10 bins, right") for d in ("Humanities", "STEM")]
    # Printed: 0.023 to 0.044, from rows. Five trials of a question are no five questions.
    rows = audited("claude_haiku", "stated")
    limits = cal.interval(rows.outcomes, rows.predictions, bins=10, groups=rows.clusters)
    assert limits.low == 0 and limits.high > 0.05
