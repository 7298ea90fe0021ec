"""The first screen of the report page: the verdict with its reasons, and a few numbers in tiles."""

from __future__ import annotations

from typing import Any, NamedTuple

from calibrant._data.checks import shape_from_notes
from calibrant._measures.catalogue import HEADLINE, find
from calibrant.results._findings import mean_values, reversed_order, worst_slices
from calibrant.results._plots.typing import ReportData
from calibrant.results._rendering import distinct_numbers, in_full, percent
from calibrant.results._uncertainty import interval_words
from calibrant.results._verdict import direction_words, slope_meaning, tone_of

# Decimal places of the numbers in tiles, and of slopes; more where a number would mislead.
_PLACES, _SLOPE_PLACES = 3, 2
# Below this p-value of the whole search, the first segment is a finding.
_SIGNIFICANT = 0.05


class Tile(NamedTuple):
    """A number on the first screen: its `name`, the number as text, and a remark below it."""

    name: str
    value: str
    small: str = ""


def first_screen(report: ReportData, *, clinical: bool) -> dict[str, Any]:
    """The variables of the first screen: the `tone` of its colour, `reasons`, `findings`, `tiles`.

    Reasons have no numbers that tiles have. Findings are about other parts of the page. With
    `clinical`, the clinical summary follows, which has the slope.
    """
    evaluation = report.evaluation
    segments = evaluation.segments
    return {
        "tone": tone_of(evaluation.verdict),
        "reasons": _reasons(report),
        "findings": [
            *reversed_order(evaluation),
            *worst_slices(evaluation),
            *([segments.sentence] if segments is not None and stands_out(segments) else []),
        ],
        "tiles": [
            _row_tile(report),
            *_mean_tiles(report),
            *_error_tile(report),
            *([] if clinical else _slope_tile(report)),
        ],
    }


def stands_out(segments: Any) -> bool:
    """Whether the search for segments found one whose gap chance does not explain."""
    return any(row.p_value < _SIGNIFICANT for row in segments.rows[:1])


def _reasons(report: ReportData) -> list[str]:
    """What decided the verdict, and how the error compares with the tolerance, in sentences."""
    evaluation, verdict = report.evaluation, report.evaluation.verdict
    predicted, target = mean_values(evaluation)
    confidence = evaluation.reliability.notion == "confidence"
    direction = direction_words(predicted - target, confidence=confidence)
    if verdict is None:
        return [direction] if direction else []
    words = {
        "slope": _slope_sentence(verdict, confidence=confidence),
        "mean": _mean_sentence(predicted - target, confidence=confidence),
        "noise floor": "The error is larger than chance explains.",
        "curve": "The gap varies with the prediction by more than chance explains.",
    }
    reasons = [words[verdict.decided_by]] if verdict.decided_by in words else []
    if direction and verdict.decided_by != "mean":
        reasons.append(direction)
    return [*reasons, *_tolerance_sentences(report)]


def _slope_sentence(verdict: Any, *, confidence: bool) -> str:
    """What the calibration slope says of the predictions; empty if it is not known."""
    if verdict.slope is None:
        return ""
    means, why = slope_meaning(verdict.slope, verdict.slope_high)
    return f"{'Confidences' if confidence else 'Predictions'} are {means}: {why}."


def _mean_sentence(gap: float, *, confidence: bool) -> str:
    """The side to which predictions are off on average; `gap` is that of the means."""
    if confidence:
        return f"Predictions are {'over' if gap > 0 else 'under'}confident on average."
    return f"Predictions are too {'high' if gap > 0 else 'low'} on average."


def _tolerance_sentences(report: ReportData) -> list[str]:
    """How the interval of the error compares with the tolerance; if undecided, how many rows would
    decide.
    """
    verdict = report.evaluation.verdict
    interval = f"{percent(verdict.level)} interval of the {_error_name(report)}"
    tolerance = f"the tolerance of {in_full(verdict.tolerance)}"
    if verdict.within_tolerance is not None:
        side = "within" if verdict.within_tolerance else "above"
        return [f"The whole {interval} is {side} {tolerance}."]
    if verdict.gap_low <= verdict.tolerance < verdict.gap_high:
        sentences = [f"{tolerance.capitalize()} lies inside the {interval}."]
    else:
        sentences = [f"There are too few rows to rely on the {interval}."]
    for n, units in ((verdict.clusters_needed, "clusters"), (verdict.rows_needed, "rows")):
        if n is not None:
            return [*sentences, f"About {n:,} {units} would decide."]
    return sentences


def _error_name(report: ReportData) -> str:
    """The name of the ECE in sentences: SMECE for soft labels."""
    return find(HEADLINE, "binary").called(soft=not report.evaluation.reliability.is_hard)


def _row_tile(report: ReportData) -> Tile:
    """The number of rows, and what is unusual about them."""
    evaluation = report.evaluation
    remarks = []
    if evaluation.reliability.notion == "confidence":
        remarks.append(f"{evaluation.recipe['n_classes']:,} classes")
    if len(report.views) > 1:
        remarks.append("soft labels")
    if evaluation.recipe["weighted"]:
        remarks.append("weighted")
    return Tile("rows", f"{evaluation.recipe['n']:,}", ", ".join(remarks))


def _mean_tiles(report: ReportData) -> list[Tile]:
    """The mean target (accuracy or prevalence) and the mean prediction, with digits that differ."""
    evaluation = report.evaluation
    predicted, target = distinct_numbers(mean_values(evaluation), places=_PLACES)
    names = mean_names(report)
    if names[1] == "frequency":
        answers = shape_from_notes(evaluation.inferred) == "answers"
        names = (names[0], "accuracy" if answers else "prevalence")
    return [Tile(names[1], target), Tile(names[0], predicted)]


def mean_names(report: ReportData) -> tuple[str, str]:
    """The names of the mean prediction and of the mean target, such as "accuracy"."""
    table = report.evaluation.reliability
    top, hard = table.notion == "confidence", len(report.views) == 1
    target = ("accuracy" if top else "frequency") if hard else "mean label"
    return "mean confidence" if top else "mean prediction", target


def _error_tile(report: ReportData) -> list[Tile]:
    """The bias-corrected ECE with its interval; its sample value where there is no interval."""
    evaluation = report.evaluation
    if HEADLINE not in evaluation:
        return []
    found, name = evaluation.estimate(HEADLINE), _error_name(report)
    if found.interval is None:
        return [Tile(name, distinct_numbers((found.value,), places=_PLACES)[0], "sample value")]
    beside = () if evaluation.verdict is None else (evaluation.verdict.tolerance,)
    value, low, high, *_ = interval_words(found.interval, (), beside, _PLACES)
    return [Tile(name, value, _interval_remark(found.interval.level, low, high))]


def _slope_tile(report: ReportData) -> list[Tile]:
    """The calibration slope of a binary outcome with its interval, if it can be estimated.

    Of several classes it is shown where it decided the verdict.
    """
    evaluation, verdict = report.evaluation, report.evaluation.verdict
    clinical = evaluation.clinical
    if clinical is not None and clinical["slope"].estimable:
        slope = clinical["slope"]
        numbers, level = (slope.estimate, slope.low, slope.high), clinical.level
    elif verdict is not None and verdict.slope is not None:
        if evaluation.reliability.notion == "confidence" and verdict.decided_by != "slope":
            return []
        numbers, level = (verdict.slope, verdict.slope_low, verdict.slope_high), verdict.slope_level
    else:
        return []
    value, low, high = distinct_numbers(numbers, (1.0,), _SLOPE_PLACES)
    return [Tile("slope", value, _interval_remark(level, low, high))]


def _interval_remark(level: float, low: str, high: str) -> str:
    """A confidence interval under the number of a tile."""
    return f"{percent(level)} CI {low} to {high}"
