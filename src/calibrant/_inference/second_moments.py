"""Second moments of residuals: the statistic that intervals of calibration errors are functions of.

A row adds its residual w (z - u), with the weight w, target z and prediction u, and its weight to
the slot of its bin. Sums of these, and sums over rows (or clusters) of their products, say how the
sums vary from sample to sample. Both merge like every other statistic. Those of two predictors on
the same rows are stacked, so that the noise of a label that both are compared with cancels in their
difference.

A factor of a matrix M is a matrix F with F'F = M: normal numbers times F have the covariance M.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibrant._core.typing import Array, Index
from calibrant._inference.blocks import Blocks, squared_weights, summed
from calibrant._inference.budget import FACTORED_SLOTS
from calibrant._inference.numbers import LEAST_DRAWN_WEIGHT, MOST_WIDENED_SLOTS, SHOWN_AT_LEAST
from calibrant._inference.rounding import symmetric_root
from calibrant._inference.slots import Slots


@dataclass(frozen=True, eq=False)
class SecondMoments:
    """The p slots (bins) of one predictor, or of two, and a factor F of the second moments of their
    sums.

    F'F is the sum over units (rows or clusters) of v v', where the 2 p numbers v are a unit's
    residuals in the p slots and then its weights in them: `factor` is (f, 2 p).
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
        """The number p of slots (bins) of all predictors."""
        return sum(each.size for each in self.slots)

    def parts(self, columns: Array) -> list[Array]:
        """Split an array (..., p) into one array (..., slots) for each predictor."""
        ends = np.cumsum([each.size for each in self.slots])[:-1]
        return list(np.split(columns, ends, axis=-1))

    def stacked(self, name: str) -> Array:
        """The attribute `name` of the slots (bins), (p,): of the first predictor's slots, then of
        the second's.
        """
        return np.concatenate([getattr(each, name) for each in self.slots])

    @cached_property
    def totals(self) -> Array:
        """For each slot (bin) the total weight of its predictor's rows, (p,)."""
        return np.concatenate([np.full(each.size, each.total) for each in self.slots])

    @cached_property
    def owners(self) -> Index:
        """The predictor that each slot (bin) belongs to, 0 or 1, (p,)."""
        return np.repeat(np.arange(len(self.slots)), [each.size for each in self.slots])

    @cached_property
    def mean_residual(self) -> Array:
        """R: the sum of residuals of each slot (bin) over its predictor's total weight, (p,)."""
        return np.concatenate([each.sums(each.residuals) / each.total for each in self.slots])

    @cached_property
    def unbiased_factor(self) -> Array:
        """A factor (f, p) of an estimate without bias of C, the covariance of the slots' mean
        residuals.
        """
        p = self.size
        weights = [part.sum(axis=1) / each.k for part, each in self._weight_parts]
        of_units = np.repeat(np.stack(weights, 1), [each.size for each in self.slots], axis=1)
        centred: Array = (self.factor[:, :p] - of_units * self.mean_residual) / self.totals
        return centred / np.sqrt(max(1.0 - self.share, 0.5))

    @cached_property
    def residual_factor(self) -> Array:
        """A factor (f, p) of C as it is used for limits: enlarged where clusters are few, and in
        slots (bins) whose few rows show too little variance.
        """
        missing = self.missing_factor * (self.stacked("weight") / self.totals)
        return np.concatenate([self.unbiased_factor * self.cluster_factor, missing])

    @property
    def _weight_parts(self) -> list[tuple[Array, Slots]]:
        """For each predictor, the columns of `factor` that are weights, (f, its slots), and its
        slots (bins).
        """
        return list(zip(self.parts(self.factor[:, self.size :]), self.slots, strict=True))

    @cached_property
    def _gap_factor(self) -> Array:
        """A factor (f, p) of the covariance of the slots' gaps (mean target less prediction), from
        residuals about the observed gaps. It is not yet widened for few rows.
        """
        weight, p = self.stacked("weight"), self.size
        centred = self.factor[:, :p] - self.factor[:, p:] * self.stacked("gap")
        return centred / np.where(weight > 0, weight, 1.0)

    @cached_property
    def noise_factor(self) -> Array:
        """A factor (f, 2 p) of the covariance of the slots' gaps (the first p columns) and of their
        shares of the total weight (the other p).
        """
        shares = [
            part / each.total - np.outer(part.sum(axis=1) / each.k, each.weight) / each.total**2
            for part, each in self._weight_parts
        ]
        out = np.concatenate([self._gap_factor * self.widening, *shares], axis=1)
        return np.concatenate([out, np.pad(self.missing_factor, ((0, 0), (0, self.size)))])

    @cached_property
    def widening(self) -> float:
        """The factor by which the noise of all gaps (mean target less prediction) is enlarged:
        residuals about their own means vary less than residuals about the true ones.

        It is one number for all slots (bins), so that noise that two predictors share still
        cancels.
        """
        return self.cluster_factor * math.sqrt(self._variances[0])

    @cached_property
    def missing_factor(self) -> Array:
        """A factor (f, p) of the noise that is added to slots (bins) whose few rows show less than
        half of the expected variance; 0 in other slots. Slots of the same number of two predictors
        share it.
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
        """How many rows, or clusters, of equal weight the weights of each slot (bin) are equivalent
        to, (p,); 1 if empty.
        """
        weight = self.stacked("weight")
        squares = (self.factor[:, self.size :] ** 2).sum(axis=0)
        nonempty = (weight > 0) & (squares > 0)
        return np.divide(weight**2, squares, out=np.ones_like(weight), where=nonempty)

    @cached_property
    def _variances(self) -> tuple[float, Array, Array]:
        """A factor, and the observed and the expected variances of the slots' gaps (mean target
        less prediction), (p,) each.

        The factor brings the observed variances to the expected ones on average over slots (bins);
        it is at most `MOST_WIDENED_SLOTS`. Noise of votes needs none: it is not taken about a
        slot's own mean.
        """
        weight = self.stacked("weight")
        observed = (self._gap_factor**2).sum(axis=0)
        if self.slots[0].noise is not None:
            return 1.0, observed, observed
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
    """The second moments of one predictor's slots (bins), or of two predictors' on the same rows.

    `blocks` are the units that vary independently. They are needed for clusters, several classes,
    many slots and votes; else None will do, and rows are the units.
    """
    both, row = tuple(slots), slots[0].w.max(axis=1)
    if slots[0].noise is not None:
        return _vote_moments(both, blocks)
    plain = all(each.k == 1 for each in both) and (blocks is None or not blocks.clustered)
    counted = both[0].counts is not None
    if plain and (counted or sum(each.size for each in both) <= FACTORED_SLOTS):
        joint = len(both) > 1 or not counted
        factor = _joint_factor(both) if joint else _single_factor(both[0])
        return SecondMoments(both, factor, _share(row, both[0].counts), 1.0, False)
    assert blocks is not None
    sums = [blocks.sums(each.index, each.size, each.residuals) for each in both]
    sums += [blocks.sums(each.index, each.size, each.w) for each in both]
    share = _share(summed(blocks.index, row, blocks.size))
    return SecondMoments(both, np.concatenate(sums, axis=1), share, blocks.noise_factor(row), True)


def _vote_moments(slots: tuple[Slots, ...], blocks: Blocks | None) -> SecondMoments:
    """The second moments where only the votes vary, and rows and weights are fixed. The factor's
    columns of weights are 0.
    """
    assert blocks is not None
    factor = np.concatenate([block_noise(each, blocks, each.gap) for each in slots], axis=1)
    return SecondMoments(slots, np.concatenate([factor, np.zeros_like(factor)], 1), 0.0, 1.0, True)


def _share(weights: Array, counts: Array | None = None) -> float:
    """The sum of squared weights over their squared sum: 1 / n where all are equal. `counts` is how
    many equal rows each row stands for; one each if None.
    """
    squares = float(squared_weights(weights, counts).sum())
    return squares / max(float(weights.sum()) ** 2, 1e-300)


def block_noise(slots: Slots, blocks: Blocks, gap: Array) -> Array:
    """Sums by block and slot (bin), (blocks, slots), of the rows' residuals about the `gap` of
    their slot; where slots hold the noise of votes, sums of weight times that noise.
    """
    if slots.noise is not None:
        return blocks.sums(slots.index, slots.size, slots.w * slots.noise)
    return blocks.sums(slots.index, slots.size, slots.residuals - slots.w * gap[slots.index])


def _single_factor(slots: Slots) -> Array:
    """A factor (2 p, 2 p) of the second moments of residuals and weights, for the rows of one
    predictor that have one slot (bin) each: a slot's residuals vary with its own weights alone.
    """
    p, w2 = slots.size, slots.squared_weights
    gap = slots.z - slots.u
    moments = np.empty((p, 2, 2))
    moments[:, 0, 0] = slots.sums(w2 * gap**2)
    moments[:, 0, 1] = moments[:, 1, 0] = slots.sums(w2 * gap)
    moments[:, 1, 1] = slots.sums(w2)
    roots, factor, own = symmetric_root(moments), np.zeros((2 * p, 2 * p)), np.arange(p)
    for i in (0, 1):
        for j in (0, 1):
            factor[own + i * p, own + j * p] = roots[:, i, j]
    return factor


def _joint_factor(slots: tuple[Slots, ...]) -> Array:
    """A factor (2 p, 2 p) of the exact second moments of residuals and weights, for rows that have
    one slot (bin) of each predictor.
    """
    p, counts = sum(each.size for each in slots), slots[0].counts
    each = np.ones(slots[0].n) if counts is None else counts
    starts = np.cumsum([0, *(each.size for each in slots)])
    moments = np.zeros((2 * p, 2 * p))
    for a, first in enumerate(slots):
        for b, second in enumerate(slots):
            key = first.index[:, 0] * second.size + second.index[:, 0]
            for i, one in enumerate((first.residuals, first.w)):
                for j, other in enumerate((second.residuals, second.w)):
                    products = (one * other)[:, 0] / each
                    sums = np.bincount(key, products, first.size * second.size)
                    rows = slice(starts[a] + i * p, starts[a] + i * p + first.size)
                    columns = slice(starts[b] + j * p, starts[b] + j * p + second.size)
                    moments[rows, columns] = sums.reshape(first.size, second.size)
    return symmetric_root(moments)


def independent_moments(first: SecondMoments, second: SecondMoments) -> SecondMoments:
    """The second moments of two predictors on different rows together: the covariance of the two is
    0.
    """
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


# --- draws of noise ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FineSlots:
    """Finer slots within the slots (bins) of each predictor; each field has one entry a predictor.

    A measure that is not of bins is read from fine slots, and its gaps are estimated in wider ones.
    `parents` is the wider slot of each fine one, `blocks` are the blocks of rows that vary
    together.
    """

    slots: tuple[Slots, ...]
    parents: tuple[Index, ...]
    blocks: tuple[Blocks, ...]


@dataclass(frozen=True, eq=False)
class SlotNoise:
    """Draws of how the slots' gaps and weights vary from sample to sample.

    All measures of the same slots share the draws. With `fine`, finer slots are drawn.
    """

    moments: SecondMoments
    n_draws: int
    seed: int
    fine: FineSlots | None = None

    @cached_property
    def drawn(self) -> tuple[list[Array], list[Array]]:
        """Two lists with an array (draws, slots) for each predictor: the noise of the gaps (mean
        target less prediction), and the drawn weights. With `fine` they are of the fine slots
        (bins).
        """
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
        """The noise of gaps (mean target less prediction) and the drawn weights of each predictor's
        fine slots (bins), (draws, fine slots).

        `ratios` are the drawn weights of the wider slots over the observed ones, (draws, slots).
        """
        noise, weights = [], []
        for j, (slots, parent, blocks) in enumerate(
            zip(fine.slots, fine.parents, fine.blocks, strict=True)
        ):
            gap = self.moments.slots[j].gap[parent]
            drawn = np.maximum(ratios[j], LEAST_DRAWN_WEIGHT)[:, parent] * slots.weight
            # Two predictors on the same rows have the same normal numbers.
            stream = 10 if self.moments.paired else 10 + j
            residuals = slots.z - slots.u - gap[slots.index]
            counted = slots.counts is not None and not blocks.clustered
            if counted and len(fine.slots) == 1:  # rows are independent, and so are fine slots
                variance = slots.sums(slots.squared_weights * residuals**2)
                sums = self.normal(slots.size, stream) * np.sqrt(variance)
            elif counted:
                spread = np.sqrt(slots.squared_weights) * residuals
                sums = self._sums_of_rows(slots, spread[:, 0], stream)
            else:
                by_block = block_noise(slots, blocks, gap)
                sums = self.normal(len(by_block), stream) @ by_block
            noise.append(sums * self.moments.widening / drawn)
            weights.append(drawn)
        return noise, weights

    def _sums_of_rows(self, slots: Slots, spread: Array, stream: int) -> Array:
        """Sums by slot (bin), (draws, slots), of normal noise of every row; `spread` is its
        standard deviation, (n,), with a sign.
        """
        order = np.argsort(slots.index[:, 0], kind="stable")
        used, starts = np.unique(slots.index[order, 0], return_index=True)
        drawn = self.normal(slots.n, stream)
        drawn *= spread
        out = np.zeros((self.n_draws, slots.size))
        out[:, used] = np.add.reduceat(drawn[:, order], starts, axis=1)
        return out

    def normal(self, size: int, stream: int) -> Array:
        """Standard normal numbers, (draws, size), from the random stream of this number: the same
        for each call with the same `size` and `stream`.
        """
        rng = np.random.default_rng((self.seed, stream))
        return rng.standard_normal((self.n_draws, size))
