"""Truthful errors (Lu, Wu, Hartline and Hu): squared binned residuals, over bin tables.

For a row, u is its prediction, z its target and w its weight. R_B is the sum of w (u - z) over a
bin B, a vector for predictions of all classes, and W the weight of all rows.
"""

from __future__ import annotations

import numpy as np

from calibrant._core.bin_tables import BinTable, VectorTable
from calibrant._core.typing import Array


def linear_errors(table: BinTable) -> Array:
    """The linear calibration error LinCE of each class, ``sum_B R_B^2 / W^2``, (classes,).

    R_B is the bin's sum of w (u - z), and W the total weight.
    """
    return (table.residual**2).sum(axis=1) / table.total_weight**2


def linear_error(table: BinTable) -> float:
    """The linear calibration error LinCE of a scalar problem, or its mean over classes."""
    return float(linear_errors(table).mean())


def vector_linear_error(table: VectorTable) -> float:
    """LinCE of vector predictions: ``sum_B ||R_B||_2^2 / W^2``."""
    squares = np.einsum("ij,ij->i", table.residual, table.residual)  # no copy of k² m numbers
    return float(squares.sum() / table.sum_w.sum() ** 2)


def vector_absolute_error(table: VectorTable) -> float:
    """LinECE of vector predictions: ``sum_B ||R_B||_1 / W``."""
    return float(np.abs(table.residual).sum() / table.sum_w.sum())


def confidence_corrections(table: BinTable) -> Array:
    """The term that makes the confidence error truthful, for each class: ``sum w^2 (1 - z) / W^2``.

    A row adds ``w^2 q (1 - q)`` to the expected square, where q is the true probability of its
    predicted class, and ``w^2 (1 - q)`` here: ``w^2 (1 - q^2)`` in all, smallest at the true top
    label, whatever the weights.
    """
    misses = (table.sum_w2 - table.sum_w2z).sum(axis=1) + table.dropped[:, 2] - table.dropped[:, 8]
    return misses / table.total_weight**2


def corrected_errors(table: BinTable) -> Array:
    """The truthful confidence error of each class, (classes,): LinCE plus the correction."""
    return linear_errors(table) + confidence_corrections(table)


def confidence_correction(table: BinTable) -> float:
    """The correction of a scalar problem; see `confidence_corrections`."""
    return float(confidence_corrections(table)[0])


def vector_linear_errors(residual: Array, total: Array) -> Array:
    """LinCE of vector predictions in many samples, (samples,).

    `residual` has sums of w (u - z), (samples, cells times classes), and `total` the weight of each
    sample.
    """
    return np.einsum("ij,ij->i", residual, residual) / total**2


def linear_null_mean(u: Array, w: Array) -> float:
    """The exact mean of LinCE where predictions u are calibrated (Lu et al., theorem 3.1).

    Calibrated predictions have residuals of mean 0, so
    ``E[sum_B R_B^2] = sum_i w_i^2 u_i (1 - u_i)`` whatever the bins. w are weights, and labels are
    hard.
    """
    total = float(w.sum())
    return float((w * w * u * (1.0 - u)).sum()) / total**2


def corrected_null_mean(u: Array, w: Array) -> float:
    """The exact mean of the truthful confidence error where confidences u are calibrated."""
    total = float(w.sum())
    return linear_null_mean(u, w) + float((w * w * (1.0 - u)).sum()) / total**2
