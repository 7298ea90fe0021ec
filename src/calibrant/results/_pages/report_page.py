"""The report page."""

from __future__ import annotations

from typing import Any

from calibrant.results._findings import slice_measure
from calibrant.results._pages import charts
from calibrant.results._pages.first_screen import first_screen, mean_names
from calibrant.results._pages.page import (
    chart_numbers,
    curve_columns,
    number_texts,
    render_page,
    series_columns,
    table_columns,
)
from calibrant.results._pages.rows import (
    class_rows,
    largest_slice,
    map_rows,
    measure_row,
    tool_rows,
)
from calibrant.results._pages.sections import report_sections
from calibrant.results._plots.diagram_parts import x_label_of, y_label_of
from calibrant.results._plots.typing import ReportData
from calibrant.results._recommendation import UNCHANGED
from calibrant.results._rendering import percent, range_text, shown

_RULES = {"equal-width": "equal width", "quantile": "equal mass"}


def report_page(report: ReportData) -> str:
    """The page of a report, as one HTML text."""
    evaluation = report.evaluation
    sections = report_sections(report)
    more = [chart for section in sections.values() for chart in section.charts]
    tolerance = float(report.recipe["options"]["tolerance"])
    rows = {e.name: measure_row(e, tolerance) for e in evaluation.estimates}
    # The command's --clinical; the summary of a page without it is folded, near the end.
    clinical = bool(report.recipe["options"].get("clinical"))
    return render_page(
        "report.html",
        {**_page_data(report), "more": more},
        title=report.name,
        report=report,
        evaluation=evaluation,
        first=first_screen(report, clinical=clinical),
        clinical_first=clinical,
        headlines=[rows[name] for name in report.headlines],
        groups=_other_measures(report, rows),
        rules=_RULES,
        classes=class_rows(report),
        maps=map_rows(report.recalibrations),
        series=_before_after_series(report),
        largest_slice=largest_slice(report),
        means=mean_names(report),
        slice_measure=slice_measure(evaluation),
        tools=tool_rows(report.conventions),
        **{name: section.facts for name, section in sections.items()},
        level=percent(report.level),
        n_resamples=report.recipe["options"]["n_resamples"],
        call=_python_call(report),
    )


def _other_measures(report: ReportData, rows: dict[str, Any]) -> list[dict[str, Any]]:
    """The measures that are not among the headlines, by kind: `title`, `what` and `rows`."""
    groups = [
        {
            "title": title,
            "what": what,
            "rows": [rows[n] for n in names if n not in report.headlines],
        }
        for title, what, names in report.groups
    ]
    return [group for group in groups if group["rows"]]


def _page_data(report: ReportData) -> dict[str, Any]:
    """The data of the page's script, by name: bins, curves, sensitivity to bins, and charts."""
    table = report.evaluation.reliability
    x, y = x_label_of(table.notion), y_label_of(table.notion, len(report.views) == 1)
    rule, m, given = _first_bins(report)
    titles = {entry.name: entry.title for entry in report.glossary}
    return {
        "kind": "report",
        "level": report.level,
        "counts": list(report.views[0].counts),
        "start": {"rule": rule, "m": m},
        "views": [_view_data(view, report.level) for view in report.views],
        "given": given,
        "strip": _sensitivity_charts(report, titles),
        "changes": _recalibrated_bins(report),
        "specs": {
            "diagram": charts.reliability_diagram(x, y),
            "counts": charts.row_share_bars(),
            "strip": charts.measure_by_bins(max(report.views[0].counts)),
            "overlay": charts.overlaid_curves(x, y),
        },
    }


def _first_bins(report: ReportData) -> tuple[str, int, dict[str, Any] | None]:
    """The rule and number of bins that the diagram shows first, and the evaluation's own bins.

    The third item is None if the evaluation's bins are of equal width or equal mass, and so among
    the report's views. Otherwise the rule is "given", and the item has them (`table`) and their ECE
    (`shown`).
    """
    own = report.evaluation.reliability
    view = report.views[0]
    for rule, tables in view.tables.items():
        for m, table in zip(view.counts, tables, strict=True):
            if table.rule == own.rule:
                return rule, m, None
    given = {
        "table": table_columns(own, report.level),
        "shown": {"ece": shown(report.evaluation["ece"])},
    }
    return "given", 15, given


def _view_data(view: Any, level: float) -> dict[str, Any]:
    """The data of a `BinView` (a diagram at every number of bins) for the page's script.

    They are tables and measures by rule of binning, curves, and the shaded interval.
    """
    return {
        "labels": view.labels,
        "tables": {
            rule: [table_columns(table, level) for table in tables]
            for rule, tables in view.tables.items()
        },
        "shown": {
            rule: {name: number_texts(values) for name, values in measures.items()}
            for rule, measures in view.values.items()
        },
        "curves": {
            **{name: _curve_data(curve) for name, curve in view.curves.items()},
            "smooth": {
                **curve_columns(view.curve, level),
                "words": f"Bandwidth of the curve: {shown(view.curve.sigma)}. "
                + " ".join(view.curve.notes),
            },
        },
        "band": _band_data(view.curves.get("isotonic")),
        "cutoffs": _cutoff_data(view.cutoffs),
    }


def _band_data(curve: Any) -> dict[str, Any] | None:
    """The band about the diagonal where the isotonic curve of calibrated predictions lies.

    It has predictions `u` and limits `lo` and `hi`. The result is None if the curve has no band of
    that kind: soft labels have none.
    """
    if curve is None or curve.band != "consistency":
        return None
    points = curve.columns()
    names = {"u": "prediction", "lo": "low", "hi": "high"}
    return {key: chart_numbers(points[name]) for key, name in names.items()}


def _cutoff_data(cutoffs: Any) -> dict[str, Any] | None:
    """The interval of predictions to shade, from `a` to `b`, and its meaning in `words`.

    It is the interval over which the gaps of rows (prediction less target) add up to most. The
    result is None without such an interval, or if its gaps add up to 0.
    """
    if cutoffs is None or cutoffs.gap == 0.0:
        return None
    lower, upper = cutoffs.lower, cutoffs.upper
    lean = "high" if cutoffs.gap > 0 else "low"
    words = (
        f"Shaded: the predictions from {range_text(lower, upper)}, too {lean}, "
        f"whose gaps add up to most: {shown(abs(cutoffs.gap))} over all rows (cutoff error)."
    )
    return {"a": lower, "b": upper, "lo": 0, "hi": 1, "words": words}


def _curve_data(curve: Any) -> dict[str, Any]:
    """The points of a curve that is fitted to the rows, by short keys, and its `words`.

    `u` are predictions, `z` mean targets, `lo` and `hi` the limits of the band. A band about the
    diagonal is that of the diagram (`_band_data`), and is not repeated.
    """
    columns = {key: chart_numbers(values) for key, values in curve.columns().items()}
    words = f"{curve.called[0].upper()}{curve.called[1:]}; {curve.band_words}."
    out = {"u": columns["prediction"], "z": columns["mean_target"], "words": words}
    if curve.band == "consistency":
        return out
    return {**out, "lo": columns["low"], "hi": columns["high"]}


def _sensitivity_charts(report: ReportData, titles: dict[str, str]) -> list[dict[str, Any]]:
    """The data of a chart for each measure: its value at each number of bins, by each rule.

    `titles` has the measures' titles by name.
    """
    by_measure: dict[str, list[dict[str, Any]]] = {}
    for line in report.sensitivity:
        rows = by_measure.setdefault(line.measure, [])
        for m, value, text in zip(line.counts, line.values, number_texts(line.values), strict=True):
            rows.append({"m": m, "value": value, "rule": line.rule, "shown": text})
    return [
        {"name": name, "title": titles.get(name, name), "values": rows}
        for name, rows in by_measure.items()
    ]


def _before_after_series(report: ReportData) -> list[tuple[str, dict[str, Any], bool]]:
    """The curves before and after each recalibration map, as (name, look, shown at first).

    Shown at first are the original predictions and the chosen map, or all maps if none is
    chosen. Without maps the list is empty.
    """
    maps = report.recalibrations
    if not maps:
        return []
    none = not any(each.chosen for each in maps)
    names = [(UNCHANGED, True), *((each.method_name, each.chosen or none) for each in maps)]
    return [(name, charts.series_look(index), first) for index, (name, first) in enumerate(names)]


def _recalibrated_bins(report: ReportData) -> list[dict[str, Any]] | None:
    """The bins before recalibration and after each map; None without maps.

    Each item also has the name, the look and the `first` (shown at first) of
    `_before_after_series`.
    """
    maps = report.recalibrations
    if not maps:
        return None
    tables = [maps[0].before, *(each.after for each in maps)]
    return [
        {"name": name, "look": look, "first": first, **series_columns(table, report.level)}
        for (name, look, first), table in zip(_before_after_series(report), tables, strict=True)
    ]


def _python_call(report: ReportData) -> str:
    """The Python call that computes the same numbers again, as text.

    Options at their defaults are dropped, and ``...`` stands for arrays that were given.
    """
    options = report.recipe["options"]
    defaults = {"bins": 15, "depth": 2, "tolerance": 0.05, "level": 0.95, "seed": 0}
    arguments = [
        f"{key}={options[key]}"
        for key, usual in defaults.items()
        if str(options[key]) != str(usual)
    ]
    if options["missing"] != "error":
        arguments.append(f"missing={options['missing']!r}")
    arguments += [f"{key}=True" for key in ("from_logits", "from_logprobs") if options.get(key)]
    for key in ("measures", "recalibrate"):
        if options[key] is not None:
            arguments.append(f"{key}={options[key].split(', ')}")
    if options["resample"] is not None:
        arguments.append(f"resample={options['resample']!r}")
    given = {
        "sample_weight": options["weighted"],
        "groups": options["grouped"],
        "votes": options["votes"] and not options["counts of votes"],
        "by": options["sliced"],
        "segments": options["segments"],
        "annotators": options["annotators"],
        "classes": options["classes"],
    }
    arguments += [f"{argument}=..." for argument, is_given in given.items() if is_given]
    return f"cal.report({', '.join(['y_true', 'y_proba', *arguments])})"
