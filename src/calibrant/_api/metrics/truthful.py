"""Truthful errors as one-line functions: a predictor does best, in expectation, by saying what it
believes.
"""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from calibrant._api.rows import as_source, read_cells
from calibrant._core.arguments import Rows
from calibrant._core.binning import Bins, Quantile, as_rule
from calibrant._core.errors import InputError, one_of
from calibrant._core.typing import Array
from calibrant._core.validation import public
from calibrant._measures.binned import binned_error
from calibrant._measures.catalogue import find
from calibrant._measures.truthful import (
    confidence_correction,
    linear_error,
    vector_absolute_error,
    vector_linear_error,
)
from calibrant._summaries.samples import Summary


@public
def lin_ce(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    phi: ArrayLike | None = None,
    norm: str = "l2",
    bins: Bins = Quantile(15),
    **rows: Unpack[Rows],
) -> float:
    r"""Truthful calibration error of a linear property of the label (LinCE).

    .. math:: \frac{1}{W^2} \sum_B \Bigl\| \sum_{i \in B} w_i (u_i - \phi(y_i)) \Bigr\|_2^2

    where u is the prediction of the property: the probability of class 1 for (n,) predictions, the
    whole distribution for (n, k) (full calibration, ``phi(y) = e_y``), or with `phi` the mean of
    ``phi`` under the prediction. Vector predictions share a cell if the same coordinate is largest
    and falls into the same bin. With soft labels phi(y) is its mean under the label.

    Range [0, 1] for (n,), [0, 2] for (n, k); lower is better. A calibrated predictor scores ``1/n``
    of its expected squared error, not 0: compare predictors on the same samples.

    Parameters
    ----------
    phi : array-like of shape (k,) or (k, d), optional
        Value of the property for each class, for (n, k) predictions; by default the class itself.
    norm : {"l1", "l2"}, default "l2"
        `"l2"` is LinCE; `"l1"` is LinECE, ``(1/W) sum_B ||R_B||_1``, which generalises ECE and is
        not truthful.
    bins (quantile)

    Returns
    -------
    float
        The calibration error, in [0, 1] for (n,) and [0, 2] for (n, k).

    Notes
    -----
    ``bins=Quantile(m, ties="rank")`` gives the bins of the paper, which separate equal predictions
    in the order of the rows; for vectors they rank the largest coordinate.

    References
    ----------
    Lu, Wu, Hartline and Hu (2026), Truthful Calibration Errors for Multi-Class Prediction,
    definition 2.1 and theorem 3.1.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.lin_ce([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], bins=cal.Quantile(2)), 6)
    0.0325
    >>> round(cal.lin_ce([0, 2], [[0.5, 0.25, 0.25], [0.2, 0.2, 0.6]], phi=[0, 1, 2], bins=1), 6)
    0.005625
    >>> round(cal.lin_ce([0, 2], [[0.5, 0.25, 0.25], [0.2, 0.2, 0.6]], norm="l1", bins=1), 6)
    0.9
    """
    one_of("norm", norm, ("l1", "l2"))
    samples = as_source(y_true, y_proba, **rows)
    bins = read_cells(bins, rows.get("data"))
    rule = as_rule(bins, default=Quantile, n=samples.count_rows, cells=True)
    summary = Summary(samples, quantile=rule)
    if not samples.multiclass:
        if phi is not None:
            raise InputError("phi needs y_proba of the shape (n, k): a value for each class")
        table = summary.table("binary", rule, squares=False)
        return binned_error(table) if norm == "l1" else linear_error(table)
    vectors = summary.vectors(_property(phi, samples.n_classes))
    return vector_absolute_error(vectors) if norm == "l1" else vector_linear_error(vectors)


def _property(phi: Any, k: int) -> Array | None:
    """The values of a property of the label, (k, d): a row for each of k classes. None stays None.

    An InputError is raised for values of another shape.
    """
    if phi is None:
        return None
    try:
        values = np.asarray(phi, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"phi must be numbers; got {phi!r}") from error
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2 or values.shape[0] != k or values.shape[1] == 0:
        raise InputError(f"phi must have a row per class, the shape ({k}, d); got {values.shape}")
    if not np.isfinite(values).all():
        raise InputError("phi must be finite numbers")
    return values


@public
def classwise_ce(
    y_true: ArrayLike, y_proba: ArrayLike, *, bins: Bins = Quantile(15), **rows: Unpack[Rows]
) -> float:
    r"""Truthful classwise calibration error: LinCE of each class against the rest, averaged.

    .. math:: \frac{1}{k} \sum_r \frac{1}{W^2} \sum_B
        \Bigl( \sum_{i \in B} w_i (p_{ir} - z_{ir}) \Bigr)^2

    where each class has its own bins. Range [0, 1], lower is better; truthful.

    Parameters
    ----------
    y_proba : array-like of shape (n, k), or list of str
        Predicted probabilities, one column per class; with `data`, the columns' names.
    bins (quantile)

    Returns
    -------
    float
        The calibration error, in [0, 1].

    References
    ----------
    Lu, Wu, Hartline and Hu (2026), Truthful Calibration Errors for Multi-Class Prediction, section
    3.1.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.classwise_ce([0, 1], [[0.8, 0.2], [0.4, 0.6]], bins=cal.Quantile(1)), 6)
    0.01
    """
    samples = as_source(y_true, y_proba, **rows)
    bins = read_cells(bins, rows.get("data"))
    rule = as_rule(bins, default=Quantile, n=samples.count_rows, cells=True)
    if not samples.multiclass:
        raise InputError(
            "classwise_ce needs y_proba of the shape (n, k); got (n,). Use lin_ce(...), which is "
            "the same error for one class"
        )
    return linear_error(Summary(samples).table("classwise", rule, squares=False))


@public
def confidence_ce(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    corrected: bool = True,
    bins: Bins = Quantile(15),
    **rows: Unpack[Rows],
) -> float:
    r"""Squared confidence error, with the correction that makes it truthful.

    .. math:: \frac{1}{W^2} \sum_B \Bigl( \sum_{i \in B} w_i (c_i - z_i) \Bigr)^2
        + \frac{1}{W^2} \sum_i w_i^2 (1 - z_i)

    where c is the largest predicted probability and z whether (or how much of) the target is that
    class. Without weights the second term is 1/n of the classification error; with them each row
    counts by the square of its weight, as it does in the variance of the first term. Range [0, 2],
    lower is better. In the catalogue it is `confidence_ce`, without the second term
    `confidence_ce_uncorrected`.

    Parameters
    ----------
    corrected : bool, default True
        Whether to add the second term; without it, a prediction can lower its error by changing its
        top label (example C.1 of the paper).
    bins (quantile)

    Returns
    -------
    float
        The calibration error, in [0, 2].

    References
    ----------
    Lu, Wu, Hartline and Hu (2026), Truthful Calibration Errors for Multi-Class Prediction, theorem
    3.3.

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1], [[0.8, 0.2], [0.4, 0.6]]
    >>> round(cal.confidence_ce(y, p, bins=cal.Quantile(1)), 6)
    0.09
    """
    samples = as_source(y_true, y_proba, **rows)
    bins = read_cells(bins, rows.get("data"))
    rule = as_rule(bins, default=Quantile, n=samples.count_rows, cells=True)
    if samples.answers:
        find("confidence_ce", samples.shape)  # an error: the class is not on a side of 1/2
    table = Summary(samples).table("confidence", rule, squares=False)
    return linear_error(table) + (confidence_correction(table) if corrected else 0.0)
