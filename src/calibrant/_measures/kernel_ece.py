"""ECE by kernel density estimates: the mean distance between predictions and a smoothed frequency.

Zhang, Kailkhura and Han (2020) smooth over [0, 1] with a kernel that is reflected at its ends, and
integrate. Popordanoska, Sayer and Blaschko (2022) take beta kernels, whose shape follows the
prediction, and the mean over rows of which each is left out of its own estimate.

u are predictions, z their targets and w their weights.
"""

from __future__ import annotations

import math

import numpy as np

from calibrant._core.grid import UnitGrid
from calibrant._core.typing import Array, Index
from calibrant._measures.smooth import GAUSSIAN, Spectrum
from calibrant._measures.smooth_ece import cosines_of, integral_on_unit, smoothed_units

# The number of pairs of rows computed at once, and of rows at which the likelihood of a bandwidth
# is computed.
PAIRS_AT_ONCE, LIKELIHOOD_ROWS = 1 << 20, 500
# Densities are raised to at least e to this power, relative to the largest: smaller exponentials
# are slow.
LEAST_LOG = -45.0
# The bandwidths among which the likelihood decides: those of the authors' code.
BANDWIDTHS = np.concatenate([np.logspace(-5, -1, 15), np.linspace(0.2, 1.0, 5)])


def _triweight_factor(frequency: Array) -> Array:
    """What the triweight kernel of standard deviation 1 (support [-3, 3]) leaves of a frequency."""
    from scipy.special import spherical_jn

    x = np.maximum(3.0 * frequency, 1e-2)
    near = 1.0 - frequency**2 / 2.0
    return np.where(3.0 * frequency < 1e-2, near, 105.0 * spherical_jn(3, x) / x**3)


KERNELS = {"gaussian": GAUSSIAN, "triweight": Spectrum(_triweight_factor, 3.0, math.inf)}


def grid_bandwidth(grid: UnitGrid, r: int, n: float) -> float:
    """The standard deviation of the predictions of events, times (2 n)^(-1/5); n is the effective
    number of rows.
    """
    events, t = grid.sums[r, 2], np.arange(grid.cells + 1) / grid.cells
    total = float(events.sum())
    if total <= 0.0:
        return 0.0
    centre = float(events @ t) / total
    variance = float(events @ (t - centre) ** 2) / total
    return math.sqrt(max(variance, 0.0)) * (2.0 * n) ** -0.2


def reflected_error(grid: UnitGrid, r: int, bandwidth: float, kernel: str) -> float:
    """``integral |t f(t) - g(t)| dt / W`` over [0, 1], where f is the sum of weights and g that of
    weighted targets, smoothed by the reflected kernel; for class r.
    """
    sums, cells = grid.sums[r][[0, 2]], grid.cells
    mass, targets = smoothed_units(cosines_of(sums), bandwidth, noise=KERNELS[kernel])
    f = np.arange(cells + 1) / cells * mass - targets
    return integral_on_unit(f) / float(sums[0].sum())


class BetaKernel:
    """The densities at u_j of beta distributions with the parameters u_i / b + 1 and (1 - u_i) / b
    + 1, one for each row i, of the weight w_i; a row has no part in its own estimate.
    """

    def __init__(self, u: Array, w: Array, bandwidth: float) -> None:
        """Take the terms of each row's density that do not depend on u_j."""
        from scipy.special import betaln

        up, down = u / bandwidth, (1.0 - u) / bandwidth
        self._constant = np.log(w) - betaln(up + 1.0, down + 1.0)
        self._powers = np.stack([up, down])
        self._logs = np.stack([np.log(u), np.log1p(-u)], axis=1)

    def densities(self, rows: Index) -> tuple[Array, Array]:
        """The weighted densities at the predictions of some rows, (rows, n), each row less a
        factor, and the logarithms of these factors, (rows,).
        """
        logs: Array = self._logs[rows] @ self._powers + self._constant
        own = np.arange(len(rows)), rows
        logs[own] = -np.inf
        largest = logs.max(axis=1)
        logs -= largest[:, None]
        np.maximum(logs, LEAST_LOG, out=logs)
        np.exp(logs, out=logs)
        logs[own] = 0.0
        return logs, largest


def beta_error(u: Array, z: Array, w: Array, bandwidth: float) -> float:
    """``sum_j w_j |E_j - u_j| / W``, where E_j is the mean target of the other rows, weighted by
    their beta densities at u_j.
    """
    kernel, total = BetaKernel(u, w, bandwidth), 0.0
    step = max(1, PAIRS_AT_ONCE // u.size)
    for start in range(0, u.size, step):
        rows = np.arange(start, min(start + step, u.size))
        density, _ = kernel.densities(rows)
        means = density @ z / density.sum(axis=1)
        total += float(w[rows] @ np.abs(means - u[rows]))
    return total / float(w.sum())


def beta_bandwidth(u: Array, w: Array) -> float:
    """The bandwidth of BANDWIDTHS with the largest likelihood of rows under the densities of all
    others, looked at in up to LIKELIHOOD_ROWS rows, evenly spread in order.
    """
    some = np.unique(np.linspace(0, u.size - 1, min(u.size, LIKELIHOOD_ROWS)).astype(np.intp))
    rows = np.argsort(u, kind="stable")[some]
    step = max(1, PAIRS_AT_ONCE // u.size)
    likelihoods = []
    for bandwidth in BANDWIDTHS.tolist():
        kernel = BetaKernel(u, w, bandwidth)
        likelihood = 0.0
        for start in range(0, rows.size, step):
            some = rows[start : start + step]
            density, logs = kernel.densities(some)
            likelihood += float(w[some] @ (np.log(density.sum(axis=1)) + logs))
        likelihoods.append(likelihood)
    return float(BANDWIDTHS[int(np.argmax(likelihoods))])
