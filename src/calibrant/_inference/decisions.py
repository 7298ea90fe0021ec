"""Net benefit of acting at a threshold, with limits, for models on the same rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibrant._core.typing import Array, Index, Mask
from calibrant._inference.few_events import poisson_limits
from calibrant._inference.means import Influences, influences, mean_limits
from calibrant._inference.numbers import FEW_EVENTS


@dataclass(frozen=True, eq=False)
class Outcomes:
    """What all models share: the outcome `z`, the weight `w` (None if equal) and the cluster of
    every row, and how many equal rows each stands for (None for one each), with their weight.
    """

    z: Array
    w: Array | None
    groups: Index | None
    counts: Array | None = None

    @property
    def rows(self) -> Array:
        """How many equal rows each row stands for, (n,)."""
        return np.ones(self.z.size) if self.counts is None else self.counts

    @cached_property
    def happened(self) -> Mask | None:
        """Whether the event happened in each row; None where labels are soft."""
        return self.z == 1.0 if np.isin(self.z, (0.0, 1.0)).all() else None

    @cached_property
    def total(self) -> float:
        """The weight of all rows."""
        return float(self.z.size if self.w is None else self.w.sum())

    def mean(self, values: Array) -> float:
        """The weighted mean over rows of values (n,)."""
        return float(values.sum() if self.w is None else self.w @ values) / self.total


@dataclass(frozen=True, eq=False)
class Acted:
    """A strategy at a threshold: the rows that it acts on, its net benefit, and the influence of
    each row or cluster on the net benefit.

    `always` is True for the strategy of acting on every row, False for that of acting on none, and
    None for a model.
    """

    positive: Mask
    value: float
    influences: Influences
    always: bool | None = None

    @classmethod
    def from_rows(
        cls,
        positive: Mask,
        outcomes: Outcomes,
        threshold: float,
        always: bool | None = None,
    ) -> Acted:
        """The strategy of acting on the rows `positive`, with its net benefit at a threshold."""
        # Acting on a row gains 1 for an event and loses the odds of the threshold otherwise.
        z, odds = outcomes.z, threshold / (1.0 - threshold)
        rows = np.where(positive, z - odds * (1.0 - z), 0.0)
        parts = influences(rows, outcomes.w, outcomes.groups, outcomes.counts)
        return cls(positive, outcomes.mean(rows), parts, always)


def gain_limits(
    first: Acted, second: Acted, outcomes: Outcomes, threshold: float, level: float
) -> tuple[float, float, float]:
    """The net benefit of the first strategy less that of the second, then its lower and upper
    limit.
    """
    gain = first.value - second.value
    low, high, _ = mean_limits(first.influences.less(second.influences), level)
    least, most = _few_discordant_limits(first, second, outcomes, threshold, level)
    return gain, gain + min(low, least), gain + max(high, most)


def _few_discordant_limits(
    first: Acted, second: Acted, outcomes: Outcomes, threshold: float, level: float
) -> tuple[float, float]:
    """The lower and the upper limit of a gain, less the gain, that its interval must reach to; 0
    and 0 where nothing is rare, and where labels are soft.

    The gain depends on the discordant rows, which one strategy acts on and the other does not. With
    few events or non-events among them the sample variance is unreliable, so each of the four
    numbers gets Poisson limits, which are combined as squares (Zou and Donner, 2008,
    doi:10.1002/sim.3095).
    """
    happened, w = outcomes.happened, outcomes.w
    if happened is None:
        return 0.0, 0.0
    odds = threshold / (1.0 - threshold)
    few, below, above = False, 0.0, 0.0
    for one, other, sign in ((first, second, 1.0), (second, first, -1.0)):
        if one.always is False or other.always is True:
            continue  # there can be no such rows
        discordant = one.positive & ~other.positive
        kinds = ((discordant & happened, sign), (discordant & ~happened, -sign * odds))
        for own, benefit in kinds:
            n = round(float(outcomes.rows[own].sum()))
            few |= n < FEW_EVENTS
            some = own if n else slice(None)
            each = 1.0 if w is None else float(w[some].sum() / outcomes.rows[some].sum())
            step = benefit * each / outcomes.total
            down, up = sorted((count - n) * step for count in poisson_limits(n, level))
            below, above = below + down * down, above + up * up
    return (-math.sqrt(below), math.sqrt(above)) if few else (0.0, 0.0)
