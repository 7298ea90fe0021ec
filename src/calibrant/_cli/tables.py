"""Results in a terminal: in colour where rich is installed and the terminal shows it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from calibrant._cli.terminal import (
    BAD,
    GOOD,
    WARNING,
    columns_of,
    print_diagram,
    print_styled,
    visible,
)
from calibrant.results._evaluation import Evaluation
from calibrant.results._slices import Slices
from calibrant.results._summary import input_lines, main_estimates, summary_columns, summary_notes
from calibrant.results._text_tables import fitted_text
from calibrant.results._verdict import tone_of
from calibrant.results._windows import Windows

Columns = Mapping[str, Sequence[Any]]

_BAR = 24
# Slices and windows that are printed without --details, and columns that are printed with it alone.
MOST_SLICES, MOST_WINDOWS = 10, 20
OF_DETAILS = ("mean_predicted", "mean_target", "noise_95", "p_value", "verdict")
_OF_SEARCHES = ("depth", "contrast", "at_least", "ratio")
_STYLES = {"good": GOOD, "unsure": WARNING, "bad": BAD}


def print_summary(title: str, lines: Iterable[str]) -> None:
    """Print a title in bold, then each line indented, and an empty line."""
    print_styled(title, "bold", hanging="  ")
    for line in lines:
        print_styled(f"  {line}", hanging="  ")
    print()


def print_table(columns: Columns, title: str = "") -> None:
    """Print a table with its title; columns that do not fit the terminal stand in a table below."""
    width = columns_of(sys.stdout)
    columns = {
        visible(name): [visible(v) if isinstance(v, str) else v for v in values]
        for name, values in columns.items()
    }
    if title:
        print_styled(title, "bold")
    print(fitted_text(columns, width, indent="  "))
    print()


def print_evaluation(
    evaluation: Evaluation, title: str, *, named: bool = False, details: bool = False
) -> None:
    """Print the verdict, what was read, and the main measures; with `details` everything else too.

    If measures were `named`, all of them are printed. Slices, segments and the clinical summary are
    printed either way: they are there because an option asks for them.
    """
    print_styled(title, "bold")
    if evaluation.verdict:
        style = _STYLES[tone_of(evaluation.verdict)]
        print_styled(f"  {evaluation.verdict}", style, hanging="  ")
    main = main_estimates(evaluation, named)
    lines = (*evaluation.inferred, *evaluation.notes)
    if not details:
        lines = (*input_lines(evaluation.inferred), *summary_notes(evaluation.notes, main))
    for line in lines:
        print_styled(f"  {line}", hanging="  ")
    print()
    # The clinical summary has the slope at its own level.
    print_table(summary_columns(evaluation, named=named, slope=evaluation.clinical is None))
    if details:
        print_table(evaluation.display_columns(), "Measures")
    if evaluation.clinical is not None:
        print_table(evaluation.clinical.display_columns(), evaluation.clinical.title)
        for line in evaluation.clinical._messages():
            print_styled(f"  {line}", hanging="  ")
            print()
    if details:
        print_reliability(evaluation)
    if evaluation.slices is not None:
        print_slices(evaluation.slices, details=details)
    if evaluation.segments is not None:
        found = evaluation.segments.display_columns()
        columns = choose_columns(found, _OF_SEARCHES, details=details)
        print_table(columns, evaluation.segments.title)
        print_styled(f"  {evaluation.segments.sentence}", hanging="  ")
    if details and evaluation.classes is not None:
        n = len(evaluation.classes["class"])
        print_table(evaluation.classes, f"Classes, worst first ({n})")


def print_hint(evaluation: Evaluation, *, named: bool = False) -> None:
    """Print what --details adds to an evaluation that was printed without it."""
    every, main = len(evaluation.estimates), main_estimates(evaluation, named)
    more = "the bins" if evaluation.classes is None else "the bins, the classes"
    if len(main) < every:
        more = f"all {every} measures, {more}"
    if len(summary_notes(evaluation.notes, main)) < len(evaluation.notes):
        more += ", the other notes"
    first, comma, last = more.rpartition(", ")
    print_styled(f"  --details prints {first}{' and ' if comma else ''}{last}")


def print_slices(slices: Slices, *, title: str = "", details: bool = False) -> None:
    """Print the worst slices, or with `details` all of them with all of their columns."""
    title = title or f"Slices by {slices.by}, worst first"
    columns = choose_columns(slices.display_columns(), OF_DETAILS, details=details)
    if not details and len(slices) > MOST_SLICES:
        columns = {name: values[:MOST_SLICES] for name, values in columns.items()}
        title += f" ({MOST_SLICES} of {len(slices)})"
    print_table(columns, title)


def print_windows(windows: Windows, title: str, *, details: bool = False) -> None:
    """Print the notes and the last windows; with `details` all windows, with all columns."""
    print_summary(title, windows.notes)
    columns = choose_columns(windows.display_columns(), OF_DETAILS, details=details)
    title = windows.title
    n = len(columns["start"])
    if not details and n > MOST_WINDOWS:
        columns = {name: values[-MOST_WINDOWS:] for name, values in columns.items()}
        title += f", the last {MOST_WINDOWS} of {n}"
    print_table(columns, title)
    if windows.slices is not None:
        own = choose_columns(windows.slices.display_columns(), OF_DETAILS, details=details)
        print_table(own, windows.slices.title)
        if windows.slices.notes:
            print_summary("", windows.slices.notes)


def choose_columns(columns: Columns, of_details: Sequence[str], *, details: bool) -> Columns:
    """The columns to print: those named in `of_details` only with `details`."""
    return {name: values for name, values in columns.items() if details or name not in of_details}


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
