"""The rows of files pooled by cell, label and cluster, in one more reading: what intervals of soft
labels and clusters are computed from.

The table has a group for each cluster, cell of predictions and label that occur together. That is
all that is kept: rows of one cluster may stand anywhere in the files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError, counted
from calibrant._core.messages import setting
from calibrant._core.progress import RowProgress
from calibrant._core.typing import Array, Index
from calibrant._data.readers.batches import Batch
from calibrant._data.readers.columns import ReadRequest
from calibrant._data.readers.passes import over_pieces
from calibrant._data.readers.source import file_rows
from calibrant._data.samples import Notion, Samples
from calibrant._data.slice_names import key_of
from calibrant._engines.arrays.passes import whole_problem
from calibrant._engines.cells import LABELS, Cells, PooledColumns
from calibrant._inference.blocks import as_groups
from calibrant._inference.pooled_rows import PooledRows

# Groups of batches are merged whenever so many are pending.
PENDING = 1 << 20


@dataclass(frozen=True, eq=False)
class Pool:
    """Sums of rows with one cluster, cell and label, an entry a group.

    `names` are the clusters' names in order, `cluster` the number of each group's. `key` is the
    number of its cell and label. `sums`, (7, groups), are those of 1, of weights and their squares,
    of weight times prediction and weight times label, and the smallest and largest prediction.
    """

    names: NDArray[np.str_]
    cluster: Index
    key: Index
    sums: Array

    @classmethod
    def merged(cls, pools: Sequence[Pool]) -> Pool:
        """The sums of all rows of some pools."""
        known = [pool.names for pool in pools]
        names, at = np.unique(np.concatenate(known), return_inverse=True)
        starts = np.cumsum([0, *(each.size for each in known)])
        cluster = np.concatenate(
            [at[start + pool.cluster] for start, pool in zip(starts, pools, strict=False)]
        )
        key = np.concatenate([pool.key for pool in pools])
        return cls(names, *_summed(cluster, key, np.concatenate([p.sums for p in pools], axis=1)))

    def columns(self, *, hard: bool, clustered: bool) -> PooledColumns:
        """The groups as pooled columns; equal predictions stay equal in groups of other labels."""
        n, w, w2, wu, wz, low, high = self.sums[:, self.sums[1] > 0]
        clusters = self.cluster[self.sums[1] > 0] if clustered else None
        u = np.where(low == high, low, wu / w)
        return PooledColumns(n, w, w2, u, wz / w, clusters=clusters, hard=hard)


def _summed(cluster: Index, key: Index, sums: Array) -> tuple[Index, Index, Array]:
    """Groups with equal cluster and key, each once, in order, with their sums added up."""
    order = np.lexsort((key, cluster))
    cluster, key, sums = cluster[order], key[order], sums[:, order]
    first = np.ones(key.size, dtype=bool)
    first[1:] = (cluster[1:] != cluster[:-1]) | (key[1:] != key[:-1])
    starts = np.flatnonzero(first)
    out = np.empty((len(sums), starts.size))
    ways = (*[np.add] * (len(sums) - 2), np.minimum, np.maximum)
    for row, values, way in zip(out, sums, ways, strict=True):
        row[:] = way.reduceat(values, starts)
    return cluster[starts], key[starts], out


@dataclass(frozen=True, eq=False)
class PoolPass:
    """One reading of files that pools their rows: the cells, the scalar problem, and the column
    that names the cluster of each row (None for independent rows).
    """

    request: ReadRequest
    cells: Cells
    notion: Notion
    clusters: str | None
    hard: bool
    progress: bool | None

    def rows(self) -> PooledRows:
        """The pooled rows of the files."""
        rows = file_rows(replace(self.request, by=self.clusters))
        rows.check_unchanged()
        pools: list[Pool] = []
        with RowProgress(rows.n_bytes, show=self.progress, label="pooling rows") as shown:

            def pool_batches(batches: Iterator[Batch]) -> Pool | None:
                """The pooled rows of some batches; None if these have no rows."""
                own: list[Pool] = []
                for batch in batches:
                    if batch.n:
                        samples = batch.samples(self.request.from_logits, rows.chosen.class_names)
                        own = _merge_if_many([*own, self._pool(batch, samples)])
                return Pool.merged(own) if own else None

            for pool in over_pieces(rows, pool_batches, shown):
                if pool is not None:
                    pools = _merge_if_many([*pools, pool])
        rows.check_unchanged()
        clustered = self.clusters is not None
        columns = Pool.merged(pools).columns(hard=self.hard, clustered=clustered)
        if not clustered:
            return PooledRows.from_columns(columns)
        groups = as_groups(columns.clusters, columns.n.size)
        if int(groups.max()) < 1:
            raise InputError("groups must hold at least two groups: one alone cannot be resampled")
        return PooledRows.from_columns(columns, groups)

    def _pool(self, batch: Batch, samples: Samples) -> Pool:
        """The pooled rows of one batch."""
        u, z, w, _ = whole_problem(samples, self.notion)
        w = np.ones(u.size) if w is None else w
        cell = self.cells.cuts(samples.precision).find(u)
        key = cell * (LABELS + 1) + (z * LABELS).astype(np.intp)
        names, cluster = np.array([""]), np.zeros(u.size, dtype=np.intp)
        if self.clusters is not None:
            names, cluster = self._clusters(batch)
        sums = np.stack([np.ones(u.size), w, w * w, w * u, w * z, u, u])
        return Pool(names, *_summed(cluster, key, sums))

    def _clusters(self, batch: Batch) -> tuple[NDArray[np.str_], Index]:
        """The names of a batch's clusters in order, and the number of each row's."""
        (column,) = batch.by
        texts = [key_of([name])[0] for name in column.known]
        missing = np.array([text is None for text in texts], dtype=bool)[column.codes]
        if missing.any():
            row = batch.chunk.location.row(int(np.argmax(missing)))
            raise InputError(
                f"{row}: {setting('groups', self.clusters)} is missing in "
                f"{counted(int(missing.sum()), 'row', '')} there: every row needs a cluster; its "
                "own if it belongs to none"
            )
        names, at = np.unique(np.array(texts, dtype=np.str_), return_inverse=True)
        return names, at.astype(np.intp)[column.codes]


def _merge_if_many(pools: list[Pool]) -> list[Pool]:
    """The pools, merged into one if their groups are many."""
    newer = sum(pool.key.size for pool in pools[1:])
    return [Pool.merged(pools)] if newer > max(PENDING, pools[0].key.size) else pools
