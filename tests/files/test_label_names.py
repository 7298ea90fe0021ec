"""Which label is which class: one rule for every format (docs/reference/files.md)."""

import gzip
import json
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import pytest

import calibrant as cal
from calibrant import InputError, read_file
from cli.command import main

N = 60
LABELS = np.arange(N) % 3
ORDER = ("2", "0", "1")
# Always right: 0.9 on the class that the label names.
RIGHT = {name: np.where(int(name) == LABELS, 0.9, 0.05) for name in ORDER}


def write(path, columns):
    """A table in the format of the path's name; lists of records where a column is a dict."""
    table = pa.table(
        {
            name: pa.StructArray.from_arrays([pa.array(v) for v in values.values()], list(values))
            if isinstance(values, dict)
            else pa.array(values)
            for name, values in columns.items()
        }
    )
    ends = path.name.split(".", 1)[1]
    text = {
        "csv": lambda: table.to_pandas().to_csv(index=False),
        "jsonl": lambda: "".join(json.dumps(row) + "\n" for row in table.to_pylist()),
    }
    packed = ends.removesuffix(".gz")
    if packed in text:
        content = text[packed]().encode()
        path.write_bytes(gzip.compress(content) if ends.endswith(".gz") else content)
    elif ends == "parquet":
        parquet.write_table(table, path)
    elif ends == "feather":
        feather.write_feather(table, path)
    else:
        np.savez(path, **{name: np.asarray(values) for name, values in columns.items()})
    return path


@pytest.fixture
def run(capsys):
    """A command in this process: its exit code, what it printed, and what it said of errors."""

    def running(*arguments):
        code = main([str(argument) for argument in arguments])
        found = capsys.readouterr()
        return code, found.out, found.err

    return running


def values(found):
    return {row["name"]: row["value"] for row in found["measures"]}


FORMATS = ("csv", "csv.gz", "jsonl", "jsonl.gz", "parquet", "feather", "npz")


@pytest.mark.parametrize("format", ["jsonl", "jsonl.gz", "parquet", "feather"])
@pytest.mark.parametrize("kind", ["whole", "float", "text"])
def test_fields_of_a_record_are_classes_by_name(tmp_path, format, kind, run):
    labels = {"whole": LABELS, "float": LABELS * 1.0, "text": LABELS.astype(str)}[kind]
    path = write(tmp_path / f"rows.{format}", {"label": labels, "probs": RIGHT})
    found = cal.evaluate_file(path)
    assert found["classification_error"] == 0
    assert "labels are names of classes: '2' is column 0, '0' is column 1" in found.inferred[1]
    held = read_file(path)
    # What is read can be measured again, with the names as titles.
    assert cal.evaluate(held.y_true, held.y_proba, classes=held.class_names)["brier"] == (
        pytest.approx(found["brier"], rel=1e-12)
    )
    code, out, _ = run("report", path, "--json", "--measures", "classification_error")
    assert code == 0 and values(json.loads(out)) == {"classification_error": 0}


@pytest.mark.parametrize("format", ["jsonl", "parquet"])
def test_records_with_sorted_keys_of_more_than_ten_classes(tmp_path, format):
    labels = np.arange(48) % 12
    names = sorted(map(str, range(12)))  # "0", "1", "10", "11", "2", ...
    rows = {name: np.where(labels == int(name), 0.89, 0.01) for name in names}
    path = write(tmp_path / f"rows.{format}", {"label": labels, "probs": rows})
    assert cal.evaluate_file(path)["classification_error"] == 0


def test_a_number_is_never_the_place_of_a_record_s_field(tmp_path):
    rows = {"cat": [0.9, 0.2], "dog": [0.1, 0.8]}
    for format in ("jsonl", "parquet"):
        path = write(tmp_path / f"rows.{format}", {"label": [0, 1], "probs": rows})
        with pytest.raises(InputError, match="y_true is 0, which is not in classes: the fields of"):
            cal.evaluate_file(path)
    path = write(tmp_path / "named.jsonl", {"label": ["cat", "dog"], "probs": rows})
    assert cal.evaluate_file(path)["classification_error"] == 0


CLASSES = (["1", "0"], [1, 0], ["0", "1"], ["no", "yes"])


def doors(tmp_path, labels, p):
    """The ECE of every door, by name: a function of the classes."""
    columns = {"label": labels, "p": p}
    frame = pd.DataFrame(columns)
    out = {}
    for format in FORMATS:
        path = write(tmp_path / f"rows.{format}", columns)
        out[format] = lambda classes, path=path: cal.evaluate_file(
            path, classes=classes, measures=["ece"]
        )
        out[f"{format} in memory"] = lambda classes, path=path: cal.evaluate(
            *(lambda rows: (rows.y_true, rows.y_proba))(read_file(path, classes=classes)),
            measures=["ece"],
        )
    inner = {
        "arrays": (labels, p, None),
        "lists": (labels.tolist(), p.tolist(), None),
        "frame": ("label", "p", frame),
        "lazy": ("label", "p", pl.from_pandas(frame).lazy()),
    }
    for name, (y, u, data) in inner.items():
        out[name] = lambda classes, y=y, u=u, data=data: cal.evaluate(
            y, u, data=data, classes=classes, measures=["ece"]
        )
    out["stream"] = lambda classes: (
        cal.Accumulator(classes=classes, measures=["ece"]).update(labels, p).evaluate()
    )
    return out


@pytest.mark.parametrize("kind", ["whole", "text", "truth"])
def test_every_door_takes_labels_by_one_rule(tmp_path, kind):
    outcomes = np.arange(N) % 2
    p = np.where(outcomes, 0.85, 0.15)
    labels = {"whole": outcomes, "text": outcomes.astype(str), "truth": outcomes > 0}[kind]
    every = doors(tmp_path, labels, p)
    for classes in CLASSES:
        if kind == "text" and classes == ["no", "yes"]:
            continue  # no names of these; a CSV cannot tell them from numbers
        expected = 0.85 if str(classes[0]) == "1" else 0.15
        for door, evaluated in every.items():
            found = evaluated(classes)
            assert found["ece"] == pytest.approx(expected), (door, classes)
            told = "numbers" if classes == ["no", "yes"] and door != "stream" else "names"
            if not door.endswith("in memory"):
                assert any(f"labels are {told}" in line for line in found.inferred), door


@pytest.mark.parametrize("kind", ["truth", "whole", "fractions"])
def test_truth_values_by_their_own_names(tmp_path, kind):
    outcomes = np.arange(N) % 2
    p = np.where(outcomes, 0.85, 0.15)
    labels = {"truth": outcomes > 0, "whole": outcomes, "fractions": outcomes * 1.0}[kind]
    for door, evaluated in doors(tmp_path, labels, p).items():
        assert evaluated(["true", "false"])["ece"] == pytest.approx(0.85), door
        assert evaluated(["False", "True"])["ece"] == pytest.approx(0.15), door


@pytest.mark.parametrize("format", FORMATS)
def test_labels_from_1_are_named_on_the_command_line(tmp_path, format, run):
    outcomes = np.arange(N) % 2
    path = write(
        tmp_path / f"rows.{format}", {"label": outcomes + 1, "p": np.where(outcomes, 0.85, 0.15)}
    )
    for classes, expected in (("1,2", 0.15), ("2,1", 0.85)):
        for more in ((), ("--stream",)):
            only = ("--measures", "ece", "--json", *more)
            found = json.loads(run("report", path, "--classes", classes, *only)[1])
            assert values(found)["ece"] == pytest.approx(expected)
            assert any(f"'{classes[0]}' is 0 (negative)" in line for line in found["inferred"])
    assert run("report", path, "--classes", "1,3")[0] == 3


def test_classes_of_several_columns_by_name(tmp_path, run):
    rows = np.column_stack([RIGHT[name] for name in ORDER])
    assert cal.evaluate(LABELS, rows, classes=ORDER)["classification_error"] == 0
    assert cal.evaluate(LABELS, rows, classes=[2, 0, 1])["classification_error"] == 0
    frame = pl.DataFrame({"label": LABELS} | {f"c{name}": RIGHT[name] for name in ORDER})
    columns = [f"c{name}" for name in ORDER]
    for data in (frame, frame.lazy(), frame.to_pandas()):
        found = cal.evaluate("label", columns, data=data, classes=ORDER)
        assert found["classification_error"] == 0
        with pytest.raises(InputError, match=r"numbers are not in order.*classes="):
            cal.evaluate("label", columns, data=data)
    path = tmp_path / "rows.csv"
    frame.write_csv(path)
    with pytest.raises(InputError, match=r"numbers are not in order.*classes="):
        cal.evaluate_file(path, y_proba=columns)
    assert cal.evaluate_file(path, y_proba=columns, classes=ORDER)["classification_error"] == 0
    code, _, said = run("report", path, "--proba", ",".join(columns))
    assert code == 3 and "--classes A,B,..." in said


def test_texts_that_are_one_number_are_told_apart():
    p = [0.1, 0.9]
    assert cal.ece(["01", "1"], p, classes=["01", "1"]) == pytest.approx(0.1)
    assert cal.ece(["1.0", "2"], p, classes=[1, 2]) == pytest.approx(0.1)
    with pytest.raises(InputError, match=r"y_true\[0\] is 1, which is not in classes"):
        cal.ece([1, 1], p, classes=["01", "001"])
    with pytest.raises(InputError, match="1 appears as a number and as text"):
        cal.ece([1, 1], p, classes=[1, "1"])
    with pytest.raises(InputError, match=r"cannot be found|not in classes"):
        cal.ece([0, 1], p, classes=["cat", "1"])


def test_missing_labels_of_a_csv_stay_missing_where_labels_are_names(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("label,p\n1.0,0.9\nNA,0.5\n2.0,0.1\n")
    found = cal.evaluate_file(path, classes=[2, 1], missing="drop")
    assert found["ece"] == pytest.approx(0.1) and found.recipe["n_missing"] == 1
    with pytest.raises(InputError, match="line 3: y_true is missing"):
        cal.evaluate_file(path, classes=[2, 1])


def test_models_whose_columns_say_their_classes_beside_one_whose_do_not(tmp_path, run):
    named = write(tmp_path / "named.jsonl", {"label": LABELS, "probs": RIGHT})
    mute = tmp_path / "mute.npz"
    np.savez(mute, label=LABELS, probs=np.column_stack([RIGHT[str(r)] for r in range(3)]))
    code, _, said = run("compare", named, mute)
    assert code == 3 and "those of mute do not" in said
    only = ("--measures", "brier", "--json")
    code, out, _ = run("compare", named, mute, "--classes", "0,1,2", *only)
    assert code == 0
    first, second = json.loads(out)["values"]["brier"]
    assert first == pytest.approx(second)


def test_recalibrated_rows_keep_their_labels(tmp_path, run):
    """Classes called 0 to k-1 in a record of another order: label 2 stays 2."""
    off = {name: np.where(np.arange(N) % 5 == 0, 1 / 3, RIGHT[name]) for name in ORDER}
    path = write(tmp_path / "rows.jsonl", {"label": LABELS, "probs": off})
    out = tmp_path / "out.csv"
    assert run("scale", "--fit", path, "--apply", path, "-o", out)[0] == 0
    found = pd.read_csv(out)
    np.testing.assert_array_equal(found["y_true"], LABELS)
    sure = np.arange(N) % 5 != 0
    columns = found[[f"y_proba_{r}" for r in range(3)]].to_numpy()
    np.testing.assert_array_equal(columns[sure].argmax(axis=1), LABELS[sure])


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("kind", ["whole", "text", "point"])
def test_numbers_that_doubles_cannot_tell_apart(tmp_path, format, kind):
    outcomes = np.arange(N) % 2
    labels = 2**53 + outcomes
    if kind != "whole":
        labels = np.array([f"{label}.0" if kind == "point" else str(label) for label in labels])
    path = write(
        tmp_path / f"rows.{format}", {"label": labels, "p": np.where(outcomes, 0.85, 0.15)}
    )
    for classes in ([2**53, 2**53 + 1], [str(2**53), str(2**53 + 1)]):
        found = cal.evaluate_file(path, classes=classes, measures=["ece"])
        assert found["ece"] == pytest.approx(0.15), classes


@pytest.mark.parametrize("first", [0, 2**53, 2**70])
def test_whole_decimals_keep_every_digit(tmp_path, first):
    outcomes = np.arange(N) % 2
    labels = pa.array([Decimal(first + int(y)) for y in outcomes], pa.decimal128(38, 0))
    path = tmp_path / "rows.parquet"
    parquet.write_table(pa.table({"label": labels, "p": np.where(outcomes, 0.85, 0.15)}), path)
    found = cal.evaluate_file(path, classes=[first, first + 1], measures=["ece"])
    assert found["ece"] == pytest.approx(0.15)
    if not first:
        assert cal.evaluate_file(path, classes=["no", "yes"])["ece"] == pytest.approx(0.15)


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
def test_columns_found_numbered_from_1_are_of_classes_from_1(tmp_path, format, run):
    p = {f"prob_{r}": np.where(np.arange(N) % 2 == r - 1, 0.8, 0.1) for r in (1, 2, 3)}
    path = write(tmp_path / f"rows.{format}", {"label": np.arange(N) % 2 + 1, **p})
    found = cal.evaluate_file(path, measures=["classification_error"])
    assert found["classification_error"] == 0
    assert "classes are '1', '2', '3', by the columns' names" in found.inferred
    # Called otherwise, the order of the columns is that of the classes.
    text = write(tmp_path / f"text.{format}", {"label": np.array(["a", "b"] * N)[:N], **p})
    assert cal.evaluate_file(text, classes=["a", "b", "c"])["classification_error"] == 0
    other = write(tmp_path / f"zero.{format}", {"label": np.arange(N) % 2, **p})
    with pytest.raises(InputError, match=r"numbered from 1, and so are classes.*classes="):
        cal.evaluate_file(other)
    assert cal.evaluate_file(other, classes=[0, 1, 2])["classification_error"] == 0
    again = write(tmp_path / f"again.{format}", {"label": np.arange(N) % 2 + 1, **p})
    assert run("compare", path, again, "--measures", "brier")[0] == 0
