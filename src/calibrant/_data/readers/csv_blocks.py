"""CSV cut into blocks of whole rows, which can be read apart from each other."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrant._data.readers.chunks import Column
from calibrant._data.readers.csv_errors import Header
from calibrant._data.readers.packed_text import opened
from calibrant._data.readers.scanner import scanner

# Blocks that a thread takes at a time.
PIECE = 4


@dataclass(frozen=True, eq=False)
class Block:
    """Some whole rows, and how far reading has moved on."""

    text: bytes
    n_bytes: int


@dataclass(frozen=True, eq=False)
class Piece:
    """Some blocks, and how many there are before. None are the rest of the file, which can only be
    read in order.
    """

    first: int
    blocks: list[Block]


def pieces_of(header: Header, size: int) -> Iterator[Piece]:
    """All rows behind the header, from blocks of this size."""
    first, waiting = 0, list[Block]()
    for block in blocks_of(header, size):
        if block is None or len(waiting) == PIECE:
            if waiting:
                yield Piece(first, waiting)
            first, waiting = first + len(waiting), []
        if block is None:
            yield Piece(first, [])
            return
        waiting.append(block)
    if waiting:
        yield Piece(first, waiting)


def blocks_of(header: Header, size: int) -> Iterator[Block | None]:
    """The rows of a file; None, and no more, where it cannot be told where the next one ends."""
    with opened(header.file) as (stream, below):
        pending, at, begun = b"", 0, False
        more = stream.read(size)
        while more:
            text, now = pending + more, below.tell()
            more = stream.read(size)
            if not begun:
                start = _header_end(header, text)
                if start is None:
                    yield None
                    return
                text, begun = text[start:], True
            end, is_open = _rows_end(header, text)
            if not more:
                # Here rows end with the file, whether the line does or not; but where a quote is
                # never closed is not for here to say.
                end = 0 if is_open else len(text)
            if end:
                yield Block(text[:end], now - at)
                at = now
            if pending and not end:  # longer than a block: these have to be larger
                break
            pending = text[end:]
        if pending:
            yield None


def _header_end(header: Header, text: bytes) -> int | None:
    """Where the first row begins; None where the first line is not as plain as it seems."""
    mark = len(text) - len(text.removeprefix(b"\xef\xbb\xbf"))
    end, _ = scanner().last_row_end(text[mark:], header.delimiter, True)
    try:
        line = text[mark : mark + end].decode().strip("\r\n")
    except UnicodeDecodeError:
        return None
    if "\r" in line or not line:
        return None
    names = next(csv.reader(io.StringIO(line, newline=""), delimiter=header.delimiter))
    return mark + end if tuple(names) == header.names else None


def _rows_end(header: Header, text: bytes) -> tuple[int, bool]:
    """How far the whole rows of a text reach, and whether it ends within quotes."""
    end, is_open = text.rfind(b"\n") + 1, False
    if b'"' in text:
        end, is_open = scanner().last_row_end(text, header.delimiter)
    # Arrow ends a row here too, and then passes over the line end that follows.
    return len(text) if text.endswith(b"\r") and not is_open else end, is_open


def scanned(
    header: Header, text: bytes, names: Sequence[str]
) -> tuple[int, dict[str, Column]] | None:
    """How many rows there are, and columns of numbers; None where something is not plain."""
    found = scanner().csv_rows(text, header.delimiter, _slots(header, names), len(names))
    if found is None:
        return None
    n, columns = found
    return n, {name: Column(*column) for name, column in zip(names, columns, strict=True)}


def _slots(header: Header, names: Sequence[str]) -> NDArray[np.int32]:
    """The place of every column of the file among those that are wanted, or -1."""
    slots = np.full(len(header.names), -1, dtype=np.int32)
    for place, name in enumerate(names):
        slots[header.names.index(name)] = place
    return slots


def part_of(column: Column, start: int, rows: int) -> Column:
    """Some rows of a column."""
    gaps = None if column.gaps is None else column.gaps[start : start + rows]
    return Column(
        column.values[start : start + rows], gaps if gaps is not None and gaps.any() else None
    )
