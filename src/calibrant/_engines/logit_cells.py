"""Sums of rows by cell of their logits, and the few weighted rows that stand for them.

A cell has the sums of w t^j and w z t^j, j < 7, for a row's weight w, target z and place t in
[-1, 1] of its logit in the cell. Rows at seven places in the cell whose weights give these sums,
some of them negative, stand for all of its rows: the sum of a function that is a polynomial of
degree 6 there, as losses of smooth maps are to some 14 digits, is the same. So a map of one logit
is fitted to these rows as it is to all. Sums of parts add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import comb

import numpy as np

from calibrant._core.errors import NeedsRows
from calibrant._core.typing import Array, Index
from calibrant._engines.logit_sums import EVENT, KINDS, NO_WEIGHT, POWERS, SOFT

# The width of cells in each zone: the zone j has the logits below 8^(j + 1).
WIDTHS = (2.0**-5, *(8.0**j / 64 for j in range(1, 7)))
REACH = 8.0 ** len(WIDTHS)
# Rows of a cell are grouped by side (inside, or of a probability at the floor of logarithms near 0
# or 1) and by kind of target.
SIDES, PER_ZONE = 4, 1024
# How many rows stand for a cell by the least share of it that its rows reach over: sums of rows
# that are closer have fewer digits, and need fewer terms.
PLACES = ((7, 0.02), (4, 1e-4), (2, 1e-12), (1, -1.0))
# A map may rise so much within a cell; beyond this logit it is flat.
MOST_RISE, FLAT = 0.4, 30.0


@dataclass(frozen=True)
class View:
    """The coordinate x = (logit - centre) * scale that cells are in."""

    centre: float = 0.0
    scale: float = 1.0


@dataclass(frozen=True, eq=False)
class LogitCells:
    """Sums by cell: the number `key` of its place, side and kind, the rows `n`, the squared
    weights, the smallest and largest t, and the moments (cells, powers) of the weight and of weight
    times target.
    """

    key: Index
    n: Array
    w2: Array
    low: Array
    high: Array
    w: Array
    wz: Array
    view: View = field(default_factory=View)

    @classmethod
    def merged(cls, parts: Sequence[LogitCells]) -> LogitCells:
        """The sums of the rows of all parts."""
        keys, at = np.unique(np.concatenate([part.key for part in parts]), return_inverse=True)
        low, high = np.full(keys.size, np.inf), np.full(keys.size, -np.inf)
        np.minimum.at(low, at, np.concatenate([part.low for part in parts]))
        np.maximum.at(high, at, np.concatenate([part.high for part in parts]))
        sums: dict[str, Array] = {}
        for name in ("n", "w2", "w", "wz"):
            values = np.concatenate([getattr(part, name) for part in parts])
            sums[name] = np.zeros((keys.size, *values.shape[1:]))
            np.add.at(sums[name], at, values)
        return cls(keys, low=low, high=high, view=parts[0].view, **sums)

    @property
    def side(self) -> Index:
        """The side of each cell: 0, or 1 and 2 where predictions are at the floor near 0 and 1."""
        return self.key // KINDS % SIDES

    @property
    def squares(self) -> float:
        """The sum of the squared shares of the rows in the weight of all."""
        return float(self.w2.sum()) / float(self.w[:, 0].sum()) ** 2

    def ruled_out(self) -> tuple[int, float]:
        """The number and the weight of rows whose target was given a probability at the floor."""
        kind, off = self.key % KINDS, self.w[:, 0] - self.wz[:, 0]
        low = (self.side == 1) & ((kind == SOFT) | (kind == EVENT))
        high = (self.side == 2) & (kind <= SOFT)
        return int(self.n[low | high].sum()), float(self.wz[low, 0].sum() + off[high].sum())

    def rows(self) -> PooledRows:
        """The rows that stand for the cells."""
        zone, place = np.divmod(self.key // (KINDS * SIDES), PER_ZONE)
        width = np.array(WIDTHS)[zone]
        middle, half = (self.high + self.low) / 2, (self.high - self.low) / 2
        parts = []
        for target, moments in ((0.0, self.w - self.wz), (1.0, self.wz)):
            left = np.ones(self.key.size, dtype=np.bool_) & (moments[:, 0] != 0)
            for count, least in PLACES:
                chosen = np.flatnonzero(left & (half > least))
                left[chosen] = False
                t, weights = _places(moments[chosen], middle[chosen], half[chosen], count)
                x = (place[chosen, None] - PER_ZONE / 2 + 0.5 + t / 2) * width[chosen, None]
                h = x / self.view.scale + self.view.centre
                targets = np.full(h.size, target)
                cell = np.repeat(chosen * 2 + int(target), count)
                side = np.repeat(self.side[chosen], count)
                parts.append((h.ravel(), weights.ravel(), targets, cell, side))
        h, weights, targets, cell, side = (
            np.concatenate(column) for column in zip(*parts, strict=True)
        )
        return PooledRows(h, weights, targets, cell, side, self.view)


@dataclass(frozen=True, eq=False)
class PooledRows:
    """Rows that stand for many: logit `h`, weight, target 0 or 1, the number of the cell and its
    side, (n,).
    """

    h: Array
    weights: Array
    targets: Array
    cell: Index
    side: Index
    view: View

    def finer(self, mapped: Array) -> View | None:
        """Coordinates for cells in which a map that makes the logits `mapped` of these rows rises
        little; None if it does so in these.
        """
        starts = np.flatnonzero(np.r_[True, np.diff(self.cell) != 0])
        low, high = (way.reduceat(mapped, starts) for way in (np.minimum, np.maximum))
        near = np.where(low * high <= 0.0, 0.0, np.minimum(np.abs(low), np.abs(high)))
        steep = (high - low > MOST_RISE) & (near < FLAT)
        if not steep.any():
            return None
        j = int(np.argmin(np.where(steep, near, np.inf)))
        ends = np.append(starts, self.cell.size)
        own = self.h[ends[j] : ends[j + 1]]
        return View(float(own.mean()), float((high - low)[j] / (own.max() - own.min())))


def _places(moments: Array, middle: Array, half: Array, count: int) -> tuple[Array, Array]:
    """So many places in [-1, 1] of each cell and their weights, (cells, count), which give the
    moments; between the ends of the rows, and with both of them.
    """
    if count == 1:
        return middle[:, None], moments[:, :1]
    own = np.zeros((moments.shape[0], count))  # moments about the middle, in units of `half`
    for k in range(count):
        for i in range(k + 1):
            own[:, k] += comb(k, i) * moments[:, i] * (-middle) ** (k - i) / half**k
    places = -np.cos(np.pi * np.arange(count) / (count - 1))
    weights = np.linalg.solve(np.vander(places, increasing=True).T, own.T).T
    return middle[:, None] + half[:, None] * places, weights


def check_reach(largest: float) -> None:
    """Raise a NeedsRows if logits are too large for the last zone."""
    if not largest < REACH:
        raise NeedsRows(
            f"y_proba has a logit of {largest:.3g}, but only logits below {REACH:,.0f} can be "
            "summed: fix these rows, or collect the frame and fit the map in memory"
        )


def cells_of(h: Array, z: Array, w: Array, side: Index, view: View) -> LogitCells:
    """The sums of rows in memory: logits, targets, weights and sides, (n,)."""
    x = (h - view.centre) * view.scale
    size = np.abs(x)
    check_reach(float(size.max(initial=0.0)))
    zone = np.zeros(h.size, dtype=np.intp)
    for j in range(1, len(WIDTHS)):
        if not (beyond := size >= 8.0**j).any():
            break
        zone += beyond
    place = x / np.array(WIDTHS)[zone]
    cell = np.floor(place)
    t = (place - cell - 0.5) * 2.0
    kind = np.where(w > 0, (z > 0).astype(np.intp) + (z >= 1), NO_WEIGHT)
    key = zone * PER_ZONE + cell.astype(np.intp) + PER_ZONE // 2
    key = (key * SIDES + side) * KINDS + kind
    count = len(WIDTHS) * PER_ZONE * SIDES * KINDS
    n = np.bincount(key, minlength=count)
    found = np.flatnonzero(n)
    soft = bool((kind == SOFT).any())
    moments, of_targets = np.empty((2, found.size, POWERS))
    power = np.array(w, dtype=np.float64)
    for j in range(POWERS):
        moments[:, j] = np.bincount(key, power, count)[found]
        if soft:
            of_targets[:, j] = np.bincount(key, power * z, count)[found]
        power *= t
    if not soft:
        of_targets = np.where((found % KINDS == EVENT)[:, None], moments, 0.0)
    low, high = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(low, key, t)
    np.maximum.at(high, key, t)
    w2 = np.bincount(key, w * w, count)[found].astype(np.float64)
    ends = low[found], high[found]
    return LogitCells(found, n[found].astype(np.float64), w2, *ends, moments, of_targets, view)
