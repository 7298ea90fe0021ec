"""A limit compared with an interval, and how many rows it takes to tell."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from calibrant._core.binning import Rule
from calibrant._data.samples import Samples
from calibrant._inference.uncertainty import Uncertainty
from calibrant._measures.catalogue import Measure, find
from calibrant._measures.gap_scale import GapScale
from calibrant.results._check import FEWEST_ROWS, Limit, LimitCheck
from calibrant.results._uncertainty import Interval

# To show that an error is exactly 0, no number of rows is enough.
MOST_TO_PASS = 10**12


def limited(
    limit: Limit, where: str | None, interval: Interval, uncertainty: Uncertainty, scale: GapScale
) -> LimitCheck:
    """A limit compared with an interval, as `check` and `verdict` do."""
    samples, groups = uncertainty.samples, uncertainty.groups
    measure = find(limit.measure, samples.shape)
    return LimitCheck(
        limit, where, samples.n, interval.value, interval,
        effective_n=effective_rows(samples, groups),
        n_to_pass=rows_to_pass(measure, limit, interval.level, uncertainty.fixed, scale),
        scale=scale,
        n_clusters=None if groups is None else int(np.unique(groups).size),
    )  # fmt: skip


def effective_rows(samples: Samples, groups: Any) -> float:
    """The effective number of equal rows; clusters count as one each."""
    w: Any = np.ones(samples.n) if samples.weights is None else samples.weights.astype(np.float64)
    if groups is not None:
        w = np.bincount(groups, weights=w)
    squares = float((w * w).sum())
    return float(w.sum()) ** 2 / squares if squares else 0.0


def rows_to_pass(measure: Measure, limit: Limit, level: float, rule: Rule, scale: GapScale) -> int:
    """The rows that would have shown, but for a chance of (1 - level) / 2, a fault in so many of
    them that the limit is broken.
    """
    # A row is at most as wrong as the measure can be; of squares, on the scale of a gap.
    high = measure.high if math.isfinite(measure.high) else 1.0
    low, high = measure.low, math.sqrt(high) if scale.power == 2 else high
    value = scale.gap(limit.value)
    share = max(value - low if limit.kind == "max" else high - value, 0.0) / (high - low)
    # A fault in a share s of the rows makes an error of s; of the root of a mean square, its root.
    if measure.gaps == "root":
        share **= 2
    if (
        measure.gaps == "largest"
    ):  # a bin of its own is enough for a fault; it is taken to be average
        share /= getattr(rule, "m", 1)
    if not share:
        return MOST_TO_PASS
    rows = math.log((1.0 - level) / 2.0) / math.log1p(-min(share, 0.999))
    return min(MOST_TO_PASS, max(FEWEST_ROWS, math.ceil(rows)))
