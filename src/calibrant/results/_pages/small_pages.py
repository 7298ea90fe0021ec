"""Pages of results that are one table and its diagrams: bounds over labels that are sets, and
questions that were answered several times.
"""

from __future__ import annotations

from typing import Any

from calibrant.results._pages import charts
from calibrant.results._pages.page import render_result_page, table_columns
from calibrant.results._plots.diagram_parts import x_label_of
from calibrant.results._verdict import direction_words


def bounds_page(bounds: Any, name: str | None, source: Any) -> str:
    """The page of bounds, as one HTML text: the diagram of the bins, and the measures' tables.

    `bounds` are `Bounds`, `name` is the title, and `source` says where the rows come from.
    """
    table, bins = bounds.reliability, bounds.reliability.display_columns()
    spec = charts.reliability_diagram(x_label_of(table.near.notion), "mean label")
    return render_result_page(
        "bounds.html",
        {"kind": "bounds", "bins": table_columns(table.bars(), 0.95), "specs": {"diagram": spec}},
        name=name,
        title="Bounds over sets of labels",
        source=source,
        bounds=bounds,
        bins={"heads": list(bins), "rows": list(zip(*bins.values(), strict=True))},
    )


def sampled_page(answers: Any, name: str | None, source: Any) -> str:
    """The page of `answers`, `SampledAnswers`, as one HTML text: each confidence with a diagram.

    `name` is the title, and `source` says where the rows come from.
    """
    tables = [each.reliability for each in answers.evaluations.values()]
    lines = [table_columns(table, answers.level) for table in tables]
    held_out = answers.rows[1]
    gap = held_out.mean_confidence - held_out.mean_right
    spec = charts.reliability_diagram("confidence", "share of right answers")
    return render_result_page(
        "sampled.html",
        {"kind": "sampled", "lines": lines, "specs": {"diagram": spec}},
        name=name,
        title="Several answers to each question",
        source=source,
        answers=answers,
        answer=direction_words(gap, confidence=True) or "Right as often as its answers agree.",
    )
