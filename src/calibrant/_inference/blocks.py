"""Blocks of rows that are resampled whole: clusters, or random blocks of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant._core.typing import Array, Index
from calibrant._inference.budget import MAX_BLOCKS
from calibrant._inference.numbers import FEW_CLUSTERS, MOST_WIDENED_CLUSTERS

_WEBB = np.sqrt([0.5, 1.0, 1.5])


def summed(index: Index, values: Array, size: int) -> Array:
    """Sums of the values that have the same index, (size,); the indices are from 0 to
    `size` - 1.
    """
    return np.bincount(index, values, size).astype(np.float64, copy=False)


def cluster_sums(rows: Array, groups: Index) -> Array:
    """Sums by cluster, (k, clusters), of a matrix (k, n) with a column for each row of data;
    `groups` is the cluster of each column.
    """
    return np.stack([np.bincount(groups, row) for row in rows])


def squared_weights(weights: Array, counts: Array | None) -> Array:
    """The sum of squared weights of the rows that each row stands for, (n,): `counts` rows share
    its weight equally; one row if None.
    """
    squares: Array = weights * weights
    return squares if counts is None else squares / np.where(counts > 0, counts, 1.0)


def effective(w: Array, groups: Index | None = None, counts: Array | None = None) -> float:
    """The effective number of rows with the weights w or, with `groups`, of clusters: as many of
    equal weight give a mean of the same variance (Kish). `counts` is how many equal rows each row
    stands for; one each if None.
    """
    if groups is None:
        return float(w.sum()) ** 2 / float(squared_weights(w, counts).sum())
    units = np.bincount(groups, w)
    return float(units.sum()) ** 2 / float((units**2).sum())


def student_factor(df: Any) -> Any:
    """Student's 97.5 % quantile over the normal one, for numbers of degrees of freedom."""
    from scipy.special import ndtri, stdtrit

    return stdtrit(df, 0.975) / ndtri(0.975)


@dataclass(frozen=True, eq=False)
class Blocks:
    """The blocks of rows that are resampled whole.

    `index` is the block of every row, `size` the number of blocks, and `groups` the cluster of
    every row; None for independent rows.
    """

    index: Index
    size: int
    groups: Index | None

    @property
    def clustered(self) -> bool:
        """Whether rows belong to clusters."""
        return self.groups is not None

    def noise_factor(self, weights: Array) -> float:
        """The factor from the spread of observed residuals to that of noise, for rows of these
        weights.

        It is sqrt(n / (n - 1)) for n blocks, since residuals are taken about their own mean, times
        Student's factor of few clusters.
        """
        return float(np.sqrt(self.size / max(1.0, self.size - 1.0))) * self.student(weights)

    def student(self, weights: Array | None) -> float:
        """Student's 97.5 % quantile over the normal one, for the effective number of clusters; 1
        without clusters, and at most `MOST_WIDENED_CLUSTERS`. `weights` are those of the rows, None
        if equal.
        """
        if self.groups is None:
            return 1.0
        units = effective(np.ones(self.index.size) if weights is None else weights, self.groups)
        student = float(student_factor(max(units - 1.0, 1.0)))
        return min(student, MOST_WIDENED_CLUSTERS)

    def signs(self, n_draws: int, rng: np.random.Generator) -> Array:
        """Random factors of mean 0 and variance 1, (draws, blocks), that the residuals of each
        block are multiplied by: 1 and -1, or Webb's six values where blocks are few.
        """
        shape = (n_draws, self.size)
        signs: Array = rng.integers(0, 2, shape).astype(np.float64) * 2.0 - 1.0
        if self.size <= FEW_CLUSTERS:
            signs *= _WEBB[rng.integers(0, 3, shape)]
        return signs

    def sums(self, column: Index, n_columns: int, values: Array) -> Array:
        """Sums of values by block and column, (blocks, columns).

        `column` is the column (such as a bin) that each value is added to, from 0 to `n_columns` -
        1. Both are (n,), or (n, k) where a row has k values.
        """
        block = self.index.reshape(-1, *[1] * (column.ndim - 1))
        sums = summed((block * n_columns + column).ravel(), values.ravel(), self.size * n_columns)
        return sums.reshape(self.size, n_columns)


def blocks_of(n: int, groups: Index | None, seed: int) -> Blocks:
    """The blocks of n rows: each row, or each cluster in `groups`, is one; if there are more than
    `MAX_BLOCKS`, they are grouped into that many at random.
    """
    units = n if groups is None else int(groups.max()) + 1
    block = np.arange(units)
    if units > MAX_BLOCKS:
        block = np.random.default_rng((seed, 2)).permutation(units) % MAX_BLOCKS
    index = block if groups is None else block[groups]
    return Blocks(index.astype(np.intp), min(units, MAX_BLOCKS), groups)


def as_groups(groups: Any, n: int) -> Index:
    """The group of each of n rows as a number from 0, (n,); `groups` are names of any type."""
    values = np.asarray(groups)
    if values.dtype == object:  # names of several types, or missing ones, have no order
        values = np.array([f"{type(v).__name__} {v}" for v in values])
    _, index = np.unique(values, return_inverse=True)
    return index.reshape(n).astype(np.intp)
