"""Several predictors on the same rows, resampled together: what one draw does to all of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant._core.binning import Rule
from calibrant._core.errors import InputError
from calibrant._data.samples import Samples
from calibrant._inference.budget import MAX_BLOCKS
from calibrant._inference.few_events import Losses
from calibrant._inference.means import Influences, influences, mean_limits, moment_limits
from calibrant._inference.tails import quantile, quantiles
from calibrant._measures.catalogue import Measure
from calibrant._measures.measure import only_distance
from calibrant._summaries.samples import Summary

Array = NDArray[np.float64]

# Members of the family at which a predictor's scatter is known; between them it is interpolated.
PAIRED_MEMBERS = (-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0)
# How far two predictors that have nothing in common may be from the members that fit them best.
APART = 1.6
# Blocks that are drawn and counted at a time: they stay in a cache.
COUNTED = 1 << 15


class Kinks(NamedTuple):
    """Predictions, (n,) or (n, k), and the share of the weight that each has where the sign of the
    gap about it may be noise, 0 elsewhere: which way a small change of a prediction moves a measure
    that has a kink at a gap of 0 depends on that sign.
    """

    predictions: Array
    unsure: Array

    def room(self, other: Kinks) -> float:
        """How far two measures may move apart on one side of their kinks and together on the
        other.
        """
        moved = np.abs(self.predictions - other.predictions)
        return 2.0 * float((np.maximum(self.unsure, other.unsure) * moved).sum())


class Against(NamedTuple):
    """Predictions (n, k) that votes do not rule out to be the distributions behind them, and the
    values of rows of such predictions against such distributions.
    """

    predictions: Array
    weights: Array
    groups: NDArray[np.intp] | None
    may_be_right: bool
    values: Callable[[Array, Array], Array]

    def limits(self, other: Against, level: float) -> tuple[float, float]:
        """Limits of the measure of others less that of these, if these are right."""
        apart = self.values(other.predictions, self.predictions)
        rows = apart - self.values(self.predictions, self.predictions)
        low, high, _ = mean_limits(influences(rows, self.weights, self.groups), level)
        middle = float(np.average(rows, weights=self.weights))
        return middle + low, middle + high


@dataclass(frozen=True, eq=False)
class Scatter:
    """How a measure of a sample scatters about its true value.

    Of means what each block moves it by; of others the errors of common resamples in each member of
    the family, (members, draws), and the member that fits the value best.
    """

    influences: Influences | None
    errors: Array | None
    best: float = 0.0
    # Limits of the measure alone at a level, and its estimate; none of means of rows.
    alone: Callable[[float], tuple[float, float, float]] | None = None
    # The ranks of predictions, of a measure of nothing else.
    order: NDArray[np.intp] | None = None
    # Where a measure has a kink at a gap of 0.
    kinks: Kinks | None = None
    # What the noise of votes adds to the value, where it is taken out.
    excess: float = 0.0
    # Errors under each law of what may be behind votes, where these cannot tell which it is.
    by_law: dict[str, Array] = field(default_factory=dict)
    # What it would be of if it, or the other of a pair, were the distributions behind votes.
    against: Against | None = None
    # Of a mean loss of hard labels.
    losses: Losses | None = None
    # Of an error of rows in which something is rare: how far it moves with fewer and more of that,
    # at a level, each by its kind and how far it goes.
    rare: Callable[[float], dict[tuple[str, float], float]] | None = None

    def at(self, t: float) -> Array:
        """The errors in the member t."""
        assert self.errors is not None
        if len(self.errors) == 1:
            only: Array = self.errors[0]
            return only
        position = float(np.interp(t, PAIRED_MEMBERS, np.arange(len(PAIRED_MEMBERS))))
        first = min(int(position), len(PAIRED_MEMBERS) - 2)
        share = position - first
        out: Array = (1.0 - share) * self.errors[first] + share * self.errors[first + 1]
        return out


def best_member(value: float, truths: Array, errors: Array) -> float:
    """The t at which `value` is as likely too high as too low."""
    medians = truths + np.median(errors, axis=1)
    # Values fall as t grows.
    falling = np.maximum.accumulate(medians[::-1])
    return float(np.interp(value, falling, np.array(PAIRED_MEMBERS)[::-1]))


def difference_limits(
    value: float, first: Scatter, second: Scatter, level: float
) -> tuple[float, float, float]:
    """Limits of the true difference of two predictors on the same rows, and its estimate.

    What a resample does to both cancels, bias included: the limits shrink with the difference. How
    large a bias is depends on how far off a predictor truly is, which is not known; where two
    predictors scatter alike they err about it alike, and where they do not, one may err up and the
    other down.
    """
    if first.influences is not None and second.influences is not None:
        low, high, _ = mean_limits(first.influences.less(second.influences), level)
        if first.losses is not None and second.losses is not None:
            fewest, most = first.losses.room_apart(second.losses, level)
            low, high = min(low, fewest), max(high, most)
        down, up = _share_room(first, second, level)
        low, high = min(low, -down), max(high, up)
        value -= first.excess - second.excess
        return value + low, value + high, value
    if first.by_law and second.by_law:
        return _law_limits(value, first, second, level)
    tail = (1.0 - level) / 2.0
    a, b = first.at(first.best), second.at(second.best)
    spread = float(np.hypot(a.std(), b.std()))
    unlike = min(1.0, float((a - b).std()) / spread) if spread > 0 else 0.0
    apart = APART * unlike
    # What the two have in common is in both gaps as they are seen, and the distance between these
    # is true: moved towards 0, each by itself, they would lose it.
    members = [(first.best + shift, second.best - shift) for shift in (-apart, 0.0, apart)]
    lows, highs = [], []
    for one, other in [*members, (0.0, 0.0)]:
        below, above = quantiles(first.at(one) - second.at(other), (tail, 1.0 - tail))
        lows.append(value - above)
        highs.append(value - below)
    # With the gaps as they are seen a difference may be as large as it can get, and resamples lead
    # away from that to one side only, on which the truth may lie too.
    below, middle, above = quantiles(first.at(0.0) - second.at(0.0), (tail, 0.5, 1.0 - tail))
    lows.append(value + below - 2.0 * middle)
    highs.append(value + above - 2.0 * middle)
    low, high = min(lows), max(highs)
    if first.kinks is not None and second.kinks is not None:
        room = (1.0 - unlike) * first.kinks.room(second.kinks)
        low, high = low - room, high + room
    fewest, most = _rare_room(first, second, level)
    low, high = min(low, value + fewest), max(high, value + most)
    if first.alone is not None and second.alone is not None:
        # Two values are no further apart than their own limits are.
        least, most, _ = first.alone(level)
        lowest, highest, _ = second.alone(level)
        ends = least - highest, most - lowest
        low, high = min(max(low, ends[0]), ends[1]), max(min(high, ends[1]), ends[0])
    return low, high, min(max(value - float(np.median(a - b)), low), high)


def _share_room(first: Scatter, second: Scatter, level: float) -> tuple[float, float]:
    """How far limits lie from the difference of two shares at least: near 0 and 1 what rows move
    them by is skewed, and the limits of each alone tell what was not seen.
    """
    if first.alone is None or second.alone is None:
        return 0.0, 0.0
    least, most, one = first.alone(level)
    lowest, highest, other = second.alone(level)
    like = _likeness(first, second)
    ours, theirs = (one - least, most - one), (other - lowest, highest - other)
    return _farthest(ours, theirs, like), _farthest(theirs, ours, like)


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


def _rare_room(first: Scatter, second: Scatter, level: float) -> tuple[float, float]:
    """How far limits lie from the difference of two errors at least, where misses or events are
    rare: rows that are all right do not tell how either scatters. What one misses the other does.
    """
    if first.rare is None and second.rare is None:
        return 0.0, 0.0
    ours = {} if first.rare is None else first.rare(level)
    theirs = {} if second.rare is None else second.rare(level)
    moved = [0.0, *(ours.get(key, 0.0) - theirs.get(key, 0.0) for key in {**ours, **theirs})]
    return min(moved), max(moved)


def _law_limits(
    value: float, first: Scatter, second: Scatter, level: float
) -> tuple[float, float, float]:
    """Limits of a difference under every law that the votes of both allow. The votes are the same,
    and so is what is behind them: one law holds for both, and what it adds to both cancels.
    """
    tail = (1.0 - level) / 2.0
    both = [law for law in first.by_law if law in second.by_law]
    pairs = [(law, law) for law in both] or [(a, b) for a in first.by_law for b in second.by_law]
    errors = [first.by_law[a] - second.by_law[b] for a, b in pairs]
    low = min(value - quantile(each, 1.0 - tail) for each in errors)
    high = max(value - quantile(each, tail) for each in errors)
    # The spread that votes show is never less than none: predictions that are right would seem to
    # be off. Of these the others are as far off as they are from them.
    if first.against is not None and second.against is not None:
        if second.against.may_be_right:
            least, most = second.against.limits(first.against, level)
            low, high = min(low, least), max(high, most)
        if first.against.may_be_right:
            least, most = first.against.limits(second.against, level)
            low, high = min(low, -most), max(high, -least)
    estimate = value - (first.excess - second.excess)
    return low, high, min(max(estimate, low), high)


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
        down, up = _share_room(first, replace(second, order=None), level)
        low, high = min(low, -down), max(high, up)
        value -= first.excess - second.excess
        return value + low, value + high, value
    assert first.errors is not None and second.errors is not None
    n = min(first.errors.shape[1], second.errors.shape[1])
    low, high, estimate = difference_limits(
        value, _by_itself(first, n), _by_itself(second, n), level
    )
    least, most = _rare_room(first, replace(second, rare=None), level)
    lowest, highest = _rare_room(second, replace(first, rare=None), level)
    low = min(low, value - math.hypot(least, highest))
    high = max(high, value + math.hypot(most, lowest))
    if first.kinks is None or second.kinks is None:
        return low, high, estimate
    # No shorter than the limits of the two alone make it, whose variances add up on either side
    # (Zou and Donner, 2008, doi:10.1002/sim.3095).
    assert first.alone is not None and second.alone is not None
    least, most, one = first.alone(level)
    lowest, highest, other = second.alone(level)
    down, up = math.hypot(one - least, highest - other), math.hypot(most - one, other - lowest)
    return min(low, one - other - down), max(high, one - other + up), estimate


def _mean_room(scatter: Scatter, level: float) -> tuple[float, float]:
    """How far the limits of a mean lie from it, also where hardly an event was seen."""
    assert scatter.influences is not None
    low, high, _ = mean_limits(scatter.influences, level)
    if scatter.losses is None:
        return low, high
    fewest, most = scatter.losses.room(level)
    return min(low, fewest), max(high, most)


def _by_itself(scatter: Scatter, n: int) -> Scatter:
    """So many draws, without what only two predictors of the same rows have in common."""
    assert scatter.errors is not None
    by_law = {law: errors[:n] for law, errors in scatter.by_law.items()}
    return replace(
        scatter, errors=scatter.errors[:, :n], kinks=None, rare=None, against=None, by_law=by_law
    )


def _apart(first: Influences, second: Influences, level: float) -> tuple[float, float, float]:
    """Limits of the difference of the means of two samples, less the difference."""
    spreads = [each.variance for each in (first, second)]
    # Welch and Satterthwaite: the sample that scatters more decides what its spread is known to.
    known = sum(
        spread**2 / max(each.units - 1.0, 0.5)
        for spread, each in zip(spreads, (first, second), strict=True)
    )
    units = 1.0 + sum(spreads) ** 2 / known if known > 0 else first.units + second.units
    return moment_limits(sum(spreads), first.third - second.third, units, level)


@dataclass(frozen=True, eq=False)
class Draws:
    """How often each block of rows was drawn in each resample: the same for every predictor."""

    blocks: NDArray[np.intp]
    counts: Array


def draw_blocks(
    n: int, n_resamples: int, seed: int, groups: NDArray[np.intp] | None = None
) -> Draws:
    """Draws of rows dealt into blocks at random, or of whole groups."""
    rng = np.random.default_rng((seed, 7))
    blocks = groups
    if blocks is None:
        blocks = rng.permutation(n) % min(n, MAX_BLOCKS)
    return Draws(blocks.astype(np.intp), _counts(n_resamples, int(blocks.max()) + 1, rng))


def _counts(n_resamples: int, n_blocks: int, rng: np.random.Generator) -> Array:
    """How often each block is drawn in each resample, many resamples at a time."""
    counts, step = np.empty((n_resamples, n_blocks)), max(1, COUNTED // n_blocks)
    for start in range(0, n_resamples, step):
        part = counts[start : start + step]
        drawn = rng.integers(0, n_blocks, part.shape)
        drawn += n_blocks * np.arange(len(part))[:, None]
        part[...] = np.bincount(drawn.ravel(), minlength=part.size).reshape(part.shape)
    return counts


def replicates(
    samples: Samples, measure: Measure, fixed: Rule, quantile: Rule, draws: Draws
) -> Array:
    """The measure's value in every resample, each computed anew."""
    base = 1.0 if samples.weights is None else samples.weights.astype(np.float64)
    distance = only_distance((measure,))
    as_it_is = Summary(samples, fixed, quantile, distance=distance)
    values = []
    for counts in draws.counts:
        weighed = replace(samples, weights=counts[draws.blocks] * base)
        drawn = Summary(weighed, fixed, quantile, distance=distance)
        values.append(_computed(measure, drawn, as_it_is))
    return np.array(values)


def _computed(measure: Measure, drawn: Summary, as_it_is: Summary) -> float:
    try:
        return measure.compute(drawn)
    except InputError:
        # Nothing drawn that the measure is about (no prediction above a threshold): it says
        # nothing new.
        return measure.compute(as_it_is)
