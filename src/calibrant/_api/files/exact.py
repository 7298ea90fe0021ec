"""FileSummary: the statistics of files that can be read again, equal to those of rows in memory.

Most come from the sums of the first pass; one refinement pass serves all quantile bins.
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
from calibrant._summaries.samples import none_above
from calibrant._summaries.smooth import MOST_UNIT_CELLS, is_fine_enough
from calibrant._summaries.stream import StreamSummary

MASS, ABOVE = "equal mass", "above"


@dataclass
class FileSummary(StreamSummary):
    """A stream's summary whose rows can be read again."""

    refiner: Refiner = None  # type: ignore[assignment]
    # Each class's own cells, from the first pass.
    class_sums: Array | None = None
    precision: np.dtype[Any] = field(default_factory=lambda: np.dtype(np.float64))
    # All measures that will be read: their bins are refined in the same passes.
    measures: Iterable[Measure] = ()

    def has(self, measure: Measure) -> bool:
        if measure.statistic != "distribution":
            return True
        return self.findings.soft or self.losses.has_distribution

    @cached_property
    def distribution(self) -> LossSums:
        # Some batches may have hard labels only, which is not known before their end.
        return self.losses if self.losses.has_distribution else self.refiner.distances()

    def is_from_cells(self, measure: Measure) -> bool:
        return False

    @property
    def rule(self) -> Rule:
        """The quantile rule of the truthful measures."""
        return self.cells.rule if self.own_bins else Quantile(self.cells.rule.m)

    @cached_property
    def _refined(self) -> dict[Key, Refinement]:
        """The quantile bins of every problem that a measure goes by."""
        problems = {key: self._problem(key) for key in self._keys()}
        if any(m.statistic == "levels" and m.needs_order for m in self.measures):
            self.refiner.levels_of.add(self.scalar)
        refine(problems, self.refiner.read_spans)
        return problems

    def _keys(self) -> set[Key]:
        """The columns whose rows must be read again, and what for."""
        out: set[Key] = set()
        columns: list[Column] = list(range(self.n_columns)) if self.n_columns > 1 else [self.scalar]
        for measure in self.measures:
            by_mass = not self.own_bins or measure.equal_mass
            if measure.statistic == "above":
                out |= {(column, ABOVE) for column in columns if self._is_above(column)}
            elif not by_mass:
                continue
            elif measure.statistic == "class_quantile_bins":
                out |= {(column, MASS) for column in columns}
            elif measure.statistic in ("quantile_bins", "full_bins"):
                out.add((self.scalar, MASS))
            elif measure.statistic == "confidence_bins":
                out.add(("confidence", MASS))
        return out

    def _problem(self, key: Key) -> Refinement:
        """The first pass's cells of a column, from which its bins are refined."""
        column, what = key
        m = self.cells.rule.m
        if what == MASS and not isinstance(column, int):
            top = column == "confidence" and self.n_columns == 1
            sums = self.sums["top_cells" if top else "cells"]
            return Refinement.from_cells(sums, self.cells.cuts(self.precision), m)
        first = self._threshold_cell if what == ABOVE else 0
        return Refinement.from_cells(self._sums_of(column), self._class_cuts, m, first=first)

    def _sums_of(self, column: Column) -> Array:
        """The cells of a class, or of the one column of (n,) predictions."""
        assert self.class_sums is not None
        return self.class_sums[column if isinstance(column, int) else 0]

    @cached_property
    def _class_cuts(self) -> Cuts:
        return class_cells(max(2, self.n_columns)).cuts(self.precision)

    @cached_property
    def _threshold_cell(self) -> int:
        """The first cell above the threshold, as the precision of the predictions has it."""
        limit = np.asarray(THRESHOLD, dtype=self.precision).astype(np.float64)
        return int(self._class_cuts.find(np.nextafter(limit, np.inf)))

    def _is_above(self, column: Column) -> bool:
        """Whether a column has predictions above the threshold."""
        return bool(self._sums_of(column)[self._threshold_cell :, 1].sum() > 0)

    @cached_property
    def equal_mass_bins(self) -> BinTable:
        return self._refined[self.scalar, MASS].table

    @cached_property
    def confidence_bins(self) -> BinTable:
        if self.n_columns > 1:
            return self.quantile_bins
        if self.own_bins:
            return self.cells.bins(self.sums["top_cells"])
        return self._refined["confidence", MASS].table

    @cached_property
    def class_quantile_bins(self) -> BinTable:
        return self.class_bins if self.own_bins else self.class_equal_mass_bins

    @cached_property
    def class_equal_mass_bins(self) -> BinTable:
        return stack([self._refined[r, MASS].table for r in range(self.n_columns)])

    def above(self, threshold: float) -> BinTable:
        """Predictions above a threshold in bins of equal mass, for each class that has any."""
        assert threshold == THRESHOLD
        above = [groups for (_, what), groups in self._refined.items() if what == ABOVE]
        if not above:
            raise NotDefined(none_above(threshold))
        return stack([groups.table for groups in above])

    @cached_property
    def levels(self) -> BinTable:
        _ = self._refined
        if self.scalar not in self.refiner.levels_of:  # the mean target is all that is asked for
            return super().levels
        if self.scalar not in self.refiner.levels:  # no bin needed refinement
            self.refiner.read_spans({}, None)
        sums = self.refiner.levels[self.scalar]
        if sums is None:
            raise NotDefined(
                f"there are more than {refinement.MOST_LEVELS:,} distinct predictions, too many to "
                "keep in order: use read_file and evaluate, or exact=False for a value from cells"
            )
        return BinTable(sums[sums[:, 0] > 0][None])

    @cached_property
    def full_bins(self) -> VectorTable:
        """The whole distribution as a vector prediction."""
        if self.own_bins:
            return self.refiner.vectors(self.cells.rule)
        return self.refiner.vectors(edges_at(self._refined[self.scalar, MASS].cuts))

    @cached_property
    def smooth(self) -> float:
        grid, total = UnitGrid(self.sums["residuals"]), float(self.bins.total_weight[0])
        while True:
            value = smooth_ece_of_grid(grid, total)
            if is_fine_enough(value, value, grid.cells) or grid.cells >= MOST_UNIT_CELLS:
                return value
            notion: Notion = self.scalar
            grid = self.refiner.unit_grid(notion, min(MOST_UNIT_CELLS, 4 * grid.cells))
