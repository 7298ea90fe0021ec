"""JSON lines by the compiled scanner: the columns of a block in which every record is plain.

What it takes, the reader of `jsonl` would take with the same values; anything else it leaves alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from calibrant._core.typing import Array, Mask
from calibrant._data.readers.chunks import Column, Field, Names
from calibrant._data.readers.scanner import scanner

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
                column = _column(field, *by_name[field.name])
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
    tree = _laid_out(list(widths), {field.of_record for field in fields})
    return None if tree is None else JsonScan(fields, tree, widths)


def count_records(text: bytes) -> int | None:
    """How many records there are; None where one may not be sound."""
    if scanner() is None:
        return None
    found = scanner().json_lines(text, 0, len(text) + 1, [(b"", 0, 0, -1, 1)], [])
    return None if found is None else int(found[0])


def _laid_out(names: list[str], whole: set[str | None]) -> list[Node] | None:
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


def _column(field: Field, numbers: Array, gaps: Mask, kinds: int) -> Column | None:
    """What `json_values.column_of` makes of such values; None where it may refuse them."""
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
