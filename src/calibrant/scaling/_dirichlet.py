"""Dirichlet calibration: a linear map of log probabilities."""

from __future__ import annotations

from calibrant._core.validation import public
from calibrant.scaling._matrix import MatrixScaling
from calibrant.scaling._predictions import FloatArray, Predictions


class DirichletCalibration(MatrixScaling):
    r"""Dirichlet calibration: what is right if each class's predictions are Dirichlet-distributed.

    .. math:: q_i = \mathrm{softmax}(W \ln p_i + b)

    where p are the predicted probabilities (the softmax of logits, with ``from_logits=True``),
    lifted to 1e-12. W and b minimise the log loss plus

    .. math:: \lambda \Bigl[ \frac{1}{k(k-1)} \sum_{r \ne t} W_{rt}^2 + \frac{1}{k} \sum_r b_r^2
        \Bigr]

    with ``l2`` for lambda (ODIR; 0 by default). Predictions (n,) are the two classes (1 - p, p),
    for which this is beta calibration without its constraints.

    Parameters
    ----------
    l2 : float, default 0.0
        lambda, the weight of the penalty; finite and not negative.
    from_logits : bool, default False
        Whether the predictions are logits (else probabilities).
    from_logprobs : bool, default False
        Whether the predictions are log-probabilities: exp is applied to (n,), a softmax to (n, k).

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
    Kull, Perello-Nieto, Kängsepp, Silva Filho, Song and Flach (2019), Beyond temperature scaling,
    NeurIPS, arXiv:1910.12656.

    Examples
    --------
    >>> from calibrant import examples
    >>> from calibrant.scaling import DirichletCalibration
    >>> fashion = examples.load("fashion")
    >>> scaler = DirichletCalibration(l2=0.01).fit(fashion.val_labels, fashion.val_proba)
    >>> scaler.loss_ < scaler.loss_before_
    True
    """

    @public
    def __init__(
        self, *, l2: float = 0.0, from_logits: bool = False, from_logprobs: bool = False
    ) -> None:
        super().__init__(l2=l2, from_logits=from_logits, from_logprobs=from_logprobs)

    def _scores(self, predictions: Predictions) -> FloatArray:
        return predictions.log_probabilities()
