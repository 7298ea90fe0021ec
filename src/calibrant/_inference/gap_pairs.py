"""Differences of absolute errors: one joint law of both predictors' gaps, and basic limits.

A slot is a bin, or a bin of one class. Its gap is its mean target less its mean prediction. The
gaps g of two predictors, slot by slot, vary about the true gaps gamma as N(gamma, S). S is their
joint covariance (`SecondMoments`), so that the noise of a label that both are compared with
cancels. True gaps are drawn from their posterior under two priors, and samples g* about each:

    root = V1(g*) - V2(g*) - (T1(gamma) - T2(gamma));   limits = difference - quantiles of the root

V1 and V2 are the two predictors' errors in a sample, T1 and T2 their true errors.

Both priors have a smooth part, a Gaussian process over the mean prediction, and independent gaps of
one variance in every bin. Under the second prior a bin may also have no gap (spike and slab). The
bias of a sample's error depends on it. One predictor may have the first prior and the other the
second, unless the observed gaps speak against it.

Where the two predictors err in opposite directions, shifts and slopes have a prior of fixed size.

Closure: where a predictor's noise floor does not reject that it is calibrated, its gaps may all be
exactly 0. The limits cover that case too, with the other predictor's gaps drawn given that. They
also cover the largest error that the other may then have: gaps of one size in all bins add least to
the error of a sample, so it is the largest such size that samples allow. On the same rows the other
predictor's gaps are then as large as the two predictions are apart, but for rows that do not share
their bin (`Room`); nor can two errors be farther apart than the error of such gaps, by the triangle
inequality. Where the noise floor rejects, some classes may be calibrated beside others that are far
off: the largest set of classes that together show no more than noise has its gaps at 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibrant._core.typing import Array, Index, Mask
from calibrant._inference.budget import FIT_FROM, FIT_STEPS, SIZE_STEP
from calibrant._inference.numbers import PLAUSIBLE, SMOOTH_OVER, TREND
from calibrant._inference.rounding import CERTAIN, JITTER, symmetric_root
from calibrant._inference.second_moments import SecondMoments, SlotNoise
from calibrant._inference.slots import Slots
from calibrant._inference.tails import quantiles

# From gaps and weights of slots, (draws, slots), to the measure of each draw.
Formula = Callable[[Array, Array], Array]


@dataclass(frozen=True, eq=False)
class Reading:
    """One predictor's measure as a function of the slots' gaps and weights, (draws, slots) each.

    `of_sample` gives the value of samples, `of_population` the true value; `value` is the observed
    one.
    """

    of_sample: Formula
    of_population: Formula
    value: float
    # The slots (bins) of both predictors, (p,), whose gaps may all be 0: those of this predictor,
    # or of some of its classes.
    may_be_zero: Mask


@dataclass(frozen=True)
class Posteriors:
    """What the observed gaps (mean target less prediction) say of the true ones.

    `gaps` are draws of the true gaps, (draws, p), one array for each prior. `pairs` (a, b) say that
    the first predictor has prior a and the second prior b.
    """

    gaps: list[Array]
    pairs: list[tuple[int, int]]


@dataclass(frozen=True, eq=False)
class Room:
    """The gaps (mean target less prediction) that one predictor can have where the other has none.

    A slot (bin) with the same rows as one of the other predictor has a gap of the mean difference
    of the two predictions, `apart`, (slots,); `relabelled`, (slots,), is by how much the targets
    differ, where each predictor has its own. Where a slot has only a part of those rows, their
    targets may also be too high by as much as the targets of the rest are too low. The share of the
    gap that depends on them is `free`, (slots,): this part is between 0 and what is apart, and more
    or less than that by the `usual` gap, (slots,), or a smaller one. Usual is a gap as large as
    observed ones are on average, or as the largest one that shares a slot of the other predictor.
    """

    apart: Array
    relabelled: Array
    free: Array
    usual: Array
    # The share of each slot's rows in each slot of the other predictor, (slots, other slots), and
    # which slots of both predictors are those of the other one, (p,).
    shared: Array
    others: Mask

    @property
    def share(self) -> Array:
        """The share of a usual gap that each slot (bin) can have, (slots,), at most 1."""
        apart = np.abs(self.apart) / np.maximum(self.usual, 1e-300)
        return np.minimum(self.free + apart, 1.0)

    def limits(self, size: float = np.inf) -> tuple[Array, Array]:
        """The lowest and the highest gap of each slot (bin), (slots,) each, if gaps of other rows
        are up to `size`.
        """
        slack = self.relabelled + np.minimum(size, self.usual) * self.free
        # Where the rows do not share their slots, both predictors may be right.
        ends = np.stack([self.apart, (1.0 - self.free) * self.apart])
        return ends.min(axis=0) - slack, ends.max(axis=0) + slack

    def limits_where(self, zero: Mask) -> tuple[Array, Array]:
        """The lowest and the highest gap of each slot (bin), given that the slots in `zero`, (p,),
        have none: infinite where its rows are in other slots of the other predictor too.
        """
        known = self.shared @ ~zero[self.others] == 0.0
        low, high = self.limits()
        return np.where(known, low, -np.inf), np.where(known, high, np.inf)


@dataclass(frozen=True, eq=False)
class GapPair:
    """The gaps of two predictors (mean target less mean prediction of each slot, or bin), and the
    interval of the difference of their errors. All measures of the same slots share the draws in
    `noise`.
    """

    noise: SlotNoise

    @property
    def moments(self) -> SecondMoments:
        """The joint second moments of both predictors' slots (bins)."""
        return self.noise.moments

    def _trends(self, j: int) -> tuple[Array, Array]:
        """Two statistics of predictor j, of every class: the sum of its residuals, and their trend
        over the predictions. Returns the statistics and their variances, (2 classes,) each.
        """
        slots, own = self.moments.slots[j], self.moments.owners == j
        names, member = np.unique(slots.classes, return_inverse=True)
        of_class = member.reshape(-1)[:, None] == np.arange(names.size)
        weight = slots.weight[:, None] * of_class
        centre = slots.mean_u @ weight / np.maximum(weight.sum(axis=0), 1e-300)
        contrasts = np.concatenate([of_class, of_class * (slots.mean_u[:, None] - centre)], axis=1)
        noise = self.moments.noise_factor[:, : self.moments.size][:, own] * slots.weight
        variance = ((noise @ contrasts) ** 2).sum(axis=0)
        if slots.hard and slots.noise is None:
            # With few events the observed variance may be too small: at least the predicted one.
            predicted = slots.sums(slots.squared_weights * slots.u * (1.0 - slots.u))
            variance = np.maximum(variance, predicted @ contrasts**2)
        return (slots.gap * slots.weight) @ contrasts, variance

    def _off_by_trend(self, j: int, alpha: float) -> Mask:
        """Whether the sum of predictor j's residuals, and their trend over the predictions, reject
        that they are 0, (2 classes,); at the level `alpha` for all of them together (Bonferroni).
        """
        from scipy.special import ndtri

        trends, variance = self._trends(j)
        critical = -float(ndtri(alpha / 2.0 / trends.size))
        return np.abs(trends) > critical * np.sqrt(variance)

    def has_trend(self, j: int, alpha: float) -> bool:
        """Whether a test of level `alpha` (Bonferroni's over all classes) rejects that the mean
        residual of predictor j, and its trend over the predictions, are 0 in every class.
        """
        return bool(self._off_by_trend(j, alpha).any())

    def may_be_zero(self, j: int, alpha: float, *, rejected: bool) -> Mask:
        """The slots (bins) of predictor j, (p,), whose gaps (mean target less prediction) may all
        be 0; slots of the other predictor are not among them.

        All of them if no test of level `alpha` rejects that the predictor is calibrated; `rejected`
        says whether its noise floor does. Else those of the largest set of classes that together
        show no more than noise gives on average and a standard deviation, without classes that a
        test calls off.
        """
        own = self.moments.owners == j
        if not rejected and not self.has_trend(j, alpha):
            return own
        slots = self.moments.slots[j]
        names, member = np.unique(slots.classes, return_inverse=True)
        if names.size == 1 or self.noise.fine is not None:
            return np.zeros_like(own)
        of_class = (member.reshape(-1)[:, None] == np.arange(names.size)) * slots.weight[:, None]
        noise = np.abs(self.noise.drawn[0][j]) @ of_class
        excess = np.abs(slots.gap) @ of_class - noise.mean(axis=0)
        off = self._off_by_trend(j, alpha).reshape(2, -1).any(axis=0)
        excess = np.where(off, np.inf, excess)
        variance = noise.var(axis=0)
        order = np.argsort(excess / np.sqrt(np.maximum(variance, 1e-300)), kind="stable")
        together = np.cumsum(excess[order]) <= np.sqrt(np.cumsum(variance[order]))
        n_quiet = np.flatnonzero(together).max(initial=-1) + 1
        # Not all of them: together they are rejected.
        quiet = order[: min(n_quiet, names.size - 1)]
        out = np.zeros_like(own)
        out[own] = np.isin(member.reshape(-1), quiet)
        return out

    @cached_property
    def opposed(self) -> bool:
        """Whether the two predictors err in opposite directions on the same rows, by the signs of
        their mean residuals (target less prediction) and of the residuals' trends over the
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

    # --- the posterior of true gaps --------------------------------------------------------------

    @cached_property
    def _slots(self) -> tuple[Index, Mask]:
        """The numbers of the nonempty slots (bins) of each class, (classes, slots), and a mask of
        the same shape that is False where a class has fewer slots than the largest one.
        """
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
        """The covariance S of the observed gaps (mean target less prediction) of each class,
        (classes, slots, slots), with a small ridge that makes it invertible.
        """
        index, there = self._slots
        factor = self.moments.noise_factor[:, : self.moments.size][:, index] * there
        out: Array = np.einsum("fri,frj->rij", factor, factor, optimize=True)
        trace = np.einsum("rii->", out) / max(int(there.sum()), 1)
        diagonal = np.arange(index.shape[1])
        out[:, diagonal, diagonal] += np.where(there, JITTER * trace, max(trace, 1e-300))
        return out

    @cached_property
    def _smooth_correlation(self) -> Array:
        """The prior correlation of gaps (mean target less prediction) that change smoothly with the
        mean prediction of their slots (bins): a Gaussian kernel of the distance, (classes, slots,
        slots).
        """
        index, there = self._slots
        mean = self.moments.stacked("mean_u")[index]
        far = (mean[:, :, None] - mean[:, None]) / SMOOTH_OVER
        return np.exp(-0.5 * far**2) * (there[:, :, None] & there[:, None])

    @cached_property
    def _overlap_correlation(self) -> Array:
        """The prior correlation of gaps (mean target less prediction) that do not change smoothly,
        (classes, slots, slots): 1 on the diagonal, between slots (bins) of two predictors the
        overlap of their rows, and else 0.
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
        """The parts of the gaps' prior covariance whose sizes are fitted: a list of smooth ones,
        and a list of those that are not smooth.

        With two predictors each list has one part of both together, and one of each alone. Parts
        are (classes, slots, slots); those that are not smooth, of one predictor, are diagonals,
        (classes, slots). `live` says which slots (bins) may have a gap (mean target less
        prediction), (p,); parts are 0 in the others.
        """
        index, there = self._slots
        own = [
            (there & live[index] & (self.moments.owners[index] == j)).astype(np.float64)
            for j in range(len(self.moments.slots))
        ]
        own = [part for part in own if part.any()]
        masks = [sum(own[1:], own[0]), *own] if len(own) > 1 else own
        smooth = [self._smooth_correlation * mask[:, :, None] * mask[:, None] for mask in masks]
        if len(own) > 1:
            own = [self._overlap_correlation * masks[0][:, :, None] * masks[0][:, None], *own]
        return smooth, own

    def _gaps_by_class(self) -> Array:
        """The observed gaps (mean target less prediction), (classes, slots); 0 if a class does not
        have this slot (bin).
        """
        index, there = self._slots
        return self.moments.stacked("gap")[index] * there

    def _trend_prior(self) -> Array:
        """The prior covariance of gaps (mean target less prediction), (classes, slots, slots), if
        each class of each predictor has a random shift and a random slope on the logit scale.
        """
        index, there = self._slots
        mean = np.clip(self.moments.stacked("mean_u")[index], CERTAIN, 1.0 - CERTAIN)
        shift = there * mean * (1.0 - mean)
        slope = shift * np.log(mean / (1.0 - mean))
        owner = self.moments.owners[index]
        out = shift[:, :, None] * shift[:, None] + slope[:, :, None] * slope[:, None]
        return TREND**2 * out * (owner[:, :, None] == owner[:, None])

    def _variances(self, components: list[Array], gap: Array, fixed: Array | float = 0.0) -> Array:
        """The size (variance) of each component of the prior covariance, (components,), beside a
        `fixed` covariance, by maximum likelihood for the observed gaps `gap` (mean target less
        prediction), (classes, slots).

        The algorithm is MM (Zhou, Hu, Zhou and Lange, 2019, doi:10.1080/10618600.2018.1529601).
        """
        noise, n = self._covariances, max(int(self._slots[1].sum()), 1)
        trace = float(np.einsum("rii->", noise[:, : gap.shape[1]] * self._slots[1][:, :, None]))
        noise = noise + fixed
        start = max(float((gap**2).sum()) - trace, FIT_FROM * trace, 1e-300) / n
        sizes = np.full(len(components), start / len(components))
        # Few slots do not show that a predictor has no gaps of its own: the variance of a diagonal
        # component is at least the mean noise variance over the number of its slots.
        least = [
            trace / n / max(float(part.sum()), 1.0) if part.ndim == 2 else 0.0
            for part in components
        ]
        for _ in range(FIT_STEPS):
            inverse = np.linalg.inv(noise + _covariance(sizes, components))
            solved = np.einsum("rij,rj->ri", inverse, gap)
            for j, part in enumerate(components):
                if part.ndim == 3:
                    observed = np.einsum("ri,rij,rj->", solved, part, solved)
                    expected = np.einsum("rij,rij->", inverse, part)
                else:
                    observed = (part * solved**2).sum()
                    expected = np.einsum("rii,ri->", inverse, part)
                sizes[j] *= np.sqrt(max(float(observed), 0.0) / max(float(expected), 1e-300))
                sizes[j] = max(sizes[j], least[j])
        return sizes

    def _posteriors(self, live: Mask) -> Posteriors:
        """Draws of the true gaps (mean target less prediction) under both priors, and the pairs of
        priors that are plausible.

        The gaps of slots (bins) that are not `live` are 0; if none is, there is one array of zeros.
        """
        smooth_parts, own_parts = self._components(live)
        if not smooth_parts:
            return Posteriors([np.zeros((self.noise.n_draws, self.moments.size))], [(0, 0)])
        gap = self._gaps_by_class()
        if self.opposed and live.all():
            # The same noise makes one predictor seem better and the other worse: fitted variances
            # would follow it, and take one predictor to be calibrated. So they are fixed here.
            fixed = self._trend_prior()
            prior = fixed + _covariance(self._variances(own_parts, gap, fixed), own_parts)
        else:
            components = [*smooth_parts, *own_parts]
            prior = _covariance(self._variances(components, gap), components)
        drawn = self._draw_gaps(prior, gap)
        likelihood = self._log_likelihoods(live, prior, gap)
        best = likelihood.max(axis=1, keepdims=True)
        first, second = likelihood >= best - PLAUSIBLE
        mixed = [(a, b) for a, b in ((0, 1), (1, 0)) if first[a] and second[b]]
        return Posteriors([drawn, drawn * self._has_gap(prior, gap)], [(0, 0), (1, 1), *mixed])

    def _log_likelihoods(self, live: Mask, prior: Array, gap: Array) -> Array:
        """The log likelihood of each predictor's observed gaps (mean target less prediction) under
        each of the two priors, (2, 2), but for a constant.

        `prior` is the covariance of gaps where there is one, (classes, slots, slots), `gap` the
        observed ones, (classes, slots), and `live` says which slots (bins) may have one, (p,). The
        second prior is taken without its smooth part.
        """
        index, there = self._slots
        total = self._covariances + prior
        noise, both = (np.einsum("rii->ri", each) for each in (self._covariances, total))
        without, with_gap = (-0.5 * (np.log(v) + gap**2 / v) for v in (noise, both))
        spike_and_slab = np.logaddexp(without, with_gap) - np.log(2.0)
        out = np.zeros((2, 2))
        for j in range(2):
            own = there & live[index] & (self.moments.owners[index] == j)
            block = np.where(own[:, :, None] & own[:, None], total, np.eye(index.shape[1]))
            solved = np.linalg.solve(block, (gap * own)[:, :, None])[:, :, 0]
            squares = float((gap * own * solved).sum())
            out[j, 0] = -0.5 * (float(np.linalg.slogdet(block)[1].sum()) + squares)
            out[j, 1] = float((spike_and_slab * own).sum())
        return out

    def _has_gap(self, prior: Array, gap: Array) -> Mask:
        """Draws of whether each slot (bin) has a gap (mean target less prediction) under the
        spike-and-slab prior, (draws, p).

        `prior` is the covariance of gaps where there is one, (classes, slots, slots), and `gap` the
        observed ones, (classes, slots). The prior odds are even; overlapping slots of two
        predictors tend to have a gap together.
        """
        from scipy.special import expit, ndtr

        index, there = self._slots
        noise = np.einsum("rii->ri", self._covariances)
        both = noise + np.einsum("rii->ri", prior)
        # The posterior odds of no gap.
        log_odds = 0.5 * (np.log(both / noise) - gap**2 * (1.0 / noise - 1.0 / both))
        root = symmetric_root(self._overlap_correlation)
        normal = self.noise.normal(gap.size, 11).reshape(self.noise.n_draws, *gap.shape)
        uniform = ndtr(np.einsum("drj,rij->dri", normal, root))
        out = np.zeros((self.noise.n_draws, self.moments.size), dtype=bool)
        out[:, index[there]] = (uniform >= expit(log_odds))[:, there]
        return out

    def _draw_gaps(self, prior: Array, gap: Array) -> Array:
        """Draws of the true gaps (mean target less prediction), (draws, p), from their normal
        posterior, given the covariance `prior` and the observed gaps, (classes, slots).
        """
        index, there = self._slots
        shrink = np.linalg.solve(self._covariances + prior, prior).transpose(0, 2, 1)
        posterior = prior - shrink @ prior
        root = symmetric_root((posterior + posterior.transpose(0, 2, 1)) / 2.0)
        normal = self.noise.normal(gap.size, 9).reshape(self.noise.n_draws, *gap.shape)
        drawn = np.einsum("rij,rj->ri", shrink, gap) + np.einsum("drj,rij->dri", normal, root)
        out = np.zeros((self.noise.n_draws, self.moments.size))
        out[:, index[there]] = drawn[:, there]
        return out

    # --- limits ----------------------------------------------------------------------------------

    @cached_property
    def _drawn_gaps(self) -> dict[bytes, Posteriors]:
        """What `_true_gaps` has drawn, by the slots (bins) whose gaps are taken to be 0."""
        return {}

    def _true_gaps(self, zero: Mask) -> Posteriors:
        """Draws of the true gaps (mean target less prediction) under each prior. The gaps of the
        slots (bins) in `zero`, (p,), are 0.
        """
        key = zero.tobytes()
        if key not in self._drawn_gaps:
            mean, found = self.moments.stacked("mean_u"), self._posteriors(~zero)
            least, most = np.concatenate([r.limits_where(zero) for r in self._rooms], axis=1)
            least, most = np.clip(least, -mean, 1.0 - mean), np.clip(most, -mean, 1.0 - mean)
            gaps = [np.clip(each, least, most) * ~zero for each in found.gaps]
            self._drawn_gaps[key] = Posteriors(gaps, found.pairs)
        return self._drawn_gaps[key]

    def _cases(self, readings: Sequence[Reading]) -> Iterator[tuple[Array, list[Array]]]:
        """For each case, draws of the true difference under the first prior, (draws,), and a list
        of the roots (a sample's difference less the true one) under each pair of priors. Roots
        under different priors count by how far gaps can differ (`_freedom`).

        The first case has no constraint; then each predictor has the gaps (mean target less
        prediction) at 0 that may be.
        """
        unconstrained = np.zeros(self.moments.size, dtype=bool)
        for case in (unconstrained, *(r.may_be_zero for r in readings if r.may_be_zero.any())):
            differences: list[Array] = []
            roots: list[Array] = []
            posteriors = self._true_gaps(case)
            values = [
                [self._values(readings[j], self.moments.parts(gaps)[j], j) for j in range(2)]
                for gaps in posteriors.gaps
            ]
            for a, b in posteriors.pairs:
                (true, sample), (other_true, other_sample) = values[a][0], values[b][1]
                differences.append(true - other_true)
                root = sample - other_sample - (true - other_true)
                roots.append(root if a == b else roots[0] + self._freedom * (root - roots[0]))
            yield differences[0], roots

    def _values(self, reading: Reading, true: Array, j: int) -> tuple[Array, Array]:
        """Predictor j's true value, and the value of a sample, in every draw, (draws,) each; `true`
        are draws of its true gaps (mean target less prediction), (draws, slots).
        """
        slots = self.moments.slots[j]
        noise, drawn_weight = (part[j] for part in self.noise.drawn)
        if self.noise.fine is not None:
            slots, true = self.noise.fine.slots[j], true[:, self.noise.fine.parents[j]]
        drawn_gap = true + noise
        if self.noise.fine is None:
            drawn_gap = np.clip(drawn_gap, -slots.mean_u, 1.0 - slots.mean_u)
        weight = np.broadcast_to(slots.weight, true.shape)
        return reading.of_population(true, weight), reading.of_sample(drawn_gap, drawn_weight)

    @cached_property
    def _freedom(self) -> float:
        """How far the gaps (mean target less prediction) of the two predictors can differ: the root
        of the share of a gap that one can have without the other, as for standard deviations. It is
        0 for a predictor and itself.
        """
        shares = np.concatenate([room.share for room in self._rooms])
        return float(np.sqrt(shares @ (self.moments.stacked("weight") / self.moments.totals) / 2.0))

    @cached_property
    def _rooms(self) -> list[Room]:
        """The gaps (mean target less prediction) that each predictor can have where the other
        predictor has none.
        """
        return [self._room(j) for j in (0, 1)]

    def _room(self, j: int) -> Room:
        """The room of predictor j's gaps (mean target less prediction)."""
        slots, other = self.moments.slots[j], self.moments.slots[1 - j]
        others, overlap = self.moments.owners != j, self.moments.overlap
        usual = np.full(slots.size, _root_mean_square(slots))
        if overlap is None:
            unknown = np.full(slots.size, np.inf)
            shared = np.ones((slots.size, other.size))
            return Room(np.zeros(slots.size), unknown, np.ones(slots.size), usual, shared, others)
        weight = (overlap if j == 0 else overlap.T) * np.sqrt(np.outer(slots.weight, other.weight))
        shared = weight / np.maximum(slots.weight, 1e-300)[:, None]
        of_other = np.clip(weight / np.maximum(other.weight, 1e-300), 1e-300, 1.0)
        free = (shared * np.minimum((1.0 - of_other) / of_other, 1.0)).sum(axis=1)
        # Rows that the other predictor does not count tell nothing of this one.
        free += np.maximum((slots.weight > 0) - shared.sum(axis=1), 0.0)
        apart, relabelled = slots.mean(other.u - slots.u), slots.mean(np.abs(other.z - slots.z))
        usual = np.maximum(usual, _largest_nearby(np.abs(slots.gap[None]), shared)[0])
        return Room(apart, relabelled, free, usual, shared, others)

    def _largest_difference(self, readings: Sequence[Reading]) -> float:
        """A bound of the distance of the two true errors, by the triangle inequality: the error of
        gaps (mean target less prediction) as large as predictions are apart, and for the share of a
        slot that is free as large as drawn true gaps; in the sample where it is largest.
        """
        if not self.moments.paired or self.moments.overlap is None:
            return np.inf
        most, nobody = 0.0, np.zeros(self.moments.size, dtype=bool)
        parts = self.moments.parts(np.abs(self._true_gaps(nobody).gaps[0]))
        for j, (reading, room, true) in enumerate(zip(readings, self._rooms, parts, strict=True)):
            free = room.free * _largest_nearby(true, room.shared)
            gaps = np.minimum(np.abs(room.apart) + room.relabelled + free, 1.0)
            if self.noise.fine is not None:
                gaps = gaps[:, self.noise.fine.parents[j]]
            most = max(most, float(reading.of_population(gaps, self.noise.drawn[1][j]).max()))
        return most

    def _largest_value(self, readings: Sequence[Reading], j: int, chance: float) -> float:
        """The largest true value that predictor j may have if the other one is calibrated.

        Its gaps (mean target less prediction) have one size in all slots (bins), for which a sample
        shows a difference as small as the observed one with the probability `chance`, but where a
        slot has no room for it (`Room`). Their signs are drawn, given the observed gaps.
        """
        from scipy.optimize import brentq
        from scipy.special import expit, ndtr

        index, there = self._slots
        slots, room, own = self.moments.slots[j], self._rooms[j], self.moments.owners == j
        noise = np.ones(self.moments.size)
        noise[index[there]] = np.einsum("rii->ri", self._covariances)[there]
        uniform = ndtr(self.noise.normal(self.moments.size, 13)[:, own])
        no_gaps = np.zeros((self.noise.n_draws, self.moments.slots[1 - j].size))
        _, calibrated = self._values(readings[1 - j], no_gaps, 1 - j)
        observed = readings[j].value - readings[1 - j].value

        def values(size: float) -> tuple[Array, Array]:
            """True values of predictor j, and differences of samples, for gaps of this size."""
            up = uniform < expit(2.0 * size * slots.gap / noise[own])
            gaps = np.clip(np.where(up, size, -size), *room.limits(size))
            gaps = np.clip(gaps, -slots.mean_u, 1.0 - slots.mean_u)
            true, sample = self._values(readings[j], gaps, j)
            return true, sample - calibrated

        def excess(size: float) -> float:
            """What nearly all samples exceed, less the observed difference."""
            return quantiles(values(size)[1], (chance,))[0] - observed

        most = 4.0 * _root_mean_square(slots)
        size = 0.0 if excess(0.0) >= 0.0 else most
        if size > 0.0 and excess(most) > 0.0:
            size = brentq(excess, 0.0, most, xtol=SIZE_STEP * most, rtol=SIZE_STEP)
        return float(np.median(values(size)[0]))

    def limits(self, readings: Sequence[Reading], level: float) -> tuple[float, float, float]:
        """The lower limit, the upper limit and an estimate of the difference of two true values.

        The limits are the hull, over all cases (`_cases`), of basic limits and of the posterior's
        quantiles about its median: near the largest possible difference roots have one sign, and
        basic limits alone would be too short. Other pairs of priors contribute their bias only,
        since the spread of the roots hardly depends on the prior. Where predictors err in opposite
        directions the estimated bias follows the noise, so that limits without a correction of it
        are covered as well.
        """
        value = readings[0].value - readings[1].value
        tail, ends, estimates = (1.0 - level) / 2.0, [], []
        for j, (differences, roots) in enumerate(self._cases(readings)):
            below, middle, above = quantiles(roots[0], (tail, 0.5, 1.0 - tail))
            least, median, most = quantiles(differences, (tail, 0.5, 1.0 - tail))
            biases = [middle, *(float(np.median(root)) for root in roots[1:])]
            for bias in [*biases, 0.0] if self.opposed and j == 0 else biases:
                ends += [value - bias + middle - above, value - bias + middle - below]
                ends += [value - bias + least - median, value - bias + most - median]
            estimates.append(value - middle)
        for j, reading in enumerate(readings):
            if (reading.may_be_zero == (self.moments.owners == j)).all():
                largest = self._largest_value(readings, 1 - j, tail)
                ends.append(largest if j == 1 else -largest)
        low, high = min(ends), max(ends)
        most = self._largest_difference(readings)
        if low < most and high > -most:
            low, high = max(low, -most), min(high, most)
        return low, high, min(max(estimates[0], low), high)


def _root_mean_square(slots: Slots) -> float:
    """The weighted root mean square of the observed gaps (mean target less prediction)."""
    return float(np.sqrt(np.average(slots.gap**2, weights=slots.weight)))


def _largest_nearby(gaps: Array, shared: Array) -> Array:
    """The largest of the gaps, (draws, slots), of each slot (bin) and of those that have rows in
    the same slot of the other predictor; `shared` is how many, (slots, other slots).
    """
    out, reach = gaps.copy(), shared > 0
    for slots in reach.T[reach.sum(axis=0) > 1]:
        out[:, slots] = np.maximum(out[:, slots], gaps[:, slots].max(axis=1, keepdims=True))
    return out


def _covariance(sizes: Array, components: Sequence[Array]) -> Array:
    """The sum of the components times their sizes, (classes, slots, slots). A component of two axes
    is a diagonal.
    """
    slots = components[0].shape[1]
    out = np.zeros((len(components[0]), slots, slots))
    diagonal = np.arange(slots)
    for size, part in zip(sizes, components, strict=True):
        if part.ndim == 3:
            out += size * part
        else:
            out[:, diagonal, diagonal] += size * part
    return out
