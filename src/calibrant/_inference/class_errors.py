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
    if rule.drops_one:
        return None
    key = (measure.statistic, str(rule))
    if statistic.problem == "full":
        made = rows.made.full(rule)
        if made is None:
            return None
        assert measure.of_vectors is not None
        bins, k = made
        return ClassErrors(key, bins, k, 1, vector_errors(measure.of_vectors, k))
    made = rows.made.classes(rule, above=measure.statistic == "above")
    if made is None:
        return None
    assert measure.table_formula is not None
    bins, k = made
    return ClassErrors(key, bins, k, k, table_errors(measure.table_formula, k))


def table_errors(formula: Callable[[BinTable], Array], k: int) -> Errors:
    """A mean over classes of a formula of bin tables, for residuals (draws, k m)."""
    # All points of a path have the same weights: their tables are filled once.
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
    return values.reshape(-1, k).sum(axis=1) / count


def _some(formula: Callable[[BinTable], Array], table: BinTable) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(formula(table))


def vector_errors(formula: Callable[[Array, Array], Array], k: int) -> Errors:
    """A formula of vector predictions, for residuals (draws, cells k)."""
    return lambda residual, weight: formula(residual, weight.sum(axis=1) / k)
