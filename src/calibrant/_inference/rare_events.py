"""How the outcomes of bins scatter in which few events are expected.

What was seen of them does not tell: of ten bins that expect a tenth of an event each, nine have
seen none, and their residuals hardly scatter at all. So there outcomes are drawn from a rate: fewer
and larger ones where clusters have them together, more and smaller ones where labels are soft.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant._core.typing import Array, Counts, Index
from calibrant._inference.numbers import FEW_EVENTS


@dataclass(frozen=True, eq=False)
class RareEvents:
    """The bins in which few events, or few failures, are expected: `weight` is theirs, `trials` how
    many independent outcomes they are worth.
    """

    bins: Index
    weight: Array
    trials: Counts

    def within(self, bins: Index) -> tuple[Index, Index]:
        """Which cells are in one of these bins, and in which, if cells have these `bins`."""
        place = np.full(int(bins.max(initial=-1)) + 1, -1)
        place[self.bins] = np.arange(self.bins.size)
        own = np.flatnonzero(place[bins] >= 0)
        return own, place[bins[own]]

    def noise(self, rates: Array, n_draws: int, rng: np.random.Generator) -> Array:
        """Residuals about the rates of all bins, of these: (draws, bins)."""
        rate = np.clip(rates[self.bins], 0.0, 1.0)
        drawn = rng.binomial(self.trials, rate, (n_draws, self.bins.size))
        return self.weight * (drawn / self.trials - rate)


def rare_events(weight: Array, squares: Array, rates: Array, size: float) -> RareEvents:
    """The rare events of bins with these sums of weights and of their squares; one outcome counts
    as `size` rows.
    """
    each = np.divide(squares, weight, out=np.ones(weight.size), where=weight > 0) * size
    rare = np.minimum(rates, 1.0 - rates)
    bins = np.flatnonzero((weight * rare < FEW_EVENTS * each) & (weight > 0))
    trials = np.maximum(1, np.rint(weight[bins] / each[bins])).astype(np.int64)
    return RareEvents(bins, weight[bins], trials)


def dispersion(squares: float, inside: float) -> float:
    """The variance of targets as a share of what outcomes with their means have.

    `squares` is the sum of squared residuals, `inside` of z (1 - z): of outcomes 0, and in the mean
    the two are together what outcomes have, however many events were seen.
    """
    return min(max(squares / max(squares + inside, 1e-300), 1e-9), 1.0) if inside > 0 else 1.0


def design_effect(squares: float, of_blocks: float) -> float:
    """How many rows go together, from the sums of squared residuals of rows and of clusters."""
    return max(1.0, of_blocks / max(squares, 1e-300))
