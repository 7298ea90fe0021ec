"""Every measure of the catalogue has a twin, found by its name, and agrees with it."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import calibrant as cal
import twins

N_ROWS, N_CLASSES = 30, 3
# Integrals of the smooth twins are sums over a grid.
ROUGH = {"ls_ece": 1e-3, "smooth_ece": 1e-3}
KINDS = ("hard", "soft", "weighted")


@cache
def sample(shape: str, kind: str) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Labels, predictions and weights, without ties: what ties do has tests of its own."""
    rng = np.random.default_rng([len(shape), len(kind)])
    if shape == "binary":
        p = rng.uniform(0.02, 0.98, N_ROWS)
        y = rng.random(N_ROWS) if kind == "soft" else (rng.random(N_ROWS) < p**1.5).astype(int)
    else:
        p = rng.dirichlet(np.ones(N_CLASSES), N_ROWS)
        soft = rng.dirichlet(np.ones(N_CLASSES), N_ROWS)
        y = soft if kind == "soft" else rng.integers(0, N_CLASSES, N_ROWS)
    return y, p, rng.random(N_ROWS) if kind == "weighted" else None


@cache
def case_of(shape: str, kind: str) -> twins.Case:
    """The same sample as lists, for the twins."""
    y, p, w = sample(shape, kind)
    weights = [1.0] * N_ROWS if w is None else w.tolist()
    if shape == "binary":
        rows = twins.two_columns(p.tolist())
        return twins.Case(shape, rows, twins.two_columns(y.astype(float).tolist()), weights)
    targets = y.tolist() if y.ndim == 2 else [twins.one_hot(c, N_CLASSES) for c in y.tolist()]
    return twins.Case(shape, p.tolist(), targets, weights)


def agree_with_twin(name: str, shape: str, kind: str) -> None:
    """Fail unless a measure has a twin and the two agree."""
    twin = twins.find_twin(name)
    assert twin is not None, f"the measure {name!r} has no twin: add twin_of_{name} to twins.py"
    y, p, w = sample(shape, kind)
    value = cal.evaluate(y, p, measures=[name], sample_weight=w)[name]
    expected = twin(case_of(shape, kind))
    rel = ROUGH.get(name, 1e-9)
    assert value == pytest.approx(expected, rel=rel, abs=1e-12), (name, shape, kind)


@pytest.mark.parametrize("shape", ["binary", "multiclass"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_measure_agrees_with_its_twin(kind: str, shape: str) -> None:
    for measure in cal.catalogue(shape):
        if kind == "soft" or measure.parts is None:  # what has parts refuses hard labels
            agree_with_twin(measure.name, shape, kind)
