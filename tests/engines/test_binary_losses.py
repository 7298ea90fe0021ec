"""The losses of binary predictions, summed by every engine, beside exact sums of the definition."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import calibrant as cal
from calibrant._core.loss_sums import FIELDS, N_PROPER
from calibrant._data.to_samples import to_samples
from calibrant._engines.arrays.losses import loss_sums
from every_engine import available, each_array_engine, engine

Array = NDArray[Any]
FLOOR = 1e-12


def exact(y: Array, p: Array, w: Array | None) -> dict[str, float]:
    """The definitions, row by row, summed without rounding."""
    rows: dict[str, list[float]] = {name: [] for name in FIELDS[2:N_PROPER]}
    weights = np.ones(len(p)) if w is None else w
    for z, u, weight in zip(
        y.astype(float).tolist(), p.astype(float).tolist(), weights.tolist(), strict=True
    ):
        below = 1.0 - u
        parts = ((1.0 - z, below), (z, u))
        top, hit = (u, z) if u > 0.5 else (below, 1.0 - z)
        cross = -math.fsum(q * math.log(max(x, FLOOR)) for q, x in parts if q > 0)
        cosine = math.fsum(q * x for q, x in parts) / math.hypot(below, u)
        rows["brier"].append(weight * (u - z) ** 2)
        rows["log"].append(weight * cross)
        rows["spherical"].append(weight * (1.0 - cosine))
        rows["classification"].append(weight * (1.0 - hit))
        rows["confidence"].append(weight * (1.0 - hit + (top - hit) ** 2))
    return {name: math.fsum(values) for name, values in rows.items()}


def cases() -> Iterator[Any]:
    rng = np.random.default_rng(5)
    for n in (1, 2, 7, 8, 9, 255, 256, 257, 1000, 70_001):
        p = rng.random(n)
        yield pytest.param((rng.random(n) < p).astype(np.int64), p, None, id=f"uniform {n}")
    p = rng.random(900)
    y = (rng.random(900) < p).astype(np.int64)
    for dtype in (np.bool_, np.uint8, np.int8, np.int32, np.float64):
        yield pytest.param(y.astype(dtype), p, None, id=f"labels of {dtype.__name__}")
    yield pytest.param(y, p.astype(np.float32), None, id="float32")
    yield pytest.param(np.repeat(y, 2)[::2], np.repeat(p, 3)[::3], None, id="every third")
    yield pytest.param(rng.random(900), p, None, id="soft")
    yield pytest.param(np.where(rng.random(900) < 0.01, 0.5, y), p, None, id="few soft")
    w = rng.exponential(size=900) * (rng.random(900) < 0.8)
    yield pytest.param(y, p, w, id="weights")
    yield pytest.param(rng.random(900), p, w, id="soft, weights")
    yield pytest.param(y, y.astype(float), None, id="right and certain")
    yield pytest.param(y, 1.0 - y, None, id="wrong and certain")
    yield pytest.param(y, np.full(900, 0.5), None, id="all at one half")
    yield pytest.param(y, np.where(y == 1, 1 - 1e-9 * p, 1e-9 * p), None, id="nearly right")
    yield pytest.param(y, np.where(y == 1, 1e-14 * p, 1 - 1e-13 * p), None, id="nearly wrong")


@pytest.mark.parametrize(("y", "p", "w"), list(cases()))
def test_each_loss_is_its_definition(y: Array, p: Array, w: Array | None) -> None:
    samples = to_samples(y, p, sample_weight=w)
    expected = exact(y, p, w)
    for engine_name in available():
        with engine(engine_name):
            together = loss_sums(samples)[0].sums
            alone = {name: loss_sums(samples, only=name)[0] for name in expected}
        for name, value in expected.items():
            which, found = (engine_name, name), together[FIELDS.index(name)]
            assert found == pytest.approx(value, rel=1e-12, abs=1e-300), which
            assert alone[name].mean(name) == found / together[1], which


def test_a_loss_that_was_left_out_has_no_value() -> None:
    samples = to_samples([0, 1], [0.2, 0.6])
    assert math.isnan(loss_sums(samples, only="brier")[0].mean("log"))


@each_array_engine
def test_engines_count_what_they_clip_and_lift(engine_name: str) -> None:
    y = np.array([0, 1, 1, 0] * 100)
    p = np.array([1.0, 0.0, 1.00001, -1e-5] * 100)
    with engine(engine_name):
        findings = loss_sums(to_samples(y, p))[1]
    assert (findings.n_log_clipped, findings.n_predictions_clipped) == (200, 200)


@each_array_engine
@pytest.mark.parametrize("row", [0, 5, 255, 256, 700])
@pytest.mark.parametrize("bad", [math.nan, 1.5, -0.2])
def test_the_first_bad_row_is_named(row: int, bad: float, engine_name: str) -> None:
    y, p = np.zeros(701, dtype=int), np.full(701, 0.25)
    p[[row, 700]] = bad
    with engine(engine_name), pytest.raises(cal.InputError, match=rf"y_proba\[{row}\]"):
        cal.brier_score(y, p)


@each_array_engine
def test_the_first_bad_row_may_be_one_of_its_weight(engine_name: str) -> None:
    y, p, w = np.zeros(400, dtype=int), np.full(400, 0.25), np.ones(400)
    w[300], p[350] = -1.0, math.nan
    with engine(engine_name), pytest.raises(cal.InputError, match=r"\[300\]"):
        cal.log_loss(y, p, sample_weight=w)
