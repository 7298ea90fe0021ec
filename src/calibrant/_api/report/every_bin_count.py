"""A scalar problem in every number of bins, by both rules, from one sum over fine cells.

Whatever the rule, a bin is a run of predictions in order. The places where any of the bins begins
cut the predictions into cells; rows are summed by cell once, and every table is put together from
those.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrant._core.bin_tables import FIELDS, BinTable
from calibrant._core.binning import Cuts, EqualWidth, MiddleRanks, Quantile, fixed_cuts
from calibrant._data.samples import Notion, Samples
from calibrant._engines.arrays.passes import scalar_sums
from calibrant._engines.arrays.quantiles import distinct
from calibrant.results._reliability import ReliabilityTable

# Numbers of bins that a reader may choose from.
COUNTS = (*range(1, 51), 60, 70, 80, 90, 100)
RULES = ("equal-width", "quantile")
Firsts = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class _Runs:
    """Where the bins of each rule and number begin, and the last ends, among distinct
    predictions.
    """

    values: NDArray[np.float64]
    firsts: dict[tuple[str, int], Firsts]

    @property
    def cells(self) -> Firsts:
        """Where anything begins."""
        everywhere = np.unique(np.concatenate([[0], *self.firsts.values()]))
        return everywhere[everywhere < self.values.size].astype(np.intp)


def every_bin_count(
    problem: Samples, notion: Notion, counts: Iterable[int], precision: np.dtype[np.floating]
) -> dict[str, tuple[ReliabilityTable, ...]]:
    """Tables by rule, one for each number of bins, of a problem given as (n,) predictions.

    `precision` is that in which the predictions came: float32 predictions meet edges rounded to it.
    """
    wanted = tuple(counts)
    values, mass = distinct(problem.predictions, problem.weights)
    values, mass = values[mass > 0], mass[mass > 0]
    ranks = MiddleRanks.of(mass)
    firsts: dict[tuple[str, int], Firsts] = {}
    for m in wanted:
        inner = fixed_cuts(EqualWidth(m), precision).inner
        firsts["equal-width", m] = np.concatenate(
            [[0], np.searchsorted(values, inner), [values.size]]
        )
        firsts["quantile", m] = ranks.firsts(m)
    runs = _Runs(values, firsts)
    sums, _ = scalar_sums(problem, "binary", Cuts(values[runs.cells[1:]]))
    return {rule: tuple(_table(runs, sums, rule, m, notion) for m in wanted) for rule in RULES}


def _table(
    runs: _Runs, sums: NDArray[np.float64], rule: str, m: int, notion: Notion
) -> ReliabilityTable:
    firsts = runs.firsts[rule, m]
    held = firsts[:-1] < firsts[1:]
    merged = np.zeros((m, len(FIELDS)))
    merged[held] = np.add.reduceat(sums, np.searchsorted(runs.cells, firsts[:-1][held]), axis=0)
    # A bin after the last prediction begins nowhere; its edge is 1.
    begins = np.append(runs.values, 1.0)[firsts[1:-1]]
    named = EqualWidth(m) if rule == "equal-width" else Quantile(m)
    return ReliabilityTable(BinTable(merged[None]), named, Cuts(begins), notion)
