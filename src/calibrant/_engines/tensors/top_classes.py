"""The top label's problem given its class, in tensors; `arrays.top_classes` describes it."""

from __future__ import annotations

import torch
from torch import Tensor

from calibrant._core.bin_tables import FIELDS, BinTable
from calibrant._core.binning import Cuts, LevelSets, Quantile, Rule, fixed_cuts
from calibrant._core.errors import NO_WEIGHT, InputError
from calibrant._core.given_cells import Cells
from calibrant._core.typing import Array
from calibrant._data.tensor_samples import TensorSamples
from calibrant._engines.arrays import engine as arrays
from calibrant._engines.arrays.counting import without_dropped
from calibrant._engines.protocol import Findings
from calibrant._engines.tensors.blocks import Rows, Scalars, edges_of, row_blocks
from calibrant._engines.tensors.columns import column
from calibrant._engines.tensors.quantiles import bins_by_rank, quantile_edges
from calibrant._engines.tensors.sums import BinSums
from calibrant._engines.tensors.tally import Tally, resolved


def top_class_table(samples: TensorSamples, rule: Rule) -> tuple[BinTable, Findings]:
    """The table of the confidence problem with the rows of each predicted class as a class of the
    table, and the findings. All classes share the bins of the confidence.
    """
    if isinstance(rule, Cells):
        return arrays.top_class_table(samples.in_memory(), rule)
    if isinstance(rule, LevelSets | Quantile):
        if samples.n == 0:
            raise InputError(NO_WEIGHT)
        if isinstance(rule, LevelSets) or rule.ties == "rank":
            return _sorted_table(samples, rule)
        whole = column(samples, "confidence", Tally(samples.place))
        edges = quantile_edges(whole.u[None], whole.w, rule.m)[0]
    else:
        edges = edges_of(fixed_cuts(rule, samples.precision), samples.place)
    sums, findings = _sums(samples, edges)
    return without_dropped(sums, rule, True), findings


def top_class_sums(samples: TensorSamples, cuts: Cuts) -> tuple[Array, Findings]:
    """The bin sums of the rows of each predicted class, (classes, bins, fields), in bins of the
    confidence between the cuts, and the findings.
    """
    return _sums(samples, edges_of(cuts, samples.place))


def _sums(samples: TensorSamples, edges: Tensor) -> tuple[Array, Findings]:
    """The bin sums of the rows of each predicted class, (classes, bins, fields), in bins of the
    confidence between the inner edges, and the findings.
    """
    m, tally = edges.numel() + 1, Tally(samples.place)
    sums = BinSums(samples.n_classes * m, samples.place, weighted=samples.weighted)
    for rows in row_blocks(samples, tally):
        top, block = _top_class(rows)
        sums.add(top * m + torch.bucketize(block.u, edges, right=True), block)
    findings, (out,) = resolved(tally, sums.result())
    return out.reshape(samples.n_classes, m, len(FIELDS)), findings


def _top_class(rows: Rows) -> tuple[Tensor, Scalars]:
    """The predicted class of each row (the lowest of equals), and the scalar problem of its
    probability.
    """
    return rows.p.max(dim=1).indices, rows.top_label()  # the first of equals


def _sorted_table(samples: TensorSamples, rule: Quantile | LevelSets) -> tuple[BinTable, Findings]:
    """The table of `top_class_table` for bins by rank, or with one bin for each pair of predicted
    class and distinct confidence, and the findings. The top labels of all rows are on the device at
    once.
    """
    tally = Tally(samples.place)
    tops, blocks = zip(*(_top_class(rows) for rows in row_blocks(samples, tally)), strict=True)
    top = torch.cat(tops)
    u = torch.cat([block.u for block in blocks])
    z = torch.cat([block.z for block in blocks])
    w = None if not samples.weighted else torch.cat([block.w for block in blocks])
    if isinstance(rule, LevelSets):
        pairs = torch.stack([top.double(), u], dim=1)
        distinct, index = torch.unique(pairs, dim=0, return_inverse=True)
        classes, m = 1, len(distinct)
    else:
        classes, m = samples.n_classes, rule.m
        index = top * m + bins_by_rank(u, w, m)
    sums = BinSums(classes * m, samples.place, weighted=w is not None)
    sums.add(index, Scalars(u, z, w))
    findings, (out,) = resolved(tally, sums.result())
    return BinTable(out.reshape(classes, m, len(FIELDS))), findings
