"""`calibrant check --config`: a TOML file says what could be typed, and no more."""

from __future__ import annotations

import json

import pytest
from command import SITES, binary, run

LIMITS = "[max]\nbrier = 0.3\n[min]\nauroc = 0.6\n"


def config(folder, text, name="checks.toml"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def limits_of(done):
    return [
        (row["measure"], row["slice"], row["verdict"]) for row in json.loads(done.stdout)["limits"]
    ]


def test_the_file_says_what_could_be_typed(tmp_path):
    path = binary(tmp_path)
    said = run("check", path, "--config", config(tmp_path, LIMITS), "--json")
    typed = run("check", path, "--max", "brier=0.3", "--min", "auroc=0.6", "--json")
    assert said.returncode == typed.returncode == 0
    assert limits_of(said) == limits_of(typed)


def test_files_and_baseline_lie_beside_the_configuration(tmp_path):
    folder = tmp_path / "gate"
    folder.mkdir()
    name = binary(folder).name
    text = f'files = "{name}"\nbaseline = "{name}"\nlevel = 0.9\n[max-increase]\nece = 0.01\n'
    done = run("check", "--config", config(folder, text))
    assert done.returncode == 0, done.stderr
    assert ": --baseline" in done.stdout and "--level 0.9" in done.stdout


def test_what_is_typed_comes_first(tmp_path):
    path, file = (
        binary(tmp_path),
        config(tmp_path, "level = 0.9\npoint = true\n[max]\nbrier = 0.01\nece = 0.9\n"),
    )
    done = run("check", path, "--config", file, "--max", "brier=0.3", "--level", "0.99", "--json")
    assert [row["max"] for row in json.loads(done.stdout)["limits"]] == [0.9, 0.3]
    assert done.returncode == 0 and json.loads(done.stdout)["point"]


def test_slices_have_a_tolerance_and_a_policy(tmp_path):
    path = binary(tmp_path, site=SITES)
    codes = {}
    for undecided in ("undecided", "warn", "fail"):
        slices = f'[slices]\nby = ["site"]\ntolerance = 0.12\nundecided = "{undecided}"\n'
        done = run("check", path, "--config", config(tmp_path, LIMITS + slices), "--json")
        found = json.loads(done.stdout)
        assert {row["measure"] for row in found["limits"] if row["slice"]} == {"ece"}
        assert "undecided" in {row["verdict"] for row in found["limits"] if row["slice"]}
        codes[undecided] = done.returncode
    assert codes == {"undecided": 2, "warn": 0, "fail": 1}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[max\n", "is not TOML"),
        ("maxx = 1\n", "there is no option 'maxx': did you mean 'max'?"),
        ("config = 'a.toml'\n[max]\nece = 0.9", "there is no option 'config'"),
        ("max = 0.05\n", "max must be a table, such as [max]; got 0.05"),
        ("[max]\nece = 'much'\n", "max.ece: 'much' is not a number"),
        ("[max]\nece = 0.9\n[slices]\ncolumn = 'site'\n", "slices has no key 'column'"),
        ("level = 95\n[max]\nece = 0.9\n", "level: '95' is not between 0 and 1"),
        ("point = 1\n[max]\nece = 0.9\n", "point must be true or false; got 1"),
        ("missing = 'skip'\n[max]\nece = 0.9\n", "missing: 'skip' is not known"),
        ("label = true\n[max]\nece = 0.9\n", "label must be a text or a number; got True"),
        ("level = 0.9\n", "there is nothing to check"),
    ],
)
def test_what_cannot_be_said_is_an_error(tmp_path, text, said):
    done = run("check", binary(tmp_path), "--config", config(tmp_path, text))
    assert done.returncode == 3 and said in done.stderr and done.stdout == ""


def test_a_file_is_needed(tmp_path):
    done = run("check", "--config", config(tmp_path, LIMITS))
    assert done.returncode == 3 and "no file to check is named" in done.stderr
    assert "cannot be read" in run("check", "--config", tmp_path / "no.toml").stderr
