"""Rows of tensors pooled by cell, label and cluster on their device: what intervals of soft or
clustered rows, and differences of two predictors, are computed from.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from calibrant._core.binning import Cuts
from calibrant._data.samples import Notion
from calibrant._data.tensor_samples import TensorSamples
from calibrant._engines.cells import (
    BLOCKS,
    HALF,
    LABELS,
    MOST_GROUPS,
    Cells,
    PooledColumns,
    pooled_groups,
)
from calibrant._engines.tensors.blocks import Scalars, edges_of
from calibrant._engines.tensors.columns import column
from calibrant._engines.tensors.sums import BinSums
from calibrant._engines.tensors.tally import Tally, resolved


def pooled_columns(
    samples: TensorSamples, notion: Notion, cells: Cells, clusters: Tensor | None
) -> PooledColumns:
    """The rows of the binary or the confidence problem, pooled where they have the same cell,
    nearly the same label and the same cluster. `clusters` has the number of each row's cluster,
    None for independent rows.
    """
    tally = Tally(samples.place)
    rows = column(samples, notion, tally)
    cell = torch.bucketize(
        rows.u, edges_of(cells.cuts(samples.precision), samples.place), right=True
    )
    return _pooled([rows], [cell, _label_cell(rows)], clusters, tally)[0]


def joint_columns(
    first: TensorSamples,
    second: TensorSamples,
    notion: Notion,
    cuts: tuple[Sequence[Cuts], Sequence[Cuts]],
    clusters: Tensor | None,
) -> tuple[PooledColumns, PooledColumns]:
    """The same rows of two predictors, pooled where both have the same cell, nearly the same label
    and the same cluster: the sums of each predictor, in the same order. `cuts` has the edges that
    each predictor's cells shall not reach over.
    """
    tally, place = Tally(first.place), first.place
    rows = [column(each, notion, tally) for each in (first, second)]
    keys = [_coarse_cell(each.u, own, place) for each, own in zip(rows, cuts, strict=True)]
    ours, theirs = _pooled(rows, [*keys, *map(_label_cell, rows)], clusters, tally)
    return ours, theirs


def _label_cell(rows: Scalars) -> Tensor:
    """The cell of each row's label: labels of one cell are nearly the same."""
    return (rows.z * LABELS).long()


def _coarse_cell(u: Tensor, cuts: Sequence[Cuts], place: torch.device) -> Tensor:
    """A number that steps at all cuts and at the edges of coarse cells, as the prediction grows."""
    below, above = ((each * HALF * HALF).sqrt().floor() for each in (u, 1.0 - u))
    cell = torch.where(u < 0.5, below, 2.0 * HALF - above).long()
    for each in cuts:
        cell += torch.bucketize(u, edges_of(each, place), right=True)
    return cell


def _pooled(
    rows: Sequence[Scalars], keys: Sequence[Tensor], clusters: Tensor | None, tally: Tally
) -> list[PooledColumns]:
    """The pooled columns of each predictor's rows, for the groups of rows in which all `keys` and
    the clusters are the same.
    """
    key, m = _numbered(keys)
    if clusters is not None:
        together, m = _numbered((key, clusters))
        if m > MOST_GROUPS and int(clusters.max()) >= BLOCKS:
            clusters = _blocks_of(clusters)
            together, m = _numbered((key, clusters))
        key = together
    tensors = []
    for each in rows:
        sums = BinSums(m, key.device, weighted=each.w is not None, squares=False)
        sums.add(key, each)
        tensors += [sums.result(), _extremes(each.u, key, m)]
    numbers = key.new_zeros(m).double()
    if clusters is not None:
        numbers[key] = clusters.double()
    _, (names, *arrays) = resolved(tally, numbers, *tensors)
    of_groups = None if clusters is None else names.astype(np.int64)
    return [
        pooled_groups(sums[:, :3].T, ends, sums[:, 3:5], of_groups)
        for sums, ends in zip(arrays[::2], arrays[1::2], strict=True)
    ]


def _numbered(keys: Sequence[Tensor]) -> tuple[Tensor, int]:
    """The number of each row's group, in which all keys are the same, and how many groups there
    are.
    """
    key = torch.zeros_like(keys[0])
    for part in keys:
        # Numbered anew after each part, so that numbers stay below rows times the next part's.
        key = torch.unique(key * (part.max() + 1) + part, return_inverse=True)[1]
    return key, int(key.max()) + 1


def _blocks_of(clusters: Tensor) -> Tensor:
    """The number of the block that each row's cluster is put into, at random: clusters with numbers
    in a row may be alike.
    """
    order = torch.randperm(int(clusters.max()) + 1, generator=torch.Generator().manual_seed(0))
    return (order % BLOCKS).to(clusters.device)[clusters]


def _extremes(u: Tensor, key: Tensor, m: int) -> Tensor:
    """The smallest and the largest prediction of each of m groups, (2, m)."""
    ends = u.new_zeros((2, m))
    for out, which in zip(ends, ("amin", "amax"), strict=True):
        out.scatter_reduce_(0, key, u, which, include_self=False)
    return ends
