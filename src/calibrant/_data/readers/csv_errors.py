"""CSV line by line, slowly: its header, where in it a row is, and where a fault is."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from calibrant._core.errors import InputError
from calibrant._core.texts import message
from calibrant._data.readers.chunks import Field, not_a_number, plain_number, shortened
from calibrant._data.readers.find import File, opened

DELIMITERS = ",;\t|"
# Words that stand for a missing value, as Arrow has them.
_WORDS = "#N/A #NA -1.#IND -1.#QNAN -NaN -nan 1.#IND 1.#QNAN N/A NA NULL NaN n/a nan null"
EMPTY = frozenset(["", "#N/A N/A", *_WORDS.split()])
# The same with blanks around, and blanks alone, because Arrow compares whole fields.
GAPS = frozenset(
    [f"{before}{word}{after}" for word in EMPTY for before in ("", " ") for after in ("", " ")]
    + [blank * n for blank in (" ", "\t") for n in range(1, 33)]
)
# Words that stand for a truth value, as Arrow has them.
TRUTHS = frozenset(("0", "1", "false", "False", "FALSE", "true", "True", "TRUE"))
# The longest row, in characters. A longer one comes of a quote that is never closed.
LONGEST = 1 << 24


@dataclass(frozen=True)
class Header:
    """The columns' names and the delimiter, from the first line of a CSV file; an empty file has no
    names.
    """

    file: File
    names: tuple[str, ...]
    delimiter: str = ","
    # Whether lines end with carriage returns alone.
    returns: bool = False


def header_of(file: File) -> Header:
    """Read the first line of a CSV file: the columns' names and what separates them; raise
    InputError if it is not text or holds numbers only.
    """
    with opened(file) as (stream, _):
        start = stream.read(4)
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{file} is UTF-16 text: save it as UTF-8")
    for line, text in records(file):
        _check_bytes(file, line, text)
        if "\0" in text:
            raise InputError(f"{file} is not a text file: line {line} has a zero byte")
        # A tab-separated file may have commas in its names; the others' separators are rarer.
        delimiter = "\t" if file.path.suffix.lower() == ".tsv" else None
        if delimiter is None:
            delimiter = next((mark for mark in DELIMITERS if mark in text), ",")
        names = tuple(_fields(text, delimiter))
        if all(plain_number(name) is not None for name in names):
            raise InputError(message("holds_numbers", location=f"{file}, line {line}"))
        with opened(file) as (stream, _):
            start, end = read_header(stream, delimiter, 1 << 16)
        return Header(file, names, delimiter, start[end - 1 : end] == b"\r")
    return Header(file, ())


def read_header(stream: BinaryIO, delimiter: str, size: int) -> tuple[bytes, int]:
    """The first bytes of a CSV file, and the position among them of the line after the line of
    names. At least `size` bytes are read, and more until the line of names is complete.
    """
    text, more = b"", stream.read(size)
    while True:
        text += more
        start = len(text) - len(text.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n"))
        end = start + fields_of(text[start:], delimiter.encode())[-1][1]
        is_known = text[end:] not in (b"", b"\r")  # a line feed may follow
        more = b"" if is_known else stream.read(size)
        if not more:
            return text, end + (2 if text[end : end + 2] == b"\r\n" else 1)


def fields_of(row: bytes, mark: bytes) -> list[tuple[int, int]]:
    """The beginning and end of each field in a row of CSV, as positions in bytes; `mark` is the
    delimiter.
    """
    field = re.compile(rb'"[^"]*(?:""[^"]*)*(?:"[^%b\r\n]*|\Z)|[^%b\r\n]*' % (mark, mark))
    out, at = [], 0
    while True:
        found = field.match(row, at)
        assert found is not None  # the last alternative is any text, or none
        out.append(found.span())
        at = found.end()
        if row[at : at + 1] != mark:
            return out
        at += 1


def records(file: File) -> Iterator[tuple[int, str]]:
    """Yield, for each row, the line in which it begins, counted from 1, and its text. Empty lines
    are passed over; the line of names is the first row.
    """
    with opened(file) as (stream, _):
        text = io.TextIOWrapper(stream, "utf-8-sig", errors="surrogateescape", newline=None)
        pending, first = "", 0
        for number, line in enumerate(text, 1):
            if not pending:
                first = number
            pending += line
            if pending.count('"') % 2 and len(pending) < LONGEST:
                continue  # a line break within quotes
            if pending.strip("\n"):
                yield first, pending.removesuffix("\n")
            pending = ""
        if pending:
            yield first, pending
        text.detach()


def line_of(header: Header, row: int) -> int:
    """The line, counted from 1, in which row number `row` begins; rows are counted from 0 after the
    line of names.
    """
    for number, (line, _) in enumerate(records(header.file), -1):
        if number == row:
            return line
    return row + 2


def first_fault(
    header: Header, numbers: Sequence[Field], truths: Sequence[Field], row: int
) -> InputError | None:
    """The error for the first faulty row from row number `row` on; None if no row is faulty.

    `numbers` and `truths` are the columns that must hold numbers and truth values.
    """
    file = header.file
    for number, (line, text) in enumerate(records(file), -1):
        if number < row:
            continue
        location = f"{file}, line {line}"
        if len(text) >= LONGEST:
            return InputError(
                f"{location} is a row of more than {LONGEST >> 20} MiB: check for a quote that is "
                "never closed"
            )
        try:
            _check_bytes(file, line, text)
            fields = _fields(text, header.delimiter)
        except InputError as error:
            return error
        except csv.Error as error:
            return InputError(f"{location} cannot be read: {error}")
        if len(fields) != len(header.names):
            n, n_named = len(fields), len(header.names)
            return InputError(message("row_width", location=location, n=n, n_named=n_named))
        for wanted in numbers:
            field = fields[header.names.index(wanted.name)]
            if field not in GAPS and plain_number(field.strip(" \t")) is None:
                return not_a_number(location, wanted, field.strip(" \t") or field)
        for wanted in truths:
            field = fields[header.names.index(wanted.name)]
            if field not in GAPS and field not in TRUTHS:
                return InputError(
                    f"{location}: {wanted.name} is {shortened(field)!r}, but the first rows have "
                    "true or false"
                )
    return None


def _fields(text: str, delimiter: str) -> list[str]:
    """The fields of one row of CSV, without quotes around them."""
    return next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))


def _check_bytes(file: File, line: int, text: str) -> None:
    """Raise InputError if a row's text holds bytes that are not UTF-8; `line` is the line in which
    the row begins.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        byte = ord(text[error.start]) - 0xDC00
        raise InputError(
            f"{file}, line {line} is not UTF-8 text (byte 0x{byte:02x}): save the file as UTF-8"
        ) from None
