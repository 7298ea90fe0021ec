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
from calibrant._core.binning import ROUNDING, Cuts, LevelSets, Quantile, Rule, fixed_cuts, rank_bins
from calibrant._core.engine_choice import n_threads
from calibrant._core.errors import NO_WEIGHT, InputError
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
    """The table of the binary or the confidence problem, the cuts between the bins that were used,
    and the findings.

    Without `squares` the sums of squared predictions may be left out, which is faster.
    """
    if isinstance(rule, LevelSets):
        levels, findings = level_table(samples, notion)
        return levels, Cuts(levels.mean_u[0, 1:]), findings
    if isinstance(rule, Quantile):
        if rule.ties == "rank":
            return _rank_table(samples, notion, rule.m)
        cuts = quantile_cuts(samples, notion, rule.m)
    else:
        cuts = fixed_cuts(rule, samples.precision)
    sums, findings = scalar_sums(samples, notion, cuts, squares=squares)
    return without_dropped(sums[None], rule, squares), cuts, findings


def classwise_table(
    samples: Samples, rule: Rule, *, squares: bool = True
) -> tuple[BinTable, Findings]:
    """The table of every class against the rest, each with its own bins, and the findings."""
    if rule.is_fixed:
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
    """The table of every class against the rest in bins that come from its own predictions (None
    unless `every`); and that of the predictions above the `threshold`.

    The second has the classes with a prediction above it, and is None if there is none, or no
    threshold. Rows must have been checked as rows.
    """
    samples = _with_class_labels(samples)  # the same sums, to the last bit, and as fast
    if is_compiled(samples, rule):
        assert isinstance(rule, Quantile)
        sums, sums_above = class_sums(samples, rule.m, every=every, threshold=threshold)
        table = None if sums is None else BinTable(sums)
        nonempty = None if sums_above is None else sums_above[sums_above[:, :, 0].any(axis=1)]
        return table, BinTable(nonempty) if nonempty is not None and len(nonempty) else None

    def tables(column: Samples) -> tuple[BinTable | None, BinTable | None]:
        """Both tables of one class, either of which may be None."""
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
    """The samples with one-hot rows of labels replaced by the class that each names; samples with
    other labels as they are.
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
    """Tables of scalar problems as the classes of one table; shorter ones get empty bins at the
    end.
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
    """The rows of a binary problem with positive weight and a prediction above the threshold; None
    if there are none.
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
    """Sums (classes, bins, fields) as a table. If the rule leaves predictions of 1 out of every
    bin, the last bin holds them and goes to `dropped`.
    """
    if rule.drops_one:
        return BinTable(sums[:, :-1].copy(), sums[:, -1].copy(), has_squares=squares)
    return BinTable(sums, has_squares=squares)


def rank_order(u: Array, w: Array | None, m: int) -> tuple[Index, Index]:
    """The rows in order of predictions, and in that order the bin of each, if m bins share out the
    ranks equally and equal predictions may be divided.
    """
    order = stable_order(u)
    if w is None:
        return order, rank_bins(u.size, m)
    through = np.cumsum(w[order])  # ranks are cumulative weights
    if not through[-1] > 0:
        raise InputError(NO_WEIGHT)
    bins = np.ceil(through * m / through[-1] * (1 - ROUNDING)) - 1
    return order, np.clip(bins, 0, m - 1).astype(np.intp)


def _rank_table(samples: Samples, notion: Notion, m: int) -> tuple[BinTable, Cuts, Findings]:
    """The table of m bins that share out the ranks equally, cuts for display (equal predictions may
    be on both sides of one), and the findings.
    """
    u, z, w, findings = whole_problem(samples, notion)
    order, bins = rank_order(u, w, m)
    sums = sums_by_index(bins, m, u[order], z[order], None if w is None else w[order])
    firsts = np.searchsorted(bins, np.arange(1, m))
    cuts = Cuts(np.append(u[order], 1.0)[firsts])  # for display: ties may straddle a cut
    return BinTable(sums[None]), cuts, findings


def is_compiled(samples: Samples, rule: Rule) -> bool:
    """Whether a compiled kernel makes the tables of all classes for these rows and this rule."""
    together = isinstance(rule, Quantile) and rule.ties == "together"
    return together and kernels().name == "native" and samples.n < MOST_ROWS


def class_sums(
    samples: Samples, m: int, *, every: bool = True, threshold: float | None = None
) -> tuple[Array | None, Array | None]:
    """Sums (classes, bins, fields) of each class in m bins of equal mass: of `every` prediction,
    and of those above the `threshold`. Either is None if it is not asked for.

    A class without predictions above the threshold has sums of 0. Rows must have been checked as
    rows.
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
    bound = 0.0 if threshold is None else _in_precision(threshold, samples)
    columns = _Columns(samples)

    def work(groups: list[int]) -> None:
        """Sum the groups of columns that begin at these classes."""
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
    """The row numbers in order of their labels, and where the rows of each class begin among them,
    with the end of the last.
    """
    k = samples.n_classes
    # Short labels are sorted in one pass.
    labels = samples.targets.astype(np.uint16 if k <= 1 << 16 else np.int64)
    counts = np.bincount(labels, minlength=k)
    return np.argsort(labels, kind="stable"), np.append(0, np.cumsum(counts))


def _in_precision(threshold: float, samples: Samples) -> float:
    """The threshold as predictions meet it: float32 ones are compared with it rounded to
    float32.
    """
    return float(np.asarray(threshold, dtype=samples.precision))


class _Columns:
    """Groups of neighbouring columns of (n, k) predictions, as probabilities, each column
    contiguous. `firsts` has the first class of each group.
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
        """Yield the first class and the columns (classes, n and padding) of the groups that begin
        at the given classes. The memory of a group is used again for the next.
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
    """The logarithm of the sum of exponentials of each row's logits, (n,), so that one class's
    probability needs no other class.
    """
    out = np.empty(samples.n)
    rows = row_block(samples.n_classes)
    for start in range(0, samples.n, rows):
        h = samples.predictions[start : start + rows].astype(np.float64)
        top = h.max(axis=1)
        with np.errstate(over="ignore"):
            out[start : start + rows] = top + np.log(np.exp(h - top[:, None]).sum(axis=1))
    return out
