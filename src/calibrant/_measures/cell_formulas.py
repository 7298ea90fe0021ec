"""Measures of many drawn samples at once, from sums over cells of nearly equal predictions.

A value and what it is compared with are computed on the same cells, so what pooling does to one it
does to the other. Everything here is (draws, cells); u, the mean prediction of each cell, rises.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from calibrant._core.bin_tables import FIELDS, BinTable
from calibrant._core.typing import Array, Index
from calibrant._measures.smooth import LS_SIGMA, TAIL

# Logits beyond this are put there, as for the logit-smoothed error itself.
_LOGIT_END = 13.815510557964274  # of 1e-6
# Nodes for each bandwidth of a smoothed integrand: enough to compare samples by.
_NODES_PER_SIGMA = 6
_NODES_PER_BANDWIDTH = 8
_NODES = (128, 256, 512, 1024, 2048)
# Where the search for a bandwidth begins, how near to it (as a share of itself) it ends, and steps.
_FIRST_WIDTH, _CLOSE, _MOST_STEPS = 0.05, 1e-4, 40
# A frequency times a bandwidth beyond which nothing is left: exp(-7.5^2 / 2) is 6e-13.
_SPECTRUM = 7.5
# So few frequencies are summed by a product of matrices sooner than by a transform.
_FEW_WAVES = 48


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

    def once(self, make: Callable[[Array], Any]) -> Any:
        """What depends on the predictions u alone, made once for all draws of the same cells."""

    def of_weights(self, make: Callable[[CellSums, Array], Array]) -> Array:
        """What depends on the predictions and on w alone, made once for all that share w."""

    def isotonic(self) -> Array:
        """The rising means that fit the targets best, (draws, cells)."""

    def rising_bins(self) -> NDArray[np.int32]:
        """Each cell's bin, of the most bins of equal mass whose mean targets never fall."""


def ks_errors(sums: CellSums) -> Array:
    """The largest partial sum of residuals, of each draw."""
    partial = np.cumsum(sums.wu - sums.wz, axis=1)
    return np.abs(partial).max(axis=1) / sums.w.sum(axis=1)


def isotonic_parts(sums: CellSums) -> tuple[Array, Array]:
    """Miscalibration and discrimination of the Brier score, of each draw."""
    total = sums.w.sum(axis=1)
    base = sums.wz.sum(axis=1) / total
    fit = sums.isotonic()
    after = np.einsum("ij,ij->i", sums.w * fit - 2.0 * sums.wz, fit) / total
    before = ((sums.wu - 2.0 * sums.wz) @ sums.u) / total
    return np.maximum(before - after, 0.0), np.maximum(-(base**2) - after, 0.0)


def brier_miscalibrations(sums: CellSums) -> Array:
    """Brier score less that of the isotonic recalibration, of each draw."""
    return isotonic_parts(sums)[0]


def brier_discriminations(sums: CellSums) -> Array:
    """What the isotonic recalibration gains over always predicting the mean, of each draw."""
    return isotonic_parts(sums)[1]


def brier_uncertainties(sums: CellSums) -> Array:
    """The Brier score of always predicting the mean target, of each draw of hard labels."""
    base: Array = sums.wz.sum(axis=1) / sums.w.sum(axis=1)
    return base * (1.0 - base)


def sweep_errors(sums: CellSums) -> Array:
    """The error of a sweep over the number of bins, of each draw."""
    bins = sums.rising_bins()
    n_draws, m = len(bins), int(bins.max()) + 1
    key = bins + m * np.arange(n_draws)[:, None]
    gaps = np.bincount(key.ravel(), (sums.wu - sums.wz).ravel(), n_draws * m)
    return np.abs(gaps).reshape(n_draws, m).sum(axis=1) / sums.w.sum(axis=1)


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
    targets, _, step = sums.once(_logit_kernels)
    # z (1 - rho) - (1 - z) rho, point by point.
    difference = targets @ sums.wz.T
    difference -= sums.of_weights(_expected_logits)
    return step * np.abs(difference).sum(axis=0) / sums.w.sum(axis=1)


def _expected_logits(sums: CellSums, w: Array) -> Array:
    return sums.once(_logit_kernels)[1] @ w.T


def _logit_kernels(u: Array) -> tuple[Any, Any, float]:
    """What a cell at u adds to each node for its targets and for its weight; the nodes' step."""
    from scipy.sparse import csr_array

    sigma = LS_SIGMA
    u = np.clip(u, 1e-15, 1.0 - 1e-15)
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
    columns = np.repeat(np.arange(h.size), 2 * reach + 1)

    def spread(values: Array) -> csr_array:
        where = (nodes.ravel(), columns)
        return csr_array((values.ravel(), where), shape=(n_nodes, h.size))

    return spread(kernel), spread(kernel * up), step


def smooth_eces(sums: CellSums) -> Array:
    """The smooth error of each draw, at its fixed point."""
    total, residual = sums.w.sum(axis=1), sums.wz - sums.wu
    # Without any residual there is nothing to smooth.
    some = np.abs(residual).max(axis=1) > 1e-14 * total
    out = np.zeros(some.size)
    if some.any():
        own = (residual, total) if some.all() else (residual[some], total[some])
        out[some] = _fixed_points(sums, *own)
    return out


def _fixed_points(sums: CellSums, residual: Array, total: Array) -> Array:
    """The widths that are the errors, for residuals and weights of all cells together."""
    # A few nodes tell how many are needed.
    smoothed = _Smoothed(sums, residual, total, _NODES[0])
    widths = smoothed.fixed_point(np.full(len(residual), _FIRST_WIDTH), close=0.1)
    for cells in _NODES:
        # The narrowest bandwidth must still span some nodes.
        if float(widths.min()) * cells >= _NODES_PER_BANDWIDTH or cells == _NODES[-1]:
            if cells != smoothed.cells:
                smoothed = _Smoothed(sums, residual, total, cells)
            widths = smoothed.fixed_point(widths)
            if float(widths.min()) * cells >= 0.9 * _NODES_PER_BANDWIDTH:
                break
    return widths


class _Smoothed:
    """The errors of draws of residuals on so many nodes, at any bandwidth."""

    def __init__(self, sums: CellSums, residual: Array, total: Array, cells: int) -> None:
        from scipy import fft

        self.cells = cells
        mass = (sums.once(_UNIT_DEPOSITS[cells]) @ residual.T).T
        mass[:, [0, -1]] *= 2.0
        # Widths are found to a part of 10^4 of themselves: what follows needs single precision.
        cosines = fft.dct(mass, type=1, axis=1) / (2.0 * cells * total[:, None])
        self._cosines = cosines.astype(np.float32)
        self._squares = (-0.5 * (np.pi * np.arange(cells + 1)) ** 2).astype(np.float32)

    def fixed_point(self, guess: Array, close: float = _CLOSE) -> Array:
        """The width of each draw that is its error, from a guess on."""
        least = 0.5 / self.cells
        start = np.log(np.maximum(guess, least))
        return np.exp(_falling_root(self._excess, start, least, close))

    def _excess(self, of: Index, x: Array) -> Array:
        """The logarithm of the error at the width exp(x), less x."""
        from scipy import fft

        # Frequencies that the narrowest width damps to nothing are not there.
        some = min(self.cells, int(_SPECTRUM / (np.pi * np.exp(x.min())))) + 1
        few = some <= _FEW_WAVES
        damped = np.zeros((of.size, some if few else self.cells + 1), dtype=np.float32)
        seen = damped[:, :some]
        np.multiply(self._squares[:some], np.exp(2.0 * x)[:, None], out=seen, casting="same_kind")
        np.exp(seen, out=seen)
        seen *= self._cosines[of, :some]
        if few:
            f = np.abs(damped @ _waves(self.cells)[:some])
        else:
            damped[:, -1] *= 2.0
            f = np.abs(fft.dct(damped, type=1, axis=1, overwrite_x=True))
        error = f.sum(axis=1, dtype=np.float64) - 0.5 * (f[:, 0] + f[:, -1])
        return np.log(np.maximum(error, 1e-300)) - x


@lru_cache(maxsize=len(_NODES))
def _waves(cells: int) -> NDArray[np.float32]:
    """What each of the first frequencies is at every node, as `scipy.fft.dct` has it."""
    out = 2.0 * np.cos(np.pi / cells * np.outer(np.arange(_FEW_WAVES), np.arange(cells + 1)))
    out[0] = 1.0
    return out.astype(np.float32)


def _falling_root(
    excess: Callable[[Index, Array], Array], x: Array, least: float, close: float
) -> Array:
    """Where functions that fall by 1 or more for every 1 cross 0, from log(least) to 0.

    More noise never enlarges an error, so that it crosses its own width once, and is as near to it
    as the two differ. Secants, kept between the ends known so far.
    """
    out = x.copy()
    # What follows is of the roots that are still looked for.
    left, at = np.arange(x.size), x
    low, high = np.full(x.size, np.log(least)), np.zeros(x.size)
    slope: Array | None = None
    before = y_before = at
    for _ in range(_MOST_STEPS):
        y = excess(left, at)
        above = y > 0
        low, high = np.where(above, at, low), np.where(above, high, at)
        if slope is None:
            slope = np.full(x.size, -2.0)
        else:
            with np.errstate(divide="ignore", invalid="ignore"):
                secant = (y - y_before) / (at - before)
            slope = np.where(np.isfinite(secant), np.minimum(secant, -1.0), slope)
        after = at - y / slope
        far = np.abs(y) > close
        outside = far & ((after <= low) | (after >= high))
        after = np.where(outside, 0.5 * (low + high), after)
        out[left] = after
        still = far & (high - low > close)
        if not still.any():
            break
        kept = (left, after, at, y, low, high, slope)
        left, at, before, y_before, low, high, slope = (each[still] for each in kept)
    return out


def _unit_deposit(cells: int) -> Callable[[Array], Any]:
    def deposit(u: Array) -> Any:
        """What a cell at u adds to the two nodes about it."""
        from scipy.sparse import csr_array

        position = np.clip(u, 0.0, 1.0) * cells
        left = np.minimum(position.astype(np.intp), cells - 1)
        share = position - left
        index = np.arange(left.size)
        both = (np.concatenate([left, left + 1]), np.concatenate([index, index]))
        values = np.concatenate([1.0 - share, share])
        return csr_array((values, both), shape=(cells + 1, left.size))

    return deposit


_UNIT_DEPOSITS = {cells: _unit_deposit(cells) for cells in _NODES}
