"""Uncertainty from sums: rows of nearly equal predictions, pooled into one row that stands for all.

Streams, files and frames in other engines are summed in some 2,500 fine cells. Independent rows of
equal weight whose labels are 0 or 1 are all but known from these sums: a cell of n rows with k
events is k rows with the label 1 and n - k with the label 0, at the cell's mean prediction.
Intervals, noise floors and verdicts are then those of rows, whatever the number of rows.
"""

from __future__ import annotations

import numpy as np

from calibrant._core.bin_tables import FIELDS
from calibrant._core.binning import Rule
from calibrant._core.errors import NeedsRows
from calibrant._core.typing import Array
from calibrant._data.samples import Samples
from calibrant._inference.uncertainty import Uncertainty
from calibrant._measures.measure import Measure
from calibrant._measures.statistics import STATISTICS


def why_not_pooled(measure: Measure, n_columns: int) -> str:
    """Why sums by cell do not give an interval of a measure, in words; "" where they do.

    `n_columns` is the number of columns of predictions: 1, or one for each class.
    """
    problem = STATISTICS[measure.statistic].problem
    if measure.statistic == "distribution":
        return "whole distributions are compared row by row"
    if n_columns > 1 and problem != "scalar":
        return "every class of each row is needed, and sums have the top label alone"
    return ""


def pooled_samples(cells: Array) -> Samples:
    """The rows that sums by cell, (cells, fields), stand for: at most two for each cell, one for
    each label, whose weights are their numbers.

    Raises NeedsRows for weights and for soft labels.
    """
    n, w, w2, wu, wz, wz2 = (
        cells[:, FIELDS.index(name)]
        for name in ("n", "sum_w", "sum_w2", "sum_wu", "sum_wz", "sum_wz2")
    )
    if not (np.array_equal(n, w) and np.array_equal(n, w2)):
        raise NeedsRows(
            "intervals from sums need rows of equal weight: with sample_weight, collect a sample "
            "of rows and evaluate that"
        )
    if not np.array_equal(wz, wz2):
        raise NeedsRows(
            "intervals from sums need labels of 0 and 1: with soft labels, collect a sample of "
            "rows and evaluate that"
        )
    used = n > 0
    u = np.clip(wu[used] / n[used], 0.0, 1.0)
    counts = np.concatenate([wz[used], n[used] - wz[used]])
    labels = np.repeat([1.0, 0.0], u.size)
    some = counts > 0
    return Samples(np.tile(u, 2)[some], labels[some], counts[some])


def uncertainty_of_sums(
    cells: Array,
    rules: tuple[Rule, Rule],
    measures: tuple[Measure, ...],
    level: float,
    n_resamples: int,
    seed: int,
) -> Uncertainty:
    """The Uncertainty of measures from the sums by cell, (cells, fields), of the scalar problem:
    P(y = 1), or the top label's confidence. `rules` are those of fixed and of quantile bins.
    """
    samples = pooled_samples(cells)
    return Uncertainty(samples, *rules, measures, level, n_resamples, seed, repeats=True)
