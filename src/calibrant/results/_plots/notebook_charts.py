"""Interactive charts for notebooks, built with Altair: the tables, with numbers as tooltips."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from calibrant._core.errors import InputError
from calibrant._core.optional import need
from calibrant.results._plots.diagram_parts import (
    cutoff_interval,
    cutoff_words,
    fitted_curve,
    x_label_of,
    y_label_of,
)
from calibrant.results._plots.style import COLOURS, FULL_ROWS, GREY, opacity_of
from calibrant.results._plots.time_labels import TICKS, label_format
from calibrant.results._plots.typing import (
    ComparisonData,
    CurveData,
    ReliabilityData,
    SensitivityData,
    WindowsData,
)
from calibrant.results._rendering import as_records, json_value

# The largest number of rows that Altair takes by default.
_MOST_ROWS = 5000
# The largest number of points of a curve: more cannot be distinguished on a screen.
_MOST_POINTS = 1000
_BLUE = COLOURS[0]


def _altair() -> Any:
    """Import Altair; where it is not installed, an error says how to install it."""
    return need("altair", "an interactive chart")


def reliability_chart(
    table: ReliabilityData,
    *,
    level: float = 0.95,
    curve: str | None = "default",
    cutoff: Any = None,
) -> Any:
    """An Altair chart of the reliability diagram under a strip of rows; drag and scroll to zoom.

    `level` is that of the intervals and of the curve's band. `curve` names the method of a curve
    fitted to the rows (see `fitted_curve`); without one, a line joins the bins. `cutoff` is an
    interval of predictions to shade (see `cutoff_interval`).
    """
    alt = _altair()
    data = _data(alt, as_records(table.intervals(level)))
    x_label, y_label = x_label_of(table.notion), y_label_of(table.notion, table.is_hard)
    unit = alt.Scale(domain=[0, 1])
    x = alt.X("mean_predicted:Q", title=x_label, scale=unit)
    y = alt.Y("mean_target:Q", title=y_label, scale=unit)
    tooltip = _bin_tooltip(alt, level)
    nonempty = alt.Chart(data).transform_filter("datum.weight > 0")
    ends = alt.Data(values=[{"mean_predicted": end, "mean_target": end} for end in (0, 1)])
    shades = alt.Scale(domain=[0, FULL_ROWS], range=[float(opacity_of(0)), 1.0], clamp=True)
    paler = alt.Opacity("n:Q", legend=None, scale=shades)
    fitted = fitted_curve(table, curve, level)
    diagonal = alt.Chart(ends).mark_line(color=GREY, strokeDash=[5, 4]).encode(x=x, y=y)
    bars = nonempty.mark_rule(color=_BLUE, strokeOpacity=0.5, strokeWidth=2).encode(
        x=x, y=alt.Y("low:Q", title=y_label), y2="high:Q", opacity=paler
    )
    points = nonempty.mark_point(color=_BLUE, size=50, filled=True).encode(
        x=x, y=y, opacity=paler, tooltip=tooltip
    )
    if fitted is None:
        order = alt.Order("mean_predicted:Q")
        lines = [nonempty.mark_line(color=_BLUE).encode(x=x, y=y, order=order)]
    else:
        lines = _curve_layers(alt, fitted, x_label, y_label)
    interval = cutoff_interval(cutoff)
    shaded = [] if interval is None else _cutoff_layers(alt, interval, x_label, y_label)
    diagram = alt.layer(*shaded, diagonal, *lines, bars, points).properties(width=320, height=320)
    lower = alt.X("lower:Q", title=None, scale=unit, axis=alt.Axis(labels=False))
    weight = alt.Y("weight:Q", title="rows")
    title = f"{table.title}: ECE {table.ece:.4f}"
    rows = alt.Chart(data).mark_rect(color=_BLUE, opacity=0.4)
    rows = rows.encode(x=lower, x2="upper:Q", y=weight, y2=alt.datum(0), tooltip=tooltip)
    rows = rows.properties(width=320, height=60, title=title)
    return alt.vconcat(rows, diagram.interactive(), spacing=4)


def _cutoff_layers(
    alt: Any, interval: tuple[float, float], x_label: str, y_label: str
) -> list[Any]:
    """The Altair layers of a shaded interval of predictions, (lower, upper): area and both edges.

    The edges make an interval of a single prediction visible. In the interval the gaps (prediction
    less target) of rows add up to most, as its tooltip says.
    """
    lower, upper = interval
    row = {"lower": lower, "upper": upper, "from": 0, "to": 1, "is": cutoff_words(lower, upper)}
    unit = alt.Scale(domain=[0, 1])
    y = alt.Y("from:Q", title=y_label, scale=unit)
    base = alt.Chart(alt.Data(values=[row]))
    x = {end: alt.X(f"{end}:Q", title=x_label, scale=unit) for end in ("lower", "upper")}
    area = base.mark_rect(color=_BLUE, opacity=0.12).encode(
        x=x["lower"], x2="upper:Q", y=y, y2="to:Q", tooltip=alt.Tooltip("is:N", title="shaded")
    )
    edges = base.mark_rule(color=_BLUE, strokeDash=[2, 3], opacity=0.7)
    return [area, *(edges.encode(x=x[end], y=y, y2="to:Q") for end in ("lower", "upper"))]


def _bin_tooltip(alt: Any, level: float) -> list[Any]:
    """The Altair tooltip of a bin: its edges, rows, means, gap, and its limits at this level."""
    return [
        alt.Tooltip("lower:Q", format=".3f"),
        alt.Tooltip("upper:Q", format=".3f"),
        alt.Tooltip("n:Q", title="rows", format=","),
        alt.Tooltip("mean_predicted:Q", title="mean prediction", format=".4f"),
        alt.Tooltip("mean_target:Q", title="mean target", format=".4f"),
        alt.Tooltip("low:Q", title=f"{level:.0%} from", format=".4f"),
        alt.Tooltip("high:Q", title="to", format=".4f"),
        alt.Tooltip("gap:Q", format=".4f"),
    ]


def _curve_layers(alt: Any, curve: CurveData, x_label: str, y_label: str) -> list[Any]:
    """The Altair layers of a curve that is fitted to the rows: its band, and its line.

    A curve of more than `_MOST_POINTS` points is drawn through that many of them.
    """
    columns = curve.columns()
    kept = np.unique(np.linspace(0, len(columns["prediction"]) - 1, _MOST_POINTS).astype(int))
    columns = {name: [values[i] for i in kept] for name, values in columns.items()}
    base = alt.Chart(_data(alt, as_records({**columns, "order": list(range(len(kept)))})))
    unit = alt.Scale(domain=[0, 1])
    x = alt.X("prediction:Q", title=x_label, scale=unit)
    colour = GREY if curve.band == "consistency" else _BLUE
    band = base.mark_area(color=colour, opacity=0.25).encode(
        x=x, y=alt.Y("low:Q", title=y_label, scale=unit), y2="high:Q"
    )
    tooltip = [
        alt.Tooltip("prediction:Q", format=".4f"),
        alt.Tooltip("mean_target:Q", title=curve.called, format=".4f"),
        alt.Tooltip("low:Q", title=f"{curve.level:.0%} band from", format=".4f"),
        alt.Tooltip("high:Q", title="to", format=".4f"),
    ]
    y = alt.Y("mean_target:Q", title=y_label, scale=unit)
    order = alt.Order("order:Q")
    line = base.mark_line(color=_BLUE).encode(x=x, y=y, order=order, tooltip=tooltip)
    return [band, line]


def comparison_chart(comparison: ComparisonData) -> Any:
    """An Altair chart of every predictor's estimate with its interval, the best on top.

    The reader chooses the measure from a list.
    """
    alt = _altair()
    rows = []
    for measure in comparison.measures:
        values, ranks = comparison.intervals(measure), comparison.ranking(measure)
        for i, name in enumerate(values["predictor"]):
            row = {"measure": measure, "predictor": name, "estimate": values["estimate"][i]}
            row |= {"value": values[measure][i], "low": values["low"][i], "high": values["high"][i]}
            row["rank"] = ranks["rank"][i]
            row["ranks"] = f"{ranks['rank_low'][i]} to {ranks['rank_high'][i]}"
            rows.append(row)
    data = _data(alt, rows)
    options = alt.binding_select(options=list(comparison.measures), name="measure ")
    chosen = alt.param(name="measure", value=comparison.measures[0], bind=options)
    y = alt.Y("predictor:N", title=None, sort=alt.SortField("rank"), axis=alt.Axis(labelLimit=220))
    tooltip = [
        alt.Tooltip("predictor:N"),
        alt.Tooltip("estimate:Q", format=".5g"),
        alt.Tooltip("low:Q", title=f"{comparison.level:.0%} from", format=".5g"),
        alt.Tooltip("high:Q", title="to", format=".5g"),
        alt.Tooltip("value:Q", title="sample value", format=".5g"),
        alt.Tooltip("rank:Q"),
        alt.Tooltip("ranks:N", title=f"ranks, {comparison.level:.0%}"),
    ]
    x = alt.X("estimate:Q", title=None, scale=alt.Scale(zero=False))
    base = alt.Chart(data).transform_filter("datum.measure == measure")
    return (
        alt.layer(
            base.mark_rule(color=_BLUE, opacity=0.4, strokeWidth=4).encode(
                x=alt.X("low:Q", title=None), x2="high:Q", y=y, tooltip=tooltip
            ),
            base.mark_circle(color=_BLUE, size=70, opacity=1).encode(x=x, y=y, tooltip=tooltip),
        )
        .add_params(chosen)
        .properties(width=380)
    )


def bin_sensitivity_chart(sensitivity: SensitivityData) -> Any:
    """An Altair chart with a line for each measure over all numbers of bins.

    A click on a name shows its line alone. Measures on the same scale share a panel, and panels
    stand one above the other.
    """
    alt = _altair()
    rows = [
        {"bins": m, "measure": name, "value": value, "scale": sensitivity.scales[name]}
        for name, values in sensitivity.values.items()
        for m, value in zip(sensitivity.bins, values, strict=True)
    ]
    one = alt.selection_point(fields=["measure"], bind="legend")
    palette = alt.Scale(domain=list(sensitivity.values), range=list(COLOURS))
    tooltip = [
        alt.Tooltip("measure:N"),
        alt.Tooltip("bins:Q"),
        alt.Tooltip("value:Q", format=".5g"),
    ]
    x, y = alt.X("bins:Q", scale=alt.Scale(type="log")), alt.Y("value:Q", title=None)
    colour = alt.Color("measure:N", scale=palette, sort=list(sensitivity.values))
    opacity = alt.condition(one, alt.value(1), alt.value(0.12))
    lines = alt.Chart().mark_line(point={"size": 12})
    lines = lines.encode(x=x, y=y, color=colour, opacity=opacity, tooltip=tooltip)
    return (
        alt.layer(lines, data=_data(alt, rows))
        .properties(width=380, height=150)
        .facet(row=alt.Row("scale:N", title=None))
        .resolve_scale(y="independent")
        .add_params(one)
    )


def windows_chart(windows: WindowsData) -> Any:
    """An Altair chart of a measure over time, and the area that chance alone would show.

    It is the measure that has noise floors, or else the first one, without the area. Drag and
    scroll to zoom.
    """
    alt = _altair()
    columns = windows.columns()
    name = windows.measure or next(iter(next(iter(windows)).values))
    noise = columns.get("noise_95", [math.nan] * len(windows))
    rows = [
        {"start": start.isoformat(), "n": n, "value": value, "noise": chance}
        for start, n, value, chance in zip(
            columns["start"], columns["n"], columns[name], noise, strict=True
        )
    ]
    base = alt.Chart(_data(alt, rows))
    axis = {"format": label_format(columns["start"]), "tickCount": TICKS, "labelOverlap": "greedy"}
    x = alt.X("start:T", scale={"type": "utc"}, axis=axis, title="start of window, UTC")
    tooltip = [
        alt.Tooltip("start:N"),
        alt.Tooltip("n:Q", title="rows", format=","),
        alt.Tooltip("value:Q", title=name, format=".5g"),
        alt.Tooltip("noise:Q", title="95% point of chance", format=".5g"),
    ]
    line = base.mark_line(color=_BLUE, point={"size": 40, "filled": True}).encode(
        x=x, y=alt.Y("value:Q", title=name), tooltip=tooltip
    )
    area = base.mark_area(color=GREY, opacity=0.25).encode(x=x, y=alt.Y("noise:Q", title=name))
    return alt.layer(area, line).properties(width=480, height=220).interactive(bind_y=False)


def _data(alt: Any, rows: Sequence[Mapping[str, Any]]) -> Any:
    """Rows as the data of an Altair chart; more than `_MOST_ROWS` rows are an error."""
    if len(rows) > _MOST_ROWS:
        raise InputError(
            f"a chart of {len(rows):,} marks is too much for a notebook: use fewer bins, windows "
            "or predictors, or plot(), which has no such limit"
        )
    return alt.Data(values=json_value(rows))
