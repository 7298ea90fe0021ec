"""Worlds: rows whose true probabilities are known, and every outcome that can happen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from calibrant._core.typing import Array
from calibrant._data.links import both_classes
from calibrant._measures.catalogue import Shape
from calibrant._research.audits.subjects import Subject, values

Labels = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class World:
    """Independent rows with known true probabilities, (n,) or (n, k), and weights or none.

    An `exact` world has so few outcomes (labels of all rows) that expectations are sums over all of
    them; in other worlds outcomes are drawn.
    """

    name: str
    truth: Array
    exact: bool = True
    # Whether there are few enough outcomes to search the world for misreports.
    searched: bool = False
    weights: Array | None = None

    @property
    def shape(self) -> Shape:
        """The shape of predictions: "binary" for truth (n,), "multiclass" for (n, k)."""
        return "binary" if self.truth.ndim == 1 else "multiclass"

    def outcomes(self, n_draws: int, seed: int) -> tuple[list[Labels], Array]:
        """Outcomes of the world (labels of all rows, (n,) each), and their probabilities.

        An exact world gives every outcome; another gives `n_draws` drawn ones, equally likely.
        """
        if self.exact:
            return _every_outcome(self.truth)
        rng = np.random.default_rng(seed)
        drawn = [draw_labels(self.truth, rng) for _ in range(n_draws)]
        return drawn, np.full(n_draws, 1 / n_draws)


def draw_labels(truth: Array, rng: np.random.Generator) -> Labels:
    """Draw one label for each row, (n,), from true probabilities, (n,) or (n, k)."""
    if truth.ndim == 1:
        return (rng.random(len(truth)) < truth).astype(np.int64)
    at, total = rng.random(len(truth)), truth.sum(axis=1)
    drawn, below = np.zeros(len(truth), dtype=np.int64), np.zeros(len(truth))
    # It goes class by class, because cumulative sums along short rows are slow.
    for column in truth.T[:-1]:
        below += column
        drawn += at >= below / total
    return drawn


def _every_outcome(truth: Array) -> tuple[list[Labels], Array]:
    """Every possible outcome (labels of all rows, (n,) each), and the probability of each.

    Classes of probability 0 are skipped.
    """
    rows = both_classes(truth)
    labels, chances = [], []
    for outcome in product(*(np.flatnonzero(row) for row in rows)):
        labels.append(np.array(outcome, dtype=np.int64))
        chances.append(math.prod(float(row[y]) for row, y in zip(rows, outcome, strict=True)))
    return labels, np.array(chances)


def errors_of(
    subjects: Sequence[Subject],
    predictions: Array,
    outcomes: Sequence[Labels],
    weights: Array | None = None,
) -> Array:
    """The error of the predictions, (outcomes, subjects): by each measure, under each outcome.

    An outcome has a label for each row, (n,).
    """
    out = np.array([values(subjects, y, predictions, weights) for y in outcomes])
    return np.stack([s.error(out[:, i]) for i, s in enumerate(subjects)], axis=1)


def example_1_1(n: int) -> Array:
    """The truth of example 1.1 of Lu, Wu, Hartline and Hu, (n,): row i of n has P(y = 1) = i/n."""
    return np.arange(1, n + 1) / n


def example_c_1(n: int, k: int) -> Array:
    """The truth of example C.1 of Lu, Wu, Hartline and Hu, (n, k): one row, n times.

    Class 1 has 1/2, class 0, which wins the ties of a uniform prediction, 1/k, and class 2 the
    rest.
    """
    row = np.zeros(k)
    row[0], row[1], row[2] = 1 / k, 1 / 2, 1 / 2 - 1 / k
    return np.tile(row, (n, 1))


_FIVE_TO_ONE = np.array([5.0, 1.0])


def worlds(shape: Shape) -> tuple[World, ...]:
    """The worlds in which measures of a shape are tested, the smallest first.

    A witness from a small world can be checked by hand.
    """
    if shape == "binary":
        return (
            World("two rows", np.array([0.25, 0.75])),
            World("equal probabilities", np.full(4, 0.5)),
            World("three rows", np.array([0.2, 0.55, 0.7]), searched=True),
            World("distinct probabilities", np.array([0.1, 0.35, 0.6, 0.8, 0.95])),
            World("example 1.1, n = 6", example_1_1(6)),
            World("two rows of weight 5 and 1", np.array([0.25, 0.75]), weights=_FIVE_TO_ONE),
            World(
                "three rows of weight 4, 1 and 2",
                np.array([0.45, 0.55, 0.9]),
                searched=True,
                weights=np.array([4.0, 1.0, 2.0]),
            ),
            World("example 1.1, n = 100", example_1_1(100), exact=False),
        )
    two = np.array([[0.5, 0.3, 0.2], [0.15, 0.25, 0.6]])
    three = np.array([[0.7, 0.2, 0.1], [0.25, 0.4, 0.35], [0.1, 0.3, 0.6]])
    return (
        World("two rows", two, searched=True),
        World("equal probabilities", np.full((2, 3), 1 / 3)),
        World("example C.1, k = 5, n = 2", example_c_1(2, 5)),
        World("three rows", three),
        World("two rows of weight 5 and 1", two, searched=True, weights=_FIVE_TO_ONE),
        World(
            "example C.1, k = 10, n = 2, rows of weight 4",
            example_c_1(2, 10),
            weights=np.full(2, 4.0),
        ),
        World("example C.1, k = 10, n = 50", example_c_1(50, 10), exact=False),
    )
