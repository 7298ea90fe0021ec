"""Exact quantile cuts without a sort of the sample.

One pass counts the predictions in fine cells; the cells that hold a sought rank are cut finer, by
the bits of the predictions, until few enough predictions remain to be taken out and sorted.
Predictions crowded near 0 or 1, or all equal, only make it cut finer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from calibrant._core.binning import ROUNDING, Cuts
from calibrant._core.errors import NO_WEIGHT, InputError
from calibrant._core.typing import Array, Index, Mask
from calibrant._data.samples import Notion, Samples
from calibrant._engines.arrays.passes import (
    NO_CUTS,
    Span,
    cut_into_spans,
    in_lanes,
    raise_bad,
    scalar_blocks,
    scalar_sums,
    usual_block,
)
from calibrant._engines.arrays.selection import kernels
from calibrant._engines.protocol import new_status

# Samples smaller than this are sorted outright.
SORT_BELOW = 1 << 17
N_CELLS = 1 << 14
# The most predictions that are taken out and sorted, so that memory does not grow with rows.
GATHER = 1 << 18

State = TypeVar("State")


def quantile_cuts(samples: Samples, notion: Notion, m: int, *, checked: bool = False) -> Cuts:
    """The m - 1 inner edges of m bins of equal mass; equal predictions share the bin of their
    middle rank. `checked` True skips the check of the rows.
    """
    if m == 1:
        return Cuts(np.empty(0))
    if kernels().name == "numpy" or samples.n < SORT_BELOW:
        # NaN cannot be sorted, so rows are checked; (n, k) ones are checked when they are read.
        if not samples.multiclass and not checked:
            scalar_sums(samples, notion, NO_CUTS, squares=False)
        values, mass = distinct(_predictions(samples, notion), samples.weights)
        return Cuts(_cuts_from_distinct(values.astype(np.float64), mass, m))
    return Cuts(_Selection(samples, notion, m).edges())


def _predictions(samples: Samples, notion: Notion) -> NDArray[Any]:
    """The predictions of all rows of the scalar problem, in their own precision, clipped to
    [0, 1].
    """
    spans = cut_into_spans(samples.n, usual_block(samples))
    blocks = scalar_blocks(samples, notion, spans, new_status())
    predictions: NDArray[Any] = np.concatenate([u for _, u, _, _ in blocks])
    return predictions.clip(0, 1)


def distinct(u: NDArray[Any], w: NDArray[Any] | None) -> tuple[NDArray[Any], Array]:
    """The distinct predictions in increasing order, and the total weight (without weights, the
    number of rows) of each.
    """
    if w is None:
        ordered, weights = np.sort(u), None
    else:
        order = np.argsort(u, kind="stable")
        ordered, weights = u[order], w[order]
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    if weights is None:
        return ordered[first], np.diff(np.append(first, u.size)).astype(np.float64)
    return ordered[first], np.add.reduceat(weights.astype(np.float64), first)


def edges_at(values: Array, below: Array, mass: Array, total: float, m: int) -> Array:
    """The m - 1 inner edges of m bins of equal mass. An edge lies at the prediction in `values`
    that holds its rank, or just above it; bins include their left edge.

    `below` and `mass` are the weight below and at each of these predictions, `total` that of all
    rows. A prediction's middle rank decides on which side of its edge it falls; it is doubled, so
    that whole numbers stay whole.
    """
    in_lower = (2.0 * below + mass) * m <= 2.0 * np.arange(1, m) * total * (1 + ROUNDING)
    edges = np.where(in_lower, np.nextafter(values, np.inf), values)
    return np.maximum.accumulate(edges)


def _cuts_from_distinct(values: Array, mass: Array, m: int) -> Array:
    """The m - 1 inner edges of bins of equal mass, from the distinct predictions in order and the
    weight at each.
    """
    through = np.cumsum(mass)
    total = float(through[-1])
    if not total > 0:
        raise InputError(NO_WEIGHT)
    at = np.searchsorted(through, np.arange(1, m) * total / m)
    at = np.minimum(at, values.size - 1)
    return edges_at(values[at], through[at] - mass[at], mass[at], total, m)


@dataclass
class _Ranges:
    """Disjoint ranges of predictions in order, with the weight below each range and inside it.

    The ends `low` and `high` (exclusive) are the bits of float64 numbers, which order as the
    numbers do.
    """

    low: NDArray[np.uint64]
    high: NDArray[np.uint64]
    below: Array
    mass: Array

    @property
    def are_wide(self) -> Mask:
        """Which ranges hold more than one possible float64 prediction."""
        return self.high - self.low > 1

    def indices_of(self, ranks: Array) -> Index:
        """The index of the range that contains each rank (cumulative weight)."""
        return np.minimum(np.searchsorted(self.below + self.mass, ranks), self.low.size - 1)


def _bits(x: Array) -> NDArray[np.uint64]:
    """The bits of non-negative float64 numbers as whole numbers, which have the same order."""
    return x.view(np.uint64)


def _nonempty_at_or_after(mass: Array, at: Any) -> Index:
    """The first cell with weight at or after each position `at`; the last cell with weight where
    none follows, as rounding of sums may cause.
    """
    nonempty = np.flatnonzero(mass)
    nearest = np.minimum(np.searchsorted(nonempty, at), nonempty.size - 1)
    return np.asarray(nonempty[nearest], dtype=np.intp)


class _Selection:
    """The search for the edges of m bins of equal mass without a sort: each pass over the
    predictions narrows the ranges that hold the edges.
    """

    def __init__(self, samples: Samples, notion: Notion, m: int) -> None:
        from calibrant._engines.arrays.native import ranks

        self.samples, self.notion, self.m = samples, notion, m
        self.kernels = ranks
        # Which cells hold a sought rank: predictions in other cells are passed over.
        self.wanted = np.zeros(N_CELLS + 1, dtype=np.uint8)

    def edges(self) -> Array:
        """The m - 1 inner edges of the bins."""
        ranges = self._cells_with_sought_ranks()
        # The rows in the ranges, estimated from their mass.
        while ranges.mass[ranges.are_wide].sum() * self.samples.n / self.total > GATHER:
            ranges = self._refine(ranges)
        values, masses = self._gather(ranges)
        at_edges = np.empty((3, self.m - 1))
        for j, i in enumerate(ranges.indices_of(self.sought)):
            low, high, below = ranges.low[i], ranges.high[i], ranges.below[i]
            if high - low == 1:  # a single value: nothing to sort
                at_edges[:, j] = float(low.view(np.float64)), below, ranges.mass[i]
            else:
                a, b = np.searchsorted(_bits(values), (low, high))
                inside = below + np.cumsum(masses[a:b])
                s = min(int(np.searchsorted(inside, self.sought[j])), b - a - 1)
                at_edges[:, j] = values[a + s], inside[s] - masses[a + s], masses[a + s]
        return edges_at(at_edges[0], at_edges[1], at_edges[2], self.total, self.m)

    def _read(
        self,
        new_state: Callable[[], State],
        add: Callable[[State, int, NDArray[Any], Array | None], None],
    ) -> list[State]:
        """Pass over the predictions once, and return the final state of each lane (a run of rows).
        A lane begins with a `new_state`, to which `add` adds each block: first row, predictions,
        weights.
        """

        def work(spans: list[Span]) -> State:
            """The state of a lane after all of its blocks, each (first row, end)."""
            state = new_state()
            for start, u, _, w in scalar_blocks(self.samples, self.notion, spans, new_status()):
                add(state, start, u, w)
            return state

        rows = usual_block(self.samples)
        return in_lanes(self.samples.n, self.samples.n_columns, rows, work)

    def _cells_with_sought_ranks(self) -> _Ranges:
        """The cells, of equal width in [0, 1], that contain a rank at which a bin ends; one pass
        finds the weight of every cell.
        """

        def add(mass: Array, start: int, u: NDArray[Any], w: Array | None) -> None:
            """Add the weights of a block's predictions to their cells."""
            status = new_status()
            self.kernels.add_cells(mass, u, w, status)
            raise_bad(status, start)

        mass = np.sum(self._read(lambda: np.zeros(N_CELLS + 1), add), axis=0)
        through = np.cumsum(mass)
        self.total = float(through[-1])
        if not self.total > 0:
            raise InputError(NO_WEIGHT)
        self.sought = np.arange(1, self.m) * self.total / self.m
        ends = _bits(np.append(np.arange(N_CELLS + 1) / N_CELLS, np.nextafter(1.0, 2.0)))
        hit = np.unique(_nonempty_at_or_after(mass, np.searchsorted(through, self.sought)))
        self.wanted[hit] = 1
        return _Ranges(ends[hit], ends[hit + 1], (through - mass)[hit], mass[hit])

    def _refine(self, ranges: _Ranges) -> _Ranges:
        """Narrower ranges: the parts of the `ranges` that contain a rank at which a bin ends, from
        one more pass.
        """
        n_sub = max(64, 1 << ((1 << 16) // self.m).bit_length() - 1)
        width = (ranges.high - ranges.low).astype(np.float64)
        shift = np.maximum(0, np.ceil(np.log2(width / n_sub))).astype(np.int32)
        shape = (ranges.low.size, n_sub + 1)

        def empty_parts() -> tuple[NDArray[Any], ...]:
            """The weight, the smallest and the largest bits of each part of a range, of no rows."""
            smallest, largest = np.full(shape, np.uint64(2**64 - 1)), np.zeros(shape, np.uint64)
            return np.zeros(shape), smallest, largest

        def add(
            parts: tuple[NDArray[Any], ...], _start: int, u: NDArray[Any], w: Array | None
        ) -> None:
            """Add the weights of a block's predictions to their parts of ranges."""
            self.kernels.add_subcells(*parts, u, w, self.wanted, ranges.low, ranges.high, shift)

        masses, least, most = zip(*self._read(empty_parts, add), strict=True)
        mass = np.sum(masses, axis=0)
        smallest, largest = np.min(least, axis=0), np.max(most, axis=0)
        through = ranges.below[:, None] + np.cumsum(mass, axis=1)
        pairs = {
            (int(i), int(_nonempty_at_or_after(mass[i], np.searchsorted(through[i], s))))
            for i, s in zip(ranges.indices_of(self.sought), self.sought, strict=True)
        }
        at, sub = np.array(sorted(pairs)).T
        # The smallest and largest bits seen bound the new range; equal ones are a single value.
        return _Ranges(
            smallest[at, sub],
            largest[at, sub] + np.uint64(1),
            through[at, sub] - mass[at, sub],
            mass[at, sub],
        )

    def _gather(self, ranges: _Ranges) -> tuple[Array, Array]:
        """The distinct predictions within the ranges that hold more than one value, in order, and
        the weight of each.
        """
        low, high = ranges.low[ranges.are_wide], ranges.high[ranges.are_wide]
        if low.size == 0:
            return np.empty(0), np.empty(0)

        def add(parts: list[Array], _start: int, u: NDArray[Any], w: Array | None) -> None:
            """Append the predictions of a block that lie within the ranges, with their weights."""
            both = np.empty((2, u.size))
            n_gathered = self.kernels.gather(both[0], both[1], u, w, self.wanted, low, high)
            parts.append(both[:, :n_gathered].copy())

        parts = [part for lane in self._read(list[Array], add) for part in lane]
        values, weights = np.concatenate(parts, axis=1)
        return distinct(values, None if self.samples.weights is None else weights)
