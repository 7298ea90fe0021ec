"""Labels in sets at which measures are smallest and largest: exact bounds over all labels.

Bins are made of predictions alone, and each row's label moves freely between its ends lo and hi.
So the labels of a bin have every sum between those of lo and of hi, whatever the other bins have: a
measure that grows with each |R_B| is smallest where every bin is as near to its predictions as it
can be, and largest where every bin is at the farther end. A loss is bounded row by row.
"""

from __future__ import annotations

import numpy as np

from calibrant._core.bin_tables import FIELDS, BinTable
from calibrant._core.typing import Array, Index

# The corners of a row's set are tried one by one, 2^(k - 1) k of them: 0.1 ms a row of 8 classes.
MOST_CORNER_CLASSES = 8
_BLOCK = 1 << 20
_UNKNOWN = [FIELDS.index(name) for name in ("sum_wuz", "sum_wz2", "sum_w2z")]


def table_between(low: BinTable, high: BinTable, *, farthest: bool) -> BinTable:
    """The bins with the sums of labels nearest to their predictions, or `farthest` from them.

    `low` and `high` are the same bins with the labels' lower and upper ends. Other sums of labels
    are NaN: what they are between the ends is not known.
    """
    sums, z = low.sums.copy(), FIELDS.index("sum_wz")
    if farthest:
        lower = np.abs(low.residual) >= np.abs(high.residual)
        sums[..., z] = np.where(lower, low.sum_wz, high.sum_wz)
    else:
        sums[..., z] = np.clip(low.sum_wu, low.sum_wz, high.sum_wz)
    sums[..., _UNKNOWN] = np.nan
    return BinTable(sums, low.dropped.copy(), False)


def easiest(p: Array, lo: Array, hi: Array) -> Array:
    """Labels with as much mass as they can have on what is predicted most, row by row.

    For losses that are linear in the label (log, spherical, classification), and of the confidence
    loss, which falls with the target of the top label, they give the smallest value.
    """
    if p.ndim == 1:
        return np.where(p > 0.5, hi, lo)
    return _filled(np.argsort(-p, axis=1, kind="stable"), lo, hi)


def hardest(p: Array, lo: Array, hi: Array) -> Array:
    """Labels with as much mass as they can have on what is predicted least, row by row."""
    if p.ndim == 1:
        return np.where(p > 0.5, lo, hi)
    return _filled(np.argsort(-p, axis=1, kind="stable")[:, ::-1], lo, hi)


def _filled(order: Index, lo: Array, hi: Array) -> Array:
    """Distributions between lo and hi, filled up to 1 class by class in the `order` of each row."""
    room = np.take_along_axis(hi - lo, order, axis=1)
    free = np.maximum(1 - lo.sum(axis=1, keepdims=True), 0.0)
    added = np.clip(free - (np.cumsum(room, axis=1) - room), 0.0, room)
    out = lo.copy()
    np.put_along_axis(out, order, np.take_along_axis(lo, order, axis=1) + added, axis=1)
    return np.minimum(out, hi)


def nearest(p: Array, lo: Array, hi: Array) -> Array:
    """Labels with the smallest squared distance to the predictions, row by row.

    With several classes it is the projection ``clip(p - s, lo, hi)``, with the shift s at which the
    row sums to 1.
    """
    if p.ndim == 1:
        return np.clip(p, lo, hi)
    least, most = -np.ones((len(p), 1)), np.ones((len(p), 1))
    for _ in range(60):
        shift = (least + most) / 2
        above = np.clip(p - shift, lo, hi).sum(axis=1, keepdims=True) > 1
        least, most = np.where(above, shift, least), np.where(above, most, shift)
    return np.clip(p - most, lo, hi)


def farthest(p: Array, lo: Array, hi: Array) -> Array:
    """Labels with the largest squared distance to the predictions, row by row.

    The distance is convex, so that it is largest at a corner of the row's set: all classes but one
    are at an end. All corners are tried, of at most MOST_CORNER_CLASSES classes.
    """
    if p.ndim == 1:
        return np.where(np.abs(p - lo) > np.abs(p - hi), lo, hi)
    k = p.shape[1]
    ends = ((np.arange(1 << (k - 1))[:, None] >> np.arange(k - 1)) & 1).astype(np.float64)
    step = max(1, _BLOCK // len(ends))
    parts = [slice(start, start + step) for start in range(0, len(p), step)]
    return np.concatenate([_farthest_corners(p[rows], lo[rows], hi[rows], ends) for rows in parts])


def _farthest_corners(p: Array, lo: Array, hi: Array, ends: Array) -> Array:
    """`farthest` of some rows; `ends` says which other classes are at hi, (corners, k - 1)."""
    k, best, out = p.shape[1], np.full(len(p), -1.0), lo.copy()
    for own in range(k):
        others = [r for r in range(k) if r != own]
        a, b = lo[:, others], hi[:, others]
        z = 1 - (a.sum(axis=1, keepdims=True) + (b - a) @ ends.T)
        inside = (z >= lo[:, [own]] - 1e-9) & (z <= hi[:, [own]] + 1e-9)
        z = np.clip(z, lo[:, [own]], hi[:, [own]])
        squares = (p[:, others] - a) ** 2
        gains = (p[:, others] - b) ** 2 - squares
        total = squares.sum(axis=1, keepdims=True) + gains @ ends.T + (p[:, [own]] - z) ** 2
        at = np.where(inside, total, -1.0).argmax(axis=1)
        rows = np.arange(len(p))
        found = np.where(inside[rows, at], total[rows, at], -1.0)
        better = found > best
        corner = np.empty_like(p)
        corner[:, others] = np.where(ends[at] > 0, b, a)
        corner[:, own] = z[rows, at]
        out[better], best = corner[better], np.maximum(best, found)
    return out
