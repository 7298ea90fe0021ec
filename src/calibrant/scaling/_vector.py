"""Vector scaling: a factor and a bias for each class."""

from __future__ import annotations

import numpy as np

from calibrant._core.validation import public
from calibrant._data.links import softmax
from calibrant.scaling._formula import Inputs, Node, softmax_nodes
from calibrant.scaling._linear import fit_vector
from calibrant.scaling._predictions import FloatArray, Predictions
from calibrant.scaling._problem import Problem, Solution
from calibrant.scaling._scaler import Scaler


class VectorScaling(Scaler):
    r"""Vector scaling: each class's logit gets its own factor and its own bias.

    .. math:: q_i = \mathrm{softmax}(v \odot s_i + b)

    where s are logits or, with ``from_logits=False``, logarithms of probabilities, and v, b
    minimise the log loss; b has mean 0. Predictions (n,) are two classes: a logit h is (-h/2, h/2).
    Logits that differ by a constant in each row give different fits, as in the paper.

    Parameters
    ----------
    from_logits : bool, default True
        Whether the predictions are logits (else probabilities).
    from_logprobs : bool, default False
        Whether the predictions are log-probabilities: exp is applied to (n,), a softmax to (n, k).
        Goes before `from_logits`.

    Attributes
    ----------
    coef_ : ndarray of shape (k,)
        v, one factor for each class.
    intercept_ : ndarray of shape (k,)
        b, one bias for each class.
    n_classes_, n_rows_, n_iter_ : int
        Classes and rows of the fit, and steps of the optimiser.
    loss_before_, loss_ : float
        Log loss on the rows of the fit, before and after.

    References
    ----------
    Guo, Pleiss, Sun and Weinberger (2017), arXiv:1706.04599, section 4.2.

    Examples
    --------
    >>> from calibrant import examples
    >>> from calibrant.scaling import VectorScaling
    >>> fashion = examples.load("fashion")
    >>> scaler = VectorScaling().fit(fashion.val_soft_labels, fashion.val_logits)
    >>> scaler.coef_.shape, scaler.intercept_.shape
    ((10,), (10,))
    """

    _learned = ("coef_", "intercept_")
    _tried_on = ("multiclass",)
    coef_: FloatArray
    intercept_: FloatArray

    @public
    def __init__(self, *, from_logits: bool = True, from_logprobs: bool = False) -> None:
        self.from_logits = from_logits
        self.from_logprobs = from_logprobs

    @classmethod
    def _n_parameters(cls, k: int) -> float:
        return 2 * k

    def _check_learned(self) -> None:
        self._check_of_classes(coef_=1, intercept_=1)

    def _solve(self, problem: Problem) -> Solution:
        return fit_vector(problem, problem.predictions.class_scores())

    def _formula(self, inputs: Inputs) -> list[Node]:
        terms = zip(inputs.scores, self.coef_, self.intercept_, strict=True)
        steepest, furthest = (np.abs(each).max() for each in (self.coef_, self.intercept_))
        largest = 2 * (steepest * inputs.largest + furthest)
        return inputs.of_classes(softmax_nodes([s * v + b for s, v, b in terms], largest))

    def _apply(self, predictions: Predictions) -> FloatArray:
        out = softmax(predictions.class_scores() * self.coef_ + self.intercept_)
        return out if predictions.columns else out[:, 1]
