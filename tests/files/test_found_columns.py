"""Columns that are found without being told: usual names, less usual ones, fields of records."""

from __future__ import annotations

import json

import numpy as np
import pytest
from file_makers import LABELS, NAMES, OUTCOMES, REPORTS, ROWS, write

import calibrant as cal
from calibrant import InputError
from needs import need

BY_CLASS = [dict(zip(NAMES, map(float, row), strict=True)) for row in ROWS]
WORDS = [NAMES[label] for label in LABELS]


def records(path, kind, columns):
    """Rows with records in them, as JSON lines or as Parquet's structs."""
    if kind == "jsonl":
        rows = zip(*columns.values(), strict=True)
        lines = [json.dumps(dict(zip(columns, row, strict=True))) for row in rows]
        path = path / "rows.jsonl"
        path.write_text("\n".join(lines))
    else:
        pa, parquet = need("pyarrow"), need("pyarrow.parquet")
        path = path / "rows.parquet"
        parquet.write_table(pa.table(columns), path)
    return path


@pytest.mark.parametrize(
    ("label", "prediction"),
    [
        ("outcome", "risk"),
        ("event", "predicted_risk"),
        ("ground_truth", "score"),
        ("Y_test", "y_score"),
        ("observed", "forecast"),
    ],
)
def test_what_people_call_them(tmp_path, label, prediction):
    path = write(tmp_path, "npz", {label: OUTCOMES, prediction: REPORTS})
    found = cal.evaluate_file(path, measures=["ece"])
    assert found["ece"] == cal.ece(OUTCOMES, REPORTS)
    assert found.inferred[-1] == f"y_proba is the column {prediction!r}, by name"


def test_usual_names_come_before_less_usual_ones(tmp_path):
    columns = {"label": OUTCOMES, "event": 1 - OUTCOMES, "score": 9 * REPORTS, "p": REPORTS}
    path = write(tmp_path, "npz", columns)
    assert cal.evaluate_file(path, measures=["ece"])["ece"] == cal.ece(OUTCOMES, REPORTS)


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
class TestRecords:
    @pytest.mark.parametrize("told", [None, "probs"])
    def test_a_number_for_each_class(self, tmp_path, kind, told):
        path = records(tmp_path, kind, {"label": WORDS, "probs": BY_CLASS})
        found = cal.evaluate_file(path, y_proba=told)
        expected = cal.evaluate(WORDS, ROWS, classes=NAMES)
        assert found["ece"] == expected["ece"]
        assert found["classwise_ece"] == pytest.approx(expected["classwise_ece"], rel=1e-12)
        assert found.classes["class"][:2] == expected.classes["class"][:2]

    def test_soft_labels_follow_the_classes_and_not_the_order(self, tmp_path, kind):
        soft = [dict(reversed(row.items())) for row in BY_CLASS[::-1]]
        path = records(tmp_path, kind, {"label": soft, "probs": BY_CLASS})
        found = cal.evaluate_file(path, y_true="label", y_proba="probs", measures=["ece"])
        assert found["ece"] == pytest.approx(cal.soft_ece(ROWS[::-1], ROWS), rel=1e-12)

    def test_other_classes_are_refused(self, tmp_path, kind):
        soft = [{"cat": 0.5, "cow": 0.5} for _ in WORDS]
        path = records(tmp_path, kind, {"label": soft, "probs": BY_CLASS})
        with pytest.raises(InputError, match=r"the classes are 'cat', .*columns are 'label.cat'"):
            cal.evaluate_file(path, y_true="label")

    def test_names_within_records(self, tmp_path, kind):
        answers = [{"text": "x", "confidence": float(p)} for p in REPORTS]
        judged = [{"correct": bool(y)} for y in OUTCOMES]
        path = records(tmp_path, kind, {"answer": answers, "judge": judged})
        found = cal.evaluate_file(path, measures=["ece"])
        assert found["ece"] == cal.ece(OUTCOMES, REPORTS)
        assert found.inferred[-1] == "y_proba is the column 'answer.confidence', by name"

    def test_a_class_may_have_a_usual_name(self, tmp_path, kind):
        rows = [{"probs": {"p": float(p), "q": 1 - float(p)}} for p in REPORTS]
        label = ["p" if y else "q" for y in OUTCOMES]
        path = records(tmp_path, kind, {"label": label, "out": rows})
        found = cal.evaluate_file(path, measures=["ece"])
        both = np.stack([REPORTS, 1 - REPORTS], axis=1)
        assert found["ece"] == pytest.approx(cal.ece(1 - OUTCOMES, both), rel=1e-12)


def test_a_record_without_a_class_is_a_gap(tmp_path):
    rows = [*BY_CLASS[:-1], {"cat": 1.0}]
    path = records(tmp_path, "jsonl", {"label": WORDS, "probs": rows})
    with pytest.raises(InputError, match=r"line 1250: y_proba is missing"):
        cal.evaluate_file(path)


def test_every_name_that_would_be_found_is_told(tmp_path):
    path = write(tmp_path, "npz", {"label": OUTCOMES, "mine": REPORTS})
    with pytest.raises(InputError, match=r"usual name for it \(.*confidence, risk, .*score\)"):
        cal.evaluate_file(path)


@pytest.mark.parametrize("truth", ["truth", "ground_truth", "Gold"])
def test_a_label_beside_the_truth_may_be_an_answer(tmp_path, truth):
    answers = [1 - outcome for outcome in OUTCOMES]
    path = write(tmp_path, "npz", {"label": answers, truth: OUTCOMES, "p": REPORTS})
    with pytest.raises(InputError, match=rf"'label' or the column '{truth}' of .*: name one"):
        cal.evaluate_file(path, measures=["ece"])
    told = cal.evaluate_file(path, y_true=truth, measures=["ece"])
    assert told["ece"] == cal.ece(OUTCOMES, REPORTS)
    # Whether an answer was right is that, whatever the right answer was.
    path = write(tmp_path, "npz", {"correct": OUTCOMES, truth: answers, "p": REPORTS})
    assert cal.evaluate_file(path, measures=["ece"])["ece"] == cal.ece(OUTCOMES, REPORTS)


def test_a_confidence_beside_a_predicted_class_may_be_of_that_class(tmp_path):
    predicted = (np.asarray(REPORTS) > 0.5).astype(int)
    confidence = np.maximum(REPORTS, 1 - np.asarray(REPORTS))
    columns = {"y_pred": predicted, "Confidence": confidence, "label": OUTCOMES}
    path = write(tmp_path, "npz", columns)
    with pytest.raises(InputError, match="also has 'y_pred', so it may be the confidence"):
        cal.evaluate_file(path, measures=["ece"])
    found = cal.evaluate_file(
        path, answer="y_pred", gold="label", y_proba="Confidence", measures=["ece"]
    )
    assert found["ece"] == cal.ece(predicted == OUTCOMES, confidence)
    # Named, it is what it is said to be; and of what is right or wrong it can be nothing else.
    cal.evaluate_file(path, y_proba="Confidence", measures=["ece"])
    right = {"y_pred": predicted, "confidence": confidence, "correct": predicted == OUTCOMES}
    found = cal.evaluate_file(write(tmp_path, "npz", right), measures=["ece"])
    assert found["ece"] == cal.ece(predicted == OUTCOMES, confidence)
