"""Uncertainty: confidence intervals of measures, each by the way that fits it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._inference.bootstrap import basic_limits
from calibrant._inference.decomposition import discrimination_limits, uncertainty_limits
from calibrant._inference.few_events import (
    Losses,
    n_certain,
    possible_targets,
    unseen_share,
    unseen_targets,
)
from calibrant._inference.gap_paths import GapPaths
from calibrant._inference.means import Influences, influences, mean_limits, moment_limits
from calibrant._inference.noise_floors import NoiseFloors
from calibrant._inference.numbers import FEW_EVENTS
from calibrant._inference.paired import Scatter
from calibrant._inference.readings import SlotReading, slot_reading
from calibrant._inference.resamples import draw_blocks, replicates
from calibrant._inference.rounding import NO_ERROR
from calibrant._inference.second_moments import second_moments
from calibrant._inference.slot_noise import FineSlots, SlotNoise
from calibrant._inference.squares import Square, diagonal_form, limits_of_square
from calibrant._inference.tails import upper_tail
from calibrant._inference.vote_limits import note_on_votes
from calibrant._measures.catalogue import Measure
from calibrant._measures.statistics import STATISTICS
from calibrant.results._uncertainty import Interval, estimand_of

Array = NDArray[np.float64]

SQUARED = "noncentral chi-square of the squared residuals"
INVERTED = "test inversion over a least-favourable family"
INVERTED_VOTES = f"{INVERTED}, the votes of these rows drawn anew"


@dataclass
class Uncertainty(NoiseFloors):
    """Intervals and noise floors of one set of samples; draws are shared between measures."""

    _wholes: dict[Any, Any] = field(default_factory=dict)

    # --- intervals -------------------------------------------------------------------------------

    def interval(self, measure: Measure, value: float) -> Interval:
        """A confidence interval for the true value."""
        key = ("interval", measure.name, value, self.level)
        if key not in self._wholes:
            self._wholes[key] = self._interval(measure, value)
        out: Interval = self._wholes[key]
        return out

    def _interval(self, measure: Measure, value: float) -> Interval:
        low, high, method, error, centre = self._limits(measure, value)
        end = (value if centre is None else centre) + self._unseen(measure, value)
        low, high = min(low, end), max(high, end)
        low = min(max(low, measure.low), measure.high)
        high = min(max(high, low), measure.high)
        low, high = self._beyond_certainty(measure, low, high)
        centre = value if centre is None else min(max(centre, low), high)
        notes = ["" if measure.interval_method == "influence" else self._note(measure)]
        notes.append(self.vote_note(measure))
        return Interval(
            measure.name, value, low, high, self.level, method, self.seed, error, centre,
            "; ".join(filter(None, notes)), self._estimand(measure),
        )  # fmt: skip

    # --- the noise of votes ----------------------------------------------------------------------

    def _takes_out_votes(self, measure: Measure) -> bool:
        """Whether noise of votes that is in the value is not to be in the limits."""
        return self.resampling == "both" and measure.votes_add

    def _bounded_by_votes(self, measure: Measure) -> bool:
        """Whether it is about what votes identify only in part."""
        return self.resampling != "rows" and measure.vote_model

    def _estimand(self, measure: Measure) -> str:
        """What an interval is about, where it is not what all are."""
        return estimand_of(self.resampling, of_labels=measure.votes_add) if self.soft else ""

    def vote_note(self, measure: Measure) -> str:
        """What to know about the noise of votes in a measure of these labels."""
        if not self.soft or not measure.votes_add:
            return ""
        return note_on_votes(measure, self.vote_rows, self.resampling)

    def without_vote_noise(self, measure: Measure, value: float) -> float:
        """The value against the distributions behind the votes, for these rows."""
        if self.resampling == "rows":
            return value
        of_bins = measure.interval_method == "inversion" and measure.vote_excess is None
        inverted = self._inverted(measure, value) if of_bins else None
        if inverted is not None and inverted[4] is not None:
            return inverted[4]
        return self.voted.estimate(measure, value)

    def _beyond_certainty(self, measure: Measure, low: float, high: float) -> tuple[float, float]:
        """An interval of no width at an end of a measure's range, with what so many rows without a
        single fault (or without a single row in order) cannot exclude.
        """
        if low < high or low not in (measure.low, measure.high) or math.isinf(measure.high):
            return low, high
        unseen = unseen_share(self.samples.n, self.level)
        room = (measure.high - measure.low) * unseen**measure.power
        return (low, low + room) if low == measure.low else (high - room, high)

    def _unseen(self, measure: Measure, value: float) -> float:
        """How far an error over all classes, or a distance, would move with as many misses as those
        that were seen allow, where they are rare: rows that are all right do not tell how either
        scatters.
        """
        of_votes = measure.statistic == "distribution" and self.votes is not None
        if not (STATISTICS[measure.statistic].over_classes or of_votes):
            return 0.0
        if self.soft and self.vote_rows is None:
            return 0.0
        key = ("unseen", self.level)
        if key not in self._wholes:
            self._wholes[key] = self._unseen_targets()
        targets = self._wholes[key]
        return 0.0 if targets is None else self._with_targets(measure, targets) - value

    def _with_targets(self, measure: Measure, targets: Array) -> float:
        """The measure with other targets (n, k)."""
        own = targets if self.samples.multiclass else np.ascontiguousarray(targets[:, 1])
        # As shares of votes: no wonder that certain predictions meet fractions.
        made_up = replace(self.samples, targets=own, votes=np.ones(self.samples.n, np.int64))
        return measure.compute(self.summary(made_up, measure))

    def with_rare_events(
        self, measure: Measure, value: float, level: float
    ) -> dict[tuple[str, float], float]:
        """How far an error moves with fewer and more of what is rare, as far as was seen of it."""
        if self.soft and self.vote_rows is None:
            return {}
        key = ("possible", level)
        if key not in self._wholes:
            votes = np.broadcast_to(1 if self.votes is None else self.votes, self.samples.n)
            self._wholes[key] = possible_targets(self.samples, votes, level)
        # Once for all that it is compared with.
        own = ("rare", measure.name, value, level)
        if own not in self._wholes:
            self._wholes[own] = {
                (kind, far): self._with_targets(measure, targets) - value
                for kind, far, targets in self._wholes[key]
            }
        out: dict[tuple[str, float], float] = self._wholes[own]
        return out

    def _unseen_targets(self) -> Array | None:
        votes = np.broadcast_to(1 if self.votes is None else self.votes, self.samples.n)
        z, u = self.plain_problem.z, self.plain_problem.u
        right = z if self.samples.multiclass else np.where(u > 0.5, z, 1.0 - z)
        hits, total = float(votes @ right), int(votes.sum())
        if min(hits, total - hits) >= FEW_EVENTS:
            return None
        return unseen_targets(self.samples, votes, self.level)

    def losses(self, measure: Measure) -> Losses | None:
        """The losses of hard labels, or distances from them, that a measure is a mean of."""
        of_labels = measure.statistic == "distribution" and self.votes is None
        if self.soft or not (measure.notion == "loss" or of_labels):
            return None
        # Which rows are misses, and whether those are few, is the same for every loss.
        key = ("losses",)
        if key not in self._wholes:
            values = self.made.row_values(distribution=False)
            self._wholes[key] = Losses.of(self.samples, measure.loss, values)
        of_any: Losses | None = self._wholes[key]
        return None if of_any is None else of_any._replace(loss=measure.loss)

    def _few_misses(self, measure: Measure) -> int | None:
        """How many top labels are wrong, where hardly any is, or all but a few are, and the measure
        is a loss of hard labels.
        """
        if self.soft or measure.notion != "loss":
            return None
        wrong = self.made.row_values(distribution=False)["classification"]
        misses = int(np.count_nonzero(wrong > 0.5))
        return misses if min(misses, self.samples.n - misses) < FEW_EVENTS else None

    def _note(self, measure: Measure) -> str:
        few = self.fewest_outcomes
        if few is not None and few < FEW_EVENTS:
            seen = "none" if few == 0 else str(few)
            return f"{seen} of the rarer outcome in these rows: the limits rest on the predictions"
        misses = self._few_misses(measure)
        if misses is None:
            return self._note_on_certain(measure)
        hits = self.samples.n - misses
        few, word = (misses, "wrong") if misses < hits else (hits, "right")
        seen = "none" if few == 0 else str(few)
        verb = "are" if few > 1 else "is"
        return f"{seen} of these rows {verb} {word}: the limits rest on the predictions"

    def _note_on_certain(self, measure: Measure) -> str:
        """What to know where a miss of an all but certain row would cost more than all others."""
        if self.soft or measure.loss != "log" or measure.notion != "loss":
            return ""
        certain = n_certain(self.made.row_values(distribution=False))
        if not certain:
            return ""
        rows = "1 prediction is" if certain == 1 else f"{certain:,} predictions are"
        return f"{rows} all but certain: the limits allow for misses of such that were not seen"

    def _limits(
        self, measure: Measure, value: float
    ) -> tuple[float, float, str, float | None, float | None]:
        """Limits, method, standard error of the value, and the estimate without its bias."""
        way = measure.interval_method
        if self._bounded_by_votes(measure):
            return self.voted.bounded(measure)
        if self.resampling == "votes" and way != "inversion":
            return self.voted.of_same_rows(measure, value)
        if way == "mean":
            low, high, error = mean_limits(self._influences(measure), self.level)
            if self._takes_out_votes(measure):
                value = self.voted.estimate(measure, value)
            losses = self.losses(measure)
            if losses is not None:
                fewest, most = losses.room(self.level)
                low, high = min(low, fewest), max(high, most)
            kind = "clusters" if self.groups is not None else "rows"
            return value + low, value + high, f"BCa limits of a mean of {kind}", error, value
        if way == "influence":
            return self._influenced(measure, value)
        if way == "rate" and self._takes_out_votes(measure):
            problem = self.plain_problem
            return self.voted.of_scattered(measure, value, problem.z, problem.w)
        if way == "rate":
            low, high = uncertainty_limits(self.plain_problem, self.groups, self.level)
            return low, high, "limits of the rate", None, value
        if way == "discrimination":
            low, high, estimate = discrimination_limits(
                self.plain_problem, self.plain_problem.fine_cells, self.blocks,
                self.few_draws, self.level, self.seed,
            )  # fmt: skip
            return low, high, INVERTED, None, estimate
        if way == "inversion" and measure.form and self.resampling != "votes":
            squared = self._squared(measure, value)
            if squared is not None:
                return squared
        if measure.gaps == "root" and self.resampling != "votes":
            rooted = self._rooted(measure)
            if rooted is not None:
                return rooted
        inverted = self._inverted(measure, value) if way == "inversion" else None
        if inverted is not None:
            return inverted
        if self.resampling == "votes":
            return self.voted.of_same_rows(measure, value)
        drawn = self._resampled(measure)
        kind = "clusters" if self.groups is not None else "rows"
        return (
            *basic_limits(value, drawn, self.level), f"basic bootstrap of {kind}",
            float(drawn.std(ddof=1)), None,
        )  # fmt: skip

    def _squared(
        self, measure: Measure, value: float
    ) -> tuple[float, float, str, float | None, float | None] | None:
        """Limits of a squared error in closed form; None where its bins drop rows."""
        reading = slot_reading(measure, self)
        if reading is None or reading.form is None:
            return None
        square = Square(second_moments((reading.slots,), self.blocks), reading.form)
        # A corrected error is larger than its population's: that is what its limits are about.
        shown = value if measure.of_population is None else square.value
        low, high, estimate = limits_of_square(square, shown, self.level)
        return low, high, SQUARED, square.standard_error, estimate

    def _rooted(
        self, measure: Measure
    ) -> tuple[float, float, str, float | None, float | None] | None:
        """Limits of the root of a mean of squared gaps: roots of those of the mean."""
        reading = slot_reading(measure, self)
        if reading is None:
            return None
        slots = reading.slots
        each = np.divide(
            slots.total, slots.weight, out=np.zeros(slots.size), where=slots.weight > 0
        )
        square = Square(second_moments((slots,), self.blocks), diagonal_form(each))
        low, high, estimate = (
            math.sqrt(end) for end in limits_of_square(square, square.value, self.level)
        )
        error = square.standard_error / (2.0 * max(estimate, math.sqrt(square.bias), NO_ERROR))
        return low, high, f"roots of limits: {SQUARED}", error, estimate

    def _influenced(
        self, measure: Measure, value: float
    ) -> tuple[float, float, str, float | None, float | None]:
        """Limits from what each row moves a share by, found on the logit scale, which takes up its
        skewness: near 0 and 1 a second correction for that would be one too many.
        """
        parts = self._moved(measure)
        kind = "clusters" if self.groups is not None else "rows"
        method = f"limits from what {kind} move it by (DeLong)"
        # What so few of the rarer outcome cannot exclude.
        unseen = unseen_share(parts.units, self.level)
        if not 0.0 < value < 1.0:
            low, high = (0.0, unseen) if value <= 0.0 else (1.0 - unseen, 1.0)
            return low, high, method, 0.0, value
        down, up, error = moment_limits(parts.variance, 0.0, parts.units, self.level)
        at, steep = math.log(value / (1.0 - value)), value * (1.0 - value)
        low, high = (1.0 / (1.0 + math.exp(min(-at - d / steep, 700.0))) for d in (down, up))
        # Rows of a kind that was not seen, of which predictions know nothing, rank in the middle.
        return min(low, 1.0 - unseen / 2.0), max(high, unseen / 2.0), method, error, value

    def _moved(self, measure: Measure) -> Influences:
        """What rows or clusters move a measure by that is no mean."""
        key = ("moved", measure.name)
        if key not in self._wholes:
            assert measure.moved is not None
            problem = self.plain_problem
            values, units = measure.moved(problem.levels[1], problem.z, problem.weights)
            own = influences(values, problem.w, self.groups)
            self._wholes[key] = replace(own, units=min(own.units, units))
        out: Influences = self._wholes[key]
        return out

    def _inverted(
        self, measure: Measure, value: float
    ) -> tuple[float, float, str, float | None, float | None] | None:
        """Limits by test inversion; None where a measure is not of slots."""
        reading = slot_reading(measure, self)
        if reading is None:
            return None
        paths = self.once(("paths", reading.key), lambda: self._paths(reading))
        largest = measure.gaps == "largest" and reading.fine is None
        found = paths.limits_of_largest if largest else paths.limits
        limits = found(reading.of_sample, reading.of_population, reading.seen, self.level)
        low, high, estimate = limits.low, limits.high, limits.estimate
        if self.resampling == "votes":
            if measure.vote_excess is not None:
                estimate = max(value - self.voted.rows.excess(measure), measure.low)
            return low, high, INVERTED_VOTES, limits.error, estimate
        # Whether the data differ from calibrated ones is what the noise floor tests.
        floor = self.null_values(measure) if low > 0.0 else None
        if floor is not None:
            p = upper_tail(floor[0], self.on_null_scale(measure, value))
            low = 0.0 if p > (1.0 - self.level) / 2.0 else low
        return low, high, INVERTED, limits.error, estimate

    def _paths(self, reading: SlotReading) -> GapPaths:
        fine = None
        if reading.fine is not None:
            assert reading.parents is not None
            fine = FineSlots((reading.fine,), (reading.parents,), (self.blocks,))
        n_draws = self.many_draws if fine is None else self.few_draws
        moments = second_moments((reading.slots,), self.blocks)
        return GapPaths(SlotNoise(moments, n_draws, self.seed, fine))

    def _influences(self, measure: Measure) -> Influences:
        """What rows or clusters move a mean by."""
        distribution = measure.statistic == "distribution"
        weights = self.samples.weights
        w = None if weights is None else weights.astype(np.float64)
        values = self.made.row_values(distribution=distribution)[measure.loss]
        if self._takes_out_votes(measure):
            values = self.voted.rows.corrected(measure)
        return influences(values, w, self.groups)

    def _resampled(self, measure: Measure) -> Array:
        """The measure's value in resamples of the rows, for one that has no family."""
        if measure.name not in self._wholes:
            draws = draw_blocks(self.samples.n, self.few_draws, self.seed, self.groups)
            self._wholes[measure.name] = replicates(
                self.samples, measure, self.fixed, self.quantile, draws
            )
        out: Array = self._wholes[measure.name]
        return out

    # --- what a pair of predictors has in common -------------------------------------------------

    def scatter(self, measure: Measure, value: float) -> Scatter:
        """How the measure of a sample scatters about its true value, resample by resample: the same
        resamples for every predictor on the same rows.
        """
        by_votes = self.resampling == "votes" and measure.interval_method != "inversion"
        if by_votes or self._bounded_by_votes(measure):
            return self.voted.scatter(measure, value)
        if measure.interval_method in ("mean", "influence"):
            mean = measure.interval_method == "mean"
            parts = self._influences(measure) if mean else self._moved(measure)
            if self.groups is None:
                parts = parts.in_blocks(self.blocks.index, self.blocks.size)
            excess = 0.0
            if self._takes_out_votes(measure):
                excess = value - self.voted.estimate(measure, value)
            losses = self.losses(measure) if mean else None
            alone = None if mean else partial(self.alone, measure, value)
            order = None if mean else self.plain_problem.levels[1]
            return Scatter(parts, None, alone=alone, order=order, excess=excess, losses=losses)
        drawn = self._resampled(measure)
        return Scatter(None, (drawn - drawn.mean())[None])

    def alone(self, measure: Measure, value: float, level: float) -> tuple[float, float, float]:
        """Limits of the measure at a level, and its estimate."""
        at_level = self if level == self.level else replace(self, level=level)
        alone = at_level.interval(measure, value)
        return alone.low, alone.high, value if alone.estimate is None else alone.estimate
