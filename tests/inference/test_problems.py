"""What inference reads of samples: in the bins of the tables, and made once."""

from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant._core.bin_tables import BinTable
from calibrant._data.to_samples import to_samples
from calibrant._engines.arrays import passes
from calibrant._engines.arrays.counting import bin_table, classwise_table
from calibrant._engines.arrays.numpy_kernels import sums_by_index
from calibrant._inference.cells import problem_of
from calibrant._inference.context import Problems


def table_of(problem: Any) -> BinTable:
    """The bin table of a problem."""
    sums = sums_by_index(problem.bins, problem.m, problem.u, problem.z, problem.w)
    return BinTable(sums[None])


RULES: list[Any] = [
    cal.EqualWidth(15),
    cal.EqualWidth(7, closed="right"),
    cal.Edges([0, 0.2, 0.5, 1]),
    cal.Quantile(8),
    cal.Quantile(1),
    cal.Quantile(8, ties="rank"),
    cal.LevelSets(),
]


def samples_of(kind: str) -> Any:
    rng = np.random.default_rng(3)
    weights = rng.integers(0, 3, 400) * 0.5 if kind == "weights" else None
    if kind == "classes":
        return to_samples(rng.integers(0, 4, 400), rng.dirichlet(np.ones(4), 400))
    p = np.round(rng.random(400), 2)
    y = rng.random(400) if kind == "soft" else rng.integers(0, 2, 400)
    return to_samples(y, p.astype(np.float32) if kind == "single" else p, sample_weight=weights)


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("kind", ["plain", "single", "weights", "soft", "classes"])
def test_rows_are_in_the_bins_of_the_table(kind: str, rule: Any) -> None:
    samples = samples_of(kind)
    notion: Any = "confidence" if kind == "classes" else "binary"
    problem, (table, cuts, findings) = (
        problem_of(samples, notion, rule),
        bin_table(samples, notion, rule),
    )
    assert problem is not None
    assert (problem.m, problem.hard) == (cuts.m, not findings.soft)
    np.testing.assert_allclose(table_of(problem).sums, table.sums, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("rule", [cal.EqualWidth(15), cal.Quantile(8)], ids=str)
def test_the_bins_of_classes_are_those_of_their_tables(rule: Any) -> None:
    samples = samples_of("classes")
    bins = Problems(samples).classes(rule)
    assert bins is not None
    table, _ = classwise_table(samples, rule)
    residual = bins.sums(bins.u - bins.z).reshape(bins.k, -1)
    np.testing.assert_allclose(residual, table.residual, atol=1e-12)


def test_rows_are_read_once_for_all_bins(monkeypatch: pytest.MonkeyPatch) -> None:
    samples, reads = samples_of("classes"), []
    engine = passes.kernels()
    add_rows = engine.add_rows

    def counted(*arguments: Any) -> None:
        reads.append(1)
        add_rows(*arguments)

    monkeypatch.setattr(engine, "add_rows", counted)
    made = Problems(samples)
    problems = [made.scalar(rule) for rule in (cal.EqualWidth(15), cal.Quantile(8))]
    assert made.scalar(cal.Quantile(8)) is problems[1]
    assert made.classes(cal.Quantile(8)) is made.classes(cal.Quantile(8))
    assert made.row_values(distribution=False) is made.row_values(distribution=False)
    assert len(reads) == 1
