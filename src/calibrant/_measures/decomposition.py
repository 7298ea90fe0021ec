"""The Brier score taken apart: miscalibration, discrimination, uncertainty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrant._core.bin_tables import BinTable, OrderedLevels


@dataclass(frozen=True)
class BrierDecomposition:
    """``brier = miscalibration - discrimination + uncertainty + within_bin``.

    `within_bin` is what binning hides (the spread of predictions inside bins); it is 0 for the
    isotonic decomposition.
    """

    brier: float
    miscalibration: float
    discrimination: float
    uncertainty: float
    within_bin: float = 0.0

    def __add__(self, other: BrierDecomposition) -> BrierDecomposition:
        return BrierDecomposition(
            self.brier + other.brier,
            self.miscalibration + other.miscalibration,
            self.discrimination + other.discrimination,
            self.uncertainty + other.uncertainty,
            self.within_bin + other.within_bin,
        )


def decompose(
    table: BinTable, recalibrated: NDArray[np.float64] | None = None
) -> BrierDecomposition:
    """The parts for each class's table, summed over classes.

    `recalibrated` is the mean target that each bin is given (default: its own mean target).
    """
    parts = [
        _one_class(table.of_class(r), None if recalibrated is None else recalibrated[r])
        for r in range(table.n_classes)
    ]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def decompose_isotonic(levels: BinTable) -> BrierDecomposition:
    """The parts of the isotonic decomposition, from level sets."""
    if isinstance(levels, OrderedLevels):
        levels = levels.pooled()
    return decompose(levels, isotonic_fit(levels))


def isotonic_fit(levels: BinTable) -> NDArray[np.float64]:
    """Each level's mean target after the increasing least-squares fit (pool adjacent violators)."""
    from scipy.optimize import isotonic_regression

    out = np.zeros(levels.sum_w.shape)
    for r in range(levels.n_classes):
        nonempty = levels.sum_w[r] > 0
        fit = isotonic_regression(levels.mean_z[r][nonempty], weights=levels.sum_w[r][nonempty])
        out[r, nonempty] = fit.x
    return out


def _one_class(table: BinTable, fitted: NDArray[np.float64] | None) -> BrierDecomposition:
    w, wu, wz = table.sum_w[0], table.sum_wu[0], table.sum_wz[0]
    # What a rule drops is in no bin, so it is in no part but the rest; the score itself counts it.
    _, lost_w, _, _, lost_wz, lost_wu2, lost_wuz, lost_wz2, _ = table.dropped[0]
    total = float(w.sum() + lost_w)
    square_z = float(table.sum_wz2.sum() + lost_wz2)
    square_u = float(table.sum_wu2.sum() + lost_wu2)
    brier = (square_u - 2 * float(table.sum_wuz.sum() + lost_wuz) + square_z) / total
    base = float(wz.sum() + lost_wz) / total
    uncertainty = max(0.0, square_z / total - base**2)
    if fitted is None:
        nonempty = w > 0
        mean_u, mean_z = wu[nonempty] / w[nonempty], wz[nonempty] / w[nonempty]
        miscalibration = float(w[nonempty] @ (mean_u - mean_z) ** 2) / total
        discrimination = float(w[nonempty] @ (mean_z - base) ** 2) / total
        within = brier - (miscalibration - discrimination + uncertainty)
        return BrierDecomposition(brier, miscalibration, discrimination, uncertainty, within)
    # The score of the recalibrated predictions, from sums alone.
    after = float((w * fitted**2 - 2 * fitted * wz + table.sum_wz2[0]).sum()) / total
    miscalibration, discrimination = max(0.0, brier - after), max(0.0, uncertainty - after)
    return BrierDecomposition(brier, miscalibration, discrimination, uncertainty)
