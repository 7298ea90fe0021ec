"""clinical_summary(): what clinical papers report of predicted risks; ici(), by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Unpack, cast

from numpy.typing import ArrayLike

from calibrant._api.clinical_values import (
    Draws,
    summary_from,
    summary_of_population,
    without_values,
)
from calibrant._api.rows import (
    as_samples,
    as_source,
    check_one_outcome,
    check_without,
    cluster_column,
    group_index,
    take_clusters,
)
from calibrant._api.slices import slice_labels
from calibrant._core.arguments import Rows
from calibrant._core.binning import EqualWidth, Quantile
from calibrant._core.engine_choice import n_threads, one_blas_thread
from calibrant._core.typing import Index
from calibrant._core.validation import N_RESAMPLES, check_level, check_resamples, public
from calibrant._data.columns import is_lazy, scan_if_path
from calibrant._data.frame_samples import FrameSamples
from calibrant._data.prevalence import check_prevalence, with_prevalence
from calibrant._data.samples import Samples
from calibrant._data.slice_names import rows_by_name
from calibrant._engines.arrays.passes import in_threads
from calibrant._inference.budget import THREADS_FROM
from calibrant._inference.uncertainty import Uncertainty
from calibrant._measures.catalogue import listed
from calibrant._summaries.samples import Summary
from calibrant.results._clinical import ClinicalSummary


@public
def clinical_summary(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    by: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    prevalence: float | None = None,
    level: float = 0.95,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    **rows: Unpack[Rows],
) -> ClinicalSummary:
    """The values that clinical papers report: slope, O:E, C-statistic, ICI and others.

    Each value has its interval. A value that cannot be estimated (only one outcome, predictions
    that separate the outcomes) is "not estimable", with the reason.

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
    prevalence : float in (0, 1), optional
        Share of events in the population, if rows were sampled by outcome (case-control): rows are
        reweighted to it.
    level
    n_resamples
        Number of resamples for the intervals of ICI, E50, E90 and Emax.
    seed
    data

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
    Slope and intercepts are those of `cox_calibration`, with Wald intervals (robust with weights,
    soft labels and clusters). The interval of the C-statistic is DeLong's, on the logit scale. ICI,
    E50, E90 and Emax are the mean, the median, the 90% quantile and the maximum of the distance
    between the risks and a local regression of the outcomes on them, as in R's ``loess(y ~ p)``:
    span 0.75, degree 2; their intervals are found by test inversion, since a sample's distance is
    biased upwards.

    With `prevalence`, each event counts ``prevalence / (share of events)`` and each other row ``(1
    - prevalence) / (share of others)``: slope, intercepts, O:E, Brier scores and distances are then
    those of the population, and the C-statistic, which does not depend on the share of events, does
    not change. Intervals are robust and conservative, because they ignore that the numbers of
    events and non-events were fixed. Distances have no interval, because weights depend on the
    outcomes.

    For lazy frames and Parquet files, intervals other than Cox's use rows pooled in about 2,500
    cells of predictions. Up to 2^20 rows, values use the rows; with more, C-statistic, ICI, E50,
    E90 and Emax use these cells too, with a note. Each subgroup is summed separately.

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
    check_prevalence(prevalence)
    rows["data"] = data = scan_if_path(rows.get("data"))
    if is_lazy(data):
        # Imported when a frame of another engine is given: arrays do without.
        from calibrant._api.clinical_of_frame import clinical_of_frame

        check_without(prevalence=prevalence)
        source = cast(FrameSamples, as_source(y_true, y_proba, **rows))
        check_one_outcome(source, "clinical_summary")
        drawn = Draws(float(level), int(n_resamples), int(seed), cluster_column(groups, data))
        return clinical_of_frame(source, drawn, by)
    samples = as_samples(y_true, y_proba, **rows)
    check_one_outcome(samples, "clinical_summary")
    Summary(samples).bins  # noqa: B018 - every row is sound, and some have weight
    if prevalence is not None:
        samples = with_prevalence(samples, float(prevalence))
    index = group_index(groups, samples, rows.get("data"))
    plain = summary_of(samples, index, float(level), int(n_resamples), int(seed))
    if by is not None:
        data = rows.get("data")
        plain = with_subgroups(plain, samples, by, data, index, int(n_resamples), int(seed))
    return plain if prevalence is None else summary_of_population(plain, float(prevalence))


def summary_of(
    samples: Samples, groups: Index | None, level: float, n_resamples: int, seed: int
) -> ClinicalSummary:
    """The clinical summary of validated binary samples; `groups` are clusters as numbers."""
    rules, measures = (EqualWidth(15), Quantile(15)), listed("clinical", "binary")
    uncertainty = Uncertainty(samples, *rules, measures, level, n_resamples, seed, groups)
    threads = n_threads() if samples.n >= THREADS_FROM else 1
    with one_blas_thread(beside=threads):
        return summary_from(uncertainty)


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
    rows_of = rows_by_name(labels)

    def summary(label: Any) -> ClinicalSummary:
        """The summary of the subgroup with this label."""
        rows = rows_of[label]
        subset = samples.take(rows)
        own = take_clusters(groups, rows)
        if subset.weights is not None and not (subset.weights > 0).any():
            return without_values(plain, subset.n, "no row has any weight")
        if own is not None and int(own.max()) == 0:
            return without_values(plain, subset.n, "a single cluster cannot be resampled")
        return summary_of(subset, own, plain.level, n_resamples, seed)

    if at_most is not None and len(rows_of) > at_most:
        return plain
    threads = n_threads() if samples.n >= THREADS_FROM else 1
    parts = dict(zip(map(str, rows_of), in_threads(summary, list(rows_of), threads), strict=True))
    return replace(plain, by=name, subgroups=parts)
