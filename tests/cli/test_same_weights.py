"""Weights of the same rows in two files: what is missing in both is the same in both."""

from __future__ import annotations

import pytest
from command import csv, run

LABELS = ["cat", "dog", "eel", "dog", "cat", "eel"]
PREDICTIONS = {
    f"proba_{name}": [0.5 if own == name else 0.25 for own in LABELS]
    for name in ("cat", "dog", "eel")
}


def written(path, order, **changed):
    columns = {
        "id": list(range(6)), "label": LABELS, **PREDICTIONS, "w": [1, 2, 3, 4, 5, 6], **changed,
    }  # fmt: skip
    return csv(path, {name: [values[i] for i in order] for name, values in columns.items()})


def test_a_weight_missing_in_both_files_is_no_difference(tmp_path):
    first = written(tmp_path / "a.csv", range(6), w=[1, 2, "", 4, 5, 6])
    done = run("compare", first, written(tmp_path / "b.csv", range(6), w=[1, 2, "", 4, 5, 6]),
               "--weight", "w", "--missing", "drop")  # fmt: skip
    assert done.returncode == 0, done.stderr
    other = written(tmp_path / "c.csv", range(6), w=["", 2, 3, 4, 5, 6])
    done = run("compare", first, other, "--weight", "w", "--missing", "drop")
    assert done.returncode == 3 and "different weights" in done.stderr


class TestRowsThatAreNotTheSame:
    @pytest.fixture
    def first(self, tmp_path):
        return written(tmp_path / "a.csv", range(6))

    def test_another_order_is_seen_by_the_labels(self, first, tmp_path):
        """Not by the weights, which are of the same rows."""
        other = written(tmp_path / "b.csv", [1, 0, 2, 3, 4, 5])
        done = run("compare", first, other, "--weight", "w")
        assert done.returncode == 3
        assert "b and a have different labels in 2 of 6 rows, first in row 0 (dog and cat)" in (
            done.stderr
        )
        assert "--id COLUMN" in done.stderr

    def test_rows_of_one_label_in_another_order(self, first, tmp_path):
        other = written(tmp_path / "b.csv", [4, 1, 2, 3, 0, 5])
        done = run("compare", first, other, "--weight", "w")
        assert done.returncode == 3 and "different weights" in done.stderr
        assert "If rows are in another order, match them with --id COLUMN" in done.stderr
        matched = run("compare", first, other, "--weight", "w", "--id", "id")
        assert matched.returncode == 0, matched.stderr

    def test_other_weights(self, first, tmp_path):
        other = written(tmp_path / "b.csv", range(6), w=[1, 2, 3, 4, 5, 7])
        done = run("compare", first, other, "--weight", "w", "--id", "id")
        assert done.returncode == 3
        assert done.stderr.endswith("different weights for the same rows\n")
