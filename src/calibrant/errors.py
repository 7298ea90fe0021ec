"""What can go wrong, as types a caller can catch."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

NO_WEIGHT = "sample_weight is 0 in every row: at least one must be positive"


class CalibrantError(Exception):
    """The root of every error that Calibrant raises on purpose."""


class InputError(CalibrantError, ValueError):
    """An argument is not what is needed: which one, what was needed, what came, what to do."""


class UnknownOption(InputError, TypeError):
    """A keyword that the function does not have."""


class StateError(CalibrantError):
    """A saved state cannot be read, or two states cannot be merged."""


class MissingExtra(CalibrantError, ImportError):
    """An optional package is needed for what was asked."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package {package!r}, which is not installed: "
            f"pip install 'calibrant[{extra}]'"
        )


class CalibrantWarning(UserWarning):
    """Something was done, but the caller should know about it before relying on it."""


def nearest(name: object, known: Iterable[str]) -> str:
    """A hint that ends an error message: the known name nearest to the one that came."""
    choices = list(known)
    close = difflib.get_close_matches(str(name), choices, n=1, cutoff=0.5)
    if close:
        return f"did you mean {close[0]!r}?"
    return "use one of " + ", ".join(repr(choice) for choice in choices)


def one_of(argument: str, value: object, known: Iterable[str]) -> str:
    """The value, if it is one of the known names; an InputError with the nearest one if not."""
    choices = tuple(known)
    if isinstance(value, str) and value in choices:
        return value
    raise InputError(f"{argument}={value!r} is not known: {nearest(value, choices)}")
