"""Ranking and abstention beside calibration: AUROC, AURC, accuracy at a coverage, and the curve."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from calibrant._api.risk_curve import risk_coverage_curve
from calibrant._api.rows import as_samples, as_source, group_index, note_two_columns
from calibrant._core.arguments import Rows
from calibrant._core.binning import EqualWidth, LevelSets
from calibrant._core.errors import InputError, NotDefined
from calibrant._core.validation import check_level, is_number, public
from calibrant._data.explain import explained
from calibrant._data.source import Source
from calibrant._measures.ranking import COVERAGE, accuracy_at
from calibrant._measures.ranking import aurc as aurc_of
from calibrant._measures.ranking import auroc as auroc_of
from calibrant._summaries.samples import Summary, resolve_notion
from calibrant.results._risk_coverage import RiskCoverage


@public
def auroc(
    y_true: ArrayLike, y_proba: ArrayLike, *, notion: str | None = None, **rows: Unpack[Rows]
) -> float:
    r"""Area under the ROC curve: how often an event is predicted higher than a non-event.

    .. math:: \frac{\sum_{ij} w_i z_i \, w_j (1 - z_j)
        \bigl( 1[u_i > u_j] + \tfrac12 1[u_i = u_j] \bigr)}
        {\sum_i w_i z_i \sum_j w_j (1 - z_j)}

    The C-statistic of clinical papers. It measures ranking, **not calibration**: monotone
    recalibration does not change it. Range [0, 1], higher is better, 1/2 for no ranking. A soft
    label z counts as z of an event and 1 - z of a non-event.

    Parameters
    ----------
    notion
        What is ranked: P(y = 1) for (n,), compared with y (`"binary"`); the largest predicted
        probability, compared with whether that class is right (`"confidence"`, the default for (n,
        k)); or each class against the rest, averaged (`"classwise"`, scikit-learn's
        ``multi_class="ovr"``).

    Returns
    -------
    float
        The area, in [0, 1].

    Raises
    ------
    InputError
    NotDefined
        If all labels are equal: no pair can be ranked.

    References
    ----------
    Hanley and McNeil (1982), Radiology 143. DeLong, DeLong and Clarke-Pearson (1988),
    doi:10.2307/2531595 (its interval, by `interval`).

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.auroc([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.8])
    0.75
    """
    samples = as_source(y_true, y_proba, **rows)
    resolved = resolve_notion(samples, notion)
    if resolved == "classwise":
        return _mean_over_classes(samples)
    return auroc_of(Summary(samples).table(_check_ranked(resolved), LevelSets()))


def _check_ranked(notion: Any) -> Any:
    """The notion, unchanged, if it orders the rows: an InputError for "classwise" and "full"."""
    if notion in ("classwise", "full"):
        raise InputError(
            f"notion={notion!r} has no order of rows: give 'confidence' for the top label, or one "
            "class's column as y_proba and (y_true == class) as y_true"
        )
    return notion


def _mean_over_classes(samples: Source) -> float:
    """The mean over classes of the area under the ROC curve of each class against the rest.

    NotDefined is raised, with the name of the class, if a class has none.
    """
    summary = Summary(samples)
    summary.table(summary.scalar, EqualWidth(1))  # every row is sound, and some have weight
    names = samples.class_names or tuple(map(str, range(samples.n_classes)))
    values = []
    with explained(samples):
        for name, column in zip(names, summary.engine.class_columns(samples), strict=True):
            try:
                values.append(auroc_of(summary.engine.bin_table(column, "binary", LevelSets())[0]))
            except NotDefined as error:
                raise NotDefined(f"the class {name}: {error}") from None
    return float(np.mean(values))


@public
def aurc(
    y_true: ArrayLike, y_proba: ArrayLike, *, notion: str | None = None, **rows: Unpack[Rows]
) -> float:
    r"""Area under the risk-coverage curve: the mean risk of answering only the most confident rows.

    .. math:: \frac{1}{W} \sum_i w_i \,
        \frac{\sum_{u_j \ge u_i} w_j (1 - z_j)}{\sum_{u_j \ge u_i} w_j}

    Each row in turn sets the threshold; its risk is the error rate among all rows predicted at
    least as high. It measures ranking and accuracy together, **not calibration**: monotone
    recalibration does not change it. Range [0, 1], lower is better. Equal predictions are kept or
    dropped together, so the order of rows does not matter.

    Parameters
    ----------
    notion : {"binary", "confidence"}, optional
        What is ranked: P(y = 1) for (n,), compared with y (`"binary"`), or the largest predicted
        probability, compared with whether that class is right (`"confidence"`, the default for (n,
        k)).

    Returns
    -------
    float
        The area, in [0, 1].

    Notes
    -----
    For (n,) predictions the risk is the share of y = 0 among the rows kept: the right choice if y
    says whether an answer is right and y_proba is its confidence. For a classifier of two classes
    use ``notion="confidence"``: the risk is then its classification error.

    References
    ----------
    Geifman, Uziel and El-Yaniv (2019), arXiv:1805.08206.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.aurc([1, 1, 0, 0], [0.9, 0.8, 0.7, 0.6]), 4)
    0.2083
    """
    samples = as_source(y_true, y_proba, **rows)
    resolved = _check_ranked(resolve_notion(samples, notion))
    return aurc_of(Summary(samples).table(resolved, LevelSets()))


@public
def accuracy_at_coverage(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    coverage: float = COVERAGE,
    notion: str | None = None,
    **rows: Unpack[Rows],
) -> float:
    r"""Accuracy among the share of rows with the highest predictions.

    .. math:: \frac{1}{c W} \sum_{i \text{ among the highest } c W} w_i z_i

    It measures ranking and accuracy together, **not calibration**. Range [0, 1], higher is better.
    If equal predictions are kept only in part, each of them counts in part.

    Parameters
    ----------
    coverage : float in (0, 1], default 0.8
        The share of rows (of their weight) that is answered.
    notion : {"binary", "confidence"}, optional
        What is ranked: P(y = 1) for (n,), compared with y (`"binary"`), or the largest predicted
        probability, compared with whether that class is right (`"confidence"`, the default for (n,
        k)).

    Returns
    -------
    float
        The mean target of the rows kept, in [0, 1].

    References
    ----------
    Geifman and El-Yaniv (2017), arXiv:1705.08500.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.accuracy_at_coverage([1, 1, 0, 0], [0.9, 0.8, 0.7, 0.6], coverage=0.5)
    1.0
    """
    if not is_number(coverage) or not 0.0 < coverage <= 1.0:
        raise InputError(
            f"coverage must be a share of the rows above 0 and at most 1; got {coverage!r}"
        )
    samples = as_source(y_true, y_proba, **rows)
    levels = Summary(samples).table(_check_ranked(resolve_notion(samples, notion)), LevelSets())
    return accuracy_at(levels, float(coverage))


@public
def risk_coverage(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    notion: str | None = None,
    level: float = 0.95,
    groups: ArrayLike | None = None,
    **rows: Unpack[Rows],
) -> RiskCoverage:
    """The risk-coverage curve: the error rate of answering only what is surest, with a band.

    It measures ranking and accuracy together, **not calibration**.

    Parameters
    ----------
    notion : {"binary", "confidence"}, optional
        What is ranked: P(y = 1) for (n,), compared with y (`"binary"`), or the largest predicted
        probability, compared with whether that class is right (`"confidence"`, the default for (n,
        k)).
    level
        Level of the band, pointwise over coverages.
    groups
        Cluster of each row (patient, document, game); rows of one cluster vary together.
    data (in memory)

    Returns
    -------
    RiskCoverage
        `coverage`, `risk`, `threshold` and limits at up to 200 points (`to_frame`), `aurc`,
        `accuracy_at(coverage)`, and a diagram (`plot`).

    References
    ----------
    El-Yaniv and Wiener (2010), JMLR 11. Geifman and El-Yaniv (2017), arXiv:1705.08500.

    Examples
    --------
    >>> import calibrant as cal
    >>> curve = cal.risk_coverage([1, 1, 0, 0] * 25, [0.9, 0.8, 0.7, 0.6] * 25)
    >>> round(curve.aurc, 4), curve.accuracy_at(0.5)
    (0.2083, 1.0)
    """
    check_level(level)
    samples = as_samples(y_true, y_proba, **rows)
    resolved = _check_ranked(resolve_notion(samples, notion))
    levels = Summary(samples).table(resolved, LevelSets())
    index = group_index(groups, samples, rows.get("data"))
    return note_two_columns(
        risk_coverage_curve(samples, resolved, levels, float(level), index), samples, resolved
    )
