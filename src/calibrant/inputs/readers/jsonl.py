"""JSON lines: one record a line, fields by name or dotted path; nothing missing is made up."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Sequence
from typing import Any

from calibrant.errors import InputError
from calibrant.inputs.readers.chunks import Chunk, Column, Field, Names
from calibrant.inputs.readers.find import File
from calibrant.inputs.readers.json_values import Cells, column_of, names_of
from calibrant.inputs.readers.packed_text import opened

# Records that tell which fields there are.
HEAD = 1000
LONGEST = 1 << 26
Record = dict[str, Any]


class JsonlReader:
    """A file of JSON records. It needs no package but Python's own."""

    n_rows: int | None
    said: tuple[str, ...] = ()

    def __init__(self, file: File) -> None:
        self.file = file
        found: dict[str, Any] = {}
        n = 0
        for _, record, _ in self._records():
            _flatten(record, "", found)
            n += 1
            if n == HEAD:
                break
        self.names = tuple(found)
        self._head = found
        self.n_rows = None if n else 0

    def has(self, name: str) -> bool:
        # A field may be rare: only after a look at every record is it not there.
        path = name.split(".")
        return name in self.names or any(
            _walk(record, path) is not None for _, record, _ in self._records()
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
        paths = [(field.name, field.name.split(".")) for field in fields]
        first, at = 0, 0
        lines: list[int] = []
        held: list[list[Any]] = [[] for _ in fields]
        place = 0
        for line, record, place in self._records():
            lines.append(line)
            for cells, (name, path) in zip(held, paths, strict=True):
                cells.append(record[name] if name in record else _walk(record, path))
            if len(lines) == rows:
                yield self._chunk(fields, held, lines, first, place - at)
                first, at = first + len(lines), place
                lines, held = [], [[] for _ in fields]
        if lines:
            yield self._chunk(fields, held, lines, first, place - at)

    def _chunk(
        self,
        fields: Sequence[Field],
        held: list[list[Any]],
        lines: list[int],
        first: int,
        n_bytes: int,
    ) -> Chunk:
        columns: dict[Field, Column | Names] = {}
        for field, values in zip(fields, held, strict=True):
            cells = Cells(self.file, field, values, lines)
            columns[field] = names_of(cells) if field.role == "text" else column_of(cells)
        return Chunk(first, len(lines), n_bytes, columns, lambda row: lines[row - first])

    def _records(self) -> Iterator[tuple[int, Record, int]]:
        """Line, record, and how far reading has come; empty lines are passed over."""
        with opened(self.file) as (stream, below):
            number = 0
            while text := stream.readline(LONGEST):
                number += 1
                if number == 1:
                    text = text.removeprefix(b"\xef\xbb\xbf")
                if not text.strip():
                    continue
                yield number, self._record(text, number), below.tell()

    def _record(self, text: bytes, line: int) -> Record:
        place = f"{self.file}, line {line}"
        try:
            record = json.loads(text)
        except UnicodeDecodeError:
            raise InputError(f"{place} is not UTF-8 text: save the file as UTF-8") from None
        except json.JSONDecodeError as error:
            if len(text) == LONGEST:
                said = f"is longer than {LONGEST >> 20} MiB"
            else:
                said = f"is not JSON: {error.msg} at column {error.colno}"
            raise InputError(f"{place} {said}. Each line must be one record, {{...}}") from None
        except RecursionError:
            raise InputError(f"{place} is nested too deeply") from None
        if isinstance(record, dict):
            return record
        raise InputError(
            f"{place} holds a {_KINDS[type(record)]}, where each line must be one record, {{...}}"
        )


_KINDS = {
    list: "list",
    str: "text",
    int: "number",
    float: "number",
    bool: "truth value",
    type(None): "null",
}


def _flatten(record: Record, prefix: str, found: dict[str, Any]) -> None:
    """The paths of all fields, each with the first value seen; lists stay whole."""
    for key, value in record.items():
        if found.get(prefix + key) is None:
            found[prefix + key] = None if isinstance(value, dict) else value
        if isinstance(value, dict):
            _flatten(value, f"{prefix}{key}.", found)


def _walk(record: Record, path: list[str]) -> Any:
    """The value at a dotted path, or None. A key may hold dots itself."""
    at: Any = record
    for depth, key in enumerate(path):
        if not isinstance(at, dict):
            return None
        if key not in at:
            rest = ".".join(path[depth:])
            return at.get(rest)
        at = at[key]
    return at
