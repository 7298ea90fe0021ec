"""Limits: what users may limit, whether a limit can pass and fail, and whether it passes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant._core.binning import Rule
from calibrant._core.errors import InputError, one_of
from calibrant._core.messages import name_of, setting, worded
from calibrant._core.validation import check_tolerance, is_number
from calibrant._data.samples import Samples
from calibrant._inference.blocks import effective
from calibrant._inference.uncertainty import Uncertainty
from calibrant._measures.catalogue import HEADLINE, Measure, Shape, find
from calibrant._measures.coefficients import Coefficient, find_compared
from calibrant._measures.gap_scale import GapScale
from calibrant.results._check import FEWEST_ROWS, POLICIES, Kind, Limit, LimitCheck
from calibrant.results._uncertainty import Interval

# The argument that each kind of limit is given by.
ARGUMENTS: dict[Kind, str] = {
    "max": "at_most",
    "min": "at_least",
    "max_increase": "max_increase",
    "max_decrease": "max_decrease",
}
# The opposite of each kind of limit.
_OTHER: dict[Kind, Kind] = {
    "max": "min",
    "min": "max",
    "max_increase": "max_decrease",
    "max_decrease": "max_increase",
}


@dataclass(frozen=True)
class LimitOn:
    """A limit and what it limits: a measure of the catalogue, or a coefficient of Cox's fit."""

    what: Measure | Coefficient
    limit: Limit


def limits_of(
    shape: Shape,
    at_most: Mapping[str, float] | None = None,
    at_least: Mapping[str, float] | None = None,
    max_increase: Mapping[str, float] | None = None,
    max_decrease: Mapping[str, float] | None = None,
) -> tuple[LimitOn, ...]:
    """The user's limits, each with the measure or coefficient that it limits.

    An InputError is raised without any limit, and for a limit that every value keeps or that none
    can.
    """
    given: dict[Kind, Any] = {
        "max": at_most,
        "min": at_least,
        "max_increase": max_increase,
        "max_decrease": max_decrease,
    }
    limits = tuple(_parse_limits(given, shape))
    check_some_limit(limits)
    _check_directions(limits)
    return limits


def check_some_limit(*given: Any) -> None:
    """Raise an InputError if none of the arguments holds a limit."""
    if not any(given):
        raise InputError(
            f"there is {worded(python='no limit', command='nothing')} to check: say "
            f"{setting('at_most', {'ece': 0.05})}, or "
            f"{worded(python='at_least=', command='--min MEASURE=LIMIT')}"
        )


def limits_of_slices(tolerance: Any, undecided: Any, by: Any) -> dict[str, float] | None:
    """The limits of slices by measure, where they have a tolerance of their own; else None.

    An InputError is raised for options of slices without slices, or of no meaning.
    """
    one_of("undecided_slices", undecided, POLICIES)
    for argument, given in (("tolerance", tolerance), ("undecided_slices", undecided)):
        if by is None and given not in (None, POLICIES[0]):
            raise InputError(
                f"{name_of(argument)} needs slices, but there are none: name their columns with "
                f"{name_of('by')}"
            )
    return None if tolerance is None else {HEADLINE: check_tolerance(tolerance)}


def _parse_limits(given: Mapping[Kind, Any], shape: Shape) -> Iterator[LimitOn]:
    """Yield each limit with the measure or coefficient that it limits.

    `given` maps kinds of limits ("max", "max_increase", ...) to limits by name.
    """
    for kind, limits in given.items():
        if limits is not None and not isinstance(limits, Mapping):
            raise InputError(
                f"{ARGUMENTS[kind]} must map names of measures to limits, such as {{'ece': 0.05}}; "
                f"got {limits!r}"
            )
        for name, value in (limits or {}).items():
            what = find_compared(name, shape)
            _check_decidable(what, kind, value)
            yield LimitOn(what, Limit(what.name, kind, float(value)))


def _check_decidable(what: Measure | Coefficient, kind: Kind, value: Any) -> None:
    """Raise an InputError for a limit that every value of `what` keeps, or that none can keep."""
    if not is_number(value) or not math.isfinite(value):
        raise InputError(f"the limit of {what.name} must be a number; got {value!r}")
    limit = Limit(what.name, kind, float(value))
    width = what.high - what.low
    low, high = (-width, width) if limit.of_change else (what.low, what.high)
    always = limit.bound >= high if limit.is_upper else limit.bound <= low
    never = limit.bound < low if limit.is_upper else limit.bound > high
    if always or never:
        percent = " If it is a percentage, divide it by 100." if 1 < value <= 100 else ""
        raise InputError(
            f"{what.name} lies between {what.low:g} and {what.high:g}, so {limit} is "
            f"{'always' if always else 'never'} true.{percent}"
        )


def _check_directions(limits: tuple[LimitOn, ...]) -> None:
    """Raise an InputError for a measure limited on its good side alone: worse models would pass.

    A value may be limited on both sides, for losses too good to be true; a coefficient has no
    better side.
    """
    both = {(each.limit.measure, each.limit.kind) for each in limits}
    for each in limits:
        limit, what = each.limit, each.what
        other = _OTHER[limit.kind]
        good_side = limit.is_upper == what.higher_is_better
        between = not limit.of_change and (limit.measure, other) in both
        if good_side and not between and not isinstance(what, Coefficient):
            better = "higher" if what.higher_is_better else "lower"
            raise InputError(
                f"{what.name} is better the {better} it is, so worse models would pass {limit}: "
                f"use {setting(ARGUMENTS[other], {what.name: ...})}"
            )


# To show that an error is exactly 0, no number of rows is enough.
MOST_TO_PASS = 10**12


def checked_limit(
    limit: Limit, where: str | None, interval: Interval, uncertainty: Uncertainty, scale: GapScale
) -> LimitCheck:
    """Compare a limit with the interval of a measure, for `check`, `verdict` and slices.

    `where` names the slice, None for all rows; `scale` translates between the measure and gaps.
    """
    measure = find(limit.measure, uncertainty.samples.shape)
    return LimitCheck(
        limit,
        where,
        uncertainty.n_rows,
        interval.value,
        interval,
        n_to_pass=rows_to_pass(measure, limit, interval.level, uncertainty.fixed, scale),
        scale=scale,
        **count_independent(uncertainty.samples, uncertainty.groups, uncertainty.counts),
        **_bounds_by_votes(measure, uncertainty),
    )


def _bounds_by_votes(measure: Measure, uncertainty: Uncertainty) -> dict[str, Any]:
    """The fields "bounds" and "votes" of a LimitCheck, where votes identify a distance only in
    part; empty elsewhere.
    """
    rows = uncertainty.vote_rows
    bounded = measure.vote_model and measure.interval_method != "parts"
    if not bounded or rows is None or rows.why_not or uncertainty.resampling == "rows":
        return {}
    low, high = rows.mean_bounds(measure)
    fewest, most = int(rows.m.min()), int(rows.m.max())
    votes = f"{fewest}" if fewest == most else f"{fewest} to {most}"
    return {"bounds": (low, max(low, high)), "votes": votes}


def count_independent(samples: Samples, groups: Any, counts: Any = None) -> dict[str, Any]:
    """The fields "effective_n" and "n_clusters" of a LimitCheck, by name.

    "effective_n" is the number of independent rows of equal weight, (sum w)^2 / sum w^2, with
    clusters instead of rows if there are any; "n_clusters" is None without clusters. `counts` is
    how many equal rows each row stands for; one each if None.
    """
    w: Any = np.ones(samples.n) if samples.weights is None else samples.weights.astype(np.float64)
    return {
        "effective_n": effective(w, groups, counts) if w.any() else 0.0,
        "n_clusters": None if groups is None else int(np.unique(groups).size),
    }


def rows_to_pass(measure: Measure, limit: Limit, level: float, rule: Rule, scale: GapScale) -> int:
    """The number of rows needed for a limit to pass.

    In so many rows a fault large enough to break the limit would be seen, except with probability
    (1 - level) / 2. `scale` translates the measure to a gap.
    """
    # The error of a row is at most the largest value of the measure, translated to a gap.
    high = measure.high if math.isfinite(measure.high) else 1.0
    low, high = measure.low, math.sqrt(high) if scale.power == 2 else high
    value = scale.gap(limit.value)
    share = max(value - low if limit.kind == "max" else high - value, 0.0) / (high - low)
    # A fault in a share s of the rows makes an error of s; of the root of a mean square, its root.
    if measure.gaps == "root":
        share **= 2
    # A bin of its own is enough for a fault; it is taken to be average.
    if measure.gaps == "largest":
        share /= getattr(rule, "m", 1)
    if not share:
        return MOST_TO_PASS
    rows = math.log((1.0 - level) / 2.0) / math.log1p(-min(share, 0.999))
    return min(MOST_TO_PASS, max(FEWEST_ROWS, math.ceil(rows)))


def measures_of(limits: tuple[LimitOn, ...]) -> list[Measure]:
    """The measures that have limits; coefficients may have some too."""
    return [each.what for each in limits if isinstance(each.what, Measure)]
