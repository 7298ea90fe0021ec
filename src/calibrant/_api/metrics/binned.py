"""Binned calibration errors as one-line functions: from what the user has to a number."""

from __future__ import annotations

import numbers
from typing import Any, Unpack

from numpy.typing import ArrayLike

from calibrant._api.rows import as_source, read_cells
from calibrant._api.ties import settle_ties
from calibrant._core.arguments import Rows
from calibrant._core.binning import Bins, LevelSets, Quantile, as_rule
from calibrant._core.errors import InputError
from calibrant._core.validation import public
from calibrant._data.samples import Notion
from calibrant._data.source import Source
from calibrant._measures.binned import binned_error
from calibrant._measures.binned import debiased_l2 as debiased_l2_of
from calibrant._measures.catalogue import find
from calibrant._measures.ordered import ks_error as ks_of
from calibrant._measures.ordered import sweep_bins
from calibrant._measures.runs import hle_rms as hle_rms_of
from calibrant._summaries.samples import Summary, resolve_notion


def _binned_notion(samples: Source, notion: str | None) -> Notion:
    """The user's notion of calibration, or the default for None; "full" is an InputError."""
    resolved = resolve_notion(samples, notion)
    if resolved == "full":
        raise InputError(
            "notion='full' is not available here: use lin_ce(...), which measures the whole "
            "distribution as a vector"
        )
    return resolved


def _equal_mass_rule(bins: Any, measure: str, samples: Source) -> Quantile:
    """The rule of bins of equal mass, from a count or Quantile(m), for `measure`.

    Other bins raise an InputError, which names the measure.
    """
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
    ties: str = "first",
    **rows: Unpack[Rows],
) -> float:
    r"""Expected calibration error: the mean gap between predictions and targets, over bins.

    .. math:: \frac{1}{W} \sum_B \Bigl| \sum_{i \in B} w_i (u_i - z_i) \Bigr|

    where B runs over the bins, u is the prediction, z the target, w the weight and W the sum of
    weights. ``norm="l2"`` is the root of the mean square gap (RMSCE), ``norm="max"`` the largest
    gap of any bin (MCE). On soft labels this is SMECE (`soft_ece`).

    Range [0, 1], lower is better. Not truthful and not continuous: see `catalogue`.

    Parameters
    ----------
    bins (equal-width)
    norm
    notion
    ties

    Returns
    -------
    float
        The calibration error, in [0, 1].

    References
    ----------
    Naeini, Cooper and Hauskrecht (2015), AAAI; Guo et al. (2017), arXiv:1706.04599.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.ece([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], bins=10)
    0.25
    >>> coin = [[0.5, 0.5]] * 4  # class 0 is the first of equals, and right half of the time
    >>> [cal.ece([1, 1, 0, 0], coin, ties=ties) for ties in ("first", "any", "share")]
    [0.0, 0.5, 0.0]
    """
    samples = as_source(y_true, y_proba, **rows)
    rule = as_rule(read_cells(bins, rows.get("data")), n=samples.count_rows, cells=True)
    samples, resolved = settle_ties(samples, _binned_notion(samples, notion), ties)
    return binned_error(Summary(samples).table(resolved, rule, squares=False), norm)


@public
def soft_ece(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    bins: Bins = 15,
    norm: str = "l1",
    notion: str | None = None,
    ties: str = "first",
    **rows: Unpack[Rows],
) -> float:
    r"""Soft mean expected calibration error (SMECE): ECE against targets that are probabilities.

    .. math:: \frac{1}{W} \sum_B \Bigl| \sum_{i \in B} w_i (u_i - z_i) \Bigr|

    where z is a probability: a teacher's, a posterior, a share of votes. The formula is that of
    `ece`, and on 0/1 targets the values are identical; predictions equal to their targets score
    exactly 0 at any sample size. Not to be confused with smECE, the smooth error (`smooth_ece`).

    Range [0, 1], lower is better.

    Parameters
    ----------
    bins (equal-width)
    norm
    notion
    ties

    Returns
    -------
    float
        The calibration error, in [0, 1].

    References
    ----------
    Leznik (2026), arXiv:2603.14092.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.soft_ece([0.1, 0.8, 0.6, 0.3], [0.2, 0.7, 0.9, 0.4], bins=10), 4)
    0.15
    """
    return ece(y_true, y_proba, bins=bins, norm=norm, notion=notion, ties=ties, **rows)


@public
def grouping_gap(
    y_true: ArrayLike, y_proba: ArrayLike, *, bins: Bins = 15, **rows: Unpack[Rows]
) -> float:
    r"""Grouping gap: the distance of predictions from soft labels that SMECE misses.

    .. math:: \frac{1}{W} \sum_i w_i \, |u_i - z_i|
        - \frac{1}{W} \sum_B \Bigl| \sum_{i \in B} w_i (u_i - z_i) \Bigr|

    where u is the prediction, or the confidence in the top label, and z the probability of its
    label. Within a bin, residuals of opposite signs cancel, and this makes SMECE (`soft_ece`)
    smaller than the mean distance. The calibration error is continuous in the predictions exactly
    if the gap is 0: moving them a little, so no two rows share a group, could raise it by the gap.
    Range [0, 1].

    Parameters
    ----------
    bins (equal-width)

    Returns
    -------
    float
        The gap, at least 0.

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities, or if every label is 0 or 1: a
        single outcome does not identify the probability of its row.

    Notes
    -----
    Shares of m votes vary around the true probabilities, which increases the first term whatever
    the number of rows. An absolute value has no unbiased estimate from few votes, so with `votes`
    the estimate and `interval` come from bounds over all label distributions compatible with the
    votes, as for `dist_ce`. In SMECE, vote noise averages out within bins. The intervals of both
    terms have half the error rate each, so the interval of the gap is valid.

    References
    ----------
    Chidambaram, Lee, McSwiggen and Rezchikov (2024), How Flawed Is ECE? An Analysis via Logit
    Smoothing, ICML, arXiv:2402.10046, theorem 3.10.

    Examples
    --------
    >>> import calibrant as cal
    >>> shares, predicted = [0.9, 0.5, 0.2, 0.4], [0.7, 0.7, 0.3, 0.3]
    >>> round(cal.soft_ece(shares, predicted), 4), round(cal.grouping_gap(shares, predicted), 4)
    (0.0, 0.15)
    """
    samples = as_source(y_true, y_proba, **rows)
    rule = as_rule(bins, n=samples.count_rows)
    measure = find("grouping_gap", samples.shape)
    return measure.compute(Summary(samples, rule, distance=measure.loss))


@public
def ace(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    bins: int | Quantile = 15,
    norm: str = "l1",
    notion: str | None = None,
    **rows: Unpack[Rows],
) -> float:
    r"""Adaptive calibration error: the mean gap over bins of equal mass, over all classes.

    .. math:: \frac{1}{k} \sum_{r} \frac{1}{W} \sum_B
        \Bigl| \sum_{i \in B} w_i (u_{ir} - z_{ir}) \Bigr|

    where the bins B are quantile bins of the predictions of each class r. Range [0, 1], lower is
    better.

    Parameters
    ----------
    bins : int, str or Quantile, default 15
        Number of bins of equal mass, or a `Quantile` rule; other rules are an error. `"cbrt"` and
        `"auto"` choose the number of bins by the number of rows.
    norm
    notion
        What is judged: `"binary"` for (n,); for (n, k) the mean over classes (`"classwise"`, the
        default) or the top label (`"confidence"`).

    Returns
    -------
    float
        The calibration error, in [0, 1].

    References
    ----------
    Nixon et al. (2019), arXiv:1904.01685.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.ace([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], bins=2)
    0.25
    """
    samples = as_source(y_true, y_proba, **rows)
    resolved = _binned_notion(samples, notion or ("classwise" if samples.multiclass else None))
    rule = _equal_mass_rule(bins, "ace", samples)
    return binned_error(Summary(samples).table(resolved, rule, squares=False), norm)


@public
def tace(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    threshold: float = 0.01,
    bins: int | Quantile = 15,
    norm: str = "l1",
    **rows: Unpack[Rows],
) -> float:
    r"""Thresholded adaptive calibration error: `ace` over the predictions above a threshold.

    .. math:: \frac{1}{|C|} \sum_{r \in C} \frac{1}{W_r} \sum_B
        \Bigl| \sum_{i \in B,\, u_{ir} > t} w_i (u_{ir} - z_{ir}) \Bigr|

    where C are the classes with a prediction above the threshold t, and W_r the weight above it.
    Then the many predictions near zero with many classes do not hide the others. Range [0, 1],
    lower is better.

    Parameters
    ----------
    threshold : float in [0, 1], default 0.01
        Predictions at or below this are not counted.
    bins : int, str or Quantile, default 15
        Number of bins of equal mass, or a `Quantile` rule; other rules are an error. `"cbrt"` and
        `"auto"` choose the number of bins by the number of rows.
    norm

    Returns
    -------
    float
        The calibration error, in [0, 1].

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
    samples = as_source(y_true, y_proba, **rows)
    rule = _equal_mass_rule(bins, "tace", samples)
    return binned_error(Summary(samples, quantile=rule).above(float(threshold)), norm)


@public
def debiased_l2(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    bins: Bins = Quantile(15),
    notion: str | None = None,
    **rows: Unpack[Rows],
) -> float:
    r"""Root-mean-square gap over bins, minus the part due to sampling noise.

    .. math:: \sqrt{\max\Bigl(0, \frac{1}{W}\sum_B W_B \Bigl[ (\bar u_B - \bar z_B)^2
        - \frac{\overline{z^2}_B - \bar z_B^2}{n_B - 1} \Bigr]\Bigr)}

    where bars are weighted means in the bin B of weight W_B, and n_B is its effective number of
    rows, W_B^2 over the sum of squared weights; a bin of one effective row is dropped. Range [0,
    1], lower is better.

    Parameters
    ----------
    bins (quantile)
    notion

    Returns
    -------
    float
        The debiased error, in [0, 1]; 0 where noise explains all of it.

    References
    ----------
    Kumar, Liang and Ma (2019), arXiv:1909.10155; Broecker (2012), doi:10.1007/s00382-011-1191-1.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.debiased_l2([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], bins=1)
    0.0
    """
    samples = as_source(y_true, y_proba, **rows)
    bins = read_cells(bins, rows.get("data"))
    rule = as_rule(bins, default=Quantile, n=samples.count_rows, cells=True)
    resolved = _binned_notion(samples, notion)
    return debiased_l2_of(Summary(samples).table(resolved, rule))


@public
def sweep_ece(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    norm: str = "l1",
    notion: str | None = None,
    **rows: Unpack[Rows],
) -> float:
    r"""ECE at the most equal-mass bins for which mean targets rise with the predictions.

    .. math:: \mathrm{ECE}_{m^*}, \quad m^* = \max\{m : \bar z_1 \le \dots \le \bar z_{m'}
        \text{ for all } m' \le m\}

    where the bins are quantile bins with ties together. Range [0, 1], lower is better.

    Parameters
    ----------
    norm
    notion

    Returns
    -------
    float
        The calibration error, in [0, 1].

    References
    ----------
    Roelofs, Cain, Shlens and Mozer (2022), arXiv:2012.08668.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.sweep_ece([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    0.25
    """
    samples = as_source(y_true, y_proba, **rows)
    resolved = _binned_notion(samples, notion)
    levels = Summary(samples).table(resolved, LevelSets())
    errors = [binned_error(sweep_bins(levels.of_class(r)), norm) for r in range(levels.n_classes)]
    return float(sum(errors) / len(errors))


@public
def ks_error(
    y_true: ArrayLike, y_proba: ArrayLike, *, notion: str | None = None, **rows: Unpack[Rows]
) -> float:
    r"""Kolmogorov-Smirnov calibration error: the largest accumulated gap in order of predictions.

    .. math:: \max_t \frac{1}{W} \Bigl| \sum_{u_i \le t} w_i (u_i - z_i) \Bigr|

    where t runs over the predictions. No bins. Range [0, 1], lower is better.

    Parameters
    ----------
    notion

    Returns
    -------
    float
        The calibration error, in [0, 1].

    References
    ----------
    Gupta et al. (2021), arXiv:2006.12800.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.ks_error([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]), 4)
    0.15
    """
    samples = as_source(y_true, y_proba, **rows)
    resolved = _binned_notion(samples, notion)
    return ks_of(Summary(samples).table(resolved, LevelSets()))


@public
def hle_rms(
    y_true: ArrayLike, y_proba: ArrayLike, *, notion: str | None = None, **rows: Unpack[Rows]
) -> float:
    r"""Calibration error of Humanity's Last Exam: root mean square gap over runs of 100 rows.

    .. math:: \sqrt{\frac{1}{W} \sum_{B} \frac{R_B^2}{100}}

    for runs B of 100 rows in order of the predictions, with residual sums R_B. As in the published
    script, the last run (100 to 199 rows) is dropped, but W counts it. So the most confident
    answers do not count, and with fewer than 200 rows the value is 0. The script's number depends
    on the order of tied rows; this is the root of the mean square over all orders. A row of weight
    w counts as w rows. Range [0, 1], lower is better.

    Parameters
    ----------
    notion

    Returns
    -------
    float
        The calibration error, in [0, 1]; a calibrated model has about 0.05, the noise of 100 rows.

    References
    ----------
    Phan et al. (2025), Humanity's Last Exam, arXiv:2501.14249; Hendrycks et al. (2019),
    arXiv:1812.04606.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.hle_rms([0, 0, 0, 1] * 100, [0.85] * 400), 3)
    0.521
    """
    samples = as_source(y_true, y_proba, **rows)
    resolved = _binned_notion(samples, notion)
    return hle_rms_of(Summary(samples).table(resolved, LevelSets()))


@public
def top_label_ece(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    bins: Bins = 15,
    norm: str = "l1",
    **rows: Unpack[Rows],
) -> float:
    r"""Top-label calibration error given the class (TL-ECE): the gap where each class is predicted.

    .. math:: \frac{1}{W} \sum_r \sum_B \Bigl| \sum_{i \in B \cap T_r} w_i (u_i - z_i) \Bigr|

    where r runs over the classes, T_r are the rows whose top label is r, B runs over the bins, u is
    the confidence, z the target of the top label, w the weight and W the sum of weights. "When it
    says *cat* with 0.9, is it a cat in 9 of 10?", for every class: the ECE of the top label pools
    all classes, so one may be too high and another equally too low. In the same bins, this error is
    therefore never below `ece`. It has bins for every class: with few rows it is unreliable, and
    `noise_floor` gives its value for a calibrated model.

    Range [0, 1], lower is better. Not truthful and not continuous: see `catalogue`.

    Parameters
    ----------
    y_true
        Labels: class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n, k), or list of str
        Predicted probabilities of the classes. With `data`, names of columns, one per class.
    bins
        Number of equal-width bins, edges, or a rule: `EqualWidth`, `Quantile`, `Edges`,
        `LevelSets`. Bins are formed from the confidences of all rows and are the same for every
        class.
    norm
    votes
        Number of votes behind each row of shares; counts need none.
    from_logits
        Whether `y_proba` holds logits, to which a softmax is applied.
    from_logprobs
        Whether `y_proba` holds log-probabilities, to which a softmax is applied.
    classes
        Names of the classes in the order of the columns of `y_proba`.

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
    samples = as_source(y_true, y_proba, **rows)
    if not samples.multiclass:
        raise InputError(
            "top_label_ece needs y_proba of the shape (n, k), a column per class; got (n,). Give "
            "both columns, np.stack([1 - p, p], axis=1), or use ece(...)"
        )
    rule = as_rule(read_cells(bins, rows.get("data")), n=samples.count_rows, cells=True)
    return binned_error(Summary(samples).top_class_table(rule).as_one_class(), norm)
