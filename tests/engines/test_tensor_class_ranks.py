"""Bins with equal shares of the ranks in every class, by one sort of all classes on the device."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import calibrant as cal
from needs import need

torch = need("torch")
N, K = 61, 5


@pytest.fixture(autouse=True)
def by_torch(monkeypatch):
    monkeypatch.setenv("CALIBRANT_ENGINE", "torch")


def rows_of(kind):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(N, K)) * 2
    p = np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)
    if kind == "tied":
        p[10:30] = p[10]
    labels = rng.dirichlet(np.ones(K), N) if kind == "soft" else rng.integers(0, K, N)
    return p, labels, rng.uniform(0.1, 2.0, N)


def twin(p, labels, weights, m):
    """The classwise error, row by row: rank r of n is in bin ceil(r m / n)."""
    errors = []
    for r in range(K):
        order = sorted(range(N), key=lambda i: (p[i, r], i))
        total, through, residual = sum(weights), 0.0, [0.0] * m
        for i in order:
            through += weights[i]
            own = labels[i, r] if labels.ndim == 2 else float(labels[i] == r)
            bin_ = int(np.ceil(through * m / total * (1 - 1e-12))) - 1
            residual[min(bin_, m - 1)] += weights[i] * (p[i, r] - own)
        errors.append(sum(value**2 for value in residual) / total**2)
    return sum(errors) / K


@pytest.mark.parametrize(
    ("kind", "weighted", "m"), product(("plain", "tied", "soft"), (False, True), (1, 5, 20, 200))
)
def test_ranks_of_classes_are_those_of_arrays(kind, weighted, m):
    p, labels, weights = rows_of(kind)
    bins = cal.Quantile(m, ties="rank")
    w = {"sample_weight": weights} if weighted else {}
    there = {name: torch.tensor(value) for name, value in w.items()}
    for measure in (cal.classwise_ce, cal.ace):
        here = measure(labels, p, bins=bins, **w)
        assert measure(torch.tensor(labels), torch.tensor(p), bins=bins, **there) == pytest.approx(
            here, rel=1e-12
        )
    slow = twin(p, labels, weights if weighted else np.ones(N), m)
    assert cal.classwise_ce(torch.tensor(labels), torch.tensor(p), bins=bins, **there) == (
        pytest.approx(slow, rel=1e-12)
    )


def test_a_table_has_its_squares_where_they_are_wanted():
    from calibrant._api.rows import as_source
    from calibrant._summaries.samples import Summary

    p, labels, _ = rows_of("plain")
    rule = cal.Quantile(7, ties="rank")
    here = Summary(as_source(labels, p)).table("classwise", rule)
    summary = Summary(as_source(torch.tensor(labels), torch.tensor(p)))
    there, lean = summary.table("classwise", rule), summary.table("classwise", rule, squares=False)
    np.testing.assert_allclose(there.sums, here.sums, rtol=1e-12, atol=1e-15)
    for name in ("n", "sum_w", "sum_w2", "sum_wu", "sum_wz", "sum_wz2", "sum_w2z"):
        np.testing.assert_allclose(getattr(lean, name), getattr(here, name), rtol=1e-12)
    assert there.has_squares and not lean.has_squares


def test_rows_are_checked_before_they_are_taken_apart():
    p, labels, _ = rows_of("plain")
    p[17] = 0.9
    with pytest.raises(cal.InputError, match=r"y_proba\[17\]"):
        cal.classwise_ce(torch.tensor(labels), torch.tensor(p), bins=cal.Quantile(5, ties="rank"))


def test_a_checkpoint_on_a_device_is_that_of_arrays():
    """All measures of a paper's table, from logits in tensors."""
    from calibrant._research.papers.pool import measure_predictor

    rng = np.random.default_rng(3)
    y = rng.integers(0, 7, 800)
    z = 2.0 * (np.eye(7)[y] * 2 + rng.normal(size=(800, 7)))
    arrays = (z[:400], y[:400], z[400:], y[400:])
    here = measure_predictor(*arrays)
    there = measure_predictor(*(torch.from_numpy(each) for each in arrays))
    assert there == pytest.approx(here, rel=1e-11)
