"""LinECE and bins by rank of vector predictions: one number in every engine, or a refusal."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
import twins
from calibrant import InputError
from every_engine import ARRAYS, ENGINES, LAZY, call

K, N = 3, 90
RNG = np.random.default_rng(2)
P = RNG.multinomial(8, np.full(K, 1 / K), N) / 8  # many ties
COLUMNS = {f"p{r}": P[:, r] for r in range(K)}
COLUMNS |= {"y": RNG.integers(0, K, N), "w": RNG.integers(1, 4, N) / 2}
REPORTS = [f"p{r}" for r in range(K)]
PHI = [[0.0, 3.0], [1.0, -1.0], [0.5, 0.25]]  # sums of eighths: exact in every engine


def twin(phi, norm, rule, weighted):
    w = COLUMNS["w"].tolist() if weighted else [1.0] * N
    values = np.eye(K).tolist() if phi is None else phi
    predictions = twins.mean_of_property(P.tolist(), values)
    targets = [values[y] for y in COLUMNS["y"]]
    cells = twins.vector_cells(predictions, w, rule, values)
    formula = twins.vector_lin_ece if norm == "l1" else twins.vector_lin_ce
    return formula(predictions, targets, w, cells)


# A query takes these long to plan: each option once.
SLOW = ("dask", "ibis", "spark", "duckdb", "polars in memory")
PROBLEMS = [
    pytest.param(engine, phi, weighted, id=f"{engine}-{name}-{weighted}")
    for engine in ENGINES
    for name, phi in (("full", None), ("property", PHI))
    for weighted in (False, True)
    if engine not in SLOW or weighted == (name == "property")
]


@pytest.mark.parametrize(("engine", "phi", "weighted"), PROBLEMS)
def test_lin_ece(engine, phi, weighted):
    options = {"phi": phi, "norm": "l1"} | ({"sample_weight": "w"} if weighted else {})
    found = call(engine, cal.lin_ce, COLUMNS, "y", REPORTS, bins=4, **options)
    expected = twin(phi, "l1", twins.quantile_ties_together(4), weighted)
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("phi", [None, PHI], ids=["full", "property"])
@pytest.mark.parametrize("engine", ARRAYS)
def test_bins_by_rank(engine, phi, norm, weighted):
    options = {"phi": phi, "norm": norm} | ({"sample_weight": "w"} if weighted else {})
    rule = cal.Quantile(4, ties="rank")
    found = call(engine, cal.lin_ce, COLUMNS, "y", REPORTS, bins=rule, **options)
    expected = twin(phi, norm, twins.quantile_by_rank(4), weighted)
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("phi", [None, PHI], ids=["full", "property"])
@pytest.mark.parametrize("engine", LAZY)
def test_rows_without_an_order_have_no_ranks(engine, phi):
    rule = cal.Quantile(4, ties="rank")
    with pytest.raises(InputError, match="bins by rank need the rows in order"):
        call(engine, cal.lin_ce, COLUMNS, "y", REPORTS, bins=rule, phi=phi)


def test_a_norm_that_is_not_there():
    with pytest.raises(InputError, match="norm='max' is not known"):
        cal.lin_ce(COLUMNS["y"], P, norm="max")
