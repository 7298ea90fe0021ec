"""Differences: two predictors on the same rows, or on others, compared by any measure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from calibrant._inference.budget import PAIRED_SLOTS
from calibrant._inference.gap_pairs import GapPair, Reading
from calibrant._inference.paired import difference_limits, independent_limits
from calibrant._inference.readings import SlotReading, slot_reading
from calibrant._inference.second_moments import SecondMoments, Slots, apart, second_moments
from calibrant._inference.slot_noise import FineSlots, SlotNoise
from calibrant._inference.squares import Square, less, limits_of_difference
from calibrant._inference.tails import upper_tail
from calibrant._inference.uncertainty import Uncertainty
from calibrant._measures.catalogue import Measure

Limits = tuple[float, float, float]


@dataclass(eq=False)
class Differences:
    """Two predictors; what several measures of them need is made once."""

    first: Uncertainty
    second: Uncertainty
    paired: bool = True
    _made: dict[Any, Any] = field(default_factory=dict)

    def limits(self, measure: Measure, values: tuple[float, float], level: float) -> Limits:
        """Limits of the true difference, and its estimate; `values` are those of the samples."""
        value = values[0] - values[1]
        readings = [slot_reading(measure, each) for each in (self.first, self.second)]
        ours, theirs = readings
        if ours is None or theirs is None:
            limits = difference_limits if self.paired else independent_limits
            first = self.first.scatter(measure, values[0])
            return limits(value, first, self.second.scatter(measure, values[1]), level)
        if self.paired and _alike(ours.slots, theirs.slots):
            return 0.0, 0.0, 0.0
        if ours.form is not None and theirs.form is not None:
            form = less(ours.form, theirs.form, ours.slots.size)
            square = Square(self._moments(ours, theirs), form)
            # A corrected error is larger than its population's, which limits are about.
            shown = value if measure.of_population is None else square.value
            found = limits_of_difference(square, shown, level)
        else:
            found = self._gap_limits(measure, values, (ours, theirs), level)
        return self._within_alone(
            measure, values, self._with_rare(measure, values, found, level), level
        )

    # --- sums of both predictors -----------------------------------------------------------------

    def _moments(self, ours: SlotReading, theirs: SlotReading) -> SecondMoments:
        key = ("moments", ours.key, theirs.key)
        if key not in self._made:
            if self.paired:
                blocks = self.first.blocks
                self._made[key] = second_moments((ours.slots, theirs.slots), blocks)
            else:
                alone = (
                    second_moments((each.slots,), own.blocks)
                    for each, own in ((ours, self.first), (theirs, self.second))
                )
                self._made[key] = apart(*alone)
        return self._made[key]

    def _fine(self, ours: SlotReading, theirs: SlotReading) -> FineSlots | None:
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
    ) -> Limits:
        if any(_most_slots(each.slots) > PAIRED_SLOTS for each in readings):
            return -np.inf, np.inf, values[0] - values[1]
        key = ("pair", readings[0].key, readings[1].key)
        if key not in self._made:
            moments = self._moments(*readings)
            noise = SlotNoise(
                moments, self.first.many_draws, self.first.seed, self._fine(*readings)
            )
            self._made[key] = GapPair(noise)
        pair: GapPair = self._made[key]
        # Two tests of whether a predictor may be calibrated share the chance of one side.
        chance = (1.0 - level) / 4.0
        found = []
        for j, own in enumerate((self.first, self.second)):
            calibrated = not pair.is_off(j, chance) and _may_be_calibrated(
                own, measure, values[j], chance
            )
            each = readings[j]
            found.append(Reading(each.of_sample, each.of_population, values[j], calibrated))
        return pair.limits(found, level)

    # --- what is known beside the sums -----------------------------------------------------------

    def _with_rare(
        self, measure: Measure, values: tuple[float, float], limits: Limits, level: float
    ) -> Limits:
        """Limits that allow for as many misses, or events, as those seen allow where they are rare:
        rows that are all right do not tell how either error varies. What one misses the other does.
        """
        ours = self.first.with_rare_events(measure, values[0], level)
        theirs = self.second.with_rare_events(measure, values[1], level)
        value = values[0] - values[1]
        if self.paired:
            keys = {**ours, **theirs}
            moved = [0.0, *(ours.get(key, 0.0) - theirs.get(key, 0.0) for key in keys)]
            down, up = min(moved), max(moved)
        else:
            least, most = min([0.0, *ours.values()]), max([0.0, *ours.values()])
            lowest, highest = min([0.0, *theirs.values()]), max([0.0, *theirs.values()])
            down, up = -float(np.hypot(least, highest)), float(np.hypot(most, lowest))
        low, high, estimate = limits
        if down == up == 0.0:
            return limits
        return min(low, value + down), max(high, value + up), estimate

    def _within_alone(
        self, measure: Measure, values: tuple[float, float], limits: Limits, level: float
    ) -> Limits:
        """Two true values are no further apart than their own intervals are."""
        low, high, estimate = limits
        least, most, _ = self.first.alone(measure, values[0], level)
        lowest, highest, _ = self.second.alone(measure, values[1], level)
        ends = least - highest, most - lowest
        low, high = min(max(low, ends[0]), ends[1]), max(min(high, ends[1]), ends[0])
        return low, high, min(max(estimate, low), high)


def _may_be_calibrated(rows: Uncertainty, measure: Measure, value: float, chance: float) -> bool:
    """Whether the noise floor of a measure does not reject calibrated predictions."""
    null = rows.null_values(measure)
    if null is None:
        return True
    return upper_tail(null[0], rows.on_null_scale(measure, value)) > chance


def _most_slots(slots: Slots) -> int:
    """The most slots that a class has."""
    return int(np.bincount(slots.classes[slots.weight > 0]).max(initial=0))


def _alike(first: Slots, second: Slots) -> bool:
    """Whether two predictors say the same of every row."""
    return (
        first.u.shape == second.u.shape
        and np.array_equal(first.u, second.u)
        and np.array_equal(first.z, second.z)
        and np.array_equal(first.w, second.w)
    )
