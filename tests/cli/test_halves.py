"""Arrays val_... and test_... of one NPZ file: maps are fitted to the first, not compared."""

from __future__ import annotations

import json

import numpy as np
import pytest
from command import BETTER, OUTCOMES, REPORTS, run

HALF = OUTCOMES.size // 2
FROM = {"val": slice(None, HALF), "test": slice(HALF, None)}


@pytest.fixture
def archive(tmp_path):
    columns = {"labels": OUTCOMES, "big": REPORTS, "small": BETTER}
    arrays = {f"{h}_{c}": x[rows] for h, rows in FROM.items() for c, x in columns.items()}
    np.savez(tmp_path / "run.npz", **arrays)
    for half, rows in FROM.items():
        np.savez(tmp_path / f"{half}.npz", **{name: x[rows] for name, x in columns.items()})
    return tmp_path


@pytest.mark.parametrize("start", ["", "test_"])
def test_one_file_gives_what_two_files_give(archive, start):
    options = ["--measures", "brier", "--json"]
    named = ["--models", f"big={start}big", f"small={start}small"]
    two = run("compare", "test.npz", "--models", "big=big", "small=small", "--scale-on", "val.npz",
              *options, cwd=archive)  # fmt: skip
    one = run("compare", "run.npz", *named, "--scale-on", "run.npz", *options, cwd=archive)
    assert one.returncode == two.returncode == 0, one.stderr
    found, expected = json.loads(one.stdout), json.loads(two.stdout)
    assert found["values"] == expected["values"]
    assert "the arrays test_... of run.npz are read" in found["inferred"]
    assert any("val_..." in note for note in found["notes"])


def test_scale_fits_to_one_half_and_maps_the_other(archive):
    ways = {"run.npz": "run.npz", "val.npz": "test.npz"}
    outs = []
    for at, (fit, apply) in enumerate(ways.items()):
        out = f"out{at}.npz"
        done = run(
            "scale", "--fit", fit, "--apply", apply, "--proba", "big", "-o", out, cwd=archive
        )
        assert done.returncode == 0, done.stderr
        outs.append(dict(np.load(archive / out)))
    for name in outs[0]:
        np.testing.assert_array_equal(outs[0][name], outs[1][name])


def test_without_scale_on_no_half_is_chosen(archive):
    named = ["--models", "a=test_big", "b=test_small", "--label", "test_labels"]
    done = run("compare", "run.npz", *named, "--measures", "brier", cwd=archive)
    assert done.returncode == 0 and "val_" not in done.stdout


def test_scale_takes_columns_that_are_named_in_full(archive):
    named = ["--label", "val_labels", "--proba", "val_big", "-o", "out.csv"]
    done = run("scale", "--fit", "run.npz", "--apply", "run.npz", *named, cwd=archive)
    assert done.returncode == 0, done.stderr
    assert "the arrays" not in done.stdout
