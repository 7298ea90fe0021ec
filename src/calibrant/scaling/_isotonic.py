"""Isotonic calibration: the increasing map that fits best, in steps or without."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant._engines.arrays.draws import fit_isotonic
from calibrant._engines.logit_cells import LogitCells
from calibrant.scaling._docstrings import documented
from calibrant.scaling._one_vs_rest import Column, ColumnFit, OneVsRest
from calibrant.scaling._predictions import FloatArray
from calibrant.scaling._problem import Solution, log_loss
from calibrant.scaling._summed_rows import SummedRows

# How far rounding may carry a value beyond [0, 1]: a mean of ones may be a little more than 1.
ROUNDING = 1e-9
# Means of blocks whose relative difference is less than this count as equal: sums of a million
# weights or soft labels agree to this, in any order and unit, but not to the last bit.
EQUAL = 1e-10


@documented
class IsotonicCalibration(OneVsRest):
    r"""Isotonic calibration: the increasing map of the predictions that fits the targets best.

    .. math:: \min_{q_1 \le \dots \le q_n} \frac{1}{W} \sum_i w_i (q_i - z_i)^2,
        \quad p_1 \le \dots \le p_n

    found by pooling adjacent violators; this also minimises the log loss. Equal predictions are
    pooled. The map is constant on a block of pooled predictions, linear between neighbouring
    blocks, and constant beyond the first and the last prediction, as in scikit-learn. It can
    predict exactly 0 or 1, which may cost a held-out row an infinite log loss (Calibrant's floor is
    1e-12).

    Predictions (n, k) get a map for each class against the rest, and rows are divided by their sum;
    a row whose classes are all mapped to 0 is returned unchanged.

    Attributes
    ----------
    thresholds_ : tuple of ndarray
        The predictions at which each map bends: one map for two classes, k for k > 2.
    values_ : tuple of ndarray
        Their recalibrated probabilities.

    References
    ----------
    Zadrozny and Elkan (2002), Transforming classifier scores into accurate multiclass probability
    estimates, KDD, doi:10.1145/775047.775151.

    Examples
    --------
    >>> from calibrant.scaling import IsotonicCalibration
    >>> scaler = IsotonicCalibration().fit([0, 1, 0, 1], [0.1, 0.3, 0.5, 0.8])
    >>> scaler.transform([0.05, 0.4, 0.65]).tolist()
    [0.0, 0.5, 0.75]
    """

    _of_logarithms = False
    _learned = ("thresholds_", "values_")
    thresholds_: tuple[FloatArray, ...]
    values_: tuple[FloatArray, ...]

    def _check_learned(self) -> None:
        """Raise a ValueError if thresholds and values read from a file have different sizes, or do
        not increase.
        """
        super()._check_learned()
        for thresholds, values in zip(self.thresholds_, self.values_, strict=True):
            shape = np.shape(thresholds)
            if len(shape) != 1 or not shape[0] or np.shape(values) != shape:
                raise ValueError("the number of values does not fit the thresholds")
            if not (np.diff(thresholds) > 0).all() or not (np.diff(values) >= 0).all():
                raise ValueError("its thresholds or values do not increase")
            ends = np.array([thresholds[0], thresholds[-1], values[0], values[-1]])
            if not ((ends >= -ROUNDING) & (ends <= 1 + ROUNDING)).all():
                raise ValueError("its thresholds or values are not probabilities")

    def _fit_column(self, column: Column) -> ColumnFit:
        """Fit the map of one class: the first and the last prediction of each block (run of equal
        fitted values) of the isotonic fit, and the block's value at both.
        """
        blocks = pooled(column)
        ends = np.stack([blocks.first, blocks.last], axis=1).ravel()
        thresholds, kept = np.unique(ends, return_index=True)
        return ColumnFit((thresholds, np.repeat(blocks.values, 2)[kept]))

    def _fit_cells(self, rows: SummedRows, cells: LogitCells) -> tuple[Solution, float | None]:
        """Fit the map of rows (n,) that are summed."""
        return self._solve_sums(rows)

    def _solve_sums(self, rows: SummedRows) -> tuple[Solution, float | None]:
        """Fit the maps of classes that are summed by prediction, or by narrow cells of many."""
        double = np.dtype(np.float64)
        columns = [Column(u, np.clip(z, 0.0, 1.0), w, double) for u, w, z in rows.levels()]
        solution = self._solution(columns, list(map(self._fit_column, columns)), rows.class_names)
        if rows.columns is not None:
            return solution, None
        (column,) = columns
        self._set_learned(solution)
        mapped = self._map(0, column.predictions, double)
        return solution, log_loss(column.targets, column.shares, mapped)

    def _map(self, j: int, values: FloatArray, precision: np.dtype[Any]) -> FloatArray:
        """The values of the j-th map, by linear interpolation between its thresholds."""
        thresholds, levels = self.thresholds_[j], self.values_[j]
        out = np.interp(values, thresholds, levels)
        # Thresholds next to 0 can be so close that the slope between them overflows: the map is a
        # step there.
        steep = ~np.isfinite(out)
        if steep.any():
            out[steep] = levels[np.searchsorted(thresholds, values[steep], side="right") - 1]
        return out


@documented
class CentredIsotonic(IsotonicCalibration):
    r"""Centred isotonic calibration: isotonic regression whose steps are contracted to points.

    .. math:: \bigl(c_B, q_B\bigr), \quad c_B = \frac{\sum_{i \in B} w_i p_i}{\sum_{i \in B} w_i},
        \quad q_B = \frac{\sum_{i \in B} w_i z_i}{\sum_{i \in B} w_i}

    for each block B of predictions on which the isotonic fit is constant; the map is linear between
    neighbouring points, and constant beyond the first and the last. It increases strictly between
    them, so it keeps the order of the predictions, whereas `IsotonicCalibration` maps whole ranges
    to one value. Neighbouring blocks whose means agree to ten digits are one block, so neither the
    order of rows nor the unit of weights matters. A block whose mean is 0 or 1 does not change, as
    in Oron and Flournoy. Its predictions may cost a held-out row an infinite log loss (Calibrant's
    floor is 1e-12).

    Predictions (n, k) get a map for each class against the rest, and rows are divided by their sum;
    a row whose classes are all mapped to 0 is returned unchanged.

    Attributes
    ----------
    thresholds_ : tuple of ndarray
        The predictions at which each map bends: one map for two classes, k for k > 2.
    values_ : tuple of ndarray
        Their recalibrated probabilities.

    Notes
    -----
    Over the rows of the fit, the mean of the mapped predictions differs slightly from that of the
    targets. With isotonic calibration both are equal.

    References
    ----------
    Oron and Flournoy (2017), Centered isotonic regression: point and interval estimation for
    dose-response studies, Statistics in Biopharmaceutical Research 9(3):258-267,
    doi:10.1080/19466315.2017.1286256.

    Examples
    --------
    >>> from calibrant.scaling import CentredIsotonic, IsotonicCalibration
    >>> y, p = [0, 1, 0, 1], [0.1, 0.3, 0.5, 0.8]
    >>> CentredIsotonic().fit(y, p).transform([0.25, 0.35, 0.45]).round(3).tolist()
    [0.25, 0.417, 0.562]
    >>> IsotonicCalibration().fit(y, p).transform([0.25, 0.35, 0.45]).round(3).tolist()
    [0.375, 0.5, 0.5]
    """

    def _fit_column(self, column: Column) -> ColumnFit:
        """Fit the map of one class: the mean prediction of each block (run of equal fitted values)
        of the isotonic fit, and the block's value there. A block with the value 0 or 1 keeps its
        first and its last prediction.
        """
        blocks = pooled(column)
        # Neighbouring blocks of equal means are one flat stretch too.
        rises = np.diff(blocks.values) > EQUAL * blocks.values[1:]
        start = np.flatnonzero(np.append(True, rises))
        first, last = blocks.first[start], blocks.last[np.append(start[1:], blocks.values.size) - 1]
        mass = np.add.reduceat(blocks.mass, start)
        centre = np.add.reduceat(blocks.mass * blocks.centre, start) / mass
        centre = np.clip(centre, first, last)  # rounding must not put one beyond its block
        values = np.add.reduceat(blocks.mass * blocks.values, start) / mass
        values = np.where(values >= 1.0 - EQUAL, 1.0, values)
        at_bound = (values == 0.0) | (values == 1.0)
        points = np.where(at_bound[:, None], np.stack([first, last], 1), centre[:, None])
        thresholds, kept = np.unique(points.ravel(), return_index=True)
        return ColumnFit((thresholds, np.repeat(values, 2)[kept]))


@dataclass(frozen=True, eq=False)
class Blocks:
    """The blocks of an isotonic fit (predictions that it gives one value), in increasing order. For
    each block: its first and its last prediction, their weighted mean `centre`, their weight
    `mass`, and their mean target `values`.
    """

    first: FloatArray
    last: FloatArray
    centre: FloatArray
    mass: FloatArray
    values: FloatArray


def pooled(column: Column) -> Blocks:
    """The isotonic fit to the targets of one class, as blocks of constant fitted value; rows of
    weight 0 are ignored.
    """
    levels, mass, means = by_level(column)
    # Sums of weights may round a hair past the ends.
    fit = np.clip(fit_isotonic(mass[None], (mass * means)[None])[0], 0.0, 1.0)
    start = np.concatenate([[0], np.flatnonzero(np.diff(fit)) + 1])
    stop = np.append(start[1:], fit.size)
    total = np.add.reduceat(mass, start)
    centre = np.add.reduceat(mass * levels, start) / total
    values = fit[start]
    return Blocks(levels[start], levels[stop - 1], centre, total, values)


def by_level(column: Column) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The distinct predictions of positive weight in increasing order, the weight of each, and the
    mean target of each: all that the fit of an increasing map requires.
    """
    weighted = column.weights > 0
    weights = column.weights[weighted]
    levels, index = np.unique(column.predictions[weighted], return_inverse=True)
    mass: FloatArray = np.bincount(index, weights).astype(np.float64)
    means: FloatArray = np.bincount(index, weights * column.targets[weighted]) / mass
    return levels, mass, means
