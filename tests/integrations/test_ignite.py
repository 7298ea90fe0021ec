"""Ignite: the metric on a real engine, in one process and in two."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from needs import failed_examples, message_without, need

torch = need("torch")
need("ignite")


def rows(seed=0, n=400, k=3):
    random = np.random.default_rng(seed)
    logits = random.normal(size=(n, k))
    return torch.tensor(logits), torch.tensor(random.integers(k, size=n))


def run(metric, *batches):
    from ignite.engine import Engine

    engine = Engine(lambda _, batch: batch)
    metric.attach(engine, "calibration")
    return engine.run(list(batches)).metrics


def test_batches_of_an_engine_give_what_all_rows_give():
    from calibrant.integrations.ignite import Calibration

    logits, labels = rows()
    parts = list(zip(logits.split(90), labels.split(90), strict=True))
    expected = cal.evaluate(labels, logits, measures=["ece", "log_loss"], from_logits=True)
    found = run(Calibration(["ece", "log_loss"], from_logits=True), *parts)
    assert {name: found[name] for name in expected.values} == pytest.approx(
        expected.values, abs=1e-12
    )
    assert run(Calibration(from_logits=True), *parts)["calibration"] == pytest.approx(
        expected["ece"], abs=1e-12
    )


def test_every_epoch_begins_anew():
    from calibrant.integrations.ignite import Calibration

    metric = Calibration(from_logits=True)
    run(metric, rows(1))
    again = run(metric, rows(2))["calibration"]
    assert again == run(Calibration(from_logits=True), rows(2))["calibration"]


def test_weights_and_soft_labels():
    from calibrant.integrations.ignite import Calibration

    p, z, w = (torch.rand(50, dtype=torch.float64) for _ in range(3))
    found = run(Calibration("brier"), (p, z, w))["calibration"]
    assert found == pytest.approx(cal.evaluate(z, p, sample_weight=w)["brier"], abs=1e-12)


def test_an_epoch_without_rows_is_an_error():
    from calibrant.integrations.ignite import Calibration

    with pytest.raises(cal.InputError, match="no rows were added"):
        Calibration().compute()


def test_processes_meet_in_compute(monkeypatch):
    """What `all_gather` gives in two processes: the objects of both, one of which had no batch."""
    from calibrant.integrations import ignite as module

    logits, labels = rows()
    mine, other, idle = (module.Calibration(from_logits=True) for _ in range(3))
    mine.update((logits[:100], labels[:100]))
    other.update((logits[100:], labels[100:]))
    monkeypatch.setattr(module.idist, "get_world_size", lambda: 3)
    parts = [mine._sums, other._sums, idle._sums]
    monkeypatch.setattr(module.idist, "all_gather", lambda _: parts)
    expected = cal.ece(labels, logits, from_logits=True)
    assert mine.compute() == pytest.approx(expected, abs=1e-12)
    assert mine.compute() == other.compute()  # and what was gathered is unchanged


def _part_of_a_process(rank):
    import ignite.distributed as idist

    from calibrant.integrations.ignite import Calibration

    logits, labels = rows()
    mine = slice(rank, None, idist.get_world_size())
    metric = Calibration(from_logits=True)
    metric.update((logits[mine], labels[mine]))
    assert metric.compute() == pytest.approx(cal.ece(labels, logits, from_logits=True), abs=1e-12)


def test_two_real_processes():
    import ignite.distributed as idist

    idist.spawn("gloo", _part_of_a_process, (), nproc_per_node=2)


def test_without_the_package(monkeypatch):
    said = message_without("ignite", "calibrant.integrations.ignite", monkeypatch)
    assert "(the extra 'ignite')" in said


def test_the_examples():
    from calibrant.integrations import ignite

    assert not failed_examples(ignite)
