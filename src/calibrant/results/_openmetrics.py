"""The newest window of a monitor as OpenMetrics text (version 1.0.0, gauges alone).

https://prometheus.io/docs/specs/om/open_metrics_spec/
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any, TypeAlias

Labels = dict[str, str]
# A Windows and its Window, whose module imports this one.
Windows: TypeAlias = Any
Window: TypeAlias = Any
# The gauges of numbers of a window, by its attribute: their name and help.
_GAUGES = {
    "n": ("window_rows", "Rows of the newest window."),
    "n_missing": ("window_rows_missing", "Rows of the newest window that were dropped."),
    "mean_predicted": ("mean_predicted", "Mean prediction."),
    "mean_target": ("mean_target", "Mean target."),
    "noise_95": ("noise_95", "95th percentile of the measure for a calibrated model."),
    "p_corrected": ("p_corrected", "P-value of the error, corrected for the number of windows."),
    "e_value": ("e_value", "Evidence against calibration in all windows; 20 raises an alarm."),
    "shift": ("shift", "Change in mean target minus mean prediction since the baseline."),
    "p_change": ("p_change", "P-value of the change since the baseline."),
    "e_change": ("e_change", "Evidence of a change since the baseline; 20 raises an alarm."),
}


def openmetrics_text(windows: Windows, model: str | None) -> str:
    """The newest window, and that of each slice, as OpenMetrics text."""
    newest = [(labels, table.latest) for labels, table in _tables(windows, model)]
    starts = [(labels, window.start.timestamp()) for labels, window in newest]
    lines = _family("window_start_seconds", "When the newest window begins.", starts, "seconds")
    for attribute, (name, text) in _GAUGES.items():
        numbers = [(labels, float(getattr(window, attribute))) for labels, window in newest]
        lines += _family(name, text, numbers)
    values = [
        ({**labels, "measure": measure}, value)
        for labels, window in newest
        for measure, value in window.values.items()
    ]
    lines += _family("measure", "Value of a measure in the newest window.", values)
    alarms = _alarms(windows, model)
    lines += _family("alarm", "Whether the evidence has ever reached 20.", alarms)
    return "\n".join([*lines, "# EOF", ""])


def _tables(windows: Windows, model: str | None) -> Iterator[tuple[Labels, Windows]]:
    """The tables of all rows and of each slice, with their labels: one set for all families."""
    own = {} if model is None else {"model": model}
    if windows.slices is None:
        yield own, windows
        return
    # A slice may be named by any text, an empty one too: the label `scope` tells all from one.
    yield {**own, "scope": "all"}, windows
    for each in windows.slices:
        yield {**own, "scope": "slice", "by": windows.slices.by, "slice": each.name}, each.windows


def _alarms(windows: Windows, model: str | None) -> list[tuple[Labels, float]]:
    """Each alarm as 1, and 0 where there is none; of slices corrected for their number."""
    out = []
    for labels, table in _tables(windows, model):
        if labels.get("scope") == "slice" and windows.slices is not None:
            kind = {"e_value": "calibration", "e_change": "change"}[windows.slices.evidence]
            row = windows.slices[labels["slice"]]
            found = [] if math.isnan(row.e_value) else [(kind, row.alarm is not None)]
        else:
            latest = table.latest
            pairs = (
                ("calibration", latest.e_value, table.alarm),
                ("change", latest.e_change, table.change_alarm),
            )
            found = [(kind, alarm is not None) for kind, e, alarm in pairs if not math.isnan(e)]
        out += [({**labels, "kind": kind}, float(alarm)) for kind, alarm in found]
    return out


def _family(name: str, text: str, samples: list[tuple[Labels, float]], unit: str = "") -> list[str]:
    """The lines of one family of gauges; none if no number of it is known."""
    name = f"calibrant_{name}"
    known = [(labels, value) for labels, value in samples if not math.isnan(value)]
    if not known:
        return []
    return [
        f"# TYPE {name} gauge",
        *([f"# UNIT {name} {unit}"] if unit else []),
        f"# HELP {name} {_escaped(text)}",
        *(f"{name}{_label_set(labels)} {value!r}" for labels, value in known),
    ]


def _label_set(labels: Labels) -> str:
    """Labels in braces; nothing if there are none."""
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(text: str) -> str:
    r"""Text with backslashes, quotation marks and line feeds escaped, and no lone surrogates."""
    text = re.sub("[\ud800-\udfff]", "\ufffd", text)
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
