"""The distinct predictions of a scalar problem in order, each with its sums.

Every measure that needs an order reads these. The compiled kernels deal the rows out to cells of
nearly equal predictions, lane by lane, and sort the cells, group by group, in threads; NumPy sorts
all rows at once. Either takes memory that grows with the rows: about 24 bytes for each 0/1 label
without a weight, and 60 to 90 for others.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.engine_choice import n_threads
from calibrant._core.level_table import LevelTable
from calibrant._core.typing import Array, Index
from calibrant._data.samples import BadRow, Notion, Samples
from calibrant._engines.arrays.numpy_kernels import sums_by_index
from calibrant._engines.arrays.passes import (
    LANES_FROM,
    N_LANES,
    equal_runs,
    fold_to_top_label,
    in_threads,
    whole_problem,
)
from calibrant._engines.arrays.selection import kernels
from calibrant._engines.protocol import BAD_ROW, Findings, new_status


def level_table(samples: Samples, notion: Notion) -> tuple[LevelTable, Findings]:
    """The table of level sets of the binary or the confidence problem (one bin for each distinct
    prediction, in order), and the findings.
    """
    if kernels().name == "numpy":
        u, z, w, findings = whole_problem(samples, notion)
        return _levels_by_numpy(u, z, w), findings
    if samples.multiclass or samples.from_logits:
        u, z, w, findings = whole_problem(samples, notion)
        return _BucketSort(u, z, w).levels, findings
    # These rows are checked while they are counted, and copied only where they must be.
    block = samples.block(0, samples.n)
    scalars = (block.predictions, block.targets)
    predictions, targets = fold_to_top_label(block) if notion == "confidence" else scalars
    deal = _BucketSort(predictions, targets, block.weights)
    return deal.levels, deal.findings


def stable_order(u: Array) -> Index:
    """The row numbers sorted by prediction; rows with equal predictions keep their order.
    Predictions must be free of NaN.
    """
    if kernels().name == "numpy":
        return np.argsort(u, kind="stable")
    return _BucketSort(u, np.zeros(u.size, dtype=np.uint8), None).rows


def _levels_by_numpy(u: Array, z: Array, w: Array | None) -> LevelTable:
    """The sums of each distinct prediction, in increasing order, from predictions u, targets z and
    weights w (None: 1), by a sort in NumPy.
    """
    order = np.argsort(u, kind="stable")
    ordered = u[order]
    is_first = np.append(True, ordered[1:] != ordered[:-1])
    values = ordered[is_first]
    level = np.empty(u.size, dtype=np.intp)
    level[order] = np.cumsum(is_first) - 1
    n, sum_w, w2, _, wz, _, _, wz2, w2z = sums_by_index(level, values.size, u, z, w).T
    if w is None:
        return LevelTable(values, n.copy(), wz.copy(), wz2=wz2.copy())
    # A level that only rows of weight 0 hold is not a level.
    some = n > 0
    return LevelTable(
        values[some], sum_w[some], wz[some], wz2=wz2[some], n=n[some], w2=w2[some], w2z=w2z[some]
    )


class NativeLevels(LevelTable):
    """Level sets (sums of each distinct prediction) with a compiled `pooled_columns`."""

    def pooled_columns(self) -> Array:
        """Sums of weight, weighted target and weighted squared target, (3, blocks), after pooling
        neighbouring levels that every increasing fit of the mean targets merges.
        """
        from calibrant._engines.arrays.native import order

        w, wz, wz2 = self.sum_w[0], self.sum_wz[0], self.sum_wz2[0]
        blocks = np.empty((3, w.size))
        return blocks[:, : order.pool(blocks, w, wz, wz2)].copy()


class _BucketSort:
    """A bucket sort of rows by prediction: rows are counted by cell (a narrow range of
    predictions), written to their cells, and each cell is sorted.

    `lanes` are runs of rows, one for each thread; `places` (lanes, cells) is where each lane's rows
    of a cell begin in the sorted order, `starts` where each cell begins.
    """

    def __init__(self, u: NDArray[Any], z: NDArray[Any], w: Array | None) -> None:
        from calibrant._engines.arrays.native import order

        self.u, self.z, self.w = u, z, w
        self.kernels = order
        self.n = u.size
        lanes = N_LANES if self.n >= LANES_FROM else 1
        self.threads = n_threads() if lanes > 1 else 1
        self.lanes = list(enumerate(equal_runs(self.n, lanes)))
        counted = in_threads(self._count, [span for _, span in self.lanes], self.threads)
        self.findings = sum((findings for _, findings in counted), Findings())
        counts = np.stack([counts for counts, _ in counted])
        # Places go cell by cell, and within a cell lane by lane, so that rows keep their order.
        before = (counts.T.ravel().cumsum() - counts.T.ravel()).reshape(counts.shape[1], lanes)
        self.places = np.ascontiguousarray(before.T)
        self.starts = np.append(before[:, 0], self.n)

    def _count(self, span: tuple[int, int]) -> tuple[NDArray[np.int64], Findings]:
        """The number of rows of the run `span` (first row, end) in each cell, and the findings.
        Raises BadRow.
        """
        rows, status = slice(*span), new_status()
        counts = np.zeros(self.kernels.n_cells(), dtype=np.int64)
        w = None if self.w is None else self.w[rows]
        self.kernels.count_cells(counts, self.u[rows], self.z[rows], w, status)
        if status[BAD_ROW] >= 0:
            raise BadRow(span[0] + int(status[BAD_ROW]))
        return counts, Findings.from_status(status)

    @property
    def groups(self) -> list[tuple[int, int]]:
        """Runs of cells (first cell, end) with about equal numbers of rows, one for each thread."""
        shares = np.arange(1, len(self.lanes)) * self.n / len(self.lanes)
        inner = np.searchsorted(self.starts, shares)
        ends = [0, *inner.tolist(), self.starts.size - 1]
        return [(first, last) for first, last in pairwise(ends) if first < last]

    @property
    def levels(self) -> NativeLevels:
        """The sums of each distinct prediction, in increasing order."""
        if self.findings.soft or self.w is not None:
            return self._levels_of_rows()
        return self._levels_of_keys()

    def _levels_of_keys(self) -> NativeLevels:
        """The sums of each distinct prediction for 0/1 labels without weights; prediction and label
        are packed into one number to sort.
        """
        keys, other = np.empty((2, self.n), dtype=np.uint64)
        hits = np.empty(self.n)

        def deal(lane: tuple[int, tuple[int, int]]) -> None:
            """Write a lane's rows (lane number, (first row, end)) to their cells, as numbers to
            sort.
            """
            j, span = lane
            rows = slice(*span)
            self.kernels.deal_keys(keys, self.places[j], self.u[rows], self.z[rows])

        def sort(cells: tuple[int, int]) -> int:
            """Sort the cells from the first to the end of a run, sum each level in place, and
            return how many levels there are.
            """
            return int(self.kernels.levels_of_keys(keys, other, hits, self.starts, *cells))

        in_threads(deal, self.lanes, self.threads)
        sizes = in_threads(sort, self.groups, self.threads)
        columns = (keys.view(np.float64), other.view(np.float64), hits)
        return NativeLevels(*self._join_groups(columns, sizes))

    def _levels_of_rows(self) -> NativeLevels:
        """The sums of each distinct prediction for soft labels or weights; predictions are sorted
        together with their row numbers.
        """
        keyed, other = self._rows_by_cell()
        columns = np.empty((4 if self.w is None else 7, self.n))

        def sort(cells: tuple[int, int]) -> int:
            """Sort the cells from the first to the end of a run, write the sums of each level, and
            return how many levels there are.
            """
            rows = (keyed, other, self.z, self.w)
            return int(self.kernels.levels_of_rows(columns, *rows, self.starts, *cells))

        sizes = in_threads(sort, self.groups, self.threads)
        together = self._join_groups(tuple(columns), sizes)
        if self.w is None:
            u, n, wz, wz2 = together
            return NativeLevels(u, n, wz, wz2=wz2)
        u, n, w, w2, wz, wz2, w2z = together
        return NativeLevels(u, w, wz, wz2=wz2, n=n, w2=w2, w2z=w2z)

    @property
    def rows(self) -> Index:
        """The row numbers sorted by prediction."""
        keyed, other = self._rows_by_cell()

        def sort(cells: tuple[int, int]) -> None:
            """Sort the rows of each cell in a run of cells (first, end), in place."""
            self.kernels.sort_rows(keyed, other, self.starts, *cells)

        in_threads(sort, self.groups, self.threads)
        return keyed[:, 1].astype(np.intp)

    def _rows_by_cell(self) -> NDArray[np.uint64]:
        """Pairs (bits of the prediction, row number), (2, n, 2): the first half holds the rows cell
        by cell, the second half is working space for a sort.
        """
        keyed = np.empty((2, self.n, 2), dtype=np.uint64)

        def deal(lane: tuple[int, tuple[int, int]]) -> None:
            """Write the predictions and row numbers of a lane (lane number, (first row, end)) to
            their cells.
            """
            j, (start, stop) = lane
            self.kernels.deal_rows(keyed[0], self.places[j], self.u[start:stop], start)

        in_threads(deal, self.lanes, self.threads)
        return keyed

    def _join_groups(self, columns: tuple[Array, ...], sizes: list[int]) -> list[Array]:
        """The columns of sums of all levels without gaps. Each of the `groups` of cells wrote its
        levels at its own start; `sizes` has the number of levels of each group.
        """
        if sum(sizes) == self.n:
            return list(columns)
        begins = [int(self.starts[first]) for first, _ in self.groups]
        runs = [slice(begin, begin + size) for begin, size in zip(begins, sizes, strict=True)]
        return [np.concatenate([column[run] for run in runs]) for column in columns]
