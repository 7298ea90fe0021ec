"""Intervals, noise floors and the verdict of a whole evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from calibrant._api.metrics.uncertainty import group_index, verdict_of
from calibrant._core.binning import Rule
from calibrant._core.validation import check_level, check_resamples
from calibrant._data.samples import Samples
from calibrant._engines.arrays.passes import whole_problem
from calibrant._inference.budget import takes_long
from calibrant._inference.resampling import checked_votes
from calibrant._inference.uncertainty import Uncertainty
from calibrant._measures.catalogue import HEADLINE, Measure, find
from calibrant._measures.gap_scale import is_error
from calibrant._measures.proportions import design_effects
from calibrant.results._evaluation import Estimate, Evaluation
from calibrant.results._reliability import ReliabilityTable
from calibrant.results._uncertainty import ESTIMAND

_ABOVE = (
    "the value lies above its own interval: a sample's error is above the true one, which is near "
    "0; `estimate` is without that bias"
)
_BELOW = "the value lies below its own interval: `estimate` is without its bias"


def uncertainty_of(
    samples: Samples,
    fixed: Rule,
    quantile: Rule,
    measures: tuple[Measure, ...],
    *,
    level: Any,
    groups: Any,
    votes: Any,
    n_resamples: Any,
    seed: Any,
    data: Any,
) -> Uncertainty:
    """What is needed to judge the measures of an evaluation."""
    check_resamples(n_resamples, seed)
    return Uncertainty(
        samples, fixed, quantile, measures, check_level(level), int(n_resamples), int(seed),
        group_index(groups, samples, data), checked_votes(votes, samples),
    )  # fmt: skip


def add_uncertainty(
    result: Evaluation, worth: Uncertainty, tolerance: float, *, asked: bool
) -> Evaluation:
    """The evaluation with an interval and a noise floor beside every number."""
    samples = worth.samples
    heavy = set() if asked else _heavy(worth)
    # What is not judged is not resampled with the rest either.
    worth.measures = tuple(m for m in worth.measures if m.name not in heavy)
    shape = samples.shape
    estimates = [
        estimate if estimate.name in heavy
        else _judged(estimate, find(estimate.name, shape), worth)
        for estimate in result.estimates
    ]  # fmt: skip
    skipped = [estimate.name for estimate in result.estimates if estimate.name in heavy]
    notes = list(result.notes)
    if skipped:
        notes.append(
            f"no intervals for {', '.join(skipped)}: to resample them takes long here; ask for "
            "them by name, with measures="
        )
    if worth.soft and worth.votes is None:
        notes.append(
            "soft labels: intervals come from the scatter of the labels given; without votes= "
            "there is no noise floor"
        )
    notes += commented(estimates)
    headline = headline_of([find(e.name, shape) for e in estimates if e.interval])
    verdict = None
    if headline is not None:
        judged = next(e for e in estimates if e.name == headline.name)
        assert judged.interval is not None
        verdict = verdict_of(judged.interval, judged.noise_floor, tolerance, headline, worth)
    recipe = {
        **result.recipe,
        "level": worth.level,
        "n_resamples": worth.n_resamples,
        "seed": worth.seed,
        "grouped": worth.groups is not None,
        "tolerance": tolerance,
        "estimand": ESTIMAND,
    }
    return replace(
        result, estimates=tuple(estimates), notes=tuple(notes), verdict=verdict, recipe=recipe
    )


def clustered(table: ReliabilityTable, samples: Samples, groups: Any) -> ReliabilityTable:
    """The bins with bars that take clusters into account; `groups` as numbers, or None."""
    if groups is None:
        return table
    u, z, w, _ = whole_problem(samples, table.notion)  # type: ignore[arg-type]
    bins = table.cuts.find(u)
    return replace(table, design=design_effects(bins, z, w, groups, table.table.n_bins))


def headline_of(measures: Sequence[Measure]) -> Measure | None:
    """The measure that a verdict is about: the ECE, or the first error that was asked for."""
    errors = [measure for measure in measures if is_error(measure)]
    return next((m for m in errors if m.name == HEADLINE), errors[0] if errors else None)


def commented(estimates: Sequence[Estimate]) -> list[str]:
    """What must stand beside intervals, measures with the same to say together."""
    about: dict[str, list[str]] = {}
    for estimate in estimates:
        interval = estimate.interval
        if interval is None:
            continue
        if interval.note:
            about.setdefault(interval.note, []).append(estimate.name)
        if "the interval" in interval.note:  # the note says where the value lies
            continue
        if interval.value > interval.high:
            about.setdefault(_ABOVE, []).append(estimate.name)
        elif interval.value < interval.low:
            about.setdefault(_BELOW, []).append(estimate.name)
    return [f"{', '.join(names)}: {said}" for said, names in about.items()]


def _heavy(worth: Uncertainty) -> set[str]:
    """Names of measures that take too long to resample unasked."""
    return {m.name for m in worth.measures if takes_long(m, worth.samples, soft=worth.soft)}


def _judged(estimate: Estimate, measure: Measure, worth: Uncertainty) -> Estimate:
    floor = None
    if measure.notion != "distribution":
        floor = worth.noise_floor(measure, estimate.value)
    return replace(estimate, interval=worth.interval(measure, estimate.value), noise_floor=floor)
