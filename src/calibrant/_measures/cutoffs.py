"""Errors of cutoffs: rows whose prediction is below a threshold, and rows at or above it.

For a row, u is its prediction, z its target and w its weight; its residual is w (u - z), and W is
the weight of all rows. All errors are of one path, the partial sums of residuals in order of the
predictions: L(q) is the sum over the rows with u < q, and T the sum over all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from calibrant._core.bin_tables import BinTable, OrderedLevels
from calibrant._core.typing import Array
from calibrant._measures.cell_formulas import CellSums


def averaged_two_bin_error(levels: BinTable, norm: str = "l2") -> float:
    """The averaged two-bin error (ATB), the mean over classes: each threshold q makes two bins,
    below and above it.

    By norm "l2" it is ``integral of [L(q)^2 + (T - L(q))^2] dq / W^2``, and by "l1" that of
    absolute values over W. L(q) is the sum of residuals below q, T the sum of all, and W the total
    weight.
    """
    return float(np.mean([_class_two_bin_error(table, norm) for table in _class_tables(levels)]))


def averaged_two_bin_spread(levels: BinTable) -> float:
    """The value of ATB on these predictions if every row had a gap of 1: ``integral of [F^2 + (1 -
    F)^2] dq``.

    F(q) is the share of weight below q.
    """
    return float(
        np.mean([_class_two_bin_error(table, "l2", unit=True) for table in _class_tables(levels)])
    )


def _class_two_bin_error(levels: BinTable, norm: str, *, unit: bool = False) -> float:
    """ATB of one class by norm "l1" or "l2"; with `unit`, its value if every row had a gap of 1."""
    total = float(levels.total_weight[0])
    if isinstance(levels, OrderedLevels) and not unit:
        return levels.averaged_two_bins(norm)
    ends = 0.0
    for _, partial in _partial_sums(levels, unit):
        ends = float(partial[-1])
    # L is 0 below the first prediction, and T above the last.
    at, through, out = 0.0, 0.0, 0.0
    for u, partial in _partial_sums(levels, unit):
        before = np.append(through, partial[:-1])
        widths = np.diff(u, prepend=at)
        out += float(widths @ _two_bin_size(before, ends, norm))
        at, through = float(u[-1]), float(partial[-1])
    out += (1.0 - at) * float(_two_bin_size(np.array(through), ends, norm))
    return out / (total if norm == "l1" else total**2)


def _two_bin_size(below: Array, total: float, norm: str) -> Array:
    """The size of the two bins of a threshold together, from the sum of residuals below it and the
    total: squares, or absolute values for norm "l1".
    """
    above = total - below
    return np.abs(below) + np.abs(above) if norm == "l1" else below**2 + above**2


def averaged_two_bin_errors(sums: CellSums) -> Array:
    """The averaged two-bin error (ATB) of each draw, (draws,)."""
    partial = np.cumsum(sums.wu - sums.wz, axis=1)
    ends = partial[:, -1:]
    widths = np.diff(sums.u, append=1.0)
    inside = np.einsum("ij,ij,j->i", partial, partial, widths)
    rest = ends - partial
    inside += np.einsum("ij,ij,j->i", rest, rest, widths)
    return (inside + sums.u[0] * ends[:, 0] ** 2) / sums.w.sum(axis=1) ** 2


@dataclass(frozen=True)
class Cutoffs:
    """The interval of predictions ``lower <= u <= upper`` with the largest absolute sum of
    residuals.

    `gap` is the sum of w (u - z) over it, divided by the total weight W: above 0 where predictions
    are too high.
    """

    gap: float
    lower: float
    upper: float


def cutoff_error(levels: BinTable) -> float:
    """The cutoff error ``(max L - min L) / W``, the mean over classes: the largest absolute sum of
    residuals over any interval of predictions.

    L is the partial sum of residuals in order of predictions, with L = 0 before the first.
    """
    return float(np.mean([abs(_class_cutoff_error(table)) for table in _class_tables(levels)]))


def _class_cutoff_error(levels: BinTable) -> float:
    """The cutoff error of one class, up to its sign, which may be that of the worst interval's
    residuals.
    """
    if isinstance(levels, OrderedLevels):
        return levels.partial_residual_range() / float(levels.total_weight[0])
    return worst_interval(levels).gap


def worst_interval(levels: BinTable) -> Cutoffs:
    """The interval of predictions that gives the cutoff error of a scalar problem; the first one of
    several.
    """
    # The highest and the lowest point of the path, and the level that each comes after.
    high, after_high, low, after_low = 0.0, -1, 0.0, -1
    predictions: list[Array] = []
    start = 0
    for u, partial in _partial_sums(levels):
        predictions.append(u)
        up, down = int(partial.argmax()), int(partial.argmin())
        if partial[up] > high:
            high, after_high = float(partial[up]), start + up
        if partial[down] < low:
            low, after_low = float(partial[down]), start + down
        start += u.size
    u = np.concatenate(predictions)
    sign = 1.0 if after_low < after_high else -1.0
    first, last = sorted((after_high, after_low))
    if first == last:  # no residual at all
        return Cutoffs(0.0, float(u[0]), float(u[-1]))
    gap = sign * (high - low) / float(levels.total_weight[0])
    return Cutoffs(gap, float(u[first + 1]), float(u[last]))


def cutoff_errors(sums: CellSums) -> Array:
    """The cutoff error of each draw, (draws,)."""
    partial = np.cumsum(sums.wu - sums.wz, axis=1)
    high, low = partial.max(axis=1).clip(min=0.0), partial.min(axis=1).clip(max=0.0)
    return (high - low) / sums.w.sum(axis=1)


def _class_tables(levels: BinTable) -> Iterator[BinTable]:
    """Yield the one-class table of each class."""
    for r in range(levels.n_classes):
        yield levels.of_class(r)


def _partial_sums(levels: BinTable, unit: bool = False) -> Iterator[tuple[Array, Array]]:
    """Yield predictions and the partial sums of residuals up to and including each, in blocks that
    fit a cache.

    With `unit` the sums are of weights. Levels without weight are left out.
    """
    through = 0.0
    for stretch in levels.stretches():
        step, u = _level_terms(stretch, unit), stretch.mean_u[0]
        held = stretch.sum_w[0] > 0  # cells of a stream may be empty
        if not held.all():
            step, u = step[held], u[held]
        if u.size:
            partial = np.cumsum(step)
            partial += through
            through = float(partial[-1])
            yield u, partial


def _level_terms(stretch: BinTable, unit: bool) -> Array:
    """The term of each level in the partial sums: its residual, or with `unit` its weight."""
    return stretch.sum_w[0] if unit else stretch.residual[0]
