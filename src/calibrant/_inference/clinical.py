"""Limits of ratios that clinical papers report: observed over expected events, scaled Brier."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from calibrant._core.typing import Array, Index
from calibrant._inference.cells import Problem
from calibrant._inference.few_events import poisson_limits
from calibrant._inference.means import Influences, influences, mean_limits, moment_limits
from calibrant._inference.numbers import FEW_EVENTS
from calibrant.results._clinical import ClinicalValue

OBSERVED_EXPECTED = "observed over expected events; below 1, predictions are too high on the whole"
SCALED = "share of the Brier score of the mean outcome that is saved"
ONE_OUTCOME = "every outcome is the same"


def not_estimable(title: str, why: str) -> ClinicalValue:
    """A value that there is none of, and why."""
    return ClinicalValue(math.nan, math.nan, math.nan, "", why, title)


def observed_expected(problem: Problem, groups: Index | None, level: float) -> ClinicalValue:
    """Observed events over expected ones; limits on the log scale."""
    w = problem.weights
    observed, expected = float(w @ problem.z), float(w @ problem.u)
    if expected <= 0.0 or math.isinf(float(w.sum()) / expected):
        each = "0" if expected <= 0.0 else "next to 0"
        return not_estimable(OBSERVED_EXPECTED, f"no event is expected: every prediction is {each}")
    ratio = observed / expected
    if observed <= 0.0:
        # No event seen: Poisson's limit of their number, in rows as the weights are worth.
        unit = float((w * w).sum() / w.sum())
        high = -math.log((1.0 - level) / 2.0) * unit / expected
        return ClinicalValue(0.0, 0.0, high, "Poisson", "no event was seen", OBSERVED_EXPECTED)
    moved = (problem.z / observed - problem.u / expected) * float(w.sum())
    down, up, _ = mean_limits(influences(moved, problem.w, groups), level)
    low, high = ratio * math.exp(down), ratio * math.exp(up)
    method = "delta method, on the log scale"
    if observed**2 < FEW_EVENTS * float(w * w @ problem.z):
        # Few events scatter as Poisson's do, whatever these few show.
        events = observed**2 / float(w * w @ problem.z)
        fewest, most = (ratio * count / events for count in poisson_limits(events, level))
        low, high = min(low, fewest), max(high, most)
        method += "; Poisson limits of few events"
    return ClinicalValue(ratio, low, high, method, "", OBSERVED_EXPECTED)


def scaled_brier(problem: Problem, groups: Index | None, level: float) -> ClinicalValue:
    """1 - B / (m (1 - m)), m the mean outcome.

    The limits are those of a ratio (Fieller): where B - share m (1 - m) may be 0. What few events
    scatter by, and their losses, these do not tell; so it scatters at least as it would if events
    came in proportion to the predictions.
    """
    w = problem.weights / problem.weights.sum()
    z, loss = problem.z, (problem.u - problem.z) ** 2
    mean, brier = float(w @ z), float(w @ loss)
    most = mean * (1.0 - mean)
    if most <= 1e-15:
        return not_estimable(SCALED, f"{ONE_OUTCOME}, so that there is nothing to explain")
    share = brier / most
    # m (1 - m) is not straight in m: what it bends by may be all that a constant prediction has.
    bend = max(abs(end) for end in _limits(influences(z, problem.w, groups), level)) ** 2

    def limits(share: float) -> tuple[float, float]:
        slope = share * (1.0 - 2.0 * mean)
        parts = influences(loss - slope * z, problem.w, groups)
        low, high = _limits(parts, level)
        if problem.hard:
            below, above = _expected_limits(problem, w, slope, parts.units, level)
            low, high = min(low, below), max(high, above)
        apart = brier - share * most
        return apart + low, apart + high + share * bend

    least = _root(lambda share: limits(share)[0], share, -share)
    greatest = _root(lambda share: limits(share)[1], share, 1.0)
    if math.isinf(greatest):
        # Next to no event was seen: as many, of such losses, as Poisson's limit has at least.
        events = float(problem.weights @ z) ** 2 / float(problem.weights**2 @ z)
        rate = mean * poisson_limits(events, level)[0] / events
        lowest = float(w @ problem.u**2)
        greatest = (lowest + rate * (brier - lowest) / mean) / (rate * (1.0 - rate))
    return ClinicalValue(
        1.0 - share, 1.0 - greatest, 1.0 - least, "Fieller's limits of a ratio", "", SCALED
    )


def _expected_limits(
    problem: Problem, w: Array, slope: float, units: float, level: float
) -> tuple[float, float]:
    """How far the limits of a mean of ``loss - slope z`` lie from it if events are as likely as
    the predictions say, all of them scaled to the rate that is seen.
    """
    u = problem.u
    rate = np.clip(u * float(w @ problem.z) / max(float(w @ u), 1e-300), 0.0, 1.0)
    event = 1.0 - 2.0 * u - slope  # what an event adds
    mean = u * u + rate * event
    away = mean - float(w @ mean)
    scatter = rate * (1.0 - rate)
    second = scatter * event**2
    third = second * event * (1.0 - 2.0 * rate) + 3.0 * second * away + away**3
    low, high, _ = moment_limits(
        float((w * w) @ (second + away**2)), float(w**3 @ third), units, level
    )
    return low, high


def _limits(parts: Influences, level: float) -> tuple[float, float]:
    """How far the limits of a mean lie from it; what few events carry is known by their law."""
    low, high, _ = moment_limits(parts.variance, parts.third, parts.units, level)
    return low, high


def _root(limit: Callable[[float], float], start: float, step: float) -> float:
    """Where a limit that falls as the share grows is 0, on the way from `start`; without an end
    where it never is.
    """
    from scipy.optimize import brentq

    first = start
    for _ in range(60):
        last = first + step
        if step < 0.0:
            last = max(last, 0.0)
        if limit(last) * step <= 0.0:
            return float(brentq(limit, first, last))
        if last == 0.0:
            return 0.0
        first, step = last, 2.0 * step
    return math.inf
