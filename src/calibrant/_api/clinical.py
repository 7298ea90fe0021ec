"""clinical_summary(): what clinical papers report of predicted risks; ici(), by itself."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from calibrant._api.metrics.significance import clipping_note, cox_of
from calibrant._api.rows import as_samples, group_index, take_clusters
from calibrant._api.slices import slice_labels
from calibrant._core.arguments import Rows
from calibrant._core.binning import EqualWidth, Quantile
from calibrant._core.blas_threads import one_blas_thread
from calibrant._core.engine_choice import n_threads
from calibrant._core.errors import InputError, NotDefined
from calibrant._core.messages import Note
from calibrant._core.typing import Index
from calibrant._core.validation import N_RESAMPLES, check_level, check_resamples, public
from calibrant._data.samples import Samples
from calibrant._engines.arrays.passes import in_threads
from calibrant._inference.budget import THREADS_FROM
from calibrant._inference.clinical import (
    not_estimable,
    observed_expected,
    scaled_brier,
)
from calibrant._inference.uncertainty import Uncertainty
from calibrant._measures.catalogue import Measure, listed
from calibrant._summaries.samples import Summary
from calibrant.results._clinical import ClinicalSummary, ClinicalValue
from calibrant.results._uncertainty import CoxCalibration

# Predictions are clipped to [EPS, 1 - EPS] before their logits are taken.
EPS = 1e-6
# What the AUROC is called here.
C_STATISTIC = "c_statistic"
SLOPE_TITLES = {
    "slope": "calibration slope; below 1, predictions are too extreme",
    "intercept": "intercept, fitted with the slope",
    "intercept_in_the_large": "calibration in the large: the intercept at slope 1",
}


@public
def clinical_summary(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    by: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    level: float = 0.95,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    **rows: Unpack[Rows],
) -> ClinicalSummary:
    """What clinical papers report of predicted risks: slope, O:E, C-statistic, ICI and others.

    Each value has its interval; what these rows do not give (one outcome alone, outcomes separated
    by the predictions) is "not estimable", with the reason, and no number.

    Parameters
    ----------
    y_true : array-like of shape (n,) or str
        Outcomes: 0/1, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or str
        Predicted risks, P(y = 1); with `data`, a column's name.
    by
        Value of each row, or names of columns, by which rows are split into subgroups.
    groups
        Cluster of each row (patient, hospital); rows of one cluster are resampled together.
    level
    n_resamples
        Number of resamples behind the intervals of ICI, E50, E90 and Emax.
    seed
    data (in memory)

    Returns
    -------
    ClinicalSummary
        A mapping of names to floats with `low`, `high`, `method` and `note`: `slope`, `intercept`,
        `intercept_in_the_large`, `observed_expected`, `c_statistic`, `brier`, `scaled_brier`,
        `ici`, `e50`, `e90`, `emax`. `subgroups` has the same of each subgroup.

    Raises
    ------
    InputError
        If the input cannot be read as outcomes and risks, or has several classes.

    Notes
    -----
    Slope and intercepts are `cox_calibration`'s, with Wald limits (robust with weights, soft labels
    and clusters). The interval of the C-statistic is DeLong's, on the logit scale. ICI, E50, E90
    and Emax are the mean, the median, the 90% quantile and the maximum of the distance between the
    risks and a local regression of the outcomes on them, as in R's ``loess(y ~ p)``: span 0.75,
    degree 2; their intervals are found by test inversion, for a sample's distance is above the true
    one.

    References
    ----------
    Van Calster et al. (2019), doi:10.1186/s12916-019-1466-7. Austin and Steyerberg (2019),
    doi:10.1002/sim.8281.

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1, 0, 1, 0, 0] * 30, [0.1, 0.6, 0.5, 0.3, 0.2, 0.35] * 30
    >>> found = cal.clinical_summary(y, p)
    >>> round(found["scaled_brier"], 3), found["c_statistic"]
    (0.196, 0.7500 [0.6622, 0.8211])
    >>> cal.clinical_summary([0, 0, 0], [0.1, 0.2, 0.3])["c_statistic"].estimable
    False
    """
    check_level(level)
    check_resamples(n_resamples, seed)
    samples = as_samples(y_true, y_proba, **rows)
    if samples.multiclass:
        raise InputError(
            f"clinical_summary is of one outcome, with y_proba of the shape (n,); it is (n, "
            f"{samples.n_classes}). Give one class's column as y_proba and (y_true == class) as "
            "y_true"
        )
    Summary(samples).bins  # noqa: B018 - every row is sound, and some have weight
    index = group_index(groups, samples, rows.get("data"))
    plain = summary_of(samples, index, float(level), int(n_resamples), int(seed))
    if by is None:
        return plain
    return with_subgroups(plain, samples, by, rows.get("data"), index, int(n_resamples), int(seed))


def summary_of(
    samples: Samples, groups: Index | None, level: float, n_resamples: int, seed: int
) -> ClinicalSummary:
    """The clinical summary of validated binary samples; `groups` are clusters as numbers."""
    rules, measures = (EqualWidth(15), Quantile(15)), listed("clinical", "binary")
    uncertainty = Uncertainty(samples, *rules, measures, level, n_resamples, seed, groups)
    threads = n_threads() if samples.n >= THREADS_FROM else 1
    with one_blas_thread(beside=threads):
        return summary_from(uncertainty)


def summary_from(uncertainty: Uncertainty) -> ClinicalSummary:
    """The clinical summary from an Uncertainty, whose resamples it reuses; bins do not matter."""
    chosen, level = listed("clinical", "binary"), uncertainty.level
    problem, own = uncertainty.plain_problem, uncertainty.groups
    values = _cox_values(cox_of(problem, own, level, EPS))
    values["observed_expected"] = observed_expected(problem, own, level)
    for measure in chosen:
        is_c = C_STATISTIC in measure.aliases
        name = C_STATISTIC if is_c else measure.name
        title = "C-statistic: area under the ROC curve" if is_c else measure.title
        values[name] = _measure_with_interval(measure, uncertainty, title)
        if measure.loss == "brier":
            values["scaled_brier"] = scaled_brier(problem, own, level)
    events = float(problem.weights @ problem.z)
    total = None if uncertainty.samples.weights is None else float(problem.weights.sum())
    return ClinicalSummary(
        values_=values,
        n=problem.n,
        events=events,
        level=level,
        by="",
        subgroups={},
        n_weighted=total,
    )


def _cox_values(fit: CoxCalibration) -> dict[str, ClinicalValue]:
    """The slope and both intercepts of Cox's fit by name, each with limits.

    One that could not be fitted is "not estimable", with the reason.
    """
    fields = {
        "slope": "slope",
        "intercept": "intercept",
        "intercept_in_the_large": "intercept_at_slope_1",
    }
    out, clipped, note = {}, clipping_note(fit.n_clipped, EPS), fit.note
    why = str(note.values["reason"]) if isinstance(note, Note) else note
    for name, attribute in fields.items():
        value, low, high = (getattr(fit, attribute + end) for end in ("", "_low", "_high"))
        title = SLOPE_TITLES[name]
        out[name] = (
            not_estimable(title, why)
            if math.isnan(value)
            else ClinicalValue(value, low, high, "Wald, of a logistic fit", clipped, title)
        )
    return out


def _measure_with_interval(measure: Measure, uncertainty: Uncertainty, title: str) -> ClinicalValue:
    """A measure's value and interval under this title; "not estimable" without a value."""
    try:
        value = measure.compute(uncertainty.summary(uncertainty.samples))
    except NotDefined as error:
        return not_estimable(title, str(error))
    interval = uncertainty.interval(measure, value)
    return ClinicalValue(
        value, interval.low, interval.high, interval.method, interval.note, title, interval.estimate
    )


def with_subgroups(
    plain: ClinicalSummary,
    samples: Samples,
    by: Any,
    data: Any,
    groups: Index | None,
    n_resamples: int,
    seed: int,
    at_most: int | None = None,
) -> ClinicalSummary:
    """The summary of all rows, `plain`, with one for each subgroup added.

    `by` names columns of `data`, or has a value for each row. If there are more than `at_most`
    subgroups none is added.
    """
    labels, name = slice_labels(by, samples, data)

    def summary(label: Any) -> ClinicalSummary:
        """The summary of the subgroup with this label."""
        rows = np.flatnonzero(labels == label)
        subset = samples.take(rows)
        own = take_clusters(groups, rows)
        if subset.weights is not None and not (subset.weights > 0).any():
            return _without_values(plain, subset.n, "no row has any weight")
        if own is not None and int(own.max()) == 0:
            return _without_values(plain, subset.n, "one cluster alone cannot be resampled")
        return summary_of(subset, own, plain.level, n_resamples, seed)

    subgroups = list(dict.fromkeys(np.sort(labels).tolist()))
    if at_most is not None and len(subgroups) > at_most:
        return plain
    threads = n_threads() if samples.n >= THREADS_FROM else 1
    parts = dict(zip(map(str, subgroups), in_threads(summary, subgroups, threads), strict=True))
    return replace(plain, by=name, subgroups=parts)


def _without_values(plain: ClinicalSummary, n: int, why: str) -> ClinicalSummary:
    """A summary of n rows in which each value is "not estimable", for the reason `why`.

    `plain` has the names and titles of the values.
    """
    values = {name: not_estimable(value.title, why) for name, value in plain.items()}
    return ClinicalSummary(
        values_=values, n=n, events=math.nan, level=plain.level, by="", subgroups={}
    )
