"""An Accumulator's sums are those of the whole stream, however it was cut, merged or saved."""

from __future__ import annotations

import contextlib
import os
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import calibrant as cal
import forks
from calibrant import InputError, StateError
from needs import need

DOCS = Path(__file__).parents[2] / "docs"
rng = np.random.default_rng(7)
N, K = 3000, 5
LOGITS = rng.normal(size=(N, K)) * 2
ROWS = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
LABELS = rng.integers(0, K, N)
SOFT_ROWS = rng.dirichlet(np.ones(K), N)
REPORTS = rng.random(N)
OUTCOMES = (rng.random(N) < REPORTS**1.3).astype(int)
WEIGHTS = rng.random(N)

STREAMS = {
    "binary": (OUTCOMES, REPORTS),
    "binary soft": (REPORTS**1.3, REPORTS),
    "multiclass": (LABELS, ROWS),
    "multiclass soft": (SOFT_ROWS, ROWS),
}
EXACT = {"ece", "rmsce", "mce", "classwise_ece", "brier", "log_loss", "spherical_loss"}
EXACT |= {"classification_error", "confidence_loss", "brier_uncertainty"}
EXACT |= {"dist_ce", "ent_ce", "rank_cs", "jsd", "kl"}


def pieces(*arrays):
    ends = [0, 1, 700, 701, 2500, N]
    for start, stop in pairwise(ends):
        yield tuple(array[start:stop] for array in arrays)


@pytest.mark.parametrize("kind", STREAMS)
@pytest.mark.parametrize("bins", [15, cal.EqualWidth(10, "right"), cal.Edges([0, 0.1, 0.35, 1])])
def test_exact_measures_equal_those_of_the_whole(kind, bins):
    y, p = STREAMS[kind]
    stream = cal.Accumulator(bins=bins)
    for part_y, part_p, part_w in pieces(y, p, WEIGHTS):
        stream.update(part_y, part_p, sample_weight=part_w)
    whole = cal.evaluate(y, p, bins=bins, sample_weight=WEIGHTS)
    found = stream.evaluate()
    for name in EXACT:
        if name in whole and name in found:
            assert found[name] == pytest.approx(whole[name], rel=1e-12), name
    assert found.reliability.n == whole.reliability.n == N
    assert found.recipe["n"] == N


@pytest.mark.parametrize("kind", STREAMS)
def test_merging_equals_updating(kind):
    y, p = STREAMS[kind]
    one, merged = cal.Accumulator(), cal.Accumulator()
    for part_y, part_p in pieces(y, p):
        one.update(part_y, part_p)
        merged.merge(cal.Accumulator().update(part_y, part_p))
    a, b = one.evaluate().values, merged.evaluate().values
    assert a.keys() == b.keys()
    for name in a:
        assert a[name] == pytest.approx(b[name], rel=1e-12, abs=1e-15), name


def test_measures_from_cells_are_close_and_say_so():
    sums = cal.Accumulator().update(OUTCOMES, REPORTS)
    stream, exact = sums.evaluate(approximate=True), sums.evaluate()
    whole = cal.evaluate(OUTCOMES, REPORTS)
    near = ("ks_error", "lin_ce", "debiased_l2", "brier_miscalibration", "ace")
    for name in near:
        assert stream[name] == pytest.approx(whole[name], abs=3e-3), name
        assert name not in exact
        with pytest.raises(InputError, match=r"does not keep.*approximate=True"):
            sums.evaluate(measures=[name])
    rules = dict(zip(stream.columns()["measure"], stream.columns()["bins"], strict=True))
    assert "cells" in rules["ks_error"] and "cells" in rules["lin_ce"]
    told = next(note for note in stream.notes if note.startswith("approximate, from 2526 cells: "))
    assert set(near) < set(told.partition(": ")[2].split(", "))
    assert any("not computed, because a stream does not keep" in note for note in exact.notes)
    assert (stream.recipe["approximate"], exact.recipe["approximate"]) == (True, False)


@pytest.mark.parametrize("kind", STREAMS)
def test_a_rule_for_all_measures_makes_the_truthful_errors_exact(kind, tmp_path):
    y, p = STREAMS[kind]
    rule = cal.EqualWidth(10)
    stream = cal.Accumulator(bins=rule).update(y, p)
    stream.save(tmp_path / "state")
    whole = cal.evaluate(y, p, bins=rule)
    names = ["debiased_l2", "confidence_ce_corrected"]
    names += ["classwise_ce", "confidence_ce"] if np.ndim(p) == 2 else ["lin_ce"]
    for found in (stream.evaluate(), cal.Accumulator.load(tmp_path / "state").evaluate()):
        for name in names:
            assert found[name] == pytest.approx(whole[name], rel=1e-12), name
            assert found.estimate(name).rule == str(rule)
        assert "ace" not in found
    with pytest.raises(StateError, match="own_bins"):
        stream.merge(cal.Accumulator(bins=10).update(y, p))


def test_float32_and_float64_streams_add_up():
    predictions = np.round(REPORTS, 1)
    narrow = cal.Accumulator(bins=10).update(OUTCOMES[:1000], predictions[:1000].astype(np.float32))
    wide = cal.Accumulator(bins=10).update(OUTCOMES[1000:], predictions[1000:])
    whole = cal.reliability(OUTCOMES, predictions, bins=10)
    found = narrow.merge(wide).evaluate().reliability
    assert found.columns()["n"] == whole.columns()["n"]


@pytest.mark.parametrize("kind", STREAMS)
def test_a_saved_state_comes_back_whole(kind, tmp_path):
    y, p = STREAMS[kind]
    stream = cal.Accumulator(bins=cal.EqualWidth(12, "right")).update(y, p)
    stream.save(tmp_path / "day.state")
    loaded = cal.Accumulator.load(tmp_path / "day.state")
    assert loaded.evaluate().values == stream.evaluate().values
    assert loaded.evaluate().to_dict() == stream.evaluate().to_dict()
    assert loaded.merge(stream).n_rows == 2 * N
    assert os.listdir(tmp_path) == ["day.state"]


def test_the_file_is_not_a_pickle_and_knows_its_version(tmp_path):
    path = tmp_path / "s"
    cal.Accumulator().update(OUTCOMES, REPORTS).save(path)
    content = path.read_bytes()
    assert content.startswith(b'calibrant-state 4\n{"arrays"')
    guide = DOCS.joinpath("reference/state-file.md").read_text(encoding="utf-8")
    assert "| 4 | this one |" in guide
    path.write_bytes(content.replace(b"calibrant-state 4", b"calibrant-state 5", 1))
    with pytest.raises(StateError, match="version 4"):
        cal.Accumulator.load(path)


@pytest.mark.parametrize("place", [30, 200, -40, -1])
def test_damage_is_found(tmp_path, place):
    path = tmp_path / "s"
    cal.Accumulator().update(OUTCOMES, REPORTS).save(path)
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(StateError, match="damaged"):
        cal.Accumulator.load(path)


def test_a_truncated_or_foreign_file_is_refused(tmp_path):
    path = tmp_path / "s"
    cal.Accumulator().update(OUTCOMES, REPORTS).save(path)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(StateError, match="damaged"):
        cal.Accumulator.load(path)
    path.write_bytes(b"something else")
    with pytest.raises(StateError, match="not a Calibrant state"):
        cal.Accumulator.load(path)


def test_killed_in_a_save_leaves_the_old_state_whole(tmp_path):
    path = tmp_path / "s"
    cal.Accumulator().update(OUTCOMES, REPORTS).save(path)
    program = (
        "import numpy as np, calibrant as cal\n"
        "a = cal.Accumulator().update(np.arange(5000) % 100, np.full((5000, 100), 0.01))\n"
        "say('ready')\n"
        "while True: a.save(arguments[0])\n"
    )
    for delay in (0.02, 0.11, 0.23):
        child, heard = forks.start(program, path)
        assert heard.recv() == "ready"
        time.sleep(delay)
        child.kill()
        child.join()
        heard.close()
        assert cal.Accumulator.load(path).n_rows in (N, 5000)


def test_bad_input_leaves_the_state_as_it_was():
    stream = cal.Accumulator().update(OUTCOMES, REPORTS)
    before = stream.evaluate().values
    bad = REPORTS.copy()
    bad[17] = np.nan
    with pytest.raises(InputError, match=r"y_proba\[17\]"):
        stream.update(OUTCOMES, bad)
    with pytest.raises(InputError, match="column"):
        stream.update(LABELS, ROWS)
    assert stream.evaluate().values == before


def test_different_recipes_refuse_to_merge():
    with pytest.raises(StateError, match="rule"):
        cal.Accumulator(bins=10).merge(cal.Accumulator(bins=11))
    a = cal.Accumulator().update(OUTCOMES, REPORTS)
    b = cal.Accumulator().update(LABELS, ROWS)
    with pytest.raises(StateError, match="columns"):
        a.merge(b)


def test_all_measures_are_asked_for_by_one_word():
    """As a monitor is; it is what an accumulator keeps by default."""
    stream = cal.Accumulator(measures="all")
    assert stream.recipe() == cal.Accumulator().recipe()
    assert stream.recipe()["measures"] == cal.Monitor(measures="all").recipe()["measures"]
    assert stream.update(OUTCOMES, REPORTS).merge(cal.Accumulator()).n_rows == len(OUTCOMES)
    for kind in (cal.Accumulator, cal.Monitor):
        with pytest.raises(InputError, match="list of names"):
            kind(measures="ece")


def test_what_a_stream_cannot_tell_is_said():
    stream = cal.Accumulator().update(LABELS, ROWS)
    for name in ("tace", "lin_ce", "ace"):
        assert name not in stream.evaluate()
        with pytest.raises(InputError, match="needs the rows"):
            stream.evaluate(measures=[name])
    with pytest.raises(InputError, match="no samples yet"):
        cal.Accumulator().evaluate()
    with pytest.raises(InputError, match="fixed in advance"):
        cal.Accumulator(bins=cal.Quantile(10))


@pytest.mark.parametrize("made_for", [["ece"], ["brier"], ["ks_error"], ["lin_ce"]])
@pytest.mark.parametrize("kind", ["binary", "multiclass"])
def test_what_was_not_summed_is_refused_and_what_was_is_the_same(made_for, kind):
    y, p = STREAMS[kind]
    some, every = cal.Accumulator(measures=made_for), cal.Accumulator()
    whole = every.update(y, p).evaluate(approximate=True).values
    some.update(y, p)
    given = set()
    for name, value in whole.items():
        with contextlib.suppress(InputError):
            found = some.evaluate(measures=[name], approximate=True)[name]
            given.add(name)
            assert found == pytest.approx(value, rel=1e-12, abs=1e-15)
    for name in whole.keys() - given:
        with pytest.raises(InputError, match=f"has sums only for .* not for '{name}'"):
            some.evaluate(measures=[name], approximate=True)
    assert {"ece", "rmsce", "mce"} <= given and "smooth_ece" not in given
    assert ("ks_error" in given) == (made_for[0] in ("ks_error", "lin_ce"))
    assert ("brier" in given) == ("log_loss" in given) == (made_for == ["brier"])


def test_rows_that_were_all_left_out_are_told_as_such():
    stream = cal.Accumulator(missing="drop").update([1, 0], [np.nan, np.nan])
    with pytest.raises(InputError, match="no row is left: each had a missing value"):
        stream.evaluate()
    with pytest.raises(InputError, match="no row is left: each had a missing value"):
        cal.evaluate([1, 0], [np.nan, np.nan], missing="drop")
    with pytest.raises(InputError, match="sample_weight is 0 in every row"):
        cal.Accumulator().update([1, 0], [0.5, 0.5], sample_weight=[0, 0]).evaluate()


def test_distances_are_left_out_when_only_some_updates_had_them():
    stream = cal.Accumulator().update(SOFT_ROWS, ROWS)
    assert "dist_ce" in stream.evaluate()
    stream.update(LABELS, ROWS)
    found = stream.evaluate()
    assert "dist_ce" not in found
    assert found.notes[-1].endswith(": not computed, because some updates had only hard labels")
    assert found.notes[-1].startswith("grouping_gap, dist_ce, ent_ce, rank_cs")
    with pytest.raises(InputError, match="'dist_ce' needs soft labels, but some of the updates"):
        stream.evaluate(measures=["dist_ce"])
    with pytest.raises(InputError, match="'dist_ce' needs soft labels, but all of the updates"):
        cal.Accumulator().update([0, 1], [0.2, 0.7]).evaluate(measures=["dist_ce"])


def test_distances_that_are_named_are_summed_of_hard_labels_too():
    names = ["dist_ce", "rank_cs", "brier"]
    stream = cal.Accumulator(measures=names).update(SOFT_ROWS, ROWS).update(LABELS, ROWS)
    hard = np.eye(ROWS.shape[1])[LABELS]
    whole = cal.evaluate(np.concatenate([SOFT_ROWS, hard]), np.concatenate([ROWS, ROWS]))
    assert stream.evaluate().values == pytest.approx({name: whole[name] for name in names})
    other = cal.Accumulator(measures=["jsd"]).update([0, 1], [0.2, 0.7])
    assert other.evaluate()["jsd"] == pytest.approx(cal.jsd([0, 1], [0.2, 0.7]))


@pytest.mark.parametrize("kind", ["binary", "multiclass"])
@pytest.mark.parametrize("place", ["tensors", "lazy frame"])
def test_distances_of_hard_labels_are_summed_where_they_lie(kind, place):
    y, p = STREAMS[kind]
    stream = cal.Accumulator(measures=["jsd", "dist_ce"])
    if place == "tensors":
        torch = need("torch")
        stream.update(torch.tensor(y), torch.tensor(p))
    else:
        pl = need("polars")
        names = [f"p{r}" for r in range(K)] if kind == "multiclass" else ["p0"]
        columns = dict(zip(names, np.atleast_2d(p.T), strict=True))
        proba = names if kind == "multiclass" else "p0"
        stream.update("y", proba, data=pl.LazyFrame({"y": y, **columns}))
    expected = cal.evaluate(y, p, measures=["jsd", "dist_ce"]).values
    assert stream.evaluate().values == pytest.approx(expected, rel=1e-9)


def test_logits_and_named_classes():
    names = [f"class {r}" for r in range(K)]
    stream = cal.Accumulator(from_logits=True, classes=names)
    stream.update([names[y] for y in LABELS], LOGITS)
    assert stream.evaluate()["ece"] == pytest.approx(cal.ece(LABELS, LOGITS, from_logits=True))


def test_the_dropped_one_rule_counts_what_it_drops():
    predictions = np.array([0.2, 1.0, 0.7, 1.0])
    outcomes = np.array([0, 1, 1, 0])
    rule = cal.EqualWidth(10, drop_one=True)
    found = cal.Accumulator(bins=rule).update(outcomes, predictions).evaluate()
    assert found.reliability.n_dropped == 2
    assert found["ece"] == pytest.approx(cal.ece(outcomes, predictions, bins=rule))
    assert any("in no bin" in note for note in found.notes)
