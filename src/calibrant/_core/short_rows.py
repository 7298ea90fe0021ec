"""Sums and maxima of rows, which NumPy takes one by one: short ones are faster by columns."""

from __future__ import annotations

import numpy as np

from calibrant._core.typing import Array

# Rows shorter than this NumPy sums from left to right, so that both are the same number.
_SHORT = 8


def row_maxima(rows: Array) -> Array:
    """The largest entry of each row."""
    return _reduced(np.maximum, rows)


def row_sums(rows: Array) -> Array:
    """The sum of each row."""
    return _reduced(np.add, rows)


def _reduced(combine: np.ufunc, rows: Array) -> Array:
    out: Array
    if not 2 <= rows.shape[1] < _SHORT:
        out = combine.reduce(rows, axis=1)
        return out
    out = combine(rows[:, 0], rows[:, 1])
    for column in rows.T[2:]:
        combine(out, column, out=out)
    return out
