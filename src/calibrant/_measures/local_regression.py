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
    """The points at which the local regression fits parabolas (vertices), and the levels (distinct
    predictions) that each fit uses.

    A vertex lies at `at` and uses levels no farther than `reach`: those from `first` up to, but not
    including, `last`.
    """

    at: Array
    reach: Array
    first: Index
    last: Index

    @classmethod
    def from_levels(cls, u: Array, w: Array, span: float = SPAN) -> Vertices:
        """The vertices for increasing levels u with weights w; each fit uses the share `span` of
        the weight.
        """
        at = _vertex_positions(u, w, span)
        through = np.concatenate([[0.0], np.cumsum(w)])
        reach = _reaches(u, through, at, span)
        first = np.searchsorted(u, at - reach)
        last = np.searchsorted(u, at + reach, side="right")
        return cls(at, reach, first, last)

    def kernel(self, u: Array, j: int) -> tuple[slice, Array, Array]:
        """The levels that the vertex j uses: their slice of u, their distances from the vertex, and
        their tricube weights.

        A distance is a share of the vertex's reach, and below 0 to the left.
        """
        some = slice(int(self.first[j]), int(self.last[j]))
        x = (u[some] - self.at[j]) / self.reach[j]
        far = np.abs(x)
        tricube = 1.0 - far * far * far
        tricube *= tricube * tricube
        tricube[far <= _CENTRE] = 1.0
        tricube[far >= _EDGE] = 0.0
        return some, x, tricube


def _vertex_positions(u: Array, w: Array, span: float) -> Array:
    """The positions of the vertices, in increasing order, from increasing levels u with weights w.

    They are both ends of the levels, a little outside, and the last level of the lower half of
    every run of levels that has too much weight; runs are halved until none has.
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
        # If two cuts halve the weight equally well, the upper one is taken.
        off = np.abs(through[a : b - 1] - before - weight / 2.0)
        cut = a + int(np.flatnonzero(off <= off.min() + _TINY * weight)[-1])
        found.append(u[cut])
        left += [(a, cut + 1), (cut + 1, b)]
    return np.array([u[0] - margin, *sorted(set(found)), u[-1] + margin])


def _reaches(u: Array, through: Array, at: Array, span: float) -> Array:
    """The reach of each vertex: the distance within which lie the share `span` of the weight and
    enough levels for a parabola (three).

    `through` has the cumulative weights of the levels with 0 in front, and `at` the vertices.
    """
    wanted = span * through[-1] * (1.0 - _TINY)

    def enough_within(distance: Array) -> Mask:
        """Whether the levels within this distance of each vertex have the required weight."""
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
    """The local regression curve at increasing levels u, (levels,), with weights w > 0 and weighted
    targets wz.

    For up to three distinct predictions it is the mean targets themselves.
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
    """The matrix (levels, levels) that turns the mean targets of levels u into the local regression
    curve at these levels.
    """
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
    """The part of a local regression over cells that does not depend on their targets.

    `powers` has what a cell adds to the moments at each vertex, (cells, vertices, 5). `between` has
    what the value and the slope at a vertex (a slope over the whole reach) add to the curve at each
    cell, (2 vertices, cells).
    """

    vertices: Vertices
    powers: Array
    between: Array

    @classmethod
    def from_levels(cls, u: Array, w: Array) -> _CellFit:
        """The fit for cells at predictions u with mean weights w; vertices come from the cells with
        weight.
        """
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
    """The local regression curve of every draw at its cells, (draws, cells).

    Vertices are the same for all draws: those of the cells with their mean weights.
    """
    u = sums.u
    if u.size <= _NEEDED:
        return np.divide(
            sums.wz, sums.w, out=np.broadcast_to(u, sums.w.shape).copy(), where=sums.w > 0
        )
    fit, lines = _fit_of_cells(sums), sums.of_weights(_value_and_slope_matrix)
    n, m = len(sums.wz), fit.vertices.at.size
    products = (sums.wz @ fit.powers[..., :3].reshape(u.size, -1)).reshape(n, 1, m, 3)
    solved = (lines * products).sum(axis=3).reshape(n, 2 * m)
    return solved @ fit.between


def _value_and_slope_matrix(sums: CellSums, w: Array) -> Array:
    """The matrix from sums of weighted targets at a vertex to the fitted value and slope there,
    (draws, 2, vertices, 3), for weights w.

    It is the first two rows of the inverse of the matrix of moments, by its cofactors: many times
    faster than a solver that is called for each small matrix.
    """
    powers = _fit_of_cells(sums).powers
    moments = (w @ powers.reshape(len(powers), -1)).reshape(len(w), -1, 5)
    m0, m1, m2, m3, m4 = (moments[..., k] for k in range(5))
    first = np.stack([m2 * m4 - m3 * m3, m2 * m3 - m1 * m4, m1 * m3 - m2 * m2], axis=-1)
    second = np.stack([first[..., 1], m0 * m4 - m2 * m2, m1 * m2 - m0 * m3], axis=-1)
    determinant = (first * moments[..., :3]).sum(axis=-1)
    regular = determinant > _SINGULAR * m0**3
    inverse = np.stack([first, second], axis=1)
    inverse /= np.where(regular, determinant, 1.0)[:, None, :, None]
    if not regular.all():
        matrix = moments[~regular][..., np.add.outer(np.arange(3), np.arange(3))]
        rows = np.linalg.pinv(matrix, rcond=1e-10, hermitian=True)[..., :2, :]
        inverse.transpose(0, 2, 1, 3)[~regular] = rows
    return inverse


def _fit_of_cells(sums: CellSums) -> _CellFit:
    """The target-free part of the fit for these cells, computed once for all draws of them."""
    known: list[_CellFit] = sums.once(_empty_cache)
    if not known:
        known.append(_CellFit.from_levels(sums.u, sums.w.mean(axis=0)))
    return known[0]


def _empty_cache(u: Array) -> list[_CellFit]:
    """A new empty list, in which `_fit_of_cells` caches its result; u is not used."""
    return []


# A matrix of moments is singular if its determinant is below this share of its first entry cubed.
_SINGULAR = 1e-12


def _is_invertible(matrix: Array) -> Mask:
    """Whether each matrix of moments (..., 3, 3) can be inverted, (...)."""
    return np.linalg.det(matrix) > _SINGULAR * matrix[..., 0, 0] ** 3


def _parabolas(moments: Array, products: Array) -> tuple[Array, Array]:
    """Value and slope at the vertex of each least-squares parabola, (...) each.

    `moments` has sums of weight times powers 0 to 4 of the distance from the vertex, (..., 5), and
    `products` sums of weighted target times powers 0 to 2, (..., 3).
    """
    index = np.add.outer(np.arange(3), np.arange(3))
    matrix = moments[..., index]
    regular = _is_invertible(matrix)
    solved = np.zeros(products.shape)
    solved[regular] = np.linalg.solve(matrix[regular], products[regular][..., None])[..., 0]
    if not regular.all():
        # One or two levels leave coefficients free: the pseudo-inverse takes the smallest that fit.
        inverse = np.linalg.pinv(matrix[~regular], rcond=1e-10, hermitian=True)
        solved[~regular] = np.einsum("...ij,...j->...i", inverse, products[~regular])
    return solved[..., 0], solved[..., 1]


def _interpolate(vertices: Vertices, u: Array, value: Array, slope: Array) -> Array:
    """The curve at u: cubic interpolation between the values and slopes at the vertices, (...,
    vertices) each.
    """
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
    """The distance |curve - u| of every level that has weight, and the weights, (levels,) each;
    cached as long as the table is in use.
    """
    if levels not in _KEPT:
        w, wz, u = levels.sum_w[0], levels.sum_wz[0], levels.mean_u[0]
        if not w.all():  # cells of a stream may be empty
            w, wz, u = (column[levels.sum_w[0] > 0] for column in (w, wz, u))
        _KEPT[levels] = np.abs(local_fit(u, w, wz) - u), w
    return _KEPT[levels]


def ici(levels: BinTable) -> float:
    """The integrated calibration index: the mean distance of the curve from the diagonal."""
    far, w = distances(levels)
    return min(1.0, float(w @ far / w.sum()))


def distance_quantile(levels: BinTable, share: float) -> float:
    """The quantile, at the share `share` of the rows, of the curve's distance from the diagonal.

    At a step of the distances it is the middle of the step.
    """
    far, w = distances(levels)
    return min(1.0, float(_quantiles(far[None], w[None], (share,))[0][0]))


def emax(levels: BinTable) -> float:
    """The largest distance of the curve from the diagonal."""
    return min(1.0, float(distances(levels)[0].max()))


def _quantiles(far: Array, w: Array, shares: Sequence[float]) -> list[Array]:
    """The quantiles of weighted distances in each draw: a list with an array (draws,) for every
    share.

    `far` and `w` are distances and weights (draws, levels), sorted once for all shares.
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
    """Four statistics of each draw's distances between curve and diagonal: mean, median, 90%
    quantile, largest, (draws,) each, from one fit.
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
    """The integrated calibration index of each draw, (draws,): the mean distance of its curve from
    the diagonal.
    """
    return np.minimum(_drawn_distances(sums)[0], 1.0)


def e50s(sums: CellSums) -> Array:
    """The median distance of each draw's curve from the diagonal, (draws,)."""
    return np.minimum(_drawn_distances(sums)[1], 1.0)


def e90s(sums: CellSums) -> Array:
    """The 90% quantile of each draw's distances between curve and diagonal, (draws,)."""
    return np.minimum(_drawn_distances(sums)[2], 1.0)


def emaxs(sums: CellSums) -> Array:
    """The largest distance of each draw's curve from the diagonal, (draws,)."""
    return np.minimum(_drawn_distances(sums)[3], 1.0)
