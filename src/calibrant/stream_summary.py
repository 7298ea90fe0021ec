"""StreamSummary: the statistics that measures read, put together from a stream's sums."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from calibrant.binning import EqualWidth
from calibrant.engines.cells import Cells
from calibrant.engines.protocol import Findings
from calibrant.measures.catalogue import Measure
from calibrant.measures.ordered import merge_levels
from calibrant.measures.smooth import smooth_ece_of_grid
from calibrant.samples.samples import Notion
from calibrant.statistics.bins import FIELDS, BinTable, squared
from calibrant.statistics.grid import STREAM_SPACING, LogitGrid, UnitGrid
from calibrant.statistics.losses import LossSums


@dataclass
class StreamSummary:
    """What the catalogue's measures read, put together from a stream's sums."""

    cells: Cells
    sums: dict[str, NDArray[np.float64]]
    n_columns: int
    findings: Findings
    # Where the rows can be read again: the exact quantile bins of a notion, from its cells' sums.
    exact: Callable[[Notion, NDArray[np.float64]], BinTable] | None = None

    @property
    def scalar(self) -> Notion:
        return "confidence" if self.n_columns > 1 else "binary"

    def has(self, measure: Measure) -> bool:
        """Whether a stream's sums are enough for the measure."""
        if measure.statistic == "distribution":
            return self.losses.has_distribution
        # Each class's own quantile bins would take fine cells for every class. The truthful error
        # is truthful in any bins; the adaptive one is not adaptive without them.
        if measure.name == "ace" and measure.statistic == "class_quantile_bins":
            return False
        return measure.statistic not in ("above", "full_bins")

    @cached_property
    def bins(self) -> BinTable:
        return self.cells.bins(self.sums["cells"])

    @cached_property
    def levels(self) -> BinTable:
        return BinTable(self.sums["cells"][None].copy())

    @cached_property
    def quantile_bins(self) -> BinTable:
        return self._quantile(self.scalar, self.sums["cells"])

    @cached_property
    def confidence_bins(self) -> BinTable:
        if self.n_columns > 1:
            return self.quantile_bins
        return self._quantile("confidence", self.sums["top_cells"])

    def _quantile(self, notion: Notion, cells: NDArray[np.float64]) -> BinTable:
        if self.exact is not None:
            return self.exact(notion, cells)
        return merge_levels(cells[cells[:, FIELDS.index("sum_w")] > 0], self.cells.rule.m)

    @cached_property
    def class_bins(self) -> BinTable:
        sums = self.sums["classwise"]
        if isinstance(self.cells.rule, EqualWidth) and self.cells.rule.drop_one:
            return BinTable(sums[:, :-1].copy(), sums[:, -1].copy(), squared(sums))
        return BinTable(sums.copy(), has_squares=squared(sums))

    @cached_property
    def logit_grid(self) -> LogitGrid:
        plus, minus = self.sums["logits"]
        return LogitGrid(STREAM_SPACING, plus[None], minus[None])

    @property
    def n_logits_clipped(self) -> int:
        return int(self.sums["logits_clipped"][0]) if "logits_clipped" in self.sums else 0

    @cached_property
    def smooth(self) -> float:
        grid = UnitGrid(self.sums["residuals"])
        return smooth_ece_of_grid(grid, float(self.bins.total_weight[0]))

    @property
    def class_quantile_bins(self) -> BinTable:
        return self.class_bins

    @cached_property
    def losses(self) -> LossSums:
        state = self.sums
        complete = float(state["distribution_weight"][0]) == float(state["losses"][1])
        return LossSums(state["losses"], max(2, self.n_columns), complete)

    @property
    def distribution(self) -> LossSums:
        return self.losses
