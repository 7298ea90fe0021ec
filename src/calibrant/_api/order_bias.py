"""Whether the order of predictors by a truthful error is that of their losses (theorem 4.3 of Lu,
Wu, Hartline and Hu).

n times the expected error of a predictor h is the loss that recalibration leaves it, plus a bias
rho(h) >= 0. If the loss of g after recalibration is no less than that of f plus rho(f), f has no
larger an error than g. For bins that stay where they are,

    n E[error(h)] = E[loss(h)] + (n - 1) theta(h),

theta being the squared gaps of the bins in the population: from limits of theta, which `compare`
has, and of mean losses of rows follow those of the bias. Estimates are within their limits.

Recalibration is an increasing map of each scalar problem of the error. It keeps the top label of a
confidence error and takes classes one by one, as the error does. The theorem's own recalibration,
given the whole prediction, leaves a smaller loss: it covers fewer orders, by the same proof.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import NamedTuple

import numpy as np

from calibrant._api.cross_fitting import FOLDS, fold_of
from calibrant._core.typing import Array, Index, Shape
from calibrant._data.samples import Samples
from calibrant._inference.means import distribution_rows, influences, mean_limits
from calibrant._measures.measure import Measure
from calibrant._measures.statistics import STATISTICS
from calibrant.results._order_bias import CoveredOrder, OrderBias, PredictorBias

# Neighbouring predictions beyond so many are put together before a fit: a fit of as many steps
# leaves the same loss to three digits.
MOST_LEVELS = 4096


def has_order_bias(measure: Measure, shape: Shape) -> bool:
    """Whether the theorem is about the measure: truthful sums of squares over bins, of one scalar
    problem or of each class.

    LinCE of whole distributions is left out: what it would be after recalibration, given all of a
    prediction, cannot be learned from rows.
    """
    problems = ("confidence", "classwise", *(() if shape == "multiclass" else ("scalar",)))
    problem = STATISTICS[measure.statistic].problem
    return bool(measure.claims.truthful) and measure.form == "squares" and problem in problems


class RowLosses(NamedTuple):
    """The loss of every row, (n,): as predicted, recalibrated by a map fitted to the same rows, and
    by one fitted to the rows of other folds.
    """

    given: Array
    fitted: Array
    crossed: Array


def recalibrated_losses(samples: Samples, measure: Measure, fold: Index) -> RowLosses:
    """The loss that belongs to an error, before and after recalibration: squares of the error's
    scalar problem, their mean over classes, or 1 - z + (c - z)^2 of the top label.
    """
    p, q = distribution_rows(samples)
    problem, missed = STATISTICS[measure.statistic].problem, np.zeros(len(p))
    pairs = list(zip(p.T, q.T, strict=True)) if problem == "classwise" else [(p[:, 1], q[:, 1])]
    if problem == "confidence":
        top = np.arange(len(p)), p.argmax(axis=1)
        pairs, missed = [(p[top], q[top])], 1.0 - q[top]
    out = np.zeros((3, len(p)))
    for u, z in pairs:
        for total, v in zip(out, (u, *increasing_fits(u, z, fold)), strict=True):
            total += missed + (v - z) ** 2
    return RowLosses(*(out / len(pairs)))


def increasing_fits(u: Array, z: Array, fold: Index) -> tuple[Array, Array]:
    """The increasing least-squares fit of targets z to predictions u, (n,), and its values where
    each row is left to the fit to other folds; between predictions it is a straight line.
    """
    from scipy.optimize import isotonic_regression

    levels, index = np.unique(u, return_inverse=True)
    if levels.size > MOST_LEVELS:
        index = index * MOST_LEVELS // levels.size
        levels = np.bincount(index, u) / np.bincount(index)
    cells, size = index * FOLDS + fold, levels.size * FOLDS
    n, total = (np.bincount(cells, w, size).reshape(-1, FOLDS) for w in (None, z))
    at_levels = []
    # The first fit has all rows; the others lack a fold each.
    for lacks in (np.zeros(FOLDS, bool), *np.eye(FOLDS, dtype=bool)):
        weights = n[:, ~lacks].sum(axis=1).astype(np.float64)
        seen = weights > 0
        means = total[:, ~lacks].sum(axis=1)[seen] / weights[seen]
        fit = isotonic_regression(means, weights=weights[seen])
        at_levels.append(np.interp(levels, levels[seen], fit.x))
    return at_levels[0][index], np.array(at_levels[1:])[fold, index]


def order_bias(
    samples: Mapping[str, Samples],
    measure: Measure,
    values: Array,
    limits: Array,
    level: float,
    seed: int,
) -> OrderBias:
    """The bias of each predictor and, of each two, whether the theorem covers their order.

    `values` are the errors of the sample, (predictors,); `limits` those of the squared gaps, their
    lower and upper limit and their estimate, (predictors, 3).
    """
    names, n = list(samples), next(iter(samples.values())).n
    fold = fold_of(next(iter(samples.values())), None, FOLDS, seed)
    losses = [recalibrated_losses(each, measure, fold) for each in samples.values()]
    gaps = (n - 1) * limits
    order = [int(i) for i in np.argsort(values, kind="stable")]

    def margin(a: int, b: int) -> tuple[float, float, float]:
        """The loss that recalibration leaves b, less n times the error of a, with limits."""
        # The fit to the same rows leaves less than there is, that to others leaves more.
        low = _mean_limits(losses[b].fitted - losses[a].given, level)[0] - gaps[a, 1]
        high = _mean_limits(losses[b].crossed - losses[a].given, level)[1] - gaps[a, 0]
        middle = losses[b].crossed.mean() - n * values[a]
        return float(np.clip(middle, low, high)), float(low), float(high)

    pairs, rows = [], []
    for a, b in combinations(order, 2):
        middle, low, high = margin(a, b)
        covered = True if low >= 0 else False if high < 0 else None
        pairs.append(CoveredOrder(names[a], names[b], middle, low, high, covered))
    for i in order:
        # Against itself the gap of the losses is 0, and the margin is the bias with the other sign.
        middle, low, high = (max(0.0, -value) for value in margin(i, i))
        loss = float(losses[i].crossed.mean())
        behind = [pair.covered for pair in pairs if pair.first == names[i]]
        counts = (behind.count(answer) for answer in (True, None, False))
        rows.append(PredictorBias(names[i], loss, middle, high, low, *counts))
    label = measure.called()
    return OrderBias(
        measure=measure.name, label=label, rows=tuple(rows), pairs=tuple(pairs), level=level
    )


def _mean_limits(values: Array, level: float) -> tuple[float, float]:
    """The confidence interval of a mean of rows."""
    low, high, _ = mean_limits(influences(values, None, None), level)
    return float(values.mean()) + low, float(values.mean()) + high
