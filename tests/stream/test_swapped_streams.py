"""Soft labels while every prediction is 0 or 1: one rule, in every door."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from needs import need

rng = np.random.default_rng(0)
N = 60
CERTAIN = (rng.random(N) < 0.5).astype(float)
SHARES = rng.random(N)
ROWS = np.eye(3)[rng.integers(0, 3, N)]
SOFT_ROWS = rng.dirichlet([1, 1, 1], N)
SAID = "y_true holds fractions while every y_proba is 0 or 1"


def of_accumulator(y, p, **more):
    return cal.Accumulator().update(y, p, **more).evaluate()


def of_parts(y, p, **more):
    parts = [slice(None, 20), slice(20, None)]
    streams = [
        cal.Accumulator().update(y[part], p[part], **{k: v[part] for k, v in more.items()})
        for part in parts
    ]
    return streams[0].merge(streams[1]).evaluate()


def of_monitor(y, p, **more):
    return cal.Monitor().update(y, p, time="2026-01-05", **more).evaluate()


def of_file(y, p, tmp_path, **more):
    pl = need("polars")
    file = tmp_path / "rows.parquet"
    columns = {"p": p, "label": y} if p.ndim == 1 else {"p": p.tolist(), "label": y.tolist()}
    pl.DataFrame(columns | more).write_parquet(file)
    return cal.evaluate_file(file, votes="votes" if more else None)


def of_frame(y, p, **more):
    pl = need("polars")
    frame = pl.DataFrame({"p": p, "label": y, **more}).lazy()
    return cal.evaluate("label", "p", data=frame, votes="votes" if more else None)


def of_lazy_stream(y, p, **more):
    pl = need("polars")
    frame = pl.DataFrame({"p": p, "label": y, **more}).lazy()
    votes = "votes" if more else None
    return cal.Accumulator().update("label", "p", data=frame, votes=votes).evaluate()


def of_tensors(y, p, **more):
    torch = need("torch")
    return cal.Accumulator().update(torch.tensor(y), torch.tensor(p), **more).evaluate()


DOORS = {
    "evaluate": cal.evaluate,
    "Accumulator": of_accumulator,
    "merged": of_parts,
    "Monitor": of_monitor,
    "file": of_file,
    "lazy frame": of_frame,
    "stream of a lazy frame": of_lazy_stream,
    "stream of tensors": of_tensors,
}
SCALAR_ONLY = ("lazy frame", "stream of a lazy frame")


def through(door, y, p, tmp_path, **more):
    return DOORS[door](y, p, **({"tmp_path": tmp_path} if door == "file" else {}), **more)


@pytest.mark.parametrize("door", DOORS)
class TestOneRule:
    def test_fractions_against_certain_predictions(self, door, tmp_path):
        with pytest.raises(cal.InputError, match=SAID):
            through(door, SHARES, CERTAIN, tmp_path)

    def test_rows_of_classes(self, door, tmp_path):
        if door in SCALAR_ONLY:
            pytest.skip("columns of a frame are named one by one")
        with pytest.raises(cal.InputError, match=SAID):
            through(door, SOFT_ROWS, ROWS, tmp_path)

    def test_one_prediction_between_is_enough(self, door, tmp_path):
        p = CERTAIN.copy()
        p[-1] = 0.5
        assert through(door, SHARES, p, tmp_path) is not None

    def test_hard_labels_are_fine(self, door, tmp_path):
        assert through(door, 1 - CERTAIN, CERTAIN, tmp_path) is not None

    def test_votes_are_fine(self, door, tmp_path):
        votes = rng.integers(2, 9, N)
        counts = rng.binomial(votes, 0.5)
        assert through(door, counts, CERTAIN, tmp_path, votes=votes) is not None


@pytest.mark.parametrize("kind", [cal.Accumulator, cal.Monitor])
def test_a_state_remembers_that_labels_are_votes(kind, tmp_path):
    more = {"time": "2026-01-05"} if kind is cal.Monitor else {}
    votes = rng.integers(2, 9, N)
    kind().update(rng.binomial(votes, 0.5), CERTAIN, votes=votes, **more).save(tmp_path / "a")
    assert kind.load(tmp_path / "a").evaluate() is not None
    kind().update(SHARES, CERTAIN, **more).save(tmp_path / "b")
    with pytest.raises(cal.InputError, match=SAID):
        kind.load(tmp_path / "b").evaluate()


def test_a_window_of_a_sound_stream_may_be_certain():
    monitor = cal.Monitor().update(SHARES, CERTAIN, time="2026-01-05")
    monitor.update(SHARES, np.full(N, 0.3), time="2026-01-06")
    assert [window.n for window in monitor.evaluate()] == [N, N]


def test_saturated_logits_are_no_labels():
    logits = np.where(CERTAIN == 1, 800.0, -800.0)
    assert cal.Accumulator(from_logits=True).update(SHARES, logits).evaluate() is not None
    assert cal.evaluate(SHARES, logits, from_logits=True) is not None
