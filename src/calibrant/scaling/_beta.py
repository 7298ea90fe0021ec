"""Beta calibration: a logistic curve that bends each end on its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from calibrant._data.links import sigmoid
from calibrant.scaling._docstrings import documented
from calibrant.scaling._formula import Inputs, Node
from calibrant.scaling._logistic import fit_increasing
from calibrant.scaling._one_vs_rest import Column, ColumnFit, OneVsRest
from calibrant.scaling._predictions import FloatArray


@documented
class BetaCalibration(OneVsRest):
    r"""Beta calibration: the correct map for beta-distributed predictions of each class.

    .. math:: q_i = \sigma\bigl(a \ln p_i - b \ln(1 - p_i) + c\bigr), \quad a, b \ge 0

    where p is lifted to 1e-12, and so is 1 - p, and a, b, c minimise the log loss. The identity is
    one of these maps (a = b = 1, c = 0), and none of them decreases.

    Predictions (n, k) get a map for each class against the rest, and rows are divided by their sum.

    Attributes
    ----------
    a_, b_, c_ : ndarray of shape (n_maps,)
        The parameters of each map: one map for two classes, k for k > 2.

    References
    ----------
    Kull, Silva Filho and Flach (2017), Beta calibration, AISTATS, PMLR 54:623-631.

    Examples
    --------
    >>> from calibrant import examples
    >>> from calibrant.scaling import BetaCalibration
    >>> shirt = examples.load("fashion-shirt")
    >>> scaler = BetaCalibration().fit(shirt.val_soft_labels, shirt.val_proba)
    >>> scaler.loss_ < scaler.loss_before_
    True
    """

    _learned = ("a_", "b_", "c_")
    _parameters_per_map = 3
    a_: FloatArray
    b_: FloatArray
    c_: FloatArray

    def _fit_column(self, column: Column) -> ColumnFit:
        """Fit a, b and c of one class against the rest, with a and b at least 0."""
        features = np.stack(_log_probability_pair(column.predictions), axis=1)
        fit = fit_increasing(features, column.targets, column.shares)
        return ColumnFit(fit.parameters, fit.n_iter, fit.reached, fit.separable)

    def _formula(self, inputs: Inputs) -> list[Node]:
        """The map as a formula of the inputs, one node for each output."""

        def map_of(a: float, b: float, c: float) -> Callable[[Node], Node]:
            """A function from the node of a class's logit to the node of its recalibrated
            probability.
            """
            largest = max(a, b) * inputs.largest + abs(c)
            return lambda h: (a * -(-h).softplus() + b * h.softplus() + c).sigmoid(largest)

        return inputs.one_against_rest(list(map(map_of, self.a_, self.b_, self.c_)))

    def _map(self, j: int, values: FloatArray, precision: np.dtype[Any]) -> FloatArray:
        """The probabilities that the j-th map gives for the logits `values`."""
        log_p, minus_log_rest = _log_probability_pair(values)
        return sigmoid(self.a_[j] * log_p + self.b_[j] * minus_log_rest + self.c_[j])


def _log_probability_pair(log_odds: FloatArray) -> tuple[FloatArray, FloatArray]:
    """ln p and -ln(1 - p) of probabilities p, from their logits, without loss of
    precision near 0 or 1.
    """
    return -np.logaddexp(0.0, -log_odds), np.logaddexp(0.0, log_odds)
