"""Keys and names of slices: slices with different values have different names.

A slice is all rows with the same values in the columns that rows are sliced by.
"""

from __future__ import annotations

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
    # 0 and -0 are one number, of which engines show either.
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
    # A value may have quotes of its own, and so be what another is called.
    return mixed if len(set(mixed.values())) == len(mixed) else quoted


def _join_values(key: Key, *, in_quotes: bool = False) -> str:
    """The name of a slice: its values joined by commas, each in quotes if `in_quotes`."""
    return ", ".join(MISSING if x is None else repr(x) if in_quotes else x for x in key)


def row_names(columns: Sequence[Iterable[Any]]) -> NDArray[Any]:
    """The name of the slice that each row belongs to, (n,), from columns of n values each."""
    keys = [key_of(values) for values in zip(*columns, strict=True)]
    names = names_of(keys)
    out = np.empty(len(keys), dtype=object)
    out[:] = [names[key] for key in keys]
    return out
