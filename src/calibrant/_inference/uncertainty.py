"""Uncertainty: confidence intervals of measures, by the method that fits each, and their widenings.

A widening makes an interval cover what the rows cannot show. Each has a name, which the interval
records, its reason, its source, and the line of `benchmarks/coverage.py` that shows its effect.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from calibrant._core.errors import NotDefined
from calibrant._core.typing import Array
from calibrant._inference.few_events import (
    Losses,
    count_certain_rows,
    possible_targets,
    unseen_share,
    unseen_targets,
)
from calibrant._inference.limits import Limits
from calibrant._inference.methods import (
    find_limits,
    mean_influences,
    ranking_influences,
    replicates_of,
)
from calibrant._inference.noise_floors import NoiseFloors
from calibrant._inference.numbers import FEW_EVENTS, NOTABLE_STUDENT
from calibrant._inference.paired import SamplingErrors
from calibrant._inference.vote_limits import note_on_votes
from calibrant._measures.catalogue import Measure
from calibrant._measures.statistics import STATISTICS
from calibrant.results._uncertainty import Interval, estimand_of


@dataclass
class Uncertainty(NoiseFloors):
    """Intervals and noise floors of one set of samples; draws are shared between measures."""

    def interval(self, measure: Measure, value: float) -> Interval:
        """The confidence interval of a measure's true value, given its observed `value`; computed
        once.
        """
        key = ("interval", measure.name, value, self.level)
        return self.once(key, lambda: self._interval(measure, value))

    def _interval(self, measure: Measure, value: float) -> Interval:
        """The confidence interval: limits by the measure's method, widened, kept within the
        measure's range, and with its notes.
        """
        limits = find_limits(self, measure, value)
        centre = value if limits.estimate is None else limits.estimate
        # The printed estimate must lie within the limits.
        limits = limits.covering(centre).within(measure.low, measure.high)
        limits, applied = apply_widenings(self, measure, value, limits)
        limits = limits.within(measure.low, measure.high)
        notes = ["" if measure.interval_method == "influence" else self._rare_note(measure)]
        notes.append(self.vote_note(measure))
        return Interval(
            measure.name,
            value,
            limits.low,
            limits.high,
            self.level,
            limits.method,
            self.seed,
            limits.error,
            min(max(centre, limits.low), limits.high),
            "; ".join(filter(None, notes)),
            self._estimand(measure),
            applied,
        )

    # --- the noise of votes ----------------------------------------------------------------------

    def _estimand(self, measure: Measure) -> str:
        """What an interval of soft labels is about, in words; "" for hard labels."""
        return estimand_of(self.resampling, of_labels=measure.votes_add) if self.soft else ""

    def vote_note(self, measure: Measure) -> str:
        """The note on the noise of votes in a measure of soft labels; "" where there is none."""
        if not self.soft or not measure.votes_add:
            return ""
        return note_on_votes(measure, self.vote_rows, self.resampling)

    def without_vote_noise(self, measure: Measure, value: float) -> float:
        """The estimate of the measure against the label distributions: exact for these very rows
        where the noise of votes has a formula, else the interval's estimate.
        """
        if measure.vote_excess is not None:
            return self.voted.estimate(measure, value)
        return self.interval(measure, value).estimate

    # --- rare events -----------------------------------------------------------------------------

    def with_rare_events(
        self, measure: Measure, value: float, level: float
    ) -> dict[tuple[str, float], float]:
        """How much an error changes if rare events, or misses, are as few or as many as the
        observed ones allow.

        The keys are the kind of event ("misses" or "events"), and how far its number is towards its
        lower limit (-1) or its upper one (1). Empty where no event is rare, and for soft labels
        without votes.
        """
        if self.soft and self.vote_rows is None:
            return {}

        def possible() -> Any:
            """The targets with fewer and with more rare events, as `possible_targets`
            gives them.
            """
            return possible_targets(self.samples, self.votes_of_rows, level)

        def make() -> dict[tuple[str, float], float]:
            """The changes of the value, by kind of event and how far towards its limits."""
            return {
                (kind, far): self.value_with_targets(measure, targets) - value
                for kind, far, targets in self.once(("possible", level), possible)
            }

        # Kept, since a predictor is compared with several others.
        return self.once(("rare", measure.name, value, level), make)

    def losses(self, measure: Measure) -> Losses | None:
        """The losses of hard labels, or distances from them, that a measure is a mean of; None for
        other measures and for soft labels.
        """
        of_labels = measure.statistic == "distribution" and self.votes is None
        if self.soft or not (measure.notion == "loss" or of_labels):
            return None

        # Which rows are misses, and whether these are few, is the same for every loss.
        def make() -> Losses | None:
            """The losses of the rows under this measure's name; None for soft labels."""
            values = self.problems.row_values(distribution=False)
            return Losses.from_samples(self.samples, measure.loss, values, self.problems.counts)

        losses: Losses | None = self.once("losses", make)
        return None if losses is None else losses._replace(loss=measure.loss)

    def value_with_targets(self, measure: Measure, targets: Array) -> float:
        """The measure's value if the rows had other targets, (n, k)."""
        own = targets if self.samples.multiclass else np.ascontiguousarray(targets[:, 1])
        # As shares of votes: fractions beside certain predictions are then no input error.
        changed = replace(self.samples, targets=own, votes=np.ones(self.samples.n, np.int64))
        return measure.compute(self.summary(changed, measure))

    def _rare_note(self, measure: Measure) -> str:
        """The note of an interval where an outcome, or a miss, is rare, or a miss would be
        extremely costly; "" elsewhere.
        """
        few = self.fewest_outcomes
        if few is not None and few < FEW_EVENTS:
            number = "none" if few == 0 else str(few)
            return (
                f"{number} of the rarer outcome in these rows: the interval relies on the "
                "predictions"
            )
        if self.soft or measure.notion != "loss":
            return ""
        values = self.problems.row_values(distribution=False)
        misses = self.count_rows(values["classification"] > 0.5)
        hits = self.n_rows - misses
        if min(misses, hits) < FEW_EVENTS:
            few, word = (misses, "wrong") if misses < hits else (hits, "right")
            number, verb = "none" if few == 0 else str(few), "are" if few > 1 else "is"
            return f"{number} of these rows {verb} {word}: the interval relies on the predictions"
        # One miss of an all but certain prediction would cost more than all other rows.
        counts = self.problems.counts
        certain = count_certain_rows(values, counts) if measure.loss == "log" else 0
        if not certain:
            return ""
        rows = "1 prediction is" if certain == 1 else f"{certain:,} predictions are"
        return (
            f"{rows} nearly certain: the interval allows for unseen errors among near-certain "
            "predictions"
        )

    # --- differences of predictors ---------------------------------------------------------------

    def sampling_errors(self, measure: Measure, value: float) -> SamplingErrors:
        """How the measure varies about its true value, for differences of predictors. Predictors on
        the same rows share blocks and resamples.
        """
        if measure.parts is not None and self.resampling != "rows":
            raise NotDefined(
                f"{measure.name} has no interval for a difference of predictors without vote "
                "noise. Use resample='rows' for one against the given labels"
            )
        by_votes = self.resampling == "votes" and measure.interval_method != "inversion"
        if by_votes or (self.resampling != "rows" and measure.vote_model):
            return self.voted.sampling_errors(measure, value)
        if measure.interval_method in ("mean", "influence"):
            mean = measure.interval_method == "mean"
            parts = mean_influences(self, measure) if mean else ranking_influences(self, measure)
            if self.groups is None and self.counts is None:
                parts = parts.in_blocks(self.blocks.index, self.blocks.size)
            excess = 0.0
            if self.removes_vote_noise(measure):
                excess = value - self.voted.estimate(measure, value)
            if mean:
                return SamplingErrors(parts, excess=excess, losses=self.losses(measure))
            single_limits = partial(self.single_limits, measure, value)
            order = self.plain_problem.levels[1]
            return SamplingErrors(parts, single_limits=single_limits, order=order, excess=excess)
        drawn = replicates_of(self, measure)
        return SamplingErrors(errors=drawn - drawn.mean())

    def single_limits(
        self, measure: Measure, value: float, level: float
    ) -> tuple[float, float, float]:
        """The lower limit, the upper limit and the estimate of the measure alone, at this level."""
        at_level = self if level == self.level else replace(self, level=level)
        interval = at_level.interval(measure, value)
        estimate = value if interval.estimate is None else interval.estimate
        return interval.low, interval.high, estimate


# --- widenings ------------------------------------------------------------------------------------

Widen = Callable[[Uncertainty, Measure, float, Limits], tuple[float, float]]


@dataclass(frozen=True)
class Widening:
    """A reason to widen limits, with its reference and the command that shows its effect.

    `widen` gives a low and a high that the final limits must cover; where the reason does not
    apply, these are the limits that it was given.
    """

    name: str
    reason: str
    reference: str
    command: str
    widen: Widen


def apply_widenings(
    rows: Uncertainty, measure: Measure, value: float, limits: Limits
) -> tuple[Limits, tuple[str, ...]]:
    """The limits after all widenings, and the names of those that changed them. "few clusters" is
    named too where clusters are few; it changes no limits here.
    """
    applied = []
    for each in WIDENINGS:
        low, high = each.widen(rows, measure, value, limits)
        if low < limits.low or high > limits.high:
            applied.append(each.name)
            limits = replace(limits, low=min(low, limits.low), high=max(high, limits.high))
    if rows.groups is not None and rows.blocks.student(rows.samples.weights) > NOTABLE_STUDENT:
        applied.append(FEW_CLUSTERS)
    return limits, tuple(applied)


FEW_CLUSTERS = "few clusters"


def _few_events(
    rows: Uncertainty, measure: Measure, value: float, limits: Limits
) -> tuple[float, float]:
    """The low and high of a mean loss by the Poisson interval of the number of events; the given
    limits for other measures and for soft labels.
    """
    if measure.interval_method != "mean":
        return limits.low, limits.high
    losses = rows.losses(measure)
    if losses is None or limits.estimate is None:
        return limits.low, limits.high
    least, most = losses.limits(rows.level)
    return limits.estimate + least, limits.estimate + most


def _targets_of_unseen_misses(rows: Uncertainty) -> Array | None:
    """Targets (n, k) with as many misses as the observed number allows; None where neither misses
    nor hits are few.
    """
    votes = rows.votes_of_rows
    z, u = rows.plain_problem.z, rows.plain_problem.u
    right = z if rows.samples.multiclass else np.where(u > 0.5, z, 1.0 - z)
    hits, total = float(votes @ right), int(votes.sum())
    if min(hits, total - hits) >= FEW_EVENTS:
        return None
    return unseen_targets(rows.samples, votes, rows.level)


def _unseen_misses(
    rows: Uncertainty, measure: Measure, value: float, limits: Limits
) -> tuple[float, float]:
    """The value with as many misses as the observed number allows, as low and as high, for an error
    over all classes or a distance from votes; the given limits elsewhere.
    """
    of_votes = measure.statistic == "distribution" and rows.votes is not None
    no_votes = rows.soft and rows.vote_rows is None
    if no_votes or not (STATISTICS[measure.statistic].over_classes or of_votes):
        return limits.low, limits.high
    targets = rows.once(("unseen", rows.level), lambda: _targets_of_unseen_misses(rows))
    if targets is None:
        return limits.low, limits.high
    centre = value if limits.estimate is None else limits.estimate
    end = centre + rows.value_with_targets(measure, targets) - value
    return end, end


def _unseen_kinds(
    rows: Uncertainty, measure: Measure, value: float, limits: Limits
) -> tuple[float, float]:
    """The low and high of a measure of ranking if the largest share of rows that a sample may miss
    were of another kind; the given limits for other measures.
    """
    if measure.interval_method != "influence" or rows.resampling == "votes":
        return limits.low, limits.high
    share = unseen_share(ranking_influences(rows, measure).units, rows.level)
    if value <= 0.0 or value >= 1.0:
        return (0.0, share) if value <= 0.0 else (1.0 - share, 1.0)
    # Rows of which the predictions know nothing are ranked at random.
    return 1.0 - share / 2.0, share / 2.0


def _all_alike(
    rows: Uncertainty, measure: Measure, value: float, limits: Limits
) -> tuple[float, float]:
    """The low and high of an interval of no width at an end of the measure's range, widened by the
    largest share of rows that a sample may miss; other intervals are unchanged.
    """
    low, high = limits.low, limits.high
    if low < high or low not in (measure.low, measure.high) or math.isinf(measure.high):
        return low, high
    share = unseen_share(rows.n_rows, rows.level)
    width = (measure.high - measure.low) * share**measure.power
    return (low, low + width) if low == measure.low else (high - width, high)


WIDENINGS = (
    Widening(
        "few events",
        "few events (or errors) do not determine the variance of a mean loss: their number gets a "
        "Poisson interval, and each costs what the observed ones and the predictions imply",
        "Garwood (1936), doi:10.1093/biomet/28.3-4.437",
        "python benchmarks/coverage.py found rare --singles --measures log_loss brier",
        _few_events,
    ),
    Widening(
        "unseen misses",
        "nearly perfect rows do not determine the variance of an error over all classes: it is "
        "also computed with the largest plausible number of errors",
        "Garwood (1936), doi:10.1093/biomet/28.3-4.437",
        'python benchmarks/coverage.py "many classes" --singles --measures classwise_ece',
        _unseen_misses,
    ),
    Widening(
        "unseen kinds",
        "the sample may miss a share of rows of another kind, which the predictions rank at random",
        "Clopper and Pearson (1934), doi:10.1093/biomet/26.4.404",
        "python benchmarks/coverage.py rare --singles --measures auroc",
        _unseen_kinds,
    ),
    Widening(
        "all rows alike",
        "rows without a single error do not exclude one: an interval of zero width at the end of "
        "a measure's range is widened by the share of rows that a sample this size may miss",
        "Clopper and Pearson (1934), doi:10.1093/biomet/26.4.404",
        'python benchmarks/coverage.py found --world "nearly all sure" --singles --rows 300',
        _all_alike,
    ),
)
