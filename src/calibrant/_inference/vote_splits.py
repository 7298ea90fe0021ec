"""Votes against votes: one annotator against the rest, half of the votes against the other half;
and whether somebody votes as others do, by the law of agreement when the votes of an item are
exchanged among those who gave them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from calibrant._core.typing import Array, Counts, Index
from calibrant._inference.bayes_error import agreement, population_of
from calibrant._inference.budget import EXCHANGES, SPLIT_DRAWS, SPLIT_ROWS
from calibrant._inference.tails import gamma_tail


@dataclass(frozen=True, eq=False)
class Split:
    """Votes as predictions and votes as targets, shares (rows, k) both; which row of the counts
    each is of, and its weight.
    """

    predicted: Array
    target: Array
    row: Index
    weight: Array


def one_against_rest(counts: Counts) -> Split:
    """Every vote of a row as a certain prediction, against the shares of the others; a row's votes
    weigh 1 together. All of them, so nothing is drawn.
    """
    votes = counts.sum(axis=1)
    row, voted = np.nonzero((counts > 0) & (votes[:, None] > 1))
    predicted = np.zeros((len(row), counts.shape[1]))
    predicted[np.arange(len(row)), voted] = 1.0
    rest = counts[row] - predicted
    return Split(
        predicted, rest / (votes[row] - 1.0)[:, None], row, counts[row, voted] / votes[row]
    )


def halves(counts: Counts, rng: np.random.Generator) -> Split:
    """Half of a row's votes, drawn without replacement, against another half; of an odd number one
    is left out.
    """
    row = np.flatnonzero(counts.sum(axis=1) > 1)
    kept = counts[row]
    size = kept.sum(axis=1) // 2
    first = without_replacement(kept, size, rng)
    second = without_replacement(kept - first, size, rng)
    return Split(first / size[:, None], second / size[:, None], row, np.ones(len(row)))


def without_replacement(counts: Counts, size: Counts, rng: np.random.Generator) -> Counts:
    """Some votes of each row: hypergeometric, class by class."""
    out = np.zeros_like(counts)
    left, wanted = counts.sum(axis=1), size.copy()
    for r in range(counts.shape[1]):
        left = left - counts[:, r]
        out[:, r] = rng.hypergeometric(counts[:, r], left, wanted)
        wanted = wanted - out[:, r]
    return out


def grown(
    counts: Counts, rng: np.random.Generator, *, means: bool
) -> Iterator[tuple[Split, Split]]:
    """Pairs of splits in a population like that of the votes: of half as many votes against as
    many, and of as many against as many.

    The population is the Dirichlet one with the mean of the shares and the agreement of two votes.
    Of `means` of rows one large draw will do; other measures depend on the number of rows.
    """
    votes = counts.sum(axis=1)
    several = votes > 1
    mean = (counts / votes[:, None]).mean(axis=0)
    population = population_of(mean, float(agreement(counts)[several].mean()))
    seen = np.flatnonzero(mean > 0)
    sizes = votes[several]
    if means:
        sizes = np.resize(sizes, max(SPLIT_ROWS, len(sizes)))
    n = len(sizes)
    for _ in range(min(SPLIT_DRAWS, max(1, SPLIT_ROWS // n))):
        q = np.zeros((n, counts.shape[1]))
        q[:, seen] = rng.dirichlet(mean[seen] * population.concentration, n)
        yield _drawn(q, sizes, rng)


def _drawn(q: Array, sizes: Counts, rng: np.random.Generator) -> tuple[Split, Split]:
    """Two drawn samples of votes against each other: of half of their votes, and of all."""
    few = [rng.multinomial(sizes // 2, q) for _ in range(2)]
    many = [votes + rng.multinomial(sizes - sizes // 2, q) for votes in few]
    row, weight = np.arange(len(q)), np.ones(len(q))
    both = []
    for first, second in (few, many):
        size = first.sum(axis=1)[:, None]
        both.append(Split(first / size, second / size, row, weight))
    return both[0], both[1]


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
    tail = gamma_tail(x, skew) if x > 0 else gamma_tail(-x, -skew)
    return min(1.0, 2.0 * tail)
