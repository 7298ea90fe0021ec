"""A class that rows before have not is an error, wherever it turns up: it cannot be left out."""

from __future__ import annotations

import json

import pytest

import calibrant as cal
from needs import need

TWO = {"label": "A", "probs": {"A": -0.1, "B": -2.4}}
THREE = {"label": "A", "probs": {"A": -0.4, "B": -2.4, "C": -1.5}}


def lines(path, *records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_a_later_file_of_records(tmp_path):
    lines(tmp_path / "a.jsonl", *[TWO] * 40)
    lines(tmp_path / "b.jsonl", *[THREE] * 40)
    for read in (cal.evaluate_file, cal.read_file):
        with pytest.raises(cal.InputError, match=r"b\.jsonl has 'probs\.C'.* no class 'C'"):
            read(tmp_path, from_logprobs=True)


@pytest.mark.parametrize("engine", ["numpy", "auto"])
@pytest.mark.parametrize("where", ["probs", "out.probs", "label"])
def test_later_lines_of_a_file(tmp_path, monkeypatch, engine, where):
    monkeypatch.setenv("CALIBRANT_ENGINE", engine)
    two, three, more = dict(TWO), dict(THREE), {}
    if where == "label":
        two |= {"label": {"A": 1, "B": 0}, "probs": {"A": 0.9, "B": 0.1}}
        three |= {"label": {"A": 1, "B": 0, "C": 0}, "probs": two["probs"]}
    else:
        more["from_logprobs"] = True
    if where == "out.probs":
        two, three = ({"label": "A", "out": {"probs": each["probs"]}} for each in (two, three))
    file = lines(tmp_path / "rows.jsonl", *[two] * 3000, three, *[two] * 20)
    with pytest.raises(cal.InputError, match=rf"line 3001 has '{where}\.C'.* no class 'C'"):
        cal.evaluate_file(file, **more)


def test_a_class_without_a_value_is_none(tmp_path):
    null = {"label": "A", "probs": {"A": 0.9, "B": 0.1, "C": None}}
    plain = {"label": "A", "probs": {"A": 0.9, "B": 0.1}}
    file = lines(tmp_path / "rows.jsonl", *[plain] * 3000, null)
    assert cal.read_file(file).y_proba.shape == (3001, 2)


def test_columns_that_are_named_may_be_some_of_several(tmp_path):
    two = {"label": 0, "probs": {"A": 0.9, "B": 0.1}}
    file = lines(tmp_path / "rows.jsonl", *[two] * 3000, {"label": 0, "probs": {**THREE["probs"]}})
    with pytest.raises(cal.InputError, match="line 3001"):
        cal.read_file(file, y_proba="probs")
    read = cal.read_file(file, y_proba=["probs.A", "probs.B"], classes=["A", "B"])
    assert read.y_proba.shape == (3001, 2)


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ("label,prob_A,prob_B\nA,.9,.1\n", "label,prob_A,prob_B,prob_C\nA,.5,.3,.2\n", "'prob_C'"),
        ("label,p0,p1\n0,.9,.1\n", "label,p0,p1,p2\n0,.5,.3,.2\n", "'p2'"),
    ],
)
def test_columns_found_by_name(tmp_path, first, second, said):
    (tmp_path / "a.csv").write_text(first)
    (tmp_path / "b.csv").write_text(second)
    with pytest.raises(cal.InputError, match=rf"b\.csv has {said}"):
        cal.read_file(tmp_path)


def test_a_later_file_of_structs(tmp_path):
    pa, parquet = need("pyarrow"), need("pyarrow.parquet")
    for name, record in (("a", TWO), ("b", THREE)):
        parquet.write_table(pa.Table.from_pylist([record] * 5), tmp_path / f"{name}.parquet")
    with pytest.raises(cal.InputError, match=r"b\.parquet has 'probs\.C'"):
        cal.read_file(tmp_path, from_logprobs=True)
