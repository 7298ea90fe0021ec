"""Errors over given cells from the sums of slices: of files and of streams, a cell a slice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from calibrant._api.evaluate_samples import choose_measures, estimate_of
from calibrant._core.bin_tables import BinTable
from calibrant._core.binning import CellCuts
from calibrant._core.errors import InputError
from calibrant._core.given_cells import Cells
from calibrant._core.typing import Shape
from calibrant._measures.measure import Measure
from calibrant._measures.statistics import STATISTICS, OneTable
from calibrant.results._evaluation import Evaluation


def over_cells(
    result: Evaluation,
    cells: Cells,
    tables: Mapping[str, BinTable],
    shape: Shape,
    names: Iterable[str] | None = None,
) -> Evaluation:
    """The evaluation with its errors over bins computed over cells: the rows of each of the
    `tables`, by its name, are one cell.

    `names` are the measures asked for, all of the `result` by default. Errors of every class are
    left out, which is an InputError if they were asked for.
    """
    rows = [table.sums[0].sum(axis=0) + table.dropped[0] for table in tables.values()]
    table = BinTable(np.stack(rows)[None])
    chosen = choose_measures(list(result) if names is None else names, shape)
    gone = [m.name for m in chosen if is_over_bins(m) and not _is_scalar(m, shape)]
    if gone and names is not None:
        raise InputError(
            f"{', '.join(gone)}: cells of each class need the rows in memory: drop these measures, "
            "or evaluate arrays"
        )
    notion = result.reliability.notion
    estimates = tuple(
        estimate_of(m, OneTable(table), notion, str(cells))
        if is_over_bins(m)
        else result.estimate(m.name)
        for m in chosen
        if m.name not in gone
    )
    note = (f"{', '.join(gone)}: not computed, cells of each class need the rows",) if gone else ()
    cuts = CellCuts.of(list(tables))
    return replace(
        result,
        estimates=estimates,
        reliability=replace(result.reliability, table=table, rule=cells, cuts=cuts),
        recipe={**result.recipe, "bins": str(cells), "truthful_bins": str(cells)},
        notes=(*result.notes, *note),
    )


def is_over_bins(measure: Measure) -> bool:
    """Whether a measure goes by the bins that are given."""
    return measure.is_binned and not measure.equal_mass


def _is_scalar(measure: Measure, shape: Shape) -> bool:
    """Whether the sums of the scalar problem give a measure over bins."""
    problem = STATISTICS[measure.statistic].problem
    return problem == "scalar" or (problem == "confidence" and shape == "multiclass")
