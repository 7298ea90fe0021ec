"""Monitors of many writers, merged and saved: nothing is lost, nothing broken is taken."""

from __future__ import annotations

import hashlib
import json
import os
import time

import numpy as np
import pytest

import calibrant as cal
import forks
from calibrant import InputError, StateError
from monitored import (
    LABELS,
    OUTCOMES,
    REPORTS,
    ROWS,
    SECONDS,
    STREAMS,
    N,
    counts,
    states,
)


@pytest.mark.parametrize("kind", STREAMS)
def test_merging_writers_equals_one_writer(kind):
    y, p = STREAMS[kind]
    one, merged = cal.Monitor(every="6h"), cal.Monitor(every="6h")
    for part in np.array_split(np.arange(N), 4):
        one.update(y[part], p[part], time=SECONDS[part])
        merged.merge(cal.Monitor(every="6h").update(y[part], p[part], time=SECONDS[part]))
    assert states(one) == states(merged)
    assert merged.evaluate().to_dict() == one.evaluate().to_dict()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"every": "2h"}, r"every \('1h' and '2h'\)"),
        ({"bins": 10}, "rule"),
        ({"keep": 3}, r"keep \(None and 3\)"),
        ({"measures": ["ece"]}, "measures"),
        ({"missing": "drop"}, "missing"),
        ({"from_logits": True}, "from_logits"),
    ],
)
def test_different_recipes_refuse_to_merge(options, said):
    mine = cal.Monitor(every="1h").update(OUTCOMES, REPORTS, time=SECONDS)
    before = states(mine)
    with pytest.raises(StateError, match=said):
        mine.merge(cal.Monitor(**{"every": "1h", **options}))
    assert states(mine) == before


def test_other_shapes_and_kinds_refuse_to_merge():
    mine = cal.Monitor().update(OUTCOMES, REPORTS, time=0)
    with pytest.raises(StateError, match="1 and 4 columns"):
        mine.merge(cal.Monitor().update(LABELS, ROWS, time=0))
    with pytest.raises(StateError, match="got Accumulator"):
        mine.merge(cal.Accumulator())
    assert cal.Monitor(every="24h").merge(mine).n_rows == N  # 24 hours are a day


@pytest.mark.parametrize("kind", STREAMS)
@pytest.mark.parametrize("measures", [None, "all"])
def test_a_saved_monitor_comes_back_whole(kind, measures, tmp_path):
    y, p = STREAMS[kind]
    options = {"every": "6h", "keep": 3, "missing": "drop", "measures": measures}
    monitor = cal.Monitor(bins=cal.Edges([0, 0.1, 0.35, 1]), **options)
    monitor.update(y, p, time=np.where(np.arange(N) == 3, np.nan, SECONDS))
    monitor.save(tmp_path / "m.state")
    loaded = cal.Monitor.load(tmp_path / "m.state")
    assert states(loaded) == states(monitor)
    assert loaded.recipe() == monitor.recipe() and loaded.n_without_time == 1
    assert loaded.evaluate().to_dict() == monitor.evaluate().to_dict()
    assert loaded.merge(monitor).n_rows == 2 * (N - 1)
    with pytest.raises(InputError, match="were merged into one"):
        loaded.between("2026-01-06", None)
    assert os.listdir(tmp_path) == ["m.state"]


def test_an_empty_monitor_can_be_saved_and_merged(tmp_path):
    cal.Monitor(every="1h", measures=["brier"]).save(tmp_path / "m")
    loaded = cal.Monitor.load(tmp_path / "m")
    assert loaded.windows() == {} and loaded.measures == ("brier",) and "no rows" in repr(loaded)
    with pytest.raises(InputError, match="no samples yet"):
        loaded.evaluate()
    full = cal.Monitor(every="1h", measures=["brier"]).update(OUTCOMES, REPORTS, time=0)
    assert loaded.merge(full).n_rows == N


def test_one_kind_of_state_is_not_read_as_the_other(tmp_path):
    cal.Monitor().update(OUTCOMES, REPORTS, time=0).save(tmp_path / "m")
    cal.Accumulator().update(OUTCOMES, REPORTS).save(tmp_path / "a")
    with pytest.raises(StateError, match=r"m holds .*Monitor\.load"):
        cal.Accumulator.load(tmp_path / "m")
    with pytest.raises(StateError, match=r"a holds .*Accumulator\.load"):
        cal.Monitor.load(tmp_path / "a")


@pytest.mark.parametrize("place", [0, 16, 40, 400, -40, -1])
def test_damage_is_found(tmp_path, place):
    path = tmp_path / "m"
    cal.Monitor().update(OUTCOMES, REPORTS, time=SECONDS).save(path)
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(StateError, match=str(path)):
        cal.Monitor.load(path)


def forged(path, **changes):
    """A file whose checksum is right and whose header is not what a save writes."""
    first, header, rest = path.read_bytes()[:-32].split(b"\n", 2)
    known = json.loads(header)
    for key, value in changes.items():
        target = known
        *parents, last = key.split("__")
        for parent in parents:
            target = target[parent]
        target[last] = value
    content = b"\n".join([first, json.dumps(known, sort_keys=True).encode(), rest])
    path.write_bytes(content + hashlib.sha256(content).digest())


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "pickle"},
        {"arrays": [["counts", [10**9, 10**9]]]},
        {"arrays": [["counts", [1, 7]]]},
        {"arrays": [["counts", [-1]]]},
        {"arrays": None},
        {"index__windows": ["2026-01-05T01:00:00+00:00"] * 5},
        {"index__windows": ["2026-01-05"]},
        {"index__windows": [[], []]},
        {"index__earlier": ["2026-01-05"]},
        {"index": {}},
        {"recipe": {}},
        {"recipe__every": "never"},
        {"recipe__keep": "all"},
        {"recipe__rule": None},
        {"recipe__cells": 3},
        {"recipe__measures": ["no such"]},
    ],
    ids=str,
)
def test_a_file_that_no_save_has_written_is_refused_by_name(tmp_path, changes):
    path = tmp_path / "m"
    cal.Monitor().update(OUTCOMES, REPORTS, time=SECONDS).save(path)
    forged(path, **changes)
    with pytest.raises(StateError, match=str(path)):
        cal.Monitor.load(path)


def test_a_state_is_as_readable_as_any_file(tmp_path):
    path, plain = tmp_path / "m", tmp_path / "plain"
    cal.Monitor().update(OUTCOMES, REPORTS, time=0).save(path)
    plain.touch()
    assert path.stat().st_mode == plain.stat().st_mode


def test_classes_that_no_file_can_hold_are_said_and_nothing_is_left(tmp_path):
    monitor = cal.Monitor(classes=[b"no", b"yes"]).update([b"no", b"yes"], [0.2, 0.7], time=0)
    with pytest.raises(StateError, match="numbers or text"):
        monitor.save(tmp_path / "m")
    assert os.listdir(tmp_path) == []


SAVER = """
import numpy as np
import calibrant as cal
rng = np.random.default_rng(0)
monitor = cal.Monitor(every="1h", measures=["ece", "ks_error"], approximate=True)
p = rng.random(200_000)
monitor.update(rng.random(p.size) < p, p, time=np.arange(p.size) * 1.0)
say("ready")
while True:
    monitor.save(arguments[0])
"""


def test_killed_in_a_save_leaves_the_old_state_whole(tmp_path):
    path = tmp_path / "m"
    cal.Monitor(every="1h", measures=["ece", "ks_error"], approximate=True).update(
        OUTCOMES, REPORTS, time=SECONDS
    ).save(path)
    cut_short = 0
    for _ in range(20):
        child, heard = forks.start(SAVER, path)
        assert heard.recv() == "ready"
        # The moment there is something half-written beside the old file.
        patience = time.monotonic() + 60
        while not any(name.endswith(".part") for name in os.listdir(tmp_path)):
            assert child.is_alive() and time.monotonic() < patience
            time.sleep(1e-4)  # the core is the child's
        child.kill()
        child.join()
        heard.close()
        assert cal.Monitor.load(path).n_rows in (N, 200_000)
        left = [name for name in os.listdir(tmp_path) if name != "m"]
        # Hidden, so that `calibrant merge folder/*` does not meet it.
        assert all(name.startswith(".m.") for name in left)
        cut_short += bool(left)
        for name in left:
            (tmp_path / name).unlink()
        if cut_short == 2:
            break
    assert cut_short > 0


WRITER = """
import calibrant as cal
(y, p, seconds), part, out = arguments
monitor = cal.Monitor(every="6h", keep=12)
for batch in range(part, 40, 4):  # the batches of four writers, dealt out in turn
    rows = slice(batch * 75, (batch + 1) * 75)
    monitor.update(y[rows], p[rows], time=seconds[rows])
    monitor.save(out)  # as a live writer does, again and again
"""


@pytest.mark.parametrize("kind", ["binary", "multiclass"])
def test_four_writer_processes_equal_one(kind, tmp_path):
    y, p = STREAMS[kind]
    children = [
        forks.start(WRITER, (y, p, SECONDS), part, tmp_path / f"{part}.state")[0]
        for part in range(4)
    ]
    for child in children:
        child.join()
        assert child.exitcode == 0
    merged = cal.Monitor(every="6h", keep=12)
    for path in sorted(tmp_path.iterdir()):
        merged.merge(cal.Monitor.load(path))
    one = cal.Monitor(every="6h", keep=12).update(y, p, time=SECONDS)
    assert counts(merged) == counts(one)
    assert merged.earlier.n_rows == one.earlier.n_rows > 0
    assert merged.n_rows == N
    found, wanted = merged.evaluate().columns(), one.evaluate().columns()
    for name in ("ece", "brier", "log_loss", "mean_predicted", "mean_target"):
        assert found[name] == pytest.approx(wanted[name], rel=1e-12), name
