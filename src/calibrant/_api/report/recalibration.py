"""Before and after: a recalibration map chosen and fitted on one half of the rows, measured on the
other.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.binning import Rule
from calibrant._core.errors import CalibrantError, CalibrantWarning
from calibrant._core.validation import N_RESAMPLES
from calibrant._data.links import LOG_FLOOR
from calibrant._data.samples import Samples
from calibrant._inference.bootstrap import basic_limits
from calibrant._inference.paired import draw_blocks, replicates
from calibrant._inference.uncertainty import Uncertainty
from calibrant._measures.catalogue import Measure, listed
from calibrant._summaries.samples import Summary
from calibrant.results._reliability import ReliabilityTable
from calibrant.results._report import BeforeAfter, Change, spoken
from calibrant.scaling._beta import BetaCalibration
from calibrant.scaling._histogram import HistogramBinning
from calibrant.scaling._isotonic import IsotonicCalibration
from calibrant.scaling._platt import PlattScaling
from calibrant.scaling._predictions import to_predictions
from calibrant.scaling._scaler import Scaler
from calibrant.scaling._temperature import TemperatureScaling
from calibrant.scaling._vector import VectorScaling

# Half of fewer rows is too few to fit on, and too few to judge on.
FEWEST = 100
# Entries of predictions in each half from which a map of one or two parameters, and what it does,
# are known well enough: more change nothing that a reader would see.
ENTRIES = 250_000
# Entries on which maps are tried before one is chosen: each is fitted several times.
TRIED = 20_000
# Rows a class that a map with parameters for each class needs, and classes that it may have.
ROWS_A_CLASS, MOST_CLASSES = 20, 100
AS_THEY_ARE = "as they are"


def before_after(
    samples: Samples, rule: Rule, quantile: Rule, *, groups: NDArray[np.intp] | None,
    level: float, seed: int,
) -> BeforeAfter | str:  # fmt: skip
    """What the map that suits the rows best would do, or why there is none."""
    if samples.n < FEWEST:
        return f"There are {samples.n} rows: half of them are too few to fit a map and to judge it."
    fitted, rest, split = _halves(samples, groups, seed)
    if fitted.size < FEWEST // 2 or rest.size < FEWEST // 2:
        return "The groups are so unequal that no two halves of them can be made."
    most = max(1000, ENTRIES // samples.n_classes)
    if max(fitted.size, rest.size) > most:
        fitted, rest = fitted[:most], np.sort(rest[:most])
        split += f"; {most:,} rows of each half are enough here"
    training, before = samples.take(fitted), samples.take(rest)
    trial = _tried(training, _renumbered(groups, fitted))
    if trial.chosen is None:
        return f"No map helps enough. {trial.why}"
    scaler = trial.chosen
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            scaler.fit(training.targets, _plain(training), sample_weight=training.weights)
            after = replace(before, predictions=scaler.transform(_plain(before)), from_logits=False)
    except CalibrantError as error:
        return f"No map could be fitted: {error}"
    notes = tuple(str(w.message) for w in caught if issubclass(w.category, CalibrantWarning))
    changes = _changes(before, after, rule, quantile, _renumbered(groups, rest), level, seed)
    return BeforeAfter(
        type(scaler).__name__, _learned(scaler), split, int(fitted.size), int(rest.size), changes,
        _table(before, rule), _table(after, rule), notes, trial.why, trial.scores,
        _outcome(changes),
    )  # fmt: skip


# --- the choice of a map ----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Trial:
    """The map that was chosen, None if none helps; why; and the Brier score of each on rows that
    it was not fitted to.
    """

    chosen: Scaler | None
    why: str
    scores: dict[str, float]


def _candidates(samples: Samples) -> list[Scaler]:
    """The maps that may be chosen, the simplest first."""
    logits = samples.from_logits
    if not samples.multiclass:
        return [
            PlattScaling(from_logits=logits), BetaCalibration(from_logits=logits),
            IsotonicCalibration(from_logits=logits), HistogramBinning(from_logits=logits),
        ]  # fmt: skip
    out: list[Scaler] = [TemperatureScaling(from_logits=logits)]
    k = samples.n_classes
    if k <= MOST_CLASSES and samples.n >= ROWS_A_CLASS * k:
        out += [VectorScaling(from_logits=logits), IsotonicCalibration(from_logits=logits)]
    return out


def _tried(samples: Samples, groups: NDArray[np.intp] | None) -> _Trial:
    """The simplest map that is as good as the best, by Brier score on rows of other folds.

    The Brier score, because the log loss of certainties that were wrong is what its floor makes it:
    by that loss any map that takes them back helps, whatever it does to all other rows. So a map
    must raise neither, and lower one of them by more than chance easily does.
    """
    most = max(1000, TRIED // samples.n_classes)
    rows = samples.take(np.arange(min(samples.n, most)))
    groups = None if groups is None else _renumbered(groups, np.arange(rows.n))
    own = to_predictions(_plain(rows), from_logits=rows.from_logits).probabilities()
    losses = {AS_THEY_ARE: _losses(own, rows)}
    maps = {}
    # Certainties that were wrong bend maps that are fitted to logarithms: those come last.
    bent = bool((losses[AS_THEY_ARE][1] >= -0.999 * np.log(LOG_FLOOR)).any())
    for scaler in sorted(_candidates(rows), key=lambda each: bent and each._of_logarithms):
        mapped = _cross_fitted(scaler, rows, groups)
        if mapped is not None:
            name = type(scaler).__name__
            maps[name], losses[name] = scaler, _losses(mapped, rows)
    weights = np.ones(rows.n) if rows.weights is None else rows.weights.astype(np.float64)
    scores = {name: float(weights @ loss[0] / weights.sum()) for name, loss in losses.items()}

    def behind(one: str, other: str, which: int) -> float:
        """By how much one's loss is above the other's, in standard errors."""
        return _in_errors(losses[one][which] - losses[other][which], weights, groups)

    harmless = [
        name for name in maps
        if scores[name] <= scores[AS_THEY_ARE] and behind(name, AS_THEY_ARE, 1) <= 1
    ]  # fmt: skip
    best = min([AS_THEY_ARE, *harmless], key=lambda name: scores[name])
    # Nested maps differ by very little: a simpler one is given up for a clear gain only.
    chosen = next((name for name in harmless if behind(name, best, 0) <= 2), AS_THEY_ARE)
    # No map at all is given up for less, for the other half will tell whether it helps.
    if behind(AS_THEY_ARE, chosen, 0) <= 0.5 and behind(AS_THEY_ARE, chosen, 1) <= 1:
        chosen = AS_THEY_ARE
    tried = ", ".join(f"{spoken(name)} {scores[name]:.4f}" for name in losses)
    how = f"Brier score on rows of the fitted half that a map was not fitted to: {tried}"
    if chosen == AS_THEY_ARE:
        why = f"None of those tried is clearly better than the predictions as they are ({how})."
        return _Trial(None, why, scores)
    why = f"Chosen as the simplest of those within two standard errors of the best ({how})."
    return _Trial(maps[chosen], why, scores)


def _cross_fitted(
    scaler: Scaler, samples: Samples, groups: NDArray[np.intp] | None
) -> NDArray[np.float64] | None:
    """Each row's prediction through a map that was fitted to the other folds; None if one fails."""
    n_folds = 2 if samples.n > 2000 else 5
    # The rows are in random order already; a group is in one fold.
    fold = (np.arange(samples.n) if groups is None else groups) % n_folds
    out = np.zeros(samples.predictions.shape)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for j in range(n_folds):
                rest = samples.take(np.flatnonzero(fold != j))
                here = samples.take(np.flatnonzero(fold == j))
                scaler.fit(rest.targets, _plain(rest), sample_weight=rest.weights)
                out[fold == j] = scaler.transform(_plain(here))
    except CalibrantError:
        return None
    return out


def _losses(proba: NDArray[np.float64], samples: Samples) -> NDArray[np.float64]:
    """Each row's Brier score and log loss."""
    targets = samples.targets.astype(np.float64)
    if samples.multiclass and targets.ndim == 1:
        targets = np.eye(samples.n_classes)[samples.targets.astype(np.int64)]
    elif not samples.multiclass:
        proba, targets = np.stack([1 - proba, proba], 1), np.stack([1 - targets, targets], 1)
    brier = ((proba - targets) ** 2).sum(axis=1)
    log = -(targets * np.log(np.maximum(proba, LOG_FLOOR))).sum(axis=1)
    return np.stack([brier if samples.multiclass else brier / 2, log])


def _in_errors(
    difference: NDArray[np.float64], weights: NDArray[np.float64], groups: NDArray[np.intp] | None
) -> float:
    """A mean difference over its standard error, rows of one group together."""
    total = float(weights @ difference)
    deviations = weights * (difference - total / weights.sum())
    if groups is not None:
        deviations = np.bincount(groups, deviations)
    error = float(np.sqrt((deviations**2).sum()))
    if error <= 1e-12 * (1.0 + abs(total)):
        return 0.0 if abs(total) <= error else float(np.sign(total)) * np.inf
    return total / error


def _outcome(changes: tuple[Change, ...]) -> str:
    """Whether it helps, on the half that neither fit nor choice has used."""
    brier = next(change for change in changes if change.measure == "brier")
    assert brier.low is not None and brier.high is not None
    if brier.high < 0:
        return "On the measured half it makes the Brier score clearly better."
    if brier.low > 0:
        return "On the measured half it makes the Brier score clearly worse: do not use it."
    return "On the measured half it makes no clear difference to the Brier score."


def _halves(
    samples: Samples, groups: NDArray[np.intp] | None, seed: int
) -> tuple[NDArray[np.intp], NDArray[np.intp], str]:
    """Rows to fit on and rows to judge on, both in random order."""
    rng = np.random.default_rng((seed, 10))
    if groups is None:
        order = rng.permutation(samples.n)
        half = samples.n // 2
        how = "rows dealt at random into two halves"
        return order[:half], order[half:], how
    n_groups = int(groups.max()) + 1
    chosen = rng.permutation(n_groups)[: n_groups // 2]
    is_fitted = np.isin(groups, chosen)
    how = "whole groups dealt at random into two halves"
    halves = [rng.permutation(np.flatnonzero(mask)) for mask in (is_fitted, ~is_fitted)]
    return halves[0], halves[1], how


def _renumbered(groups: NDArray[np.intp] | None, rows: NDArray[np.intp]) -> NDArray[np.intp] | None:
    """The groups of some rows, numbered anew."""
    if groups is None:
        return None
    return np.unique(groups[rows], return_inverse=True)[1].astype(np.intp)


def _plain(samples: Samples) -> NDArray[Any]:
    """Predictions that a map takes: rows which half precision rounded off the simplex are put
    back.
    """
    if samples.from_logits or not samples.multiclass:
        return samples.predictions
    rows = np.clip(samples.predictions.astype(np.float64), 0.0, 1.0)
    out: NDArray[np.float64] = rows / rows.sum(axis=1, keepdims=True)
    return out


def _learned(scaler: Any) -> str:
    if isinstance(scaler, TemperatureScaling):
        side = "less sure" if scaler.temperature_ > 1 else "surer"
        return f"temperature {scaler.temperature_:.4g}: the predictions are made {side}"
    if isinstance(scaler, PlattScaling):
        slope, intercept = np.ravel(scaler.slope_)[0], np.ravel(scaler.intercept_)[0]
        return f"slope {slope:.4g} and intercept {intercept:.4g} on the logit scale"
    if isinstance(scaler, BetaCalibration):
        a, b, c = (float(np.ravel(each)[0]) for each in (scaler.a_, scaler.b_, scaler.c_))
        return f"a = {a:.4g}, b = {b:.4g}, c = {c:.4g}"
    if isinstance(scaler, VectorScaling):
        return "a factor and a bias for the logit of each class"
    each = " for each class" if len(scaler.values_) > 1 else ""
    if isinstance(scaler, IsotonicCalibration):
        return f"an increasing curve{each} through {_counted(scaler.values_)} values"
    return f"the mean target of each of {_counted(scaler.values_)} bins"


def _counted(values: tuple[NDArray[np.float64], ...]) -> str:
    sizes = sorted({np.unique(each[~np.isnan(each)]).size for each in values})
    return str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"


def _table(samples: Samples, rule: Rule) -> ReliabilityTable:
    summary = Summary(samples)
    table, cuts = summary.table_with_cuts(summary.scalar, rule)
    return ReliabilityTable(table, rule, cuts, summary.scalar)


def _changes(
    before: Samples, after: Samples, rule: Rule, quantile: Rule,
    groups: NDArray[np.intp] | None, level: float, seed: int,
) -> tuple[Change, ...]:  # fmt: skip
    shape = before.shape
    measures = list(listed("recalibration", shape))
    losses = tuple(m for m in measures if m.statistic == "losses")
    draws = draw_blocks(before.n, N_RESAMPLES, seed, groups, before.weights)
    drawn = [replicates(rows, losses, rule, quantile, draws) for rows in (before, after)]
    uncertainties = [
        Uncertainty(rows, rule, quantile, tuple(measures), level, N_RESAMPLES, seed, groups)
        for rows in (before, after)
    ]
    summaries = [Summary(rows, rule, quantile, together=True) for rows in (before, after)]
    changes = []
    for measure in measures:
        was, now = (measure.compute(summary) for summary in summaries)
        if measure in losses:
            j = losses.index(measure)
            low, high = basic_limits(now - was, drawn[1][j] - drawn[0][j], level)
            changes.append(Change(measure.name, was, now, low, high))
        else:
            changes.append(_errors(measure, was, now, uncertainties))
    return tuple(changes)


def _errors(measure: Measure, was: float, now: float, uncertainties: list[Uncertainty]) -> Change:
    before, after = uncertainties[0].interval(measure, was), uncertainties[1].interval(measure, now)
    floor = uncertainties[1].noise_floor(measure, now)
    return Change(
        measure.name, was, now, before_limits=(before.low, before.high),
        after_limits=(after.low, after.high),
        after_noise_95=None if floor is None else floor.upper,
    )  # fmt: skip
