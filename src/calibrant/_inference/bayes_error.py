"""The Bayes error of the label distributions that votes were drawn from, and its interval.

The largest share of m votes is above the largest probability that they were drawn with, so that one
less its mean is too low: with two votes a row by a third and more. How much, depends on how the
rows' distributions scatter. A Dirichlet population that has the mean of the shares and the chance
that two votes on a row agree, both known without bias from two votes on, tells; its largest
shares have closed forms, so nothing is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from calibrant._core.typing import Array, Counts
from calibrant._inference.budget import MOST_SIZES, MOST_VOTES_OF_BIAS
from calibrant._inference.means import influences, mean_limits
from calibrant._inference.rounding import LEAST_CONCENTRATION, MOST_CONCENTRATION


@dataclass(frozen=True, eq=False)
class Population:
    """A Dirichlet population of rows: its mean, and how little its rows scatter about it."""

    mean: Array
    concentration: float


def agreement(counts: Counts) -> Array:
    """The chance that two votes of a row, drawn without replacement, agree; NaN for one vote."""
    votes = counts.sum(axis=1).astype(np.float64)
    pairs = (counts * (counts - 1)).sum(axis=1)
    return np.divide(pairs, votes * (votes - 1.0), out=np.full(len(votes), np.nan), where=votes > 1)


def population_of(mean: Array, agree: float) -> Population:
    """The population with this mean in which two votes on a row agree this often."""
    by_chance = float((mean**2).sum())
    apart = agree - by_chance
    a = (1.0 - agree) / apart if apart > 0 else np.inf
    return Population(mean, float(np.clip(a, LEAST_CONCENTRATION, MOST_CONCENTRATION)))


def largest_share(population: Population) -> float:
    """The mean of the largest probability of a row.

    Gamma variables over their sum are Dirichlet, and independent of the sum: the mean of the
    largest gamma variable, over that of the sum.
    """
    from scipy.special import gammainc

    alpha = population.mean[population.mean > 0] * population.concentration
    nodes, weights = _quadrature()
    # The tail beyond is below 1e-15; a power of the unit interval is fine near 0 as small shapes
    # need it.
    top = alpha.max() + 12.0 * np.sqrt(alpha.max()) + 45.0
    t = 0.5 * (nodes + 1.0)
    power = 8
    x, slope = top * t**power, 0.5 * weights * top * power * t ** (power - 1)
    below = np.exp(np.log(np.maximum(gammainc(alpha[:, None], x), 1e-300)).sum(axis=0))
    return float((slope * (1.0 - below)).sum() / alpha.sum())


@cache
def _quadrature() -> tuple[Array, Array]:
    """Gauss and Legendre's nodes and weights."""
    from scipy.special import roots_legendre

    nodes, weights = roots_legendre(400)
    return nodes, weights


def largest_vote_share(population: Population, m: int) -> float:
    """The mean of the largest share of m votes of a row.

    The chance that no class has more than t votes is a coefficient of the product of the classes'
    series, cut at t.
    """
    a = population.mean[population.mean > 0] * population.concentration
    steps = np.arange(1, m + 1)
    scale = m / (m + a.sum())
    series = np.ones((len(a), m + 1))
    series[:, 1:] = np.cumprod((a[:, None] + steps - 1.0) / steps * scale, axis=1)
    at_most = np.array([_coefficient(series, t) for t in range(1, m + 1)])
    return float((m - (at_most[:-1] / at_most[-1]).sum()) / m)


def _coefficient(series: Array, t: int) -> float:
    """Of the highest power that the series have, in their product with higher ones than t cut."""
    length = series.shape[1]
    product = np.zeros(length)
    product[: t + 1] = series[0, : t + 1]
    for one in series[1:]:
        product = np.convolve(product, one[: t + 1])[:length]
    return float(product[-1])


def vote_bias(population: Population, votes: Counts) -> Array:
    """By how much the largest share of each row is above the largest probability, in the mean."""
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
    """The estimate, without its correction too, and what each row adds to it."""

    value: float
    plug_in: float
    # Their weighted mean scatters as the estimate does.
    row_values: Array


def plug_in(shares: Array, weights: Array) -> Debiased:
    """One less the largest share, in the mean."""
    rows = 1.0 - shares.max(axis=1)
    value = float(np.average(rows, weights=weights))
    return Debiased(value, value, rows)


def debiased(counts: Counts, weights: Array) -> Debiased:
    """The Bayes error of the distributions behind votes."""
    votes = counts.sum(axis=1)
    shares = counts / votes[:, None]
    start = plug_in(shares, weights)
    agree = agreement(counts)
    several = ~np.isnan(agree)
    mean = np.average(shares, axis=0, weights=weights)
    agreed = float(np.average(agree[several], weights=weights[several]))
    if agreed >= 1.0:  # nobody ever disagreed
        return start

    def bias(agreed: float, mean: Array) -> float:
        rows = vote_bias(population_of(mean, agreed), votes)
        return float(np.average(rows, weights=weights))

    # What the correction moves by with the two moments that it is of, row by row.
    step = 1e-3 * max(1.0 - agreed, 1e-6)
    correction = bias(agreed, mean)
    per_agreed = (bias(agreed + step, mean) - bias(agreed - step, mean)) / (2.0 * step)
    moved = np.where(several, np.nan_to_num(agree) - agreed, 0.0)
    moved *= weights.sum() / weights[several].sum()
    # A larger part of agreement by chance leaves less to scatter.
    by_chance = float((mean**2).sum())
    ratio = (1.0 - agreed) / (1.0 - by_chance) if by_chance < 1.0 else 0.0
    about = 2.0 * (shares @ mean - by_chance)
    value = min(start.value + correction, 1.0 - 1.0 / counts.shape[1])
    rows = start.row_values + correction + per_agreed * (moved - ratio * about)
    return Debiased(value, start.value, rows)


def possible_limits(counts: Counts, weights: Array, level: float) -> tuple[float, float]:
    """Limits of the least and of the greatest Bayes error of any population with such votes,
    Dirichlet's or not.

    Of a row whose votes disagree with the chance d, 1 - sum of q^2, the error is at most d: all of
    the doubt may be in rows where classes are level. It is least where one class leads and the
    others are level, and as that grows faster and faster with d, rows that are all alike have the
    least in the mean. Largest shares of votes are above the largest probabilities by no more than
    in rows of level classes, as a part of d.
    """
    votes, k = counts.sum(axis=1), counts.shape[1]
    agree = agreement(counts)
    several = ~np.isnan(agree)
    doubt, hidden = 1.0 - agree[several], _hidden(votes, k)
    shown = 1.0 - counts.max(axis=1) / votes
    all_shown = np.full(len(votes), float(np.average(doubt, weights=weights[several])))
    all_shown[several] = doubt

    def limits(rows: Array, w: Array) -> tuple[float, float]:
        low, high, _ = mean_limits(influences(rows, w, None), level)
        mean = float(np.average(rows, weights=w))
        return mean + low, mean + high

    most = (k - 1.0) / k
    least, greatest = limits(doubt, weights[several])
    alike = most * (1.0 - float(np.sqrt(max(0.0, 1.0 - max(least, 0.0) / most))))
    low = max(limits(shown, weights)[0], alike)
    high = min(limits(shown + hidden * all_shown, weights)[1], greatest)
    return low, max(low, high)


def _hidden(votes: Counts, k: int) -> Array:
    """What votes hide at most of the error of rows, as a part of the chance that two disagree."""
    sizes, index = np.unique(np.minimum(votes, MOST_VOTES_OF_BIAS), return_inverse=True)
    out = []
    for m in sizes.tolist():
        level = [
            Population(np.full(j, 1.0 / j), MOST_CONCENTRATION) for j in range(2, min(k, 10) + 1)
        ]
        shown = [(1.0 - largest_vote_share(one, m)) / (1.0 - 1.0 / one.mean.size) for one in level]
        out.append(1.0 - min(shown))
    # Beyond the largest number it falls as the root of m does.
    more = np.sqrt(np.minimum(votes, MOST_VOTES_OF_BIAS) / votes)
    return np.array(out)[index] * more
