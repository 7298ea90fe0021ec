"""A scalar problem: rows with their bins, and cells of rows with nearly equal predictions.

A scalar problem has one predicted probability u a row, of class 1 or of the top label, a target z
(0 or 1, or a share of votes) and a weight w.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.bin_tables import BinTable, ColumnTable
from calibrant._core.binning import FixedRule, LevelSets, Quantile, Rule, fixed_cuts
from calibrant._core.typing import Array, Index
from calibrant._data.links import logit
from calibrant._data.samples import Notion, Samples
from calibrant._engines.arrays.counting import bin_table, has_row_bins, row_bins
from calibrant._engines.arrays.draws import fit_isotonic, rising_bins
from calibrant._engines.arrays.ordering import stable_order
from calibrant._engines.arrays.passes import whole_problem
from calibrant._engines.arrays.quantiles import quantile_cuts
from calibrant._engines.arrays.top_classes import top_classes
from calibrant._engines.protocol import Findings
from calibrant._inference.blocks import Blocks, squared_weights, summed
from calibrant._inference.budget import CELL_LIMIT, FEW_CELLS, FEW_ROWS, FINE, FINEST, MOST_BINS
from calibrant._measures.catalogue import THRESHOLD

# Predictions, targets and weights of every row, and what the checks of them found.
ScalarRows = tuple[Array, Array, Array | None, Findings]


@dataclass(frozen=True, eq=False)
class Problem:
    """One prediction `u`, target `z`, weight `w` and bin of every row, (n,) each; `m` bins in all.

    `w` is None for equal weights. `hard`: all targets are 0 or 1, none is a share of votes.
    """

    u: Array
    z: Array
    w: Array | None
    bins: Index
    m: int
    hard: bool
    # The class of each bin, where rows of each predicted class have bins of their own.
    classes: Index | None = None
    # How many equal rows each row stands for, (n,), with their weight; None for one each.
    counts: Array | None = None

    @property
    def n(self) -> int:
        """The number of rows that are given."""
        return int(self.u.size)

    @property
    def n_rows(self) -> float:
        """The number of rows that the given ones stand for."""
        return float(self.n) if self.counts is None else float(self.counts.sum())

    @property
    def weights(self) -> Array:
        """The weight of every row, (n,); 1 where none are given."""
        return np.ones(self.n) if self.w is None else self.w

    @cached_property
    def squared_weights(self) -> Array:
        """The sum of squared weights of the rows that each row stands for, (n,)."""
        return squared_weights(self.weights, self.counts)

    @cached_property
    def counts_once(self) -> bool:
        """Whether every row, of those that the given ones stand for, has the weight 0 or 1."""
        return self.w is None or bool(((self.w == 0.0) | (self.squared_weights == self.w)).all())

    @cached_property
    def fine_cells(self) -> Cells:
        """The rows in cells of nearly equal predictions, each within one bin."""
        return cells_of(self, FINE if self.n_rows > FEW_ROWS else FINEST)

    @cached_property
    def levels(self) -> tuple[Array, Index]:
        """The distinct predictions in increasing order, and for each row the index of its own among
        them.
        """
        order = stable_order(self.u)
        ordered = self.u[order]
        first = np.append(True, ordered[1:] != ordered[:-1])
        index = np.empty(self.n, dtype=np.intp)
        index[order] = np.cumsum(first) - 1
        return ordered[first], index

    def weighted(self, values: Array) -> Array:
        """Values by row, (n,), times the weights of the rows."""
        return values if self.w is None else self.w * values

    def by_bin(self, values: Array | None = None) -> Array:
        """Sums by bin, (m,), of the rows' weights or, if `values` (n,) are given, of weight times
        value.
        """
        column = self.w if values is None else self.weighted(values)
        return np.bincount(self.bins, column, self.m).astype(np.float64, copy=False)

    def gaps(self) -> Array:
        """The gap of each bin, (m,): its mean target less its mean prediction; 0 where a bin is
        empty.
        """
        total, gap = self.by_bin(), self.by_bin(self.z - self.u)
        return np.divide(gap, total, out=np.zeros(self.m), where=total > 0)

    @cached_property
    def dispersion(self) -> float:
        """The variance of a target over that of a 0/1 outcome of the same mean: 1 for labels, 1/v
        for shares of v votes.
        """
        w2, residual = self.squared_weights, self.z - self.u - self.gaps()[self.bins]
        return dispersion(float(w2 @ residual**2), float(w2 @ (self.z * (1.0 - self.z))))

    def outcome_size(self, blocks: Blocks) -> float:
        """How many rows one independent 0/1 outcome is worth: 1 for independent labels, less for
        soft labels, which vary less, and more for clusters, whose rows vary together.
        """
        if not blocks.clustered:
            return self.dispersion
        residual = self.z - self.u - self.gaps()[self.bins]
        of_blocks = float((blocks.sums(self.bins, self.m, self.weights * residual) ** 2).sum())
        squares = float(self.squared_weights @ residual**2)
        return self.dispersion * design_effect(squares, of_blocks)


def dispersion(squares: float, inside: float) -> float:
    """The variance of targets over that of 0/1 outcomes with the same means, between 1e-9 and 1.

    `squares` is the sum of squared residuals and `inside` the sum of z (1 - z) over the targets z,
    which is 0 for outcomes. Together they estimate the variance of outcomes, however few events
    there are.
    """
    return min(max(squares / max(squares + inside, 1e-300), 1e-9), 1.0) if inside > 0 else 1.0


def design_effect(squares: float, of_blocks: float) -> float:
    """The design effect of clusters: `of_blocks`, the sum of squares of the clusters' summed
    residuals, over `squares`, the sum of the rows' squared residuals; at least 1.
    """
    return max(1.0, of_blocks / max(squares, 1e-300))


def above_threshold(samples: Samples) -> Samples:
    """The samples with a weight of 0 for predictions up to `THRESHOLD`; other weights stay."""
    u = np.asarray(samples.block(0, samples.n).predictions, dtype=np.float64)
    weights = (u > THRESHOLD).astype(np.float64)
    if samples.weights is not None:
        weights *= samples.weights
    return replace(samples, weights=weights)


def problem_of(
    samples: Samples,
    notion: Notion,
    rule: Rule,
    rows: ScalarRows | None = None,
    *,
    counts: Array | None = None,
) -> Problem | None:
    """The scalar problem of a notion ("binary" or "confidence") in the bins of a rule; None where
    the rule drops rows.

    `rows` are its predictions, targets and weights if they were read before. `counts` is how many
    equal rows each row stands for; one each if None.
    """
    if rule.drops_one:
        return None
    u, z, w, findings = rows or whole_problem(samples, notion)
    if has_row_bins(rule):
        bins, m = row_bins(samples, rule, u, w)
        return Problem(u, z, w, bins, m, not findings.soft, counts=counts)
    if isinstance(rule, LevelSets):
        _, cuts, _ = bin_table(samples, notion, rule)
    elif isinstance(rule, Quantile):
        cuts = quantile_cuts(Samples(u, z, w), "binary", rule.m, checked=True)
    else:
        assert isinstance(rule, FixedRule)
        cuts = fixed_cuts(rule, samples.precision)
    return Problem(u, z, w, cuts.find(u), cuts.m, not findings.soft, counts=counts)


def problem_by_class(
    samples: Samples, rule: Rule, rows: ScalarRows | None = None
) -> Problem | None:
    """The top label's confidence and whether it is right, with separate bins for the rows of each
    predicted class.

    None where the rule drops rows, or where there are more than `MOST_BINS` bins. `rows` are the
    predictions, targets and weights if they were read before.
    """
    plain = problem_of(samples, "confidence", rule, rows)
    if plain is None:
        return None
    top, _, _, _ = top_classes(samples)
    # Empty bins stay empty in every draw, so only the others are numbered.
    used, bins = np.unique(top * plain.m + plain.bins, return_inverse=True)
    if used.size > MOST_BINS:
        return None
    return replace(
        plain, bins=bins.reshape(-1).astype(np.intp), m=int(used.size), classes=used // plain.m
    )


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells of rows of one bin with nearly equal predictions, ordered by prediction.

    `index` is the cell of each row. By cell, (cells,): `bins` its bin of `m`, `n` the rows of
    positive weight, `u` the mean prediction, and the sums `w` of weights, `w2` of squared weights,
    `wz` of weight times target, and `wz2` of weight times squared target.
    """

    index: Index
    bins: Index
    m: int
    n: Array
    w: Array
    w2: Array
    u: Array
    wz: Array
    wz2: Array
    # Functions of `u`, by the function.
    by_predictions: dict[Callable[[Array], Any], Any] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """The number of cells."""
        return int(self.bins.size)

    @cached_property
    def counts_once(self) -> bool:
        """Whether every row has the weight 0 or 1."""
        return np.array_equal(self.w2, self.w)

    @cached_property
    def rows_in_order(self) -> tuple[Index, Index]:
        """The numbers of the rows, sorted by cell, (n,), and the position of each cell's first row
        among them, (cells,).
        """
        order = np.argsort(self.index, kind="stable")
        return order, np.searchsorted(self.index[order], np.arange(self.size))

    @cached_property
    def _members(self) -> Array:
        """The matrix (cells, bins) with 1 where a cell lies in a bin, else 0."""
        out = np.zeros((self.size, self.m))
        out[np.arange(self.size), self.bins] = 1.0
        return out

    @cached_property
    def _nonempty(self) -> tuple[Index, Index]:
        """The bins that have cells, and the first cell of each of them."""
        return np.unique(self.bins, return_index=True)

    def by_bin(self, values: Array) -> Array:
        """Sums by bin, (..., bins), of values by cell, (..., cells)."""
        if self.size <= FEW_CELLS:
            return values @ self._members
        nonempty, firsts = self._nonempty
        out = np.zeros((*values.shape[:-1], self.m))
        out[..., nonempty] = np.add.reduceat(values, firsts, axis=-1)
        return out


def cells_of(problem: Problem, width: float) -> Cells:
    """The cells of a problem, of a `width` on the logit scale of predictions, and cut at the edges
    of its bins.
    """
    h = np.clip(logit(np.clip(problem.u, 1e-7, 1.0 - 1e-7)), -CELL_LIMIT, CELL_LIMIT)
    per_bin = int(2 * CELL_LIMIT / width) + 1
    key = problem.bins * per_bin + ((h + CELL_LIMIT) / width).astype(np.intp)
    if problem.m * per_bin > 4 * problem.n + 1024:
        _, index = np.unique(key, return_inverse=True)
    else:  # numbered without a sort
        used = np.zeros(problem.m * per_bin, dtype=bool)
        used[key] = True
        index = (np.cumsum(used) - 1)[key]
    bins = np.zeros(int(index.max()) + 1, dtype=np.intp)
    bins[index] = problem.bins
    return _sum_cells(problem, index.astype(np.intp, copy=False), bins)


def bin_cells(problem: Problem) -> Cells:
    """Every bin of a problem as one cell. Bins must be ordered by prediction, and none may be
    empty.
    """
    return _sum_cells(problem, problem.bins, np.arange(problem.m))


def _sum_cells(problem: Problem, index: Index, bins: Index) -> Cells:
    """The cells with their sums; `index` is the cell of every row, `bins` the bin of every cell."""
    size, w = bins.size, problem.w
    rows = np.bincount(index, minlength=size).astype(np.float64)
    plain = summed(index, problem.u, size) / rows
    wz = summed(index, problem.weighted(problem.z), size)
    # Hard labels are their own squares.
    wz2 = wz if problem.hard else summed(index, problem.weighted(problem.z**2), size)
    if w is None:
        return Cells(index, bins, problem.m, rows, rows, rows, plain, wz, wz2)
    weight = summed(index, w, size)
    u = np.divide(summed(index, w * problem.u, size), weight, out=plain, where=weight > 0)
    counted = (w > 0).astype(np.float64)
    if problem.counts is not None:
        counted *= problem.counts
    w2 = summed(index, problem.squared_weights, size)
    return Cells(index, bins, problem.m, summed(index, counted, size), weight, w2, u, wz, wz2)


@dataclass(frozen=True, eq=False)
class Drawn:
    """Sums by cell of drawn samples, (draws, cells): `w` of weights, `wu` of weight times
    prediction, `wz` of weight times target, and `wz2` of weight times squared target.
    """

    cells: Cells
    w: Array
    wu: Array
    wz: Array
    wz2: Array
    # Sums of w and w u by bin, where all draws have the same.
    weights_by_bin: tuple[Array, Array] | None = None
    # Functions of the predictions and of w, by the function.
    by_weights: dict[Callable[[Any, Array], Array], Array] = field(default_factory=dict)

    @property
    def u(self) -> Array:
        """The mean prediction of each cell, the same in all draws."""
        return self.cells.u

    def tables(self) -> BinTable:
        """The bin tables of all draws as one table, in which each draw takes the
        place of a class.
        """
        return self._tables

    def first(self, n_draws: int) -> Drawn:
        """The first `n_draws` of the draws."""
        some = slice(0, n_draws)
        return Drawn(self.cells, self.w[some], self.wu[some], self.wz[some], self.wz2[some])

    def once(self, make: Callable[[Array], Any]) -> Any:
        """The value of `make` for the cells' predictions, computed once for all draws of the same
        cells.
        """
        known = self.cells.by_predictions
        if make not in known:
            known[make] = make(self.u)
        return known[make]

    def of_weights(self, make: Callable[[Any, Array], Array]) -> Array:
        """The value of `make` for these draws and their weights (draws, cells), computed once.
        Where all draws have the same weights, it is given one row of them.
        """
        if make not in self.by_weights:
            equal = self.w.shape[0] > 1 and self.w.strides[0] == 0  # broadcast from one row
            self.by_weights[make] = make(self, self.w[:1] if equal else self.w)
        return self.by_weights[make]

    def isotonic(self) -> Array:
        """The isotonic regression of targets on predictions in every draw, (draws, cells)."""
        return fit_isotonic(self.w, self.wz)

    def rising_bins(self) -> NDArray[np.int32]:
        """The bin of each cell, (draws, cells): of the most bins of equal mass whose mean targets
        never fall.
        """
        return rising_bins(self.w, self.wz)

    @cached_property
    def _tables(self) -> BinTable:
        """What `tables` gives, computed once."""
        cells = self.cells
        w, wu = self.weights_by_bin or (cells.by_bin(self.w), cells.by_bin(self.wu))
        wz = cells.by_bin(self.wz)
        wz2 = wz if self.wz2 is self.wz else cells.by_bin(self.wz2)
        if cells.counts_once:  # weights of 0 and 1 are their own squares
            return drawn_tables(w, w, wu, wz, wz2, wz)
        each = np.divide(cells.w2, cells.w, out=np.zeros(cells.size), where=cells.w > 0)
        return drawn_tables(
            w, cells.by_bin(self.w * each), wu, wz, wz2, cells.by_bin(self.wz * each)
        )


def drawn_tables(w: Array, w2: Array, wu: Array, wz: Array, wz2: Array, w2z: Array) -> BinTable:
    """Sums by draw and bin, (draws, bins), as one bin table, in which each draw takes the place of
    a class.

    The sums are of weights w, squared weights, weight times prediction u, times target z, times
    z^2, and squared weight times target.
    """
    columns = {
        "n": w,
        "sum_w": w,
        "sum_w2": w2,
        "sum_wu": wu,
        "sum_wz": wz,
        "sum_wz2": wz2,
        "sum_w2z": w2z,
    }
    return ColumnTable(columns)


def observed_draw(cells: Cells) -> Drawn:
    """The observed sums of cells, in the form of a single draw."""
    wu = cells.w * cells.u
    return Drawn(cells, cells.w[None], wu[None], cells.wz[None], cells.wz2[None])
