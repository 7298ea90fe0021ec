"""Weights of the same rows in two files: what is missing in both is the same in both."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from command import csv, run

from calibrant import InputError
from calibrant._cli.same_rows import _check_weights


def rows(*weights):
    return SimpleNamespace(sample_weight=np.array(weights))


def test_a_missing_weight_is_no_difference():
    _check_weights("b", "a", rows(1.0, np.nan), rows(1.0, np.nan))
    with pytest.raises(InputError, match="different weights"):
        _check_weights("b", "a", rows(1.0, np.nan), rows(np.nan, 1.0))


LABELS = ["cat", "dog", "eel", "dog", "cat", "eel"]
PREDICTIONS = {
    f"proba_{name}": [0.5 if own == name else 0.25 for own in LABELS]
    for name in ("cat", "dog", "eel")
}


def written(path, order, **changed):
    columns = {
        "id": list(range(6)),
        "label": LABELS,
        **PREDICTIONS,
        "w": [1, 2, 3, 4, 5, 6],
        **changed,
    }
    return csv(path, {name: [values[i] for i in order] for name, values in columns.items()})


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
