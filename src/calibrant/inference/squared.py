"""The closed-form interval of the l2 calibration error."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.inference.cells import Problem


def debiased_square(problem: Problem) -> tuple[float, float]:
    """The debiased squared l2 error, and its variance.

    With r = u - z and U_B the mean of r_i r_j over pairs of different rows of a bin,
    ``T = sum_B (n_B / n) U_B`` has no upward bias. Its variance has a part that falls with 1/n and
    vanishes for calibrated reports, and one that falls with 1/n^2 and remains; keeping both makes
    one interval for either case (Sun, Chaudhari, Barnett and Dobriban, 2024, arXiv:2408.08998).
    """
    r, bins, m = problem.u - problem.z, problem.bins, problem.m
    w = problem.weights
    sum_w, sum_w2 = np.bincount(bins, w, m), np.bincount(bins, w * w, m)
    # A bin's effective rows; bins with fewer than two have no pairs.
    rows = np.divide(sum_w**2, sum_w2, out=np.zeros(m), where=sum_w2 > 0)
    held = rows > 1.0 + 1e-9
    safe = np.where(held, rows, 2.0)
    weight = np.where(sum_w > 0, sum_w, 1.0)
    mean = np.bincount(bins, w * r, m) / weight
    spread = np.maximum(np.bincount(bins, w * r * r, m) / weight - mean**2, 0.0)
    variance = spread * safe / (safe - 1.0)
    share = np.where(held, sum_w, 0.0) / sum_w.sum()
    pairs = mean**2 - variance / safe
    total = float((share * pairs).sum())
    square = np.maximum(pairs, 0.0)
    of_bin = (4.0 * (safe - 2.0) * square * variance
              + 2.0 * (variance**2 + 2.0 * square * variance)) / (safe * (safe - 1.0))  # fmt: skip
    n = float(sum_w.sum() ** 2 / sum_w2.sum())
    of_shares = max(0.0, float((share * square**2).sum()) - float((share * square).sum()) ** 2) / n
    return total, float((share**2 * of_bin).sum()) + of_shares


def debiased_square_of_clusters(problem: Problem, groups: NDArray[np.intp]) -> tuple[float, float]:
    """The same over clusters: pairs are of rows in different clusters, and the variance is the
    jackknife's, one cluster left out at a time.
    """
    w, m, n_groups = problem.weights, problem.m, int(groups.max()) + 1
    key = groups * m + problem.bins
    residual = np.bincount(key, w * (problem.u - problem.z), n_groups * m).reshape(n_groups, m)
    weight = np.bincount(key, w, n_groups * m).reshape(n_groups, m)

    def of(r: NDArray[np.float64], rr: Any, v: NDArray[np.float64], vv: Any) -> Any:
        pairs = v**2 - vv
        held = pairs > 1e-9 * np.maximum(v**2, 1e-300)
        product = np.divide(r**2 - rr, pairs, out=np.zeros_like(pairs), where=held)
        return (np.where(held, v, 0.0) * product).sum(axis=-1) / v.sum(axis=-1)

    r, v = residual.sum(axis=0), weight.sum(axis=0)
    rr, vv = (residual**2).sum(axis=0), (weight**2).sum(axis=0)
    without = of(r - residual, rr - residual**2, v - weight, vv - weight**2)
    scatter = float(((without - without.mean()) ** 2).sum())
    return float(of(r, rr, v, vv)), scatter * (n_groups - 1) / n_groups


def l2_limits(
    problem: Problem, level: float, groups: NDArray[np.intp] | None = None
) -> tuple[float, float]:
    """The interval of the root of the squared error, cut off at 0."""
    from scipy.special import ndtri

    if _no_pairs(problem):
        return 0.0, 1.0  # a single row a bin says nothing about its gap
    if groups is None:
        total, variance = debiased_square(problem)
    else:
        total, variance = debiased_square_of_clusters(problem, groups)
    half = float(ndtri(0.5 + level / 2.0)) * math.sqrt(variance)
    return math.sqrt(max(0.0, total - half)), math.sqrt(max(0.0, total + half))


def _no_pairs(problem: Problem) -> bool:
    """Whether no bin holds two rows with weight."""
    return bool((np.bincount(problem.bins[problem.weights > 0]) < 2).all())
