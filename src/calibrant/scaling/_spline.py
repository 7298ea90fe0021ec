"""Spline scaling: a smooth increasing curve over the logit."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant._core.errors import InputError
from calibrant._core.validation import check_count, is_number, public
from calibrant._data.links import sigmoid
from calibrant.scaling._docstrings import documented
from calibrant.scaling._isotonic import by_level
from calibrant.scaling._logistic import fit_increasing, fit_logistic
from calibrant.scaling._one_vs_rest import Column, ColumnFit, OneVsRest
from calibrant.scaling._predictions import FloatArray
from calibrant.scaling._scaler import NEEDS_MORE_THAN_SUMS
from calibrant.scaling._spline_fit import Levels, Spline, fit_spline, place_knots

# A search that starts at a logit beyond this makes no progress: probabilities there are 0 or 1.
STEEP = 100.0


@documented
class SplineScaling(OneVsRest):
    r"""Spline scaling: a smooth, increasing curve over the logit of a prediction.

    .. math:: q_i = \sigma(f(h_i)), \quad f \text{ minimises } - \frac{1}{W} \sum_i w_i \bigl(z_i
        \ln q_i + (1 - z_i) \ln(1 - q_i)\bigr) + \frac{\lambda}{2} \int f''(u)^2 du

    among increasing natural cubic splines, where h is the logit (of a probability lifted to 1e-12,
    unless ``from_logits=True``) and u is h on a scale on which the outer knots are 1 apart. Platt
    scaling is the limit of a large lambda. Knots are dense where many rows have uncertain outcomes.
    Beyond the outer knots f is a line, and from four times their distance on it is constant.

    lambda is a power of ten from 1 to 1e-8: the largest whose cross-validated log loss is within
    half a standard error of the least. The five folds are every fifth of the distinct predictions
    in order, each with all its rows, so nothing is random. Neither the scale of the weights nor the
    number of votes per row affects the choice. If the best spline does not increase, the best
    increasing one is used.

    Predictions (n, k) get a map for each class against the rest, and rows are divided by their sum.

    Parameters
    ----------
    n_knots : int, default 10
        Number of knots, at least 2; fewer if there are fewer distinct predictions.
    smoothing : float, optional
        lambda, above 0; by default it is chosen as above.

    Attributes
    ----------
    knots_ : tuple of ndarray
        The logits at which each map's pieces meet: one map for two classes, k for k > 2.
    values_ : tuple of ndarray
        The values of f at these logits.
    smoothing_ : ndarray of shape (n_maps,)
        lambda of each map.

    References
    ----------
    Green and Silverman (1994), Nonparametric Regression and Generalized Linear Models, Chapman and
    Hall. Lucena (2018), Spline-based probability calibration, arXiv:1809.07751, is close to it.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.scaling import PlattScaling, SplineScaling
    >>> p = np.linspace(0.005, 0.995, 400)
    >>> z = np.clip(p + 0.1 * np.sin(6 * p), 0, 1)  # soft labels, off by a wave
    >>> spline, platt = SplineScaling().fit(z, p), PlattScaling().fit(z, p)
    >>> spline.transform([0.25, 0.5]).round(2).tolist()
    [0.35, 0.51]
    >>> platt.transform([0.25, 0.5]).round(2).tolist()
    [0.32, 0.5]
    """

    _learned = ("knots_", "values_", "smoothing_")
    _parameters_per_map = 10  # the default number of knots
    _needs_rows = NEEDS_MORE_THAN_SUMS
    knots_: tuple[FloatArray, ...]
    values_: tuple[FloatArray, ...]
    smoothing_: FloatArray

    @public
    def __init__(
        self,
        *,
        n_knots: int = 10,
        smoothing: float | None = None,
        from_logits: bool = False,
        from_logprobs: bool = False,
    ) -> None:
        self.n_knots = n_knots
        self.smoothing = smoothing
        super().__init__(from_logits=from_logits, from_logprobs=from_logprobs)

    def _check_options(self) -> None:
        """Raise an InputError if an option is invalid."""
        super()._check_options()
        check_count("n_knots", self.n_knots, 2)
        given = self.smoothing
        if given is not None and not (is_number(given) and 0 < given < np.inf):
            raise InputError(
                f"smoothing must be a finite number above 0, or None to choose it; got {given!r}"
            )

    def _check_learned(self) -> None:
        """Raise a ValueError if knots and values read from a file are inconsistent."""
        super()._check_learned()
        for knots, values in zip(self.knots_, self.values_, strict=True):
            if np.ndim(knots) != 1 or np.size(knots) < 2 or np.shape(values) != np.shape(knots):
                raise ValueError("the number of values does not fit the knots")
            if not (np.diff(knots) > 0).all():
                raise ValueError("its knots do not increase")

    def _fit_column(self, column: Column) -> ColumnFit:
        """Fit the spline of one class: its knots, its values there, and its smoothing. Where the
        rows determine no more than a line, it is a line.
        """
        h, mass, targets = by_level(column)
        shares = mass / mass.sum()
        free = fit_logistic(h[:, None], targets, shares)
        # The search starts at this line, which may not fall. Where rows are separable, it is the
        # fit.
        line = free if free.slopes[0] >= 0 else fit_increasing(h[:, None], targets, shares)
        # Knots are dense where there is much to learn, and rare where the outcome is certain.
        q = sigmoid(h * line.slopes[0] + line.intercept)
        knots = place_knots(h, mass * (np.sqrt(q * (1.0 - q)) + 1e-6), int(self.n_knots))
        # A single distinct prediction determines a value, but no slope.
        start = line.slopes[0] * (knots if h.size > 1 else np.full(2, h[0])) + line.intercept
        if h.size == 1 or free.separable or not 0 < shares @ targets < 1:
            # The line is all that can be found; it is level if higher predictions always go with
            # lower targets.
            smoothing = 1.0 if self.smoothing is None else float(self.smoothing)
            return ColumnFit((knots, start, smoothing), line.n_iter, line.reached, line.separable)
        if not np.abs(start).max() < STEEP:  # logits so wild that no line was found
            rate = float(shares @ targets)
            start = np.full(knots.size, np.log(rate) - np.log1p(-rate))
        levels = Levels(_on_unit(h, knots), shares, targets)
        fit = fit_spline(Spline(_on_unit(knots, knots)), levels, start, self.smoothing)
        return ColumnFit((knots, fit.values, fit.smoothing), line.n_iter + fit.n_iter, fit.reached)

    def _map(self, j: int, values: FloatArray, precision: np.dtype[Any]) -> FloatArray:
        """The probabilities that the j-th map gives for the logits `values`."""
        knots = self.knots_[j]
        spline = Spline(_on_unit(knots, knots))
        return sigmoid(spline.basis(_on_unit(values, knots)) @ self.values_[j])


def _on_unit(h: FloatArray, knots: FloatArray) -> FloatArray:
    """Logits h on a scale from 0 at the first knot to 1 at the last."""
    return (h - knots[0]) / (knots[-1] - knots[0])
