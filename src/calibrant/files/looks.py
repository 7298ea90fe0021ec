"""Exact quantile bins of files: they are read again, and the few rows at a bin's edge looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.engines.cells import Cells
from calibrant.engines.numpy_kernels import sums_by_index
from calibrant.engines.passes import scalar_blocks
from calibrant.engines.protocol import new_status
from calibrant.engines.refine import exact_quantile_bins
from calibrant.engines.selection import kernels
from calibrant.files.passes import over_pieces
from calibrant.inputs.readers.batches import Batch
from calibrant.inputs.readers.source import FileRows
from calibrant.samples.samples import Notion, Samples
from calibrant.show.progress import RowProgress
from calibrant.statistics.bins import FIELDS, BinTable

Floats = NDArray[np.float64]
ToSamples = Callable[[Batch], Samples]
# The quantile bins of a notion, given the sums of its cells.
ExactBins = Callable[[Notion, Floats], BinTable]

# Cells of [0, 1] that tell at once which rows are worth a look.
N_CELLS = 1 << 14
# Groups that are held: more are put together, and spans are cut into fewer parts.
GROUPS = 1 << 16


@dataclass(frozen=True, eq=False)
class Groups:
    """Rows put together by a key: smallest and largest report, and sums, in order of the keys."""

    keys: Floats
    low: Floats
    high: Floats
    sums: Floats

    @property
    def size(self) -> int:
        return int(self.keys.size)


def exact_in(
    rows: FileRows,
    cells: Cells,
    precision: np.dtype[Any],
    samples_of: ToSamples,
    show: bool | None,
) -> ExactBins:
    """A way to exact quantile bins, given the sums of cells that a first pass has made."""

    def exact(notion: Notion, sums: Floats) -> BinTable:
        def look(low: Floats, high: Floats, parts: int | None) -> tuple[Floats, Floats, Floats]:
            rows.refuse_changed()
            fewer = None if parts is None else max(2, min(parts, GROUPS // low.size))
            spans = Spans(low, high, fewer)
            found = [nothing()]
            with RowProgress(rows.n_bytes, show=show, label="a closer look") as progress:

                def work(batches: Iterator[Batch]) -> Groups:
                    return spans.grouped(batches, samples_of, notion)

                for part in over_pieces(rows, work, progress):
                    found = [together([*found, part])]
            rows.refuse_changed()
            return found[0].low, found[0].high, found[0].sums

        return exact_quantile_bins(sums, cells.cuts(precision), cells.rule.m, look)

    return exact


@dataclass(frozen=True, eq=False)
class Spans:
    """Ranges of reports, in order and apart, each to be cut into parts, or row by row."""

    low: Floats
    high: Floats
    parts: int | None

    def grouped(self, batches: Iterator[Batch], samples_of: ToSamples, notion: Notion) -> Groups:
        """The rows within, group by group."""
        wanted = np.zeros(N_CELLS + 1, dtype=np.bool_)
        for low, high in zip(self.low, self.high, strict=True):
            wanted[int(low * N_CELLS) : int(high * N_CELLS) + 1] = True
        found = [nothing()]
        for batch in batches:
            if not batch.n:
                continue
            samples = samples_of(batch)
            status = new_status()
            with batch.explained(samples):
                whole = [(0, samples.n)]
                for _, u, z, w in scalar_blocks(samples, notion, whole, kernels(), status):
                    u = np.clip(u, 0, 1)
                    # Rows were checked before. If the file has changed since, that will be told.
                    near = np.flatnonzero(wanted.take((u * N_CELLS).astype(np.intp), mode="clip"))
                    found.append(
                        self._group(
                            u[near].astype(np.float64),
                            np.clip(z[near].astype(np.float64), 0.0, 1.0),
                            None if w is None else w[near],
                        )
                    )
            if sum(groups.size for groups in found) > 2 * GROUPS:
                found = [together(found)]
        return together(found)

    def _group(self, u: Floats, z: Floats, w: Floats | None) -> Groups:
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
            return nothing()
        order = np.argsort(index, kind="stable")
        firsts = np.searchsorted(index[order], np.arange(known.size))
        return Groups(
            known,
            np.minimum.reduceat(u[order], firsts),
            np.maximum.reduceat(u[order], firsts),
            sums_by_index(index, known.size, u, z, w),
        )


def nothing() -> Groups:
    """No groups."""
    return Groups(np.empty(0), np.empty(0), np.empty(0), np.empty((0, len(FIELDS))))


def together(parts: list[Groups]) -> Groups:
    """Groups of one key put together."""
    keys = np.concatenate([part.keys for part in parts])
    if keys.size == 0 or len(parts) == 1:
        return parts[0]
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    firsts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    low, high, sums = (
        np.concatenate([getattr(part, name) for part in parts])[order]
        for name in ("low", "high", "sums")
    )
    return Groups(
        keys[firsts],
        np.minimum.reduceat(low, firsts),
        np.maximum.reduceat(high, firsts),
        np.add.reduceat(sums, firsts, axis=0),
    )
