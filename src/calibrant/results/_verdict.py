"""The verdict in a word and in a sentence."""

from __future__ import annotations

from calibrant._core.errors import counted
from calibrant.results._check import LimitCheck
from calibrant.results._rendering import distinct_numbers, in_full, p_words, percent
from calibrant.results._uncertainty import NoiseFloor, Verdict, interval_words

# Decimal places of numbers in a verdict; more where two numbers would print alike.
_PLACES = 3


def verdict_words(
    checked: LimitCheck,
    floor: NoiseFloor | None,
    tolerance: float,
    label: str,
    *,
    beyond: bool,
    of_errors: bool,
    floor_decides: float,
    by_floor: bool = False,
    reason: str = "",
    direction: str = "",
) -> tuple[str, str]:
    """Give the verdict in a word and in a sentence.

    Parameters
    ----------
    checked : LimitCheck
        The tolerance, checked as a limit.
    floor : NoiseFloor or None
        What calibrated predictions would show.
    tolerance : float
        The tolerated gap.
    label : str
        The measure's name in a sentence.
    beyond : bool
        Whether predictions are shown to be miscalibrated.
    of_errors : bool
        Whether the measure is a calibration error.
    floor_decides : float
        The p-value below which the noise floor decides.
    by_floor : bool, default False
        Whether it decided.
    reason : str, optional
        What decided, in words: `slope_words`, `mean_words` or `curve_words`. Empty where the value
        and its noise floor did. Where nothing decided, what may be wrong.
    direction : str, optional
        A sentence on the side to which predictions are off.

    Returns
    -------
    tuple of str
        The word and the sentence.
    """
    chance = _chance_in_words(floor, floor_decides, beyond=beyond, by_floor=by_floor)
    numbers = _numbers_in_words(checked, floor, tolerance, label, chance)
    within = f"the tolerance of {in_full(tolerance)}"
    exceeds = f"whether {'the error' if of_errors else label} exceeds {within}"
    if beyond:
        size = f", within {within}" if checked.verdict == "pass" else ""
        because = f"{reason}. {_capitalize(numbers)}" if reason else numbers
        unsure = f" There is not enough data to say {exceeds}."
        if checked.too_few:  # its interval may well lie outside the tolerance
            unsure = f" But {checked.units_are} too few to rely on the interval."
        return "miscalibrated", (
            f"Miscalibrated{size}: {because}."
            + (f" {direction}" if direction else "")
            + (unsure if checked.verdict == "undecided" else "")
        )
    if checked.verdict == "pass":
        return "calibrated within noise", f"Calibrated within noise: {numbers}."
    if checked.verdict == "fail" and not of_errors:
        return "not enough data", (
            f"No significant miscalibration: {numbers}. The value is above {within}, but a loss "
            "can be high even if the model is calibrated."
        )
    hint = f" {_capitalize(reason)}." if reason else ""
    return "not enough data", (
        f"Not enough data to say {exceeds}: {numbers}. {_needed_sentence(checked)}{hint}"
    )


def _needed_sentence(checked: LimitCheck) -> str:
    """A sentence on how much data would decide an undecided limit.

    Where that cannot be estimated, the sentence says so, or only that there are too few rows.
    """
    if checked.needs_votes:
        return f"{_capitalize(checked.votes_text)}."
    needed = checked.needed_text
    if checked.too_few:
        # Say so even if the interval lies within the tolerance, which would seem to decide.
        more = f"; about {needed} would be needed" if needed else ""
        return f"{checked.units_are} too few{more}."
    if not needed:
        return "The number of rows needed cannot be estimated."
    return f"About {needed} would be needed; there are {checked.n:,}."


def slope_words(
    slope: float, limits: tuple[float, float], level: float, *, confidence: bool, verb: str = "are"
) -> str:
    """Say what a calibration slope means.

    Parameters
    ----------
    slope : float
        The slope.
    limits : tuple of float
        Its confidence interval.
    level : float
        The level of the interval.
    confidence : bool
        Whether the predictions are confidences of the top label.
    verb : str, default "are"
        How sure that is: "are", or "may be".

    Returns
    -------
    str
        A clause without a full stop.
    """
    # Two places, or as many as distinguish the limits from 1.
    enough = (p for p in range(2, 15) if all(x == 1.0 or round(x, p) != 1.0 for x in limits))
    places = next(enough, 15)
    value, low, high = (f"{x:.{places}f}" for x in (slope, *limits))
    means, _ = slope_meaning(slope, limits[1])
    subject = "confidences" if confidence else "predictions"
    return (
        f"{subject} {verb} {means} (calibration slope {value}, {percent(level)} CI {low} to {high})"
    )


def slope_meaning(slope: float, high: float) -> tuple[str, str]:
    """What predictions of this calibration slope are, and why; `high` is its interval's end."""
    if high < 0.0:
        return "ranked in reverse", "the slope is below 0"
    if slope < 0.0:
        return "not ranked better than by chance", "the interval of the slope contains 0"
    if slope < 1.0:
        return "too extreme", "the slope is below 1"
    return "not extreme enough", "the slope is above 1"


def mean_words(predicted: float, observed: float, *, confidence: bool, soft: bool) -> str:
    """Say by how much predictions are off on average.

    Parameters
    ----------
    predicted, observed : float
        Mean prediction and mean target.
    confidence : bool
        Whether the predictions are confidences of the top label.
    soft : bool
        Whether the targets are soft labels.

    Returns
    -------
    str
        A clause without a full stop.
    """
    gap = 100.0 * abs(predicted - observed)
    size = f"{gap:.0f}" if gap >= 0.95 else f"{gap:.1g}"
    numbers = distinct_numbers((predicted, observed), places=_PLACES)
    first = "mean confidence" if confidence else "mean prediction"
    second = "mean label" if soft else "accuracy" if confidence else "observed frequency"
    high, points = predicted > observed, f"{size} point{'' if size == '1' else 's'} on average"
    off = f"predictions are too {'high' if high else 'low'} by {points}"
    if confidence:
        off = f"{'overconfident' if high else 'underconfident'} by {points}"
    return f"{off} ({first} {numbers[0]}, {second} {numbers[1]})"


def curve_words(p_value: float) -> str:
    """Say that gaps change along the predictions by more than chance explains.

    Parameters
    ----------
    p_value : float
        The p-value of their waves.

    Returns
    -------
    str
        A clause without a full stop.
    """
    return (
        "the gap varies with the prediction by more than chance explains (smooth test, "
        f"{p_words(p_value, 2)})"
    )


def _capitalize(text: str) -> str:
    """Start a sentence with a clause; names such as ECE keep their case."""
    first = text.split(maxsplit=1)[0]
    return text[0].upper() + text[1:] if first.islower() else text


def tone_of(verdict: Verdict | None) -> str:
    """Give the colour of a verdict, on pages and in the terminal.

    Parameters
    ----------
    verdict : Verdict or None
        The verdict; None where there is none.

    Returns
    -------
    {"good", "unsure", "bad"}
        "bad" where predictions are miscalibrated and the error exceeds the tolerance, "good" where
        it is within the tolerance, and "unsure" where these rows cannot decide.
    """
    if verdict is None or verdict.verdict == "not enough data":
        return "unsure"
    if verdict.verdict == "calibrated within noise" or verdict.within_tolerance:
        return "good"
    return "bad" if verdict.within_tolerance is False else "unsure"


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
    size = counted(points, "point", "")
    if confidence:
        return f"{'Overconfident' if gap > 0 else 'Underconfident'} by {size}."
    return f"Predictions are too {'high' if gap > 0 else 'low'} by {size} on average."


def _chance_in_words(
    floor: NoiseFloor | None, decides: float, *, beyond: bool, by_floor: bool
) -> str:
    """The share of calibrated samples with a value as far off, where the noise floor would seem to
    contradict the verdict; else "".

    The noise floor is the 95 % point, and the verdict uses a stricter one, `decides`, since it uses
    several tests: a value between both is above the floor without deciding anything.
    """
    if floor is None:
        return ""
    is_above = floor.side == "above"
    outside = floor.value < floor.upper if is_above else floor.value > floor.upper
    if by_floor == outside or (beyond and not by_floor):
        return ""
    percents = distinct_numbers((100.0 * floor.p_value, 100.0 * decides), places=1)
    side = "below" if is_above else "above"
    text = f"a calibrated model would be {side} that value in {percents[0]}% of samples"
    if by_floor or floor.p_value >= decides:
        return f"{text} (the verdict needs less than {percents[1]}%)"
    return f"{text}, but the interval reaches 0"


def _numbers_in_words(
    checked: LimitCheck, floor: NoiseFloor | None, tolerance: float, label: str, chance: str = ""
) -> str:
    """The numbers of a verdict in words: estimate, interval and noise floor of the measure `label`.

    A `chance` that is not empty stands in place of the noise floor.

    They have enough digits to show on which side of the tolerance they lie. For a squared measure
    the limits are also given as a gap in every bin, since the tolerance is such a gap.
    """
    interval, scale = checked.interval, checked.scale
    assert interval is not None
    # A squared measure is compared with the tolerance as a gap, which is printed too.
    beside = (tolerance,) if scale.power == 1 else ()
    also = (floor.upper,) if floor else ()
    # Numbers below 0.01 have three digits: those beside them have as many as in tables.
    numbers = (interval.estimate, interval.low, interval.high)
    places = _PLACES + any(0.0 < abs(number) < 0.01 for number in numbers)
    estimate, low, high, sample, *upper = interval_words(interval, also, beside, places)
    gap = ""
    if scale.power > 1:
        gaps = [scale.gap(interval.low), scale.gap(interval.high)]
        least, most = distinct_numbers(gaps, (tolerance,), places=_PLACES)
        gap = f", equivalent to a gap of {least} to {most} in every bin"
    text = f"{label} {estimate} ({percent(interval.level)} CI {low} to {high}{gap})"
    if floor and not chance:
        chance = f"a calibrated model would stay {floor.side} {upper[0]} in 95% of samples"
    return "; ".join(filter(None, [text, sample, interval.note, chance]))
