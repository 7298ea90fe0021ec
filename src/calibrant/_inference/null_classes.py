"""What errors over all classes show when the predictions are exactly right."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibrant._core.typing import Array
from calibrant._engines.arrays.draws import MOST_LABELS, Labels, draw_labels
from calibrant._inference.blocks import Blocks
from calibrant._inference.budget import BLOCK_ENTRIES, DRAWN_LABELS
from calibrant._inference.cells import design_effect, dispersion
from calibrant._inference.class_bins import ClassBins
from calibrant._inference.scatter import RareEvents, rare_events


@dataclass(eq=False)
class LabelDraws:
    """Labels of all rows drawn from the predictions (n, k), the same for every error."""

    predictions: Array
    n_draws: int
    seed: int

    @cached_property
    def rates(self) -> Array:
        """The chances of labels, (n, k)."""
        total = self.predictions.sum(axis=1, keepdims=True)
        return self.predictions / np.maximum(total, 1e-300)

    @cached_property
    def labels(self) -> Labels:
        """The labels, (draws, n)."""
        return draw_labels(self.rates, self.n_draws, (self.seed, 6))


def can_draw_labels(bins: ClassBins, n_classes: int, n_draws: int) -> bool:
    """Whether labels are drawn row by row: of all classes, and not of some of them alone."""
    few = bins.n * n_draws <= DRAWN_LABELS
    return few and bins.u.shape[1] == n_classes <= MOST_LABELS


@dataclass(frozen=True, eq=False)
class ClassNull:
    """Residuals of every class's bins when the predictions are right."""

    bins: ClassBins
    blocks: Blocks
    n_draws: int
    seed: int
    drawn: LabelDraws | None = None

    def residuals(self) -> list[Array]:
        """Residuals (draws, bins) by what was seen and, where events are rare, by a model too."""
        seen = self._seen()
        rare = self._with_rare_events(seen)
        return [seen] if rare is None else [seen, rare]

    @property
    def _outcomes(self) -> bool:
        """Whether labels are outcomes that predictions tell the chances of."""
        return self.bins.y is not None and not self.blocks.clustered

    @property
    def _small(self) -> bool:
        return self.blocks.size * self.bins.size <= BLOCK_ENTRIES

    def _seen(self) -> Array:
        p, rng = self.bins, np.random.default_rng((self.seed, 6))
        if self.drawn is not None and self._outcomes:
            out = p.of_labels(self.drawn.labels)
            out -= p.sums(p.w * self.drawn.rates)
            return out
        if self._outcomes:
            each = np.divide(p.squares, p.weight, out=np.ones(p.size), where=p.weight > 0)
            trials = np.maximum(1, np.rint(p.weight / each)).astype(np.int64)
            rate = np.clip(p.mean(p.u), 0.0, 1.0)
            hits = rng.binomial(trials, rate, (self.n_draws, p.size))
            return (hits / trials - rate) * p.weight
        residual = p.w * (p.z - p.u)
        if self._small:
            sums = self.blocks.sums(p.index, p.size, residual)
            return self.blocks.signs(self.n_draws, rng) @ sums
        squares, rare = self._squares(residual), self._rare.bins
        outcomes = p.sums(p.w * p.w * p.u * (1.0 - p.u))
        squares[rare] = self._outcome_size * outcomes[rare]
        return rng.standard_normal((self.n_draws, p.size)) * np.sqrt(squares)

    def _with_rare_events(self, noise: Array) -> Array | None:
        """Residuals with outcomes drawn from the predictions in their place, in bins whose events
        are rare; None if no bin's are, if all are drawn anyway, or if bins are too many.
        """
        if self._outcomes or not self._small or self._rare.bins.size == 0:
            return None
        out, rng = noise.copy(), np.random.default_rng((self.seed, 7))
        out[:, self._rare.bins] = self._rare.noise(self._mean, len(noise), rng)
        return out

    @cached_property
    def _mean(self) -> Array:
        return self.bins.mean(self.bins.u)

    @cached_property
    def _rare(self) -> RareEvents:
        return rare_events(self.bins.weight, self.bins.squares, self._mean, self._outcome_size)

    @cached_property
    def _outcome_size(self) -> float:
        """How many rows one outcome counts as, where labels are soft or rows belong together."""
        p = self.bins
        away = p.w * (p.z - p.u - p.mean(p.z - p.u)[p.index])
        squares, inside = float((away**2).sum()), float((p.w**2 * p.z * (1.0 - p.z)).sum())
        size = dispersion(squares, inside)
        if self.blocks.clustered:
            size *= design_effect(squares, float(self._squares(away).sum()))
        return size

    def _squares(self, values: Array) -> Array:
        """Sums by bin of squares: of what rows have, or clusters in sum."""
        if self.blocks.clustered:
            return self.bins.block_squares(self.blocks, values)
        return self.bins.sums(values**2)
