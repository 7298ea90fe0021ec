"""Quantiles and tail probabilities of drawn values, beyond the draws themselves too.

A thousand draws have no quantile beyond 1/1001, and a hundred slices ask for one. Beyond what the
draws hold, their tail is taken to be that of the gamma law (Pearson's type III) with their mean,
variance and skewness; where they lean to the other side, of the normal one, which is the longer.
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
    """Quantiles of the law that values were drawn from."""
    law = Law(drawn)
    return [law.quantile(q) for q in points]


@dataclass(frozen=True, eq=False)
class Law:
    """The law that values were drawn from; they are ordered once, an inversion asks for thousands
    of quantiles.
    """

    drawn: Array

    def quantile(self, q: float) -> float:
        """The q-quantile."""
        tail, ordered = min(q, 1.0 - q), self._ordered
        if tail * ordered.size >= FEWEST_BEYOND * (1.0 - 1e-9):
            # Weibull's positions: another draw lies beyond them just as often as it should.
            return _weibull(ordered, q)
        sign = 1 if q >= 0.5 else -1
        ordered = sign * ordered[::sign]
        mean, spread, skew = _moments(sign * self.drawn)
        fitted = mean + spread * _upper_point(tail, skew)
        # Where the draws themselves reach that far, they are not contradicted.
        beyond = tail * (ordered.size + 1) < 1.0
        return sign * max(fitted, float(ordered[-1]) if beyond else _weibull(ordered, 1.0 - tail))

    @cached_property
    def _ordered(self) -> Array:
        return np.sort(self.drawn)


def _weibull(ordered: Array, q: float) -> float:
    """``np.quantile(ordered, q, method="weibull")`` to the last bit, at a tenth of its overhead."""
    if not ordered.size or math.isnan(ordered[-1]):  # which a sort leaves at the end
        return float(np.quantile(ordered, q, method="weibull"))
    place = ordered.size * q + q - 1.0
    below = math.floor(place)
    last = ordered.size - 1
    a = float(ordered[min(max(below, 0), last)])
    b = float(ordered[min(max(below + 1, 0), last)])
    share, step = place - below, b - a
    return b - step * (1.0 - share) if share >= 0.5 else a + step * share


def upper_tail(drawn: Array, value: float) -> float:
    """The chance of a value at least as large, of the law that values were drawn from."""
    n = drawn.size
    beyond = int(np.count_nonzero(drawn >= value * (1.0 - 1e-12)))
    seen = (1.0 + beyond) / (1.0 + n)
    if beyond >= ENOUGH_BEYOND:
        return seen
    mean, spread, skew = _moments(drawn)
    if not spread > 0:
        return seen if beyond else LEAST_FITTED_P
    fitted = upper_chance((value - mean) / spread, skew)
    return min(max(fitted, LEAST_FITTED_P), (1.0 + ENOUGH_BEYOND) / (1.0 + n))


def chance_as_far(seen: Array, mean: Array, trials: Counts) -> float:
    """The chance that every bin is as far off as it was seen, or further and to the same side: so
    far at least is the measure then, and of events too rare to be drawn this is all that is known.
    """
    from scipy.special import bdtr, bdtrc

    some = trials > 0
    seen, mean, n = np.rint(seen[some]), mean[some], trials[some]
    chance = np.clip(mean / n, 0.0, 1.0)
    seen = np.minimum(seen, n)
    above = np.where(seen > 0, bdtrc(np.maximum(seen - 1, 0), n, chance), 1.0)
    each = np.where(seen >= mean, above, bdtr(seen, n, chance))
    return float(np.prod(each))


def lower_tail(drawn: Array, value: float) -> float:
    """The chance of a value at most as large."""
    beyond = int(np.count_nonzero(drawn <= value * (1.0 + 1e-12)))
    return (1.0 + beyond) / (1.0 + drawn.size)


def _moments(drawn: Array) -> tuple[float, float, float]:
    """Mean, standard deviation and skewness; one to the left counts as none."""
    mean = float(drawn.mean())
    away = drawn - mean
    # ``drawn.std(ddof=1)`` to the last bit, without another mean.
    spread = math.sqrt(float((away * away).sum()) / (drawn.size - 1)) if drawn.size > 1 else 0.0
    if not spread > 1e-12 * abs(mean):
        return mean, 0.0, 0.0
    return mean, spread, max(0.0, float(((away / spread) ** 3).mean()))


def _upper_point(tail: float, skew: float) -> float:
    from scipy.special import gammainccinv, ndtri

    if skew < NO_SKEW:
        return -float(ndtri(tail))
    shape = 4.0 / skew**2
    return float((gammainccinv(shape, tail) - shape) / np.sqrt(shape))


def upper_chance(x: float, skew: float) -> float:
    """P(X >= x) of a law of mean 0, variance 1 and this skewness; one to the left is none."""
    from scipy.special import gammaincc, ndtr

    if skew < NO_SKEW:
        return max(LEAST_FITTED_P, float(ndtr(-x)))
    shape = 4.0 / skew**2
    return max(LEAST_FITTED_P, float(gammaincc(shape, max(0.0, shape + np.sqrt(shape) * x))))
