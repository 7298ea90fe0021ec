"""The comparison page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from calibrant.results._pages import charts
from calibrant.results._pages.page import lines_caption, percent_text, render_page, series_columns
from calibrant.results._pages.provenance import checked_name, checked_source, versions
from calibrant.results._plots.diagram_parts import x_label_of, y_label_of
from calibrant.results._plots.typing import ComparisonData
from calibrant.results._rendering import marked_numbers, range_text, shortened, shown

# The page starts with this many curves; more overlap.
_CURVES = 5
_TIED = "tied for the best"
# Whether the best one is better than another.
_DECIDED = {
    None: "not significantly different",
    True: "significantly worse",
    False: "significantly better",
}


def comparison_page(
    comparison: ComparisonData, called: Mapping[str, str], name: str | None, source: Any
) -> str:
    """The page of a comparison, as one text; `called` has each measure's name in sentences."""
    names, main = comparison.names, comparison.measures[0]
    looks = charts.series_looks(names)
    measures = [_measure(comparison, each, called[each]) for each in comparison.measures]
    first = set(comparison.order(main)[:_CURVES])
    title = checked_name(name, f"{len(names)} predictors compared")
    data = {
        "kind": "comparison",
        "measures": measures,
        "curves": _curve_data(comparison, looks, first),
        "looks": looks,
        "specs": _chart_specs(comparison),
    }
    return render_page(
        "comparison.html",
        data,
        title=title,
        comparison=comparison,
        answer=_answer(comparison, main),
        main=measures[0],
        series=[(each, looks[each], each in first) for each in names],
        rows=_value_rows(comparison),
        people=[] if comparison.ceiling is None else list(comparison.ceiling),
        robustness=_robustness(comparison),
        lines=lines_caption(comparison.tables),
        level=percent_text(comparison.level),
        source=checked_source(source),
        versions=versions(),
    )


def _chart_specs(comparison: ComparisonData) -> dict[str, Any]:
    specs = {
        "ranks": charts.spans("rank, 1 is best", ranks=len(comparison.names)),
        "differences": charts.spans("difference from the best"),
    }
    if comparison.tables:
        table = comparison.tables[0]
        specs["overlay"] = charts.overlay(
            x_label_of(table.notion), y_label_of(table.notion, table.is_hard)
        )
    return specs


def _answer(comparison: ComparisonData, measure: str) -> str:
    """Which comes first, and whether the others differ from it significantly."""
    best, tied = shortened(comparison.order(measure)[0]), comparison.tied(measure)
    if not tied:
        return f"{best} is the best."
    if len(tied) == len(comparison.names) - 1:
        return "None of them is clearly the best."
    return f"{best} comes first, but not clearly."


def _percent(share: float) -> str:
    """A confidence in whole percent: a dash if unknown, and never 0 % or 100 %."""
    if share != share:
        return "–"
    if share > 0.99:
        return "more than 99 %"
    return "less than 1 %" if share < 0.01 else percent_text(share)


def _measure(comparison: ComparisonData, measure: str, called: str) -> dict[str, Any]:
    """One measure's ranks and differences, as charts and as tables."""
    ranking = comparison.ranking(measure)
    differences = comparison.differences(measure)
    best, tied = ranking["predictor"][0], set(comparison.tied(measure))
    # Equal predictors share the better rank, which is then marked by a sign.
    shared = Counter(ranking["rank"])
    ranks = [f"{rank} =" if shared[rank] > 1 else str(rank) for rank in ranking["rank"]]
    spans = zip(ranking["rank_low"], ranking["rank_high"], strict=True)
    rows = list(zip(ranking["predictor"], ranking["rank"], ranks, spans, strict=True))
    return {
        "name": measure,
        "called": called,
        "sentence": comparison.sentence(measure),
        "higher": bool(comparison.higher_is_better[comparison.measures.index(measure)]),
        "ranks": [
            {
                "name": name,
                "value": rank,
                "lo": low,
                "hi": high,
                "shown": text,
                "interval": f"{low} to {high}",
            }
            for name, rank, text, (low, high) in rows
        ],
        "rank_table": [
            [
                name,
                *own,
                text,
                f"{low} to {high}",
                _percent(confidence),
                _TIED if name in tied or (tied and name == best) else "",
            ]
            for (name, _, text, (low, high)), own, confidence in zip(
                rows, _intervals(comparison, measure), ranking["best"], strict=True
            )
        ],
        "differences": [
            {
                "name": d.first,
                "value": d.estimate,
                "lo": d.low,
                "hi": d.high,
                "clear": d.better is not None,
                "shown": shown(d.estimate),
                "interval": range_text(d.low, d.high),
            }
            for d in differences
        ],
        "difference_table": [
            [
                d.first,
                shown(d.estimate),
                range_text(d.low, d.high),
                _DECIDED[None if d.better is None else d.better == best],
                shown(d.value),
            ]
            for d in differences
        ],
    }


def _intervals(comparison: ComparisonData, measure: str) -> list[tuple[str, str, str]]:
    """Estimate, interval and sample value of each predictor as texts, the best first."""
    columns = comparison.intervals(measure)
    best = set(comparison.leaders(measure))
    estimates = marked_numbers(columns["estimate"], [name in best for name in columns["predictor"]])
    limits = zip(columns["low"], columns["high"], strict=True)
    return [
        (estimate, range_text(low, high) if low == low else "–", shown(value))
        for estimate, (low, high), value in zip(estimates, limits, columns[measure], strict=True)
    ]


def _curve_data(
    comparison: ComparisonData, looks: dict[str, Any], first: set[str]
) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "look": looks[name],
            "first": name in first,
            **series_columns(table, comparison.level),
        }
        for name, table in zip(comparison.names, comparison.tables, strict=False)
    ]


def _value_rows(comparison: ComparisonData) -> list[dict[str, Any]]:
    """Every predictor's estimates, with a mark on the best of each measure and on its ties, and the
    values of the sample where these are other numbers.
    """
    columns = []
    for measure in comparison.measures:
        best, tied = set(comparison.leaders(measure)), set(comparison.tied(measure))
        order = comparison.intervals(measure)["predictor"]
        cells = {}
        for name, (estimate, _, value) in zip(order, _intervals(comparison, measure), strict=True):
            sample = value if value != estimate else ""
            marks = {"best": name in best, "tied": name in tied}
            cells[name] = {"value": estimate, **marks, "sample": sample}
        columns.append(cells)
    return [
        {"name": name, "cells": [column[name] for column in columns]} for name in comparison.names
    ]


def _robustness(comparison: ComparisonData) -> dict[str, Any] | None:
    """The rank correlations: a row for each pair of orders, a column for each measure."""
    robustness = comparison.robustness
    if robustness is None:
        return None
    columns = robustness.table()
    measures = columns.pop("measure")
    chain = [robustness.names[i] for i in robustness.chain] if robustness.names else []
    return {
        "caption": robustness.title,
        "measures": measures,
        "rows": list(columns.items()),
        "chain": [shortened(name) for name in chain],
    }
