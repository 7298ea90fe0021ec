"""Between: labels known only to lie between two numbers, or between two rows of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calibrant._core.errors import InputError
from calibrant._core.messages import worded
from calibrant._core.typing import Array
from calibrant._data.checks import first_entry
from calibrant._data.columns import pick
from calibrant._data.links import ROW_SUM_TOLERANCE
from calibrant._data.missing import find_missing_entries


@dataclass(frozen=True, eq=False)
class Between:
    """Labels that are sets: each probability is only known to lie between two bounds.

    Give it to `evaluate` or `report` as `y_true`. The result has `low` and `high`: the smallest and
    the largest value that each measure takes over all labels in the sets.

    Parameters
    ----------
    lo, hi : array-like of shape (n,) or (n, k), str or list of str
        The bounds of each label, from 0 to 1; with `data`, names of columns. (n,) is P(y = 1). For
        several classes a row's label is any distribution with each class between its two bounds.

    Examples
    --------
    >>> import calibrant as cal
    >>> labels = cal.Between([0.0, 0.6, 0.8, 0.3], [0.2, 0.8, 1.0, 0.5])
    >>> found = cal.evaluate(labels, [0.3, 0.7, 0.9, 0.4], bins=10)["ece"]
    >>> round(found.low, 4), round(found.high, 4)
    (0.025, 0.15)
    """

    lo: ArrayLike | str | Sequence[str]
    hi: ArrayLike | str | Sequence[str]


def read_between(labels: Between, data: Any) -> tuple[Array, Array]:
    """The lower and the upper bounds of labels, each (n,) or (n, k), NaN where one is missing.

    Raise InputError unless bounds are numbers from 0 to 1, in order, and each row of several
    classes has a distribution between its bounds. Bounds (n, k) are narrowed to the probabilities
    that distributions between them reach.
    """
    low = worded(python="lo", command="--label-low")
    high = worded(python="hi", command="--label-high")
    lo, hi = _read_bounds(labels.lo, low, data), _read_bounds(labels.hi, high, data)
    if lo.shape != hi.shape:
        raise InputError(
            f"{low} and {high} must have one shape; they have {lo.shape} and {hi.shape}"
        )
    for name, bounds in ((low, lo), (high, hi)):
        bad = (bounds < 0) | (bounds > 1)
        if bad.any():
            place, at = first_entry(name, bad)
            raise InputError(
                f"{place} is {bounds[at]:g}: bounds of labels must lie in [0, 1]; set smaller ones "
                "to 0 and larger ones to 1"
            )
    if (crossed := lo > hi).any():
        place, at = first_entry(low, crossed)
        raise InputError(
            f"{place} is {lo[at]:g}, above {first_entry(high, crossed)[0]}, which is {hi[at]:g}: "
            "the lower bound must not exceed the upper one"
        )
    return (lo, hi) if lo.ndim == 1 else _reachable(lo, hi, (low, high))


def _read_bounds(bounds: Any, name: str, data: Any) -> Array:
    """The lower or the upper bounds as float64, (n,) or (n, k), with NaN where one is missing.
    `name` is the name of the argument in errors.
    """
    if data is not None:
        bounds = pick(data, bounds, name)
    elif isinstance(bounds, str):
        raise InputError(f"{name}={bounds!r} names a column, but there is no data= to take it from")
    values, gaps = find_missing_entries(bounds, name)
    if values.dtype.kind not in "fiub" or values.ndim not in (1, 2):
        raise InputError(
            f"{name} must be bounds of labels, numbers of the shape (n,) or (n, k); got "
            f"{values.dtype} of the shape {values.shape}"
        )
    values = np.where(gaps, np.nan, values.astype(np.float64))
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


def _reachable(lo: Array, hi: Array, names: tuple[str, str]) -> tuple[Array, Array]:
    """The least and the largest probability that each class has in distributions between its
    bounds, which are (n, k).

    Raise InputError for a row without a distribution between its bounds; `names` are the names of
    the lower and the upper bounds in the message.
    """
    below, above = lo.sum(axis=1, keepdims=True), hi.sum(axis=1, keepdims=True)
    for name, sums, side in zip(names, (below, above), ("most", "least"), strict=True):
        over = sums - 1 if side == "most" else 1 - sums
        if (over > ROW_SUM_TOLERANCE).any():
            row = int(np.argmax(over > ROW_SUM_TOLERANCE))
            raise InputError(
                f"{name}[{row}] sums to {sums[row, 0]:g}, so no distribution lies between "
                f"{names[0]} and {names[1]} in this row: it must sum to at {side} 1"
            )
    # Equal bounds stay unchanged, even if the sums have rounding errors.
    least = np.minimum(np.maximum(lo, 1 - (above - hi)), hi)
    return least, np.maximum(np.minimum(hi, 1 - (below - lo)), least)
