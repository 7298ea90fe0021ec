"""Several processes that write one state, and files that are added more than once."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from command import csv, run

import calibrant as cal
from calibrant import StateError
from calibrant._core.atomic_files import FileChanged, atomic_write, version_of
from calibrant._core.file_locks import locked


def rows(path, seed, n=500):
    rng = np.random.default_rng(seed)
    p = np.round(rng.random(n), 5)
    y = (rng.random(n) < p).astype(int)
    at = [f"2026-01-{1 + seed % 28:02d}T10:00:00Z"] * n
    return csv(path, {"at": at, "label": y, "p": p})


def started(*arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "calibrant", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(cal.__file__))},
    )


class TestAtOnce:
    def test_no_update_is_lost(self, tmp_path):
        state = tmp_path / "days.state"
        files = [rows(tmp_path / f"{seed}.csv", seed) for seed in range(4)]
        running = [started("monitor", state, "--update", file, "--time", "at") for file in files]
        for each in running:
            _, err = each.communicate(timeout=120)
            assert each.returncode == 0, err
            assert "500 rows added" in err
        assert cal.Monitor.load(state).n_rows == 2000
        assert sorted(path.name for path in tmp_path.iterdir() if path.name[0] == ".") == []

    def test_no_merge_is_lost(self, tmp_path):
        """The total grows while a merge into it waits."""
        for seed in range(2):
            file = rows(tmp_path / f"{seed}.csv", seed)
            run("monitor", tmp_path / f"{seed}.state", "--update", file, "--time", "at")
        total = tmp_path / "0.state"
        with locked(total):
            waiting = started("merge", total, tmp_path / "1.state", "-o", total)
            assert waiting.stderr.readline() == f"{total}: waiting for another process\n"
            monitor = cal.Monitor.load(total)
            monitor.update([0, 1], [0.2, 0.9], time="2026-01-05").save(total)
        _, err = waiting.communicate(timeout=120)
        assert waiting.returncode == 0, err
        assert cal.Monitor.load(total).n_rows == 1002

    def test_who_waits_says_so(self, tmp_path):
        state, file = tmp_path / "days.state", rows(tmp_path / "a.csv", 1)
        with locked(state):
            waiting = started("monitor", state, "--update", file, "--time", "at")
            line = waiting.stderr.readline()
            assert line == f"{state}: waiting for another process\n"
            assert not state.exists()
        waiting.communicate(timeout=120)
        assert cal.Monitor.load(state).n_rows == 500

    def test_the_lock_is_for_threads_too(self, tmp_path):
        inside, most = [], []

        def work():
            with locked(tmp_path / "x"), locked(tmp_path / "x"):  # its own does not keep it out
                inside.append(1)
                most.append(len(inside))
                threading.Event().wait(0.01)
                inside.pop()

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert most == [1] * 8


@pytest.mark.parametrize("kind", [cal.Monitor, cal.Accumulator])
class TestSavedOverAnother:
    @staticmethod
    def add(stream):
        more = {"time": "2026-01-05"} if isinstance(stream, cal.Monitor) else {}
        return stream.update([0, 1, 1], [0.2, 0.7, 0.9], **more)

    def test_rows_of_another_writer_are_not_lost(self, tmp_path, kind):
        path = tmp_path / "s.state"
        self.add(kind()).save(path)
        first, second = kind.load(path), kind.load(path)
        self.add(first).save(path)
        with pytest.raises(StateError, match="was not written: another process"):
            self.add(second).save(path)
        assert kind.load(path).n_rows == 6
        second.save(tmp_path / "other.state")  # and then merged by hand
        self.add(first).save(path)  # who wrote last goes on
        assert kind.load(path).n_rows == 9

    def test_copies_and_new_ones_replace_it(self, tmp_path, kind):
        """As ever: only who has read a file can have lost what came after."""
        path = tmp_path / "s.state"
        self.add(kind()).save(path)
        self.add(self.add(kind())).save(path)
        assert kind.load(path).n_rows == 6


def test_a_map_that_another_process_wrote_stays(tmp_path):
    path = tmp_path / "map.json"
    before = version_of(path)
    path.write_text("theirs")
    with pytest.raises(FileChanged, match=r"map\.json was not written: another process"):  # noqa: SIM117
        with atomic_write(path, since=before) as temporary:
            temporary.write_text("ours")
    assert path.read_text() == "theirs" and len(list(tmp_path.iterdir())) == 1


def test_scale_keeps_a_map_that_came_meanwhile(tmp_path, monkeypatch):
    """Another process writes the map while this one fits."""
    from calibrant._cli import recalibration

    file, target = rows(tmp_path / "a.csv", 1), tmp_path / "map.json"
    fit = recalibration.fit_map

    def slow(*args, **kwargs):
        out = fit(*args, **kwargs)
        target.write_text("theirs")
        return out

    monkeypatch.setattr(recalibration, "fit_map", slow)
    done = run("scale", "--fit", file, "--method", "temperature", "-o", target)
    assert done.returncode == 3 and "was not written: another process" in done.stderr
    assert target.read_text() == "theirs"


class TestAddedTwice:
    @pytest.fixture
    def state(self, tmp_path):
        path = tmp_path / "days.state"
        done = self.update(path, rows(tmp_path / "a.csv", 1))
        assert done.returncode == 0, done.stderr
        return path

    @staticmethod
    def update(state, *files, again=False):
        more = ["--again"] if again else []
        return run("monitor", state, "--update", *files, "--time", "at", *more)

    def test_a_retry_is_an_error(self, state, tmp_path):
        before = state.read_bytes()
        done = self.update(state, tmp_path / "a.csv")
        assert done.returncode == 3
        assert "a.csv was added before, so its rows would count twice" in done.stderr
        assert "--again" in done.stderr
        assert state.read_bytes() == before

    def test_rows_are_added_again_where_it_is_asked_for(self, state, tmp_path):
        assert self.update(state, tmp_path / "a.csv", again=True).returncode == 0
        assert cal.Monitor.load(state).n_rows == 1000
        assert self.update(state, tmp_path / "a.csv").returncode == 3

    def test_a_copy_of_another_name(self, state, tmp_path):
        copy = tmp_path / "b.csv"
        copy.write_bytes((tmp_path / "a.csv").read_bytes())
        done = self.update(state, copy)
        assert done.returncode == 3 and "b.csv was added before under the name a.csv" in done.stderr

    def test_twice_in_one_call(self, tmp_path):
        copy = tmp_path / "b.csv"
        copy.write_bytes(rows(tmp_path / "a.csv", 1).read_bytes())
        done = self.update(tmp_path / "new.state", tmp_path / "a.csv", copy)
        assert done.returncode == 3 and not (tmp_path / "new.state").exists()

    def test_a_file_that_grew(self, state, tmp_path):
        file = tmp_path / "a.csv"
        with file.open("a") as stream:
            stream.write("2026-01-09T10:00:00Z,1,0.5\n")
        done = self.update(state, file)
        assert done.returncode == 3 and "a.csv has grown since it was added" in done.stderr

    def test_another_content_under_the_same_name(self, state, tmp_path):
        assert self.update(state, rows(tmp_path / "a.csv", 2)).returncode == 0
        assert cal.Monitor.load(state).n_rows == 1000

    def test_states_of_one_file_do_not_merge(self, state, tmp_path):
        other = tmp_path / "other.state"
        self.update(other, tmp_path / "a.csv")
        done = run("merge", state, other)
        assert done.returncode == 3 and "both states contain the rows of a.csv" in done.stderr
        assert run("merge", state, other, "--again").returncode == 0
        with pytest.raises(StateError, match=r"rows of a\.csv"):
            cal.Monitor.load(state).merge(cal.Monitor.load(other))

    def test_a_merged_state_remembers_both(self, state, tmp_path):
        other, total = tmp_path / "other.state", tmp_path / "total.state"
        self.update(other, rows(tmp_path / "b.csv", 2))
        run("merge", state, other, "-o", total)
        assert self.update(total, tmp_path / "a.csv").returncode == 3
        assert self.update(total, tmp_path / "b.csv").returncode == 3

    def test_only_the_last_are_remembered(self, state, tmp_path, set_limits):
        set_limits(remembered_files=2)
        self.update(state, rows(tmp_path / "b.csv", 2), rows(tmp_path / "c.csv", 3))
        names = [file.name for file in cal.Monitor.load(state).added.files]
        assert names == ["b.csv", "c.csv"]
        assert self.update(state, tmp_path / "a.csv").returncode == 0


@pytest.mark.parametrize(
    "added", [3, ["a.csv"], [["a.csv", -1, "0" * 32]], [["a.csv", 1, 5]], [[1, 1, "0" * 32]]]
)
def test_forged_lists_of_files(added):
    from calibrant._api.streaming.added_files import unpacked_files

    with pytest.raises(ValueError, match=r"added|size|unpack"):
        unpacked_files(added)


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_state_that_is_reached_by_a_link(tmp_path):
    files = [rows(tmp_path / f"{seed}.csv", seed) for seed in range(2)]
    state, link = tmp_path / "of-2026.state", tmp_path / "latest.state"
    link.symlink_to(state)
    for path, file in zip((state, link), files, strict=True):
        assert run("monitor", path, "--update", file, "--time", "at").returncode == 0
    assert link.is_symlink() and cal.Monitor.load(state).n_rows == 1000
    again = run("monitor", state, "--update", files[1], "--time", "at")
    assert again.returncode == 3 and "was added before" in again.stderr


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no such pipes")
def test_a_pipe_is_no_place_for_a_state(tmp_path):
    """Nor is /dev/null, which would be gone for everybody."""
    pipe, state = tmp_path / "pipe", tmp_path / "0.state"
    os.mkfifo(pipe)
    run("monitor", state, "--update", rows(tmp_path / "0.csv", 0), "--time", "at")
    done = run("merge", state, "-o", pipe)
    assert done.returncode == 3 and pipe.is_fifo()
    assert f"{pipe} cannot be written: it is a device or a pipe: name a file" in done.stderr


@pytest.mark.parametrize("first", ["plain", "packed"])
def test_a_packed_copy_has_the_same_rows(tmp_path, first):
    """Logs are often packed after a day, and found again by a pattern."""
    plain, state = rows(tmp_path / "0.csv", 0), tmp_path / "days.state"
    packed = tmp_path / "0.csv.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    one, other = (plain, packed) if first == "plain" else (packed, plain)
    assert run("monitor", state, "--update", one, "--time", "at").returncode == 0
    again = run("monitor", state, "--update", other, "--time", "at")
    assert again.returncode == 3 and f"was added before under the name {one.name}" in again.stderr
    grown = gzip.compress(plain.read_bytes() + b"2026-01-02T10:00:00Z,1,0.5\n")
    packed.write_bytes(grown)
    more = run("monitor", state, "--update", packed, "--time", "at")
    assert more.returncode == 3 and "has grown" in more.stderr
    assert cal.Monitor.load(state).n_rows == 500


def test_merge_says_its_own_option(tmp_path):
    file = rows(tmp_path / "0.csv", 0)
    for name in ("a", "b"):
        run("monitor", tmp_path / f"{name}.state", "--update", file, "--time", "at")
    done = run("merge", tmp_path / "a.state", tmp_path / "b.state")
    assert done.returncode == 3 and "or pass --again" in done.stderr


def test_a_failure_leaves_what_was_there(tmp_path):
    path = tmp_path / "page.html"
    path.write_text("old")
    with pytest.raises(RuntimeError):
        _half_written(path)
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["page.html"]
    with atomic_write(path) as beside:
        beside.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"


def _half_written(path):
    with atomic_write(path) as beside:
        beside.write_text("half of the ne")
        assert beside.name.startswith(".page.") and beside.suffix == ".html"
        raise RuntimeError


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_the_ending_of_a_link_is_that_of_the_name_given(tmp_path):
    (tmp_path / "rows.csv").symlink_to(tmp_path / "blob")
    with atomic_write(tmp_path / "rows.csv") as beside:
        assert beside.suffix == ".csv"
        beside.write_text("a,b\n")
    assert (tmp_path / "blob").read_text() == "a,b\n"
