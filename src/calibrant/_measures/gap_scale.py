"""The scale of tolerances: how large a gap in every bin would give a measure's value.

An ECE of 0.05 is a mean gap of 0.05. A sum of squares over W^2 with such a gap in each of 15 bins
is 0.00017: compared with a tolerance of 0.05 it would pass whatever the predictions. So
tolerances are of gaps, and values are turned into gaps before the two are compared.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant._core.bin_tables import BinTable, VectorTable
from calibrant._core.typing import Array
from calibrant._core.validation import check_tolerance
from calibrant._measures.catalogue import THRESHOLD, Measure, catalogue
from calibrant._measures.statistics import Statistics
from calibrant._measures.truthful import linear_error


@dataclass(frozen=True)
class GapScale:
    """The relation of a measure's value to a gap g in every bin: ``offset + spread * g ** power``.

    The gap of a bin is the absolute difference of its mean target and its mean prediction.
    """

    power: int = 1
    spread: float = 1.0
    offset: float = 0.0
    # How fast the noise of a gap falls with n where predictions are calibrated.
    rate: float = 0.5

    def gap(self, value: float) -> float:
        """The gap that results in this value of the measure if every bin has it."""
        if self.power == 1:
            return value
        return math.sqrt(max(value - self.offset, 0.0) / self.spread)

    def value(self, gap: float) -> float:
        """The value of the measure if every bin has this gap."""
        if self.power == 1:
            return gap
        return self.offset + self.spread * gap**self.power


def gap_scale(measure: Measure, summary: Statistics) -> GapScale:
    """The scale that turns a measure's values on these rows into gaps.

    A measure that is no square of gaps is on that scale already. ``sum_B R_B^2 / W^2`` has the
    spread ``sum_B (W_B / W)^2``, its mean over classes for classwise errors, the sum over cells for
    full calibration; R_B is a bin's sum of w (u - z), W_B its weight and W all weight. What the
    truthful confidence error adds for its truthfulness is the offset. `brier_miscalibration` is a
    mean square over rows: its spread is 1.
    """
    if measure.power == 1:
        return GapScale(rate=measure.rate)
    if measure.spread is not None:
        return GapScale(measure.power, measure.spread(summary), rate=measure.rate)
    if not measure.is_binned:  # a mean over rows
        return GapScale(measure.power, rate=measure.rate)
    table = _measured_table(measure, summary)
    if isinstance(table, VectorTable):
        shares = (table.sum_w / table.sum_w.sum())[None]
        return GapScale(measure.power, _sum_of_squared_shares(shares))
    shares = table.sum_w / table.total_weight[:, None]
    offset = measure.compute(summary) - linear_error(table)
    return GapScale(measure.power, _sum_of_squared_shares(shares), offset)


def _measured_table(measure: Measure, summary: Statistics) -> BinTable | VectorTable:
    """The bin table, or vector table, from which the measure is computed."""
    if measure.statistic == "above":
        return summary.above(THRESHOLD)
    own = {"quantile_bins": "equal_mass_bins", "class_quantile_bins": "class_equal_mass_bins"}
    name = own.get(measure.statistic) if measure.equal_mass else None
    return getattr(summary, name or measure.statistic)


def _sum_of_squared_shares(shares: Array) -> float:
    """The sum of squared shares of weight, the mean over classes, from the bins' shares (classes,
    bins).
    """
    # Empty bins (of a rule that drops every row) do not change the scale.
    return float(np.square(shares).sum(axis=1).mean()) or 1.0


def checked_tolerance(tolerance: Any, measure: str = "ece") -> float:
    """The tolerance, after a check: for a calibration error a gap between 0 and 1, for a loss a
    number within its range.
    """
    ends = [m.high for m in catalogue() if m.name == measure and not m.is_error]
    most = min(max(ends, default=1.0), 1e3)
    return check_tolerance(tolerance, most)
