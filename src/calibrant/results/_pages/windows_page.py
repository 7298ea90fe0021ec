"""The page of a monitor: a measure and the evidence against calibration, over time."""

from __future__ import annotations

import math
from typing import Any

from calibrant.results._pages import charts
from calibrant.results._pages.page import render_page
from calibrant.results._pages.provenance import checked_name, checked_source, versions
from calibrant.results._plots.typing import WindowsData

# Charts cut larger e-values: beyond this the answer is certain.
_MOST_EVIDENCE = 1e12


def windows_page(
    windows: WindowsData, alarm_at: float, name: str | None = None, source: Any = None
) -> str:
    """The page of a monitor's windows (spans of time), as one HTML text.

    `alarm_at` is the e-value (the evidence against calibration) that gives an alarm. `name` is the
    title, and `source` says where the rows come from.
    """
    columns = windows.columns()
    measure = windows.measure or next(iter(windows.shown), None)
    has_evidence = any(not math.isnan(value) for value in columns["e_value"])
    rows = [_window_row(columns, i, measure) for i in range(len(columns["start"]))]
    table = windows.display_columns()
    answer, tone = _alarm_sentence(windows, has_evidence)
    facts = {
        "title": checked_name(name, f"Calibration over time, windows of {windows.every}"),
        "answer": answer,
        "tone": tone,
        "notes": windows.notes,
        "measure": measure,
        "has_evidence": has_evidence,
        "is_cut": any(value > _MOST_EVIDENCE for value in columns["e_value"]),
        "alarm_at": f"{alarm_at:g}",
        "chance": f"{100 / alarm_at:g} %",
        "n_windows": len(rows),
        "n_rows": sum(columns["n"]),
        "heads": list(table),
        "table": list(zip(*table.values(), strict=True)),
        "source": checked_source(source),
        "versions": versions(),
    }
    specs = {
        "windows": charts.measure_over_time(str(measure)),
        "evidence": charts.e_value_over_time(alarm_at),
    }
    data = {"kind": "windows", "rows": rows, "specs": specs, "evidence": has_evidence}
    return render_page("windows.html", data, **facts)


def _alarm_sentence(windows: WindowsData, has_evidence: bool) -> tuple[str, str]:
    """The first sentence of the page, on whether there is an alarm, and the tone of its colour.

    The tone is "bad", "good", or "unsure" for windows that cannot give an alarm at all.
    """
    if windows.alarm is not None:
        when = f"{windows.alarm.start:%Y-%m-%d %H:%M} UTC".replace(" 00:00 UTC", "")
        return f"Alarm: miscalibrated by {when}.", "bad"
    if has_evidence:
        return "No alarm.", "good"
    return "No alarm can be given for these rows: see the notes.", "unsure"


def _window_row(columns: dict[str, Any], i: int, measure: str | None) -> dict[str, Any]:
    """The numbers of the window (span of time) with index i that the charts show, by name.

    `value` is that of `measure`, and `e` the e-value, limited to what the chart can show. A missing
    number is None.
    """

    def number(name: str | None) -> float | None:
        """The window's number in a column; None if it is not finite or there is no such column."""
        value = math.nan if name is None or name not in columns else float(columns[name][i])
        return value if math.isfinite(value) else None

    e_value = number("e_value")
    return {
        "start": columns["start"][i].isoformat(),
        "n": columns["n"][i],
        "value": number(measure),
        "noise": number("noise_95"),
        "predicted": number("mean_predicted"),
        "target": number("mean_target"),
        "p": number("p_corrected"),
        "e": None if e_value is None else min(max(e_value, 1e-3), _MOST_EVIDENCE),
    }
