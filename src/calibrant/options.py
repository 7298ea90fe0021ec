"""Unknown keywords of public functions get the nearest known name."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from calibrant.errors import UnknownOption, nearest

P = ParamSpec("P")
R = TypeVar("R")

# Why an option that others have is not here.
REASONS = {
    "groups": "clusters change what a value is worth, not the value: give them to evaluate (with "
    "uncertainty=True), interval, noise_floor, verdict, check, compare, reliability or report, "
    "with the rows in memory; sums of streams, files and windows do not keep them",
}


def public(function: Callable[P, R]) -> Callable[P, R]:
    """Turn a mistyped keyword into an UnknownOption that names the nearest one."""
    known = tuple(inspect.signature(function).parameters)
    # A class's constructor goes by the name of the class.
    shown = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        for name in kwargs:
            if name not in known:
                why = REASONS.get(name) or nearest(name, known)
                raise UnknownOption(f"{shown}() has no option {name!r}: {why}")
        return function(*args, **kwargs)

    return checked
