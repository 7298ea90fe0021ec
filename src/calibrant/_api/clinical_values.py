"""The values of a clinical summary with their limits, from an Uncertainty."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from calibrant._api.cox_limits import clipping_note
from calibrant._api.metrics.significance import cox_of
from calibrant._core.errors import NotDefined
from calibrant._core.messages import Note
from calibrant._engines.arrays.streams import EPS
from calibrant._inference.clinical import (
    not_estimable,
    observed_expected,
    scaled_brier,
)
from calibrant._inference.uncertainty import Uncertainty
from calibrant._measures.catalogue import Measure, listed
from calibrant._measures.statistics import Statistics
from calibrant.results._clinical import ClinicalSummary, ClinicalValue
from calibrant.results._uncertainty import CoxCalibration

# What the AUROC is called here.
C_STATISTIC = "c_statistic"
SLOPE_TITLES = {
    "slope": "calibration slope; below 1, predictions are too extreme; below 0, ranked in reverse",
    "intercept": "intercept, fitted with the slope",
    "intercept_in_the_large": "calibration in the large: the intercept at slope 1",
}


@dataclass(frozen=True)
class Draws:
    """The level of intervals, how many resamples are drawn by which seed, and the column of a lazy
    frame that names clusters.
    """

    level: float
    n_resamples: int
    seed: int
    clusters: str | None = None


@dataclass(frozen=True, eq=False)
class KnownFromSums:
    """What is known exactly of rows that were summed, for which an Uncertainty has pooled rows:
    Cox's fit, the `statistics` that measures are computed from, the weight of `events`, and of all
    rows (None where every row counts 1).

    `why_not` says why a measure has no interval ("" if it has one), and `note` what to know of its
    value.
    """

    cox: CoxCalibration
    statistics: Statistics
    events: float
    n_weighted: float | None
    why_not: Callable[[Measure], str]
    note: str = ""


def summary_from(uncertainty: Uncertainty, known: KnownFromSums | None = None) -> ClinicalSummary:
    """The clinical summary from an Uncertainty, whose resamples it reuses; bins do not matter.

    `known` is given where the rows of the Uncertainty are pooled ones.
    """
    chosen, level = listed("clinical", "binary"), uncertainty.level
    problem, own = uncertainty.plain_problem, uncertainty.groups
    fit = cox_of(problem, own, level, EPS) if known is None else known.cox
    values = _cox_values(fit)
    values["observed_expected"] = observed_expected(problem, own, level)
    for measure in chosen:
        is_c = C_STATISTIC in measure.aliases
        name = C_STATISTIC if is_c else measure.name
        title = "C-statistic: area under the ROC curve" if is_c else measure.title
        values[name] = _measure_with_interval(measure, uncertainty, title, known)
        if measure.loss == "brier":
            brier = None if known is None else float(values[name])
            scaled = scaled_brier(problem, own, level, brier)
            values["scaled_brier"] = scaled if values[name].method else values[name].like(scaled)
    weight = None if uncertainty.samples.weights is None else float(problem.weights.sum())
    return ClinicalSummary(
        values_=values,
        n=uncertainty.n_rows,
        events=float(problem.weights @ problem.z) if known is None else known.events,
        level=level,
        by="",
        subgroups={},
        n_weighted=weight if known is None else known.n_weighted,
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


def _measure_with_interval(
    measure: Measure, uncertainty: Uncertainty, title: str, known: KnownFromSums | None
) -> ClinicalValue:
    """A measure's value and interval under this title; "not estimable" without a value, and without
    limits where the sums do not give them.
    """
    own = uncertainty.summary(uncertainty.samples) if known is None else known.statistics
    try:
        value = measure.compute(own)
    except NotDefined as error:
        return not_estimable(title, str(error))
    note = "" if known is None or measure.statistic == "losses" else known.note
    why = "" if known is None else known.why_not(measure)
    if why:
        alone = "; ".join(filter(None, (f"no interval from sums: {why}", note)))
        return ClinicalValue(value, math.nan, math.nan, "", alone, title)
    interval = uncertainty.interval(measure, value)
    notes = "; ".join(filter(None, (interval.note, note)))
    return ClinicalValue(
        value, interval.low, interval.high, interval.method, notes, title, interval.estimate
    )


def without_values(plain: ClinicalSummary, n: int, why: str) -> ClinicalSummary:
    """A summary of n rows in which each value is "not estimable", for the reason `why`.

    `plain` has the names and titles of the values.
    """
    values = {name: not_estimable(value.title, why) for name, value in plain.items()}
    return ClinicalSummary(
        values_=values, n=n, events=math.nan, level=plain.level, by="", subgroups={}
    )


def summary_of_population(summary: ClinicalSummary, prevalence: float) -> ClinicalSummary:
    """A summary of rows that were reweighted to a prevalence: its distances have no limits."""
    distances = {m.name for m in listed("clinical", "binary") if m.function.startswith("ici")}
    values = {}
    for name, value in summary.items():
        values[name] = value
        if name in distances and value.estimable:
            note = "no interval: weights depend on the outcomes"
            values[name] = ClinicalValue(value, math.nan, math.nan, "", note, value.title)
    parts = {
        name: summary_of_population(part, prevalence) for name, part in summary.subgroups.items()
    }
    return replace(summary, values_=values, subgroups=parts, prevalence=prevalence)
