"""`calibrant merge`, run as a user runs it, on the states of many writers."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import calibrant as cal
from shell_lines import run_main

rng = np.random.default_rng(5)
N = 600
REPORTS = rng.random(N)
OUTCOMES = (rng.random(N) < REPORTS).astype(int)
HOURS = rng.random(N) * 72
PARTS = np.array_split(np.arange(N), 3)


def merge(folder, *arguments):
    out, err = io.StringIO(), io.StringIO()
    code = run_main(["merge", *map(str, arguments)], folder, out, err)
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())


@pytest.fixture
def monitors(tmp_path):
    """Three writers' files in a folder."""
    for name, rows in zip("abc", PARTS, strict=True):
        monitor = cal.Monitor().update(OUTCOMES[rows], REPORTS[rows], time=HOURS[rows] * 3600)
        monitor.save(tmp_path / f"{name}.state")
    return tmp_path


@pytest.fixture
def accumulators(tmp_path):
    for name, rows in zip("abc", PARTS, strict=True):
        stream = cal.Accumulator().update(OUTCOMES[rows], REPORTS[rows])
        stream.save(tmp_path / f"{name}.state")
    return tmp_path


def test_monitors_become_one_table_and_one_file(monitors):
    done = merge(monitors, "a.state", "b.state", "c.state", "-o", "total.state")
    assert done.returncode == 0 and done.stderr == "3 states merged into total.state\n"
    total = cal.Monitor.load(monitors / "total.state")
    one = cal.Monitor().update(OUTCOMES, REPORTS, time=HOURS * 3600)
    assert [s.n_rows for s in total.windows().values()] == [
        s.n_rows for s in one.windows().values()
    ]
    for start, stream in one.windows().items():
        found = total.windows()[start].packed()["cells"]
        np.testing.assert_array_equal(found[:, 0], stream.packed()["cells"][:, 0])
        np.testing.assert_allclose(found, stream.packed()["cells"], rtol=1e-12)
    assert "600 rows" in done.stdout and "Windows of 1d, UTC" in done.stdout
    for start in ("1970-01-01", "1970-01-02", "1970-01-03"):
        assert start in done.stdout
    assert f"{one.evaluate().latest.values['ece']:.4f}" in done.stdout


def test_monitors_as_json_without_a_file(monitors):
    done = merge(monitors, "a.state", "b.state", "c.state", "--json")
    loaded = json.loads(done.stdout)
    one = cal.Monitor().update(OUTCOMES, REPORTS, time=HOURS * 3600).evaluate()
    assert loaded["windows"]["n"] == one.columns()["n"]
    assert loaded["windows"]["ece"] == pytest.approx(one.columns()["ece"], rel=1e-12)
    assert sorted(os.listdir(monitors)) == ["a.state", "b.state", "c.state"]


def test_accumulators_become_one_evaluation(accumulators):
    done = merge(accumulators, "a.state", "b.state", "c.state", "-o", "total.state")
    assert done.returncode == 0
    assert "A stream of 600 rows" in done.stdout and "smooth ECE" in done.stdout
    total = cal.Accumulator.load(accumulators / "total.state")
    assert total.evaluate()["ece"] == pytest.approx(cal.ece(OUTCOMES, REPORTS), rel=1e-12)
    loaded = json.loads(merge(accumulators, "total.state", "--json").stdout)
    expected = json.loads(total.evaluate().to_json())
    (said,), (note,) = loaded.pop("notes"), expected.pop("notes")
    assert loaded == expected
    # A command has no option of that name, and does not name it.
    assert said == note.removesuffix("; approximate=True takes some from 2526 cells") != note


def test_a_total_may_grow(monitors):
    merge(monitors, "a.state", "b.state", "-o", "total.state")
    done = merge(monitors, "total.state", "c.state", "-o", "total.state")
    assert done.returncode == 0
    assert cal.Monitor.load(monitors / "total.state").n_rows == N


def damaged(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))


def newer(path):
    path.write_bytes(path.read_bytes().replace(b"calibrant-state 4", b"calibrant-state 99", 1))


def older(path):
    path.write_bytes(path.read_bytes().replace(b"calibrant-state 4", b"calibrant-state 1", 1))


BREAK = {
    "damaged": (damaged, "checksum"),
    "newer": (newer, "format version 99; this Calibrant reads version 4"),
    "older": (older, "format version 1; this Calibrant reads version 4"),
    "cut short": (lambda path: path.write_bytes(path.read_bytes()[:-100]), "checksum"),
    "empty": (lambda path: path.write_bytes(b""), "not a Calibrant state file"),
    "foreign": (lambda path: path.write_text("day,ece\n"), "not a Calibrant state file"),
    "gone": (lambda path: path.unlink(), "cannot be read: No such file"),
    "other windows": (lambda path: cal.Monitor(every="1h").save(path), r"every ('1d' and '1h')"),
    "other bins": (lambda path: cal.Monitor(bins=10).save(path), "does not fit a.state"),
    "another kind": (
        lambda path: cal.Accumulator().save(path),
        "b.state holds an Accumulator while a.state holds a Monitor",
    ),
    "other columns": (
        lambda path: cal.Monitor().update([0, 1], [[0.5, 0.5]] * 2, time=0).save(path),
        "1 and 2 columns",
    ),
}


@pytest.mark.parametrize("how", BREAK)
def test_one_broken_file_is_named_and_nothing_is_written(monitors, how):
    spoil, said = BREAK[how]
    (monitors / "total.state").write_bytes(b"as it was")
    spoil(monitors / "b.state")
    done = merge(monitors, "a.state", "b.state", "c.state", "-o", "total.state")
    assert done.returncode == 3 and done.stdout == ""
    assert done.stderr.startswith("calibrant: b.state") and said in done.stderr
    assert "Traceback" not in done.stderr
    assert (monitors / "total.state").read_bytes() == b"as it was"


def test_a_file_given_twice_would_count_twice(monitors):
    (monitors / "link.state").symlink_to("a.state")
    for again in ("a.state", "./a.state", "link.state"):
        done = merge(monitors, "a.state", "b.state", again)
        assert done.returncode == 3 and "the same file" in done.stderr


def test_a_place_that_cannot_be_written_is_said(monitors):
    done = merge(monitors, "a.state", "-o", "no/such/folder/total.state")
    assert done.returncode == 3
    assert done.stderr == (
        "calibrant: no/such/folder/total.state cannot be written: No such file or directory\n"
    )


def test_states_without_rows_are_no_error(tmp_path):
    cal.Monitor().save(tmp_path / "m.state")
    cal.Accumulator().save(tmp_path / "a.state")
    for name in ("m.state", "a.state"):
        assert merge(tmp_path, name).stdout == "no rows yet\n"
        assert json.loads(merge(tmp_path, name, "--json", "-o", "out.state").stdout) is None


def test_help_names_the_verb(tmp_path):
    assert (
        "merge"
        in subprocess.run(
            [sys.executable, "-m", "calibrant", "--help"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    )
