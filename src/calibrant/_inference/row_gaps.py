"""The true gaps of two predictors, from one model of the rows that both are compared on.

A slot is a bin, or a bin of one class; its gap is its mean target less its mean prediction.

On the same rows two predictors u1 and u2 have the same targets. Let q be a row's true mean target,
m the mean of u1 and u2, and e = q - m. The true gap of a slot is a mean over its rows:

    of e - (u1 - u2) / 2 for the first predictor, of e + (u1 - u2) / 2 for the second

So the difference of two gaps is known where both slots hold the same rows, and only e is unknown.
It is a sum of independent parts, each a vector of normal numbers times its loads:

    a multiple of u1 - u2, a shift and a slope on the logit scale, with a broad prior;
    a smooth function of m (a Gaussian process);
    a number for each slot of the first predictor, and one for each slot of the second.

The variances of the last three parts are fitted. Other rows, rows that one predictor does not count
and targets that differ (top labels) say nothing of the other predictor. The share of a slot that
rests on them has the same parts once more, for each predictor alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibrant._core.typing import Array, Index, Mask
from calibrant._inference.blocks import summed
from calibrant._inference.budget import FIT_FROM, FIT_STEPS, MOST_OVERLAPS
from calibrant._inference.numbers import SMOOTH_OVER, TREND
from calibrant._inference.rounding import CERTAIN, JITTER, NO_ERROR, ZERO_GAP, symmetric_root
from calibrant._inference.second_moments import SecondMoments, SlotNoise
from calibrant._inference.slots import Slots


@dataclass(frozen=True, eq=False)
class Target:
    """The slots that gaps are computed for: those of predictor `j` in the moments, or finer ones.

    `parents` is the predictor's slot that holds each of them, (slots,).
    """

    slots: Slots
    j: int
    parents: Index


@dataclass(frozen=True, eq=False)
class RowGaps:
    """Draws of the true gaps of two predictors, given the observed ones.

    Slots are arranged by class, (classes, s): both predictors' nonempty slots of a class are a row,
    padded where a class has fewer than s.
    """

    noise: SlotNoise

    @property
    def moments(self) -> SecondMoments:
        """The joint second moments of both predictors' slots."""
        return self.noise.moments

    # --- slots by class --------------------------------------------------------------------------

    @cached_property
    def by_class(self) -> tuple[Index, Mask]:
        """The numbers of the slots of each class, (classes, s), and where there is a slot."""
        return self._arranged(np.ones(self.moments.size, dtype=bool))

    def _arranged(self, chosen: Mask) -> tuple[Index, Mask]:
        """The nonempty slots in `chosen`, (p,), as `by_class` arranges them."""
        used, member = (self.moments.stacked("weight") > 0) & chosen, self._class_numbers
        members = [np.flatnonzero(used & (member == r)) for r in range(int(member.max()) + 1)]
        index = np.zeros((len(members), max(each.size for each in members)), dtype=np.intp)
        there = np.zeros(index.shape, dtype=bool)
        for row, each in enumerate(members):
            index[row, : each.size], there[row, : each.size] = each, True
        return index, there

    @cached_property
    def _class_numbers(self) -> Index:
        """The row of `by_class` that each slot belongs to, (p,)."""
        classes = self.moments.stacked("classes")
        return np.unique(classes, return_inverse=True)[1].reshape(-1)

    def _observed(self, zero: Mask) -> tuple[Array, Array]:
        """The observed gaps, (classes, s), and the covariance of their noise, (classes, s, s),
        given that the true gaps of the slots in `zero`, (p,), are 0.

        These slots show their noise, which tells of that of the others.
        """
        index, there = self.by_class
        gap = self.moments.stacked("gap")[index] * there
        factor = self.moments.noise_factor[:, : self.moments.size][:, index] * there
        noise: Array = np.einsum("fri,frj->rij", factor, factor, optimize=True)
        # A ridge makes the covariance invertible, also where neither noise nor gaps are seen.
        seen = float(np.einsum("rii->", noise)) + float((gap**2).sum())
        variance = max(seen / max(int(there.sum()), 1), NO_ERROR)
        eye, known = np.eye(index.shape[1]), zero[index] & there
        noise += eye * np.where(there, JITTER * variance, variance)[:, None]
        if known.any():
            block = np.where(known[:, :, None] & known[:, None], noise, eye)
            weights = np.linalg.solve(block, noise * known[:, :, None])
            gap = (gap - np.einsum("ri,rij->rj", gap * known, weights)) * ~known
            noise = noise - np.einsum("rik,rkj->rij", noise * known[:, None], weights)
            noise *= ~known[:, :, None] & ~known[:, None]
            noise += eye * (ZERO_GAP * variance)
        return gap, noise

    # --- rows ------------------------------------------------------------------------------------

    @cached_property
    def same_rows(self) -> bool:
        """Whether both predictors have the same rows, in tables of slots that are not too large."""
        first, second = self.moments.slots
        same = self.moments.paired and first.index.shape == second.index.shape
        return same and first.size * second.size <= MOST_OVERLAPS

    @cached_property
    def _shared(self) -> Array:
        """How far a row's target is that of both predictors, (n, k): 1 where both count the row and
        have one target.
        """
        first, second = self.moments.slots
        return (1.0 - np.abs(first.z - second.z)) * ((first.w > 0) & (second.w > 0))

    def _predictions(self, j: int) -> Array:
        """The mean m of both predictions of each row and class, (n, k); on other rows that of
        predictor j.
        """
        both = self.moments.slots if self.same_rows else (self.moments.slots[j],)
        return np.mean([each.u for each in both], axis=0)

    def table(self, slots: Slots, other: Slots) -> Array:
        """The share of each slot's weight in each slot of `other`, which has the same rows, (slots,
        other slots).
        """
        key = (slots.index * other.size + other.index).ravel()
        weight = np.sqrt(slots.w * other.w).ravel()
        both = summed(key, weight, slots.size * other.size).reshape(slots.size, other.size)
        return both / np.maximum(slots.weight, 1e-300)[:, None]

    # --- loads -----------------------------------------------------------------------------------

    def _loads(self, target: Target) -> tuple[Array, list[Array], list[Array]]:
        """The known part of each slot's gap, (slots,), and loads of the parts with a broad prior
        and of those whose variance is fitted: (slots, numbers of a class) each.
        """
        slots, j = target.slots, target.j
        m = np.clip(self._predictions(j), CERTAIN, 1.0 - CERTAIN)
        shift = m * (1.0 - m)
        slope = shift * np.log(m / (1.0 - m))
        shared = self._shared if self.same_rows else np.zeros_like(m)
        known, broad, fitted = np.zeros(slots.size), [], []
        if self.same_rows:
            apart = (self.moments.slots[0].u - self.moments.slots[1].u) * shared
            known = (-0.5 if j == 0 else 0.5) * slots.mean(apart)
            broad += [slots.mean(each) for each in (apart, shift * shared, slope * shared)]
            share = slots.mean(shared)[:, None]
            fitted += [share * self._smooth(target)]
            fitted += [share * self._slot_shares(target, i) for i in (0, 1)]
        for i in (0, 1) if self._some_alone else ():
            alone = (1.0 - shared) * (i == j)
            broad += [slots.mean(shift * alone), slots.mean(slope * alone)]
            share = slots.mean(alone)[:, None]
            fitted += [share * self._smooth(target), share * self._slot_shares(target, i)]
        return known, [each[:, None] for each in broad], fitted

    @cached_property
    def _some_alone(self) -> bool:
        """Whether some rows tell of one predictor only."""
        return not self.same_rows or bool((self._shared < 1.0 - NO_ERROR).any())

    @cached_property
    def _is_by_slot(self) -> list[bool]:
        """For each fitted part, whether it has a number for each slot."""
        together = [False, True, True] if self.same_rows else []
        return together + [False, True] * 2 * self._some_alone

    def _smooth(self, target: Target) -> Array:
        """Loads of a smooth function of the mean prediction, (slots, s)."""
        centres, inverse = self._smooth_basis
        mean, member = target.slots.mean(self._predictions(target.j)), self._member(target)
        near = _kernel(mean[:, None], centres[member]) * self.by_class[1][member]
        return np.einsum("pi,pij->pj", near, inverse[member])

    @cached_property
    def _smooth_basis(self) -> tuple[Array, Array]:
        """The mean prediction of each slot, (classes, s), and the inverse root of their kernel,
        (classes, s, s).
        """
        index, there = self.by_class
        means = [s.mean(self._predictions(j)) for j, s in enumerate(self.moments.slots)]
        mean = np.concatenate(means)[index]
        kernel = _kernel(mean[:, :, None], mean[:, None]) * (there[:, :, None] & there[:, None])
        inverse = np.linalg.pinv(symmetric_root(kernel), rcond=ZERO_GAP, hermitian=True)
        return mean, inverse.astype(np.float64, copy=False)

    def _member(self, target: Target) -> Index:
        """The row of `by_class` that each slot of the target belongs to, (slots,)."""
        return self._class_numbers[self.moments.owners == target.j][target.parents]

    def _slot_shares(self, target: Target, i: int) -> Array:
        """The share of each slot's rows in each of predictor i's slots of its class, (slots, q)."""
        own = self.moments.slots[i]
        if target.j == i:
            table = np.zeros((target.slots.size, own.size))
            table[np.arange(target.slots.size), target.parents] = 1.0
        elif self.same_rows:
            table = self.table(target.slots, own)
        else:
            table = np.zeros((target.slots.size, own.size))
        index, there = self._arranged(self.moments.owners == i)
        member, start = self._member(target), i * self.moments.slots[0].size
        rows = np.arange(target.slots.size)[:, None]
        return table[rows, np.where(there, index - start, 0)[member]] * there[member]

    @cached_property
    def _wide_loads(self) -> tuple[Array, list[Array], list[Array]]:
        """`_loads` of both predictors' slots by class: (classes, s), and (classes, s, numbers)."""
        index, there = self.by_class
        targets = [Target(s, j, np.arange(s.size)) for j, s in enumerate(self.moments.slots)]
        (known, broad, fitted), (other_known, other_broad, other_fitted) = map(self._loads, targets)

        def arranged(ours: Array, theirs: Array) -> Array:
            """The loads of both predictors' slots, by class."""
            return np.concatenate([ours, theirs])[index] * there[:, :, None]

        return (
            np.concatenate([known, other_known])[index] * there,
            [arranged(*each) for each in zip(broad, other_broad, strict=True)],
            [arranged(*each) for each in zip(fitted, other_fitted, strict=True)],
        )

    @cached_property
    def _fine_loads(self) -> list[tuple[Array, list[Array]]]:
        """For each predictor the known part of the fine slots' gaps, and the loads of all parts."""
        assert self.noise.fine is not None
        targets = [
            Target(slots, j, parents)
            for j, (slots, parents) in enumerate(
                zip(self.noise.fine.slots, self.noise.fine.parents, strict=True)
            )
        ]
        return [(known, [*broad, *fitted]) for known, broad, fitted in map(self._loads, targets)]

    @property
    def known_gaps(self) -> list[Array]:
        """The known part of the gaps that each predictor's measure is read from, (1, slots): the
        gaps of two predictors that are equally far off on either side of the targets.
        """
        if self.noise.fine is not None:
            return [known[None] for known, _ in self._fine_loads]
        index, there = self.by_class
        out = np.zeros((1, self.moments.size))
        out[:, index[there]] = self._wide_loads[0][there]
        return self.moments.parts(out)

    # --- draws -----------------------------------------------------------------------------------

    def _variances(self, gap: Array, noise: Array) -> list[float]:
        """The variance of every part's numbers: fixed ones, then those fitted to the gaps by
        maximum likelihood.

        `gap` are observed gaps without their known part, (classes, s), and `noise` is the
        covariance of their noise. The algorithm is MM (Zhou, Hu, Zhou and Lange, 2019,
        doi:10.1080/10618600.2018.1529601).
        """
        _, broad, fitted = self._wide_loads
        there = self.by_class[1]
        n, trace = max(int(there.sum()), 1), float(np.einsum("rii,ri->", noise, there))
        fixed = noise + TREND**2 * sum(_square(each) for each in broad)
        squares = [_square(each) for each in fitted]
        start = max(float((gap**2).sum()) - trace, FIT_FROM * trace, 1e-300) / n
        # Few slots do not show that they have no gaps: the variance of these is at least the mean
        # noise variance over the number of a predictor's slots.
        least = [2.0 * trace / n**2 if by_slot else 0.0 for by_slot in self._is_by_slot]
        sizes = np.full(len(squares), start / len(squares))
        for _ in range(FIT_STEPS):
            total = fixed + sum(size * each for size, each in zip(sizes, squares, strict=True))
            inverse = np.linalg.inv(total)
            solved = np.einsum("rij,rj->ri", inverse, gap)
            for k, each in enumerate(squares):
                observed = float(np.einsum("ri,rij,rj->", solved, each, solved))
                expected = float(np.einsum("rij,rij->", inverse, each))
                sizes[k] *= np.sqrt(max(observed, 0.0) / max(expected, 1e-300))
                sizes[k] = max(sizes[k], least[k])
        return [TREND**2] * len(broad) + [float(size) for size in sizes]

    def draw(self, zero: Mask) -> list[Array]:
        """Draws of the true gaps of the slots that each predictor's measure is read from, (draws,
        slots) each; the gaps of the slots in `zero`, (p,), are 0.

        A draw from the prior, with a draw of the noise, is moved by what the observed gaps differ
        from it (Matheron's rule).
        """
        known, broad, fitted = self._wide_loads
        observed, noise = self._observed(zero)
        gap, parts = observed - known, [*broad, *fitted]
        variances = self._variances(gap, noise)
        numbers = [
            np.sqrt(size) * self.normal(each.shape[::2], 20 + k)
            for k, (size, each) in enumerate(zip(variances, parts, strict=True))
        ]
        drawn = np.einsum("drj,rij->dri", self.normal(gap.shape, 9), symmetric_root(noise))
        total = noise
        for size, each, b in zip(variances, parts, numbers, strict=True):
            drawn = drawn + np.einsum("drk,rik->dri", b, each, optimize=True)
            total = total + size * _square(each)
        solved = np.einsum("dri,rij->drj", gap - drawn, np.linalg.inv(total), optimize=True)
        numbers = [
            b + size * np.einsum("dri,rik->drk", solved, each, optimize=True)
            for size, each, b in zip(variances, parts, numbers, strict=True)
        ]
        if self.noise.fine is not None:
            return [self._fine_gaps(j, numbers, zero) for j in (0, 1)]
        index, there = self.by_class
        out = np.zeros((self.noise.n_draws, self.moments.size))
        by_class = known + sum(
            np.einsum("drk,rik->dri", b, each, optimize=True)
            for b, each in zip(numbers, parts, strict=True)
        )
        mean, out[:, index[there]] = self.moments.stacked("mean_u"), by_class[:, there]
        return self.moments.parts(np.clip(out * ~zero, -mean, 1.0 - mean))

    def _fine_gaps(self, j: int, numbers: list[Array], zero: Mask) -> Array:
        """The gaps of predictor j's fine slots, (draws, fine slots), which are of one class, for
        drawn numbers of all parts.
        """
        assert self.noise.fine is not None
        known, loads = self._fine_loads[j]
        slots, parents = self.noise.fine.slots[j], self.noise.fine.parents[j]
        parts = zip(numbers, loads, strict=True)
        gaps = known + sum(b[:, 0] @ each.T for b, each in parts)
        gaps = gaps * ~zero[self.moments.owners == j][parents]
        return np.clip(gaps, -slots.mean_u, 1.0 - slots.mean_u)

    def normal(self, shape: tuple[int, ...], stream: int) -> Array:
        """Standard normal numbers, (draws, *shape), from the random stream of this number."""
        drawn = self.noise.normal(int(np.prod(shape)), stream)
        return drawn.reshape(self.noise.n_draws, *shape)


def _kernel(a: Array, b: Array) -> Array:
    """The correlation of smooth gaps at two mean predictions."""
    out: Array = np.exp(-0.5 * ((a - b) / SMOOTH_OVER) ** 2)
    return out


def _square(loads: Array) -> Array:
    """The covariance of gaps, (classes, s, s), from numbers of variance 1 with these loads."""
    out: Array = np.einsum("rik,rjk->rij", loads, loads, optimize=True)
    return out
