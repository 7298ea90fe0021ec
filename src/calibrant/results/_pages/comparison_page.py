"""The comparison page."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

from calibrant._measures.catalogue import HEADLINE, find
from calibrant.results._check import FEWEST_ROWS
from calibrant.results._pages import charts
from calibrant.results._pages.page import (
    lines_caption,
    percent_text,
    render_result_page,
    series_columns,
)
from calibrant.results._plots.diagram_parts import x_label_of, y_label_of
from calibrant.results._plots.typing import ComparisonData
from calibrant.results._rendering import (
    in_full,
    marked_numbers,
    percent,
    range_text,
    shortened,
    shown,
)

# The page starts with this many curves; more overlap.
_CURVES = 5
_TIED = "tied for the best"
# How a predictor compares with the best one, by whether the best is significantly better than it.
_DECIDED = {
    None: "not significantly different",
    True: "significantly worse",
    False: "significantly better",
}
# The tolerance of verdicts, where the comparison records none: the default of `compare`.
_TOLERANCE = 0.05
# The verdict on a predictor, and the class of its colour.
_WITHIN, _ABOVE = ("within the tolerance", "within"), ("above the tolerance", "beyond")
_UNDECIDED = ("undecided", "undecided")


def comparison_page(
    comparison: ComparisonData, sentence_names: Mapping[str, str], name: str | None, source: Any
) -> str:
    """The page of a comparison, as one HTML text.

    `sentence_names` has each measure's name as sentences use it. `name` is the title, and `source`
    says where the rows come from.
    """
    names, main = comparison.names, comparison.measures[0]
    looks = charts.series_looks(names)
    measures = [
        _measure_data(comparison, each, sentence_names[each]) for each in comparison.measures
    ]
    first = set(comparison.order(main)[:_CURVES])
    risks, risk_spec = _risk_data(comparison, looks)
    data = {
        "kind": "comparison",
        "risks": risks,
        "measures": measures,
        "curves": _curve_data(comparison, looks, first),
        "looks": looks,
        "specs": {**_chart_specs(comparison), **risk_spec},
    }
    return render_result_page(
        "comparison.html",
        data,
        name=name,
        title=f"{len(names)} predictors compared",
        source=source,
        comparison=comparison,
        answer=_best_sentence(comparison, main),
        main=measures[0],
        series=[(each, looks[each], each in first) for each in names],
        rows=_value_rows(comparison),
        tolerance=in_full(_tolerance(comparison)) if HEADLINE in comparison.measures else None,
        error=sentence_names.get(HEADLINE),
        people=[] if comparison.ceiling is None else list(comparison.ceiling),
        robustness=_robustness_table(comparison),
        slices=_slice_table(comparison),
        lines=lines_caption(comparison.tables),
        level=percent(comparison.level),
    )


def _chart_specs(comparison: ComparisonData) -> dict[str, Any]:
    """The Vega-Lite charts of the page, by name.

    `overlay`, the chart of the reliability curves, is there only if the comparison has tables.
    """
    specs = {
        "ranks": charts.interval_rows("rank, 1 is best", ranks=len(comparison.names)),
        "differences": charts.interval_rows("difference from the best"),
    }
    if comparison.tables:
        table = comparison.tables[0]
        specs["overlay"] = charts.overlaid_curves(
            x_label_of(table.notion), y_label_of(table.notion, table.is_hard)
        )
    return specs


def _best_sentence(comparison: ComparisonData, measure: str) -> str:
    """The first sentence of the page: the best predictor by a measure, and whether clearly."""
    best, tied = shortened(comparison.order(measure)[0]), comparison.tied(measure)
    near = comparison.closeness.get(measure)
    first = "best" if near is None else f"closest to {near.target:g}"
    if not tied:
        return f"{best} is {first}."
    if len(tied) == len(comparison.names) - 1:
        return f"None of them is clearly {first}."
    return f"{best} comes first, but not clearly."


def _percent(share: float) -> str:
    """A confidence as text, in whole percent from "less than 1%" to "more than 99%".

    It is a dash if the confidence is NaN.
    """
    if share != share:
        return "–"
    if share > 0.99:
        return "more than 99%"
    return "less than 1%" if share < 0.01 else percent_text(share)


def _measure_data(comparison: ComparisonData, measure: str, called: str) -> dict[str, Any]:
    """What the page shows of one measure: its sentence, its ranks and its differences, by name.

    Ranks and differences are rows for the charts (`ranks`, `differences`) and texts for the tables
    (`rank_table`, `difference_table`). `called` is the measure's name in sentences.
    """
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
        "sorted": _direction(comparison, measure),
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
                own[-1],
                text,
                f"{low} to {high}",
                _percent(confidence),
                _TIED if name in tied or (tied and name == best) else "",
            ]
            for (name, _, text, (low, high)), own, confidence in zip(
                rows, _interval_texts(comparison, measure), ranking["best"], strict=True
            )
        ],
        "differences": [
            {
                "name": d.first,
                "value": behind,
                "lo": low,
                "hi": high,
                "clear": d.better is not None,
                "shown": shown(behind),
                "interval": range_text(low, high),
            }
            for d in differences
            for behind, low, high in [d.behind]
        ],
        "difference_table": [
            [
                d.first,
                shown(d.behind[0]),
                range_text(*d.behind[1:]),
                _DECIDED[None if d.better is None else d.better == best],
                shown(d.value),
            ]
            for d in differences
        ],
    }


def _direction(comparison: ComparisonData, measure: str) -> str:
    """How values are sorted from the best, in the words of `aria-sort`."""
    if measure in comparison.closeness:
        return "other"
    higher = comparison.higher_is_better[comparison.measures.index(measure)]
    return "descending" if higher else "ascending"


def _interval_texts(comparison: ComparisonData, measure: str) -> list[tuple[str, str, str]]:
    """The texts (estimate, interval, sample value) of each predictor by one measure, best first.

    The interval is a dash where there is none.
    """
    columns = comparison.intervals(measure)
    best = set(comparison.leaders(measure))
    estimates = marked_numbers(columns["estimate"], [name in best for name in columns["predictor"]])
    limits = zip(columns["low"], columns["high"], strict=True)
    return [
        (estimate, range_text(low, high) if low == low else "–", shown(value))
        for estimate, (low, high), value in zip(estimates, limits, columns[measure], strict=True)
    ]


def _curve_data(
    comparison: ComparisonData, looks: dict[str, Any], shown_at_first: set[str]
) -> list[dict[str, Any]]:
    """The bins and the line of each predictor's reliability curve, with its name and its look.

    `shown_at_first` has the names of the predictors whose curves the reader sees without asking.
    """
    return [
        {
            "name": name,
            "look": looks[name],
            "first": name in shown_at_first,
            **series_columns(table, comparison.level),
        }
        for name, table in zip(comparison.names, comparison.tables, strict=False)
    ]


def _risk_data(
    comparison: ComparisonData, looks: dict[str, Any]
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The points of all risk-coverage curves, and their chart by its name; both empty without."""
    if not comparison.risks:
        return [], {}
    rows = []
    for name, curve in zip(comparison.names, comparison.risks, strict=True):
        points = curve.columns()
        cells = zip(
            *(points[c] for c in ("coverage", "threshold", "risk", "low", "high")), strict=True
        )
        rows += [
            {
                "name": name,
                **looks[name],
                "c": c,
                "r": risk,
                "coverage": percent_text(c),
                "from prediction": shown(threshold),
                "risk": shown(risk),
                "interval": range_text(low, high),
            }
            for c, threshold, risk, low, high in cells
        ]
    wrong = comparison.risks[0].notion == "confidence" or comparison.shape == "answers"
    text = "risk: " + ("error rate" if wrong else "share of y = 0")
    return rows, {"risks": charts.risk_curves("share of rows kept", text)}


def _value_rows(comparison: ComparisonData) -> list[dict[str, Any]]:
    """A row for each predictor: its name, and a cell for each measure.

    A cell has the estimate (`value`), its `interval`, and whether it is the best (`best`) or not
    significantly different from it (`tied`). `verdict` is a text and the class of its colour, and
    `answered` the share of answered questions, or None. The best by the first measure comes first.
    """
    columns: list[dict[str, Any]] = []
    for measure in comparison.measures:
        best, tied = set(comparison.leaders(measure)), set(comparison.tied(measure))
        order = comparison.intervals(measure)["predictor"]
        cells = {}
        for name, (estimate, interval, _) in zip(
            order, _interval_texts(comparison, measure), strict=True
        ):
            marks = {"best": name in best, "tied": name in tied}
            cells[name] = {"value": estimate, **marks, "interval": interval}
        columns.append(cells)
    shares = dict(zip(comparison.names, comparison.answered or (), strict=False))
    verdicts = _verdicts(comparison)
    return [
        {
            "name": name,
            "verdict": verdicts[name],
            "cells": [column[name] for column in columns],
            "answered": percent_text(shares[name]) if shares else None,
        }
        for name in comparison.order(comparison.measures[0])
    ]


def _tolerance(comparison: ComparisonData) -> float:
    """The largest calibration error that the reader can accept."""
    return float(comparison.recipe.get("tolerance", _TOLERANCE))


def _verdicts(comparison: ComparisonData) -> dict[str, tuple[str, str]]:
    """The verdict on each predictor by name: a text, and the class of its colour.

    It says how the interval of the ECE compares with the tolerance. In a comparison without the
    ECE it says how the predictor compares with the best by the first measure.
    """
    if HEADLINE in comparison.measures:
        columns, tolerance = comparison.intervals(HEADLINE), _tolerance(comparison)
        few = comparison.recipe["n"] < FEWEST_ROWS
        limits = zip(columns["predictor"], columns["low"], columns["high"], strict=True)
        return {
            name: _UNDECIDED
            if few or not (high <= tolerance or low > tolerance)
            else (_WITHIN if high <= tolerance else _ABOVE)
            for name, low, high in limits
        }
    best = comparison.order(comparison.measures[0])[0]
    words = {
        d.first: _DECIDED[None if d.better is None else d.better == best]
        for d in comparison.differences(comparison.measures[0])
    }
    return {name: (words.get(name, "best"), "") for name in comparison.names}


def _slice_table(comparison: ComparisonData) -> dict[str, Any] | None:
    """The slices of all predictors side by side; None without slices.

    `models` are the predictors, best first, and `called` is the measure's name in sentences. A row
    is the name of a slice, its number of rows, and the `Slice` of each predictor, or None where it
    has none. The largest value comes first.
    """
    if not comparison.slices:
        return None
    models = comparison.order(comparison.measures[0])
    measure = comparison.slices[models[0]].measure
    by_name: dict[str, dict[str, Any]] = {}
    for model in models:
        for row in comparison.slices[model]:
            by_name.setdefault(row.name, {})[model] = row

    def largest(item: tuple[str, dict[str, Any]]) -> float:
        """The largest value of a slice, bias-corrected where that is known."""
        values = [
            row.values[measure] if math.isnan(row.estimate) else row.estimate
            for row in item[1].values()
        ]
        return max([value for value in values if value == value], default=-math.inf)

    return {
        "models": models,
        "called": find(measure, comparison.shape).called(soft=comparison.soft),
        "rows": [
            (name, next(iter(own.values())).n, [own.get(model) for model in models])
            for name, own in sorted(by_name.items(), key=largest, reverse=True)
        ],
    }


def _robustness_table(comparison: ComparisonData) -> dict[str, Any] | None:
    """The rank correlations of the comparison as a table; None if they were not computed.

    Its `rows` are pairs: the name of the two orders of predictors that are correlated, and a value
    for each of the `measures`. `chain` has the predictors of the maximum dominance set.
    """
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
