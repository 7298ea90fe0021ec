"""Whatever the user has, as a NumPy array: arrays, tensors, columns and frames."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError

_FRAME_LIBRARIES = ("pandas", "polars", "pyarrow", "modin", "cudf", "duckdb")


def to_array(value: Any, argument: str) -> NDArray[Any]:
    """The values of `value` as an array, without a copy where that can be. Nulls are an error."""
    if isinstance(value, np.ma.MaskedArray):
        if np.ma.is_masked(value):
            raise _nulls(argument, np.ma.getmaskarray(value))
        return value.data
    if isinstance(value, np.ndarray):
        return value
    library = type(value).__module__.partition(".")[0]
    if library in _FRAME_LIBRARIES:
        return _from_frame_library(value, argument)
    if library == "torch":
        return _from_torch(value)
    if not hasattr(value, "__array__") and hasattr(value, "__dlpack__"):
        return np.from_dlpack(value)
    try:
        array = np.asarray(value)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{argument} cannot be read as an array of one shape ({error}): give rows of equal "
            "length"
        ) from error
    return array


def _from_torch(value: Any) -> NDArray[Any]:
    torch = sys.modules["torch"]
    tensor = value.detach().cpu()
    if tensor.dtype == torch.bfloat16:  # NumPy has no such type; float32 holds every value of it
        tensor = tensor.float()
    array: NDArray[Any] = tensor.numpy()
    return array


def _from_frame_library(value: Any, argument: str) -> NDArray[Any]:
    """A column or a frame of columns, by position: an index is not looked at."""
    import narwhals as nw

    try:
        native = nw.from_native(value, allow_series=True, eager_only=True)
    except TypeError:
        return np.asarray(value)
    columns = [native] if isinstance(native, nw.Series) else [native[c] for c in native.columns]
    arrays = [_column(column, argument) for column in columns]
    if isinstance(native, nw.Series):
        return arrays[0]
    return np.column_stack(arrays)


def _column(column: Any, argument: str) -> NDArray[Any]:
    import narwhals as nw

    if column.null_count() > 0:
        named = f"{argument} (column {column.name!r})" if column.name else argument
        raise _nulls(named, column.is_null().to_numpy())
    if column.dtype == nw.Categorical or isinstance(column.dtype, nw.Enum):
        column = column.cast(nw.String)
    array: NDArray[Any] = column.to_numpy()
    if array.dtype.kind == "O" and column.dtype in (nw.Float32, nw.Float64):
        return array.astype(np.float64)  # a nullable column without nulls
    if array.dtype.kind == "O" and column.dtype.is_integer():
        return array.astype(np.int64)
    if array.dtype.kind == "O" and column.dtype == nw.Boolean:
        return array.astype(np.bool_)
    return array


def _nulls(argument: str, missing: NDArray[np.bool_]) -> InputError:
    rows = np.flatnonzero(missing if missing.ndim == 1 else missing.any(axis=1))
    return InputError(
        f"{argument} has {rows.size} missing value{'s' if rows.size > 1 else ''}, the first in row "
        f"{rows[0]}: drop those rows, or decide what they mean, before measuring"
    )
