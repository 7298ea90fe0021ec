"""LevelTable: a bin for each level, that is for each distinct prediction, stored by columns.

Usually there are about as many levels as rows. Most of the nine sums of a bin follow from the
prediction, the weight and the weighted target: these are stored, each contiguous in memory, and the
others are computed when a formula asks for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from calibrant._core.bin_tables import FIELDS, STRETCH, BinTable
from calibrant._core.binning import Cuts, MiddleRanks
from calibrant._core.typing import Array


class LevelTable(BinTable):
    """The sums of each level (distinct prediction u) of a table of one class, in
    increasing order of u.

    `w` and `wz` are sums of weights and of weighted targets. Without `wz2`, targets are 0 or 1;
    without `n`, `w2` and `w2z`, every row has weight 1.
    """

    def __init__(
        self,
        u: Array,
        w: Array,
        wz: Array,
        *,
        wz2: Array | None = None,
        n: Array | None = None,
        w2: Array | None = None,
        w2z: Array | None = None,
    ) -> None:
        """All arrays are of shape (levels,): `u` holds the predictions, the others hold the sums
        that FIELDS calls "sum_w", "sum_wz" and so on. Sums that are left out are equal to `w` or
        `wz`.
        """
        stored = {
            "n": w if n is None else n,
            "sum_w": w,
            "sum_w2": w if w2 is None else w2,
            "sum_wz": wz,
            "sum_wz2": wz if wz2 is None else wz2,
            "sum_w2z": wz if w2z is None else w2z,
        }
        # A frozen dataclass is filled through its dictionary.
        vars(self).update(_u=u, _stored=stored, has_squares=True)
        vars(self)["dropped"] = np.zeros((1, len(FIELDS)))
        for column in (u, *stored.values(), self.dropped):
            column.flags.writeable = False
        self._u: Array
        self._stored: dict[str, Array]

    @cached_property
    def sums(self) -> Array:
        """All sums in the layout of a bin table: (1, levels, fields)."""
        sums = np.stack([self._level_sums(name) for name in FIELDS], axis=1)[None]
        sums.flags.writeable = False
        return sums

    def _column(self, name: str) -> Array:
        """The sums of one of FIELDS (`name`) for every level in the layout of a bin table, (1,
        levels).
        """
        return self._level_sums(name)[None]

    def _level_sums(self, name: str) -> Array:
        """The sums of one of FIELDS (`name`) for every level, (levels,): stored, or computed from a
        stored sum and u.
        """
        if name == "sum_wu":
            return self._stored["sum_w"] * self._u
        if name == "sum_wuz":
            return self._stored["sum_wz"] * self._u
        if name == "sum_wu2":
            squares = self._u * self._u
            squares *= self._stored["sum_w"]
            return squares
        return self._stored[name]

    @cached_property
    def ranks(self) -> MiddleRanks:
        """The middle ranks of the levels, which give bins of equal mass in any number."""
        return MiddleRanks.from_mass(self._stored["sum_w"])

    def quantile_cuts(self, m: int) -> Cuts:
        """The inner edges of m bins of equal mass: the lowest prediction of each bin
        but the first.
        """
        u, firsts = self._u, self.ranks.firsts(m)[1:-1]
        beyond = np.nextafter(u[-1], np.inf)  # where the bins after the last level begin
        return Cuts(np.where(firsts < u.size, u[np.minimum(firsts, u.size - 1)], beyond))

    def from_edge(self, edge: float) -> LevelTable:
        """The table of the levels whose prediction is at or above an edge."""
        return self._slice(int(np.searchsorted(self._u, edge)), None)

    def stretches(self) -> Iterator[BinTable]:
        """Yield the levels in order as tables of at most STRETCH levels, few enough for a cache."""
        for start in range(0, self.n_bins, STRETCH):
            yield self._slice(start, start + STRETCH)

    def _slice(self, start: int, stop: int | None) -> LevelTable:
        """The levels from position `start` up to `stop`, as a table; None means up to the end."""
        n, w, w2, wz, wz2, w2z = (column[start:stop] for column in self._stored.values())
        return type(self)(self._u[start:stop], w, wz, wz2=wz2, n=n, w2=w2, w2z=w2z)

    def of_class(self, r: int) -> BinTable:
        """The table itself: class 0 is the only class."""
        return self if r == 0 else super().of_class(r)

    @property
    def n_classes(self) -> int:
        """The number of classes: always 1."""
        return 1

    @property
    def n_bins(self) -> int:
        """The number of levels."""
        return int(self._u.size)

    @property
    def residual(self) -> Array:
        """The sum of weight times (prediction less target) of each level, (1, levels)."""
        out = self.sum_wu
        out -= self._stored["sum_wz"]
        return out

    @property
    def mean_u(self) -> Array:
        """The prediction of each level, (1, levels)."""
        return self._u[None]
