"""Votes against votes: one annotator against the rest, half of the votes against the other half."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from calibrant._core.typing import Array, Counts, Index
from calibrant._inference.bayes_error import agreement, population_of
from calibrant._inference.budget import SPLIT_DRAWS, SPLIT_ROWS


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
