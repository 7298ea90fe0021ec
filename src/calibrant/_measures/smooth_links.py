"""LS-ECE with other noise and other links: section 4 of the paper takes any noise whose density is
continuous almost everywhere, and any increasing link.

A link puts a prediction u at a place h on a line, and rho takes a place t back to a prediction. The
error is ``integral |Z(t) (1 - rho(t)) - N(t) rho(t)| dt / W``, where Z and N are sums of w z and of
w (1 - z) smoothed by the noise. The identity has rho(t) = 0 below 0 and 1 above 1: what noise takes
out of [0, 1] counts as the nearest prediction.

Noise is sigma times a variable of a standard distribution: Gaussian, logistic and Laplace of scale
1, uniform and triangular on [-1/2, 1/2]. Smooth noise is summed over a grid, to 1e-7. For the other
noises Z and N are known exactly at every place, and the integral is one of Gauss over pieces in
which the integrand is smooth and keeps its sign, to 1e-9.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from calibrant._core.grid import LogitGrid
from calibrant._core.typing import Array
from calibrant._measures.smooth import GAUSSIAN, Spectrum, logistic, smoothed_error

# Laplace noise is 0 for all purposes at this many scales, and logistic noise too.
FAR = 40.0
# Nodes per sigma at which the integrand is summed under the identity, for its kinks.
SUMMED_WITH_KINKS = 512
# Pieces per sigma (or per unit of rho), the nodes of each, and what all pieces together may hold in
# which a change of sign is not looked for.
PIECES, NEGLIGIBLE = 4, 1e-10
NODES, WEIGHTS = np.polynomial.legendre.leggauss(4)
# The signs just inside of a piece's ends count too.
NODES, WEIGHTS = np.concatenate([NODES, [1e-9 - 1, 1 - 1e-9]]), np.append(WEIGHTS, [0.0, 0.0])
PIECES_AT_ONCE = 1 << 17


class Link(NamedTuple):
    """From a prediction to its place, and from a place to rho and 1 - rho, each with all digits."""

    forward: Callable[[Array], Array]
    back: Callable[[Array], tuple[Array, Array]]


def _probit(u: Array) -> Array:
    """The quantile of the normal distribution at u."""
    from scipy.special import ndtri

    return ndtri(u)


def _normal(t: Array) -> tuple[Array, Array]:
    """The normal distribution function at t, and 1 less it."""
    from scipy.special import ndtr

    return ndtr(t), ndtr(-t)


LINKS = {
    "logit": Link(lambda u: np.log(u / (1.0 - u)), logistic),
    "probit": Link(_probit, _normal),
    "identity": Link(lambda u: u, lambda t: (np.clip(t, 0.0, 1.0), np.clip(1.0 - t, 0.0, 1.0))),
}


# --- smooth noise, on a grid ----------------------------------------------------------------------


def _logistic_factor(frequency: Array) -> Array:
    """What logistic noise leaves of a frequency: x / sinh(x) for x = pi times it."""
    x = np.maximum(np.pi * frequency, 1e-8)
    return x / np.sinh(x)


SPECTRA = {"gaussian": GAUSSIAN, "logistic": Spectrum(_logistic_factor, FAR, 12.0)}


def linked_error(grid: LogitGrid, sigma: float, noise: str, link: str) -> float:
    """LS-ECE of places on a grid, the mean over classes, with smooth noise."""
    per_sigma = SUMMED_WITH_KINKS if link == "identity" else 0
    return smoothed_error(grid, sigma, SPECTRA[noise], LINKS[link].back, per_sigma)


# --- noise with kinks or jumps, in pieces ---------------------------------------------------------

# From places t to the masses smoothed there, w z and w (1 - z): (2, *t.shape).
Smoothed = Callable[[Array], Array]


def _prefix(masses: Array) -> Array:
    """Sums of the first 0, 1, ... masses, row by row."""
    return np.pad(np.cumsum(masses, axis=1), ((0, 0), (1, 0)))


def _uniform(h: Array, masses: Array, sigma: float) -> Smoothed:
    """Masses (2, n) at sorted places h, smoothed by uniform noise on [-sigma/2, sigma/2]."""
    sums, half = _prefix(masses), sigma / 2.0

    def smoothed_at(t: Array) -> Array:
        """The smoothed masses at t."""
        first, last = np.searchsorted(h, t - half), np.searchsorted(h, t + half)
        return (sums[:, last] - sums[:, first]) / sigma

    return smoothed_at


def _triangular(h: Array, masses: Array, sigma: float) -> Smoothed:
    """The same for triangular noise on [-sigma/2, sigma/2]."""
    sums, moments, half = _prefix(masses), _prefix(masses * h), sigma / 2.0

    def smoothed_at(t: Array) -> Array:
        """The smoothed masses at t."""
        first, middle, last = (np.searchsorted(h, t + x) for x in (-half, 0.0, half))
        inside = sums[:, last] - sums[:, first]
        turned = 2.0 * sums[:, middle] - sums[:, first] - sums[:, last]
        away = t * turned - (2.0 * moments[:, middle] - moments[:, first] - moments[:, last])
        return np.maximum(inside - away / half, 0.0) / half

    return smoothed_at


def _laplace(h: Array, masses: Array, sigma: float) -> Smoothed:
    """The same for Laplace noise of scale sigma: the sums of rows below and above t, each times a
    decay that is common to all rows. Their logarithms neither overflow nor cancel.
    """
    with np.errstate(divide="ignore"):
        logs = np.log(masses)
    nothing = np.full((2, 1), -np.inf)
    below = np.logaddexp.accumulate(logs + h / sigma, axis=1)
    above = np.logaddexp.accumulate((logs - h / sigma)[:, ::-1], axis=1)[:, ::-1]
    below, above = np.hstack([nothing, below]), np.hstack([above, nothing])

    def smoothed_at(t: Array) -> Array:
        """The smoothed masses at t."""
        rows, far = np.searchsorted(h, t), t / sigma
        both = np.exp(below[:, rows] - far) + np.exp(above[:, rows] + far)
        return both / (2.0 * sigma)

    return smoothed_at


class Kernel(NamedTuple):
    """Noise in pieces: how it smooths masses, where each row's ends and kinks are, and how far it
    reaches, both in units of sigma.
    """

    smoothed: Callable[[Array, Array, float], Smoothed]
    kinks: tuple[float, ...]
    reach: float


SHAPES = {
    "uniform": Kernel(_uniform, (-0.5, 0.5), 0.5),
    "triangular": Kernel(_triangular, (-0.5, 0.0, 0.5), 0.5),
    "laplace": Kernel(_laplace, (0.0,), FAR),
}


def piecewise_error(h: Array, z: Array, w: Array, sigma: float, noise: str, link: str) -> float:
    """LS-ECE of rows at places h with targets z and weights w, for noise in pieces."""
    order = np.argsort(h, kind="stable")
    h, z, w = h[order], z[order], w[order]
    kernel, rho, total = SHAPES[noise], LINKS[link].back, float(w.sum())
    smoothed = kernel.smoothed(h, np.stack([w * z, w * (1.0 - z)]) / total, sigma)

    def f(t: Array) -> Array:
        """The integrand before its absolute value is taken."""
        (plus, minus), (up, down) = smoothed(t), rho(t)
        return plus * down - minus * up

    low, high = h[0] - kernel.reach * sigma, h[-1] + kernel.reach * sigma
    regular = np.arange(low, high, min(sigma, 1.0) / PIECES)
    ends = np.clip([0.0, 1.0, low, high] if link == "identity" else [low, high], low, high)
    edges = np.unique(np.concatenate([regular, ends, *(h + kink * sigma for kink in kernel.kinks)]))
    value, least = 0.0, NEGLIGIBLE / edges.size
    for start in range(0, edges.size - 1, PIECES_AT_ONCE):
        some = edges[start : start + PIECES_AT_ONCE + 1]
        value += _integral_of_absolute(f, some[:-1], some[1:], least)
    return value


def _integral_of_absolute(f: Callable[[Array], Array], a: Array, b: Array, least: float) -> float:
    """The integral of |f| over pieces [a, b] in which f is smooth; those in which it changes sign
    are halved until they hold less than `least`.
    """
    total = 0.0
    while a.size:
        middle, half = (a + b) / 2.0, (b - a) / 2.0
        values = f(middle[:, None] + half[:, None] * NODES)
        own = (np.abs(values) @ WEIGHTS) * half
        halved = (values.min(axis=1) < 0.0) & (values.max(axis=1) > 0.0) & (own > least)
        total += float(own[~halved].sum())
        a, middle, b = a[halved], middle[halved], b[halved]
        a, b = np.concatenate([a, middle]), np.concatenate([middle, b])
    return total
