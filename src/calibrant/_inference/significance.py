"""Tests of calibration: statistics whose distribution is known if the predictions are right.

Where the textbook's distribution needs many rows, outcomes are drawn from the predictions. For
clusters and soft labels the variance of the labels is unknown. It is estimated in two ways, from
the residuals and by a simple model, and the larger p-value counts: the residuals underestimate it
in one sample of ten where a few rows (heavy weights, unlikely outcomes) carry most of it, and the
model may be wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calibrant._core.bin_tables import BinTable
from calibrant._core.typing import Array, Index
from calibrant._inference.blocks import cluster_sums, effective
from calibrant._inference.budget import CLEAR, FEW_DRAWS, MOST_DRAWS, SURPRISES
from calibrant._inference.cells import Problem
from calibrant._inference.noise_model import NoiseModel, clustered_covariances
from calibrant._inference.numbers import (
    ENOUGH_IN_TAIL,
    NOT_NORMAL,
    TAIL_SHARE,
)
from calibrant._inference.rounding import LEAST_FITTED_P, LEAST_P


def two_sided(z: float) -> float:
    """The two-sided p-value of a statistic z that is standard normal."""
    from scipy.special import ndtr

    return max(float(2.0 * ndtr(-abs(z))), LEAST_P)


def chi_square_tail(x: float, df: float) -> float:
    """The probability that a chi-square with df degrees of freedom is at least x."""
    from scipy.special import gammaincc

    return max(float(gammaincc(df / 2.0, max(x, 0.0) / 2.0)), LEAST_P)


def scaled_chi_square_tail(value: float, mean: float, variance: float) -> float:
    """The probability that a sum of squares with this mean and variance is at least `value`, by a
    chi-square that is scaled to the same mean and variance.
    """
    if not (mean > 0 and variance > 0):
        return 1.0 if value <= mean else 0.0
    df = 2.0 * mean**2 / variance
    return chi_square_tail(value * df / mean, df)


# --- outcomes drawn from the predictions ---


def drawn_sums(
    u: Array, b: Array, bins: Index, m: int, n_draws: int, rng: np.random.Generator
) -> Array:
    """Drawn sums ``sum b_i (z_i - u_i)`` over the rows of each bin, (draws, m), with outcomes z
    drawn from the predictions u, and factors b of the rows.

    Only the less likely outcome of a row, its surprise, is drawn. Surprises are points of a Poisson
    process with rates for which a row has at least one point with the probability of its surprise.
    Where more than `SURPRISES` are expected, the rows of the smallest variance are drawn together,
    as one normal sum in each bin.
    """
    chance = np.minimum(u, 1.0 - u)
    # For predictions next to 0, b squared alone may overflow.
    variance = (b * np.sqrt(u * (1.0 - u))) ** 2
    order = np.argsort(-variance, kind="stable")
    first = order[: int(np.searchsorted(np.cumsum(chance[order]), SURPRISES)) + 1]
    rest = order[first.size :]
    out = rng.standard_normal((n_draws, m)) * np.sqrt(np.bincount(bins[rest], variance[rest], m))
    # The sum without any surprise, and then what each surprise adds to it.
    likely = np.where(u[first] <= 0.5, 0.0, 1.0)
    out += np.bincount(bins[first], b[first] * (likely - u[first]), m)
    rate = np.cumsum(-np.log1p(-chance[first]))
    n_points = int(rng.poisson(rate[-1] * n_draws))
    rows = np.searchsorted(rate, rng.random(n_points) * rate[-1], side="right")
    rows = np.minimum(rows, first.size - 1)
    points = np.sort(rng.integers(0, n_draws, n_points) * first.size + rows)
    # A row with several points in one draw has one surprise; there may be no point at all.
    distinct = np.append(True, points[1:] != points[:-1])[: points.size]
    draw, row = np.divmod(points[distinct], first.size)
    adds = (b[first] * (1.0 - 2.0 * likely))[row]
    out += np.bincount(draw * m + bins[first][row], adds, n_draws * m).reshape(n_draws, m)
    return out


@dataclass(frozen=True)
class PValue:
    """A p-value, and how many draws of outcomes it rests on: 0 for one from a formula."""

    p_value: float
    n_draws: int = 0

    def __str__(self) -> str:
        """The sentence on how many draws the p-value rests on."""
        return f"p from {self.n_draws:,} draws of outcomes from the predictions"


def drawn_p(
    value: float,
    u: Array,
    b: Array,
    bins: Index,
    m: int,
    seed: int,
    square: Callable[[Array], Array],
) -> PValue:
    """The p-value of an observed `value` of a statistic, from outcomes drawn from the predictions
    u.

    `square` maps the sums by bin that `drawn_sums` gives, (draws, m), to the statistic of each
    draw; b are the factors of the rows, and `bins` their bins. A large p-value takes `FEW_DRAWS`
    draws, a small one `MOST_DRAWS`.
    """
    rng = np.random.default_rng([seed, 0x7E57])
    drawn = square(drawn_sums(u, b, bins, m, FEW_DRAWS, rng))
    if np.count_nonzero(drawn >= value) < CLEAR:
        more = square(drawn_sums(u, b, bins, m, MOST_DRAWS - FEW_DRAWS, rng))
        drawn = np.concatenate([drawn, more])
    return PValue(drawn_tail(value, drawn), drawn.size)


def _sum_of_squares(drawn: Array) -> Array:
    """The sum over bins of squares in each draw, (draws,), of (draws, bins)."""
    return (drawn**2).sum(axis=1)


def drawn_tail(value: float, drawn: Array) -> float:
    """The probability that a statistic, which is a square, is at least `value`, from draws of it.

    It is found by counting; where too few draws reach the value, from a generalised Pareto tail
    fitted to the largest draws by probability-weighted moments (Hosking and Wallis, 1987).
    """
    # The same outcomes summed in another order differ by rounding.
    reached = int(np.count_nonzero(drawn >= value - 1e-9 * abs(value)))
    by_count = (reached + 1.0) / (drawn.size + 1.0)
    if reached >= ENOUGH_IN_TAIL:
        return by_count
    n_tail = int(TAIL_SHARE * drawn.size)
    if reached > n_tail:  # the value lies below the fitted tail
        return by_count
    largest = np.sort(drawn)[-n_tail - 1 :]
    excess = largest[1:] - largest[0]
    mean = float(excess.mean())
    if not mean > 0:  # the statistic has so few possible values that the tail is one of them
        return by_count
    ranks = (np.arange(n_tail, 0, -1) - 0.65) / n_tail
    weighted = float((ranks * excess).mean())
    # A shape below 0 would give values beyond an end point the probability 0.
    shape = min(max(2.0 - mean / (mean - 2.0 * weighted), 0.0), 0.5)
    scale = mean * (1.0 - shape)
    ratio = (value - float(largest[0])) / scale
    tail = math.exp(-ratio) if shape < 1e-6 else (1.0 + shape * ratio) ** (-1.0 / shape)
    # The fitted tail may lower the counted p-value, and never raise it.
    return max(min(TAIL_SHARE * tail, by_count), LEAST_FITTED_P)


# --- Spiegelhalter ---


def spiegelhalter_z(u: Array, z: Array, w: Array) -> float:
    """Spiegelhalter's Z of predictions u, targets z and weights w: the Brier score less its
    expectation, in standard deviations; NaN where that does not vary.
    """
    slope = 1.0 - 2.0 * u
    variance = float((w * w * slope**2 * u * (1.0 - u)).sum())
    if variance == 0.0:
        return math.nan
    return float((w * (z - u) * slope).sum()) / math.sqrt(variance)


def spiegelhalter_p(problem: Problem, z: float, seed: int) -> PValue:
    """The two-sided p-value of Spiegelhalter's Z, which is `z`: normal, or from draws where that is
    too far from normal.
    """
    u, w = problem.u, problem.weights
    slope, of_row = w * (1.0 - 2.0 * u), u * (1.0 - u)
    variance = float((slope**2 * of_row).sum())
    # Divided in two steps: for predictions next to 0 the squared variance may underflow.
    skew = float((slope**3 * of_row * (1.0 - 2.0 * u)).sum()) / variance / math.sqrt(variance)
    excess = float((slope**4 * of_row * (1.0 - 6.0 * of_row)).sum()) / variance / variance
    if max(skew * skew, abs(excess)) <= NOT_NORMAL:
        return PValue(two_sided(z))
    one_bin = np.zeros(u.size, dtype=np.intp)
    # The distribution is skewed, so each side has its own tail; squares have exponential tails.
    side = math.copysign(1.0, z)

    def signed_square(drawn: Array) -> Array:
        """The squared statistic of each draw, with a plus sign on the side of the observed one."""
        return side * drawn[:, 0] * np.abs(drawn[:, 0])

    tail = drawn_p(z * z, u, slope / math.sqrt(variance), one_bin, 1, seed, signed_square)
    return PValue(min(1.0, 2.0 * tail.p_value), tail.n_draws)


# --- Hosmer and Lemeshow ---


def hosmer_lemeshow(table: BinTable) -> tuple[float, int]:
    """Hosmer and Lemeshow's statistic, and the number of groups whose variance is above 0, which
    are the ones that it sums over. The groups are the bins of the table.
    """
    variance = _group_variance(table)
    kept = variance > 0
    residual = table.sum_wz[0][kept] - table.sum_wu[0][kept]
    with np.errstate(over="ignore"):  # an event at a prediction next to 0 may overflow
        return float((residual**2 / variance[kept]).sum()), int(kept.sum())


def _group_variance(table: BinTable) -> Array:
    """The variance of the number of events in each group if all of its rows had the mean
    prediction.
    """
    n, expected = table.sum_w[0], table.sum_wu[0]
    mean = np.divide(expected, n, out=np.zeros_like(n), where=n > 0)
    return n * mean * (1.0 - mean)


def smallest_count(table: BinTable) -> float:
    """The smallest expected number of events or of non-events in any group; numbers of 0 are left
    out, and it is infinite if there are no others.
    """
    n, expected = table.sum_w[0], table.sum_wu[0]
    counts = np.minimum(expected, n - expected)
    return float(counts[counts > 0].min(initial=math.inf))


def hosmer_lemeshow_p(table: BinTable, u: Array, bins: Index, seed: int) -> PValue:
    """The p-value of Hosmer and Lemeshow's statistic, by outcomes drawn from the predictions `u`;
    `bins` is the group of every row.
    """
    variance = _group_variance(table)
    scale = np.divide(1.0, np.sqrt(variance), out=np.zeros_like(variance), where=variance > 0)
    inside = bins < scale.size  # a rule may drop predictions of 1
    u, bins = u[inside], bins[inside]
    value = hosmer_lemeshow(table)[0]
    return drawn_p(value, u, scale[bins], bins, scale.size, seed, _sum_of_squares)


# --- the truthful error ---


def linear_null(problem: Problem) -> tuple[float, float, float]:
    """LinCE (the truthful error) in the bins of a problem, and its exact mean and variance if the
    predictions are right.

    LinCE is the sum over bins B of ``R_B^2 / W^2``, with the total weight W. ``R_B`` sums
    independent terms of mean 0 and variance ``v = w^2 u (1 - u)``, for predictions u of weight w.
    Its square has the mean ``sum v`` and the variance ``2 (sum v)^2 + sum w^4 u (1 - u) (1 - 6 u (1
    - u))``.
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


def truthful_p(problem: Problem, value: float, mean: float, variance: float, seed: int) -> PValue:
    """The p-value of LinCE, the truthful error; `mean` and `variance` are those that it has if the
    predictions are right.
    """
    if not variance > 0 or far_from_normal(problem) <= NOT_NORMAL:
        return PValue(scaled_chi_square_tail(value, mean, variance))
    scale = problem.weights / float(problem.weights.sum())
    return drawn_p(value, problem.u, scale, problem.bins, problem.m, seed, _sum_of_squares)


def far_from_normal(problem: Problem) -> float:
    """How far the bins' sums of residuals are from normal if predictions are right: the larger of
    squared skewness and excess kurtosis, averaged over bins with their weights in LinCE.
    """
    w, u, bins, m = problem.weights, problem.u, problem.bins, problem.m
    spread = u * (1.0 - u)
    second = np.bincount(bins, w**2 * spread, m)
    third = np.bincount(bins, w**3 * spread * (1.0 - 2.0 * u), m)
    fourth = np.bincount(bins, w**4 * spread * (1.0 - 6.0 * spread), m)
    nonempty = second > 0
    by_weight = float((second**2).sum())
    if by_weight == 0.0:  # for predictions next to 0 or 1 these squares underflow
        return math.inf
    skew = float((third[nonempty] ** 2 / second[nonempty]).sum())
    return max(skew, float(np.abs(fourth).sum())) / by_weight


# --- clusters, weights and soft labels ---


def student_quantile(chance: float, df: float) -> float:
    """The quantile of Student's t at the probability `chance`; of the normal if df is infinite."""
    from scipy.special import ndtri, stdtrit

    return float(ndtri(chance) if math.isinf(df) else stdtrit(df, chance))


def f_tail(quadratic: float, k: int, df: float) -> float:
    """The probability that k F(k, df), with F's distribution of k and df degrees of freedom, is at
    least `quadratic`.
    """
    from scipy.special import fdtrc

    return max(float(fdtrc(k, df, max(quadratic, 0.0) / k)), LEAST_P)


def quadratic_form(x: Array, covariance: Array) -> float:
    """``x' C^-1 x`` for a covariance C; infinite if x has a part in a direction in which C is 0."""
    values, vectors = np.linalg.eigh(covariance)
    squares = (vectors.T @ x) ** 2
    positive = values > 1e-14 * max(float(values[-1]), 0.0)
    if (squares[~positive] > 1e-20 * max(float((x**2).sum()), 1e-300)).any():
        return math.inf
    return float((squares[positive] / values[positive]).sum())


def clustered_spiegelhalter(problem: Problem, groups: Index) -> tuple[float, float]:
    """Spiegelhalter's Z with the variance of the clusters' sums, and its p-value: the larger of
    Student's and the noise model's. NaN and 1 if all sums are 0.
    """
    from scipy.special import stdtr

    slope = problem.weights * (1.0 - 2.0 * problem.u)
    sums = np.bincount(groups, slope * (problem.z - problem.u))
    total, squares = float(sums.sum()), float((sums**2).sum())
    if squares == 0.0:
        return math.nan, 1.0
    z = total / math.sqrt(squares)
    of_row = problem.u * (1.0 - problem.u)
    over_clusters = cluster_sums((slope * np.sqrt(of_row))[None], groups)
    over_rows = np.array([[float((slope**2 * of_row).sum())]])
    model = NoiseModel.from_problem(problem, groups)
    variance = model.covariance(over_rows, over_clusters)[0, 0]
    by_model = two_sided(total / math.sqrt(variance)) if variance > 0 else 0.0
    df = max(effective(problem.weights, groups) - 1.0, 1.0)
    return z, max(float(2.0 * stdtr(df, -abs(z))), by_model, LEAST_P)


def clustered_truthful_p(problem: Problem, groups: Index) -> float:
    """The p-value of LinCE, the truthful error, with clusters, the larger of two: with the
    covariance of the clusters' residuals, and with the noise model's.

    The sum of squares of normal sums with the covariance C has the mean tr C and the variance 2 tr
    C^2.
    """
    residuals, covariances = clustered_covariances(problem, groups, problem.bins, problem.m)
    value = float((residuals.sum(axis=1) ** 2).sum())
    return max(
        scaled_chi_square_tail(value, float(np.trace(c)), 2.0 * float((c**2).sum()))
        for c in covariances
    )
