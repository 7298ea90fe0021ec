"""Which slots a measure's residuals fall into, and how its value is read from them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace

import numpy as np

from calibrant._core.bin_tables import BinTable
from calibrant._core.typing import Array, Index
from calibrant._inference.budget import MOST_BINS
from calibrant._inference.cells import Cells, Drawn, Problem, drawn_tables, full_cells
from calibrant._inference.class_errors import errors_over_classes
from calibrant._inference.context import Context
from calibrant._inference.gap_pairs import Formula
from calibrant._inference.numbers import FINE_CELLS, ROWS_OF_WIDE, WIDE_CELLS
from calibrant._inference.second_moments import Slots
from calibrant._inference.squares import Form, matrix_form, scaled_identity
from calibrant._measures.catalogue import Measure
from calibrant._measures.cell_formulas import CellSums


@dataclass(frozen=True, eq=False)
class SlotReading:
    """A predictor's slots for a measure, and the measure of samples and populations in them.

    `form` is the measure as a quadratic form of the mean residuals; None for other measures.
    """

    key: Hashable
    slots: Slots
    # The slots that a value is read from, and the slot of each, where they are finer.
    fine: Slots | None
    parents: Index | None
    of_sample: Formula
    of_population: Formula
    form: Form | None

    @property
    def seen(self) -> float:
        """The value as the slots have it: of a measure that is not of bins it is another."""
        slots = self.slots if self.fine is None else self.fine
        return float(self.of_sample(slots.gap[None], slots.weight[None])[0])


def slot_reading(measure: Measure, rows: Context) -> SlotReading | None:
    """The slots that a measure's residuals fall into; None for a measure that is not of such."""
    if measure.interval_method != "inversion":
        return None
    found = _reading(measure, rows)
    if found is None or rows.resampling != "votes":
        return found
    votes = rows.voted.rows
    one = found.slots.k == 1
    noise = votes.scalar_residuals if one else votes.residuals
    if noise.shape != found.slots.u.shape:  # a class that no prediction is about
        return None
    fine = None if found.fine is None else replace(found.fine, noise=noise)
    return replace(found, slots=replace(found.slots, noise=noise), fine=fine)


def _reading(measure: Measure, rows: Context) -> SlotReading | None:
    binned = rows.binned(measure)
    if binned is not None and measure.table_formula is not None:
        key, problem = binned
        if problem.m > MOST_BINS:
            return None
        slots = rows.once(("slots", key), lambda: Slots.of_problem(problem))
        population = measure.of_population or measure.table_formula
        form = scaled_identity(1.0) if measure.form else None
        return SlotReading(
            key,
            slots,
            None,
            None,
            _of_table(measure.table_formula, slots),
            _of_table(population, slots),
            form,
        )
    if measure.cell_formula is not None:
        return _cell_reading(measure, measure.cell_formula, rows)
    return _class_reading(measure, rows)


def _of_table(formula: Callable[[BinTable], Array], slots: Slots) -> Formula:
    squares = slots.sums(slots.w * slots.w)
    each = np.divide(squares, slots.weight, out=np.ones(slots.size), where=slots.weight > 0)
    within = _variance_within(slots)

    def read(gap: Array, weight: Array) -> Array:
        wu = weight * slots.mean_u
        wz = wu + weight * gap
        wz2 = wz if slots.hard else weight * (within + (slots.mean_u + gap) ** 2)
        return formula(drawn_tables(weight, weight * each, wu, wz, wz2, wz * each))

    return read


def _variance_within(slots: Slots) -> Array:
    """The variance of targets in each slot."""
    return np.maximum(slots.mean(slots.z**2) - slots.mean_z**2, 0.0)


def _cell_reading(
    measure: Measure, formula: Callable[[CellSums], Array], rows: Context
) -> SlotReading:
    fine: Problem = rows.once("fine angles", lambda: _angle_problem(rows.plain_problem))
    parents, wide = rows.once("wide angles", lambda: _wider(fine, rows.groups))
    slots: Slots = rows.once(("slots", "wide"), lambda: Slots.of_problem(wide))
    if measure.form:
        return _form_reading(slots)
    inner: Slots = rows.once(("slots", "fine"), lambda: Slots.of_problem(fine))
    cells: Cells = rows.once("cells of angles", lambda: full_cells(fine))
    within = _variance_within(inner)

    def read(gap: Array, weight: Array) -> Array:
        wu = weight * inner.mean_u
        wz = wu + weight * gap
        wz2 = wz if inner.hard else weight * (within + (inner.mean_u + gap) ** 2)
        return formula(Drawn(cells, weight, wu, wz, wz2))

    return SlotReading("cells", slots, inner, parents, read, read, None)


def _form_reading(slots: Slots) -> SlotReading:
    """A quadratic form of the wider cells' residuals, which is also read from these."""
    form = matrix_form(1.0 - np.abs(slots.mean_u[:, None] - slots.mean_u))

    def read(gap: Array, weight: Array) -> Array:
        residual = weight * gap / weight.sum(axis=1, keepdims=True)
        return (residual * form.times(residual)).sum(axis=1)

    return SlotReading("cells", slots, None, None, read, read, form)


def _angle_problem(problem: Problem) -> Problem:
    """The scalar problem in cells that are equally wide on the scale of angles."""
    angle = np.arcsin(np.sqrt(np.clip(problem.u, 0.0, 1.0))) / (np.pi / 2.0)
    cell = np.minimum((angle * FINE_CELLS).astype(np.intp), FINE_CELLS - 1)
    used, bins = np.unique(cell, return_inverse=True)
    return replace(problem, bins=bins.reshape(-1), m=int(used.size), classes=None)


def _wider(fine: Problem, groups: Index | None) -> tuple[Index, Problem]:
    """The wider cell of each cell, of about equal weights, and the problem in these."""
    weight = fine.by_bin()
    each = fine.weights if groups is None else np.bincount(groups, fine.weights)
    units = float(each.sum()) ** 2 / float((each**2).sum())
    cells = min(WIDE_CELLS, max(units // ROWS_OF_WIDE, 1.0))
    through = np.floor((np.cumsum(weight) - weight / 2.0) / weight.sum() * cells)
    used, parents = np.unique(through, return_inverse=True)
    parents = parents.reshape(-1).astype(np.intp)
    return parents, replace(fine, bins=parents[fine.bins], m=int(used.size))


def _class_reading(measure: Measure, rows: Context) -> SlotReading | None:
    found = errors_over_classes(measure, rows)
    if found is None:
        return None
    slots = rows.once(("slots", found.key), lambda: Slots.of_classes(found.bins, found.k))
    form = scaled_identity(1.0 / found.counted_as) if measure.form else None

    def read(gap: Array, weight: Array) -> Array:
        return found.errors(weight * gap, weight)

    return SlotReading(found.key, slots, None, None, read, read, form)
