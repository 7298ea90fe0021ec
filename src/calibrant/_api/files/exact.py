"""FileSummary: the statistics of files that can be read again. They equal those of rows in memory.

Most come from the sums of the first pass. One refinement pass serves all quantile bins: it reads
the rows of those cells again that an edge of a bin falls into. A cell sums rows of nearly the same
prediction.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from calibrant._api.files import refinement
from calibrant._api.files.refinement import Column, Key, Refiner
from calibrant._api.files.sums import class_cells
from calibrant._core.bin_tables import BinTable, VectorTable
from calibrant._core.binning import Cuts, Quantile, Rule, edges_at
from calibrant._core.errors import NotDefined
from calibrant._core.grid import UnitGrid
from calibrant._core.loss_sums import LossSums
from calibrant._core.typing import Array
from calibrant._data.samples import Notion
from calibrant._engines.arrays.counting import stack
from calibrant._engines.refine import Refinement, refine
from calibrant._measures.catalogue import THRESHOLD, Measure
from calibrant._measures.smooth_ece import smooth_ece_of_grid
from calibrant._summaries.samples import some_above
from calibrant._summaries.smooth import MOST_UNIT_CELLS, is_fine_enough
from calibrant._summaries.stream import StreamSummary

# What the rows of a column are read again for: bins of equal mass of all its predictions, or of
# those above THRESHOLD.
MASS, ABOVE = "equal mass", "above"


@dataclass
class FileSummary(StreamSummary):
    """The statistics of files whose rows are read again if a first pass is not enough."""

    refiner: Refiner = None  # type: ignore[assignment]
    # The sums of the first pass in the cells of each class, (classes, cells, fields); None if no
    # measure needs them.
    class_sums: Array | None = None
    precision: np.dtype[Any] = field(default_factory=lambda: np.dtype(np.float64))
    # All measures that will be computed: their bins are refined in the same passes.
    measures: Iterable[Measure] = ()

    def has(self, measure: Measure) -> bool:
        """Whether the measure can be computed: always, except distances between distributions.

        Distances need soft labels, or a first pass that summed them for hard labels too.
        """
        if measure.notion != "distribution":
            return True
        return self.findings.soft or self.losses.has_distribution

    @cached_property
    def distribution(self) -> LossSums:
        """The sums of distances between predictions and targets, from another pass if necessary."""
        # The first pass does not sum them for batches whose labels are all hard.
        return self.losses if self.losses.has_distribution else self.refiner.distances()

    def is_from_cells(self, measure: Measure) -> bool:
        """False: no value of files that are read again is approximated from cells."""
        return False

    @property
    def equal_mass_bins_are_exact(self) -> bool:
        """Whether a measure needs bins of equal mass, so that they are refined."""
        return (self.scalar, MASS) in self._columns_to_refine()

    @property
    def rule(self) -> Rule:
        """The rule of the truthful measures: quantile bins, or the user's rule for all measures."""
        return self.cells.rule if self.own_bins else Quantile(self.cells.rule.m)

    @cached_property
    def _refinements(self) -> dict[Key, Refinement]:
        """The refined bins of each (column, purpose) of `_columns_to_refine`, in `table`."""
        problems = {key: self._refinement_of(key) for key in self._columns_to_refine()}
        if any(m.statistic == "levels" and m.needs_order for m in self.measures):
            self.refiner.levels_of.add(self.scalar)
        refine(problems, self.refiner.read_spans)
        return problems

    def _columns_to_refine(self) -> set[Key]:
        """The columns to read again, each with its purpose: (column, MASS) or (column, ABOVE).

        A column is "binary" or "confidence", or the number of a class against the rest. MASS means
        bins of equal mass, ABOVE the same for predictions above THRESHOLD.
        """
        out: set[Key] = set()
        columns: list[Column] = list(range(self.n_columns)) if self.n_columns > 1 else [self.scalar]
        for measure in self.measures:
            by_mass = not self.own_bins or measure.equal_mass
            if measure.statistic == "above":
                out |= {
                    (column, ABOVE) for column in columns if self._has_predictions_above(column)
                }
            elif not by_mass:
                continue
            elif measure.statistic == "class_quantile_bins":
                out |= {(column, MASS) for column in columns}
            elif measure.statistic in ("quantile_bins", "full_bins"):
                out.add((self.scalar, MASS))
            elif measure.statistic == "confidence_bins":
                out.add(("confidence", MASS))
        return out

    def _refinement_of(self, key: Key) -> Refinement:
        """An unrefined Refinement, from the first pass's cells, for a (column, purpose)."""
        column, what = key
        m = self.cells.rule.m
        if what == MASS and not isinstance(column, int):
            top = column == "confidence" and self.n_columns == 1
            sums = self.sums["top_cells" if top else "cells"]
            return Refinement.from_cells(sums, self.cells.cuts(self.precision), m)
        first = self._first_cell_above_threshold if what == ABOVE else 0
        return Refinement.from_cells(self._cell_sums(column), self._class_cuts, m, first=first)

    def _cell_sums(self, column: Column) -> Array:
        """The sums in the cells of a class, or of (n,) predictions: (cells, fields)."""
        assert self.class_sums is not None
        return self.class_sums[column if isinstance(column, int) else 0]

    @cached_property
    def _class_cuts(self) -> Cuts:
        """The edges between the cells of each class."""
        return class_cells(max(2, self.n_columns)).cuts(self.precision)

    @cached_property
    def _first_cell_above_threshold(self) -> int:
        """The index of the first cell above THRESHOLD, rounded to the predictions' precision."""
        limit = np.asarray(THRESHOLD, dtype=self.precision).astype(np.float64)
        return int(self._class_cuts.find(np.nextafter(limit, np.inf)))

    def _has_predictions_above(self, column: Column) -> bool:
        """Whether a column has predictions above THRESHOLD whose weight is above 0."""
        return bool(self._cell_sums(column)[self._first_cell_above_threshold :, 1].sum() > 0)

    @cached_property
    def equal_mass_bins(self) -> BinTable:
        """Sums in bins of equal mass of the predictions, or of confidences with several classes."""
        return self._refinements[self.scalar, MASS].table

    @cached_property
    def confidence_bins(self) -> BinTable:
        """Sums in bins of the confidence, by the rule of the truthful measures."""
        if self.n_columns > 1:
            return self.quantile_bins
        if self.own_bins:
            return self.cells.bins(self.sums["top_cells"])
        return self._refinements["confidence", MASS].table

    @cached_property
    def class_quantile_bins(self) -> BinTable:
        """Sums in bins of each class against the rest, by the rule of the truthful measures."""
        return self.class_bins if self.own_bins else self.class_equal_mass_bins

    @cached_property
    def class_equal_mass_bins(self) -> BinTable:
        """Sums in bins of equal mass of each class against the rest."""
        return stack([self._refinements[r, MASS].table for r in range(self.n_columns)])

    def above(self, threshold: float) -> BinTable:
        """Sums in bins of equal mass of predictions above `threshold`, for each class that has any.

        `threshold` must be THRESHOLD. NotDefined is raised if no prediction lies above it.
        """
        assert threshold == THRESHOLD
        above = [groups for (_, what), groups in self._refinements.items() if what == ABOVE]
        return stack([groups.table for groups in some_above(above or None, threshold)])

    @cached_property
    def levels(self) -> BinTable:
        """Sums of the rows of each distinct prediction; NotDefined if there are too many."""
        _ = self._refinements
        if self.scalar not in self.refiner.levels_of:  # the mean target is all that is asked for
            return super().levels
        if self.scalar not in self.refiner.levels:  # no bin needed refinement
            self.refiner.read_spans({}, None)
        sums = self.refiner.levels[self.scalar]
        if sums is None:
            raise NotDefined(
                f"there are more than {refinement.MOST_LEVELS:,} distinct predictions, too many to "
                "sort: use read_file and evaluate, or exact=False for a value from cells"
            )
        return BinTable(sums[sums[:, 0] > 0][None])

    @cached_property
    def full_bins(self) -> VectorTable:
        """Sums of residuals of all classes together, (cells, classes).

        A cell is a top class and a bin of its confidence.
        """
        if self.own_bins:
            return self.refiner.vectors(self.cells.rule)
        return self.refiner.vectors(edges_at(self._refinements[self.scalar, MASS].cuts))

    @cached_property
    def smooth(self) -> float:
        """The smooth calibration error, from a grid fine enough to resolve the bandwidth."""
        grid, total = UnitGrid(self.sums["residuals"]), float(self.bins.total_weight[0])
        while True:
            value = smooth_ece_of_grid(grid, total)
            if is_fine_enough(value, value, grid.cells) or grid.cells >= MOST_UNIT_CELLS:
                return value
            notion: Notion = self.scalar
            grid = self.refiner.unit_grid(notion, min(MOST_UNIT_CELLS, 4 * grid.cells))
