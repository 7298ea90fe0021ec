"""Venn-Abers calibration: two probabilities, one of which is right on average."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from calibrant._core.validation import public
from calibrant._engines.arrays.selection import kernels
from calibrant.scaling._docstrings import documented
from calibrant.scaling._isotonic import by_level
from calibrant.scaling._one_vs_rest import Column, ColumnFit, OneVsRest
from calibrant.scaling._predictions import FloatArray
from calibrant.scaling._problem import Problem, Solution
from calibrant.scaling._scaler import NEEDS_MORE_THAN_SUMS

# Weights that sum to less than this share of the number of rows cannot be numbers of rows.
LIGHT = 0.1


@documented
class VennAbers(OneVsRest):
    r"""Inductive Venn-Abers calibration: an isotonic fit for each label that a new row may have.

    .. math:: q = \frac{p_1}{1 - p_0 + p_1}

    where p_0 and p_1 are the isotonic calibration of a new prediction after its row was added to
    the fit, with the label 0 and with the label 1. `predict_both` returns both; `transform` merges
    them into q, which minimises the largest regret in log loss against the better of the two. q is
    never 0 or 1, and where few rows are near, p_0 and p_1 lie far apart. Both maps are exact step
    functions, computed for all predictions at once.

    Predictions (n, k) get a map for each class against the rest, and rows of q are divided by their
    sum.

    Attributes
    ----------
    thresholds_0_, thresholds_1_ : tuple of ndarray
        The predictions at which p_0 and p_1 step up: one map for two classes, k for k > 2.
    values_0_ : tuple of ndarray
        p_0 below the first threshold (which is 0), and from each threshold on.
    values_1_ : tuple of ndarray
        p_1 up to each threshold, and beyond the last (which is 1).

    Notes
    -----
    The probability, p_0 or p_1, that belongs to the new row's true label is perfectly calibrated in
    expectation, for any number of rows, if labels are hard and the rows of the fit and the new one
    are exchangeable. This holds for the pair: q, and rows of several classes divided by their sum,
    only come close to it. A new row counts as one of weight 1, so a weight of 3 means three rows
    (with vote counts, each vote is one row). Weights that sum to 1, for example, give p_0 near 0
    and p_1 near 1. With weights, soft labels or several votes per row, the rows of the fit differ
    from a new row with one label, so the guarantee holds only approximately; it becomes exact as
    the number of rows grows.

    References
    ----------
    Vovk, Petej and Fedorova (2015), Large-scale probabilistic predictors with and without
    guarantees of validity, NeurIPS, arXiv:1511.00213.

    Examples
    --------
    >>> from calibrant.scaling import VennAbers
    >>> scaler = VennAbers().fit([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.6, 0.7, 0.9])
    >>> low, high = scaler.predict_both([0.15, 0.5, 0.95])
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.0, 0.333, 0.667], [0.5, 0.667, 1.0])
    >>> scaler.transform([0.15, 0.5, 0.95]).round(3).tolist()
    [0.333, 0.5, 0.75]
    """

    _of_logarithms = False
    _needs_rows = NEEDS_MORE_THAN_SUMS
    _learned = ("thresholds_0_", "values_0_", "thresholds_1_", "values_1_")
    thresholds_0_: tuple[FloatArray, ...]
    values_0_: tuple[FloatArray, ...]
    thresholds_1_: tuple[FloatArray, ...]
    values_1_: tuple[FloatArray, ...]

    @public
    def predict_both(self, y_proba: Any, *, data: Any = None) -> tuple[FloatArray, FloatArray]:
        """The two probabilities of each prediction: p_0 and p_1, in which p_0 is the smaller.

        Parameters
        ----------
        y_proba : array-like of shape (n,) or (n, k)
            Predictions of the kind that the map was fitted to.
        data : frame, optional
            A frame; `y_proba` is then the name of its column, or a list of names.

        Returns
        -------
        tuple of two ndarrays of shape (n,) or (n, k)
            p_0 and p_1 in the shape of `y_proba`. For (n, k) predictions each class has its own
            pair, against the rest: their rows do not sum to 1.

        Raises
        ------
        StateError
            If the scaler is not fitted.
        InputError
            If the predictions are invalid or have another number of columns than those of the fit.

        Examples
        --------
        >>> from calibrant.scaling import VennAbers
        >>> scaler = VennAbers().fit([0, 1, 0, 1], [0.1, 0.3, 0.5, 0.8])
        >>> low, high = scaler.predict_both([0.05, 0.4])
        >>> low.round(3).tolist(), high.round(3).tolist()
        ([0.0, 0.333], [0.5, 0.667])
        """
        predictions = self._predictions(y_proba, data)
        rows = self._read(predictions)
        one_map = rows.ndim == 1 or rows.shape[1] == 2
        columns = rows.reshape(len(rows), -1)[:, -1:] if one_map else rows
        pairs = [self._pair(j, columns[:, j]) for j in range(columns.shape[1])]
        if rows.ndim == 1:
            return pairs[0]
        if one_map:  # the pair of the other class is 1 minus that of this one
            low, high = pairs[0]
            pairs = [(1.0 - high, 1.0 - low), (low, high)]
        low, high = (np.stack([pair[which] for pair in pairs], axis=1) for which in (0, 1))
        return low, high

    def _pair(self, j: int, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The probabilities p_0 and p_1 of the j-th map for the predictions `values`."""
        below = np.searchsorted(self.thresholds_0_[j], values, side="right")
        above = np.searchsorted(self.thresholds_1_[j], values, side="left")
        return self.values_0_[j][below], self.values_1_[j][above]

    def _check_learned(self) -> None:
        """Raise a ValueError if thresholds and values read from a file are inconsistent."""
        super()._check_learned()
        for j in range(len(self.thresholds_0_)):
            for thresholds, values in (
                (self.thresholds_0_[j], self.values_0_[j]),
                (self.thresholds_1_[j], self.values_1_[j]),
            ):
                size = np.size(thresholds)
                if np.ndim(thresholds) != 1 or not size or np.shape(values) != (size + 1,):
                    raise ValueError("the number of values does not fit the steps")
                if not (np.diff(thresholds) > 0).all() or not (np.diff(values) >= 0).all():
                    raise ValueError("its thresholds or values do not increase")
                if not (values[0] >= 0 and values[-1] <= 1):
                    raise ValueError("a value is not a probability")
            steps = np.concatenate([self.thresholds_0_[j], self.thresholds_1_[j]])
            low, high = self._pair(j, np.concatenate([steps, [-np.inf, np.inf]]))
            if not (low < high).all():
                raise ValueError("p_0 is not below p_1")

    def _solve(self, problem: Problem) -> Solution:
        """Fit the thresholds and values of all maps; with a warning for weights that do not count
        rows.
        """
        solution = super()._solve(problem)
        n, total = int(np.count_nonzero(problem.weights)), float(problem.weights.sum())
        if total >= LIGHT * n:
            return solution
        caution = (
            f"the weights of {n:,} rows sum to {total:.3g}, but a new row counts as one of weight "
            "1, so p_0 and p_1 lie far apart: give weights that count rows (multiply them by "
            f"{n / total:.3g}, for example)"
        )
        return replace(solution, cautions=(*solution.cautions, caution))

    def _fit_column(self, column: Column) -> ColumnFit:
        """Fit the two step functions of one class, p_0 and then p_1: their thresholds and
        values.
        """
        levels, mass, means = by_level(column)
        total, sums = np.cumsum(mass), np.cumsum(mass * means)
        # The fit with a label of 0 is that with a label of 1, predictions and targets reversed.
        left = mass[::-1]
        turned, rest = np.cumsum(left), np.cumsum(left * (1.0 - means[::-1]))
        rise_1, run_1 = with_a_one(total, sums)
        rise_0, run_0 = with_a_one(turned, rest)
        p_1, p_0 = rise_1 / run_1, ((run_0 - rise_0) / run_0)[::-1]
        p_1, p_0 = np.clip(p_1, 0.0, 1.0), np.clip(p_0, 0.0, 1.0)
        # A step of p_0 keeps its first level, and a step of p_1 its last.
        first = np.flatnonzero(np.append(True, np.diff(p_0) > 0))
        last = np.flatnonzero(np.append(np.diff(p_1) > 0, True))
        return ColumnFit(
            (
                levels[first],
                np.append(0.0, p_0[first]),
                levels[last],
                np.append(p_1[last], 1.0),
            )
        )

    def _map(self, j: int, values: FloatArray, precision: np.dtype[Any]) -> FloatArray:
        """The probabilities p_1 / (1 - p_0 + p_1) that the j-th map gives for the
        probabilities `values`.
        """
        low, high = self._pair(j, values)
        return high / (1.0 - low + high)


def with_a_one(mass: FloatArray, total: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The isotonic fit at each level (distinct prediction) if a row of weight 1 and target 1 is
    added to that level, as the rise and the run of a slope for each. `mass` and `total` are the
    cumulative sums of weights and of weighted targets over the levels.

    The fit at level j is the slope of the line that touches, from below, both the points of the
    cumulative sums before j and, moved by (1, 1), those from j on. The two points at which it
    touches their convex hulls only move to the right as j grows, so that all levels together cost
    as much as one isotonic fit.
    """
    n = mass.size
    rise, run = np.empty(n), np.empty(n)
    compiled = getattr(getattr(kernels(), "draws", None), "isotonic_with_a_one", None)
    if compiled is not None:
        compiled(rise, run, mass, total)
        return rise, run
    x, y = mass.tolist(), total.tolist()
    follows = _hull_from_the_right(x, y)
    # The hull of the points before j, which are moved by (-1, -1) instead of moving the others by
    # (1, 1). Points before the one that is touched are never touched again.
    xs, ys, at, b = [-1.0], [-1.0], 0, 0
    for j in range(n):
        b = max(b, j)
        while True:
            dx, dy = x[b] - xs[at], y[b] - ys[at]
            c = follows[b]
            while c < n and (y[c] - y[b]) * dx < dy * (x[c] - x[b]):
                b = c
                dx, dy = x[b] - xs[at], y[b] - ys[at]
                c = follows[b]
            if at + 1 == len(xs) or (ys[at + 1] - ys[at]) * dx >= dy * (xs[at + 1] - xs[at]):
                break
            at += 1
        rise[j], run[j] = dy, dx
        new_x, new_y = x[j] - 1.0, y[j] - 1.0
        while len(xs) > at + 1 and (
            (ys[-1] - ys[-2]) * (new_x - xs[-1]) >= (new_y - ys[-1]) * (xs[-1] - xs[-2])
        ):
            xs.pop()
            ys.pop()
        xs.append(new_x)
        ys.append(new_y)
    return rise, run


def _hull_from_the_right(x: list[float], y: list[float]) -> list[int]:
    """For each point, the position of the next corner on the lower convex hull of itself and all
    points after it; the number of points where there is none.
    """
    n = len(x)
    follows = [n] * n
    for j in range(n - 2, -1, -1):
        c = j + 1
        while (d := follows[c]) < n and (
            (y[c] - y[j]) * (x[d] - x[c]) >= (y[d] - y[c]) * (x[c] - x[j])
        ):
            c = d
        follows[j] = c
    return follows
