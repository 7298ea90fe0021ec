"""Sums and maxima of the rows of an array. NumPy reduces row by row, so that short rows are faster
when whole columns are combined.
"""

from __future__ import annotations

import numpy as np

from calibrant._core.typing import Array

# NumPy sums rows shorter than this from left to right, so that both ways give the same number.
_SHORT = 8


def row_maxima(rows: Array) -> Array:
    """The largest entry of each row, (n,)."""
    return _reduce_rows(np.maximum, rows)


def row_sums(rows: Array) -> Array:
    """The sum of each row, (n,)."""
    return _reduce_rows(np.add, rows)


def _reduce_rows(combine: np.ufunc, rows: Array) -> Array:
    """Combine the entries of each row (n, k) by `combine`, such as np.add: (n,). Short rows are
    combined column by column, which is faster.
    """
    out: Array
    if not 2 <= rows.shape[1] < _SHORT:
        out = combine.reduce(rows, axis=1)
        return out
    out = combine(rows[:, 0], rows[:, 1])
    for column in rows.T[2:]:
        combine(out, column, out=out)
    return out
