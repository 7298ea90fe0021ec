"""Tests of calibration: statistics with a known distribution when the predictions are right.

Where the textbook's distribution holds only for many rows, outcomes are drawn from the predictions.
Of clusters and of soft labels nobody knows how far they scatter: then the scatter seen and a simple
model of it must both speak against the hypothesis, and the larger p-value counts. The scatter seen
alone is too small in one sample of ten where a few rows (heavy weights, surprising outcomes) hold
most of it; a model alone may be wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calibrant._core.bin_tables import BinTable
from calibrant._core.typing import Array, Index
from calibrant._inference.blocks import effective
from calibrant._inference.budget import FEW_DRAWS, MOST_DRAWS
from calibrant._inference.cells import Problem
from calibrant._inference.logistic import (
    LogisticFit,
    fit_logistic,
    robust_covariance,
    summed,
    why_not_estimable,
)
from calibrant._inference.numbers import (
    CLEAR,
    ENOUGH_IN_TAIL,
    NOT_NORMAL,
    SURPRISES,
    TAIL_SHARE,
)
from calibrant._inference.rounding import LEAST_FITTED_P, LEAST_P
from calibrant._inference.scatter import ScatterModel, clustered_covariances

# What twice the log of a likelihood ratio is beyond in 5% of samples whose slope is 1.
SLOPE_IS_OFF = 3.8414588206941236


def two_sided(z: float) -> float:
    """The p-value of a standard normal statistic."""
    from scipy.special import ndtr

    return max(float(2.0 * ndtr(-abs(z))), LEAST_P)


def chi_square_tail(x: float, df: float) -> float:
    """P(chi-square with df degrees of freedom >= x)."""
    from scipy.special import gammaincc

    return max(float(gammaincc(df / 2.0, max(x, 0.0) / 2.0)), LEAST_P)


def scaled_chi_square_tail(value: float, mean: float, variance: float) -> float:
    """The upper tail of a sum of squares, by the scaled chi-square of its mean and variance."""
    if not (mean > 0 and variance > 0):
        return 1.0 if value <= mean else 0.0
    df = 2.0 * mean**2 / variance
    return chi_square_tail(value * df / mean, df)


# --- outcomes drawn from the predictions ---


def drawn_sums(
    u: Array, b: Array, bins: Index, m: int, n_draws: int, rng: np.random.Generator
) -> Array:
    """``sum b_i (z_i - u_i)`` over the rows of each bin, outcomes z drawn from the predictions:
    (draws, m).

    Of every row the less likely outcome is the surprise, and only surprises are drawn: as points of
    a Poisson process, of which a row has at least one with just its chance. Rows that matter least
    are normal together, where there would be too many surprises.
    """
    chance = np.minimum(u, 1.0 - u)
    # Of predictions next to 0 the square of b alone may be too large for a number.
    spread = (b * np.sqrt(u * (1.0 - u))) ** 2
    order = np.argsort(-spread, kind="stable")
    first = order[: int(np.searchsorted(np.cumsum(chance[order]), SURPRISES)) + 1]
    rest = order[first.size :]
    out = rng.standard_normal((n_draws, m)) * np.sqrt(np.bincount(bins[rest], spread[rest], m))
    # What there is without a surprise, and what each surprise adds.
    likely = np.where(u[first] <= 0.5, 0.0, 1.0)
    out += np.bincount(bins[first], b[first] * (likely - u[first]), m)
    rate = np.cumsum(-np.log1p(-chance[first]))
    n_points = int(rng.poisson(rate[-1] * n_draws))
    rows = np.searchsorted(rate, rng.random(n_points) * rate[-1], side="right")
    rows = np.minimum(rows, first.size - 1)
    at = np.sort(rng.integers(0, n_draws, n_points) * first.size + rows)
    once = np.append(True, at[1:] != at[:-1])[: at.size]  # there may be no surprise at all
    draw, row = np.divmod(at[once], first.size)
    adds = (b[first] * (1.0 - 2.0 * likely))[row]
    out += np.bincount(draw * m + bins[first][row], adds, n_draws * m).reshape(n_draws, m)
    return out


@dataclass(frozen=True)
class Drawn:
    """A p-value from so many draws of outcomes; from a formula where there are none."""

    p_value: float
    n_draws: int = 0

    def __str__(self) -> str:
        return f"p from {self.n_draws:,} draws of outcomes from the predictions"


def drawn_p(
    value: float,
    u: Array,
    b: Array,
    bins: Index,
    m: int,
    seed: int,
    square: Callable[[Array], Array],
) -> Drawn:
    """The chance of a value at least as large as the one seen, of the `square` of `drawn_sums`."""
    rng = np.random.default_rng([seed, 0x7E57])
    drawn = square(drawn_sums(u, b, bins, m, FEW_DRAWS, rng))
    if np.count_nonzero(drawn >= value) < CLEAR:
        more = square(drawn_sums(u, b, bins, m, MOST_DRAWS - FEW_DRAWS, rng))
        drawn = np.concatenate([drawn, more])
    return Drawn(drawn_tail(value, drawn), drawn.size)


def _sum_of_squares(drawn: Array) -> Array:
    return (drawn**2).sum(axis=1)


def drawn_tail(value: float, drawn: Array) -> float:
    """The chance of a value at least as large as the one seen, of a statistic that is a square.

    By counting; where too few draws reach it, by the generalised Pareto tail that is fitted to the
    largest draws by probability-weighted moments (Hosking and Wallis, 1987).
    """
    # Sums of the same outcomes in another order differ by rounding.
    reached = int(np.count_nonzero(drawn >= value - 1e-9 * abs(value)))
    by_count = (reached + 1.0) / (drawn.size + 1.0)
    if reached >= ENOUGH_IN_TAIL:
        return by_count
    n_tail = int(TAIL_SHARE * drawn.size)
    if reached > n_tail:  # it is not in the tail that is fitted
        return by_count
    largest = np.sort(drawn)[-n_tail - 1 :]
    beyond = largest[1:] - largest[0]
    mean = float(beyond.mean())
    if not mean > 0:  # so few outcomes are possible that the tail is one value
        return by_count
    ranks = (np.arange(n_tail, 0, -1) - 0.65) / n_tail
    weighted = float((ranks * beyond).mean())
    # A shape below 0 has an end, beyond which nothing would be possible.
    shape = min(max(2.0 - mean / (mean - 2.0 * weighted), 0.0), 0.5)
    scale = mean * (1.0 - shape)
    ratio = (value - float(largest[0])) / scale
    tail = math.exp(-ratio) if shape < 1e-6 else (1.0 + shape * ratio) ** (-1.0 / shape)
    # No more than one draw beyond those that reached it would have been seen by chance.
    return max(min(TAIL_SHARE * tail, by_count), LEAST_FITTED_P)


# --- Spiegelhalter ---


def spiegelhalter_z(u: Array, z: Array, w: Array) -> float:
    """How far the Brier score is from what one expects of it, in standard deviations."""
    lean = 1.0 - 2.0 * u
    variance = float((w * w * lean**2 * u * (1.0 - u)).sum())
    if variance == 0.0:
        return math.nan
    return float((w * (z - u) * lean).sum()) / math.sqrt(variance)


def spiegelhalter_p(problem: Problem, z: float, seed: int) -> Drawn:
    """The two-sided p-value."""
    u, w = problem.u, problem.weights
    lean, spread = w * (1.0 - 2.0 * u), u * (1.0 - u)
    variance = float((lean**2 * spread).sum())
    # Divided step by step: the square of the variance of predictions next to 0 may be 0.
    skew = float((lean**3 * spread * (1.0 - 2.0 * u)).sum()) / variance / math.sqrt(variance)
    excess = float((lean**4 * spread * (1.0 - 6.0 * spread)).sum()) / variance / variance
    if max(skew * skew, abs(excess)) <= NOT_NORMAL:
        return Drawn(two_sided(z))
    one_bin = np.zeros(u.size, dtype=np.intp)
    # Each side by its own tail: the law is skewed. On the scale of squares tails are exponential.
    side = math.copysign(1.0, z)

    def signed_square(drawn: Array) -> Array:
        return side * drawn[:, 0] * np.abs(drawn[:, 0])

    tail = drawn_p(z * z, u, lean / math.sqrt(variance), one_bin, 1, seed, signed_square)
    return Drawn(min(1.0, 2.0 * tail.p_value), tail.n_draws)


# --- Hosmer and Lemeshow ---


def hosmer_lemeshow(table: BinTable) -> tuple[float, int]:
    """The statistic, and the number of groups that have something to say."""
    variance = _group_variance(table)
    kept = variance > 0
    away = table.sum_wz[0][kept] - table.sum_wu[0][kept]
    with np.errstate(over="ignore"):  # an event next to 0 may be infinitely surprising
        return float((away**2 / variance[kept]).sum()), int(kept.sum())


def _group_variance(table: BinTable) -> Array:
    """The variance of each group's events if all of its rows had the mean prediction."""
    n, expected = table.sum_w[0], table.sum_wu[0]
    mean = np.divide(expected, n, out=np.zeros_like(n), where=n > 0)
    return n * mean * (1.0 - mean)


def smallest_count(table: BinTable) -> float:
    """The smallest number of events or non-events that a group with a say is expected to have."""
    n, expected = table.sum_w[0], table.sum_wu[0]
    counts = np.minimum(expected, n - expected)
    return float(counts[counts > 0].min(initial=math.inf))


def hosmer_lemeshow_p(table: BinTable, u: Array, bins: Index, seed: int) -> Drawn:
    """The p-value by drawing outcomes from the predictions u of rows in these bins of the table."""
    variance = _group_variance(table)
    scale = np.divide(1.0, np.sqrt(variance), out=np.zeros_like(variance), where=variance > 0)
    inside = bins < scale.size  # a rule may drop predictions of 1
    u, bins = u[inside], bins[inside]
    value = hosmer_lemeshow(table)[0]
    return drawn_p(value, u, scale[bins], bins, scale.size, seed, _sum_of_squares)


# --- the truthful error ---


def linear_null(problem: Problem) -> tuple[float, float, float]:
    """LinCE in these bins, and the exact mean and variance of its law under the predictions.

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


def truthful_p(problem: Problem, value: float, mean: float, variance: float, seed: int) -> Drawn:
    """The p-value of LinCE."""
    if not variance > 0 or far_from_normal(problem) <= NOT_NORMAL:
        return Drawn(scaled_chi_square_tail(value, mean, variance))
    scale = problem.weights / float(problem.weights.sum())
    return drawn_p(value, problem.u, scale, problem.bins, problem.m, seed, _sum_of_squares)


def far_from_normal(problem: Problem) -> float:
    """Squared skewness or excess kurtosis of the bins' sums, by their weight in LinCE."""
    w, u, bins, m = problem.weights, problem.u, problem.bins, problem.m
    spread = u * (1.0 - u)
    second = np.bincount(bins, w**2 * spread, m)
    third = np.bincount(bins, w**3 * spread * (1.0 - 2.0 * u), m)
    fourth = np.bincount(bins, w**4 * spread * (1.0 - 6.0 * spread), m)
    nonempty = second > 0
    by_weight = float((second**2).sum())
    if by_weight == 0.0:  # predictions so near 0 or 1 that these squares are nothing
        return math.inf
    skew = float((third[nonempty] ** 2 / second[nonempty]).sum())
    return max(skew, float(np.abs(fourth).sum())) / by_weight


# --- clusters, weights and soft labels ---


def student_quantile(chance: float, df: float) -> float:
    """The quantile of Student's t; of the normal where df is infinite."""
    from scipy.special import ndtri, stdtrit

    return float(ndtri(chance) if math.isinf(df) else stdtrit(df, chance))


def f_tail(quadratic: float, k: int, df: float) -> float:
    """P(k F(k, df) >= quadratic)."""
    from scipy.special import fdtrc

    return max(float(fdtrc(k, df, max(quadratic, 0.0) / k)), LEAST_P)


def quadratic_form(x: Array, covariance: Array) -> float:
    """``x' C^-1 x``; what C leaves no room for is infinitely far."""
    values, vectors = np.linalg.eigh(covariance)
    along = (vectors.T @ x) ** 2
    room = values > 1e-14 * max(float(values[-1]), 0.0)
    if (along[~room] > 1e-20 * max(float((x**2).sum()), 1e-300)).any():
        return math.inf
    return float((along[room] / values[room]).sum())


def clustered_spiegelhalter(problem: Problem, groups: Index) -> tuple[float, float]:
    """Z from the scatter of the clusters' sums, and the larger of its p-value and the model's."""
    from scipy.special import stdtr

    lean = problem.weights * (1.0 - 2.0 * problem.u)
    sums = np.bincount(groups, lean * (problem.z - problem.u))
    total, squares = float(sums.sum()), float((sums**2).sum())
    if squares == 0.0:
        return math.nan, 1.0
    z = total / math.sqrt(squares)
    spread = problem.u * (1.0 - problem.u)
    together = summed((lean * np.sqrt(spread))[None], groups)
    single = np.array([[float((lean**2 * spread).sum())]])
    variance = ScatterModel.from_problem(problem, groups).covariance(single, together)[0, 0]
    by_model = two_sided(total / math.sqrt(variance)) if variance > 0 else 0.0
    df = max(effective(problem.weights, groups) - 1.0, 1.0)
    return z, max(float(2.0 * stdtr(df, -abs(z))), by_model, LEAST_P)


def clustered_truthful_p(problem: Problem, groups: Index) -> float:
    """The larger p-value of LinCE from the scatter of the clusters' residuals and from the model's.

    A sum of squares of sums with the covariance C has the mean tr C, and, of normal sums, the
    variance 2 tr C^2.
    """
    residuals, covariances = clustered_covariances(problem, groups, problem.bins, problem.m)
    value = float((residuals.sum(axis=1) ** 2).sum())
    return max(
        scaled_chi_square_tail(value, float(np.trace(c)), 2.0 * float((c**2).sum()))
        for c in covariances
    )


# --- Cox ---


@dataclass(frozen=True, eq=False)
class CoxFits:
    """The fit of slope and intercept, and of the intercept at slope 1, where there is one; their
    standard errors as (intercept, slope) and as a number; and the p-value of slope 1, intercept 0.
    """

    why_not: str
    both: LogisticFit | None = None
    large: LogisticFit | None = None
    both_errors: tuple[float, ...] = (math.nan, math.nan)
    large_error: float = math.nan
    p_value: float = math.nan
    # Degrees of freedom of the limits; infinite where they are normal.
    df: float = math.inf


def cox_fits(problem: Problem, h: Array, groups: Index | None) -> CoxFits:
    """Slope and intercepts on the logits h of the predictions, with what they are worth.

    Unweighted outcomes that are independent have the likelihood ratio and the curvature. Weights,
    soft labels and clusters have the scatter of the scores, and so has an intercept at slope 1
    where the slope is another.
    """
    z, w = problem.z, problem.weights
    why_not = why_not_estimable(z, h, problem.w)
    if not (((z > 0) & (w > 0)).any() and ((z < 1) & (w > 0)).any()):
        return CoxFits(why_not)
    large = fit_logistic(z, h, problem.w, slope=1.0)
    both = None if why_not else fit_logistic(z, h, problem.w)
    scores = (z, h, w, np.arange(h.size) if groups is None else groups)
    of_both = None
    if problem.hard and problem.w is None and groups is None:
        df, of_large = math.inf, large.bread
        if both is not None:
            of_both = both.bread
            if 2.0 * (both.log_likelihood - large.log_likelihood) > SLOPE_IS_OFF:
                # The curvature of a model that does not hold tells nothing of how its intercept
                # varies.
                of_large = np.maximum(of_large, robust_covariance(large, *scores))
    else:
        df, of_large = max(effective(w, groups) - 2.0, 1.0), robust_covariance(large, *scores)
        of_both = None if both is None else robust_covariance(both, *scores)
    # Predictions that are all alike have an intercept to test, and no slope.
    alike = both is None and float(np.ptp(h[w > 0])) < 1e-12
    tested, covariance = (large, of_large) if alike else (both, of_both)
    p = math.nan
    if tested is not None and covariance is not None:
        if math.isinf(df):
            p = _likelihood_ratio_p(tested, z, h)
        else:
            p = _robust_p(tested, covariance, problem, h, groups, df)
    errors = (math.nan, math.nan) if of_both is None else _roots(of_both)
    return CoxFits(why_not, both, large, errors, _roots(of_large)[0], p, df)


def _roots(covariance: Array) -> tuple[float, ...]:
    return tuple(math.sqrt(max(float(v), 0.0)) for v in covariance.diagonal())


def _likelihood_ratio_p(fit: LogisticFit, z: Array, h: Array) -> float:
    as_is = float((z * h - np.logaddexp(0.0, h)).sum())
    return chi_square_tail(2.0 * (fit.log_likelihood - as_is), fit.free)


def _robust_p(
    fit: LogisticFit,
    covariance: Array,
    problem: Problem,
    h: Array,
    groups: Index | None,
    df: float,
) -> float:
    """The larger p-value of Wald's test with the covariance from the scatter seen, and of the score
    test with the model's.
    """
    w, u = problem.weights, problem.u
    if not (w * np.abs(problem.z - u)).any():  # labels that are the predictions
        return 1.0
    away = np.array([fit.intercept, fit.slope - 1.0])[: fit.free]
    by_scatter = f_tail(quadratic_form(away, covariance), fit.free, df)
    b = np.stack([w, w * h])[: fit.free]
    root = np.sqrt(u * (1.0 - u))
    together = b * root if groups is None else summed(b * root, groups)
    single = (b * root) @ (b * root).T
    model = ScatterModel.from_problem(problem, groups).covariance(single, together)
    return max(by_scatter, chi_square_tail(quadratic_form(b @ (problem.z - u), model), fit.free))
