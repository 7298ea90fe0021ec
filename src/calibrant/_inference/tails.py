"""Quantiles and tail probabilities of drawn values, also beyond the largest draw.

A thousand draws have no quantile beyond 1/1001, and a hundred slices ask for one. Where draws are
too few, the tail is that of the gamma distribution (Pearson's type III) with their mean, variance
and skewness, or of the normal, which is longer, if they are skewed to the other side.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibrant._core.typing import Array, Counts
from calibrant._inference.numbers import ENOUGH_BEYOND, FEWEST_BEYOND
from calibrant._inference.rounding import LEAST_FITTED_P, NO_SKEW


def quantiles(drawn: Array, points: Sequence[float]) -> list[float]:
    """The quantiles at `points` of the distribution that values were drawn from."""
    law = DrawnLaw(drawn)
    return [law.quantile(q) for q in points]


@dataclass(frozen=True, eq=False)
class DrawnLaw:
    """The distribution that the values `drawn` come from. They are sorted once, since a test
    inversion asks for thousands of quantiles.
    """

    drawn: Array

    def quantile(self, q: float) -> float:
        """The q-quantile: of the draws or, if too few lie beyond it, of a fitted tail."""
        tail, ordered = min(q, 1.0 - q), self._ordered
        if tail * ordered.size >= FEWEST_BEYOND * (1.0 - 1e-9):
            # Weibull's positions: one more draw exceeds the q-quantile with the probability 1 - q.
            return _weibull(ordered, q)
        sign = 1 if q >= 0.5 else -1
        ordered = sign * ordered[::sign]
        mean, deviation, skew = _moments(sign * self.drawn)
        fitted = mean + deviation * _gamma_quantile(tail, skew)
        # The fitted quantile is at least that of the draws.
        beyond = tail * (ordered.size + 1) < 1.0
        return sign * max(fitted, float(ordered[-1]) if beyond else _weibull(ordered, 1.0 - tail))

    @cached_property
    def _ordered(self) -> Array:
        """The draws in increasing order."""
        return np.sort(self.drawn)


def _weibull(ordered: Array, q: float) -> float:
    """The q-quantile of sorted draws: ``np.quantile(ordered, q, method="weibull")`` to the last
    bit, at a tenth of its overhead.
    """
    if not ordered.size or math.isnan(ordered[-1]):  # NaN are sorted to the end
        return float(np.quantile(ordered, q, method="weibull"))
    place = ordered.size * q + q - 1.0
    below = math.floor(place)
    last = ordered.size - 1
    a = float(ordered[min(max(below, 0), last)])
    b = float(ordered[min(max(below + 1, 0), last)])
    share, step = place - below, b - a
    return b - step * (1.0 - share) if share >= 0.5 else a + step * share


def upper_tail(drawn: Array, value: float) -> float:
    """The probability that the distribution that values were drawn from gives at least `value`: by
    counting or, where few draws are beyond the value, from the fitted tail.
    """
    n = drawn.size
    beyond = int(np.count_nonzero(drawn >= value * (1.0 - 1e-12)))
    by_count = (1.0 + beyond) / (1.0 + n)
    if beyond >= ENOUGH_BEYOND:
        return by_count
    mean, deviation, skew = _moments(drawn)
    if not deviation > 0:
        return by_count if beyond else LEAST_FITTED_P
    fitted = gamma_tail((value - mean) / deviation, skew)
    return min(max(fitted, LEAST_FITTED_P), (1.0 + ENOUGH_BEYOND) / (1.0 + n))


def all_bins_tail(events: Array, mean: Array, trials: Counts) -> float:
    """The probability that in every bin the number of events is as far from its mean as observed,
    on the same side.

    By bin, `events` is the observed number, `mean` the expected one, and `trials` the number of
    outcomes; bins without outcomes do not count. An error is then as large as observed at least, so
    that this bounds its p-value from below, also where events are too rare for any draw to have
    them.
    """
    from scipy.special import bdtr, bdtrc

    some = trials > 0
    events, mean, n = np.rint(events[some]), mean[some], trials[some]
    rate = np.clip(mean / n, 0.0, 1.0)
    events = np.minimum(events, n)
    above = np.where(events > 0, bdtrc(np.maximum(events - 1, 0), n, rate), 1.0)
    each = np.where(events >= mean, above, bdtr(events, n, rate))
    return float(np.prod(each))


def lower_tail(drawn: Array, value: float) -> float:
    """The probability that the distribution that values were drawn from gives at most `value`, by
    counting.
    """
    beyond = int(np.count_nonzero(drawn <= value * (1.0 + 1e-12)))
    return (1.0 + beyond) / (1.0 + drawn.size)


def _moments(drawn: Array) -> tuple[float, float, float]:
    """Mean, standard deviation and skewness of draws; a negative skewness counts as 0."""
    mean = float(drawn.mean())
    centred = drawn - mean
    # ``drawn.std(ddof=1)`` to the last bit, without a second mean.
    variance = float((centred * centred).sum()) / (drawn.size - 1) if drawn.size > 1 else 0.0
    deviation = math.sqrt(variance)
    if not deviation > 1e-12 * abs(mean):
        return mean, 0.0, 0.0
    return mean, deviation, max(0.0, float(((centred / deviation) ** 3).mean()))


def _gamma_quantile(tail: float, skew: float) -> float:
    """The point that a distribution of mean 0, variance 1 and this skewness exceeds with the
    probability `tail`.
    """
    from scipy.special import gammainccinv, ndtri

    if skew < NO_SKEW:
        return -float(ndtri(tail))
    shape = 4.0 / skew**2
    return float((gammainccinv(shape, tail) - shape) / np.sqrt(shape))


def gamma_tail(x: float, skew: float) -> float:
    """The probability that a variable of mean 0, variance 1 and this skewness is at least x; a
    negative skewness counts as 0.
    """
    from scipy.special import gammaincc, ndtr

    if skew < NO_SKEW:
        return max(LEAST_FITTED_P, float(ndtr(-x)))
    shape = 4.0 / skew**2
    return max(LEAST_FITTED_P, float(gammaincc(shape, max(0.0, shape + np.sqrt(shape) * x))))
