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


def clinical_section(clinical: Any) -> dict[str, Any] | None:
    """The clinical summary as rows of words; with subgroups, a table for each value."""
    if clinical is None:
        return None
    parts = [("all rows", clinical), *clinical.subgroups.items()]
    return {
        "by": "" if clinical.by == "slice" else clinical.by,
        "rows": [
            {"name": name, "title": value.title, "value": clinical_words(value),
             "sample": value.sample, "interval": _limits(value), "note": value.note,
             "method": value.method}
            for name, value in clinical.items()
        ],
        "names": list(clinical),
        "parts": [
            {"name": name, "n": part.n, "cells": [
                {"value": clinical_words(value), "interval": _limits(value), "note": value.note,
                 "sample": value.sample}
                for value in part.values()
            ]}
            for name, part in parts
        ] if clinical.subgroups else [],
    }  # fmt: skip


def clinical_words(value: Any) -> str:
    """An estimate as the page writes it."""
    return shown(value.estimate) if value.estimable else "not estimable"


def _limits(value: Any) -> str:
    return f"{shown(value.low)} – {shown(value.high)}" if value.estimable else "–"


def decision_section(curve: Any) -> tuple[dict[str, Any], Chart] | None:
    """Net benefits by threshold, and their chart."""
    if curve is None:
        return None
    model = curve.models[0]
    part = curve.benefits[model]
    colours = {"as they are": charts.ONE, "recalibrated": charts.TWO, "act on all": charts.MUTED,
               "act on none": charts.INK}  # fmt: skip
    series = {"as they are": part.value, "recalibrated": part.recalibrated,
              "act on all": curve.benefits["all"].value,
              "act on none": curve.benefits["none"].value}  # fmt: skip
    top = max(float(part.high.max()), float(curve.prevalence), 1e-3)
    floor = -0.25 * top
    points = [
        {"t": t, "v": max(v, floor), "name": name, "colour": colours[name],
         "threshold": shown(t), "net benefit": shown(v)}
        for name, values in series.items() if values is not None
        for t, v in zip(short(curve.thresholds), short(values), strict=True)
        if v >= floor
    ]  # fmt: skip
    band = [
        {"t": t, "lo": max(lo, floor), "hi": max(hi, floor)}
        for t, lo, hi in zip(
            *(short(c) for c in (curve.thresholds, part.low, part.high)), strict=True
        )
    ]
    columns = curve.display_columns()
    facts = {
        "names": [name for name in columns if name != "threshold"],
        "rows": [[shown(value) for value in row] for row in zip(*columns.values(), strict=True)],
        "recalibration": curve.recalibration,
        "loss": "",
        "key": [(name, colours[name]) for name, values in series.items() if values is not None],
    }
    if curve.recalibration:
        loss = curve.calibration_decision_loss(model)
        facts["loss"] = shown(loss) if loss > 0 else "nothing"
    chart = {"id": "decision-chart", "spec": charts.net_benefits(floor, 1.08 * top),
             "data": {"points": points, "band": band}, "what": "net benefit by threshold",
             "columns": {"name": "strategy", "t": "threshold", "v": "net benefit"}}  # fmt: skip
    return facts, chart


def histogram_section(histogram: Any, notion: str) -> tuple[dict[str, Any], Chart] | None:
    """Rows by prediction and outcome: those with the event above the line, the others below."""
    if histogram is None:
        return None
    edges, events, rest = histogram
    down, up = _OUTCOMES[notion]
    total = sum(events) + sum(rest)
    bars = [
        {"a": short([edges[j]])[0], "b": short([edges[j + 1]])[0], "v": sign * n / total,
         "colour": colour, "predictions": f"{edges[j]:.3f} to {edges[j + 1]:.3f}", "outcome": words,
         "rows": f"{n:,.6g}"}
        for sign, colour, words, counts in (
            (1, charts.TWO, up, events), (-1, charts.ONE, down, rest)
        )
        for j, n in enumerate(counts) if n
    ]  # fmt: skip
    chart = {"id": "outcome-chart", "spec": charts.mirrored(), "data": {"bars": bars},
             "what": "predictions by outcome",
             "columns": {"a": "from", "b": "to", "outcome": "outcome", "rows": "rows"}}  # fmt: skip
    return {"up": up, "down": down}, chart


_OUTCOMES = {"binary": ("y = 0", "y = 1"), "confidence": ("wrong", "right")}
