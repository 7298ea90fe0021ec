"""Checks of options that several public functions share: levels, seeds, counts, keywords, indexes.

Each returns the value in the type the code works with, or raises an InputError that names the
argument, what it needs and what came. Unknown keywords get the nearest known name. Rows are matched
by position, so pandas objects with different indexes are an error.
"""

from __future__ import annotations

import functools
import numbers
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ParamSpec, TypeVar

import numpy as np

from calibrant._core.arguments import whole_docstring, whole_signature
from calibrant._core.errors import InputError, UnknownOption, nearest, one_of
from calibrant._core.messages import setting

# Default number of resamples of every function, so that the same rows always have one interval.
N_RESAMPLES = 1000

P = ParamSpec("P")
R = TypeVar("R")

# Options that other functions have, and why a function does not have them.
REASONS = {
    "groups": "clusters change the uncertainty of a value, not the value: give them to evaluate "
    "(with uncertainty=True), interval, noise_floor, verdict, check, compare, reliability or "
    "report, for arrays, frames or files. A stream's sums do not record the cluster of a row: "
    "write its rows to a file, and name the column",
}
# Names of arguments in other libraries, and what we call them.
CALLED = {
    "labels": "y_true",
    "y": "y_true",
    "target": "y_true",
    "targets": "y_true",
    "label": "y_true",
    "y_prob": "y_proba",
    "y_pred": "y_proba",
    "y_score": "y_proba",
    "probs": "y_proba",
    "proba": "y_proba",
    "confidences": "y_proba",
    "predictions": "y_proba",
    "weight": "sample_weight",
    "weights": "sample_weight",
    "n_bins": "bins",
    "num_bins": "bins",
    "metrics": "measures",
    "metric": "measures",
    "alpha": "level",
    "confidence": "level",
    "confidence_level": "level",
    "random_state": "seed",
    "n_boot": "n_resamples",
    "n_bootstrap": "n_resamples",
    "one_pass": "exact",
    "max_depth": "depth",
    "groupby": "by",
}
# Arguments with an entry for each row.
ROWS = (
    *("data", "y_true", "y_proba", "sample_weight", "groups", "by", "votes", "time"),
    *("human", "judged", "question", "answer", "correct"),
)


def is_number(value: Any) -> bool:
    """Whether the value is a real number; True and False are not numbers here."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)


def check_flag(argument: str, value: Any) -> bool:
    """The value of an option as a bool; raise InputError unless it is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{argument} must be True or False; got {value!r}")
    return bool(value)


def check_level(level: Any) -> float:
    """A confidence level as a float; raise InputError unless it lies between 0 and 1."""
    if not is_number(level) or not 0 < float(level) < 1:
        raise InputError(f"level must be a number between 0 and 1, such as 0.95; got {level!r}")
    return float(level)


def check_tolerance(tolerance: Any, most: float = 1.0) -> float:
    """A tolerance as a float; raise InputError unless it lies between 0 and `most`, the largest
    value of the measure.
    """
    if not is_number(tolerance) or not 0 < float(tolerance) < most:
        percentage = is_number(tolerance) and 1 <= float(tolerance) <= 100 and most == 1
        raise InputError(
            f"tolerance must be a number between 0 and {most:g}, such as 0.05: the largest error "
            f"that you can accept; got {tolerance!r}"
            + (". If it is a percentage, divide it by 100" if percentage else "")
        )
    return float(tolerance)


def check_count(argument: str, value: Any, least: int, needs: str = "") -> int:
    """A whole number as an int; raise InputError if it is no whole number or below `least`. `needs`
    replaces "a whole number, at least ..." in the message.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or int(value) < least:
        needs = needs or f"a whole number, at least {least}"
        raise InputError(f"{argument} must be {needs}; got {value!r}")
    return int(value)


def check_seed(seed: Any) -> int:
    """The seed of a random generator as an int; raise InputError unless it is a whole number from
    0.
    """
    return check_count("seed", seed, 0, "a whole number, 0 or more")


def check_resamples(n_resamples: Any, seed: Any) -> None:
    """Raise InputError unless the number of resamples is at least 50 and their seed is a whole
    number from 0.
    """
    check_count(
        "n_resamples",
        n_resamples,
        50,
        "a whole number, at least 50: fewer cannot give a 95% point",
    )
    check_seed(seed)


def check_resample(resample: Any, votes: Any) -> str:
    """The option `resample`, which says what is drawn anew: "rows", "votes" or "both"; "" for None.
    Raise InputError for any other value, and if votes are to be drawn while `votes` (already
    checked) is None.
    """
    if resample is None:
        return ""
    one_of("resample", resample, ("rows", "votes", "both"))
    if votes is None and resample != "rows":
        raise InputError(
            f"resample={resample!r} needs the number of votes of each row: give "
            f"{setting('votes')}, or vote counts as y_true"
        )
    return str(resample)


def check_eps(eps: Any) -> float:
    """The option `eps`, the distance from 0 and 1 to which predictions are clipped before their
    logit is taken, as a float; raise InputError unless it is at least 1e-16 and below 1/2.
    """
    # Below 1e-16, 1 - eps is 1 in floating point, which has no logit.
    if not isinstance(eps, numbers.Real) or not 1e-16 <= float(eps) < 0.5:
        raise InputError(f"eps must be a number from 1e-16 up to 1/2; got {eps!r}")
    return float(eps)


# Types of arguments that have no pandas index.
_PLAIN: set[type] = {np.ndarray, list, tuple, str, int, float, bool, type(None)}


def have_no_index(*types: type) -> None:
    """Declare that objects of these types have no pandas index, so that no function
    looks for one.
    """
    _PLAIN.update(types)


def public(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a public function: a mistyped keyword raises UnknownOption, which names the nearest
    one; pandas objects with different indexes are rejected; signature and docstring get the shared
    arguments.
    """
    signature = whole_signature(function)
    known = tuple(signature.parameters)
    has_rows = any(name in ROWS for name in known)

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        """Call the decorated function, after its keywords and the pandas indexes of its rows are
        checked.
        """
        for name in kwargs:
            if name not in known:
                options = [each for each in known if each not in ("self", "cls")]
                why = REASONS.get(name) or _option_hint(name, options)
                # A constructor, which may be inherited, has the name of the object's class.
                constructs = function.__name__ == "__init__"
                shown = type(args[0]).__name__ if constructs else function.__name__
                raise UnknownOption(f"{shown}() has no option {name!r}: {why}")
        if has_rows and not (_PLAIN.issuperset(map(type, args)) and _have_plain_types(kwargs)):
            check_same_index({**dict(zip(known, args, strict=False)), **kwargs})
        return function(*args, **kwargs)

    setattr(checked, "__signature__", signature)  # noqa: B010
    # Methods have their whole docstring in the source, where editors read it; -OO leaves none.
    if function.__doc__ and "." not in function.__qualname__:
        checked.__doc__ = whole_docstring(function.__doc__, signature.parameters)
    return checked


def _option_hint(name: str, options: list[str]) -> str:
    """The hint for an unknown keyword `name`: the option that stands for this name in other
    libraries, or the nearest option if it is very similar, or else all options.
    """
    called = CALLED.get(name)
    return f"did you mean {called!r}?" if called in options else nearest(name, options, cutoff=0.75)


def _have_plain_types(arguments: Mapping[str, Any]) -> bool:
    """Whether all arguments with a value per row are of types that have no pandas index, such as
    arrays and lists. `arguments` are the values by name.
    """
    return all(type(value) in _PLAIN for name, value in arguments.items() if name in ROWS)


def check_same_index(arguments: Mapping[str, Any]) -> None:
    """Raise InputError if two arguments have pandas indexes of the same length that differ: rows
    are matched by position, which would pair other rows than the indexes do. `arguments` are the
    values by name.
    """
    indexed = list(_pandas_indexes(arguments))
    for name, index in indexed[1:]:
        first_name, first = indexed[0]
        if index is first or len(index) != len(first) or index.equals(first):
            continue  # other lengths are reported where the rows are read
        pairs = enumerate(zip(first.tolist(), index.tolist(), strict=True))
        row, mine, other = next(
            ((i, a, b) for i, (a, b) in pairs if not _equal_entries(a, b)), (-1, 0, 0)
        )
        if row < 0:  # the types of the indexes differ, but no entry does
            continue
        same = set(index) == set(first)
        what = "the same indexes in another order" if same else "different indexes"
        cure = f"{name}.reindex({first_name}.index)" if same else "one index for both"
        raise InputError(
            f"{first_name} and {name} have {what} (row {row} is {mine!r} and {other!r}),"
            f" while rows are matched by position: give {cure}, or .to_numpy() of each if they "
            "stand in the same order"
        )


def _equal_entries(one: Any, other: Any) -> bool:
    """Whether two entries of pandas indexes are equal; two missing values count as equal."""
    if one is other:
        return True
    try:
        return bool(one == other or (one != one and other != other))
    except (TypeError, ValueError):  # pandas' NA is neither true nor false
        return False


def _pandas_indexes(arguments: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the name and the pandas index of each argument that has one; of a dict of predictors,
    of each predictor but those that `ids` brings into order. `arguments` are the values by name.
    """
    ids = arguments.get("ids")
    by_ids: Mapping[str, Any] = ids if isinstance(ids, Mapping) else {}
    for argument in ROWS:
        value = arguments.get(argument)
        if isinstance(value, Mapping):  # several predictors; ids bring theirs into order
            named_values = {
                f"{argument}[{key!r}]": each for key, each in value.items() if key not in by_ids
            }
        else:
            named_values = {argument: value}
        if argument == "y_true" and "y_true" in by_ids:
            named_values["ids['y_true']"] = by_ids["y_true"]
        for name, each in named_values.items():
            index = getattr(each, "index", None)
            # A column of Spark answers to every attribute's name: only a real index has these two.
            if hasattr(type(index), "equals") and hasattr(type(index), "__len__"):
                yield name, index
