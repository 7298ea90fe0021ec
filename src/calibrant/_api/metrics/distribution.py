"""How whole distributions compare (Baan et al. 2022), as one-line functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from calibrant._core.validation import public
from calibrant._data.logprobs import given_as
from calibrant._data.to_samples import to_samples_in_place
from calibrant._summaries.samples import Summary


@public
def dist_ce(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Distribution calibration error: mean total variation between prediction and target.

    .. math:: \frac{1}{W} \sum_i w_i \, \tfrac12 \sum_r |p_{ir} - q_{ir}|

    where q is the target distribution: soft labels such as shares of human votes, or the label
    itself. Range [0, 1], lower is better.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame or mapping, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, DuckDB, Spark, Dask.

    Returns
    -------
    float
        The mean distance, in [0, 1].

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    References
    ----------
    Baan et al. (2022), arXiv:2210.16133.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.dist_ce([[0.6, 0.4], [0.1, 0.9]], [[0.8, 0.2], [0.3, 0.7]]), 4)
    0.2
    """
    given = given_as(from_logits, from_logprobs)
    samples = to_samples_in_place(y_true, y_proba, sample_weight, given, classes, data)
    return Summary(samples).distribution.mean("distribution")


@public
def ent_ce(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    signed: bool = False,
    sample_weight: ArrayLike | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Entropy calibration error: mean difference of entropies of prediction and target, in nats.

    .. math:: \frac{1}{W} \sum_i w_i \, | H(p_i) - H(q_i) |

    where H is the entropy, p the prediction and q the target distribution. Range [0, log k], lower
    is better.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    signed : bool, default False
        Whether to keep the sign: above 0 the predictions are less sure than the targets.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame or mapping, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, DuckDB, Spark, Dask.

    Returns
    -------
    float
        The mean difference, in nats.

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    References
    ----------
    Baan et al. (2022), arXiv:2210.16133.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.ent_ce([[0.5, 0.5]], [[0.9, 0.1]]), 4)
    0.3681
    """
    given = given_as(from_logits, from_logprobs)
    samples = to_samples_in_place(y_true, y_proba, sample_weight, given, classes, data)
    return Summary(samples).distribution.mean("entropy_signed" if signed else "entropy")


@public
def rank_cs(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Ranking calibration score: how often the prediction ranks the classes as the target does.

    .. math:: \frac{1}{W} \sum_i w_i \, 1[\, q_{ia} > q_{ib} \Rightarrow p_{ia} > p_{ib}
        \text{ for all } a, b \,]

    where classes that the target ranks equal may come in any order. Range [0, 1], higher is better.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame or mapping, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, DuckDB, Spark, Dask.

    Returns
    -------
    float
        The share of rows, in [0, 1].

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    References
    ----------
    Baan et al. (2022), arXiv:2210.16133.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.rank_cs([[0.6, 0.3, 0.1], [0.5, 0.5, 0.0]], [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])
    0.5
    """
    given = given_as(from_logits, from_logprobs)
    samples = to_samples_in_place(y_true, y_proba, sample_weight, given, classes, data)
    return Summary(samples).distribution.mean("rank")
