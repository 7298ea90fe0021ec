"""The least log loss of a softmax whose logits are linear in the parameters.

Newton's method in a trust region, its steps found by conjugate gradients: only products with the
Hessian are needed, which cost as much as a gradient, so that k² parameters are no obstacle. These
products only lead the search: where there are many parameters most of them are made in single
precision, and the last steps in double precision, by which the search also ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._data.links import softmax
from calibrant.scaling._predictions import FloatArray

MAX_ITER = 200
SMALL_GRADIENT = 1e-7
# Rounding may keep the gradient above that; this much is a minimum for every practical purpose.
ENOUGH = 1e-5
# As far as products in single precision lead.
ROUGH_GRADIENT = 1e-5


@dataclass(frozen=True)
class Minimum:
    """Where the loss is least, how many steps it took, and whether it is a minimum at all."""

    at: FloatArray
    n_iter: int
    reached: bool


@dataclass(eq=False)
class SoftmaxLoss:
    """Log loss of softmax(forward(theta)), plus a quadratic penalty theta . pull(theta) / 2.

    `forward` is linear, `back` its transpose and `pull` the penalty's gradient. `many` says that
    there are many parameters, and that `forward` and `back` take single precision too.
    """

    forward: Callable[[FloatArray], FloatArray]
    back: Callable[[FloatArray], FloatArray]
    targets: FloatArray
    shares: FloatArray
    pull: Callable[[FloatArray], FloatArray] | None = None
    many: bool = False

    def __post_init__(self) -> None:
        self._precision: type[np.floating[Any]] = np.float64
        self._last: tuple[FloatArray, NDArray[Any], NDArray[Any]] | None = None

    def value_and_gradient(self, theta: FloatArray) -> tuple[float, FloatArray]:
        shifted = self.forward(theta)
        shifted -= shifted.max(axis=1, keepdims=True)
        at_target = np.einsum("ij,ij->i", self.targets, shifted)
        p = np.exp(shifted, out=shifted)
        total = p.sum(axis=1)
        value = float(self.shares @ (np.log(total) - at_target))
        p /= total[:, None]
        p -= self.targets
        p *= self.shares[:, None]
        gradient = self.back(p)
        if self.pull is not None:
            pulled = self.pull(theta)
            value += 0.5 * float(theta @ pulled)
            gradient = gradient + pulled
        return value, gradient

    def curvature(self, theta: FloatArray, along: FloatArray) -> FloatArray:
        """The Hessian at theta times a direction."""
        # The optimiser tries many directions at one theta.
        if self._last is None or not np.array_equal(self._last[0], theta):
            p = softmax(self.forward(theta))
            weighed = self.shares[:, None] * p
            self._last = (
                theta.copy(), p.astype(self._precision), weighed.astype(self._precision)
            )  # fmt: skip
        _, p, weighed = self._last
        moved = self.forward(along.astype(self._precision))
        moved -= np.einsum("ij,ij->i", p, moved)[:, None]
        moved *= weighed
        out: FloatArray = self.back(moved).astype(np.float64)
        return out if self.pull is None else out + self.pull(along)

    def minimum(self, start: FloatArray) -> Minimum:
        at, n_iter = start, 0
        if self.many:
            at, n_iter = self._search(at, ROUGH_GRADIENT, np.float32, MAX_ITER)
        at, more = self._search(at, SMALL_GRADIENT, np.float64, max(1, MAX_ITER - n_iter))
        steepest = np.abs(self.value_and_gradient(at)[1]).max()
        return Minimum(at, n_iter + more, bool(steepest <= ENOUGH))

    def _search(
        self, start: FloatArray, small: float, precision: type[np.floating[Any]], max_iter: int
    ) -> tuple[FloatArray, int]:
        """Where the gradient is as short as `small`, or where the search stopped, and its steps."""
        from scipy.optimize import minimize

        self._precision, self._last = precision, None
        result = minimize(
            self.value_and_gradient, start, jac=True, hessp=self.curvature, method="trust-ncg",
            options={"maxiter": max_iter, "gtol": small, "initial_trust_radius": 10.0,
                     "max_trust_radius": 1e3},
        )  # fmt: skip
        return np.asarray(result.x, dtype=np.float64), int(result.nit)


def not_reached(n_iter: int) -> str:
    """The warning for a search that ended before a minimum."""
    return (
        f"the fit stopped after {n_iter} steps, short of the minimum: give fewer classes or more "
        "rows, or use a map with fewer parameters"
    )


def spread(values: FloatArray, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The weighted mean and standard deviation of each column; 1 where a column is constant."""
    mean = shares @ values
    deviation = np.sqrt(shares @ (values - mean) ** 2)
    return mean, np.where(deviation > 1e-12 * (1.0 + np.abs(mean)), deviation, 1.0)
