"""Times as users have them, as whole microseconds since 1970 in UTC.

A time without a zone is taken to be in UTC.
"""

from __future__ import annotations

import numbers
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError
from calibrant._core.typing import Mask
from calibrant._data.arrays import to_array
from calibrant._data.logits import warn_caller

SECOND = 1_000_000
# The seconds of a day.
DAY = 86_400
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_KINDS = (
    "times must be datetimes, ISO texts such as '2026-01-31T12:00:00+01:00', or seconds since 1970"
)
_FAR = (
    "it must lie in the years 1 to 9999. Numbers are seconds since 1970: divide milliseconds by "
    "1000"
)
# The first and the last second, since 1970, that a datetime can hold.
_FIRST, _LAST = (
    int((moment.replace(tzinfo=UTC) - EPOCH) // timedelta(seconds=1))
    for moment in (datetime.min, datetime.max)
)

Times = tuple[NDArray[np.int64], Mask]


def microseconds(value: Any, argument: str = "time") -> Times:
    """Times in microseconds since 1970 in UTC, and a mask of the missing times, which are 0 in the
    array. For a single time both are arrays without a dimension.
    """
    if value is None:
        raise InputError(f"{argument} is None: give one time for all rows, or one for each row")
    if isinstance(value, str | date | np.datetime64 | numbers.Real):
        one, missing = _times_of_objects([value], argument, single=True)
        return one.reshape(()), missing.reshape(())
    if isinstance(value, np.ma.MaskedArray):
        return _times_of_array(value.data, argument, np.ma.getmaskarray(value))
    if isinstance(value, np.ndarray | list | tuple):
        return _times_of_array(np.asarray(value), argument)
    series = _as_series(value)
    if series is None:
        return _times_of_array(to_array(value, argument), argument)
    return _times_of_series(series, argument)


def single(value: Any, argument: str) -> int:
    """One time in microseconds since 1970 in UTC; raise InputError if it is missing or if there are
    several. `argument` is its name in the message.
    """
    times, missing = microseconds(value, argument)
    if times.ndim or bool(missing):
        raise InputError(f"{argument} must be one time; got {value!r}")
    return int(times)


def moment(us: int) -> datetime:
    """The datetime in UTC of `us`, a time in microseconds since 1970."""
    return EPOCH + timedelta(microseconds=us)


def time_as_text(time: datetime) -> str:
    """A time as text, without seconds of 0, and without the hour at midnight."""
    return time.strftime("%Y-%m-%d %H:%M:%S").removesuffix(":00").removesuffix(" 00:00")


def _times_of_array(array: NDArray[Any], argument: str, masked: Mask | None = None) -> Times:
    """The times (microseconds since 1970) of an array of datetimes, of seconds since 1970, or of
    texts and objects, and a mask of the missing ones. `masked` marks entries that are known to be
    missing.
    """
    gone = np.zeros(array.shape, dtype=np.bool_) if masked is None else masked
    kind = array.dtype.kind
    if kind == "M":
        missing = gone | np.isnat(array)
        years = array.astype("datetime64[Y]").astype(np.int64) + 1970
        _check_years((years < 1) | (years > 9999), missing, array, argument)
        return np.where(missing, 0, array.astype("datetime64[us]").astype(np.int64)), missing
    if kind in "iuf":
        missing = gone | np.isnan(array)
        _check_no_dates(array, missing, argument)
        _check_years(~((array >= _FIRST) & (array <= _LAST)), missing, array, argument)
        filled = np.where(missing, np.zeros((), array.dtype), array)
        _warn_of_ids(array[~missing], argument)
        if kind == "f":
            return np.floor(filled.astype(np.float64) * SECOND).astype(np.int64), missing
        return filled.astype(np.int64) * SECOND, missing
    if kind in "OUS":
        times, missing = _times_of_objects(
            array.ravel().tolist(), argument, gone.ravel(), single=array.ndim == 0
        )
        return times.reshape(array.shape), missing.reshape(array.shape)
    raise InputError(f"{argument} holds {array.dtype}: {_KINDS}")


# Years that dates in whole numbers are of, and what follows the year: months, days, hours and
# minutes, seconds. As seconds since 1970 these would be a few days of that year, or far off.
_YEARS = (1900, 2100)
_DATES = {"year": 0, "month": 2, "date": 4, "time": 8, "time to the second": 10}
# Times to the hour (2024013123) lie within the seconds of 2030 to 2036.
_HOURS = 6
# Day 45350 of a spreadsheet is 2024-02-28: days of 1990 to 2100, which may have a time of day.
_SHEET_DAYS = (32_874, 73_415)
# Dates without a century, such as 240131, are numbers from 10101, 2001-01-01, on.
_FIRST_SHORT = 10_101


def _check_no_dates(array: NDArray[Any], missing: Mask, argument: str) -> None:
    """Raise InputError if all numbers that are not missing read as dates, such as 20240131: they
    are then hardly seconds since 1970.
    """
    known = array[~missing]
    what = _date_format(known) if known.size else ""
    if not what:
        return
    row = int(np.argmin(missing))
    where = f"{argument}[{row}]" if array.ndim else argument
    raise InputError(
        f"{where} is {known.flat[0]:.15g}, which looks like a {what}, but numbers are read as "
        "seconds since 1970: give dates as text, such as '2024-01-31', or as datetimes"
    )


def _date_format(known: NDArray[Any]) -> str:
    """The kind of date that all these numbers can be read as, in words ("time to the hour"); "" if
    there is none.
    """
    if known.min() >= _SHEET_DAYS[0] and known.max() < _SHEET_DAYS[1]:
        return "day number of a spreadsheet"
    if not np.all(known == np.floor(known)):
        return ""
    if known.size > 1 and _are_hours(known):
        return "time to the hour"
    found = [what for what, digits in _DATES.items() if _are_dates(known, digits)]
    if not found and known.min() >= _FIRST_SHORT and known.max() < 10**6 and _are_days(known):
        found = ["date without its century"]
    return found[0] if found else ""


def _are_dates(known: NDArray[Any], digits: int) -> bool:
    """Whether all numbers have the form of a year from 1900 to 2100 followed by `digits` more
    digits.
    """
    low = _YEARS[0] * 10**digits + (10 ** (digits - 2) if digits else 0)
    return bool(known.min() >= low and known.max() < (_YEARS[1] + 1) * 10**digits)


def _are_hours(known: NDArray[Any]) -> bool:
    """Whether all numbers have the form of a year, month, day and hour, such as 2024013123. So have
    about one in a hundred of the numbers that are seconds.
    """
    return _are_dates(known, _HOURS) and bool((known % 100 < 24).all()) and _are_days(known // 100)


def _are_days(known: NDArray[Any]) -> bool:
    """Whether the last four digits of all numbers are a month and a day, such as 0131."""
    month, day = known // 100 % 100, known % 100
    return bool(((month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)).all())


def _warn_of_ids(numbers: NDArray[Any], argument: str) -> None:
    """Warn if all numbers, read as seconds since 1970, lie on 1970-01-01: they may be ids or row
    numbers.
    """
    if numbers.size > 1 and numbers.min() >= 0 and numbers.max() < DAY:
        warn_caller(
            f"every {argument} is a number below {DAY:,}, which in seconds since 1970 is a time of "
            "1970-01-01: if these are ids, or numbers of days or rows, give times instead"
        )


def _check_years(far: Mask, missing: Mask, array: NDArray[Any], argument: str) -> None:
    """Raise InputError for the first time in the mask `far`, which marks times outside the years 1
    to 9999; missing times are ignored.
    """
    bad = np.asarray(far & ~missing)
    if not bad.any():
        return
    row = int(np.argmax(bad))
    where = f"{argument}[{row}]" if array.ndim else argument
    need = "it must lie in the years 1 to 9999" if array.dtype.kind == "M" else _FAR
    raise InputError(f"{where} is {array.ravel()[row]}: {need}")


def _short_number(value: Any) -> str:
    """A number with a few digits, as text for a message; words if it is too large for a float."""
    try:
        return f"{float(value):g}"
    except OverflowError:
        return "too large for a number"


def _times_of_objects(
    values: list[Any], argument: str, masked: Mask | None = None, *, single: bool = False
) -> Times:
    """The times (microseconds since 1970) of Python objects of any kind, each read separately, and
    a mask of the missing ones. `masked` marks values that are known to be missing; `single`: errors
    give no row number.
    """
    times = np.zeros(len(values), dtype=np.int64)
    missing = np.zeros(len(values), dtype=np.bool_)
    for row, value in enumerate(values):
        # NaT and NaN are not equal to themselves.
        if value is None or value != value or (masked is not None and masked[row]):
            missing[row] = True
            continue
        times[row] = _time_of_object(value, argument if single else f"{argument}[{row}]")
    return times, missing


def _time_of_object(value: Any, where: str) -> int:
    """The time of one Python object in microseconds since 1970; `where` says in errors which object
    it is.
    """
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            raise InputError(f"{where} is {value!r}, which is not a time: {_KINDS}") from None
    if isinstance(value, datetime):
        aware = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        us = int((aware - EPOCH) // timedelta(microseconds=1))
        if not _FIRST <= us // SECOND <= _LAST:  # in UTC, that is
            raise InputError(f"{where} is {value}: it must lie in the years 1 to 9999, in UTC")
        return us
    if isinstance(value, date):
        return _time_of_object(datetime.combine(value, time(tzinfo=UTC)), where)
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real | np.datetime64):
        raise InputError(f"{where} is {value!r}, which is not a time: {_KINDS}")
    number: Any = value
    array = np.asarray(number)
    if array.dtype.kind == "O":  # a whole number too large for any type, or a fraction
        if not _FIRST <= number <= _LAST:
            raise InputError(f"{where} is {_short_number(number)}: {_FAR}")
        array = np.asarray(float(number))
    return int(_times_of_array(array, where)[0])


def _as_series(value: Any) -> Any:
    """A series of a frame library as a narwhals series; None for any other value."""
    import narwhals as nw

    try:
        return nw.from_native(value, series_only=True)
    except TypeError:
        return None


def _times_of_series(series: Any, argument: str) -> Times:
    """The times (microseconds since 1970) of a narwhals series, and a mask of the missing ones."""
    import narwhals as nw

    null = series.is_null().to_numpy().astype(np.bool_)
    if series.dtype == nw.Date:
        series = series.cast(nw.Datetime("us"))
    if series.dtype == nw.Datetime:
        stamps = series.dt.timestamp("us").fill_null(0).to_numpy().astype(np.int64)
        return np.where(null, 0, stamps), null
    if series.dtype.is_numeric():
        filled = series.fill_null(0).to_numpy() if null.any() else series.to_numpy()
        kind = np.float64 if filled.dtype.kind == "O" else filled.dtype
        times, missing = _times_of_array(filled.astype(kind), argument)
        return times, missing | null
    return _times_of_objects(series.to_list(), argument, null)
