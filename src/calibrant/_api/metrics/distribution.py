"""How whole distributions compare, row by row, as one-line functions."""

from __future__ import annotations

import math
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from calibrant._api.rows import as_source
from calibrant._core.arguments import Rows
from calibrant._core.errors import InputError, one_of
from calibrant._core.typing import Array
from calibrant._core.validation import is_number, public
from calibrant._summaries.samples import Summary


@public
def dist_ce(
    y_true: ArrayLike, y_proba: ArrayLike, *, norm: str = "tv", **rows: Unpack[Rows]
) -> float:
    r"""Distribution calibration error: mean total variation between prediction and target.

    .. math:: \frac{1}{W} \sum_i w_i \, \tfrac12 \sum_r |p_{ir} - q_{ir}|

    where q is the target distribution: soft labels such as shares of human votes, or the label
    itself. Range [0, 1], lower is better. ``norm="l1"`` gives twice this value, the Manhattan
    distance that LeWiDi's leaderboards print (the catalogue's `manhattan`), in [0, 2].

    Parameters
    ----------
    norm : {"tv", "l1"}, default "tv"
        Total variation, half the sum of absolute differences; or the whole sum.

    Returns
    -------
    float
        The mean distance, in [0, 1]; in [0, 2] with ``norm="l1"``.

    References
    ----------
    Baan et al. (2022), arXiv:2210.16133; Leonardelli et al. (2025), arXiv:2510.08460.

    Examples
    --------
    >>> import calibrant as cal
    >>> votes, predicted = [[0.6, 0.4], [0.1, 0.9]], [[0.8, 0.2], [0.3, 0.7]]
    >>> round(cal.dist_ce(votes, predicted), 4), round(cal.dist_ce(votes, predicted, norm="l1"), 4)
    (0.2, 0.4)
    """
    one_of("norm", norm, ("tv", "l1"))
    samples = as_source(y_true, y_proba, **rows)
    return Summary(samples).mean_distance("distribution" if norm == "tv" else "absolute")


@public
def ent_ce(
    y_true: ArrayLike, y_proba: ArrayLike, *, signed: bool = False, **rows: Unpack[Rows]
) -> float:
    r"""Entropy calibration error: mean difference of entropies of prediction and target, in nats.

    .. math:: \frac{1}{W} \sum_i w_i \, | H(p_i) - H(q_i) |

    where H is the entropy, p the prediction and q the target distribution. Range [0, log k], lower
    is better.

    Parameters
    ----------
    signed : bool, default False
        Whether to keep the sign: above 0, the predictions are less certain than the targets.

    Returns
    -------
    float
        The mean difference, in nats.

    References
    ----------
    Baan et al. (2022), arXiv:2210.16133.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.ent_ce([[0.5, 0.5]], [[0.9, 0.1]]), 4)
    0.3681
    """
    samples = as_source(y_true, y_proba, **rows)
    return Summary(samples).mean_distance("entropy_signed" if signed else "entropy")


@public
def rank_cs(y_true: ArrayLike, y_proba: ArrayLike, **rows: Unpack[Rows]) -> float:
    r"""Ranking calibration score: how often the prediction ranks the classes as the target does.

    .. math:: \frac{1}{W} \sum_i w_i \, 1[\, q_{ia} > q_{ib} \Rightarrow p_{ia} > p_{ib}
        \text{ for all } a, b \,]

    where classes with equal targets may come in any order. Range [0, 1], higher is better.

    Returns
    -------
    float
        The share of rows, in [0, 1].

    References
    ----------
    Baan et al. (2022), arXiv:2210.16133.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.rank_cs([[0.6, 0.3, 0.1], [0.5, 0.5, 0.0]], [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])
    0.5
    """
    samples = as_source(y_true, y_proba, **rows)
    return Summary(samples).mean_distance("rank")


@public
def jsd(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    squared: bool = False,
    base: float | None = None,
    **rows: Unpack[Rows],
) -> float:
    r"""Jensen-Shannon distance: the mean ROOT of the divergence between prediction and target.

    .. math:: \frac{1}{W} \sum_i w_i \sqrt{ H\left(\frac{p_i + q_i}{2}\right)
        - \frac{H(p_i) + H(q_i)}{2} }

    where H is the entropy, p the prediction and q the target distribution: soft labels such as
    shares of human votes. It is the same in both directions.

    Papers print two different quantities as JSD. ChaosNLI's leaderboard prints this one, the
    distance, with natural logarithms (its code calls ``scipy.spatial.distance.jensenshannon``), and
    so does this function by default; ``squared=True`` gives the mean divergence itself (the
    catalogue's `js_divergence`). The mean of squares is not the square of the mean. Range [0,
    sqrt(log 2)], that is 0.8326, or [0, log 2]; with ``base=2`` [0, 1]. Lower is better.

    Parameters
    ----------
    squared : bool, default False
        Whether to average the divergence and not its root.
    base : float, optional
        Base of the logarithm, above 1; natural logarithms (nats) by default.

    Returns
    -------
    float
        The mean distance, or with `squared` the mean divergence.

    See Also
    --------
    kl : Kullback-Leibler divergence, which has a direction and no upper end.

    References
    ----------
    Nie, Zhou and Bansal (2020), arXiv:2010.03532 (ChaosNLI); Lin (1991), doi:10.1109/18.61115.

    Examples
    --------
    >>> import calibrant as cal
    >>> votes, predicted = [[0.76, 0.2, 0.04]], [[0.9, 0.08, 0.02]]
    >>> round(cal.jsd(votes, predicted), 4), round(cal.jsd(votes, predicted, squared=True), 4)
    (0.1339, 0.0179)
    """
    unit = math.log(_check_base(base))
    samples = as_source(y_true, y_proba, **rows)
    if squared:
        return Summary(samples).mean_distance("jensen_shannon") / unit
    return Summary(samples).mean_distance("root_jensen_shannon") / math.sqrt(unit)


def _check_base(base: Any) -> float:
    """The base of a logarithm as a number, e for None; an InputError unless it is above 1."""
    if base is None:
        return math.e
    if not is_number(base) or not 1 < float(base) < math.inf:
        raise InputError(
            f"base must be a number above 1, such as 2, or None for nats; got {base!r}"
        )
    return float(base)


@public
def kl(y_true: ArrayLike, y_proba: ArrayLike, *, zero: str = "lift", **rows: Unpack[Rows]) -> float:
    r"""Kullback-Leibler divergence of targets against predictions, KL(target || prediction).

    .. math:: \frac{1}{W} \sum_i w_i \sum_r q_{ir} \log \frac{q_{ir}}{p_{ir}}

    where q is the target distribution (soft labels such as shares of human votes) and p the
    prediction, in nats: the direction of ChaosNLI's board, ``scipy.stats.entropy(human, model)``.
    It is the log loss (cross-entropy, `log_loss`) minus the entropy of the targets. For hard
    labels it equals the log loss.

    By this definition, one prediction of 0 with a positive share makes the mean infinite.
    Predictions are therefore clipped to 1e-12, as in `log_loss`, and a note of `evaluate` says how
    many (ChaosNLI's code clips to 1e-15); `zero` changes this. Range [0, 27.64], lower is better.

    Parameters
    ----------
    zero : {"lift", "infinite", "raise"}, default "lift"
        How to treat a prediction below 1e-12 with a positive share: clip it to 1e-12, give
        infinity, or raise an error.

    Returns
    -------
    float
        The mean divergence, in nats; infinite only with ``zero="infinite"``.

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row. With ``zero="raise"`` also if a prediction is 0 with a positive share.

    See Also
    --------
    jsd : Jensen-Shannon distance, which has no direction and is never infinite.
    log_loss : Cross-entropy against the same soft labels.

    References
    ----------
    Nie, Zhou and Bansal (2020), arXiv:2010.03532 (ChaosNLI).

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.kl([[0.76, 0.2, 0.04]], [[0.9, 0.08, 0.02]]), 4)
    0.0825
    >>> cal.kl([[0.9, 0.1], [0.5, 0.5]], [[1.0, 0.0], [0.6, 0.4]], zero="infinite")
    inf
    """
    one_of("zero", zero, ("lift", "infinite", "raise"))
    samples = as_source(y_true, y_proba, **rows)
    summary = Summary(samples)
    value, n_zero = summary.mean_distance("relative_entropy"), summary.findings.n_log_clipped
    if n_zero and zero == "raise":
        raise InputError(
            f"y_proba is below 1e-12 in {n_zero} entries where y_true is positive, so the "
            "divergence is infinite. Smooth the predictions, or pass zero='lift' to count them as "
            "1e-12"
        )
    return math.inf if n_zero and zero == "infinite" else value


@public
def wasserstein(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    positions: ArrayLike | None = None,
    normalize: bool = False,
    **rows: Unpack[Rows],
) -> float:
    r"""Wasserstein-1 (earth mover's) distance for ordered classes, such as a Likert scale.

    .. math:: \frac{1}{W} \sum_i w_i \sum_{r < k} (x_{r+1} - x_r) \, | P_{ir} - Q_{ir} |

    where P and Q are the cumulative sums of prediction and target distribution over the classes in
    the order of the columns, and x are the classes' positions: 0, 1, 2, ... by default, as in
    LeWiDi 2025. A vote moved to the next class costs 1, to the one after it 2. Range [0, k - 1],
    with `normalize` [0, 1]; lower is better. It is the same in both directions; for (n,)
    predictions and default positions it is `dist_ce`.

    Parameters
    ----------
    positions : array-like of shape (k,), optional
        Increasing position of each class; by default 0 to k - 1.
    normalize : bool, default False
        Whether to divide by the distance of the first and the last class.

    Returns
    -------
    float
        The mean distance, in units of `positions`.

    Raises
    ------
    InputError
        Also if `positions` are not k increasing numbers.

    References
    ----------
    Leonardelli et al. (2025), arXiv:2510.08460 (LeWiDi); Villani (2009),
    doi:10.1007/978-3-540-71050-9.

    Examples
    --------
    >>> import calibrant as cal
    >>> votes = [[0.0, 0.5, 0.5]]
    >>> near, far = [[0.0, 0.75, 0.25]], [[0.5, 0.5, 0.0]]
    >>> cal.wasserstein(votes, near), cal.wasserstein(votes, far)
    (0.25, 1.0)
    >>> cal.wasserstein(votes, far, positions=[0, 1, 10])
    5.0
    """
    samples = as_source(y_true, y_proba, **rows)
    spacing = None if positions is None else _spacing(positions, samples.n_classes)
    value = Summary(samples).mean_distance("transport", spacing=spacing)
    if not normalize:
        return value
    return value / (samples.n_classes - 1 if spacing is None else float(spacing.sum()))


def _spacing(positions: Any, n_classes: int) -> Array:
    """The distances between neighbouring classes, (n_classes - 1,), from the positions of classes.

    An InputError is raised unless there is a position for each class and they increase.
    """
    try:
        at = np.asarray(positions, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"positions must be numbers, one per class; got {positions!r}") from None
    if at.shape != (n_classes,):
        raise InputError(
            f"positions must hold one number for each of the {n_classes} classes; got the shape "
            f"{at.shape}"
        )
    spacing = np.diff(at)
    if not (np.isfinite(at).all() and (spacing > 0).all()):
        raise InputError(
            f"positions must increase from class to class; got {at.tolist()}. Put the columns of "
            "y_proba (and of y_true) in the order of the scale"
        )
    return spacing
