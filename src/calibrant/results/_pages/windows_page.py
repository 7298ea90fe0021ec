"""The page of a monitor: a measure and the evidence against calibration, over time."""

from __future__ import annotations

import math
from typing import Any

from calibrant._data.times import time_as_text
from calibrant._measures.catalogue import entry_of
from calibrant.results._pages import charts
from calibrant.results._pages.page import render_result_page
from calibrant.results._plots.time_labels import label_format
from calibrant.results._plots.typing import Columns, WindowsData
from calibrant.results._rendering import shown_in

# The columns of evidence, and how many windows are shown before the table of all.
_EVIDENCE = ("e_value", "e_change")
# The table of all windows has these; without them the one to look at fits 1,200 pixels.
_NOT_TO_LOOK_AT = {"log_loss", "noise_95", "p_value", "p_change"}
_MOST_TO_LOOK_AT = 10
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
    called = "" if measure is None else entry_of(measure).called()
    has_evidence, has_change = (_is_known(columns, name) for name in ("e_value", "e_change"))
    rows = [_window_row(columns, i, measure) for i in range(len(columns["start"]))]
    answer, tone = _alarm_sentence(windows, has_evidence, has_change)
    form = label_format(columns["start"])
    most = max(value for name in _EVIDENCE for value in columns.get(name, [0.0]) if value == value)
    facts = {
        "answer": answer,
        "tone": tone,
        "notes": windows.notes,
        "measure": f"{called[:1].upper()}{called[1:]}",
        "has_evidence": has_evidence,
        "has_change": has_change,
        "baseline": windows.baseline,
        "is_cut": most > _MOST_EVIDENCE,
        "alarm_at": f"{alarm_at:g}",
        "chance": f"{100 / alarm_at:g}%",
        "n_windows": len(rows),
        "n_rows": sum(columns["n"]),
        **_newest_first(windows, columns, alarm_at),
        "slices": None if windows.slices is None else _slice_table(windows.slices),
    }
    specs = {
        "windows": charts.measure_over_time(called, form, single=len(rows) == 1),
        "evidence": charts.e_value_over_time(alarm_at, form),
        "change": charts.e_value_over_time(alarm_at, form, "change"),
    }
    known = {"evidence": has_evidence, "change": has_change}
    return render_result_page(
        "windows.html",
        {"kind": "windows", "rows": rows, "specs": specs, **known},
        name=name,
        title=f"Calibration over time, windows of {windows.every}",
        source=source,
        **facts,
    )


def _is_known(columns: Columns, name: str) -> bool:
    """Whether some window has a number in a column."""
    return any(not math.isnan(value) for value in columns.get(name, []))


def _newest_first(windows: WindowsData, columns: Columns, alarm_at: float) -> dict[str, Any]:
    """The table of windows, the newest first, and those to look at, each row with its class.

    To look at are the first windows of alarms, and those that stand out: at most ten, the newest.
    """
    table = windows.display_columns()
    texts = ([shown_in(name, value) for value in values] for name, values in table.items())
    cells = list(zip(*texts, strict=True))
    firsts = [alarm.start for alarm in (windows.alarm, windows.change_alarm) if alarm is not None]
    rows, found = [], []
    for i, start in reversed(list(enumerate(columns["start"]))):
        alarmed = any(columns.get(name, [0.0] * (i + 1))[i] >= alarm_at for name in _EVIDENCE)
        looks = " ".join(["alarmed"] * alarmed + ["first-alarm"] * (start in firsts))
        rows.append((looks, cells[i]))
        stands_out = columns.get("p_corrected", [1.0] * (i + 1))[i] < 0.05
        if start in firsts or stands_out:
            found.append((start not in firsts, rows[-1]))
    # Of alarms the first window is always there, however many others stand out.
    chosen = [row for _, row in sorted(found, key=lambda each: each[0])[:_MOST_TO_LOOK_AT]]
    kept = [j for j, name in enumerate(table) if name not in _NOT_TO_LOOK_AT]
    to_look_at = [
        (row[0], [row[1][j] for j in kept]) for row in rows if any(row is each for each in chosen)
    ]
    heads = list(table)
    few = [heads[j] for j in kept]
    return {"heads": heads, "table": rows, "few_heads": few, "to_look_at": to_look_at}


def _slice_table(slices: Any) -> dict[str, Any]:
    """The table of slices: its title, heads, and rows with the class of those with an alarm."""
    table = slices.display_columns()
    cells = zip(*table.values(), strict=True)
    looks = ["alarmed" if row.alarm is not None else "" for row in slices]
    rows = list(zip(looks, cells, strict=True))
    return {"by": slices.by, "heads": list(table), "rows": rows, "notes": slices.notes}


def _alarm_sentence(windows: WindowsData, has_evidence: bool, has_change: bool) -> tuple[str, str]:
    """The first sentence of the page, on whether there is an alarm, and the tone of its colour.

    Beside a fixed baseline the alarm is of a change from it. The tone is "bad", "good", or "unsure"
    for windows that cannot give an alarm at all.
    """
    alarm = windows.change_alarm if has_change else windows.alarm
    if alarm is not None:
        start = time_as_text(alarm.start)
        when = f"{start} UTC" if ":" in start else start
        what = "changed from the baseline" if has_change else "miscalibrated"
        return f"Alarm: {what} by {when}.", "bad"
    if windows.slices is not None and windows.slices.alarms:
        names = ", ".join(row.name for row in windows.slices.alarms[:3])
        more = len(windows.slices.alarms) - 3
        return f"Alarm in {names}{f' and {more} more' if more > 0 else ''}.", "bad"
    if has_change:
        return "No change from the baseline found.", "good"
    if has_evidence:
        return "No alarm.", "good"
    return "These rows cannot give an alarm: see the notes.", "unsure"


def _window_row(columns: dict[str, Any], i: int, measure: str | None) -> dict[str, Any]:
    """The numbers of the window (span of time) with index i that the charts show, by name.

    `value` is that of `measure`, and `e` and `change` are e-values, limited to what the chart can
    show. A missing number is None.
    """

    def number(name: str | None) -> float | None:
        """The window's number in a column; None if it is not finite or there is no such column."""
        value = math.nan if name is None or name not in columns else float(columns[name][i])
        return value if math.isfinite(value) else None

    def evidence(name: str) -> float | None:
        """The window's e-value in a column as the chart shows it."""
        value = number(name)
        return None if value is None else min(max(value, 1e-3), _MOST_EVIDENCE)

    return {
        "start": columns["start"][i].isoformat(),
        "n": columns["n"][i],
        "value": number(measure),
        "noise": number("noise_95"),
        "predicted": number("mean_predicted"),
        "target": number("mean_target"),
        "p": number("p_corrected"),
        "e": evidence("e_value"),
        "change": evidence("e_change"),
    }
