"""FrameSummary: the statistics of a frame in another engine. Most come from one query's sums; the
few that need the rows again ask for them again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from calibrant.binning import Cuts, Edges, EqualWidth, LevelSets, Quantile, Rule, fixed_cuts
from calibrant.engines import frames
from calibrant.engines.cells import Cells
from calibrant.engines.counting import without_dropped
from calibrant.engines.frames.quantiles import quantile_table
from calibrant.engines.streams import StreamSums
from calibrant.measures.catalogue import Measure
from calibrant.samples.frames import FrameSamples
from calibrant.samples.samples import Notion
from calibrant.statistics.bins import BinTable, VectorTable
from calibrant.statistics.losses import LossSums
from calibrant.stream_summary import StreamSummary
from calibrant.summary import Summary


@dataclass
class FrameSummary(StreamSummary):
    """A stream's summary whose rows can be read again: quantile bins are exact.

    `fixed` is the rule of the ordinary measures, `truthful` that of the truthful ones.
    """

    samples: FrameSamples = None  # type: ignore[assignment]
    fixed: Rule = EqualWidth(15)
    truthful: Rule = Quantile(15)
    # Whether each class has quantile bins of its own, which takes a pass for each.
    by_class: bool = False

    def is_cheap(self, measure: Measure) -> bool:
        """Whether an evaluation of everything includes the measure; by name it always can."""
        if measure.statistic == "distribution":
            return self.losses.has_distribution
        return self.has(measure)

    @cached_property
    def table(self) -> tuple[BinTable, Cuts]:
        """The scalar problem in the ordinary bins, and their cuts."""
        return self._table(self.scalar, self.fixed, self.sums["cells"])

    @cached_property
    def bins(self) -> BinTable:
        return self.table[0]

    @cached_property
    def quantile_bins(self) -> BinTable:
        if self.truthful == self.fixed:
            return self.bins
        return self._table(self.scalar, self.truthful, self.sums["cells"])[0]

    @cached_property
    def levels(self) -> BinTable:
        if isinstance(self.fixed, LevelSets):
            return self.bins
        return BinTable(self.sums["cells"][None].copy())

    @cached_property
    def confidence_bins(self) -> BinTable:
        if self.n_columns > 1:
            return self.quantile_bins
        return self._table("confidence", self.truthful, self.sums["top_cells"])[0]

    def _table(
        self, notion: Notion, rule: Rule, cells: NDArray[np.float64]
    ) -> tuple[BinTable, Cuts]:
        if isinstance(rule, EqualWidth | Edges):
            return self.cells.bins(cells), fixed_cuts(rule, self.samples.precision)
        if isinstance(rule, LevelSets):
            return frames.bin_table(self.samples, notion, rule)[:2]
        return quantile_table(self.samples, notion, rule.m, self.cells, cells)

    @cached_property
    def class_bins(self) -> BinTable:
        if isinstance(self.fixed, EqualWidth | Edges):
            return without_dropped(self.sums["classwise"].copy(), self.fixed, True)
        return frames.classwise_table(self.samples, self.fixed)[0]

    @cached_property
    def class_quantile_bins(self) -> BinTable:
        if self.by_class and self.truthful != self.fixed:
            return frames.classwise_table(self.samples, self.truthful)[0]
        return self.class_bins

    @cached_property
    def distribution(self) -> LossSums:
        if self.losses.has_distribution:
            return self.losses
        return frames.loss_sums(self.samples, distribution=True)[0]

    @cached_property
    def full_bins(self) -> VectorTable:
        """The whole distribution as a vector report."""
        return frames.vector_table(self.samples, self.truthful)[0]

    def above(self, threshold: float) -> BinTable:
        """Reports above a threshold in bins of equal mass, for each class that has any."""
        return Summary(self.samples, quantile=self.truthful).above(threshold)


def summary_of(
    samples: FrameSamples, sums: StreamSums, cells: Cells, fixed: Rule, truthful: Rule,
    *, by_class: bool,
) -> FrameSummary:  # fmt: skip
    """The summary of a frame's sums."""
    columns = samples.n_classes if samples.multiclass else 1
    return FrameSummary(
        cells, sums.arrays, columns, sums.findings, None, samples, fixed, truthful, by_class
    )
