"""Measures that are a variant of another function, each as a function of its own name."""

from __future__ import annotations

from typing import Unpack

from numpy.typing import ArrayLike

from calibrant._api.metrics.binned import ece
from calibrant._api.metrics.distribution import dist_ce, jsd
from calibrant._api.metrics.losses import brier_decomposition, brier_score
from calibrant._api.metrics.smooth import ici
from calibrant._api.metrics.truthful import confidence_ce
from calibrant._api.rows import as_source
from calibrant._core.arguments import Rows
from calibrant._core.binning import Bins, Quantile, as_rule
from calibrant._core.errors import InputError
from calibrant._core.validation import public
from calibrant._measures.binned import binned_error
from calibrant._summaries.samples import Summary


@public
def rmsce(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    bins: Bins = 15,
    notion: str | None = None,
    **rows: Unpack[Rows],
) -> float:
    r"""Root-mean-square calibration error: `ece` with ``norm="l2"``.

    .. math:: \sqrt{\frac{1}{W} \sum_B W_B \Bigl( \frac{R_B}{W_B} \Bigr)^2}

    where R_B is the sum of w (u - z) in a bin and W_B its weight. Range [0, 1], lower is better.

    Parameters
    ----------
    bins (equal-width)
    notion

    Returns
    -------
    float
        The calibration error, in [0, 1].

    References
    ----------
    Hendrycks et al. (2019), arXiv:1812.04606.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.rmsce([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], bins=10), 4)
    0.2739
    """
    return ece(y_true, y_proba, bins=bins, norm="l2", notion=notion, **rows)


@public
def mce(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    bins: Bins = 15,
    notion: str | None = None,
    **rows: Unpack[Rows],
) -> float:
    r"""Maximum calibration error: the largest gap of any bin, `ece` with ``norm="max"``.

    .. math:: \max_B \frac{|R_B|}{W_B}

    where R_B is the sum of w (u - z) in a bin and W_B its weight. Range [0, 1], lower is better.

    Parameters
    ----------
    bins (equal-width)
    notion

    Returns
    -------
    float
        The largest gap, in [0, 1].

    References
    ----------
    Naeini, Cooper and Hauskrecht (2015), AAAI; Guo et al. (2017), arXiv:1706.04599.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.mce([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], bins=10)
    0.4
    """
    return ece(y_true, y_proba, bins=bins, norm="max", notion=notion, **rows)


@public
def classwise_ece(
    y_true: ArrayLike, y_proba: ArrayLike, *, bins: Bins = 15, **rows: Unpack[Rows]
) -> float:
    r"""Classwise ECE: each class against the rest, averaged; `ece` with ``notion="classwise"``.

    .. math:: \frac{1}{k} \sum_r \frac{1}{W} \sum_B
        \Bigl| \sum_{i \in B} w_i (p_{ir} - z_{ir}) \Bigr|

    Range [0, 1], lower is better.

    Parameters
    ----------
    bins (equal-width)

    Returns
    -------
    float
        The calibration error, in [0, 1].

    References
    ----------
    Kull et al. (2019), arXiv:1910.12656.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.classwise_ece([0, 1], [[0.8, 0.2], [0.4, 0.6]], bins=5), 4)
    0.3
    """
    samples = as_source(y_true, y_proba, **rows)
    rule = as_rule(bins, n=samples.count_rows)
    if not samples.multiclass:
        raise InputError(
            "classwise_ece needs y_proba of the shape (n, k); got (n,). Use ece(...), or give "
            "both columns: np.stack([1 - p, p], axis=1)"
        )
    return binned_error(Summary(samples).table("classwise", rule, squares=False))


@public
def confidence_ce_uncorrected(
    y_true: ArrayLike, y_proba: ArrayLike, *, bins: Bins = Quantile(15), **rows: Unpack[Rows]
) -> float:
    """Squared confidence error without its correction: `confidence_ce` with ``corrected=False``.

    Parameters
    ----------
    bins (quantile)

    Returns
    -------
    float
        The calibration error, in [0, 1].

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1], [[0.8, 0.2], [0.4, 0.6]]
    >>> round(cal.confidence_ce_uncorrected(y, p, bins=cal.Quantile(1)), 6)
    0.09
    """
    return confidence_ce(y_true, y_proba, corrected=False, bins=bins, **rows)


@public
def brier(y_true: ArrayLike, y_proba: ArrayLike, **rows: Unpack[Rows]) -> float:
    """Brier score: the mean squared distance between prediction and target, `brier_score`.

    Returns
    -------
    float
        The mean loss: in [0, 1] for (n,), in [0, 2] for (n, k).

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.brier([0, 1], [0.2, 0.6]), 4)
    0.1
    """
    return brier_score(y_true, y_proba, **rows)


@public
def brier_miscalibration(y_true: ArrayLike, y_proba: ArrayLike, **rows: Unpack[Rows]) -> float:
    """Gain of isotonic recalibration in the Brier score: a part of `brier_decomposition`.

    Returns
    -------
    float
        The miscalibration, at least 0; of the top label for (n, k).

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.brier_miscalibration([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]), 4)
    0.075
    """
    return brier_decomposition(y_true, y_proba, **rows).miscalibration


@public
def brier_discrimination(y_true: ArrayLike, y_proba: ArrayLike, **rows: Unpack[Rows]) -> float:
    """Gain of recalibrated predictions over a constant one: a part of `brier_decomposition`.

    Returns
    -------
    float
        The discrimination, in [0, 0.25]; of the top label for (n, k). Higher is better.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.brier_discrimination([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    0.25
    """
    return brier_decomposition(y_true, y_proba, **rows).discrimination


@public
def brier_uncertainty(y_true: ArrayLike, y_proba: ArrayLike, **rows: Unpack[Rows]) -> float:
    """Brier score of predicting the mean target for all rows: a part of `brier_decomposition`.

    Returns
    -------
    float
        The uncertainty, in [0, 0.25]; of the top label for (n, k).

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.brier_uncertainty([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    0.25
    """
    return brier_decomposition(y_true, y_proba, **rows).uncertainty


@public
def e50(y_true: ArrayLike, y_proba: ArrayLike, **rows: Unpack[Rows]) -> float:
    """Median distance of a local regression to the diagonal: `ici` with ``part="e50"``.

    Returns
    -------
    float
        The distance, in [0, 1].

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1, 0, 1, 0, 0] * 30, [0.1, 0.6, 0.5, 0.3, 0.2, 0.35] * 30
    >>> cal.e50(y, p) < cal.e90(y, p) <= cal.emax(y, p)
    True
    """
    return ici(y_true, y_proba, part="e50", **rows)


@public
def e90(y_true: ArrayLike, y_proba: ArrayLike, **rows: Unpack[Rows]) -> float:
    """Distance of a local regression to the diagonal of 90% of rows: `ici` with ``part="e90"``.

    Returns
    -------
    float
        The distance, in [0, 1].

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1, 0, 1, 0, 0] * 30, [0.1, 0.6, 0.5, 0.3, 0.2, 0.35] * 30
    >>> cal.e90(y, p) == cal.ici(y, p, part="e90")
    True
    """
    return ici(y_true, y_proba, part="e90", **rows)


@public
def emax(y_true: ArrayLike, y_proba: ArrayLike, **rows: Unpack[Rows]) -> float:
    """Largest distance of a local regression to the diagonal: `ici` with ``part="emax"``.

    Returns
    -------
    float
        The distance, in [0, 1].

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1, 0, 1, 0, 0] * 30, [0.1, 0.6, 0.5, 0.3, 0.2, 0.35] * 30
    >>> round(cal.emax(y, p), 4)
    0.7
    """
    return ici(y_true, y_proba, part="emax", **rows)


@public
def js_divergence(y_true: ArrayLike, y_proba: ArrayLike, **rows: Unpack[Rows]) -> float:
    """Jensen-Shannon divergence: the mean over rows, in nats; `jsd` with ``squared=True``.

    Returns
    -------
    float
        The mean divergence, in [0, log 2].

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.js_divergence([[0.76, 0.2, 0.04]], [[0.9, 0.08, 0.02]]), 4)
    0.0179
    """
    return jsd(y_true, y_proba, squared=True, **rows)


@public
def manhattan(y_true: ArrayLike, y_proba: ArrayLike, **rows: Unpack[Rows]) -> float:
    """Manhattan distance of prediction and target distribution: `dist_ce` with ``norm="l1"``.

    Returns
    -------
    float
        The mean distance, in [0, 2].

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.manhattan([[0.6, 0.4], [0.1, 0.9]], [[0.8, 0.2], [0.3, 0.7]]), 4)
    0.4
    """
    return dist_ce(y_true, y_proba, norm="l1", **rows)
