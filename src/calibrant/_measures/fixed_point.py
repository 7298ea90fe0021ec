"""Where a falling function of a width equals the width.

SciPy has such searches; to load them takes longer than all smooth errors of a page.
"""

from __future__ import annotations

import math
from collections.abc import Callable

# Logarithms of widths that are one to the last digits that count; excesses near which secants are
# all but exact.
CLOSE, NEAR = 1e-13, 1e-3


def fixed_point(
    error: Callable[[float], float],
    low: float,
    high: float,
    rough: Callable[[float], float] | None = None,
) -> float:
    """Where a falling function equals its argument, between two ends.

    A `rough` version of the function, where there is one, is searched first: a look or two at the
    function itself are enough then.
    """
    if rough is not None:
        at, slope, away = _root(_excess(rough), low, high)
        for _ in range(3):
            found = _excess(error)(math.exp(at))
            at -= found / slope
            if abs(found) * away <= CLOSE:
                return math.exp(at)
    return math.exp(_root(_excess(error), low, high)[0])


def _excess(error: Callable[[float], float]) -> Callable[[float], float]:
    """The logarithm of the error over its width."""
    return lambda width: math.log(max(error(width), 1e-300) / width)


def _root(excess: Callable[[float], float], low: float, high: float) -> tuple[float, float, float]:
    """The logarithm of the width at which a falling function of it is 0, the slope there, and how
    far apart the points were that told it.

    Secants, which are all but exact where noise decides; the end that stays has its excess cut by
    as much as the other one's fell (Anderson and Bjorck, 1973). There is no look at the end of the
    last one: it errs by what it corrects times how far its points are apart, or less.
    """
    a, b = math.log(low), math.log(high)
    above, below = excess(low), excess(high)
    before, last = (a, above), (b, below)
    kept = 0
    while b - a > 1e-12:
        at = (a * below - b * above) / (below - above)
        if not a < at < b:
            at = (a + b) / 2.0
        found = excess(math.exp(at))
        before, last = last, (at, found)
        away, slope = abs(at - before[0]), (found - before[1]) / (at - before[0])
        if abs(found) <= NEAR and slope < 0.0 and abs(found) * away <= CLOSE:
            return min(max(at - found / slope, a), b), slope, away
        if found > 0.0:
            below *= _cut(found / above) if kept > 0 else 1.0
            a, above, kept = at, found, 1
        else:
            above *= _cut(found / below) if kept < 0 else 1.0
            b, below, kept = at, found, -1
    return (a + b) / 2.0, -1.0, b - a


def _cut(left: float) -> float:
    return 1.0 - left if left < 1.0 else 0.5
