"""Sections of the report page beside calibration errors: what each shows, and its chart.

A chart is a specification with its data under an id; the page's script draws all of them alike, and
writes files of `what` it is, with these `columns` of the data under their names.
"""

from __future__ import annotations

from typing import Any

from calibrant.results._pages import charts
from calibrant.results._pages.page import limits_text, short
from calibrant.results._rendering import shown

Chart = dict[str, Any]


def ranking_section(risk: Any) -> tuple[dict[str, Any], Chart] | None:
    """The risk-coverage curve in a few rows, and its chart."""
    if risk is None:
        return None
    names = ("coverage", "threshold", "risk", "low", "high")
    columns = risk.columns()
    points = [
        {
            "c": c,
            "r": r,
            "lo": lo,
            "hi": hi,
            "coverage": f"{c:.0%}",
            "risk": shown(r),
            "from prediction": shown(t),
            "interval": f"{shown(lo)} to {shown(hi)}",
        }
        for c, t, r, lo, hi in zip(*(short(columns[name]) for name in names), strict=True)
    ]
    rows = [
        {
            "coverage": f"{c:.0%}",
            "threshold": shown(t),
            "risk": shown(r),
            "interval": limits_text(lo, hi),
        }
        for c, t, r, lo, hi in zip(*risk.display_columns().values(), strict=True)
    ]
    top = risk.notion == "confidence"
    what = "the top label is wrong" if top else "y = 0"
    title = "risk: " + ("error rate" if top else "share of y = 0")
    chart = {
        "id": "risk-chart",
        "spec": charts.band_and_line("share of rows kept", title),
        "data": {"points": points},
        "what": "risk by coverage",
        "columns": {"c": "coverage", "r": "risk", "lo": "low", "hi": "high"},
    }
    return {"aurc": shown(risk.aurc), "what": what, "rows": rows}, chart


def decision_section(curve: Any) -> tuple[dict[str, Any], Chart] | None:
    """Net benefits by threshold, and their chart."""
    if curve is None:
        return None
    model = curve.models[0]
    part = curve.benefits[model]
    drawn = {
        "as they are": (part.value, charts.ONE),
        "recalibrated": (part.recalibrated, charts.TWO),
        "act on all": (curve.benefits["all"].value, charts.MUTED),
        "act on none": (curve.benefits["none"].value, charts.INK),
    }
    series = {name: line for name, line in drawn.items() if line[0] is not None}
    top = max(float(part.high.max()), float(curve.prevalence), 1e-3)
    floor = -0.25 * top
    thresholds = short(curve.thresholds)
    points = [
        {
            "t": t,
            "v": max(v, floor),
            "name": name,
            "colour": colour,
            "threshold": shown(t),
            "net benefit": shown(v),
        }
        for name, (values, colour) in series.items()
        for t, v in zip(thresholds, short(values), strict=True)
        if v >= floor
    ]
    band = [
        {"t": t, "lo": max(lo, floor), "hi": max(hi, floor)}
        for t, lo, hi in zip(thresholds, short(part.low), short(part.high), strict=True)
    ]
    columns = curve.display_columns()
    facts = {
        "names": [name for name in columns if name != "threshold"],
        "rows": [[shown(value) for value in row] for row in zip(*columns.values(), strict=True)],
        "recalibration": curve.recalibration,
        "loss": "",
        "key": [(name, colour) for name, (_, colour) in series.items()],
    }
    if curve.recalibration:
        loss = curve.calibration_decision_loss(model)
        facts["loss"] = shown(loss) if loss > 0 else "nothing"
    chart = {
        "id": "decision-chart",
        "spec": charts.net_benefits(floor, 1.08 * top),
        "data": {"points": points, "band": band},
        "what": "net benefit by threshold",
        "columns": {"name": "strategy", "t": "threshold", "v": "net benefit"},
    }
    return facts, chart


def histogram_section(histogram: Any, notion: str) -> tuple[dict[str, Any], Chart] | None:
    """Rows by prediction and outcome: those with the event above the line, the others below."""
    if histogram is None:
        return None
    edges, events, rest = histogram
    down, up = _OUTCOMES[notion]
    total = sum(events) + sum(rest)
    bars = [
        {
            "a": short([edges[j]])[0],
            "b": short([edges[j + 1]])[0],
            "v": sign * n / total,
            "colour": colour,
            "predictions": f"{edges[j]:.3f} to {edges[j + 1]:.3f}",
            "outcome": words,
            "rows": f"{n:,.6g}",
        }
        for sign, colour, words, counts in (
            (1, charts.TWO, up, events),
            (-1, charts.ONE, down, rest),
        )
        for j, n in enumerate(counts)
        if n
    ]
    chart = {
        "id": "outcome-chart",
        "spec": charts.mirrored(),
        "data": {"bars": bars},
        "what": "predictions by outcome",
        "columns": {"a": "from", "b": "to", "outcome": "outcome", "rows": "rows"},
    }
    return {"up": up, "down": down}, chart


_OUTCOMES = {"binary": ("y = 0", "y = 1"), "confidence": ("wrong", "right")}


def votes_section(profile: Any) -> tuple[dict[str, Any], list[Chart]] | None:
    """The bands of disagreement as rows of words, and the charts."""
    if profile is None:
        return None
    return _facts(profile), [_reliability(profile), _distances(profile), _entropies(profile)]


def _facts(profile: Any) -> dict[str, Any]:
    bands = profile.bands
    rows = [
        {
            "band": bands["band"][j],
            "n": bands["n"][j],
            "dist_ce": _band_cell(bands, "dist_ce", j),
            "overconfidence": _band_cell(bands, "overconfidence", j),
        }
        for j in range(len(bands["band"]))
    ]
    each = profile.n_votes / profile.n
    return {"n": profile.n, "n_votes": profile.n_votes, "each": f"{each:.3g}", "rows": rows}


def _band_cell(bands: dict[str, list[Any]], name: str, j: int) -> dict[str, Any]:
    """A number of one band: as seen, as expected, and whether it lies outside of that."""
    value, low, high = (bands[f"{name}{end}"][j] for end in ("", "_low", "_high"))
    expected = limits_text(low, high)
    return {"value": shown(value), "expected": expected, "out": not low <= value <= high}


def _rows(columns: dict[str, list[Any]], names: dict[str, str], key: str) -> list[dict[str, Any]]:
    """The bins that hold rows, under short names."""
    values = {name: short(columns[column]) for name, column in names.items()}
    kept = [j for j, value in enumerate(columns[key]) if value == value]
    return [{name: column[j] for name, column in values.items()} for j in kept]


def _reliability(profile: Any) -> Chart:
    names = {"u": "mean_predicted", "z": "mean_target", "lo": "low", "hi": "high", "n": "n"}
    rows = _rows(profile.bins, names, "mean_predicted")
    for row in rows:
        row["rows"] = f"{row['n']:,}"
        row["mean prediction"] = shown(row["u"])
        row["share of votes"] = shown(row["z"])
        row["spread of the votes"] = limits_text(row["lo"], row["hi"])
    return {
        "id": "votes-reliability",
        "spec": charts.spread_and_points(),
        "data": {"points": rows},
        "what": "reliability beside the spread of votes",
        "columns": {"u": "mean prediction", "z": "share of votes", "lo": "low", "hi": "high"},
    }


def _distances(profile: Any) -> Chart:
    names = {"a": "lower", "b": "upper", "v": "share", "e": "expected"}
    rows = _rows(profile.distances, names, "lower")
    for row in rows:
        row["distance"] = f"{row['a']:.2f} to {row['b']:.2f}"
        row["seen"] = f"{row['v']:.1%}"
        row["vote noise alone"] = f"{row['e']:.1%}"
    return {
        "id": "votes-distances",
        "spec": charts.bars_and_steps(),
        "data": {"bars": rows},
        "what": "distances from the votes",
        "columns": {"a": "from", "b": "to", "v": "share of rows", "e": "vote noise alone"},
    }


def _entropies(profile: Any) -> Chart:
    names = {"u": "predicted", "z": "label", "e": "expected", "lo": "low", "hi": "high", "n": "n"}
    rows = _rows(profile.entropies, names, "predicted")
    for row in rows:
        row["rows"] = f"{row['n']:,}"
        row["entropy of the prediction"] = shown(row["u"])
        row["entropy of the votes"] = shown(row["z"])
        row["of right predictions"] = limits_text(row["lo"], row["hi"])
    columns = {"u": "entropy of the prediction", "z": "entropy of the votes"}
    return {
        "id": "votes-entropies",
        "spec": charts.band_and_points(float(profile.entropies["upper"][-1])),
        "data": {"points": rows},
        "what": "entropy of votes by entropy of predictions",
        "columns": {**columns, "e": "of right predictions", "lo": "low", "hi": "high"},
    }
