"""The compiled kernels behind the names that every engine has. Importing this module fails where
they were not built.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.binning import Cuts
from calibrant._core.typing import Array
from calibrant._data.links import LOG_FLOOR
from calibrant._engines.arrays import (
    _classes,
    _draws,
    _kernels,
    _losses,
    _order,
    _ranks,
    _slices,
    _smooth,
    _uniform,
)
from calibrant._engines.protocol import scalar_block

name = "native"

# The search for quantiles, built together with the kernels or not at all.
ranks = _ranks
# The ordering of predictions, likewise.
order = _order
# Bins of equal mass of every class.
classes = _classes
# Passes over many drawn samples; see `draws`.
draws = _draws

fold = _order.fold
uniform_error = _uniform.uniform_error
deposit_logits = _smooth.deposit_logits
deposit_units = _smooth.deposit_units


def add_scalar(
    sums: Array,
    predictions: NDArray[Any],
    targets: NDArray[Any],
    weights: Array | None,
    cuts: Cuts,
    squares: bool,
    status: NDArray[np.int64],
) -> None:
    """`Kernels.add_scalar`, compiled; weighted rows have a kernel of their own."""
    lookup = (cuts.guarded, cuts.start, cuts.crowded)
    if weights is None:
        _kernels.add_unweighted(
            sums, predictions, targets, *lookup, squares, scalar_block(cuts), status
        )
    else:
        numbers = targets.astype(np.float64, copy=False)
        _kernels.add_weighted(sums, predictions, numbers, weights, *lookup, status)


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
    """`Kernels.add_rows`, compiled."""
    labels, rows = (targets, None) if targets.ndim == 1 else (None, targets)
    inputs = (predictions, labels, rows, weights)
    outputs = (confidences, hits, classwise, losses)
    lookup = (cuts.guarded, cuts.start, cuts.crowded)
    limits = (tolerance, label_tolerance, LOG_FLOOR)
    _kernels.add_rows(*inputs, *outputs, *lookup, squares, *limits, status)


def add_losses(
    losses: Array,
    predictions: NDArray[Any],
    targets: NDArray[Any],
    weights: Array | None,
    fields: tuple[int, ...],
    status: NDArray[np.int64],
) -> None:
    """`Kernels.add_losses`, compiled."""
    wanted = sum(1 << field for field in fields)
    _losses.add_losses(losses, predictions, targets, weights, LOG_FLOOR, wanted, status)


def add_slices(
    sums: Array,
    predictions: NDArray[Any],
    targets: NDArray[Any],
    weights: Array | None,
    slices: NDArray[np.int32],
    cuts: Cuts,
    status: NDArray[np.int64],
) -> None:
    """`Kernels.add_slices`, compiled."""
    rows = (predictions, targets, weights, slices)
    _slices.add_slices(sums, *rows, cuts.guarded, cuts.start, cuts.crowded, status)


def add_hard_slices(
    hard: Array,
    predictions: NDArray[Any],
    targets: NDArray[Any],
    slices: NDArray[np.int32],
    cuts: Cuts,
    status: NDArray[np.int64],
) -> int:
    """`Kernels.add_hard_slices`, compiled."""
    lookup = (cuts.guarded, cuts.start, cuts.crowded)
    return _slices.add_hard_slices(hard, predictions, targets, slices, *lookup, status)


def add_losses_of_slices(
    losses: Array,
    predictions: NDArray[Any],
    targets: NDArray[Any],
    weights: Array | None,
    slices: NDArray[np.int32],
    fields: tuple[int, ...],
    status: NDArray[np.int64],
) -> None:
    """`Kernels.add_losses_of_slices`, compiled."""
    rows = (predictions, targets, weights, slices)
    wanted = sum(1 << field for field in fields)
    _slices.add_losses_of_slices(losses, *rows, LOG_FLOOR, wanted, status)
