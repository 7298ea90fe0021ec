"""From samples and a rule to the statistic: where measures get their tables from."""

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
from calibrant._engines.arrays.class_quantiles import class_sums, is_compiled, log_normaliser
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
from calibrant._engines.protocol import Findings

# Columns that are copied out together: as many float32 as fill a cache line.
COLUMN_GROUP = 16


def bin_table(
    samples: Samples, notion: Notion, rule: Rule, *, squares: bool = True
) -> tuple[BinTable, Cuts, Findings]:
    """The table of a scalar notion (binary, confidence), with the cuts that were used.

    Without `squares` the sums of squared predictions may be left out, which is faster.
    """
    if isinstance(rule, LevelSets):
        return _level_sets(samples, notion)
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
    """The table of every class against the rest, each with its own bins."""
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
    """The table of every class in bins that come from its predictions; with a `threshold` also that
    of the predictions above it, of the classes that have any, or None if none has. Rows must have
    been checked as rows.
    """
    samples = _with_class_labels(samples)  # the same sums, to the last bit, and as fast
    if is_compiled(samples, rule):
        assert isinstance(rule, Quantile)
        sums = class_sums(samples, rule.m, every=every, threshold=threshold)
        table = None if sums.every is None else BinTable(sums.every)
        nonempty = None if sums.above is None else sums.above[sums.above[:, :, 0].any(axis=1)]
        return table, BinTable(nonempty) if nonempty is not None and len(nonempty) else None

    def tables(column: Samples) -> tuple[BinTable | None, BinTable | None]:
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
    """One-hot rows of labels as the classes that they name; other labels as they are."""
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
    """Scalar tables as classes of one table; the shorter ones get empty bins at the end."""
    m = max(table.n_bins for table in tables)
    sums = np.zeros((len(tables), m, len(FIELDS)))
    for r, table in enumerate(tables):
        sums[r, : table.n_bins] = table.sums[0]
    return BinTable(sums, np.concatenate([table.dropped for table in tables]))


def class_columns(samples: Samples) -> Iterator[Samples]:
    """Each class against the rest, as a binary problem of its own."""
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
    """The rows with weight and a prediction above the threshold; None if there are none."""
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
    """Sums per class and bin as a table; what the rule drops is set apart."""
    if rule.drops_one:
        return BinTable(sums[:, :-1].copy(), sums[:, -1].copy(), has_squares=squares)
    return BinTable(sums, has_squares=squares)


def _level_sets(samples: Samples, notion: Notion) -> tuple[BinTable, Cuts, Findings]:
    levels, findings = level_table(samples, notion)
    return levels, Cuts(levels.mean_u[0, 1:]), findings


def rank_order(u: Array, w: Array | None, m: int) -> tuple[Index, Index]:
    """The rows in order of predictions, and the bin of each, in that order, by rank."""
    order = stable_order(u)
    if w is None:
        return order, rank_bins(u.size, m)
    through = np.cumsum(w[order])  # ranks are cumulative weights
    if not through[-1] > 0:
        raise InputError(NO_WEIGHT)
    bins = np.ceil(through * m / through[-1] * (1 - ROUNDING)) - 1
    return order, np.clip(bins, 0, m - 1).astype(np.intp)


def _rank_table(samples: Samples, notion: Notion, m: int) -> tuple[BinTable, Cuts, Findings]:
    u, z, w, findings = whole_problem(samples, notion)
    order, bins = rank_order(u, w, m)
    sums = sums_by_index(bins, m, u[order], z[order], None if w is None else w[order])
    firsts = np.searchsorted(bins, np.arange(1, m))
    cuts = Cuts(np.append(u[order], 1.0)[firsts])  # for display: ties may straddle a cut
    return BinTable(sums[None]), cuts, findings
