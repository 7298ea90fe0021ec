"""Rows as they would be if the classes had other shares, for every measure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from calibrant._core.validation import check_flag, public
from calibrant._data.logprobs import given_as
from calibrant.scaling._predictions import FloatArray
from calibrant.scaling._prior_shift import shifted_predictions
from calibrant.scaling._priors import Prior, as_prior, shares_of_labels
from calibrant.scaling._problem import Problem, to_problem


@public
def at_prior(
    y_true: Any,
    y_proba: Any,
    *,
    prior: Prior,
    source_prior: Prior | None = None,
    shift_predictions: bool = True,
    sample_weight: Any = None,
    votes: Any = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> dict[str, NDArray[Any]]:
    r"""Labels, predictions and weights of these rows in a population with another prior.

    "What would the ECE be at a prevalence of 2 %?" takes two steps: rows are weighted so that the
    classes have their new shares, and predictions are mapped to those of a predictor that knows
    these shares (`PriorShift`). With :math:`\rho_r = \pi'_r / \pi_r`, where pi are the shares of
    the labels,

    .. math:: w'_i = w_i \sum_r z_{ir} \rho_r, \quad z'_{ir} = \frac{z_{ir} \rho_r}{\sum_s z_{is}
        \rho_s}, \quad q_{ir} = \frac{p_{ir} \rho_r}{\sum_s p_{is} \rho_s}

    so that hard labels do not change and soft labels shift like predictions. This is exact if only
    the shares change, and the distribution within each class does not.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k)
        Labels: 0/1, class indices, labels named by `classes`, probabilities (soft labels), or vote
        counts (n, k).
    y_proba : array-like of shape (n,) or (n, k)
        Predictions; (n,) is the prediction of class 1.
    prior : float or sequence of float
        pi': the share of class 1, or the shares of all classes.
    source_prior : float or sequence of float, optional
        The shares at which the predictions are calibrated, for the predictions only; by default
        those of the labels.
    shift_predictions : bool, default True
        Whether to map predictions. With False, the unchanged predictor is measured in the new
        population.
    sample_weight : array-like of shape (n,), optional
        Weight of each row; 1 by default. For vote counts, the weight of each vote in the row.
    votes : int or array-like of shape (n,), optional
        Number of votes of each soft label; vote counts include it.
    from_logits : bool, default False
        Whether the predictions are logits.
    from_logprobs : bool, default False
        Whether the predictions are log-probabilities.
    classes : sequence, optional
        The labels in the order of the columns of `y_proba`.
    data : frame, optional
        A frame; `y_true`, `y_proba`, `sample_weight` and `votes` are then names of its columns.

    Returns
    -------
    dict
        ``y_true``, ``y_proba`` (probabilities) and ``sample_weight``: keyword arguments that every
        function takes. Votes are included in the weights.

    Raises
    ------
    InputError
        If a class with a share in `prior` has no label.

    Notes
    -----
    Weights cost precision: where 30 % positives stand for 2 %, the few negatives that look like
    positives carry the value. Intervals treat the weights as known, although the shares of the
    labels were estimated, which matters only with few rows.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant import examples
    >>> from calibrant.scaling import at_prior
    >>> shirt = examples.load("fashion-shirt")
    >>> round(cal.ece(shirt.test_labels, shirt.test_proba), 3)
    0.041
    >>> rows = at_prior(shirt.test_labels, shirt.test_proba, prior=0.02)
    >>> round(cal.ece(**rows), 3)
    0.021
    """
    check_flag("shift_predictions", shift_predictions)
    problem = to_problem(
        y_true,
        y_proba,
        given=given_as(from_logits, from_logprobs),
        sample_weight=sample_weight,
        votes=votes,
        classes=classes,
        data=data,
    )
    k = problem.n_classes
    new = as_prior(prior, "prior", k)
    mass = problem.shares @ problem.targets
    labels = shares_of_labels(mass, problem.class_names, "give rows of every class")
    source = labels if source_prior is None else as_prior(source_prior, "source_prior", k)
    shifted = problem.targets * (new / labels)
    mass = shifted.sum(axis=1)
    predicted = problem.predictions.probabilities()
    if shift_predictions:
        predicted = shifted_predictions(problem.predictions, new, source)
    return {
        "y_true": _result_labels(problem, shifted / mass[:, None]),
        "y_proba": predicted,
        "sample_weight": problem.weights * mass,
    }


def _result_labels(problem: Problem, targets: FloatArray) -> NDArray[Any]:
    """The labels of the result: class indices (n,) if every row has one certain class, else the
    soft `targets`, in the shape of the predictions: (n, k), or (n,) for class 1.
    """
    if bool((problem.targets.max(axis=1) == 1.0).all()):
        return problem.targets.argmax(axis=1)
    return targets[:, 1] if problem.predictions.columns is None else targets
