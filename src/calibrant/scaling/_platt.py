"""Platt scaling: a logistic curve over the logit."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from calibrant._core.validation import check_flag, public
from calibrant._data.links import sigmoid
from calibrant.scaling._docstrings import documented
from calibrant.scaling._formula import Inputs, Node
from calibrant.scaling._logistic import fit_logistic
from calibrant.scaling._one_vs_rest import Column, ColumnFit, OneVsRest
from calibrant.scaling._predictions import FloatArray
from calibrant.scaling._problem import Solution, named_classes

# Logits are clipped to this, about the logit of 1 - 1e-12, for the test of their slope.
LARGEST = 28.0


@documented
class PlattScaling(OneVsRest):
    r"""Platt scaling: a logistic curve over the logit of a prediction.

    .. math:: q_i = \sigma(a h_i + b)

    where h is the logit (the logit of a probability lifted to 1e-12, unless ``from_logits=True``),
    and a, b minimise the log loss. ``smooth_targets=True`` replaces the targets 1 and 0 by ``(N1 +
    1) / (N1 + 2)`` and ``1 / (N0 + 2)``, as Platt did against overfitting; N is a sum of weights.

    Predictions (n, k) get a map for each class against the rest, and rows are divided by their sum.

    Parameters
    ----------
    smooth_targets : bool, default False
        Whether to smooth the targets towards 1/2, as above.

    Attributes
    ----------
    slope_ : ndarray of shape (n_maps,)
        a of each map: one map for two classes, k for k > 2.
    intercept_ : ndarray of shape (n_maps,)
        b of each map.

    References
    ----------
    Platt (1999), Probabilistic outputs for support vector machines, in Advances in Large Margin
    Classifiers, MIT Press.

    Examples
    --------
    >>> from calibrant import examples
    >>> from calibrant.scaling import PlattScaling
    >>> shirt = examples.load("fashion-shirt")
    >>> scaler = PlattScaling().fit(shirt.val_labels, shirt.val_proba)
    >>> scaler.transform(shirt.test_proba).shape
    (4000,)
    """

    _learned = ("slope_", "intercept_")
    _parameters_per_map = 2
    _option_checks = (("smooth_targets", check_flag),)
    slope_: FloatArray
    intercept_: FloatArray

    @public
    def __init__(
        self,
        *,
        smooth_targets: bool = False,
        from_logits: bool = False,
        from_logprobs: bool = False,
    ) -> None:
        self.smooth_targets = smooth_targets
        super().__init__(from_logits=from_logits, from_logprobs=from_logprobs)

    def _fit_column(self, column: Column) -> ColumnFit:
        """Fit the slope and the intercept of one class against the rest."""
        z = column.targets
        if self.smooth_targets:
            n1, n0 = column.weights @ z, column.weights @ (1.0 - z)
            z = z * (n1 + 1) / (n1 + 2) + (1.0 - z) / (n0 + 2)
        fit = fit_logistic(column.predictions[:, None], z, column.shares)
        return ColumnFit(fit.parameters, fit.n_iter, fit.reached, fit.separable)

    def _solution(
        self, columns: Sequence[Column], fits: Sequence[ColumnFit], class_names: tuple[str, ...]
    ) -> Solution:
        """The fits as fitted attributes; with a warning for maps that decrease."""
        solution = super()._solution(columns, fits, class_names)
        if not columns:
            return solution
        slopes = np.ravel(np.asarray(solution.learned["slope_"]))
        scores = np.array(list(map(_score, columns)))
        cautions = (*solution.cautions, *_about_falls(slopes, scores, class_names))
        return replace(solution, cautions=cautions)

    def _formula(self, inputs: Inputs) -> list[Node]:
        """The map as a formula of the inputs, one node for each output."""

        def map_of(slope: float, intercept: float) -> Callable[[Node], Node]:
            """A function from the node of a class's logit to the node of its recalibrated
            probability.
            """
            largest = abs(slope) * inputs.largest + abs(intercept)
            return lambda h: (slope * h + intercept).sigmoid(largest)

        return inputs.one_against_rest(list(map(map_of, self.slope_, self.intercept_)))

    def _map(self, j: int, values: FloatArray, precision: np.dtype[Any]) -> FloatArray:
        """The probabilities that the j-th map gives for the logits `values`."""
        return sigmoid(self.slope_[j] * values + self.intercept_[j])


def _score(column: Column) -> float:
    """Rao's score statistic for the slope 0 of a map: about a standard normal variate if the slope
    is 0; 0 where logits or targets are constant.
    """
    shares, logits = column.shares, np.clip(column.predictions, -LARGEST, LARGEST)
    h, z = (each - shares @ each for each in (logits, column.targets))
    squares = shares @ shares if column.squares is None else column.squares
    # Rounding may end below 0 where weights are negative.
    spread = math.sqrt(max(float((shares @ h**2) * (shares @ z**2)), 0.0) * float(squares))
    return float(shares @ (h * z) / spread) if spread > 0 else 0.0


def _about_falls(
    slopes: FloatArray, scores: FloatArray, class_names: Sequence[str]
) -> tuple[str, ...]:
    """The warning for maps with a significantly negative slope (score below -3), as a tuple of one
    text; empty if there are none. Where predictions are pure noise, half of all slopes are negative
    by chance.
    """
    falling = np.flatnonzero((slopes < 0) & (scores < -3))
    if not falling.size:
        return ()
    which = ""
    if len(slopes) > 1:
        which = f" of {named_classes([class_names[j] for j in falling.tolist()])}"
    return (
        f"the slope{which} is negative ({slopes.min():.3g}), which reverses the order of the "
        "predictions. Check whether the labels, or the classes, are swapped",
    )
