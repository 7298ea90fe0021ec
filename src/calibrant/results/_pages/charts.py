"""The charts of pages, as specifications of Vega-Lite.

A specification has no data: the page's script supplies them under the names that are used here.

Colours are the page's CSS variables, so that charts follow its dark mode and its print style. The
specifications are written out, not built with Altair, whose import takes longer than all the rest
of a page; a test checks them against its schema.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from calibrant.results._plots.style import FULL_ROWS, colour_indexes, dash_pattern, opacity_of
from calibrant.results._plots.time_labels import TICKS

INK, MUTED, GRID = "var(--ink)", "var(--muted)", "var(--line)"
ONE, TWO = "var(--one)", "var(--two)"
N_SERIES = 8
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif"
# Every chart reserves the same width for axis labels, so that stacked charts line up.
ROOM = 46
_TICKS = [0, 0.2, 0.4, 0.6, 0.8, 1]
# The format of axes with three significant digits; without a number, 0.12 and 0.1 print alike.
_THREE = ".3~g"

# Shapes of points, as paths in a square from -1 to 1: legends of the page draw them too.
SHAPES = {
    "circle": "M1,0A1,1,0,1,1,-1,0A1,1,0,1,1,1,0Z",
    "square": "M-.85,-.85h1.7v1.7h-1.7Z",
    "triangle-up": "M0,-1L1.05,.8H-1.05Z",
    "diamond": "M0,-1.2L1,0L0,1.2L-1,0Z",
    "triangle-down": "M0,1L-1.05,-.8H1.05Z",
    "cross": "M-.4,-1.1h.8v.7h.7v.8h-.7v.7h-.8v-.7h-.7v-.8h.7Z",
    "triangle-right": "M1,0L-.8,1.05V-1.05Z",
}

Spec = dict[str, Any]
# Invisible dots that carry the tooltip: a thin line is hard to hit with the pointer.
_UNSEEN: Spec = {"size": 60, "opacity": 0.01}
_DOT: Spec = {"color": ONE, "filled": True, "opacity": 1, "size": 40}
_BIG_DOT: Spec = {"color": ONE, "size": 60, "opacity": 1}


def series_looks(names: Iterable[str]) -> dict[str, Spec]:
    """The look (`series_look`) of each name's series, by name; no two are alike."""
    return {name: series_look(index) for name, index in colour_indexes(names).items()}


def series_look(index: int) -> Spec:
    """The look of the series with this index: its `colour`, `dash`, and `shape` of points."""
    lap, place = divmod(index, N_SERIES)
    shapes = tuple(SHAPES.values())
    return {
        "colour": f"var(--s{place})",
        "dash": [round(2 * length, 1) for length in dash_pattern(lap)],
        "shape": shapes[(place + lap) % len(shapes)],
    }


def styled_chart(chart: Spec, *, height: int | str = "container") -> Spec:
    """Complete a Vega-Lite chart with the page's fonts and colours; it fills the width of its box.

    `height` is in pixels; "container" fills the height of the box.
    """
    axis = {
        "labelColor": MUTED,
        "titleColor": INK,
        "gridColor": GRID,
        "domain": False,
        "ticks": False,
        "labelFontSize": 11,
        "titleFontSize": 12,
        "titleFontWeight": 500,
        "labelPadding": 6,
        "titlePadding": 8,
    }
    config = {
        "font": FONT,
        "view": {"stroke": None},
        "axis": axis,
        "axisY": {"minExtent": ROOM},
        # Tables beside the chart serve screen readers, so single marks need no names.
        "aria": False,
        "legend": {"labelColor": INK, "titleColor": INK, "labelLimit": 220},
    }
    return {
        **chart,
        "width": "container",
        "height": height,
        "autosize": {"type": "fit", "contains": "padding"},
        "background": None,
        "padding": 4,
        "config": config,
    }


def _layered_chart(*layers: Spec, height: int | str = "container") -> Spec:
    """A styled chart of several Vega-Lite layers, the first at the bottom (see `styled_chart`)."""
    return styled_chart({"layer": list(layers)}, height=height)


def _marks_layer(data: str | list[Spec], mark: str, looks: Spec, **encoding: Any) -> Spec:
    """A Vega-Lite layer of marks of one kind, such as "line".

    `data` is the name of data that the page's script supplies, or a list of rows. `looks` are
    options of the mark, and `encoding` maps channels (x, y, color) to fields.
    """
    source = {"name": data} if isinstance(data, str) else {"values": data}
    return {"data": source, "mark": {"type": mark, **looks}, "encoding": encoding}


def _bins_layer(data: str, mark: str, looks: Spec, **encoding: Any) -> Spec:
    """A Vega-Lite layer of marks (see `_marks_layer`) for the bins that hold rows."""
    valid = [{"filter": "isValid(datum.u)"}]
    return {**_marks_layer(data, mark, looks, **encoding), "transform": valid}


def _number_field(field: str, **options: Any) -> Spec:
    """Encode a field of numbers for Vega-Lite, with options such as `axis` and `scale`."""
    return {"field": field, "type": "quantitative", **options}


def _text_field(field: str, **options: Any) -> Spec:
    """Encode a field of texts for Vega-Lite, with options such as `axis` and `scale`."""
    return {"field": field, "type": "nominal", **options}


def _limit_fields() -> Spec:
    """Encode the ends of a vertical bar or band for Vega-Lite: the fields `lo` and `hi`."""
    return {"y": _number_field("lo"), "y2": {"field": "hi"}}


def _diagonal_layer(x: Spec, y: Spec, top: float = 1) -> Spec:
    """A Vega-Lite layer of the dashed diagonal from 0 to `top`, where predictions are right.

    `x` and `y` are the encodings of the fields `u` (prediction) and `z` (mean target).
    """
    ends: list[Spec] = [{"u": 0, "z": 0}, {"u": top, "z": top}]
    dashed = {"color": MUTED, "strokeDash": [5, 4], "strokeWidth": 1.2}
    return _marks_layer(ends, "line", dashed, x=x, y=y)


def _time_axis(form: str) -> Spec:
    """Encode the start of a window (a span of time) as a position on the time axis.

    `form` is the format of its few labels (`label_format`).
    """
    few = {"format": form, "tickCount": TICKS, "labelOverlap": "greedy", "labelFlush": False}
    axis = {"title": "start of window, UTC", "grid": False, **few}
    return {"field": "start", "type": "temporal", "scale": {"type": "utc"}, "axis": axis}


def _time_tooltip() -> Spec:
    """Encode the start of a window (a span of time) as a line of a tooltip."""
    form = "%Y-%m-%d %H:%M"
    return {"field": "start", "type": "temporal", "format": form, "title": "start"}


def _opacity_by_rows() -> Spec:
    """Encode the opacity of a bin: the fewer rows below `FULL_ROWS`, the paler."""
    scale = {"domain": [0, FULL_ROWS], "range": [float(opacity_of(0)), 1.0], "clamp": True}
    return _number_field("n", legend=None, scale=scale)


def _tooltip_fields(*fields: str) -> list[Spec]:
    """Encode fields of texts as the lines of a tooltip."""
    return [_text_field(field) for field in fields]


def _unit_axis(field: str, title: str, *, labels: bool = True) -> Spec:
    """Encode a field as a position on an axis from 0 to 1, with room for points at its ends.

    `title` is that of the axis; `labels` says whether its ticks have labels.
    """
    axis = {"title": title, "values": _TICKS, "format": ".1f", "labels": labels}
    return _number_field(field, axis=axis, scale={"domain": [-0.03, 1.03], "nice": False})


def reliability_diagram(x_title: str, y_title: str) -> Spec:
    """The Vega-Lite chart of the reliability diagram.

    Its data are `bins` with the fields of `page.table_columns`; `band`, with predictions `u` and
    limits `lo` and `hi`; `curve`, with mean targets `z` too; and `cutoffs`, the shaded interval
    from `a` to `b`.
    """
    x, y = _unit_axis("u", x_title), _unit_axis("z", y_title)
    start, end = _unit_axis("a", x_title), _unit_axis("b", x_title)
    words = [
        {"u": 0.14, "z": 0.86, "text": "predictions too low"},
        {"u": 0.86, "z": 0.14, "text": "predictions too high"},
    ]
    size = _number_field("s", legend=None, scale={"domain": [0, 1], "range": [36, 520]})
    details = _tooltip_fields(
        "predictions", "rows", "mean prediction", "mean target", "interval", "gap"
    )
    shade = {"color": INK, "opacity": 0.08}
    edge = {"color": INK, "strokeDash": [2, 3], "opacity": 0.55}
    quiet = {"color": MUTED, "fontSize": 11, "opacity": 0.8, "angle": 315}
    thin = {"color": MUTED, "strokeWidth": 1, "opacity": 0.4}
    thick = {"color": ONE, "strokeWidth": 2.2, "strokeOpacity": 0.5}
    dots = {"color": ONE, "stroke": "var(--paper)", "strokeWidth": 1}
    line = {"color": TWO, "strokeWidth": 2}
    return _layered_chart(
        _diagonal_layer(x, y),
        _marks_layer("cutoffs", "rect", shade, x=start, x2={"field": "b"}, **_limit_fields()),
        _marks_layer("cutoffs", "rule", edge, x=start, **_limit_fields()),
        _marks_layer("cutoffs", "rule", edge, x=end, **_limit_fields()),
        _marks_layer(words, "text", quiet, x=x, y=y, text=_text_field("text")),
        _marks_layer("band", "area", {"color": MUTED, "opacity": 0.2}, x=x, **_limit_fields()),
        _bins_layer("bins", "rule", thin, x=x, y=_number_field("u"), y2={"field": "z"}),
        _marks_layer("curve", "area", {"color": TWO, "opacity": 0.14}, x=x, **_limit_fields()),
        _marks_layer("curve", "line", line, x=x, y=y, order=_number_field("u")),
        _bins_layer("bins", "rule", thick, x=x, **_limit_fields(), opacity=_opacity_by_rows()),
        _bins_layer(
            "bins", "circle", dots, x=x, y=y, size=size, opacity=_opacity_by_rows(), tooltip=details
        ),
    )


def row_share_bars() -> Spec:
    """The Vega-Lite chart under the reliability diagram: bars of the share of rows in each bin.

    Its data are `bins`: the shares `s` of rows in bins from `a` to `b`.
    """
    axis = {"title": "share of rows", "format": ".0%", "tickCount": 2}
    looks = {"color": ONE, "opacity": 0.35, "stroke": ONE, "strokeWidth": 0.8}
    bars = _marks_layer(
        "bins",
        "rect",
        looks,
        x=_unit_axis("a", "", labels=False),
        x2={"field": "b"},
        y=_number_field("s", axis=axis),
        y2={"datum": 0},
        tooltip=_tooltip_fields("predictions", "rows"),
    )
    return styled_chart(bars, height=96)


def measure_by_bins(most: int) -> Spec:
    """The Vega-Lite chart of one measure by the number of bins, 1 to `most`.

    Its data are `values`, one for each number of bins and each of the two rules (equal width, equal
    mass), and `here`, the number of bins that the reader has chosen.
    """
    axis = {"title": None, "values": [1, 5, 15, 50, 100], "grid": False}
    x = _number_field("m", axis=axis, scale={"type": "sqrt", "domain": [1, most], "nice": False})
    y = _number_field("value", axis={"title": None, "tickCount": 3, "format": _THREE})
    rules = {"domain": ["equal-width", "quantile"], "range": [ONE, TWO]}
    rule = _text_field("rule", legend=None, scale=rules)
    details = [
        _number_field("m", title="bins"),
        _text_field("rule"),
        _text_field("shown", title="value"),
    ]
    return _layered_chart(
        _marks_layer("here", "rule", {"color": MUTED, "strokeWidth": 1}, x=x),
        _marks_layer("values", "line", {"strokeWidth": 1.6}, x=x, y=y, color=rule),
        _marks_layer("values", "circle", _UNSEEN, x=x, y=y, color=rule, tooltip=details),
        height=110,
    )


def overlaid_curves(x_title: str, y_title: str) -> Spec:
    """The Vega-Lite chart of several reliability curves in one diagram.

    Its data are `lines` and `bins`: the field `name` says to which series a row belongs, and
    `colour`, `dash` and `shape` are the look of that series.
    """
    x, y, colour = (
        _unit_axis("u", x_title),
        _unit_axis("z", y_title),
        _text_field("colour", scale=None),
    )
    dash, shape = _text_field("dash", scale=None), _text_field("shape", scale=None)
    details = _tooltip_fields(
        "name", "predictions", "rows", "mean prediction", "mean target", "interval"
    )
    bar = {"strokeWidth": 1.6, "strokeOpacity": 0.35}
    line = {"x": x, "y": y, "color": colour, "strokeDash": dash, "order": _number_field("i")}
    point = {"x": x, "y": y, "color": colour, "shape": shape, "opacity": _opacity_by_rows()}
    return _layered_chart(
        _diagonal_layer(x, y),
        _bins_layer(
            "bins", "rule", bar, x=x, **_limit_fields(), color=colour, opacity=_opacity_by_rows()
        ),
        _marks_layer("lines", "line", {"strokeWidth": 1.8}, **line, detail=_text_field("name")),
        _bins_layer("bins", "point", {"size": 48, "filled": True}, **point, tooltip=details),
    )


def _risk_axes(x_title: str, y_title: str) -> tuple[Spec, Spec]:
    """Encode the coverage `c` and the risk `r` as positions on the axes of a chart."""
    axis = {"title": x_title, "format": ".0%", "tickCount": 6}
    x = _number_field("c", axis=axis, scale={"domain": [0, 1], "nice": False})
    return x, _number_field("r", axis={"title": y_title, "tickCount": 5})


def risk_curves(x_title: str, y_title: str) -> Spec:
    """The Vega-Lite chart of several risk-coverage curves.

    Its data are `points`: risks `r` by coverage `c`; `name` says to which series a row belongs, and
    `colour` and `dash` are the look of that series.
    """
    x, y = _risk_axes(x_title, y_title)
    looks = {
        "color": _text_field("colour", scale=None),
        "strokeDash": _text_field("dash", scale=None),
    }
    place = {"x": x, "y": y, "detail": _text_field("name")}
    details = _tooltip_fields("name", "coverage", "from prediction", "risk", "interval")
    return _layered_chart(
        _marks_layer(
            "points", "line", {"strokeWidth": 2}, **place, **looks, order=_number_field("c")
        ),
        _marks_layer("points", "circle", {**_UNSEEN, "size": 70}, **place, tooltip=details),
        height=280,
    )


def risk_curve(x_title: str, y_title: str) -> Spec:
    """The Vega-Lite chart of the risk-coverage curve.

    Its data are `points`: risks `r` by coverage `c`, with limits `lo` and `hi`.
    """
    x, y = _risk_axes(x_title, y_title)
    details = _tooltip_fields("coverage", "from prediction", "risk", "interval")
    band, line = {"color": ONE, "opacity": 0.16, "clip": True}, {"color": ONE, "strokeWidth": 2}
    return _layered_chart(
        _marks_layer("points", "area", band, x=x, **_limit_fields()),
        _marks_layer("points", "line", line, x=x, y=y, order=_number_field("c")),
        _marks_layer("points", "circle", {**_UNSEEN, "size": 70}, x=x, y=y, tooltip=details),
        height=280,
    )


def net_benefits(low: float, high: float) -> Spec:
    """The Vega-Lite chart of the decision curve, on a vertical axis from `low` to `high`.

    Its data are `points`, net benefits `v` by threshold `t` with a line for each `name`, and
    `band`, the limits `lo` and `hi` by `t`.
    """
    axis = {"title": "threshold probability", "format": "~%", "tickCount": 6}
    x = _number_field("t", axis=axis, scale={"nice": False})
    scale = {"domain": [low, high], "nice": False}
    y = _number_field("v", axis={"title": "net benefit", "tickCount": 5}, scale=scale)
    details = _tooltip_fields("name", "threshold", "net benefit")
    values = {"x": x, "y": y, "color": _text_field("colour", scale=None)}
    band, line = {"color": ONE, "opacity": 0.14, "clip": True}, {"strokeWidth": 1.8, "clip": True}
    return _layered_chart(
        _marks_layer("band", "area", band, x=x, **_limit_fields()),
        _marks_layer(
            "points", "line", line, **values, detail=_text_field("name"), order=_number_field("t")
        ),
        _marks_layer("points", "circle", _UNSEEN, **values, tooltip=details),
        height=280,
    )


def vote_shares() -> Spec:
    """The Vega-Lite chart of mean shares of votes by bin of the predictions.

    Its data are `points`: shares of votes `z`, mean predictions `u`, and limits `lo` and `hi`
    within which the votes of right predictions scatter about the diagonal.
    """
    x, y = _unit_axis("u", "mean prediction"), _unit_axis("z", "mean share of votes")
    details = _tooltip_fields("mean prediction", "share of votes", "spread of the votes", "rows")
    bar = {"color": TWO, "strokeWidth": 7, "opacity": 0.35}
    return _layered_chart(
        _diagonal_layer(x, y),
        _marks_layer("points", "rule", bar, x=x, **_limit_fields()),
        _marks_layer("points", "circle", _BIG_DOT, x=x, y=y, tooltip=details),
        height=300,
    )


def vote_distances() -> Spec:
    """The Vega-Lite chart of a histogram of distances between predictions and votes.

    Its data are `bars` from `a` to `b`: shares of rows `v`, and the shares `e` that are expected of
    right predictions, drawn as a line across each bar.
    """
    axis = {"title": "share of rows", "format": ".0%", "tickCount": 4}
    across = {"x": _unit_axis("a", "distance of a row from its votes"), "x2": {"field": "b"}}
    details = _tooltip_fields("distance", "seen", "vote noise alone")
    bar = {**across, "y": _number_field("v", axis=axis), "y2": {"datum": 0}}
    step = {"color": TWO, "strokeWidth": 2.4}
    return _layered_chart(
        _marks_layer("bars", "rect", {"color": ONE, "opacity": 0.4}, **bar, tooltip=details),
        _marks_layer("bars", "rule", step, **across, y=_number_field("e"), tooltip=details),
        height=300,
    )


def vote_entropies(top: float) -> Spec:
    """The Vega-Lite chart of the votes' mean entropy by bin of the predictions' entropy.

    Its data are `points`: entropies of votes `z`, entropies of predictions `u`, and the entropies
    `e` that right predictions would give, with limits `lo` and `hi`. Both axes end at `top`.
    """
    scale = {"domain": [0, top], "nice": False}
    x = _number_field("u", axis={"title": "entropy of the prediction", "tickCount": 5}, scale=scale)
    y = _number_field("z", axis={"title": "mean entropy of the votes", "tickCount": 5}, scale=scale)
    details = _tooltip_fields(
        "entropy of the prediction", "entropy of the votes", "if perfect", "rows"
    )
    line = {"color": TWO, "strokeWidth": 2}
    return _layered_chart(
        _diagonal_layer(x, y, top),
        _marks_layer("points", "area", {"color": TWO, "opacity": 0.2}, x=x, **_limit_fields()),
        _marks_layer("points", "line", line, x=x, y=_number_field("e"), order=_number_field("u")),
        _marks_layer("points", "circle", _BIG_DOT, x=x, y=y, tooltip=details),
        height=300,
    )


def outcome_bars() -> Spec:
    """The Vega-Lite chart of a histogram of predictions by outcome.

    Its data are `bars` from `a` to `b`: shares of rows `v`, positive (upward) for one outcome and
    negative (downward) for the other.
    """
    expression = "format(abs(datum.value), '.0%')"
    axis = {"title": "share of rows", "tickCount": 4, "labelExpr": expression}
    bars = _marks_layer(
        "bars",
        "rect",
        {"opacity": 0.55},
        x=_unit_axis("a", "prediction"),
        x2={"field": "b"},
        y=_number_field("v", axis=axis),
        y2={"datum": 0},
        color=_text_field("colour", scale=None),
        tooltip=_tooltip_fields("predictions", "outcome", "rows"),
    )
    return styled_chart(bars, height=170)


def interval_rows(x_title: str, *, ranks: int = 0) -> Spec:
    """The Vega-Lite chart of named rows, each a point and a bar between its limits.

    Its data are `rows`: `value`, limits `lo` and `hi`, and `place`, the index of the row from the
    top. If `ranks` is positive, values are whole numbers from 1 to `ranks`; otherwise a line is at
    0.
    """
    options: Spec = {"format": _THREE, "tickCount": 5}
    if ranks:  # name every tick: one between two ranks would be rounded
        options = {"format": "d", "values": list(range(1, ranks + 1))}
    scale = {"zero": not ranks, "nice": True, "padding": 10}
    x = _number_field("value", axis={"title": x_title, **options}, scale=scale)
    # Sort by a field: Vega keeps the old order when the data change.
    by_place = {"field": "place", "op": "min"}
    y = _text_field(
        "name", sort=by_place, axis={"title": None, "labelLimit": 180, "labelColor": INK}
    )
    colour, shape = _text_field("colour", scale=None), _text_field("shape", scale=None)
    details = [_text_field("name"), _text_field("shown", title="value"), _text_field("interval")]
    bar = {"strokeWidth": 5, "opacity": 0.3, "strokeCap": "round"}
    span = {"x": _number_field("lo"), "x2": {"field": "hi"}, "y": y, "color": colour}
    point = {"x": x, "y": y, "color": colour, "shape": shape, "tooltip": details}
    zero = _marks_layer([{"value": 0}], "rule", {"color": MUTED, "strokeDash": [4, 3]}, x=x)
    return _layered_chart(
        *([] if ranks else [zero]),
        _marks_layer("rows", "rule", bar, **span),
        _marks_layer("rows", "point", {"size": 90, "filled": True, "opacity": 1}, **point),
    )


def measure_over_time(measure: str, form: str = "%-d %b", *, single: bool = False) -> Spec:
    """The Vega-Lite chart of a measure over time, with its noise floor.

    Its data are `rows`, one for each window (span of time), as `windows_page` makes them; `single`
    says that it is one. `form` is the format of dates.
    """
    x, noise = _time_axis(form), _number_field("noise")
    y = _number_field("value", axis={"title": measure, "format": _THREE}, scale={"zero": True})
    details = [
        _time_tooltip(),
        _number_field("n", title="rows"),
        _number_field("value", title=measure),
        _number_field("noise", title="noise floor"),
        _number_field("predicted", title="mean prediction"),
        _number_field("target", title="mean target"),
    ]
    # A single window has no line, so a dash shows its noise floor.
    dash = {"color": MUTED, "shape": "stroke", "size": 200, "opacity": 1}
    return _layered_chart(
        _marks_layer("rows", "line", {"color": MUTED, "strokeDash": [4, 3]}, x=x, y=noise),
        *([_marks_layer("rows", "point", dash, x=x, y=noise)] if single else []),
        _marks_layer("rows", "line", {"color": ONE}, x=x, y=y),
        _marks_layer("rows", "point", _DOT, x=x, y=y, tooltip=details),
        height=260,
    )


def e_value_over_time(alarm_at: float, form: str = "%-d %b", field: str = "e") -> Spec:
    """The Vega-Lite chart of an e-value over time, on a logarithmic axis.

    The e-value is the evidence against calibration (`field` "e") or of a change ("change") up to a
    window; a line is at `alarm_at`, where it gives an alarm. Its data are `rows`, one for each
    window, as `windows_page` makes them; `form` is the format of dates.
    """
    x, scale = _time_axis(form), {"type": "log", "nice": False}
    axis = {"title": "e-value", "format": _THREE, "tickCount": 5}
    y = _number_field(field, axis=axis, scale=scale)
    details = [_time_tooltip(), _number_field(field, title="e-value", format=".3g")]
    return _layered_chart(
        _marks_layer([{field: alarm_at}], "rule", {"color": TWO, "strokeDash": [4, 3]}, y=y),
        _marks_layer("rows", "line", {"color": ONE}, x=x, y=y),
        _marks_layer("rows", "point", _DOT, x=x, y=y, tooltip=details),
        height=220,
    )
