"""The least log loss of a softmax whose logits are linear in the parameters.

Newton's method in a trust region, its steps found by conjugate gradients: only products with the
Hessian are needed, which cost as much as a gradient, so that k² parameters are no obstacle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calibrant._data.links import softmax
from calibrant.scaling._predictions import FloatArray

MAX_ITER = 200
SMALL_GRADIENT = 1e-7
# Rounding may keep the gradient above that; this much is a minimum for every practical purpose.
ENOUGH = 1e-5


@dataclass(frozen=True)
class Minimum:
    """Where the loss is least, how many steps it took, and whether it is a minimum at all."""

    at: FloatArray
    n_iter: int
    reached: bool


@dataclass(eq=False)
class SoftmaxLoss:
    """Log loss of softmax(forward(theta)), plus a quadratic penalty theta . pull(theta) / 2.

    `forward` is linear, `back` its transpose and `pull` the penalty's gradient.
    """

    forward: Callable[[FloatArray], FloatArray]
    back: Callable[[FloatArray], FloatArray]
    targets: FloatArray
    shares: FloatArray
    pull: Callable[[FloatArray], FloatArray] | None = None

    def __post_init__(self) -> None:
        self._last: tuple[FloatArray, FloatArray] | None = None

    def value_and_gradient(self, theta: FloatArray) -> tuple[float, FloatArray]:
        eta = self.forward(theta)
        shifted = eta - eta.max(axis=1, keepdims=True)
        powers = np.exp(shifted)
        total = powers.sum(axis=1)
        rest = np.log(total) - (self.targets * shifted).sum(axis=1)
        value = float(self.shares @ rest)
        gradient = self.back(self.shares[:, None] * (powers / total[:, None] - self.targets))
        if self.pull is not None:
            pulled = self.pull(theta)
            value += 0.5 * float(theta @ pulled)
            gradient = gradient + pulled
        return value, gradient

    def curvature(self, theta: FloatArray, along: FloatArray) -> FloatArray:
        """The Hessian at theta times a direction."""
        # The optimiser tries many directions at one theta.
        if self._last is None or not np.array_equal(self._last[0], theta):
            self._last = (theta.copy(), softmax(self.forward(theta)))
        p = self._last[1]
        moved = self.forward(along)
        spread = p * (moved - (p * moved).sum(axis=1, keepdims=True))
        out = self.back(self.shares[:, None] * spread)
        return out if self.pull is None else out + self.pull(along)

    def minimum(self, start: FloatArray) -> Minimum:
        from scipy.optimize import minimize

        result = minimize(
            self.value_and_gradient, start, jac=True, hessp=self.curvature, method="trust-ncg",
            options={"maxiter": MAX_ITER, "gtol": SMALL_GRADIENT, "initial_trust_radius": 10.0,
                     "max_trust_radius": 1e3},
        )  # fmt: skip
        at = np.asarray(result.x, dtype=np.float64)
        steepest = np.abs(self.value_and_gradient(at)[1]).max()
        return Minimum(at, int(result.nit), bool(steepest <= ENOUGH))


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
