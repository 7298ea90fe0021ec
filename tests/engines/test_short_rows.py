"""Rows of few classes are summed by columns, and no number moves by a bit."""

import numpy as np
import pytest

from calibrant._core.short_rows import row_maxima, row_sums


@pytest.mark.parametrize("k", range(1, 11))
def test_rows_of_few_classes_are_reduced_as_those_of_many(k):
    rows = np.random.default_rng(k).normal(size=(500, k)) * 10.0 ** np.arange(k)
    assert np.array_equal(row_maxima(rows), rows.max(axis=1))
    assert np.array_equal(row_sums(rows), rows.sum(axis=1))
