"""Before and after: a recalibration map fitted on one half of the rows, judged on the other."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.binning import Rule
from calibrant.errors import CalibrantError, CalibrantWarning
from calibrant.inference.bootstrap import basic_limits
from calibrant.inference.paired import draw_lots, replicates
from calibrant.inference.worth import Worth
from calibrant.measures.catalogue import Measure, Shape, find
from calibrant.results.reliability import ReliabilityTable
from calibrant.results.report import BeforeAfter, Change
from calibrant.samples.samples import Samples
from calibrant.scaling.platt import PlattScaling
from calibrant.scaling.temperature import TemperatureScaling
from calibrant.slicing import rows_of
from calibrant.summary import Summary

# Half of fewer rows is too few to fit on, and too few to judge on.
FEWEST = 100
# Entries of reports in each half from which a map of one or two parameters, and what it does, are
# known well enough: more change nothing that a reader would see.
ENTRIES = 250_000
_MEASURES: dict[Shape, tuple[str, ...]] = {
    "binary": ("ece", "lin_ce", "log_loss", "brier"),
    "multiclass": ("ece", "confidence_ce_corrected", "log_loss", "brier"),
}


def before_after(
    samples: Samples, rule: Rule, quantile: Rule, *, groups: NDArray[np.intp] | None,
    level: float, seed: int,
) -> BeforeAfter | str:  # fmt: skip
    """What temperature (or Platt) scaling would do, or why it cannot be told."""
    if samples.n < FEWEST:
        return f"There are {samples.n} rows: half of them are too few to fit a map and to judge it."
    fitted, held, split = _halves(samples, groups, seed)
    if fitted.size < FEWEST // 2 or held.size < FEWEST // 2:
        return "The groups are so unequal that no two halves of them can be made."
    most = max(1000, ENTRIES // samples.n_classes)
    if max(fitted.size, held.size) > most:
        fitted, held = fitted[:most], np.sort(held[:most])
        split += f"; {most:,} rows of each half are enough here"
    scaler: Any
    if samples.multiclass:
        scaler = TemperatureScaling(from_logits=samples.from_logits)
    else:
        scaler = PlattScaling(from_logits=samples.from_logits)
    part = rows_of(samples, fitted)
    before = rows_of(samples, held)
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            scaler.fit(part.targets, _plain(part), sample_weight=part.weights)
            after = replace(before, reports=scaler.transform(_plain(before)), from_logits=False)
    except CalibrantError as error:
        return f"No map could be fitted: {error}"
    notes = tuple(str(w.message) for w in told if issubclass(w.category, CalibrantWarning))
    return BeforeAfter(
        type(scaler).__name__, _learned(scaler), split, int(fitted.size), int(held.size),
        _changes(before, after, rule, quantile, _among(groups, held), level, seed),
        _table(before, rule), _table(after, rule), notes,
    )  # fmt: skip


def _halves(
    samples: Samples, groups: NDArray[np.intp] | None, seed: int
) -> tuple[NDArray[np.intp], NDArray[np.intp], str]:
    """Rows to fit on and rows to judge on, both in random order."""
    rng = np.random.default_rng((seed, 10))
    if groups is None:
        order = rng.permutation(samples.n)
        half = samples.n // 2
        said = "rows dealt at random into two halves"
        return order[:half], order[half:], said
    n_groups = int(groups.max()) + 1
    chosen = rng.permutation(n_groups)[: n_groups // 2]
    is_fitted = np.isin(groups, chosen)
    said = "whole groups dealt at random into two halves"
    parts = [rng.permutation(np.flatnonzero(part)) for part in (is_fitted, ~is_fitted)]
    return parts[0], parts[1], said


def _among(groups: NDArray[np.intp] | None, held: NDArray[np.intp]) -> NDArray[np.intp] | None:
    """The groups of some rows, numbered anew."""
    if groups is None:
        return None
    return np.unique(groups[held], return_inverse=True)[1].astype(np.intp)


def _plain(samples: Samples) -> NDArray[Any]:
    """Reports that a map takes: rows which half precision rounded off the simplex are put back."""
    if samples.from_logits or not samples.multiclass:
        return samples.reports
    rows = np.clip(samples.reports.astype(np.float64), 0.0, 1.0)
    out: NDArray[np.float64] = rows / rows.sum(axis=1, keepdims=True)
    return out


def _learned(scaler: Any) -> str:
    if isinstance(scaler, TemperatureScaling):
        side = "less sure" if scaler.temperature_ > 1 else "surer"
        return f"temperature {scaler.temperature_:.4g}: the reports are made {side}"
    slope, intercept = np.ravel(scaler.slope_)[0], np.ravel(scaler.intercept_)[0]
    return f"slope {slope:.4g} and intercept {intercept:.4g} on the logit scale"


def _table(samples: Samples, rule: Rule) -> ReliabilityTable:
    summary = Summary(samples)
    table, cuts = summary.table_with_cuts(summary.scalar, rule)
    return ReliabilityTable(table, rule, cuts, summary.scalar)


def _changes(
    before: Samples, after: Samples, rule: Rule, quantile: Rule,
    groups: NDArray[np.intp] | None, level: float, seed: int,
) -> tuple[Change, ...]:  # fmt: skip
    shape: Shape = "multiclass" if before.multiclass else "binary"
    measures = [find(name, shape) for name in _MEASURES[shape]]
    losses = tuple(m for m in measures if m.statistic == "losses")
    draws = draw_lots(before.n, 500, seed, groups, before.weights)
    drawn = [replicates(part, losses, rule, quantile, draws) for part in (before, after)]
    judged = [
        Worth(part, rule, quantile, tuple(measures), level, 500, seed, groups)
        for part in (before, after)
    ]
    summaries = [Summary(part, rule, quantile, together=True) for part in (before, after)]
    changes = []
    for measure in measures:
        was, now = (measure.compute(summary) for summary in summaries)
        if measure in losses:
            j = losses.index(measure)
            low, high = basic_limits(now - was, drawn[1][j] - drawn[0][j], level)
            changes.append(Change(measure.name, was, now, low, high))
        else:
            changes.append(_errors(measure, was, now, judged))
    return tuple(changes)


def _errors(measure: Measure, was: float, now: float, judged: list[Worth]) -> Change:
    before, after = judged[0].interval(measure, was), judged[1].interval(measure, now)
    floor = judged[1].noise_floor(measure, now)
    return Change(
        measure.name, was, now, before_limits=(before.low, before.high),
        after_limits=(after.low, after.high),
        after_noise_95=None if floor is None else floor.upper,
    )  # fmt: skip
