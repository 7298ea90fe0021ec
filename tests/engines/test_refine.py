"""Quantile bins by cells and closer looks are those of a sort, to the last row."""

import numpy as np
import pytest

import calibrant._engines.refine as refine
from calibrant import EqualWidth, InputError, Quantile
from calibrant._data.to_samples import to_samples
from calibrant._engines.arrays.counting import bin_table
from calibrant._engines.arrays.numpy_kernels import sums_by_index
from calibrant._engines.arrays.passes import scalar_sums
from calibrant._engines.cells import Cells

SHAPES = {
    "spread": lambda rng, n: rng.random(n),
    "crowded": lambda rng, n: 1 - rng.random(n) ** 12 * 1e-3,
    "ties": lambda rng, n: rng.integers(0, 11, n) / 10,
    "one": lambda rng, n: np.full(n, 0.3),
    "single": lambda rng, n: rng.random(n).astype(np.float32),
}


def refinement_pass(u, z, w, calls):
    def look(low, high, parts):
        calls.append(parts)
        out = []
        for a, b in zip(low, high, strict=True):
            inside = (u >= a) & (u <= b)
            v = u[inside].astype(np.float64)
            keys = v if parts is None else np.floor((v - a) / (b - a) * parts)
            groups, index = np.unique(keys, return_inverse=True)
            weights = None if w is None else w[inside]
            sums = sums_by_index(index, groups.size, v, z[inside].astype(float), weights)
            ends = [(v[index == g].min(), v[index == g].max()) for g in range(groups.size)]
            out.append((np.array(ends).reshape(-1, 2), sums))
        ends = np.concatenate([e for e, _ in out])
        return ends[:, 0], ends[:, 1], np.concatenate([s for _, s in out])

    return look


def quantile_bins(cells, cuts, m, look):
    """The table of m bins, from sums of cells and closer looks."""
    groups = refine.Refinement.from_cells(cells, cuts, m)
    refine.refine({"one": groups}, lambda spans, parts: {"one": look(*spans["one"], parts)})
    return groups.table


@pytest.mark.parametrize("few", [1 << 18, 10])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("m", [1, 2, 15, 100])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_bins_are_those_of_a_sort(shape, m, weighted, few, monkeypatch):
    monkeypatch.setattr(refine, "FEW_ROWS", few)
    rng = np.random.default_rng(3)
    u = SHAPES[shape](rng, 4000)
    z = rng.integers(0, 2, u.size)
    w = rng.integers(0, 4, u.size).astype(float) if weighted else None
    samples = to_samples(z, u, sample_weight=w)
    cuts = Cells(EqualWidth(15)).cuts(samples.precision)
    cells, _ = scalar_sums(samples, "binary", cuts)
    calls = []
    found = quantile_bins(cells, cuts, m, refinement_pass(u, z, w, calls))
    expected = bin_table(samples, "binary", Quantile(m))[0]
    np.testing.assert_array_equal(found.n, expected.n)
    np.testing.assert_allclose(found.sums, expected.sums, rtol=1e-12, atol=1e-12)
    assert len(calls) <= 3


def test_rows_that_change_between_passes_are_told():
    rng = np.random.default_rng(3)
    u, z = rng.random(1000), rng.integers(0, 2, 1000)
    cuts = Cells(EqualWidth(15)).cuts(np.dtype(np.float64))
    cells, _ = scalar_sums(to_samples(z, u), "binary", cuts)
    with pytest.raises(InputError, match="changed while they were read"):
        quantile_bins(cells, cuts, 3, refinement_pass(u[:500], z[:500], None, []))
