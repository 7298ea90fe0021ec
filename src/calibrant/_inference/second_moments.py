"""Second moments of residuals: the statistic that intervals of calibration errors are functions of.

A row adds its residual w (z - u) and its weight w to the slot of its bin. Sums of these, and sums
over rows (or clusters) of their products, say how the sums would vary from sample to sample. Both
merge like every other statistic, and those of two predictors on the same rows are stacked, so that
what both read from one label cancels in their difference.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibrant._core.typing import Array, Index, Mask
from calibrant._inference.blocks import Blocks, summed
from calibrant._inference.budget import FACTORED_SLOTS, MOST_OVERLAPS
from calibrant._inference.cells import Problem
from calibrant._inference.class_bins import BinnedRows, ClassBins
from calibrant._inference.numbers import MOST_WIDENED_SLOTS, PRIOR_ROWS, SHOWN_AT_LEAST
from calibrant._inference.rounding import symmetric_root


@dataclass(frozen=True, eq=False)
class Slots(BinnedRows):
    """The slots of one predictor's rows, of `classes` (slots,).

    Slots of one class hold different rows; a row has one slot for each of k classes.
    """

    classes: Index
    # The noise of targets (n, k), where rows stay and their votes are drawn anew.
    noise: Array | None = None

    @classmethod
    def of_problem(cls, problem: Problem) -> Slots:
        """Those of a scalar problem."""
        classes = problem.classes
        if classes is None:
            classes = np.zeros(problem.m, dtype=np.intp)
        u, z, w = (column[:, None] for column in (problem.u, problem.z, problem.weights))
        return cls(problem.bins[:, None], problem.m, u, z, w, problem.hard, classes)

    @classmethod
    def of_classes(cls, bins: ClassBins, k: int) -> Slots:
        """Those of every class's bins; bins of vector predictions are of one class."""
        m = bins.size // k
        classes = np.arange(bins.size) // m if bins.alike == 1 else np.zeros(bins.size, np.intp)
        return cls(bins.index, bins.size, bins.u, bins.z, bins.w, bins.hard, classes)

    @property
    def k(self) -> int:
        return int(self.index.shape[1])

    @cached_property
    def residuals(self) -> Array:
        return self.w * (self.z - self.u)

    @cached_property
    def total(self) -> float:
        """The weight of all rows."""
        return float(self.weight.sum()) / self.k

    @cached_property
    def mean_u(self) -> Array:
        return self.mean(self.u)

    @cached_property
    def mean_z(self) -> Array:
        return self.mean(self.z)

    @cached_property
    def gap(self) -> Array:
        """Mean target less mean prediction of each slot."""
        return self.mean(self.z - self.u)

    @cached_property
    def rows(self) -> Array:
        """How many equal rows each slot's weights are worth."""
        out = np.ones(self.size)
        return np.divide(self.weight**2, self.squares, out=out, where=self.squares > 0)

    def outcome_variance(self, units: Array) -> Array:
        """The variance of a slot's outcomes, from what was seen of so many units and predicted.

        Certain predictions that were right so far may be wrong: half an outcome is added.
        """
        q = (units * self.mean_z + PRIOR_ROWS * self.mean_u) / (units + PRIOR_ROWS)
        half = np.where(self._alike, 0.5 / (units + 1.0), 0.0)
        return np.maximum(q * (1.0 - q), half * (1.0 - half))

    @cached_property
    def _alike(self) -> Mask:
        """Which slots have outcomes of one kind alone."""
        return (self.mean_z <= 0.0) | (self.mean_z >= 1.0)

    def gap_variance(self, units: Array) -> Array:
        """The variance of a slot's gap if labels are outcomes. Rows of a unit that are all alike do
        not tell whether they would be so again: they count as one.
        """
        return self.outcome_variance(units) / np.where(self._alike, units, self.rows)


@dataclass(frozen=True, eq=False)
class SecondMoments:
    """Slots of one predictor, or of two, and a factor of the second moments of their sums.

    `factor` is (f, 2 p): the products of its rows add up to the sum over rows or clusters of
    v v', where v holds their residuals in p slots and their weights in the same p slots.
    """

    slots: tuple[Slots, ...]
    factor: Array
    # The sum of squared weights of units over the squared sum.
    share: float
    # The factor for noise of few clusters, whose scatter is not well known.
    wider: float
    # Whether rows of the factor are units, whose products estimate the second moments.
    sampled: bool
    # Whether two predictors have the same rows.
    paired: bool = True

    @cached_property
    def size(self) -> int:
        return sum(each.size for each in self.slots)

    def parts(self, columns: Array) -> list[Array]:
        """Split the last axis of (..., p) into the slots of each predictor."""
        ends = np.cumsum([each.size for each in self.slots])[:-1]
        return list(np.split(columns, ends, axis=-1))

    def stacked(self, name: str) -> Array:
        """What slots have, of all predictors one after the other."""
        return np.concatenate([getattr(each, name) for each in self.slots])

    @cached_property
    def totals(self) -> Array:
        """The total weight that each slot's predictor has, (p,)."""
        return np.concatenate([np.full(each.size, each.total) for each in self.slots])

    @cached_property
    def owners(self) -> Index:
        """Which predictor each slot is of."""
        return np.repeat(np.arange(len(self.slots)), [each.size for each in self.slots])

    @cached_property
    def overlap(self) -> Array | None:
        """The weight that slots of two predictors have in common, over the root of the product of
        their weights: (slots of the first, slots of the second). None where no row is in both.
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
        """R: residuals over the total weight, (p,)."""
        return np.concatenate([each.sums(each.residuals) / each.total for each in self.slots])

    @cached_property
    def residual_factor(self) -> Array:
        """A factor (f, p) of C, the covariance of the mean residuals."""
        p = self.size
        weights = [part.sum(axis=1) / each.k for part, each in self._weight_parts]
        of_units = np.repeat(np.stack(weights, 1), [each.size for each in self.slots], axis=1)
        away = (self.factor[:, :p] - of_units * self.mean_residual) / self.totals
        away *= self.wider / np.sqrt(max(1.0 - self.share, 0.5))
        # Slots whose few rows are alike lack what their outcomes vary by.
        more = self.missing_factor * (self.stacked("weight") / self.totals)
        return np.concatenate([away, more])

    @property
    def _weight_parts(self) -> list[tuple[Array, Slots]]:
        return list(zip(self.parts(self.factor[:, self.size :]), self.slots, strict=True))

    @cached_property
    def _gap_factor(self) -> Array:
        """A factor (f, p) of the covariance of gaps about those of the sample."""
        weight, p = self.stacked("weight"), self.size
        away = self.factor[:, :p] - self.factor[:, p:] * self.stacked("gap")
        return away / np.where(weight > 0, weight, 1.0)

    @cached_property
    def noise_factor(self) -> Array:
        """A factor (f, 2 p) of the covariance of gaps given their bins, and of bins' shares."""
        shares = [
            part / each.total - np.outer(part.sum(axis=1) / each.k, each.weight) / each.total**2
            for part, each in self._weight_parts
        ]
        out = np.concatenate([self._gap_factor * self.widening, *shares], axis=1)
        return np.concatenate([out, np.pad(self.missing_factor, ((0, 0), (0, self.size)))])

    @cached_property
    def widening(self) -> float:
        """The factor for the noise of residuals, which saw their own means.

        It is one number for all slots, so that what two predictors have in common still cancels.
        """
        return self.wider * math.sqrt(self._spread[0])

    @cached_property
    def missing_factor(self) -> Array:
        """A factor (f, p) of noise for slots whose few rows show less than half of the variance
        that is expected of them; predictors share it slot by slot.
        """
        scale, seen, expected = self._spread
        missing = np.where(scale * seen < SHOWN_AT_LEAST * expected, expected - scale * seen, 0.0)
        own, sizes = np.flatnonzero(missing > 0), [each.size for each in self.slots]
        start = np.cumsum([0, *sizes[:-1]])[self.owners[own]]
        places, row = np.unique(own - start, return_inverse=True)
        more = np.zeros((places.size, self.size))
        more[row.reshape(-1), own] = np.sqrt(missing[own])
        return more

    @cached_property
    def units(self) -> Array:
        """How many equal rows, or clusters, each slot's weights are worth."""
        weight = self.stacked("weight")
        squares = (self.factor[:, self.size :] ** 2).sum(axis=0)
        there = (weight > 0) & (squares > 0)
        return np.divide(weight**2, squares, out=np.ones_like(weight), where=there)

    @cached_property
    def _spread(self) -> tuple[float, Array, Array]:
        """The common factor of variances, and the variances of gaps as seen and as expected."""
        weight = self.stacked("weight")
        seen = (self._gap_factor**2).sum(axis=0)
        expected = seen / np.maximum(1.0 - 1.0 / self.units, 0.5)
        if all(each.hard for each in self.slots):
            of_outcomes = [
                each.gap_variance(own)
                for each, own in zip(self.slots, self.parts(self.units), strict=True)
            ]
            expected = np.maximum(expected, np.concatenate(of_outcomes) * (weight > 0))
        share = (weight / self.totals) ** 2
        common = float((share * expected).sum()) / max(float((share * seen).sum()), 1e-300)
        return min(common, MOST_WIDENED_SLOTS) if seen.any() else 1.0, seen, expected


def second_moments(slots: Sequence[Slots], blocks: Blocks | None) -> SecondMoments:
    """The second moments of one predictor, or of two on the same rows; of clusters by `blocks`."""
    both, row = tuple(slots), slots[0].w.max(axis=1)
    if slots[0].noise is not None:
        return _of_votes(both, blocks)
    plain = all(each.k == 1 for each in both) and (blocks is None or not blocks.clustered)
    if plain and sum(each.size for each in both) <= FACTORED_SLOTS:
        return SecondMoments(both, _joint_factor(both), _share(row), 1.0, False)
    assert blocks is not None
    sums = [blocks.sums(each.index, each.size, each.residuals) for each in both]
    sums += [blocks.sums(each.index, each.size, each.w) for each in both]
    share = _share(summed(blocks.index, row, blocks.size))
    return SecondMoments(both, np.concatenate(sums, axis=1), share, blocks.widened(row), True)


def _of_votes(slots: tuple[Slots, ...], blocks: Blocks | None) -> SecondMoments:
    """The second moments of residuals of which the votes alone vary, and the weights not."""
    assert blocks is not None
    factor = np.concatenate([block_noise(each, blocks, each.gap) for each in slots], axis=1)
    return SecondMoments(slots, np.concatenate([factor, np.zeros_like(factor)], 1), 0.0, 1.0, True)


def _share(weights: Array) -> float:
    """The sum of squared weights over their squared sum: 1 / n where all are equal."""
    return float((weights**2).sum()) / max(float(weights.sum()) ** 2, 1e-300)


def block_noise(slots: Slots, blocks: Blocks, gap: Array) -> Array:
    """Sums by block of residuals about the gaps of slots, (blocks, slots)."""
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


def apart(first: SecondMoments, second: SecondMoments) -> SecondMoments:
    """The second moments of two predictors on different rows: nothing is common."""
    f, g, p, q = len(first.factor), len(second.factor), first.size, second.size
    factor = np.zeros((f + g, 2 * (p + q)))
    factor[:f, :p], factor[:f, p + q : 2 * p + q] = first.factor[:, :p], first.factor[:, p:]
    factor[f:, p : p + q], factor[f:, 2 * p + q :] = second.factor[:, :q], second.factor[:, q:]
    return SecondMoments(
        (*first.slots, *second.slots),
        factor,
        max(first.share, second.share),
        max(first.wider, second.wider),
        first.sampled or second.sampled,
        paired=False,
    )
