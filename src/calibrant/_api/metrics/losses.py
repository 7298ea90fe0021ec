"""Proper losses and the Brier decomposition as one-line functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calibrant._core.binning import Bins, LevelSets, as_rule
from calibrant._core.errors import InputError, one_of
from calibrant._core.validation import public
from calibrant._data.to_samples import to_samples_in_place
from calibrant._measures.decomposition import BrierDecomposition, decompose, isotonic_fit
from calibrant._summaries.samples import Summary, resolve_notion


def _mean_loss(
    name: str,
    y_true: Any,
    y_proba: Any,
    sample_weight: Any,
    from_logits: bool,
    classes: Sequence[Any] | None,
    data: Any,
) -> float:
    samples = to_samples_in_place(y_true, y_proba, sample_weight, from_logits, classes, data)
    return Summary(samples).losses.mean(name)


@public
def brier_score(
    y_true: Any,
    y_proba: Any,
    *,
    sample_weight: Any = None,
    from_logits: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Brier score: the mean squared distance between prediction and target.

    .. math:: \frac{1}{W} \sum_i w_i \sum_r (p_{ir} - z_{ir})^2

    summed over classes for (n, k) predictions; ``(u - z)^2`` for (n,). Range [0, 2], or [0, 1] for
    (n,); lower is better. Proper.

    References
    ----------
    Brier (1950), Monthly Weather Review 78.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.brier_score([0, 1], [0.2, 0.6]), 4)
    0.1
    """
    return _mean_loss("brier", y_true, y_proba, sample_weight, from_logits, classes, data)


@public
def log_loss(
    y_true: Any,
    y_proba: Any,
    *,
    sample_weight: Any = None,
    from_logits: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Log loss (cross-entropy, in nats): minus the mean log of what was reported for what was.

    .. math:: -\frac{1}{W} \sum_i w_i \sum_r z_{ir} \log p_{ir}

    where a prediction below 1e-12 counts as 1e-12. Range [0, 27.64], lower is better. Proper.

    References
    ----------
    Good (1952), Journal of the Royal Statistical Society B 14.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.log_loss([0, 1], [0.2, 0.6]), 4)
    0.367
    """
    return _mean_loss("log", y_true, y_proba, sample_weight, from_logits, classes, data)


@public
def spherical_loss(
    y_true: Any,
    y_proba: Any,
    *,
    sample_weight: Any = None,
    from_logits: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Spherical loss: one less the cosine-like agreement of prediction and target.

    .. math:: 1 - \frac{1}{W} \sum_i w_i \frac{\sum_r z_{ir} p_{ir}}{\lVert p_i \rVert_2}

    where a prediction (n,) stands for the row (1 - u, u). Range [0, 1], lower is better. Proper.

    References
    ----------
    Gneiting and Raftery (2007), doi:10.1198/016214506000001437.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.spherical_loss([0, 1], [0.2, 0.6]), 4)
    0.0989
    """
    return _mean_loss("spherical", y_true, y_proba, sample_weight, from_logits, classes, data)


@public
def classification_error(
    y_true: Any,
    y_proba: Any,
    *,
    sample_weight: Any = None,
    from_logits: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Classification error: how often (or how much of) the target is not the top label.

    .. math:: 1 - \frac{1}{W} \sum_i w_i z_{i r_i}, \quad r_i = \arg\max_r p_{ir}

    where the lowest class wins ties. Range [0, 1], lower is better.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.classification_error([0, 1, 1, 0], [0.2, 0.7, 0.4, 0.4])
    0.25
    """
    return _mean_loss("classification", y_true, y_proba, sample_weight, from_logits, classes, data)


@public
def confidence_loss(
    y_true: Any,
    y_proba: Any,
    *,
    sample_weight: Any = None,
    from_logits: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Confidence loss: the loss whose minimiser corrected `confidence_ce` shares.

    .. math:: \frac{1}{W} \sum_i w_i \bigl[ 1 - z_i + (c_i - z_i)^2 \bigr]

    where c is the largest reported probability and z the target's mass on that class. Range
    [0, 2], lower is better.

    References
    ----------
    Lu, Wu, Hartline and Hu, Truthful Calibration Errors for Multi-Class Prediction, section 4.2.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.confidence_loss([0, 1], [0.2, 0.6]), 4)
    0.1
    """
    return _mean_loss("confidence", y_true, y_proba, sample_weight, from_logits, classes, data)


@public
def brier_decomposition(
    y_true: Any,
    y_proba: Any,
    *,
    method: str = "isotonic",
    bins: Bins = 15,
    notion: str | None = None,
    sample_weight: Any = None,
    from_logits: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> BrierDecomposition:
    r"""The Brier score as miscalibration, less discrimination, plus uncertainty.

    .. math:: \mathrm{Brier} = \mathrm{MCB} - \mathrm{DSC} + \mathrm{UNC}

    where, with ``method="isotonic"`` (CORP), MCB is what an isotonic recalibration gains, DSC what
    the recalibrated predictions gain over always reporting the mean, and UNC the score of that
    mean. With ``method="binned"`` the recalibration is each bin's mean target, and a fourth part,
    the spread of predictions within bins, makes up the sum. Classwise parts are summed over
    classes, as the Brier score is. All parts but `within_bin` are at least 0.

    References
    ----------
    Dimitriadis, Gneiting and Jordan (2021), doi:10.1073/pnas.2016191118; Murphy (1973).

    Examples
    --------
    >>> import calibrant as cal
    >>> parts = cal.brier_decomposition([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    >>> round(parts.miscalibration, 4), round(parts.discrimination, 4), parts.uncertainty
    (0.075, 0.25, 0.25)
    """
    one_of("method", method, ("isotonic", "binned"))
    rule = as_rule(bins)
    samples = to_samples_in_place(y_true, y_proba, sample_weight, from_logits, classes, data)
    resolved = resolve_notion(samples, notion)
    if resolved == "full":
        raise InputError("notion='full' has no decomposition: use 'confidence' or 'classwise'")
    summary = Summary(samples)
    if method == "binned":
        return decompose(summary.table(resolved, rule))
    levels = summary.table(resolved, LevelSets())
    return decompose(levels, isotonic_fit(levels))
