"""StreamSummary: the statistics of a stream, computed from its sums."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from calibrant._core.bin_tables import FIELDS, BinTable, table_has_squares
from calibrant._core.errors import NotDefined
from calibrant._core.grid import STREAM_SPACING, LogitGrid, UnitGrid
from calibrant._core.loss_sums import LossSums
from calibrant._data.samples import Notion
from calibrant._engines.arrays.counting import without_dropped
from calibrant._engines.cells import Cells
from calibrant._engines.protocol import Findings
from calibrant._measures.catalogue import Measure
from calibrant._measures.ordered import merge_levels
from calibrant._measures.smooth_ece import smooth_ece_of_grid
from calibrant._measures.statistics import Statistics
from calibrant._summaries.requirements import in_stream, is_from_cells
from calibrant._summaries.smooth import is_fine_enough


@dataclass
class StreamSummary(Statistics):
    """The `Statistics` of a stream, computed from its sums by cell.

    The scalar problem is the binary one, or that of the confidence for (n, k) predictions.
    """

    cells: Cells
    sums: dict[str, NDArray[np.float64]]
    n_columns: int
    findings: Findings
    # Whether the rule of bins was given for all measures; False if only a number of bins was.
    own_bins: bool = False
    # Whether quantile bins, and predictions in order, may be taken from the cells.
    approximate: bool = False

    @property
    def scalar(self) -> Notion:
        """The scalar problem that is measured: "binary" (the probability of class 1), or
        "confidence" (the largest probability) for (n, k) predictions.
        """
        return "confidence" if self.n_columns > 1 else "binary"

    def has(self, measure: Measure) -> bool:
        """Whether the stream gives the measure exactly or, if `approximate`, nearly."""
        if measure.notion == "distribution":
            return self.losses.has_distribution
        return in_stream(measure, own_bins=self.own_bins, approximate=self.approximate)

    def is_from_cells(self, measure: Measure) -> bool:
        """Whether the stream only approximates the measure by its cells, because the measure needs
        the predictions in order.
        """
        return is_from_cells(measure, own_bins=self.own_bins)

    @property
    def soft(self) -> bool:
        """Whether some label is not 0 or 1."""
        return self.findings.soft

    @cached_property
    def bins(self) -> BinTable:
        """The scalar problem in the ordinary bins."""
        return self.cells.bins(self.sums["cells"])

    @cached_property
    def levels(self) -> BinTable:
        """The scalar problem with a bin for each cell, which stands for the distinct predictions in
        it.
        """
        return BinTable(self.sums["cells"][None].copy())

    @cached_property
    def quantile_bins(self) -> BinTable:
        """The scalar problem in the rule given for all measures, else in bins of equal mass."""
        return self.bins if self.own_bins else self.equal_mass_bins

    @cached_property
    def confidence_bins(self) -> BinTable:
        """The confidence problem in the rule given for all measures, else in bins of equal mass."""
        if self.n_columns > 1:
            return self.quantile_bins
        cells = self.sums["top_cells"]
        return self.cells.bins(cells) if self.own_bins else self._equal_mass(cells)

    @cached_property
    def equal_mass_bins(self) -> BinTable:
        """The scalar problem in bins of (nearly) equal mass, which are runs of cells."""
        return self._equal_mass(self.sums["cells"])

    def _equal_mass(self, cells: NDArray[np.float64]) -> BinTable:
        """As many bins of nearly equal mass as the rule has, each a run of cells; `cells` (cells,
        fields) are the sums.
        """
        return merge_levels(cells[cells[:, FIELDS.index("sum_w")] > 0], self.cells.rule.m)

    @cached_property
    def class_bins(self) -> BinTable:
        """Each class against the rest in the ordinary bins."""
        sums = self.sums["classwise"]
        return without_dropped(sums.copy(), self.cells.rule, table_has_squares(sums))

    @cached_property
    def confidence_by_class(self) -> BinTable:
        """The confidence problem in the ordinary bins, the rows of each predicted class apart."""
        return without_dropped(self.sums["by_class"].copy(), self.cells.rule, True)

    @cached_property
    def logit_grid(self) -> LogitGrid:
        """The scalar problem as masses on the logit grid."""
        plus, minus = self.sums["logits"]
        return LogitGrid(STREAM_SPACING, plus[None], minus[None])

    @property
    def n_logits_clipped(self) -> int:
        """The number of predictions that were moved to the ends of the logit grid; 0 if the grid
        was not summed.
        """
        return int(self.sums["logits_clipped"][0]) if "logits_clipped" in self.sums else 0

    @cached_property
    def smooth(self) -> float:
        """The smooth calibration error (smECE) at its fixed point (where width of noise and error
        are equal). NotDefined if the stream's grid is too coarse for it, unless `approximate`.
        """
        grid = UnitGrid(self.sums["residuals"])
        value = smooth_ece_of_grid(grid, float(self.bins.total_weight[0]))
        if not (self.approximate or is_fine_enough(value, value, grid.cells)):
            raise NotDefined(
                f"it is about {value:.1g}, below the resolution of a stream's grid: use "
                "evaluate(y_true, y_proba), or approximate=True for the value on the grid"
            )
        return value

    @property
    def class_quantile_bins(self) -> BinTable:
        """Each class against the rest in the rule given for all measures."""
        return self.class_bins

    @cached_property
    def losses(self) -> LossSums:
        """Sums of the proper losses; of the distances between distributions too if every update had
        them.
        """
        state = self.sums
        complete = float(state["distribution_weight"][0]) == float(state["losses"][1])
        return LossSums(state["losses"], max(2, self.n_columns), complete)

    @cached_property
    def distribution(self) -> LossSums:
        """Sums of the distances between predicted and target distributions."""
        return self.losses
