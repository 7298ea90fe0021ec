"""The uncertainty of a number: intervals, noise floors, tests and verdicts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from calibrant.results._base import Record
from calibrant.results._rendering import (
    distinct_numbers,
    p_words,
    percent,
    range_text,
    shown,
    with_ties_exact,
)

# The quantity that an interval is about.
ESTIMAND = (
    "the value of the measure in the population that the rows were drawn from, in the bins of this "
    "sample; not its expectation on samples of this size"
)
_LABELS = (
    "the value of the measure in the population that the rows were drawn from, against labels "
    "made in the same way: vote shares of as many votes, if the labels are vote shares"
)
_BEHIND = (
    "the value of the measure in the population that the rows were drawn from, against the "
    "distributions that the votes were drawn from: its value with infinitely many votes per row"
)
_THESE_ROWS = (
    "the value of the measure on these very rows, against the distributions that their votes were "
    "drawn from: its value with infinitely many votes per row"
)
# How vote noise is removed from measures of bins, whose estimates are those of intervals.
ESTIMATE_OF_INTERVAL = "the estimate of the confidence interval, for rows like these"

# Distances below this share of an interval's width are rounding.
_HAIR = 1e-9


def estimand_of(resampled: str, *, of_labels: bool) -> str:
    """What an interval for soft labels estimates, in words.

    `resampled` says what was resampled: "rows", "votes" or "both". `of_labels` says that the
    measure includes vote noise, whatever the number of rows. An empty text stands for the usual
    `ESTIMAND`.
    """
    if resampled == "votes":
        return _THESE_ROWS
    if not of_labels:
        return ""
    return _BEHIND if resampled == "both" else _LABELS


def _join_clauses(*clauses: str) -> str:
    """Join clauses of a sentence with semicolons; empty clauses are skipped."""
    return "; ".join(filter(None, clauses))


@dataclass(frozen=True)
class Interval(Record):
    """The confidence interval of a measure.

    It is for the measure's value in the population, in the bins of this sample (`estimand`). A
    sample's calibration error is biased upwards, so `value` may be above `high`. `estimate` is
    bias-corrected and lies in the interval: report it with the interval. `low` is 0 if the sample
    could have come from calibrated predictions. Made by `interval` and by `evaluate`.

    Attributes
    ----------
    measure : str
        The measure.
    value : float
        Its value on the sample.
    low, high : float
        The limits.
    level : float
        The level of confidence.
    method : str
        How the interval was computed.
    seed : int or None
        The seed of the resamples; None where nothing was drawn.
    standard_error : float or None
        How much `value` varies from sample to sample.
    estimate : float
        The bias-corrected value: if it were the true value, `value` would be as likely too high as
        too low. It equals `value` if there is no correction, and never lies outside the interval.
    note : str
        Remarks on the interval, such as too few events or a value below what chance allows.
    about : str
        What `estimand` says, if it differs from the usual one.
    widened_by : tuple of str
        Why the interval was widened beyond what the rows imply: "few events", "unseen misses",
        "unseen kinds", "all rows alike", "few clusters".

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1, 1, 0] * 50, [0.2, 0.7, 0.9, 0.4] * 50
    >>> found = cal.interval(y, p, measure="ece", bins=5)
    >>> found.low <= found.estimate <= found.high
    True
    """

    _json_properties = "estimand comment"

    measure: str
    value: float
    low: float
    high: float
    level: float
    method: str
    seed: int | None = None
    standard_error: float | None = None
    estimate: float = math.nan
    note: str = ""
    about: str = ""
    widened_by: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Put the estimate between the limits; without one, take the value."""
        estimate = self.value if math.isnan(self.estimate) else self.estimate
        if self.low <= self.high:
            estimate = min(max(estimate, self.low), self.high)
            # An estimate within rounding of a limit becomes that limit: 0, not 1e-14.
            hair = _HAIR * (self.high - self.low)
            estimate = next(
                (end for end in (self.low, self.high) if abs(estimate - end) <= hair), estimate
            )
        object.__setattr__(self, "estimate", estimate)

    def __contains__(self, value: float) -> bool:
        """Whether the value lies between the limits, both included."""
        return self.low <= value <= self.high

    @property
    def reaches_zero(self) -> bool:
        """Whether the interval includes 0."""
        return self.low <= 0.0 <= self.high

    @property
    def estimand(self) -> str:
        """What `low`, `high` and `estimate` estimate."""
        return self.about or ESTIMAND

    @property
    def bias(self) -> str:
        """Why the value lies outside the interval, in words; empty where it does not."""
        # A value that prints like a limit does not count as outside.
        seen = shown(self.value) not in (shown(self.low), shown(self.high))
        if not seen or self.value in self or math.isnan(self.value):
            return ""
        if self.about in (_BEHIND, _THESE_ROWS):
            return "raw values include vote noise"
        return f"raw values are biased {'upwards' if self.value > self.high else 'downwards'}"

    @property
    def comment(self) -> str:
        """Why the value lies outside the interval, and the note; empty if there is neither."""
        estimate = f"the bias-corrected estimate is {distinct_numbers((self.estimate,))[0]}"
        return _join_clauses(self.bias and f"{self.bias}; {estimate}", self.note)

    def __repr__(self) -> str:
        estimate, low, high, sample = interval_words(self)
        zero = ", includes 0" if self.reaches_zero else ""
        limits = f"{percent(self.level)} CI {low} to {high}{zero}"
        parts = [limits, f"estimate {estimate}", sample, self.method, self.note]
        return f"Interval({self.measure}: {_join_clauses(*parts)})"


def interval_words(
    interval: Interval, others: Sequence[float] = (), beside: Sequence[float] = (), places: int = 4
) -> list[str]:
    """The numbers of an interval as texts, with enough digits to differ from each other.

    They are the estimate, the lower and the upper limit, a clause on the sample value, and each of
    `others`. They also differ from the numbers `beside` them in the sentence; `places` are the
    usual decimal places. The clause is like "sample value 0.035 (raw values are biased upwards)",
    and empty where the sample value prints like the estimate.
    """
    own, *ends = with_ties_exact(interval.value, (interval.low, interval.high))
    usual = [distinct_numbers((number,), (), places) for number in (interval.estimate, own)]
    if not interval.bias and usual[0] == usual[1]:
        own = interval.estimate  # they print alike, so one number is enough
    numbers = with_ties_exact(interval.estimate, (*ends, own, *others))
    text, low, high, raw, *rest = distinct_numbers(numbers, beside, places)
    sample = "" if raw == text or math.isnan(own) else f"sample value {raw}"
    why = f" ({interval.bias})" if sample and interval.bias else ""
    return [text, low, high, sample + why, *rest]


@dataclass(frozen=True)
class NoiseFloor(Record):
    """What a perfectly calibrated model shows on this many rows, for one measure.

    Made by `noise_floor` and by `evaluate`, from targets drawn from the predictions.

    Attributes
    ----------
    measure : str
        The measure.
    value : float
        Its value on the sample.
    mean, upper : float
        Its mean and its 95th percentile for calibrated predictions; the 5th percentile if higher is
        better.
    p_value, p_low : float
        The chance of a value at least, and at most, as large as the sample value.
    n_draws : int
        How many times targets were drawn.
    method : str
        How they were drawn.
    exact_mean : bool
        Whether `mean` comes from a formula in place of the draws.
    seed : int or None
        The seed of the draws.
    note : str
        Remarks, such as which of two columns the value uses.

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1, 1, 0] * 50, [0.2, 0.7, 0.9, 0.4] * 50
    >>> cal.noise_floor(y, p, measure="ece", bins=5).p_value < 0.01
    True
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
    p_low: float = math.nan
    note: str = ""

    @property
    def side(self) -> str:
        """Where calibrated predictions stay: "below" `upper`, or "above" if higher is better."""
        return "above" if self.upper < self.mean else "below"

    def __repr__(self) -> str:
        return (
            f"NoiseFloor({self.measure}: {shown(self.value)}; a calibrated model would show "
            f"{shown(self.mean)} on average and stay {self.side} {shown(self.upper)} in 95% of "
            f"samples; {p_words(self.p_value)}; {_join_clauses(self.method, self.note)})"
        )


@dataclass(frozen=True)
class VoteNoise(Record):
    """A measure against vote shares, and against the label distributions.

    Made by `vote_noise`. `estimate` is the value with infinitely many votes per row. It is for
    these very rows where vote noise has a formula, else it is the estimate of `interval`. Votes
    identify a distance only in part; `low` and `high` are then its bounds.

    Attributes
    ----------
    measure : str
        The measure.
    value : float
        Its value against the shares.
    estimate : float
        Its value without vote noise.
    votes_low, votes_median, votes_high : int or float
        The minimum, median and maximum number of votes per row.
    single : int
        How many rows have one vote, which does not show how votes vary.
    method : str
        How vote noise was removed.
    note : str
        Remarks on the result.
    low, high : float or None
        The 95% bounds of a measure that votes identify only in part: the bounds cover every label
        distribution compatible with the votes. None if the estimate is exact.

    Examples
    --------
    >>> import calibrant as cal
    >>> shares, p = [[1.0, 0.0], [0.5, 0.5]] * 40, [[0.7, 0.3], [0.6, 0.4]] * 40
    >>> found = cal.vote_noise(shares, p, measure="brier", votes=2)
    >>> round(found.value, 3), round(found.estimate, 3), round(found.noise, 3)
    (0.1, -0.15, 0.25)
    """

    _json_properties = "noise estimand"

    measure: str
    value: float
    estimate: float
    votes_low: int
    votes_median: float
    votes_high: int
    single: int
    method: str
    note: str = ""
    low: float | None = None
    high: float | None = None

    @property
    def noise(self) -> float:
        """What vote noise adds to the value."""
        return self.value - self.estimate

    @property
    def estimand(self) -> str:
        """What `estimate` estimates."""
        return ESTIMAND if self.method == ESTIMATE_OF_INTERVAL else _THESE_ROWS

    def __repr__(self) -> str:
        votes = f"{self.votes_low}"
        if self.votes_high > self.votes_low:
            votes = f"{self.votes_low} to {self.votes_high}"
        votes += " vote" if votes == "1" else " votes"
        bounds = ""
        if self.low is not None and self.high is not None:
            bounds = f" (bounds {range_text(self.low, self.high)})"
        return (
            f"VoteNoise({self.measure}: {shown(self.estimate)}{bounds} without vote noise, "
            f"{shown(self.value)} with {votes} per row; {_join_clauses(self.method, self.note)})"
        )


@dataclass(frozen=True)
class CalibrationTest(Record):
    """A test of the hypothesis that the predictions are calibrated.

    Made by `spiegelhalter`, `hosmer_lemeshow`, `truthful_test` and `cutoff_test`.

    Attributes
    ----------
    name : str
        The test.
    statistic : float
        Its statistic.
    p_value : float
        The chance of as extreme a statistic if the predictions are calibrated.
    null : str
        How the distribution under the hypothesis was computed.
    note : str
        What to know about the result.
    seed : int or None
        The seed of the draws; None where nothing was drawn.
    where : tuple of two floats or None
        The interval of predictions in which the statistic is reached, for a test that has one.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.spiegelhalter([0, 1, 1, 0] * 50, [0.2, 0.7, 0.9, 0.4] * 50).p_value, 4)
    0.0
    """

    name: str
    statistic: float
    p_value: float
    null: str
    note: str = ""
    seed: int | None = None
    where: tuple[float, float] | None = None

    def __repr__(self) -> str:
        return (
            f"CalibrationTest({self.name}: statistic {shown(self.statistic)}, "
            f"{p_words(self.p_value)}; {_join_clauses(self.null, self.note)})"
        )


@dataclass(frozen=True)
class CoxCalibration(Record):
    """Cox's recalibration: targets regressed on the logits of the predictions.

    Made by `cox_calibration`. Values that cannot be estimated are NaN, and `note` says why.

    Attributes
    ----------
    slope, slope_low, slope_high : float
        The slope and its confidence interval; below 1, predictions are too extreme, below 0
        ranked in reverse.
    intercept, intercept_low, intercept_high : float
        The intercept that is fitted with the slope, and its confidence interval.
    intercept_at_slope_1, intercept_at_slope_1_low, intercept_at_slope_1_high : float
        Calibration in the large, and its confidence interval; above 0, predictions are too low on
        average.
    p_value : float
        Tests slope 1 and intercept 0 together.
    level : float
        Confidence level of the intervals.
    note : str
        What could not be estimated, and why.
    n_clipped : int
        Number of predictions of 0 and 1, which have no logit, that were clipped to [eps, 1 - eps].
    without_clipped : CoxCalibration or None
        The fit without them; None if no prediction was clipped, or every one.

    Examples
    --------
    >>> import calibrant as cal
    >>> fit = cal.cox_calibration([0, 1, 0, 1, 1, 0] * 30, [0.2, 0.7, 0.6, 0.9, 0.4, 0.3] * 30)
    >>> fit.slope_low < fit.slope < fit.slope_high
    True
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
    without_clipped: CoxCalibration | None = None

    def __repr__(self) -> str:
        without = self.without_clipped
        beside = ""
        if without is not None:
            beside = f"; without the {self.n_clipped} clipped: {without._numbers()}"
        return f"CoxCalibration({_join_clauses(self._numbers(), self.note)}{beside})"

    def _numbers(self) -> str:
        """Slope and intercepts with their limits, and the p-value, as one line."""

        def coefficient(name: str) -> str:
            """One coefficient as text, with its limits, or that it is "not estimable"."""
            value, low, high = (getattr(self, name + end) for end in ("", "_low", "_high"))
            if math.isnan(value):
                return f"{name} not estimable"
            return f"{name} {shown(value)} [{shown(low)}, {shown(high)}]"

        names = ("slope", "intercept", "intercept_at_slope_1")
        p = "no p-value" if math.isnan(self.p_value) else p_words(self.p_value)
        return f"{', '.join(map(coefficient, names))}; {p}"


@dataclass(frozen=True)
class Verdict(Record):
    """Calibrated within noise, miscalibrated, or not enough data; in a word and in a sentence.

    Made by `verdict`, `evaluate` and `report`; it prints as its sentence.

    Attributes
    ----------
    verdict : {"calibrated within noise", "miscalibrated", "not enough data"}
        The verdict in a word.
    sentence : str
        The verdict with its reasons.
    measure : str
        The measure that it is about.
    value, low, high : float
        The measure's value and its confidence interval.
    noise_upper : float
        The value that a calibrated model stays below in 95% of samples.
    p_value : float
        The p-value of the tests of calibration together: slope, mean, noise floor and bins. For
        losses and for errors over all classes, that of the noise floor.
    p_low : float
        The chance of as small a value as the sample's for calibrated predictions.
    tolerance : float
        The tolerated gap.
    n : int
        Number of rows.
    rows_needed, clusters_needed : int or None
        About how many would decide whether the error exceeds the tolerance; None if these rows
        decide, or if the number cannot be estimated.
    estimate : float or None
        The bias-corrected value.
    level : float
        Level of the interval.
    gap_low, gap_high : float
        For squared measures, the ends of the interval as a gap: the gap that gives them if every
        bin has it. For other measures, the ends themselves.
    within_tolerance : bool or None
        True if the whole interval is within the tolerance, False if it is all above, None if there
        is not enough data; `check` uses the same rule.
    decided_by : {"slope", "mean", "noise floor", "curve", "tolerance", ""}
        What decided that predictions are miscalibrated. "slope": the calibration slope is not 1.
        "mean": the mean prediction is off. "noise floor": the value is larger than chance explains.
        "curve": the gap varies with the prediction by more than chance explains. "tolerance": the
        whole interval exceeds the tolerance, and no test rejects. Empty if predictions are not
        shown to be miscalibrated.
    slope, slope_low, slope_high : float or None
        The calibration slope and its confidence interval; below 1, predictions are too extreme.
        Predictions of 0 and 1 are excluded, because they have no logit. None for losses, for errors
        over all classes, and where the slope cannot be estimated.
    slope_level : float or None
        Level of that interval: 98% in a verdict of 95%, which uses other tests too. If the interval
        excludes 1, the verdict is "miscalibrated".

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1, 1, 0] * 50, [0.2, 0.7, 0.9, 0.4] * 50
    >>> found = cal.verdict(y, p, bins=5)
    >>> found.verdict, found.decided_by
    ('miscalibrated', 'noise floor')
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
    p_low: float = math.nan
    clusters_needed: int | None = None
    decided_by: str = ""
    slope: float | None = None
    slope_low: float | None = None
    slope_high: float | None = None
    slope_level: float | None = None

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        return f"Verdict({self.verdict}: {self.sentence})"
