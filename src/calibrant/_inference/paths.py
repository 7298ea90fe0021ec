"""Tests of calibration by partial sums of residuals in order of the predictions.

If the predictions u are right, residuals w (z - u), with the weight w and the target z of a row,
are independent with mean 0 and variance w^2 u (1 - u): their partial sums are a random walk whose
steps have known variances.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from calibrant._core.level_table import LevelTable
from calibrant._core.typing import Array, Index
from calibrant._inference.blocks import summed
from calibrant._inference.budget import (
    LEAST_RANGE,
    MOST_DRAWS,
    MOST_POINTS,
    MOST_POINTS_CLUSTERED,
    TERMS,
)
from calibrant._inference.cells import Problem
from calibrant._inference.noise_model import clustered_covariances
from calibrant._inference.numbers import NOT_NORMAL
from calibrant._inference.rounding import LEAST_P, symmetric_root
from calibrant._inference.significance import PValue, drawn_p, drawn_tail, far_from_normal
from calibrant._measures.cutoffs import Cutoffs, worst_interval


@dataclass(frozen=True, eq=False)
class Walk:
    """The steps of a walk, the partial sums of residuals: cells of equal or neighbouring
    predictions.

    `u` are the cells' mean predictions in increasing order, `cells` is the cell of each row.
    `exact`: each distinct prediction has a cell of its own.
    """

    u: Array
    cells: Index
    exact: bool

    @classmethod
    def from_problem(cls, problem: Problem, most: int = MOST_POINTS) -> Walk:
        """The walk of a problem in at most `most` steps: one for each distinct prediction or, if
        there are more of these, steps of equal variance.
        """
        levels, cells = problem.levels
        if levels.size <= most:
            return cls(levels, cells, True)
        variance = np.bincount(cells, problem.weights**2 * problem.u * (1.0 - problem.u))
        cumulative = np.cumsum(variance + 1e-12 * max(float(variance.max()), 1e-300))
        step = np.minimum((cumulative / cumulative[-1] * most).astype(np.intp), most - 1)
        step = np.unique(step, return_inverse=True)[1]
        rows = step[cells]
        n = np.bincount(rows)
        return cls(np.bincount(rows, problem.u) / n, rows, False)

    @property
    def m(self) -> int:
        """The number of steps."""
        return int(self.u.size)

    def sums(self, values: Array) -> Array:
        """Sums by cell, (m,), of values by row."""
        return summed(self.cells, values, self.m)

    def nearness(self) -> Array:
        """The matrix K, (m, m), with ``1 - |u - v|`` for each pair of cells with the mean
        predictions u and v: the averaged two-bin error is ``r' K r / W^2`` with residuals r and
        total weight W.
        """
        return 1.0 - np.abs(self.u[:, None] - self.u)

    def atb(self, sums: Array) -> Array:
        """The averaged two-bin error times the squared total weight, (draws,), for sums of
        residuals by cell, (draws, m).
        """
        partial = np.cumsum(sums, axis=1)
        ends = partial[:, -1:]
        widths = np.diff(self.u, append=1.0)
        out: Array = partial**2 @ widths + (ends - partial) ** 2 @ widths
        out += self.u[0] * ends[:, 0] ** 2
        return out


# --- the averaged two-bin error (ATB) ---


def averaged_value(problem: Problem) -> float:
    """The averaged two-bin error (ATB), exactly: every distinct prediction is a step."""
    levels = Walk.from_problem(problem, problem.n)
    sums = levels.sums(problem.weights * (problem.z - problem.u))
    return float(levels.atb(sums[None])[0]) / float(problem.weights.sum()) ** 2


def averaged_null(problem: Problem) -> tuple[float, float]:
    """The exact mean and variance of the averaged two-bin error (ATB) if the predictions are right.

    ATB is ``sum_ij K_ij r_i r_j / W^2`` with ``K = 1 - |u_i - u_j|`` for predictions u, residuals r
    of variance v, and the total weight W. Times W^2 its mean is ``sum v``, and times W^4 its
    variance is ``2 sum_ij K_ij^2 v_i v_j + sum w^4 u (1 - u) (1 - 6 u (1 - u))``. The double sum is
    computed from cumulative sums.
    """
    w, u = problem.weights, problem.u
    order = np.argsort(u, kind="stable")
    w, u = w[order], u[order]
    of_row = u * (1.0 - u)
    v, total = w * w * of_row, float(w.sum())
    first, second = float(v @ u), float(v @ (u * u))
    sum_v = float(v.sum())
    before = np.cumsum(v) - v
    before_u = np.cumsum(v * u) - v * u
    distances = 2.0 * float(v @ (u * before - before_u))
    pairs = sum_v**2 - 2.0 * distances + 2.0 * (sum_v * second - first**2)
    fourth = float((w**4 * of_row * (1.0 - 6.0 * of_row)).sum())
    return sum_v / total**2, max(2.0 * pairs + fourth, 0.0) / total**4


def averaged_p(problem: Problem, seed: int) -> PValue:
    """The p-value of the averaged two-bin error (ATB): by a formula where sums are nearly normal,
    else from draws of outcomes.
    """
    walk = Walk.from_problem(problem)
    w, u = problem.weights, problem.u
    value = float(walk.atb(walk.sums(w * (problem.z - u))[None])[0])
    variances = walk.sums(w * w * u * (1.0 - u))
    if variances.any() and far_from_normal(problem) <= NOT_NORMAL:
        deviations: Array = np.sqrt(variances)
        matrix = deviations[:, None] * walk.nearness() * deviations
        weights: Array = np.linalg.eigvalsh(matrix).astype(np.float64)
        return PValue(weighted_chi_square_tail(value, weights))
    return drawn_p(value, u, w, walk.cells, walk.m, seed, walk.atb)


def clustered_averaged_p(problem: Problem, groups: Index) -> float:
    """The p-value of the averaged two-bin error (ATB) with clusters, the larger of two: with the
    covariance of the clusters' residuals, and with the noise model's.
    """
    walk = Walk.from_problem(problem, MOST_POINTS_CLUSTERED)
    residuals = walk.sums(problem.weights * (problem.z - problem.u))
    value = float(walk.atb(residuals[None])[0])
    values, vectors = np.linalg.eigh(walk.nearness())
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return max(
        weighted_chi_square_tail(value, np.linalg.eigvalsh(root.T @ covariance @ root))
        for covariance in clustered_covariances(problem, groups, walk.cells, walk.m)[1]
    )


def weighted_chi_square_tail(x: float, weights: Array) -> float:
    """The probability that a sum of squared standard normals times `weights` is at least x, by the
    saddlepoint approximation (Kuonen, 1999).
    """
    from scipy.optimize import brentq
    from scipy.special import ndtr

    lam = weights[weights > 1e-12 * max(float(weights.max()), 0.0)]
    if lam.size == 0:
        return 1.0 if x <= 0 else LEAST_P
    lam = lam / float(lam.max())
    x = x / float(weights.max())
    mean = float(lam.sum())
    if x <= 1e-12 * mean:  # residuals that cancel but for rounding
        return 1.0

    def slope(t: float) -> float:
        """The derivative of the saddlepoint's exponent at t, which is 0 at the saddlepoint."""
        return float((lam / (1.0 - 2.0 * t * lam)).sum()) - x

    if abs(x - mean) < 1e-4 * mean:  # at the mean the formula is 0 / 0: interpolate
        sides = (weighted_chi_square_tail(mean * (1 + e), lam) for e in (-2e-4, 2e-4))
        return sum(sides) / 2.0
    high = 0.5 * (1.0 - 1e-15)
    if slope(high) <= 0.0:  # beyond the range of the formula in doubles
        return LEAST_P
    low = -0.5 * lam.size / x
    t = float(brentq(slope, low if x < mean else 0.0, high if x > mean else 0.0, xtol=1e-15))
    cumulant = -0.5 * float(np.log1p(-2.0 * t * lam).sum())
    curvature = 2.0 * float((lam**2 / (1.0 - 2.0 * t * lam) ** 2).sum())
    w = math.copysign(math.sqrt(max(2.0 * (t * x - cumulant), 0.0)), t)
    v = t * math.sqrt(curvature)
    return min(max(float(ndtr(-(w + math.log(v / w) / w))), LEAST_P), 1.0)


# --- the cutoff error ---


def worst_cutoffs(problem: Problem) -> Cutoffs:
    """The interval of predictions with the largest absolute sum of residuals (target less
    prediction).
    """
    levels, w = Walk.from_problem(problem, problem.n), problem.weights
    return worst_interval(LevelTable(levels.u, levels.sums(w), levels.sums(w * problem.z)))


def cutoff_p(problem: Problem, value: float, seed: int) -> PValue:
    """The p-value of the cutoff error, whose observed value is `value`.

    It comes from the range of a Brownian motion where distinct predictions are many and their sums
    nearly normal, else from drawn walks.
    """
    walk = Walk.from_problem(problem)
    w, u = problem.weights, problem.u
    variance = float((w * w * u * (1.0 - u)).sum())
    if not walk.exact and variance > 0 and far_from_normal(problem) <= NOT_NORMAL:
        return PValue(brownian_range_tail(value * float(w.sum()) / math.sqrt(variance)))
    observed = _squared_range(walk.sums(w * (problem.z - u))[None])
    return drawn_p(float(observed[0]), u, w, walk.cells, walk.m, seed, _squared_range)


def clustered_cutoff_p(problem: Problem, groups: Index, seed: int) -> PValue:
    """The p-value of the cutoff error with clusters, the larger of two: with the covariance of the
    clusters' residuals, and with the noise model's.
    """
    walk = Walk.from_problem(problem, MOST_POINTS_CLUSTERED)
    residuals = walk.sums(problem.weights * (problem.z - problem.u))
    observed = float(_squared_range(residuals[None])[0])
    rng = np.random.default_rng([seed, 0xC0FF])
    normal = rng.standard_normal((MOST_DRAWS, walk.m))
    p_values = []
    for covariance in clustered_covariances(problem, groups, walk.cells, walk.m)[1]:
        walks = normal @ symmetric_root(covariance)
        p_values.append(drawn_tail(observed, _squared_range(walks)))
    return PValue(max(p_values), MOST_DRAWS)


def _squared_range(steps: Array) -> Array:
    """The squared range of each walk that starts at 0, (draws,); `steps` are (draws, m)."""
    walk = np.cumsum(steps, axis=1)
    return (walk.max(axis=1).clip(min=0.0) - walk.min(axis=1).clip(max=0.0)) ** 2


def brownian_range_tail(x: float) -> float:
    """The probability that the range of a Brownian motion on [0, 1] is at least x (Feller, 1951):
    ``8 sum_k (-1)^(k-1) k P(normal > k x)``.
    """
    from scipy.special import ndtr

    if x <= LEAST_RANGE:  # exceeded but for one in some millions
        return 1.0
    k = np.arange(1, TERMS + 1)
    terms = 8.0 * (-1.0) ** (k - 1) * k * ndtr(-k * x)
    return min(max(float(terms.sum()), LEAST_P), 1.0)
