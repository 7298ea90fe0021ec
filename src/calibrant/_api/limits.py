"""Limits as users write them: what is limited, and whether the limit can be kept and broken."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from calibrant._core.errors import InputError
from calibrant._core.messages import setting, worded
from calibrant._inference.coefficients import COEFFICIENTS, Coefficient
from calibrant._measures.catalogue import Measure, Shape, find
from calibrant.results._check import Kind, Limit

# The argument that each kind of limit is given by.
ARGUMENTS: dict[Kind, str] = {
    "max": "at_most", "min": "at_least",
    "max_increase": "max_increase", "max_decrease": "max_decrease",
}  # fmt: skip
# What is said of each kind of limit where another one is meant.
_OTHER: dict[Kind, Kind] = {
    "max": "min", "min": "max", "max_increase": "max_decrease", "max_decrease": "max_increase",
}  # fmt: skip


@dataclass(frozen=True)
class Limited:
    """A limit and what it limits: a measure of the catalogue, or a coefficient of Cox's fit."""

    what: Measure | Coefficient
    limit: Limit


def limits_of(
    at_most: Mapping[str, float] | None,
    at_least: Mapping[str, float] | None,
    shape: Shape,
    max_increase: Mapping[str, float] | None = None,
    max_decrease: Mapping[str, float] | None = None,
) -> tuple[Limited, ...]:
    """The limits and what they are of; an error for a limit that checks nothing."""
    given: dict[Kind, Any] = {
        "max": at_most, "min": at_least, "max_increase": max_increase, "max_decrease": max_decrease,
    }  # fmt: skip
    limits = tuple(_parsed(given, shape))
    check_some_limit(limits)
    _check_directions(limits)
    return limits


def check_some_limit(*given: Any) -> None:
    """An error if nothing is to be checked."""
    if not any(given):
        raise InputError(
            f"there is {worded(python='no limit', command='nothing')} to check: say "
            f"{setting('at_most', {'ece': 0.05})}, or "
            f"{worded(python='at_least=', command='--min MEASURE=LIMIT')}"
        )


def _parsed(given: Mapping[Kind, Any], shape: Shape) -> Iterator[Limited]:
    for kind, limits in given.items():
        if limits is not None and not isinstance(limits, Mapping):
            raise InputError(
                f"{ARGUMENTS[kind]} must map names of measures to limits, such as {{'ece': 0.05}}; "
                f"got {limits!r}"
            )
        for name, value in (limits or {}).items():
            what = COEFFICIENTS.get(name) or find(name, shape)
            _check_not_empty(what, kind, value)
            yield Limited(what, Limit(what.name, kind, float(value)))


def _check_not_empty(what: Measure | Coefficient, kind: Kind, value: Any) -> None:
    """An error for a limit that every value keeps, or none."""
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not real or not math.isfinite(value):
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
            f"{'always' if always else 'never'} true and checks nothing.{percent}"
        )


def _check_directions(limits: tuple[Limited, ...]) -> None:
    """An error for limits on the good side alone, which models that become worse would keep.

    A value that is limited on both sides may be so, for losses too good to be true; a coefficient
    has no better side.
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
                f"{what.name} is better the {better} it is, so {limit} would be kept by models "
                f"that become worse: say {setting(ARGUMENTS[other], {what.name: ...})}"
            )
