"""The bins of one sample in many numbers at once, from one read for all of them.

Equal-width bins of every number are unions of the cells between all their edges; quantile bins are
unions of runs of distinct predictions. So rows are summed by cell once, and cells are put together
for each number of bins.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from calibrant._core.bin_tables import FIELDS, BinTable
from calibrant._core.binning import Edges, EqualWidth, LevelSets, MiddleRanks, Quantile
from calibrant._data.explain import explained
from calibrant._data.samples import Notion
from calibrant._data.source import Source
from calibrant._summaries.samples import Summary

Array = NDArray[np.float64]
# Cells of all classes that are worth holding (64 bytes each); with more, each number of bins is
# summed by itself.
MOST_CELLS = 1 << 21


class BinCounts:
    """Summaries of one sample at each of `counts` bins."""

    def __init__(self, samples: Source, counts: Sequence[int]) -> None:
        self.samples = samples
        self.counts = counts
        self.summary = Summary(samples)
        self._cells: dict[str, BinTable] = {}
        self._runs: dict[str, list[_Runs]] = {}

    def at(self, m: int) -> Summary:
        """The summary at m equal-width and m quantile bins."""
        return _AtCount(self, m)

    @cached_property
    def edges(self) -> Array:
        """Every edge of every number of equal-width bins: correctly rounded, so equal ones are."""
        return np.unique(np.concatenate([np.arange(m + 1) / m for m in self.counts]))

    @cached_property
    def together(self) -> bool:
        """Whether the cells of all classes fit."""
        return self.samples.n_classes * self.edges.size <= MOST_CELLS

    def fixed_table(self, notion: Notion, m: int) -> BinTable:
        """m equal-width bins of a notion, put together from cells."""
        if notion not in self._cells:
            self._cells[notion] = self.summary.table(notion, Edges(self.edges.tolist()))
        cells = self._cells[notion]
        starts = np.searchsorted(self.edges, np.arange(m) / m)
        return BinTable(merged(cells.sums, starts), has_squares=cells.has_squares)

    def quantile_table(self, notion: Notion, m: int) -> BinTable:
        """m quantile bins of a notion, put together from runs of distinct predictions."""
        if notion not in self._runs:
            self._runs[notion] = list(self._found_runs(notion))
        return BinTable(np.concatenate([runs.bins(m) for runs in self._runs[notion]]))

    def _found_runs(self, notion: Notion) -> Iterable[_Runs]:
        if notion != "classwise":
            yield _Runs(self.summary.table(notion, LevelSets()), self.counts)
            return
        self.summary.table(self.summary.scalar, EqualWidth(1))  # every row is sound
        engine = self.summary.engine
        with explained(self.samples):
            for column in engine.class_columns(self.samples):
                yield _Runs(engine.bin_table(column, "binary", LevelSets())[0], self.counts)


class _Runs:
    """Distinct predictions of one problem, put together as far as all numbers of bins allow."""

    def __init__(self, levels: BinTable, counts: Sequence[int]) -> None:
        sums = levels.sums[0][levels.sums[0, :, 1] > 0]
        ranks = MiddleRanks.of(sums[:, 1])
        self._firsts = {m: ranks.firsts(m) for m in counts}
        borders = np.unique(np.concatenate(list(self._firsts.values())))
        self._borders = borders[borders < len(sums)]
        self._sums = np.add.reduceat(sums, self._borders, axis=0)[None]

    def bins(self, m: int) -> Array:
        return merged(self._sums, np.searchsorted(self._borders, self._firsts[m]))


def merged(cells: Array, starts: NDArray[np.intp]) -> Array:
    """Cells (classes, cells, fields) put together into bins that begin at `starts`."""
    out = np.zeros((cells.shape[0], starts.size, len(FIELDS)))
    held = starts < np.append(starts[1:], cells.shape[1])
    out[:, held] = np.add.reduceat(cells, starts[held], axis=1)
    return out


class _AtCount(Summary):
    """A summary whose bins come from cells that are already there."""

    def __init__(self, counts: BinCounts, m: int) -> None:
        super().__init__(counts.samples, EqualWidth(m), Quantile(m))
        self._counts = counts
        self._m = m

    @cached_property
    def bins(self) -> BinTable:
        return self._counts.fixed_table(self.scalar, self._m)

    @cached_property
    def class_bins(self) -> BinTable:
        if not self._counts.together:
            return self.table("classwise", self.fixed)
        return self._counts.fixed_table("classwise", self._m)

    @cached_property
    def quantile_bins(self) -> BinTable:
        return self._counts.quantile_table(self.scalar, self._m)

    @cached_property
    def confidence_bins(self) -> BinTable:
        return self._counts.quantile_table("confidence", self._m)

    @cached_property
    def class_quantile_bins(self) -> BinTable:
        return self._counts.quantile_table("classwise", self._m)
