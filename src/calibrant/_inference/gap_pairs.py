"""Differences of absolute errors: joint draws of both predictors' gaps, and basic limits.

A slot is a bin, or a bin of one class. Its gap is its mean target less its mean prediction. The
observed gaps of two predictors vary about the true ones as N(gamma, S), with their joint covariance
S (`SecondMoments`): the noise of a label that both are compared with cancels. True gaps are drawn
given the observed ones (`RowGaps`), and a sample g* about each:

    root = V1(g*) - V2(g*) - (T1(gamma) - T2(gamma));   limits = difference - quantiles of the root

V1 and V2 are the two predictors' errors in a sample, T1 and T2 their true errors.

Closure: the bias of a sample's error is largest where true gaps are exactly 0, which no smooth
prior believes. The limits therefore also cover each predictor's case of no gaps:

- in all slots, unless its noise floor or its trend rejects that it is calibrated;
- else in the slots that are not surely off, if together they show no more than noise;
- of several classes, in the largest set of classes that together show no more than noise.

Over bins, two errors differ by no more than the error of gaps as large as predictions are apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibrant._core.typing import Array, Mask
from calibrant._inference.blocks import Blocks, summed
from calibrant._inference.numbers import QUIET
from calibrant._inference.row_gaps import RowGaps
from calibrant._inference.second_moments import SecondMoments, SlotNoise
from calibrant._inference.tails import quantiles

# From gaps and weights of slots, (draws, slots), to the measure of each draw.
Formula = Callable[[Array, Array], Array]


@dataclass(frozen=True, eq=False)
class Reading:
    """One predictor's measure as a function of the slots' gaps and weights, (draws, slots) each.

    `of_sample` gives the value of samples, `of_population` the true value; `value` is the observed
    one. `may_be_zero` are the slots of both predictors, (p,), whose gaps may all be 0: those of
    this predictor, or some of them.
    """

    of_sample: Formula
    of_population: Formula
    value: float
    may_be_zero: Mask


@dataclass(frozen=True, eq=False)
class GapPair:
    """The gaps of two predictors, and the interval of the difference of their errors. All measures
    of the same slots share the draws in `noise`. `blocks` are the blocks of rows that vary
    together; None if each row varies by itself.
    """

    noise: SlotNoise
    blocks: Blocks | None = None

    @property
    def moments(self) -> SecondMoments:
        """The joint second moments of both predictors' slots."""
        return self.noise.moments

    # --- what may be right -----------------------------------------------------------------------

    def _factor(self, j: int) -> Array:
        """A factor (f, slots) of the covariance of the noise of predictor j's gaps."""
        return self.moments.parts(self.moments.noise_factor[:, : self.moments.size])[j]

    def _slot_noise(self, j: int) -> Array:
        """Draws of the noise of predictor j's gaps, (draws, slots)."""
        factor = self._factor(j)
        return self.noise.normal(len(factor), 8) @ factor

    def _trends(self, j: int, chosen: Mask | None = None) -> tuple[Array, Array]:
        """Two statistics of predictor j, of every class: the sum of its residuals, and their trend
        over the predictions. Returns the statistics and their variances, (2 classes,) each. With
        `chosen`, (slots,), they are of these slots only.
        """
        slots = self.moments.slots[j]
        names, member = np.unique(slots.classes, return_inverse=True)
        of_class = member.reshape(-1)[:, None] == np.arange(names.size)
        if chosen is not None:
            of_class = of_class & chosen[:, None]
        weight = slots.weight[:, None] * of_class
        centre = slots.mean_u @ weight / np.maximum(weight.sum(axis=0), 1e-300)
        contrasts = np.concatenate([of_class, of_class * (slots.mean_u[:, None] - centre)], axis=1)
        variance = (((self._factor(j) * slots.weight) @ contrasts) ** 2).sum(axis=0)
        if slots.hard and slots.noise is None:
            # With few events the observed variance may be too small: at least the predicted one.
            predicted = slots.sums(slots.squared_weights * slots.u * (1.0 - slots.u))
            variance = np.maximum(variance, predicted @ contrasts**2)
        return (slots.gap * slots.weight) @ contrasts, variance

    def _off_by_trend(self, j: int, alpha: float, chosen: Mask | None = None) -> Mask:
        """Whether the sum of predictor j's residuals, and their trend over the predictions, reject
        that they are 0, (2 classes,); at the level `alpha` for all of them together (Bonferroni).
        """
        from scipy.special import ndtri

        trends, variance = self._trends(j, chosen)
        critical = -float(ndtri(alpha / 2.0 / trends.size))
        return np.abs(trends) > critical * np.sqrt(variance)

    def has_trend(self, j: int, alpha: float) -> bool:
        """Whether a test of level `alpha` (Bonferroni's over all classes) rejects that the mean
        residual of predictor j, and its trend over the predictions, are 0 in every class.
        """
        return bool(self._off_by_trend(j, alpha).any())

    def may_be_zero(self, j: int, alpha: float, *, rejected: bool) -> Mask:
        """The slots of predictor j, (p,), whose gaps may all be 0; slots of the other predictor are
        not among them.

        All of them if no test of level `alpha` rejects that the predictor is calibrated; `rejected`
        says whether its noise floor does. Else those of some classes, or some slots of one class.
        """
        own = self.moments.owners == j
        if not rejected and not self.has_trend(j, alpha):
            return own
        several = np.unique(self.moments.slots[j].classes).size > 1
        out = np.zeros_like(own)
        out[own] = self._quiet_classes(j, alpha) if several else self._quiet_slots(j)
        return out

    def _quiet_slots(self, j: int) -> Mask:
        """Predictor j's slots that are not surely off, (slots,); none if their gaps together are
        larger than noise, or have a trend.

        Slots are surely off beyond sqrt(2 log m) standard errors: of m slots without a gap, none is
        expected there.
        """
        slots, noise = self.moments.slots[j], self._slot_noise(j)
        used = slots.weight > 0
        sure = math.sqrt(2.0 * math.log(max(int(used.sum()), 2)))
        error = np.sqrt((self._factor(j) ** 2).sum(axis=0))
        rest = used & (np.abs(slots.gap) <= sure * error)
        weight = slots.weight * rest
        largest = float(np.quantile(np.abs(noise) @ weight, 1.0 - QUIET))
        if np.abs(slots.gap) @ weight > largest or self._off_by_trend(j, QUIET, rest).any():
            return np.zeros_like(rest)
        return rest

    def _quiet_classes(self, j: int, alpha: float) -> Mask:
        """The slots, (slots,), of the largest set of classes that together show no more than noise
        gives on average and a standard deviation, without classes that a test of level `alpha`
        calls off.
        """
        from scipy.special import ndtri

        slots = self.moments.slots[j]
        names, member = np.unique(slots.classes, return_inverse=True)
        of_class = (member.reshape(-1)[:, None] == np.arange(names.size)) * slots.weight[:, None]
        noise = np.abs(self._slot_noise(j)) @ of_class
        excess = np.abs(slots.gap) @ of_class - noise.mean(axis=0)
        off = self._off_by_trend(j, alpha).reshape(2, -1).any(axis=0)
        excess = np.where(off, np.inf, excess)
        variance = noise.var(axis=0)
        order = np.argsort(excess / np.sqrt(np.maximum(variance, 1e-300)), kind="stable")
        critical = -float(ndtri(QUIET))
        together = np.cumsum(excess[order]) <= critical * np.sqrt(np.cumsum(variance[order]))
        n_quiet = np.flatnonzero(together).max(initial=-1) + 1
        # Not all of them: together they are rejected.
        return np.isin(member.reshape(-1), order[: min(n_quiet, names.size - 1)])

    @cached_property
    def opposed(self) -> bool:
        """Whether the two predictors err in opposite directions on the same rows, by the signs of
        their mean residuals and of the residuals' trends over the
        predictions; False on different rows.

        The noise of a label then makes the error of one predictor smaller and that of the other
        larger.
        """
        if not self.moments.paired:
            return False
        z_scores = []
        for j in range(2):
            trends, variance = self._trends(j)
            z_scores.append(trends / np.sqrt(np.maximum(variance, 1e-300)))
        ours, theirs = z_scores
        if ours.size != theirs.size:
            return False
        smaller = np.minimum(np.abs(ours), np.abs(theirs))
        return float((np.sign(ours * theirs) * smaller**2).sum()) < 0.0

    # --- draws -----------------------------------------------------------------------------------

    @cached_property
    def model(self) -> RowGaps:
        """The model of the rows' gaps that both predictors share."""
        return RowGaps(self.noise)

    @cached_property
    def _drawn(self) -> dict[bytes, list[Array]]:
        """Draws of both predictors' true gaps, by the slots whose gaps are taken to be 0."""
        return {}

    def _true_gaps(self, zero: Mask) -> list[Array]:
        """Draws of each predictor's true gaps, (draws, slots). Those of the slots in `zero`, (p,),
        are 0.
        """
        key = zero.tobytes()
        if key not in self._drawn:
            self._drawn[key] = self.model.draw(zero)
        return self._drawn[key]

    def _roots(self, readings: Sequence[Reading], gaps: list[Array]) -> tuple[Array, Array]:
        """The difference of the two true values, and that of the values of a sample less it, for
        each predictor's true gaps: (draws,) each.
        """
        difference, sample = np.zeros(self.noise.n_draws), np.zeros(self.noise.n_draws)
        for j, (sign, reading, true) in enumerate(zip((1.0, -1.0), readings, gaps, strict=True)):
            noise, drawn_weight = (part[j] for part in self.noise.drawn)
            drawn, slots = true + noise, self.moments.slots[j]
            if self.noise.fine is not None:
                slots = self.noise.fine.slots[j]
            else:
                drawn = np.clip(drawn, -slots.mean_u, 1.0 - slots.mean_u)
            weight = np.broadcast_to(slots.weight, true.shape)
            difference += sign * reading.of_population(true, weight)
            sample += sign * reading.of_sample(drawn, drawn_weight)
        return difference, sample - difference

    # --- a bound ---------------------------------------------------------------------------------

    def _largest_difference(self, readings: Sequence[Reading]) -> float:
        """A bound of the distance of two true errors: the error of gaps as large as predictions are
        apart and, for rows that do not share their slot, as large as drawn gaps nearby, and the
        largest that the rows leave for it. It is infinite on different rows.
        """
        if not self.model.same_rows:
            return math.inf
        most, nobody = 0.0, np.zeros(self.moments.size, dtype=bool)
        for j, (reading, true) in enumerate(zip(readings, self._true_gaps(nobody), strict=True)):
            slots, other = self.moments.slots[j], self.moments.slots[1 - j]
            shared, of_other = self.model.table(slots, other), self.model.table(other, slots).T
            of_other = np.clip(of_other, 1e-300, 1.0)
            free = (shared * np.minimum((1.0 - of_other) / of_other, 1.0)).sum(axis=1)
            # Rows that the other predictor does not count tell nothing of this one.
            free += np.maximum((slots.weight > 0) - shared.sum(axis=1), 0.0)
            apart = np.abs(other.u - slots.u)
            nearby = _largest_nearby(self._of_wide_slots(np.abs(true), j), shared)
            gaps = slots.mean(apart + np.abs(other.z - slots.z)) + free * nearby
            if self.noise.fine is not None:
                slots, gaps = self.noise.fine.slots[j], gaps[:, self.noise.fine.parents[j]]
            weight = np.broadcast_to(slots.weight, gaps.shape)
            errors = reading.of_population(np.minimum(gaps, 1.0), weight)
            most = max(most, float(errors.max()) + self._largest_excess(apart, j))
        return most

    def _of_wide_slots(self, values: Array, j: int) -> Array:
        """Means over predictor j's slots, (draws, slots), of values of its fine slots where there
        are.
        """
        if self.noise.fine is None:
            return values
        fine, parents = self.noise.fine.slots[j], self.noise.fine.parents[j]
        within = np.zeros((fine.size, self.moments.slots[j].size))
        within[np.arange(fine.size), parents] = fine.weight
        return values @ (within / np.maximum(within.sum(axis=0), 1e-300))

    def _largest_excess(self, values: Array, j: int) -> float:
        """The largest amount, over draws, by which the mean of values (n, k) in the population may
        exceed that of the rows: few rows in which two predictors differ may be more elsewhere.
        """
        rows = self.moments.slots[j]
        weights, sums = rows.w.sum(axis=1), (rows.w * values).sum(axis=1)
        counts = 1.0 if rows.counts is None else rows.counts
        if self.blocks is not None and self.blocks.clustered:
            counts, index, size = 1.0, self.blocks.index, self.blocks.size
            weights, sums = summed(index, weights, size), summed(index, sums, size)
        centred = (sums - weights * sums.sum() / weights.sum()) / weights.sum()
        return float(self.noise.normal(1, 12).max() * np.sqrt((centred**2 / counts).sum()))

    # --- limits ----------------------------------------------------------------------------------

    def limits(self, readings: Sequence[Reading], level: float) -> tuple[float, float, float]:
        """The lower limit, the upper limit and an estimate of the difference of two true values.

        The limits are the hull, over all cases of gaps that may be 0, of basic limits and of the
        drawn true differences' quantiles about their median: near the largest possible difference
        roots have one sign, and basic limits alone would be too short. Where predictors err in
        opposite directions, noise makes one of them seem right, and drawn gaps follow it. The
        limits then also cover the case that both are equally far off.
        """
        value = readings[0].value - readings[1].value
        points = ((1.0 - level) / 2.0, 0.5, (1.0 + level) / 2.0)
        unconstrained, ends, estimates = np.zeros(self.moments.size, dtype=bool), [], []
        for case in (unconstrained, *(r.may_be_zero for r in readings if r.may_be_zero.any())):
            difference, root = self._roots(readings, self._true_gaps(case))
            below, bias, above = quantiles(root, points)
            least, median, most = quantiles(difference, points)
            ends += [value - above, value - below]
            ends += [value - bias + least - median, value - bias + most - median]
            estimates.append(value - bias)
        if self.opposed:
            below, _, above = quantiles(self._roots(readings, self.model.known_gaps)[1], points)
            ends += [value - above, value - below]
        low, high = min(ends), max(ends)
        most = self._largest_difference(readings)
        if low < most and high > -most:
            low, high = max(low, -most), min(high, most)
        return low, high, min(max(estimates[0], low), high)


def _largest_nearby(gaps: Array, shared: Array) -> Array:
    """The largest of the gaps, (draws, slots), of each slot and of those that have rows in the same
    slot of the other predictor; `shared` is how many, (slots, other slots).
    """
    out, reach = gaps.copy(), shared > 0
    for slots in reach.T[reach.sum(axis=0) > 1]:
        out[:, slots] = np.maximum(out[:, slots], gaps[:, slots].max(axis=1, keepdims=True))
    return out
