"""A logistic calibration curve with a bend: a restricted cubic spline of the logit."""

from __future__ import annotations

import numpy as np

from calibrant._core.typing import Array, Index
from calibrant._data.links import sigmoid
from calibrant._inference.blocks import cluster_sums


def spline_basis(h: Array, knots: Array) -> Array:
    """The columns 1, h and the cubic part of the spline with three knots, (3, rows); it is a line
    outside the knots (Harrell 2015, Regression Modeling Strategies, section 2.4.5).
    """
    first, middle, last = knots
    cubes = (np.maximum(h - knot, 0.0) ** 3 for knot in knots)
    one, two, three = cubes
    bend = one - (two * (last - first) - three * (middle - first)) / (last - middle)
    return np.stack([np.ones(h.size), h, bend / (last - first) ** 2])


def fitted_spline(
    z: Array, basis: Array, w: Array, groups: Index | None, *, robust: bool
) -> tuple[Array, Array] | None:
    """The coefficients of a logistic fit of the targets z on a basis (columns, rows), and their
    covariance; None where no finite fit is best. `robust`: the covariance is a sandwich.
    """
    theta: Array = np.zeros(len(basis))
    for _ in range(40):
        p = sigmoid(theta @ basis)
        information = (basis * (w * p * (1.0 - p))) @ basis.T
        try:
            step = np.linalg.solve(information, basis @ (w * (z - p)))
        except np.linalg.LinAlgError:
            return None
        theta = theta + step * min(1.0, 5.0 / max(float(np.abs(step @ basis).max()), 1e-300))
        if float(np.abs(step @ basis).max()) < 1e-8:
            break
    else:
        return None
    inverse = np.linalg.inv(information).astype(np.float64)
    if not robust:
        return theta, inverse
    scores = basis * (w * (z - p))
    parts = inverse @ (scores if groups is None else cluster_sums(scores, groups))
    return theta, parts @ parts.T
