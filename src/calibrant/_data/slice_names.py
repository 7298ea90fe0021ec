"""Keys and names of slices: slices with different values have different names.

A slice is all rows with the same values in the columns that rows are sliced by.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

# The name of a slice whose rows have no value in the column.
MISSING = "(missing)"

# A text for each column, None where it has no value. Texts, because a file may hold 1 as a number
# in one part and as text in another.
Key: TypeAlias = tuple[str | None, ...]


def key_of(values: Iterable[Any]) -> Key:
    """The key of a slice, a tuple of texts, from a row's value in each of the slicing columns."""
    return tuple(_text(value) for value in values)


def _text(value: Any) -> str | None:
    """A value as text for a key; None if the value is missing (None or NaN)."""
    if value is None or value != value:
        return None
    # 0 and -0 are one number, and engines show either of them.
    return str(abs(value) if isinstance(value, float | np.floating) and value == 0 else value)


def names_of(keys: Iterable[Key]) -> dict[Key, str]:
    """A dict from the key of each slice to its name: its values joined by commas. Where two slices
    would have the same name, their values are put in quotes.
    """
    plain = {key: _join_values(key) for key in keys}
    times = Counter(plain.values())
    if len(times) == len(plain):
        return plain
    quoted = {key: _join_values(key, in_quotes=True) for key in plain}
    mixed = {key: quoted[key] if times[name] > 1 else name for key, name in plain.items()}
    # A value with quotes may equal the name of another value.
    return mixed if len(set(mixed.values())) == len(mixed) else quoted


def _join_values(key: Key, *, in_quotes: bool = False) -> str:
    """The name of a slice: its values joined by commas, each in quotes if `in_quotes`."""
    return ", ".join(MISSING if x is None else repr(x) if in_quotes else x for x in key)


def row_names(columns: Sequence[Any]) -> NDArray[Any]:
    """The name of the slice that each row belongs to, (n,), from columns (arrays or lists) of n
    values each.
    """
    values, rows = zip(*(_distinct(column) for column in columns), strict=True)
    codes = np.zeros(rows[0].size, dtype=np.int64)
    for own, each in zip(values, rows, strict=True):
        if each.size != codes.size:
            raise ValueError(f"columns of {codes.size} and {each.size} rows")
        # Numbered anew after each column, so that the numbers stay below n times the next column's.
        codes = np.unique(codes * max(len(own), 1) + each, return_inverse=True)[1]
    first = np.unique(codes, return_index=True)[1]
    keys = [key_of(own[each[i]] for own, each in zip(values, rows, strict=True)) for i in first]
    names = names_of(keys)
    distinct = np.empty(len(keys), dtype=object)
    distinct[:] = [names[key] for key in keys]
    return distinct[codes]


def _distinct(column: Any) -> tuple[list[Any], NDArray[np.int64]]:
    """The distinct values of a column, and for each row the number of its value, (n,)."""
    if isinstance(column, np.ndarray) and column.dtype.kind in "biu":
        values, rows = np.unique(column, return_inverse=True)
        return values.tolist(), rows
    # With their types: 1, 1.0 and True are equal, and have different names.
    of_value: dict[Any, int] = {}
    each = column.tolist() if isinstance(column, np.ndarray) else column
    try:
        numbers = [of_value.setdefault((type(x), x), len(of_value)) for x in each]
    except TypeError:  # values such as lists, which are no keys of a dict
        return _distinct([_text(x) for x in each])
    rows = np.array(numbers, dtype=np.int64)
    return [value for _, value in of_value], rows


def in_natural_order(name: Any) -> list[Any]:
    """The key that sorts names as people do: 2 before 10, "ward 2" before "ward 10"."""
    parts = re.split(r"(\d+)", str(name))
    return [int(part) if i % 2 else part for i, part in enumerate(parts)]


def rows_by_name(names: NDArray[Any]) -> dict[Any, NDArray[np.intp]]:
    """The numbers of the rows that belong to each slice, from each row's name (n,), in the order of
    the names.
    """
    numbers = {name: j for j, name in enumerate(sorted(set(names.tolist())))}
    slice_of_row = np.fromiter(map(numbers.__getitem__, names.tolist()), np.intp, names.size)
    order = np.argsort(slice_of_row, kind="stable")
    ends = np.cumsum(np.bincount(slice_of_row, minlength=len(numbers)))
    return dict(zip(numbers, np.split(order, ends[:-1]), strict=True)) if numbers else {}
