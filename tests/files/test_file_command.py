"""`calibrant report`, to its end."""

from __future__ import annotations

import io
import json
import subprocess

import pytest
from file_makers import LABELS, NAMES, OUTCOMES, REPORTS, ROWS, WEIGHTS, write

import calibrant as cal
from shell_lines import run_main

DAY = ["monday" if i % 3 else "sunday" for i in range(OUTCOMES.size)]


def run(*arguments):
    out, err = io.StringIO(), io.StringIO()
    code = run_main(["report", *map(str, arguments)], ".", out, err)
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())


def test_a_table_in_the_terminal(tmp_path):
    path = write(tmp_path, "parquet", {"label": OUTCOMES, "p": REPORTS})
    done = run(path, "--measures", "ece,lin_ce", "--details")
    assert done.returncode == 0 and done.stderr == ""
    assert f"{path}: 1,250 rows" in done.stdout
    for words in ("by its name", "Measures", "lin_ce", "Reliability: 15 equal-width bins"):
        assert words in done.stdout


def test_json_with_every_option(tmp_path):
    columns = {"y": OUTCOMES, "score": REPORTS, "w": WEIGHTS}
    path = write(tmp_path, "npz", columns)
    done = run(
        path, "--label", "y", "--proba", "score", "--weight", "w", "--bins", 10,
        "--measures", "ece,lin_ce", "--missing", "drop", "--json",
    )  # fmt: skip
    found = json.loads(done.stdout)
    expected = cal.evaluate(
        OUTCOMES, REPORTS, sample_weight=WEIGHTS, bins=10, measures=["ece", "lin_ce"]
    )
    assert {m["name"]: m["value"] for m in found["measures"]} == pytest.approx(expected.values)
    assert found["recipe"]["columns"]["sample_weight"] == "w"


def test_several_files_classes_and_columns(tmp_path):
    columns = {f"c{j}": ROWS[:, j] for j in range(4)} | {"name": [NAMES[y] for y in LABELS]}
    lines = [",".join(columns)]
    lines += [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    for name, part in (("a", lines[1:900]), ("b", lines[900:])):
        (tmp_path / f"{name}.csv").write_text("\n".join([lines[0], *part]))
    done = run(
        tmp_path / "a.csv", tmp_path / "b.csv", "--label", "name", "--proba", "c0,c1",
        "--proba", "c2", "--proba", "c3", "--classes", ",".join(NAMES), "--json",
    )  # fmt: skip
    found = json.loads(done.stdout)
    assert found["recipe"]["n"] == LABELS.size and found["recipe"]["files"] == 2
    values = {m["name"]: m["value"] for m in found["measures"]}
    assert values["ece"] == pytest.approx(cal.ece(LABELS, ROWS))
    assert set(found["classes"]["class"]) == set(NAMES)


def test_slices_logits_edges_and_one_pass(tmp_path):
    path = tmp_path / "rows.jsonl"
    rows = zip(OUTCOMES.tolist(), REPORTS.tolist(), DAY, strict=True)
    path.write_text(
        "".join(json.dumps({"y": y, "z": 4 * p - 2, "day": d}) + "\n" for y, p, d in rows)
    )
    done = run(
        path, "--proba", "z", "--from-logits", "--by", "day", "--bins", "0,0.5,1", "--one-pass",
        "--progress", "--details",
    )  # fmt: skip
    assert done.returncode == 0
    assert "Slices by day, worst first" in done.stdout and "monday" in done.stdout
    assert "2 bins between given edges" in done.stdout
    assert "1,250 rows" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--proba", "q"], "names the column 'q'"),
        (["--measures", "eec"], "did you mean 'ece'?"),
        (["--format", "parket"], "parquet"),
        (["--missing", "skip"], "drop"),
        (["--bins", "many"], "neither a count"),
        (["--bins", "100000000"], "bins must be at most 1,000,000"),
        (["--bins", "quantile:100000000"], "bins must be at most 1,000,000"),
        (["--format", "arrow"], "cannot be read as Arrow"),
    ],
)
def test_what_is_wrong_is_one_sentence(tmp_path, arguments, said):
    path = write(tmp_path, "npz", {"label": OUTCOMES, "p": REPORTS})
    done = run(path, *arguments)
    assert done.returncode == 3 and done.stdout == ""
    assert done.stderr.startswith("calibrant") and done.stderr.count("\n") == 1
    assert said in done.stderr
