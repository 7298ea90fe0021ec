"""LevelTable: a bin for each distinct prediction, kept by columns.

As many levels as rows are the rule, and of the nine sums of a bin most follow from three: those are
stored, each in one run of memory, and the others are put together when a formula asks for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from calibrant._core.bin_tables import FIELDS, STRETCH, BinTable
from calibrant._core.binning import Cuts, MiddleRanks
from calibrant._core.typing import Array


class LevelTable(BinTable):
    """The sums of each distinct prediction u of a scalar problem, in increasing order of u.

    `w` and `wz` are sums of weights and of weighted targets. Where `wz2` is missing targets are 0
    or 1, and where `n` is missing every row weighs 1.
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
        """All sums as a bin table has them: (1, levels, fields)."""
        sums = np.stack([self._level_sums(name) for name in FIELDS], axis=1)[None]
        sums.flags.writeable = False
        return sums

    def _column(self, name: str) -> Array:
        return self._level_sums(name)[None]

    def _level_sums(self, name: str) -> Array:
        """One of FIELDS for every level: stored, or a stored one times u or u^2."""
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
        """The ranks of the levels, for bins of equal mass in any number."""
        return MiddleRanks.from_mass(self._stored["sum_w"])

    def quantile_cuts(self, m: int) -> Cuts:
        """The inner edges of m bins of equal mass: each bin begins at its first level."""
        u, firsts = self._u, self.ranks.firsts(m)[1:-1]
        beyond = np.nextafter(u[-1], np.inf)  # where the bins after the last level begin
        return Cuts(np.where(firsts < u.size, u[np.minimum(firsts, u.size - 1)], beyond))

    def from_edge(self, edge: float) -> LevelTable:
        """The levels at an edge and above it."""
        return self._slice(int(np.searchsorted(self._u, edge)), None)

    def stretches(self) -> Iterator[BinTable]:
        for start in range(0, self.n_bins, STRETCH):
            yield self._slice(start, start + STRETCH)

    def _slice(self, start: int, stop: int | None) -> LevelTable:
        n, w, w2, wz, wz2, w2z = (column[start:stop] for column in self._stored.values())
        return type(self)(self._u[start:stop], w, wz, wz2=wz2, n=n, w2=w2, w2z=w2z)

    def of_class(self, r: int) -> BinTable:
        return self if r == 0 else super().of_class(r)

    @property
    def n_classes(self) -> int:
        return 1

    @property
    def n_bins(self) -> int:
        return int(self._u.size)

    @property
    def residual(self) -> Array:
        out = self.sum_wu
        out -= self._stored["sum_wz"]
        return out

    @property
    def mean_u(self) -> Array:
        return self._u[None]
