"""The rules of benchmarks give what their published code gives, written here anew and slowly."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

import calibrant as cal
from calibrant._measures.benchmark_rules import BENCHMARK_RULES

Array = NDArray[np.float64]


def answers(n: int, seed: int, levels: bool) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    p = rng.integers(0, 11, n) / 10 if levels else rng.random(n)
    return p, (rng.random(n) < 0.2 + 0.6 * p).astype(np.float64)


def slow_hendrycks(p: Array, z: Array, rows: int = 100) -> float:
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
            i for i, u in enumerate(p)
            if edges[j] < u <= edges[j + 1] or (repaired and j == 0 and u == 0.0)
        ]  # fmt: skip
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
    assert hendrycks.compute(p, z, hendrycks.bins_for(n)) == pytest.approx(
        slow_hendrycks(p, z), rel=1e-12, abs=1e-15
    )
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
