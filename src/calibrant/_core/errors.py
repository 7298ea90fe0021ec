"""What can go wrong, as types a caller can catch."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

NO_WEIGHT = "sample_weight is 0 in every row: at least one must be positive"
NO_ROW_LEFT = (
    "no row is left: each had a missing value and was dropped, so there is nothing to measure"
)


class CalibrantError(Exception):
    """The root of every error that Calibrant raises on purpose.

    Examples
    --------
    >>> import calibrant as cal
    >>> try:
    ...     cal.ece([0, 1], [0.2, 3.1])
    ... except cal.CalibrantError as error:
    ...     print(type(error).__name__)
    InputError
    """


class InputError(CalibrantError, ValueError):
    """An argument is not what is needed.

    The message names the argument, what was needed, what came, and what to do. It is a `ValueError`
    too.

    Examples
    --------
    >>> import calibrant as cal
    >>> try:
    ...     cal.ece([0, 1], [0.2, 0.7], bins=0)
    ... except cal.InputError as error:
    ...     print(error)
    bins must be at least 1; got 0
    """


class NeedsRows(InputError):
    """A function needs the rows themselves; sums by cell are not enough."""


class NotDefined(InputError):
    """A measure has no value for these data, although they are valid.

    An evaluation of everything goes on without that measure, and says so in a note.

    Examples
    --------
    >>> import calibrant as cal
    >>> try:
    ...     cal.tace([0, 1], [0.0, 0.0], threshold=0.5)
    ... except cal.NotDefined:
    ...     print("no prediction is above the threshold")
    no prediction is above the threshold
    """


class UnknownOption(InputError, TypeError):
    """A keyword that the function does not have. It is a `TypeError` too.

    Examples
    --------
    >>> import calibrant as cal
    >>> try:
    ...     cal.ece([0, 1], [0.2, 0.7], bin=10)
    ... except cal.UnknownOption as error:
    ...     print(error)
    ece() has no option 'bin': did you mean 'bins'?
    """


class StateError(CalibrantError):
    """A saved state cannot be read, or two states cannot be merged.

    Examples
    --------
    >>> import calibrant as cal
    >>> try:
    ...     cal.Accumulator(bins=10).merge(cal.Accumulator(bins=20))
    ... except cal.StateError:
    ...     print("different bins cannot be merged")
    different bins cannot be merged
    """


class CheckFailed(CalibrantError, AssertionError):
    """A check did not pass: a threshold is violated, or there is not enough data.

    Raised by `Check.assert_passed`. It is an `AssertionError` too, so that test runners count a
    failure and not an error.

    Examples
    --------
    >>> import calibrant as cal
    >>> try:
    ...     cal.check([0, 1, 1, 0] * 50, [0.1] * 200, at_most={"ece": 0.05}).assert_passed()
    ... except cal.CheckFailed as failed:
    ...     print(str(failed).splitlines()[0])
    calibration check: fail, 1 of 1 limits did not pass
    """


def _packages_of(extra: str) -> list[str]:
    """The packages of an extra, by the names that pip knows; none if that cannot be looked up."""
    from importlib import metadata

    try:
        lines = metadata.requires("calibrant") or []
    except metadata.PackageNotFoundError:
        return []
    own = re.compile(rf"extra == ['\"]{re.escape(extra)}['\"]")
    return [re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in lines if own.search(line)]


class MissingExtra(CalibrantError, ImportError):
    """An optional package is needed for what was asked. It is an `ImportError` too.

    Parameters
    ----------
    package : str
        Name of the package that is missing.
    extra : str or None
        Extra of Calibrant that installs it, if any.
    purpose : str
        What needs the package; the message begins with it.

    Examples
    --------
    >>> import calibrant as cal
    >>> str(cal.MissingExtra("matplotlib", "plot", "a diagram")).partition(": ")[2]
    "pip install matplotlib (the extra 'plot')"
    """

    def __init__(self, package: str, extra: str | None, purpose: str) -> None:
        # Some packages are in no extra of ours: users choose their version.
        install = package
        if extra is not None:
            install = f"{' '.join(_packages_of(extra) or [package])} (the extra {extra!r})"
        super().__init__(
            f"{purpose} needs the package {package!r}, which is not installed: pip install "
            f"{install}"
        )
        self._made_of = package, extra, purpose

    def __reduce__(self) -> tuple[type[MissingExtra], tuple[str, str | None, str]]:
        """For pickle: the class and the arguments that it is made with."""
        return type(self), self._made_of


class CalibrantWarning(UserWarning):
    """Something was done that the caller should know about before relying on it.

    Examples
    --------
    >>> import warnings
    >>> import calibrant as cal
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", cal.CalibrantWarning)  # treat each as an error
    ...     cal.ece([0, 1], [0.2, 0.7], bins=10)
    0.25
    """

    # The message without the name that it begins with (`warning_about`); None
    # if it begins with no such name.
    _unnamed: str | None = None


# Tracebacks name what users can import and catch.
for _kind in (
    CalibrantError,
    InputError,
    NotDefined,
    UnknownOption,
    StateError,
    MissingExtra,
    CalibrantWarning,
):
    _kind.__module__ = "calibrant"


def warning_about(name: str, text: str) -> CalibrantWarning:
    """A warning with the message "name: text"; `unnamed_text` gives the text alone."""
    warning = CalibrantWarning(f"{name}: {text}")
    warning._unnamed = text
    return warning


def unnamed_text(warning: CalibrantWarning) -> str:
    """The message of a warning without the name that `warning_about` put before it."""
    return str(warning) if warning._unnamed is None else warning._unnamed


@contextmanager
def errors_about(name: str) -> Iterator[None]:
    """Inside the block, put `name` in front of the messages of Calibrant's errors ("name:
    message"), such as the name of one predictor among several, or of an argument.

    The error keeps its class. A class with a constructor of its own, such as `MissingExtra`, cannot
    be made from a message alone: its nearest parent class without one is raised instead.
    """
    try:
        yield
    except CalibrantError as error:
        kind: type = type(error)
        while "__init__" in vars(kind):
            kind = kind.__mro__[1]
        raise kind(f"{name}: {error}") from error


def check_weight_total(weight: float, n_rows: float = 1) -> None:
    """Raise InputError unless `weight`, the sum of all weights, is positive and finite. `n_rows` is
    0 if every row was dropped, for which the message is a different one.
    """
    if math.isfinite(weight) and weight > 0:
        return
    if weight == 0:
        raise InputError(NO_WEIGHT if n_rows else NO_ROW_LEFT)
    raise InputError("sample_weight is too large to be summed: divide all weights by one number")


ODD_WEIGHTS = (
    "sample_weight is too large or too small to be squared and summed: multiply all weights by "
    "one number, so that the largest is near 1"
)


def check_squares(weight: float, squares: float) -> None:
    """Raise InputError if `squares`, the sum of squared weights, is too large or too small for
    floating-point numbers. `weight` is the sum of weights; nothing is raised if it is 0.
    """
    if weight > 0 and not 1e-290 < squares < 1e290:
        raise InputError(ODD_WEIGHTS)


def check_some_left(n_rows: int) -> None:
    """Raise InputError if `n_rows` is 0: every row was dropped because a value was missing."""
    if n_rows == 0:
        raise InputError(NO_ROW_LEFT)


def counted(n: float, what: str, how: str = ",") -> str:
    """A number with a noun, as text: "1 row", "2,000 rows". The noun `what` gets an "s" unless the
    number is 1; `how` is the format of the number.
    """
    return f"{n:{how}} {what}{'' if n == 1 else 's'}"


def nearest(name: object, known: Iterable[object], *, cutoff: float = 0.5) -> str:
    """The end of an error message about an unknown name: "did you mean 'bins'?" with the known name
    nearest to `name`, or a list of all known names if none is as similar as `cutoff` (0 to 1).
    """
    choices = {str(choice): choice for choice in known}  # columns may be called 0, 1, ...
    close = difflib.get_close_matches(str(name), choices, n=1, cutoff=cutoff)
    if close:
        return f"did you mean {choices[close[0]]!r}?"
    return "use one of " + ", ".join(repr(choice) for choice in choices.values())


def one_of(argument: str, value: object, known: Iterable[str]) -> str:
    """The value itself if it is one of the known names; otherwise raise InputError, which suggests
    the nearest of them.
    """
    choices = tuple(known)
    if isinstance(value, str) and value in choices:
        return value
    raise InputError(f"{argument}={value!r} is not known: {nearest(value, choices)}")
