"""The reference kernels, in NumPy: what the compiled ones are compared with, and what stands in
for them on a machine without a C compiler.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.bin_tables import FIELDS
from calibrant._core.binning import Cuts
from calibrant._core.grid import cubic_weights
from calibrant._core.typing import Array, Index, Mask
from calibrant._data.links import LOG_FLOOR, OVERSHOOT, ROW_SUM_TOLD, clip_to_floor
from calibrant._engines.protocol import (
    BAD_ROW,
    N_CLIPPED,
    N_LOG_CLIPPED,
    N_LOGIT_CLIPPED,
    N_ROWS_OFF,
    SOFT,
)

name = "numpy"


def sums_by_index(
    index: Index, m: int, predictions: Array, targets: Array, weights: Array | None
) -> Array:
    """The sums of each of m bins, (m, fields of BinTable), where `index` has the bin of every
    row.
    """
    w = np.ones(predictions.size) if weights is None else weights
    columns = (
        (w > 0).astype(np.float64),
        w,
        w * w,
        w * predictions,
        w * targets,
        w * (predictions * predictions),
        w * (predictions * targets),
        w * (targets * targets),
        (w * w) * targets,
    )
    out = np.empty((m, len(FIELDS)))
    for j, column in enumerate(columns):
        out[:, j] = np.bincount(index, weights=column, minlength=m)
    return out


def one_hot(labels: NDArray[Any], n_classes: int) -> Array:
    """Labels as rows of targets, (n, classes): 1 for the label's own class, 0 for others."""
    rows = np.zeros((len(labels), n_classes))
    rows[np.arange(len(labels)), labels] = 1.0
    return rows


def add_scalar(
    sums: Array,
    predictions: NDArray[Any],
    targets: NDArray[Any],
    weights: Array | None,
    cuts: Cuts,
    squares: bool,
    status: NDArray[np.int64],
) -> None:
    """`Kernels.add_scalar` in NumPy."""
    u = predictions.astype(np.float64)
    z = targets.astype(np.float64)
    good = (u >= -OVERSHOOT) & (u <= 1 + OVERSHOOT) & (z >= -OVERSHOOT) & (z <= 1 + OVERSHOOT)
    if weights is not None:
        good &= (weights >= 0) & np.isfinite(weights)
    if not good.all():
        status[BAD_ROW] = int(np.argmin(good))
        return
    for values in (u, z):
        status[N_CLIPPED] += np.count_nonzero((values < 0) | (values > 1))
        np.clip(values, 0.0, 1.0, out=values)
    status[SOFT] |= int(((z != 0) & (z != 1)).any())
    sums += sums_by_index(cuts.find(u), sums.shape[0], u, z, weights)


def add_rows(
    predictions: NDArray[Any],
    targets: NDArray[Any],
    weights: Array | None,
    confidences: Array,
    hits: Array,
    classwise: Array | None,
    losses: Array | None,
    cuts: Cuts,
    squares: bool,
    tolerance: float,
    label_tolerance: float,
    status: NDArray[np.int64],
) -> None:
    """`Kernels.add_rows` in NumPy."""
    n, k = predictions.shape
    p = predictions.astype(np.float64)
    total = p.sum(axis=1)
    with np.errstate(invalid="ignore"):
        good = np.abs(total - 1.0) <= tolerance
        good &= (p >= -OVERSHOOT).all(axis=1) & (p <= 1 + OVERSHOOT).all(axis=1)
    if targets.ndim == 1:
        good &= (targets >= 0) & (targets < k)
        q = one_hot(np.clip(targets, 0, k - 1), k)
    else:
        q = targets
        good &= (q >= -OVERSHOOT).all(axis=1) & (q <= 1 + OVERSHOOT).all(axis=1)
        good &= np.abs(q.sum(axis=1) - 1.0) <= label_tolerance
        status[SOFT] |= int(((q != 0) & (q != 1)).any())
    if weights is not None:
        good &= (weights >= 0) & np.isfinite(weights)
    if not good.all():
        status[BAD_ROW] = int(np.argmin(good))
        return
    status[N_CLIPPED] += np.count_nonzero((p < 0) | (p > 1))
    status[N_ROWS_OFF] += np.count_nonzero(np.abs(total - 1.0) > ROW_SUM_TOLD)
    p, q = np.clip(p, 0.0, 1.0), np.clip(q, 0.0, 1.0)
    top = p.argmax(axis=1)
    rows = np.arange(n)
    confidences[:] = p[rows, top]
    hits[:] = q[rows, top]
    if losses is not None:
        n_log_clipped = _add_losses(losses, p, q, weights, confidences, hits)
        status[N_LOG_CLIPPED] += n_log_clipped
    if classwise is not None:
        m = classwise.shape[1]
        index = (cuts.find(p) + m * np.arange(k)).ravel()
        w = None if weights is None else np.repeat(weights, k)
        sums = sums_by_index(index, m * k, p.ravel(), q.ravel(), w)
        classwise += sums.reshape(k, m, len(FIELDS))


def _add_losses(
    losses: Array, p: Array, q: Array, weights: Array | None, confidences: Array, hits: Array
) -> int:
    """Add the sums of the proper losses of rows with probabilities p and targets q, both (n,
    classes), to `losses`. Returns how many probabilities were raised to the floor of logarithms.
    """
    w = np.ones(len(p)) if weights is None else weights
    floored, _ = clip_to_floor(p, LOG_FLOOR)
    per_row = (
        ((p - q) ** 2).sum(axis=1),
        -(q * np.log(floored)).sum(axis=1),
        1.0 - (p * q).sum(axis=1) / np.sqrt((p * p).sum(axis=1)),
        1.0 - hits,
        1.0 - hits + (confidences - hits) ** 2,
    )
    losses[0] += np.count_nonzero(w > 0)
    losses[1] += w.sum()
    for j, values in enumerate(per_row, start=2):
        losses[j] += w @ values
    return int(np.count_nonzero((p < LOG_FLOOR) & (q > 0)))


def fold(
    confidences: NDArray[Any], hits: Array, predictions: NDArray[Any], targets: NDArray[Any]
) -> None:
    """`Kernels.fold` in NumPy."""
    z = targets.astype(np.float64)
    upper = predictions > 0.5
    confidences[:] = np.where(upper, predictions, 1 - predictions)
    hits[:] = np.where(upper, z, 1.0 - z)


def add_losses(
    losses: Array,
    predictions: NDArray[Any],
    targets: NDArray[Any],
    weights: Array | None,
    fields: tuple[int, ...],
    status: NDArray[np.int64],
) -> None:
    """`Kernels.add_losses` in NumPy, for all proper losses."""
    u = predictions.astype(np.float64)
    checked = _checked(u, targets, weights, _in_unit(u), status, clip_predictions=True)
    if checked is None:
        return
    u, z, w = checked
    p = np.stack([1.0 - u, u], axis=1)
    q = np.stack([1.0 - z, z], axis=1)
    upper = u > 0.5
    top, hit = np.where(upper, u, p[:, 0]), np.where(upper, z, q[:, 0])
    part = np.zeros_like(losses)
    status[N_LOG_CLIPPED] += _add_losses(part, p, q, w, top, hit)
    part[2] = w @ (u - z) ** 2  # one class's square, not both
    losses += part


def add_slices(
    sums: Array,
    predictions: NDArray[Any],
    targets: NDArray[Any],
    weights: Array | None,
    slices: NDArray[np.int32],
    cuts: Cuts,
    status: NDArray[np.int64],
) -> None:
    """`Kernels.add_slices` in NumPy."""
    u = predictions.astype(np.float64)
    checked = _checked(u, targets, weights, _in_unit(u), status, clip_predictions=True)
    if checked is None:
        return
    u, z, w = checked
    n_slices, m, _ = sums.shape
    index = slices * np.intp(m) + cuts.find(u)
    sums += sums_by_index(index, n_slices * m, u, z, w).reshape(sums.shape)


def add_hard_slices(
    hard: Array,
    predictions: NDArray[Any],
    targets: NDArray[Any],
    slices: NDArray[np.int32],
    cuts: Cuts,
    status: NDArray[np.int64],
) -> int:
    """`Kernels.add_hard_slices` in NumPy."""
    u = predictions.astype(np.float64)
    checked = _checked(u, targets, None, _in_unit(u), status, clip_predictions=True)
    if checked is None:
        return 0
    u, z, _ = checked
    whole = (z == 0) | (z == 1)
    n = z.size if whole.all() else int(np.argmin(whole))
    u, z = u[:n], z[:n]
    n_slices, m = hard.shape[:2]
    index = 2 * (slices[:n] * np.intp(m) + cuts.find(u)) + z.astype(np.intp)
    for column, values in enumerate((None, u, u * u, (u - z) ** 2)):
        sums = np.bincount(index, weights=values, minlength=2 * n_slices * m)
        hard[..., column] += sums.reshape(n_slices, m, 2)
    return n


def add_losses_of_slices(
    losses: Array,
    predictions: NDArray[Any],
    targets: NDArray[Any],
    weights: Array | None,
    slices: NDArray[np.int32],
    fields: tuple[int, ...],
    status: NDArray[np.int64],
) -> None:
    """`Kernels.add_losses_of_slices` in NumPy, for all proper losses."""
    for number in np.unique(slices):
        rows = slices == number
        w = None if weights is None else weights[rows]
        add_losses(losses[number], predictions[rows], targets[rows], w, fields, status)
        if status[BAD_ROW] >= 0:
            status[BAD_ROW] = np.flatnonzero(rows)[status[BAD_ROW]]
            return


def deposit_logits(
    plus: Array,
    minus: Array,
    predictions: NDArray[Any],
    targets: NDArray[Any],
    weights: Array | None,
    nodes_per_unit: float,
    low: float,
    high: float,
    from_logits: bool,
    status: NDArray[np.int64],
) -> None:
    """`Kernels.deposit_logits` in NumPy."""
    u = predictions.astype(np.float64)
    good = np.isfinite(u) if from_logits else _in_unit(u)
    checked = _checked(u, targets, weights, good, status, clip_predictions=not from_logits)
    if checked is None:
        return
    u, z, w = checked
    status[N_LOGIT_CLIPPED] += np.count_nonzero((u < low) | (u > high))
    u = np.clip(u, low, high)
    h = u if from_logits else np.log(u / (1.0 - u))
    position = h * nodes_per_unit + (plus.size - 1) // 2
    _deposit(plus, position, w * z)
    _deposit(minus, position, w * (1.0 - z))


def deposit_units(
    nodes: Array,
    predictions: NDArray[Any],
    targets: NDArray[Any],
    weights: Array | None,
    status: NDArray[np.int64],
) -> None:
    """`Kernels.deposit_units` in NumPy."""
    u = predictions.astype(np.float64)
    checked = _checked(u, targets, weights, _in_unit(u), status, clip_predictions=True)
    if checked is None:
        return
    u, z, w = checked
    position = u * (nodes.shape[1] - 4) + 1
    masses = (w * (z - u),) if nodes.shape[0] == 1 else (w, w * u, w * z)
    for row, mass in zip(nodes, masses, strict=True):
        _deposit(row, position, mass)


def _in_unit(values: Array) -> Mask:
    """Which values lie in [0, 1], or beyond it by no more than the tolerated OVERSHOOT."""
    return (values >= -OVERSHOOT) & (values <= 1 + OVERSHOOT)


def _checked(
    u: Array,
    targets: NDArray[Any],
    weights: Array | None,
    good: Mask,
    status: NDArray[np.int64],
    *,
    clip_predictions: bool,
) -> tuple[Array, Array, Array] | None:
    """Predictions u, targets and weights (1 by default), clipped to [0, 1] where they overshoot
    within the tolerance; None if some row is invalid.

    `good` says which predictions are valid. `status` gets the first invalid row and the number of
    clipped values. `clip_predictions` False leaves logits unclipped.
    """
    z = targets.astype(np.float64)
    good = good & _in_unit(z)
    w = np.ones(u.size) if weights is None else weights
    good &= (w >= 0) & np.isfinite(w)
    if not good.all():
        status[BAD_ROW] = int(np.argmin(good))
        return None
    for values in (u, z) if clip_predictions else (z,):
        status[N_CLIPPED] += np.count_nonzero((values < 0) | (values > 1))
        np.clip(values, 0.0, 1.0, out=values)
    status[SOFT] |= int(((z != 0) & (z != 1)).any())
    return u, z, w


def _deposit(nodes: Array, position: Array, mass: Array) -> None:
    """Share each mass among the four grid nodes around its position (in units of nodes), with the
    weights of cubic interpolation; adds to `nodes`.
    """
    j = np.floor(position).astype(np.intp)
    t = position - j
    for offset, part in enumerate(cubic_weights(t), start=-1):
        nodes += np.bincount(j + offset, weights=mass * part, minlength=nodes.size)
