"""One read of (n, k) predictions: top label, every class against the rest, and losses."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from calibrant._core.bin_tables import FIELDS
from calibrant._core.binning import Cuts
from calibrant._core.loss_sums import FIELDS as LOSS_FIELDS
from calibrant._core.loss_sums import N_PROPER
from calibrant._data.links import LOG_FLOOR
from calibrant._data.tensor_samples import TensorSamples
from calibrant._engines.arrays.passes import MatrixSums
from calibrant._engines.protocol import N_LOG_CLIPPED, Findings
from calibrant._engines.tensors.blocks import Rows, Scalars, edges_of, row_blocks
from calibrant._engines.tensors.choice import has_kernels
from calibrant._engines.tensors.sums import BinSums
from calibrant._engines.tensors.tally import Tally, resolved

_findings: WeakKeyDictionary[TensorSamples, Findings] = WeakKeyDictionary()


def matrix_sums(
    samples: TensorSamples,
    *,
    classwise: Cuts | None = None,
    confidence: Cuts | None = None,
    losses: bool = False,
    squares: bool = True,
) -> MatrixSums:
    """The requested sums of (n, k) predictions, from one read; the others are None.

    `classwise` and `confidence` are the cuts between the bins of every class against the rest, and
    of the top label. On a CUDA device the squares of the classes' predictions may be left out
    (NaN).
    """
    return row_pass(samples, classwise, confidence, losses)


def row_pass(
    samples: TensorSamples, classwise: Cuts | None, confidence: Cuts | None, losses: bool
) -> MatrixSums:
    """The requested sums of (n, k) predictions (see `matrix_sums`), from one read; they come to the
    host in one transfer.

    On a CUDA device with Triton, half and single precision are read by fused kernels, unless
    CALIBRANT_FUSED is 0.
    """
    if has_kernels(samples.predictions):
        from calibrant._engines.tensors import fused

        if fused.can_read(samples, classwise):
            return fused.row_pass(samples, classwise, confidence, losses)
    return plain_row_pass(samples, classwise, confidence, losses)


def row_findings(samples: TensorSamples) -> Findings:
    """The findings of a read of (n, k) predictions, kept for as long as the samples live: whoever
    takes rows apart needs them checked once.
    """
    if samples not in _findings:
        _findings[samples] = row_pass(samples, None, None, False).findings
    return _findings[samples]


def plain_row_pass(
    samples: TensorSamples, classwise: Cuts | None, confidence: Cuts | None, losses: bool
) -> MatrixSums:
    """The same sums as `row_pass`, read in plain torch, in blocks of float64."""
    place, k = samples.place, samples.n_classes
    tally = Tally(place)
    by_class = _ClasswiseSums(samples, classwise) if classwise is not None else None
    top_sums = top_edges = None
    if confidence is not None:
        top_sums = BinSums(confidence.m, place, weighted=samples.weighted)
        top_edges = edges_of(confidence, place)
    loss = torch.zeros(len(LOSS_FIELDS), dtype=torch.float64, device=place)
    for rows in row_blocks(samples, tally):
        top = rows.top_label()
        if top_sums is not None and top_edges is not None:
            top_sums.add(torch.bucketize(top.u, top_edges, right=True), top)
        if losses:
            loss[:N_PROPER] += row_losses(rows, top, tally)
        if by_class is not None:
            by_class.add(rows)
    sums = [loss]
    sums += [top_sums.result()] if top_sums is not None else []
    sums += [by_class.sums.result()] if by_class is not None else []
    findings, arrays = resolved(tally, *sums)
    table = None
    if classwise is not None:
        table = arrays.pop().reshape(k, classwise.m, len(FIELDS))
    bins = arrays.pop() if confidence is not None else None
    return MatrixSums(table, bins, arrays.pop() if losses else None, findings)


class _ClasswiseSums:
    """Sums of every class against the rest in the bins between the cuts, added up block by block.
    With hard labels only the label's own entry adds a target.
    """

    def __init__(self, samples: TensorSamples, cuts: Cuts) -> None:
        k, place = samples.n_classes, samples.place
        self.m, self.edges = cuts.m, edges_of(cuts, place)
        self.sums = BinSums(k * cuts.m, place, weighted=samples.weighted)
        self.first = cuts.m * torch.arange(k, device=place)

    def add(self, rows: Rows) -> None:
        """Add the rows of a block."""
        p, w = rows.p, rows.w
        cells = torch.bucketize(p, self.edges, right=True) + self.first
        flat = cells.reshape(-1)
        by_entry = None if w is None else w[:, None].expand_as(p).reshape(-1)
        self.sums.add_predictions(flat, p.reshape(-1), by_entry)
        if rows.label is not None:
            own = rows.label[:, None]
            u = p.gather(1, own)[:, 0]
            self.sums.add_targets(cells.gather(1, own)[:, 0], u, torch.ones_like(u), w)
        else:
            assert rows.q is not None
            self.sums.add_targets(flat, p.reshape(-1), rows.q.reshape(-1), by_entry)


def row_losses(rows: Rows, top: Scalars, tally: Tally) -> Tensor:
    """The sums of the proper losses of a block, in the order of `loss_sums.FIELDS` up to N_PROPER.
    `top` is the block's confidence problem; the tally counts clipped logarithms.
    """
    p, w = rows.p, rows.w
    squared_norm = (p * p).sum(dim=1)
    if rows.label is not None:
        own = rows.label[:, None]
        at_label = p.gather(1, own)
        residual = p.scatter(1, own, at_label - 1.0)
        at_label = at_label[:, 0]
        log = -at_label.clamp(min=LOG_FLOOR).log()
        product = at_label
        tally.count(N_LOG_CLIPPED, at_label < LOG_FLOOR)
    else:
        assert rows.q is not None
        residual = p - rows.q
        log = -(rows.q * p.clamp(min=LOG_FLOOR).log()).sum(dim=1)
        product = (p * rows.q).sum(dim=1)
        tally.count(N_LOG_CLIPPED, (p < LOG_FLOOR) & (rows.q > 0))
    miss = 1.0 - top.z
    brier = (residual * residual).sum(dim=1)
    spherical = 1.0 - product / squared_norm.sqrt()
    values = torch.stack([brier, log, spherical, miss, miss + (top.u - top.z) ** 2])
    if w is None:
        n = torch.full((2,), float(p.shape[0]), dtype=torch.float64, device=p.device)
        return torch.cat([n, values.sum(dim=1)])
    counts = torch.stack([(w > 0).double().sum(), w.sum()])
    return torch.cat([counts, (values * w).sum(dim=1)])
