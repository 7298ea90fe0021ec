"""Sections of the report page beside calibration errors: what each shows, and its chart.

A chart is a specification with its data under an id; the page's script draws all of them alike, and
writes files of `what` it is, with these `columns` of the data under their names.
"""

from __future__ import annotations

from typing import Any

from calibrant.results._pages import charts
from calibrant.results._pages.page import short
from calibrant.results._rendering import shown

Chart = dict[str, Any]


def ranking_section(risk: Any) -> tuple[dict[str, Any], Chart] | None:
    """The risk-coverage curve in a few rows, and its chart."""
    if risk is None:
        return None
    columns = risk.columns()
    points = [
        {"c": c, "r": r, "lo": lo, "hi": hi, "coverage": f"{c:.0%}", "risk": shown(r),
         "from prediction": shown(t), "interval": f"{shown(lo)} to {shown(hi)}"}
        for c, t, r, lo, hi in zip(*(short(columns[name]) for name in (
            "coverage", "threshold", "risk", "low", "high")), strict=True)
    ]  # fmt: skip
    top = risk.notion == "confidence"
    rows = risk.display_columns()
    facts = {
        "aurc": shown(risk.aurc),
        "what": "the top label is wrong" if top else "y = 0",
        "rows": [
            {"coverage": f"{c:.0%}", "threshold": shown(t), "risk": shown(r),
             "interval": f"{shown(lo)} – {shown(hi)}"}
            for c, t, r, lo, hi in zip(*rows.values(), strict=True)
        ],
    }  # fmt: skip
    title = "risk: " + ("error rate" if top else "share of y = 0")
    spec = charts.band_and_line("share of rows kept", title)
    return facts, {
        "id": "risk-chart", "spec": spec, "data": {"points": points}, "what": "risk by coverage",
        "columns": {"c": "coverage", "r": "risk", "lo": "low", "hi": "high"},
    }  # fmt: skip
