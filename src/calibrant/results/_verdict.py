"""The verdict in a word and in a sentence."""

from __future__ import annotations

from calibrant.results._check import LimitCheck
from calibrant.results._rendering import distinct_numbers, in_full, percent, snapped
from calibrant.results._uncertainty import NoiseFloor

# Places of the numbers in a verdict, if they suffice to tell the numbers apart.
_PLACES = 3


def verdict_words(
    checked: LimitCheck, floor: NoiseFloor | None, tolerance: float, label: str, *,
    beyond: bool, of_errors: bool, direction: str = "",
) -> tuple[str, str]:  # fmt: skip
    """Give the verdict in a word and in a sentence.

    Parameters
    ----------
    checked : LimitCheck
        The tolerance, checked as a limit.
    floor : NoiseFloor or None
        What calibrated predictions would show.
    tolerance : float
        The gap that is tolerated.
    label : str
        The measure's name in a sentence.
    beyond : bool
        Whether the value is more than chance explains.
    of_errors : bool
        Whether the measure is a calibration error.
    direction : str, optional
        A sentence on the side to which predictions are off.

    Returns
    -------
    tuple of str
        The word and the sentence.
    """
    numbers, within = (
        _numbers(checked, floor, tolerance, label),
        f"the tolerance of {in_full(tolerance)}",
    )
    if beyond:
        size = f", within {within}" if checked.verdict == "pass" else ""
        unsure = f" These rows do not show whether it is within {within}."
        if checked.too_few:  # its interval may well lie outside the tolerance
            unsure = f" But {checked.units_are} too few to rely on its limits."
        return "miscalibrated", (
            f"Miscalibrated{size}: {numbers}."
            + (f" {direction}" if direction else "")
            + (unsure if checked.verdict == "undecided" else "")
        )
    if checked.verdict == "pass":
        return "calibrated within noise", f"Calibrated within noise: {numbers}."
    if checked.verdict == "fail" and not of_errors:
        return "not enough data", (
            f"Not shown to be miscalibrated: {numbers}. It is above {within}, which a loss may be "
            "however well predictions are calibrated."
        )
    needed = checked.needed_text
    more = f"about {needed} would be needed" if needed else "no number of rows can be given"
    if checked.too_few:
        # Its interval may well lie within the tolerance, which would seem to decide it.
        return "not enough data", (
            f"Not enough data: {numbers}. But {checked.units_are} too few to tell whether it is "
            f"within {within}: {more}."
        )
    return "not enough data", (
        f"Not enough data: {numbers}. To decide whether it is within {within}, {more}; there are "
        f"{checked.n:,}."
    )


def direction_words(gap: float, *, confidence: bool) -> str:
    """Say to which side predictions are off on average; empty for less than a point.

    Parameters
    ----------
    gap : float
        Mean prediction less mean target.
    confidence : bool
        Whether the predictions are confidences of the top label.

    Returns
    -------
    str
        A sentence.
    """
    points = round(100 * abs(gap))
    if points < 1:
        return ""
    size = f"{points} point{'s' if points > 1 else ''}"
    if confidence:
        return f"{'Overconfident' if gap > 0 else 'Underconfident'} by {size}."
    return f"Predictions are too {'high' if gap > 0 else 'low'} by {size} on average."


def _numbers(checked: LimitCheck, floor: NoiseFloor | None, tolerance: float, label: str) -> str:
    """The value, its interval and its noise floor, with as many digits as decide."""
    interval, scale = checked.interval, checked.scale
    assert interval is not None
    ends = snapped(interval.value, (interval.low, interval.high))
    values = [*ends, *([floor.upper] if floor else [])]
    # Squares are compared with the tolerance as gaps, which are printed too.
    beside = (tolerance,) if scale.power == 1 else ()
    value, low, high, *upper = distinct_numbers(values, beside, places=_PLACES)
    gap = ""
    if scale.power > 1:
        gaps = [scale.gap(interval.low), scale.gap(interval.high)]
        least, most = distinct_numbers(gaps, (tolerance,), places=_PLACES)
        gap = f", as a gap in every bin {least} to {most}"
    text = f"{label} {value} ({percent(interval.level)} CI {low} to {high}{gap})"
    if interval.comment:
        text = f"{text}; {interval.comment}"
    if floor:
        text = f"{text}; a calibrated model would stay {floor.side} {upper[0]} in 95% of samples"
    return text
