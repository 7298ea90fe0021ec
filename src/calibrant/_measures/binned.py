"""Binned errors: formulas over bin tables.

For a row, u is its prediction, z its target and w its weight. For a bin B, R_B is the sum of
w (u - z) and W_B the sum of w; W is the weight of all rows. The gap of a bin is |R_B| / W_B.
"""

from __future__ import annotations

import numpy as np

from calibrant._core.bin_tables import BinTable
from calibrant._core.errors import one_of
from calibrant._core.typing import Array

NORMS = ("l1", "l2", "max")
# More effective rows than this are more than one, whatever rounding made of them.
ONE_ROW = 1.0 + 1e-9


def binned_errors(table: BinTable, norm: str = "l1") -> Array:
    """The binned error of each class of a table, (classes,), by norm.

    "l1" is ``sum |R_B| / W``, the mean gap; "l2" is the root of the mean squared gap, and "max" the
    largest gap. R_B is the bin's sum of w (u - z), and W the total weight.
    """
    one_of("norm", norm, NORMS)
    total = table.total_weight
    gap = np.abs(table.residual)
    if norm == "l1":
        return gap.sum(axis=1) / total
    mean_gap = np.divide(gap, table.sum_w, out=np.zeros_like(gap), where=table.sum_w > 0)
    if norm == "max":
        return mean_gap.max(axis=1)
    return np.sqrt((gap * mean_gap).sum(axis=1) / total)


def binned_error(table: BinTable, norm: str = "l1") -> float:
    """One binned error for all classes of a table: by norm "l1" the mean of the classes' errors.

    By "l2" it is the root of their mean square, and by "max" the largest.
    """
    errors = binned_errors(table, norm)
    if norm == "l1":
        return float(errors.mean())
    if norm == "max":
        return float(errors.max())
    return float(np.sqrt((errors * errors).mean()))


def debiased_l2s(table: BinTable) -> Array:
    """Mean squared gap of each class less what sampling noise adds to it, (classes,). It may be
    below 0.

    Each bin's squared gap is lowered by the variance of its mean target, ``(mean z^2 - (mean z)^2)
    / (n_B - 1)`` with the effective rows ``n_B = W_B^2 / sum w^2``; for unweighted 0/1 targets that
    is ``z(1 - z)/(n_B - 1)``. A bin of one effective row has no estimate of its variance, and is
    left out.
    """
    w, rows = table.sum_w, table.effective_rows
    counts = rows > ONE_ROW
    safe, n = np.where(counts, w, 1.0), np.where(counts, rows, 2.0)
    gap = table.residual / safe
    mean_z = table.sum_wz / safe
    variance = np.maximum(table.sum_wz2 / safe - mean_z**2, 0.0) / (n - 1.0)
    out: Array = np.where(counts, w * (gap**2 - variance), 0.0).sum(axis=1)
    return out / table.total_weight


def debiased_l2(table: BinTable) -> float:
    """The root of the debiased mean squared gap, averaged over classes; 0 where that is below 0."""
    return float(np.sqrt(max(0.0, debiased_l2s(table).mean())))
