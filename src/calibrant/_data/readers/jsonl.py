"""JSON lines: one record a line, fields by name or dotted path; nothing missing is made up."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from calibrant._data.readers.chunks import Chunk, Column, Field, Names
from calibrant._data.readers.find import File
from calibrant._data.readers.json_records import Record, blocks_of
from calibrant._data.readers.json_values import Cells, column_of, names_of

# Records that tell which fields there are.
HEAD = 1000


class JsonlReader:
    """A file of JSON records. It needs no package but Python's own."""

    n_rows: int | None
    said: tuple[str, ...] = ()

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


def _flatten(record: Record, prefix: str, found: dict[str, Any]) -> None:
    """The paths of all fields, each with the first value seen; lists stay whole."""
    for key, value in record.items():
        if found.get(prefix + key) is None:
            found[prefix + key] = None if isinstance(value, dict) else value
        if isinstance(value, dict):
            _flatten(value, f"{prefix}{key}.", found)
