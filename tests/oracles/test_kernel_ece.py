"""ECE-KDE against twins in plain Python, and against the formulas of the two papers' code."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from every_engine import call

Rows = list[tuple[float, float, float]]


def rows_of(n: int, seed: int = 0) -> Rows:
    """Overconfident predictions, outcomes and weights."""
    rng = np.random.default_rng((n, seed))
    u = rng.beta(2, 1.5, n)
    z = (rng.random(n) < 0.2 + 0.6 * u).astype(float)
    return list(
        zip(u.tolist(), z.tolist(), rng.integers(1, 4, n).astype(float).tolist(), strict=True)
    )


def columns(rows: Rows) -> tuple[Any, Any, Any]:
    u, z, w = zip(*rows, strict=True)
    return list(z), list(u), list(w)


def beta_density(at: float, u: float, b: float) -> float:
    a, c = u / b + 1, (1 - u) / b + 1
    log_beta = math.lgamma(a) + math.lgamma(c) - math.lgamma(a + c)
    return math.exp((a - 1) * math.log(at) + (c - 1) * math.log(1 - at) - log_beta)


def twin_of_beta(rows: Rows, b: float) -> float:
    """The mean distance of each prediction from the frequency among the others near it."""
    parts = []
    for j, (uj, _, wj) in enumerate(rows):
        near = [(w * beta_density(uj, u, b), z) for i, (u, z, w) in enumerate(rows) if i != j]
        mean = math.fsum(k * z for k, z in near) / math.fsum(k for k, _ in near)
        parts.append(wj * abs(mean - uj))
    return math.fsum(parts) / math.fsum(w for _, _, w in rows)


def gaussian(x: float) -> float:
    return math.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)


def triweight(x: float) -> float:
    """Of standard deviation 1: on [-3, 3]."""
    return 35 / 96 * max(0.0, 1 - x * x / 9) ** 3


def twin_of_reflected(rows: Rows, h: float, kernel: Any) -> float:
    n = 4000
    total = 0.0
    for j in range(n):
        t = (j + 0.5) / n
        f = 0.0
        for u, z, w in rows:
            images = (s * u + 2 * m for s in (1, -1) for m in (-1, 0, 1))
            f += w * (t - z) * sum(kernel((t - x) / h) for x in images)
        total += abs(f) / n / h
    return total / math.fsum(w for _, _, w in rows)


@pytest.mark.parametrize("bandwidth", [0.01, 0.1, 0.5])
def test_beta_kernels_have_the_number_of_the_twin(bandwidth: float) -> None:
    for n in (2, 25):
        rows = rows_of(n)
        y, p, w = columns(rows)
        found = cal.ece_kde(y, p, bandwidth=bandwidth, sample_weight=w)
        assert found == pytest.approx(twin_of_beta(rows, bandwidth), rel=1e-9)


@pytest.mark.parametrize(("name", "kernel"), [("gaussian", gaussian), ("triweight", triweight)])
@pytest.mark.parametrize("bandwidth", [0.03, 0.15])
def test_reflected_kernels_have_the_number_of_the_twin(
    name: str, kernel: Any, bandwidth: float
) -> None:
    rows = rows_of(15)
    y, p, w = columns(rows)
    found = cal.ece_kde(y, p, kernel=name, bandwidth=bandwidth, sample_weight=w)
    assert found == pytest.approx(twin_of_reflected(rows, bandwidth, kernel), abs=2e-6)


def test_the_formula_of_popordanoska_and_others() -> None:
    """Their code takes a matrix of logarithms with nothing on its diagonal, sums columns of events,
    and doubles the mean for one column of predictions.
    """
    y, p, _ = columns(rows_of(40))
    u, hits = np.array(p), np.array(y) == 1
    for b in (0.005, 0.05, 0.2):
        logs = np.array([[math.log(beta_density(at, x, b)) for x in p] for at in p])
        np.fill_diagonal(logs, -np.inf)
        ratio = np.exp(
            np.logaddexp.reduce(logs[:, hits], axis=1) - np.logaddexp.reduce(logs, axis=1)
        )
        theirs = 2 * float(np.abs(ratio - u).mean())
        assert 2 * cal.ece_kde(y, p, bandwidth=b) == pytest.approx(theirs, rel=1e-9)
        # The top label is not doubled, there as here.
        two = np.stack([1 - u, u], axis=1)
        top, right = two.max(axis=1), (two.argmax(axis=1) == hits).astype(float)
        of_top = cal.ece_kde(right, top, bandwidth=b)
        assert cal.ece_kde(np.array(y, int), two, bandwidth=b) == pytest.approx(of_top, rel=1e-12)


def test_one_event_alone_has_no_neighbour() -> None:
    y, p = [1, 0, 0], [0.6, 0.2, 0.7]
    assert cal.ece_kde(y, p, bandwidth=0.1) == pytest.approx(
        twin_of_beta([(u, z, 1.0) for u, z in zip(p, y, strict=True)], 0.1)
    )


@pytest.mark.parametrize("soft", [False, True])
def test_the_formula_of_zhang_and_others(soft: bool) -> None:
    """Their code: densities of predictions and of those of events at 2^14 points from -0.6 to 1.6,
    each from data that are mirrored at 0 and 1, at the bandwidth of events.
    """
    y, p, _ = columns(rows_of(300))
    u, z = np.array(p), np.array(y)
    h = u[z == 1].std() * (2 * len(u)) ** -0.2
    t = np.linspace(-0.6, 1.6, 1 << 14)

    def density(data: Any) -> Any:
        mirrored = np.concatenate([-data[data < 0.5], data, 2 - data[data >= 0.5]])
        out = np.zeros_like(t)
        for x in mirrored:
            out += 35 / 96 * np.clip(1 - ((t - x) / h) ** 2 / 9, 0, None) ** 3 / h
        return np.where((t > 0) & (t < 1), 2 * out / mirrored.size, 0.0)

    of_events, of_all = density(u[z == 1]), density(u)
    accuracy = np.minimum(z.mean() * of_events / np.maximum(of_all, 1e-300), 1.0)
    inside = (t >= 0) & (t <= 1) & (of_all > 1e-6)
    theirs = np.trapezoid((np.abs(t - accuracy) * of_all)[inside], t[inside])
    theirs /= np.trapezoid(of_all[inside], t[inside])
    targets = np.stack([1 - z, z], axis=1)[:, 1] if soft else z
    assert cal.ece_kde(targets, p, kernel="triweight") == pytest.approx(float(theirs), abs=1e-4)
    again = cal.ece_kde(targets, p, kernel="triweight", bandwidth=float(h))
    assert cal.ece_kde(targets, p, kernel="triweight") == pytest.approx(again, rel=1e-9)


def test_the_default_bandwidth_is_the_most_likely_of_twenty() -> None:
    rows = [(u, z, 1.0) for u, z, _ in rows_of(60)]
    y, p, _ = columns(rows)
    best, value = -math.inf, math.nan
    for b in [*(10 ** (-5 + 4 * j / 14) for j in range(15)), 0.2, 0.4, 0.6, 0.8, 1.0]:
        likelihood = 0.0
        for j, at in enumerate(p):
            logs = []
            for i, u in enumerate(p):
                a, c = u / b + 1, (1 - u) / b + 1
                log_beta = math.lgamma(a) + math.lgamma(c) - math.lgamma(a + c)
                if i != j:
                    logs.append((a - 1) * math.log(at) + (c - 1) * math.log(1 - at) - log_beta)
            top = max(logs)
            likelihood += top + math.log(math.fsum(math.exp(x - top) for x in logs))
        if likelihood > best:
            best, value = likelihood, cal.ece_kde(y, p, bandwidth=b)
    assert cal.ece_kde(y, p) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("kernel", ["beta", "gaussian", "triweight"])
def test_it_comes_near_the_true_error(kernel: str) -> None:
    rng = np.random.default_rng(5)
    u = rng.beta(2, 1, 4000)
    y = rng.random(4000) < u**1.5
    assert cal.ece_kde(y, u, kernel=kernel) == pytest.approx(np.abs(u - u**1.5).mean(), abs=0.02)
    assert cal.ece_kde(u, u, kernel="gaussian", bandwidth=1e-3) < 1e-3


@pytest.mark.parametrize("engine_name", ["numpy", "native", "torch", "polars", "duckdb"])
def test_every_engine_gives_it(engine_name: str) -> None:
    y, p, w = columns(rows_of(30))
    data = {"y": np.array(y, int), "p": np.array(p), "w": np.array(w)}
    for kernel in ("beta", "gaussian"):
        expected = cal.ece_kde(y, p, kernel=kernel, sample_weight=w)
        if engine_name == "duckdb" and kernel == "beta":
            with pytest.raises(cal.InputError, match="needs the rows themselves"):
                call(engine_name, cal.ece_kde, data, "y", "p", sample_weight="w", kernel=kernel)
            continue
        found = call(engine_name, cal.ece_kde, data, "y", "p", sample_weight="w", kernel=kernel)
        assert found == pytest.approx(expected, rel=1e-9), kernel


def test_the_mean_over_classes_and_weights_as_repetitions() -> None:
    rng = np.random.default_rng(6)
    p, y = rng.dirichlet(np.ones(3), 50), rng.integers(0, 3, 50)
    for kernel in ("beta", "gaussian"):
        each = [cal.ece_kde(y == r, p[:, r], kernel=kernel) for r in range(3)]
        found = cal.ece_kde(y, p, kernel=kernel, notion="classwise")
        assert found == pytest.approx(np.mean(each), rel=1e-9)
    w = rng.integers(1, 4, 50)
    again = np.repeat(np.arange(50), w)
    given = {"kernel": "gaussian", "bandwidth": 0.1}
    assert cal.ece_kde(y == 0, p[:, 0], sample_weight=w, **given) == pytest.approx(
        cal.ece_kde(y[again] == 0, p[again, 0], **given), rel=1e-9
    )


@pytest.mark.parametrize(
    ("n", "given", "says"),
    [
        (5, {"kernel": "cosine"}, "kernel"),
        (5, {"bandwidth": 0}, "bandwidth must be a positive number"),
        (5, {"kernel": "gaussian", "bandwidth": 1e-9}, "bandwidth=1e-09 is too small"),
        (1, {}, "at least two rows"),
        (50_001, {}, "Use kernel='gaussian'"),
    ],
)
def test_what_cannot_be_taken_is_refused_in_one_line(n: int, given: Any, says: str) -> None:
    with pytest.raises(cal.InputError, match=says) as refused:
        cal.ece_kde(np.arange(n) % 2, np.linspace(0.1, 0.9, n), **given)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("kernel", ["beta", "gaussian"])
def test_predictions_that_are_all_alike_or_certain(kernel: str) -> None:
    assert cal.ece_kde([0, 1, 1, 0], [0.5] * 4, kernel=kernel, bandwidth=0.1) < 0.2
    assert cal.ece_kde([0, 1, 1, 0], [0.5] * 4, kernel=kernel) >= 0
    assert cal.ece_kde([0, 0], [0.5] * 2, kernel=kernel) >= 0
    assert math.isfinite(cal.ece_kde([0, 1, 1, 0], [0.0, 1.0, 1.0, 0.0], kernel=kernel))
