"""Ranks out of intervals of differences: one source for order, ranks, ties and who is best."""

from __future__ import annotations

from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

_NORMAL = NormalDist()


class Ranks(NamedTuple):
    """Predictors by one measure: all that can be said of their order.

    `rank` counts the predictors whose difference is estimated to be better. `low` and `high` count
    those that are clearly better and clearly worse, so that ``low <= rank <= high``. `best` is the
    confidence that a predictor is better than every other. `order` has the positions, best first.
    """

    rank: Counts
    low: Counts
    high: Counts
    best: Array
    order: list[int]


def ranks_of(pairs: Array, values: Array, *, higher_is_better: bool, level: float) -> Ranks:
    """The ranks of n predictors.

    Parameters
    ----------
    pairs : ndarray of shape (n, n, 3)
        Limits and estimate of the value of each predictor less that of each other.
    values : ndarray of shape (n,)
        The values, which decide between equals and where a difference has no estimate.
    higher_is_better : bool
        Whether a higher value is better.
    level : float
        Level of the limits.

    Returns
    -------
    Ranks
        Ranks, their limits, the confidence of being best, and the order.
    """
    n, badness = len(values), -values if higher_is_better else values
    with np.errstate(invalid="ignore", divide="ignore"):
        low, high, estimate = _behind(pairs, badness, higher_is_better=higher_is_better)
        confidence = _confidence(low, high, estimate, level)
    worse, better = low > 0, high < 0
    np.fill_diagonal(confidence, 1.0)
    rank = 1 + (estimate > 0).sum(axis=1)
    return Ranks(
        rank, 1 + worse.sum(axis=1), n - better.sum(axis=1), confidence.min(axis=1),
        _order(rank, badness, worse),
    )  # fmt: skip


def _behind(pairs: Array, badness: Array, *, higher_is_better: bool) -> tuple[Array, Array, Array]:
    """How far each predictor is behind each other: limits, and an estimate between them."""
    low, high, estimate = np.moveaxis(pairs, -1, 0)
    if higher_is_better:
        low, high, estimate = -high, -low, -estimate
    # An estimate that is not between its limits, or not there, must not contradict them.
    known = ~(np.isnan(low) | np.isnan(high))
    middle = np.where(np.isnan(estimate), low + (high - low) / 2.0, estimate)
    estimate = np.where(known, np.clip(middle, low, high), estimate)
    seen = np.sign(badness[:, None] - badness)
    return low, high, np.where(np.isnan(estimate), seen, estimate)


def _confidence(low: Array, high: Array, estimate: Array, level: float) -> Array:
    """The confidence that each predictor is better than each other.

    The limit on the side of 0 is as many standard errors from the estimate as the level says; at
    that scale the estimate is `z |estimate| / distance` standard errors from 0. It exceeds
    ``(1 + level) / 2`` where the interval excludes 0, and nowhere else.
    """
    size, width = np.abs(estimate), high - low
    clear, sure = (low > 0) | (high < 0), (1.0 + level) / 2.0
    near = np.where(estimate > 0, estimate - low, high - estimate)
    # At the limit itself the estimate says nothing about the spread towards 0.
    near = np.where((near > 0) | (width == 0), near, width)
    ratio = np.where(size > 0, size / near, 0.0)
    # Of an infinite difference it is infinity over infinity.
    errors = _NORMAL.inv_cdf(sure) * np.where(np.isinf(size) & clear, np.inf, ratio)
    one_side: Array = np.vectorize(_NORMAL.cdf, otypes=[float])(errors)
    # What rounding does at a limit of 0 must not contradict the interval.
    one_side = np.where(
        clear, np.maximum(one_side, sure), np.minimum(one_side, np.nextafter(sure, 0.0))
    )
    out = np.where(estimate > 0, 1.0 - one_side, one_side)
    return np.where(np.isnan(low) | np.isnan(high), np.nan, out)


def _order(rank: Counts, badness: Array, worse: NDArray[np.bool_]) -> list[int]:
    """Positions by rank, then by value, then as they were given; nobody comes before one who is
    clearly better, not even where estimates of differences go round in a circle.
    """
    rest = [int(i) for i in np.lexsort((np.arange(len(rank)), badness, rank))]
    order = []
    while rest:
        first = next((i for i in rest if not worse[i, rest].any()), rest[0])
        order.append(first)
        rest.remove(first)
    return order
