"""How many rows stand behind each point of a smoothed curve, and the limits that follow."""

from __future__ import annotations

import numpy as np

from calibrant._core.bin_tables import FIELDS, BinTable
from calibrant._core.typing import Array
from calibrant._measures.proportions import mean_target_limits

# The number of nodes for each bandwidth, which is small: few digits of a count are needed.
_NODES_PER_SIGMA = 8
_POINTS_AT_ONCE = 32
# Mirror images beyond the nearest weigh nothing below this bandwidth.
_NEAR_IMAGES = 0.15


def effective_rows(
    points: Array, nodes: Array, mass: Array, squares: Array, sigma: float, *, reflected: bool
) -> Array:
    r"""The effective number of rows in the mean at each point, 0 where there are none.

    .. math:: n(t) = (\sum w K(t, u))^2 / \sum w^2 K(t, u)^2

    where `mass` and `squares` are sums of w and of w^2 at `nodes` of equal spacing, and K is the
    Gaussian, `reflected` at 0 and 1 or not. The mean of independent targets, weighted by w K, then
    scatters as that of n(t) rows does, or a little less where they have different chances.
    """
    nodes, mass, squares = _merge_nodes(nodes, mass, squares, sigma)
    out = np.empty(points.size)
    for first in range(0, points.size, _POINTS_AT_ONCE):
        some = slice(first, first + _POINTS_AT_ONCE)
        kernel = _gaussian(points[some, None], nodes, sigma, reflected)
        total, square = kernel @ mass, (kernel * kernel) @ squares
        nonempty = (total > 0) & (square > 0)
        out[some] = np.where(nonempty, total**2 / np.where(nonempty, square, 1.0), 0.0)
    return out


def _gaussian(t: Array, u: Array, sigma: float, reflected: bool) -> Array:
    """The unnormalized Gaussian kernel of width sigma between points t and nodes u, `reflected` at
    0 and 1 or not.
    """

    def bell(distance: Array) -> Array:
        return np.exp(-0.5 * (distance / sigma) ** 2)

    if not reflected:
        return bell(t - u)
    out = bell(t - u) + bell(t + u) + bell(t + u - 2.0)
    if sigma > _NEAR_IMAGES:
        out += bell(t - u - 2.0) + bell(t - u + 2.0) + bell(t + u + 2.0) + bell(t + u - 4.0)
    return out


def _merge_nodes(
    nodes: Array, mass: Array, squares: Array, sigma: float
) -> tuple[Array, Array, Array]:
    """Fewer nodes with the same mass: neighbours are merged as far as the width sigma allows.
    Returns their positions (centres of mass), and sums of `mass` and of `squares` there.
    """
    nonempty = np.flatnonzero(mass != 0)
    stretch = slice(int(nonempty[0]), int(nonempty[-1]) + 1)
    nodes, mass, squares = nodes[stretch], mass[stretch], squares[stretch]
    spacing = float(nodes[1] - nodes[0]) if nodes.size > 1 else sigma
    together = max(1, int(sigma / (_NODES_PER_SIGMA * spacing)))
    starts = np.arange(0, nodes.size, together)
    total = np.add.reduceat(mass, starts)
    # Nodes that are put together lie at their centre of mass: this is right to the first order.
    last = np.append(starts[1:], nodes.size) - 1
    middle = (nodes[starts] + nodes[last]) / 2.0
    some = total > 0
    centre = np.add.reduceat(mass * nodes, starts) / np.where(some, total, 1.0)
    at = np.where(some, np.clip(centre, nodes[starts], nodes[last]), middle)
    square = np.add.reduceat(squares, starts)
    # Nodes without any mass, as there are between few rows, are left out.
    held = (total != 0) | (square != 0)
    return at[held], total[held], square[held]


def curve_limits(mean_target: Array, n_effective: Array, level: float) -> tuple[Array, Array]:
    """Lower and upper Wilson limits, at the confidence `level`, of each point's mean target; NaN
    where there are no rows.
    """
    n = np.where(np.isnan(mean_target), 0.0, n_effective)
    hits = np.where(n > 0, n * np.nan_to_num(mean_target), 0.0)
    columns = {"n": n, "sum_w": n, "sum_w2": n, "sum_wz": hits, "sum_wz2": hits}
    zero = np.zeros_like(n)
    sums = np.stack([columns.get(field, zero) for field in FIELDS], axis=-1)
    return mean_target_limits(BinTable(sums[None]), level, "wilson")
