"""Differences of two predictors, on the same rows or on different ones, by any measure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from calibrant._inference.budget import PAIRED_SLOTS
from calibrant._inference.gap_pairs import GapPair, Reading
from calibrant._inference.paired import difference_limits, independent_limits
from calibrant._inference.readings import SlotReading, slot_reading
from calibrant._inference.second_moments import (
    FineSlots,
    SecondMoments,
    SlotNoise,
    independent_moments,
    second_moments,
)
from calibrant._inference.slots import Slots
from calibrant._inference.squares import Square, difference_form, limits_of_difference
from calibrant._inference.tails import upper_tail
from calibrant._inference.uncertainty import Uncertainty
from calibrant._measures.catalogue import Measure

# Low, high and estimate of a true difference.
DifferenceLimits = tuple[float, float, float]
T = TypeVar("T")


@dataclass(eq=False)
class Differences:
    """Two predictors whose measures are compared; `paired` if they are on the same rows."""

    first: Uncertainty
    second: Uncertainty
    paired: bool = True
    _cache: dict[Any, Any] = field(default_factory=dict)

    def _once(self, key: Any, make: Callable[[], T]) -> T:
        """The value kept under a key, for other measures of the same slots (bins); `make` computes
        it.
        """
        if key not in self._cache:
            self._cache[key] = make()
        return self._cache[key]

    @cached_property
    def _swapped(self) -> Differences | None:
        """The second predictor less the first if that is the order in which both are drawn, by the
        sum of their predictions; None if it is the present one.
        """
        first, second = (float(each.plain_problem.u.sum()) for each in (self.first, self.second))
        return Differences(self.second, self.first, self.paired) if second < first else None

    def limits(
        self, measure: Measure, values: tuple[float, float], level: float
    ) -> DifferenceLimits:
        """The lower limit, the upper limit and an estimate of the true difference (first less
        second) of a measure; `values` are the two observed values.

        They do not depend on which predictor is the first: draws are made in one order.
        """
        if self._swapped is not None:
            low, high, estimate = self._swapped.limits(measure, (values[1], values[0]), level)
            return -high, -low, -estimate
        value = values[0] - values[1]
        readings = [slot_reading(measure, each) for each in (self.first, self.second)]
        ours, theirs = readings
        if ours is None or theirs is None:
            find = difference_limits if self.paired else independent_limits
            first = self.first.sampling_errors(measure, values[0])
            return find(value, first, self.second.sampling_errors(measure, values[1]), level)
        if self.paired and _same_predictions(ours.slots, theirs.slots):
            return 0.0, 0.0, 0.0
        if ours.form is not None and theirs.form is not None:
            form = difference_form(ours.form, theirs.form, ours.slots.size)
            square = Square(self._moments(ours, theirs), form)
            # A corrected error exceeds the population's, which limits are about.
            observed = value if measure.of_population is None else square.value
            limits = limits_of_difference(square, observed, level)
        else:
            limits = self._gap_limits(measure, values, (ours, theirs), level)
        limits = self._cover_rare_events(measure, values, limits, level)
        return self._clip_to_single_limits(measure, values, limits, level)

    # --- sums of both predictors -----------------------------------------------------------------

    def _moments(self, ours: SlotReading, theirs: SlotReading) -> SecondMoments:
        """The joint second moments of the residuals in both predictors' slots (bins)."""

        def make() -> SecondMoments:
            """The second moments of both predictors' slots (bins) together: joint on the same rows,
            else independent.
            """
            if self.paired:
                return second_moments((ours.slots, theirs.slots), self.first.blocks)
            return independent_moments(
                second_moments((ours.slots,), self.first.blocks),
                second_moments((theirs.slots,), self.second.blocks),
            )

        return self._once(("moments", ours.key, theirs.key), make)

    def _fine_slots(self, ours: SlotReading, theirs: SlotReading) -> FineSlots | None:
        """The finer slots (bins) of both predictors; None for a measure that is read from its slots
        directly.
        """
        if ours.fine is None or theirs.fine is None:
            return None
        assert ours.parents is not None and theirs.parents is not None
        second = self.first.blocks if self.paired else self.second.blocks
        return FineSlots(
            (ours.fine, theirs.fine), (ours.parents, theirs.parents), (self.first.blocks, second)
        )

    def _gap_limits(
        self,
        measure: Measure,
        values: tuple[float, float],
        readings: tuple[SlotReading, SlotReading],
        level: float,
    ) -> DifferenceLimits:
        """Limits and estimate of a difference of absolute errors, from joint draws of both
        predictors' gaps (mean target less prediction). The limits are infinite where a class has
        more than `PAIRED_SLOTS` slots (bins).
        """
        if any(_most_slots(each.slots) > PAIRED_SLOTS for each in readings):
            return -np.inf, np.inf, values[0] - values[1]

        def make() -> GapPair:
            """The gaps (mean target less prediction) of both predictors, with draws
            of their noise.
            """
            n_draws, fine = self.first.many_draws, self._fine_slots(*readings)
            noise = SlotNoise(self._moments(*readings), n_draws, self.first.seed, fine)
            return GapPair(noise, self.first.blocks)

        pair = self._once(("pair", readings[0].key, readings[1].key), make)
        # Two tests of whether a predictor is calibrated share the probability of one tail.
        alpha = (1.0 - level) / 4.0
        predictors = []
        for j, own in enumerate((self.first, self.second)):
            rejected = _floor_rejects(own, measure, values[j], alpha)
            zero = pair.may_be_zero(j, alpha, rejected=rejected)
            each = readings[j]
            predictors.append(Reading(each.of_sample, each.of_population, values[j], zero))
        low, high, estimate = pair.limits(predictors, level)
        if not self.paired:
            # Beside a predictor that may be right the other one has its own limits.
            first, second = (
                np.array_equal(each.may_be_zero, pair.moments.owners == j)
                for j, each in enumerate(predictors)
            )
            if second:
                high = max(high, self.first.single_limits(measure, values[0], level)[1])
            if first:
                low = min(low, -self.second.single_limits(measure, values[1], level)[1])
        return low, high, estimate

    # --- rare events, and the limits of each alone -----------------------------------------------

    def _cover_rare_events(
        self, measure: Measure, values: tuple[float, float], limits: DifferenceLimits, level: float
    ) -> DifferenceLimits:
        """The limits and estimate, the limits widened to hold the difference with as few and as
        many rare events, or misses, as the observed ones allow. On the same rows both predictors
        have the same events.
        """
        ours = self.first.with_rare_events(measure, values[0], level)
        theirs = self.second.with_rare_events(measure, values[1], level)
        value = values[0] - values[1]
        if self.paired:
            keys = {**ours, **theirs}
            changes = [0.0, *(ours.get(key, 0.0) - theirs.get(key, 0.0) for key in keys)]
            down, up = min(changes), max(changes)
        else:
            least, most = min([0.0, *ours.values()]), max([0.0, *ours.values()])
            lowest, highest = min([0.0, *theirs.values()]), max([0.0, *theirs.values()])
            down, up = -float(np.hypot(least, highest)), float(np.hypot(most, lowest))
        low, high, estimate = limits
        if down == up == 0.0:
            return limits
        return min(low, value + down), max(high, value + up), estimate

    def _clip_to_single_limits(
        self, measure: Measure, values: tuple[float, float], limits: DifferenceLimits, level: float
    ) -> DifferenceLimits:
        """The limits and estimate, clipped to the range that the intervals of the two single values
        leave for their difference.
        """
        low, high, estimate = limits
        least, most, _ = self.first.single_limits(measure, values[0], level)
        lowest, highest, _ = self.second.single_limits(measure, values[1], level)
        ends = least - highest, most - lowest
        low, high = min(max(low, ends[0]), ends[1]), max(min(high, ends[1]), ends[0])
        return low, high, min(max(estimate, low), high)


def _floor_rejects(rows: Uncertainty, measure: Measure, value: float, alpha: float) -> bool:
    """Whether the noise floor of a measure rejects, at the level `alpha`, that the predictions are
    calibrated; False for a measure without one.
    """
    null = rows.null_values(measure)
    if null is None:
        return False
    return not upper_tail(null[0], rows.on_null_scale(measure, value)) > alpha


def _most_slots(slots: Slots) -> int:
    """The number of nonempty slots (bins) of the class that has most."""
    return int(np.bincount(slots.classes[slots.weight > 0]).max(initial=0))


def _same_predictions(first: Slots, second: Slots) -> bool:
    """Whether two predictors have equal predictions, targets and weights in every row."""
    return (
        first.u.shape == second.u.shape
        and np.array_equal(first.u, second.u)
        and np.array_equal(first.z, second.z)
        and np.array_equal(first.w, second.w)
    )
