"""What a number is worth: intervals, noise floors, tests and verdicts."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from typing import Any

from calibrant.results._rendering import json_value, percent, shown, told_apart

# What an interval is an interval of.
ESTIMAND = (
    "the value of the measure in the population that the rows were drawn from, in the bins of this "
    "sample; not its expectation on samples of this size"
)


class _Plain:
    """A flat result as JSON."""

    def to_dict(self) -> dict[str, Any]:
        return {name: json_value(value) for name, value in asdict(self).items()}  # type: ignore[call-overload]

    def to_json(self) -> str:
        return json.dumps(self.to_dict())


@dataclass(frozen=True)
class Interval(_Plain):
    """Where the true value of a measure lies.

    The true value is that of the population, in the bins of this sample (`estimand`). A sample's
    calibration error lies above it, so `value` may be above `high`; `estimate` is without that
    bias. `low` is 0 where the sample could have come from calibrated predictions: how far above 0
    the truth is, or whether it is at all, no method can tell from this many rows.
    """

    measure: str
    value: float
    low: float
    high: float
    level: float
    method: str
    seed: int | None = None
    # How much the value itself varies from sample to sample; None where it was not drawn.
    standard_error: float | None = None
    # The true value of which `value` is as likely too high as too low: the companion without the
    # upward bias; None where there is none.
    estimate: float | None = None
    # What a reader must know beside the limits: too few events, a value below what chance allows.
    note: str = ""

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    @property
    def reaches_zero(self) -> bool:
        """Whether the data are compatible with an error of 0."""
        return self.low <= 0.0

    @property
    def estimand(self) -> str:
        """What `low`, `high` and `estimate` are about."""
        return ESTIMAND

    @property
    def comment(self) -> str:
        """What must stand beside the limits: where the value lies if not between them, and the
        note; empty where there is nothing to say.
        """
        inside = self.low <= self.value <= self.high or math.isnan(self.value)
        if inside:
            return self.note
        side = "above" if self.value > self.high else "below"
        without = (
            "" if self.estimate is None else f": without it, {told_apart((self.estimate,))[0]}"
        )
        where = f"the value lies {side} its own interval, by the bias of a sample{without}"
        return f"{where}; {self.note}" if self.note else where

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "estimand": self.estimand, "comment": self.comment}

    def __repr__(self) -> str:
        says = "; not to be told from 0" if self.reaches_zero else ""
        low, high, value = told_apart((self.low, self.high, self.value))
        about = f"; {self.comment}" if self.comment else ""
        return (
            f"Interval({self.measure}: {low} to {high} at {percent(self.level)}{says}; sample "
            f"value {value}; {self.method}{about})"
        )


@dataclass(frozen=True)
class NoiseFloor(_Plain):
    """What a measure shows when the predictions are exactly right.

    `mean` and `upper` (the 95 % point) are of the measure with targets drawn from the predictions;
    `p_value` is the chance of a value at least as large as the one seen. `exact_mean` says that the
    mean is a formula's, not the draws'.
    """

    measure: str
    value: float
    mean: float
    upper: float
    p_value: float
    n_draws: int
    method: str
    exact_mean: bool = False
    seed: int | None = None
    # The chance of a value at most as large as the one seen.
    p_low: float = math.nan

    def __repr__(self) -> str:
        return (
            f"NoiseFloor({self.measure}: {shown(self.value)} seen; calibrated predictions show "
            f"{shown(self.mean)} on average and {shown(self.upper)} at the 95 % point; "
            f"p = {shown(self.p_value)}; {self.method})"
        )


@dataclass(frozen=True)
class CalibrationTest(_Plain):
    """A test of the hypothesis that the predictions are right.

    `null` says where `p_value` is from; `seed` is that of the draws, None where nothing was drawn.
    """

    name: str
    statistic: float
    p_value: float
    null: str
    note: str = ""
    seed: int | None = None

    def __repr__(self) -> str:
        note = f"; {self.note}" if self.note else ""
        return (
            f"CalibrationTest({self.name}: statistic {shown(self.statistic)}, "
            f"p = {shown(self.p_value)}; {self.null}{note})"
        )


@dataclass(frozen=True)
class CoxCalibration(_Plain):
    """Cox's recalibration: targets regressed on the logits of the predictions.

    `slope` and `intercept` are fitted together: a slope below 1 says that predictions are too
    extreme. `intercept_at_slope_1` is calibration in the large: above 0, predictions are too low on
    the whole. Each has its limits; `p_value` tests slope 1 and intercept 0 together. What cannot be
    estimated is NaN, and `note` says why.

    Predictions of 0 and 1 have no logit: `n_clipped` were moved to within [eps, 1 - eps], which may
    decide the fit, and `without_clipped` is the fit without them.
    """

    slope: float
    slope_low: float
    slope_high: float
    intercept: float
    intercept_low: float
    intercept_high: float
    intercept_at_slope_1: float
    intercept_at_slope_1_low: float
    intercept_at_slope_1_high: float
    p_value: float
    level: float
    note: str = ""
    n_clipped: int = 0
    # None where no prediction was moved, or every one.
    without_clipped: CoxCalibration | None = None

    def __repr__(self) -> str:
        without = self.without_clipped
        beside = ""
        if without is not None:
            beside = f"; without the {self.n_clipped} moved: {without._numbers()}"
        note = f"; {self.note}" if self.note else ""
        return f"CoxCalibration({self._numbers()}{note}{beside})"

    def _numbers(self) -> str:
        def part(name: str) -> str:
            value, low, high = (getattr(self, name + end) for end in ("", "_low", "_high"))
            if math.isnan(value):
                return f"{name} not estimable"
            return f"{name} {shown(value)} [{shown(low)}, {shown(high)}]"

        names = ("slope", "intercept", "intercept_at_slope_1")
        p = "no p-value" if math.isnan(self.p_value) else f"p = {shown(self.p_value)}"
        return f"{', '.join(map(part, names))}; {p}"


@dataclass(frozen=True)
class Verdict(_Plain):
    """Calibrated within noise, miscalibrated, or not enough data; in a word and in a sentence.

    `tolerance` is the size of a gap, and so are `gap_low` and `gap_high`: the limits of the measure
    as the gap that, in every bin, would give them (of measures that are no squares, the limits
    themselves). `within_tolerance` is True where the whole interval keeps the tolerance, False
    where none of it does, None where these rows cannot tell; `check` decides by the same rule.
    """

    verdict: str
    sentence: str
    measure: str
    value: float
    low: float
    high: float
    noise_upper: float
    p_value: float
    tolerance: float
    n: int
    rows_needed: int | None
    estimate: float | None = None
    level: float = 0.95
    gap_low: float = math.nan
    gap_high: float = math.nan
    within_tolerance: bool | None = None
    # The chance that calibrated predictions show as little as was seen.
    p_low: float = math.nan
    clusters_needed: int | None = None

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        return f"Verdict({self.verdict}: {self.sentence})"
