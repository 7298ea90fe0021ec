"""Calibration of the top label given the class that it is, as a one-line function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from calibrant._core.binning import Bins, as_rule
from calibrant._core.errors import InputError
from calibrant._core.validation import public
from calibrant._data.logprobs import given_as
from calibrant._data.to_samples import as_source
from calibrant._measures.binned import binned_error
from calibrant._summaries.samples import Summary


@public
def top_label_ece(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    bins: Bins = 15,
    norm: str = "l1",
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Top-label calibration error given the class (TL-ECE): the gap where each class is predicted.

    .. math:: \frac{1}{W} \sum_r \sum_B \Bigl| \sum_{i \in B \cap T_r} w_i (u_i - z_i) \Bigr|

    where r runs over the classes, T_r are the rows whose top label is r, B runs over the bins, u is
    the confidence, z the target of the top label, w the weight and W the sum of weights.
    "When it says *cat* with 0.9, is it a cat in 9 of 10?", for every class: the ECE of the top
    label asks it of all classes together, where one may be too high and another as much too low.
    In the same bins this error is therefore never below `ece`. It has as many bins as classes and
    bins together: on few rows it is unreliable, and `noise_floor` says what calibrated predictions
    would show.

    Range [0, 1], lower is better. Not truthful and not continuous: see `catalogue`.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n, k), or list of str
        Predicted probabilities of the classes. With `data`, names of columns, one per class.
    bins : int, str, sequence of float or bin rule, default 15
        Number of equal-width bins, edges, or a rule: `EqualWidth`, `Quantile`, `Edges`,
        `LevelSets`. They are bins of the confidences of all rows, the same for every class.
    norm : {"l1", "l2", "max"}, default "l1"
        How gaps are put together: their mean, the root of their mean square, or the largest.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes behind each row of shares; counts carry their own.
    from_logits : bool, default False
        Whether `y_proba` holds logits, to which a softmax is applied.
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities, to which a softmax is applied.
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`.
    data : data frame or mapping, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, DuckDB, Spark, Dask.

    Returns
    -------
    float
        The calibration error, in [0, 1].

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities of classes; the message names the
        first bad row.

    References
    ----------
    Gupta and Ramdas (2022), Top-label calibration and multiclass-to-binary reductions, ICLR,
    arXiv:2107.08353.

    Examples
    --------
    Where it says class 0 it is too high, where it says class 1 as much too low:

    >>> import calibrant as cal
    >>> y = [0, 0, 1, 1, 1, 1, 1, 1]
    >>> p = [[0.75, 0.25]] * 4 + [[0.25, 0.75]] * 4
    >>> cal.ece(y, p), cal.top_label_ece(y, p)
    (0.0, 0.25)
    """
    given = given_as(from_logits, from_logprobs)
    samples = as_source(y_true, y_proba, sample_weight, given, classes, data, votes=votes)
    if not samples.multiclass:
        raise InputError(
            "top_label_ece needs y_proba of the shape (n, k), a column per class; it is (n,). Give "
            "both columns, np.stack([1 - p, p], axis=1), or use ece(...)"
        )
    rule = as_rule(bins, n=samples.count_rows)
    return binned_error(Summary(samples).top_class_table(rule).as_one(), norm)
