"""Sentences of captions: what the marks, intervals, bins and bands of a figure are."""

from __future__ import annotations

from calibrant.results._plots.style import FULL_ROWS
from calibrant.results._plots.typing import CurveData, ReliabilityData
from calibrant.results._rendering import percent

# Whose isotonic curve it is, doi:10.1073/pnas.2016191118.
_CORP = "Dimitriadis, Gneiting and Jordan, 2021"


def shown_of(shown: int, n: int, what: str, order: str) -> str:
    """Say how many of all are shown, ``The best 3 of 9 models are shown.``; nothing if all are.

    `order` says which come first, and `what` is their name in the plural.
    """
    return f"The {order} {shown} of {n} {what} are shown." if shown < n else ""


def rows_of_table(table: ReliabilityData) -> str:
    """How many rows and which bins: ``4,000 rows, 15 equal-width bins, left-closed``."""
    n = int(sum(table.columns()["n"]))
    return f"{n:,} row{'s' * (n != 1)}, {table.title.partition(', ')[2]}"


def about_error(table: ReliabilityData, level: float | None) -> str:
    """Say that the error beside the number of rows is that of the sample."""
    name = table.words(level)[0].rpartition(" ")[0]
    return f"{name} is the value in the sample, which is biased upwards."


def about_bins(table: ReliabilityData, level: float | None, x: str, y: str, marks: str) -> str:
    """Say what each bin shows, and its interval: `marks` are ``Points`` or ``Bars``."""
    known = table.words(level)[1]
    interval = f", with its {percent(level)} confidence interval" if level is not None else ""
    if level is not None and not known.startswith(percent(level)):
        interval = f", with the {known}"
    return f"{marks} are bins: the {y} of each at its {x}{interval}."


def about_curve(curve: CurveData | None, with_band: bool) -> str:
    """Say what the line through the rows is, and its band."""
    if curve is None:
        return ""
    band = f" {about_band(curve)}" if with_band and curve.band is not None else ""
    called = curve.called.replace("(CORP)", f"(CORP; {_CORP})")
    return f"The line is fitted to the rows: {called}.{band}"


def about_band(curve: CurveData) -> str:
    """Say what the band of a curve is."""
    level = percent(curve.level)
    return {
        "consistency": f"The grey band holds {level} of the curves of calibrated predictions, at "
        "each prediction (pointwise).",
        "confidence": f"The band is a {level} confidence band, simultaneous over all predictions.",
        "pointwise": f"The band is a {level} confidence interval at each prediction (pointwise).",
    }[str(curve.band)]


def about_pale(few: bool) -> str:
    """Say that bins with few rows are pale, if there are some."""
    return f"Bins with fewer than {FULL_ROWS} rows are pale." if few else ""


def about_diagonal(ref_line: bool) -> str:
    """Say what the diagonal is, and what lies above and below it."""
    if not ref_line:
        return ""
    return (
        "The diagonal is perfect calibration: predictions are too low above it and too high "
        "below it."
    )


def about_strip(shown: bool, what: str) -> str:
    """Say what the strip on top shows."""
    return f"The strip on top shows the {what}." if shown else ""
