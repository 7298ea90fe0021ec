"""Structured scaling: temperature first, then a penalised step away from it.

The scores of a structured map are logarithms of the predictions after temperature scaling, drawn a
little towards the uniform distribution, so that none is infinite. The penalty holds the map to
these scores: with few rows it is temperature scaling, with many it is free.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from calibrant._core.validation import public
from calibrant._data.links import softmax
from calibrant.scaling._docstrings import documented
from calibrant.scaling._linear import LinearMap, about_search, centred, check_l2
from calibrant.scaling._predictions import FloatArray, Predictions
from calibrant.scaling._problem import Learned, Problem, Solution
from calibrant.scaling._scaler import NEEDS_MORE_THAN_SUMS
from calibrant.scaling._softmax_fit import MatrixForm, ParameterScales, SoftmaxLoss, VectorForm
from calibrant.scaling._temperature import check_temperature, fit_temperature

# Weights whose mean is below this were meant as shares of 1, not as numbers of rows.
SMALLEST_MEAN_WEIGHT = 0.1


class _StructuredMap(LinearMap):
    """A linear map of class scores after temperature scaling, with a penalty on its difference from
    the identity.
    """

    _learned = ("temperature_", "uniform_", "coef_", "intercept_")
    _penalised = True
    _needs_rows = NEEDS_MORE_THAN_SUMS
    # The logits as a function of the parameters.
    _form: ClassVar[type[VectorForm]]
    temperature_: float
    uniform_: float

    @abstractmethod
    def _penalties(self, k: int) -> FloatArray:
        """The factor of each parameter's square in the penalty, in the order of the parameters of
        `_form`; it is still to be multiplied by k / n, for k classes and n rows.
        """

    def _check_learned(self) -> None:
        """Raise a ValueError if the fitted attributes read from a file are inconsistent."""
        check_temperature(self.temperature_)
        if not isinstance(self.uniform_, float) or not 0.0 < self.uniform_ < 1.0:
            raise ValueError("a share of the uniform distribution outside (0, 1)")
        super()._check_learned()

    def _scores(self, predictions: Predictions) -> FloatArray:
        """The scores that the map is linear in, (n, k): logarithms of the predictions after
        temperature scaling and mixing with the uniform distribution.
        """
        return _scaled_scores(predictions, self.temperature_, self.uniform_)

    def _solve(self, problem: Problem) -> Solution:
        """Fit the temperature, and then the linear map with the least sum of log loss and penalty.
        The parameters of the search are differences from the identity map.
        """
        # A weight counts as a number of rows here: the more rows, the weaker the penalty.
        k, n = problem.n_classes, float(problem.weights.sum())
        first = fit_temperature(problem)
        temperature, uniform = float(np.asarray(first.learned["temperature_"])), 1.0 / (n + 1.0)
        scores = _scaled_scores(problem.predictions, temperature, uniform)
        form = self._form(scores)
        pulled = 2.0 * (self._penalties(k) * (k / n))

        def scales_at(p: FloatArray) -> ParameterScales:
            """The coordinates of the search around the probabilities p (n, k)."""
            curves = form.curvature(problem.shares[:, None] * p * (1.0 - p)) + pulled
            return ParameterScales(1.0 / np.sqrt(np.maximum(curves, 1e-12)), radius=4.0)

        loss = SoftmaxLoss(
            forward=form.forward,
            back=form.back,
            targets=problem.targets,
            shares=problem.shares,
            pull=lambda theta: pulled * theta,
            offset=scores,
            scales_at=scales_at,
        )
        minimum = loss.minimum(np.zeros(len(pulled)))
        instead = "" if pulled.min() > 0 else "penalties above 0"
        about = about_search(minimum, loss.logits(minimum.at), problem, instead)
        coef = form.coef(minimum.at)
        learned: dict[str, Learned] = {
            "temperature_": temperature,
            "uniform_": uniform,
            "coef_": (1.0 if coef.ndim == 1 else np.eye(k)) + coef,
            "intercept_": centred(minimum.at[-k:]),
        }
        cautions = (*first.cautions, *_about_light_weights(problem.weights), *about)
        return Solution(learned, cautions, first.n_iter + minimum.n_iter)


@documented
class StructuredVectorScaling(_StructuredMap):
    r"""Structured vector scaling (SVS): vector scaling that is robust with few rows.

    .. math:: q_i = \mathrm{softmax}(v \odot x_i + b), \qquad
        x_i = \ln\Bigl[(1 - \varepsilon)\, \mathrm{softmax}(s_i / T) + \frac{\varepsilon}{k}\Bigr],
        \qquad \varepsilon = \frac{1}{n + 1}

    where s are logits or logarithms of probabilities and T is the temperature with the least log
    loss. Then v and b minimise the log loss plus

    .. math:: \frac{k}{n} \Bigl[ \lambda_b \sum_r b_r^2 + \lambda_d \sum_r (v_r - 1)^2 \Bigr]

    a convex problem that is solved to its optimum. With few rows for each class the map is close to
    temperature scaling; with many the penalty vanishes. The share of the uniform distribution keeps
    every logarithm finite. A constant added to all logits of a row does not change x. n is the sum
    of the weights (or of votes), so a weight of 2 counts as two rows; weights that sum to 1 would
    count as one row.

    Predictions (n,) are two classes.

    Parameters
    ----------
    l2_intercept : float, default 1.0
        The penalty on b, lambda_b; finite and not negative.
    l2_diagonal : float, default 1.0
        The penalty on v - 1, lambda_d; finite and not negative.

    Attributes
    ----------
    temperature_ : float
        T, in [0.001, 1000].
    uniform_ : float
        The share of the uniform distribution, 1 / (n + 1).
    coef_ : ndarray of shape (k,)
        v, one factor for each class.
    intercept_ : ndarray of shape (k,)
        b, one bias for each class; its mean is 0.
    loss_before_, loss_ : float
        Log loss on the rows of the fit, before and after, without the penalty.

    See Also
    --------
    VectorScaling : the same without a penalty.
    StructuredMatrixScaling : every class's score affects every class.

    References
    ----------
    Berta, Holzmüller, Jordan and Bach (2025), Structured Matrix Scaling for Multi-Class
    Calibration, arXiv:2511.03685; the penalties are those of their package probmetrics (1.3.0).

    Examples
    --------
    >>> from calibrant import examples
    >>> from calibrant.scaling import StructuredVectorScaling
    >>> fashion = examples.load("fashion")
    >>> scaler = StructuredVectorScaling().fit(fashion.val_soft_labels, fashion.val_logits)
    >>> scaler.coef_.shape, scaler.intercept_.shape
    ((10,), (10,))
    """

    _coef_ndim = 1
    _form = VectorForm
    _option_checks = (("l2_intercept", check_l2), ("l2_diagonal", check_l2))

    @public
    def __init__(
        self,
        *,
        l2_intercept: float = 1.0,
        l2_diagonal: float = 1.0,
        from_logits: bool = True,
        from_logprobs: bool = False,
    ) -> None:
        self.l2_intercept = l2_intercept
        self.l2_diagonal = l2_diagonal
        super().__init__(from_logits=from_logits, from_logprobs=from_logprobs)

    @classmethod
    def _n_parameters(cls, k: int) -> float:
        """The number of fitted parameters for k classes: a temperature, k factors and k biases."""
        return 1 + 2 * k

    def _penalties(self, k: int) -> FloatArray:
        """The factor of each parameter's square in the penalty, (2k,): those of the factors v, then
        of the biases.
        """
        return np.repeat([float(self.l2_diagonal), float(self.l2_intercept)], k)


@documented
class StructuredMatrixScaling(_StructuredMap):
    r"""Structured matrix scaling (SMS): matrix scaling that is robust with few rows.

    .. math:: q_i = \mathrm{softmax}(W x_i + b), \qquad
        x_i = \ln\Bigl[(1 - \varepsilon)\, \mathrm{softmax}(s_i / T) + \frac{\varepsilon}{k}\Bigr],
        \qquad \varepsilon = \frac{1}{n + 1}

    where s are logits or logarithms of probabilities and T is the temperature with the least log
    loss. Then W and b minimise the log loss plus

    .. math:: \frac{k}{n} \Bigl[ \lambda_b \sum_r b_r^2 + \lambda_d \sum_r (W_{rr} - 1)^2
        + \lambda_o (k - 1) \sum_{r \ne t} W_{rt}^2 \Bigr]

    a convex problem that is solved to its optimum. With few rows for each class the map is close to
    temperature scaling; with more rows it approaches vector scaling, because the penalty is largest
    off the diagonal; with many rows the penalty vanishes. The share of the uniform distribution
    keeps every logarithm finite. A constant added to all logits of a row does not change x. n is
    the sum of the weights (or of votes), so a weight of 2 counts as two rows; weights that sum to 1
    would count as one row.

    Predictions (n,) are two classes.

    Parameters
    ----------
    l2_intercept : float, default 1.0
        The penalty on b, lambda_b; finite and not negative.
    l2_diagonal : float, default 1.0
        The penalty on the diagonal of W minus 1, lambda_d; finite and not negative.
    l2_off_diagonal : float, default 1.0
        The penalty on the other entries of W, lambda_o; finite and not negative.

    Attributes
    ----------
    temperature_ : float
        T, in [0.001, 1000].
    uniform_ : float
        The share of the uniform distribution, 1 / (n + 1).
    coef_ : ndarray of shape (k, k)
        W, one row for each class.
    intercept_ : ndarray of shape (k,)
        b, one bias for each class; its mean is 0.
    loss_before_, loss_ : float
        Log loss on the rows of the fit, before and after, without the penalty.

    See Also
    --------
    MatrixScaling : one penalty, chosen by hand, and none on the diagonal.
    StructuredVectorScaling : a factor and a bias for each class.

    References
    ----------
    Berta, Holzmüller, Jordan and Bach (2025), Structured Matrix Scaling for Multi-Class
    Calibration, arXiv:2511.03685; the penalties are those of their package probmetrics (1.3.0).

    Examples
    --------
    >>> from calibrant import examples
    >>> from calibrant.scaling import StructuredMatrixScaling
    >>> fashion = examples.load("fashion")
    >>> scaler = StructuredMatrixScaling().fit(fashion.val_soft_labels, fashion.val_logits)
    >>> scaler.coef_.shape, scaler.intercept_.shape
    ((10, 10), (10,))
    """

    _coef_ndim = 2
    _form = MatrixForm
    _option_checks = (
        ("l2_intercept", check_l2),
        ("l2_diagonal", check_l2),
        ("l2_off_diagonal", check_l2),
    )

    @public
    def __init__(
        self,
        *,
        l2_intercept: float = 1.0,
        l2_diagonal: float = 1.0,
        l2_off_diagonal: float = 1.0,
        from_logits: bool = True,
        from_logprobs: bool = False,
    ) -> None:
        self.l2_intercept = l2_intercept
        self.l2_diagonal = l2_diagonal
        self.l2_off_diagonal = l2_off_diagonal
        super().__init__(from_logits=from_logits, from_logprobs=from_logprobs)

    @classmethod
    def _n_parameters(cls, k: int) -> float:
        """The number of fitted parameters for k classes: a temperature, k x k
        coefficients, k biases.
        """
        return 1 + k * k + k

    def _penalties(self, k: int) -> FloatArray:
        """The factor of each parameter's square in the penalty, (k² + k,): those of the matrix by
        rows, then of the biases.
        """
        of_matrix = np.full((k, k), float(self.l2_off_diagonal) * (k - 1))
        np.fill_diagonal(of_matrix, float(self.l2_diagonal))
        return np.append(of_matrix, np.full(k, float(self.l2_intercept)))


def _scaled_scores(predictions: Predictions, temperature: float, uniform: float) -> FloatArray:
    """The scores ln((1 - uniform) softmax(s / T) + uniform / k) of k classes, (n, k), where s are
    the log-probabilities of the predictions, T the temperature, and `uniform` the share of the
    uniform distribution.
    """
    rows = softmax(predictions.log_probabilities() / temperature)
    return np.log((1.0 - uniform) * rows + uniform / rows.shape[1])


def _about_light_weights(weights: FloatArray) -> tuple[str, ...]:
    """The warning for weights that seem to sum to 1 instead of counting rows (their mean is below
    SMALLEST_MEAN_WEIGHT), as a tuple of one text; an empty tuple for others.
    """
    n, counted = float(weights.sum()), weights[weights > 0]
    if counted.mean() >= SMALLEST_MEAN_WEIGHT:
        return ()
    return (
        f"the weights sum to {n:.3g} for {counted.size:,} rows, and the penalty counts them as "
        f"{n:.3g} rows. If they are shares, multiply them by the number of rows",
    )
