"""Recalibration maps side by side: each is fitted on one half of the rows and measured on the
other.

The map is marked that the rule of `recommend` chooses from all rows.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._api.cross_fitting import check_two_classes
from calibrant._api.curve_of_rows import reliability_table
from calibrant._api.report.map_choice import MapChoice, on_simplex, try_maps
from calibrant._api.rows import take_clusters
from calibrant._core.binning import Rule
from calibrant._core.errors import CalibrantError, CalibrantWarning, InputError, unnamed_text
from calibrant._core.typing import Array, Index
from calibrant._core.validation import N_RESAMPLES
from calibrant._data.samples import Samples
from calibrant._inference.means import influences, mean_limits, row_values
from calibrant._inference.uncertainty import Uncertainty
from calibrant._measures.catalogue import Measure, find, listed
from calibrant._summaries.samples import Summary
from calibrant.results._report import BeforeAfter, Change, method_in_words
from calibrant.scaling._beta import BetaCalibration
from calibrant.scaling._isotonic import IsotonicCalibration
from calibrant.scaling._linear import VectorScaling
from calibrant.scaling._platt import PlattScaling
from calibrant.scaling._prior_shift import PriorShift
from calibrant.scaling._quadratic import QuadraticScaling
from calibrant.scaling._scaler import Scaler
from calibrant.scaling._spline import SplineScaling
from calibrant.scaling._structured import StructuredMatrixScaling, StructuredVectorScaling
from calibrant.scaling._temperature import TemperatureScaling
from calibrant.scaling._venn_abers import VennAbers

# The fewest rows: halves of fewer are too small to fit and to judge a map.
FEWEST = 100
# Entries of predictions in each half from which a map of one or two parameters, and what it does,
# are known well enough: more change nothing that a reader would see.
ENTRIES = 250_000
REVERSES = " It reverses the order of the predictions: check whether labels are swapped."


@dataclass(frozen=True, eq=False)
class SideBySide:
    """What each map changes; `absent` says why none was chosen, `failed` which were not fitted."""

    maps: tuple[BeforeAfter, ...] = ()
    absent: str | None = None
    failed: str | None = None

    @property
    def chosen(self) -> BeforeAfter | None:
        """The changes by the map that was chosen; None if none was."""
        return next((each for each in self.maps if each.chosen), None)


def side_by_side(
    samples: Samples,
    rule: Rule,
    quantile: Rule,
    *,
    groups: Index | None,
    level: float,
    seed: int,
    names: tuple[str, ...] | None = None,
) -> SideBySide:
    """Fit maps on one half of the rows and measure them on the other.

    `names` are the maps to show, None for the usual ones; `rule` and `quantile` are the fixed bins
    and the quantile bins, and `groups` the number of each row's cluster, or None.
    """
    if samples.n < FEWEST:
        few = (
            f"There are {samples.n} rows, too few to fit a map on one half and evaluate it on the "
            "other."
        )
        return SideBySide(absent=few)
    fitted, rest, split = _halves(samples, groups, seed)
    if fitted.size < FEWEST // 2 or rest.size < FEWEST // 2:
        unequal = "The groups are too unequal to be split into two halves."
        return SideBySide(absent=unequal)
    most = max(1000, ENTRIES // samples.n_classes)
    if max(fitted.size, rest.size) > most:
        fitted, rest = fitted[:most], np.sort(rest[:most])
        split += f"; {most:,} rows of each half were used"
    training = samples.take(fitted)
    if samples.weights is not None and not all(
        float(samples.weights[half].sum()) > 0 for half in (fitted, rest)
    ):
        return SideBySide(absent="All weight is on a few rows, so one half has no weight.")
    try:
        check_two_classes(training)
    except InputError as error:
        return SideBySide(absent=f"No map can be fitted to one half of the rows: {error}.")
    choice = try_maps(samples, groups, names, seed)
    held_out = _HeldOut(
        samples.take(rest), rule, quantile, take_clusters(groups, rest), level, seed
    )
    maps, failed = [], []
    for name, scaler in choice.maps.items():
        try:
            maps.append(_fit_and_measure(scaler, training, held_out, choice, split))
        except CalibrantError as error:
            failed.append(f"{method_in_words(name)} could not be fitted: {str(error).rstrip('.')}.")
    if not maps:
        return SideBySide(absent="No map could be fitted. " + " ".join(failed))
    failed += [f"{note[0].upper()}{note[1:]}." for note in choice.notes]
    absent = None
    if choice.chosen is None:
        absent = f"No map was chosen. {choice.why}{_note_on_held_out(maps)}"
    return SideBySide(tuple(maps), absent, " ".join(failed) or None)


def _note_on_held_out(maps: list[BeforeAfter]) -> str:
    """A sentence on maps that help on the measured half alone, if none was chosen; else ""."""
    better = [each.method_name for each in maps if each.helps]
    if not better:
        return ""
    return (
        f" On the held-out half, {', '.join(better)} significantly lowers the Brier score; with "
        f"{len(maps)} maps, one may do so by chance."
    )


def _fit_and_measure(
    scaler: Scaler, training: Samples, held_out: _HeldOut, choice: MapChoice, split: str
) -> BeforeAfter:
    """Fit a map to the `training` half, and measure it on the other half.

    `split` says in words how the rows were divided.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scaler.fit(
            training.targets,
            on_simplex(training),
            sample_weight=training.weights,
            votes=training.votes,
        )
        before = held_out.samples
        after = replace(before, predictions=scaler.transform(on_simplex(before)), from_logits=False)
    name = type(scaler).__name__
    notes = tuple(
        unnamed_text(w.message) for w in caught if isinstance(w.message, CalibrantWarning)
    )
    changes = held_out.changes(after)
    reverses = not before.multiclass and _reverses(on_simplex(before), after.predictions)
    return BeforeAfter(
        method=name,
        learned=_describe_map(scaler),
        split=split,
        n_fitted=training.n,
        n_measured=before.n,
        changes=changes,
        before=held_out.table,
        after=reliability_table(Summary(after), held_out.rule),
        notes=notes,
        why=choice.why,
        tried=choice.scores,
        outcome=_outcome_in_words(changes) + (REVERSES if reverses else ""),
        chosen=name == choice.chosen,
        reverses=reverses,
    )


def _reverses(before: NDArray[Any], after: NDArray[Any]) -> bool:
    """Whether a map mostly reverses the order of predictions: a correlation below 0."""
    one, two = (each.astype(np.float64) - each.mean() for each in (before, after))
    return bool(one @ two < 0)


def _outcome_in_words(changes: tuple[Change, ...]) -> str:
    """A sentence on whether the map improves the Brier score of the measured half."""
    brier = next(change for change in changes if change.measure == "brier")
    assert brier.low is not None and brier.high is not None
    if brier.high < 0:
        return "On the held-out half it significantly improves the Brier score."
    if brier.low > 0:
        return "On the held-out half it significantly worsens the Brier score: do not use it."
    return "On the held-out half it does not significantly change the Brier score."


def _halves(samples: Samples, groups: Index | None, seed: int) -> tuple[Index, Index, str]:
    """The row numbers to fit on and to measure on, and words on how rows were divided.

    Both are in random order. All rows of a cluster are in one half.
    """
    rng = np.random.default_rng((seed, 10))
    if groups is None:
        order = rng.permutation(samples.n)
        half = samples.n // 2
        how = "rows split at random into two halves"
        return order[:half], order[half:], how
    n_groups = int(groups.max()) + 1
    chosen = rng.permutation(n_groups)[: n_groups // 2]
    is_fitted = np.isin(groups, chosen)
    how = "whole groups split at random into two halves"
    halves = [rng.permutation(np.flatnonzero(mask)) for mask in (is_fitted, ~is_fitted)]
    return halves[0], halves[1], how


def _describe_map(scaler: Any) -> str:
    """Say in words what a fitted map has learned, such as its temperature."""
    if isinstance(scaler, TemperatureScaling):
        shown = f"{scaler.temperature_:.4g}"
        if shown == "1":
            return "temperature 1: the predictions are unchanged"
        side = "less confident" if scaler.temperature_ > 1 else "more confident"
        return f"temperature {shown}: predictions become {side}"
    if isinstance(scaler, PlattScaling):
        slope, intercept = _only_parameter(scaler.slope_), _only_parameter(scaler.intercept_)
        return f"slope {slope:.4g} and intercept {intercept:.4g} on the logit scale"
    if isinstance(scaler, BetaCalibration):
        a, b, c = (_only_parameter(each) for each in (scaler.a_, scaler.b_, scaler.c_))
        return f"a = {a:.4g}, b = {b:.4g}, c = {c:.4g}"
    if isinstance(scaler, QuadraticScaling):
        b, c = (_only_parameter(each) for each in (scaler.slope_, scaler.curvature_))
        a = _only_parameter(scaler.intercept_)
        return f"{a:.4g} {b:+.4g} h {c:+.4g} h² of the logit h"
    if isinstance(scaler, StructuredVectorScaling | StructuredMatrixScaling):
        rest = "a factor" if scaler.coef_.ndim == 1 else "a matrix"
        return f"temperature {scaler.temperature_:.4g}, then {rest} and a bias, penalised"
    if isinstance(scaler, VectorScaling):
        return "a scale factor and a bias for the logit of each class"
    if isinstance(scaler, PriorShift):
        both = (scaler.source_prior_, scaler.prior_)
        if scaler.n_classes_ == 2:
            return "from a share of {:.3g} of class 1 to {:.3g}".format(*(one[1] for one in both))
        old, new = (", ".join(f"{share:.3g}" for share in each[:10]) for each in both)
        return f"from class shares of {old} to {new}"
    if isinstance(scaler, VennAbers):
        each = " for each class" if len(scaler.values_0_) > 1 else ""
        steps = " and ".join(_n_values(v) for v in (scaler.values_0_, scaler.values_1_))
        return f"two increasing step functions{each}, with {steps} values"
    if not hasattr(scaler, "values_"):
        return "a matrix and a bias, from all classes to each"
    each = " for each class" if len(scaler.values_) > 1 else ""
    if isinstance(scaler, IsotonicCalibration):
        return f"an increasing curve{each} through {_n_values(scaler.values_, 'value')}"
    if isinstance(scaler, SplineScaling):
        return f"an increasing spline of the logit{each}, with {_n_values(scaler.knots_, 'knot')}"
    return f"the mean target of each of {_n_values(scaler.values_, 'bin')}"


def _only_parameter(values: Any) -> float:
    """The first of the values as a number; one that is 0 up to rounding becomes 0."""
    value = float(np.ravel(values)[0])
    return 0.0 if abs(value) < 1e-12 else value


def _n_values(values: tuple[Array, ...], what: str = "") -> str:
    """The number of distinct values of a map, in words; a range if classes differ.

    `what` is the noun that follows the number, "" for none.
    """
    sizes = sorted({np.unique(each[~np.isnan(each)]).size for each in values})
    text = str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    return f"{text} {what}{'' if text == '1' else 's'}" if what else text


class _HeldOut:
    """The half of the rows that maps are measured on, with its measures before any map."""

    def __init__(
        self,
        samples: Samples,
        rule: Rule,
        quantile: Rule,
        groups: Index | None,
        level: float,
        seed: int,
    ) -> None:
        self.samples, self.rule, self.quantile = samples, rule, quantile
        self.groups, self.level, self.seed = groups, level, seed
        self.table = reliability_table(Summary(samples), rule)
        self.measures = tuple(listed("recalibration", samples.shape))
        # A map fitted to votes brings means of predictions to those of votes, and may move rows
        # away from their own distribution: both are shown.
        if samples.votes is not None:
            self.measures += (find("dist_ce", samples.shape),)
        self.values = self._measure_values(samples)
        self.losses = self._row_losses(samples)
        self.own = self._uncertainty(samples)

    def _measure_values(self, samples: Samples) -> dict[str, float]:
        """The value of each measure, by name."""
        summary = Summary(samples, self.rule, self.quantile, together=True)
        return {measure.name: measure.compute(summary) for measure in self.measures}

    def _row_losses(self, samples: Samples) -> dict[str, Array]:
        """The losses of each row by name, (n,); with votes, distances from the votes too."""
        losses = row_values(samples, distribution=False)
        if samples.votes is None:
            return losses
        return {**losses, **row_values(samples, distribution=True)}

    def _uncertainty(self, samples: Samples) -> Uncertainty:
        """The Uncertainty of these samples, which computes intervals and noise floors."""
        return Uncertainty(
            samples,
            self.rule,
            self.quantile,
            self.measures,
            self.level,
            N_RESAMPLES,
            self.seed,
            self.groups,
        )

    def changes(self, after: Samples) -> tuple[Change, ...]:
        """The change of each measure from the unchanged predictions to those `after` a map.

        A loss has an interval of its change; an error has an interval before and one after.
        """
        values, losses = self._measure_values(after), self._row_losses(after)
        own = self._uncertainty(after)
        return tuple(
            self._loss_change(measure, values[measure.name], losses, own)
            if measure.interval_method == "mean"
            else self._error_change(measure, values[measure.name], own)
            for measure in self.measures
        )

    def _loss_change(
        self, measure: Measure, now: float, losses: dict[str, Array], own: Uncertainty
    ) -> Change:
        """The change of a mean loss, with limits from the differences of rows.

        `now` is the loss after the map, `losses` are the row losses after it by name, and `own` is
        the uncertainty after it.
        """
        was = self.values[measure.name]
        apart = losses[measure.loss] - self.losses[measure.loss]
        weights = self.samples.weights
        w = None if weights is None else weights.astype(np.float64)
        low, high, _ = mean_limits(influences(apart, w, self.groups), self.level)
        after, before = own.losses(measure), self.own.losses(measure)
        if after is not None and before is not None:
            fewest, most = after.difference_limits(before, self.level)
            low, high = min(low, fewest), max(high, most)
        change = now - was
        return Change(measure.name, was, now, change + low, change + high, estimate=change)

    def _error_change(self, measure: Measure, now: float, own: Uncertainty) -> Change:
        """A calibration error before and after a map, each with its interval, and the floor after.

        `now` is the value after the map, and `own` the uncertainty after it.
        """
        floor = own.noise_floor(measure, now)
        was = self.values[measure.name]
        before, after = self.own.interval(measure, was), own.interval(measure, now)
        return Change(
            measure.name,
            was,
            now,
            before_limits=(before.low, before.high),
            after_limits=(after.low, after.high),
            after_noise_95=None if floor is None else floor.upper,
            before_estimate=before.estimate,
            after_estimate=after.estimate,
        )
