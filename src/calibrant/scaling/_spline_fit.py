"""A natural cubic spline as the logit of a probability: penalised, increasing, smoothing chosen.

The spline is given by its values at K knots. Between the first and the last it is cubic with two
continuous derivatives; beyond them it is a line, and from `BEYOND` times their distance on it is
constant, so that a single extreme logit decides nothing. Knots are on [0, 1] here. Levels are
distinct predictions.

The search runs in coordinates (`Spline.turn`) in which the penalty is a sum of squares.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._data.links import sigmoid
from calibrant.scaling._predictions import FloatArray

BEYOND = 4.0
# Knots closer to each other than this count as one, where the first and the last are 1 apart.
CLOSE = 1e-3
# The smoothings to choose from, from a line to almost none, compared on FOLDS folds of the levels.
# More than CELLS levels are merged first: splines chosen on 500 cells are as near to the truth as
# those chosen on 5,000.
GRID = np.logspace(0.0, -8.0, 9)
FOLDS, CELLS = 5, 500
# A smoother spline is preferred if its loss exceeds the best by at most this many standard errors.
MARGIN = 0.5
# A search ends where a step would lower the loss by less than FLAT, or ROUGH to compare smoothings.
MAX_STEPS, FLAT, ROUGH = 100, 1e-15, 1e-10


@dataclass(frozen=True, eq=False)
class Spline:
    """A natural cubic spline with fixed knots: matrices that turn its values at the K knots into
    slopes, penalty and values elsewhere.
    """

    knots: FloatArray

    @cached_property
    def slopes(self) -> FloatArray:
        """The matrix (K, K) from values at the knots to the slope at each knot."""
        return self._derivative(1)

    @cached_property
    def penalty(self) -> FloatArray:
        """The matrix (K, K) of the penalty: values . penalty . values is the integral of the
        squared second derivative, which is linear between knots.
        """
        bends, gaps = self._derivative(2), np.diff(self.knots)
        mass = np.diag(np.append(gaps, 0.0) + np.append(0.0, gaps)) / 3.0
        mass += (np.diag(gaps, 1) + np.diag(gaps, -1)) / 6.0
        return bends.T @ mass @ bends

    @cached_property
    def turn(self) -> FloatArray:
        """The matrix (K, K) from the coordinates of the search to values at the knots. The first
        coordinate adds a constant, the second multiplies a line of slope 1, and the squares of the
        others sum to the penalty.
        """
        line = np.stack([np.ones(self.knots.size), self.knots], axis=1)
        straight = np.linalg.qr(line)[0]
        across = np.eye(self.knots.size) - straight @ straight.T
        squares, bends = np.linalg.eigh(across @ self.penalty @ across)
        return np.concatenate([line, bends[:, 2:] / np.sqrt(squares[2:])], axis=1)

    @cached_property
    def rises(self) -> FloatArray:
        """The matrix (2K - 1, K) from values at the knots to the Bernstein coefficients of the
        slope in all intervals between knots. The spline increases if none of them is below 0.
        """
        gaps = np.diff(self.knots)[:, None]
        chords = np.diff(np.eye(self.knots.size), axis=0) / gaps
        middle = 3.0 * chords - self.slopes[:-1] - self.slopes[1:]
        return np.concatenate([self.slopes, middle])

    @cached_property
    def turned_rises(self) -> FloatArray:
        """The matrix (2K - 1, K) from the coordinates of the search to the Bernstein coefficients
        of the slope (see `rises`).
        """
        return self.rises @ self.turn

    def basis(self, x: FloatArray) -> FloatArray:
        """The matrix (n, K) from values at the knots to the values of the spline at x."""
        x = np.clip(x, -BEYOND, 1.0 + BEYOND)
        inside = np.clip(x, 0.0, 1.0)
        out: FloatArray = self._cubic(inside)
        out += np.minimum(x, 0.0)[:, None] * self.slopes[0]
        out += np.maximum(x - 1.0, 0.0)[:, None] * self.slopes[-1]
        return out

    @cached_property
    def _cubic(self) -> Any:
        """The K natural cubic splines that are 1 at one knot and 0 at all others, as one SciPy
        function.
        """
        from scipy.interpolate import CubicSpline

        return CubicSpline(self.knots, np.eye(self.knots.size), bc_type="natural")

    def _derivative(self, order: int) -> FloatArray:
        """The matrix (K, K) from values at the knots to the derivative of this order
        at each knot.
        """
        return np.asarray(self._cubic(self.knots, order), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Levels:
    """The distinct predictions x of one class, in increasing order, on the scale of the knots;
    their shares of the weight, and their mean targets.
    """

    x: FloatArray
    shares: FloatArray
    targets: FloatArray

    def take(self, which: NDArray[np.bool_]) -> Levels:
        """The levels where the mask `which` is True."""
        return Levels(self.x[which], self.shares[which], self.targets[which])

    def pooled(self, most: int) -> Levels:
        """At most `most` levels, by merging neighbours into their mean prediction and mean
        target.
        """
        if self.x.size <= most:
            return self
        start = np.linspace(0, self.x.size, most, endpoint=False).astype(np.intp)
        shares = np.add.reduceat(self.shares, start)
        x = np.add.reduceat(self.shares * self.x, start) / shares
        return Levels(x, shares, np.add.reduceat(self.shares * self.targets, start) / shares)


@dataclass(frozen=True, eq=False)
class SplineFit:
    """The result of a fit: the values at the knots, the smoothing, the number of steps, and whether
    a minimum was reached.
    """

    values: FloatArray
    smoothing: float
    n_iter: int
    reached: bool


def place_knots(levels: FloatArray, mass: FloatArray, n_knots: int) -> FloatArray:
    """At most `n_knots` knots among the levels, with about the same mass between any two: at the
    quantiles (j + 1/2) / n_knots of `mass`. Knots that are too close to another are left out; a
    single level gets two knots around it.
    """
    if levels.size == 1:
        return np.array([levels[0] - 1.0, levels[0] + 1.0])
    wanted = (np.arange(n_knots) + 0.5) / n_knots
    at = np.searchsorted(np.cumsum(mass) / mass.sum(), wanted)
    knots = np.unique(levels[np.minimum(at, levels.size - 1)])
    if knots.size == 1:  # nearly all the mass is at one level: count levels in its place
        knots = np.unique(levels[(wanted * levels.size).astype(np.intp)])
    apart = CLOSE * (knots[-1] - knots[0])
    kept = [knots[0]]
    for knot in knots[1:-1]:
        if knot - kept[-1] >= apart <= knots[-1] - knot:
            kept.append(knot)
    return np.array([*kept, knots[-1]])


def fit_spline(
    spline: Spline, levels: Levels, start: FloatArray, smoothing: float | None
) -> SplineFit:
    """Fit the increasing spline with the least penalised log loss. The search begins at the values
    `start` at the knots; a `smoothing` of None is chosen by cross-validation.
    """
    line: FloatArray = np.linalg.solve(spline.turn, start).astype(np.float64)
    at, n_iter = line, 0
    if smoothing is None:
        smoothing, at, n_iter = _choose_smoothing(spline, levels.pooled(CELLS), at)
    problem = _Penalised(spline, _Loss(spline.basis(levels.x) @ spline.turn, levels), smoothing)
    at, steps, reached = problem.minimum(at)
    if (problem.rises @ at).min() < 0:
        at, more, reached = problem.minimum(line, increasing=True)
        steps += more
    return SplineFit(spline.turn @ at, smoothing, n_iter + steps, reached)


def _choose_smoothing(
    spline: Spline, levels: Levels, at: FloatArray
) -> tuple[float, FloatArray, int]:
    """The smoothing, out of GRID, that cross-validation chooses (see `smoothest`); the coordinates
    of its fit to all levels; and the number of all steps. `at` are the coordinates to begin at.
    """
    n_folds = min(FOLDS, levels.x.size)
    fold = np.arange(levels.x.size) % n_folds
    features = spline.basis(levels.x) @ spline.turn
    losses, n_iter, start = np.zeros((GRID.size, levels.x.size)), 0, at
    for j in range(n_folds):
        here, at = fold == j, start
        rest = _Loss(features[~here], levels.take(~here))
        for i, smoothing in enumerate(GRID.tolist()):
            at, steps, _ = _Penalised(spline, rest, smoothing).minimum(at, flat=ROUGH)
            losses[i, here] = _log_loss(features[here] @ at, levels.targets[here])
            n_iter += steps
    best = smoothest(losses, levels.shares)
    at, whole = start, _Loss(features, levels)
    for smoothing in GRID[: best + 1].tolist():
        at, steps, _ = _Penalised(spline, whole, smoothing).minimum(at, flat=ROUGH)
        n_iter += steps
    return float(GRID[best]), at, n_iter


def smoothest(losses: FloatArray, shares: FloatArray) -> int:
    """The position of the first, and so smoothest, smoothing whose loss is near the least: above it
    by at most half a standard error of the difference, or by rounding.

    `losses` (smoothings, levels) are log losses on left-out rows, and `shares` (levels,) the
    weights.
    """
    mean = losses @ shares
    behind = losses - losses[mean.argmin()]
    apart = behind @ shares
    error = np.sqrt(((shares * (behind - apart[:, None])) ** 2).sum(axis=1))
    return int(np.flatnonzero(apart <= MARGIN * error + 1e-9 * abs(mean.min()))[0])


class _Loss:
    """The mean log loss of sigmoid(features @ at) at coordinates `at`; the last result is cached.

    The search with one smoothing begins where that with another ended, so that the loss there is
    known.
    """

    def __init__(self, features: FloatArray, levels: Levels) -> None:
        self.features, self.levels = features, levels
        self._at: FloatArray | None = None
        self._curvature: FloatArray | None = None

    def look(self, at: FloatArray) -> None:
        """Compute the attributes `value` and `gradient` at the coordinates `at`."""
        if at is self._at:
            return
        shares, targets = self.levels.shares, self.levels.targets
        eta = self.features @ at
        self._p = sigmoid(eta)
        self.value = shares @ _log_loss(eta, targets)
        self.gradient: FloatArray = (shares * (self._p - targets)) @ self.features
        self._at, self._curvature = at, None

    @property
    def curvature(self) -> FloatArray:
        """The Hessian (K, K) of the loss at the coordinates of the last call of `look`."""
        if self._curvature is None:
            shares = self.levels.shares
            weighed = self.features * (shares * self._p * (1.0 - self._p))[:, None]
            self._curvature = self.features.T @ weighed
        return self._curvature


class _Penalised:
    """The mean log loss plus smoothing / 2 times the penalty, as a function of search coordinates,
    in which the penalty is the sum of squares of all but the first two.
    """

    def __init__(self, spline: Spline, loss: _Loss, smoothing: float) -> None:
        self.loss = loss
        self.rises = spline.turned_rises
        self.pull = np.full(spline.knots.size, smoothing)
        self.pull[:2] = 0.0

    def value_and_gradient(self, at: FloatArray) -> tuple[float, FloatArray]:
        """The penalised loss at the coordinates `at`, and its gradient."""
        self.loss.look(at)
        pulled = self.pull * at
        return float(self.loss.value + at @ pulled / 2), self.loss.gradient + pulled

    def curvature(self) -> FloatArray:
        """The Hessian (K, K) of the penalised loss at the coordinates of the last call."""
        out = self.loss.curvature.copy()
        diagonal = out.reshape(-1)[:: self.pull.size + 1]
        diagonal += self.pull
        # A small constant is added, because the loss has no curvature if all predictions are
        # certain.
        diagonal += 1e-12 * diagonal.sum()
        return out

    def minimum(
        self, at: FloatArray, *, increasing: bool = False, flat: float = FLAT
    ) -> tuple[FloatArray, int, bool]:
        """Minimise the loss from the coordinates `at`; returns the coordinates at the end, the
        number of steps, and whether a minimum was reached.

        The search ends where a step would lower the loss by less than `flat`. With `increasing`,
        the spline increases wherever the search ends.
        """
        if not increasing:
            return self._newton_minimum(at, increasing, flat)
        at, n_iter, reached = self._newton_minimum(self._made_increasing(at), increasing, flat)
        return self._made_increasing(at), n_iter, reached

    def _newton_minimum(
        self, at: FloatArray, increasing: bool, flat: float
    ) -> tuple[FloatArray, int, bool]:
        """The result of `minimum`, by Newton's method from `at` with steps halved until they lower
        the loss.
        """
        value, gradient = self.value_and_gradient(at)
        for n_iter in range(MAX_STEPS):
            step = self._step(at, gradient, increasing)  # `at` was looked at last
            fall = -float(gradient @ step)
            if fall <= flat:
                return at, n_iter, True
            size = 1.0
            while size > 1e-8:
                tried = at + size * step
                new, slope = self.value_and_gradient(tried)
                if new <= value - 1e-4 * size * fall:
                    break
                size /= 2
            else:
                return at, n_iter, False
            at, value, gradient = tried, new, slope
        return at, MAX_STEPS, False

    def _step(self, at: FloatArray, gradient: FloatArray, increasing: bool) -> FloatArray:
        """The step from `at` to the least value of the local quadratic model of the loss. With
        `increasing`, that is the least value among increasing splines, found by the dual problem,
        one of non-negative least squares.
        """
        # Not by cho_factor: for so few knots its checks take as long as these two functions.
        from scipy.linalg.lapack import dpotrf, dpotrs

        factor, failed = dpotrf(self.curvature(), lower=True, clean=False)
        if failed:
            raise np.linalg.LinAlgError("the loss is not convex")
        free: FloatArray = -dpotrs(factor, gradient, lower=True)[0]
        if not increasing:
            return free
        from scipy.linalg import solve_triangular
        from scipy.optimize import nnls

        lower = np.tril(factor)
        held = solve_triangular(lower, self.rises.T, lower=True)
        multipliers, _ = nnls(held, -lower.T @ (at + free))
        return free + solve_triangular(lower.T, held @ multipliers, lower=False)

    def _made_increasing(self, at: FloatArray) -> FloatArray:
        """The coordinates after adding the flattest line that makes the spline increase; the second
        coordinate is the slope of a line.
        """
        out = at.copy()
        out[1] += max(0.0, -float((self.rises @ at).min()))
        return out


def _log_loss(eta: FloatArray, targets: FloatArray) -> FloatArray:
    """The log loss of sigmoid(eta) at each level, against targets in [0, 1]."""
    return np.logaddexp(0.0, eta) - targets * eta
