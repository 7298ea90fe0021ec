"""The rules of benchmarks give what their published code gives, written here anew and slowly."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

import calibrant as cal
from calibrant._measures.benchmark_rules import BENCHMARK_RULES
from calibrant._measures.smooth_rules import SMOOTH_RULES

Array = NDArray[np.float64]


def answers(n: int, seed: int, levels: bool) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    p = rng.integers(0, 11, n) / 10 if levels else rng.random(n)
    return p, (rng.random(n) < 0.2 + 0.6 * p).astype(np.float64)


def slow_hendrycks(p: Array, z: Array, rows: int = 100, seed: int | None = None) -> float:
    """In the order of rows, or in another one of those with equal confidences."""
    first = np.arange(p.size) if seed is None else np.random.default_rng(seed).permutation(p.size)
    p, z = p[first], z[first]
    order = np.argsort(p, kind="stable")
    p, z = p[order], z[order]
    starts = [i * rows for i in range(len(p) // rows)]
    ends = [*starts[1:], len(p)]
    total = 0.0
    for start, end in list(zip(starts, ends, strict=True))[:-1]:  # the last one is not looked at
        gap = abs(p[start:end].mean() - z[start:end].mean())
        total += (end - start) / len(p) * gap**2
    return math.sqrt(total)


def slow_browse_comp(p: Array, z: Array, m: int, *, repaired: bool) -> float:
    edges = np.linspace(0.0, 1.0, m + 1)
    total = 0.0
    for j in range(m):
        inside = [
            i
            for i, u in enumerate(p)
            if edges[j] < u <= edges[j + 1] or (repaired and j == 0 and u == 0.0)
        ]
        if inside:
            total += len(inside) / len(p) * abs(z[inside].mean() - p[inside].mean())
    return total


def slow_scikit_learn(p: Array, z: Array, m: int) -> float:
    edges = [float(np.quantile(p, j / m)) for j in range(1, m)]
    total = 0.0
    for j in range(m):
        inside = [i for i, u in enumerate(p) if sum(edge < u for edge in edges) == j]
        if inside:
            total += len(inside) / len(p) * (p[inside].mean() - z[inside].mean()) ** 2
    return math.sqrt(total)


RULES = {rule.tool: rule for rule in BENCHMARK_RULES}


@pytest.mark.parametrize("levels", [False, True])
@pytest.mark.parametrize("n", [100, 199, 200, 830, 1001])
def test_rules_follow_the_published_code(n: int, levels: bool) -> None:
    p, z = answers(n, n, levels)
    hendrycks, now, before, coming = BENCHMARK_RULES
    found = hendrycks.compute(p, z, hendrycks.bins_for(n))
    if levels:
        orders = [slow_hendrycks(p, z, seed=seed) ** 2 for seed in range(400)]
        error = np.std(orders) / 20
        assert found**2 == pytest.approx(np.mean(orders), abs=4 * error + 1e-15)
    else:
        assert found == pytest.approx(slow_hendrycks(p, z), rel=1e-12, abs=1e-15)
    for m in (5, 10):
        assert now.compute(p, z, m) == pytest.approx(slow_browse_comp(p, z, m, repaired=True))
        assert before.compute(p, z, m) == pytest.approx(slow_browse_comp(p, z, m, repaired=False))
        assert coming.compute(p, z, m) == pytest.approx(slow_scikit_learn(p, z, m))
    assert coming.bins_for(n) == math.ceil(round(n ** (1 / 3), 9))


def test_the_last_bin_is_dropped() -> None:
    """830 answers: the 130 most confident ones, all wrong, leave no trace."""
    p = np.concatenate([np.full(700, 0.5), np.full(130, 0.99)])
    z = np.concatenate([np.tile([0.0, 1.0], 350), np.zeros(130)])
    rows = {row.tool: row for row in cal.conventions(z, p).rows}
    hendrycks = rows["Hendrycks, HLE calib_err"]
    assert (hendrycks.default_bins, hendrycks.at_default) == (8, pytest.approx(0, abs=0.08))
    assert rows["Calibrant"].at_default == pytest.approx(130 * 0.99 / 830)


def test_confidence_zero_was_in_no_bin() -> None:
    rows = {row.tool: row.at_default for row in cal.conventions([1, 1], [0.0, 0.0]).rows}
    assert rows["inspect_evals BrowseComp"] == 1.0
    assert rows["inspect_evals BrowseComp, before"] == 0.0


def test_too_few_rows_are_told() -> None:
    row = next(r for r in cal.conventions([0, 1], [0.4, 0.6]).rows if r.tool.startswith("Hen"))
    assert (row.at_default, row.at_common, row.answer) == (None, None, "fails below 100 rows")


def test_the_order_of_rows_with_one_confidence_does_not_matter() -> None:
    """One of its numbers, from .09 to .13 here, was given without a word."""
    p, z = answers(1000, 5, True)
    rule = BENCHMARK_RULES[0]
    found = rule.compute(p, z, rule.bins_for(1000))
    for seed in range(5):
        i = np.random.default_rng(seed).permutation(1000)
        assert rule.compute(p[i], z[i], rule.bins_for(1000)) == pytest.approx(found, rel=1e-12)
    one = [slow_hendrycks(p, z, seed=seed) for seed in range(50)]
    assert max(one) > 1.05 * min(one) and min(one) < found < max(one)
    assert "depends on the order of rows with equal confidence" in rule.why


def crowded(n: int = 4000) -> tuple[Array, Array]:
    """Confidences of a network: a quarter of them above .999."""
    rng = np.random.default_rng(0)
    p = 1 / (1 + np.exp(-rng.normal(5.0, 4.0, n)))
    p = np.maximum(p, 1 - p)
    return p, (rng.random(n) < np.where(p > 0.999, 0.995, p - 0.15)).astype(np.float64)


@pytest.mark.parametrize("make", ["crowded", "spread", "levels", "tiny"])
def test_smooth_ece_of_relplot_is_done_again(make: str) -> None:
    relplot = pytest.importorskip("relplot")
    if make == "crowded":
        p, z = crowded()
    else:
        p, z = answers(60 if make == "tiny" else 2000, 3, make == "levels")
    (rule,) = SMOOTH_RULES
    assert rule.compute(p, z, 0) == pytest.approx(relplot.smECE(f=p, y=z), rel=1e-9)


def test_both_smooth_errors_are_shown_and_the_cause() -> None:
    """Mirrored at nodes that count once, relplot's grid halves what lies on its end."""
    p, z = crowded()
    row = {r.tool: r for r in cal.conventions(z.astype(int), p).rows}["relplot smECE"]
    ours = cal.smooth_ece(z.astype(int), p)
    assert row.at_common is None and f"Calibrant's smooth_ece is {ours:.4f}." in row.why
    assert row.at_default is not None and row.at_default > 1.05 * ours
    # Below the last cell of the grid both agree.
    clipped = np.minimum(p, 0.999)
    theirs = SMOOTH_RULES[0].compute(clipped, z, 0)
    assert theirs == pytest.approx(cal.smooth_ece(z.astype(int), clipped), rel=0.02)
    assert cal.smooth_ece(z.astype(int), clipped) == pytest.approx(ours, rel=0.01)
