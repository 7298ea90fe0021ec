"""Second moments of residuals: the statistic that intervals of calibration errors are functions of.

A row adds its residual w (z - u) and its weight w to the slot of its bin. Sums of these, and sums
over rows (or clusters) of their products, say how the sums vary from sample to sample. Both merge
like every other statistic. Those of two predictors on the same rows are stacked, so that the noise
of a label that both are compared with cancels in their difference.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibrant._core.typing import Array, Index
from calibrant._inference.blocks import Blocks, summed
from calibrant._inference.budget import FACTORED_SLOTS, MOST_OVERLAPS
from calibrant._inference.numbers import MOST_WIDENED_SLOTS, SHOWN_AT_LEAST
from calibrant._inference.rounding import symmetric_root
from calibrant._inference.slots import Slots


@dataclass(frozen=True, eq=False)
class SecondMoments:
    """The p slots of one predictor, or of two, and a factor F of the second moments of their sums.

    F'F is the sum over units (rows or clusters) of v v', where v holds a unit's residuals in the p
    slots, and then its weights in them: `factor` is (f, 2 p).
    """

    slots: tuple[Slots, ...]
    factor: Array
    # The sum of squared weights of units over the square of their sum: 1 / n for equal weights.
    share: float
    # The factor for the noise of few clusters, whose variance is not well known.
    cluster_factor: float
    # Whether rows of the factor are units, whose products estimate the second moments.
    sampled: bool
    # Whether the two predictors have the same rows.
    paired: bool = True

    @cached_property
    def size(self) -> int:
        return sum(each.size for each in self.slots)

    def parts(self, columns: Array) -> list[Array]:
        """Split the last axis of (..., p) into the slots of each predictor."""
        ends = np.cumsum([each.size for each in self.slots])[:-1]
        return list(np.split(columns, ends, axis=-1))

    def stacked(self, name: str) -> Array:
        """An attribute of the slots, (p,): of the first predictor, then of the second."""
        return np.concatenate([getattr(each, name) for each in self.slots])

    @cached_property
    def totals(self) -> Array:
        """The total weight of each slot's predictor, (p,)."""
        return np.concatenate([np.full(each.size, each.total) for each in self.slots])

    @cached_property
    def owners(self) -> Index:
        """The predictor of each slot, 0 or 1."""
        return np.repeat(np.arange(len(self.slots)), [each.size for each in self.slots])

    @cached_property
    def overlap(self) -> Array | None:
        """The weight of the rows that two predictors' slots have in common, over the root of the
        product of the slots' weights: (slots of the first, slots of the second). None for one
        predictor, for different rows, and for tables that are too large.
        """
        if len(self.slots) < 2 or not self.paired:
            return None
        first, second = self.slots
        if first.index.shape != second.index.shape or first.size * second.size > MOST_OVERLAPS:
            return None
        key = (first.index * second.size + second.index).ravel()
        weight = np.sqrt(first.w * second.w).ravel()
        both = summed(key, weight, first.size * second.size).reshape(first.size, second.size)
        scale = np.sqrt(np.outer(first.weight, second.weight))
        return np.divide(both, scale, out=np.zeros_like(both), where=scale > 0)

    @cached_property
    def mean_residual(self) -> Array:
        """R: sums of residuals over the total weight, (p,)."""
        return np.concatenate([each.sums(each.residuals) / each.total for each in self.slots])

    @cached_property
    def residual_factor(self) -> Array:
        """A factor (f, p) of C, the covariance of the mean residuals."""
        p = self.size
        weights = [part.sum(axis=1) / each.k for part, each in self._weight_parts]
        of_units = np.repeat(np.stack(weights, 1), [each.size for each in self.slots], axis=1)
        centred = (self.factor[:, :p] - of_units * self.mean_residual) / self.totals
        centred *= self.cluster_factor / np.sqrt(max(1.0 - self.share, 0.5))
        missing = self.missing_factor * (self.stacked("weight") / self.totals)
        return np.concatenate([centred, missing])

    @property
    def _weight_parts(self) -> list[tuple[Array, Slots]]:
        return list(zip(self.parts(self.factor[:, self.size :]), self.slots, strict=True))

    @cached_property
    def _gap_factor(self) -> Array:
        """A factor (f, p) of the covariance of gaps, from residuals about the sample's gaps."""
        weight, p = self.stacked("weight"), self.size
        centred = self.factor[:, :p] - self.factor[:, p:] * self.stacked("gap")
        return centred / np.where(weight > 0, weight, 1.0)

    @cached_property
    def noise_factor(self) -> Array:
        """A factor (f, 2 p) of the covariance of the slots' gaps, and of their shares of the
        weight.
        """
        shares = [
            part / each.total - np.outer(part.sum(axis=1) / each.k, each.weight) / each.total**2
            for part, each in self._weight_parts
        ]
        out = np.concatenate([self._gap_factor * self.widening, *shares], axis=1)
        return np.concatenate([out, np.pad(self.missing_factor, ((0, 0), (0, self.size)))])

    @cached_property
    def widening(self) -> float:
        """The factor for the noise of gaps: residuals about their own means vary too little.

        It is one number for all slots, so that noise that two predictors share still cancels.
        """
        return self.cluster_factor * math.sqrt(self._variances[0])

    @cached_property
    def missing_factor(self) -> Array:
        """A factor (f, p) of additional noise, for slots whose few rows show less than half of the
        expected variance. Two predictors share it in slots of the same number.
        """
        scale, observed, expected = self._variances
        shown = scale * observed
        missing = np.where(shown < SHOWN_AT_LEAST * expected, expected - shown, 0.0)
        own, sizes = np.flatnonzero(missing > 0), [each.size for each in self.slots]
        start = np.cumsum([0, *sizes[:-1]])[self.owners[own]]
        numbers, row = np.unique(own - start, return_inverse=True)
        factor = np.zeros((numbers.size, self.size))
        factor[row.reshape(-1), own] = np.sqrt(missing[own])
        return factor

    @cached_property
    def units(self) -> Array:
        """How many equal rows, or clusters, each slot's weights are worth."""
        weight = self.stacked("weight")
        squares = (self.factor[:, self.size :] ** 2).sum(axis=0)
        nonempty = (weight > 0) & (squares > 0)
        return np.divide(weight**2, squares, out=np.ones_like(weight), where=nonempty)

    @cached_property
    def _variances(self) -> tuple[float, Array, Array]:
        """The variances of gaps as observed and as expected, (p,) each, and before them the factor
        that brings the observed ones to the expected ones on average.
        """
        weight = self.stacked("weight")
        observed = (self._gap_factor**2).sum(axis=0)
        expected = observed / np.maximum(1.0 - 1.0 / self.units, 0.5)
        if all(each.hard for each in self.slots):
            of_outcomes = [
                each.gap_variance(own)
                for each, own in zip(self.slots, self.parts(self.units), strict=True)
            ]
            expected = np.maximum(expected, np.concatenate(of_outcomes) * (weight > 0))
        share = (weight / self.totals) ** 2
        ratio = float((share * expected).sum()) / max(float((share * observed).sum()), 1e-300)
        return min(ratio, MOST_WIDENED_SLOTS) if observed.any() else 1.0, observed, expected


def second_moments(slots: Sequence[Slots], blocks: Blocks | None) -> SecondMoments:
    """The second moments of one predictor, or of two on the same rows; `blocks` are the units."""
    both, row = tuple(slots), slots[0].w.max(axis=1)
    if slots[0].noise is not None:
        return _vote_moments(both, blocks)
    plain = all(each.k == 1 for each in both) and (blocks is None or not blocks.clustered)
    if plain and sum(each.size for each in both) <= FACTORED_SLOTS:
        return SecondMoments(both, _joint_factor(both), _share(row), 1.0, False)
    assert blocks is not None
    sums = [blocks.sums(each.index, each.size, each.residuals) for each in both]
    sums += [blocks.sums(each.index, each.size, each.w) for each in both]
    share = _share(summed(blocks.index, row, blocks.size))
    return SecondMoments(both, np.concatenate(sums, axis=1), share, blocks.noise_factor(row), True)


def _vote_moments(slots: tuple[Slots, ...], blocks: Blocks | None) -> SecondMoments:
    """The second moments where only the votes vary: rows and weights are fixed."""
    assert blocks is not None
    factor = np.concatenate([block_noise(each, blocks, each.gap) for each in slots], axis=1)
    return SecondMoments(slots, np.concatenate([factor, np.zeros_like(factor)], 1), 0.0, 1.0, True)


def _share(weights: Array) -> float:
    """The sum of squared weights over their squared sum: 1 / n where all are equal."""
    return float((weights**2).sum()) / max(float(weights.sum()) ** 2, 1e-300)


def block_noise(slots: Slots, blocks: Blocks, gap: Array) -> Array:
    """Sums by block of residuals about the gaps of slots, or of the noise of votes: (blocks,
    slots).
    """
    if slots.noise is not None:
        return blocks.sums(slots.index, slots.size, slots.w * slots.noise)
    return blocks.sums(slots.index, slots.size, slots.residuals - slots.w * gap[slots.index])


def _joint_factor(slots: tuple[Slots, ...]) -> Array:
    """A factor of the exact second moments of rows that have one slot for each predictor."""
    p = sum(each.size for each in slots)
    starts = np.cumsum([0, *(each.size for each in slots)])
    moments = np.zeros((2 * p, 2 * p))
    for a, first in enumerate(slots):
        for b, second in enumerate(slots):
            key = first.index[:, 0] * second.size + second.index[:, 0]
            for i, one in enumerate((first.residuals, first.w)):
                for j, other in enumerate((second.residuals, second.w)):
                    sums = np.bincount(key, (one * other)[:, 0], first.size * second.size)
                    rows = slice(starts[a] + i * p, starts[a] + i * p + first.size)
                    columns = slice(starts[b] + j * p, starts[b] + j * p + second.size)
                    moments[rows, columns] = sums.reshape(first.size, second.size)
    return symmetric_root(moments)


def independent_moments(first: SecondMoments, second: SecondMoments) -> SecondMoments:
    """The second moments of two predictors on different rows: their covariance is 0."""
    f, g, p, q = len(first.factor), len(second.factor), first.size, second.size
    factor = np.zeros((f + g, 2 * (p + q)))
    factor[:f, :p], factor[:f, p + q : 2 * p + q] = first.factor[:, :p], first.factor[:, p:]
    factor[f:, p : p + q], factor[f:, 2 * p + q :] = second.factor[:, :q], second.factor[:, q:]
    return SecondMoments(
        (*first.slots, *second.slots),
        factor,
        max(first.share, second.share),
        max(first.cluster_factor, second.cluster_factor),
        first.sampled or second.sampled,
        paired=False,
    )


# --- draws of noise
# --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FineSlots:
    """Finer slots within the slots of each predictor.

    A measure that is not of bins is read from fine slots; its gaps are estimated in wider ones.
    `parents` is the wider slot of each fine one.
    """

    slots: tuple[Slots, ...]
    parents: tuple[Index, ...]
    blocks: tuple[Blocks, ...]


@dataclass(frozen=True, eq=False)
class SlotNoise:
    """Draws of how gaps, and the slots' weights, vary from sample to sample.

    All measures of the same slots share them.
    """

    moments: SecondMoments
    n_draws: int
    seed: int
    fine: FineSlots | None = None

    @cached_property
    def drawn(self) -> tuple[list[Array], list[Array]]:
        """Noise of gaps, and drawn weights, of each predictor: (draws, slots)."""
        factor, p = self.moments.noise_factor, self.moments.size
        drawn = self.normal(len(factor), 8) @ factor
        share = self.moments.stacked("weight") / self.moments.totals
        shares = np.maximum(share + drawn[:, p:], 0.0)
        ratio = np.divide(shares, share, out=np.ones_like(shares), where=share > 0)
        weights = self.moments.parts(shares * self.moments.totals)
        if self.fine is not None:
            return self._draw_fine(self.fine, self.moments.parts(ratio))
        # The noise of a sum of residuals is divided by the weight drawn, not by the observed one.
        noise = np.divide(drawn[:, :p], ratio, out=np.zeros_like(ratio), where=ratio > 0)
        return self.moments.parts(noise), weights

    def _draw_fine(
        self, fine: FineSlots, ratios: Sequence[Array]
    ) -> tuple[list[Array], list[Array]]:
        noise, weights = [], []
        for j, (slots, parent, blocks) in enumerate(
            zip(fine.slots, fine.parents, fine.blocks, strict=True)
        ):
            gap = self.moments.slots[j].gap[parent]
            sums = block_noise(slots, blocks, gap) * self.moments.widening
            # Two predictors on the same rows have the same normal numbers.
            normal = self.normal(len(sums), 10 if self.moments.paired else 10 + j)
            drawn = np.maximum(ratios[j], 0.1)[:, parent] * slots.weight
            noise.append(normal @ sums / drawn)
            weights.append(drawn)
        return noise, weights

    def normal(self, size: int, stream: int) -> Array:
        """Standard normal numbers (draws, size), the same for the same stream."""
        rng = np.random.default_rng((self.seed, stream))
        return rng.standard_normal((self.n_draws, size))
