"""Sums per cell for vector predictions: linear properties of the label, and full calibration.

A vector prediction is put into the cell (which coordinate is largest, bin of that coordinate). Any
partition that does not look at outcomes keeps the error truthful; this one has k m cells, merges,
and is fine enough to tell classes apart.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from calibrant._core.bin_tables import VectorTable
from calibrant._core.binning import Cuts, FixedRule, LevelSets, Quantile, Rule, fixed_cuts
from calibrant._core.engine_choice import n_threads
from calibrant._core.given_cells import Cells
from calibrant._core.typing import Array, Index
from calibrant._data.samples import Block, Samples
from calibrant._engines.arrays.counting import has_row_bins, row_bins
from calibrant._engines.arrays.numpy_kernels import one_hot
from calibrant._engines.arrays.passes import (
    NO_CUTS,
    THREADS_FROM,
    Span,
    cut_into_spans,
    in_threads,
    matrix_sums,
    row_block,
)
from calibrant._engines.arrays.quantiles import quantile_cuts
from calibrant._engines.arrays.selection import kernels
from calibrant._engines.arrays.top_classes import top_classes
from calibrant._engines.protocol import Findings

# Rows that are put in order together: many rows of a cell are then added at once.
MANY_ROWS = 1 << 16


def vector_table(
    samples: Samples, rule: Rule, phi: Array | None = None
) -> tuple[VectorTable, Findings]:
    """Sums by cell of vector predictions, for a linear property of the label, and the findings.

    `phi` (k, d) has the property's value for each class; None means the label itself, as a vector
    with a 1 for its class. A cell is which coordinate is largest and the bin of that coordinate.
    """
    if phi is None and kernels().name == "native" and not isinstance(rule, LevelSets):
        return _full_table(samples, rule)
    findings = matrix_sums(samples).findings
    d = samples.n_classes if phi is None else phi.shape[1]
    low, span = _coordinate_ranges(phi)
    levels = _LevelIndex() if isinstance(rule, LevelSets) else None
    of_rows = _row_bins(samples, rule, phi)
    cuts = None if levels is not None or of_rows is not None else _cuts(samples, rule, phi)
    total = VectorTable(np.zeros(0), np.zeros((0, d)))
    for start, stop in _row_spans(samples):
        u, z, w = _vector_block(samples, start, stop, phi)
        if levels is not None:
            index = levels.numbers(u)
            total = _add_empty_cells(total, len(levels.seen))
        else:
            unit = (u - low) / span
            top = unit.argmax(axis=1)
            if of_rows is not None:
                m, at = of_rows[1], of_rows[0][start:stop]
            else:
                assert cuts is not None
                m, at = cuts.m, cuts.find(unit[np.arange(len(u)), top])
            index = top * m + at
            total = _add_empty_cells(total, d * m)
        np.add.at(total.sum_w, index, w)
        np.add.at(total.residual, index, w[:, None] * (u - z))
    if cuts is not None and rule.drops_one:
        total.residual[cuts.m - 1 :: cuts.m] = 0.0  # in no bin, but of the weight
    return total, findings


def _full_table(samples: Samples, rule: Rule) -> tuple[VectorTable, Findings]:
    """The table of `vector_table` for the label itself as a vector, by compiled kernels, and the
    findings.

    Rows are added in the order of their cells, many at a time, so that a cell's k sums come into
    the cache once for all of its rows.
    """
    k, of_rows = samples.n_classes, _row_bins(samples, rule, None)
    cuts = _cuts(samples, rule, None) if of_rows is None else NO_CUTS
    m = cuts.m if of_rows is None else of_rows[1]
    total = VectorTable(np.zeros(k * m), np.zeros((k * m, k)))
    findings = Findings()
    for start, stop in _row_spans(samples, 0 if _reads_a_copy(samples) else MANY_ROWS):
        top, largest, _, more = top_classes(samples, start, stop)
        at = cuts.find(largest) if of_rows is None else of_rows[0][start:stop]
        _add_rows(total, samples.block(start, stop), top * m + at)
        findings = findings + more
    if rule.drops_one:
        total.residual[m - 1 :: m] = 0.0  # in no bin, but of the weight
    return total, findings


def _reads_a_copy(samples: Samples) -> bool:
    """Whether reading a block of rows copies and converts the predictions, so that blocks must be
    small.
    """
    plain = samples.predictions.flags.c_contiguous and not samples.from_logits
    return not plain or samples.predictions.dtype not in (np.float32, np.float64)


def _add_rows(total: VectorTable, block: Block, index: Index) -> None:
    """Add the weights and the weighted residuals of a block of rows to their cells in `total`;
    `index` has the cell of each row.
    """
    from calibrant._engines.arrays.native import classes

    n, k = block.predictions.shape
    order = np.argsort(index, kind="stable")
    cells = index[order]
    hard = block.targets.ndim == 1
    labels, targets = (block.targets, None) if hard else (None, block.targets)
    columns = (block.predictions, labels, targets, block.weights)

    def work(span: Span) -> None:
        """Add the residuals of a run (first, end) of rows in the order of cells."""
        part = slice(*span)
        classes.add_residuals(total.residual, *columns, order[part], cells[part])

    threads = n_threads() if n * k >= THREADS_FROM else 1
    # No two threads add to one cell.
    ends = np.searchsorted(cells, cells[[n * t // threads for t in range(1, threads)]])
    in_threads(work, list(pairwise([0, *ends.tolist(), n])), threads)
    total.sum_w[:] += np.bincount(index, block.weights, total.sum_w.size)


def _row_spans(samples: Samples, at_least: int = 0) -> list[Span]:
    """The blocks (first row, end) to read the samples in, of the usual size but no fewer than
    `at_least` rows.
    """
    return cut_into_spans(samples.n, max(row_block(samples.n_classes), at_least))


def _vector_block(
    samples: Samples, start: int, stop: int, phi: Array | None
) -> tuple[Array, Array, Array]:
    """Vector predictions, vector targets, both (rows, d), and weights of the rows from `start` to
    `stop`.
    """
    block = samples.block(start, stop)
    p = np.clip(block.predictions.astype(np.float64), 0.0, 1.0)
    q = one_hot(block.targets, p.shape[1]) if block.targets.ndim == 1 else block.targets
    w = np.ones(len(p)) if block.weights is None else block.weights
    return (p, q, w) if phi is None else (p @ phi, q @ phi, w)


def _coordinate_ranges(phi: Array | None) -> tuple[Array | float, Array | float]:
    """The smallest value of each coordinate of `phi` and the width of its range (1 for a constant
    coordinate), to scale coordinates to [0, 1]. Without `phi`: 0 and 1.
    """
    if phi is None:
        return 0.0, 1.0
    low = phi.min(axis=0)
    span = phi.max(axis=0) - low
    return low, np.where(span > 0, span, 1.0)


def _cuts(samples: Samples, rule: Rule, phi: Array | None) -> Cuts:
    """The cuts between the bins of the largest coordinate, scaled to [0, 1]."""
    if isinstance(rule, FixedRule):
        return fixed_cuts(rule, samples.precision if phi is None else np.dtype(np.float64))
    assert isinstance(rule, Quantile)
    if phi is None:
        return quantile_cuts(samples, "confidence", rule.m)
    largest = _largest_coordinate(samples, phi)
    scalar = Samples(largest.clip(0.0, 1.0), np.zeros(samples.n, np.uint8), samples.weights)
    return quantile_cuts(scalar, "binary", rule.m)


def _row_bins(samples: Samples, rule: Rule, phi: Array | None) -> tuple[Index, int] | None:
    """Each row's bin, and the number of bins, for given cells and for bins by the rank of the
    largest coordinate; None for any other rule.
    """
    if not has_row_bins(rule):
        return None
    weights = None if samples.weights is None else samples.weights.astype(np.float64)
    given = isinstance(rule, Cells)  # these do not read the predictions
    u = np.empty(0) if given else _largest_coordinate(samples, phi)
    return row_bins(samples, rule, u, weights)


def _largest_coordinate(samples: Samples, phi: Array | None) -> Array:
    """The largest coordinate of every row, scaled to [0, 1] by the coordinates' ranges."""
    low, span = _coordinate_ranges(phi)
    parts = [
        ((_vector_block(samples, i, j, phi)[0] - low) / span).max(axis=1)
        for i, j in _row_spans(samples)
    ]
    return np.concatenate(parts) if parts else np.empty(0)


class _LevelIndex:
    """Numbers for distinct vector predictions, in the order in which they first come."""

    def __init__(self) -> None:
        self.seen: dict[bytes, int] = {}

    def numbers(self, u: Array) -> Index:
        """The number of each row of the vector predictions u (rows, d); new vectors get new
        numbers.
        """
        whole = np.ascontiguousarray(u + 0.0)  # -0.0 and 0.0 are one prediction
        return np.array([self.seen.setdefault(row.tobytes(), len(self.seen)) for row in whole])


def _add_empty_cells(table: VectorTable, size: int) -> VectorTable:
    """The table with empty cells added up to `size` cells; unchanged if it has as many."""
    more = size - table.sum_w.size
    if more <= 0:
        return table
    d = table.residual.shape[1]
    return VectorTable(
        np.append(table.sum_w, np.zeros(more)),
        np.concatenate([table.residual, np.zeros((more, d))]),
    )
