"""Differences of two predictors by measures that are means, rankings or resampled values."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from calibrant._core.typing import Array, Index
from calibrant._inference.few_events import Losses
from calibrant._inference.means import Influences, added_variances, mean_limits, moment_limits
from calibrant._inference.tails import quantiles
from calibrant._inference.voted_rows import VotedRows
from calibrant._measures.catalogue import Measure


@dataclass(frozen=True, eq=False)
class SamplingErrors:
    """How a measure of a sample varies about its true value, in one of three forms.

    `influences` of rows or clusters, for means and for measures of ranking; `errors` of the value
    in resamples, which two predictors share; or `voted`, for a distance that votes only bound.
    Fields that are not needed are None.
    """

    influences: Influences | None = None
    errors: Array | None = None
    # Low, high and estimate of the measure alone, by level; None for means, which need no more.
    single_limits: Callable[[float], tuple[float, float, float]] | None = None
    # The ranks of the predictions, for a measure that depends on nothing else.
    order: Index | None = None
    # How much of the value is noise of votes.
    excess: float = 0.0
    # The votes that identify the measure only in part, and the measure.
    voted: tuple[VotedRows, Measure] | None = None
    # The losses of hard labels that the measure is a mean of.
    losses: Losses | None = None


def difference_limits(
    value: float, first: SamplingErrors, second: SamplingErrors, level: float
) -> tuple[float, float, float]:
    """The lower limit, the upper limit and an estimate of the true difference (first less second)
    of two predictors on the same rows; `value` is the observed difference.

    Errors that a row, or a resample, gives to both cancel, bias included.
    """
    if first.influences is not None and second.influences is not None:
        low, high, _ = mean_limits(first.influences.less(second.influences), level)
        if first.losses is not None and second.losses is not None:
            least, most = first.losses.difference_limits(second.losses, level)
            low, high = min(low, least), max(high, most)
        return _cover_single_limits(value, first, second, (low, high), level)
    if first.voted is not None and second.voted is not None:
        (ours, _), (theirs, measure) = first.voted, second.voted
        # Both are compared with the same distributions behind the votes.
        bounds = ours.difference_bounds(theirs, measure)
        low, high, middle, _ = ours.limits_between(bounds, level)
        return low, high, min(max(middle, low), high)
    assert first.errors is not None and second.errors is not None
    n, tail = min(first.errors.size, second.errors.size), (1.0 - level) / 2.0
    roots = first.errors[:n] - second.errors[:n]
    below, middle, above = quantiles(roots, (tail, 0.5, 1.0 - tail))
    return value - above, value - below, value - middle


def _cover_single_limits(
    value: float,
    first: SamplingErrors,
    second: SamplingErrors,
    limits: tuple[float, float],
    level: float,
) -> tuple[float, float, float]:
    """The lower limit, the upper limit and an estimate of a difference; `limits` are given less the
    observed difference `value`.

    For two measures of ranking the interval also covers what follows from the intervals of each
    alone, which are skewed near 0 and 1 and allow for rows of a kind that is not in the sample.
    """
    value -= first.excess - second.excess
    low, high = min(limits[0], 0.0), max(limits[1], 0.0)
    if first.single_limits is None or second.single_limits is None:
        return value + low, value + high, value
    least, most, one = first.single_limits(level)
    lowest, highest, other = second.single_limits(level)
    rho = _correlation(first, second)
    ours, theirs = (one - least, most - one), (other - lowest, highest - other)
    low = min(low, -_largest_decrease(ours, theirs, rho))
    high = max(high, _largest_decrease(theirs, ours, rho))
    return value + low, value + high, value


def _correlation(first: SamplingErrors, second: SamplingErrors) -> float:
    """The correlation of the errors of two measures of ranking on the same rows: 1 if both rank the
    rows alike. 0 where no ranks are given, as on different rows.
    """
    if first.order is None or second.order is None:
        return 0.0
    if np.array_equal(first.order, second.order):
        return 1.0
    assert first.influences is not None and second.influences is not None
    a, b, counts = first.influences.values, second.influences.values, first.influences.counts
    size = math.sqrt(float((counts * a) @ a) * float((counts * b) @ b))
    return min(1.0, max(-1.0, float((counts * a) @ b) / size)) if size > 0 else 0.0


def _largest_decrease(ours: tuple[float, float], theirs: tuple[float, float], rho: float) -> float:
    """How far the difference of two values with the correlation rho can decrease within their
    limits, each given as distances (down, up) of the limits from the value.

    The joint limits are an ellipse whose four quarters have axes of their own (for rho = 0: Zou and
    Donner, 2008, doi:10.1002/sim.3095).
    """
    (down, up), (lower, higher) = ours, theirs
    # The farthest point of each quarter, where the quarter holds it: the first value falls and the
    # second rises; both fall; both rise.
    quarters = (
        (down, higher, down > rho * higher and higher > rho * down),
        (down, lower, lower < rho * down),
        (up, higher, up < rho * higher),
    )
    distances = [
        math.sqrt(max(a * a + b * b - 2.0 * rho * a * b, 0.0)) for a, b, holds in quarters if holds
    ]
    # On the borders between quarters only one of the two values changes.
    return max(max(down, higher) * math.sqrt(1.0 - rho**2), *distances, 0.0)


def independent_limits(
    value: float, first: SamplingErrors, second: SamplingErrors, level: float
) -> tuple[float, float, float]:
    """The lower limit, the upper limit and an estimate of the true difference (first less second)
    of two predictors on different rows; `value` is the observed difference.

    Their errors are independent, so that variances add up; resamples must have different seeds.
    """
    if first.influences is not None and second.influences is not None:
        low, high, _ = _independent_mean_limits(first.influences, second.influences, level)
        if any(each.losses is not None and each.losses.few for each in (first, second)):
            least, most = _mean_limits(first, level)
            lowest, highest = _mean_limits(second, level)
            low, high = min(low, -math.hypot(least, highest)), max(high, math.hypot(most, lowest))
        return _cover_single_limits(value, first, replace(second, order=None), (low, high), level)
    if first.voted is not None and second.voted is not None:
        return _independent_bounds(first.voted, second.voted, level)
    return difference_limits(value, first, second, level)


def _independent_bounds(
    first: tuple[VotedRows, Measure], second: tuple[VotedRows, Measure], level: float
) -> tuple[float, float, float]:
    """The lower limit, the upper limit and an estimate of the difference of two distances that
    votes bound, on different rows.

    The distances of each limit from its bound are added as squares (Zou and Donner, 2008,
    doi:10.1002/sim.3095).
    """
    ends = []
    for rows, measure in (first, second):
        bounds = rows.bounds(measure)
        low, high, _, _ = rows.limits_between(bounds, level)
        below, above = np.average(bounds.rows, axis=1, weights=rows.w).tolist()
        ends.append((below, above, below - low, high - above))
    (below, above, down, up), (lowest, highest, lower, higher) = ends
    low = below - highest - math.hypot(down, higher)
    high = above - lowest + math.hypot(up, lower)
    return min(low, high), max(low, high), 0.5 * (low + high)


def _mean_limits(sampling: SamplingErrors, level: float) -> tuple[float, float]:
    """The lower and the upper limit of a mean, less the mean. If events are few, they cover the
    Poisson interval of their number.
    """
    assert sampling.influences is not None
    low, high, _ = mean_limits(sampling.influences, level)
    if sampling.losses is None:
        return low, high
    least, most = sampling.losses.limits(level)
    return min(low, least), max(high, most)


def _independent_mean_limits(
    first: Influences, second: Influences, level: float
) -> tuple[float, float, float]:
    """The lower and the upper limit of the difference of two samples' means, less the difference,
    and its standard error.

    The degrees of freedom are those of Welch and Satterthwaite.
    """
    variance, df = added_variances((first, second))
    units = 1.0 + df if math.isfinite(df) else first.units + second.units
    return moment_limits(variance, first.third - second.third, units, level)
