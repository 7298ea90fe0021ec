"""Newton's method in a trust region, its steps found by conjugate gradients (Steihaug, 1983).

Products with the Hessian are what a search costs. A step that turns out too long is cut where the
same path of conjugate gradients leaves the smaller region, so that no product is made twice; and
the radius at which a search ended is returned, for the next one to begin with. (SciPy's `trust-ncg`
does neither, and takes a third of a second to load.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from calibrant.scaling._predictions import FloatArray

# A step is taken if the loss falls by more than this share of the fall that the model foresees.
TAKEN = 0.15
MOST_RADIUS = 1e3

ValueAndGradient = Callable[[FloatArray], tuple[float, FloatArray]]
# The Hessian at a place times a direction.
Curvature = Callable[[FloatArray, FloatArray], FloatArray]


@dataclass(frozen=True)
class SearchEnd:
    """The end of a search: the point, the number of steps, and the last radius of the trust
    region.
    """

    at: FloatArray
    n_iter: int
    radius: float


def search(
    value_and_gradient: ValueAndGradient,
    curvature: Curvature,
    start: FloatArray,
    *,
    small: float,
    radius: float,
    max_iter: int,
) -> SearchEnd:
    """Search for a minimum of a function from `start`, by Newton's method in a trust region. It
    ends where the gradient is shorter than `small`, where no step is foreseen to lower the loss, or
    after `max_iter` steps.

    `radius` is the first radius of the trust region; `curvature` gives the Hessian at a point times
    a direction.
    """
    at, n_iter = start, 0
    value, gradient = value_and_gradient(at)
    path = _Path(gradient, partial(curvature, at))
    while n_iter < max_iter and np.linalg.norm(gradient) >= small:
        step, foreseen, at_border = path.end_within(radius)
        if not foreseen > 0.0:
            break
        n_iter += 1
        lower, there = value_and_gradient(at + step)
        share = (value - lower) / foreseen
        length = float(np.linalg.norm(step))
        if not share >= 0.25:  # also where the loss is not a number
            radius = 0.25 * min(radius, length)
        elif share > 0.75 and at_border:
            radius = min(2.0 * radius, MOST_RADIUS)
        if share > TAKEN:
            at, value, gradient = at + step, lower, there
            path = _Path(gradient, partial(curvature, at))
    return SearchEnd(at, n_iter, radius)


@dataclass(eq=False)
class _Path:
    """The path of conjugate gradients on a quadratic model of the loss around a point; steps along
    it are computed when they are first needed.

    `gradient` is that of the loss at the point, and `product` gives the Hessian there
    times a direction.
    """

    gradient: FloatArray
    product: Callable[[FloatArray], FloatArray]
    # `points` of the path, with the Hessian times each (`turned`); the `directions` in which the
    # path leaves them, with the Hessian times each (`products`); and the multiple of its direction
    # by which the path goes on (`reaches`): infinite where the loss does not curve up in
    # that direction.
    points: list[FloatArray] = field(default_factory=list)
    turned: list[FloatArray] = field(default_factory=list)
    directions: list[FloatArray] = field(default_factory=list)
    products: list[FloatArray] = field(default_factory=list)
    reaches: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Begin the path at the origin (a step of 0), in the direction of steepest descent."""
        size = float(np.linalg.norm(self.gradient))
        self._enough = min(0.5, math.sqrt(size)) * size
        self._residual = self.gradient
        self.points.append(np.zeros_like(self.gradient))
        self.turned.append(np.zeros_like(self.gradient))
        self.directions.append(-self.gradient)
        self._ended = size == 0.0

    def end_within(self, radius: float) -> tuple[FloatArray, float, bool]:
        """The step to the end of the path or, if the path leaves the region of this radius, to the
        point where it does; the decrease of the quadratic model up to there; and whether that point
        is on the border.
        """
        for j in range(len(self.points) + self.gradient.size):
            if j == len(self.reaches):
                if self._ended:
                    break
                self._add_point()
            step, turned, along = self.points[j], self.turned[j], self.directions[j]
            reach = self.reaches[j]
            if math.isinf(reach) or _length(step + reach * along) >= radius:
                to = _to_border(step, along, radius)
                return self._end_result(
                    step + to * along, turned + to * self.products[j], border=True
                )
        return self._end_result(self.points[-1], self.turned[-1], border=False)

    def _add_point(self) -> None:
        """Compute the next point of the path, and the conjugate direction in which the path
        continues.
        """
        along = self.directions[-1]
        product = self.product(along)
        curves, size = float(along @ product), float(self._residual @ self._residual)
        self.products.append(product)
        if curves <= 0.0:
            self.reaches.append(math.inf)
            self._ended = True
            return
        reach = size / curves
        self.reaches.append(reach)
        self._residual = self._residual + reach * product
        self.points.append(self.points[-1] + reach * along)
        self.turned.append(self.turned[-1] + reach * product)
        left = float(self._residual @ self._residual)
        self._ended = math.sqrt(left) < self._enough
        self.directions.append(-self._residual + left / size * along)

    def _end_result(
        self, step: FloatArray, turned: FloatArray, *, border: bool
    ) -> tuple[FloatArray, float, bool]:
        """The result of `end_within` for the point `step`; `turned` is the Hessian times it,
        `border` says that it is on the border.
        """
        return step, -float(step @ self.gradient + 0.5 * (step @ turned)), border


def _length(step: FloatArray) -> float:
    """The Euclidean length of a step; infinite, without a warning, if its square overflows."""
    with np.errstate(over="ignore"):
        return float(np.linalg.norm(step))


def _to_border(step: FloatArray, along: FloatArray, radius: float) -> float:
    """The multiple t for which `step` + t `along` is on the border of the region of this radius;
    `step` is inside.
    """
    a, b, c = float(along @ along), float(step @ along), float(step @ step) - radius**2
    return (-b + math.sqrt(max(b * b - a * c, 0.0))) / a
