"""The verdict on predictions: what the tests of calibration and the tolerance decide."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from calibrant._api.limits import checked_limit
from calibrant._inference.calibration_tests import (
    CURVE,
    FLOOR,
    MEAN,
    SLOPE,
    CalibrationTests,
    calibration_tests,
)
from calibrant._inference.uncertainty import Uncertainty
from calibrant._measures.catalogue import Measure
from calibrant._measures.gap_scale import gap_scale
from calibrant.results._check import Limit, LimitCheck
from calibrant.results._rendering import p_words, shown
from calibrant.results._uncertainty import Interval, NoiseFloor, Verdict
from calibrant.results._verdict import (
    curve_words,
    direction_words,
    mean_words,
    slope_words,
    verdict_words,
)

# What decided, where the tests do not reject but the whole interval lies beyond the tolerance.
TOLERANCE = "tolerance"


def verdict_of(
    interval: Interval,
    floor: NoiseFloor | None,
    tolerance: float,
    measure: Measure,
    uncertainty: Uncertainty,
) -> Verdict:
    """The verdict on some rows, from tests of calibration and from the interval of a measure.

    `floor` is the noise floor of the measure, None if it has none.
    """
    scale = gap_scale(measure, uncertainty.summary(uncertainty.samples))
    limit = Limit(measure.name, "max", scale.value(tolerance))
    checked = checked_limit(limit, None, interval, uncertainty, scale)
    gaps = scale.gap(interval.low), scale.gap(interval.high)
    tests = calibration_tests(uncertainty, measure, floor)
    _, p_low, upper = _chance_of_value(floor)
    p, decided_by = _deciding_test(tests, floor, checked, measure, above_0=gaps[0] > 0)
    if gaps[0] <= 0 and not decided_by:
        # The rows that would show calibrated predictions to be calibrated; others show up by then.
        # A sample that shows little by luck has a short interval: noise says what is usual.
        reach = 0.0 if math.isnan(upper) else scale.gap(upper)
        checked = replace(checked, centre=0.0, reach=reach if measure.is_error else 0.0)
    kind, sentence = verdict_words(
        checked,
        floor,
        tolerance,
        measure.called(soft=uncertainty.soft),
        beyond=bool(decided_by),
        of_errors=measure.is_error,
        floor_decides=_share_of_floor(tests, above_0=gaps[0] > 0) * (1.0 - interval.level),
        by_floor=decided_by == FLOOR,
        reason=_reason_in_words(tests, decided_by, interval.level, uncertainty),
        direction=_direction_in_words(tests, decided_by, interval.level, uncertainty),
    )
    if measure.is_error and checked.verdict == "pass":
        sentence += _note_rare_outcome(uncertainty, tolerance)
    if measure.is_error and p_low < (1.0 - interval.level) / 2.0:
        sentence += (
            f" The value is lower than expected for a calibrated model ({p_words(p_low, 2)}): were "
            "these rows used to fit the model or a recalibration map?"
        )
    needed: tuple[int | None, int | None] = (None, None)
    if kind == "not enough data" or checked.verdict == "undecided":
        needed = (checked.rows_needed, checked.clusters_needed)
    return Verdict(
        kind,
        sentence,
        measure.name,
        interval.value,
        interval.low,
        interval.high,
        upper,
        p,
        tolerance,
        checked.n,
        needed[0],
        interval.estimate,
        interval.level,
        *gaps,
        {"pass": True, "fail": False}.get(checked.verdict),
        p_low,
        needed[1],
        decided_by,
        *_slope_with_limits(tests, interval.level),
    )


def _deciding_test(
    tests: CalibrationTests | None,
    floor: NoiseFloor | None,
    checked: LimitCheck,
    measure: Measure,
    *,
    above_0: bool,
) -> tuple[float, str]:
    """The p-value of calibration, and the name of the test that rejects it; "" if none does.

    `tests` are None for losses and for errors over all classes. The noise floor then decides, or,
    without a p-value, `above_0`: whether the interval's lower limit is above 0. The name is
    TOLERANCE if no test rejects but the whole interval lies beyond the tolerance.
    """
    interval = checked.interval
    assert interval is not None
    alpha = 1.0 - interval.level
    if tests is not None:
        p, beyond, test = tests.p_value, tests.p_value < alpha, tests.first
    else:
        # There are no tests for losses and for errors over all classes.
        p, test = _chance_of_value(floor)[0], FLOOR
        beyond = above_0
        if not math.isnan(p):
            beyond = p < alpha and (above_0 or (p < alpha / 2.0 and checked.n_clusters is None))
    if beyond:
        return p, test
    return p, TOLERANCE if checked.verdict == "fail" and measure.is_error else ""


def _share_of_floor(tests: CalibrationTests | None, *, above_0: bool) -> float:
    """The share of the false alarms that the noise floor has: where it is the only test all of
    them, or half if the interval's lower limit is 0 (not `above_0`).
    """
    if tests is None:
        return 1.0 if above_0 else 0.5
    return tests.shares[FLOOR]


def _reason_in_words(
    tests: CalibrationTests | None, decided_by: str, level: float, uncertainty: Uncertainty
) -> str:
    """The evidence that decided, in words; "" if the value and its interval say it.

    If nothing decided, the words mention a slope that would differ from 1 were it the only test.
    """
    confidence = uncertainty.of_confidences
    if tests is None:
        return ""
    hinted = not decided_by and tests.p_values.get(SLOPE, 1.0) < 1.0 - level
    if decided_by == SLOPE or hinted:
        limits = tests.slope_limits(level)
        assert tests.slope is not None and limits is not None
        return slope_words(
            tests.slope.value,
            limits,
            tests.slope_level(level),
            confidence=confidence,
            verb="may be" if hinted else "are",
        )
    if decided_by == MEAN:
        return mean_words(
            tests.predicted, tests.observed, confidence=confidence, soft=uncertainty.soft
        )
    return curve_words(tests.p_values[CURVE]) if decided_by == CURVE else ""


def _slope_with_limits(
    tests: CalibrationTests | None, level: float
) -> tuple[float | None, float | None, float | None, float | None]:
    """The calibration slope, its lower and upper limit, and their level; all None without one."""
    limits = None if tests is None else tests.slope_limits(level)
    if tests is None or tests.slope is None or limits is None:
        return None, None, None, None
    return tests.slope.value, *limits, tests.slope_level(level)


def _chance_of_value(floor: NoiseFloor | None) -> tuple[float, float, float]:
    """The p-values of a value as large and as small as observed, and the 95 % point.

    All three describe the measure under calibration; they are NaN without a noise floor.
    """
    if floor is None:
        return math.nan, math.nan, math.nan
    return floor.p_value, floor.p_low, floor.upper


def _direction_in_words(
    tests: CalibrationTests | None, decided_by: str, level: float, uncertainty: Uncertainty
) -> str:
    """Say whether miscalibrated predictions are too high or too low on average.

    The text is "" if the direction may be chance, or if the reason says it already.
    """
    if not decided_by or decided_by == MEAN:
        return ""
    if tests is not None and tests.p_values[MEAN] >= 1.0 - level:
        return ""
    problem = uncertainty.plain_problem
    gap = float(np.average(problem.u - problem.z, weights=problem.w))
    return direction_words(gap, confidence=uncertainty.of_confidences)


def _note_rare_outcome(uncertainty: Uncertainty, tolerance: float) -> str:
    """A sentence if the outcome is rarer than the tolerance; else, and for several classes, "".

    Constant predictions of 0 (or 1) would then be within the tolerance.
    """
    if uncertainty.about_confidence:
        return ""
    problem = uncertainty.plain_problem
    rate = float(np.average(problem.z, weights=problem.w))
    rarer, constant = (rate, 0) if rate < 0.5 else (1.0 - rate, 1)
    if rarer >= tolerance:
        return ""
    return (
        f" But the tolerance is larger than the prevalence of the rarer outcome, {shown(rarer)}: "
        f"always predicting {constant} would also pass."
    )
