"""The rows of files pooled by cell, label and cluster, in one more reading: what intervals of soft
labels and clusters are computed from.

The table has a group for each cluster, cell of predictions and label that occur together. That is
all that is kept: rows of one cluster may stand anywhere in the files. Where groups are too many,
clusters are put together into blocks, so that memory does not grow with the rows. Clusters do not
depend on each other, so neither do blocks of whole clusters, and intervals resample as many.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError, counted
from calibrant._core.messages import setting
from calibrant._core.progress import RowProgress
from calibrant._core.typing import Array, Index, Mask
from calibrant._data.readers.batches import Batch
from calibrant._data.readers.columns import ReadRequest
from calibrant._data.readers.passes import over_pieces
from calibrant._data.readers.source import file_rows
from calibrant._data.samples import Notion, Samples
from calibrant._data.slice_names import key_of
from calibrant._engines.arrays.passes import whole_problem
from calibrant._engines.cells import BLOCKS, LABELS, MOST_GROUPS, Cells, PooledColumns
from calibrant._inference.blocks import as_groups
from calibrant._inference.pooled_rows import PooledRows

# The number of groups of batches from which on they are merged.
PENDING = 1 << 20
# The block of a cluster follows from its name, so it is the same in every part of the files.
_NAMES_OF_BLOCKS = np.array([f"block {j:03}" for j in range(BLOCKS)])
# The number of bits of a cell and a label in a key, and how each of a group's sums is added up.
KEY_BITS = 32
_REDUCTIONS: tuple[np.ufunc, ...] = (*[np.add] * 5, np.minimum, np.maximum)


@dataclass(frozen=True, eq=False)
class Pool:
    """Sums of rows with one cluster, cell and label, an entry a group.

    `names` are the clusters' names in order, `cluster` the number of each group's. `key` is the
    number of its cell and label. `sums`, (7, groups), are those of 1, of weights and their squares,
    of weight times prediction and weight times label, and the smallest and largest prediction. If
    `blocks`, the names are those of blocks of clusters.
    """

    names: NDArray[np.str_]
    cluster: Index
    key: Index
    sums: Array
    blocks: bool = False

    @classmethod
    def merged(cls, pools: Sequence[Pool]) -> Pool:
        """The sums of all rows of some pools, in blocks of clusters if groups are too many.

        Whether there are blocks depends on all rows alone: no part of them has more groups.
        """
        blocks = any(pool.blocks for pool in pools)
        out = cls._merged([pool.in_blocks() for pool in pools] if blocks else pools, blocks)
        return out.in_blocks() if out.key.size > MOST_GROUPS and out.names.size > BLOCKS else out

    @classmethod
    def _merged(cls, pools: Sequence[Pool], blocks: bool) -> Pool:
        """The sums of all rows of some pools, all or none of which are in blocks."""
        known = [pool.names for pool in pools]
        names, at = np.unique(np.concatenate(known), return_inverse=True)
        starts = np.cumsum([0, *(each.size for each in known)])
        cluster = np.concatenate(
            [at[start + pool.cluster] for start, pool in zip(starts, pools, strict=False)]
        )
        key = np.concatenate([pool.key for pool in pools])
        return cls(names, *_summed(cluster, key, [pool.sums for pool in pools]), blocks)

    def in_blocks(self) -> Pool:
        """The same rows, with their clusters grouped into blocks by their names."""
        if self.blocks:
            return self
        block = blocks_of_names(self.names)[self.cluster]
        return Pool(_NAMES_OF_BLOCKS, *_summed(block, self.key, [self.sums]), True)

    def absorb(self, cluster: Index, key: Index, sums: Array) -> Mask:
        """Add rows to the groups that they belong to, in place. True in the mask, (n,), are those
        that have no group yet, which are not added.
        """
        joint = _joint_key(cluster, key)
        # Places of ordered keys are found many times faster.
        order = np.argsort(joint)
        known = _joint_key(self.cluster, self.key)
        at = np.empty_like(order)
        at[order] = np.searchsorted(known, joint[order]).clip(max=known.size - 1)
        new: Mask = known[at] != joint
        for reduction, total, values in zip(_REDUCTIONS, self.sums, sums, strict=True):
            reduction.at(total, at[~new], values[~new])
        return new

    def columns(self, *, hard: bool, clustered: bool) -> PooledColumns:
        """The groups as pooled columns; equal predictions stay equal in groups of other labels."""
        n, w, w2, wu, wz, low, high = self.sums[:, self.sums[1] > 0]
        clusters = self.cluster[self.sums[1] > 0] if clustered else None
        u = np.where(low == high, low, wu / w)
        return PooledColumns(n, w, w2, u, wz / w, clusters=clusters, hard=hard)


def blocks_of_names(names: NDArray[np.str_]) -> Index:
    """The number of the block of each of these clusters."""
    mixed = np.array([crc32(name.encode()) for name in names.tolist()], dtype=np.uint32)
    # Checksums of names that are alike, as numbers in a row, are not as good as random.
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        mixed = (mixed ^ (mixed >> np.uint32(shift))) * np.uint32(factor)
    return (mixed % np.uint32(BLOCKS)).astype(np.intp)


def _joint_key(cluster: Index, key: Index) -> Index:
    """One number for each pair of a cluster and a key, in the order of pairs."""
    return (cluster << KEY_BITS) | key


def _summed(cluster: Index, key: Index, parts: Sequence[Array]) -> tuple[Index, Index, Array]:
    """Groups with equal cluster and key, each once, in order, with their sums added up. `parts` are
    the sums of parts of the groups, (7, groups) each.
    """
    joint = _joint_key(cluster, key)
    # Several ordered runs, as pools are, are merged faster than two keys are sorted.
    order = np.argsort(joint, kind="stable")
    joint = joint[order]
    first = np.ones(joint.size, dtype=bool)
    first[1:] = joint[1:] != joint[:-1]
    starts = np.flatnonzero(first)
    out = np.empty((len(_REDUCTIONS), starts.size))
    # Row by row: a copy of all sums would take as much memory again.
    for j, reduction in enumerate(_REDUCTIONS):
        row = parts[0][j] if len(parts) == 1 else np.concatenate([part[j] for part in parts])
        out[j] = reduction.reduceat(row[order], starts)
    return cluster[order[starts]], key[order[starts]], out


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
                        own = self._add(own, batch, samples)
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
            raise InputError(
                "groups must hold at least two groups: a single group cannot be resampled"
            )
        return PooledRows.from_columns(columns, groups)

    def _add(self, pools: list[Pool], batch: Batch, samples: Samples) -> list[Pool]:
        """The pools with the rows of one batch; the first pool is added to in place."""
        u, z, w, _ = whole_problem(samples, self.notion)
        w = np.ones(u.size) if w is None else w
        cell = self.cells.cuts(samples.precision).find(u)
        key = cell * (LABELS + 1) + (z * LABELS).astype(np.intp)
        names, cluster = np.array([""]), np.zeros(u.size, dtype=np.intp)
        if self.clusters is not None:
            names, cluster = self._clusters(batch)
        sums = np.stack([np.ones(u.size), w, w * w, w * u, w * z, u, u])
        blocks = bool(pools) and pools[0].blocks
        if blocks:
            names, cluster = _NAMES_OF_BLOCKS, blocks_of_names(names)[cluster]
            new = pools[0].absorb(cluster, key, sums)
            cluster, key, sums = cluster[new], key[new], sums[:, new]
        return _merge_if_many([*pools, Pool(names, *_summed(cluster, key, [sums]), blocks)])

    def _clusters(self, batch: Batch) -> tuple[NDArray[np.str_], Index]:
        """The names of a batch's clusters in order, and the number of each row's."""
        (column,) = batch.by
        texts = [key_of([name])[0] for name in column.known]
        missing = np.array([text is None for text in texts], dtype=bool)[column.codes]
        if missing.any():
            row = batch.chunk.location.row(int(np.argmax(missing)))
            raise InputError(
                f"{row}: {setting('groups', self.clusters)} is missing in "
                f"{counted(int(missing.sum()), 'row', '')}: every row needs a cluster. Give a row "
                "without one a cluster of its own"
            )
        names, at = np.unique(np.array(texts, dtype=np.str_), return_inverse=True)
        return names, at.astype(np.intp)[column.codes]


def _merge_if_many(pools: list[Pool]) -> list[Pool]:
    """The pools, merged into one if their groups are many."""
    newer = sum(pool.key.size for pool in pools[1:])
    return [Pool.merged(pools)] if newer > max(PENDING, pools[0].key.size) else pools
