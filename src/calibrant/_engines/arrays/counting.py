"""From samples and a rule to the statistic: where measures get their tables from.

Bins of equal mass of every class against the rest have a compiled path. Columns of a matrix in the
order of rows are far apart, so a few of them are copied out together. Each is then put in order
cell by cell, cut into bins and summed while it is in the cache (`_columns.h`); with weights, or
soft labels, the weight of cells tells where bins begin, and only what lies in these cells is put in
order. Memory beyond the input: the copies, one group for each thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.bin_tables import FIELDS, BinTable
from calibrant._core.binning import (
    ROUNDING,
    CellCuts,
    Cuts,
    FixedRule,
    LevelSets,
    Quantile,
    Rule,
    fixed_cuts,
    rank_bins,
)
from calibrant._core.engine_choice import n_threads
from calibrant._core.errors import NO_WEIGHT, InputError
from calibrant._core.given_cells import Cells
from calibrant._core.typing import Array, Index
from calibrant._data.samples import Notion, Samples
from calibrant._engines.arrays.numpy_kernels import sums_by_index
from calibrant._engines.arrays.ordering import level_table, stable_order
from calibrant._engines.arrays.passes import (
    THREADS_FROM,
    in_threads,
    matrix_sums,
    row_block,
    scalar_sums,
    whole_problem,
)
from calibrant._engines.arrays.quantiles import quantile_cuts
from calibrant._engines.arrays.selection import kernels
from calibrant._engines.protocol import Findings

# Columns that NumPy copies out together: as many float32 as fill a cache line.
COLUMN_GROUP = 16
# Columns that a kernel gets together: whole cache lines, and few enough to stay near.
MOST_COLUMNS, FEWEST_COLUMNS = 64, 4
GROUP_BYTES = 1 << 24
# Unused entries after each copied column, so that columns begin at different places of the cache.
PADDING = 48
# The kernels count ranks in 32 bits, so that rows must be fewer than this.
MOST_ROWS = 1 << 31


def bin_table(
    samples: Samples, notion: Notion, rule: Rule, *, squares: bool = True
) -> tuple[BinTable, Cuts, Findings]:
    """The bin sums of the binary or the confidence problem by any rule of bins, the edges between
    the bins, and the findings (what was clipped or tolerated).

    Without `squares` the sums of squared predictions may be left out, which is faster.
    """
    if isinstance(rule, LevelSets):
        levels, findings = level_table(samples, notion)
        return levels, Cuts(levels.mean_u[0, 1:]), findings
    if has_row_bins(rule):
        return _table_of_rows(samples, notion, rule)
    if isinstance(rule, Quantile):
        cuts = quantile_cuts(samples, notion, rule.m)
    else:
        assert isinstance(rule, FixedRule)
        cuts = fixed_cuts(rule, samples.precision)
    sums, findings = scalar_sums(samples, notion, cuts, squares=squares)
    return without_dropped(sums[None], rule, squares), cuts, findings


def classwise_table(
    samples: Samples, rule: Rule, *, squares: bool = True
) -> tuple[BinTable, Findings]:
    """One table with the bin sums of every class against the rest, each class with its own bins,
    and the findings (what was clipped or tolerated).
    """
    if isinstance(rule, FixedRule):
        cuts = fixed_cuts(rule, samples.precision)
        total = matrix_sums(samples, classwise=cuts, squares=squares)
        assert total.classwise is not None
        return without_dropped(total.classwise, rule, squares), total.findings
    findings = matrix_sums(samples).findings  # rows are checked as rows before they are taken apart
    table, _ = class_tables(samples, rule)
    assert table is not None
    return table, findings


def class_tables(
    samples: Samples, rule: Rule, *, every: bool = True, threshold: float | None = None
) -> tuple[BinTable | None, BinTable | None]:
    """Two tables of every class against the rest: of all its predictions (None without `every`),
    and of its predictions above the `threshold`.

    Each class has bins made from its own predictions. The second table has only the classes with a
    prediction above the threshold; it is None if there is no such class or no threshold. The rows
    must have been checked already.
    """
    samples = _with_class_labels(samples)  # the same sums, to the last bit, and as fast
    if is_compiled(samples, rule):
        assert isinstance(rule, Quantile)
        sums, sums_above = class_sums(samples, rule.m, every=every, threshold=threshold)
        table = None if sums is None else BinTable(sums)
        nonempty = None if sums_above is None else sums_above[sums_above[:, :, 0].any(axis=1)]
        return table, BinTable(nonempty) if nonempty is not None and len(nonempty) else None

    def tables(column: Samples) -> tuple[BinTable | None, BinTable | None]:
        """The two tables of one class, from its samples as a binary problem; either may be None."""
        part = None if threshold is None else rows_above(column, threshold)
        return (
            bin_table(column, "binary", rule)[0] if every else None,
            None if part is None else bin_table(part, "binary", rule)[0],
        )

    threads = n_threads() if samples.n * samples.n_classes >= THREADS_FROM else 1
    both = in_threads(tables, class_columns(samples), threads)
    above = [table for _, table in both if table is not None]
    return (
        stack([table for table, _ in both if table is not None]) if every else None,
        stack(above) if above else None,
    )


def _with_class_labels(samples: Samples) -> Samples:
    """The same samples with class indices as labels, if every row of labels is one-hot (a single 1
    and zeros); other samples are returned unchanged.
    """
    if samples.targets.ndim == 1:
        return samples
    labels = np.empty(samples.n, dtype=np.int64)
    rows = row_block(samples.n_classes)
    for start in range(0, samples.n, rows):
        block = samples.targets[start : start + rows]
        ones = block == 1
        if not (ones.sum(axis=1) == 1).all() or np.count_nonzero(block) != len(block):
            return samples
        labels[start : start + rows] = ones.argmax(axis=1)
    return replace(samples, targets=labels)


def stack(tables: list[BinTable]) -> BinTable:
    """One table whose classes are the scalar problems of these tables. Tables with fewer bins get
    empty bins at the end.
    """
    m = max(table.n_bins for table in tables)
    sums = np.zeros((len(tables), m, len(FIELDS)))
    for r, table in enumerate(tables):
        sums[r, : table.n_bins] = table.sums[0]
    return BinTable(sums, np.concatenate([table.dropped for table in tables]))


def class_columns(samples: Samples) -> Iterator[Samples]:
    """Yield each class against the rest, as the samples of a binary problem."""
    k = samples.n_classes
    log_total = log_normaliser(samples) if samples.from_logits else None
    for first in range(0, k, COLUMN_GROUP):
        last = min(first + COLUMN_GROUP, k)
        group = np.ascontiguousarray(samples.predictions[:, first:last].T)
        if log_total is not None:
            with np.errstate(over="ignore"):  # past the largest double: a probability of 0
                group = np.exp(group.astype(np.float64) - log_total)
        for r in range(first, last):
            soft = samples.targets.ndim == 2
            targets: NDArray[Any] = samples.targets[:, r] if soft else samples.targets == r
            yield replace(samples, predictions=group[r - first], targets=targets, from_logits=False)


def rows_above(samples: Samples, threshold: float) -> Samples | None:
    """The samples restricted to the rows of positive weight whose prediction is above the
    threshold, as probabilities; None if there are none.
    """
    whole = samples.block(0, samples.n).predictions if samples.from_logits else samples.predictions
    above = whole > threshold
    if threshold >= 1:  # what is past 1 by rounding counts as 1
        return None
    if samples.weights is not None:
        above &= samples.weights > 0
    rows = np.flatnonzero(above)
    if rows.size == 0:
        return None
    return replace(samples, predictions=whole, from_logits=False).take(rows)


def without_dropped(sums: Array, rule: Rule, squares: bool) -> BinTable:
    """The bin sums (classes, bins, fields) as a table. For a rule that drops predictions of exactly
    1, the last bin, which holds them, becomes the table's `dropped`.
    """
    if rule.drops_one:
        return BinTable(sums[:, :-1].copy(), sums[:, -1].copy(), has_squares=squares)
    return BinTable(sums, has_squares=squares)


def rank_order(u: Array, w: Array | None, m: int) -> tuple[Index, Index]:
    """The row numbers in order of predictions u, and in that order each row's bin, where m bins get
    equal shares of the ranks (cumulative weights w). Equal predictions may be in different bins.
    """
    order = stable_order(u)
    if w is None:
        return order, rank_bins(u.size, m)
    through = np.cumsum(w[order])  # ranks are cumulative weights
    if not through[-1] > 0:
        raise InputError(NO_WEIGHT)
    bins = np.ceil(through * m / through[-1] * (1 - ROUNDING)) - 1
    return order, np.clip(bins, 0, m - 1).astype(np.intp)


def has_row_bins(rule: Rule) -> bool:
    """Whether the rule gives each row its bin, and no edges between predictions."""
    return isinstance(rule, Cells) or (isinstance(rule, Quantile) and rule.ties == "rank")


def row_bins(samples: Samples, rule: Rule, u: Array, w: Array | None) -> tuple[Index, int]:
    """The bin of each row by a rule that `has_row_bins`, and the number of bins: given cells, or
    bins by the rank of predictions u with weights w.
    """
    if isinstance(rule, Cells):
        return rule.of_rows(samples.n, samples.kept), rule.m
    assert isinstance(rule, Quantile)
    order, in_order = rank_order(u, w, rule.m)
    bins = np.empty(u.size, dtype=np.intp)
    bins[order] = in_order
    return bins, rule.m


def _table_of_rows(samples: Samples, notion: Notion, rule: Rule) -> tuple[BinTable, Cuts, Findings]:
    """The table of a rule that gives each row its bin; the edges between bins by rank, for display
    only (given cells have none); and the findings.
    """
    u, z, w, findings = whole_problem(samples, notion)
    if isinstance(rule, Cells):
        bins, m = row_bins(samples, rule, u, w)
        table = BinTable(sums_by_index(bins, m, u, z, w)[None])
        return table, CellCuts.of(rule.labels, bins), findings
    assert isinstance(rule, Quantile)
    order, bins = rank_order(u, w, rule.m)
    sums = sums_by_index(bins, rule.m, u[order], z[order], None if w is None else w[order])
    firsts = np.searchsorted(bins, np.arange(1, rule.m))
    cuts = Cuts(np.append(u[order], 1.0)[firsts])  # for display: ties may straddle a cut
    return BinTable(sums[None]), cuts, findings


def is_compiled(samples: Samples, rule: Rule) -> bool:
    """Whether `class_sums`, a compiled kernel, can make the tables of all classes for these rows
    and this rule.
    """
    together = isinstance(rule, Quantile) and rule.ties == "together"
    return together and kernels().name == "native" and samples.n < MOST_ROWS


def class_sums(
    samples: Samples, m: int, *, every: bool = True, threshold: float | None = None
) -> tuple[Array | None, Array | None]:
    """Sums (classes, bins, fields) of each class in m bins of equal mass, by a compiled kernel: of
    all predictions (None without `every`), and of those above the `threshold` (None without one).

    A class without predictions above the threshold has sums of 0. The rows must have been checked
    already.
    """
    from calibrant._engines.arrays.native import classes

    n, k = samples.predictions.shape
    weights = None if samples.weights is None else samples.weights.astype(np.float64)
    if weights is not None and not weights.sum() > 0:
        raise InputError(NO_WEIGHT)
    soft = samples.targets.ndim == 2
    rows, firsts = (None, None) if soft else _rows_by_label(samples)
    shape = (k, m, len(FIELDS))
    sums = np.zeros(shape) if every else None
    above = None if threshold is None else np.zeros(shape)
    bound = 0.0 if threshold is None else _threshold_in_precision(threshold, samples)
    columns = _ColumnGroups(samples)

    def work(groups: list[int]) -> None:
        """Add up the classes in the groups of columns whose first classes are listed."""
        targets = np.empty((columns.size, n)) if soft else None
        for first, group in columns.read(groups):
            last = first + len(group)
            some = slice(first, last)
            own = None if firsts is None else firsts[first : last + 1]
            into = None if sums is None else sums[some], None if above is None else above[some]
            if rows is not None and own is not None and weights is None:
                edges = np.empty((len(group), m - 1))
                classes.add_bins(group, n, rows, own, 1 + ROUNDING, into[0], edges, into[1], bound)
                continue
            if targets is not None:
                classes.take_columns(samples.targets[:, some].astype(np.float64), targets)
            classes.add_weighed_bins(
                group, n, weights, rows, own, targets, 1 + ROUNDING, *into, bound
            )

    threads = n_threads() if n * k >= THREADS_FROM else 1
    # Each thread keeps one group's memory and goes from group to group.
    in_threads(work, [columns.firsts[t::threads] for t in range(threads)], threads)
    return sums, above


def _rows_by_label(samples: Samples) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The row numbers sorted by label, (n,), and the positions there at which the rows of each
    class begin, (classes + 1,); the last position is the end.
    """
    k = samples.n_classes
    # Short labels are sorted in one pass.
    labels = samples.targets.astype(np.uint16 if k <= 1 << 16 else np.int64)
    counts = np.bincount(labels, minlength=k)
    return np.argsort(labels, kind="stable"), np.append(0, np.cumsum(counts))


def _threshold_in_precision(threshold: float, samples: Samples) -> float:
    """The threshold rounded to the precision of the predictions, which are compared with it."""
    return float(np.asarray(threshold, dtype=samples.precision))


class _ColumnGroups:
    """The columns of (n, k) predictions, as probabilities, read in groups of neighbouring classes
    that fit a cache. `firsts` has the first class of each group.
    """

    def __init__(self, samples: Samples) -> None:
        self.samples = samples
        self.log_total = log_normaliser(samples) if samples.from_logits else None
        raw = samples.predictions.dtype
        half = np.dtype(np.float32 if raw == np.float16 else np.float64)
        self.precision = raw if raw in (np.float32, np.float64) and raw.isnative else half
        if samples.from_logits:
            self.precision = np.dtype(np.float64)
        room = GROUP_BYTES // max(1, samples.n * self.precision.itemsize)
        self.size = min(max(room, FEWEST_COLUMNS), MOST_COLUMNS, samples.n_classes)
        self.firsts = list(range(0, samples.n_classes, self.size))

    def read(self, firsts: list[int]) -> Iterator[tuple[int, NDArray[Any]]]:
        """Yield the first class and the columns (classes, n plus padding) of each group whose first
        class is listed. The next group overwrites the memory of the last.
        """
        from calibrant._engines.arrays.native import classes

        n, k = self.samples.predictions.shape
        room = np.empty((self.size, n + PADDING), dtype=self.precision)
        for first in firsts:
            last = min(first + self.size, k)
            group = self.samples.predictions[:, first:last]
            if self.log_total is not None:
                with np.errstate(over="ignore"):  # past the largest double: a probability of 0
                    group = np.exp(group.T.astype(np.float64) - self.log_total).T
            classes.take_columns(group.astype(self.precision, copy=False), room)
            yield first, room[: last - first]


def log_normaliser(samples: Samples) -> Array:
    """The logarithm of the sum of exponentials of each row's logits, (n,). A class's
    log-probability is its logit less this number.
    """
    out = np.empty(samples.n)
    rows = row_block(samples.n_classes)
    for start in range(0, samples.n, rows):
        h = samples.predictions[start : start + rows].astype(np.float64)
        top = h.max(axis=1)
        with np.errstate(over="ignore"):
            out[start : start + rows] = top + np.log(np.exp(h - top[:, None]).sum(axis=1))
    return out
