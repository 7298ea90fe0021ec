"""A pool of predictors as a table, a row for each: every check of it, once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant._core.errors import InputError


def pool_table(
    values: ArrayLike, argument: str, names: Sequence[str] | None = None
) -> NDArray[np.float64]:
    """The table as float64 of the shape (predictors, columns), each cell comparable with any other.

    Infinite cells stay: a log loss may be infinite, and has its place in an order. NaN has none.
    """
    try:
        table = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{argument} must be numbers, a row per predictor; got {values!r}"
        ) from error
    if table.ndim != 2 or table.shape[1] == 0:
        raise InputError(
            f"{argument} must have a row per predictor and a column per quantity, the shape (n, c) "
            f"with c >= 1; got {table.shape}"
        )
    if len(table) < 2:
        raise InputError(f"{argument} must have 2 predictors or more to compare; got {len(table)}")
    if names is not None and len(names) != len(table):
        raise InputError(f"names must have {len(table)} entries, one a predictor; got {len(names)}")
    bad = np.isnan(table)
    if bad.any():
        row, column = (int(i) for i in np.argwhere(bad)[0])
        who = f"predictor {row}" if names is None else f"predictor {names[row]!r} (row {row})"
        where = f" in column {column}" if table.shape[1] > 1 else ""
        raise InputError(
            f"{argument} has {int(bad.sum())} NaN, the first for {who}{where}: leave out the "
            "predictors that could not be measured"
        )
    return table
