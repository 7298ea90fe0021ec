"""Classwise errors when the reports are right: labels are drawn, bins stay where the reports put
them, so that a draw costs a count per row and not a pass over all classes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from calibrant.binning import Rule
from calibrant.engines.counting import class_columns
from calibrant.inference.cells import Problem, problem_of
from calibrant.measures.binned import binned_errors
from calibrant.measures.catalogue import Measure
from calibrant.samples.samples import Samples
from calibrant.statistics.bins import FIELDS, BinTable

Array = NDArray[np.float64]
_ABOVE = 0.01  # what the catalogue's thresholded error leaves out


def class_problems(samples: Samples, rule: Rule, *, above: bool) -> list[Problem] | None:
    """Each class against the rest; with `above`, rows whose report is small have no weight.

    None where the rule is not one of edges, or drops rows.
    """
    if getattr(rule, "drop_one", False):
        return None
    problems = []
    for column in class_columns(samples):
        part = column
        if above:
            kept = column.reports > _ABOVE
            weights = kept.astype(np.float64)
            if column.weights is not None:
                weights *= column.weights
            if not (weights > 0).any():
                return None  # a class that no report is about is left out of the mean
            part = replace(column, weights=weights)
        problem = problem_of(part, "binary", rule)
        if problem is None:
            return None
        problems.append(problem)
    return problems


def null_class_values(
    problems: list[Problem], measures: list[Measure], samples: Samples, n_draws: int,
    rng: np.random.Generator,
) -> Array:  # fmt: skip
    """The measures, each a mean over classes, of labels drawn from the rows of reports."""
    k, m = len(problems), problems[0].m
    bins = np.stack([problem.bins for problem in problems])
    weights = np.stack([problem.weights for problem in problems])
    sums = np.zeros((k, m, len(FIELDS)))
    for r, problem in enumerate(problems):
        w = weights[r]
        for j, column in ((0, w > 0), (1, w), (2, w * w), (3, w * problem.u)):
            sums[r, :, j] = np.bincount(bins[r], column, m)
    p = np.stack([problem.u for problem in problems], axis=1)
    p /= p.sum(axis=1, keepdims=True)
    through = np.cumsum(p, axis=1)[:, :-1]
    rows = np.arange(samples.n)
    out = np.empty((n_draws, len(measures)))
    formulas: list[Callable[[BinTable], Array]] = [m.of_tables or binned_errors for m in measures]
    for i in range(n_draws):
        y = (through <= rng.random(samples.n)[:, None]).sum(axis=1)
        hits = np.bincount(y * m + bins[y, rows], weights[y, rows], k * m).reshape(k, m)
        drawn = sums.copy()
        drawn[:, :, 4] = drawn[:, :, 7] = hits
        table = BinTable(drawn, has_squares=False)
        out[i] = [float(formula(table).mean()) for formula in formulas]
    return out
