"""The Brier score taken apart: miscalibration, discrimination, uncertainty."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

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


# The isotonic parts of tables that are still in use: three measures ask for each.
_KEPT: WeakKeyDictionary[BinTable, BrierDecomposition] = WeakKeyDictionary()


def decompose(table: BinTable) -> BrierDecomposition:
    """The parts for each class's table, summed over classes; each bin is given its mean target."""
    return _sum([_binned(table.of_class(r)) for r in range(table.n_classes)])


def decompose_isotonic(levels: BinTable) -> BrierDecomposition:
    """The parts where each level is given what an increasing least-squares fit gives it."""
    if levels not in _KEPT:
        table = levels.pooled() if isinstance(levels, OrderedLevels) else levels
        parts = [_isotonic(table.of_class(r)) for r in range(table.n_classes)]
        _KEPT[levels] = _sum(parts)
    return _KEPT[levels]


def _sum(parts: list[BrierDecomposition]) -> BrierDecomposition:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def pooled(w: NDArray[np.float64], wz: NDArray[np.float64]) -> NDArray[np.intp]:
    """Where the blocks of the increasing least-squares fit begin (pool adjacent violators).

    Neighbours whose means do not rise are in one block, whatever else is, so whole runs of them
    are pooled at once; a loop sees to the few that are left.
    """
    from scipy.optimize import isotonic_regression

    starts = np.arange(w.size)
    while True:
        mean = wz / w
        rises = np.flatnonzero(mean[:-1] < mean[1:]) + 1
        if rises.size + 1 > 0.9 * w.size:
            break
        firsts = np.append(0, rises)
        starts = starts[firsts]
        w, wz = np.add.reduceat(w, firsts), np.add.reduceat(wz, firsts)
    blocks = isotonic_regression(mean, weights=w).blocks
    out: NDArray[np.intp] = starts[blocks[:-1]]
    return out


@dataclass(frozen=True)
class _Whole:
    """The score of a table, and what of it any predictions would have."""

    total: float
    square_z: float
    brier: float
    base: float
    uncertainty: float

    @classmethod
    def of(cls, table: BinTable) -> _Whole:
        # What a rule drops is in no bin, so it is in no part but the rest; the score counts it.
        _, lost_w, _, _, lost_wz, lost_wu2, lost_wuz, lost_wz2, _ = table.dropped[0]
        total = float(table.sum_w.sum() + lost_w)
        square_z = float(table.sum_wz2.sum() + lost_wz2)
        square_u = float(table.sum_wu2.sum() + lost_wu2)
        brier = (square_u - 2 * float(table.sum_wuz.sum() + lost_wuz) + square_z) / total
        base = float(table.sum_wz.sum() + lost_wz) / total
        return cls(total, square_z, brier, base, max(0.0, square_z / total - base**2))


def _binned(table: BinTable) -> BrierDecomposition:
    whole = _Whole.of(table)
    nonempty = table.sum_w[0] > 0
    w = table.sum_w[0][nonempty]
    mean_u, mean_z = table.sum_wu[0][nonempty] / w, table.sum_wz[0][nonempty] / w
    miscalibration = float(w @ (mean_u - mean_z) ** 2) / whole.total
    discrimination = float(w @ (mean_z - whole.base) ** 2) / whole.total
    within = whole.brier - (miscalibration - discrimination + whole.uncertainty)
    return BrierDecomposition(
        whole.brier, miscalibration, discrimination, whole.uncertainty, within
    )


def _isotonic(levels: BinTable) -> BrierDecomposition:
    whole = _Whole.of(levels)
    w, wz, wz2 = levels.sum_w[0], levels.sum_wz[0], levels.sum_wz2[0]
    if not w.all():  # cells of a stream may be empty
        some = w > 0
        w, wz, wz2 = w[some], wz[some], wz2[some]
    starts = pooled(w, wz)
    w, wz, wz2 = (np.add.reduceat(column, starts) for column in (w, wz, wz2))
    fitted = wz / w
    # The score of the recalibrated predictions, from sums alone.
    after = float((w * fitted**2 - 2 * fitted * wz + wz2).sum()) / whole.total
    return BrierDecomposition(
        whole.brier,
        max(0.0, whole.brier - after),
        max(0.0, whole.uncertainty - after),
        whole.uncertainty,
    )
