"""Quantile bins of files are those of a sort, and files that change in between are noticed."""

from __future__ import annotations

import os
import time
from itertools import product

import numpy as np
import pytest
from file_makers import write

import calibrant as cal
from calibrant import InputError
from calibrant._data.readers import source
from pairs import pairs

rng = np.random.default_rng(5)
N = 6000
SHAPES = {
    "spread": rng.random(N),
    "single": rng.random(N).astype(np.float32),
    "crowded": 1 - rng.random(N) ** 12 * 1e-3,
    "ties": rng.integers(0, 11, N) / 10,
    "one": np.full(N, 0.3),
    "two": np.where(rng.random(N) < 0.5, 0.25, 0.25 + 2**-52),
    "overshoot": np.where(rng.random(N) < 0.5, 1 + 1e-6, rng.random(N)),
}
OUTCOMES = (rng.random(N) < 0.4).astype(np.int8)
WEIGHTS = rng.integers(0, 3, N).astype(np.float64)
BY_QUANTILES = ["lin_ce", "ace", "debiased_l2", "confidence_ce"]


@pytest.mark.parametrize(
    ("shape", "weighted", "m", "few"),
    pairs(product(SHAPES, [False, True], [1, 2, 15, 100], [1 << 18, 20])),
)
def test_quantile_bins_are_those_of_arrays(tmp_path, set_limits, shape, m, weighted, few):
    set_limits(sorted_rows=few, refined_groups=500, chunk_rows=700)
    p = SHAPES[shape]
    path = write(tmp_path, "npz", {"label": OUTCOMES, "p": p, "w": WEIGHTS})
    found = cal.evaluate_file(
        path, bins=m, measures=BY_QUANTILES, sample_weight="w" if weighted else None
    )
    expected = cal.evaluate(
        OUTCOMES, p, bins=m, measures=BY_QUANTILES, sample_weight=WEIGHTS if weighted else None
    )
    assert found.values == pytest.approx(expected.values, rel=1e-11, abs=1e-15)
    assert {e.rule for e in found.estimates} == {f"{m} quantile bins, ties together"}


def test_one_pass_is_close_and_says_so(tmp_path):
    path = write(tmp_path, "npz", {"label": OUTCOMES, "p": SHAPES["spread"]})
    found = cal.evaluate_file(path, measures=BY_QUANTILES, exact=False)
    expected = cal.evaluate(OUTCOMES, SHAPES["spread"], measures=BY_QUANTILES)
    assert found.values == pytest.approx(expected.values, abs=3e-3)
    assert found.values != expected.values
    assert all("from 2526 cells" in e.rule for e in found.estimates)


class Meddler:
    """Does something to a file after its first pass, before the next."""

    def __init__(self, monkeypatch, meddle):
        self.passes = 0
        whole = source.FileRows.pieces

        def pieces(rows):
            self.passes += 1
            if self.passes == 2:
                meddle()
            return whole(rows)

        monkeypatch.setattr(source.FileRows, "pieces", pieces)


def test_a_file_that_grows_between_passes(tmp_path, monkeypatch):
    path = write(tmp_path, "csv", {"label": OUTCOMES, "p": SHAPES["spread"]})

    def append():
        with path.open("a") as out:
            out.write("1,0.5\n")

    Meddler(monkeypatch, append)
    with pytest.raises(InputError, match=r"rows\.csv changed while it was read.*exact=False"):
        cal.evaluate_file(path, measures=["lin_ce"])


def test_a_file_replaced_by_one_of_the_same_size(tmp_path, monkeypatch):
    path = write(tmp_path, "npz", {"label": OUTCOMES, "p": SHAPES["spread"]})
    size, when = path.stat().st_size, path.stat().st_mtime_ns

    def replace():
        write(tmp_path, "npz", {"label": OUTCOMES, "p": SHAPES["spread"][::-1].copy()}, name="new")
        os.replace(tmp_path / "new.npz", path)
        os.utime(path, ns=(when, when))

    Meddler(monkeypatch, replace)
    with pytest.raises(InputError, match="changed while it was read"):
        cal.evaluate_file(path, measures=["lin_ce"])
    assert path.stat().st_size == size and path.stat().st_mtime_ns == when


def test_a_file_that_goes_away(tmp_path, monkeypatch):
    path = write(tmp_path, "npz", {"label": OUTCOMES, "p": SHAPES["spread"]})
    Meddler(monkeypatch, path.unlink)
    with pytest.raises(InputError, match=r"rows\.npz (cannot be read|changed)"):
        cal.evaluate_file(path, measures=["lin_ce"])


def test_a_file_that_changes_is_no_matter_to_one_pass(tmp_path):
    path = write(tmp_path, "jsonl", {"label": OUTCOMES, "p": SHAPES["spread"]})
    before = cal.evaluate_file(path, exact=False)
    time.sleep(0.01)
    os.utime(path)
    assert cal.evaluate_file(path, exact=False).values == before.values
