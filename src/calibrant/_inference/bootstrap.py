"""The interval of values in resamples."""

from __future__ import annotations

import numpy as np

from calibrant._core.typing import Array


def basic_limits(value: float, drawn: Array, level: float) -> tuple[float, float]:
    """The basic bootstrap interval: a resample errs about the sample as the sample about the truth.

    So the resamples' distance from the value is taken off on the other side, bias included.
    """
    tails = [(1.0 - level) / 2.0, (1.0 + level) / 2.0]
    low, high = np.quantile(drawn, tails, method="weibull")
    return float(2.0 * value - high), float(2.0 * value - low)
