"""The bins of one sample in many numbers at once, from one read for all of them.

Equal-width bins of every number are unions of the cells between all their edges; quantile bins are
unions of runs of distinct predictions. So rows are summed by cell once, and cells are put together
for each number of bins.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from calibrant._core.bin_tables import FIELDS, BinTable
from calibrant._core.binning import (
    Cuts,
    Edges,
    EqualWidth,
    LevelSets,
    MiddleRanks,
    Quantile,
    fixed_cuts,
)
from calibrant._data.explain import explained
from calibrant._data.samples import Notion, Samples
from calibrant._engines.arrays.passes import scalar_sums
from calibrant._engines.arrays.quantiles import distinct
from calibrant._summaries.samples import Summary
from calibrant.results._reliability import ReliabilityTable

RULES = ("equal-width", "quantile")
Array = NDArray[np.float64]
# The most cells of all classes that are kept (64 bytes each); if there are more, each number of
# bins is summed by itself.
MOST_CELLS = 1 << 21


class BinCounts:
    """Summaries of one sample at each of several numbers of bins, `counts`."""

    def __init__(self, samples: Samples, counts: Sequence[int]) -> None:
        self.samples = samples
        self.counts = counts
        self.summary = Summary(samples)
        self._cells: dict[str, BinTable] = {}
        self._runs: dict[str, list[Runs]] = {}

    def summary_at(self, m: int) -> Summary:
        """The summary with m equal-width and m quantile bins."""
        return _SummaryAtCount(self, m)

    @cached_property
    def edges(self) -> Array:
        """Every edge of every number of equal-width bins, in order and without repetition. Edges
        are correctly rounded quotients, so that equal ones are equal numbers.
        """
        return np.unique(np.concatenate([np.arange(m + 1) / m for m in self.counts]))

    @cached_property
    def together(self) -> bool:
        """Whether the sums of all classes' cells are few enough to be kept in memory."""
        return self.samples.n_classes * self.edges.size <= MOST_CELLS

    def fixed_table(self, notion: Notion | Literal["by class"], m: int) -> BinTable:
        """The table of m equal-width bins, merged from cells between the edges of all numbers of
        bins. The notion "by class" is the confidence problem with the rows of each predicted class
        as a class of the table.
        """
        if notion not in self._cells:
            rule = Edges(self.edges.tolist())
            if notion == "by class":
                self._cells[notion] = self.summary.top_class_table(rule)
            else:
                self._cells[notion] = self.summary.table(notion, rule)
        cells = self._cells[notion]
        starts = np.searchsorted(self.edges, np.arange(m) / m)
        return BinTable(merged(cells.sums, starts), has_squares=cells.has_squares)

    def quantile_table(self, notion: Notion, m: int) -> BinTable:
        """The table of m quantile bins of a notion, merged from the distinct predictions."""
        if notion not in self._runs:
            self._runs[notion] = [Runs.of_levels(e, self.counts) for e in self._levels(notion)]
        return BinTable(np.stack([runs.bins("quantile", m) for runs in self._runs[notion]]))

    def _levels(self, notion: Notion) -> Iterator[BinTable]:
        """Yield the table of distinct predictions of the notion's problem; for "classwise", the
        table of each class.
        """
        if notion != "classwise":
            yield self.summary.table(notion, LevelSets())
            return
        self.summary.table(self.summary.scalar, EqualWidth(1))  # every row is sound
        engine = self.summary.engine
        with explained(self.samples):
            for column in engine.class_columns(self.samples):
                yield engine.bin_table(column, "binary", LevelSets())[0]


@dataclass(frozen=True, eq=False)
class Runs:
    """A scalar problem summed by cell (range of predictions), from which bins of every rule and
    number can be merged.

    Whatever the rule, a bin is a run of predictions in order. The predictions at which any of the
    bins begins cut all of them into cells; rows are summed by cell once, and every table is merged
    from those.
    """

    # The distinct predictions with weight, in order.
    values: Array
    # By rule and number of bins: the positions in `values` where bins begin and the last one ends.
    firsts: dict[tuple[str, int], NDArray[np.intp]]
    # The positions in `values` where cells begin, and the cells' sums, (cells, fields).
    cells: NDArray[np.intp]
    sums: Array

    @classmethod
    def of_levels(cls, levels: BinTable, counts: Iterable[int]) -> Runs:
        """The cells for quantile bins of these numbers, from a table with a bin for each distinct
        prediction.
        """
        nonempty = levels.sum_w[0] > 0
        sums, values = levels.sums[0][nonempty], levels.mean_u[0][nonempty]
        ranks = MiddleRanks.from_mass(sums[:, 1])
        firsts = {("quantile", m): ranks.firsts(m) for m in counts}
        cells = _cells_between(firsts.values(), len(sums))
        return cls(values, firsts, cells, np.add.reduceat(sums, cells, axis=0))

    @classmethod
    def from_problem(
        cls, problem: Samples, counts: Iterable[int], precision: np.dtype[np.floating[Any]]
    ) -> Runs:
        """The cells for equal-width and quantile bins of these numbers, from a binary problem in
        arrays. `precision` is that in which the predictions came: float32 ones are compared with
        edges rounded to it.
        """
        values, mass = distinct(problem.predictions, problem.weights)
        values, mass = values[mass > 0], mass[mass > 0]
        ranks = MiddleRanks.from_mass(mass)
        firsts: dict[tuple[str, int], NDArray[np.intp]] = {}
        for m in counts:
            begins = np.searchsorted(values, fixed_cuts(EqualWidth(m), precision).inner)
            firsts["equal-width", m] = np.concatenate([[0], begins, [values.size]])
            firsts["quantile", m] = ranks.firsts(m)
        cells = _cells_between(firsts.values(), values.size)
        sums, _ = scalar_sums(problem, "binary", Cuts(values[cells[1:]]))
        return cls(values, firsts, cells, sums)

    def bins(self, rule: str, m: int) -> Array:
        """The sums of m bins of a rule ("equal-width" or "quantile"), followed by an empty bin: (m
        + 1, fields).
        """
        starts = np.searchsorted(self.cells, self.firsts[rule, m])
        out: Array = merged(self.sums[None], starts)[0]
        return out

    def cuts(self, rule: str, m: int) -> Cuts:
        """The predictions at which the bins after the first begin. A bin beyond the last prediction
        begins at 1.
        """
        return Cuts(np.append(self.values, 1.0)[self.firsts[rule, m][1:-1]])

    def reliability(self, rule: str, m: int, notion: Notion) -> ReliabilityTable:
        """The reliability table of m bins of a rule ("equal-width" or "quantile")."""
        named = EqualWidth(m) if rule == "equal-width" else Quantile(m)
        return ReliabilityTable(
            BinTable(self.bins(rule, m)[None, :-1]), named, self.cuts(rule, m), notion
        )


def _cells_between(firsts: Iterable[NDArray[np.intp]], size: int) -> NDArray[np.intp]:
    """The positions, among `size` distinct predictions in order, at which some bin begins. `firsts`
    has these positions for each rule and number of bins.
    """
    everywhere = np.unique(np.concatenate([[0], *firsts]))
    return everywhere[everywhere < size].astype(np.intp)


def merged(cells: Array, starts: NDArray[np.intp]) -> Array:
    """The sums of bins, (classes, bins, fields), from the sums of cells (classes, cells, fields). A
    bin joins the cells from its position in `starts` up to the next bin's; without cells it has
    sums of 0.
    """
    out = np.zeros((cells.shape[0], starts.size, len(FIELDS)))
    nonempty = starts < np.append(starts[1:], cells.shape[1])
    out[:, nonempty] = np.add.reduceat(cells, starts[nonempty], axis=1)
    return out


class _SummaryAtCount(Summary):
    """The summary with m equal-width and m quantile bins, merged from the cells of `BinCounts`. Its
    properties are those of `Summary`.
    """

    def __init__(self, counts: BinCounts, m: int) -> None:
        super().__init__(counts.samples, EqualWidth(m), Quantile(m))
        self._counts = counts
        self._m = m

    @cached_property
    def bins(self) -> BinTable:
        """The scalar problem in m equal-width bins."""
        return self._counts.fixed_table(self.scalar, self._m)

    @cached_property
    def class_bins(self) -> BinTable:
        """Each class against the rest in m equal-width bins."""
        if not self._counts.together:
            return self.table("classwise", self.fixed)
        return self._counts.fixed_table("classwise", self._m)

    @cached_property
    def confidence_by_class(self) -> BinTable:
        """The confidence problem in m equal-width bins, the rows of each predicted class apart."""
        if not self._counts.together:
            return super().confidence_by_class
        return self._counts.fixed_table("by class", self._m)

    @cached_property
    def quantile_bins(self) -> BinTable:
        """The scalar problem in m quantile bins."""
        return self._counts.quantile_table(self.scalar, self._m)

    @cached_property
    def confidence_bins(self) -> BinTable:
        """The confidence problem in m quantile bins."""
        return self._counts.quantile_table("confidence", self._m)

    @cached_property
    def class_quantile_bins(self) -> BinTable:
        """Each class against the rest in m quantile bins."""
        return self._counts.quantile_table("classwise", self._m)
