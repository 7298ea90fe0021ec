"""Uncertainty: confidence intervals of measures, each by the method that fits it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from calibrant._inference.few_events import Losses, n_certain, possible_targets
from calibrant._inference.methods import (
    Found,
    absolute,
    find_limits,
    influences_of,
    moved_by,
    replicates_of,
)
from calibrant._inference.noise_floors import NoiseFloors
from calibrant._inference.numbers import FEW_EVENTS
from calibrant._inference.paired import Scatter
from calibrant._inference.vote_limits import note_on_votes
from calibrant._inference.widenings import losses_of, widened, with_targets
from calibrant._measures.catalogue import Measure
from calibrant.results._uncertainty import Interval, estimand_of


@dataclass
class Uncertainty(NoiseFloors):
    """Intervals and noise floors of one set of samples; draws are shared between measures."""

    def interval(self, measure: Measure, value: float) -> Interval:
        """A confidence interval for the true value."""
        key = ("interval", measure.name, value, self.level)
        return self.once(key, lambda: self._interval(measure, value))

    def _interval(self, measure: Measure, value: float) -> Interval:
        found = find_limits(self, measure, value)
        centre = value if found.estimate is None else found.estimate
        # No value stands beside limits that exclude it.
        found = replace(found, low=min(found.low, centre), high=max(found.high, centre))
        found, acted = widened(self, measure, value, _in_range(found, measure))
        found = _in_range(found, measure)
        notes = ["" if measure.interval_method == "influence" else self._note(measure)]
        notes.append(self.vote_note(measure))
        return Interval(
            measure.name,
            value,
            found.low,
            found.high,
            self.level,
            found.method,
            self.seed,
            found.error,
            min(max(centre, found.low), found.high),
            "; ".join(filter(None, notes)),
            self._estimand(measure),
            acted,
        )

    # --- the noise of votes ----------------------------------------------------------------------

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
        found = absolute(self, measure, value) if of_bins else None
        if found is not None and found.estimate is not None:
            return found.estimate
        return self.voted.estimate(measure, value)

    # --- what is rare ----------------------------------------------------------------------------

    def with_rare_events(
        self, measure: Measure, value: float, level: float
    ) -> dict[tuple[str, float], float]:
        """How far an error moves with fewer and more of what is rare, as far as was seen of it."""
        if self.soft and self.vote_rows is None:
            return {}

        def possible() -> Any:
            votes = np.broadcast_to(1 if self.votes is None else self.votes, self.samples.n)
            return possible_targets(self.samples, votes, level)

        def make() -> dict[tuple[str, float], float]:
            return {
                (kind, far): with_targets(self, measure, targets) - value
                for kind, far, targets in self.once(("possible", level), possible)
            }

        # Once for all that it is compared with.
        return self.once(("rare", measure.name, value, level), make)

    def losses(self, measure: Measure) -> Losses | None:
        """The losses of hard labels, or distances from them, that a measure is a mean of."""
        return losses_of(self, measure)

    def _note(self, measure: Measure) -> str:
        """What to know where an outcome, or a miss, was hardly seen, or would cost most."""
        few = self.fewest_outcomes
        if few is not None and few < FEW_EVENTS:
            seen = "none" if few == 0 else str(few)
            return f"{seen} of the rarer outcome in these rows: the limits rest on the predictions"
        if self.soft or measure.notion != "loss":
            return ""
        values = self.made.row_values(distribution=False)
        misses = int(np.count_nonzero(values["classification"] > 0.5))
        hits = self.samples.n - misses
        if min(misses, hits) < FEW_EVENTS:
            few, word = (misses, "wrong") if misses < hits else (hits, "right")
            seen, verb = "none" if few == 0 else str(few), "are" if few > 1 else "is"
            return f"{seen} of these rows {verb} {word}: the limits rest on the predictions"
        # A miss of a row that is all but certain would cost more than all others.
        certain = n_certain(values) if measure.loss == "log" else 0
        if not certain:
            return ""
        rows = "1 prediction is" if certain == 1 else f"{certain:,} predictions are"
        return f"{rows} all but certain: the limits allow for misses of such that were not seen"

    # --- what a pair of predictors has in common -------------------------------------------------

    def scatter(self, measure: Measure, value: float) -> Scatter:
        """How the measure of a sample scatters about its true value, resample by resample: the same
        resamples for every predictor on the same rows.
        """
        by_votes = self.resampling == "votes" and measure.interval_method != "inversion"
        if by_votes or (self.resampling != "rows" and measure.vote_model):
            return self.voted.scatter(measure, value)
        if measure.interval_method in ("mean", "influence"):
            mean = measure.interval_method == "mean"
            parts = influences_of(self, measure) if mean else moved_by(self, measure)
            if self.groups is None:
                parts = parts.in_blocks(self.blocks.index, self.blocks.size)
            excess = 0.0
            if self.takes_out_votes(measure):
                excess = value - self.voted.estimate(measure, value)
            losses = self.losses(measure) if mean else None
            alone = None if mean else partial(self.alone, measure, value)
            order = None if mean else self.plain_problem.levels[1]
            return Scatter(parts, None, alone=alone, order=order, excess=excess, losses=losses)
        drawn = replicates_of(self, measure)
        return Scatter(None, drawn - drawn.mean())

    def alone(self, measure: Measure, value: float, level: float) -> tuple[float, float, float]:
        """Limits of the measure at a level, and its estimate."""
        at_level = self if level == self.level else replace(self, level=level)
        alone = at_level.interval(measure, value)
        return alone.low, alone.high, value if alone.estimate is None else alone.estimate


def _in_range(found: Found, measure: Measure) -> Found:
    """Limits within the range of a measure."""
    low = min(max(found.low, measure.low), measure.high)
    return replace(found, low=low, high=min(max(found.high, low), measure.high))
