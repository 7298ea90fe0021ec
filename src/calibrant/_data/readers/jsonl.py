"""JSON lines: one record per line, fields by name or dotted path.

Blocks of plain records are scanned by compiled code. Others are parsed by Python, many records at a
time, and one by one to find the line where something is wrong.
"""

from __future__ import annotations

import io
import json
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice, takewhile
from typing import Any

from calibrant._core.errors import InputError
from calibrant._core.texts import message
from calibrant._data.readers.chunks import (
    Chunk,
    Column,
    Field,
    Location,
    Names,
    Reader,
    new_class_error,
)
from calibrant._data.readers.find import File, opened
from calibrant._data.readers.json_values import (
    Cells,
    Slice,
    column_of,
    count_records,
    json_scan,
    names_of,
    not_json,
)
from calibrant._data.readers.scanner import count_lines

Record = dict[str, Any]

# Bytes read at a time, and the most that a line may have.
BLOCK = 1 << 20
LONGEST = 1 << 26
# Python refuses whole numbers of more than 4,300 digits; that limit can be set, to 640 at least.
DIGITS = 640


# Blocks that a thread takes at a time.
PIECE = 4
# The number of first records by which the fields are found.
HEAD = 1000


@dataclass(frozen=True, eq=False)
class Lines:
    """A text of complete lines, the number of its first line, and the number of bytes of the file
    that were read for it.
    """

    text: bytes
    first: int
    n_bytes: int


@dataclass(frozen=True, eq=False)
class Block:
    """Some records, and the line number of each."""

    records: list[Record]
    lines: Sequence[int]


def lines_of(file: File) -> Iterator[Lines]:
    """Yield the lines of a file in blocks, in order; line numbers are counted from 1."""
    line, at = 1, 0
    for text, now in _whole_lines(file):
        if line == 1:
            text = text.removeprefix(b"\xef\xbb\xbf")
        yield Lines(text, line, now - at)
        line, at = line + count_lines(text) + 1, now


def block_of(file: File, lines: Lines, most: int | None = None) -> Block:
    """Parse some lines into records, with their line numbers. Empty lines are passed over; with
    `most`, only the first `most` other lines are parsed.
    """
    texts = lines.text.split(b"\n") if most is None else _first_texts(lines.text, most)
    numbers: Sequence[int] = range(lines.first, lines.first + len(texts))
    if not all(map(bytes.strip, texts)):
        kept = [(n, t) for n, t in zip(numbers, texts, strict=True) if t.strip()]
        numbers, texts = [n for n, _ in kept], [t for _, t in kept]
    return Block(_records(file, texts, numbers) if texts else [], numbers)


def _first_texts(text: bytes, most: int) -> list[bytes]:
    """The first `most` lines of a text that are not empty."""
    each = (line.rstrip(b"\n") for line in io.BytesIO(text))
    return list(islice(filter(bytes.strip, each), most))


def row_lines(file: File) -> Iterator[int]:
    """Yield the line number of each row of a file, in order; empty lines are not rows."""
    for lines in lines_of(file):
        for number, text in enumerate(lines.text.split(b"\n"), lines.first):
            if text.strip():
                yield number


def line_of(file: File, row: int) -> int:
    """The line number, counted from 1, of row number `row`, counted from 0."""
    return next(islice(row_lines(file), row, None))


def rows_before(file: File, line: int) -> int:
    """The number of rows above a line."""
    return sum(1 for number in takewhile(line.__gt__, row_lines(file)))


def _whole_lines(file: File) -> Iterator[tuple[bytes, int]]:
    """Yield the text of a file in blocks of complete lines, without the last line feed; and with
    each block the number of bytes of the file (on disk) that have been read.
    """
    with opened(file) as (stream, below):
        pending = b""
        while more := stream.read(BLOCK):
            whole, end, rest = more.rpartition(b"\n")
            if end:
                yield pending + whole, below.tell()
                pending = rest
            else:
                pending += more
            if len(pending) > LONGEST:
                # The line is too long. Parsing it raises the error, when its number is known.
                yield pending[:LONGEST], below.tell()
                return
        if pending:
            yield pending, below.tell()


def _records(file: File, texts: list[bytes], lines: Sequence[int]) -> list[Record]:
    """Parse each line into a record; `lines` are the line numbers. All are parsed as one list
    first, which is several times as fast; if that fails, one by one, so that the error names its
    line.
    """
    try:
        parsed = json.loads((b"[" + b",".join(texts) + b"]").decode())
    except (ValueError, RecursionError):
        parsed = []
    if len(parsed) != len(texts) or not all(type(record) is dict for record in parsed):
        return [_record(file, text, line) for text, line in zip(texts, lines, strict=True)]
    return parsed


def _record(file: File, text: bytes, line: int) -> Record:
    """Parse one line into a record; raise InputError, which names the line, if it is
    not a record.
    """
    location = f"{file}, line {line}"
    try:
        record = json.loads(text.decode(), parse_int=whole_number)
    except UnicodeDecodeError:
        raise InputError(f"{location} is not UTF-8 text: save the file as UTF-8") from None
    except json.JSONDecodeError as error:
        fault = not_json(error)
        if len(text) >= LONGEST:
            fault = f"is longer than {LONGEST >> 20} MiB"
        raise InputError(message("not_json", location=location, fault=fault)) from None
    except RecursionError:
        raise InputError(f"{location} is nested too deeply") from None
    if isinstance(record, dict):
        return record
    raise InputError(message("no_record", location=location, kind=KINDS[type(record)]))


def whole_number(text: str) -> int | float:
    """The whole number that a text writes. So many digits that Python may refuse them give an
    infinite float, which is refused wherever it is used.
    """
    return int(text) if len(text) < DIGITS else float(text)


KINDS = {
    list: "list",
    str: "text",
    int: "number",
    float: "number",
    bool: "truth value",
    type(None): "null",
}


class FieldReader(Reader):
    """Base of the readers of JSON records: each field is described by its first value."""

    # The first value of each field.
    _head: dict[str, Any]

    def width(self, name: str) -> int:
        """The number of numbers per row of a field: 1, or the length of its first list."""
        return max(1, self._list_length(name))

    def _list_length(self, name: str) -> int:
        """The length of a field's first value if that is a list, else 0."""
        example = self._head.get(name)
        return len(example) if isinstance(example, list) else 0


def record_columns(
    location: Location, fields: Sequence[Field], records: list[Record]
) -> dict[Field, Column | Names]:
    """The columns of some records, by field. `location` is where the records begin, for errors."""
    columns: dict[Field, Column | Names] = {}
    for field in fields:
        cells = Cells(location, field, values_of(records, field.name))
        columns[field] = names_of(cells) if field.role == "text" else column_of(cells)
    return columns


class JsonlReader(FieldReader):
    """A file of JSON records, one per line. It needs no other package."""

    def __init__(self, file: File) -> None:
        """Find the fields in the first records; raise InputError if one of these
        records is faulty.
        """
        self.file = file
        self._head = {}
        n = 0
        for lines in lines_of(file):
            # A faulty record is an error before any error about fields.
            counted = count_records(lines.text)
            block = block_of(file, lines, None if counted is None else HEAD)
            for record in block.records[:HEAD]:
                flatten(record, "", self._head)
            n += len(block.records) if counted is None else counted
            if n >= HEAD:
                break
        self.names = tuple(name for name in self._head if not self._is_within_value(name))
        self.n_rows = None if n else 0

    def _is_within_value(self, name: str) -> bool:
        """Whether a name is that of a field within a record, while other rows have a plain value in
        place of that record.
        """
        above = name.rpartition(".")[0]
        return bool(above) and (self._head.get(above) is not None or self._is_within_value(above))

    def has(self, name: str) -> bool:
        """Whether some record has a field of this name. If the first records lack it, all are read,
        because a field may be rare.
        """
        return name in self.names or any(
            value is not None
            for lines in lines_of(self.file)
            for value in values_of(block_of(self.file, lines).records, name)
        )

    def pieces(self, fields: Sequence[Field]) -> Iterable[list[Lines]]:
        """Yield the file in pieces, each of a few blocks of lines."""
        if self.n_rows == 0:
            return
        lines = lines_of(self.file)
        while piece := list(islice(lines, PIECE)):
            yield piece

    def chunks(
        self, piece: list[Lines], fields: Sequence[Field], rows: int
    ) -> Generator[Chunk, None, None]:
        """Yield the rows of a piece in chunks of at most `rows`. Plain records are read by the
        compiled scanner, others are parsed by Python.
        """
        scan = json_scan(fields, self._list_length)
        for lines in piece:
            slices = None if scan is None else scan.slices(lines.text, rows)
            first, n_bytes = 0, lines.n_bytes
            before = cache(partial(rows_before, self.file, lines.first))
            line = partial(line_of, self.file)
            for n, columns in self._parsed(lines, fields, rows) if slices is None else slices:
                location = Location(self.file, first, line, before)
                yield Chunk(location, n, n_bytes, columns)
                first, n_bytes = first + n, 0

    def _parsed(self, lines: Lines, fields: Sequence[Field], rows: int) -> Iterator[Slice]:
        """Parse some lines by Python, and yield their rows in parts of at most `rows`: for each
        part the number of rows and the columns by field.
        """
        block = block_of(self.file, lines)
        for start in range(0, len(block.records), rows):
            records = block.records[start : start + rows]
            location = Location(self.file, start, block.lines.__getitem__)
            _check_no_new_class(location, fields, records)
            yield len(records), record_columns(location, fields, records)


def values_of(records: list[Record], name: str) -> list[Any]:
    """The value of a field in every record; None if a record lacks it. The name may be a dotted
    path, or a key that has dots in it.
    """
    if "." not in name:
        return [record.get(name) for record in records]
    path = name.split(".")
    return [record[name] if name in record else _value_at(record, path) for record in records]


def _check_no_new_class(location: Location, fields: Sequence[Field], records: list[Record]) -> None:
    """Raise InputError if a record whose fields are the classes has a field outside `fields`, the
    classes that earlier rows have.
    """
    for above in {field.of_record for field in fields if field.of_record is not None}:
        known = {field.name for field in fields if field.of_record == above}
        keys = {name.removeprefix(f"{above}.") for name in known}
        for row, record in enumerate(values_of(records, above)):
            if not isinstance(record, dict) or record.keys() <= keys:
                continue
            parsed: dict[str, Any] = {}
            flatten(record, f"{above}.", parsed)
            other = [name for name, value in parsed.items() if value is not None]
            other = [name for name in other if name not in known]
            if other:
                raise new_class_error(location.row(row), other[0], other[0][len(above) + 1 :])


def _value_at(at: Any, path: list[str]) -> Any:
    """The value at the end of a path of keys below `at`; None if there is none. Several parts of
    the path may form one key with dots in it.
    """
    if not path or not isinstance(at, dict):
        return None if path else at
    for parts in range(1, len(path) + 1):
        key = ".".join(path[:parts])
        found = _value_at(at[key], path[parts:]) if key in at else None
        if found is not None:
            return found
    return None


def flatten(record: Record, prefix: str, parsed: dict[str, Any]) -> None:
    """Add all fields of a record to the dict `parsed`: the dotted path after `prefix`, and the
    first value that is not None. The value of a field that is itself a record is None; lists stay
    lists.
    """
    for key, value in record.items():
        if parsed.get(prefix + key) is None:
            parsed[prefix + key] = None if isinstance(value, dict) else value
        if isinstance(value, dict):
            flatten(value, f"{prefix}{key}.", parsed)
