"""Passes over samples: rows are cut into lanes and blocks, kernels sum the blocks, sums add up.

A lane is one of at most N_LANES runs of rows, which may be summed in threads of their own; a block
is a run of rows that a kernel reads at once. The cuts depend on the data's shape alone, never on
the machine: one thread or eight give the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextvars import copy_context
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from calibrant._core.bin_tables import FIELDS
from calibrant._core.binning import Cuts
from calibrant._core.engine_choice import n_threads
from calibrant._core.loss_sums import FIELDS as LOSS_FIELDS
from calibrant._core.typing import Array, Counts
from calibrant._data.samples import BadRow, Block, Notion, Samples
from calibrant._engines.arrays.selection import kernels
from calibrant._engines.protocol import (
    BAD_ROW,
    BLOCK_ENTRIES,
    Findings,
    new_status,
    scalar_block,
)

S = TypeVar("S")
T = TypeVar("T")
Span = tuple[int, int]
ScalarBlock = tuple[int, NDArray[Any], NDArray[Any], Array | None]

N_LANES = 8
# From this many entries on, rows are cut into lanes; and from this many on, threads are worth it.
LANES_FROM = 1 << 17
THREADS_FROM = 1 << 20
NO_CUTS = Cuts(np.empty(0))


def in_lanes(
    n: int,
    entries_per_row: int,
    block_rows: int,
    work: Callable[[list[Span]], T],
    *,
    state_size: int = 0,
    threads_from: int | None = None,
) -> list[T]:
    """Run `work` on each lane (a run of rows), given the lane's blocks as (first row, end), and
    return the lanes' results in order. Large inputs use threads.

    `state_size` is how many numbers a lane's result holds: with few rows for that size there is one
    lane.
    """
    entries = n * entries_per_row
    lanes = N_LANES if n >= N_LANES and entries >= max(LANES_FROM, 32 * state_size) else 1
    spans = [cut_into_spans(high, block_rows, low) for low, high in equal_runs(n, lanes)]
    worth_it = entries >= (THREADS_FROM if threads_from is None else threads_from)
    return in_threads(work, spans, n_threads() if worth_it else 1)


def sum_over_lanes(
    samples: Samples,
    work: Callable[[list[Span]], T],
    *,
    block_rows: int | None = None,
    entries_per_row: int | None = None,
    state_size: int = 0,
    threads_from: int | None = None,
) -> T:
    """Run `work` on each lane of the samples, as `in_lanes` does, and return the sum of the
    results, added in the order of the lanes.
    """
    lanes = in_lanes(
        samples.n,
        entries_per_row or samples.n_columns,
        block_rows or usual_block(samples),
        work,
        state_size=state_size,
        threads_from=threads_from,
    )
    return reduce(_sum_of_two, lanes)


def _sum_of_two(a: Any, b: Any) -> Any:
    """a + b; for two tuples, the tuple of the sums of their entries."""
    return tuple(map(_sum_of_two, a, b)) if isinstance(a, tuple) else a + b


def in_threads(work: Callable[[S], T], items: Iterable[S], threads: int) -> list[T]:
    """The results of `work` on each item, in order, computed in this many threads. Each thread uses
    the caller's choice of engine.
    """
    if threads == 1:
        return [work(item) for item in items]
    from concurrent.futures import ThreadPoolExecutor  # slow to import, and small samples never do

    pool = ThreadPoolExecutor(threads)
    try:
        jobs = ((copy_context(), item) for item in items)
        results = list(pool.map(lambda job: job[0].run(work, job[1]), jobs))
    except KeyboardInterrupt:
        # An interruption does not wait for work that may take minutes.
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    except BaseException:
        pool.shutdown(cancel_futures=True)
        raise
    pool.shutdown()
    return results


def row_block(n_classes: int) -> int:
    """The number of rows of (n, k) predictions in a block: enough to outweigh the work on its sums,
    few enough for a cache.
    """
    return max(64, (1 << 20) // n_classes)


def usual_block(samples: Samples) -> int:
    """The default number of rows in a block of these samples."""
    return row_block(samples.n_classes) if samples.multiclass else BLOCK_ENTRIES


def equal_runs(n: int, count: int) -> list[Span]:
    """Cut n rows into `count` runs of about equal length: a list of (first row, end)."""
    return list(pairwise(n * j // count for j in range(count + 1)))


def cut_into_spans(n: int, block_rows: int, first: int = 0) -> list[Span]:
    """Cut the rows from `first` to n into blocks of `block_rows`: a list of (first row, end)."""
    return [(start, min(start + block_rows, n)) for start in range(first, n, block_rows)]


def scalar_blocks(
    samples: Samples, notion: Notion, spans: list[Span], status: Counts
) -> Iterator[ScalarBlock]:
    """Yield the binary or the confidence problem block by block: the first row, predictions,
    targets and weights (or None) of each block. `status` counts clipped values and other findings
    in (n, k) predictions.
    """
    for start, stop in spans:
        if samples.multiclass:
            block, u, z = top_label_block(samples, start, stop, status)
            yield start, u, z, block.weights
            continue
        block = samples.block(start, stop)
        if notion == "confidence":
            yield start, *fold_to_top_label(block), block.weights
        else:
            yield start, block.predictions, block.targets, block.weights


def top_label_block(
    samples: Samples,
    start: int,
    stop: int,
    status: Counts,
    *,
    classwise: Array | None = None,
    losses: Array | None = None,
    cuts: Cuts = NO_CUTS,
    squares: bool = False,
) -> tuple[Block, Array, Array]:
    """Read and check the (n, k) predictions of the rows from `start` to `stop`; return the block,
    the largest probability of each row, and the target of that class.

    The same read adds to the bin sums `classwise` (bins between the `cuts`) and to the sums
    `losses`, unless these are None.
    """
    block = samples.block(start, stop)
    u, z = np.empty((2, stop - start))
    kernels().add_rows(
        block.predictions,
        block.targets,
        block.weights,
        u,
        z,
        classwise,
        losses,
        cuts,
        squares,
        samples.row_sum_tolerance,
        samples.label_sum_tolerance,
        status,
    )
    raise_bad(status, start)
    return block, u, z


def fold_to_top_label(block: Block) -> tuple[NDArray[Any], Array]:
    """The larger of p and 1 - p of each binary row, and the target of the class predicted. At p =
    1/2 the predicted class is 0.
    """
    u, z = np.empty_like(block.predictions), np.empty(block.predictions.size)
    kernels().fold(u, z, block.predictions, block.targets)
    return u, z


def raise_bad(status: Counts, start: int) -> None:
    """Raise BadRow with the row's number in the samples, if `status` names an invalid row of the
    block that begins at row `start`.
    """
    if status[BAD_ROW] >= 0:
        raise BadRow(start + int(status[BAD_ROW]))


def scalar_sums(
    samples: Samples, notion: Notion, cuts: Cuts, *, squares: bool = True
) -> tuple[Array, Findings]:
    """The sums (bins, fields) of the binary or the confidence problem in the bins between the cuts,
    and the findings.

    Without `squares` a compiled kernel may leave the sums of squared predictions out.
    """
    engine = kernels()

    def work(spans: list[Span]) -> tuple[Array, Findings]:
        """The bin sums and the findings of some blocks of rows, each (first row, end)."""
        sums = np.zeros((cuts.m, len(FIELDS)))
        status = new_status()
        for start, u, z, w in scalar_blocks(samples, notion, spans, status):
            engine.add_scalar(sums, u, z, w, cuts, squares, status)
            raise_bad(status, start)
        return sums, Findings.from_status(status)

    rows = max(row_block(samples.n_classes), 16 * cuts.m)
    if not samples.multiclass:
        # The compiled kernel cuts a lane into blocks itself where nothing must be converted.
        whole_lanes = engine.name == "native" and notion == "binary" and samples.is_plain
        rows = max(1, samples.n) if whole_lanes else scalar_block(cuts)
    return sum_over_lanes(samples, work, block_rows=rows)


def whole_problem(samples: Samples, notion: Notion) -> tuple[Array, Array, Array | None, Findings]:
    """Predictions, targets and weights (or None) of all rows of the binary or the confidence
    problem, checked and as float64, and the findings; for rules that must sort.
    """
    u, z = np.empty(samples.n), np.empty(samples.n)

    def work(spans: list[Span]) -> Findings:
        """Check some blocks of rows, write their predictions and targets to the result, and return
        the findings.
        """
        checked, status = np.zeros((1, len(FIELDS))), new_status()
        for start, a, b, w in scalar_blocks(samples, notion, spans, status):
            kernels().add_scalar(checked, a, b, w, NO_CUTS, False, status)
            raise_bad(status, start)
            np.clip(a, 0.0, 1.0, out=u[start : start + a.size])
            np.clip(b, 0.0, 1.0, out=z[start : start + a.size])
        return Findings.from_status(status)

    findings = sum_over_lanes(samples, work)
    w = None if samples.weights is None else samples.weights.astype(np.float64)
    return u, z, w, findings


def top_label_problem(samples: Samples) -> tuple[Array, Array, Findings]:
    """The largest probability of every row of (n, k) predictions, the target of that class, and the
    findings, from one read.
    """
    u, z = np.empty(samples.n), np.empty(samples.n)

    def work(spans: list[Span]) -> Findings:
        """Write the confidences and targets of some blocks of rows to the result, and return the
        findings.
        """
        status = new_status()
        for start, a, b, _ in scalar_blocks(samples, "confidence", spans, status):
            u[start : start + a.size] = a
            z[start : start + a.size] = b
        return Findings.from_status(status)

    return u, z, sum_over_lanes(samples, work)


@dataclass(frozen=True, eq=False)
class MatrixSums:
    """The sums that one read of (n, k) predictions makes; None where they were not requested.

    `classwise` (classes, bins, fields) and `confidence` (bins, fields) are bin sums, `losses` sums
    by position in `loss_sums.FIELDS`.
    """

    classwise: Array | None
    confidence: Array | None
    losses: Array | None
    findings: Findings

    def __add__(self, other: MatrixSums) -> MatrixSums:
        """The sums over two disjoint sets of rows together; None where either has None."""
        return MatrixSums(
            _plus(self.classwise, other.classwise),
            _plus(self.confidence, other.confidence),
            _plus(self.losses, other.losses),
            self.findings + other.findings,
        )


def _plus(a: Array | None, b: Array | None) -> Array | None:
    """a + b; None if either is None."""
    return None if a is None or b is None else a + b


def matrix_sums(
    samples: Samples,
    *,
    classwise: Cuts | None = None,
    confidence: Cuts | None = None,
    losses: bool = False,
    squares: bool = True,
) -> MatrixSums:
    """The requested sums of (n, k) predictions, from one read; the others are None.

    `classwise` and `confidence` are the cuts between the bins of every class against the rest, and
    of the top label; `losses` requests the sums of the proper losses.
    """
    k = samples.n_classes

    def work(spans: list[Span]) -> MatrixSums:
        """The requested sums of some blocks of rows, each (first row, end)."""
        status = new_status()
        table = np.zeros((k, classwise.m, len(FIELDS))) if classwise else None
        top = np.zeros((confidence.m, len(FIELDS))) if confidence else None
        sums = np.zeros(len(LOSS_FIELDS)) if losses else None
        for start, stop in spans:
            part = np.zeros_like(table) if table is not None else None
            block, u, z = top_label_block(
                samples,
                start,
                stop,
                status,
                classwise=part,
                losses=sums,
                cuts=classwise or NO_CUTS,
                squares=squares,
            )
            if table is not None and part is not None:
                table += part
            if top is not None and confidence is not None:
                kernels().add_scalar(top, u, z, block.weights, confidence, squares, status)
        return MatrixSums(table, top, sums, Findings.from_status(status))

    state_size = k * classwise.m * len(FIELDS) if classwise else 0
    return sum_over_lanes(samples, work, state_size=state_size)
