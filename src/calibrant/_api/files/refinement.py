"""Refinement passes: files are read again for the few rows near an edge of a bin.

One reading serves all columns of predictions. In names, u is a prediction or a confidence, z its
target (a label or a share of votes), and w the weight of the row. A span is a closed range of
predictions.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from calibrant._core.bin_tables import FIELDS, VectorTable
from calibrant._core.binning import Rule
from calibrant._core.grid import UnitGrid
from calibrant._core.loss_sums import LossSums
from calibrant._core.progress import RowProgress
from calibrant._core.typing import Array, Mask
from calibrant._data.readers.batches import Batch
from calibrant._data.readers.passes import over_pieces
from calibrant._data.readers.source import FileRows
from calibrant._data.samples import Notion, Samples
from calibrant._engines.arrays.counting import class_columns
from calibrant._engines.arrays.losses import loss_sums
from calibrant._engines.arrays.numpy_kernels import sums_by_index
from calibrant._engines.arrays.passes import scalar_blocks
from calibrant._engines.arrays.smooth import unit_grid
from calibrant._engines.arrays.vectors import vector_table
from calibrant._engines.protocol import new_status
from calibrant._engines.refine import Spans as Ends

T = TypeVar("T")
S = TypeVar("S", VectorTable, LossSums, UnitGrid)
ToSamples = Callable[[Batch], Samples]
# A column of predictions: the one of (n,) predictions ("binary"), the confidence, or the number of
# a class against the rest.
Column = Notion | int
# A column and what its rows are read again for; a column may be read for several things.
Key = tuple[Column, Hashable]
LEVELS = "levels"

# The number of cells of [0, 1] by which rows that cannot lie in a span are dropped quickly.
N_CELLS = 1 << 14
# The most groups that are kept, about: of more, spans are cut into fewer parts, and groups of the
# same key are merged.
GROUPS = 1 << 16
# The most distinct predictions that are kept, with one row of sums each.
MOST_LEVELS = 1 << 17


@dataclass(frozen=True, eq=False)
class PredictionGroups:
    """Groups of rows with neighbouring or equal predictions, in increasing order of a key.

    `keys`, and the smallest and largest prediction, `low` and `high`, are (groups,); `sums` are
    (groups, fields).
    """

    keys: Array
    low: Array
    high: Array
    sums: Array

    @property
    def size(self) -> int:
        """The number of groups."""
        return int(self.keys.size)


@dataclass(eq=False)
class Refiner:
    """Reads the rows of files again, and sums those that lie near an edge of a bin.

    `samples_of` makes samples of a batch of rows, and `show` says whether to show progress.
    """

    rows: FileRows
    samples_of: ToSamples
    show: bool | None
    # Columns whose sums by distinct prediction are wanted too, once the rows are read anyway.
    levels_of: set[Column] = field(default_factory=set)
    # The sums of these, (predictions, fields), in order; None where there are too many predictions.
    levels: dict[Column, Array | None] = field(default_factory=dict)

    def read_spans(
        self, ends: Mapping[Key, Ends], parts: int | None
    ) -> dict[Key, tuple[Array, Array, Array]]:
        """Read the files once, and sum the rows in spans of predictions, group by group.

        A span is a closed range of predictions; `ends` has (lows, highs) of the spans of each key.
        With `parts`, each span is cut into at most so many equal parts, whose rows are a group;
        with None, a group is the rows of one prediction. The result has, for each key, (smallest
        predictions, largest predictions, sums) of its groups.
        """
        n_spans = sum(low.size for low, _ in ends.values())
        fewer = None if parts is None else max(2, min(parts, GROUPS // n_spans))
        spans = {key: Spans(low, high, fewer) for key, (low, high) in ends.items()}
        wanted = self.levels_of - self.levels.keys()
        spans |= {(column, LEVELS): Spans.whole() for column in wanted}
        grouped = self._group_rows(spans)
        for column in wanted:
            groups = grouped.pop((column, LEVELS), None)
            self.levels[column] = None if groups is None else groups.sums
        return {key: (each.low, each.high, each.sums) for key, each in grouped.items()}

    def _group_rows(self, spans: dict[Key, Spans]) -> dict[Key, PredictionGroups]:
        """The groups of rows in the spans of each key, from one reading of the files.

        The key of distinct predictions (LEVELS) is absent if there are too many of them.
        """
        too_many: set[Key] = set()  # threads only add to it

        def merge_pending(
            pending: dict[Key, list[PredictionGroups]],
        ) -> dict[Key, list[PredictionGroups]]:
            """Merge the groups of each key; drop keys with too many distinct predictions."""
            out = {key: [merge_groups(groups)] for key, groups in pending.items()}
            too_many.update(
                key
                for key, groups in out.items()
                if key[1] == LEVELS and groups[0].size > MOST_LEVELS
            )
            return {key: groups for key, groups in out.items() if key not in too_many}

        def group_batches(batches: Iterator[Batch]) -> dict[Key, list[PredictionGroups]]:
            """The groups, by key, of the rows in some batches, merged whenever many are pending."""
            pending = {key: [empty_groups()] for key in spans}
            n_pending = 0
            for batch in batches:
                if not batch.n:
                    continue
                samples = self.samples_of(batch)
                with batch.explained(samples):
                    for column, u, z, w in _columns_wanted(samples, {key[0] for key in spans}):
                        for key in pending:
                            if key[0] == column and key not in too_many:
                                pending[key].append(spans[key].group(u, z, w))
                                n_pending += pending[key][-1].size
                if n_pending > 2 * GROUPS:
                    pending, n_pending = merge_pending(pending), 0
            return merge_pending(pending)

        total = {key: [empty_groups()] for key in spans}
        for piece in self.read_again(group_batches):
            total = {key: [*total[key], *piece[key]] for key in total if key in piece}
            total = merge_pending(total)
        return {key: groups[0] for key, groups in total.items() if key not in too_many}

    def vectors(self, rule: Rule) -> VectorTable:
        """Sums of residuals of every class, (cells, classes), in the cells of a fixed rule.

        A cell is a top class and a bin of its confidence. The files are read once.
        """
        return self._sum_over_rows(lambda samples: vector_table(samples, rule)[0])

    def distances(self) -> LossSums:
        """The sums of losses and of distances between distributions, from one reading."""
        return self._sum_over_rows(lambda samples: loss_sums(samples, distribution=True)[0])

    def unit_grid(self, notion: Notion, cells: int) -> UnitGrid:
        """Sums of residuals on a grid of `cells` cells over [0, 1], from one reading."""
        return self._sum_over_rows(lambda samples: unit_grid(samples, notion, cells)[0])

    def _sum_over_rows(self, sums_of: Callable[[Samples], S]) -> S:
        """The sum over all rows, batch by batch, of the statistics that `sums_of` computes."""

        def sum_batches(batches: Iterator[Batch]) -> S | None:
            """The sums of the rows in some batches; None if these have no rows."""
            total = None
            for batch in batches:
                if batch.n:
                    samples = self.samples_of(batch)
                    with batch.explained(samples):
                        sums = sums_of(samples)
                    total = sums if total is None else total + sums
            return total

        parts = [part for part in self.read_again(sum_batches) if part is not None]
        return reduce(operator.add, parts)

    def read_again(self, work: Callable[[Iterator[Batch]], T]) -> Iterator[T]:
        """Yield the result of `work` for each piece of the files; check that no file changed."""
        self.rows.check_unchanged()
        with RowProgress(self.rows.n_bytes, show=self.show, label="refinement pass") as progress:
            yield from over_pieces(self.rows, work, progress)
        self.rows.check_unchanged()


def _columns_wanted(
    samples: Samples, wanted: set[Column]
) -> Iterator[tuple[Column, NDArray[Any], NDArray[Any], Array | None]]:
    """Each wanted column with its predictions, targets and weights (or None), all (n,).

    Values are not checked again: the first pass checked them.
    """
    whole, status = [(0, samples.n)], new_status()
    notions: tuple[Notion, ...] = ("binary", "confidence")
    for notion in notions:
        if notion in wanted:
            for _, u, z, w in scalar_blocks(samples, notion, whole, status):
                yield notion, u, z, w
    if any(isinstance(column, int) for column in wanted):
        for r, column in enumerate(class_columns(samples)):
            if r in wanted:
                for _, u, z, w in scalar_blocks(column, "binary", whole, status):
                    yield r, u, z, w


@dataclass(frozen=True, eq=False)
class Spans:
    """Disjoint closed ranges of predictions, `low` to `high`, in increasing order.

    Rows in a range are grouped by its equal parts, `parts` of them, or by distinct prediction if
    `parts` is None. `wanted` marks those of N_CELLS cells of [0, 1] that touch a range.
    """

    low: Array
    high: Array
    parts: int | None
    wanted: Mask = field(init=False)

    def __post_init__(self) -> None:
        """Mark the cells of [0, 1] that touch a range."""
        wanted = np.zeros(N_CELLS + 1, dtype=np.bool_)
        for low, high in zip(self.low, self.high, strict=True):
            wanted[int(low * N_CELLS) : int(high * N_CELLS) + 1] = True
        object.__setattr__(self, "wanted", wanted)

    @classmethod
    def whole(cls) -> Spans:
        """One span, [0, 1], whose rows are grouped by distinct prediction."""
        return cls(np.zeros(1), np.ones(1), None)

    def group(self, u: NDArray[Any], z: NDArray[Any], w: Array | None) -> PredictionGroups:
        """Group the rows whose prediction u lies in a span, and sum each group.

        z are the targets, and w the weights or None; the three are (n,).
        """
        u = np.clip(u, 0, 1)
        # Predictions are clipped: a file that has changed may hold any, and raises an error later.
        near = np.flatnonzero(self.wanted.take((u * N_CELLS).astype(np.intp), mode="clip"))
        return self._group_near(
            u[near].astype(np.float64),
            np.clip(z[near].astype(np.float64), 0.0, 1.0),
            None if w is None else w[near],
        )

    def _group_near(self, u: Array, z: Array, w: Array | None) -> PredictionGroups:
        """Group rows near a span, as `group` does; those outside every span are dropped."""
        at = np.searchsorted(self.low, u, side="right") - 1
        inside = np.flatnonzero((at >= 0) & (u <= self.high[at]))
        u, z, at = u[inside], z[inside], at[inside]
        w = None if w is None else w[inside]
        keys: NDArray[Any] = u
        if self.parts is not None:
            low = self.low[at]
            part = np.floor((u - low) / (self.high[at] - low) * self.parts)
            keys = at * (self.parts + 1.0) + part
        known, index = np.unique(keys, return_inverse=True)
        if known.size == 0:
            return empty_groups()
        order = np.argsort(index, kind="stable")
        firsts = np.searchsorted(index[order], np.arange(known.size))
        return PredictionGroups(
            known,
            np.minimum.reduceat(u[order], firsts),
            np.maximum.reduceat(u[order], firsts),
            sums_by_index(index, known.size, u, z, w),
        )


def empty_groups() -> PredictionGroups:
    """PredictionGroups of no rows: arrays of length 0."""
    return PredictionGroups(np.empty(0), np.empty(0), np.empty(0), np.empty((0, len(FIELDS))))


def merge_groups(several: list[PredictionGroups]) -> PredictionGroups:
    """Merge several sets of groups into one, in which each key occurs once."""
    keys = np.concatenate([each.keys for each in several])
    if keys.size == 0 or len(several) == 1:
        return several[0]
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    firsts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    low, high, sums = (
        np.concatenate([getattr(each, name) for each in several])[order]
        for name in ("low", "high", "sums")
    )
    return PredictionGroups(
        keys[firsts],
        np.minimum.reduceat(low, firsts),
        np.maximum.reduceat(high, firsts),
        np.add.reduceat(sums, firsts, axis=0),
    )
