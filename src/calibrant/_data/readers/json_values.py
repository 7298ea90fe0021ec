"""Values of JSON records as columns. What is not there is a gap; what does not fit is an error.

Blocks in which every record is plain are read by the compiled scanner (`JsonScan`), with the values
that Python would give; it leaves anything else alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError
from calibrant._core.typing import Array, Mask
from calibrant._data.readers.chunks import (
    Column,
    Field,
    Location,
    Names,
    not_a_number,
    plain_number,
)
from calibrant._data.readers.scanner import scanner


@dataclass(frozen=True, eq=False)
class Cells:
    """One field of some records, and where these are."""

    location: Location
    field: Field
    values: list[Any]

    def error(self, row: int, why: str) -> InputError:
        return InputError(f"{self.location.row(row)}: {self.field.name} is {why}")


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
            raise not_a_number(cells.location.row(row), cells.field, value)
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


# What a field held, in bits: the names that _json_lines.h has for them.
WHOLE, FRACTION, TRUTH, NOTHING, LIST = 1, 2, 4, 8, 16

# A key, its first child and their number, its field or -1; and in bits whether all below it are
# fields, and whether there may be no others.
Node = tuple[bytes, int, int, int, int]
Slice = tuple[int, dict[Field, Column | Names]]


class JsonScan:
    """The fields that are wanted, laid out for the scanner."""

    def __init__(self, fields: Sequence[Field], tree: list[Node], widths: dict[str, int]) -> None:
        self._fields, self._tree, self._widths = fields, tree, widths

    def slices(self, text: bytes, rows: int) -> list[Slice] | None:
        """The columns of every so many rows; None where something is not plain."""
        out: list[Slice] = []
        at, widths = 0, list(self._widths.values())
        while at < len(text):
            found = scanner().json_lines(text, at, rows, self._tree, widths)
            if found is None:
                return None
            n, at, scanned = found
            by_name = dict(zip(self._widths, scanned, strict=True))
            columns: dict[Field, Column | Names] = {}
            for field in self._fields:
                column = _scanned_column(field, *by_name[field.name])
                if column is None:
                    return None
                columns[field] = column
            if n:
                out.append((n, columns))
        return out


def json_scan(fields: Sequence[Field], width: Callable[[str], int]) -> JsonScan | None:
    """The scan of these fields; `width` is the length of a field's lists, or 0. None where it
    cannot be had.
    """
    if scanner() is None or not all(field.is_number or field.role == "label" for field in fields):
        return None
    widths = {field.name: width(field.name) for field in fields}
    tree = _key_tree(list(widths), {field.of_record for field in fields})
    return None if tree is None else JsonScan(fields, tree, widths)


def count_records(text: bytes) -> int | None:
    """How many records there are; None where one may not be sound."""
    if scanner() is None:
        return None
    found = scanner().json_lines(text, 0, len(text) + 1, [(b"", 0, 0, -1, 1)], [])
    return None if found is None else int(found[0])


def _key_tree(names: list[str], whole: set[str | None]) -> list[Node] | None:
    """The keys on the way to fields, children next to each other; of `whole` records every key is
    known.
    """
    root: dict[str, Any] = {}
    for number, name in enumerate(names):
        *above, last = name.split(".")
        at = root
        for key in above:
            at = at.setdefault(key, {})
            if not isinstance(at, dict):  # a field within a field that is wanted whole
                return None
        if last in at:
            return None
        at[last] = number
    tree: list[Node] = []
    waiting: list[tuple[str, Any]] = [("", root)]
    for path, below in waiting:
        key = path.rpartition(".")[2]
        try:
            encoded = key.encode()
        except UnicodeEncodeError:
            return None
        if isinstance(below, dict):
            plain = all(isinstance(child, int) for child in below.values())
            flags = int(plain) + 2 * (path in whole)
            tree.append((encoded, len(waiting), len(below), -1, flags))
            waiting.extend((f"{path}.{key}" if path else key, each) for key, each in below.items())
        else:
            tree.append((encoded, 0, 0, below, 1))
    return tree


def _scanned_column(field: Field, numbers: Array, gaps: Mask, kinds: int) -> Column | None:
    """What `column_of` makes of such values; None where it may refuse them."""
    absent = gaps if kinds & NOTHING else None
    if numbers.ndim == 2:
        return Column(numbers, absent) if kinds & LIST else None
    if kinds & TRUTH:
        if field.is_number:
            return None
        if not kinds & (WHOLE | FRACTION):
            return Column(numbers != 0, absent)
    # Whole numbers stay so; they are below 2^53.
    return Column(numbers if kinds & FRACTION else numbers.astype(np.int64), absent)
