"""Errors over given cells from the sums of slices: of files and of streams, a cell a slice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from calibrant._api.evaluate_samples import choose_measures
from calibrant._core.bin_tables import BinTable
from calibrant._core.binning import CellCuts
from calibrant._core.errors import InputError
from calibrant._core.given_cells import Cells
from calibrant._measures.measure import Measure, Shape
from calibrant._measures.statistics import STATISTICS, OneTable
from calibrant.results._evaluation import Estimate, Evaluation


def over_cells(
    result: Evaluation, cells: Cells, tables: Mapping[str, BinTable], shape: Shape, *, asked: bool
) -> Evaluation:
    """The evaluation with its errors over bins computed over cells: the rows of each of the
    `tables`, by its name, are one cell. Errors of every class are left out, which is an InputError
    if they were `asked` for.
    """
    rows = [table.sums[0].sum(axis=0) + table.dropped[0] for table in tables.values()]
    table = BinTable(np.stack(rows)[None])
    measures = {measure.name: measure for measure in choose_measures(list(result), shape)}
    gone = [name for name, measure in measures.items() if _is_by_class(measure, shape)]
    if gone and asked:
        raise InputError(
            f"{', '.join(gone)}: cells of each class need the rows in memory: leave these out, or "
            "evaluate arrays"
        )
    estimates = tuple(
        _over(each, measures[each.name], table, cells)
        for each in result.estimates
        if each.name not in gone
    )
    note = (f"{', '.join(gone)}: left out, cells of each class need the rows",) if gone else ()
    reliability = replace(
        result.reliability, table=table, rule=cells, cuts=CellCuts.of(list(tables))
    )
    recipe = {**result.recipe, "bins": str(cells), "truthful_bins": str(cells)}
    return replace(
        result,
        estimates=estimates,
        reliability=reliability,
        recipe=recipe,
        notes=(*result.notes, *note),
    )


def _over(estimate: Estimate, measure: Measure, table: BinTable, cells: Cells) -> Estimate:
    """The estimate of a measure over cells; the same if the measure has no bins, or its own."""
    if not measure.is_binned or measure.equal_mass:
        return estimate
    return replace(estimate, value=measure.compute(OneTable(table)), rule=str(cells))


def _is_by_class(measure: Measure, shape: Shape) -> bool:
    """Whether a measure over bins needs more than the sums of the scalar problem."""
    if not measure.is_binned or measure.equal_mass:
        return False
    problem = STATISTICS[measure.statistic].problem
    return problem != "scalar" and not (problem == "confidence" and shape == "multiclass")
