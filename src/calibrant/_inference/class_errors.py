"""Errors over all classes as functions of drawn residuals, by slot.

A slot is a bin of one class. Its residual is the sum over rows of weight times (target less
prediction).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant._core.bin_tables import FIELDS, BinTable, empty_sums
from calibrant._core.binning import Rule, equal_mass_rule
from calibrant._core.typing import Array
from calibrant._inference.budget import TABLE_ENTRIES
from calibrant._inference.context import Context
from calibrant._inference.slots import Slots
from calibrant._measures.catalogue import Measure
from calibrant._measures.statistics import STATISTICS

# From sums of residuals and weights, (draws, slots), to the measure of each draw.
Errors = Callable[[Array, Array], Array]


@dataclass(frozen=True, eq=False)
class ClassErrors:
    """The slots (bins of all classes) of an error over classes, and `errors`, which computes it
    from the slots' residuals and weights.

    `divisor` divides a sum over all slots: the number of classes for a mean over classes. `key`
    names the slots, for the cache.
    """

    key: Hashable
    slots: Slots
    divisor: int
    errors: Errors


def errors_over_classes(measure: Measure, rows: Context) -> ClassErrors | None:
    """The slots and the formula of a measure over all classes; None for other measures, and where
    the bins drop rows.
    """
    statistic = STATISTICS[measure.statistic]
    if not statistic.over_classes or measure.interval_method != "inversion":
        return None
    rule: Rule = rows.fixed if statistic.binning == "fixed" else rows.quantile
    if measure.equal_mass:
        rule = equal_mass_rule(rule)
    full, above = statistic.problem == "full", measure.statistic == "above"
    slots = rows.problems.full(rule) if full else rows.problems.classes(rule, above=above)
    if slots is None:
        return None
    key, k = (measure.statistic, str(rule)), slots.k
    if full:
        assert measure.of_vectors is not None
        return ClassErrors(key, slots, 1, vector_errors(measure.of_vectors, k))
    assert measure.table_formula is not None
    return ClassErrors(key, slots, k, table_errors(measure.table_formula, k))


def table_errors(formula: Callable[[BinTable], Array], k: int) -> Errors:
    """The mean over k classes of a formula of bin tables, as a function of the residuals and
    weights of k classes with m bins each, (draws, k m).
    """
    # All points of a path have the same weights, so their tables are filled once.
    last: dict[str, Any] = {}

    def errors(residual: Array, weight: Array) -> Array:
        """The mean error over classes in each draw, (draws,)."""
        step = max(1, TABLE_ENTRIES // residual.shape[1])
        if not 1 < len(residual) <= step:
            each = (slice(start, start + step) for start in range(0, len(residual), step))
            means = [
                _class_means(formula, k, residual[i], _class_tables(weight[i], k)) for i in each
            ]
            return np.concatenate(means)
        if last.get("weight") is not weight:
            last.update(weight=weight, tables=_class_tables(weight, k))
        return _class_means(formula, k, residual, last["tables"])

    return errors


def _class_tables(weight: Array, k: int) -> Array:
    """Sums of bin tables, (draws k, m, fields), a table for each draw and class: with the weights
    (draws, k m), and 0 in the other fields.
    """
    m = weight.shape[1] // k
    sums = empty_sums(len(weight) * k, m)
    for name in ("n", "sum_w", "sum_w2"):
        sums[:, :, FIELDS.index(name)] = weight.reshape(-1, m)
    return sums


def _class_means(
    formula: Callable[[BinTable], Array], k: int, residual: Array, sums: Array
) -> Array:
    """The mean over classes of a formula in each draw, (draws,); classes without weight do not
    count.

    The residuals, (draws, k m), are written into the tables `sums`, (draws k, m, fields).
    """
    sums[:, :, FIELDS.index("sum_wz")] = residual.reshape(sums.shape[:2])
    table = BinTable(
        sums.view(), has_squares=False
    )  # the table makes the view read-only, not `sums`
    nonempty = table.total_weight > 0
    with np.errstate(divide="ignore", invalid="ignore"):  # a resample may have no row of a class
        values = np.nan_to_num(formula(table))
    count = np.maximum(nonempty.reshape(-1, k).sum(axis=1), 1)
    return values.reshape(-1, k).sum(axis=1) / count


def vector_errors(formula: Callable[[Array, Array], Array], k: int) -> Errors:
    """A formula of whole vectors of predictions for k classes, as a function of the residuals and
    weights of cells and classes, (draws, cells k).
    """
    return lambda residual, weight: formula(residual, weight.sum(axis=1) / k)
