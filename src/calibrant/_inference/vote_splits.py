"""Votes against votes: one annotator against the rest, and half of the votes against the other
half.

Also a test of whether somebody votes as others do: a permutation test of the agreement with the
rest, in which the votes of an item are exchanged among those who gave them.
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
    """Some votes as predictions and other votes as targets, both as shares of the classes, (pairs,
    k).

    `row` is the row of the votes' table that each pair comes from, and `weight` the pair's weight.
    """

    predicted: Array
    target: Array
    row: Index
    weight: Array


def one_against_rest(counts: Counts) -> Split:
    """Every vote of a row as a certain prediction, against the shares of the row's other votes.

    `counts` are the votes by row and class, (n, k). The votes of a row have the total weight 1;
    rows of one vote are left out. Nothing is drawn.
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
    """Half of each row's votes, drawn without replacement, against the other half; of an odd number
    of votes one is not used, and rows of one vote are left out.
    """
    row = np.flatnonzero(counts.sum(axis=1) > 1)
    kept = counts[row]
    size = kept.sum(axis=1) // 2
    first = without_replacement(kept, size, rng)
    second = without_replacement(kept - first, size, rng)
    return Split(first / size[:, None], second / size[:, None], row, np.ones(len(row)))


def without_replacement(counts: Counts, size: Counts, rng: np.random.Generator) -> Counts:
    """Votes drawn without replacement from each row's own, by class, (n, k): `size` of each row."""
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
    """Pairs of splits, drawn from a population like that of the votes: half of a row's number of
    votes against as many, and the full number against as many.

    The population is Dirichlet with the mean of the shares and the agreement of two votes. For
    measures that are `means` over rows one large sample suffices; other measures depend on the
    number of rows.
    """
    votes = counts.sum(axis=1)
    several = votes > 1
    mean = (counts / votes[:, None]).mean(axis=0)
    population = population_of(mean, float(agreement(counts)[several].mean()))
    nonempty = np.flatnonzero(mean > 0)
    sizes = votes[several]
    if means:
        sizes = np.resize(sizes, max(SPLIT_ROWS, len(sizes)))
    n = len(sizes)
    for _ in range(min(SPLIT_DRAWS, max(1, SPLIT_ROWS // n))):
        q = np.zeros((n, counts.shape[1]))
        q[:, nonempty] = rng.dirichlet(mean[nonempty] * population.concentration, n)
        yield _drawn(q, sizes, rng)


def _drawn(q: Array, sizes: Counts, rng: np.random.Generator) -> tuple[Split, Split]:
    """Two samples of votes, drawn from the shares q, (n, k), against each other: first with half of
    each row's number `sizes` of votes, then with all.
    """
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
    """How often votes agree with the rest, the agreement that is expected of any votes on the same
    items, and the p-value of the difference.
    """

    value: float
    expected: float
    p_value: float
    # Votes on items that others voted on too.
    n_shared: int
    # The agreement by item, and the item's weight.
    per_item: Array
    weights: Array


def agreement_with_rest(own: Counts, counts: Counts, rng: np.random.Generator) -> Agreement:
    """How often the votes `own`, (items, k), agree with the other votes on the same items; `counts`
    are all votes, (items, k). NaN if no item has both.

    If voters are exchangeable, the votes of an item are assigned to them at random, and the
    expected agreement is that of two votes of the item. With one own vote an item the moments of
    the statistic have a formula; with several, assignments are drawn.
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
        deviation = (drawn - expected) @ weights
        variance, third = float((deviation**2).mean()), float((deviation**3).mean())
    p_value = _two_sided((value - mean) * total, variance, third)
    return Agreement(value, mean, p_value, int(many.sum()), per_item, weights)


def _agreeing(own: Counts, counts: Counts) -> Array:
    """The share of pairs (one of the own votes, one of the others) that agree, by
    item, (items,).
    """
    rest = counts - own
    pairs = (own * rest).sum(axis=1)
    return pairs / (own.sum(axis=1) * rest.sum(axis=1))


def _single_moments(counts: Counts, expected: Array) -> tuple[float, float]:
    """Variance and third central moment of the sum of agreements over items, with one own vote an
    item; `expected` is the expected agreement of each item.
    """
    votes = counts.sum(axis=1)[:, None]
    chance, others = counts / votes, (counts - 1) / (votes - 1)
    deviation = np.where(counts > 0, others - expected[:, None], 0.0)
    return float((chance * deviation**2).sum()), float((chance * deviation**3).sum())


def _two_sided(deviation: float, variance: float, third: float) -> float:
    """The two-sided p-value of a deviation from the mean, from the variance and the third central
    moment.
    """
    if variance <= 1e-15:  # all votes agree
        return 1.0
    error = math.sqrt(variance)
    skew = third / error**3
    x = deviation / error
    tail = gamma_tail(x, skew) if x > 0 else gamma_tail(-x, -skew)
    return min(1.0, 2.0 * tail)
