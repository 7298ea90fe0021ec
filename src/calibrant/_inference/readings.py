"""Readings: the slots of a measure, and the measure as a function of the gaps in its slots.

A slot is a bin, or a bin of one class, that rows are counted in. Its gap is the mean target (the
label, or the share of votes) less the mean prediction of its rows.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace

import numpy as np

from calibrant._core.bin_tables import BinTable
from calibrant._core.typing import Array, Index
from calibrant._inference.blocks import effective
from calibrant._inference.budget import FINE_CELLS, MOST_BINS
from calibrant._inference.cells import Cells, Drawn, Problem, bin_cells, drawn_tables
from calibrant._inference.class_errors import errors_over_classes
from calibrant._inference.context import Context
from calibrant._inference.gap_pairs import Formula
from calibrant._inference.numbers import ROWS_OF_WIDE, WIDE_CELLS
from calibrant._inference.slots import Slots
from calibrant._inference.squares import Form, matrix_form, scaled_identity
from calibrant._measures.catalogue import Measure
from calibrant._measures.cell_formulas import CellSums


@dataclass(frozen=True, eq=False)
class SlotReading:
    """How a measure of one predictor is read from slots: as a function of their gaps and weights.

    `of_sample` and `of_population` map gaps and weights, (draws, slots) each, to the value of each
    draw; they differ where the measure corrects a sample's value. `form` is the measure as a
    quadratic form of the slots' mean residuals; None for a measure that is none. `key` names the
    slots: measures of the same slots share costly results under it.
    """

    key: Hashable
    slots: Slots
    # Finer slots that the value is read from, and the slot that holds each; None if the same.
    fine: Slots | None
    parents: Index | None
    of_sample: Formula
    of_population: Formula
    form: Form | None

    @property
    def value(self) -> float:
        """The observed value of the measure, read from the slots. For a measure that is not of bins
        it differs a little from the exact value.
        """
        slots = self.slots if self.fine is None else self.fine
        return float(self.of_sample(slots.gap[None], slots.weight[None])[0])


def slot_reading(measure: Measure, rows: Context) -> SlotReading | None:
    """The reading of a measure from slots (bins); None for a measure that is not a function of gaps
    (mean target less prediction), and where its slots drop rows, are too many, or do not have the
    votes' noise.

    Where only votes are resampled, the slots hold the noise of the votes too.
    """
    if measure.interval_method != "inversion":
        return None
    reading = _reading(measure, rows)
    if reading is None or rows.resampling != "votes":
        return reading
    votes = rows.voted.rows
    noise = votes.scalar_residuals if reading.slots.k == 1 else votes.residuals
    if noise.shape != reading.slots.u.shape:  # some classes have no slots
        return None
    fine = None if reading.fine is None else replace(reading.fine, noise=noise)
    return replace(reading, slots=replace(reading.slots, noise=noise), fine=fine)


def _reading(measure: Measure, rows: Context) -> SlotReading | None:
    """The reading of a measure from bins, from cells or from the bins of all classes, whichever the
    measure has a formula for; None where it has none, drops rows or has too many bins.
    """
    binned = rows.binned(measure)
    if binned is not None and measure.table_formula is not None:
        key, problem = binned
        if problem.m > MOST_BINS:
            return None
        slots = rows.once(("slots", key), lambda: Slots.of_problem(problem))
        of_population = _of_table(measure.of_population or measure.table_formula, slots)
        form = scaled_identity(1.0) if measure.form else None
        of_sample = _of_table(measure.table_formula, slots)
        return SlotReading(key, slots, None, None, of_sample, of_population, form)
    if measure.cell_formula is not None:
        return _cell_reading(measure, measure.cell_formula, rows)
    return _class_reading(measure, rows)


def _of_table(formula: Callable[[BinTable], Array], slots: Slots) -> Formula:
    """A formula of bin tables, turned into a function of the slots' gaps (mean target less
    prediction) and weights.
    """
    each = np.divide(slots.squares, slots.weight, out=np.ones(slots.size), where=slots.weight > 0)
    target_sums = _target_sums(slots)

    def read(gap: Array, weight: Array) -> Array:
        """The formula's value of each draw, (draws,)."""
        wu, wz, wz2 = target_sums(gap, weight)
        return formula(drawn_tables(weight, weight * each, wu, wz, wz2, wz * each))

    return read


def _target_sums(slots: Slots) -> Callable[[Array, Array], tuple[Array, Array, Array]]:
    """A function from gaps and weights, (draws, slots), to three sums by slot (bin), each (draws,
    slots).

    They are the sums of weight times prediction, of weight times target, and of weight times
    squared target. The variance of targets within a slot stays the observed one.
    """
    within = np.maximum(slots.mean(slots.z**2) - slots.mean_z**2, 0.0)

    def sums(gap: Array, weight: Array) -> tuple[Array, Array, Array]:
        """Sums by slot (bin) of weight times prediction, times target and times squared target."""
        wu = weight * slots.mean_u
        wz = wu + weight * gap
        wz2 = wz if slots.hard else weight * (within + (slots.mean_u + gap) ** 2)
        return wu, wz, wz2

    return sums


def _cell_reading(
    measure: Measure, formula: Callable[[CellSums], Array], rows: Context
) -> SlotReading:
    """The reading of a measure that is not of bins. Its value is read from fine cells (rows with
    nearly the same prediction), and its gaps (mean target less prediction) are estimated in wider
    cells, the slots.

    A measure that is a quadratic form (ATB) is read from the wide cells alone.
    """
    fine: Problem = rows.once("fine cells", lambda: _arcsine_cells(rows.plain_problem))
    parents, wide = rows.once("wide cells", lambda: _wide_cells(fine, rows.groups))
    slots: Slots = rows.once(("slots", "wide"), lambda: Slots.of_problem(wide))
    if measure.form:
        return _form_reading(slots)
    inner: Slots = rows.once(("slots", "fine"), lambda: Slots.of_problem(fine))
    cells: Cells = rows.once("sums of fine cells", lambda: bin_cells(fine))
    target_sums = _target_sums(inner)

    def read(gap: Array, weight: Array) -> Array:
        """The formula's value of each draw, from the gaps (mean target less prediction) and weights
        of fine cells, (draws, cells).
        """
        return formula(Drawn(cells, weight, *target_sums(gap, weight)))

    return SlotReading("cells", slots, inner, parents, read, read, None)


def _form_reading(slots: Slots) -> SlotReading:
    """The reading of ATB, the averaged two-bin error: a quadratic form of the residuals of wide
    cells.

    `slots` are the wide cells. The matrix of the form is one less the distance of two cells' mean
    predictions.
    """
    form = matrix_form(1.0 - np.abs(slots.mean_u[:, None] - slots.mean_u))

    def read(gap: Array, weight: Array) -> Array:
        """ATB of each draw, from the gaps (mean target less prediction) and weights of wide cells,
        (draws, cells).
        """
        residual = weight * gap / weight.sum(axis=1, keepdims=True)
        return (residual * form.times(residual)).sum(axis=1)

    return SlotReading("cells", slots, None, None, read, read, form)


def _arcsine_cells(problem: Problem) -> Problem:
    """The rows of a problem, put into bins that are equally wide on the scale of arcsin(sqrt(u)) of
    the prediction u. Empty bins are not numbered.
    """
    angle = np.arcsin(np.sqrt(np.clip(problem.u, 0.0, 1.0))) / (np.pi / 2.0)
    cell = np.minimum((angle * FINE_CELLS).astype(np.intp), FINE_CELLS - 1)
    used, bins = np.unique(cell, return_inverse=True)
    return replace(problem, bins=bins.reshape(-1), m=int(used.size), classes=None)


def _wide_cells(fine: Problem, groups: Index | None) -> tuple[Index, Problem]:
    """The wide cell of each fine cell, (fine cells,), and the problem with wide cells as its bins.

    Wide cells are runs of fine ones with about equal weights. There are at most `WIDE_CELLS`, and
    fewer where rows, or the clusters `groups`, are few.
    """
    weight = fine.by_bin()
    rows = effective(fine.weights, groups, fine.counts)
    cells = min(WIDE_CELLS, max(rows // ROWS_OF_WIDE, 1.0))
    quantile = np.floor((np.cumsum(weight) - weight / 2.0) / weight.sum() * cells)
    used, parents = np.unique(quantile, return_inverse=True)
    parents = parents.reshape(-1).astype(np.intp)
    return parents, replace(fine, bins=parents[fine.bins], m=int(used.size))


def _class_reading(measure: Measure, rows: Context) -> SlotReading | None:
    """The reading of an error over all classes, whose slots are the bins of every class; None for
    other measures.
    """
    over_classes = errors_over_classes(measure, rows)
    if over_classes is None:
        return None
    form = scaled_identity(1.0 / over_classes.divisor) if measure.form else None

    def read(gap: Array, weight: Array) -> Array:
        """The error of each draw, from gaps (mean target less prediction) and weights, (draws,
        slots).
        """
        return over_classes.errors(weight * gap, weight)

    return SlotReading(over_classes.key, over_classes.slots, None, None, read, read, form)
