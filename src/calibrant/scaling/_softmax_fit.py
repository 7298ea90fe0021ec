"""The least log loss of a softmax whose logits are linear in the parameters.

The search is Newton's method in a trust region, whose steps are found by conjugate gradients. It
needs only products of the Hessian with a direction, which cost as much as a gradient, so that k²
parameters are no obstacle. The number of products depends on how differently the loss curves in
different directions: where there are many parameters, the search runs in coordinates in which it
curves about equally in all. There the first products are made in single precision, and the last
ones, which decide where the search ends, in double.

theta are the parameters, and phi the coordinates of the search.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from calibrant._core.short_rows import row_maxima, row_sums
from calibrant._data.links import softmax
from calibrant._engines.softmax_sums import SoftmaxSums
from calibrant.scaling._predictions import FloatArray
from calibrant.scaling._trust_region import search

MAX_ITER = 200
# Rounding may keep the gradient above what is sought; below this it counts as a minimum.
ENOUGH = 1e-5
# The stages of a search. For each: the length of the gradient at which it ends, the precision of
# products with the Hessian, and the number of steps after which it begins anew. Where the loss
# curves by 1 in all directions, it is above its minimum by half the gradient's square.
PLAIN = ((1e-7, np.float64, MAX_ITER),)
SCALED = ((1e-3, np.float32, 6), (1e-6, np.float64, 12))


@dataclass(frozen=True)
class Minimum:
    """The end of a search for the least loss: the parameters there, the number of steps, and
    whether the gradient is small enough for a minimum.
    """

    at: FloatArray
    n_iter: int
    reached: bool


class Scales(Protocol):
    """Coordinates phi for a search over parameters theta = turn(phi), where `turn` is linear.
    `turn_gradient`, its transpose, makes the gradient in phi of that in theta. `radius` is the
    largest length of a first step.
    """

    @property
    def radius(self) -> float: ...

    def turn(self, phi: FloatArray) -> FloatArray:
        """The parameters theta at the search coordinates phi."""

    def turn_gradient(self, gradient: FloatArray) -> FloatArray: ...

    def undo(self, theta: FloatArray) -> FloatArray:
        """The search coordinates phi of the parameters theta."""


@dataclass(frozen=True, eq=False)
class ParameterScales:
    """Search coordinates phi (`Scales`): each parameter in units of its own, `units`."""

    units: FloatArray | float
    radius: float

    def turn(self, phi: FloatArray) -> FloatArray:
        """The parameters theta at the search coordinates phi."""
        return phi * self.units

    def turn_gradient(self, gradient: FloatArray) -> FloatArray:
        """The gradient in phi from the gradient in theta."""
        return gradient * self.units

    def undo(self, theta: FloatArray) -> FloatArray:
        """The search coordinates phi of the parameters theta."""
        return theta / self.units


# Search coordinates that are the parameters themselves.
PLAIN_SCALES = ParameterScales(1.0, radius=10.0)


class VectorForm:
    """The logits v x + b of scores x (n, k) as a linear function of the parameters theta (2k,): the
    factors v, then the biases b.
    """

    def __init__(self, x: FloatArray) -> None:
        self.x, self.k = x, x.shape[1]

    @cached_property
    def in_single(self) -> NDArray[np.float32]:
        """The scores x in single precision."""
        return self.x.astype(np.float32)

    def like(self, array: FloatArray) -> NDArray[Any]:
        """The scores x in the precision, single or double, that an array has."""
        return self.x if array.itemsize == 8 else self.in_single

    def forward(self, theta: FloatArray) -> FloatArray:
        """The logits (n, k) at the parameters theta."""
        return self.like(theta) * theta[: self.k] + theta[self.k :]

    def back(self, eta: FloatArray) -> FloatArray:
        """The transpose of `forward`: from a gradient (n, k) in the logits to the
        gradient in theta.
        """
        return np.concatenate([(eta * self.like(eta)).sum(axis=0), eta.sum(axis=0)])

    def curvature(self, weights: FloatArray) -> FloatArray:
        """The second derivative of a loss in each parameter, from its second derivatives `weights`
        (n, k) in the logits.
        """
        return np.concatenate([(weights * self.x**2).sum(axis=0), weights.sum(axis=0)])

    def coef(self, theta: FloatArray) -> FloatArray:
        """The factors v, (k,), out of the parameters theta."""
        return theta[: self.k]


class MatrixForm(VectorForm):
    """The logits W x + b of scores x (n, k) as a linear function of the parameters theta (k² + k,):
    the matrix W by rows, then the biases b.
    """

    def forward(self, theta: FloatArray) -> FloatArray:
        """The logits (n, k) at the parameters theta."""
        return self.like(theta) @ self.coef(theta).T + theta[self.k**2 :]

    def back(self, eta: FloatArray) -> FloatArray:
        """The transpose of `forward`: from a gradient (n, k) in the logits to the
        gradient in theta.
        """
        return np.append(eta.T @ self.like(eta), eta.sum(axis=0))

    def curvature(self, weights: FloatArray) -> FloatArray:
        """The second derivative of a loss in each parameter, from its second derivatives `weights`
        (n, k) in the logits.
        """
        return np.append(weights.T @ self.x**2, weights.sum(axis=0))

    def coef(self, theta: FloatArray) -> FloatArray:
        """The matrix W, (k, k), out of the parameters theta."""
        return theta[: self.k**2].reshape(self.k, self.k)


@dataclass(eq=False)
class SoftmaxLoss:
    """The log loss of softmax(offset + forward(theta)) plus a penalty theta . pull(theta) / 2.

    `forward` is linear from theta to logits (n, k), `back` is its transpose, and `pull` the
    gradient of the quadratic penalty (None: there is none). `targets` is (n, k), and `shares` (n,)
    are weights that sum to 1. `scales_at` gives the coordinates of the search around given
    probabilities (n, k); where it is set, `forward` and `back` must take single precision too.
    """

    forward: Callable[[FloatArray], FloatArray]
    back: Callable[[FloatArray], FloatArray]
    targets: FloatArray
    shares: FloatArray
    pull: Callable[[FloatArray], FloatArray] | None = None
    scales_at: Callable[[FloatArray], Scales] | None = None
    offset: FloatArray | None = None

    def __post_init__(self) -> None:
        """Initialize what is cached between calls: the precision of products, and the last
        results.
        """
        self._precision: type[np.floating[Any]] = np.float64
        self._last: tuple[FloatArray, NDArray[Any], NDArray[Any]] | None = None
        # The last theta with its value, gradient and probabilities. The next search begins there,
        # and the curvature is asked for at the same theta.
        self._seen: tuple[FloatArray, float, FloatArray, FloatArray] | None = None

    def logits(self, theta: FloatArray) -> FloatArray:
        """The logits (n, k) at theta, with the offset."""
        linear = self.forward(theta)
        return linear if self.offset is None else linear + self.offset

    def value_and_gradient(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """The loss with its penalty at theta, and its gradient; the last result is cached."""
        if self._seen is not None and np.array_equal(self._seen[0], theta):
            return self._seen[1], self._seen[2]
        shifted = self.logits(theta)
        shifted -= row_maxima(shifted)[:, None]
        at_target = np.einsum("ij,ij->i", self.targets, shifted)
        p = np.exp(shifted, out=shifted)
        total = row_sums(p)
        value = float(self.shares @ (np.log(total) - at_target))
        p /= total[:, None]
        residual = p - self.targets
        residual *= self.shares[:, None]
        gradient = self.back(residual)
        if self.pull is not None:
            pulled = self.pull(theta)
            value += 0.5 * float(theta @ pulled)
            gradient = gradient + pulled
        self._seen = theta.copy(), value, gradient, p
        return value, gradient

    def _probabilities(self, theta: FloatArray) -> FloatArray:
        """The softmax (n, k) at theta, from the cache if the last call of `value_and_gradient` was
        at theta.
        """
        if self._seen is not None and np.array_equal(self._seen[0], theta):
            return self._seen[3]
        return softmax(self.logits(theta))

    def curvature(self, theta: FloatArray, along: FloatArray) -> FloatArray:
        """The Hessian of the loss at theta times the direction `along`."""
        # The optimiser tries many directions at one theta.
        if self._last is None or not np.array_equal(self._last[0], theta):
            p = self._probabilities(theta)
            weighed = self.shares[:, None] * p
            self._last = (theta.copy(), p.astype(self._precision), weighed.astype(self._precision))
        _, p, weighed = self._last
        moved = self.forward(along.astype(self._precision))
        moved -= np.einsum("ij,ij->i", p, moved)[:, None]
        moved *= weighed
        out: FloatArray = self.back(moved).astype(np.float64)
        return out if self.pull is None else out + self.pull(along)

    def minimum(self, start: FloatArray) -> Minimum:
        """The minimum of the loss, searched from the parameters `start`."""
        at, n_iter, radius = start, 0, np.inf
        for small, precision, steps in SCALED if self.scales_at is not None else PLAIN:
            # The probabilities change on the way, so that after some steps new scales are made.
            more = steps
            while more == steps and n_iter < MAX_ITER:
                most = min(steps, MAX_ITER - n_iter)
                at, more, radius = self._search(at, small, precision, most, 2.0 * radius)
                n_iter += more
        steepest = np.abs(self.value_and_gradient(at)[1]).max()
        return Minimum(at, n_iter, bool(steepest <= ENOUGH))

    def _search(
        self,
        start: FloatArray,
        small: float,
        precision: type[np.floating[Any]],
        max_iter: int,
        radius: float,
    ) -> tuple[FloatArray, int, float]:
        """Search for the least loss from `start` until the gradient is shorter than `small` or
        `max_iter` steps were made. Returned are theta, the number of steps, and the last radius of
        the trust region.

        Products with the Hessian are made in `precision`; `radius` is the first radius of the trust
        region.
        """
        self._precision, self._last = precision, None
        scales: Scales = PLAIN_SCALES
        if self.scales_at is not None:
            scales = self.scales_at(self._probabilities(start))

        def value_and_gradient(phi: FloatArray) -> tuple[float, FloatArray]:
            """The loss at the search coordinates phi, and its gradient in phi."""
            value, gradient = self.value_and_gradient(scales.turn(phi))
            return value, scales.turn_gradient(gradient)

        def curvature(phi: FloatArray, along: FloatArray) -> FloatArray:
            """The Hessian in phi times the direction `along`."""
            return scales.turn_gradient(self.curvature(scales.turn(phi), scales.turn(along)))

        end = search(
            value_and_gradient,
            curvature,
            scales.undo(start),
            small=small,
            radius=min(radius, scales.radius),
            max_iter=max_iter,
        )
        return scales.turn(end.at), end.n_iter, end.radius


def summed_minimum(
    sums_at: Callable[[FloatArray], SoftmaxSums], turn: FloatArray, start: FloatArray
) -> Minimum:
    """The minimum of a log loss that is summed with both derivatives at the parameters turn @ phi,
    searched over phi from `start` as `SoftmaxLoss.minimum` does.
    """

    def value_and_gradient(phi: FloatArray) -> tuple[float, FloatArray]:
        """The loss at the search coordinates phi, and its gradient."""
        sums = sums_at(turn @ phi)
        return sums.loss / sums.weight, turn.T @ sums.gradient / sums.weight

    def curvature(phi: FloatArray, along: FloatArray) -> FloatArray:
        """The Hessian at phi times the direction `along`."""
        sums = sums_at(turn @ phi)
        return turn.T @ (sums.hessian @ (turn @ along)) / sums.weight

    ((small, _, steps),) = PLAIN
    end = search(
        value_and_gradient,
        curvature,
        start,
        small=small,
        radius=PLAIN_SCALES.radius,
        max_iter=steps,
    )
    steepest = np.abs(value_and_gradient(end.at)[1]).max()
    return Minimum(end.at, end.n_iter, bool(steepest <= ENOUGH))


def not_reached(n_iter: int) -> str:
    """The warning for a search that stopped, after `n_iter` steps, before a minimum."""
    return (
        f"the fit stopped after {n_iter} steps, short of the minimum: give fewer classes or more "
        "rows, or use a map with fewer parameters"
    )


def spread(values: FloatArray, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The weighted mean of each column of `values` (n, d), and its standard deviation; where a
    column is constant, 1 in place of the deviation. `shares` (n,) are weights that sum to 1.
    """
    mean = shares @ values
    # Weights of rows that stand for many may be negative, so that rounding may end below 0.
    return mean, deviations(mean, np.sqrt(np.maximum(shares @ (values - mean) ** 2, 0.0)))


def deviations(mean: FloatArray, deviation: FloatArray) -> FloatArray:
    """The standard deviations of columns of this mean, with 1 for a constant column."""
    return np.where(deviation > 1e-12 * (1.0 + np.abs(mean)), deviation, 1.0)
