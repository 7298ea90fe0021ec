"""Values of JSON records as columns. A field that is not there is a gap; a value that does not fit
is an error.

Blocks in which every record is plain are read by the compiled scanner (`JsonScan`), with the values
that Python would give. Plain means: nothing that the scanner does not know. A block with anything
else is left to Python.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError
from calibrant._core.texts import message
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
    """The values of one field in some records, and the location of these records."""

    location: Location
    field: Field
    values: list[Any]

    def error(self, row: int, why: str) -> InputError:
        """The error for a row's value: "FILE, line 3: NAME is WHY"."""
        location = self.location.row(row)
        return InputError(message("cell", location=location, column=self.field.name, what=why))


def column_of(cells: Cells) -> Column | Names:
    """The values of a field as a column: numbers, rows of numbers if the values are lists, or names
    if the field is one of labels and holds text.
    """
    kinds = set(map(type, cells.values))
    if list in kinds:
        # The first row decides, so that the error names the first row that differs from it.
        if isinstance(next(value for value in cells.values if value is not None), list):
            return _rows_of_lists(cells)
        row = next(i for i, value in enumerate(cells.values) if isinstance(value, list))
        raise cells.error(row, "a list, but other rows have none")
    if str in kinds and not cells.field.is_number:
        texts = [value for value in cells.values if isinstance(value, str)]
        if cells.field.role == "name" or any(plain_number(text) is None for text in texts):
            return names_of(cells)
    gaps = np.array([value is None for value in cells.values]) if type(None) in kinds else None
    return Column(_numbers(cells, kinds), gaps)


def _numbers(cells: Cells, kinds: set[type]) -> NDArray[Any]:
    """The values as one number per row, with 0 for missing values; labels may be truth values.
    `kinds` are the types that occur among the values.
    """
    is_number = cells.field.is_number
    values: list[Any] = cells.values
    if not is_number and bool in kinds and kinds <= {bool, type(None)}:
        return np.array([value is True for value in values])
    if not kinds <= ({int, float} if is_number else {int, float, bool}):
        values = [_number(cells, row, value) for row, value in enumerate(values)]
        kinds = set(map(type, values))
    try:
        # Whole labels stay whole numbers, because they may be class indices.
        return np.array(values, dtype=np.float64 if float in kinds else np.int64)
    except OverflowError:
        row = next(i for i, x in enumerate(values) if isinstance(x, int) and abs(x) >= 2**63)
        raise cells.error(row, "too large a number") from None


def _number(cells: Cells, row: int, value: Any) -> float | int | bool:
    """The number of a row's value; 0 for None. A text may write a number, and a label may be a
    truth value. Raise InputError for any other value.
    """
    if value is None:
        return 0
    if isinstance(value, bool):
        if cells.field.role == "label":
            return value
        raise cells.error(row, f"{str(value).lower()}, but must be a number")
    if isinstance(value, int | float):
        return value
    if isinstance(value, str):
        number = plain_number(value)
        if number is None:
            raise not_a_number(cells.location.row(row), cells.field, value)
        return number
    what = "a list" if isinstance(value, list) else "a record"
    raise cells.error(row, f"{what}, but must be a number")


def _rows_of_lists(cells: Cells) -> Column:
    """Lists, all of one length k, as rows of numbers, (n, k). A row counts as missing if its list
    is missing or has a null in it.
    """
    gaps = np.zeros(len(cells.values), dtype=np.bool_)
    k = len(next(value for value in cells.values if isinstance(value, list)))
    rows = np.zeros((len(cells.values), k))
    for row, value in enumerate(cells.values):
        if value is None or (isinstance(value, list) and None in value):
            gaps[row] = True
            continue
        if not isinstance(value, list):
            raise cells.error(row, f"{value!r}, but other rows have a list")
        if len(value) != k:
            raise cells.error(row, f"a list of {len(value)}, but other rows have {k} numbers")
        if not set(map(type, value)) <= {int, float}:
            value = [_number(cells, row, entry) for entry in value]
        try:
            rows[row] = value
        except OverflowError:
            raise cells.error(row, "a list with too large a number") from None
    return Column(rows, gaps if gaps.any() else None)


def names_of(cells: Cells) -> Names:
    """The field's values as names; lists and records as the text that Python writes."""
    return Names.of_values(
        str(value) if isinstance(value, list | dict) else value for value in cells.values
    )


def not_json(error: json.JSONDecodeError) -> str:
    """The end of an error about text that is not JSON: the fault, and its column in the line."""
    return f"is not JSON: {error.msg.removesuffix(' at')} at column {error.colno}"


# Bits for the kinds of values that a field held, as _json_lines.h names them.
WHOLE, FRACTION, TRUTH, NOTHING, LIST = 1, 2, 4, 8, 16

# A node of the tree of keys: the key, the place of its first child, the number of children, the
# number of its field or -1, and two bits: 1 if all children are fields, 2 if there may be no
# others.
Node = tuple[bytes, int, int, int, int]
Slice = tuple[int, dict[Field, Column | Names]]


class JsonScan:
    """The wanted fields in the layout that the compiled scanner takes."""

    def __init__(self, fields: Sequence[Field], tree: list[Node], widths: dict[str, int]) -> None:
        """Store the wanted fields, the tree of keys that lead to them (from `_key_tree`), and the
        length of each field's lists by its name, 0 for a field without lists.
        """
        self._fields, self._tree, self._widths = fields, tree, widths

    def slices(self, text: bytes, rows: int) -> list[Slice] | None:
        """Read a text of complete lines by the compiled scanner, in parts of at most `rows` rows:
        for each part the number of rows and the columns by field. None if a record is not plain, so
        that Python must parse it.
        """
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
    """Make the scan of these fields; None if there is no compiled scanner, or if it cannot read
    them. `width` is a function from a field's name to the length of its lists, 0 without
    lists.
    """
    if scanner() is None or not all(field.is_number or field.role == "label" for field in fields):
        return None
    widths = {field.name: width(field.name) for field in fields}
    tree = _key_tree(list(widths), {field.of_record for field in fields})
    return None if tree is None else JsonScan(fields, tree, widths)


def count_records(text: bytes) -> int | None:
    """The number of records in a text of complete lines; None if there is no compiled scanner, or
    if a record may be faulty.
    """
    if scanner() is None:
        return None
    found = scanner().json_lines(text, 0, len(text) + 1, [(b"", 0, 0, -1, 1)], [])
    return None if found is None else int(found[0])


def _key_tree(names: list[str], whole: set[str | None]) -> list[Node] | None:
    """The tree of the keys that lead to the fields of these names, in the scanner's form: a list of
    nodes in which the children of a node stand next to each other. None if names contradict each
    other.

    `whole` are the paths of records that may have no other keys than these.
    """
    root: dict[str, Any] = {}
    for number, name in enumerate(names):
        *above, last = name.split(".")
        at = root
        for key in above:
            at = at.setdefault(key, {})
            if not isinstance(at, dict):  # one wanted field lies within another
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
    """The column that `column_of` would make of the same values, made of what the scanner read;
    None if `column_of` might raise an error.

    `numbers` and `gaps` are the values and the mask of missing ones; `kinds` says in bits which
    kinds of values occurred (WHOLE, FRACTION, TRUTH, NOTHING, LIST).
    """
    absent = gaps if kinds & NOTHING else None
    if numbers.ndim == 2:
        return Column(numbers, absent) if kinds & LIST else None
    if kinds & TRUTH:
        if field.is_number:
            return None
        if not kinds & (WHOLE | FRACTION):
            return Column(numbers != 0, absent)
    # Whole numbers stay whole; the scanner reads those below 2^53 only.
    return Column(numbers if kinds & FRACTION else numbers.astype(np.int64), absent)
