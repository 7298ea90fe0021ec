"""Blocks of rows that are resampled whole: clusters, or rows dealt out at random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant._core.typing import Array, Index
from calibrant._inference.budget import MAX_BLOCKS
from calibrant._inference.numbers import FEW_CLUSTERS, MOST_WIDENED_CLUSTERS

# Of few clusters the scatter is known as badly as Student's t says at this quantile.
TAIL, NORMAL = 0.975, 1.959963984540054
_WEBB = np.sqrt([0.5, 1.0, 1.5])


def summed(index: Index, values: Array, size: int) -> Array:
    """Sums of values that share an index."""
    return np.bincount(index, values, size).astype(np.float64, copy=False)


def effective(w: Array, groups: Index | None = None) -> float:
    """How many rows of equal weight, or clusters of equal weight, these are worth (Kish)."""
    of_each = w if groups is None else np.bincount(groups, w)
    return float(of_each.sum()) ** 2 / float((of_each**2).sum())


@dataclass(frozen=True, eq=False)
class Blocks:
    """The block of every row, and its cluster, where rows belong together."""

    index: Index
    size: int
    groups: Index | None

    @property
    def clustered(self) -> bool:
        return self.groups is not None

    def widened(self, weights: Array) -> float:
        """The factor for residuals that are to scatter as blocks of these weights would again: they
        saw their own mean, and of few clusters the quantiles are Student's.
        """
        return float(np.sqrt(self.size / max(1.0, self.size - 1.0))) * self.student(weights)

    def student(self, weights: Array | None) -> float:
        """Student's 97.5 % quantile over the normal one, for the effective number of clusters; 1
        without clusters, and at most a limit.
        """
        if self.groups is None:
            return 1.0
        from scipy.special import stdtrit

        worth = effective(np.ones(self.index.size) if weights is None else weights, self.groups)
        student = float(stdtrit(max(worth - 1.0, 1.0), TAIL)) / NORMAL
        return min(student, MOST_WIDENED_CLUSTERS)

    def signs(self, n_draws: int, rng: np.random.Generator) -> Array:
        """A random factor of mean 0 and variance 1 for each block in each draw."""
        shape = (n_draws, self.size)
        signs: Array = rng.integers(0, 2, shape).astype(np.float64) * 2.0 - 1.0
        if self.size <= FEW_CLUSTERS:
            signs *= _WEBB[rng.integers(0, 3, shape)]
        return signs

    def sums(self, column: Index, n_columns: int, values: Array) -> Array:
        """Sums of what rows have, by block and column: (blocks, columns). Rows may have several
        columns each, (n, k).
        """
        block = self.index.reshape(-1, *[1] * (column.ndim - 1))
        sums = summed((block * n_columns + column).ravel(), values.ravel(), self.size * n_columns)
        return sums.reshape(self.size, n_columns)


def blocks_of(n: int, groups: Index | None, seed: int) -> Blocks:
    """Rows, or clusters of them, dealt into blocks."""
    units = n if groups is None else int(groups.max()) + 1
    block = np.arange(units)
    if units > MAX_BLOCKS:
        block = np.random.default_rng((seed, 2)).permutation(units) % MAX_BLOCKS
    index = block if groups is None else block[groups]
    return Blocks(index.astype(np.intp), min(units, MAX_BLOCKS), groups)


def as_groups(groups: Any, n: int) -> Index:
    """Names of groups as numbers from 0."""
    values = np.asarray(groups)
    if values.dtype == object:  # names of several types, or missing ones, have no order
        values = np.array([f"{type(v).__name__} {v}" for v in values])
    _, index = np.unique(values, return_inverse=True)
    return index.reshape(n).astype(np.intp)
