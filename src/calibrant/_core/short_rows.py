"""Sums and maxima of rows, which NumPy takes one by one: short ones are faster by columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Rows shorter than this NumPy sums from left to right, so that both are the same number.
_SHORT = 8


def row_maxima(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """The largest entry of each row."""
    return _reduced(np.maximum, rows)


def row_sums(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sum of each row."""
    return _reduced(np.add, rows)


def _reduced(combine: np.ufunc, rows: NDArray[np.float64]) -> NDArray[np.float64]:
    out: NDArray[np.float64]
    if not 2 <= rows.shape[1] < _SHORT:
        out = combine.reduce(rows, axis=1)
        return out
    out = combine(rows[:, 0], rows[:, 1])
    for column in rows.T[2:]:
        combine(out, column, out=out)
    return out
