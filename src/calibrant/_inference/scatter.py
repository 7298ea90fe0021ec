"""How far targets scatter about right predictions where the rows do not tell: simple models of it.

Clusters and soft labels have a model with two numbers. In bins in which few events are expected,
what was seen of them does not tell: of ten bins that expect a tenth of an event each, nine have
seen none, and their residuals hardly scatter at all. So there outcomes are drawn from a rate: fewer
and larger ones where clusters have them together, more and smaller ones where labels are soft.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant._core.typing import Array, Counts, Index
from calibrant._inference.blocks import summed
from calibrant._inference.cells import Problem
from calibrant._inference.numbers import FEW_EVENTS


@dataclass(frozen=True)
class ScatterModel:
    """How far targets scatter about right predictions, by a model with two numbers.

    The variance of a target is `dispersion` u (1 - u), with 1 for outcomes, and targets of one
    cluster have the `correlation`.
    """

    dispersion: float
    correlation: float

    @classmethod
    def from_problem(cls, problem: Problem, groups: Index | None) -> ScatterModel:
        """Estimated where it is not known."""
        spread, w = problem.u * (1.0 - problem.u), problem.weights
        away = problem.z - problem.u
        dispersion = 1.0
        if not problem.hard:
            dispersion = float((w * away**2).sum()) / max(float((w * spread).sum()), 1e-300)
        if groups is None:
            return cls(dispersion, 0.0)
        seen = (np.unique(groups[(problem.z == outcome) & (w > 0)]).size for outcome in (0.0, 1.0))
        if problem.hard and min(seen) < FEW_EVENTS:
            # So few clusters with the rarer outcome do not tell whether one that has one has many.
            return cls(dispersion, 1.0)
        pairs = _pairs(away, groups)
        most = dispersion * _pairs(np.sqrt(spread), groups)
        return cls(dispersion, min(max(pairs / most, 0.0), 1.0) if most > 0 else 0.0)

    def covariance(self, single: Array, together: Array) -> Array:
        """Of sums of ``b (z - u)``: from the sum of b b' u (1 - u) over rows, and the sums of b
        times the root of u (1 - u) over clusters (k, clusters).
        """
        rho = self.correlation
        return self.dispersion * ((1.0 - rho) * single + rho * (together @ together.T))


def clustered_covariances(
    problem: Problem, groups: Index, cells: Index, m: int
) -> tuple[Array, tuple[Array, Array]]:
    """Sums of residuals by cell and cluster, (m, clusters), and the covariance of their sums by
    cell: from the scatter of the clusters' residuals, and from the model's.
    """
    w, u = problem.weights, problem.u
    key, n_groups = groups * m + cells, int(groups.max()) + 1

    def by_cluster(values: Array) -> Array:
        return summed(key, values, n_groups * m).reshape(n_groups, m).T

    spread = u * (1.0 - u)
    residuals = by_cluster(w * (problem.z - u))
    single = np.diag(summed(cells, w * w * spread, m))
    model = ScatterModel.from_problem(problem, groups).covariance(
        single, by_cluster(w * np.sqrt(spread))
    )
    return residuals, (residuals @ residuals.T, model)


def _pairs(values: Array, groups: Index) -> float:
    """The sum of products over all pairs of rows of one cluster, each pair twice."""
    return float((np.bincount(groups, values) ** 2).sum() - (values**2).sum())


@dataclass(frozen=True, eq=False)
class RareEvents:
    """The bins in which few events, or few failures, are expected: `weight` is theirs, `trials` how
    many independent outcomes they are worth.
    """

    bins: Index
    weight: Array
    trials: Counts

    def cells_within(self, bins: Index) -> tuple[Index, Index]:
        """Which cells are in one of these bins, and in which, if cells have these `bins`."""
        place = np.full(int(bins.max(initial=-1)) + 1, -1)
        place[self.bins] = np.arange(self.bins.size)
        own = np.flatnonzero(place[bins] >= 0)
        return own, place[bins[own]]

    def noise(self, rates: Array, n_draws: int, rng: np.random.Generator) -> Array:
        """Residuals about the rates of all bins, of these: (draws, bins)."""
        rate = np.clip(rates[self.bins], 0.0, 1.0)
        drawn = rng.binomial(self.trials, rate, (n_draws, self.bins.size))
        return self.weight * (drawn / self.trials - rate)


def rare_events(weight: Array, squares: Array, rates: Array, size: float) -> RareEvents:
    """The rare events of bins with these sums of weights and of their squares; one outcome counts
    as `size` rows.
    """
    each = np.divide(squares, weight, out=np.ones(weight.size), where=weight > 0) * size
    rare = np.minimum(rates, 1.0 - rates)
    bins = np.flatnonzero((weight * rare < FEW_EVENTS * each) & (weight > 0))
    trials = np.maximum(1, np.rint(weight[bins] / each[bins])).astype(np.int64)
    return RareEvents(bins, weight[bins], trials)
