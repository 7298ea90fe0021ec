"""Matrix scaling: every class's logit informs every class."""

from __future__ import annotations

from calibrant._core.validation import public
from calibrant._data.links import softmax
from calibrant.scaling._linear import check_l2, fit_matrix
from calibrant.scaling._predictions import FloatArray, Predictions
from calibrant.scaling._problem import Problem, Solution
from calibrant.scaling._scaler import Scaler


class MatrixScaling(Scaler):
    r"""Matrix scaling: a linear map of the logits, with a penalty if asked for.

    .. math:: q_i = \mathrm{softmax}(W s_i + b)

    where s are logits or, with ``from_logits=False``, logarithms of probabilities. W and b minimise
    the log loss plus

    .. math:: \lambda \Bigl[ \frac{1}{k(k-1)} \sum_{r \ne t} W_{rt}^2 + \frac{1}{k} \sum_r b_r^2
        \Bigr]

    with ``l2`` for lambda (the off-diagonal and intercept regularisation of Kull et al.; 0 by
    default). k² + k parameters overfit where rows are few: with many classes give an ``l2``, and
    choose it on rows of their own. Predictions (n,) are two classes: a logit h is (-h/2, h/2).

    Parameters
    ----------
    l2 : float, default 0.0
        lambda, the weight of the penalty; finite and not negative.
    from_logits : bool, default True
        Whether the predictions are logits (else probabilities).
    from_logprobs : bool, default False
        Whether the predictions are log-probabilities: exp is applied to (n,), a softmax to (n, k).
        Goes before `from_logits`.

    Attributes
    ----------
    coef_ : ndarray of shape (k, k)
        W, one row for each class.
    intercept_ : ndarray of shape (k,)
        b, one bias for each class.
    n_classes_, n_rows_, n_iter_ : int
        Classes and rows of the fit, and steps of the optimiser.
    loss_before_, loss_ : float
        Log loss on the rows of the fit, before and after.

    References
    ----------
    Guo, Pleiss, Sun and Weinberger (2017), arXiv:1706.04599, section 4.2; Kull et al. (2019),
    arXiv:1910.12656.

    Examples
    --------
    >>> from calibrant import examples
    >>> from calibrant.scaling import MatrixScaling
    >>> fashion = examples.load("fashion")
    >>> scaler = MatrixScaling(l2=0.1).fit(fashion.val_soft_labels, fashion.val_logits)
    >>> scaler.coef_.shape
    (10, 10)
    """

    _learned = ("coef_", "intercept_")
    _tried_on = ("multiclass",)
    coef_: FloatArray
    intercept_: FloatArray

    @public
    def __init__(
        self, *, l2: float = 0.0, from_logits: bool = True, from_logprobs: bool = False
    ) -> None:
        self.l2 = l2
        self.from_logits = from_logits
        self.from_logprobs = from_logprobs

    @classmethod
    def _n_parameters(cls, k: int) -> float:
        return k * k + k

    def _check_options(self) -> None:
        super()._check_options()
        check_l2(self.l2)

    def _scores(self, predictions: Predictions) -> FloatArray:
        return predictions.class_scores()

    def _check_learned(self) -> None:
        self._check_of_classes(coef_=2, intercept_=1)

    def _solve(self, problem: Problem) -> Solution:
        return fit_matrix(problem, self._scores(problem.predictions), float(self.l2))

    def _apply(self, predictions: Predictions) -> FloatArray:
        out = softmax(self._scores(predictions) @ self.coef_.T + self.intercept_)
        return out if predictions.columns else out[:, 1]
