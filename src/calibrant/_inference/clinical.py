"""Limits of ratios that clinical papers report: observed over expected events, scaled Brier."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from calibrant._core.typing import Array, Index
from calibrant._inference.budget import HALVINGS
from calibrant._inference.cells import Problem
from calibrant._inference.few_events import poisson_limits
from calibrant._inference.means import Influences, influences, mean_limits, moment_limits
from calibrant._inference.numbers import FEW_EVENTS
from calibrant.results._clinical import ClinicalValue

OBSERVED_EXPECTED = "observed over expected events; below 1, predictions are too high on average"
SCALED = "Brier score reduction relative to always predicting the mean outcome"
ONE_OUTCOME = "every outcome is the same"


def not_estimable(title: str, why: str) -> ClinicalValue:
    """A value of NaN without limits, which names the reason."""
    return ClinicalValue(math.nan, math.nan, math.nan, "", why, title)


def observed_expected(problem: Problem, groups: Index | None, level: float) -> ClinicalValue:
    """Observed events over the number that the predictions expect, with limits on the log scale."""
    w = problem.weights
    observed, expected = float(w @ problem.z), float(w @ problem.u)
    if expected <= 0.0 or math.isinf(float(w.sum()) / expected):
        each = "0" if expected <= 0.0 else "almost 0"
        return not_estimable(OBSERVED_EXPECTED, f"no event is expected: every prediction is {each}")
    ratio = observed / expected
    if observed <= 0.0:
        # No event: the Poisson limit of their number, in rows of the typical weight.
        unit = float(problem.squared_weights.sum() / w.sum())
        high = -math.log((1.0 - level) / 2.0) * unit / expected
        return ClinicalValue(0.0, 0.0, high, "Poisson", "no event was observed", OBSERVED_EXPECTED)
    log_ratio = (problem.z / observed - problem.u / expected) * float(w.sum())
    down, up, _ = mean_limits(influences(log_ratio, problem.w, groups, problem.counts), level)
    low, high = ratio * math.exp(down), ratio * math.exp(up)
    method = "delta method, on the log scale"
    if observed**2 < FEW_EVENTS * float(problem.squared_weights @ problem.z):
        # The variance of few events is unreliable: their number has Poisson limits.
        events = observed**2 / float(problem.squared_weights @ problem.z)
        fewest, most = (ratio * count / events for count in poisson_limits(events, level))
        low, high = min(low, fewest), max(high, most)
        method += "; Poisson interval for few events"
    return ClinicalValue(ratio, low, high, method, "", OBSERVED_EXPECTED)


def scaled_brier(
    problem: Problem, groups: Index | None, level: float, known: float | None = None
) -> ClinicalValue:
    """1 - B / (m (1 - m)), with the Brier score B and the mean outcome m, and its limits. `known`
    is the Brier score where the rows of the problem are pooled ones.

    The limits are Fieller's of a ratio: all shares for which the interval of B - share m (1 - m)
    holds 0. With few events the sample variance is unreliable, so that the interval covers the one
    that follows if events are in proportion to the predictions.
    """
    w = problem.weights / problem.weights.sum()
    z, loss = problem.z, (problem.u - problem.z) ** 2
    mean, brier = float(w @ z), float(w @ loss)
    most = mean * (1.0 - mean)
    if most <= 1e-15:
        return not_estimable(SCALED, f"{ONE_OUTCOME}, so there is nothing to explain")
    share = brier / most
    # m (1 - m) is not linear in m. For a constant prediction its curvature may be all there is.
    of_mean = influences(z, problem.w, groups, problem.counts)
    curvature = max(abs(end) for end in _limits(of_mean, level)) ** 2

    def limits(share: float) -> tuple[float, float]:
        """The lower and the upper limit of B - share m (1 - m)."""
        slope = share * (1.0 - 2.0 * mean)
        parts = influences(loss - slope * z, problem.w, groups, problem.counts)
        low, high = _limits(parts, level)
        if problem.hard:
            below, above = _expected_limits(problem, w, slope, parts.units, level)
            low, high = min(low, below), max(high, above)
        difference = brier - share * most
        return difference + low, difference + high + share * curvature

    least = _root(lambda share: limits(share)[0], share, -share)
    greatest = _root(lambda share: limits(share)[1], share, 1.0)
    if math.isinf(greatest):
        # Nearly no event: the lower Poisson limit of their number, at the observed mean loss.
        events = float(problem.weights @ z) ** 2 / float(problem.squared_weights @ z)
        rate = mean * poisson_limits(events, level)[0] / events
        lowest = float(w @ problem.u**2)
        greatest = (lowest + rate * (brier - lowest) / mean) / (rate * (1.0 - rate))
    value = 1.0 - (share if known is None else known / most)
    return ClinicalValue(
        value, 1.0 - greatest, 1.0 - least, "Fieller's interval for a ratio", "", SCALED
    )


def _expected_limits(
    problem: Problem, w: Array, slope: float, units: float, level: float
) -> tuple[float, float]:
    """Lower and upper limit of the mean of ``loss - slope z``, less the mean, if event
    probabilities are the predictions, scaled to the observed rate.

    `loss` is the squared error of a row, z its outcome, and w its share of the total weight.
    """
    u = problem.u
    rate = np.clip(u * float(w @ problem.z) / max(float(w @ u), 1e-300), 0.0, 1.0)
    event = 1.0 - 2.0 * u - slope  # what an event adds to a row's value
    mean = u * u + rate * event
    deviation = mean - float(w @ mean)
    second = rate * (1.0 - rate) * event**2
    third = second * event * (1.0 - 2.0 * rate) + 3.0 * second * deviation + deviation**3
    # The shares of the rows that each row stands for.
    each = w if problem.counts is None else w / problem.counts
    low, high, _ = moment_limits(
        float((w * each) @ (second + deviation**2)), float((w * each**2) @ third), units, level
    )
    return low, high


def _limits(parts: Influences, level: float) -> tuple[float, float]:
    """Lower and upper limit of a mean, less the mean, with as many degrees of freedom as there are
    units (rows or clusters): `_expected_limits` bounds the variance of few events from below.
    """
    low, high, _ = moment_limits(parts.variance, parts.third, parts.units, level)
    return low, high


def _root(limit: Callable[[float], float], start: float, step: float) -> float:
    """The share at which `limit`, which decreases in the share, is 0.

    It is searched from `start` in steps that begin with `step` and double: downwards for a negative
    step, to 0 at the lowest, and else upwards; infinite if no such share is found.
    """
    from scipy.optimize import brentq

    first = start
    for _ in range(HALVINGS):
        last = first + step
        if step < 0.0:
            last = max(last, 0.0)
        if limit(last) * step <= 0.0:
            return float(brentq(limit, first, last))
        if last == 0.0:
            return 0.0
        first, step = last, 2.0 * step
    return math.inf
