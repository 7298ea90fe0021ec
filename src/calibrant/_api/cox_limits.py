"""Cox's fits as results: values with their limits, and what was clipped."""

from __future__ import annotations

import math
from dataclasses import replace

from calibrant._core.errors import counted
from calibrant._core.messages import Note
from calibrant._inference import coefficients, significance
from calibrant.results._uncertainty import CoxCalibration


def cox_with_limits(
    fits: coefficients.CoxFits,
    without: coefficients.CoxFits | None,
    n_moved: int,
    level: float,
    eps: float,
) -> CoxCalibration:
    """Cox's slope and intercepts with limits. `n_moved` predictions were clipped to [eps, 1 - eps],
    and `without` are the fits without them, if any rows are left.
    """
    fit = _with_limits(fits, level)
    if n_moved == 0:
        return fit
    note = "; ".join(filter(None, (clipping_note(n_moved, eps), fit.note)))
    if isinstance(fit.note, Note):
        note = Note(note, fit.note.code, **fit.note.values)
    apart = None if without is None else _with_limits(without, level)
    return replace(fit, note=note, n_clipped=n_moved, without_clipped=apart)


def clipping_note(n_clipped: int, eps: float) -> str:
    """The note on predictions that were moved away from 0 and 1; "" where none was."""
    if not n_clipped:
        return ""
    return f"{counted(n_clipped, 'prediction')} clipped to [{eps:g}, 1 - {eps:g}]"


def _with_limits(fits: coefficients.CoxFits, level: float) -> CoxCalibration:
    """Cox's slope and intercepts with limits. A parameter that cannot be fitted is NaN."""
    half = significance.student_quantile(0.5 + level / 2.0, fits.df)

    def with_limits(value: float | None, standard_error: float) -> tuple[float, float, float]:
        """(value, lower limit, upper limit); three times NaN for None."""
        if value is None:
            return math.nan, math.nan, math.nan
        return value, value - half * standard_error, value + half * standard_error

    both, large = fits.both, fits.large
    return CoxCalibration(
        *with_limits(None if both is None else both.slope, fits.both_errors[1]),
        *with_limits(None if both is None else both.intercept, fits.both_errors[0]),
        *with_limits(None if large is None else large.intercept, fits.large_error),
        fits.p_value,
        level,
        fits.why_not,
    )
