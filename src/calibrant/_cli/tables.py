"""Results in a terminal: in colour where rich is installed and the terminal shows it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from calibrant._cli.terminal import (
    BAD,
    GOOD,
    WARNING,
    console_of,
    print_diagram,
    print_styled,
    visible,
)
from calibrant.results._evaluation import Evaluation
from calibrant.results._rendering import as_text, shown
from calibrant.results._verdict import tone_of

Columns = Mapping[str, Sequence[Any]]

_BAR = 24
_STYLES = {"good": GOOD, "unsure": WARNING, "bad": BAD}
# Columns that are dropped first if the terminal is too narrow. The estimate stays: the interval
# is about it.
_SPARE = ("noise_mean", "bins", "notion", "lower", "upper", "bin", "p_value", "ranks", "rank")


def print_summary(title: str, lines: Iterable[str]) -> None:
    """Print a title in bold, then each line indented, and an empty line."""
    print_styled(title, "bold")
    for line in lines:
        print_styled(f"  {line}")
    print()


def print_table(columns: Columns, title: str) -> None:
    """Print a table with its title.

    On a terminal with rich it has colours; columns that matter least are dropped if it is too wide.
    """
    console = console_of(sys.stdout)
    columns = {
        visible(name): [visible(v) if isinstance(v, str) else v for v in values]
        for name, values in columns.items()
    }
    title = visible(title)
    if console is None:
        print(f"{title}\n{as_text(columns, indent='  ')}\n")
        return
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=escape(title), title_justify="left", title_style="bold", box=SIMPLE_HEAD)
    fitting = _columns_that_fit(columns, console.width)
    for name, values in fitting.items():
        numeric = any(isinstance(value, int | float) for value in values)
        table.add_column(escape(name), justify="right" if numeric else "left", overflow="fold")
    for row in zip(*fitting.values(), strict=True):
        table.add_row(*(escape(shown(value)) for value in row))
    console.print(table)


def _columns_that_fit(columns: Columns, width: int) -> dict[str, Sequence[Any]]:
    """Drop columns, in the order of `_SPARE`, until the table fits the width in letters.

    At least two columns stay.
    """
    kept = dict(columns)
    for spare in _SPARE:
        if sum(3 + max(len(n), *map(len, map(shown, v))) for n, v in kept.items() if v) < width:
            break
        if len(kept) > 2:
            kept.pop(spare, None)
    return kept


def print_evaluation(evaluation: Evaluation, title: str) -> None:
    """Print the verdict, notes, measures, the reliability table and the worst classes."""
    print_styled(title, "bold")
    if evaluation.verdict:
        print_styled(f"  {evaluation.verdict}", _STYLES[tone_of(evaluation.verdict)])
    for line in (*evaluation.inferred, *evaluation.notes):
        print_styled(f"  {line}")
    print()
    measures = {k: v for k, v in evaluation.columns().items() if k != "title"}
    print_table(measures, "Measures")
    if evaluation.clinical is not None:
        print_table(evaluation.clinical.display_columns(), evaluation.clinical.title)
    print_reliability(evaluation)
    if evaluation.slices is not None:
        print_table(
            evaluation.slices.display_columns(),
            f"Slices by {evaluation.slices.by}, worst first",
        )
    if evaluation.segments is not None:
        print_table(evaluation.segments.display_columns(), evaluation.segments.title)
        print_styled(f"  {evaluation.segments.sentence}")
    if evaluation.classes is not None:
        head = {name: values[:10] for name, values in evaluation.classes.items()}
        n = len(evaluation.classes["class"])
        print_table(head, f"Classes, worst first ({min(n, 10)} of {n})")


def print_reliability(evaluation: Evaluation) -> None:
    """Print the reliability table, and on a terminal a diagram below it.

    In a pipe or file, the table has a bar of letters for each bin instead.
    """
    table = evaluation.reliability
    bins = table.display_columns(evaluation.recipe.get("level"))
    title = f"Reliability: {table.rule}"
    if sys.stdout.isatty():
        print_table(bins, title)
        print_diagram(table, level=evaluation.recipe.get("level") or 0.95, file=sys.stdout)
        print()
        return
    bins["o prediction, x target"] = [
        reliability_bar(u, z)
        for u, z in zip(bins["mean_predicted"], bins["mean_target"], strict=True)
    ]
    print_table(bins, title)


def reliability_bar(prediction: float, target: float) -> str:
    """Draw a bin as a text from 0 to 1: o is its mean prediction, x its mean target, * both.

    The text is empty for an empty bin.
    """
    if prediction != prediction:  # NaN: an empty bin
        return ""
    cells = ["."] * (_BAR + 1)
    at_prediction, at_target = round(prediction * _BAR), round(target * _BAR)
    cells[at_prediction], cells[at_target] = "o", "x"
    if at_prediction == at_target:
        cells[at_prediction] = "*"
    return "".join(cells)
