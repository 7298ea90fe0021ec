"""Local regression of targets on predictions, as R's `loess` has it, and what lies between it and
the diagonal: the integrated calibration index and its kin.

Cleveland and Grosse's method: at a few vertices a parabola is fitted to the nearest three quarters
of the rows, by tricube weights; between vertices the curve is the cubic through their values and
slopes. Vertices are where halving the rows ends. All is in terms of shares of weight, so that a
whole weight is a repetition; R counts rows, and differs by at most one of them.

A level is a distinct prediction u, with the weight w and the weighted target w z of its rows, and a
cell is the same for nearly equal predictions. The reach of a vertex is the distance up to which it
sees levels; the span is the share of weight within it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from calibrant._core.bin_tables import BinTable
from calibrant._core.typing import Array, Index, Mask
from calibrant._measures.cell_formulas import CellSums

# R's defaults: the share of rows that a vertex sees, and the share of those that a part between
# two vertices may have.
SPAN, CELL = 0.75, 0.2
# Vertices at the ends lie outside the data by this share of their range.
_MARGIN = 0.005
# As in R, rows farther than this share of the reach weigh 0, and rows nearer than this weigh 1.
_EDGE, _CENTRE = 0.999, 0.001
# Distinct predictions that a parabola needs inside a neighbourhood.
_NEEDED = 3
_TINY = 1e-12


@dataclass(frozen=True, eq=False)
class Vertices:
    """Where parabolas are fitted, how far each looks, and the levels that it sees.

    A vertex lies at `at` and looks as far as `reach`; it sees the levels from `first` up to, but
    not including, `last`.
    """

    at: Array
    reach: Array
    first: Index
    last: Index

    @classmethod
    def from_levels(cls, u: Array, w: Array, span: float = SPAN) -> Vertices:
        """The vertices for increasing levels u with weights w."""
        at = _cuts(u, w, span)
        through = np.concatenate([[0.0], np.cumsum(w)])
        reach = _reaches(u, through, at, span)
        first = np.searchsorted(u, at - reach)
        last = np.searchsorted(u, at + reach, side="right")
        return cls(at, reach, first, last)

    def kernel(self, u: Array, j: int) -> tuple[slice, Array, Array]:
        """What the vertex j sees: a slice of the levels, their places, and their tricube weights.

        A place is the distance from the vertex, as a share of its reach, and below 0 to the left.
        """
        some = slice(int(self.first[j]), int(self.last[j]))
        x = (u[some] - self.at[j]) / self.reach[j]
        far = np.abs(x)
        tricube = 1.0 - far * far * far
        tricube *= tricube * tricube
        tricube[far <= _CENTRE] = 1.0
        tricube[far >= _EDGE] = 0.0
        return some, x, tricube


def _cuts(u: Array, w: Array, span: float) -> Array:
    """The places of the vertices, in increasing order.

    They are both ends of the levels, a little outside, and the last level of the lower half of
    every part that has too much weight; parts are halved until none has.
    """
    through = np.cumsum(w)
    most = span * CELL * through[-1] * (1.0 + _TINY)
    largest = max(abs(u[0]), abs(u[-1]))
    margin = _MARGIN * max(u[-1] - u[0], 1e-10 * largest + 1e-30)
    found, left = [], [(0, u.size)]
    while left:
        a, b = left.pop()
        before = through[a - 1] if a else 0.0
        weight = through[b - 1] - before
        if weight <= most or b - a < 2:
            continue
        # Of two cuts that halve the weight equally well, the upper one is taken.
        off = np.abs(through[a : b - 1] - before - weight / 2.0)
        cut = a + int(np.flatnonzero(off <= off.min() + _TINY * weight)[-1])
        found.append(u[cut])
        left += [(a, cut + 1), (cut + 1, b)]
    return np.array([u[0] - margin, *sorted(set(found)), u[-1] + margin])


def _reaches(u: Array, through: Array, at: Array, span: float) -> Array:
    """The reach of each vertex: it takes in the share `span` of the weight, and enough levels.

    `through` has the cumulative weights of the levels with 0 in front, and `at` the vertices. A
    parabola needs three levels inside.
    """
    wanted = span * through[-1] * (1.0 - _TINY)

    def enough_within(distance: Array) -> Mask:
        """Whether the levels within this distance of each vertex have the weight that is wanted."""
        # The distance is enlarged by a hair, in case rounding made it too small.
        more = distance * (1.0 + 1e-14) + 1e-300
        low, high = np.searchsorted(u, at - more), np.searchsorted(u, at + more, "right")
        return np.asarray(through[high] - through[low] >= wanted)

    # The distances to levels above a vertex, and to those below it, increase: bisect each for
    # itself, of all vertices at once.
    middle = np.searchsorted(u, at)
    best = np.maximum(np.abs(u[0] - at), np.abs(u[-1] - at))
    for first, step, size in ((middle, 1, u.size - middle), (middle - 1, -1, middle)):
        low, high = np.zeros_like(size), size.copy()
        while (low < high).any():
            half = (low + high) // 2
            near = enough_within(np.abs(u[np.clip(first + step * half, 0, u.size - 1)] - at))
            low, high = (
                np.where((low < high) & ~near, half + 1, low),
                np.where((low < high) & near, half, high),
            )
        found = np.abs(u[np.clip(first + step * low, 0, u.size - 1)] - at)
        best = np.where(low < size, np.minimum(best, found), best)
    # Levels at the edge weigh nothing, so that three levels must lie nearer.
    index = middle[:, None] + np.arange(-_NEEDED - 1, _NEEDED + 1)
    there = (index >= 0) & (index < u.size)
    off = np.abs(u[np.clip(index, 0, u.size - 1)] - at[:, None])
    off = np.sort(np.where(there, off, np.inf), axis=1)
    last = off[np.arange(at.size), there.sum(axis=1) - 1]
    enough = np.where(there.sum(axis=1) > _NEEDED, off[:, _NEEDED], last / _EDGE + 1e-9)
    return np.maximum(np.maximum(best, enough), 1e-300)


def local_fit(u: Array, w: Array, wz: Array, span: float = SPAN) -> Array:
    """The curve at increasing levels u, with weights w > 0 and weighted targets wz, (levels,).

    Up to three distinct predictions have the mean targets themselves.
    """
    if u.size <= _NEEDED:
        return wz / w
    vertices = Vertices.from_levels(u, w, span)
    moments, products = np.empty((vertices.at.size, 5)), np.empty((vertices.at.size, 3))
    for j in range(vertices.at.size):
        some, x, kernel = vertices.kernel(u, j)
        weight, target = kernel * w[some], kernel * wz[some]
        for i in range(5):
            moments[j, i] = weight.sum() if i == 0 else float(weight @ x)
            if i < 3:
                products[j, i] = target.sum() if i == 0 else float(target @ x)
            if i > 0:
                weight *= x
                target *= x
    value, slope = _parabolas(moments, products)
    return _interpolate(vertices, u, value, slope / vertices.reach)


def curve_matrix(u: Array, w: Array, span: float = SPAN) -> Array:
    """The matrix that takes the mean targets of levels u to the curve at them, (levels, levels)."""
    vertices = Vertices.from_levels(u, w, span)
    m = vertices.at.size
    moments, powers = np.zeros((m, 5)), np.zeros((m, 3, u.size))
    for j in range(m):
        some, x, kernel = vertices.kernel(u, j)
        basis = np.power.outer(x, np.arange(5)) * (kernel * w[some])[:, None]
        moments[j] = basis.sum(axis=0)
        powers[j][:, some] = basis[:, :3].T
    matrix = moments[:, np.add.outer(np.arange(3), np.arange(3))]
    inverse = np.linalg.pinv(matrix, rcond=1e-10, hermitian=True)
    value = np.einsum("ji,jin->jn", inverse[:, 0], powers)
    slope = np.einsum("ji,jin->jn", inverse[:, 1], powers) / vertices.reach[:, None]
    return _interpolate(vertices, u, value.T, slope.T).T


@dataclass(frozen=True, eq=False)
class _CellFit:
    """What a curve through cells takes, whatever their targets are.

    `powers` has what a cell adds to the moments at each vertex, (cells, vertices, 5). `between` has
    what the value and the slope at a vertex (a slope over the whole reach) add to the curve at each
    cell, (2 vertices, cells).
    """

    vertices: Vertices
    powers: Array
    between: Array

    @classmethod
    def from_levels(cls, u: Array, w: Array) -> _CellFit:
        """The fit of cells at u with mean weights w; cells without weight make no vertices."""
        own = Vertices.from_levels(u[w > 0], w[w > 0])
        first = np.searchsorted(u, own.at - own.reach)
        last = np.searchsorted(u, own.at + own.reach, side="right")
        vertices, m = Vertices(own.at, own.reach, first, last), own.at.size
        powers = np.zeros((u.size, m, 5))
        for j in range(m):
            some, x, kernel = vertices.kernel(u, j)
            powers[some, j] = kernel[:, None] * np.power.outer(x, np.arange(5))
        one, none = np.eye(m), np.zeros((m, m))
        values, slopes = np.concatenate([one, none]), np.concatenate([none, one / own.reach])
        return cls(vertices, powers, _interpolate(vertices, u, values, slopes))


def local_fits(sums: CellSums) -> Array:
    """The curve of every draw at its cells, (draws, cells).

    Vertices are the same for all draws: those of the cells with their mean weights.
    """
    u = sums.u
    if u.size <= _NEEDED:
        return np.divide(
            sums.wz, sums.w, out=np.broadcast_to(u, sums.w.shape).copy(), where=sums.w > 0
        )
    fit, lines = _fit_of_cells(sums), sums.of_weights(_lines)
    n, m = len(sums.wz), fit.vertices.at.size
    products = (sums.wz @ fit.powers[..., :3].reshape(u.size, -1)).reshape(n, 1, m, 3)
    solved = (lines * products).sum(axis=3).reshape(n, 2 * m)
    return solved @ fit.between


def _lines(sums: CellSums, w: Array) -> Array:
    """What the sums of targets at a vertex add to its value and slope, (draws, 2, vertices, 3).

    They are the first two rows of the inverse of the matrix of moments, which weights w make.
    """
    powers = _fit_of_cells(sums).powers
    moments = (w @ powers.reshape(len(powers), -1)).reshape(len(w), -1, 5)
    matrix = moments[..., np.add.outer(np.arange(3), np.arange(3))]
    regular = _regular(matrix)
    inverse = np.empty(matrix.shape)
    inverse[regular] = np.linalg.inv(matrix[regular])
    inverse[~regular] = np.linalg.pinv(matrix[~regular], rcond=1e-10, hermitian=True)
    return np.ascontiguousarray(inverse[:, :, :2].transpose(0, 2, 1, 3))


def _fit_of_cells(sums: CellSums) -> _CellFit:
    """The fit of cells, computed once for all draws of them."""
    known: list[_CellFit] = sums.once(_known)
    if not known:
        known.append(_CellFit.from_levels(sums.u, sums.w.mean(axis=0)))
    return known[0]


def _known(u: Array) -> list[_CellFit]:
    """An empty list, to keep the fit of cells in."""
    return []


def _regular(matrix: Array) -> Mask:
    """Which matrices of moments (..., 3, 3) can be inverted, (...)."""
    return np.linalg.det(matrix) > 1e-12 * matrix[..., 0, 0] ** 3


def _parabolas(moments: Array, products: Array) -> tuple[Array, Array]:
    """Value and slope at the vertex of the parabolas that fit best, (...) each.

    `moments` has sums of weight times powers 0 to 4 of the place, (..., 5), and `products` sums of
    weighted target times powers 0 to 2, (..., 3).
    """
    index = np.add.outer(np.arange(3), np.arange(3))
    matrix = moments[..., index]
    regular = _regular(matrix)
    solved = np.zeros(products.shape)
    solved[regular] = np.linalg.solve(matrix[regular], products[regular][..., None])[..., 0]
    if not regular.all():
        # One or two levels leave coefficients free: the pseudo-inverse takes the smallest that fit.
        inverse = np.linalg.pinv(matrix[~regular], rcond=1e-10, hermitian=True)
        solved[~regular] = np.einsum("...ij,...j->...i", inverse, products[~regular])
    return solved[..., 0], solved[..., 1]


def _interpolate(vertices: Vertices, u: Array, value: Array, slope: Array) -> Array:
    """The curve at u: cubics through values and slopes at the vertices, (..., vertices) each."""
    at = vertices.at
    j = np.clip(np.searchsorted(at, u, side="right") - 1, 0, at.size - 2)
    width = at[j + 1] - at[j]
    t = (u - at[j]) / width
    s = 1.0 - t
    return (
        (1.0 + 2.0 * t) * s * s * value[..., j]
        + t * s * s * width * slope[..., j]
        + t * t * (3.0 - 2.0 * t) * value[..., j + 1]
        - t * t * s * width * slope[..., j + 1]
    )


# --- how far the curve is from the diagonal -------------------------------------------------------


# The distances of tables that are still in use: four measures ask for each.
_KEPT: WeakKeyDictionary[BinTable, tuple[Array, Array]] = WeakKeyDictionary()


def distances(levels: BinTable) -> tuple[Array, Array]:
    """|curve - u| of every level that has weight, and the weights, (levels,) each.

    They are kept as long as the table is in use.
    """
    if levels not in _KEPT:
        _KEPT[levels] = _distances(levels)
    return _KEPT[levels]


def _distances(levels: BinTable) -> tuple[Array, Array]:
    """The same as `distances`, computed."""
    w, wz, u = levels.sum_w[0], levels.sum_wz[0], levels.mean_u[0]
    if not w.all():  # cells of a stream may be empty
        w, wz, u = (column[levels.sum_w[0] > 0] for column in (w, wz, u))
    return np.abs(local_fit(u, w, wz) - u), w


def ici(levels: BinTable) -> float:
    """The integrated calibration index: the mean distance of the curve from the diagonal."""
    far, w = distances(levels)
    return min(1.0, float(w @ far / w.sum()))


def distance_quantile(levels: BinTable, share: float) -> float:
    """The distance from the diagonal that a share of the rows is within.

    At a step of the distances it is the middle of the step.
    """
    far, w = distances(levels)
    return min(1.0, float(_quantiles(far[None], w[None], (share,))[0][0]))


def emax(levels: BinTable) -> float:
    """The largest distance of the curve from the diagonal."""
    return min(1.0, float(distances(levels)[0].max()))


def _quantiles(far: Array, w: Array, shares: Sequence[float]) -> list[Array]:
    """The quantile of weighted distances in each draw, for every share, (draws,) each.

    `far` and `w` are distances and weights (draws, levels), which are put in order once for all
    shares.
    """
    order = np.argsort(far, axis=1, kind="stable")  # the same sums on every processor
    through = np.cumsum(np.take_along_axis(np.broadcast_to(w, far.shape), order, axis=1), axis=1)
    rows, most = np.arange(len(far)), far.shape[1] - 1
    out: list[Array] = []
    for share in shares:
        wanted = share * through[:, -1:]
        lower = (through < wanted * (1.0 - 1e-12)).sum(axis=1)
        upper = (through <= wanted * (1.0 + 1e-12)).sum(axis=1)
        first, second = (far[rows, order[rows, np.minimum(i, most)]] for i in (lower, upper))
        out.append((first + second) / 2.0)
    return out


# The results of `_drawn_distances` for draws that are still in use.
_KEPT_DRAWS: WeakKeyDictionary[CellSums, tuple[Array, Array, Array, Array]] = WeakKeyDictionary()


def _drawn_distances(sums: CellSums) -> tuple[Array, Array, Array, Array]:
    """The distances of each draw's curve from the diagonal: mean, median, 90% quantile, largest.

    Each is (draws,); they come from one fit for all four measures.
    """
    out = _KEPT_DRAWS.get(sums)
    if out is None:
        # 0 where a cell has no weight.
        far = np.where(sums.w > 0, np.abs(local_fits(sums) - sums.u), 0.0)
        mean = np.einsum("ij,ij->i", sums.w, far) / sums.w.sum(axis=1)
        out = (mean, *_quantiles(far, sums.w, (0.5, 0.9)), far.max(axis=1))
        _KEPT_DRAWS[sums] = out
    return out


def icis(sums: CellSums) -> Array:
    """The integrated calibration index of each draw: the mean distance of its curve."""
    return np.minimum(_drawn_distances(sums)[0], 1.0)


def e50s(sums: CellSums) -> Array:
    """The median distance of each draw's curve from the diagonal."""
    return np.minimum(_drawn_distances(sums)[1], 1.0)


def e90s(sums: CellSums) -> Array:
    """The distance from the diagonal that nine tenths of the rows are within, of each draw."""
    return np.minimum(_drawn_distances(sums)[2], 1.0)


def emaxs(sums: CellSums) -> Array:
    """The largest distance of each draw's curve from the diagonal."""
    return np.minimum(_drawn_distances(sums)[3], 1.0)
