"""The newest window of a monitor as OpenMetrics text (version 1.0.0, gauges alone).

https://prometheus.io/docs/specs/om/open_metrics_spec/
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

Labels = dict[str, str]
# A Windows and its Window, whose module imports this one.
Windows: TypeAlias = Any
Window: TypeAlias = Any
# Name, unit, help, and the number of a window; the alarm of which the last window knows nothing is
# added below.
_GAUGES: tuple[tuple[str, str, str, Callable[[Window], float]], ...] = (
    ("window_start_seconds", "seconds", "When the newest window begins.",
     lambda w: w.start.timestamp()),
    ("window_rows", "", "Rows of the newest window.", lambda w: float(w.n)),
    ("window_rows_missing", "", "Rows of the newest window that were dropped.",
     lambda w: float(w.n_missing)),
    ("mean_predicted", "", "Mean prediction.", lambda w: w.mean_predicted),
    ("mean_target", "", "Mean target.", lambda w: w.mean_target),
    ("noise_95", "", "95th percentile of the measure for a calibrated model.",
     lambda w: w.noise_95),
    ("p_corrected", "", "P-value of the error, corrected for the number of windows.",
     lambda w: w.p_corrected),
    ("e_value", "", "Evidence against calibration in all windows; 20 raises an alarm.",
     lambda w: w.e_value),
    ("shift", "", "Change in mean target minus mean prediction since the baseline.",
     lambda w: w.shift),
    ("p_change", "", "P-value of the change since the baseline.", lambda w: w.p_change),
    ("e_change", "", "Evidence of a change since the baseline; 20 raises an alarm.",
     lambda w: w.e_change),
)  # fmt: skip


def openmetrics_text(windows: Windows, model: str | None) -> str:
    """The newest window, and that of each slice, as OpenMetrics text."""
    lines: list[str] = []
    for name, unit, text, number in _GAUGES:
        samples = [(labels, number(table.latest)) for labels, table in _tables(windows, model)]
        lines += _family(name, unit, text, samples)
    values = [
        ({**labels, "measure": measure}, value)
        for labels, table in _tables(windows, model)
        for measure, value in table.latest.values.items()
    ]
    lines += _family("measure", "", "Value of a measure in the newest window.", values)
    lines += _family(
        "alarm", "", "Whether the evidence has ever reached 20.", _alarms(windows, model)
    )
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


def _family(name: str, unit: str, text: str, samples: list[tuple[Labels, float]]) -> list[str]:
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
