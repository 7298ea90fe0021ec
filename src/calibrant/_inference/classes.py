"""Errors over all classes: the threshold family and the null of every class's bins together.

A row has a bin for each class: the bin that its prediction for that class falls into, or, for
full calibration, its cell and the class. What is summed there is the residual, target less
prediction; one label moves the residuals of a whole row, so rows are drawn and not bins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from calibrant._engines.arrays.draws import Labels, count_labels, draw_labels
from calibrant._inference.blocks import Blocks, summed
from calibrant._inference.budget import BLOCK_ENTRIES, DRAWN_LABELS
from calibrant._inference.family import (
    FACTORS,
    MEMBERS,
    SURE,
    VoteScatter,
    moved,
    outcome_variance,
    thresholded,
)
from calibrant._inference.rare_events import (
    RareEvents,
    design_effect,
    dispersion,
    rare_events,
    scatter_ratio,
    share_root,
)

Array = NDArray[np.float64]
# Residuals and weights of every bin, (draws, bins), to the measure's value of each draw.
Errors = Callable[[Array, Array], Array]

# Expected events below which a bin's outcomes are drawn by themselves.
FEW_EVENTS = 3.0


@dataclass(frozen=True, eq=False)
class Luck:
    """Labels drawn for all classes at once, the same for every error: if the predictions are right,
    and if what a temperature makes of them is.
    """

    predictions: Array
    # The rows recalibrated by a temperature, where one could be fitted.
    recalibrated: Array | None
    seed: int
    _drawn: dict[tuple[str, int], Labels] = field(default_factory=dict)

    def rates(self, what: str) -> Array:
        """The chances of labels, (n, k)."""
        own = what == "noise" and self.recalibrated is not None
        rates = self.recalibrated if own else self.predictions
        assert rates is not None
        out: Array = rates / np.maximum(rates.sum(axis=1, keepdims=True), 1e-300)
        return out

    def labels(self, what: str, n_draws: int) -> Labels:
        """Labels drawn from these chances, (draws, n)."""
        if (what, n_draws) not in self._drawn:
            seed = (self.seed, 3 if what == "noise" else 6)
            self._drawn[what, n_draws] = draw_labels(self.rates(what), n_draws, seed)
        return self._drawn[what, n_draws]


@dataclass(frozen=True, eq=False)
class ClassBins:
    """Rows with a bin for each class: `index`, `u`, `z` and `w` are (n, k), w 0 where a row is
    not counted; `y` are labels, or None where targets are soft. Each `alike` bins, one after the
    other, hold the same rows.
    """

    index: NDArray[np.intp]
    size: int
    u: Array
    z: Array
    w: Array
    y: NDArray[np.intp] | None
    hard: bool
    alike: int = 1

    @property
    def n(self) -> int:
        return int(self.u.shape[0])

    def sums(self, values: Array) -> Array:
        """Sums by bin of what rows have for each class."""
        return summed(self.index.ravel(), values.ravel(), self.size)

    @cached_property
    def weight(self) -> Array:
        return self.sums(self.w)

    def weight_of_blocks(self, blocks: Blocks) -> Array:
        """Weights by block and bin, bins of the same rows as one."""
        k = self.alike
        if k == 1:
            return self.of_blocks(blocks, self.w)
        first = self.index[:, 0] // k
        return blocks.sums(first, self.size // k, self.w[:, 0])

    def of_labels(self, labels: Labels) -> Array:
        """The weight of labels drawn for all rows, by bin: (draws, bins)."""
        rows = self.w.max(axis=1)
        index = np.where(self.w > 0, self.index, -1).astype(np.int32)
        return count_labels(labels, index, self.size, None if (rows == 1.0).all() else rows)

    @cached_property
    def squares(self) -> Array:
        return self.sums(self.w * self.w)

    def mean(self, values: Array) -> Array:
        """Weighted means by bin, 0 where there is no weight."""
        total = self.sums(self.w * values)
        return np.divide(total, self.weight, out=np.zeros(self.size), where=self.weight > 0)

    def of_blocks(self, blocks: Blocks, values: Array) -> Array:
        """Sums by block and bin."""
        key = blocks.index[:, None] * self.size + self.index
        sums = summed(key.ravel(), values.ravel(), blocks.size * self.size)
        return sums.reshape(blocks.size, self.size)

    def block_squares(self, blocks: Blocks, values: Array) -> Array:
        """Sums over blocks of their squared sums, by bin; one block at a time where bins are
        many.
        """
        if blocks.size * self.size <= BLOCK_ENTRIES:
            dense: Array = (self.of_blocks(blocks, values) ** 2).sum(axis=0)
            return dense
        order = np.argsort(blocks.index, kind="stable")
        ends = np.searchsorted(blocks.index[order], np.arange(blocks.size + 1))
        out = np.zeros(self.size)
        for start, end in pairwise(ends):
            rows = order[start:end]
            out += summed(self.index[rows].ravel(), values[rows].ravel(), self.size) ** 2
        return out


@dataclass
class ClassFamily:
    """The family of errors over all classes; its noise is drawn once, for all members."""

    bins: ClassBins
    blocks: Blocks
    n_draws: int
    seed: int
    luck: Luck | None = None
    # How the shares of each row scatter, where rows stay and their votes are drawn anew.
    votes: VoteScatter | None = None

    def __post_init__(self) -> None:
        p = self.bins
        self.recalibrated = None if self.luck is None else self.luck.recalibrated
        self.gap = p.mean(p.z - p.u)
        self.outcomes = p.y is not None and not self.blocks.clustered and self.votes is None
        self.small = self.blocks.size * p.size <= BLOCK_ENTRIES
        self.scale = self._standard_errors()
        self.smooth = None
        if self.recalibrated is not None:
            gap = p.mean(self.recalibrated - p.u)
            self.smooth = gap if float(np.abs(gap).max()) > 1e-9 else None
        known = self.scale > 0
        self.last = float((np.abs(self.gap[known]) / self.scale[known]).max(initial=1.0)) + 1.0

    def _standard_errors(self) -> Array:
        p = self.bins
        safe = np.where(p.weight > 0, p.weight, 1.0)
        if self.votes is not None:
            known: Array = np.sqrt(p.sums(p.w * p.w * self.votes.variance)) / safe
            return known
        variance = np.zeros(p.size)
        if p.hard:
            rows = np.divide(p.weight**2, p.squares, out=np.ones(p.size), where=p.squares > 0)
            variance = outcome_variance(rows, p.mean(p.u), p.mean(p.z)) * p.squares / safe**2
        if not self.outcomes:
            away = p.w * (p.z - p.u - self.gap[p.index])
            squares, share = self._squares(away), self._squares(p.w) / safe**2
            few = share > 0.6  # all but one block: nothing is known of how it scatters
            plain = p.sums((p.w * (p.z - p.u)) ** 2)
            own = np.where(few, plain, squares / np.where(few, 1.0, 1.0 - share)) / safe**2
            variance = np.maximum(variance, own)
        out: Array = np.sqrt(variance)
        return out

    def _squares(self, values: Array) -> Array:
        """Sums by bin of squares: of what rows have, or clusters in sum."""
        if self.blocks.clustered:
            return self.bins.block_squares(self.blocks, values)
        return self.bins.sums(values**2)

    @cached_property
    def _outcome_size(self) -> float:
        """How many rows one outcome counts as, where labels are soft or rows belong together."""
        p = self.bins
        away = p.w * (p.z - p.u - self.gap[p.index])
        squares, inside = float((away**2).sum()), float((p.w**2 * p.z * (1.0 - p.z)).sum())
        size = dispersion(squares, inside)
        if self.blocks.clustered:
            size *= design_effect(squares, float(self._squares(away).sum()))
        return size

    @cached_property
    def _rare(self) -> RareEvents:
        p = self.bins
        return rare_events(p.weight, p.squares, self._mean, self._outcome_size)

    def _with_rare_events(
        self, noise: Array, rng: np.random.Generator, weights: Array | None = None
    ) -> Array | None:
        """Residuals with outcomes drawn from the predictions in their place, in bins whose events
        are rare; None if no bin's are, if all are drawn anyway, or if bins are too many to be drawn
        twice. `weights` are those of bins in resamples of the rows.
        """
        if self.outcomes or self.votes is not None or not self.small:
            return None
        rare, rates = self._rare, self._mean
        if rare.bins.size == 0:
            return None
        out = noise.copy()
        out[:, rare.bins] = rare.noise(rates, noise.shape[0], rng)
        if weights is not None:  # a resample with fewer of the rows scatters less
            out[:, rare.bins] *= share_root(weights[:, rare.bins], rare.weight)
        return out

    # --- draws -----------------------------------------------------------------------------------

    @cached_property
    def _weights(self) -> Array:
        """The weight of every bin in each resample of the rows."""
        if not self.small or self.votes is not None:
            return np.broadcast_to(self.bins.weight, (self.n_draws, self.bins.size))
        counts = self.blocks.resamples(self.n_draws, self.seed)
        weights = counts @ self.bins.weight_of_blocks(self.blocks)
        return weights if self.bins.alike == 1 else np.repeat(weights, self.bins.alike, axis=1)

    @cached_property
    def _noise(self) -> Array:
        """How residuals scatter about their means."""
        p, rng = self.bins, np.random.default_rng((self.seed, 3))
        centre = thresholded(self.gap, self.scale, 1.0)
        if self.luck is not None and self.outcomes and p.n * self.n_draws <= DRAWN_LABELS:
            # Where bins hold a row or two, what they saw is luck: the smooth fit tells the rates.
            return self._label_noise(self.luck, "noise", self.n_draws)
        if not self.small:
            out: Array = rng.standard_normal((self.n_draws, p.size)) * (self.scale * p.weight)
            return out
        if self.votes is not None:
            moved_by = p.of_blocks(self.blocks, p.w * self.votes.residual)
            return self.blocks.signs(self.n_draws, rng) @ moved_by
        away = p.of_blocks(self.blocks, p.w * (p.z - p.u - centre[p.index]))
        counts = self.blocks.resamples(self.n_draws, self.seed)
        wider = self.blocks.widened(p.w.max(axis=1))
        noise: Array = wider * ((counts - 1.0) @ away)
        if self.outcomes:
            # Of events that are expected once or never, the rows seen do not tell the scatter.
            expected = np.maximum(p.sums(p.w * p.u) + p.weight * centre, 0.0)
            each = np.divide(p.squares, p.weight, out=np.ones(p.size), where=p.weight > 0)
            few = (expected < FEW_EVENTS * each) & (p.weight > 0)
            events = expected[few] / each[few]
            noise[:, few] = (rng.poisson(events, (self.n_draws, events.size)) - events) * each[few]
        return noise

    @cached_property
    def _rare_noise(self) -> Array | None:
        """The same with drawn outcomes in bins whose events are rare; None if no bin's are."""
        rng = np.random.default_rng((self.seed, 4))
        return self._with_rare_events(self._noise, rng, self._weights)

    def nulls(self, n_draws: int) -> list[Array]:
        """Residuals of every bin when the predictions are right, by what was seen and, where events
        are rare, by a model too.
        """
        seen, rng = self._null(n_draws), np.random.default_rng((self.seed, 7))
        rare = self._with_rare_events(seen, rng)
        return [seen] if rare is None else [seen, rare]

    def _null(self, n_draws: int) -> Array:
        p, rng = self.bins, np.random.default_rng((self.seed, 6))
        if self.luck is not None and self.outcomes and p.n * n_draws <= DRAWN_LABELS:
            return self._label_noise(self.luck, "null", n_draws)
        if self.outcomes:
            each = np.divide(p.squares, p.weight, out=np.ones(p.size), where=p.weight > 0)
            trials = np.maximum(1, np.rint(p.weight / each)).astype(np.int64)
            rate = np.clip(p.mean(p.u), 0.0, 1.0)
            out: Array = (rng.binomial(trials, rate, (n_draws, p.size)) / trials - rate) * p.weight
            return out
        residual = p.w * (p.z - p.u)
        if self.small:
            noise = self.blocks.signs(n_draws, rng) @ p.of_blocks(self.blocks, residual)
        else:
            squares, rare = self._squares(residual), self._rare.bins
            outcomes = p.sums(p.w * p.w * p.u * (1.0 - p.u))
            squares[rare] = self._outcome_size * outcomes[rare]
            noise = rng.standard_normal((n_draws, p.size)) * np.sqrt(squares)
        return noise

    def _label_noise(self, luck: Luck, what: str, n_draws: int) -> Array:
        """Residuals of drawn labels, about their means."""
        p = self.bins
        out = p.of_labels(luck.labels(what, n_draws))
        out -= p.sums(p.w * luck.rates(what))
        return out

    # --- members ---------------------------------------------------------------------------------

    def grid(self, shape: str) -> list[float]:
        """The members of a family that are tried, the worst first."""
        if shape == "sure" and not (np.abs(self.gap) > SURE * self.scale).any():
            return []
        if shape == "smooth":
            return [] if self.smooth is None else [-factor for factor in FACTORS]
        grid = [t for t in MEMBERS if t < self.last]
        while grid[-1] < self.last:
            grid.append(min(self.last, 1.6 * grid[-1]) if grid[-1] >= MEMBERS[-1] else self.last)
        return grid

    @cached_property
    def _mean(self) -> Array:
        return self.bins.mean(self.bins.u)

    def gaps(self, shape: str, t: float) -> Array:
        """The gap of each bin in the member t."""
        if shape == "smooth":
            assert self.smooth is not None
            gap = -t * self.smooth
        else:
            gap = moved(self.gap, self.scale, self._mean, t)
            if shape == "sure":
                gap = np.where(np.abs(self.gap) > SURE * self.scale, gap, 0.0)
        return np.clip(gap, -self._mean, 1.0 - self._mean)

    def truth(self, gap: Array, errors: Errors) -> float:
        """The true error where bins have these gaps."""
        weight = self.bins.weight
        return float(errors((weight * gap)[None], weight[None])[0])

    def drawn(self, gap: Array, errors: Errors) -> Iterator[Array]:
        """Errors of samples from where bins have these gaps; where events are rare, by a model of
        how they scatter too.
        """
        hard = self.bins.hard and not self.outcomes and self.votes is None
        centre = self._mean + thresholded(self.gap, self.scale, 1.0)
        for noise, rates in ((self._noise, centre), (self._rare_noise, self._mean)):
            if noise is not None:
                more = scatter_ratio(rates, self._mean + gap) if hard else 1.0
                yield errors(self._weights * gap + noise * more, self._weights)
