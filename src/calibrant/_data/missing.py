"""Rows in which a prediction, a label or a weight is missing: an error, or dropped and counted.

Missing is a null of a frame, a masked entry, or NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import one_of
from calibrant._core.typing import Mask
from calibrant._data.arrays import to_array, without_objects


def check_missing(missing: str) -> str:
    """The option, if it is one."""
    return one_of("missing", missing, ("error", "drop"))


def without_missing(
    y_true: Any, y_proba: Any, sample_weight: Any
) -> tuple[Any, Any, Any, Mask | None]:
    """The rows with nothing missing, and which they are; None where that is all of them."""
    parts = {"y_true": y_true, "y_proba": y_proba, "sample_weight": sample_weight}
    given = {name: row_gaps(value, name) for name, value in parts.items() if value is not None}
    lengths = {array.shape[:1] for array, _ in given.values()}
    if len(lengths) > 1:  # an error of the checks that follow
        return y_true, y_proba, sample_weight, None
    gone = np.logical_or.reduce([gaps for _, gaps in given.values()])
    if not gone.any():
        return y_true, y_proba, sample_weight, None
    kept = {name: array[~gone] for name, (array, _) in given.items()}
    return kept["y_true"], kept["y_proba"], kept.get("sample_weight"), ~gone


def own_rows(votes: Any, kept: Mask | None) -> Any:
    """Votes of the rows that stayed; of one number for all rows, that number."""
    if kept is None or np.ndim(votes) == 0:
        return votes
    array = to_array(votes, "votes")
    return array[kept] if array.shape[:1] == kept.shape else array


def row_gaps(value: Any, argument: str) -> tuple[NDArray[Any], Mask]:
    """The values as an array, and which rows have a gap."""
    array, gaps = entry_gaps(value, argument)
    rows = gaps.any(axis=tuple(range(1, gaps.ndim)))
    return array, np.asarray(rows, dtype=np.bool_)


def entry_gaps(value: Any, argument: str) -> tuple[NDArray[Any], Mask]:
    """The values as an array, and which of its entries are gaps."""
    if isinstance(value, np.ma.MaskedArray):
        array, gaps = value.data, np.ma.getmaskarray(value)
    else:
        array, gaps = _filled(value, argument)
    if array.dtype.kind == "f":
        gaps = gaps | np.isnan(array)
    elif array.dtype.kind == "O":
        gaps = gaps | np.array([_is_gap(x) for x in array.ravel()]).reshape(array.shape)
        array = _narrowed(array, gaps)
    return array, np.asarray(gaps, dtype=np.bool_)


def _is_gap(value: Any) -> bool:
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # a list, which is an error of the checks that follow
        return False


def _filled(value: Any, argument: str) -> tuple[NDArray[Any], Mask]:
    """A frame's columns with something harmless in place of nulls; other things as they are."""
    columns = _columns(value)
    if columns is None:
        array = to_array(value, argument)
        return array, np.zeros(array.shape, dtype=np.bool_)
    arrays, gaps = [], []
    for column in columns:
        null = column.is_null().to_numpy()
        present = to_array(column.filter(~column.is_null()).to_native(), argument)
        whole = np.zeros(null.size, dtype=present.dtype)
        whole[~null] = present
        arrays.append(whole)
        gaps.append(null)
    if hasattr(value, "columns"):
        return np.column_stack(arrays), np.column_stack(gaps)
    return arrays[0], gaps[0]


def _columns(value: Any) -> list[Any] | None:
    import narwhals as nw

    try:
        native = nw.from_native(value, allow_series=True, eager_only=True)
    except TypeError:
        return None
    return [native] if isinstance(native, nw.Series) else list(native.iter_columns())


def _narrowed(array: NDArray[Any], gaps: Mask) -> NDArray[Any]:
    """An array of Python objects as numbers, where it holds nothing else."""
    try:
        present = without_objects(np.array(array[~gaps].tolist()))
    except ValueError:  # lists of several lengths
        return array
    if present.ndim != 1:
        return array
    out = np.zeros(array.shape, dtype=present.dtype)
    out[~gaps] = present
    return out
