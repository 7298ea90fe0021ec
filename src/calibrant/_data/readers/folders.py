"""Columns that are in the folders' names: day=2026-01-31/part-0.parquet has a column `day`."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

import numpy as np

from calibrant._data.readers.chunks import (
    Chunk,
    Column,
    Field,
    Names,
    Reader,
    not_a_number,
    plain_number,
)
from calibrant._data.readers.find import File

# How Hive, Spark and others write that there is no value.
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


def with_folders(reader: Reader) -> Reader:
    """The same rows, with the columns that their folders name beside those of the file."""
    in_folders = columns_of(reader.file)
    own = {name: value for name, value in in_folders.items() if name not in reader.names}
    return FolderReader(reader, own) if own and reader.names else reader


def columns_of(file: File) -> dict[str, str | None]:
    """Names and values in the folders above a file; the innermost counts."""
    pairs = (part.partition("=") for part in file.path.parts[:-1])
    return {
        unquote(name): None if value == NO_VALUE else unquote(value)
        for name, sign, value in pairs
        if sign and name
    }


class FolderReader:
    """A reader whose rows all have the same values in some more columns."""

    def __init__(self, inner: Reader, own: dict[str, str | None]) -> None:
        self.inner, self._own = inner, own
        self.file = inner.file
        self.names = (*inner.names, *own)
        self.n_rows = inner.n_rows
        self.messages = inner.messages

    def has(self, name: str) -> bool:
        return name in self._own or self.inner.has(name)

    def width(self, name: str) -> int:
        return 1 if name in self._own else self.inner.width(name)

    def precision(self, name: str) -> str:
        return "double" if name in self._own else self.inner.precision(name)

    def pieces(self, fields: Sequence[Field]) -> Iterable[Any]:
        return self.inner.pieces(self._of_file(fields))

    def chunks(
        self, piece: Any, fields: Sequence[Field], rows: int
    ) -> Generator[Chunk, None, None]:
        mine = [field for field in fields if field.name in self._own]
        with closing(self.inner.chunks(piece, self._of_file(fields), rows)) as chunks:
            for chunk in chunks:
                same = {field: self._column(field, chunk.n_rows) for field in mine}
                yield replace(chunk, columns=chunk.columns | same)

    def _of_file(self, fields: Sequence[Field]) -> list[Field]:
        return [field for field in fields if field.name not in self._own]

    def _column(self, field: Field, n: int) -> Column | Names:
        value = self._own[field.name]
        number = None if value is None else plain_number(value)
        if field.role in ("text", "name") or (field.role == "label" and number is None):
            return Names(np.zeros(n, dtype=np.intp), [value])
        if value is not None and number is None:
            raise not_a_number(str(self.file), field, value)
        gaps = np.ones(n, dtype=np.bool_) if value is None else None
        return Column(np.full(n, 0.0 if number is None else number), gaps)
