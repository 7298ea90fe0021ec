"""What a page's script reads: tables as short columns, and text that cannot end the script."""

from __future__ import annotations

import json
import math
from typing import Any

from calibrant.results._reliability import ReliabilityTable
from calibrant.results._rendering import shown
from calibrant.results._smooth_curve import SmoothCurve

# Digits of what is drawn: more than a screen can show, and than a table says.
DIGITS = 8


def script_json(content: Any) -> str:
    """JSON for inside a script element: whatever a name holds, the element goes on."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def short(values: Any) -> list[Any]:
    """Numbers with as many digits as are of use; null for what is none."""
    return [_short(value) for value in values]


def _short(value: float) -> float | int | None:
    if not math.isfinite(value):
        return None
    if isinstance(value, int) or value == int(value):
        return int(value)
    return float(f"{value:.{DIGITS}g}")


def table_columns(table: ReliabilityTable, level: float) -> dict[str, list[Any]]:
    """A reliability table as the diagram takes it: edges, rows, means and limits."""
    columns = table.intervals(level)
    weight = sum(columns["weight"]) or 1.0
    return {
        "a": short(columns["lower"]),
        "b": short(columns["upper"]),
        "n": columns["n"],
        "s": short(w / weight for w in columns["weight"]),
        "u": short(columns["mean_predicted"]),
        "z": short(columns["mean_target"]),
        "g": short(columns["gap"]),
        "lo": short(columns["low"]),
        "hi": short(columns["high"]),
    }


def curve_columns(curve: SmoothCurve, level: float) -> dict[str, list[Any]]:
    """A smoothed curve where it says something: with a row or more within a bandwidth."""
    has_limits = curve.n_effective is not None
    columns = curve.intervals(level) if has_limits else curve.columns()
    near = curve.n_near
    kept = [
        i for i, z in enumerate(columns["mean_target"]) if math.isfinite(z) and not near[i] < 1.0
    ]
    out = {
        "u": short(columns["prediction"][i] for i in kept),
        "z": short(columns["mean_target"][i] for i in kept),
    }
    if has_limits:
        out["lo"] = short(columns["low"][i] for i in kept)
        out["hi"] = short(columns["high"][i] for i in kept)
    return out


def all_shown(values: Any) -> list[str]:
    """Values as Python says them: the page shows these and computes none."""
    return [shown(float(value)) for value in values]
