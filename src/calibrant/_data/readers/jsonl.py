"""JSON lines: one record per line, fields by name or dotted path.

Records are parsed many at a time, and one by one to find the line where something is wrong.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from calibrant._core.errors import InputError
from calibrant._data.readers.chunks import Chunk, Column, Field, Names
from calibrant._data.readers.find import File
from calibrant._data.readers.json_values import Cells, column_of, names_of
from calibrant._data.readers.packed_text import opened

Record = dict[str, Any]

# Bytes read at a time, and the most that a line may have.
BLOCK = 1 << 20
LONGEST = 1 << 26
# Python's own limit is 4,300, unless someone has set another; from 640 on it may be lower.
DIGITS = 640


# Records that tell which fields there are.
HEAD = 1000


@dataclass(frozen=True, eq=False)
class Block:
    """Some records, the line of each, and how far reading them has moved on in the file."""

    records: list[Record]
    lines: Sequence[int]
    n_bytes: int


def blocks_of(file: File) -> Iterator[Block]:
    """All records of a file, in order; lines without anything are passed over."""
    line, at = 1, 0
    for text, now in _whole_lines(file):
        if line == 1:
            text = text.removeprefix(b"\xef\xbb\xbf")
        texts = text.split(b"\n")
        numbers: Sequence[int] = range(line, line + len(texts))
        line += len(texts)
        if not all(map(bytes.strip, texts)):
            kept = [(n, t) for n, t in zip(numbers, texts, strict=True) if t.strip()]
            numbers, texts = [n for n, _ in kept], [t for _, t in kept]
        if texts:
            yield Block(_records(file, texts, numbers), numbers, now - at)
            at = now


def _whole_lines(file: File) -> Iterator[tuple[bytes, int]]:
    """Text that ends where a line does, without the end, and how far reading has come."""
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
                # Which line it is is known only after all before it have been read.
                yield pending[:LONGEST], below.tell()
                return
        if pending:
            yield pending, below.tell()


def _records(file: File, texts: list[bytes], lines: Sequence[int]) -> list[Record]:
    """The record of each line. As one list they are read several times as fast."""
    try:
        parsed = json.loads((b"[" + b",".join(texts) + b"]").decode())
    except (ValueError, RecursionError):
        parsed = []
    if len(parsed) != len(texts) or not all(type(record) is dict for record in parsed):
        return [_record(file, text, line) for text, line in zip(texts, lines, strict=True)]
    records: list[Record] = parsed
    return records


def _record(file: File, text: bytes, line: int) -> Record:
    location = f"{file}, line {line}"
    try:
        record = json.loads(text.decode(), parse_int=_whole)
    except UnicodeDecodeError:
        raise InputError(f"{location} is not UTF-8 text: save the file as UTF-8") from None
    except json.JSONDecodeError as error:
        fault = f"is not JSON: {error.msg} at column {error.colno}"
        if len(text) >= LONGEST:
            fault = f"is longer than {LONGEST >> 20} MiB"
        raise InputError(f"{location} {fault}. Each line must be one record, {{...}}") from None
    except RecursionError:
        raise InputError(f"{location} is nested too deeply") from None
    if isinstance(record, dict):
        return record
    raise InputError(
        f"{location} holds a {_KINDS[type(record)]}, where each line must be one record, {{...}}"
    )


def _whole(text: str) -> int | float:
    """A whole number; of so many digits that Python refuses them, infinity, which every use of it
    refuses.
    """
    return int(text) if len(text) < DIGITS else float(text)


_KINDS = {
    list: "list",
    str: "text",
    int: "number",
    float: "number",
    bool: "truth value",
    type(None): "null",
}


class JsonlReader:
    """A file of JSON records. It needs no package but Python's own."""

    n_rows: int | None
    messages: tuple[str, ...] = ()

    def __init__(self, file: File) -> None:
        self.file = file
        self._head: dict[str, Any] = {}
        n = 0
        for block in blocks_of(file):
            for record in block.records[:HEAD]:
                _flatten(record, "", self._head)
            n += len(block.records)
            if n >= HEAD:
                break
        self.names = tuple(name for name in self._head if not self._is_odd(name))
        self.n_rows = None if n else 0

    def _is_odd(self, name: str) -> bool:
        """Whether it is within a record where other rows have a plain value."""
        above = name.rpartition(".")[0]
        return bool(above) and (self._head.get(above) is not None or self._is_odd(above))

    def has(self, name: str) -> bool:
        # A field may be rare: only after a look at every record is it not there.
        return name in self.names or any(
            value is not None
            for block in blocks_of(self.file)
            for value in _values(block.records, name)
        )

    def width(self, name: str) -> int:
        example = self._head.get(name)
        return max(1, len(example)) if isinstance(example, list) else 1

    def precision(self, name: str) -> str:
        return "double"

    def pieces(self, fields: Sequence[Field]) -> list[Any]:
        return [None] if self.n_rows is None else []

    def chunks(
        self, piece: Any, fields: Sequence[Field], rows: int
    ) -> Generator[Chunk, None, None]:
        first = 0
        for block in blocks_of(self.file):
            n_bytes = block.n_bytes
            for start in range(0, len(block.records), rows):
                records = block.records[start : start + rows]
                lines = block.lines[start : start + rows]
                yield self._chunk(fields, records, lines, first, n_bytes)
                first, n_bytes = first + len(records), 0

    def _chunk(
        self,
        fields: Sequence[Field],
        records: list[Record],
        lines: Sequence[int],
        first: int,
        n_bytes: int,
    ) -> Chunk:
        columns: dict[Field, Column | Names] = {}
        for field in fields:
            cells = Cells(self.file, field, _values(records, field.name), lines)
            columns[field] = names_of(cells) if field.role == "text" else column_of(cells)
        return Chunk(first, len(records), n_bytes, columns, lambda row: lines[row - first])


def _values(records: list[Record], name: str) -> list[Any]:
    """A field of every record; None where there is none. A key may hold dots itself."""
    if "." not in name:
        return [record.get(name) for record in records]
    path = name.split(".")
    return [record[name] if name in record else _walk(record, path) for record in records]


def _walk(record: Record, path: list[str]) -> Any:
    at: Any = record
    for depth, key in enumerate(path):
        if not isinstance(at, dict):
            return None
        if key not in at:
            return at.get(".".join(path[depth:]))
        at = at[key]
    return at


def _flatten(record: Record, prefix: str, parsed: dict[str, Any]) -> None:
    """The paths of all fields, each with the first value seen; lists stay whole."""
    for key, value in record.items():
        if parsed.get(prefix + key) is None:
            parsed[prefix + key] = None if isinstance(value, dict) else value
        if isinstance(value, dict):
            _flatten(value, f"{prefix}{key}.", parsed)
