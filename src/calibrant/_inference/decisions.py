"""Net benefit of acting at a threshold, with limits, for models on the same rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrant._inference.means import Influences, influences, mean_limits

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Outcomes:
    """The outcomes that all models share, their weights and clusters."""

    z: Array
    w: Array | None
    groups: NDArray[np.intp] | None

    @property
    def weights(self) -> Array:
        return np.ones(self.z.size) if self.w is None else self.w

    def mean(self, values: Array) -> float:
        """A weighted mean over rows."""
        w = self.weights
        return float(w @ values) / float(w.sum())

    def moved(self, values: Array) -> Influences:
        """What rows or clusters move a mean by."""
        return influences(values, self.w, self.groups)


def benefit(z: Array, positive: NDArray[np.bool_], threshold: float) -> Array:
    """What each row adds to the net benefit: z if it is acted on, less the odds of the threshold
    for what was acted on in vain.
    """
    odds = threshold / (1.0 - threshold)
    return np.where(positive, z - odds * (1.0 - z), 0.0)


def limits(value: float, moved: Influences, level: float) -> tuple[float, float]:
    """Limits of a mean."""
    low, high, _ = mean_limits(moved, level)
    return value + low, value + high


def apart(first: Influences, second: Influences) -> Influences:
    """What rows or clusters move a difference of two means by."""
    return Influences(first.moved - second.moved, first.units)
