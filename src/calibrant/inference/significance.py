"""Tests of calibration: statistics with a known distribution when the reports are right."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from calibrant.inference.cells import Problem
from calibrant.inference.logistic import LogisticFit, fit_logistic
from calibrant.samples.links import logit
from calibrant.statistics.bins import BinTable

Array = NDArray[np.float64]


def spiegelhalter_z(u: Array, z: Array, w: Array) -> float:
    """How far the Brier score is from what the reports make one expect, in standard deviations."""
    lean = 1.0 - 2.0 * u
    variance = float((w * w * lean**2 * u * (1.0 - u)).sum())
    if variance == 0.0:
        return math.nan
    return float((w * (z - u) * lean).sum()) / math.sqrt(variance)


def two_sided(z: float) -> float:
    """The p-value of a standard normal statistic."""
    from scipy.special import ndtr

    return float(2.0 * ndtr(-abs(z)))


def chi_square_tail(x: float, df: float) -> float:
    """P(chi-square with df degrees of freedom >= x)."""
    from scipy.special import gammaincc

    return float(gammaincc(df / 2.0, max(x, 0.0) / 2.0))


def hosmer_lemeshow(table: BinTable) -> tuple[float, int]:
    """The statistic, and the number of groups that have something to say."""
    n, expected, seen = table.sum_w[0], table.sum_wu[0], table.sum_wz[0]
    mean = np.divide(expected, n, out=np.zeros_like(n), where=n > 0)
    variance = n * mean * (1.0 - mean)
    held = variance > 0
    parts = (seen[held] - expected[held]) ** 2 / variance[held]
    return float(parts.sum()), int(held.sum())


def linear_null(problem: Problem) -> tuple[float, float, float]:
    """LinCE in these bins, and the exact mean and variance of its law under the reports.

    ``R_B`` sums independent terms of mean 0 and variance ``v = w^2 u (1 - u)``; of its square the
    mean is ``sum v`` and the variance ``2 (sum v)^2 + sum w^4 u (1 - u) (1 - 6 u (1 - u))``.
    """
    w, u = problem.weights, problem.u
    spread = u * (1.0 - u)
    total = float(w.sum())
    residual = np.bincount(problem.bins, w * (u - problem.z), problem.m)
    of_bin = np.bincount(problem.bins, w * w * spread, problem.m)
    fourth = np.bincount(problem.bins, w**4 * spread * (1.0 - 6.0 * spread), problem.m)
    value = float((residual**2).sum()) / total**2
    mean = float(of_bin.sum()) / total**2
    variance = float((2.0 * of_bin**2 + fourth).sum()) / total**4
    return value, mean, max(variance, 0.0)


def scaled_chi_square_tail(value: float, mean: float, variance: float) -> float:
    """The upper tail of a sum of squares, by the scaled chi-square of its mean and variance."""
    if not (mean > 0 and variance > 0):
        return 1.0 if value <= mean else 0.0
    df = 2.0 * mean**2 / variance
    return chi_square_tail(value * df / mean, df)


def cox_fits(problem: Problem, eps: float) -> tuple[LogisticFit, LogisticFit, float, int]:
    """Slope and intercept together; the intercept at slope 1; the log-likelihood of the reports
    as they are; and how many reports were moved away from 0 and 1.
    """
    u = np.clip(problem.u, eps, 1.0 - eps)
    moved = int(np.count_nonzero(u != problem.u))
    h = logit(u)
    robust = not problem.hard or problem.w is not None
    both = fit_logistic(problem.z, h, problem.w, robust=robust)
    in_the_large = fit_logistic(problem.z, h, problem.w, slope=1.0, robust=robust)
    line = np.logaddexp(0.0, h)
    as_is = float((problem.weights * (problem.z * h - line)).sum())
    return both, in_the_large, as_is, moved
