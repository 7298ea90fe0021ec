"""Lines of JSON as records, many at a time; one by one to find the line where something is odd."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from calibrant._core.errors import InputError
from calibrant._data.readers.find import File
from calibrant._data.readers.packed_text import opened

Record = dict[str, Any]

# Bytes read at a time, and the most that a line may have.
BLOCK = 1 << 20
LONGEST = 1 << 26
# Python's own limit is 4,300, unless someone has set another; from 640 on it may be lower.
DIGITS = 640


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
        held = b""
        while more := stream.read(BLOCK):
            whole, end, rest = more.rpartition(b"\n")
            if end:
                yield held + whole, below.tell()
                held = rest
            else:
                held += more
            if len(held) > LONGEST:
                # Which line it is can be told only after all before it have been.
                yield held[:LONGEST], below.tell()
                return
        if held:
            yield held, below.tell()


def _records(file: File, texts: list[bytes], lines: Sequence[int]) -> list[Record]:
    """The record of each line. As one list they are read several times as fast."""
    try:
        found = json.loads((b"[" + b",".join(texts) + b"]").decode())
    except (ValueError, RecursionError):
        found = []
    if len(found) != len(texts) or not all(type(record) is dict for record in found):
        return [_record(file, text, line) for text, line in zip(texts, lines, strict=True)]
    records: list[Record] = found
    return records


def _record(file: File, text: bytes, line: int) -> Record:
    place = f"{file}, line {line}"
    try:
        record = json.loads(text.decode(), parse_int=_whole)
    except UnicodeDecodeError:
        raise InputError(f"{place} is not UTF-8 text: save the file as UTF-8") from None
    except json.JSONDecodeError as error:
        said = f"is not JSON: {error.msg} at column {error.colno}"
        if len(text) >= LONGEST:
            said = f"is longer than {LONGEST >> 20} MiB"
        raise InputError(f"{place} {said}. Each line must be one record, {{...}}") from None
    except RecursionError:
        raise InputError(f"{place} is nested too deeply") from None
    if isinstance(record, dict):
        return record
    raise InputError(
        f"{place} holds a {_KINDS[type(record)]}, where each line must be one record, {{...}}"
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
