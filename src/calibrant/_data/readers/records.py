"""Records in memory, read as columns: lists of records, and logs of evaluations."""

from __future__ import annotations

import io
import json
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from calibrant._core.errors import InputError
from calibrant._data.readers.chunks import Chunk, Column, Field, Names
from calibrant._data.readers.find import File
from calibrant._data.readers.json_values import Cells, column_of, names_of, not_json
from calibrant._data.readers.jsonl import KINDS, Record, flatten, values_of, whole_number
from calibrant._data.readers.packed_text import opened


@dataclass(frozen=True)
class Pair:
    """Columns that belong together in a log: labels, and the predictions that they are about.

    Files of one evaluation are read alike, by the first pair that all have with one `width`.
    """

    y_true: str
    y_proba: str
    width: int = 1


class RecordReader:
    """Records as a file's columns; `places` are their lines, or where they are in words."""

    messages: tuple[str, ...] = ()
    # What a log's labels and predictions are by default, the first that fits.
    pairs: tuple[Pair, ...] = ()
    # Columns that slice the rows, that name their clusters and that name each row, in a log.
    slices: str | None = None
    clusters: str | None = None
    ids: str | None = None

    def __init__(self, file: File, records: list[Record], places: Sequence[int | str]) -> None:
        self.file = file
        self.records, self.places = records, places
        self._head: dict[str, Any] = {}
        for record in records:
            flatten(record, "", self._head)
        self.names = tuple(self._head)
        self.n_rows: int | None = len(records)

    def has(self, name: str) -> bool:
        return name in self._head

    def width(self, name: str) -> int:
        example = self._head.get(name)
        return max(1, len(example)) if isinstance(example, list) else 1

    def precision(self, name: str) -> str:
        return "double"

    def pieces(self, fields: Sequence[Field]) -> Iterable[Any]:
        return [None] if self.records else []

    def chunks(
        self, piece: Any, fields: Sequence[Field], rows: int
    ) -> Generator[Chunk, None, None]:
        n_bytes = self.file.size
        for start in range(0, len(self.records), rows):
            records = self.records[start : start + rows]
            places = self.places[start : start + rows]
            columns: dict[Field, Column | Names] = {}
            for field in fields:
                cells = Cells(self.file, field, values_of(records, field.name), places)
                columns[field] = names_of(cells) if field.role == "text" else column_of(cells)
            yield Chunk(start, len(records), n_bytes, columns, self.places.__getitem__)
            n_bytes = 0


class JsonListReader(RecordReader):
    """A file that is one JSON list of records."""

    def __init__(self, file: File) -> None:
        records, lines = _list_of_records(file)
        super().__init__(file, records, lines)
        self.messages = ("the file is a JSON list of records",)


def text_of(file: File) -> str:
    """The whole of a text file."""
    with opened(file) as (stream, _):
        content = io.BytesIO(stream.read()).getvalue().removeprefix(b"\xef\xbb\xbf")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(f"{file}, line {line} is not UTF-8 text: save the file as UTF-8") from None


def _list_of_records(file: File) -> tuple[list[Record], list[int]]:
    """The records of a list, each with the line where it begins."""
    text = text_of(file)
    decoder = json.JSONDecoder(parse_int=whole_number)
    records: list[Record] = []
    lines: list[int] = []
    at, line, counted = _skip(text, 0), 1, 0
    if text[at : at + 1] != "[":
        raise InputError(f"{file} is not a JSON list of records: it must begin with [")
    at = _skip(text, at + 1)
    while text[at : at + 1] != "]":
        line, counted = line + text.count("\n", counted, at), at
        try:
            record, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            raise _not_json(file, error) from None
        except RecursionError:
            raise InputError(f"{file}, line {line} is nested too deeply") from None
        if not isinstance(record, dict):
            raise InputError(
                f"{file}, line {line}: the list holds a {KINDS[type(record)]}, where each entry "
                "must be one record, {...}"
            )
        records.append(record)
        lines.append(line)
        at = _skip(text, at)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)
        elif text[at : at + 1] != "]":
            raise _not_json(file, json.JSONDecodeError("Expecting ',' delimiter", text, at))
    if text[_skip(text, at + 1) :]:
        raise _not_json(file, json.JSONDecodeError("Extra data", text, _skip(text, at + 1)))
    return records, lines


def _skip(text: str, at: int) -> int:
    """The next place with something in it."""
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


def _not_json(file: File, error: json.JSONDecodeError) -> InputError:
    return InputError(f"{file}, line {error.lineno} {not_json(error)}")
