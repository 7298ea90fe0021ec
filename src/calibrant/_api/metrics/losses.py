"""Proper losses and the Brier decomposition as one-line functions."""

from __future__ import annotations

from typing import Unpack

from numpy.typing import ArrayLike

from calibrant._api.rows import as_source, note_two_columns
from calibrant._api.ties import settle_ties
from calibrant._core.arguments import Rows
from calibrant._core.binning import Bins, LevelSets, as_rule
from calibrant._core.errors import InputError, one_of
from calibrant._core.validation import public
from calibrant._data.source import Source
from calibrant._measures.catalogue import catalogue, find
from calibrant._measures.decomposition import BrierDecomposition, decompose, decompose_isotonic
from calibrant._measures.ranking import mean_target
from calibrant._summaries.samples import Summary, resolve_notion


def _mean_loss(name: str, samples: Source) -> float:
    """The mean of a loss over the rows; `name` is its field in `LossSums`.

    An error is raised for a loss that compares predictions with 1/2, if labels say whether answers
    were right.
    """
    if samples.answers:  # raises for losses that compare predictions with 1/2
        find(next(m.name for m in catalogue("binary") if m.loss == name), samples.shape)
    return Summary(samples).mean_loss(name)


@public
def brier_score(y_true: ArrayLike, y_proba: ArrayLike, **rows: Unpack[Rows]) -> float:
    r"""Brier score: the mean squared distance between prediction and target.

    .. math:: \frac{1}{W} \sum_i w_i \sum_r (p_{ir} - z_{ir})^2

    summed over classes for (n, k) predictions; ``(u - z)^2`` for (n,). Range [0, 2], or [0, 1] for
    (n,); lower is better. A proper loss.

    Returns
    -------
    float
        The mean loss.

    References
    ----------
    Brier (1950), Monthly Weather Review 78.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.brier_score([0, 1], [0.2, 0.6]), 4)
    0.1
    """
    return _mean_loss("brier", as_source(y_true, y_proba, **rows))


@public
def log_loss(y_true: ArrayLike, y_proba: ArrayLike, **rows: Unpack[Rows]) -> float:
    r"""Log loss (cross-entropy, in nats): minus the mean log probability of the outcome.

    .. math:: -\frac{1}{W} \sum_i w_i \sum_r z_{ir} \log p_{ir}

    where predictions are clipped to 1e-12. Range [0, 27.64], lower is better. A proper loss.
    Against soft labels, such as shares of votes, it is the cross-entropy. Minus the entropy of the
    labels, it is `kl`.

    Returns
    -------
    float
        The mean loss, in nats.

    References
    ----------
    Good (1952), Journal of the Royal Statistical Society B 14.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.log_loss([0, 1], [0.2, 0.6]), 4)
    0.367
    """
    return _mean_loss("log", as_source(y_true, y_proba, **rows))


@public
def spherical_loss(y_true: ArrayLike, y_proba: ArrayLike, **rows: Unpack[Rows]) -> float:
    r"""Spherical loss: one minus the cosine-like agreement of prediction and target.

    .. math:: 1 - \frac{1}{W} \sum_i w_i \frac{\sum_r z_{ir} p_{ir}}{\lVert p_i \rVert_2}

    where a prediction (n,) stands for the row (1 - u, u). Range [0, 1], lower is better. A proper
    loss.

    Returns
    -------
    float
        The mean loss, in [0, 1].

    References
    ----------
    Gneiting and Raftery (2007), doi:10.1198/016214506000001437.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.spherical_loss([0, 1], [0.2, 0.6]), 4)
    0.0989
    """
    return _mean_loss("spherical", as_source(y_true, y_proba, **rows))


@public
def accuracy(
    y_true: ArrayLike, y_proba: ArrayLike, *, ties: str = "first", **rows: Unpack[Rows]
) -> float:
    r"""Accuracy: the share of rows whose top label is the target, 1 minus `classification_error`.

    .. math:: \frac{1}{W} \sum_i w_i z_{i r_i}, \quad r_i = \arg\max_r p_{ir}

    where the lowest class wins ties; with soft labels, z is the target's mass on the top label.
    Range [0, 1], higher is better.

    Parameters
    ----------
    ties

    Returns
    -------
    float
        The accuracy, in [0, 1].

    Notes
    -----
    If labels say whether an answer was right, the answer was given whatever its confidence.
    Accuracy is then the mean label, and no prediction is compared with 1/2. Labels are read in this
    way if their column or series is called `correct`, `is_correct` or similar; an array has no
    name.

    References
    ----------
    Breiman, Friedman, Olshen and Stone (1984), Classification and Regression Trees.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.accuracy([0, 1, 1, 0], [0.2, 0.7, 0.4, 0.4])
    0.75
    >>> import pandas as pd
    >>> answers = pd.DataFrame({"correct": [0, 1, 1, 0], "confidence": [0.2, 0.7, 0.4, 0.4]})
    >>> cal.accuracy("correct", "confidence", data=answers)
    0.5
    """
    samples = as_source(y_true, y_proba, **rows)
    if not samples.answers and ties != "first":
        samples, _ = settle_ties(samples, "confidence", ties)
        return mean_target(Summary(samples).bins)
    summary = Summary(samples)
    if samples.answers:
        return find("accuracy", samples.shape).compute(summary)
    return summary.mean_loss("hits")


@public
def classification_error(y_true: ArrayLike, y_proba: ArrayLike, **rows: Unpack[Rows]) -> float:
    r"""Classification error: the share of rows whose top label is not the target.

    .. math:: 1 - \frac{1}{W} \sum_i w_i z_{i r_i}, \quad r_i = \arg\max_r p_{ir}

    where the lowest class wins ties; with soft labels, z is the target's mass on the top label.
    Range [0, 1], lower is better.

    Returns
    -------
    float
        The mean loss, in [0, 1].

    References
    ----------
    Lu, Wu, Hartline and Hu (2026), Truthful Calibration Errors for Multi-Class Prediction,
    definition B.6.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.classification_error([0, 1, 1, 0], [0.2, 0.7, 0.4, 0.4])
    0.25
    """
    return _mean_loss("classification", as_source(y_true, y_proba, **rows))


@public
def confidence_loss(y_true: ArrayLike, y_proba: ArrayLike, **rows: Unpack[Rows]) -> float:
    r"""Confidence loss: the loss whose minimiser the corrected `confidence_ce` shares.

    .. math:: \frac{1}{W} \sum_i w_i \bigl[ 1 - z_i + (c_i - z_i)^2 \bigr]

    where c is the largest predicted probability and z the target's mass on that class. Range [0,
    2], lower is better.

    Returns
    -------
    float
        The mean loss, in [0, 2].

    References
    ----------
    Lu, Wu, Hartline and Hu (2026), Truthful Calibration Errors for Multi-Class Prediction, section
    4.2.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.confidence_loss([0, 1], [0.2, 0.6]), 4)
    0.1
    """
    return _mean_loss("confidence", as_source(y_true, y_proba, **rows))


@public
def brier_decomposition(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    method: str = "isotonic",
    bins: Bins = 15,
    notion: str | None = None,
    **rows: Unpack[Rows],
) -> BrierDecomposition:
    r"""The Brier score as miscalibration minus discrimination plus uncertainty.

    .. math:: \mathrm{Brier} = \mathrm{MCB} - \mathrm{DSC} + \mathrm{UNC}

    where, with ``method="isotonic"`` (CORP), MCB is the gain of isotonic recalibration, DSC the
    gain of the recalibrated predictions over a constant prediction of the mean target, and UNC the
    score of that constant. With ``method="binned"`` the recalibration is each bin's mean target,
    and a fourth part, the spread of predictions within bins, completes the sum. Classwise parts are
    summed over classes, as the Brier score is. All parts but `within_bin` are at least 0.

    Parameters
    ----------
    method : {"isotonic", "binned"}, default "isotonic"
        How predictions are recalibrated: by isotonic regression, or by bins.
    bins
        Bins of ``method="binned"``: their number (equal width), edges, or a rule such as
        `Quantile`. `"cbrt"` and `"auto"` choose the number of bins by the number of rows.
    notion

    Returns
    -------
    BrierDecomposition
        `brier`, `miscalibration`, `discrimination`, `uncertainty` and `within_bin`.

    References
    ----------
    Dimitriadis, Gneiting and Jordan (2021), doi:10.1073/pnas.2016191118; Murphy (1973), Journal of
    Applied Meteorology 12.

    Examples
    --------
    >>> import calibrant as cal
    >>> parts = cal.brier_decomposition([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    >>> round(parts.miscalibration, 4), round(parts.discrimination, 4), parts.uncertainty
    (0.075, 0.25, 0.25)
    """
    one_of("method", method, ("isotonic", "binned"))
    samples = as_source(y_true, y_proba, **rows)
    rule = as_rule(bins, n=samples.count_rows)
    resolved = resolve_notion(samples, notion)
    if resolved == "full":
        raise InputError("notion='full' has no decomposition: use 'confidence' or 'classwise'")
    summary = Summary(samples)
    if method == "binned":
        parts = decompose(summary.table(resolved, rule))
    else:
        parts = decompose_isotonic(summary.table(resolved, LevelSets()))
    return note_two_columns(parts, samples, resolved)
