"""The installed command, run as a user runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import calibrant as cal

COMMAND = [sys.executable, "-m", "calibrant"]


def run(*arguments, **environment):
    return subprocess.run(
        [*COMMAND, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
        timeout=120,
    )


def test_demo_shows_the_example_as_a_table():
    done = run("demo")
    assert done.returncode == 0 and done.stderr == ""
    for words in (
        "Fashion-MNIST",
        "ece",
        "0.0728",
        "Reliability",
        "worst first",
        "Miscalibrated",
        "scaled by",
        "torchmetrics",
    ):
        assert words in done.stdout


def test_demo_as_json():
    loaded = json.loads(run("demo", "--json").stdout)
    assert set(loaded) == {"hard", "soft", "conventions", "comparison"}
    assert loaded["hard"]["verdict"]["verdict"] == "miscalibrated"
    assert {"low", "high"} <= set(loaded["hard"]["reliability"]["bins"])


def test_audit_of_one_measure(tmp_path):
    done = run("audit", "lin_ce", "-o", str(tmp_path / "audit"))
    assert done.returncode == 0 and done.stderr == ""
    assert "lin_ce" in done.stdout and "truthful" in done.stdout
    assert {path.name for path in (tmp_path / "audit").iterdir()} == {
        "audit.csv", "audit.json", "audit.md",
    }  # fmt: skip


def test_audit_of_an_unknown_measure_is_one_sentence():
    done = run("audit", "lin_cee")
    assert done.returncode == 3
    assert done.stderr.startswith("calibrant: ") and "'lin_ce'" in done.stderr
    assert done.stderr.count("\n") == 1


def test_reproduce_prints_a_paper_and_writes_its_folder(tmp_path):
    done = run("reproduce", "truthful", "--quick", "-o", str(tmp_path / "paper"))
    assert done.returncode == 0 and done.stderr == ""
    assert "Example C.1" in done.stdout and "0.0198" in done.stdout
    assert (tmp_path / "paper" / "index.html").is_file()
    loaded = json.loads(run("reproduce", "truthful", "--quick", "--json").stdout)
    assert loaded["name"] == "truthful" and loaded["recipe"]["seed"] == 42


def test_reproduce_refuses_what_it_cannot_do(tmp_path):
    done = run("reproduce", "trutful")
    assert done.returncode == 3 and "did you mean 'truthful'" in done.stderr
    done = run("reproduce", "truthful", "--data", str(tmp_path))
    assert done.returncode == 3 and "holds no pool" in done.stderr


def test_info_names_the_engine():
    facts = json.loads(run("info", "--json").stdout)
    assert facts["calibrant"] == cal.__version__
    assert facts["engine"] in ("native", "numpy")
    forced = run("info", CALIBRANT_ENGINE="numpy")
    assert "engine       numpy" in forced.stdout


def test_a_wrong_engine_is_one_sentence():
    done = run("info", CALIBRANT_ENGINE="nativ")
    assert done.returncode == 3
    assert done.stderr == (
        "calibrant: CALIBRANT_ENGINE='nativ' is not known: did you mean 'native'?\n"
    )


def test_a_reader_that_has_seen_enough_is_no_error():
    first = subprocess.Popen([*COMMAND, "demo"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert first.stdout is not None and first.stderr is not None
    first.stdout.read(10)
    first.stdout.close()
    assert b"Traceback" not in first.stderr.read()
    first.wait()
    first.stderr.close()


def test_help_and_version():
    assert cal.__version__ in run("--version").stdout
    assert "demo" in run().stdout
    assert run("dmo").returncode == 2
