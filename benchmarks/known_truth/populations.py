"""Populations: how predictions, right probabilities, labels, weights and clusters are drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

Array = NDArray[Any]
# Predictions and right probabilities of n rows; predictions of a pair are (2, n) or (2, n, k).
Draw = Callable[[int, np.random.Generator], tuple[Array, Array]]

# The share of rows in the one huge cluster, and how strongly the luck of its rows is correlated.
HUGE, ALIKE = 0.3, 0.1


@dataclass(frozen=True)
class Population:
    """Predictions u and right probabilities q of n rows; how labels, weights and clusters come.

    Attributes
    ----------
    draw : callable
        ``draw(n, rng)`` gives (u, q).
    calibrated : bool or tuple of bool
        Whether predictions are exactly right, for each predictor of a pair.
    labels : {"outcomes", "votes", "scattered", "exact"}
        What y is: drawn outcomes, shares of votes, shares of votes whose probabilities scatter
        about q, or q itself.
    weights : float
        The standard deviation of the logarithm of weights, which are lognormal; 0 for none.
    clusters : {"", "small", "huge"}
        Clusters of about eight rows, three of ten of which share their luck; or one cluster that
        has three of ten rows, beside clusters of four.
    votes : int
        Votes a row; 0 stands for 1 to 10, unequal.
    votes_known : bool
        Whether the number of votes is passed on, so that their noise can be removed.
    pair : bool
        Whether `draw` gives two predictors.
    alike : bool
        Whether the two predictors of a pair have one law, so that differences are 0.
    other_rows : bool
        Whether the second predictor has rows of its own.
    own_labels : bool
        Whether each predictor has its own labels: whether its own answers are right.
    rows : tuple of int
        Numbers of rows to measure unless others are named.
    measures : tuple of str
        Measures to look at unless others are named; empty for all that have a truth.
    """

    draw: Draw
    calibrated: bool | tuple[bool, bool] = False
    labels: str = "outcomes"
    weights: float = 0.0
    clusters: str = ""
    votes: int = 5
    votes_known: bool = False
    pair: bool = False
    alike: bool = False
    other_rows: bool = False
    own_labels: bool = False
    rows: tuple[int, ...] = (300, 1000, 2000)
    measures: tuple[str, ...] = ()

    def side(self, which: int) -> Population:
        """One predictor of a pair, as a population of its own."""

        def draw(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
            u, q = self.draw(n, rng)
            return u[which], q[which] if self.own_labels else q

        right = self.calibrated[which] if isinstance(self.calibrated, tuple) else self.calibrated
        return replace(
            self, draw=draw, calibrated=right, pair=False, other_rows=False, own_labels=False
        )

    @property
    def n_classes(self) -> int:
        """The classes of a row of predictions; 1 for probabilities of one event."""
        u, _ = self.draw(2, np.random.default_rng(0))
        return int(u.shape[-1]) if u.ndim == (3 if self.pair else 2) else 1


class Sample(NamedTuple):
    """Labels, predictions, weights and clusters of rows."""

    y: Array
    u: Array
    w: Array | None
    groups: Array | None


class Drawn(NamedTuple):
    """A sample with its votes; of a pair, y and u are two arrays, or y is one for both."""

    y: Any
    u: Any
    w: Array | None
    groups: Array | None
    votes: Array | None


def drawn(population: Population, n: int, rep: int, seed: int = 0) -> Drawn:
    """The sample of a number; the same number gives the same rows."""
    rng = np.random.default_rng((seed, n, rep))
    if population.other_rows:
        first, second = (_rows(population.side(which), n, rng) for which in (0, 1))
        return Drawn((first.y, second.y), (first.u, second.u), None, None, None)
    return _rows(population, n, rng)


def samples_of(population: Population, n: int, reps: int, seed: int = 0) -> Iterator[Sample]:
    """Independent samples of a population."""
    for rep in range(reps):
        yield Sample(*drawn(population, n, rep, seed)[:4])


def _rows(population: Population, n: int, rng: np.random.Generator) -> Drawn:
    u, q = population.draw(n, rng)
    weights = np.exp(rng.normal(0.0, population.weights, n)) if population.weights else None
    groups = votes = None
    if population.clusters:
        groups, luck = _clusters(population.clusters, n, rng)
        y = (luck < q).astype(np.int64)
    elif population.own_labels:
        # Half of the questions are as easy for both, so what they get right goes together.
        first, second = rng.random(n), rng.random(n)
        luck = np.stack([first, np.where(rng.random(n) < 0.5, first, second)])
        y = (luck < q).astype(np.int64)
    elif population.labels == "outcomes":
        y = _outcomes(q, rng)
    elif population.labels == "exact":
        y = q
    else:
        if population.labels == "scattered":  # right on average, not row by row
            q = rng.beta(4 * q + 1e-9, 4 * (1 - q) + 1e-9)
        votes = rng.integers(1, 11, n) if population.votes == 0 else np.full(n, population.votes)
        y = _shares(votes, q, rng)
    return Drawn(y, u, weights, groups, votes if population.votes_known else None)


def _outcomes(q: Array, rng: np.random.Generator) -> Array:
    if q.ndim == 2:
        drawn_class: Array = (np.cumsum(q, axis=1) < rng.random(len(q))[:, None]).sum(axis=1)
        return drawn_class
    return (rng.random(len(q)) < q).astype(np.int64)


def _shares(votes: Array, q: Array, rng: np.random.Generator) -> Array:
    if q.ndim == 2:
        return rng.multinomial(votes, q) / votes[:, None]
    return rng.binomial(votes, q) / votes


def _clusters(kind: str, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """The cluster of each row and its luck, which is uniform."""
    if kind == "small":
        groups = np.repeat(np.arange(n), rng.geometric(1 / 8, n))[:n]
        # In three of ten clusters all rows share their luck.
        common = rng.random(n) < 0.3
        return groups, np.where(common[groups], rng.random(n)[groups], rng.random(n))
    groups = np.r_[np.zeros(int(HUGE * n), int), 1 + np.arange(n - int(HUGE * n)) // 4]
    shared = rng.normal(size=n)[groups]
    return groups, ndtr(np.sqrt(ALIKE) * shared + np.sqrt(1 - ALIKE) * rng.normal(size=n))
