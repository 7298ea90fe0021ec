"""Bins of equal mass found by search are those of the formula."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant._core.binning import MiddleRanks, middle_rank_bins


def by_formula(mass, m):
    return np.searchsorted(middle_rank_bins(mass, m), np.arange(m + 1))


@pytest.mark.parametrize("kind", ["ones", "counts", "weights", "one heavy", "tiny and huge"])
@pytest.mark.parametrize("n", [1, 2, 7, 400])
def test_firsts_are_those_of_the_formula(kind, n):
    rng = np.random.default_rng(n)
    mass = {
        "ones": np.ones(n),
        "counts": rng.integers(1, 9, n).astype(float),
        "weights": rng.random(n) + 1e-3,
        "one heavy": np.where(np.arange(n) == n // 2, 1e6, 1.0),
        "tiny and huge": 10.0 ** rng.integers(-9, 9, n),
    }[kind]
    ranks = MiddleRanks.from_mass(mass)
    for m in (1, 2, 3, 10, 15, 64, 3 * n):
        np.testing.assert_array_equal(ranks.firsts(m), by_formula(mass, m))
