"""Hugging Face evaluate: the same numbers, batch by batch or at once, without files or network."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError, UnknownOption
from needs import failed_examples, message_without, need


@pytest.fixture(scope="module", autouse=True)
def _late_imports():
    """Every process collects this file and one runs it: the package is imported then."""
    global evaluate, evaluate_metric, MEASURES, Calibration
    evaluate = need("evaluate")
    from calibrant.integrations import evaluate_metric
    from calibrant.integrations.evaluate_metric import MEASURES, Calibration


RNG = np.random.default_rng(0)
N = 240
P = RNG.random(N)
ROWS = RNG.dirichlet(np.ones(4), N)
LOGITS = RNG.normal(size=(N, 4))
CODES = RNG.integers(0, 4, N)
NAMES = ("a", "b", "c", "d")

PROBLEMS = {
    "binary": ((RNG.random(N) < P).astype(int), P, {}),
    "binary-soft": (RNG.random(N), P, {}),
    "multiclass": (CODES, ROWS, {}),
    "multiclass-soft": (RNG.dirichlet(np.ones(4), N), ROWS, {}),
    "logits": (CODES, LOGITS, {"from_logits": True}),
    "names": (np.array(NAMES)[CODES], ROWS, {"classes": NAMES}),
}


@pytest.fixture(params=PROBLEMS)
def problem(request):
    return PROBLEMS[request.param]


def expected(y, p, **options):
    found = cal.evaluate(y, p, **{"measures": MEASURES, **options})
    return {estimate.name: estimate.value for estimate in found.estimates}


def test_rows_at_once_are_measured_as_everywhere(problem):
    y, p, options = problem
    metric = Calibration(**options)
    assert metric.compute(predictions=p, references=y) == expected(y, p, **options)
    weights = np.arange(N) + 1.0
    found = metric.compute(predictions=p, references=y, sample_weight=weights)
    assert found == expected(y, p, sample_weight=weights, **options)


def test_batches_add_up(problem):
    y, p, options = problem
    metric = Calibration(bins=10, **options)
    for start in range(0, 200, 50):
        metric.add_batch(predictions=p[start : start + 50], references=y[start : start + 50])
    for row in range(200, 220):
        metric.add(prediction=p[row], reference=y[row])
    assert len(metric) == 220
    found = metric.compute(predictions=p[220:], references=y[220:])
    assert found == pytest.approx(expected(y, p, bins=10, **options), rel=1e-9)
    assert len(metric) == 0  # and it starts anew
    again = metric.compute(predictions=p[:9], references=y[:9])
    assert again == expected(y[:9], p[:9], bins=10, **options)


def test_weights_of_batches():
    y, p, _ = PROBLEMS["binary"]
    w = np.arange(N) % 3 + 0.5
    metric = Calibration()
    metric.add_batch(predictions=p[:-1], references=y[:-1], sample_weight=w[:-1])
    metric.add(prediction=p[-1], reference=y[-1], sample_weight=w[-1])
    assert metric.compute() == pytest.approx(expected(y, p, sample_weight=w), rel=1e-9)


def test_any_measure_of_the_catalogue_can_be_asked_for():
    y, p, _ = PROBLEMS["multiclass-soft"]
    names = [measure.name for measure in cal.catalogue("multiclass")]
    found = Calibration(measures=names).compute(predictions=p, references=y)
    assert found == expected(y, p, measures=names)
    assert Calibration(measures="ece").compute(predictions=p, references=y) == {
        "ece": cal.ece(y, p)
    }


def test_memory_does_not_grow():
    y, p, _ = PROBLEMS["multiclass"]
    metric = Calibration(measures=["ece", "classwise_ece", "log_loss"])

    def held():
        return sum(array.nbytes for array in metric._sums._state.values())

    metric.add_batch(predictions=p, references=y)
    before = held()
    for _ in range(30):
        metric.add_batch(predictions=p, references=y)
    assert len(metric) == 31 * N and held() == before < 100_000


def test_a_bad_batch_leaves_what_was_there():
    y, p, _ = PROBLEMS["binary"]
    metric = Calibration()
    metric.add_batch(predictions=p, references=y)
    with pytest.raises(InputError, match=r"y_proba\[1\] is 7.0"):
        metric.add_batch(predictions=[0.5, 7.0], references=[0, 1])
    assert len(metric) == N
    assert metric.compute() == pytest.approx(expected(y, p), rel=1e-9)


def test_the_metric_can_be_combined_with_others():
    y, p, _ = PROBLEMS["binary"]
    both = evaluate.combine([Calibration(measures=["ece"]), Calibration(measures=["brier"])])
    assert both.compute(predictions=p, references=y) == {
        "ece": cal.ece(y, p),
        "brier": cal.brier_score(y, p),
    }


def test_metrics_refuse_what_they_cannot_take():
    with pytest.raises(InputError, match="did you mean 'ece'"):
        Calibration(measures=["ecee"])
    with pytest.raises(UnknownOption, match="did you mean 'bins'"):
        Calibration(bin=3)
    with pytest.raises(InputError, match="num_process must be 1; got 2"):
        Calibration(num_process=2)
    with pytest.raises(InputError, match="no samples yet"):
        Calibration().compute()
    with pytest.raises(InputError, match="y_true must be numbers; it is None"):
        Calibration().compute(predictions=[0.2, 0.7])


OFFLINE = """
import socket

def refused(*arguments):
    raise OSError("no network")

socket.socket.connect = refused
socket.getaddrinfo = refused
"""

ALONE = (
    OFFLINE
    + """
import sys
from pathlib import Path

from calibrant.integrations import evaluate_metric
from calibrant.integrations.evaluate_metric import Calibration

metric = Calibration(measures=["ece"], bins=10)
metric.add_batch(predictions=[0.2, 0.7, 0.9, 0.4], references=[0, 1, 1, 0])
print(metric.compute())
written = [path for path in Path(sys.argv[1]).rglob("*") if path.suffix == ".arrow"]
print(written, (Path(sys.argv[1]) / "metrics").exists())

import evaluate
metric = evaluate.load(evaluate_metric.__file__, measures=["ece", "mce"], bins=10)
metric.add_batch(predictions=[0.2, 0.7], references=[0, 1])
metric.add_batch(predictions=[0.9, 0.4], references=[1, 0])
print(metric.compute())
"""
)


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """What is printed in a process of its own, with a home that nothing has been written to."""
    home = str(tmp_path_factory.mktemp("home"))
    environment = {**os.environ, "HF_HOME": home, "HF_HUB_OFFLINE": "1"}
    environment.pop("HF_MODULES_CACHE", None)
    done = subprocess.run(
        [sys.executable, "-c", ALONE, home], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_metric_is_loaded_from_its_file_without_a_network(alone):
    assert alone[2] == "{'ece': 0.25, 'mce': 0.4}"


def test_the_metric_writes_nothing(alone):
    assert alone[:2] == ["{'ece': 0.25}", "[] False"]


def test_without_the_package_the_way_to_get_it_is_said(monkeypatch):
    message = message_without("evaluate", "calibrant.integrations.evaluate_metric", monkeypatch)
    assert "pip install evaluate (the extra 'evaluate')" in message


def test_the_examples_run():
    assert failed_examples(evaluate_metric) == 0
