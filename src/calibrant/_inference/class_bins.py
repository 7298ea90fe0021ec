"""The bins of errors over all classes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from calibrant._core.binning import LevelSets, Rule
from calibrant._core.typing import Array, Index
from calibrant._data.samples import Samples
from calibrant._engines.arrays.counting import class_columns
from calibrant._engines.arrays.draws import Labels, count_labels
from calibrant._inference.blocks import Blocks, summed
from calibrant._inference.budget import BLOCK_ENTRIES
from calibrant._inference.cells import Whole, above_threshold, problem_of
from calibrant._inference.means import distribution_rows


@dataclass(frozen=True, eq=False)
class BinnedRows:
    """Rows with a bin for each class: `index`, `u`, `z` and `w` are (n, k), w 0 where a row is
    not counted; `hard`: all targets are 0 or 1.
    """

    index: Index
    size: int
    u: Array
    z: Array
    w: Array
    hard: bool

    def sums(self, values: Array) -> Array:
        """Sums by bin of what rows have for each class."""
        return summed(self.index.ravel(), values.ravel(), self.size)

    @cached_property
    def weight(self) -> Array:
        return self.sums(self.w)

    @cached_property
    def squares(self) -> Array:
        return self.sums(self.w * self.w)

    def mean(self, values: Array) -> Array:
        """Weighted means by bin, 0 where there is no weight."""
        total = self.sums(self.w * values)
        return np.divide(total, self.weight, out=np.zeros(self.size), where=self.weight > 0)


@dataclass(frozen=True, eq=False)
class ClassBins(BinnedRows):
    """The bins of all classes: `y` are labels, or None where targets are soft. Each `alike` bins,
    one after the other, hold the same rows.
    """

    y: Index | None
    alike: int = 1

    @property
    def n(self) -> int:
        return int(self.u.shape[0])

    def of_labels(self, labels: Labels) -> Array:
        """The weight of labels drawn for all rows, by bin: (draws, bins)."""
        rows = self.w.max(axis=1)
        index = np.where(self.w > 0, self.index, -1).astype(np.int32)
        return count_labels(labels, index, self.size, None if (rows == 1.0).all() else rows)

    def block_squares(self, blocks: Blocks, values: Array) -> Array:
        """Sums over blocks of their squared sums, by bin; one block at a time where bins are
        many.
        """
        if blocks.size * self.size <= BLOCK_ENTRIES:
            return (blocks.sums(self.index, self.size, values) ** 2).sum(axis=0)
        order = np.argsort(blocks.index, kind="stable")
        ends = np.searchsorted(blocks.index[order], np.arange(blocks.size + 1))
        out = np.zeros(self.size)
        for start, end in pairwise(ends):
            rows = order[start:end]
            out += summed(self.index[rows].ravel(), values[rows].ravel(), self.size) ** 2
        return out


def class_bins(samples: Samples, rule: Rule, *, above: bool) -> tuple[ClassBins, int] | None:
    """Every class's bins; with `above` without small predictions. And the number of classes."""
    columns = class_columns(samples) if samples.multiclass else iter([samples])
    problems = []
    for column in columns:
        part = above_threshold(column) if above else column
        if part.weights is not None and not (part.weights > 0).any():
            continue  # a class that no prediction is about is not in the mean
        problem = problem_of(part, "binary", rule)
        if problem is None:
            return None
        problems.append(problem)
    if not problems:
        return None
    m, k = max(problem.m for problem in problems), len(problems)
    index = np.stack([r * m + problem.bins for r, problem in enumerate(problems)], axis=1)
    u, z, w = (
        np.stack([getattr(problem, name) for problem in problems], axis=1)
        for name in ("u", "z", "weights")
    )
    hard = all(problem.hard for problem in problems)
    # Labels are drawn from whole rows: a part of the classes alone has none to draw.
    y = _labels(samples) if hard and samples.multiclass and k == samples.n_classes else None
    return ClassBins(index, k * m, u, z, w, hard, y), k


def full_bins(
    samples: Samples, rule: Rule, whole: Whole | None = None
) -> tuple[ClassBins, int] | None:
    """Every cell of vector predictions times every class, and the number of classes."""
    k, y = samples.n_classes, _labels(samples)
    p, z = distribution_rows(samples)
    if isinstance(rule, LevelSets):
        _, cells = np.unique(p, axis=0, return_inverse=True)
    else:
        problem = problem_of(samples, "confidence", rule, whole)
        if problem is None:
            return None
        _, cells = np.unique(p.argmax(axis=1) * problem.m + problem.bins, return_inverse=True)
    index = cells.reshape(-1, 1) * k + np.arange(k)
    w = np.ones(samples.n) if samples.weights is None else samples.weights.astype(np.float64)
    weights = np.repeat(w[:, None], k, axis=1)
    size = (int(cells.max()) + 1) * k
    return ClassBins(index, size, p, z, weights, y is not None, y, alike=k), k


def _labels(samples: Samples) -> Index | None:
    """The label of every row, or None for soft ones."""
    targets = samples.block(0, samples.n).targets
    if targets.ndim == 1:
        return targets.astype(np.intp)
    hard = ((targets == 0) | (targets == 1)).all()
    return targets.argmax(axis=1).astype(np.intp) if hard else None
