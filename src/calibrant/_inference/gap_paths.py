"""Limits of a single absolute error: test inversion along two paths of gaps.

A slot is a bin, or a bin of one class; its gap is its mean target less its mean prediction. An
absolute error of a sample lies above the true one, by p s h(x) for a slot of share p whose gap is x
standard errors s, with h(x) = 2 phi(x) - 2 x Phi(-x), which decreases and is convex. Among all gaps
with the same expected sample value, those of equal x have the largest true error, and those that
are 0 in all but few slots the smallest; no sample tells them apart. So the upper limit is found
along a path of equal x, the lower one along a path of few slots. Slots beyond sqrt(2 log m)
standard errors keep their gaps: of m slots without a gap, none is expected there.

A measure that is not of bins averages neighbouring gaps, and its true value depends on how smooth
they are. One path shifts all gaps by the same number of standard errors, the other is a multiple of
the smoothed gaps; the limits cover both.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibrant._core.typing import Array, Index, Mask
from calibrant._inference.budget import MOST_EVENTS, MULTIPLES, PARTS, STEP_RATIO, STEPS
from calibrant._inference.gap_pairs import Formula
from calibrant._inference.inversion import Path
from calibrant._inference.limits import Limits
from calibrant._inference.numbers import (
    FEW_EVENTS,
    POWER_CONSTRAINT,
    PRIOR_ROWS,
    SHOWN_AT_LEAST,
    SMOOTHED_OVER,
)
from calibrant._inference.rounding import NO_ERROR
from calibrant._inference.second_moments import SlotNoise
from calibrant._inference.slots import Slots
from calibrant._inference.tails import DrawnLaw


@dataclass(frozen=True, eq=False)
class GapPaths:
    """Limits of one predictor's error, found along paths of populations that have other gaps (mean
    target less mean prediction of a slot, or bin) than the observed ones.
    """

    noise: SlotNoise

    @property
    def slots(self) -> Slots:
        """The predictor's slots (bins)."""
        return self.noise.moments.slots[0]

    @cached_property
    def errors(self) -> Array:
        """The standard error of each slot's gap (mean target less prediction), (slots,)."""
        factor = self.noise.moments.noise_factor[:, : self.slots.size]
        return np.sqrt((factor**2).sum(axis=0))

    @cached_property
    def _z_scores(self) -> Array:
        """The size of each observed gap (mean target less prediction) in standard errors, (slots,);
        0 where the standard error is 0.
        """
        size = np.abs(self.slots.gap)
        return np.divide(size, self.errors, out=np.zeros_like(size), where=self.errors > 0)

    @cached_property
    def _threshold(self) -> float:
        """The number of standard errors beyond which a gap (mean target less prediction) is taken
        to be real and not noise.
        """
        return math.sqrt(2.0 * math.log(max(int(np.count_nonzero(self.slots.weight)), 2)))

    @cached_property
    def _real(self) -> Mask:
        """Whether the gap (mean target less prediction) of each slot (bin) is beyond the threshold,
        (slots,).
        """
        return self._z_scores > self._threshold

    @cached_property
    def _ranks(self) -> Array:
        """The rank by size in standard errors, from 0 for the largest, of the gaps (mean target
        less prediction) that are not beyond the threshold, (slots,); infinite for slots (bins)
        beyond it and for empty ones.
        """
        own = np.flatnonzero(~self._real & (self.slots.weight > 0))
        out = np.full(self.slots.size, np.inf)
        out[own[np.argsort(-self._z_scores[own], kind="stable")]] = np.arange(own.size)
        return out

    @cached_property
    def _signs(self) -> Array:
        """The sign of each observed gap (mean target less prediction), (slots,); 1
        for a gap of 0.
        """
        return np.where(self.slots.gap >= 0, 1.0, -1.0)

    def _signed_gaps(self, size: Array) -> Array:
        """Gaps of these sizes, (slots,), with the observed signs, cut so that mean targets stay in
        [0, 1].

        Where a gap is too large for that, and is not beyond the threshold, it changes its sign if
        there is more room on the other side.
        """
        mean = self.slots.mean_u
        room = np.where(self._signs > 0, 1.0 - mean, mean)
        flipped = (size > room) & (room < 0.5) & ~self._real
        sign = np.where(flipped, -self._signs, self._signs)
        return sign * np.minimum(size, np.where(flipped, 1.0 - room, room))

    # --- paths -----------------------------------------------------------------------------------

    def _equal_gaps(self, t: float) -> Array:
        """Gaps of t standard errors in all slots (bins); those beyond the threshold have at least
        their observed size.
        """
        size = t * self.errors
        at_least = np.where(self._real, np.maximum(np.abs(self.slots.gap), size), size)
        return self._signed_gaps(at_least)

    def _few_gaps(self, t: float) -> Array:
        """Gaps in few slots (bins), 0 in the others.

        For t < 0 the slots beyond the threshold have their gaps (mean target less prediction),
        reduced by -t standard errors. For t >= 0 they have them as observed, and the t largest of
        the other gaps are raised to the threshold.
        """
        size = np.abs(self.slots.gap)
        if t < 0:
            reduced = np.maximum(size + t * self.errors, 0.0)
            return self._signed_gaps(np.where(self._real, reduced, 0.0))
        raised = np.maximum(self._z_scores, self._threshold) * self.errors
        others = raised * np.clip(t - self._ranks, 0, 1)
        return self._signed_gaps(np.where(self._real, size, others))

    def _shifted_gaps(self, t: float) -> Array:
        """The observed gaps (mean target less prediction), each enlarged by t standard errors or,
        for t < 0, reduced, but not below 0.
        """
        return self._signed_gaps(np.maximum(np.abs(self.slots.gap) + t * self.errors, 0.0))

    @cached_property
    def _smoothed(self) -> Array:
        """The observed gaps (mean target less prediction), smoothed by a Gaussian kernel over the
        mean predictions and weighted by their precision, (slots,).
        """
        mean, precision = self.slots.mean_u, np.maximum(self.errors, NO_ERROR) ** -2
        kernel = np.exp(-0.5 * ((mean[:, None] - mean) / SMOOTHED_OVER) ** 2) * precision
        return kernel @ self.slots.gap / kernel.sum(axis=1)

    @cached_property
    def _steps(self) -> list[float]:
        """The points of a path in standard errors: from 0 to beyond the largest observed gap (mean
        target less prediction).
        """
        furthest = float(self._z_scores.max(initial=1.0)) + 2.0 * STEPS[-1]
        steps = list(STEPS)
        while steps[-1] < furthest:
            steps.append(min(STEP_RATIO * steps[-1], furthest))
        return steps

    def _paths(self, of_sample: Formula, of_population: Formula) -> tuple[list[Path], list[Path]]:
        """The paths along which the lower limit is found, and those along which the upper one is.

        `of_sample` and `of_population` map gaps (mean target less prediction) and weights, (draws,
        slots), to the measure's value in samples and in a population.
        """

        def path(points: list[float], gaps: Callable[[float], Array]) -> Path:
            """The path through `points`; `gaps` maps a point to the gaps (mean target less
            prediction) of all slots (bins).
            """
            return Path(points, lambda t: self._values(gaps(t), of_sample, of_population))

        negative = [-step for step in reversed(self._steps)]
        if self.noise.fine is not None:
            mean = self.slots.mean_u
            shifted = path([*negative, *self._steps[1:]], self._shifted_gaps)
            smooth = path(list(MULTIPLES), lambda t: np.clip(t * self._smoothed, -mean, 1.0 - mean))
            return [shifted, smooth], [shifted, smooth]
        others = int(np.isfinite(self._ranks).sum())
        numbers = [others * j / PARTS for j in range(1, PARTS + 1)] if others else []
        few = path([*(negative if self._real.any() else [0.0]), *numbers], self._few_gaps)
        return [few], [path(self._steps, self._equal_gaps)]

    def _path_of_one_size(self, most: Array, of_sample: Formula, of_population: Formula) -> Path:
        """The path on which all gaps (mean target less prediction) have the same size, but none is
        above its upper limit `most`, (slots,). For a largest gap, these populations have the
        largest sample values.
        """
        furthest = float(np.abs(self.slots.gap).max(initial=0.0))

        def at(t: float) -> tuple[float, Array]:
            """The true value if all gaps (mean target less prediction) have the size t, and values
            of samples.
            """
            gap = self._signed_gaps(np.minimum(most, t))
            return self._values(gap, of_sample, of_population)

        return Path([furthest * j / PARTS for j in range(PARTS + 1)], at)

    # --- samples of a population -----------------------------------------------------------------

    def _values(
        self, gap: Array, of_sample: Formula, of_population: Formula
    ) -> tuple[float, Array]:
        """The true value of a population with the gaps `gap` (mean target less prediction),
        (slots,), and the values of samples drawn from it, (draws,).
        """
        (noise,), (weights,) = self.noise.drawn
        slots, own = self.slots, self._wide_noise
        # The variance of outcomes follows their rate; where events are few, they are counted.
        factor = self._noise_factor(gap)
        rare, drawn = self._rare_event_noise(gap)
        if self.noise.fine is None:
            noise = noise * factor
            noise[:, rare] = drawn
            drawn_gap = np.clip(gap + noise, -slots.mean_u, 1.0 - slots.mean_u)
        else:
            parent, slots = self.noise.fine.parents[0], self.noise.fine.slots[0]
            change = np.zeros(own.shape)
            change[:, rare] = drawn - (own * factor)[:, rare]
            gap = gap[parent]
            drawn_gap = gap + noise * factor[parent] + change[:, parent]
        truth = of_population(gap[None], slots.weight[None])
        return float(truth[0]), of_sample(drawn_gap, weights)

    @cached_property
    def _outcome_variance(self) -> Array:
        """The variance of one 0/1 outcome in each slot (bin), (slots,), that the noise was drawn
        with.
        """
        return self.slots.outcome_variance(self.noise.moments.units)

    def _noise_factor(self, gap: Array) -> Array:
        """The standard deviation of outcomes if the slots (bins) have the gaps `gap` (mean target
        less prediction), over the observed one, (slots,); 1 for soft labels and for votes.
        """
        slots, units = self.slots, self.noise.moments.units
        if not slots.hard or slots.noise is not None:
            return np.ones(slots.size)
        rate = np.clip(slots.mean_u + gap, 0.0, 1.0)
        rate = (units * rate + PRIOR_ROWS * slots.mean_u) / (units + PRIOR_ROWS)
        observed, out = self._outcome_variance, np.ones(slots.size)
        ratio: Array = np.divide(rate * (1.0 - rate), observed, out=out, where=observed > 0)
        return np.sqrt(ratio)

    @cached_property
    def _wide_noise(self) -> Array:
        """The noise of the slots' gaps (mean target less prediction), (draws, slots); where the
        noise of finer slots (bins) is drawn, the mean over the fine slots in each.
        """
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
        """The number of 0/1 outcomes whose mean varies as much as each slot's gap (mean target less
        prediction) does, (slots,).
        """
        variance, square = self._outcome_variance, self.errors**2
        number = np.divide(variance, square, out=np.full(square.size, 1e12), where=self.errors > 0)
        return np.maximum(np.rint(number), 1.0)

    @cached_property
    def _probabilities(self) -> Array:
        """The noise of each slot (bin) as a probability, (draws, slots): the normal distribution
        function of the noise over its standard error.
        """
        from scipy.special import ndtr

        scale = np.where(self.errors > 0, self.errors, 1.0)
        return ndtr(self._wide_noise / scale)

    def _rare_event_noise(self, gap: Array) -> tuple[Index, Array]:
        """The numbers of the slots (bins) in which few events, or non-events, are expected if slots
        have the gaps `gap` (mean target less prediction), and noise of binomial counts in them,
        (draws, those slots).

        Counts are quantiles at the probabilities of the normal noise, so that draws of two
        populations differ by their rates only. No slot is given where votes are drawn.
        """
        rate = np.clip(self.slots.mean_u + gap, 0.0, 1.0)
        rarer = np.minimum(rate, 1.0 - rate)
        rare = np.flatnonzero((self._trials * rarer < FEW_EVENTS) & (self.slots.weight > 0))
        if self.slots.noise is not None or rare.size == 0:
            return rare[:0], np.zeros((self.noise.n_draws, 0))
        trials, non_events = self._trials[rare], rate[rare] > 0.5
        p = self._probabilities[:, rare]
        p = np.where(non_events, 1.0 - p, p)
        # The binomial distribution functions of all slots, each raised by the slot's number, so
        # that one search finds all quantiles.
        counts, odds = np.arange(MOST_EVENTS - 1), rarer[rare] / (1.0 - rarer[rare])
        ratios = np.ones((rare.size, MOST_EVENTS))
        ratios[:, 1:] = np.maximum(trials[:, None] - counts, 0.0) / (counts + 1.0) * odds[:, None]
        none = np.exp(trials * np.log1p(-rarer[rare]))[:, None]
        upto = np.cumsum(none * np.cumprod(ratios, axis=1), axis=1)
        upto = np.minimum(upto, 1.0) + np.arange(rare.size)[:, None]
        upto[:, -1] = np.arange(rare.size) + 1.0
        events = np.searchsorted(upto.ravel(), p + np.arange(rare.size))
        events -= np.arange(rare.size) * MOST_EVENTS
        noise = events / trials - rarer[rare]
        return rare, np.where(non_events, -noise, noise)

    # --- limits ----------------------------------------------------------------------------------

    def limits(
        self,
        of_sample: Formula,
        of_population: Formula,
        value: float,
        level: float,
        null: Array | None = None,
    ) -> Limits:
        """Limits of the true value of an error whose observed value is `value`.

        `of_sample` and `of_population` map gaps (mean target less prediction) and weights, (draws,
        slots), to the value in samples and in a population; `null` are the values that calibrated
        predictions have in samples, if known.

        The value behind the upper limit is at least the 16 % quantile of samples at the beginning
        of a path, so that a value that is low by chance does not give too low a limit
        (power-constrained limits: Cowan, Cranmer, Gross and Vitells, 2011, arXiv:1105.3166).
        """
        tail = (1.0 - level) / 2.0
        lower, upper = self._paths(of_sample, of_population)
        low = min(path.crossing(1.0 - tail, value) for path in lower)
        low = max(low, self._excess_over_noise(null, value, tail))
        high = max(
            low,
            *(
                path.crossing(tail, max(value, path.quantile(0, POWER_CONSTRAINT)))
                for path in upper
            ),
        )
        # Noise only adds to an absolute error, so the estimate is at most the value.
        middle = float(np.mean([path.crossing(0.5, value) for path in (*lower, *upper)]))
        estimate = min(middle, value)
        return self._limits(low, high, estimate, of_sample, of_population)

    def limits_of_largest(
        self,
        of_sample: Formula,
        of_population: Formula,
        value: float,
        level: float,
        null: Array | None = None,
    ) -> Limits:
        """Limits of the largest true gap (mean target less prediction), whose observed value is
        `value`; other arguments as of `limits`.

        The upper limit is the largest upper limit of any single slot's gap, since the other slots
        (bins) may have none. The lower limit is found where all slots have gaps of the same size.
        """
        from scipy.special import ndtri

        slots, tail = self.slots, (1.0 - level) / 2.0
        highs = np.abs(slots.gap) + float(ndtri(1.0 - tail)) * self.errors
        most = np.minimum(highs, np.maximum(slots.mean_u, 1.0 - slots.mean_u)) * (slots.weight > 0)
        path = self._path_of_one_size(most, of_sample, of_population)
        low = max(path.crossing(1.0 - tail, value), self._excess_over_noise(null, value, tail))
        high, estimate = max(low, float(most.max())), path.crossing(0.5, value)
        return self._limits(low, high, estimate, of_sample, of_population)

    def _limits(
        self, low: float, high: float, estimate: float, of_sample: Formula, of_population: Formula
    ) -> Limits:
        """The limits with the standard error of the value at the observed gaps (mean target less
        prediction), and with the estimate moved into the limits.
        """
        _, drawn = self._values(self.slots.gap, of_sample, of_population)
        error = float(drawn.std(ddof=1))
        return Limits(low, high, "", error, min(max(estimate, low), high))

    def _excess_over_noise(self, null: Array | None, value: float, tail: float) -> float:
        """A lower limit by the triangle inequality: the value less the upper quantile of noise.

        The value is a norm of gaps (mean target less prediction) plus noise. With few rows the
        noise floor `null` gives the norm of noise better than the slots (bins) do. It is scaled up
        if outcomes vary more than predicted, and not used if they vary more than twice as much.
        Where it is not used, or None, the limit is -inf.
        """
        if null is None:
            return -math.inf
        slots, factor = self.slots, 1.0
        if slots.hard and slots.noise is None:
            predicted = float(slots.weight @ np.sqrt(slots.mean(slots.u * (1.0 - slots.u))))
            observed = float(slots.weight @ np.sqrt(self._outcome_variance))
            if predicted < SHOWN_AT_LEAST * observed:
                return -math.inf
            factor = max(observed / predicted, 1.0)
        return value - factor * DrawnLaw(null).quantile(1.0 - tail)
