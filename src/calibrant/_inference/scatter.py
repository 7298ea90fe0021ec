"""How far targets scatter about right predictions, where nobody knows: a simple model of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant._core.typing import Array, Index
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
    def of(cls, problem: Problem, groups: Index | None) -> ScatterModel:
        """Estimated where it is not known."""
        spread, w = problem.u * (1.0 - problem.u), problem.weights
        away = problem.z - problem.u
        dispersion = 1.0
        if not problem.hard:
            dispersion = float((w * away**2).sum()) / max(float((w * spread).sum()), 1e-300)
        if groups is None:
            return cls(dispersion, 0.0)
        if problem.hard and _clusters_with_the_rarer(problem.z, w, groups) < FEW_EVENTS:
            # So few do not tell whether a cluster that has one has many.
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


def _clusters_with_the_rarer(z: Array, w: Array, groups: Index) -> int:
    """In how many clusters the rarer of two outcomes was seen."""
    seen = [np.unique(groups[(z == outcome) & (w > 0)]).size for outcome in (0.0, 1.0)]
    return min(seen)


def _pairs(values: Array, groups: Index) -> float:
    """The sum of products over all pairs of rows of one cluster, each pair twice."""
    return float((np.bincount(groups, values) ** 2).sum() - (values**2).sum())
