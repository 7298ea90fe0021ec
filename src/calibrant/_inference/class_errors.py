"""Errors over all classes as formulas of drawn residuals: of bin tables, and of vectors."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant._core.bin_tables import FIELDS, BinTable, empty_sums
from calibrant._core.binning import Rule, equal_mass_rule
from calibrant._core.typing import Array
from calibrant._inference.budget import TABLE_ENTRIES
from calibrant._inference.class_bins import ClassBins
from calibrant._inference.context import Context
from calibrant._measures.catalogue import Measure
from calibrant._measures.statistics import STATISTICS

# Residuals and weights of every bin, (draws, bins), to the measure's value of each draw.
Errors = Callable[[Array, Array], Array]


@dataclass(frozen=True, eq=False)
class ClassErrors:
    """The bins of an error over k classes, and its formula of residuals and weights.

    `counted_as` is what a sum over the slots of all classes is divided by.
    """

    key: Hashable
    bins: ClassBins
    k: int
    counted_as: int
    errors: Errors


def errors_over_classes(measure: Measure, rows: Context) -> ClassErrors | None:
    """The bins of all classes that a measure reads; None for one that does not."""
    statistic = STATISTICS[measure.statistic]
    if not statistic.over_classes or measure.interval_method != "inversion":
        return None
    rule: Rule = rows.fixed if statistic.binning == "fixed" else rows.quantile
    if measure.equal_mass:
        rule = equal_mass_rule(rule)
    full, above = statistic.problem == "full", measure.statistic == "above"
    made = rows.made.full(rule) if full else rows.made.classes(rule, above=above)
    if made is None:
        return None
    key, (bins, k) = (measure.statistic, str(rule)), made
    if full:
        assert measure.of_vectors is not None
        return ClassErrors(key, bins, k, 1, vector_errors(measure.of_vectors, k))
    assert measure.table_formula is not None
    return ClassErrors(key, bins, k, k, table_errors(measure.table_formula, k))


def table_errors(formula: Callable[[BinTable], Array], k: int) -> Errors:
    """A mean over classes of a formula of bin tables, for residuals (draws, k m)."""
    # All points of a path have the same weights: their tables are filled once.
    kept: dict[str, Any] = {}

    def errors(residual: Array, weight: Array) -> Array:
        step = max(1, TABLE_ENTRIES // residual.shape[1])
        if not 1 < len(residual) <= step:
            each = (slice(start, start + step) for start in range(0, len(residual), step))
            means = [
                _class_means(formula, k, residual[i], _class_tables(weight[i], k)) for i in each
            ]
            return np.concatenate(means)
        if kept.get("weight") is not weight:
            kept.update(weight=weight, tables=_class_tables(weight, k))
        return _class_means(formula, k, residual, kept["tables"])

    return errors


def _class_tables(weight: Array, k: int) -> Array:
    """Sums (draws k, m, fields) with the weights (draws, k m), and without residuals."""
    m = weight.shape[1] // k
    sums = empty_sums(len(weight) * k, m)
    for name in ("n", "sum_w", "sum_w2"):
        sums[:, :, FIELDS.index(name)] = weight.reshape(-1, m)
    return sums


def _class_means(
    formula: Callable[[BinTable], Array], k: int, residual: Array, sums: Array
) -> Array:
    """The formula's means over classes; `sums` are tables of the weights, to be written to."""
    sums[:, :, FIELDS.index("sum_wz")] = residual.reshape(sums.shape[:2])
    table = BinTable(sums.view(), has_squares=False)  # a table is read-only, its base is not
    nonempty = table.total_weight > 0
    with np.errstate(divide="ignore", invalid="ignore"):  # a resample may have no row of a class
        values = np.nan_to_num(formula(table))
    count = np.maximum(nonempty.reshape(-1, k).sum(axis=1), 1)
    return values.reshape(-1, k).sum(axis=1) / count


def vector_errors(formula: Callable[[Array, Array], Array], k: int) -> Errors:
    """A formula of vector predictions, for residuals (draws, cells k)."""
    return lambda residual, weight: formula(residual, weight.sum(axis=1) / k)
