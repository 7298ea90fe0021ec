"""Structured matrix scaling: temperature first, then what each class tells of the others."""

from __future__ import annotations

from calibrant._core.validation import public
from calibrant._data.links import softmax
from calibrant.scaling._linear import check_l2
from calibrant.scaling._predictions import FloatArray, Predictions
from calibrant.scaling._problem import Problem, Solution
from calibrant.scaling._scaler import Scaler
from calibrant.scaling._structured import check_scaling, fit_structured_matrix, scaled_scores


class StructuredMatrixScaling(Scaler):
    r"""Structured matrix scaling (SMS): matrix scaling that few rows cannot lead astray.

    .. math:: q_i = \mathrm{softmax}(W x_i + b), \qquad
        x_i = \ln\Bigl[(1 - \varepsilon)\, \mathrm{softmax}(s_i / T) + \frac{\varepsilon}{k}\Bigr],
        \qquad \varepsilon = \frac{1}{n + 1}

    where s are logits or logarithms of probabilities and T is the temperature with the least log
    loss. Then W and b minimise the log loss plus

    .. math:: \frac{k}{n} \Bigl[ \lambda_b \sum_r b_r^2 + \lambda_d \sum_r (W_{rr} - 1)^2
        + \lambda_o (k - 1) \sum_{r \ne t} W_{rt}^2 \Bigr]

    a convex problem that is solved to its optimum. Where there are few rows for each class the map
    is close to temperature scaling, then to vector scaling, for what lies off the diagonal is held
    back most; with many rows the penalty vanishes. The share of the uniform distribution keeps
    every logarithm finite. What is added to all logits of a row is lost on x. n is the sum of the
    weights (or of votes), so that a weight of 2 is two rows: weights that sum to 1 would count as
    one row.

    Predictions (n,) are two classes.

    Parameters
    ----------
    l2_intercept : float, default 1.0
        The penalty on b, lambda_b; finite and not negative.
    l2_diagonal : float, default 1.0
        The penalty on the diagonal of W, less 1, lambda_d; finite and not negative.
    l2_off_diagonal : float, default 1.0
        The penalty on all else in W, lambda_o; finite and not negative.
    from_logits : bool, default True
        Whether the predictions are logits (else probabilities).
    from_logprobs : bool, default False
        Whether the predictions are log-probabilities: exp is applied to (n,), a softmax to (n, k).
        Goes before `from_logits`.

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
    n_classes_, n_rows_, n_iter_ : int
        Classes and rows of the fit, and steps of the optimiser.
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

    _learned = ("temperature_", "uniform_", "coef_", "intercept_")
    _tried_on = ("multiclass",)
    _penalised = True
    temperature_: float
    uniform_: float
    coef_: FloatArray
    intercept_: FloatArray

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
        self.from_logits = from_logits
        self.from_logprobs = from_logprobs

    @classmethod
    def _n_parameters(cls, k: int) -> float:
        return 1 + k * k + k

    def _check_options(self) -> None:
        super()._check_options()
        for name in ("l2_intercept", "l2_diagonal", "l2_off_diagonal"):
            check_l2(getattr(self, name), name)

    def _check_learned(self) -> None:
        check_scaling(self.temperature_, self.uniform_)
        self._check_of_classes(coef_=2, intercept_=1)

    def _solve(self, problem: Problem) -> Solution:
        return fit_structured_matrix(
            problem, float(self.l2_intercept), float(self.l2_diagonal), float(self.l2_off_diagonal)
        )

    def _apply(self, predictions: Predictions) -> FloatArray:
        x = scaled_scores(predictions, self.temperature_, self.uniform_)
        out = softmax(x @ self.coef_.T + self.intercept_)
        return out if predictions.columns else out[:, 1]
