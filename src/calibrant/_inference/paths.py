"""Tests of calibration by the path of partial sums of residuals, in order of the predictions.

Where predictions are right, each residual w (u - z) has mean 0 and variance w^2 u (1 - u) whatever
came before: the path is a random walk whose steps are known.
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
from calibrant._inference.numbers import NOT_NORMAL
from calibrant._inference.rounding import LEAST_P, symmetric_root
from calibrant._inference.scatter import clustered_covariances
from calibrant._inference.significance import Drawn, drawn_p, drawn_tail, far_from_normal
from calibrant._measures.cutoffs import Cutoffs, worst_interval


@dataclass(frozen=True, eq=False)
class Path:
    """Cells of equal or neighbouring predictions: their mean predictions, in order, and each row's
    cell. `every` says that each distinct prediction is a cell of its own.
    """

    u: Array
    cells: Index
    every: bool

    @classmethod
    def from_problem(cls, problem: Problem, most: int = MOST_POINTS) -> Path:
        levels, cells = problem.levels
        if levels.size <= most:
            return cls(levels, cells, True)
        spread = np.bincount(cells, problem.weights**2 * problem.u * (1.0 - problem.u))
        through = np.cumsum(spread + 1e-12 * max(float(spread.max()), 1e-300))
        # Cells of equal variance, so that each step of the walk is as long as the next.
        of_level = np.minimum((through / through[-1] * most).astype(np.intp), most - 1)
        of_level = np.unique(of_level, return_inverse=True)[1]
        rows = of_level[cells]
        n = np.bincount(rows)
        return cls(np.bincount(rows, problem.u) / n, rows, False)

    @property
    def m(self) -> int:
        return int(self.u.size)

    def sums(self, values: Array) -> Array:
        return summed(self.cells, values, self.m)

    def nearness(self) -> Array:
        """``1 - |u - v|`` of each pair: ATB is ``r' K r / W^2`` with r the residuals."""
        return 1.0 - np.abs(self.u[:, None] - self.u)

    def averaged(self, sums: Array) -> Array:
        """ATB times W^2, for residuals (draws, m)."""
        partial = np.cumsum(sums, axis=1)
        ends = partial[:, -1:]
        widths = np.diff(self.u, append=1.0)
        out: Array = partial**2 @ widths + (ends - partial) ** 2 @ widths
        out += self.u[0] * ends[:, 0] ** 2
        return out


# --- the averaged two-bin error ---


def averaged_value(problem: Problem) -> float:
    """ATB, of every distinct prediction."""
    levels = Path.from_problem(problem, problem.n)
    sums = levels.sums(problem.weights * (problem.z - problem.u))
    return float(levels.averaged(sums[None])[0]) / float(problem.weights.sum()) ** 2


def averaged_null(problem: Problem) -> tuple[float, float]:
    """The exact mean and variance of ATB under the predictions.

    ATB is ``sum_ij K_ij r_i r_j / W^2`` with ``K = 1 - |u_i - u_j|``. Terms of mean 0 and variance
    v leave ``sum v`` in the mean, and ``2 sum_ij K_ij^2 v_i v_j + sum w^4 u (1 - u) (1 - 6 u (1 -
    u))`` in the variance, of which the double sum needs the predictions in order and no pairs.
    """
    w, u = problem.weights, problem.u
    order = np.argsort(u, kind="stable")
    w, u = w[order], u[order]
    spread = u * (1.0 - u)
    v, total = w * w * spread, float(w.sum())
    first, second = float(v @ u), float(v @ (u * u))
    sum_v = float(v.sum())
    before = np.cumsum(v) - v
    before_u = np.cumsum(v * u) - v * u
    apart = 2.0 * float(v @ (u * before - before_u))
    pairs = sum_v**2 - 2.0 * apart + 2.0 * (sum_v * second - first**2)
    fourth = float((w**4 * spread * (1.0 - 6.0 * spread)).sum())
    return sum_v / total**2, max(2.0 * pairs + fourth, 0.0) / total**4


def averaged_p(problem: Problem, seed: int) -> Drawn:
    """The p-value of ATB."""
    path = Path.from_problem(problem)
    w, u = problem.weights, problem.u
    value = float(path.averaged(path.sums(w * (problem.z - u))[None])[0])
    variances = path.sums(w * w * u * (1.0 - u))
    if variances.any() and far_from_normal(problem) <= NOT_NORMAL:
        deviations: Array = np.sqrt(variances)
        matrix = deviations[:, None] * path.nearness() * deviations
        weights: Array = np.linalg.eigvalsh(matrix).astype(np.float64)
        return Drawn(weighted_chi_square_tail(value, weights))
    return drawn_p(value, u, w, path.cells, path.m, seed, path.averaged)


def clustered_averaged_p(problem: Problem, groups: Index) -> float:
    """The larger p-value of ATB from the clusters' scatter and from the model's."""
    path = Path.from_problem(problem, MOST_POINTS_CLUSTERED)
    away = path.sums(problem.weights * (problem.z - problem.u))
    value = float(path.averaged(away[None])[0])
    values, vectors = np.linalg.eigh(path.nearness())
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return max(
        weighted_chi_square_tail(value, np.linalg.eigvalsh(root.T @ covariance @ root))
        for covariance in clustered_covariances(problem, groups, path.cells, path.m)[1]
    )


def weighted_chi_square_tail(x: float, weights: Array) -> float:
    """P(sum of weights times squared standard normals >= x), by the saddlepoint (Kuonen, 1999)."""
    from scipy.optimize import brentq
    from scipy.special import ndtr

    lam = weights[weights > 1e-12 * max(float(weights.max()), 0.0)]
    if lam.size == 0:
        return 1.0 if x <= 0 else LEAST_P
    lam = lam / float(lam.max())
    x = x / float(weights.max())
    mean = float(lam.sum())
    if x <= 1e-12 * mean:  # residuals that cancel, but for rounding
        return 1.0

    def slope(t: float) -> float:
        return float((lam / (1.0 - 2.0 * t * lam)).sum()) - x

    if abs(x - mean) < 1e-4 * mean:  # there the formula is 0 / 0, and the tail nearly straight
        sides = (weighted_chi_square_tail(mean * (1 + e), lam) for e in (-2e-4, 2e-4))
        return sum(sides) / 2.0
    high = 0.5 * (1.0 - 1e-15)
    if slope(high) <= 0.0:  # beyond all that the formula tells apart
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
    """The interval of predictions over which residuals add up to most."""
    levels, w = Path.from_problem(problem, problem.n), problem.weights
    return worst_interval(LevelTable(levels.u, levels.sums(w), levels.sums(w * problem.z)))


def cutoff_p(problem: Problem, value: float, seed: int) -> Drawn:
    """The p-value of the cutoff error: from the range of a Brownian motion where predictions are
    many and the walk is long, else from walks that are drawn.
    """
    path = Path.from_problem(problem)
    w, u = problem.weights, problem.u
    variance = float((w * w * u * (1.0 - u)).sum())
    if not path.every and variance > 0 and far_from_normal(problem) <= NOT_NORMAL:
        return Drawn(brownian_range_tail(value * float(w.sum()) / math.sqrt(variance)))
    seen = _squared_range(path.sums(w * (problem.z - u))[None])
    return drawn_p(float(seen[0]), u, w, path.cells, path.m, seed, _squared_range)


def clustered_cutoff_p(problem: Problem, groups: Index, seed: int) -> Drawn:
    """The larger p-value of the cutoff error from the clusters' scatter and from the model's."""
    path = Path.from_problem(problem, MOST_POINTS_CLUSTERED)
    away = path.sums(problem.weights * (problem.z - problem.u))
    seen = float(_squared_range(away[None])[0])
    rng = np.random.default_rng([seed, 0xC0FF])
    normal = rng.standard_normal((MOST_DRAWS, path.m))
    chances = []
    for covariance in clustered_covariances(problem, groups, path.cells, path.m)[1]:
        walks = normal @ symmetric_root(covariance)
        chances.append(drawn_tail(seen, _squared_range(walks)))
    return Drawn(max(chances), MOST_DRAWS)


def _squared_range(steps: Array) -> Array:
    """The highest less the lowest point of each walk, 0 among them, squared."""
    path = np.cumsum(steps, axis=1)
    return (path.max(axis=1).clip(min=0.0) - path.min(axis=1).clip(max=0.0)) ** 2


def brownian_range_tail(x: float) -> float:
    """P(highest less lowest point of a Brownian motion on [0, 1] >= x) (Feller, 1951):
    ``8 sum_k (-1)^(k-1) k P(normal > k x)``.
    """
    from scipy.special import ndtr

    if x <= LEAST_RANGE:  # which all but one motion in some millions exceed
        return 1.0
    k = np.arange(1, TERMS + 1)
    terms = 8.0 * (-1.0) ** (k - 1) * k * ndtr(-k * x)
    return min(max(float(terms.sum()), LEAST_P), 1.0)
