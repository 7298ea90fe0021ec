"""A measure as a row of a table: its numbers as text, and where they lie on a small bar."""

from __future__ import annotations

import math
from typing import Any

from calibrant._measures.catalogue import HEADLINE, entry_of
from calibrant.results._evaluation import Estimate
from calibrant.results._rendering import shown
from calibrant.results._uncertainty import Interval, NoiseFloor

_TRUTHFUL = {True: "yes", False: "no", None: "–"}


def measure_row(estimate: Estimate, tolerance: float) -> dict[str, Any]:
    """Everything that a template shows of one measure."""
    interval, floor = estimate.interval, estimate.noise_floor
    return {
        "name": estimate.name,
        "title": estimate.title,
        "value": shown(estimate.value),
        "exact": repr(float(estimate.value)),
        "estimate": shown(estimate.estimate),
        "outside": _outside(estimate, interval),
        "interval": f"{shown(interval.low)} – {shown(interval.high)}" if interval else "",
        "method": interval.method if interval else "",
        "floor": shown(floor.upper) if floor else "",
        "p": _p_value(floor) if floor else "",
        "truthful": _TRUTHFUL[estimate.truthful],
        "notion": estimate.notion,
        "rule": estimate.rule,
        "better": "higher" if estimate.higher_is_better else "lower",
        "bar": _bar(estimate, interval, floor, tolerance if estimate.name == HEADLINE else None),
    }


def _outside(estimate: Estimate, interval: Interval | None) -> str:
    """A word where the value lies outside its own interval: no number stands there unexplained."""
    if interval is None or interval.low <= estimate.value <= interval.high:
        return ""
    return (
        "the value is above it, by the bias of a sample"
        if estimate.value > interval.high
        else ("the value is below it")
    )


def _p_value(floor: NoiseFloor) -> str:
    return f"{floor.p_value:.3f}" if floor.p_value >= 0.001 else f"{floor.p_value:.1e}"


def _bar(
    estimate: Estimate, interval: Interval | None, floor: NoiseFloor | None,
    tolerance: float | None,
) -> dict[str, Any] | None:  # fmt: skip
    """Places in percent, from 0 to a little more than the largest; None with nothing to show."""
    if interval is None and floor is None:
        return None
    ends = [estimate.value, tolerance or 0.0]
    ends += [interval.high] if interval else []
    ends += [floor.upper, floor.mean] if floor else []
    top = max(end for end in ends if math.isfinite(end)) * 1.06
    if not top > 0:
        return None

    def at(value: float) -> float:
        return round(100.0 * min(max(value / top, 0.0), 1.0), 2)

    noise = None
    if floor:
        # An error that calibrated predictions show is anything from 0; a loss has a place of its
        # own.
        from_zero = entry_of(estimate.name).group not in ("losses", "decomposition")
        low, high = sorted((0.0 if from_zero else floor.mean, floor.upper))
        noise = (at(low), round(at(high) - at(low), 2))
    span = None
    if interval:
        span = (at(interval.low), round(max(at(interval.high) - at(interval.low), 0.4), 2))
    return {
        "noise": noise,
        "span": span,
        "dot": at(estimate.value),
        "tolerance": None if tolerance is None else at(tolerance),
    }
