"""The charts as Vega-Lite, built with Altair. Data come later, under the names used here.

Colours are the page's CSS variables: charts follow it into the dark and onto paper.
"""

from __future__ import annotations

from typing import Any

from calibrant._core.optional import need

INK, MUTED, GRID = "var(--ink)", "var(--muted)", "var(--line)"
ONE, TWO = "var(--one)", "var(--two)"
SERIES = tuple(f"var(--s{i})" for i in range(8))
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif"
# Labels of axes get the same room in every chart, so that charts above each other line up.
ROOM = 46
_TICKS = [0, 0.2, 0.4, 0.6, 0.8, 1]

Spec = dict[str, Any]


def finished(chart: Any, *, height: int | str = "container") -> Spec:
    """A chart that fills its box on the page, in the page's own type and colours."""
    spec: Spec = chart.properties(width="container", height=height).to_dict()
    spec["autosize"] = {"type": "fit", "contains": "padding"}
    spec["background"] = None
    spec["padding"] = 4
    axis = {
        "labelColor": MUTED, "titleColor": INK, "gridColor": GRID, "domain": False, "ticks": False,
        "labelFontSize": 11, "titleFontSize": 12, "titleFontWeight": 500, "labelPadding": 6,
        "titlePadding": 8,
    }  # fmt: skip
    spec["config"] = {
        "font": FONT, "view": {"stroke": None}, "axis": axis, "axisY": {"minExtent": ROOM},
        # The page says in words and tables what a chart shows: marks need no names.
        "aria": False, "legend": {"labelColor": INK, "titleColor": INK, "labelLimit": 220},
    }  # fmt: skip
    return spec


def _unit(alt: Any, field: str, title: str, axis: str, *, labels: bool = True) -> Any:
    """A position between 0 and 1, with room for a point on the edge."""
    channel = alt.X if axis == "x" else alt.Y
    options = alt.Axis(title=title, values=_TICKS, format=".1f", labels=labels)
    scale = alt.Scale(domain=[-0.03, 1.03], nice=False)
    return channel(field, type="quantitative", axis=options, scale=scale)


def diagram(x_title: str, y_title: str) -> Spec:
    """The reliability diagram: `bins` with their limits, and the smoothed `curve`."""
    alt = need("altair")
    x, y = _unit(alt, "u", x_title, "x"), _unit(alt, "z", y_title, "y")
    ends = alt.Data(values=[{"u": 0, "z": 0}, {"u": 1, "z": 1}])
    words = alt.Data(values=[
        {"u": 0.14, "z": 0.86, "text": "predictions too low"},
        {"u": 0.86, "z": 0.14, "text": "predictions too high"},
    ])  # fmt: skip
    bins, curve = alt.Chart(alt.NamedData(name="bins")), alt.Chart(alt.NamedData(name="curve"))
    nonempty = bins.transform_filter("isValid(datum.u)")
    size = alt.Size("s:Q", legend=None, scale=alt.Scale(domain=[0, 1], range=[36, 520]))
    details = [
        alt.Tooltip("predictions:N"), alt.Tooltip("rows:N"), alt.Tooltip("mean prediction:N"),
        alt.Tooltip("mean target:N"), alt.Tooltip("interval:N"), alt.Tooltip("gap:N"),
    ]  # fmt: skip
    return finished(alt.layer(
        alt.Chart(ends).mark_line(color=MUTED, strokeDash=[5, 4], strokeWidth=1.2).encode(x, y),
        alt.Chart(words).mark_text(color=MUTED, fontSize=11, opacity=0.8, angle=315)
        .encode(x, y, alt.Text("text:N")),
        nonempty.mark_rule(color=MUTED, strokeWidth=1, opacity=0.4)
        .encode(x, alt.Y("u:Q"), alt.Y2("z:Q")),
        curve.mark_area(color=TWO, opacity=0.14).encode(x, alt.Y("lo:Q"), alt.Y2("hi:Q")),
        curve.mark_line(color=TWO, strokeWidth=2).encode(x, y, order=alt.Order("u:Q")),
        nonempty.mark_rule(color=ONE, strokeWidth=2.2, opacity=0.5)
        .encode(x, alt.Y("lo:Q"), alt.Y2("hi:Q")),
        nonempty.mark_circle(color=ONE, opacity=0.9, stroke="var(--paper)", strokeWidth=1)
        .encode(x, y, size, details),
    ))  # fmt: skip


def counts() -> Spec:
    """The share of rows in each bin, under the diagram and on its axis."""
    alt = need("altair")
    bars = alt.Chart(alt.NamedData(name="bins")).mark_rect(
        color=ONE, opacity=0.35, stroke=ONE, strokeWidth=0.8
    )
    y = alt.Y("s:Q", axis=alt.Axis(title="share of rows", format=".0%", tickCount=2))
    return finished(
        bars.encode(
            _unit(alt, "a", "", "x", labels=False), alt.X2("b:Q"), y, alt.Y2(datum=0),
            tooltip=[alt.Tooltip("predictions:N"), alt.Tooltip("rows:N")],
        ),
        height=96,
    )  # fmt: skip


def strip(most: int) -> Spec:
    """One measure over 1 to `most` bins, the `values` by both rules; `here` is the chosen one."""
    alt = need("altair")
    axis = alt.Axis(title=None, values=[1, 5, 15, 50, 100], grid=False)
    x = alt.X("m:Q", axis=axis, scale=alt.Scale(type="sqrt", domain=[1, most], nice=False))
    y = alt.Y("value:Q", axis=alt.Axis(title=None, tickCount=3, format="~g"))
    rules = alt.Scale(domain=["equal-width", "quantile"], range=[ONE, TWO])
    rule = alt.Color("rule:N", legend=None, scale=rules)
    lines = alt.Chart(alt.NamedData(name="values"))
    here = alt.Chart(alt.NamedData(name="here")).mark_rule(color=MUTED, strokeWidth=1)
    details = [
        alt.Tooltip("m:Q", title="bins"), alt.Tooltip("rule:N"),
        alt.Tooltip("shown:N", title="value"),
    ]  # fmt: skip
    return finished(
        alt.layer(
            here.encode(x),
            lines.mark_line(strokeWidth=1.6).encode(x, y, rule),
            # What the pointer finds; a line of its own would be hard to hit.
            lines.mark_circle(size=60, opacity=0.01).encode(x, y, rule, tooltip=details),
        ),
        height=110,
    )


def overlay(x_title: str, y_title: str) -> Spec:
    """Several reliability curves together: `bins` of every series in `name`, in its colour."""
    alt = need("altair")
    x, y = _unit(alt, "u", x_title, "x"), _unit(alt, "z", y_title, "y")
    ends = alt.Data(values=[{"u": 0, "z": 0}, {"u": 1, "z": 1}])
    nonempty = alt.Chart(alt.NamedData(name="bins")).transform_filter("isValid(datum.u)")
    colour = alt.Color("colour:N", scale=None)
    line = nonempty.mark_line(strokeWidth=1.8).encode(
        x, y, colour, order=alt.Order("u:Q"), detail="name:N"
    )
    rules = nonempty.mark_rule(strokeWidth=1.6, opacity=0.35).encode(
        x, alt.Y("lo:Q"), alt.Y2("hi:Q"), colour
    )
    details = [
        alt.Tooltip("name:N"), alt.Tooltip("predictions:N"), alt.Tooltip("rows:N"),
        alt.Tooltip("mean prediction:N"), alt.Tooltip("mean target:N"), alt.Tooltip("interval:N"),
    ]  # fmt: skip
    points = nonempty.mark_circle(size=48, opacity=1).encode(x, y, colour, tooltip=details)
    diagonal = alt.Chart(ends).mark_line(color=MUTED, strokeDash=[5, 4], strokeWidth=1.2)
    return finished(alt.layer(diagonal.encode(x, y), rules, line, points))


def spans(x_title: str, *, whole: bool) -> Spec:
    """A row per name: a `value` with limits `lo` and `hi`, in the order in which they come."""
    alt = need("altair")
    options = {"format": "d", "tickMinStep": 1} if whole else {"format": "~g", "tickCount": 5}
    axis = alt.Axis(title=x_title, **options)
    x = alt.X("value:Q", axis=axis, scale=alt.Scale(zero=not whole, nice=True, padding=10))
    y = alt.Y("name:N", sort=None, axis=alt.Axis(title=None, labelLimit=180, labelColor=INK))
    rows = alt.Chart(alt.NamedData(name="rows"))
    colour = alt.Color("colour:N", scale=None)
    layers = [
        rows.mark_rule(strokeWidth=5, opacity=0.3, strokeCap="round")
        .encode(alt.X("lo:Q"), y, alt.X2("hi:Q"), colour),
        rows.mark_circle(size=90, opacity=1)
        .encode(x, y, colour, tooltip=[alt.Tooltip("name:N"), alt.Tooltip("shown:N", title="value"),
                                       alt.Tooltip("interval:N")]),
    ]  # fmt: skip
    if not whole:
        zero = alt.Chart(alt.Data(values=[{"value": 0}])).mark_rule(color=MUTED, strokeDash=[4, 3])
        layers.insert(0, zero.encode(x))
    return finished(alt.layer(*layers), height="container")
