"""Measures of many drawn samples at once, from sums over cells of nearly equal predictions.

A value and what it is compared with are computed on the same cells, so what pooling does to one it
does to the other. Everything here is (draws, cells); u, the mean prediction of each cell, rises.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from calibrant._core.bin_tables import FIELDS, BinTable
from calibrant._measures.ordered import sweep_error
from calibrant._measures.smooth import LS_SIGMA, TAIL

Array = NDArray[np.float64]

# Logits beyond this are put there, as for the logit-smoothed error itself.
_LOGIT_END = 13.815510557964274  # of 1e-6
# Nodes for each bandwidth of a smoothed integrand: enough to compare samples by.
_NODES_PER_SIGMA = 6
_NODES_PER_BANDWIDTH = 8
_MOST_NODES = 2048
_FEWEST_NODES = 128


class CellSums(Protocol):
    """Sums of cells: weight, and weight times prediction and target."""

    @property
    def u(self) -> Array: ...
    @property
    def w(self) -> Array: ...
    @property
    def wu(self) -> Array: ...
    @property
    def wz(self) -> Array: ...


def ks_errors(sums: CellSums) -> Array:
    """The largest partial sum of residuals, of each draw."""
    partial = np.cumsum(sums.wu - sums.wz, axis=1)
    out: Array = np.abs(partial).max(axis=1) / sums.w.sum(axis=1)
    return out


def isotonic_parts(sums: CellSums) -> tuple[Array, Array]:
    """Miscalibration and discrimination of the Brier score, of each draw."""
    from scipy.optimize import isotonic_regression

    total = sums.w.sum(axis=1)
    base = sums.wz.sum(axis=1) / total
    after = np.empty(total.size)
    for i, (w, wz) in enumerate(zip(sums.w, sums.wz, strict=True)):
        nonempty = w > 0
        fit = isotonic_regression(wz[nonempty] / w[nonempty], weights=w[nonempty]).x
        after[i] = float((w[nonempty] * fit - 2.0 * wz[nonempty]) @ fit) / total[i]
    before = (sums.u * (sums.wu - 2.0 * sums.wz)).sum(axis=1) / total
    return np.maximum(before - after, 0.0), np.maximum(-(base**2) - after, 0.0)


def brier_miscalibrations(sums: CellSums) -> Array:
    """Brier score less that of the isotonic recalibration, of each draw."""
    return isotonic_parts(sums)[0]


def sweep_errors(sums: CellSums) -> Array:
    """The error of a sweep over the number of bins, of each draw."""
    return each_draw(sums, sweep_error)


def each_draw(sums: CellSums, formula: Callable[[BinTable], float]) -> Array:
    """A formula of level sets, of each draw: its cells of some weight are the levels."""
    out = np.empty(sums.w.shape[0])
    for i, (w, wu, wz) in enumerate(zip(sums.w, sums.wu, sums.wz, strict=True)):
        nonempty = w > 0
        levels = np.zeros((1, int(nonempty.sum()), len(FIELDS)))
        for name, column in (("n", w), ("sum_w", w), ("sum_wu", wu), ("sum_wz", wz)):
            levels[0, :, FIELDS.index(name)] = column[nonempty]
        out[i] = formula(BinTable(levels, has_squares=False))
    return out


def levels_of_draws(sums: CellSums) -> BinTable:
    """The cells of every draw as level sets, a draw being a class of the table."""
    levels = np.zeros((*sums.w.shape, len(FIELDS)))
    for name, column in (
        ("n", sums.w),
        ("sum_w", sums.w),
        ("sum_wu", sums.wu),
        ("sum_wz", sums.wz),
    ):
        levels[:, :, FIELDS.index(name)] = column
    return BinTable(levels, has_squares=False)


def ls_eces(sums: CellSums) -> Array:
    """The logit-smoothed error of each draw."""
    from scipy.sparse import csr_array

    sigma = LS_SIGMA
    u = np.clip(sums.u, 1e-15, 1.0 - 1e-15)
    h = np.clip(np.log(u) - np.log1p(-u), -_LOGIT_END, _LOGIT_END)
    step = sigma / _NODES_PER_SIGMA
    first = np.floor(h.min() / step) - np.ceil(TAIL / 2 * _NODES_PER_SIGMA)
    n_nodes = int(np.ceil(h.max() / step) + np.ceil(TAIL / 2 * _NODES_PER_SIGMA) - first) + 1
    reach = int(TAIL / 2 * _NODES_PER_SIGMA)
    nearest = np.rint(h / step - first).astype(np.intp)
    nodes = nearest[:, None] + np.arange(-reach, reach + 1)
    nodes = np.clip(nodes, 0, n_nodes - 1)
    t = (first + nodes) * step
    kernel = np.exp(-0.5 * ((t - h[:, None]) / sigma) ** 2) / (sigma * np.sqrt(2.0 * np.pi))
    up = 1.0 / (1.0 + np.exp(-t))
    rows = np.repeat(np.arange(h.size), 2 * reach + 1)
    shape = (h.size, n_nodes)

    def spread(values: Array) -> csr_array:
        return csr_array((values.ravel(), (rows, nodes.ravel())), shape=shape)

    # z (1 - rho) - (1 - z) rho, point by point.
    difference = (spread(kernel * (1.0 - up)).T @ sums.wz.T
                  - spread(kernel * up).T @ (sums.w - sums.wz).T)  # fmt: skip
    out: Array = step * np.abs(difference).sum(axis=0) / sums.w.sum(axis=1)
    return out


def smooth_eces(sums: CellSums) -> Array:
    """The smooth error of each draw, at its fixed point."""
    cells = _FEWEST_NODES
    while True:
        widths = _smooth_eces(sums, cells)
        # The narrowest bandwidth must still span some nodes.
        if cells >= _MOST_NODES or float(widths.min()) * cells >= _NODES_PER_BANDWIDTH:
            return widths
        cells *= 4


def _smooth_eces(sums: CellSums, cells: int) -> Array:
    from scipy import fft
    from scipy.sparse import csr_array

    total = sums.w.sum(axis=1)
    position = np.clip(sums.u, 0.0, 1.0) * cells
    left = np.minimum(position.astype(np.intp), cells - 1)
    share = position - left
    index = np.arange(left.size)
    both = (np.concatenate([index, index]), np.concatenate([left, left + 1]))
    deposit = csr_array((np.concatenate([1.0 - share, share]), both), shape=(left.size, cells + 1))
    residual = sums.wz - sums.wu
    mass = (deposit.T @ residual.T).T
    mass[:, [0, -1]] *= 2.0
    cosines = fft.dct(mass, type=1, axis=1) / 2.0
    squares = -0.5 * (np.pi * np.arange(cells + 1)) ** 2

    def error(width: Array) -> Array:
        damped = cosines * np.exp(squares * width[:, None] ** 2)
        damped[:, -1] *= 2.0
        f = np.abs(fft.dct(damped, type=1, axis=1))
        f[:, [0, -1]] *= 0.5
        out: Array = f.sum(axis=1) / (cells * total)
        return out

    # More noise never enlarges the error, so it crosses its own width once.
    low, high = np.full(total.size, 0.5 / cells), np.ones(total.size)
    for _ in range(13):
        width = np.sqrt(low * high)
        above = error(width) > width
        low, high = np.where(above, width, low), np.where(above, high, width)
    # Without any residual there is nothing to smooth.
    return np.where(np.abs(residual).max(axis=1) > 1e-14 * total, np.sqrt(low * high), 0.0)
