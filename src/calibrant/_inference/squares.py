"""Squared errors: unbiased estimates and limits in closed form, of one predictor and of pairs.

A truthful error is theta = mu' A mu, where mu is the expectation of R, the residuals by slot over
the total weight. With C the covariance of R (`SecondMoments`),

    R' A R - tr(A C)                     is an unbiased estimate of theta,
    4 R' A C A R - 2 tr(A C A C)         of its variance, which is at least 2 tr(A C A C).

One predictor's R' A R is close to c times a noncentral chi-square, whose noncentrality has exact
limits. A difference is a square along the direction in which noise changes it most, and close to
normal in all others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibrant._core.typing import Array
from calibrant._inference.budget import MOST_UNITS
from calibrant._inference.numbers import SLOPE_BIAS
from calibrant._inference.rounding import LEAST_DF, MANY_ERRORS
from calibrant._inference.second_moments import SecondMoments


@dataclass(frozen=True, eq=False)
class Form:
    """A quadratic form R' A R of the residuals R of p slots (bins): `times` multiplies rows of
    numbers by slot, (f, p), by the matrix A.
    """

    times: Callable[[Array], Array]


def scaled_identity(factor: float) -> Form:
    """The form of a sum of squares over slots (bins), times a factor."""
    return Form(lambda columns: factor * columns)


def matrix_form(matrix: Array) -> Form:
    """The form with a symmetric matrix, (slots, slots)."""
    return Form(lambda columns: columns @ matrix)


def diagonal_form(diagonal: Array) -> Form:
    """The form of a sum of squares weighted by `diagonal`, (slots,)."""
    return Form(lambda columns: columns * diagonal)


def difference_form(first: Form, second: Form, size: int) -> Form:
    """The form of the first predictor's measure less the second's, of residuals of both predictors'
    slots (bins) one after the other; the first has `size` slots.
    """

    def times(columns: Array) -> Array:
        """Residuals of both predictors' slots (bins), (f, slots), times the matrix of the
        difference.
        """
        return np.concatenate(
            [first.times(columns[:, :size]), -second.times(columns[:, size:])], axis=1
        )

    return Form(times)


@dataclass(frozen=True, eq=False)
class Square:
    """A squared error, or a difference of two, as a quadratic form R' A R of the residuals R by
    slot, whose covariance is C.
    """

    moments: SecondMoments
    form: Form

    @cached_property
    def _factor(self) -> Array:
        """A factor F of the covariance C of the residuals, (f, slots): F'F = C."""
        return self.moments.residual_factor

    @cached_property
    def _gradient(self) -> Array:
        """A R, half of the gradient of R' A R, (slots,)."""
        gradient: Array = self.form.times(self.moments.mean_residual[None])[0]
        return gradient

    @cached_property
    def value(self) -> float:
        """R' A R: the error of the sample, without a correction of its bias."""
        return float(self.moments.mean_residual @ self._gradient)

    @cached_property
    def bias(self) -> float:
        """tr(A C): how much the sample's error exceeds the true one on average, without bias."""
        factor = self.moments.unbiased_factor
        return float((factor * self.form.times(factor)).sum())

    @cached_property
    def noise(self) -> float:
        """tr(A C) with the covariance C that limits are computed with, which is enlarged where rows
        or clusters are too few to show it: at least the bias.
        """
        return float((self._factor * self.form.times(self._factor)).sum())

    @cached_property
    def slope(self) -> float:
        """R' A C A R: a quarter of the variance of the part of the error that is linear in the
        noise.
        """
        return float(((self._factor @ self._gradient) ** 2).sum())

    @cached_property
    def squares(self) -> float:
        """tr(A C A C): half of the variance of the part of the error that is quadratic in the
        noise.

        Where blocks of rows estimate C, products of a block with itself would bias it and are left
        out.
        """
        factor = self._factor
        if not self.moments.sampled:
            products = factor @ self.form.times(factor).T
            return float((products**2).sum())
        some = factor[:MOST_UNITS]
        products = some @ self.form.times(some).T
        off = float((products**2).sum() - (np.diag(products) ** 2).sum())
        pairs = len(some) * (len(some) - 1.0)
        return off * len(factor) * (len(factor) - 1.0) / max(pairs, 1.0)

    @cached_property
    def curvature(self) -> float:
        """d' A d along d = C A R / sqrt(R' A C A R), the direction in which noise changes the error
        most; 0 where there is no such direction.
        """
        if not self.slope > 0.0:
            return 0.0
        steepest = (self._factor @ self._gradient) @ self._factor / math.sqrt(self.slope)
        return float(steepest @ self.form.times(steepest[None])[0])

    @property
    def estimate(self) -> float:
        """The unbiased estimate of the true error: the error of the sample less its bias."""
        return self.value - self.bias

    @property
    def standard_error(self) -> float:
        """The standard error of the estimate."""
        least = 2.0 * self.squares
        return math.sqrt(max(4.0 * self.slope - least, least, 0.0))


def limits_of_square(square: Square, value: float, level: float) -> tuple[float, float, float]:
    """The lower limit, the upper limit and an estimate of one predictor's squared error, whose
    observed value is `value`.
    """
    from scipy.special import chndtr, chndtrinc, ndtri

    squares = square.squares
    if not (square.noise > 0 and squares > 0):
        return value, value, value
    scale = squares / square.noise
    # Along the observed residuals noise may be larger than on average over all directions.
    noise = scale * square.value
    stretch = math.sqrt(max(square.slope / noise, 1.0)) if noise > 0 else 1.0
    x, tail = value / scale, (1.0 - level) / 2.0
    estimate = max(value - square.bias, 0.0)

    def noncentrality(p: float, df: float) -> float:
        """The noncentrality at which the probability of values up to the observed one is p; 0 where
        even without noncentrality it is at most p.
        """
        if float(chndtr(x, df, 0.0)) <= p:
            return 0.0
        if x < MANY_ERRORS:
            return float(chndtrinc(x, df, p))
        return (math.sqrt(x - df) - float(ndtri(p))) ** 2

    # Noise that few rows only may have lowers the lower limit, and not the upper one.
    low = scale * noncentrality(1.0 - tail, square.noise / scale)
    high = scale * noncentrality(tail, max(square.bias / scale, LEAST_DF))
    low, high = estimate + stretch * (low - estimate), estimate + stretch * (high - estimate)
    return max(min(low, estimate), 0.0), max(high, estimate), estimate


def limits_of_difference(square: Square, value: float, level: float) -> tuple[float, float, float]:
    """The lower limit, the upper limit and an estimate of a difference of squared errors, whose
    observed value is `value`.

    Along the direction d = C A R / sqrt(R' A C A R), in which noise changes the difference most, t
    standard errors change it by 2 t sqrt(R' A C A R) + t^2 d'Ad, which is skewed. In all other
    directions noise is taken to be normal. The two are added as squares.
    """
    from scipy.special import ndtri

    estimate, normal = value - square.bias, float(ndtri((1.0 + level) / 2.0))
    curvature = square.curvature
    rest = max(square.squares - curvature**2, 0.0)
    slope = math.sqrt(max(square.slope - SLOPE_BIAS * rest, 0.0))
    steps = [-normal, normal]
    if slope < normal * abs(curvature):  # the parabola has its extremum between the two
        steps.append(-slope / curvature)
    changes = [2.0 * t * slope + t * t * curvature + curvature for t in steps]
    others = normal * math.sqrt(2.0 * rest)
    low = estimate - math.hypot(min(min(changes), 0.0), others)
    high = estimate + math.hypot(max(max(changes), 0.0), others)
    return low, high, estimate
