"""The patterns that m votes of a row can have, and their probabilities given the true shares."""

from __future__ import annotations

from functools import cached_property, lru_cache
from math import factorial

import numpy as np
from numpy.typing import NDArray

from calibrant._core.distances import entropy
from calibrant._core.typing import Array, Counts
from calibrant._inference.budget import DEGREES, PATTERNS, SORTED_SHARES, SUBSETS, TRUE_SHARES
from calibrant._inference.vote_splits import without_replacement

Partition = tuple[int, ...]


class Binomial:
    """The patterns of `degree` votes for or against one class: how many are for it, 0 to `degree`.

    `values` are true shares of the class at which bounds are compared with the bounded function,
    and `pattern_values` is the observed share of each pattern.
    """

    def __init__(self, degree: int) -> None:
        """The experiment with `degree` votes, and its grid of true shares."""
        self.degree = degree
        self.values: Array = 0.5 - 0.5 * np.cos(np.pi * np.arange(TRUE_SHARES + 1) / TRUE_SHARES)
        # A distance may be discontinuous at 1/2.
        self.values = np.sort(np.append(self.values, [0.5 - 1e-9, 0.5 + 1e-9]))
        self.pattern_values: Array = np.arange(degree + 1) / degree if degree else np.array([0.5])

    @cached_property
    def chances(self) -> Array:
        """The probability of every pattern at each true share in `values`, (patterns, values)."""
        return self.chances_of(self.values)

    def chances_of(self, q: Array) -> Array:
        """The binomial probability of every number of votes for the class, (degree + 1, shares), if
        its true share is q, (shares,).
        """
        from scipy.special import comb

        count, share = np.arange(self.degree + 1)[:, None], np.clip(q, 0.0, 1.0)
        rest = self.degree - count
        return comb(self.degree, count) * share**count * (1.0 - share) ** rest

    def patterns(self, counts: Counts, m: Counts) -> Array:
        """The distribution, (rows, degree + 1), of the number of votes for the class among `degree`
        votes drawn from each row's own: hypergeometric.

        `counts` are the row's votes for the class, `m` all its votes.
        """
        from scipy.special import comb

        drawn, own, votes = np.arange(self.degree + 1), counts[:, None], m[:, None]
        ways = comb(own, drawn) * comb(votes - own, self.degree - drawn)
        return ways / comb(votes, self.degree)


class Unlabelled:
    """The patterns of `degree` votes for k classes without regard to which class is which: the
    numbers of votes in decreasing order.

    `values` are the entropies of the true shares at which bounds are compared with the bounded
    function, and `pattern_values` is the entropy of each pattern's shares.
    """

    def __init__(self, degree: int, k: int, predictions: Array) -> None:
        """The experiment with `degree` votes for k classes; some `predictions`, (n, k), are among
        its true shares.
        """
        self.degree, self.k = degree, k
        self._partitions = partitions(degree, k)
        self._number = {each: j for j, each in enumerate(self._partitions)}
        self.pattern_values = entropy(_padded(self._partitions, k) / max(degree, 1))
        self._shares = self._true_shares(predictions)
        self.values = entropy(self._shares)

    def _true_shares(self, predictions: Array) -> Array:
        """Shares in decreasing order, (points, k), at which bounds are compared with the bounded
        function: a lattice, equal shares of some classes, and some of the predictions.
        """
        fine = 1
        while n_partitions(fine + 1, self.k) <= SORTED_SHARES:
            fine += 1
        lattice = _padded(partitions(fine, self.k), self.k) / fine
        equal = np.tril(np.ones((self.k, self.k))) / np.arange(1, self.k + 1)[:, None]
        some = predictions[:: max(1, len(predictions) // SORTED_SHARES)]
        return np.concatenate([lattice, equal, _sorted(some)])

    @cached_property
    def chances(self) -> Array:
        """The probability of every pattern at each of the true shares, (patterns, points)."""
        return self.chances_of(self._shares)

    def chances_of(self, q: Array) -> Array:
        """The probability of every pattern, (patterns, rows), for true shares q, (rows, k)."""
        powers = [np.ones(len(q)), *((q**j).sum(axis=1) for j in range(1, self.degree + 1))]
        known: dict[Partition, Array] = {(): powers[0]}
        return np.stack([_ways(each) * _distinct(each, powers, known) for each in self._partitions])

    def patterns(self, counts: Counts, m: Counts) -> Array:
        """The distribution of patterns, (rows, patterns), among `degree` votes drawn from each
        row's own.

        `counts` are the votes by class, (rows, k), `m` the number of each row's votes. The
        distribution comes from `SUBSETS` drawn subsets.
        """
        out, rng = np.zeros((len(counts), len(self._partitions))), np.random.default_rng(23)
        size = np.full(len(counts), self.degree)
        draws = SUBSETS if (m > self.degree).any() else 1
        for _ in range(draws):
            some = without_replacement(counts, size, rng) if draws > 1 else counts
            number = [self._number[tuple(row[row > 0].tolist())] for row in _sorted(some)]
            out[np.arange(len(counts)), number] += 1.0 / draws
        return out


def unlabelled_degrees(k: int) -> tuple[int, ...]:
    """The numbers of votes for k classes that have at most `PATTERNS` sorted patterns."""
    return tuple(d for d in DEGREES if n_partitions(d, k) <= PATTERNS)


@lru_cache(maxsize=4096)
def n_partitions(total: int, parts: int) -> int:
    """The number of ways to write `total` as a sum of at most `parts` positive integers."""
    if total == 0 or parts == 0:
        return int(total == 0)
    fewer = n_partitions(total, parts - 1)
    return fewer + (n_partitions(total - parts, parts) if total >= parts else 0)


@lru_cache(maxsize=256)
def partitions(total: int, parts: int, largest: int | None = None) -> tuple[Partition, ...]:
    """All ways to write `total` as a sum of at most `parts` positive integers, each in decreasing
    order and none above `largest`.
    """
    if total == 0:
        return ((),)
    if parts == 0:
        return ()
    top = total if largest is None else min(total, largest)
    return tuple(
        (first, *rest)
        for first in range(top, 0, -1)
        for rest in partitions(total - first, parts - 1, first)
    )


def _padded(patterns: tuple[Partition, ...], k: int) -> Array:
    """The partitions as an array (partitions, k), each filled up with 0."""
    return np.array([[*each, *[0] * (k - len(each))] for each in patterns], dtype=np.float64)


def _sorted(rows: NDArray[np.generic]) -> NDArray[np.generic]:
    """The array with each row in decreasing order."""
    return np.sort(rows, axis=1)[:, ::-1]


def _ways(pattern: Partition) -> float:
    """The number of ways to distribute votes to the given parts, with equal parts interchangeable:
    a multinomial coefficient over the permutations of equal parts.
    """
    out = factorial(sum(pattern))
    for part in pattern:
        out //= factorial(part)
    for part in set(pattern):
        out //= factorial(pattern.count(part))
    return float(out)


def _distinct(pattern: Partition, powers: list[Array], known: dict[Partition, Array]) -> Array:
    """The monomial symmetric function of a pattern: the sum, over choices of distinct classes, of
    products of their shares to the powers of the pattern.

    `powers` holds the sums over classes of shares to the power 0, 1, 2 and so on, and `known` the
    patterns computed before, to which this one is added. Products of power sums are reduced by the
    terms in which a class occurs twice.
    """
    if pattern not in known:
        *rest, last = pattern
        out = powers[last] * _distinct(tuple(rest), powers, known)
        for j in range(len(rest)):
            merged = [*rest]
            merged[j] += last
            out = out - _distinct(tuple(sorted(merged, reverse=True)), powers, known)
        known[pattern] = np.maximum(out, 0.0)
    return known[pattern]
