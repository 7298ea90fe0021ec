"""Single absolute errors: inversion along two paths of gaps.

An absolute error of a sample lies above the true one, by p s h(x) for a slot of share p whose gap
is x standard errors s, with h(x) = 2 phi(x) - 2 x Phi(-x), which falls and is convex. Of all gaps
that show the same value, those of equal x have the highest true error, and those of few slots,
where the others have none, the lowest: no sample tells these apart. So the upper limit is found
along a path of equal x, the lower one along a path of few slots. Slots beyond sqrt(2 log m)
standard errors are surely off, of m without a gap not one is expected there: they keep their gaps.

A measure that is not of bins averages gaps next to each other: there the true error depends on how
smooth they are. One path moves each gap by so many of its standard errors, the other is a multiple
of the gaps smoothed; the limits cover both.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibrant._core.typing import Array, Index, Mask
from calibrant._inference.budget import MOST_EVENTS, MULTIPLES, PARTS, STEPS
from calibrant._inference.gap_pairs import Formula
from calibrant._inference.inversion import Path
from calibrant._inference.numbers import (
    FEW_EVENTS,
    LUCK,
    PRIOR_ROWS,
    SHOWN_AT_LEAST,
    SMOOTHED_OVER,
)
from calibrant._inference.rounding import NO_ERROR
from calibrant._inference.second_moments import Slots
from calibrant._inference.slot_noise import SlotNoise
from calibrant._inference.tails import Law


@dataclass(frozen=True)
class Limits:
    """The limits of a true value, the true value of which the one seen is as likely too high as too
    low, and the standard error of the value.
    """

    low: float
    high: float
    estimate: float
    error: float


@dataclass(frozen=True, eq=False)
class GapPaths:
    """The gaps of one predictor's slots, and populations with other gaps."""

    noise: SlotNoise

    @property
    def slots(self) -> Slots:
        return self.noise.moments.slots[0]

    @cached_property
    def scale(self) -> Array:
        """The standard error of each slot's gap."""
        factor = self.noise.moments.noise_factor[:, : self.slots.size]
        return np.sqrt((factor**2).sum(axis=0))

    @cached_property
    def _away(self) -> Array:
        """How many standard errors each gap is from 0."""
        size = np.abs(self.slots.gap)
        return np.divide(size, self.scale, out=np.zeros_like(size), where=self.scale > 0)

    @cached_property
    def _sure_from(self) -> float:
        return math.sqrt(2.0 * math.log(max(int(np.count_nonzero(self.slots.weight)), 2)))

    @cached_property
    def _sure(self) -> Mask:
        return self._away > self._sure_from

    @cached_property
    def _ranks(self) -> Array:
        """The places of slots that are not surely off, the furthest first."""
        own = np.flatnonzero(~self._sure & (self.slots.weight > 0))
        out = np.full(self.slots.size, np.inf)
        out[own[np.argsort(-self._away[own], kind="stable")]] = np.arange(own.size)
        return out

    @cached_property
    def _sides(self) -> Array:
        """On which side of the predictions gaps are."""
        return np.where(self.slots.gap >= 0, 1.0, -1.0)

    def _placed(self, size: Array) -> Array:
        """Gaps of these sizes. A mean target ends at 0 and at 1: where a gap would lead beyond, so
        many standard errors may lead further on the other side.
        """
        mean = self.slots.mean_u
        room = np.where(self._sides > 0, 1.0 - mean, mean)
        turned = (size > room) & (room < 0.5) & ~self._sure
        side = np.where(turned, -self._sides, self._sides)
        return side * np.minimum(size, np.where(turned, 1.0 - room, room))

    # --- paths -----------------------------------------------------------------------------------

    def _equal(self, t: float) -> Array:
        """All gaps at t standard errors, those that are surely off at least where they are."""
        size = t * self.scale
        return self._placed(np.where(self._sure, np.maximum(np.abs(self.slots.gap), size), size))

    def _few(self, t: float) -> Array:
        """Below 0 the gaps that are surely off, so many standard errors nearer, alone; above it
        also the t furthest of the others, as far off as if they were surely so.
        """
        size = np.abs(self.slots.gap)
        if t < 0:
            return self._placed(np.where(self._sure, np.maximum(size + t * self.scale, 0.0), 0.0))
        raised = np.maximum(self._away, self._sure_from) * self.scale
        return self._placed(np.where(self._sure, size, raised * np.clip(t - self._ranks, 0, 1)))

    def _moved(self, t: float) -> Array:
        """All gaps t standard errors further off, or nearer as far as 0."""
        return self._placed(np.maximum(np.abs(self.slots.gap) + t * self.scale, 0.0))

    @cached_property
    def _smoothed(self) -> Array:
        """The gaps averaged with those next to them, by how well they are known."""
        mean, known = self.slots.mean_u, np.maximum(self.scale, NO_ERROR) ** -2
        near = np.exp(-0.5 * ((mean[:, None] - mean) / SMOOTHED_OVER) ** 2) * known
        return near @ self.slots.gap / near.sum(axis=1)

    @cached_property
    def _steps(self) -> list[float]:
        """Standard errors, as far as the furthest gap and beyond."""
        furthest = float(self._away.max(initial=1.0)) + 2.0 * STEPS[-1]
        steps = list(STEPS)
        while steps[-1] < furthest:
            steps.append(min(1.4 * steps[-1], furthest))
        return steps

    def _paths(self, of_sample: Formula, of_population: Formula) -> tuple[list[Path], list[Path]]:
        """The paths along which the lower limit is found, and the upper one."""

        def path(points: list[float], gaps: Callable[[float], Array]) -> Path:
            return Path(points, lambda t: self._values(gaps(t), of_sample, of_population))

        fewer = [-step for step in reversed(self._steps)]
        if self.noise.fine is not None:
            mean = self.slots.mean_u
            moved = path([*fewer, *self._steps[1:]], self._moved)
            smooth = path(list(MULTIPLES), lambda t: np.clip(t * self._smoothed, -mean, 1.0 - mean))
            return [moved, smooth], [moved, smooth]
        others = int(np.isfinite(self._ranks).sum())
        parts = [others * j / PARTS for j in range(1, PARTS + 1)] if others else []
        few = path([*(fewer if self._sure.any() else [0.0]), *parts], self._few)
        return [few], [path(self._steps, self._equal)]

    def _alike(self, most: Array, of_sample: Formula, of_population: Formula) -> Path:
        """All gaps of the same size, as far as their own limits allow: of a largest gap this shows
        the most.
        """
        furthest = float(np.abs(self.slots.gap).max(initial=0.0))

        def alike(t: float) -> tuple[float, Array]:
            gap = self._placed(np.minimum(most, t))
            return self._values(gap, of_sample, of_population)

        return Path([furthest * j / PARTS for j in range(PARTS + 1)], alike)

    # --- what samples show -----------------------------------------------------------------------

    def _values(
        self, gap: Array, of_sample: Formula, of_population: Formula
    ) -> tuple[float, Array]:
        """The true value where slots have these gaps, and values of samples."""
        (noise,), (weights,) = self.noise.drawn
        slots, own = self.slots, self._wide_noise
        # Outcomes vary as their rates have it, and where events are few by whole events.
        more = self._scatter(gap)
        rare, drawn = self._few_events(gap)
        if self.noise.fine is None:
            noise = noise * more
            noise[:, rare] = drawn
            seen = np.clip(gap + noise, -slots.mean_u, 1.0 - slots.mean_u)
        else:
            parent, slots = self.noise.fine.parents[0], self.noise.fine.slots[0]
            lacking = np.zeros(own.shape)
            lacking[:, rare] = drawn - (own * more)[:, rare]
            gap = gap[parent]
            seen = gap + noise * more[parent] + lacking[:, parent]
        truth = of_population(gap[None], slots.weight[None])
        return float(truth[0]), of_sample(seen, weights)

    @cached_property
    def _variance(self) -> Array:
        """The variance of outcomes that the noise of slots was drawn with."""
        return self.slots.outcome_variance(self.noise.moments.units)

    def _scatter(self, gap: Array) -> Array:
        """How much more outcomes vary where gaps are these: their variance goes with the rate."""
        slots, units = self.slots, self.noise.moments.units
        if not slots.hard or slots.noise is not None:
            return np.ones(slots.size)
        rate = np.clip(slots.mean_u + gap, 0.0, 1.0)
        rate = (units * rate + PRIOR_ROWS * slots.mean_u) / (units + PRIOR_ROWS)
        seen, out = self._variance, np.ones(slots.size)
        ratio: Array = np.divide(rate * (1.0 - rate), seen, out=out, where=seen > 0)
        return np.sqrt(ratio)

    @cached_property
    def _wide_noise(self) -> Array:
        """The noise of slots, (draws, slots): of finer ones their mean."""
        (noise,), (weights,) = self.noise.drawn
        if self.noise.fine is None:
            return noise
        index, size = self.noise.fine.parents[0], self.slots.size
        within = np.zeros((index.size, size))
        within[np.arange(index.size), index] = 1.0
        weight = weights @ within
        return (noise * weights) @ within / np.where(weight > 0, weight, 1.0)

    @cached_property
    def _trials(self) -> Array:
        """How many outcomes each slot is worth: as many as would vary as its gap does."""
        worth = np.divide(
            self._variance, self.scale**2, out=np.full(self.scale.size, 1e12), where=self.scale > 0
        )
        return np.maximum(np.rint(worth), 1.0)

    @cached_property
    def _chances(self) -> Array:
        """The noise of slots as chances, (draws, slots)."""
        from scipy.special import ndtr

        scale = np.where(self.scale > 0, self.scale, 1.0)
        return ndtr(self._wide_noise / scale)

    def _few_events(self, gap: Array) -> tuple[Index, Array]:
        """Slots in which few events, or failures, are expected where gaps are these, and the noise
        of so many outcomes there, (draws, slots): the same chances give more at a higher rate.
        """
        rate = np.clip(self.slots.mean_u + gap, 0.0, 1.0)
        seldom = np.minimum(rate, 1.0 - rate)
        rare = np.flatnonzero((self._trials * seldom < FEW_EVENTS) & (self.slots.weight > 0))
        if self.slots.noise is not None or rare.size == 0:
            return rare[:0], np.zeros((self.noise.n_draws, 0))
        trials, turned = self._trials[rare], rate[rare] > 0.5
        chance = np.where(turned, 1.0 - self._chances[:, rare], self._chances[:, rare])
        # The chances of at most 0, 1, ... events, slot by slot, so that one search finds all.
        counts, odds = np.arange(MOST_EVENTS - 1), seldom[rare] / (1.0 - seldom[rare])
        ratios = np.maximum(trials[:, None] - counts, 0.0) / (counts + 1.0) * odds[:, None]
        none = np.exp(trials * np.log1p(-seldom[rare]))[:, None]
        upto = np.cumsum(none * np.cumprod(np.insert(ratios, 0, 1.0, axis=1), axis=1), axis=1)
        upto = np.minimum(upto, 1.0) + np.arange(rare.size)[:, None]
        upto[:, -1] = np.arange(rare.size) + 1.0
        events = np.searchsorted(upto.ravel(), chance + np.arange(rare.size))
        events -= np.arange(rare.size) * MOST_EVENTS
        noise = events / trials - seldom[rare]
        return rare, np.where(turned, -noise, noise)

    # --- limits ----------------------------------------------------------------------------------

    def limits(
        self,
        of_sample: Formula,
        of_population: Formula,
        value: float,
        level: float,
        null: Array | None = None,
    ) -> Limits:
        """Limits of the true value, of which slots show `value`. `null` are values of calibrated
        predictions as the noise floor draws them, where there are such.

        If the beginning of a path shows so low a value in fewer than one sample of six, that is
        luck: the upper limit is based on the value that it shows once in six samples
        (power-constrained limits: Cowan, Cranmer, Gross and Vitells, 2011, arXiv:1105.3166).
        """
        tail = (1.0 - level) / 2.0
        lower, upper = self._paths(of_sample, of_population)
        low = min(path.crossing(1.0 - tail, value) for path in lower)
        low = max(low, self._beyond(null, value, tail))
        # A path that keeps gaps which are surely off begins with these.
        high = max(low, *(path.crossing(tail, max(value, path.usual(0, LUCK))) for path in upper))
        # Noise adds to an absolute error: what draws lead beyond the value is theirs.
        middle = float(np.mean([path.crossing(0.5, value) for path in (*lower, *upper)]))
        estimate = min(middle, value)
        return self._within_range(low, high, estimate, of_sample, of_population)

    def limits_of_largest(
        self,
        of_sample: Formula,
        of_population: Formula,
        value: float,
        level: float,
        null: Array | None = None,
    ) -> Limits:
        """Limits of the largest true gap, of which slots show `value`.

        It is that of one slot, and the others may have none: the upper limit is the largest of any
        slot's own gap. The lower one is where all slots have the same gap, as far as they may.
        """
        from scipy.special import ndtri

        slots, tail = self.slots, (1.0 - level) / 2.0
        far = np.abs(slots.gap) + float(ndtri(1.0 - tail)) * self.scale
        most = np.minimum(far, np.maximum(slots.mean_u, 1.0 - slots.mean_u)) * (slots.weight > 0)
        alike = self._alike(most, of_sample, of_population)
        low = max(alike.crossing(1.0 - tail, value), self._beyond(null, value, tail))
        estimate = alike.crossing(0.5, value)
        return self._within_range(
            low, max(low, float(most.max())), estimate, of_sample, of_population
        )

    def _within_range(
        self, low: float, high: float, estimate: float, of_sample: Formula, of_population: Formula
    ) -> Limits:
        _, shown = self._values(self.slots.gap, of_sample, of_population)
        error = float(shown.std(ddof=1))
        return Limits(low, high, min(max(estimate, low), high), error)

    def _beyond(self, null: Array | None, value: float, tail: float) -> float:
        """How far a value lies beyond what noise alone shows. The distance of gaps and noise
        together is at most the sum of their distances, so that the true one is at least this. In
        few rows the noise floor knows the noise better than slots do, if outcomes vary no more
        than they are predicted to.
        """
        if null is None:
            return -math.inf
        slots, more = self.slots, 1.0
        if slots.hard and slots.noise is None:
            predicted = float(slots.weight @ np.sqrt(slots.mean(slots.u * (1.0 - slots.u))))
            seen = float(slots.weight @ np.sqrt(self._variance))
            if predicted < SHOWN_AT_LEAST * seen:
                return -math.inf
            more = max(seen / predicted, 1.0)
        return value - more * Law(null).quantile(1.0 - tail)
