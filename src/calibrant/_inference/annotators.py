"""Whether somebody votes as others do: agreement with the rest, and its law when votes of an item
are exchanged among those who gave them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from calibrant._core.typing import Array, Counts
from calibrant._inference.bayes_error import agreement
from calibrant._inference.budget import EXCHANGES
from calibrant._inference.tails import upper_chance
from calibrant._inference.vote_splits import without_replacement


@dataclass(frozen=True, eq=False)
class Agreement:
    """How often votes agree with the rest, what any votes of the same items would, and the chance
    of a difference as large.
    """

    value: float
    expected: float
    p_value: float
    # Votes on items that others voted on too.
    n_shared: int
    # What each item adds, and its weight.
    per_item: Array
    weights: Array


def agreement_with_rest(own: Counts, counts: Counts, rng: np.random.Generator) -> Agreement:
    """Of some votes (items, k) with the other votes on the same items, out of all `counts`.

    If those who vote are exchangeable, the votes of an item are handed out at random: the mean is
    then the agreement of two votes of the item. For single votes the law's moments are summed; for
    several by one group votes are handed out.
    """
    many, rest = own.sum(axis=1), (counts - own).sum(axis=1)
    shared = (many > 0) & (rest > 0)
    own, counts, many, rest = own[shared], counts[shared], many[shared], rest[shared]
    if not len(own):
        return Agreement(math.nan, math.nan, math.nan, 0, np.empty(0), np.empty(0))
    weights = many.astype(np.float64)
    per_item = _agreeing(own, counts)
    expected = agreement(counts)
    total = weights.sum()
    value, mean = (float((weights * each).sum() / total) for each in (per_item, expected))
    if (many == 1).all():
        variance, third = _single_moments(counts, expected)
    else:
        drawn = np.empty((EXCHANGES, len(own)))
        for each in drawn:
            each[:] = _agreeing(without_replacement(counts, many, rng), counts)
        away = (drawn - expected) @ weights
        variance, third = float((away**2).mean()), float((away**3).mean())
    p_value = _two_sided((value - mean) * total, variance, third)
    return Agreement(value, mean, p_value, int(many.sum()), per_item, weights)


def _agreeing(own: Counts, counts: Counts) -> Array:
    """The share of pairs, one vote of either side, that agree."""
    rest = counts - own
    pairs = (own * rest).sum(axis=1)
    return pairs / (own.sum(axis=1) * rest.sum(axis=1))


def _single_moments(counts: Counts, expected: Array) -> tuple[float, float]:
    """Variance and third central moment of a sum over items of one vote each."""
    votes = counts.sum(axis=1)[:, None]
    chance, others = counts / votes, (counts - 1) / (votes - 1)
    away = np.where(counts > 0, others - expected[:, None], 0.0)
    return float((chance * away**2).sum()), float((chance * away**3).sum())


def _two_sided(away: float, variance: float, third: float) -> float:
    """The chance of a distance from the mean as large, on either side."""
    if variance <= 1e-15:  # everybody agrees on everything: nothing to tell anyone apart by
        return 1.0
    spread = math.sqrt(variance)
    skew = third / spread**3
    x = away / spread
    tail = upper_chance(x, skew) if x > 0 else upper_chance(-x, -skew)
    return min(1.0, 2.0 * tail)
