"""Random effects: one summary of estimates from several centres, and what a new centre may show."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from calibrant._core.typing import Array
from calibrant._inference.budget import CENTRE_VARIANCES, TRIED_VARIANCES
from calibrant._inference.significance import student_quantile


@dataclass(frozen=True)
class RandomEffects:
    """The mean over centres with its standard error and limits, the standard deviation `tau`
    between centres, and the limits `new_low` and `new_high` of the true value of a new centre.
    """

    mean: float
    error: float
    low: float
    high: float
    tau: float
    new_low: float
    new_high: float


def random_effects(y: Array, v: Array, level: float) -> RandomEffects:
    """Summarise estimates y with the variances v, (centres,) each, of which there are two or more.

    tau is that of restricted maximum likelihood (REML), and the mean has Hartung and Knapp's
    limits, whose variance is never below the model's (Knapp and Hartung 2003; Röver, Knapp and
    Friede 2015): else estimates that agree by chance would have limits near 0. Those of a new
    centre do not take tau as known: they are the quantiles of ``N(mean(t), t^2 + error(t)^2)``,
    mixed over the confidence distribution of t, in which Cochran's Q at t is a chi-square
    (Viechtbauer 2007; Nagashima, Noma and Furukawa 2019), and are never inside those of the mean.
    """
    tau2 = _reml(y, v)
    w = 1.0 / (v + tau2)
    mean = float(w @ y / w.sum())
    factor = max(1.0, float(w @ (y - mean) ** 2) / (y.size - 1))
    error = math.sqrt(factor / float(w.sum()))
    half = student_quantile(0.5 + level / 2.0, y.size - 1) * error
    low, high = mean - half, mean + half
    new_low, new_high = _new_centre(y, v, level)
    ends = min(low, new_low), max(high, new_high)
    return RandomEffects(mean, error, low, high, math.sqrt(tau2), *ends)


def _reml(y: Array, v: Array) -> float:
    """The variance between centres with the largest restricted likelihood, 0 or more."""

    def likelihood(tau2: Array) -> Array:
        """The restricted log-likelihood at each of these variances."""
        total, _, q = _weighted(y, v, tau2)
        return -0.5 * (np.log(v + tau2[:, None]).sum(axis=1) + np.log(total) + q)

    places = _variances(y, v)
    for _ in range(6):  # each time between the neighbours of the best place
        best = int(likelihood(places).argmax())
        ends = places[max(best - 1, 0)], places[min(best + 1, places.size - 1)]
        places = np.linspace(*ends, 21)
    return float(places[likelihood(places).argmax()])


def _new_centre(y: Array, v: Array, level: float) -> tuple[float, float]:
    """The prediction interval of a new centre."""
    from scipy.optimize import brentq
    from scipy.special import ndtr

    tau2 = variances_between(y, v)
    total, mean, _ = _weighted(y, v, tau2)
    spread = np.sqrt(tau2 + 1.0 / total)

    def limit(tail: float) -> float:
        """The quantile of the mixture at this level."""
        ends = mean.min() - 40.0 * spread.max(), mean.max() + 40.0 * spread.max()
        return float(brentq(lambda x: ndtr((x - mean) / spread).mean() - tail, *ends))

    tail = (1.0 - level) / 2.0
    return limit(tail), limit(1.0 - tail)


def variances_between(y: Array, v: Array) -> Array:
    """Quantiles of the confidence distribution of the variance between centres, at equally spaced
    levels.
    """
    from scipy.special import chdtri

    places = _variances(y, v)
    q = _weighted(y, v, places)[2]  # falls as the variance grows
    tails = (np.arange(CENTRE_VARIANCES) + 0.5) / CENTRE_VARIANCES
    return np.interp(chdtri(y.size - 1, tails), q[::-1], places[::-1])


def _variances(y: Array, v: Array) -> Array:
    """Variances between centres that are tried, from 0 to far above any that could fit."""
    largest = 1e4 * max(float(np.ptp(y)) ** 2, float(v.max()))
    return np.append(0.0, np.geomspace(1e-4 * float(v.min()), largest, TRIED_VARIANCES))


def _weighted(y: Array, v: Array, tau2: Array) -> tuple[Array, Array, Array]:
    """Sum of weights, weighted mean and Cochran's Q of the estimates, at each of the variances
    `tau2` between centres.
    """
    w = 1.0 / (v + tau2[:, None])
    total = w.sum(axis=1)
    mean = (w @ y) / total
    return total, mean, (w * (y - mean[:, None]) ** 2).sum(axis=1)
