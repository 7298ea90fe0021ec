"""Leznik (2026) as tables: what is printed, measured and corrected, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calibrant._research.papers.folder import Table
from calibrant._research.papers.soft_mean_experiments import Numbers, Results
from calibrant._research.papers.soft_mean_printed import (
    LOST_PREDICTIONS,
    NAMES,
    PRINTED_MARKS,
    TABLES,
    PrintedTable,
)

_SHARES = ("table_5", "table_6", "outcomes_ranking")  # printed with three digits
SOURCES = ("paper", "measured", "corrected")


def text_of(table: str, column: str, numbers: Numbers) -> str:
    """Numbers with as many digits as the paper prints."""
    digits = 0 if column.endswith("rank") else 3 if table in _SHARES else 4
    return " ± ".join(f"{number:.{digits}f}" for number in numbers)


def side_by_side(printed: PrintedTable, results: Results) -> Table:
    """Three rows for each of the paper's: what it prints, what comes out, what is right."""
    columns: dict[str, list[Any]] = {printed.row_name: [], "value": []}
    columns |= {column: [] for column in printed.columns}
    marks: dict[tuple[int, str], str] = {}
    printed_marks = PRINTED_MARKS.get(printed.name, {})
    for row in printed.rows:
        for source in SOURCES:
            columns[printed.row_name].append(NAMES.get(row, row))
            columns["value"].append(source)
        first = len(columns["value"]) - len(SOURCES)
        for column in printed.columns:
            measured = text_of(printed.name, column, results.measured[printed.name][row, column])
            corrected = text_of(printed.name, column, results.corrected[printed.name][row, column])
            columns[column] += [printed.cells[row, column], measured, corrected]
            if (row, column) in printed_marks:
                marks[first, column] = printed_marks[row, column]
            if corrected != measured:
                marks[first + 2, column] = LOST_PREDICTIONS
    return Table(printed.name, f"Table {printed.number}. {printed.caption}", columns, marks=marks)


def all_cells(results: Results) -> Table:
    """Every printed cell on a row of its own, with all digits."""
    rows = []
    for printed in TABLES:
        for (row, column), text in printed.cells.items():
            measured = results.measured[printed.name][row, column]
            corrected = results.corrected[printed.name][row, column]
            as_text = text_of(printed.name, column, measured)
            changed = text_of(printed.name, column, corrected) != as_text
            erratum = PRINTED_MARKS.get(printed.name, {}).get((row, column), "")
            rows.append(
                {
                    "table": printed.number,
                    "row": row,
                    "column": column,
                    "paper": text,
                    "measured": as_text,
                    "corrected": text_of(printed.name, column, corrected),
                    "agrees": as_text == text,
                    "erratum": LOST_PREDICTIONS if changed else erratum,
                    "measured_value": measured[0],
                    "corrected_value": corrected[0],
                    "measured_sd": measured[1] if len(measured) > 1 else None,
                    "corrected_sd": corrected[1] if len(corrected) > 1 else None,
                }
            )
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    return Table("cells", "Every cell of tables 2 to 8.", columns, on_page=False)


def outcome_table(
    name: str,
    caption: str,
    cells: Mapping[tuple[str, str], Numbers],
    rows: tuple[str, ...],
    label: str,
) -> Table:
    names = list(dict.fromkeys(column for _, column in cells))
    columns: dict[str, list[Any]] = {label: [NAMES.get(row, row) for row in rows]}
    for column in names:
        columns[column] = [text_of(name, column, cells[row, column]) for row in rows]
    return Table(name, caption, columns)
