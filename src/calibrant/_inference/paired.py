"""Differences of means and of resampled values of two predictors."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from calibrant._core.typing import Array, Index
from calibrant._inference.few_events import Losses
from calibrant._inference.means import Influences, mean_limits, moment_limits
from calibrant._inference.tails import quantiles
from calibrant._inference.voted_rows import VotedRows
from calibrant._measures.catalogue import Measure


@dataclass(frozen=True, eq=False)
class Scatter:
    """How a measure of a sample scatters about its true value: of means what each unit moves it
    by, of others its errors in common resamples.
    """

    influences: Influences | None
    errors: Array | None
    # Limits of the measure alone at a level, and its estimate; none of means of rows.
    alone: Callable[[float], tuple[float, float, float]] | None = None
    # The ranks of predictions, of a measure of nothing else.
    order: Index | None = None
    # What the noise of votes adds to the value, where it is taken out.
    excess: float = 0.0
    # Votes that identify it only in part, and the measure.
    voted: tuple[VotedRows, Measure] | None = None
    # Of a mean loss of hard labels.
    losses: Losses | None = None


def difference_limits(
    value: float, first: Scatter, second: Scatter, level: float
) -> tuple[float, float, float]:
    """Limits of the true difference of two predictors on the same rows, and its estimate.

    What a row, or a resample, does to both cancels, bias included.
    """
    if first.influences is not None and second.influences is not None:
        low, high, _ = mean_limits(first.influences.less(second.influences), level)
        if first.losses is not None and second.losses is not None:
            fewest, most = first.losses.room_apart(second.losses, level)
            low, high = min(low, fewest), max(high, most)
        return _with_shares(value, first, second, (low, high), level)
    if first.voted is not None and second.voted is not None:
        (ours, _), (theirs, measure) = first.voted, second.voted
        # The same distributions are behind the votes of both.
        low, high, middle, _ = ours.limits_between(ours.bounds_apart(theirs, measure), level)
        return low, high, min(max(middle, low), high)
    assert first.errors is not None and second.errors is not None
    n, tail = min(first.errors.size, second.errors.size), (1.0 - level) / 2.0
    roots = first.errors[:n] - second.errors[:n]
    below, middle, above = quantiles(roots, (tail, 0.5, 1.0 - tail))
    return value - above, value - below, value - middle


def _with_shares(
    value: float, first: Scatter, second: Scatter, limits: tuple[float, float], level: float
) -> tuple[float, float, float]:
    """Limits of a difference, as far from it as given and, of two shares, as those of each alone
    tell: near 0 and 1 what rows move them by is skewed, and something was not seen.
    """
    value -= first.excess - second.excess
    low, high = min(limits[0], 0.0), max(limits[1], 0.0)
    if first.alone is None or second.alone is None:
        return value + low, value + high, value
    least, most, one = first.alone(level)
    lowest, highest, other = second.alone(level)
    like = _likeness(first, second)
    ours, theirs = (one - least, most - one), (other - lowest, highest - other)
    low, high = min(low, -_farthest(ours, theirs, like)), max(high, _farthest(theirs, ours, like))
    return value + low, value + high, value


def _likeness(first: Scatter, second: Scatter) -> float:
    """The correlation of two shares of the same rows; 1 of those that rank rows alike."""
    if first.order is None or second.order is None:
        return 0.0  # other rows
    if np.array_equal(first.order, second.order):
        return 1.0
    assert first.influences is not None and second.influences is not None
    a, b = first.influences.moved, second.influences.moved
    size = math.sqrt(float(a @ a) * float(b @ b))
    return min(1.0, max(-1.0, float(a @ b) / size)) if size > 0 else 0.0


def _farthest(ours: tuple[float, float], theirs: tuple[float, float], like: float) -> float:
    """How far a difference can fall within the limits of two that vary together, each as far down
    and up as given: the farthest point of an ellipse whose quarters have axes of their own. (Of two
    that do not vary together Zou and Donner, 2008, doi:10.1002/sim.3095.)
    """
    (down, up), (lower, higher) = ours, theirs
    # One falls and the other rises, both fall, both rise: where the farthest point is in there.
    quarters = (
        (down, higher, down > like * higher and higher > like * down),
        (down, lower, lower < like * down),
        (up, higher, up < like * higher),
    )
    within = [
        math.sqrt(max(a * a + b * b - 2.0 * like * a * b, 0.0)) for a, b, has in quarters if has
    ]
    # One falls, or the other rises, alone.
    return max(max(down, higher) * math.sqrt(1.0 - like**2), *within, 0.0)


def independent_limits(
    value: float, first: Scatter, second: Scatter, level: float
) -> tuple[float, float, float]:
    """Limits of the true difference of two predictors on different rows, and its estimate.

    The two must have been drawn with seeds of their own: nothing cancels, and variances add up.
    """
    if first.influences is not None and second.influences is not None:
        low, high, _ = _apart(first.influences, second.influences, level)
        if any(each.losses is not None and each.losses.few for each in (first, second)):
            least, most = _mean_room(first, level)
            lowest, highest = _mean_room(second, level)
            low, high = min(low, -math.hypot(least, highest)), max(high, math.hypot(most, lowest))
        return _with_shares(value, first, replace(second, order=None), (low, high), level)
    if first.voted is not None and second.voted is not None:
        return _bounds_apart(first.voted, second.voted, level)
    return difference_limits(value, first, second, level)


def _bounds_apart(
    first: tuple[VotedRows, Measure], second: tuple[VotedRows, Measure], level: float
) -> tuple[float, float, float]:
    """Those of distances that votes bound: variances add up on either side (Zou and Donner, 2008,
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


def _mean_room(scatter: Scatter, level: float) -> tuple[float, float]:
    """How far the limits of a mean lie from it, also where hardly an event was seen."""
    assert scatter.influences is not None
    low, high, _ = mean_limits(scatter.influences, level)
    if scatter.losses is None:
        return low, high
    fewest, most = scatter.losses.room(level)
    return min(low, fewest), max(high, most)


def _apart(first: Influences, second: Influences, level: float) -> tuple[float, float, float]:
    """Limits of the difference of the means of two samples, less the difference."""
    spreads = [each.variance for each in (first, second)]
    # Welch and Satterthwaite: the sample that scatters more decides what its spread is known to.
    known = sum(
        spread**2 / max(each.df, 0.5) for spread, each in zip(spreads, (first, second), strict=True)
    )
    units = 1.0 + sum(spreads) ** 2 / known if known > 0 else first.units + second.units
    return moment_limits(sum(spreads), first.third - second.third, units, level)
