"""Whether a CSV file ends within quotes: then the last row holds all rows after the quote, and
Arrow does not say so.
"""

from __future__ import annotations

import csv
import io
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from calibrant._core.errors import InputError
from calibrant._data.readers.csv_lines import EMPTY, Header
from calibrant._data.readers.packed_text import opened
from calibrant._data.readers.plain_numbers import plain_number

# Bytes at the end of a file in which its last line is looked for.
TAIL = 1 << 16
_SETTING = threading.Lock()


def open_quote(header: Header, last_row: Mapping[str, Any]) -> InputError | None:
    """The fault, if there is one; `last_row` holds what was read of the last row.

    The last line of a sound file is its last row. Only if it says something else, as it does too
    where a text of many lines comes last, is the file read again to be sure. A packed file is not
    looked at: its end cannot be had without all of it.
    """
    if header.file.packed is not None or _is_last_line(header, last_row):
        return None
    line = _opened_in(header)
    if line is None:
        return None
    return InputError(
        f"{header.file}, line {line} opens a quote that is never closed: all lines after it would "
        "be one text"
    )


def _is_last_line(header: Header, last_row: Mapping[str, Any]) -> bool:
    with open(header.file.path, "rb") as file:
        file.seek(max(0, file.seek(0, io.SEEK_END) - TAIL))
        lines = [line for line in file.read().splitlines() if line]
    if len(lines) < 2:
        return False
    text = lines[-1].decode("utf-8", errors="replace")
    fields = next(csv.reader([text], delimiter=header.delimiter), [])
    if len(fields) != len(header.names):
        return False
    told = dict(zip(header.names, fields, strict=True))
    return all(_same(told[name], value) for name, value in last_row.items())


def _same(text: str, value: Any) -> bool:
    if value is None:
        return text.strip() in EMPTY
    if isinstance(value, float):
        return plain_number(text.strip()) == value
    return text.lower() == str(value).lower()


def _opened_in(header: Header) -> int | None:
    """The line in which the last row begins, if the file ends within its quotes."""
    held: list[str] = []
    begun, row = 0, ""
    with opened(header.file) as (stream, _), _any_length():
        text = io.TextIOWrapper(stream, "utf-8-sig", errors="replace", newline="")
        rows = csv.reader(_kept(text, held), delimiter=header.delimiter)
        for _row in rows:
            begun, row = rows.line_num - len(held) + 1, "".join(held)
            held.clear()
        text.detach()
        last = csv.reader(io.StringIO(row, newline=""), delimiter=header.delimiter, strict=True)
        try:
            list(last)
        except csv.Error as error:
            return begun if "unexpected end" in str(error) else None
    return None


@contextmanager
def _any_length() -> Iterator[None]:
    """Texts may be longer than the module reads by default; that is a setting of the process."""
    with _SETTING:
        usual = csv.field_size_limit((1 << 31) - 1)
        try:
            yield
        finally:
            csv.field_size_limit(usual)


def _kept(lines: Iterable[str], held: list[str]) -> Iterator[str]:
    for line in lines:
        held.append(line)
        yield line
