"""Binned calibration errors as one-line functions: from what the user has to a number."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from calibrant._core.binning import Bins, LevelSets, Quantile, as_rule
from calibrant._core.errors import InputError
from calibrant._core.validation import public
from calibrant._data.logprobs import given_as
from calibrant._data.source import Source
from calibrant._data.to_samples import as_source
from calibrant._measures.binned import binned_error
from calibrant._measures.binned import debiased_l2 as debiased_l2_of
from calibrant._measures.ordered import ks_error as ks_of
from calibrant._measures.ordered import sweep_bins
from calibrant._summaries.samples import Summary, resolve_notion


def _no_full(notion: str) -> None:
    if notion == "full":
        raise InputError(
            "notion='full' has no bins of its own here: use lin_ce(...), which measures the whole "
            "distribution as a vector"
        )


def _equal_mass(bins: Any, measure: str, samples: Source) -> Quantile:
    """The rule of a measure that is defined by bins of equal mass."""
    rule = as_rule(bins, default=Quantile, n=samples.count_rows)
    if not isinstance(rule, Quantile):
        raise InputError(
            f"{measure} is defined by bins of equal mass: bins must be a count or Quantile(m); got "
            f"{rule}. Use ece(...), which takes any rule (notion='classwise' for all classes)"
        )
    return rule


@public
def ece(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    bins: Bins = 15,
    norm: str = "l1",
    notion: str | None = None,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Expected calibration error: the mean gap between predictions and targets, over bins.

    .. math:: \frac{1}{W} \sum_B \Bigl| \sum_{i \in B} w_i (u_i - z_i) \Bigr|

    where B runs over the bins, u is the prediction, z the target, w the weight and W the sum of
    weights. ``norm="l2"`` is the root of the mean square gap (RMSCE), ``norm="max"`` the largest
    gap of any bin (MCE). On soft labels this is SMECE (`soft_ece`).

    Range [0, 1], lower is better. Not truthful and not continuous: see `catalogue`.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    bins : int, str, sequence of float or bin rule, default 15
        Number of equal-width bins, edges, or a rule: `EqualWidth`, `Quantile`, `Edges`,
        `LevelSets`. `"cbrt"` and `"auto"` are numbers that follow from the number of rows.
    norm : {"l1", "l2", "max"}, default "l1"
        How gaps are put together: their mean, the root of their mean square, or the largest.
    notion : {"binary", "confidence", "classwise"}, optional
        What is judged: `"binary"` for (n,); for (n, k) the top label (`"confidence"`, the default)
        or the mean over classes (`"classwise"`).
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes behind each row, where `y_true` counts those for class 1; counts of every
        class carry their own.
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
        The calibration error, in [0, 1].

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    References
    ----------
    Naeini, Cooper and Hauskrecht (2015), AAAI; Guo et al. (2017), arXiv:1706.04599.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.ece([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], bins=10)
    0.25
    """
    given = given_as(from_logits, from_logprobs)
    samples = as_source(y_true, y_proba, sample_weight, given, classes, data, votes=votes)
    rule = as_rule(bins, n=samples.count_rows)
    resolved = resolve_notion(samples, notion)
    _no_full(resolved)
    return binned_error(Summary(samples).table(resolved, rule, squares=False), norm)


@public
def soft_ece(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    bins: Bins = 15,
    norm: str = "l1",
    notion: str | None = None,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Soft mean expected calibration error (SMECE): ECE against targets that are probabilities.

    .. math:: \frac{1}{W} \sum_B \Bigl| \sum_{i \in B} w_i (u_i - z_i) \Bigr|

    where z is a probability: a teacher's, a posterior, a share of votes. The formula is that of
    `ece`, which it equals to the last bit on 0/1 targets; a prediction equal to its target
    everywhere scores exactly 0 at any sample size. Not to be confused with smECE, the smooth error
    (`smooth_ece`).

    Range [0, 1], lower is better.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    bins : int, str, sequence of float or bin rule, default 15
        Number of equal-width bins, edges, or a rule: `EqualWidth`, `Quantile`, `Edges`,
        `LevelSets`. `"cbrt"` and `"auto"` are numbers that follow from the number of rows.
    norm : {"l1", "l2", "max"}, default "l1"
        How gaps are put together: their mean, the root of their mean square, or the largest.
    notion : {"binary", "confidence", "classwise"}, optional
        What is judged: `"binary"` for (n,); for (n, k) the top label (`"confidence"`, the default)
        or the mean over classes (`"classwise"`).
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes behind each row, where `y_true` counts those for class 1; counts of every
        class carry their own.
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
        The calibration error, in [0, 1].

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    References
    ----------
    Leznik (2026), arXiv:2603.14092.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.soft_ece([0.1, 0.8, 0.6, 0.3], [0.2, 0.7, 0.9, 0.4], bins=10), 4)
    0.15
    """
    return ece(
        y_true, y_proba, bins=bins, norm=norm, notion=notion, sample_weight=sample_weight,
        votes=votes, from_logits=from_logits, from_logprobs=from_logprobs, classes=classes,
        data=data,
    )  # fmt: skip


@public
def ace(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    bins: int | Quantile = 15,
    norm: str = "l1",
    notion: str | None = None,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Adaptive calibration error: the mean gap over bins of equal mass, over all classes.

    .. math:: \frac{1}{k} \sum_{r} \frac{1}{W} \sum_B
        \Bigl| \sum_{i \in B} w_i (u_{ir} - z_{ir}) \Bigr|

    where the bins B are quantile bins of the predictions of each class r. Range [0, 1], lower is
    better.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    bins : int, str or Quantile, default 15
        Number of bins of equal mass, or a `Quantile` rule; other rules are an error.
        `"cbrt"` and `"auto"` are numbers that follow from the number of rows.
    norm : {"l1", "l2", "max"}, default "l1"
        How gaps are put together: their mean, the root of their mean square, or the largest.
    notion : {"binary", "confidence", "classwise"}, optional
        What is judged: `"binary"` for (n,); for (n, k) the mean over classes (`"classwise"`, the
        default) or the top label (`"confidence"`).
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes behind each row, where `y_true` counts those for class 1; counts of every
        class carry their own.
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
        The calibration error, in [0, 1].

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    References
    ----------
    Nixon et al. (2019), arXiv:1904.01685.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.ace([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], bins=2)
    0.25
    """
    given = given_as(from_logits, from_logprobs)
    samples = as_source(y_true, y_proba, sample_weight, given, classes, data, votes=votes)
    resolved = resolve_notion(samples, notion or ("classwise" if samples.multiclass else None))
    _no_full(resolved)
    rule = _equal_mass(bins, "ace", samples)
    return binned_error(Summary(samples).table(resolved, rule, squares=False), norm)


@public
def tace(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    threshold: float = 0.01,
    bins: int | Quantile = 15,
    norm: str = "l1",
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Thresholded adaptive calibration error: `ace` over the predictions above a threshold.

    .. math:: \frac{1}{|C|} \sum_{r \in C} \frac{1}{W_r} \sum_B
        \Bigl| \sum_{i \in B,\, u_{ir} > t} w_i (u_{ir} - z_{ir}) \Bigr|

    where C are the classes with a prediction above the threshold t, and W_r the weight above it.
    The many predictions near zero of a problem with many classes then do not hide the others. Range
    [0, 1], lower is better.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    threshold : float in [0, 1], default 0.01
        Predictions at or below this are not counted.
    bins : int, str or Quantile, default 15
        Number of bins of equal mass, or a `Quantile` rule; other rules are an error.
        `"cbrt"` and `"auto"` are numbers that follow from the number of rows.
    norm : {"l1", "l2", "max"}, default "l1"
        How gaps are put together: their mean, the root of their mean square, or the largest.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes behind each row, where `y_true` counts those for class 1; counts of every
        class carry their own.
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
        The calibration error, in [0, 1].

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    References
    ----------
    Nixon et al. (2019), arXiv:1904.01685.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.tace([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], bins=1, threshold=0.3), 4)
    0.0
    """
    if not isinstance(threshold, numbers.Real) or not 0 <= threshold <= 1:
        raise InputError(f"threshold must be a number from 0 to 1; got {threshold!r}")
    given = given_as(from_logits, from_logprobs)
    samples = as_source(y_true, y_proba, sample_weight, given, classes, data, votes=votes)
    rule = _equal_mass(bins, "tace", samples)
    return binned_error(Summary(samples, quantile=rule).above(float(threshold)), norm)


@public
def debiased_l2(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    bins: Bins = Quantile(15),
    notion: str | None = None,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Root-mean-square gap over bins, less the part that sampling noise adds.

    .. math:: \sqrt{\max\Bigl(0, \frac{1}{W}\sum_B W_B \Bigl[ (\bar u_B - \bar z_B)^2
        - \frac{\overline{z^2}_B - \bar z_B^2}{n_B - 1} \Bigr]\Bigr)}

    where bars are weighted means in the bin B of weight W_B, and n_B is its effective number of
    rows, W_B^2 over the sum of squared weights; a bin of one effective row is left out. Range [0,
    1], lower is better.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    bins : int, str, sequence of float or bin rule, default Quantile(m=15, ties='together')
        Number of quantile bins, edges, or a rule: `EqualWidth`, `Quantile`, `Edges`, `LevelSets`.
        `"cbrt"` and `"auto"` are numbers that follow from the number of rows.
    notion : {"binary", "confidence", "classwise"}, optional
        What is judged: `"binary"` for (n,); for (n, k) the top label (`"confidence"`, the default)
        or the mean over classes (`"classwise"`).
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes behind each row, where `y_true` counts those for class 1; counts of every
        class carry their own.
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
        The debiased error, in [0, 1]; 0 where noise explains all of it.

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    References
    ----------
    Kumar, Liang and Ma (2019), arXiv:1909.10155; Broecker (2012), doi:10.1007/s00382-011-1191-1.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.debiased_l2([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], bins=1)
    0.0
    """
    given = given_as(from_logits, from_logprobs)
    samples = as_source(y_true, y_proba, sample_weight, given, classes, data, votes=votes)
    rule = as_rule(bins, default=Quantile, n=samples.count_rows)
    resolved = resolve_notion(samples, notion)
    _no_full(resolved)
    return debiased_l2_of(Summary(samples).table(resolved, rule))


@public
def sweep_ece(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    norm: str = "l1",
    notion: str | None = None,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""ECE at the most equal-mass bins for which mean targets rise with the predictions.

    .. math:: \mathrm{ECE}_{m^*}, \quad m^* = \max\{m : \bar z_1 \le \dots \le \bar z_{m'}
        \text{ for all } m' \le m\}

    where the bins are quantile bins with ties together. Range [0, 1], lower is better.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    norm : {"l1", "l2", "max"}, default "l1"
        How gaps are put together: their mean, the root of their mean square, or the largest.
    notion : {"binary", "confidence", "classwise"}, optional
        What is judged: `"binary"` for (n,); for (n, k) the top label (`"confidence"`, the default)
        or the mean over classes (`"classwise"`).
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes behind each row, where `y_true` counts those for class 1; counts of every
        class carry their own.
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
        The calibration error, in [0, 1].

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    References
    ----------
    Roelofs, Cain, Shlens and Mozer (2022), arXiv:2012.08668.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.sweep_ece([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    0.25
    """
    given = given_as(from_logits, from_logprobs)
    samples = as_source(y_true, y_proba, sample_weight, given, classes, data, votes=votes)
    resolved = resolve_notion(samples, notion)
    _no_full(resolved)
    levels = Summary(samples).table(resolved, LevelSets())
    errors = [binned_error(sweep_bins(levels.of_class(r)), norm) for r in range(levels.n_classes)]
    return float(sum(errors) / len(errors))


@public
def ks_error(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    notion: str | None = None,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Kolmogorov-Smirnov calibration error: the largest accumulated gap in order of predictions.

    .. math:: \max_t \frac{1}{W} \Bigl| \sum_{u_i \le t} w_i (u_i - z_i) \Bigr|

    where t runs over the predictions. No bins. Range [0, 1], lower is better.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    notion : {"binary", "confidence", "classwise"}, optional
        What is judged: `"binary"` for (n,); for (n, k) the top label (`"confidence"`, the default)
        or the mean over classes (`"classwise"`).
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes behind each row, where `y_true` counts those for class 1; counts of every
        class carry their own.
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
        The calibration error, in [0, 1].

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    References
    ----------
    Gupta et al. (2021), arXiv:2006.12800.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.ks_error([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]), 4)
    0.15
    """
    given = given_as(from_logits, from_logprobs)
    samples = as_source(y_true, y_proba, sample_weight, given, classes, data, votes=votes)
    resolved = resolve_notion(samples, notion)
    _no_full(resolved)
    return ks_of(Summary(samples).table(resolved, LevelSets()))
