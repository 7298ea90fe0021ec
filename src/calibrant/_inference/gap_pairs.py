"""Differences of absolute errors: one joint law of both predictors' gaps, and basic limits.

The gaps g of two predictors, bin by bin, vary about the true gaps as N(gamma, S): S is the joint
covariance of the rows in their bins (`SecondMoments`), so that what both read from one label
cancels. True gaps are drawn from their posterior under two priors, and samples g* about each:

    root = V1(g*) - V2(g*) - (T1(gamma) - T2(gamma));   limits = difference - quantiles of the root

Both priors have a smooth part, a Gaussian process over the mean prediction, and gaps of one size in
every bin. Under the second a bin may have no gap at all (spike and slab), as some bins of a
predictor have that is surely off. No sample tells these apart, and how far a sample's error lies
above the true one depends on it.

Where the two err on either side of the labels, shifts and slopes have a prior of their own size.

Closure: where a predictor's noise floor does not reject it, its gaps may all be exactly 0. The
limits cover that case too, with the other predictor's gaps drawn from what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibrant._core.typing import Array, Index, Mask
from calibrant._inference.budget import FIT_STEPS
from calibrant._inference.numbers import SMOOTH_OVER, TREND
from calibrant._inference.rounding import JITTER, symmetric_root
from calibrant._inference.second_moments import SecondMoments
from calibrant._inference.slot_noise import SlotNoise
from calibrant._inference.tails import quantiles

# Gaps and weights of slots, (draws, slots), to the measure of each draw.
Formula = Callable[[Array, Array], Array]


@dataclass(frozen=True, eq=False)
class Reading:
    """How one predictor's measure is read from its slots: of samples, and of a population."""

    of_sample: Formula
    of_population: Formula
    value: float
    # Whether its gaps may all be 0.
    may_be_calibrated: bool


@dataclass(frozen=True, eq=False)
class GapPair:
    """Two predictors' gaps, with what all measures of the same slots share."""

    noise: SlotNoise

    @property
    def moments(self) -> SecondMoments:
        return self.noise.moments

    def _trends(self, j: int) -> tuple[Array, Array]:
        """The mean residual of every class of predictor j, and its trend over the predictions, with
        their variances: the usual ways of being off, which an error spreads over all its slots.
        """
        slots, own = self.moments.slots[j], self.moments.owners == j
        names, member = np.unique(slots.classes, return_inverse=True)
        means = member.reshape(-1)[:, None] == np.arange(names.size)
        held = slots.weight[:, None] * means
        middle = slots.mean_u @ held / np.maximum(held.sum(axis=0), 1e-300)
        ways = np.concatenate([means, means * (slots.mean_u[:, None] - middle)], axis=1)
        noise = self.moments.noise_factor[:, : self.moments.size][:, own] * slots.weight
        variance = ((noise @ ways) ** 2).sum(axis=0)
        if slots.hard and slots.noise is None:  # few events vary less than they are predicted to
            predicted = slots.sums(slots.w**2 * slots.u * (1.0 - slots.u))
            variance = np.maximum(variance, predicted @ ways**2)
        return (slots.gap * slots.weight) @ ways, variance

    def is_off(self, j: int, chance: float) -> bool:
        """Whether calibrated predictions show a mean residual or a trend as large as predictor j's
        with less than this chance.
        """
        from scipy.special import ndtri

        far, variance = self._trends(j)
        most = -float(ndtri(chance / 2.0 / far.size))
        return bool((np.abs(far) > most * np.sqrt(variance)).any())

    @cached_property
    def opposed(self) -> bool:
        """Whether the two predictors err on either side of the same labels, as far as both show it:
        noise then brings one nearer to 0 and takes the other away from it.
        """
        if not self.moments.paired:
            return False
        sizes = []
        for j in range(2):
            far, variance = self._trends(j)
            sizes.append(far / np.sqrt(np.maximum(variance, 1e-300)))
        ours, theirs = sizes
        if ours.size != theirs.size:
            return False
        both = np.minimum(np.abs(ours), np.abs(theirs))
        return float((np.sign(ours * theirs) * both**2).sum()) < 0.0

    # --- the posterior of true gaps --------------------------------------------------------------

    @cached_property
    def _slots(self) -> tuple[Index, Mask]:
        """The slots of each class, (classes, most slots), and which of these there are."""
        classes = self.moments.stacked("classes")
        used = self.moments.stacked("weight") > 0
        members = [np.flatnonzero(used & (classes == r)) for r in np.unique(classes)]
        index = np.zeros((len(members), max(each.size for each in members)), dtype=np.intp)
        there = np.zeros(index.shape, dtype=bool)
        for row, each in enumerate(members):
            index[row, : each.size], there[row, : each.size] = each, True
        return index, there

    @cached_property
    def _covariances(self) -> Array:
        """S of each class, (classes, slots, slots), with a little added to the diagonal."""
        index, there = self._slots
        factor = self.moments.noise_factor[:, : self.moments.size][:, index] * there
        out: Array = np.einsum("fri,frj->rij", factor, factor, optimize=True)
        trace = np.einsum("rii->", out) / max(int(there.sum()), 1)
        diagonal = np.arange(index.shape[1])
        out[:, diagonal, diagonal] += np.where(there, JITTER * trace, max(trace, 1e-300))
        return out

    @cached_property
    def _smooth(self) -> Array:
        """The correlation of smooth gaps, (classes, slots, slots)."""
        index, there = self._slots
        mean = self.moments.stacked("mean_u")[index]
        far = (mean[:, :, None] - mean[:, None]) / SMOOTH_OVER
        return np.exp(-0.5 * far**2) * (there[:, :, None] & there[:, None])

    @cached_property
    def _common(self) -> Array:
        """The correlation of gaps that rows have by themselves, (classes, slots, slots): 1 of a
        slot and itself, and between predictors what their slots have in common.
        """
        index, there = self._slots
        out = np.zeros((*index.shape, index.shape[1]))
        diagonal = np.arange(index.shape[1])
        out[:, diagonal, diagonal] = there
        overlap = self.moments.overlap
        if overlap is None:
            return out
        first = self.moments.owners[index] == 0
        start = self.moments.slots[0].size
        ours, theirs = np.where(first, index, 0), np.where(first, 0, index - start)
        across: Array = overlap[ours[:, :, None], theirs[:, None]]
        across = across * ((first & there)[:, :, None] & (~first & there)[:, None])
        out += across + across.transpose(0, 2, 1)
        return out

    def _components(self, live: Mask) -> tuple[list[Array], list[Array]]:
        """The parts of the prior covariance whose sizes are fitted: smooth matrices (classes,
        slots, slots) of both predictors and of each, diagonals (classes, slots) of each.
        """
        index, there = self._slots
        own = [
            (there & live[index] & (self.moments.owners[index] == j)).astype(np.float64)
            for j in range(len(self.moments.slots))
        ]
        own = [part for part in own if part.any()]
        masks = [sum(own[1:], own[0]), *own] if len(own) > 1 else own
        smooth = [self._smooth * mask[:, :, None] * mask[:, None] for mask in masks]
        if len(own) > 1:
            own = [self._common * masks[0][:, :, None] * masks[0][:, None], *own]
        return smooth, own

    def _gap(self) -> Array:
        index, there = self._slots
        return self.moments.stacked("gap")[index] * there

    def _trend_prior(self) -> Array:
        """The prior covariance of shifts and slopes on the scale of logits, one of each for every
        class of every predictor, (classes, slots, slots).
        """
        index, there = self._slots
        mean = np.clip(self.moments.stacked("mean_u")[index], 1e-4, 1.0 - 1e-4)
        shift = there * mean * (1.0 - mean)
        slope = shift * np.log(mean / (1.0 - mean))
        owner = self.moments.owners[index]
        out = shift[:, :, None] * shift[:, None] + slope[:, :, None] * slope[:, None]
        return TREND**2 * out * (owner[:, :, None] == owner[:, None])

    def _variances(self, components: list[Array], gap: Array, fixed: Array | float = 0.0) -> Array:
        """The sizes of the components beside a prior of fixed size, by maximum likelihood (the MM
        algorithm of Zhou, Hu, Zhou and Lange, 2019, doi:10.1080/10618600.2018.1529601).
        """
        noise, n = self._covariances, max(int(self._slots[1].sum()), 1)
        trace = float(np.einsum("rii->", noise[:, : gap.shape[1]] * self._slots[1][:, :, None]))
        noise = noise + fixed
        start = max(float((gap**2).sum()) - trace, 0.05 * trace, 1e-300) / n
        sizes = np.full(len(components), start / len(components))
        # A few slots do not show that one predictor has no gaps of its own: their size is at least
        # what noise of one slot would make it.
        least = [
            trace / n / max(float(part.sum()), 1.0) if part.ndim == 2 else 0.0
            for part in components
        ]
        for _ in range(FIT_STEPS):
            inverse = np.linalg.inv(noise + _covariance(sizes, components))
            along = np.einsum("rij,rj->ri", inverse, gap)
            for j, part in enumerate(components):
                if part.ndim == 3:
                    seen = np.einsum("ri,rij,rj->", along, part, along)
                    usual = np.einsum("rij,rij->", inverse, part)
                else:
                    seen = (part * along**2).sum()
                    usual = np.einsum("rii,ri->", inverse, part)
                sizes[j] *= np.sqrt(max(float(seen), 0.0) / max(float(usual), 1e-300))
                sizes[j] = max(sizes[j], least[j])
        return sizes

    def _posteriors(self, live: Mask) -> list[Array]:
        """Draws of the true gaps (draws, p) under each prior, where slots that are not live have
        none.
        """
        smooth_parts, own_parts = self._components(live)
        if not smooth_parts:
            return [np.zeros((self.noise.n_draws, self.moments.size))]
        gap = self._gap()
        if self.opposed and live.all():
            # The noise of one label makes one predictor seem better and the other worse: sizes
            # fitted to that would call one calibrated. Shifts and slopes have a size of their own.
            fixed = self._trend_prior()
            prior = fixed + _covariance(self._variances(own_parts, gap, fixed), own_parts)
        else:
            components = [*smooth_parts, *own_parts]
            prior = _covariance(self._variances(components, gap), components)
        dense = self._drawn_gaps(prior, gap)
        return [dense, dense * self._has_gap(prior, gap)]

    def _has_gap(self, prior: Array, gap: Array) -> Mask:
        """Whether a slot has a gap, (draws, p). That it has none is as likely beforehand; slots of
        two predictors with rows in common tend to have one together.
        """
        from scipy.special import expit, ndtr

        index, there = self._slots
        noise = np.einsum("rii->ri", self._covariances)
        both = noise + np.einsum("rii->ri", prior)
        # The odds of noise alone against a gap of the prior's size and noise.
        log_odds = 0.5 * (np.log(both / noise) - gap**2 * (1.0 / noise - 1.0 / both))
        root = symmetric_root(self._common)
        normal = self.noise.normal(gap.size, 11).reshape(self.noise.n_draws, *gap.shape)
        even = ndtr(np.einsum("drj,rij->dri", normal, root))
        out = np.zeros((self.noise.n_draws, self.moments.size), dtype=bool)
        out[:, index[there]] = (even >= expit(log_odds))[:, there]
        return out

    def _drawn_gaps(self, prior: Array, gap: Array) -> Array:
        index, there = self._slots
        shrink = np.linalg.solve(self._covariances + prior, prior).transpose(0, 2, 1)
        left = prior - shrink @ prior
        root = symmetric_root((left + left.transpose(0, 2, 1)) / 2.0)
        normal = self.noise.normal(gap.size, 9).reshape(self.noise.n_draws, *gap.shape)
        drawn = np.einsum("rij,rj->ri", shrink, gap) + np.einsum("drj,rij->dri", normal, root)
        out = np.zeros((self.noise.n_draws, self.moments.size))
        out[:, index[there]] = drawn[:, there]
        return out

    # --- limits ----------------------------------------------------------------------------------

    @cached_property
    def _drawn(self) -> dict[tuple[int, ...], list[Array]]:
        return {}

    def _gaps_without(self, calibrated: tuple[int, ...]) -> list[Array]:
        """Draws of the true gaps where some predictors have none; made once for all measures."""
        if calibrated not in self._drawn:
            live = ~np.isin(self.moments.owners, calibrated)
            mean = self.moments.stacked("mean_u")
            self._drawn[calibrated] = [
                np.clip(each, -mean, 1.0 - mean) * live for each in self._posteriors(live)
            ]
        return self._drawn[calibrated]

    def _cases(self, readings: Sequence[Reading]) -> Iterator[tuple[Array, list[Array]]]:
        """Draws of the true difference under the first prior, and of a sample's less the true one
        under each, where both predictors may have gaps, and where one of them has none.
        """
        cases = [(), *((j,) for j, each in enumerate(readings) if each.may_be_calibrated)]
        for case in cases:
            trues, roots = [], []
            for gaps in map(self.moments.parts, self._gaps_without(case)):
                (true, shown), (other, shows) = (
                    self._values(reading, gap, j)
                    for j, (reading, gap) in enumerate(zip(readings, gaps, strict=True))
                )
                trues.append(true - other)
                roots.append(shown - shows - (true - other))
            yield trues[0], roots

    def _values(self, reading: Reading, true: Array, j: int) -> tuple[Array, Array]:
        """One predictor's true value, and that of a sample, in every draw."""
        slots = self.moments.slots[j]
        noise, drawn = (part[j] for part in self.noise.drawn)
        if self.noise.fine is not None:
            slots, true = self.noise.fine.slots[j], true[:, self.noise.fine.parents[j]]
        seen = true + noise
        if self.noise.fine is None:
            seen = np.clip(seen, -slots.mean_u, 1.0 - slots.mean_u)
        weight = np.broadcast_to(slots.weight, true.shape)
        return reading.of_population(true, weight), reading.of_sample(seen, drawn)

    def limits(self, readings: Sequence[Reading], level: float) -> tuple[float, float, float]:
        """Limits of the difference of two true values, and its estimate.

        They reach as far from the estimate as the posterior does from its median: where two
        predictors err on either side of the labels, a difference can be as large as it gets, and
        samples lead away from that to one side only. The second prior moves them, and does not
        widen them: how far a sample lies off differs from prior to prior, how it varies does not.
        Of predictors that err on either side of the labels what is taken out as bias follows the
        noise, so that limits without that count as well.
        """
        value = readings[0].value - readings[1].value
        tail, ends, estimates = (1.0 - level) / 2.0, [], []
        for j, (true, roots) in enumerate(self._cases(readings)):
            below, middle, above = quantiles(roots[0], (tail, 0.5, 1.0 - tail))
            least, usual, most = quantiles(true, (tail, 0.5, 1.0 - tail))
            biases = [middle, *(float(np.median(root)) for root in roots[1:])]
            for off in [*biases, 0.0] if self.opposed and j == 0 else biases:
                ends += [value - off + middle - above, value - off + middle - below]
                ends += [value - off + least - usual, value - off + most - usual]
            estimates.append(value - middle)
        low, high = min(ends), max(ends)
        return low, high, min(max(estimates[0], low), high)


def _covariance(sizes: Array, components: Sequence[Array]) -> Array:
    """The sum of components, of matrices and of diagonals."""
    slots = components[0].shape[1]
    out = np.zeros((len(components[0]), slots, slots))
    diagonal = np.arange(slots)
    for size, part in zip(sizes, components, strict=True):
        if part.ndim == 3:
            out += size * part
        else:
            out[:, diagonal, diagonal] += size * part
    return out
