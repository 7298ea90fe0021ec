"""A scalar problem as resampling needs it: rows with their bins, gathered into cells."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.binning import LevelSets, Quantile, Rule
from calibrant.engines.counting import bin_table
from calibrant.engines.numpy_kernels import sums_by_index
from calibrant.engines.passes import whole_problem
from calibrant.samples.links import logit
from calibrant.samples.samples import Notion, Samples
from calibrant.statistics.bins import FIELDS, BinTable

Array = NDArray[np.float64]

# Reports in one cell differ by less than this on the logit scale: outcomes drawn from their mean
# are as good as drawn from each. At 1/2 it is a width of 1/256. Where only sums over bins matter,
# wider cells do: within one the variance of an outcome is off by less than 1e-3 of itself.
FINE = 1.0 / 64.0
COARSE = 1.0 / 8.0
# Beyond this logit all reports share a cell.
CELL_LIMIT = 14.0


@dataclass(frozen=True, eq=False)
class Problem:
    """Reports, targets, weights and bins of every row; `hard` says that targets are 0 or 1."""

    u: Array
    z: Array
    w: Array | None
    bins: NDArray[np.intp]
    m: int
    hard: bool

    @property
    def n(self) -> int:
        return int(self.u.size)

    @property
    def weights(self) -> Array:
        return np.ones(self.n) if self.w is None else self.w

    @cached_property
    def fine_cells(self) -> Cells:
        """Cells in which reports are all but equal."""
        return cells_of(self)

    @cached_property
    def coarse_cells(self) -> Cells:
        """Cells that will do where only sums over bins matter."""
        return cells_of(self, COARSE)

    def gaps(self) -> Array:
        """Mean target less mean report of each bin, 0 where a bin is empty."""
        w = self.weights
        total = np.bincount(self.bins, w, self.m)
        gap = np.bincount(self.bins, w * (self.z - self.u), self.m)
        return np.divide(gap, total, out=np.zeros(self.m), where=total > 0)


def problem_of(samples: Samples, notion: Notion, rule: Rule) -> Problem | None:
    """The problem in the bins of a rule; None where a rule is not one of edges."""
    if isinstance(rule, LevelSets) or (isinstance(rule, Quantile) and rule.ties == "rank"):
        return None
    _, cuts, findings = bin_table(samples, notion, rule)
    u, z, w, _ = whole_problem(samples, notion)
    return Problem(u, z, w, cuts.find(u), cuts.m, not findings.soft)


def table_of(problem: Problem) -> BinTable:
    """The bin table of a problem."""
    sums = sums_by_index(problem.bins, problem.m, problem.u, problem.z, problem.w)
    return BinTable(sums[None])


@dataclass(frozen=True, eq=False)
class Cells:
    """Rows of one bin with nearly the same report: how many, their mean report, how many happened.

    Only of unweighted problems with hard labels: then a cell's outcomes are a binomial draw.
    """

    n: NDArray[np.int64]
    u: Array
    positives: NDArray[np.int64]
    bins: NDArray[np.intp]
    m: int

    def tables(self, n: NDArray[Any], positives: NDArray[Any]) -> BinTable:
        """Bin tables of drawn cells: n and positives (draws, cells), or n (cells,)."""
        # Cells are in the order of their bins.
        held, firsts = np.unique(self.bins, return_index=True)
        sums = np.zeros((positives.shape[0], self.m, len(FIELDS)))

        def by_bin(values: NDArray[Any]) -> NDArray[Any]:
            out: NDArray[Any] = np.add.reduceat(values, firsts, axis=-1)
            return out

        for j, values in ((0, n), (3, n * self.u), (4, positives)):
            sums[:, held, j] = by_bin(values)
        sums[:, :, 1] = sums[:, :, 2] = sums[:, :, 0]
        sums[:, :, 7] = sums[:, :, 4]
        return BinTable(sums, has_squares=False)


def cells_of(problem: Problem, width: float = FINE) -> Cells:
    """The cells of an unweighted problem with hard labels."""
    h = np.clip(logit(np.clip(problem.u, 1e-7, 1.0 - 1e-7)), -CELL_LIMIT, CELL_LIMIT)
    per_bin = int(2 * CELL_LIMIT / width) + 1
    key = problem.bins * per_bin + ((h + CELL_LIMIT) / width).astype(np.intp)
    size = problem.m * per_bin
    if size > 4 * problem.n + 1024:  # many bins, few rows: a dense count would be mostly empty
        _, key = np.unique(key, return_inverse=True)
        size = int(key.max()) + 1
    n = np.bincount(key, minlength=size)
    held = np.flatnonzero(n)
    n = n[held]
    u = np.bincount(key, problem.u, size)[held] / n
    positives = np.rint(np.bincount(key, problem.z, size)[held]).astype(np.int64)
    bins = np.zeros(size, dtype=np.intp)
    bins[key] = problem.bins
    return Cells(n, u, positives, bins[held], problem.m)
