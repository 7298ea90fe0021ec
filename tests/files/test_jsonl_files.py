"""Records of language models: confidences may be missing, never invented; odd ones are refused."""

from __future__ import annotations

import bz2
import gzip
import json
import math

import numpy as np
import pytest
from file_makers import OUTCOMES, REPORTS, records

import calibrant as cal
from calibrant import InputError
from needs import need


def lines(path, *records):
    path.write_text("".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in records))
    return path


@pytest.fixture
def file(tmp_path):
    return tmp_path / "answers.jsonl"


GOOD = [
    {"question": "6 x 7?", "correct": True, "confidence": 0.9},
    {"question": "the capital of France?", "correct": False, "confidence": 0.7},
    {"question": "a prime?", "correct": 1, "confidence": 1},
    {"question": "1 + 1?", "correct": 0, "confidence": "0.25"},
]


def test_truth_values_numbers_and_numbers_in_quotes(file):
    lines(file, *GOOD)
    found = cal.evaluate_file(file, bins=10)
    expected = cal.evaluate([1, 0, 1, 0], [0.9, 0.7, 1.0, 0.25], bins=10)
    assert found["ece"] == expected["ece"] and found["brier"] == pytest.approx(expected["brier"])
    assert found.inferred[-2:] == (
        "y_true is the column 'correct', by its name",
        "y_proba is the column 'confidence', by name",
    )


@pytest.mark.parametrize(
    "record",
    [
        {"correct": 1},
        {"correct": 1, "confidence": None},
        {"confidence": 0.5},
        {"correct": None, "confidence": 0.5},
        {"correct": 0, "confidence": math.nan},
    ],
    ids=["no confidence", "null", "no label", "null label", "nan"],
)
def test_what_is_missing_is_counted_and_never_made_up(file, record):
    lines(file, *GOOD[:2], record, *GOOD[2:])
    with pytest.raises(InputError, match=r"answers\.jsonl, line 3: y_(true|proba)"):
        cal.evaluate_file(file)
    found = cal.evaluate_file(file, missing="drop", bins=10)
    assert found["ece"] == cal.ece([1, 0, 1, 0], [0.9, 0.7, 1.0, 0.25], bins=10)
    assert (found.recipe["n"], found.recipe["n_missing"]) == (4, 1)
    assert found.notes[0].startswith("1 row was dropped because a prediction, label or weight")


def test_a_file_of_missing_confidences_holds_nothing(file):
    lines(file, *({"correct": 1, "confidence": None} for _ in range(3)))
    with pytest.raises(InputError, match=r"3 rows, .*missing"):
        cal.evaluate_file(file, missing="drop")


def test_gaps_in_every_chunk(file, set_limits):
    set_limits(chunk_rows=100)
    kept = np.arange(REPORTS.size) % 7 != 0
    every = records({"correct": OUTCOMES, "confidence": REPORTS})
    lines(file, *(r if keep else {"correct": 1} for r, keep in zip(every, kept, strict=True)))
    found = cal.evaluate_file(file, missing="drop")
    expected = cal.evaluate(OUTCOMES[kept], REPORTS[kept])
    assert found["lin_ce"] == pytest.approx(expected["lin_ce"], rel=1e-12)
    assert found.recipe["n_missing"] == np.count_nonzero(~kept)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("85%", r"confidence is '85%', which is not a number.*divide them by 100"),
        ("0,85", "confidence is '0,85'.*a point, not a comma"),
        ("high", "confidence is 'high', which is not a number"),
        ("1_0", "confidence is '1_0', which is not a number"),
        (True, "confidence is true, but must be a number"),
        ({"p": 1}, "confidence is a record, but must be a number"),
        (85, r"y_proba\[2\] is 85.*percentages, divide by 100"),
        (10**400, "confidence is too large a number"),
        (-0.5, r"y_proba\[2\] is -0\.5"),
        (math.inf, r"y_proba\[2\] is inf"),
    ],
)
def test_odd_confidences_are_refused_with_their_line(file, value, said):
    lines(file, *GOOD[:2], {"correct": 1, "confidence": value}, *GOOD[2:])
    with pytest.raises(InputError, match=rf"answers\.jsonl, line 3: {said}"):
        cal.evaluate_file(file, missing="drop")


@pytest.mark.parametrize("value", ["partly", "P", [1], {"a": 1}])
def test_odd_labels_are_refused_with_their_line(file, value):
    lines(file, *GOOD[:2], {"correct": value, "confidence": 0.5}, *GOOD[2:])
    with pytest.raises(InputError, match=r"answers\.jsonl, line [13]:"):
        cal.evaluate_file(file, missing="drop")


def test_labels_by_name(file):
    lines(file, *({"label": w, "p": p} for w, p in [("no", 0.2), ("yes", 0.7), (None, 0.5)]))
    found = cal.evaluate_file(file, classes=["no", "yes"], missing="drop", bins=10)
    assert found["ece"] == cal.ece([0, 1], [0.2, 0.7], bins=10)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"correct": 1, "confidence": 0.5', r"line 3 is not JSON: .* at column \d+.*one record"),
        ("", None),
        ("   ", None),
        ("[1, 2]", "line 3 holds a list, but each line must be one record"),
        ("0.5", "line 3 holds a number"),
        ("null", "line 3 holds a null"),
        ("{}{}", "line 3 is not JSON: Extra data"),
        ("[" * 100_000, "line 3 is (nested too deeply|not JSON)"),
    ],
)
def test_bad_lines_are_told_and_empty_ones_passed_over(file, text, said):
    lines(file, *GOOD[:2], text, *GOOD[2:], {"correct": 1, "confidence": 7})
    if said is None:  # then the fault is in the last line, which counts the empty one
        said = r"line 6: y_proba\[4\] is 7"
    with pytest.raises(InputError, match=rf"answers\.jsonl, {said}"):
        cal.evaluate_file(file)


def test_a_whole_list_in_one_file_is_read_as_one(tmp_path):
    (tmp_path / "answers.json").write_text(json.dumps(GOOD, indent=1))
    assert cal.read_file(tmp_path / "answers.json").y_true.size == len(GOOD)
    with pytest.raises(
        InputError, match=r"answers\.json, line 1 is not JSON.*Each line must be one"
    ):
        cal.evaluate_file(tmp_path / "answers.json", format="jsonl")


def test_other_encodings_are_told(file):
    text = json.dumps({"correct": 1, "confidence": 0.5, "who": "Zoë"}, ensure_ascii=False)
    file.write_bytes((text + "\n").encode() + (text + "\n").encode("latin-1"))
    with pytest.raises(InputError, match=r"line 2 is not UTF-8 text"):
        cal.evaluate_file(file)


def test_a_mark_of_the_order_of_bytes_and_line_ends_of_all_kinds(file):
    text = "\r\n".join(json.dumps(record) for record in GOOD)
    file.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert cal.evaluate_file(file, bins=10).recipe["n"] == 4


@pytest.mark.parametrize("block", [1, 7, 64, 1000])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n"])
def test_lines_are_cut_anywhere_by_blocks(file, set_limits, block, end):
    set_limits(jsonl_block=block)
    some = records({"correct": OUTCOMES[:60], "confidence": REPORTS[:60]})
    file.write_bytes(end.join(json.dumps(record) for record in some).encode())
    found = cal.evaluate_file(file, measures=["ece"])
    assert found["ece"] == pytest.approx(cal.ece(OUTCOMES[:60], REPORTS[:60]), rel=1e-12)
    some[50]["confidence"] = "?"
    file.write_bytes(end.join(json.dumps(record) for record in some).encode())
    line = 101 if end == "\n\n" else 51
    with pytest.raises(InputError, match=rf"answers\.jsonl, line {line}: confidence is '\?'"):
        cal.evaluate_file(file, measures=["ece"])


def test_a_line_without_end_is_not_read_to_its_end(file, set_limits):
    set_limits(jsonl_block=100, longest_line=1 << 20)
    lines(file, *GOOD, {"correct": 1, "confidence": 0.5, "answer": "x" * (2 << 20)})
    with pytest.raises(InputError, match=r"line 5 is longer than 1 MiB"):
        cal.evaluate_file(file)


def test_two_records_in_a_line_are_not_two_lines(file):
    both = json.dumps(GOOD[0]) + "," + json.dumps(GOOD[1])
    lines(file, GOOD[0], both, GOOD[2])
    with pytest.raises(InputError, match=r"line 2 is not JSON: Extra data"):
        cal.evaluate_file(file)


def test_nested_fields_and_keys_with_dots(file):
    lines(
        file,
        {"grade": {"correct": 1}, "response": {"confidence": 0.9, "logprob.mean": 0.8}},
        {"grade": {"correct": 0}, "response": {"confidence": 0.6, "logprob.mean": 0.1}},
        {"grade": {"correct": 0}, "response": None},
    )
    options = {"y_true": "grade.correct", "missing": "drop", "bins": 10}
    found = cal.evaluate_file(file, y_proba="response.confidence", **options)
    assert found["ece"] == cal.ece([1, 0], [0.9, 0.6], bins=10) and found.recipe["n_missing"] == 1
    other = cal.evaluate_file(file, y_proba="response.logprob.mean", **options)
    assert other["ece"] == cal.ece([1, 0], [0.8, 0.1], bins=10)
    with pytest.raises(InputError, match=r"did you mean 'response\.confidence'"):
        cal.evaluate_file(file, y_true="grade.correct", y_proba="response.confidenc")


def test_a_key_with_dots_may_hold_others(file):
    lines(
        file,
        {"y": 1, "by": {"gpt-4.1": {"p.yes": 0.9}}, "v1.2": {"p": 0.8}, "v1": {"2": None}},
        {"y": 0, "by": {"gpt-4.1": {"p.yes": 0.6}}, "v1.2": {"p": 0.1}, "v1": {"3": 1}},
    )
    for name, p in (("by.gpt-4.1.p.yes", [0.9, 0.6]), ("v1.2.p", [0.8, 0.1])):
        rows = cal.read_file(file, y_true="y", y_proba=name)
        assert rows.y_true.tolist() == [1, 0] and rows.y_proba.tolist() == p


def test_a_field_that_comes_late_is_found(file):
    late = [{"correct": 1, "confidence": 0.5, "verbal": 0.75}]
    lines(file, *({"correct": 1, "confidence": 0.5} for _ in range(1500)), *late)
    found = cal.evaluate_file(file, y_proba="verbal", missing="drop")
    assert (found.recipe["n"], found.recipe["n_missing"]) == (1, 1500)


def test_lists_of_probabilities(file):
    rows = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], None, [0.3, None, 0.7], ["0.2", 0.2, 0.6]]
    lines(file, *({"label": y, "probs": p} for y, p in zip([0, 1, 2, 2, 0], rows, strict=True)))
    found = cal.evaluate_file(file, missing="drop", measures=["ece", "brier"])
    expected = cal.evaluate(
        [0, 1, 0], [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]], measures=["ece", "brier"]
    )
    assert found.values == pytest.approx(expected.values, rel=1e-12)
    lines(file, {"label": 1, "probs": [0.5, 0.5]}, {"label": 1, "probs": [0.2, 0.3, 0.5]})
    with pytest.raises(InputError, match="line 2: probs is a list of 3, but other rows have 2"):
        cal.evaluate_file(file)
    lines(file, {"label": 1, "probs": [0.5, 0.5]}, {"label": 1, "probs": 0.5})
    with pytest.raises(InputError, match=r"line 2: probs is 0\.5, but other rows have a list"):
        cal.evaluate_file(file)
    lines(file, *[{"label": 1, "probs": 0.5}] * 6, {"label": 1, "probs": [0.5, 0.5]})
    with pytest.raises(InputError, match="line 7: probs is a list, but other rows have none"):
        cal.evaluate_file(file)
    lines(file, {"label": 1, "probs": [0.5, 0.5]}, {"label": 1, "probs": [0.5, "half"]})
    with pytest.raises(InputError, match="line 2: probs is 'half', which is not a number"):
        cal.evaluate_file(file)


def test_soft_labels_and_weights(file):
    lines(file, {"label": 0.3, "p": 0.2, "votes": 3}, {"label": 1, "p": 0.7, "votes": 5})
    found = cal.evaluate_file(file, sample_weight="votes", bins=10)
    expected = cal.evaluate([0.3, 1], [0.2, 0.7], sample_weight=[3, 5], bins=10)
    assert found["ece"] == pytest.approx(expected["ece"], rel=1e-12)
    assert "labels are soft (probabilities)" in found.inferred


@pytest.mark.parametrize("pack", ["gz", "bz2", "zst"])
def test_packed_files(tmp_path, pack):
    text = "".join(
        json.dumps(r) + "\n" for r in records({"correct": OUTCOMES, "confidence": REPORTS})
    )
    path = tmp_path / f"answers.jsonl.{pack}"
    if pack == "zst":
        packed = bytes(need("pyarrow").compress(text.encode(), "zstd"))
    else:
        packed = {"gz": gzip, "bz2": bz2}[pack].compress(text.encode())
    path.write_bytes(packed)
    found = cal.evaluate_file(path, measures=["ece", "lin_ce"])
    expected = cal.evaluate(OUTCOMES, REPORTS, measures=["ece", "lin_ce"])
    assert found.values == pytest.approx(expected.values, rel=1e-12)
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(InputError, match=r"ends too early|cannot be read|is not JSON"):
        cal.evaluate_file(path)


@pytest.mark.parametrize("suffix", ["json", "jsonl"])
@pytest.mark.parametrize("indent", [None, 2])
def test_a_record_of_columns_is_not_a_row(tmp_path, suffix, indent):
    lists = {"label": [0, 1, 0], "p": [0.4, 0.5, 0.1]}
    keyed = {name: dict(zip("012", each, strict=True)) for name, each in lists.items()}
    path = tmp_path / f"rows.{suffix}"
    for columns in (lists, keyed, {name: each * 9000 for name, each in lists.items()}):
        path.write_text(json.dumps(columns, indent=indent))
        with pytest.raises(cal.InputError, match=r"is one record of columns.*format='jsonl'"):
            cal.evaluate_file(path)
    path.write_text(json.dumps(lists) + "\n")
    assert cal.read_file(path, format="jsonl").y_proba.shape == (1, 3)
    path.write_text(json.dumps({"id": 7, **lists}))
    assert cal.read_file(path).y_proba.shape == (1, 3)
    path.write_text(
        json.dumps({"label": [0, 1], "probs": [0.4, 0.6]})
        + "\n\n"
        + json.dumps({"label": [0, 1], "probs": [0.4, 0.6]})
    )
    assert cal.read_file(path).y_proba.shape == (2, 2)
