"""Rows of CSV that became one text, because a quote before them is closed behind them.

Such a file is legal. But texts of prompts and answers do not go on, line by line, with the file's
number of fields, and with the file's numbers where its columns of numbers are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from calibrant._data.readers.csv_errors import EMPTY, Header

# Of lines within one text, this share must look like rows, for some look so by chance, and a row
# that was swallowed may be faulty.
SHARE = 0.9
# Numbers with decimals, in the same columns, over so many lines are no chance. Whole ones may be:
# lists of them stand in questions.
LINES, LINES_OF_WHOLE = 2, 10
NUMBER = re.compile(rb" ?[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?%?")
WHOLE = re.compile(rb" ?[+-]?\d+%?")
NO_NUMBER = frozenset(word.encode() for word in EMPTY)


@dataclass(frozen=True)
class Swallowed:
    """A text that holds rows: the lines of its own row in which it begins and ends, from 0."""

    first: int
    last: int


def swallowed_in(row: bytes, header: Header, *, whole: bool = True) -> Swallowed | None:
    """The text within a row of several lines that holds rows itself, if there is one.

    Without `whole`, the row goes on behind what is given.
    """
    mark = header.delimiter.encode()
    delimiters = len(header.names) - 1
    lines = _lines(row)
    if delimiters < 1 or sum(line.count(mark) == delimiters for line in lines[1:]) < LINES:
        return None
    spans = _fields(row, mark)
    cells = [row[start:end] for start, end in spans]
    if not whole:  # the fields behind the text are not known, but those of the first line are
        cells[len(cells) - 1 :] = lines[0].strip(b"\r").split(mark)[len(cells) - 1 :]
    for place, (start, end) in enumerate(spans):
        n_lines = len(_lines(row[start:end]))
        if n_lines < 2:
            continue
        # Behind the text, places are right where no field is missing.
        known = len(cells) if len(cells) == delimiters + 1 else 0
        numbers = {
            at: cell.strip(b'"')
            for at, cell in enumerate(cells)
            if (at < place or place < at < known) and NUMBER.fullmatch(cell.strip(b'"'))
        }
        until = end + len(row[end:].partition(b"\n")[0])
        *between, last = _lines(row[start:until])[1:]
        if numbers and _are_rows(between, last, mark, delimiters, numbers):
            before = len(_lines(row[:start])) - 1
            return Swallowed(before, before + n_lines - 1)
    return None


def _are_rows(
    between: list[bytes], last: bytes, mark: bytes, delimiters: int, numbers: dict[int, bytes]
) -> bool:
    """Whether lines have as many fields as the file, and its numbers at these places. The last one
    may be cut, or have the quote alone.
    """

    def cells_of(line: bytes) -> list[bytes] | None:
        """What stands at these places, if the line is a row."""
        cells = [cell.strip(b'"') for cell in line.strip(b"\r").split(mark)]
        if len(cells) != delimiters + 1:
            return None
        found = [cells[at] for at in numbers]
        fit = all(map(_is_alike, found, numbers.values()))
        return found if fit and not NO_NUMBER.issuperset(found) else None

    lines = [line for line in between if line.strip()]
    rows = [cells for line in (*lines, last) if (cells := cells_of(line)) is not None]
    with_decimals = sum(any(b"." in cell for cell in cells) for cells in rows)
    enough = with_decimals >= LINES or len(rows) >= LINES_OF_WHOLE
    return enough and len(rows) >= SHARE * len(lines)


def _is_alike(cell: bytes, known: bytes) -> bool:
    """Whether a cell may stand in the column that has this number."""
    if cell in NO_NUMBER:
        return True
    if not NUMBER.fullmatch(cell) or cell[:1].isspace() != known[:1].isspace():
        return False
    value, other = (float(number.rstrip(b"%")) for number in (cell, known))
    if WHOLE.fullmatch(known) and WHOLE.fullmatch(cell):
        return True
    # Where a probability stands, probabilities do.
    return 0 <= value <= 1 if 0 <= other <= 1 else not WHOLE.fullmatch(known)


def _lines(text: bytes) -> list[bytes]:
    return text.split(b"\n" if b"\n" in text else b"\r")


def _fields(row: bytes, mark: bytes) -> list[tuple[int, int]]:
    """Where each field of a row begins and ends."""
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
