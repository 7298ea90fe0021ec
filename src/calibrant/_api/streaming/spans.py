"""Windows of time: how wide they are, where they begin, and which rows lie in which.

Windows are aligned to 1970-01-01 00:00 UTC, wherever the data begin: writers that know nothing of
each other cut time at the same places. That day was a Thursday, and so do windows of "7d" begin;
weeks ("1w") begin on Mondays, or on a day that is named ("1w-sun").
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
from calibrant._core.messages import name_of, setting
from calibrant._core.typing import Index, Mask
from calibrant._data.times import SECOND, moment

_UNITS = {"d": 86_400 * SECOND, "h": 3_600 * SECOND, "m": 60 * SECOND, "s": SECOND}
_TEXT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*")
_WEEKS = re.compile(r"\s*(\d+)\s*[wW](?:eeks?)?(?:-([A-Za-z]{3}))?\s*")
# Days from 1970-01-01, a Thursday, to the first such weekday.
_WEEKDAYS = {"thu": 0, "fri": 1, "sat": 2, "sun": 3, "mon": 4, "tue": 5, "wed": 6}
_WEEK = 7 * _UNITS["d"]
_LONGEST = 36_500 * _UNITS["d"]

Rows = slice | Index


@dataclass(frozen=True)
class WindowWidth:
    """The width of windows in microseconds, `us`, and the weekday on which weeks begin.

    `weekday` is one of "mon" to "sun" for widths in weeks, and None for other widths.
    """

    us: int
    weekday: str | None = None

    @property
    def offset(self) -> int:
        """Microseconds from 1970-01-01 UTC to a window's start; 0 unless widths are in weeks."""
        return 0 if self.weekday is None else _WEEKDAYS[self.weekday] * _UNITS["d"]

    def __str__(self) -> str:
        if self.weekday is not None:
            return f"{self.us // _WEEK}w-{self.weekday}"
        for unit, size in _UNITS.items():
            if self.us % size == 0:
                return f"{self.us // size}{unit}"
        return f"{Decimal(self.us) / SECOND}s"

    def start(self, us: int) -> int:
        """The start of the window that contains the time `us`; both in microseconds since 1970."""
        return (us - self.offset) // self.us * self.us + self.offset

    def numbers(self, us: NDArray[np.int64]) -> NDArray[np.int64]:
        """The number of the window that contains each time; times are microseconds since 1970.

        Window 0 begins at `offset`. `begin` gives the start of a window from its number.
        """
        return (us - self.offset) // self.us

    def begin(self, number: int) -> int:
        """The start of the window with this number, in microseconds since 1970."""
        return number * self.us + self.offset


def window_width(value: Any) -> WindowWidth:
    """Parse the width of windows: "1d", "15m" or "1w-sun", a timedelta, or seconds.

    An InputError is raised for anything else, and for widths of 0 or of more than 100 years.
    """
    if isinstance(value, WindowWidth):
        return value
    us: Any
    if isinstance(value, str) and (weeks := _WEEKS.fullmatch(value)) is not None:
        return _width_in_weeks(value, int(weeks[1]), weeks[2])
    if isinstance(value, str):
        us = _width_from_text(value)
    elif isinstance(value, timedelta):
        us = value / timedelta(microseconds=1)
    elif isinstance(value, np.timedelta64):
        us = value / np.timedelta64(1, "us")
    elif isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_):
        us = Decimal(repr(float(value))) * SECOND
    else:
        raise InputError(
            f"{name_of('every')} must be a text such as '1d', '1h' or '15m', a timedelta, or "
            f"seconds; got {value!r}"
        )
    if not math.isfinite(us) or not 0 < us <= _LONGEST or us != int(us):
        raise InputError(
            f"{name_of('every')} must be whole microseconds, above 0 and at most 100 years; got "
            f"{value!r}"
        )
    return WindowWidth(int(us))


def _width_in_weeks(text: str, number: int, day: str | None) -> WindowWidth:
    """A width of `number` weeks that begin on the weekday `day`, on Monday where it is None.

    `text` is what the user wrote, for the errors: of an unknown day, or of a width out of range.
    """
    weekday = "mon" if day is None else day.lower()
    if weekday not in _WEEKDAYS:
        days = ", ".join(sorted(_WEEKDAYS, key=lambda name: (_WEEKDAYS[name] - 4) % 7))
        raise InputError(
            f"{setting('every', text)} does not name a day: a week starts on {days}, as in '1w-sun'"
        )
    if not 0 < number * _WEEK <= _LONGEST:
        raise InputError(f"{name_of('every')} must be above 0 and at most 100 years; got {text!r}")
    return WindowWidth(number * _WEEK, weekday)


def _width_from_text(text: str) -> Decimal:
    """Parse a width such as "15m" into microseconds; an InputError for other texts."""
    match = _TEXT.fullmatch(text)
    # Elsewhere "M" is a month; "min" is a minute everywhere.
    unit = "" if match is None else {"M": "month", "min": "m"}.get(match[2], match[2].lower())
    if match is None or unit not in _UNITS:
        hint = (
            ". Months and years differ in length: use days, and combine them with between(start, "
            "stop)"
        )
        raise InputError(
            f"every={text!r} is not a window width: give a number with w (weeks from Monday; "
            "'1w-sun' from Sunday), d, h, m (minutes) or s, such as '1d', '6h' or '15m'"
            f"{hint if unit.startswith(('mo', 'y')) else ''}"
        )
    return Decimal(match[1]) * _UNITS[unit]


def split_by_window(
    us: NDArray[np.int64], missing: Mask, every: WindowWidth
) -> list[tuple[int, Rows]]:
    """Split rows by window of time: (start, rows) of each window that has rows, in order of time.

    `us` are the times of the rows in microseconds since 1970, (n,), and `missing` marks rows
    without a time, which are in no window. Starts are microseconds since 1970. The rows of a window
    are a slice if all rows are in order of time, so that nothing is copied; otherwise they are
    indices.
    """
    there: Index | None = None
    if missing.any():
        there = np.flatnonzero(~missing)
        us = us[there]
    if not us.size:
        return []
    if every.start(int(us.min())) == every.start(int(us.max())):
        starts, bounds, order = [every.start(int(us[0]))], [0, us.size], None
    else:
        number = every.numbers(us)
        order = None
        if (number[1:] < number[:-1]).any():
            order = np.argsort(number, kind="stable")
            number = number[order]
        firsts = np.concatenate([[0], np.flatnonzero(np.diff(number)) + 1])
        starts = [every.begin(int(k)) for k in number[firsts]]
        bounds = [*firsts.tolist(), us.size]
    out: list[tuple[int, Rows]] = []
    for j, start in enumerate(starts):
        rows: Rows = slice(bounds[j], bounds[j + 1])
        if order is not None:
            rows = order[rows]
        out.append((_check_in_range(start), rows if there is None else there[rows]))
    return out


def _check_in_range(start: int) -> int:
    """Return the start of a window unchanged; an InputError if it lies before the year 1."""
    try:
        moment(start)
    except OverflowError:
        raise InputError("time is too close to the year 1: its window begins before it") from None
    return start
