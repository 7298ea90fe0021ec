"""Streams that several threads write to and read from at a time: no row is lost, none is torn."""

import copy
import pickle
import sys
import threading

import numpy as np
import pytest

import calibrant as cal

THREADS, UPDATES, ROWS = 8, 40, 20
RNG = np.random.default_rng(0)
Y, P = RNG.integers(0, 2, ROWS), RNG.random(ROWS)


@pytest.fixture(autouse=True)
def _threads_take_turns_often():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


class Accumulators:
    """An Accumulator, how it is written to, and the rows that its sums are of."""

    @staticmethod
    def make():
        return cal.Accumulator(measures=["ece", "brier"])

    @staticmethod
    def update(stream, _):
        stream.update(Y, P)

    @staticmethod
    def rows(stream):
        return float(stream.evaluate().reliability.table.n.sum())


class Monitors:
    @staticmethod
    def make():
        return cal.Monitor(every="1d", keep=3)

    @staticmethod
    def update(stream, i):
        stream.update(Y, P, time=f"2026-01-{i % 6 + 1:02d}")

    @staticmethod
    def rows(stream):
        return Accumulators.rows(stream.total())


KINDS = [Accumulators, Monitors]


def run(*works):
    """Every work in a thread of its own, all at a time; an error of any is raised here."""
    errors = []

    def guarded(work):
        try:
            work()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    if errors:
        raise errors[0]


def writer(kind, stream):
    def work():
        for i in range(UPDATES):
            kind.update(stream, i)

    return work


@pytest.mark.parametrize("kind", KINDS)
def test_no_update_of_any_thread_is_lost(kind):
    stream = kind.make()
    run(*[writer(kind, stream)] * THREADS)
    assert stream.n_rows == THREADS * UPDATES * ROWS == kind.rows(stream)


@pytest.mark.parametrize("kind", KINDS)
def test_readers_see_whole_updates(kind, tmp_path):
    stream = kind.make()
    kind.update(stream, 0)
    seen = []

    def read():
        for i in range(UPDATES):
            path = tmp_path / f"{i}.state"
            stream.save(path)
            seen.extend(
                [
                    type(stream).load(path),
                    pickle.loads(pickle.dumps(stream)),
                    copy.copy(stream),
                    copy.deepcopy(stream),
                    kind.make().merge(stream),
                ]
            )

    run(read, *[writer(kind, stream)] * 3)
    assert [each.n_rows for each in seen] == [kind.rows(each) for each in seen]
    assert all(each.n_rows % ROWS == 0 for each in seen)
    assert stream.n_rows == (3 * UPDATES + 1) * ROWS == kind.rows(stream)


@pytest.mark.parametrize("kind", KINDS)
def test_merges_of_two_into_each_other_end(kind):
    one, two = kind.make(), kind.make()
    kind.update(one, 0)
    kind.update(two, 0)
    run(lambda: [one.merge(two) for _ in range(20)], lambda: [two.merge(one) for _ in range(20)])
    assert one.n_rows == kind.rows(one) and two.n_rows == kind.rows(two)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda stream: pickle.loads(pickle.dumps(stream))]
)
def test_copies_are_streams_of_their_own(kind, copied):
    stream = kind.make()
    kind.update(stream, 0)
    other = copied(stream)
    kind.update(other, 1)
    kind.update(other, 0)
    assert (stream.n_rows, other.n_rows) == (ROWS, 3 * ROWS)
    assert kind.rows(stream) == ROWS and kind.rows(other) == 3 * ROWS
    assert other.merge(stream).n_rows == 4 * ROWS
