"""Slots: the bins that rows are counted in, of one problem or of all classes together.

A row adds its weight w, its prediction u and its target z (the label, or the share of votes) to one
slot of every class. The gap of a slot is its mean target less its mean prediction.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from calibrant._core.binning import LevelSets, Rule
from calibrant._core.typing import Array, Index, Mask
from calibrant._data.samples import Samples
from calibrant._engines.arrays.counting import class_columns
from calibrant._engines.arrays.draws import Labels, count_labels
from calibrant._inference.blocks import Blocks, squared_weights, summed
from calibrant._inference.budget import BLOCK_ENTRIES
from calibrant._inference.cells import Problem, ScalarRows, above_threshold, problem_of
from calibrant._inference.means import distribution_rows, row_weights
from calibrant._inference.numbers import PRIOR_ROWS


@dataclass(frozen=True, eq=False)
class Slots:
    """Rows with one slot (a bin) for each of k classes; k = 1 for a problem of one probability a
    row.

    `index`, `u`, `z` and `w` are (n, k): the slot, prediction, target and weight of every row and
    class; the weight is 0 where a row is not counted. `size` is the number of slots of all classes.
    `hard`: all targets are 0 or 1. `classes` is the class of every slot; the slots of one class
    hold different rows.
    """

    index: Index
    size: int
    u: Array
    z: Array
    w: Array
    hard: bool
    classes: Index
    # The label of every row; None where targets are soft, or slots are of some classes only.
    labels: Index | None = None
    # The noise of targets (n, k), where rows are fixed and only their votes are drawn again.
    noise: Array | None = None
    # How many equal rows each row stands for, (n,), with their weight; None for one each.
    counts: Array | None = None

    @classmethod
    def of_problem(cls, problem: Problem) -> Slots:
        """The bins of a problem of one probability a row as slots, with k = 1."""
        classes = problem.classes
        if classes is None:
            classes = np.zeros(problem.m, dtype=np.intp)
        u, z, w = (column[:, None] for column in (problem.u, problem.z, problem.weights))
        return cls(
            problem.bins[:, None], problem.m, u, z, w, problem.hard, classes,
            counts=problem.counts,
        )  # fmt: skip

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.index.shape[0])

    @property
    def k(self) -> int:
        """The number of classes that each row has a slot (bin) of."""
        return int(self.index.shape[1])

    # --- sums by slot ----------------------------------------------------------------------------

    def sums(self, values: Array) -> Array:
        """Sums by slot (bin), (slots,), of values (n, k)."""
        return summed(self.index.ravel(), values.ravel(), self.size)

    @cached_property
    def weight(self) -> Array:
        """The sum of weights of each slot (bin), (slots,)."""
        return self.sums(self.w)

    @property
    def squared_weights(self) -> Array:
        """The sum of squared weights of the rows that each row stands for, (n, k)."""
        return squared_weights(self.w, None if self.counts is None else self.counts[:, None])

    @cached_property
    def squares(self) -> Array:
        """The sum of squared weights of each slot (bin), (slots,)."""
        return self.sums(self.squared_weights)

    @cached_property
    def total(self) -> float:
        """The weight of all rows, each row counted once and not once a class."""
        return float(self.weight.sum()) / self.k

    def mean(self, values: Array) -> Array:
        """The weighted mean of values (n, k) in each slot (bin), (slots,); 0 without weight."""
        total = self.sums(self.w * values)
        return np.divide(total, self.weight, out=np.zeros(self.size), where=self.weight > 0)

    @cached_property
    def mean_u(self) -> Array:
        """The mean prediction of each slot (bin), (slots,); 0 for a slot without weight."""
        return self.mean(self.u)

    @cached_property
    def mean_z(self) -> Array:
        """The mean target of each slot (bin), (slots,); 0 for a slot without weight."""
        return self.mean(self.z)

    @cached_property
    def gap(self) -> Array:
        """The gap of each slot (bin), (slots,): its mean target less its mean prediction; 0 without
        weight.
        """
        return self.mean(self.z - self.u)

    @cached_property
    def residuals(self) -> Array:
        """The residual of every row and class, (n, k): weight times (target less prediction)."""
        return self.w * (self.z - self.u)

    @cached_property
    def effective_rows(self) -> Array:
        """How many rows of equal weight the weights of each slot (bin) are equivalent to (Kish),
        (slots,); 1 if empty.
        """
        out = np.ones(self.size)
        return np.divide(self.weight**2, self.squares, out=out, where=self.squares > 0)

    def block_squares(self, blocks: Blocks, values: Array) -> Array:
        """The values (n, k) are summed within each block of rows; of each slot (bin), the sum over
        blocks of the squares of these sums, (slots,).

        Blocks are taken one by one where the table of all blocks and slots would be too large.
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

    def label_weights(self, labels: Labels) -> Array:
        """The weight of the rows with each slot's class as their drawn label, (draws, slots);
        `labels` are drawn labels, (draws, n).
        """
        rows = self.w.max(axis=1)
        index = np.where(self.w > 0, self.index, -1).astype(np.int32)
        return count_labels(labels, index, self.size, None if (rows == 1.0).all() else rows)

    # --- variances of outcomes -------------------------------------------------------------------

    @cached_property
    def _one_outcome(self) -> Mask:
        """Whether the targets of each slot (bin) are all 0 or all 1, (slots,)."""
        return (self.mean_z <= 0.0) | (self.mean_z >= 1.0)

    def outcome_variance(self, units: Array) -> Array:
        """The variance q (1 - q) of one 0/1 outcome in each slot (bin), (slots,), where q is the
        observed rate of the slot's `units` (rows or clusters), shrunk towards the mean prediction.

        A slot whose outcomes are all 0, or all 1, has at least the variance of half an outcome of
        the other kind.
        """
        q = (units * self.mean_z + PRIOR_ROWS * self.mean_u) / (units + PRIOR_ROWS)
        half = np.where(self._one_outcome, 0.5 / (units + 1.0), 0.0)
        return np.maximum(q * (1.0 - q), half * (1.0 - half))

    def gap_variance(self, units: Array) -> Array:
        """The variance of each slot's gap (mean target less prediction) if labels are 0/1 outcomes,
        (slots,); `units` is the number of rows or clusters that each slot's weights are worth.

        In a slot (bin) whose outcomes are all alike, the rows of a unit (a cluster) count as one:
        they do not show how much they vary together.
        """
        n = np.where(self._one_outcome, units, self.effective_rows)
        return self.outcome_variance(units) / n


def class_slots(samples: Samples, rule: Rule, *, above: bool) -> Slots | None:
    """The bins of every class as slots, each class's predictions binned by `rule`.

    With `above` only predictions above the threshold count. None where the rule drops rows, or
    where no prediction is above the threshold.
    """
    columns = class_columns(samples) if samples.multiclass else iter([samples])
    problems = []
    for column in columns:
        part = above_threshold(column) if above else column
        if part.weights is not None and not (part.weights > 0).any():
            continue  # a class without any prediction above the threshold is not in the mean
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
    # Labels are drawn for whole rows, which slots of some classes do not have.
    complete = hard and samples.multiclass and k == samples.n_classes
    labels = _labels(samples) if complete else None
    return Slots(index, k * m, u, z, w, hard, np.arange(k * m) // m, labels)


def full_slots(samples: Samples, rule: Rule, rows: ScalarRows | None = None) -> Slots | None:
    """One slot for every cell and class, for errors of whole vectors of predictions; None where the
    rule drops rows.

    A cell holds the rows with one top label and one bin of its probability or, for level sets, the
    rows with equal predictions. The k slots of a cell hold the same rows, and all slots count as
    one class. `rows` are the top label's predictions and targets, if they were read before.
    """
    k, labels = samples.n_classes, _labels(samples)
    p, z = distribution_rows(samples)
    if isinstance(rule, LevelSets):
        _, cells = np.unique(p, axis=0, return_inverse=True)
    else:
        problem = problem_of(samples, "confidence", rule, rows)
        if problem is None:
            return None
        _, cells = np.unique(p.argmax(axis=1) * problem.m + problem.bins, return_inverse=True)
    index = cells.reshape(-1, 1) * k + np.arange(k)
    weights = np.repeat(row_weights(samples)[:, None], k, axis=1)
    size = (int(cells.max()) + 1) * k
    classes = np.zeros(size, np.intp)
    return Slots(index, size, p, z, weights, labels is not None, classes, labels)


def _labels(samples: Samples) -> Index | None:
    """The label of every row, (n,), as the number of its class; None for soft labels."""
    targets = samples.block(0, samples.n).targets
    if targets.ndim == 1:
        return targets.astype(np.intp)
    hard = ((targets == 0) | (targets == 1)).all()
    return targets.argmax(axis=1).astype(np.intp) if hard else None
