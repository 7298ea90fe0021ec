"""LevelTable: a bin for each distinct prediction, kept by columns.

As many levels as rows are the rule, and of the nine sums of a bin most follow from three: those are
stored, each in one run of memory, and the others are put together when a formula asks for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

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
        columns = (u, w, wz, wz if wz2 is None else wz2)
        squares = (w if n is None else n, w if w2 is None else w2, wz if w2z is None else w2z)
        self.__dict__["_columns"] = (*columns, *squares)
        self.__dict__["dropped"] = np.zeros((1, len(FIELDS)))
        self.__dict__["has_squares"] = True
        for column in (*columns, *squares, self.dropped):
            column.flags.writeable = False

    @cached_property
    def sums(self) -> Array:
        """All sums as a bin table has them: (1, levels, fields)."""
        u, w, wz, wz2, n, w2, w2z = self._columns
        columns = (n, w, w2, w * u, wz, w * (u * u), wz * u, wz2, w2z)
        sums = np.stack(columns, axis=1)[None]
        sums.flags.writeable = False
        return sums

    @property
    def _columns(self) -> tuple[Array, ...]:
        return self.__dict__["_columns"]

    @cached_property
    def ranks(self) -> MiddleRanks:
        """The ranks of the levels, for bins of equal mass in any number."""
        return MiddleRanks.from_mass(self._columns[1])

    def quantile_cuts(self, m: int) -> Cuts:
        """The inner edges of m bins of equal mass: each bin begins at its first level."""
        u, firsts = self._columns[0], self.ranks.firsts(m)[1:-1]
        beyond = np.nextafter(u[-1], np.inf)  # where the bins after the last level begin
        return Cuts(np.where(firsts < u.size, u[np.minimum(firsts, u.size - 1)], beyond))

    def from_edge(self, edge: float) -> LevelTable:
        """The levels at an edge and above it."""
        return self._slice(int(np.searchsorted(self._columns[0], edge)), None)

    def stretches(self) -> Iterator[BinTable]:
        for start in range(0, self.n_bins, STRETCH):
            yield self._slice(start, start + STRETCH)

    def _slice(self, start: int, stop: int | None) -> LevelTable:
        u, w, wz, wz2, n, w2, w2z = (column[start:stop] for column in self._columns)
        return type(self)(u, w, wz, wz2=wz2, n=n, w2=w2, w2z=w2z)

    def of_class(self, r: int) -> BinTable:
        return self if r == 0 else super().of_class(r)

    @property
    def n_classes(self) -> int:
        return 1

    @property
    def n_bins(self) -> int:
        return int(self._columns[0].size)

    @property
    def n(self) -> NDArray[np.int64]:
        return self._columns[4].astype(np.int64)[None]

    @property
    def sum_w(self) -> Array:
        return self._columns[1][None]

    @property
    def sum_w2(self) -> Array:
        return self._columns[5][None]

    @property
    def sum_wu(self) -> Array:
        return (self._columns[1] * self._columns[0])[None]

    @property
    def sum_wz(self) -> Array:
        return self._columns[2][None]

    @property
    def sum_wu2(self) -> Array:
        u = self._columns[0]
        squares = u * u
        squares *= self._columns[1]
        return squares[None]

    @property
    def sum_wuz(self) -> Array:
        return (self._columns[2] * self._columns[0])[None]

    @property
    def sum_wz2(self) -> Array:
        return self._columns[3][None]

    @property
    def sum_w2z(self) -> Array:
        return self._columns[6][None]

    @property
    def residual(self) -> Array:
        out = self.sum_wu
        out -= self._columns[2]
        return out

    @property
    def mean_u(self) -> Array:
        return self._columns[0][None]
