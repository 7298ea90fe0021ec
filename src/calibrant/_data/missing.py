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
    """The option `missing` as it was given; raise InputError unless it is "error" or "drop"."""
    return one_of("missing", missing, ("error", "drop"))


def without_missing(
    y_true: Any, y_proba: Any, sample_weight: Any
) -> tuple[Any, Any, Any, Mask | None]:
    """Drop the rows in which a label, a prediction or a weight is missing.

    Returns y_true, y_proba and sample_weight without these rows, and a mask of the remaining rows.
    If no row is dropped, or if lengths differ (an error of later checks), the three are returned
    unchanged and the mask is None.
    """
    parts = {"y_true": y_true, "y_proba": y_proba, "sample_weight": sample_weight}
    given = {
        name: find_missing_rows(value, name) for name, value in parts.items() if value is not None
    }
    lengths = {array.shape[:1] for array, _ in given.values()}
    if len(lengths) > 1:  # an error of the checks that follow
        return y_true, y_proba, sample_weight, None
    gone = np.logical_or.reduce([gaps for _, gaps in given.values()])
    if not gone.any():
        return y_true, y_proba, sample_weight, None
    kept = {name: array[~gone] for name, (array, _) in given.items()}
    return kept["y_true"], kept["y_proba"], kept.get("sample_weight"), ~gone


def votes_of_kept(votes: Any, kept: Mask | None) -> Any:
    """The votes of the rows in the mask `kept` (None: all rows). One number for all rows stays, and
    so do votes of another length than `kept`, which later checks report.
    """
    if kept is None or np.ndim(votes) == 0:
        return votes
    array = to_array(votes, "votes")
    return array[kept] if array.shape[:1] == kept.shape else array


def find_missing_rows(value: Any, argument: str) -> tuple[NDArray[Any], Mask]:
    """The values as an array, and a mask (n,) of the rows in which a value is missing."""
    array, gaps = find_missing_entries(value, argument)
    rows = gaps.any(axis=tuple(range(1, gaps.ndim)))
    return array, np.asarray(rows, dtype=np.bool_)


def find_missing_entries(value: Any, argument: str) -> tuple[NDArray[Any], Mask]:
    """The values as an array, and a mask of the same shape of the entries that are missing. The
    array has arbitrary values at missing entries.
    """
    if isinstance(value, np.ma.MaskedArray):
        array, gaps = value.data, np.ma.getmaskarray(value)
    else:
        array, gaps = _fill_nulls(value, argument)
    if array.dtype.kind == "f":
        gaps = gaps | np.isnan(array)
    elif array.dtype.kind == "O":
        gaps = gaps | np.array([_is_missing(x) for x in array.ravel()]).reshape(array.shape)
        array = _to_type_of_present(array, gaps)
    return array, np.asarray(gaps, dtype=np.bool_)


def _is_missing(value: Any) -> bool:
    """Whether a Python object is a missing value: None, or unequal to itself, as NaN is."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # a list, which is an error of the checks that follow
        return False


def _fill_nulls(value: Any, argument: str) -> tuple[NDArray[Any], Mask]:
    """The values as an array in which 0 replaces the nulls of a frame or series, and a mask of
    these nulls, of the same shape. For other values the mask is all False.
    """
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
    """The columns of a frame in memory, or a single series, as a list of narwhals series; None for
    any other value.
    """
    import narwhals as nw

    try:
        native = nw.from_native(value, allow_series=True, eager_only=True)
    except TypeError:
        return None
    return [native] if isinstance(native, nw.Series) else list(native.iter_columns())


def _to_type_of_present(array: NDArray[Any], gaps: Mask) -> NDArray[Any]:
    """An array of Python objects in the type of its present entries, with 0 where `gaps` is True.
    If the entries are lists, the array is returned unchanged.
    """
    try:
        present = without_objects(np.array(array[~gaps].tolist()))
    except ValueError:  # lists of several lengths
        return array
    if present.ndim != 1:
        return array
    out = np.zeros(array.shape, dtype=present.dtype)
    out[~gaps] = present
    return out
