"""The Brier score taken apart: miscalibration, discrimination, uncertainty."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add
from weakref import WeakKeyDictionary

import numpy as np

from calibrant._core.bin_tables import FEW_COLUMNS, BinTable, OrderedLevels, pool_runs
from calibrant._core.typing import Array


@dataclass(frozen=True, repr=False)
class BrierDecomposition:
    """``brier = miscalibration - discrimination + uncertainty + within_bin``.

    `within_bin` is what binning hides (the spread of predictions inside bins); it is 0 for the
    isotonic decomposition. `note` says which of two columns the parts are of.
    """

    brier: float
    miscalibration: float
    discrimination: float
    uncertainty: float
    within_bin: float = 0.0
    note: str = ""

    def __repr__(self) -> str:
        shown = [f"{name}={value!r}" for name, value in vars(self).items() if value != ""]
        return f"BrierDecomposition({', '.join(shown)})"

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
    """The parts of the Brier score of binned predictions, summed over classes.

    Recalibration gives each bin its mean target.
    """
    return reduce(add, (_decompose_bins(table.of_class(r)) for r in range(table.n_classes)))


def decompose_isotonic(levels: BinTable) -> BrierDecomposition:
    """The parts of the Brier score, where recalibration is an increasing least-squares fit.

    They are summed over classes. `levels` has a bin for each distinct prediction.
    """
    if levels not in _KEPT:
        table = levels.pooled() if isinstance(levels, OrderedLevels) else levels
        parts = (_decompose_levels(table.of_class(r)) for r in range(table.n_classes))
        _KEPT[levels] = reduce(add, parts)
    return _KEPT[levels]


def isotonic_blocks(levels: BinTable) -> Array:
    """Sums of w, w z and w z^2 over the blocks of the isotonic fit, (3, blocks): w is a row's
    weight and z its target.

    The isotonic fit is the increasing least-squares fit of the mean targets (pool adjacent
    violators); it is constant on a block.
    """
    # Neighbours that do not rise may be pooled in any order: the fit is the same.
    columns = np.concatenate([stretch.pooled_columns() for stretch in levels.stretches()], axis=1)
    columns = pool_runs(columns)
    if columns.shape[1] <= FEW_COLUMNS:
        return columns
    from scipy.optimize import isotonic_regression

    fit = isotonic_regression(columns[1] / columns[0], weights=columns[0])
    return np.add.reduceat(columns, fit.blocks[:-1], axis=1)


@dataclass(frozen=True)
class _WholeTable:
    """The weight and Brier score of a whole table, and the parts of the score that depend on the
    targets alone.

    `base` is the mean target, and `uncertainty` the variance of the targets.
    """

    total: float
    brier: float
    base: float
    uncertainty: float

    @classmethod
    def from_table(cls, table: BinTable) -> _WholeTable:
        """The summary of a table of one class, including rows that its rule of binning dropped."""
        # Dropped rows are in no bin, but the score counts them: they end up in `within_bin`.
        _, w, _, _, wz, wu2, wuz, wz2, _ = table.dropped[0]
        for stretch in table.stretches():
            w, wz = w + stretch.sum_w.sum(), wz + stretch.sum_wz.sum()
            wu2, wuz = wu2 + stretch.sum_wu2.sum(), wuz + stretch.sum_wuz.sum()
            wz2 = wz2 + stretch.sum_wz2.sum()
        base = float(wz / w)
        brier = float((wu2 - 2 * wuz + wz2) / w)
        return cls(float(w), brier, base, max(0.0, float(wz2 / w) - base**2))


def _decompose_bins(table: BinTable) -> BrierDecomposition:
    """The Brier decomposition of one class's table, with each bin recalibrated to its mean
    target.
    """
    whole = _WholeTable.from_table(table)
    nonempty = table.sum_w[0] > 0
    w = table.sum_w[0][nonempty]
    mean_u, mean_z = table.sum_wu[0][nonempty] / w, table.sum_wz[0][nonempty] / w
    miscalibration = float(w @ (mean_u - mean_z) ** 2) / whole.total
    discrimination = float(w @ (mean_z - whole.base) ** 2) / whole.total
    within = whole.brier - (miscalibration - discrimination + whole.uncertainty)
    return BrierDecomposition(
        whole.brier, miscalibration, discrimination, whole.uncertainty, within
    )


def _decompose_levels(levels: BinTable) -> BrierDecomposition:
    """The Brier decomposition of one class's level sets, with the isotonic fit as recalibration."""
    whole = _WholeTable.from_table(levels)
    w, wz, wz2 = isotonic_blocks(levels)
    fitted = wz / w
    # The score of the recalibrated predictions, from sums alone.
    after = float((w * fitted**2 - 2 * fitted * wz + wz2).sum()) / whole.total
    return BrierDecomposition(
        whole.brier,
        max(0.0, whole.brier - after),
        max(0.0, whole.uncertainty - after),
        whole.uncertainty,
    )
