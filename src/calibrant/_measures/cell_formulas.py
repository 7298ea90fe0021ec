"""Measures of many drawn samples at once, from sums over cells of nearly equal predictions.

A cell holds rows with nearly the same prediction; a draw is one resampled or simulated sample. A
value and what it is compared with are computed on the same cells, so what pooling does to one it
does to the other. Arrays are (draws, cells), and results are (draws,), unless said otherwise. u is
the mean prediction of each cell, (cells,), in increasing order; w is weight, z is a target, and a
residual is w (z - u) or its negative.
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

# Logits are clipped to this size, as for the logit-smoothed error itself.
_LOGIT_END = 13.815510557964274  # minus the logit of 1e-6
# Nodes for each bandwidth of a smoothed integrand: enough to compare samples by.
_NODES_PER_SIGMA = 6
_NODES_PER_BANDWIDTH = 8
_NODES = (128, 256, 512, 1024, 2048)
# The width at which a search begins, how near to the root it ends (as a share of the width), and
# how many steps it may take.
_FIRST_WIDTH, _CLOSE, _MOST_STEPS = 0.05, 1e-4, 40
# A frequency times a bandwidth beyond which nothing is left: exp(-7.5^2 / 2) is 6e-13.
_SPECTRUM = 7.5
# Up to this many frequencies, a product of matrices is faster than a transform.
_FEW_WAVES = 48
# The fields of a table of level sets that sums over cells have; the first is the weight again.
_SUMMED = ("n", "sum_w", "sum_wu", "sum_wz", "sum_wz2")


class CellSums(Protocol):
    """Sums over cells of nearly equal predictions in many draws (resampled data sets), (draws,
    cells): of the weight w, of w u (prediction u), of w z (target z) and of w z^2.

    `u` is the mean prediction of each cell, (cells,).
    """

    @property
    def u(self) -> Array: ...
    @property
    def w(self) -> Array: ...
    @property
    def wu(self) -> Array: ...
    @property
    def wz(self) -> Array: ...
    @property
    def wz2(self) -> Array: ...

    def once(self, make: Callable[[Array], Any]) -> Any:
        """The value ``make(u)`` for the cells' mean predictions u, computed once and cached for all
        draws of the same cells.
        """

    def of_weights(self, make: Callable[[CellSums, Array], Array]) -> Array:
        """The array ``make(self, w)``, computed once and cached for all draws with the same weights
        w.
        """

    def isotonic(self) -> Array:
        """The isotonic regression of each draw at its cells, (draws, cells): increasing values that
        fit the mean targets best.
        """

    def rising_bins(self) -> NDArray[np.int32]:
        """The bin of each cell in each draw, (draws, cells), in the largest number of equal-mass
        bins whose mean targets never fall.
        """


def ks_errors(sums: CellSums) -> Array:
    """The Kolmogorov-Smirnov error of each draw, (draws,): the largest absolute partial sum of
    residuals over cells, divided by the draw's total weight W.
    """
    partial = np.cumsum(sums.wu - sums.wz, axis=1)
    return np.abs(partial).max(axis=1) / sums.w.sum(axis=1)


def isotonic_parts(sums: CellSums) -> tuple[Array, Array]:
    """Miscalibration and discrimination parts of the Brier score of each draw, (draws,) each, with
    isotonic regression as recalibration.
    """
    total = sums.w.sum(axis=1)
    base = sums.wz.sum(axis=1) / total
    fit = sums.isotonic()
    after = np.einsum("ij,ij->i", sums.w * fit - 2.0 * sums.wz, fit) / total
    before = ((sums.wu - 2.0 * sums.wz) @ sums.u) / total
    return np.maximum(before - after, 0.0), np.maximum(-(base**2) - after, 0.0)


def brier_miscalibrations(sums: CellSums) -> Array:
    """The Brier score less that of the isotonic recalibration, for each draw, (draws,)."""
    return isotonic_parts(sums)[0]


def brier_discriminations(sums: CellSums) -> Array:
    """The Brier score of always predicting the mean target less that of the isotonic recalibration,
    for each draw, (draws,).
    """
    return isotonic_parts(sums)[1]


def brier_uncertainties(sums: CellSums) -> Array:
    """The Brier score of always predicting the mean target, for each draw, (draws,); labels must be
    0 or 1.
    """
    base: Array = sums.wz.sum(axis=1) / sums.w.sum(axis=1)
    return base * (1.0 - base)


def sweep_errors(sums: CellSums) -> Array:
    """The ECE of each draw, (draws,), in the largest number of equal-mass bins whose mean targets
    never fall.
    """
    bins = sums.rising_bins()
    n_draws, m = len(bins), int(bins.max()) + 1
    key = bins + m * np.arange(n_draws)[:, None]
    gaps = np.bincount(key.ravel(), (sums.wu - sums.wz).ravel(), n_draws * m)
    return np.abs(gaps).reshape(n_draws, m).sum(axis=1) / sums.w.sum(axis=1)


def each_draw(sums: CellSums, formula: Callable[[BinTable], float]) -> Array:
    """The values of a formula of level sets, (draws,), computed for one draw after the other.

    The cells with weight in a draw are its levels, that is, its distinct predictions.
    """
    out = np.empty(sums.w.shape[0])
    for i, w in enumerate(sums.w):
        out[i] = formula(BinTable(_levels(sums, slice(i, i + 1))[:, w > 0]))
    return out


def levels_of_draws(sums: CellSums) -> BinTable:
    """The sums of all draws as one table of level sets: each draw is a class of the table, and each
    cell a level.
    """
    return BinTable(_levels(sums, slice(None)))


def _levels(sums: CellSums, draws: slice) -> Array:
    """The sums of some draws as level sets, (draws, cells, fields)."""
    w, wu, wz, wz2 = sums.w[draws], sums.wu[draws], sums.wz[draws], sums.wz2[draws]
    levels = np.zeros((*w.shape, len(FIELDS)))
    for name, column in zip(_SUMMED, (w, w, wu, wz, wz2), strict=True):
        levels[:, :, FIELDS.index(name)] = column
    return levels


def ls_eces(sums: CellSums) -> Array:
    """The logit-smoothed error (LS-ECE) of each draw, (draws,)."""
    targets, _, step = sums.once(_logit_kernels)
    # The smoothed sum of w (z - rho(t)) at each node t, rho being the sigmoid.
    difference = targets @ sums.wz.T
    difference -= sums.of_weights(_expected_logits)
    return step * np.abs(difference).sum(axis=0) / sums.w.sum(axis=1)


def _expected_logits(sums: CellSums, w: Array) -> Array:
    """Smoothed sums of w sigmoid(t) at each node t of the logit grid, (nodes, draws), from the
    weights w (draws, cells).
    """
    return sums.once(_logit_kernels)[1] @ w.T


def _logit_kernels(u: Array) -> tuple[Any, Any, float]:
    """Two sparse matrices (nodes, cells) that smooth sums of cells on the logit grid, and the
    spacing of its nodes.

    The first has the Gaussian kernel between a node t and a cell's logit, for sums of w z; the
    second has that times sigmoid(t), for sums of w.
    """
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
        """A sparse matrix (nodes, cells) from the values at the nodes around each cell."""
        where = (nodes.ravel(), columns)
        return csr_array((values.ravel(), where), shape=(n_nodes, h.size))

    return spread(kernel), spread(kernel * up), step


def smooth_eces(sums: CellSums) -> Array:
    """The smooth error (smECE) of each draw, (draws,): the width of noise at which the smoothed
    error equals the width.
    """
    total, residual = sums.w.sum(axis=1), sums.wz - sums.wu
    # Without any residual there is nothing to smooth.
    some = np.abs(residual).max(axis=1) > 1e-14 * total
    out = np.zeros(some.size)
    if some.any():
        own = (residual, total) if some.all() else (residual[some], total[some])
        out[some] = _fixed_points(sums, *own)
    return out


def _fixed_points(sums: CellSums, residual: Array, total: Array) -> Array:
    """The width of noise that equals the smoothed error, for each draw, (draws,), on a grid as fine
    as that takes.

    `residual` has sums of w (z - u), (draws, cells), and `total` the weights, (draws,).
    """
    # A few nodes show how many are needed.
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
    """The smoothed error of each draw as a function of the width of the noise, on a grid of [0, 1].

    The grid has `cells` steps, which are not the cells of the sums. `residual` has sums of w (z -
    u), and `total` is the weight of each draw.
    """

    def __init__(self, sums: CellSums, residual: Array, total: Array, cells: int) -> None:
        from scipy import fft

        self.cells = cells
        mass = (sums.once(_UNIT_DEPOSITS[cells]) @ residual.T).T
        mass[:, [0, -1]] *= 2.0
        # Widths are found to a relative precision of 10^-4, so single precision is enough from here
        # on.
        cosines = fft.dct(mass, type=1, axis=1) / (2.0 * cells * total[:, None])
        self._cosines = cosines.astype(np.float32)
        self._squares = (-0.5 * (np.pi * np.arange(cells + 1)) ** 2).astype(np.float32)

    def fixed_point(self, guess: Array, close: float = _CLOSE) -> Array:
        """The width that equals the smoothed error, for each draw, (draws,), searched from the
        widths `guess`.

        `close` is the tolerance of the search, as a share of the width.
        """
        least = 0.5 / self.cells
        start = np.log(np.maximum(guess, least))
        return np.exp(_falling_root(self._excess, start, least, close))

    def _excess(self, draws: Index, x: Array) -> Array:
        """log(error) - x at the width exp(x), for the draws with these numbers; it is 0 at the
        fixed point.
        """
        from scipy import fft

        # Frequencies that even the narrowest width damps to nothing are left out.
        some = min(self.cells, int(_SPECTRUM / (np.pi * np.exp(x.min())))) + 1
        few = some <= _FEW_WAVES
        damped = np.zeros((draws.size, some if few else self.cells + 1), dtype=np.float32)
        seen = damped[:, :some]
        np.multiply(self._squares[:some], np.exp(2.0 * x)[:, None], out=seen, casting="same_kind")
        np.exp(seen, out=seen)
        seen *= self._cosines[draws, :some]
        if few:
            f = np.abs(damped @ _low_cosines(self.cells)[:some])
        else:
            damped[:, -1] *= 2.0
            f = np.abs(fft.dct(damped, type=1, axis=1, overwrite_x=True))
        error = f.sum(axis=1, dtype=np.float64) - 0.5 * (f[:, 0] + f[:, -1])
        return np.log(np.maximum(error, 1e-300)) - x


@lru_cache(maxsize=len(_NODES))
def _low_cosines(cells: int) -> NDArray[np.float32]:
    """The cosines of the lowest frequencies at every grid node, (frequencies, nodes), scaled as in
    `scipy.fft.dct`.
    """
    out = 2.0 * np.cos(np.pi / cells * np.outer(np.arange(_FEW_WAVES), np.arange(cells + 1)))
    out[0] = 1.0
    return out.astype(np.float32)


def _falling_root(
    excess: Callable[[Index, Array], Array], x: Array, least: float, close: float
) -> Array:
    """The roots of several falling functions of x between log(least) and 0, (draws,), searched from
    the values x.

    ``excess(numbers, x)`` gives the values of the functions with these numbers. Each falls by 1 or
    more for every 1 of x, because more noise never enlarges an error, so that an error crosses its
    own width once; and its value is at least as large as the distance to the root. The search takes
    secants, kept between the ends known so far, and ends within `close`.
    """
    out = x.copy()
    # The arrays below belong to the roots that are not found yet; `left` has their numbers.
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
    """A function from the cells' mean predictions to the matrix that puts their masses on a grid of
    [0, 1] with `cells` steps.
    """

    def deposit(u: Array) -> Any:
        """A sparse matrix (nodes, cells) that shares each cell's mass between the two nodes around
        its prediction u.
        """
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
