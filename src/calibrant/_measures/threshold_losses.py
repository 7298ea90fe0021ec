"""The loss of decisions at thresholds, averaged over a range of thresholds.

Who acts at p >= t pays t for each false alarm and 1 - t for each miss. Integrated over t with the
weights omega, a prediction c costs ``A(c) = int^c t omega`` on a non-event and
``M(c) = int_c (1 - t) omega`` on an event. In a range [a, b] only ``c = clip(p, a, b)`` counts.
Twice the cost is taken, so that uniform weights on [0, 1] give the Brier score.
"""

from __future__ import annotations

import numpy as np
from scipy.special import betainc

from calibrant._core.errors import InputError
from calibrant._core.typing import Array
from calibrant._data.links import LOG_FLOOR

# Parameters of a Beta density, or None for the weights 1 / (2 t (1 - t)) of the log loss.
Shape = tuple[float, float] | None


def threshold_losses(p: Array, z: Array, low: float, high: float, shape: Shape) -> Array:
    """The loss of every row (n,), less that of predicting its target z."""
    total = 0.5
    if shape is not None:
        total = float(betainc(*shape, high) - betainc(*shape, low))
        if not total > 0.0:
            raise InputError(f"weight={shape} has no weight between {low:g} and {high:g}")
    costs = [_cost(np.clip(each, low, high), z, shape) for each in (p, z)]
    return (2.0 / total if shape is not None else 1.0) * (costs[0] - costs[1])


def _cost(c: Array, z: Array, shape: Shape) -> Array:
    """The mean cost of predictions c if events happen with probability z, up to a constant."""
    if shape is None:
        return -z * np.log(np.maximum(c, LOG_FLOOR)) - (1 - z) * np.log(
            np.maximum(1 - c, LOG_FLOOR)
        )
    alpha, beta = shape
    mean = alpha / (alpha + beta)
    return (1 - z) * mean * betainc(alpha + 1, beta, c) - z * (1 - mean) * betainc(
        alpha, beta + 1, c
    )
