"""The Bayes error of the label distributions that votes were drawn from, and its interval.

The largest share of m votes is above the largest probability on average, so that one minus its mean
is too low: by a third and more with two votes a row. The bias depends on how the distributions vary
from row to row. It is computed for a Dirichlet population with the observed mean of the shares and
the observed agreement of two votes on a row, both of which are estimated without bias. The largest
shares of this population have closed forms, so nothing is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from calibrant._core.typing import Array, Counts
from calibrant._inference.budget import MOST_EQUAL_CLASSES, MOST_SIZES, MOST_VOTES_OF_BIAS
from calibrant._inference.means import influences, mean_limits
from calibrant._inference.rounding import LEAST_CONCENTRATION, MOST_CONCENTRATION


@dataclass(frozen=True, eq=False)
class Population:
    """A Dirichlet population of label distributions: its mean, (classes,), and its
    concentration.
    """

    mean: Array
    concentration: float


def agreement(counts: Counts) -> Array:
    """The probability that two votes on a row, drawn without replacement, agree, (n,); NaN for rows
    of one vote. `counts` are the votes by row and class, (n, k).
    """
    votes = counts.sum(axis=1).astype(np.float64)
    pairs = (counts * (counts - 1)).sum(axis=1)
    return np.divide(pairs, votes * (votes - 1.0), out=np.full(len(votes), np.nan), where=votes > 1)


def population_of(mean: Array, agree: float) -> Population:
    """The Dirichlet population whose label distributions have this mean, (classes,), and in which
    two votes on one row agree with the probability `agree`.
    """
    by_chance = float((mean**2).sum())
    excess = agree - by_chance
    a = (1.0 - agree) / excess if excess > 0 else np.inf
    return Population(mean, float(np.clip(a, LEAST_CONCENTRATION, MOST_CONCENTRATION)))


def largest_share(population: Population) -> float:
    """The expected probability of the likeliest class of a row, over the rows of a population.

    Dirichlet shares are gamma variables over their sum, and independent of the sum. So this is the
    mean of the largest gamma variable over the mean of the sum.
    """
    from scipy.special import gammainc

    alpha = population.mean[population.mean > 0] * population.concentration
    nodes, weights = _quadrature()
    # Beyond `top` the tail is below 1e-15. Nodes are dense near 0, where small shapes need them.
    top = alpha.max() + 12.0 * np.sqrt(alpha.max()) + 45.0
    t = 0.5 * (nodes + 1.0)
    power = 8
    x, slope = top * t**power, 0.5 * weights * top * power * t ** (power - 1)
    below = np.exp(np.log(np.maximum(gammainc(alpha[:, None], x), 1e-300)).sum(axis=0))
    return float((slope * (1.0 - below)).sum() / alpha.sum())


@cache
def _quadrature() -> tuple[Array, Array]:
    """The 400 nodes and weights of Gauss-Legendre quadrature on [-1, 1]."""
    from scipy.special import roots_legendre

    nodes, weights = roots_legendre(400)
    return nodes, weights


def largest_vote_share(population: Population, m: int) -> float:
    """The expected share of the class with most votes among m votes on a row, over a population.

    The probability that no class has more than t votes is, but for a factor, the coefficient of x^m
    in the product of the classes' generating functions, truncated after x^t.
    """
    a = population.mean[population.mean > 0] * population.concentration
    steps = np.arange(1, m + 1)
    scale = m / (m + a.sum())
    series = np.ones((len(a), m + 1))
    series[:, 1:] = np.cumprod((a[:, None] + steps - 1.0) / steps * scale, axis=1)
    at_most = np.array([_coefficient(series, t) for t in range(1, m + 1)])
    return float((m - (at_most[:-1] / at_most[-1]).sum()) / m)


def _coefficient(series: Array, t: int) -> float:
    """The coefficient of the highest power in the product of power series, each truncated after
    x^t.

    `series` are the coefficients of one power series a row, (classes, powers).
    """
    length = series.shape[1]
    product = np.zeros(length)
    product[: t + 1] = series[0, : t + 1]
    for one in series[1:]:
        product = np.convolve(product, one[: t + 1])[:length]
    return float(product[-1])


def vote_bias(population: Population, votes: Counts) -> Array:
    """How much the largest share of a row's votes exceeds its largest probability on average, (n,).

    `votes` is the number of votes of each row, (n,). The bias is computed for a few numbers of
    votes and interpolated between them.
    """
    sizes = np.unique(np.minimum(votes, MOST_VOTES_OF_BIAS))
    if sizes.size > MOST_SIZES:
        chosen = np.linspace(0, sizes.size - 1, MOST_SIZES).round().astype(int)
        sizes = sizes[chosen]
    truth = largest_share(population)
    times_m = np.array([m * (largest_vote_share(population, int(m)) - truth) for m in sizes])
    out: Array = np.interp(votes, sizes, times_m) / votes
    return np.maximum(out, 0.0)


@dataclass(frozen=True, eq=False)
class Debiased:
    """An estimate of the Bayes error: `value` corrected for its bias, `plug_in` without a
    correction.
    """

    value: float
    plug_in: float
    # By row; their weighted mean varies as the estimate does.
    row_values: Array


def plug_in(shares: Array, weights: Array) -> Debiased:
    """The estimate without a correction: the weighted mean of one minus the largest share of votes.

    `shares` are the shares of votes by row and class, (n, k).
    """
    rows = 1.0 - shares.max(axis=1)
    value = float(np.average(rows, weights=weights))
    return Debiased(value, value, rows)


def debiased(counts: Counts, weights: Array) -> Debiased:
    """The Bayes error of the label distributions, corrected for its bias.

    `counts` are the votes by row and class, (n, k). Some row must have two votes. Where no two
    votes on a row disagree, nothing is corrected.
    """
    votes = counts.sum(axis=1)
    shares = counts / votes[:, None]
    start = plug_in(shares, weights)
    agree = agreement(counts)
    several = ~np.isnan(agree)
    mean = np.average(shares, axis=0, weights=weights)
    agreed = float(np.average(agree[several], weights=weights[several]))
    if agreed >= 1.0:  # no two votes on a row disagree
        return start

    def bias(agreed: float, mean: Array) -> float:
        """The weighted mean of the rows' biases, in the population with this agreement and this
        mean.
        """
        rows = vote_bias(population_of(mean, agreed), votes)
        return float(np.average(rows, weights=weights))

    # The influence of each row on the correction, through agreement and mean (delta method).
    step = 1e-3 * max(1.0 - agreed, 1e-6)
    correction = bias(agreed, mean)
    per_agreed = (bias(agreed + step, mean) - bias(agreed - step, mean)) / (2.0 * step)
    of_agreement = np.where(several, np.nan_to_num(agree) - agreed, 0.0)
    of_agreement *= weights.sum() / weights[several].sum()
    # The more agreement is by chance, the less the distributions vary.
    by_chance = float((mean**2).sum())
    ratio = (1.0 - agreed) / (1.0 - by_chance) if by_chance < 1.0 else 0.0
    of_mean = 2.0 * (shares @ mean - by_chance)
    value = min(start.value + correction, 1.0 - 1.0 / counts.shape[1])
    rows = start.row_values + correction + per_agreed * (of_agreement - ratio * of_mean)
    return Debiased(value, start.value, rows)


def possible_limits(counts: Counts, weights: Array, level: float) -> tuple[float, float]:
    """A lower limit of the least Bayes error, and an upper limit of the greatest, over all
    populations, Dirichlet or not, that could have given the votes `counts`, (n, k).

    Let d = 1 - sum of q^2 be the probability that two votes of a row with the shares q disagree.
    The row's error is at most d. It is least if one class leads and the others are equal; that
    bound is convex in d, so that the mean over rows is least if all rows have the same d. The bias
    of the largest share, as a part of d, is largest if all classes are equal.
    """
    votes, k = counts.sum(axis=1), counts.shape[1]
    agree = agreement(counts)
    several = ~np.isnan(agree)
    disagreement, bias = 1.0 - agree[several], _largest_bias(votes, k)
    observed = 1.0 - counts.max(axis=1) / votes
    of_rows = np.full(len(votes), float(np.average(disagreement, weights=weights[several])))
    of_rows[several] = disagreement

    def limits(rows: Array, w: Array) -> tuple[float, float]:
        """The confidence interval of the mean of `rows`, weighted by w."""
        low, high, _ = mean_limits(influences(rows, w, None), level)
        mean = float(np.average(rows, weights=w))
        return mean + low, mean + high

    most = (k - 1.0) / k
    least, greatest = limits(disagreement, weights[several])
    if_equal = most * (1.0 - float(np.sqrt(max(0.0, 1.0 - max(least, 0.0) / most))))
    low = max(limits(observed, weights)[0], if_equal)
    high = min(limits(observed + bias * of_rows, weights)[1], greatest)
    return low, max(low, high)


def _largest_bias(votes: Counts, k: int) -> Array:
    """How much the largest share of a row's votes can exceed its largest probability on average,
    over the probability that two of its votes disagree, (n,).

    It is the largest over rows with 2 to 10 equally likely classes, at most k. `votes` is the
    number of votes of each row, (n,).
    """
    sizes, index = np.unique(np.minimum(votes, MOST_VOTES_OF_BIAS), return_inverse=True)
    out = []
    for m in sizes.tolist():
        equal = [
            Population(np.full(j, 1.0 / j), MOST_CONCENTRATION)
            for j in range(2, min(k, MOST_EQUAL_CLASSES) + 1)
        ]
        ratios = [
            (1.0 - largest_vote_share(each, m)) / (1.0 - 1.0 / each.mean.size) for each in equal
        ]
        out.append(1.0 - min(ratios))
    # Beyond the largest computed number of votes it decreases as 1 / sqrt(m).
    decrease = np.sqrt(np.minimum(votes, MOST_VOTES_OF_BIAS) / votes)
    return np.array(out)[index] * decrease
