"""Several predictors on the same rows, resampled together: what one draw does to all of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant._core.bin_tables import BinTable
from calibrant._core.binning import EqualWidth, Rule
from calibrant._core.errors import InputError
from calibrant._core.loss_sums import FIELDS as LOSS_FIELDS
from calibrant._core.loss_sums import LossSums
from calibrant._data.samples import Samples
from calibrant._inference.blocks import summed
from calibrant._inference.budget import MAX_BLOCKS, WHOLE_RESAMPLES
from calibrant._inference.cells import Drawn, drawn_tables, levels_of
from calibrant._inference.classes import ClassBins
from calibrant._inference.few_events import Losses
from calibrant._inference.means import Influences, influences, mean_limits, moment_limits
from calibrant._inference.problems import Problems
from calibrant._inference.tails import quantile, quantiles
from calibrant._measures.catalogue import Measure
from calibrant._measures.measure import only_distance
from calibrant._measures.statistics import STATISTICS, OnlyLosses
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

    @property
    def n_blocks(self) -> int:
        return int(self.counts.shape[1])

    @cached_property
    def _single(self) -> NDArray[np.float32]:
        return self.counts.astype(np.float32)

    def summed(self, of_blocks: Array, *, whole: bool = False) -> Array:
        """Sums over the drawn blocks of what each has: (resamples, columns).

        `whole` numbers are exact in single precision, which takes half the time.
        """
        if whole and of_blocks.sum(axis=0).max(initial=0.0) * self.counts.max() < 1 << 24:
            return (self._single @ of_blocks.astype(np.float32)).astype(np.float64)
        out: Array = self.counts @ of_blocks
        return out


def draw_blocks(
    n: int,
    n_resamples: int,
    seed: int,
    groups: NDArray[np.intp] | None = None,
    weights: NDArray[Any] | None = None,
) -> Draws:
    """Draws of rows dealt into blocks at random, or of whole groups; each has some weight."""
    rng = np.random.default_rng((seed, 7))
    blocks = groups
    if blocks is None:
        blocks = rng.permutation(n) % min(n, MAX_BLOCKS)
    n_blocks = int(blocks.max()) + 1
    weight = np.bincount(blocks, weights, n_blocks)
    if (weight > 0).all():
        return Draws(blocks.astype(np.intp), _counts(n_resamples, n_blocks, rng))
    counts = np.zeros((n_resamples, n_blocks))
    for row in counts:
        while not row @ weight > 0:  # rows of weight 0 alone have no value
            row[:] = np.bincount(rng.integers(0, n_blocks, n_blocks), minlength=n_blocks)
    return Draws(blocks.astype(np.intp), counts)


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
    made: Problems,
    measures: tuple[Measure, ...],
    fixed: Rule,
    quantile: Rule,
    draws: Draws,
    n_whole: int = WHOLE_RESAMPLES,
) -> list[Array]:
    """Each measure's value in every resample (fewer where a measure must be computed anew)."""
    shared: dict[Any, Any] = {}
    known = {m: _drawn_at_once(made, m, fixed, quantile, draws, n_whole, shared) for m in measures}
    anew = tuple(m for m in measures if known[m] is None)
    computed = iter(_drawn_whole(made.samples, anew, fixed, quantile, draws, n_whole))
    return [next(computed) if values is None else values for values in known.values()]


def _drawn_at_once(
    made: Problems, measure: Measure, fixed: Rule, quantile: Rule, draws: Draws, n_whole: int,
    shared: dict[Any, Any],
) -> Array | None:  # fmt: skip
    """A measure in every resample, where it can be had without computing each anew."""
    if measure.statistic == "losses":
        if "losses" not in shared:
            shared["losses"] = _drawn_losses(made, draws)
        return _losses_of(measure, shared["losses"])
    if measure.moved is not None:
        return _drawn_moved(made, measure, draws)
    statistic, formula = STATISTICS[measure.statistic], measure.table_formula
    if statistic.merges and formula is not None:
        rule = fixed if statistic.binning == "fixed" else quantile
        if statistic not in shared:
            shared[statistic] = _drawn_tables(made, statistic.problem, rule, draws)
        if shared[statistic] is not None:
            out: Array = np.mean([formula(table) for table in shared[statistic]], axis=0)
            return out
    # What is of smooth curves is close in fine cells, and slow row by row; an order is neither.
    of_cells = measure.cell_formula if measure.statistic != "levels" else None
    if of_cells is None:
        return None
    if "cells" not in shared:
        shared["cells"] = _drawn_cells(made, draws, n_whole)
    return of_cells(shared["cells"])


def _drawn_moved(made: Problems, measure: Measure, draws: Draws) -> Array:
    """The measure in every resample, to first order: what the rows that were drawn move it by."""
    u, z, w, _ = made.whole(made.notion)
    weights = np.ones(u.size) if w is None else w
    assert measure.moved is not None
    moved = weights * measure.moved(levels_of(u)[1], z, weights).values
    by_block = np.bincount(draws.blocks, moved, draws.n_blocks)
    weight = np.bincount(draws.blocks, weights, draws.n_blocks)
    value = measure.compute(Summary(made.samples))
    drawn = value + (draws.counts @ by_block) / (draws.counts @ weight)
    out: Array = np.clip(drawn, measure.low, measure.high)
    return out


def _drawn_tables(made: Problems, notion: str, rule: Rule, draws: Draws) -> list[BinTable] | None:
    """For each class (or the one scalar problem) a table whose classes are the resamples."""
    if rule.drops_one:
        return None
    if notion == "classwise":
        classes = made.classes(rule)
        return None if classes is None else _tables_of_classes(*classes, draws, made)
    if notion == "by class":
        problem = made.by_class(rule)
    else:
        problem = made.scalar(rule, "confidence" if notion == "confidence" else None)
    if problem is None:
        return None
    key = draws.blocks * problem.m + problem.bins
    rows = _Rows(key, problem.m, problem.u, problem.z, problem.w, problem.hard)
    return [drawn_tables(*rows.drawn(draws))]


def _tables_of_classes(bins: ClassBins, k: int, draws: Draws, made: Problems) -> list[BinTable]:
    """The table of each class in every resample. One product for all classes takes two thirds of
    the time of one for each.
    """
    key = draws.blocks[:, None] * bins.size + bins.index
    w = None if made.samples.weights is None else bins.w.ravel()
    rows = _Rows(key.ravel(), bins.size, bins.u.ravel(), bins.z.ravel(), w, bins.hard)
    by_class = (np.split(sums, k, axis=1) for sums in rows.drawn(draws))
    return [drawn_tables(*sums) for sums in zip(*by_class, strict=True)]


class _Rows(NamedTuple):
    """Predictions, targets and weights, and the block and bin of each as one number."""

    key: NDArray[np.intp]
    n_bins: int
    u: Array
    z: Array
    w: Array | None
    hard: bool

    def drawn(self, draws: Draws) -> tuple[Array, ...]:
        """The sums of every bin in every resample, (draws, bins), as `drawn_tables` takes them."""
        u, z, w = self.u, self.z, self.w
        if w is not None:
            columns = (w, w * w, w * u, w * z, w * z * z, w * w * z)
            return self._summed(draws, *columns)
        if not self.hard:
            weight, wu, wz, wz2 = self._summed(draws, None, u, z, z * z)
            return weight, weight, wu, wz, wz2, wz
        # Squares of hard labels are the labels, and of weights of 1 the weights.
        weight, wz = self._summed(draws, None, z, whole=True)
        [wu] = self._summed(draws, u)
        return weight, weight, wu, wz, wz, wz

    def _summed(
        self, draws: Draws, *columns: Array | None, whole: bool = False
    ) -> tuple[Array, ...]:
        """Sums of columns over what was drawn; None is a column of ones."""
        size = draws.n_blocks * self.n_bins
        of_blocks = [
            np.bincount(self.key, column, size).reshape(draws.n_blocks, self.n_bins)
            for column in columns
        ]
        together = draws.summed(np.concatenate(of_blocks, axis=1, dtype=np.float64), whole=whole)
        return tuple(np.split(together, len(columns), axis=1))


def _drawn_cells(made: Problems, draws: Draws, n_whole: int) -> Drawn:
    """The sums of fine cells in some resamples: predictions of one cell are all but equal."""
    from scipy.sparse import coo_array

    problem = made.scalar(EqualWidth(15))
    assert problem is not None
    cells = problem.fine_cells
    w, u, z = problem.weights, problem.u, problem.z
    counts = np.ascontiguousarray(draws.counts[:n_whole].T)

    def drawn(column: Array) -> Array:
        """Sums over the drawn blocks; few cells have rows of a block."""
        where = (cells.index, draws.blocks)
        of_blocks = coo_array((column, where), shape=(cells.size, draws.n_blocks)).tocsr()
        return np.ascontiguousarray((of_blocks @ counts).T)

    wz = drawn(w * z)
    # Squares of hard labels are the labels.
    return Drawn(cells, drawn(w), drawn(w * u), wz, wz if problem.hard else drawn(w * z * z))


def _drawn_losses(made: Problems, draws: Draws) -> LossSums:
    """Sums of losses in every resample, a resample being a column."""
    samples = made.samples
    w = np.ones(samples.n) if samples.weights is None else samples.weights.astype(np.float64)
    columns = {"n": (w > 0).astype(np.float64), "sum_w": w}
    columns |= {name: w * v for name, v in made.row_values(distribution=False).items()}
    per_block = np.zeros((draws.n_blocks, len(LOSS_FIELDS)))
    for name, column in columns.items():
        per_block[:, LOSS_FIELDS.index(name)] = summed(draws.blocks, column, draws.n_blocks)
    return LossSums(draws.summed(per_block).T, samples.n_classes)


def _losses_of(measure: Measure, drawn: LossSums) -> Array:
    """A measure of losses in every resample."""
    if measure.loss:
        return drawn.means(measure.loss)
    each = (LossSums(sums, drawn.n_classes) for sums in drawn.sums.T)
    return np.array([measure.compute(OnlyLosses(losses)) for losses in each])


def _drawn_whole(
    samples: Samples,
    measures: tuple[Measure, ...],
    fixed: Rule,
    quantile: Rule,
    draws: Draws,
    n_whole: int,
) -> list[Array]:
    """Measures that are computed anew for each of some resamples; what they share is made once."""
    if not measures:
        return []
    base = 1.0 if samples.weights is None else samples.weights.astype(np.float64)
    distance = only_distance(measures)
    as_it_is = Summary(samples, fixed, quantile, distance=distance)
    rows = []
    for counts in draws.counts[:n_whole]:
        weighed = replace(samples, weights=counts[draws.blocks] * base)
        drawn = Summary(weighed, fixed, quantile, distance=distance)
        rows.append([_computed(measure, drawn, as_it_is) for measure in measures])
    return list(np.array(rows).T)


def _computed(measure: Measure, drawn: Summary, as_it_is: Summary) -> float:
    try:
        return measure.compute(drawn)
    except InputError:
        # Nothing drawn that the measure is about (no prediction above a threshold): it says
        # nothing new.
        return measure.compute(as_it_is)
