"""What every public function checks of its arguments: keywords are known, rows stand side by side.

Unknown keywords get the nearest known name. Rows are matched by position, so pandas objects whose
indexes say something else are refused.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ParamSpec, TypeVar

from calibrant._core.errors import InputError, UnknownOption, nearest

# Resamples behind every interval and noise floor, whoever asks: the same rows have one interval.
N_RESAMPLES = 1000

P = ParamSpec("P")
R = TypeVar("R")

# Why an option that others have is not here.
REASONS = {
    "groups": "clusters change what a value is worth, not the value: give them to evaluate (with "
    "uncertainty=True), interval, noise_floor, verdict, check, compare, reliability or report, "
    "with the rows in memory; sums of streams, files and windows do not keep them",
}
# Arguments with an entry for each row.
ROWS = ("data", "y_true", "y_proba", "sample_weight", "groups", "by", "votes", "time")


def public(function: Callable[P, R]) -> Callable[P, R]:
    """Turn a mistyped keyword into an UnknownOption that names the nearest one, and refuse pandas
    objects with different indexes.
    """
    known = tuple(inspect.signature(function).parameters)
    has_rows = any(name in ROWS for name in known)
    # A class's constructor goes by the name of the class.
    shown = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        for name in kwargs:
            if name not in known:
                why = REASONS.get(name) or nearest(name, known)
                raise UnknownOption(f"{shown}() has no option {name!r}: {why}")
        if has_rows:
            check_same_index({**dict(zip(known, args, strict=False)), **kwargs})
        return function(*args, **kwargs)

    return checked


def check_same_index(given: Mapping[str, Any]) -> None:
    """An InputError if two arguments have pandas indexes that differ: by position, as rows are
    matched, other rows would meet than by their indexes.
    """
    found = list(_indexed(given))
    for name, index in found[1:]:
        first_name, first = found[0]
        if index is first or len(index) != len(first) or index.equals(first):
            continue  # other lengths are told by who reads the rows
        pairs = enumerate(zip(first.tolist(), index.tolist(), strict=True))
        row, mine, other = next(((i, a, b) for i, (a, b) in pairs if not _alike(a, b)), (-1, 0, 0))
        if row < 0:  # of two types, but the same
            continue
        same = set(index) == set(first)
        what = "the same indexes in another order" if same else "different indexes"
        cure = f"{name}.reindex({first_name}.index)" if same else "one index for both"
        raise InputError(
            f"{first_name} and {name} have {what} (row {row} is {mine!r} and {other!r}),"
            f" while rows are matched by position: give {cure}, or .to_numpy() of each if they "
            "stand in the same order"
        )


def _alike(one: Any, other: Any) -> bool:
    if one is other:
        return True
    try:
        return bool(one == other or (one != one and other != other))
    except (TypeError, ValueError):  # pandas' NA is neither
        return False


def _indexed(given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The arguments that have an index, and theirs."""
    ids = given.get("ids")
    by_ids: Mapping[str, Any] = ids if isinstance(ids, Mapping) else {}
    for argument in ROWS:
        value = given.get(argument)
        if isinstance(value, Mapping):  # several predictors; ids bring theirs into order
            parts = {
                f"{argument}[{key!r}]": part for key, part in value.items() if key not in by_ids
            }
        else:
            parts = {argument: value}
        if argument == "y_true" and "y_true" in by_ids:
            parts["ids['y_true']"] = by_ids["y_true"]
        for name, part in parts.items():
            index = getattr(part, "index", None)
            if index is not None and not callable(index) and hasattr(index, "equals"):
                yield name, index
