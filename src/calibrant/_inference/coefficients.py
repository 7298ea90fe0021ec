"""Cox's coefficients as numbers that can be limited: values, limits and differences of them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from calibrant._core.typing import Index
from calibrant._data.links import logit
from calibrant._engines.arrays.streams import EPS
from calibrant._inference.blocks import effective
from calibrant._inference.cells import Problem
from calibrant._inference.logistic import moved_by_rows
from calibrant._inference.means import Influences
from calibrant._inference.significance import cox_fits, student_quantile


@dataclass(frozen=True)
class Coefficient:
    """A coefficient of Cox's recalibration, ``logit P(z = 1) = a + b logit u``."""

    name: str
    title: str
    # Its row among the free parameters, and whether the slope is one of them.
    row: int
    with_slope: bool
    low: float = -math.inf
    high: float = math.inf
    higher_is_better: bool = False


_ALL = (
    Coefficient("slope", "calibration slope b", 1, True),
    Coefficient("intercept", "calibration intercept a, fitted with the slope", 0, True),
    Coefficient("intercept_in_the_large", "calibration in the large: a where b = 1", 0, False),
)
COEFFICIENTS = {each.name: each for each in _ALL} | {
    "calibration_slope": _ALL[0],
    "intercept_at_slope_1": _ALL[2],
}


@dataclass(frozen=True, eq=False)
class FittedCoefficient:
    """A coefficient of some rows; NaN, with a reason, where it is not estimable."""

    value: float
    error: float
    df: float
    # What each row or cluster moves it by.
    influences: Influences | None
    why_not: str = ""

    def limits(self, level: float) -> tuple[float, float]:
        """A confidence interval, as `cox_calibration` has it."""
        half = student_quantile(0.5 + level / 2.0, self.df) * self.error
        return self.value - half, self.value + half


def fit_coefficient(
    coefficient: Coefficient, problem: Problem, groups: Index | None
) -> FittedCoefficient:
    """Fit a coefficient to a scalar problem."""
    # As by `cox_calibration`: predictions of 0 and 1 have no logit.
    h = logit(np.clip(problem.u, EPS, 1.0 - EPS))
    fits = cox_fits(problem, h, groups)
    fit = fits.both if coefficient.with_slope else fits.large
    if fit is None:
        return FittedCoefficient(math.nan, math.nan, math.inf, None, fits.why_not)
    of_both = (fit.intercept, fit.slope)
    error = fits.both_errors[coefficient.row] if coefficient.with_slope else fits.large_error
    own = np.arange(problem.n) if groups is None else groups
    moved = moved_by_rows(fit, problem.z, h, problem.weights, own)[coefficient.row]
    return FittedCoefficient(
        of_both[coefficient.row],
        error,
        fits.df,
        Influences(moved, effective(problem.weights, groups)),
    )
