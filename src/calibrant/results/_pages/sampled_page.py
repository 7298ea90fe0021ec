"""The page of questions that were answered several times."""

from __future__ import annotations

from typing import Any

from calibrant.results._pages import charts
from calibrant.results._pages.page import render_page, table_columns
from calibrant.results._pages.provenance import checked_name, checked_source, versions
from calibrant.results._verdict import direction_words


def sampled_page(answers: Any, name: str | None, source: Any) -> str:
    """The page of `answers`, `SampledAnswers`, as one HTML text: each confidence with a diagram.

    `name` is the title, and `source` says where the rows come from.
    """
    tables = [each.reliability for each in answers.evaluations.values()]
    lines = [table_columns(table, answers.level) for table in tables]
    held_out = answers.rows[1]
    gap = held_out.mean_confidence - held_out.mean_right
    spec = charts.reliability_diagram("confidence", "share of right answers")
    return render_page(
        "sampled.html",
        {"kind": "sampled", "lines": lines, "specs": {"diagram": spec}},
        title=checked_name(name, "Several answers to each question"),
        answers=answers,
        answer=direction_words(gap, confidence=True) or "Right as often as its answers agree.",
        source=checked_source(source),
        versions=versions(),
    )
