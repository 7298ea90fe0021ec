"""Values of JSON records as columns. What is not there is a gap; what does not fit is an error."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError
from calibrant._data.readers.chunks import (
    Column,
    Field,
    Names,
    location_of,
    not_a_number,
    plain_number,
)
from calibrant._data.readers.find import File


@dataclass(frozen=True, eq=False)
class Cells:
    """One field of some records, and the lines they are in."""

    file: File
    field: Field
    values: list[Any]
    # The line of each record, or where it is in words.
    lines: Sequence[int | str]

    def location(self, row: int) -> str:
        return location_of(self.file, row, self.lines.__getitem__)

    def error(self, row: int, why: str) -> InputError:
        return InputError(f"{self.location(row)}: {self.field.name} is {why}")


def column_of(cells: Cells) -> Column | Names:
    """Numbers; or rows of numbers where the field holds lists; or the names that a label may be."""
    kinds = set(map(type, cells.values))
    if list in kinds:
        # What the first row has is taken for the rule, so that the one that breaks it is named.
        if isinstance(next(value for value in cells.values if value is not None), list):
            return _rows(cells)
        row = next(i for i, value in enumerate(cells.values) if isinstance(value, list))
        raise cells.error(row, "a list, where others have none")
    if str in kinds and not cells.field.is_number:
        texts = [value for value in cells.values if isinstance(value, str)]
        if cells.field.role == "name" or any(plain_number(text) is None for text in texts):
            return names_of(cells)
    gaps = np.array([value is None for value in cells.values]) if type(None) in kinds else None
    return Column(_numbers(cells, kinds), gaps)


def _numbers(cells: Cells, kinds: set[type]) -> NDArray[Any]:
    """One number per row; 0 where there is a gap."""
    is_number = cells.field.is_number
    values: list[Any] = cells.values
    if not is_number and bool in kinds and kinds <= {bool, type(None)}:
        return np.array([value is True for value in values])
    if not kinds <= ({int, float} if is_number else {int, float, bool}):
        values = [_number(cells, row, value) for row, value in enumerate(values)]
        kinds = set(map(type, values))
    try:
        # Labels that are whole stay so: indices, where classes= only titles the columns.
        return np.array(values, dtype=np.float64 if float in kinds else np.int64)
    except OverflowError:
        row = next(i for i, value in enumerate(values) if _is_huge(value))
        raise cells.error(row, "too large a number") from None


def _is_huge(value: Any) -> bool:
    return isinstance(value, int) and abs(value) >= 2**63


def _number(cells: Cells, row: int, value: Any) -> float | int | bool:
    if value is None:
        return 0
    if isinstance(value, bool):
        if cells.field.role == "label":
            return value
        raise cells.error(row, f"{str(value).lower()}, where a number is needed")
    if isinstance(value, int | float):
        return value
    if isinstance(value, str):
        number = plain_number(value)
        if number is None:
            raise not_a_number(cells.location(row), cells.field, value)
        return number
    what = "a list" if isinstance(value, list) else "a record"
    raise cells.error(row, f"{what}, where a number is needed")


def _rows(cells: Cells) -> Column:
    """Lists of one length, as rows of numbers; a list with a null in it is a gap."""
    gaps = np.zeros(len(cells.values), dtype=np.bool_)
    k = len(next(value for value in cells.values if isinstance(value, list)))
    rows = np.zeros((len(cells.values), k))
    for row, value in enumerate(cells.values):
        if value is None or (isinstance(value, list) and None in value):
            gaps[row] = True
            continue
        if not isinstance(value, list):
            raise cells.error(row, f"{value!r}, where others have a list")
        if len(value) != k:
            raise cells.error(row, f"a list of {len(value)}, where others have {k} numbers")
        if not set(map(type, value)) <= {int, float}:
            value = [_number(cells, row, entry) for entry in value]
        try:
            rows[row] = value
        except OverflowError:
            raise cells.error(row, "a list with too large a number") from None
    return Column(rows, gaps if gaps.any() else None)


def names_of(cells: Cells) -> Names:
    """The distinct values, and which of them each row has."""
    known: dict[Any, int] = {}
    codes = np.empty(len(cells.values), dtype=np.intp)
    for row, value in enumerate(cells.values):
        name = str(value) if isinstance(value, list | dict) else value
        # True and 1 are equal, but not the same name.
        codes[row] = known.setdefault((type(name), name), len(known))
    return Names(codes, [name for _, name in known])


def not_json(error: json.JSONDecodeError) -> str:
    """What keeps a text from being JSON, and where in its line."""
    return f"is not JSON: {error.msg.removesuffix(' at')} at column {error.colno}"
