"""A model of how labels vary about correct predictions, for clusters and for soft labels.

Independent 0/1 outcomes z with P(z = 1) = u, the prediction, have the variance u (1 - u). Soft
labels vary less, and the labels of one cluster vary together. Two numbers describe that: a
dispersion, and a correlation within clusters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant._core.typing import Array, Index
from calibrant._inference.blocks import summed
from calibrant._inference.cells import Problem
from calibrant._inference.numbers import FEW_EVENTS


@dataclass(frozen=True)
class NoiseModel:
    """Targets with the variance `dispersion` u (1 - u) for the prediction u, and the `correlation`
    of two targets of one cluster.

    Independent 0/1 outcomes have the dispersion 1 and the correlation 0.
    """

    dispersion: float
    correlation: float

    @classmethod
    def from_problem(cls, problem: Problem, groups: Index | None) -> NoiseModel:
        """The model with both numbers estimated from the residuals (target less prediction);
        `groups` is the cluster of each row.
        """
        variance, w = problem.u * (1.0 - problem.u), problem.weights
        residual = problem.z - problem.u
        dispersion = 1.0
        if not problem.hard:
            dispersion = float((w * residual**2).sum()) / max(float((w * variance).sum()), 1e-300)
        if groups is None:
            return cls(dispersion, 0.0)
        n_clusters = (
            np.unique(groups[(problem.z == outcome) & (w > 0)]).size for outcome in (0.0, 1.0)
        )
        if problem.hard and min(n_clusters) < FEW_EVENTS:
            # With so few clusters that have the rarer outcome the correlation is not estimable:
            # all outcomes of a cluster are taken to be equal.
            return cls(dispersion, 1.0)
        counts = np.ones(problem.n) if problem.counts is None else problem.counts
        products = _pair_products(residual, groups, counts)
        largest = dispersion * _pair_products(np.sqrt(variance), groups, counts)
        return cls(dispersion, min(max(products / largest, 0.0), 1.0) if largest > 0 else 0.0)

    def covariance(self, over_rows: Array, over_clusters: Array) -> Array:
        """The covariance (k, k) of k sums over rows of ``b (z - u)``: k given factors b of each row
        times its target z less its prediction u.

        `over_rows` is the sum of b b' u (1 - u) over rows, (k, k); `over_clusters` holds the sums
        of b sqrt(u (1 - u)) by cluster, (k, clusters).
        """
        rho = self.correlation
        return self.dispersion * ((1.0 - rho) * over_rows + rho * (over_clusters @ over_clusters.T))


def _pair_products(values: Array, groups: Index, counts: Array) -> float:
    """The sum of the products of the values of two rows, over all pairs of different rows in one
    cluster, each pair counted twice. `counts` is how many equal rows each row stands for.
    """
    sums = np.bincount(groups, counts * values)
    return float((sums**2).sum() - (counts * values**2).sum())


def clustered_covariances(
    problem: Problem, groups: Index, cells: Index, m: int
) -> tuple[Array, tuple[Array, Array]]:
    """Sums of residuals by cell and cluster, (m, clusters), and two estimates of the covariance (m,
    m) of the cells' sums: from the clusters' own residuals, and from the noise model.

    `groups` is the cluster and `cells` the cell of each row, of `m` cells.
    """
    w, u = problem.weights, problem.u
    key, n_groups = groups * m + cells, int(groups.max()) + 1

    def by_cluster(values: Array) -> Array:
        """Sums of values (n,) by cell and cluster, (m, clusters)."""
        return summed(key, values, n_groups * m).reshape(n_groups, m).T

    variance = u * (1.0 - u)
    residuals = by_cluster(w * (problem.z - u))
    over_rows = np.diag(summed(cells, problem.squared_weights * variance, m))
    by_model = NoiseModel.from_problem(problem, groups).covariance(
        over_rows, by_cluster(w * np.sqrt(variance))
    )
    return residuals, (residuals @ residuals.T, by_model)
