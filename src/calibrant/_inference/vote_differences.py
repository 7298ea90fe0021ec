"""Limits of bounded distances from what is behind votes, of one predictor and of two."""

from __future__ import annotations

import math

import numpy as np

from calibrant._inference.means import influences, mean_limits
from calibrant._inference.numbers import FITTED_FROM_ROWS
from calibrant._inference.vote_bounds import Bounds
from calibrant._inference.voted_rows import VotedRows
from calibrant._measures.catalogue import Measure


def bound_limits(
    bounds: Bounds, rows: VotedRows, level: float
) -> tuple[float, float, float, float]:
    """Limits of what lies between the means of two bounds, the middle, and its standard error.

    The lower limit is that of the lower bound, the upper one that of the upper.
    """
    exact = np.array_equal(*bounds.rows)
    wider = 1.0 if exact else FITTED_FROM_ROWS
    weights = rows.samples.weights
    w = None if weights is None else weights.astype(np.float64)
    below, above = (float(np.average(each, weights=w)) for each in bounds.rows)
    low, high = (
        wider * mean_limits(influences(each, w, rows.groups), level)[side]
        for side, each in enumerate(bounds.rows)
    )
    middle = influences(bounds.rows.mean(axis=0), w, rows.groups)
    ends = below + low, above + high
    # Where votes leave hardly anything open the two may cross by chance.
    error = wider * mean_limits(middle, level)[2]
    return min(ends), max(ends), 0.5 * (below + above), error


def difference_bounds(
    first: VotedRows, second: VotedRows, measure: Measure, level: float
) -> tuple[float, float, float]:
    """Limits of a distance of one predictor less that of another one on the same rows, and their
    middle: the same distributions are behind the votes of both.
    """
    low, high, middle, _ = bound_limits(first.bounds_apart(second, measure), first, level)
    return low, high, min(max(middle, low), high)


def independent_bounds(
    first: VotedRows, second: VotedRows, measure: Measure, level: float
) -> tuple[float, float, float]:
    """The same of two predictors on different rows: variances add up on either side (Zou and
    Donner, 2008, doi:10.1002/sim.3095).
    """
    ends = []
    for rows in (first, second):
        bounds = rows.bounds(measure)
        low, high, _, _ = bound_limits(bounds, rows, level)
        below, above = np.average(bounds.rows, axis=1, weights=rows.w).tolist()
        ends.append((below, above, below - low, high - above))
    (below, above, down, up), (lowest, highest, lower, higher) = ends
    low = below - highest - math.hypot(down, higher)
    high = above - lowest + math.hypot(up, lower)
    return min(low, high), max(low, high), 0.5 * (low + high)
