"""Whole columns on the device: of a scalar problem, of each class, of the rows above a threshold.

What must be sorted or picked out needs the scalar problem in one piece: three float64 a row, on the
device of the predictions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from calibrant._core.typing import Array
from calibrant._data.samples import Notion
from calibrant._data.tensor_samples import TensorSamples
from calibrant._engines.protocol import Findings
from calibrant._engines.tensors.blocks import Scalars, block_entries, scalar_blocks, sigmoid, spans
from calibrant._engines.tensors.tally import Tally, resolved


def column(samples: TensorSamples, notion: Notion, tally: Tally) -> Scalars:
    """All rows of the binary or the confidence problem as one block on the device, checked and
    clipped to [0, 1].
    """
    u = torch.empty(samples.n, dtype=torch.float64, device=samples.place)
    z, w = torch.empty_like(u), torch.empty_like(u) if samples.weighted else None
    at = 0
    for block in scalar_blocks(samples, notion, tally):
        rows = slice(at, at + block.u.numel())
        u[rows], z[rows] = block.u, block.z
        if w is not None and block.w is not None:
            w[rows] = block.w
        at = rows.stop
    return Scalars(u, z, w)


def whole_problem(
    samples: TensorSamples, notion: Notion
) -> tuple[Array, Array, Array | None, Findings]:
    """Predictions, targets and weights (or None) of all rows of the scalar problem, copied to the
    host, and the findings; for results that sums cannot give.
    """
    tally = Tally(samples.place)
    whole = column(samples, notion, tally)
    parts = (whole.u, whole.z) if whole.w is None else (whole.u, whole.z, whole.w)
    findings, arrays = resolved(tally, *parts)
    return arrays[0], arrays[1], arrays[2] if samples.weighted else None, findings


def class_groups(samples: TensorSamples) -> Iterator[tuple[int, Tensor]]:
    """Yield classes some at a time: the number of the first class, and the predictions (classes, n)
    with a row for each class.

    Predictions stay in their own precision, as binary predictions would be; probabilities of logits
    are float64.
    """
    k, n, place = samples.n_classes, samples.n, samples.place
    together = max(1, block_entries(place) // max(1, n))
    log_total = _log_normaliser(samples) if samples.from_logits else None
    for first in range(0, k, together):
        group = samples.predictions[:, first : first + together].to(place).T.contiguous()
        if log_total is not None:
            group = torch.exp(group.double() - log_total)
        yield first, group


def class_columns(samples: TensorSamples) -> Iterator[TensorSamples]:
    """Yield each class against the rest, as the samples of a binary problem."""
    for first, group in class_groups(samples):
        for r, predictions in enumerate(group, start=first):
            targets = samples.targets[:, r] if samples.soft_rows else samples.targets == r
            yield replace(samples, predictions=predictions, targets=targets, from_logits=False)


def rows_above(samples: TensorSamples, threshold: float) -> TensorSamples | None:
    """The samples restricted to the rows of a binary problem with positive weight and a prediction
    above the threshold; None if there are none.
    """
    whole = samples.predictions.to(samples.place)
    if samples.from_logits:
        whole = sigmoid(whole)
    # The threshold in the precision of the predictions, like an edge.
    above = whole.double() > float(np.asarray(threshold, samples.precision))
    if samples.weights is not None:
        above &= samples.weights > 0
    rows = above.nonzero()[:, 0]
    if rows.numel() == 0:
        return None
    return replace(samples, predictions=whole, from_logits=False).take(rows)


def _log_normaliser(samples: TensorSamples) -> Tensor:
    """The logarithm of the sum of exponentials of each row's logits, (n,). A class's
    log-probability is its logit less this number.
    """
    out = torch.empty(samples.n, dtype=torch.float64, device=samples.place)
    for start, stop in spans(samples.n, samples.n_classes, samples.place):
        out[start:stop] = samples.prediction_block(start, stop).double().logsumexp(dim=1)
    return out
