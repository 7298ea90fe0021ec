"""An evaluation in about ten lines: what was read, the verdict, the main measures, the notes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from calibrant._core.lines import shortened_middle
from calibrant._core.messages import ABOUT_MEASURES, CLASSES, FOUND, Note
from calibrant._measures.catalogue import names_in_summaries
from calibrant.results._rendering import percent, range_text, shown

# An `Evaluation` and its `Estimate`s, which lie above: they print themselves by this module.
Evaluation: TypeAlias = Any
Estimate: TypeAlias = Any

# The most measures that are all shown.
_MOST = 8
_LONGEST = 40  # letters of a column's name
_NOUNS = {"y_true": "label", "y_proba": "prediction"}


def main_estimates(evaluation: Evaluation, named: bool = False) -> tuple[Estimate, ...]:
    """The measures of a summary: the main ones, or all where they were `named` or are few."""
    estimates = evaluation.estimates
    if named or len(estimates) <= _MOST:
        return estimates
    by_name = {each.name: each for each in estimates}
    main = tuple(by_name[name] for name in names_in_summaries() if name in by_name)
    return main or estimates[:_MOST]


def summary_columns(
    evaluation: Evaluation, *, named: bool = False, slope: bool = True
) -> dict[str, list[Any]]:
    """The table of a summary: a row for each main measure, and one for the calibration slope.

    With uncertainty it has the estimate, its interval, and the sample value where that is another.
    """
    called, level = evaluation._sentence_names, evaluation.recipe.get("level", 0.95)
    rows = [_row(each, called[each.name]) for each in main_estimates(evaluation, named)]
    verdict = evaluation.verdict
    if verdict is not None and verdict.slope is not None and slope and not named:
        assert verdict.slope_low is not None and verdict.slope_high is not None
        own = verdict.slope_level or level
        name = "calibration slope" if own == level else f"calibration slope ({percent(own)} CI)"
        interval = range_text(verdict.slope_low, verdict.slope_high)
        rows.append((name, verdict.slope, interval, verdict.slope))
    names, estimates, intervals, values = (list(each) for each in zip(*rows, strict=True))
    if not any(intervals):
        return {"measure": names, "value": values}
    columns = {"measure": names, "estimate": estimates, f"{percent(level)} CI": intervals}
    others = [
        None if shown(value) == shown(estimate) else value
        for value, estimate in zip(values, estimates, strict=True)
    ]
    return columns | ({"sample value": others} if any(v is not None for v in others) else {})


def _row(estimate: Estimate, name: str) -> tuple[str, float, str, float]:
    """A measure as a row: name, estimate (NaN without an interval), interval as text, value."""
    interval = estimate.interval
    text = "" if interval is None else range_text(interval.low, interval.high)
    return name, estimate.estimate, text, estimate.value


def input_lines(messages: Iterable[str]) -> list[str]:
    """What was inferred of the input, in one line, and the columns that were found in another.

    How labels stand for classes is left out: names of columns say it.
    """
    messages = list(dict.fromkeys(messages))
    found: dict[str, list[str]] = {}
    others: list[str] = []
    for message in messages:
        if isinstance(message, Note) and message.code == FOUND:
            named = found.setdefault(_NOUNS[message.values["argument"]], [])
            named.append(_columns_in_words(message.values["columns"]))
        elif not (isinstance(message, Note) and message.code == CLASSES):
            others.append(message)
    lines = ["; ".join(others)] if others else []
    if found:
        each = ", ".join(f"{what} {' or '.join(named)}" for what, named in found.items())
        lines.append(f"columns found by name: {each}")
    return lines


def _columns_in_words(names: Sequence[str]) -> str:
    """One column, or the first and the last of several."""
    first, last = (repr(shortened_middle(name, _LONGEST)) for name in (names[0], names[-1]))
    return first if len(names) == 1 else f"{first} to {last}"


def summary_notes(
    notes: Iterable[str], estimates: Sequence[Estimate], names: Iterable[str] = ()
) -> list[str]:
    """The notes that concern a summary: without those on measures that it does not show."""
    own = {*(each.name for each in estimates), *names}
    return [
        note
        for note in notes
        if not (isinstance(note, Note) and note.code == ABOUT_MEASURES)
        or own & set(note.values["names"])
    ]
