"""Errors over all classes as formulas of drawn residuals: of bin tables, and of vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.bin_tables import FIELDS, BinTable, empty_sums
from calibrant._inference.budget import TABLE_ENTRIES
from calibrant._inference.classes import Errors

Array = NDArray[np.float64]


def table_errors(formula: Callable[[BinTable], Array], k: int) -> Errors:
    """A mean over classes of a formula of bin tables, for residuals (draws, k m)."""
    # All members of a family have the same weights: their tables are filled once.
    kept: dict[str, Any] = {}

    def errors(residual: Array, weight: Array) -> Array:
        step = max(1, TABLE_ENTRIES // residual.shape[1])
        if not 1 < len(residual) <= step:
            parts = range(0, len(residual), step)
            each = (slice(start, start + step) for start in parts)
            return np.concatenate([_class_means(formula, k, residual[i], weight[i]) for i in each])
        if kept.get("weight") is not weight:
            kept.update(weight=weight, tables=_class_tables(weight, k))
        return _class_means(formula, k, residual, weight, kept["tables"])

    return errors


def _class_tables(weight: Array, k: int) -> Array:
    """Sums (draws k, m, fields) with the weights (draws, k m), and without residuals."""
    m = weight.shape[1] // k
    sums = empty_sums(len(weight) * k, m)
    for name in ("n", "sum_w", "sum_w2"):
        sums[:, :, FIELDS.index(name)] = weight.reshape(-1, m)
    return sums


def _class_means(
    formula: Callable[[BinTable], Array],
    k: int,
    residual: Array,
    weight: Array,
    sums: Array | None = None,
) -> Array:
    """The formula's means over classes; `sums` are tables of these weights, to be written to."""
    if sums is None:
        sums = _class_tables(weight, k)
    sums[:, :, FIELDS.index("sum_wz")] = residual.reshape(sums.shape[:2])
    table = BinTable(sums.view(), has_squares=False)  # a table is read-only, its base is not
    nonempty = table.total_weight > 0  # a resample may have no row of a class
    whole = nonempty.all()
    values = np.where(nonempty, formula(table), 0.0) if whole else _some(formula, table)
    count = np.maximum(nonempty.reshape(-1, k).sum(axis=1), 1)
    out: Array = values.reshape(-1, k).sum(axis=1) / count
    return out


def _some(formula: Callable[[BinTable], Array], table: BinTable) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(formula(table))


def vector_errors(formula: Callable[[Array, Array], Array], k: int) -> Errors:
    """A formula of vector predictions, for residuals (draws, cells k)."""
    return lambda residual, weight: formula(residual, weight.sum(axis=1) / k)
