"""Rows of the report page's tables: recalibration, classes, slices."""

from __future__ import annotations

from typing import Any

from calibrant.results._rendering import shown
from calibrant.results._report import BeforeAfter, Report


def change_rows(change: BeforeAfter | None) -> list[dict[str, str]]:
    """Each measure before and after recalibration."""
    if change is None:
        return []

    def between(limits: tuple[float, float] | None) -> str:
        return "" if limits is None else f"{shown(limits[0])} to {shown(limits[1])}"

    return [
        {
            "name": row.measure,
            "before": shown(row.before),
            "after": shown(row.after),
            "before_limits": between(row.before_limits),
            "after_limits": between(row.after_limits),
            "change": shown(row.after - row.before),
            "limits": "" if row.low is None or row.high is None else between((row.low, row.high)),
            "noise": "" if row.after_noise_95 is None else shown(row.after_noise_95),
        }
        for row in change.changes
    ]


def class_rows(report: Report) -> list[dict[str, Any]]:
    """Each class with its gap, and how wide its error is drawn."""
    columns = report.evaluation.classes
    if not columns:
        return []
    largest = max(columns["ece"]) or 1.0
    return [
        {**dict(zip(columns, row, strict=True)), "gap": row[1] - row[2],
         "width": round(100 * row[3] / largest, 1)}
        for row in zip(*columns.values(), strict=True)
    ]  # fmt: skip


def slice_rows(report: Report) -> list[dict[str, Any]]:
    """Each slice, and how wide its error is drawn."""
    slices = report.evaluation.slices
    if slices is None:
        return []
    ends = [max(part.values[slices.measure], part.noise_95) for part in slices]
    largest = max([end for end in ends if end == end], default=1.0) or 1.0
    return [
        {
            "name": part.name,
            "n": part.n,
            "measures": part.values,
            "value": part.values[slices.measure],
            "noise": part.noise_95,
            "p": part.p_value,
            "corrected": part.p_corrected,
            "stands_out": part.p_corrected < 1.0 - slices.level,
            # A slice is held to the tolerance that the verdict above is held to.
            "flag": "miscalibrated, within the tolerance" if part.within_tolerance
            else "miscalibrated",
            "estimate": part.estimate,
            "interval": "" if part.low != part.low else f"{shown(part.low)} – {shown(part.high)}",
            "width": round(100 * part.values[slices.measure] / largest, 1),
            "noise_at": None if part.noise_95 != part.noise_95
            else round(100 * part.noise_95 / largest, 1),
        }
        for part in slices
    ]  # fmt: skip
