"""Results in a terminal: in colour where rich is installed and the terminal shows it."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from calibrant.results.evaluation import Evaluation
from calibrant.results.rendering import as_text, shown

Columns = Mapping[str, Sequence[Any]]

_BAR = 24


def print_table(columns: Columns, title: str, *, file: TextIO | None = None) -> None:
    """One table, in colour where the terminal has it."""
    out = sys.stdout if file is None else file
    if importlib.util.find_spec("rich") is None or not out.isatty():
        print(f"{title}\n{as_text(columns, indent='  ')}\n", file=out)
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=escape(title), title_justify="left", header_style="bold")
    for name, values in columns.items():
        numeric = any(isinstance(value, int | float) for value in values)
        table.add_column(escape(name), justify="right" if numeric else "left")
    for row in zip(*columns.values(), strict=True):
        table.add_row(*(escape(shown(value)) for value in row))
    Console(file=out).print(table)


def print_evaluation(evaluation: Evaluation, title: str, *, file: TextIO | None = None) -> None:
    """What was evaluated, every measure, the reliability table and the worst classes."""
    out = sys.stdout if file is None else file
    print(title, file=out)
    verdict = (str(evaluation.verdict),) if evaluation.verdict else ()
    for line in (*verdict, *evaluation.inferred, *evaluation.notes):
        print(f"  {line}", file=out)
    print(file=out)
    measures = {k: v for k, v in evaluation.columns().items() if k != "title"}
    print_table(measures, "Measures", file=out)
    bins = evaluation.reliability.shown_columns(evaluation.recipe.get("level"))
    bins["o report, x target"] = [
        reliability_bar(u, z) for u, z in zip(bins["mean_report"], bins["mean_target"], strict=True)
    ]
    print_table(bins, f"Reliability: {evaluation.reliability.rule}", file=out)
    if evaluation.slices is not None:
        print_table(
            evaluation.slices.shown_columns(), f"Slices by {evaluation.slices.by}, worst first",
            file=out,
        )  # fmt: skip
    if evaluation.classes is not None:
        head = {name: values[:10] for name, values in evaluation.classes.items()}
        n = len(evaluation.classes["class"])
        print_table(head, f"Classes, worst first ({min(n, 10)} of {n})", file=out)


def reliability_bar(report: float, target: float) -> str:
    """Where the mean report (o) and the mean target (x) lie between 0 and 1; * where they meet."""
    if report != report:  # NaN: an empty bin
        return ""
    cells = ["."] * (_BAR + 1)
    at_report, at_target = round(report * _BAR), round(target * _BAR)
    cells[at_report], cells[at_target] = "o", "x"
    if at_report == at_target:
        cells[at_report] = "*"
    return "".join(cells)
