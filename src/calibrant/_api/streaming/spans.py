"""Windows of time: how wide they are, where they begin, and which rows lie in which.

Windows are aligned to 1970-01-01 00:00 UTC, wherever the data begin: writers that know nothing of
each other cut time at the same places.
"""

from __future__ import annotations

import math
import numbers
import re
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError
from calibrant._data.times import SECOND, moment

_UNITS = {"d": 86_400 * SECOND, "h": 3_600 * SECOND, "m": 60 * SECOND, "s": SECOND}
_TEXT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*")
_LONGEST = 36_500 * _UNITS["d"]

Rows = slice | NDArray[np.intp]


@dataclass(frozen=True)
class WindowWidth:
    """The width of windows, in microseconds."""

    us: int

    def __str__(self) -> str:
        for unit, size in _UNITS.items():
            if self.us % size == 0:
                return f"{self.us // size}{unit}"
        return f"{Decimal(self.us) / SECOND}s"

    def start(self, us: int) -> int:
        """Where the window of a time begins."""
        return us // self.us * self.us


def window_width(value: Any) -> WindowWidth:
    """The width that a user gave: "1d", "15m", a timedelta, or seconds."""
    if isinstance(value, WindowWidth):
        return value
    us: Any
    if isinstance(value, str):
        us = _of_text(value)
    elif isinstance(value, timedelta):
        us = value / timedelta(microseconds=1)
    elif isinstance(value, np.timedelta64):
        us = value / np.timedelta64(1, "us")
    elif isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_):
        us = Decimal(repr(float(value))) * SECOND
    else:
        raise InputError(
            f"every must be a text such as '1d', '1h' or '15m', a timedelta, or seconds; got "
            f"{value!r}"
        )
    if not math.isfinite(us) or not 0 < us <= _LONGEST or us != int(us):
        raise InputError(
            f"every must be whole microseconds, above 0 and at most 100 years; got {value!r}"
        )
    return WindowWidth(int(us))


def _of_text(text: str) -> Decimal:
    match = _TEXT.fullmatch(text)
    # Elsewhere "M" is a month; "min" is a minute everywhere.
    unit = "" if match is None else {"M": "month", "min": "m"}.get(match[2], match[2].lower())
    if match is None or unit not in _UNITS:
        calendar = unit.startswith(("w", "mo", "y"))
        hint = (
            ". Weeks counted from 1970 begin on Thursdays, and months differ in length: keep days, "
            "and put them together with between(start, stop)"
        )
        raise InputError(
            f"every={text!r} is not a width of windows: give a number with d, h, m (minutes) or s, "
            f"such as '1d', '6h' or '15m'{hint if calendar else ''}"
        )
    return Decimal(match[1]) * _UNITS[unit]


def split(
    us: NDArray[np.int64], missing: NDArray[np.bool_], every: WindowWidth
) -> list[tuple[int, Rows]]:
    """The windows that hold rows, by their start, and the rows of each; rows without time in none.

    Rows that come in order of time, as most do, are slices: nothing of them needs to be copied.
    """
    there: NDArray[np.intp] | None = None
    if missing.any():
        there = np.flatnonzero(~missing)
        us = us[there]
    if not us.size:
        return []
    if every.start(int(us.min())) == every.start(int(us.max())):
        starts, bounds, order = [every.start(int(us[0]))], [0, us.size], None
    else:
        number = us // every.us
        order = None
        if (number[1:] < number[:-1]).any():
            order = np.argsort(number, kind="stable")
            number = number[order]
        firsts = np.concatenate([[0], np.flatnonzero(np.diff(number)) + 1])
        starts = [int(k) * every.us for k in number[firsts]]
        bounds = [*firsts.tolist(), us.size]
    out: list[tuple[int, Rows]] = []
    for j, start in enumerate(starts):
        rows: Rows = slice(bounds[j], bounds[j + 1])
        if order is not None:
            rows = order[rows]
        out.append((_in_range(start), rows if there is None else there[rows]))
    return out


def _in_range(start: int) -> int:
    try:
        moment(start)
    except OverflowError:
        raise InputError("time is too close to the year 1: its window begins before it") from None
    return start
