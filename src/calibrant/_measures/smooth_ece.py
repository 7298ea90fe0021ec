"""Smooth errors of predictions: smECE at a given bandwidth, or where error and bandwidth are equal.

The bandwidth, or width, is the standard deviation of the Gaussian noise that residuals w (z - u)
are smoothed with on [0, 1], where u is a prediction, z its target and w its weight; the noise is
reflected at both ends. The error falls as the width grows, so that there is one width that it
equals: the fixed point. The excess at a width is log(error / width), which is 0 there.

SciPy has searches for such a fixed point; to load them takes longer than all smooth errors of a
page.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from calibrant._core.grid import Smoothed, UnitGrid
from calibrant._core.typing import Array
from calibrant._measures.smooth import (
    GAUSSIAN,
    N_POINTS,
    NODES_PER_SIGMA,
    WIDE_SIGMA,
    Spectrum,
    integral_of_absolute,
    mean_targets,
)

# Nodes per sigma at which a fixed point is looked for first, where it takes MANY_NODES or more, and
# how far apart two values must be for these nodes to decide which is larger.
ROUGH_PER_SIGMA, MANY_NODES, ROUGHLY = 8, 1 << 12, 1e-4
# The widths between which a fixed point lies in any case.
ANYWHERE = (0.0, 1.0)
# Logarithms of widths that are one to the last digits that count; excesses near which secants are
# all but exact.
CLOSE, NEAR = 1e-13, 1e-3


def cosines_of(rows: Array) -> Array:
    """The cosine coefficients of masses at the nodes of [0, 1], row by row: an array (rows,
    nodes).
    """
    from scipy import fft

    ends_doubled = rows.copy()
    ends_doubled[:, [0, -1]] *= 2.0
    out: Array = fft.dct(ends_doubled, type=1, axis=1, overwrite_x=True)
    out /= 2.0
    return out


def smoothed_units(
    cosines: Array, sigma: float, cells: int | None = None, noise: Spectrum = GAUSSIAN
) -> Array:
    """Masses on [0, 1], given by their `cosines` (rows, nodes), smoothed by the reflected `noise`
    of width sigma.

    Smoothing only damps each cosine. Values are given at ``j / cells``, (rows, cells + 1). By
    default there are as many cells as the rows have; fewer do where the cosines that are left allow
    it.
    """
    from scipy import fft

    full = cosines.shape[1] - 1
    cells = full if cells is None else cells
    sigma = min(sigma, WIDE_SIGMA)  # at this width only the mean is left
    left = min(full, math.ceil(min(noise.highest / (np.pi * sigma), full)))
    damped = np.zeros((cosines.shape[0], cells + 1))
    k = np.arange(left + 1)
    damped[:, : left + 1] = cosines[:, : left + 1] * noise.factor(sigma * np.pi * k)
    damped[:, -1] *= 2.0
    return fft.dct(damped, type=1, axis=1, overwrite_x=True)


def integral_on_unit(f: Array) -> float:
    """The integral of |f| over [0, 1], from values at equally spaced nodes with both ends."""
    cells = f.size - 1
    # The end nodes stand for half a cell each.
    ends = 0.5 * (abs(float(f[0])) + abs(float(f[-1]))) / cells
    return integral_of_absolute(f, 1.0 / cells) - ends


def smooth_errors(
    grid: UnitGrid,
    total: float,
    sigma: float | None,
    between: tuple[float, float] = ANYWHERE,
) -> list[float]:
    """smECE of each class: at the bandwidth sigma, or at its fixed point if sigma is None.

    `total` is the sum of weights. A fixed point is searched `between` two widths first. For one
    below the first width the result is any number below that width.
    """
    values = []
    for r in range(grid.n_classes):
        error = _SmoothError(grid.smoothed(r) or _smoothed(grid.residual[r]), grid.cells, total)
        values.append(error(sigma) if sigma is not None else error.fixed_point(*between))
    return values


def _smoothed(residual: Array) -> Smoothed:
    """A function from a width of noise and a number of cells to the integral of the smoothed
    residual's absolute value.

    `residual` has sums of w (z - u) at the nodes of [0, 1].
    """
    cosines = cosines_of(residual[None])

    def integral(width: float, cells: int) -> float:
        """The integral of |f| over [0, 1], where f is the residual smoothed with this width."""
        return integral_on_unit(smoothed_units(cosines, width, cells)[0])

    return integral


class _SmoothError:
    """The smooth error of a class as a function of the width of noise, with its fixed point (the
    width that equals the error).

    `smoothed` gives the integral at a width on this many cells, of which the grid has `cells`;
    `total` is the sum of weights.
    """

    def __init__(self, smoothed: Smoothed, cells: int, total: float) -> None:
        self.smoothed, self.cells, self.total = smoothed, cells, total
        # Errors by width and nodes: a search asks for its ends again.
        self.known: dict[tuple[float, int], float] = {}

    def nodes(self, width: float, per_sigma: int = NODES_PER_SIGMA) -> int:
        """The number of cells of [0, 1] that a width requires, `per_sigma` to the width: a power of
        2, at most the number that the grid has.
        """
        return min(self.cells, 1 << math.ceil(math.log2(max(64.0, per_sigma / width))))

    def __call__(self, width: float, per_sigma: int = NODES_PER_SIGMA) -> float:
        """The error at a width, cached after the first call."""
        nodes = self.nodes(width, per_sigma)
        if (width, nodes) not in self.known:
            self.known[width, nodes] = float(self.smoothed(width, nodes) / self.total)
        return self.known[width, nodes]

    def rough(self, width: float) -> float:
        """The error at a width from a quarter of the nodes, which is right to some eight digits."""
        return self(width, ROUGH_PER_SIGMA)

    def fixed_point(self, least: float, most: float) -> float:
        """The width that equals its error, searched between the widths `least` and `most` first.

        If it is below `least`, the result is any number below that width. If it is finer than the
        grid resolves, the result is the error at the finest width.
        """
        # At four cells to the bandwidth the grid still resolves the kernel; it does not resolve a
        # narrower one.
        finest = 4.0 / self.cells
        narrow = least or NODES_PER_SIGMA / self.cells
        if finest < narrow < most < 1.0 and self.rough(most) < (1.0 - ROUGHLY) * most:
            if self.rough(narrow) > (1.0 + ROUGHLY) * narrow:
                return self._search_between(narrow, most)
            if self.rough(narrow) < (1.0 - ROUGHLY) * narrow and least:
                return max(self.rough(least), finest)
        widest = self(1.0)
        if widest >= 1.0:  # the largest error: every prediction is 0 or 1, and wrong
            return 1.0
        # Kernels add up, so more noise never enlarges the error: the answer is at least what the
        # widest noise leaves, and at most what that width leaves. A little room is for rounding.
        low = max(finest, (1.0 - 1e-6) * widest)
        if low < least:
            if self(least) < (1.0 - 1e-9) * least:
                # Without any residual, the result is 0 on every grid.
                nothing = self(least) == 0.0 and self(finest) == 0.0
                return 0.0 if nothing else max(self(least), finest)
            low = least if self(least) > least else low
        at_low = self(low)
        if low == finest and at_low <= finest:
            return at_low
        high = min(1.0, (1.0 + 1e-6) * at_low)
        if not (at_low > low and self(high) < high):
            low, high = finest, 1.0
        return self._search_between(low, high)

    def _search_between(self, low: float, high: float) -> float:
        """The fixed point between two widths; where it requires many nodes, fewer are used at
        first.
        """
        fewer = self.nodes(high) >= MANY_NODES and self.nodes(low, ROUGH_PER_SIGMA) < self.cells
        return fixed_point(self, low, high, self.rough if fewer else None)


def smooth_ece_of_grid(
    grid: UnitGrid,
    total: float,
    sigma: float | None = None,
    between: tuple[float, float] = ANYWHERE,
) -> float:
    """smECE, the mean over classes: at the bandwidth sigma, or at its fixed point if that is None.

    `total` is the sum of weights. For one class, a fixed point below the first of the two widths
    `between` may be given as any number below that width.
    """
    one = grid.n_classes == 1
    return float(np.mean(smooth_errors(grid, total, sigma, between if one else ANYWHERE)))


def unit_curve(grid: UnitGrid, total: float, sigma: float) -> dict[str, Array]:
    """The integrand of smECE at the bandwidth sigma, point by point on [0, 1], for the first class.

    The columns are "prediction", the smoothed "density" of predictions and "mean_target", and
    "difference", the integrand before its absolute value is taken. `total` is the sum of weights.
    """
    mass, predictions, targets = smoothed_units(cosines_of(grid.sums[0]), sigma)
    keep = np.linspace(0, grid.cells, N_POINTS).astype(np.intp)
    return {
        "prediction": keep / grid.cells,
        "density": mass[keep] / total,
        "mean_target": mean_targets(targets, mass, keep),
        "difference": (targets - predictions)[keep] / total,
    }


def fixed_point(
    error: Callable[[float], float],
    low: float,
    high: float,
    rough: Callable[[float], float] | None = None,
) -> float:
    """The width between `low` and `high` at which a falling error equals its width.

    A `rough` version of the error, where there is one, is searched first; the error itself is then
    evaluated once or twice.
    """
    if rough is not None:
        at, slope, away = _root(_excess(rough), low, high)
        for _ in range(3):
            found = _excess(error)(math.exp(at))
            at -= found / slope
            if abs(found) * away <= CLOSE:
                return math.exp(at)
    return math.exp(_root(_excess(error), low, high)[0])


def _excess(error: Callable[[float], float]) -> Callable[[float], float]:
    """A function from a width to log(error / width), which is 0 at the fixed point."""
    return lambda width: math.log(max(error(width), 1e-300) / width)


def _root(excess: Callable[[float], float], low: float, high: float) -> tuple[float, float, float]:
    """The root of a falling function, the slope there, and the distance of the last two search
    points.

    `excess` takes a width; root, slope and distance are in terms of log(width). The search takes
    secants; the end that stays has its excess scaled down by as much as the other one's fell
    (Anderson and Bjorck, 1973). The function is not evaluated at the last point: its error is at
    most the last correction times the distance between the two points before.
    """
    a, b = math.log(low), math.log(high)
    above, below = excess(low), excess(high)
    before, last = (a, above), (b, below)
    kept = 0
    while b - a > 1e-12:
        at = (a * below - b * above) / (below - above)
        if not a < at < b:
            at = (a + b) / 2.0
        found = excess(math.exp(at))
        before, last = last, (at, found)
        away, slope = abs(at - before[0]), (found - before[1]) / (at - before[0])
        if abs(found) <= NEAR and slope < 0.0 and abs(found) * away <= CLOSE:
            return min(max(at - found / slope, a), b), slope, away
        if found > 0.0:
            below *= _end_factor(found / above) if kept > 0 else 1.0
            a, above, kept = at, found, 1
        else:
            above *= _end_factor(found / below) if kept < 0 else 1.0
            b, below, kept = at, found, -1
    return (a + b) / 2.0, -1.0, b - a


def _end_factor(left: float) -> float:
    """The factor (Anderson and Bjorck) for the excess at the search end that stays, where the
    excess at the other end fell to the share `left` of itself.

    It is 1/2 if that excess did not fall.
    """
    return 1.0 - left if left < 1.0 else 0.5
