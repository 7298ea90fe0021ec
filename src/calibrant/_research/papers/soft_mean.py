"""Leznik (2026), Soft Mean Expected Calibration Error: tables 2 to 8 and what they leave out."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any

from calibrant._core.progress import TaskProgress
from calibrant._research.papers import soft_mean_worlds
from calibrant._research.papers.folder import (
    Columns,
    Reproduction,
    Section,
    Table,
    columns_of,
    versions,
)
from calibrant._research.papers.soft_mean_experiments import Numbers, Results, run
from calibrant._research.papers.soft_mean_figures import figures
from calibrant._research.papers.soft_mean_printed import (
    ERRATA,
    LOST_PREDICTIONS,
    MODELS,
    NAMES,
    PAIRS,
    PRINTED_MARKS,
    STEEPNESSES,
    TABLES,
    PrintedTable,
    k_column,
    pair_row,
)

SEED = 42
PAPER = (
    "M. Leznik (2026), Soft Mean Expected Calibration Error (SMECE): A Calibration Metric for "
    "Probabilistic Labels, arXiv:2603.14092."
)

_SHARES = ("table_5", "table_6", "outcomes_ranking")  # printed with three digits
SOURCES = ("paper", "measured", "corrected")


def reproduce(
    *,
    seed: int | None = None,
    quick: bool = False,
    progress: TaskProgress,
    **world: Any,
) -> Reproduction:
    """Tables 2 to 8 beside the printed ones, corrected values, and the experiment with outcomes.

    ``quick`` runs a tenth of the replications of experiments 3 and 4: tables 5 to 8 then come out
    close to the printed ones instead of equal. So do all tables with another seed than 42. With
    options of `World`, the experiments are run in that world instead.
    """
    seed = SEED if seed is None else seed
    if world:
        return soft_mean_worlds.reproduce(
            soft_mean_worlds.World(**world), seed=seed, quick=quick, progress=progress
        )
    counts = {"n_ranking": 1000, "n_sizes": 500, "n_outcomes": 200}
    if quick:
        counts = {"n_ranking": 100, "n_sizes": 50, "n_outcomes": 50}
    results = run(seed=seed, progress=progress, **counts)
    cells = [_cells(printed, results) for printed in TABLES]
    tables = [_side_by_side(*each) for each in zip(TABLES, cells, strict=True)]
    every_cell = columns_of(chain.from_iterable(cells))
    if quick or seed != SEED:
        change = "a tenth of the replications" if quick else f"seed {seed} instead of {SEED}"
        caution = (
            f"This run has {change}, so its numbers are close to the printed ones but not equal."
        )
    else:
        caution = ""
    recipe = {
        "command": f"calibrant reproduce soft-mean --seed {seed}" + (" --quick" if quick else ""),
        "seed": seed,
        "replications of experiments 3 and 4": f"{counts['n_ranking']}, {counts['n_sizes']}",
        "replications with drawn outcomes": counts["n_outcomes"],
        "measured with": "calibrant.EqualWidth(10, drop_one=True)",
        "corrected with": "calibrant.EqualWidth(10)",
        **versions(),
    }
    title = "Soft mean expected calibration error, reproduced"
    return Reproduction(
        "soft-mean",
        title,
        PAPER,
        _sections(results, {table.name: table for table in tables}, every_cell, counts, caution),
        ERRATA,
        recipe,
    )


def _n_same_order(results: Results) -> int:
    """Count the values of k at which SMECE and ECE on outcomes rank the models alike."""
    soft, drawn = results.corrected["table_3"], results.outcomes["by_k"]
    return sum(
        sorted(MODELS, key=lambda m: soft[m, column])
        == sorted(MODELS, key=lambda m: drawn[m, column])
        for column in map(k_column, STEEPNESSES)
    )


def _sections(
    results: Results,
    tables: dict[str, Table],
    cells: Columns,
    counts: Mapping[str, int],
    caution: str,
) -> tuple[Section, ...]:
    """The sections of the page, in the order of the paper's experiments.

    `tables` has the paper's tables by name, `cells` a row for each printed cell, and `counts` the
    replications. `caution` says why numbers are only near the printed ones; "" if they should be
    equal.
    """
    drawn = figures(results)
    n, agree = len(cells["agrees"]), sum(cells["agrees"])
    pairs = ("all ten pairs", *(pair_row(i, j) for i, j in PAIRS))
    return (
        Section(
            "Method",
            (
                "Predictions are compared with the posterior itself (SMECE) and with the label "
                "1[x ≥ 0] (ECE). x is uniform on (-3, 3), and the posterior is sigmoid(kx). Model "
                "A predicts the posterior, B sigmoid(3kx), C sigmoid(0.4kx), D the posterior plus "
                "0.15, capped at 1, and E a uniform number. All four experiments use one random "
                "generator.",
                "Each cell has three values: as printed; as measured by the paper's formula, "
                "whose bins are open on the right, so a prediction of exactly 1 is in no bin; and "
                "corrected, with the last bin closed.",
                f"{agree} of {n} printed cells match digit for digit. Marked cells belong to an "
                f"erratum, listed below. {caution}".rstrip(),
            ),
            (Table("cells", "Every cell of tables 2 to 8.", cells, on_page=False),),
        ),
        Section(
            "Experiment 1: the core result",
            (
                "SMECE finds A, which predicts the posterior, exactly calibrated. ECE on "
                f"thresholded labels puts B first. {results.n_dropped:,} of the 5,000 "
                f"predictions of "
                "D are exactly 1 and in no bin of the paper's.",
            ),
            (tables["table_2"],),
            (drawn["reliability"],),
        ),
        Section(
            "Experiment 2: behaviour across signal-to-noise",
            (),
            (tables["table_3"], tables["table_4"]),
            (drawn["errors_by_k"],),
        ),
        Section(
            "Experiment 3: ranking consistency",
            (
                "A pair is ranked correctly if the model that comes first in A to E has the "
                "smaller error. At k = 2, C vs D fails in every replication. The paper calls this "
                "ambiguity, but the error of D is simply smaller.",
            ),
            (tables["table_5"], tables["table_6"]),
        ),
        Section(
            "Experiment 4: sample size",
            (),
            (tables["table_7"], tables["table_8"]),
            (drawn["errors_by_n"],),
        ),
        Section(
            "Beyond the paper: outcomes drawn from the posterior",
            (
                "The paper argues about outcomes drawn from the posterior but thresholds x "
                "instead in every experiment. In this section the outcomes are drawn (by a "
                "separate generator, on the same x). ECE then estimates the same quantity as "
                "SMECE. The ECE of A falls to 0 as the sample grows, and A is ranked before B (at "
                "k = 50 both are nearly calibrated, and 1,000 rows cannot separate them). At n = "
                f"5,000 the order of all five models is SMECE's at {_n_same_order(results)} of "
                f"{len(STEEPNESSES)} values of k. Soft labels only save noise: SMECE needs no "
                "large sample to show that A is exact.",
            ),
            (
                _outcome_table(
                    "outcomes_by_k",
                    "ECE on drawn outcomes, n = 5,000; compare tables 3 and 4.",
                    results.outcomes["by_k"],
                    MODELS,
                    "model",
                ),
                _outcome_table(
                    "outcomes_ranking",
                    "Share of replications that ECE on drawn outcomes ranks correctly, n = 1,000, "
                    f"{counts['n_outcomes']} replications; compare tables 5 and 6. B vs C counts "
                    "as correct.",
                    results.outcomes["ranking"],
                    pairs,
                    "pair",
                ),
                _outcome_table(
                    "outcomes_by_n",
                    f"ECE on drawn outcomes, mean ± standard deviation over {counts['n_outcomes']} "
                    "replications, k = 2; compare tables 7 and 8.",
                    results.outcomes["by_n"],
                    MODELS,
                    "model",
                ),
            ),
        ),
    )


# --- tables: what is printed, measured and corrected, side by side ------------------------------


def _printed_text(table: str, column: str, numbers: Numbers) -> str:
    """A value, or a mean ± its standard deviation, with as many digits as the paper prints.

    `table` and `column` are the names of the printed table and of the column in it.
    """
    digits = 0 if column.endswith("rank") else 3 if table in _SHARES else 4
    return " ± ".join(f"{number:.{digits}f}" for number in numbers)


def _cells(printed: PrintedTable, results: Results) -> list[dict[str, Any]]:
    """A row for each cell of a printed table: as printed, as measured, and if both agree."""
    cells = []
    for (row, column), text in printed.cells.items():
        measured = results.measured[printed.name][row, column]
        corrected = results.corrected[printed.name][row, column]
        as_text, corrected_text = (
            _printed_text(printed.name, column, numbers) for numbers in (measured, corrected)
        )
        erratum = PRINTED_MARKS.get(printed.name, {}).get((row, column), "")
        cells.append(
            {
                "table": printed.number,
                "row": row,
                "column": column,
                "paper": text,
                "measured": as_text,
                "corrected": corrected_text,
                "agrees": as_text == text,
                "erratum": LOST_PREDICTIONS if corrected_text != as_text else erratum,
                "measured_value": measured[0],
                "corrected_value": corrected[0],
                "measured_sd": measured[1] if len(measured) > 1 else None,
                "corrected_sd": corrected[1] if len(corrected) > 1 else None,
            }
        )
    return cells


def _side_by_side(printed: PrintedTable, cells: list[dict[str, Any]]) -> Table:
    """A printed table with three rows for each of its rows: printed, measured and corrected.

    `cells` are its cells. One that belongs to an erratum is marked with the erratum's number.
    """
    columns: dict[str, list[Any]] = {
        printed.row_name: [NAMES.get(row, row) for row in printed.rows for _ in SOURCES],
        "value": [*SOURCES] * len(printed.rows),
    }
    marks: dict[tuple[int, str], str] = {}
    printed_marks = PRINTED_MARKS.get(printed.name, {})
    for cell in cells:
        row, name = cell["row"], cell["column"]
        column = columns.setdefault(name, [])
        if (row, name) in printed_marks:
            marks[len(column), name] = printed_marks[row, name]
        if cell["corrected"] != cell["measured"]:
            marks[len(column) + SOURCES.index("corrected"), name] = LOST_PREDICTIONS
        column += [cell[source] for source in SOURCES]
    return Table(printed.name, f"Table {printed.number}. {printed.caption}", columns, marks=marks)


def _outcome_table(
    name: str,
    caption: str,
    cells: Mapping[tuple[str, str], Numbers],
    rows: tuple[str, ...],
    label: str,
) -> Table:
    """A table of errors on drawn outcomes.

    `cells` has the numbers by (row, column), `rows` the rows to show, and `label` the heading of
    their names.
    """
    names = list(dict.fromkeys(column for _, column in cells))
    columns: dict[str, list[Any]] = {label: [NAMES.get(row, row) for row in rows]}
    for column in names:
        columns[column] = [_printed_text(name, column, cells[row, column]) for row in rows]
    return Table(name, caption, columns)
