"""Samples as checked blocks of float64 on their device: scalars, or rows of classes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from calibrant._core.binning import Cuts
from calibrant._data.links import OVERSHOOT, ROW_SUM_TOLD
from calibrant._data.samples import Notion
from calibrant._data.tensor_samples import TensorSamples
from calibrant._engines.protocol import N_CLIPPED, N_ROWS_OFF
from calibrant._engines.tensors.tally import Tally

# Entries of a block; a pass takes memory for some ten times as many float64 numbers.
HOST_ENTRIES = 1 << 20
DEVICE_ENTRIES = 1 << 24
# Labels that a float64 holds exactly.
LARGEST_LABEL = 2**53


@dataclass(frozen=True, eq=False)
class Scalars:
    """Some rows of a scalar problem: predictions (or logits) `u`, targets `z` and weights `w`,
    float64 and clipped. Invalid rows hold zeros, so that bin numbers computed from them stay in
    range.
    """

    u: Tensor
    z: Tensor
    w: Tensor | None


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows of (n, k) predictions: probabilities `p` (float64, clipped), labels or rows of
    targets, weights, and which rows are valid, `good`.
    """

    p: Tensor
    # One of the two: a class index within bounds, or probabilities.
    label: Tensor | None
    q: Tensor | None
    w: Tensor | None
    good: Tensor

    def target_rows(self) -> Tensor:
        """The targets as rows of class probabilities, (rows, k); a label becomes a row with 1 for
        its class.
        """
        if self.q is not None:
            return self.q
        assert self.label is not None
        return torch.zeros_like(self.p).scatter(1, self.label[:, None], 1.0)

    def top_label(self) -> Scalars:
        """The confidence problem of these rows: the largest probability (of the lowest class that
        has it) and the target of that class.
        """
        u, top = self.p.max(dim=1)  # the first of equals
        if self.label is not None:
            z = (self.label == top).double()
        else:
            assert self.q is not None
            z = self.q.gather(1, top[:, None])[:, 0]
        return _zero_where_bad(self.good, u, z, self.w)


def block_entries(device: torch.device) -> int:
    """The number of entries (predictions) to read at once on this device."""
    return HOST_ENTRIES if device.type == "cpu" else DEVICE_ENTRIES


def spans(n: int, entries_per_row: int, device: torch.device) -> Iterator[tuple[int, int]]:
    """Yield the runs of rows (first row, end) of n rows that fit a block on the device."""
    rows = max(1, block_entries(device) // entries_per_row)
    for start in range(0, n, rows):
        yield start, min(start + rows, n)


def scalar_blocks(samples: TensorSamples, notion: Notion, tally: Tally) -> Iterator[Scalars]:
    """Yield the binary or the confidence problem block by block, checked; clipped values and
    invalid rows go to the tally.
    """
    if samples.multiclass:
        for rows in row_blocks(samples, tally):
            yield rows.top_label()
        return
    for start, stop in spans(samples.n, 1, samples.place):
        u = samples.prediction_block(start, stop)
        z = samples.targets[start:stop].double()
        good = torch.isfinite(u)
        if samples.from_logits:
            u = sigmoid(u)
        if notion == "confidence":
            # At 1/2 the lower class, 0, is predicted. 1 - u is taken in the predictions' own
            # precision, as in every engine.
            upper = u > 0.5
            u, z = torch.where(upper, u, 1 - u), torch.where(upper, z, 1.0 - z)
        u = u.double()
        yield checked_block(
            u, z, samples.weight_block(start, stop), good & in_unit(u), start, tally
        )


def logit_blocks(samples: TensorSamples, notion: Notion, tally: Tally) -> Iterator[Scalars]:
    """Yield a binary problem of logits block by block, with the raw logits as predictions (their
    absolute values for the confidence).
    """
    for start, stop in spans(samples.n, 1, samples.place):
        h = samples.prediction_block(start, stop).double()
        z = samples.targets[start:stop].double()
        good = torch.isfinite(h)
        if notion == "confidence":
            z, h = torch.where(h > 0, z, 1.0 - z), h.abs()
        w = samples.weight_block(start, stop)
        yield checked_block(h, z, w, good, start, tally, clip_predictions=False)


def checked_block(
    u: Tensor,
    z: Tensor,
    w: Tensor | None,
    good: Tensor,
    start: int,
    tally: Tally,
    *,
    clip_predictions: bool = True,
) -> Scalars:
    """Predictions u, targets z and weights w, clipped to [0, 1] where they overshoot; invalid rows
    hold zeros and go to the tally.

    `good` says which predictions are valid, `start` is the number of the first row.
    `clip_predictions` False leaves logits unclipped.
    """
    good = good & in_unit(z) & _valid_weights(w)
    tally.check(good, start)
    for values in (u, z) if clip_predictions else (z,):
        tally.count(N_CLIPPED, (values < 0) | (values > 1))
    u = u.clamp(0.0, 1.0) if clip_predictions else u
    z = z.clamp(0.0, 1.0)
    tally.note_soft(z)
    return _zero_where_bad(good, u, z, w)


def row_blocks(samples: TensorSamples, tally: Tally) -> Iterator[Rows]:
    """Yield (n, k) predictions and targets block by block, checked; clipped values and invalid rows
    go to the tally.
    """
    for start, stop in spans(samples.n, samples.n_classes, samples.place):
        p, good = _probabilities(samples, start, stop, tally)
        label, q, sound = _row_targets(samples, start, stop, tally)
        w = samples.weight_block(start, stop)
        good = good & sound & _valid_weights(w)
        tally.check(good, start)
        yield Rows(p, label, q, w, good)


def _probabilities(
    samples: TensorSamples, start: int, stop: int, tally: Tally
) -> tuple[Tensor, Tensor]:
    """The probabilities of the rows from `start` to `stop`, (rows, k), clipped to [0, 1], and which
    rows are valid.
    """
    if samples.from_logits:
        raw = samples.predictions[start:stop].to(samples.place)
        # If any entry is not finite, the largest or the smallest is not.
        ends = torch.isfinite(raw.amax(dim=1)) & torch.isfinite(raw.amin(dim=1))
        return torch.softmax(raw, dim=1, dtype=torch.float64), ends
    p = samples.prediction_block(start, stop).double()
    off = (p.sum(dim=1) - 1.0).abs()
    tally.count(N_ROWS_OFF, off > ROW_SUM_TOLD)
    tally.count(N_CLIPPED, (p < 0) | (p > 1))
    good = (off <= samples.row_sum_tolerance) & _rows_in_unit(p)
    return p.clamp(0.0, 1.0), good


def _row_targets(
    samples: TensorSamples, start: int, stop: int, tally: Tally
) -> tuple[Tensor | None, Tensor | None, Tensor]:
    """The targets of the rows from `start` to `stop`: labels or None, rows of targets or None (one
    of the two is there), and which rows are valid.
    """
    raw = samples.targets[start:stop]
    if raw.ndim == 2:
        q = raw.double()
        tally.note_soft(q)
        off = (q.sum(dim=1) - 1.0).abs()
        sound = _rows_in_unit(q) & (off <= samples.label_sum_tolerance)
        return None, q.clamp(0.0, 1.0), sound
    if raw.is_floating_point():
        whole = raw.double()
        sound = (whole.floor() == whole) & (whole.abs() < LARGEST_LABEL)
        label = torch.where(sound, whole, 0.0).long()
    else:
        label = raw.long()
        sound = torch.ones_like(label, dtype=torch.bool)
    k = samples.n_classes
    return label.clamp(0, k - 1), None, sound & (label >= 0) & (label < k)


def in_unit(values: Tensor) -> Tensor:
    """Which values lie in [0, 1], or beyond it by no more than the tolerated OVERSHOOT."""
    return (values >= -OVERSHOOT) & (values <= 1 + OVERSHOOT)


def _rows_in_unit(rows: Tensor) -> Tensor:
    """Which rows have all their values in [0, 1], or beyond it by no more than the tolerated
    OVERSHOOT.
    """
    return (rows.amin(dim=1) >= -OVERSHOOT) & (rows.amax(dim=1) <= 1 + OVERSHOOT)


def _valid_weights(w: Tensor | None) -> Tensor | bool:
    """Which weights are finite and not negative; True if there are no weights."""
    return True if w is None else (w >= 0) & torch.isfinite(w)


def _zero_where_bad(good: Tensor, u: Tensor, z: Tensor, w: Tensor | None) -> Scalars:
    """The scalar problem of predictions u, targets z and weights w, with zeros in the rows that are
    not `good`.
    """
    return Scalars(
        torch.where(good, u, 0.0),
        torch.where(good, z, 0.0),
        None if w is None else torch.where(good, w, 0.0),
    )


def sigmoid(logits: Tensor) -> Tensor:
    """1 / (1 + exp(-h)) of each logit h, in float64; `links.sigmoid` is the same of arrays."""
    h = logits.double()
    small = torch.exp(-h.abs())
    return torch.where(h >= 0, 1.0, small) / (1.0 + small)


def edges_of(cuts: Cuts, device: torch.device) -> Tensor:
    """The inner edges of the bins as a float64 tensor on a device."""
    return torch.tensor(cuts.inner, dtype=torch.float64, device=device)
