"""Stray quotes in CSV, which make one text of several rows.

A stray quote at the beginning of a field makes one text of all lines up to the next quote. Arrow
reads it so, and the rows in it are lost ("swallowed"). A text of several lines that is meant so
ends where a field ends, and its lines do not look like rows: lines of prompts and answers do not
have the file's number of fields, with numbers where the file's columns of numbers are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from calibrant._core.errors import InputError
from calibrant._core.typing import Index, Mask
from calibrant._data.readers.csv_errors import EMPTY, Header, fields_of
from calibrant._data.readers.find import opened

BLOCK = 1 << 20
QUOTE = ord('"')
# The bytes of a row of several lines that are looked at: its first lines tell if they are rows.
LOOK = 1 << 20


class Quotes:
    """The state of a search for stray quotes, which swallow rows (make one text of them), in a text
    that comes block by block. The first block begins at the beginning of a row.
    """

    def __init__(self, header: Header) -> None:
        """Take the delimiter and the number of fields from the header, and begin at the
        first row.
        """
        self._header = header
        # Which bytes are a delimiter or a line break, between which fields lie.
        self._around = np.zeros(256, dtype=np.bool_)
        self._around[[ord(header.delimiter), ord("\n"), ord("\r")]] = True
        self._last = b"\n"
        self._is_open = False
        # The line in which the block begins, and the one in which the quote was opened.
        self._line = self._opened_in = 1
        self._pending = b""
        # The row in which the block begins.
        self._row = _Row(1)

    def add(self, text: bytes, *, end: bool = False) -> None:
        """Check the next block of the text; raise InputError if a quote in it swallows rows. `end`:
        this is the last block.
        """
        text = self._pending + text
        # A quote at the end of a block may be half of an escaped one.
        kept = len(text) if end else len(text.rstrip(b'"'))
        self._pending, text = text[kept:], text[:kept]
        if text:
            characters = np.frombuffer(text, dtype=np.uint8)
            is_fed = b"\n" in text and not self._header.returns
            breaks = np.flatnonzero(characters == ord("\n" if is_fed else "\r"))
            was_open, opens, closes = self._is_open, *self._quotes(text, breaks)
            self._check_quoted_lines(
                text,
                breaks,
                np.append(-1, opens) if was_open else opens,
                np.append(closes, len(text)) if self._is_open else closes,
            )
            self._line += breaks.size
            self._last = text[-1:]
        if end and self._is_open:
            raise InputError(
                f"{self._header.file}, line {self._opened_in} opens a quote that is never closed: "
                "all lines after it would be one text"
            )
        if end:
            self._check_row(self._row, self._line + 1)

    def _quotes(self, text: bytes, breaks: Index) -> tuple[Index, Index]:
        """The positions of the quotes that open a field, and of those that close one. `breaks` are
        the positions of line breaks.
        """
        if b'"' not in text:
            nowhere = np.empty(0, dtype=np.intp)
            return nowhere, nowhere
        sound = self._quotes_at_once(text, breaks)
        return self._quotes_one_by_one(text, breaks) if sound is None else sound

    def _quotes_at_once(self, text: bytes, breaks: Index) -> tuple[Index, Index] | None:
        """The positions of the quotes that open a field, and of those that close one, by array
        operations. None if some quote neither opens nor closes a field and is not an escaped quote
        within one.
        """
        characters = np.frombuffer(b"%b%b\n" % (self._last, text), dtype=np.uint8)
        at = np.flatnonzero(characters == QUOTE)
        # An escaped quote counts as one that closes and one that opens.
        opening = np.arange(at.size) % 2 == (1 if self._is_open else 0)
        escaped = (np.diff(at) == 1) & opening[1:]
        behind_one, before_one = np.append(False, escaped), np.append(escaped, False)
        begins = self._around[characters[at - 1]] | behind_one
        ends = self._around[characters[at + 1]] | before_one
        if not np.where(opening, begins, ends).all():
            return None
        first = at[opening & ~behind_one] - 1
        if first.size:
            self._opened_in = self._line + int(np.searchsorted(breaks, first[-1]))
        self._is_open = bool(opening[-1])
        return first, at[~opening & ~before_one] - 1

    def _quotes_one_by_one(self, text: bytes, breaks: Index) -> tuple[Index, Index]:
        """The positions of the quotes that open a field, and of those that close one, found one
        after the other. Raise InputError if the quote that closes a text of several lines stands
        within a field.
        """
        parts = text.split(b'"')
        places = np.cumsum([len(part) + 1 for part in parts]) - 1
        lines = (self._line + np.searchsorted(breaks, places)).tolist()
        opens, closes = list[int](), list[int]()
        before, at = self._last, 0
        while at < len(parts) - 1:
            line = lines[at]
            before = parts[at][-1:] or before
            at += 1
            if self._is_open:
                if parts[at] == b"" and at < len(parts) - 1:  # escaped
                    at += 1
                    continue
                self._is_open = False
                closes.append(places[at - 1])
                behind = parts[at][:1] or b"\n"
                if not self._around[behind[0]] and self._opened_in < line:
                    raise InputError(
                        f"{self._header.file}, line {self._opened_in} opens a quote that line "
                        f"{line} closes within a field: all lines between would be one text. "
                        "Remove the quote, or write it twice within quotes"
                    )
            elif self._around[before[0]]:
                self._is_open, self._opened_in = True, line
                opens.append(places[at - 1])
            before = b'"'
        return np.array(opens, dtype=np.intp), np.array(closes, dtype=np.intp)

    def _check_quoted_lines(self, text: bytes, breaks: Index, opens: Index, closes: Index) -> None:
        """Raise InputError if a quoted text holds rows. `breaks` are the positions of line breaks;
        `opens` and `closes` are those of the quotes that begin and end each quoted text.
        """
        quoted = np.searchsorted(opens, breaks) - 1
        inside = quoted >= 0
        inside[inside] = breaks[inside] < closes[quoted[inside]]
        starts = np.append(0, breaks[~inside] + 1)
        self._row.add(text[: starts[1] if starts.size > 1 else len(text)])
        if starts.size == 1:
            return
        lines = self._line + np.searchsorted(breaks, starts)
        self._check_row(self._row, lines[1])
        of_lines = np.searchsorted(starts, breaks[self._may_be_rows(text, breaks, inside)]) - 1
        several = np.flatnonzero(np.bincount(of_lines, minlength=starts.size) >= LINES)
        for row in several[(several > 0) & (several < starts.size - 1)]:
            self._check_row(_Row(lines[row], text[starts[row] : starts[row + 1]]), lines[row + 1])
        self._row = _Row(lines[-1], text[starts[-1] :])

    def _may_be_rows(self, text: bytes, breaks: Index, inside: Mask) -> Index:
        """Find the lines that begin within quotes, hold a digit, and have as many fields as a row:
        the indices in `breaks` of the line breaks that end them. `inside` masks the line breaks
        within quotes. Most texts have at most one of these lines, and need no further check.
        """
        within = 1 + np.flatnonzero(inside[:-1])
        characters = np.frombuffer(text, dtype=np.uint8)
        for which, least, most in (
            (characters == ord(self._header.delimiter), *[len(self._header.names) - 1] * 2),
            (characters - ord("0") < 10, 1, characters.size),  # wraps around below "0"
        ):
            places = np.flatnonzero(which)
            n = np.searchsorted(places, breaks[within]) - np.searchsorted(
                places, breaks[within - 1]
            )
            within = within[(n >= least) & (n <= most)]
        return within

    def _check_row(self, row: _Row, behind: int) -> None:
        """Raise InputError if a quoted text in a row holds other rows. `behind` is the line in
        which the next row begins.
        """
        found = find_swallowed(row.text, self._header, whole=row.is_whole)
        if found is not None:
            first, last = row.line + found.first, row.line + found.last
            last = last if row.is_whole else behind - 1
            raise InputError(
                f"{self._header.file}, line {first} opens a quote that line {last} closes: it "
                f"would be one text of {last - first + 1:,} lines, which look like rows. Remove "
                "both quotes; if it is one text, write the file as JSONL or Parquet"
            )


class _Row:
    """The first bytes of a row, up to the limit LOOK, and the line in which the row begins."""

    def __init__(self, line: int, text: bytes = b"") -> None:
        """`line` is the line in which the row begins, and `text` the beginning of the row."""
        self.line = int(line)
        self.text, self.is_whole = b"", True
        self.add(text)

    def add(self, text: bytes) -> None:
        """Add more of the row's text, up to the limit LOOK; text beyond it makes
        `is_whole` False.
        """
        self.is_whole = self.is_whole and len(self.text) + len(text) <= LOOK
        self.text += text[: max(0, LOOK - len(self.text))]


def check_quotes(header: Header) -> None:
    """Read a file from its beginning, and raise InputError if a stray quote swallows rows (makes
    one text of them).
    """
    quotes = Quotes(header)
    with opened(header.file) as (stream, _):
        text = stream.read(BLOCK).removeprefix(b"\xef\xbb\xbf")
        while text:
            quotes.add(text)
            text = stream.read(BLOCK)
    quotes.add(b"", end=True)


# The share of the lines within a text that must look like rows: some lines look so by chance, and
# a swallowed row may be faulty.
SHARE = 0.9
# The number of lines that must look like rows: with decimals, and with whole numbers only. Whole
# numbers need more lines, because questions may hold lists of them.
LINES, LINES_OF_WHOLE = 2, 10
NUMBER = re.compile(rb" ?[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?%?")
WHOLE = re.compile(rb" ?[+-]?\d+%?")
NO_NUMBER = frozenset(word.encode() for word in EMPTY)


@dataclass(frozen=True)
class Swallowed:
    """A quoted text that holds rows: the lines in which it begins and ends, counted from 0 at the
    first line of its row.
    """

    first: int
    last: int


def find_swallowed(row: bytes, header: Header, *, whole: bool = True) -> Swallowed | None:
    """Find, in a row of several lines, the quoted text that holds other rows; None if there is
    none.

    `whole` is False if `row` is only the beginning of the row.
    """
    mark = header.delimiter.encode()
    delimiters = len(header.names) - 1
    lines = _lines(row)
    if delimiters < 1 or sum(line.count(mark) == delimiters for line in lines[1:]) < LINES:
        return None
    spans = fields_of(row, mark)
    cells = [row[start:end] for start, end in spans]
    if not whole:  # the fields behind the text are not known, but those of the first line are
        cells[len(cells) - 1 :] = lines[0].strip(b"\r").split(mark)[len(cells) - 1 :]
    for place, (start, end) in enumerate(spans):
        n_lines = len(_lines(row[start:end]))
        if n_lines < 2:
            continue
        # The places of fields behind the text are known only if no field is missing.
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
    """Whether the lines of a quoted text are rows: they have as many delimiters as rows have, and
    numbers in the columns where the row around them has `numbers` (by column). A few lines may be
    different. The last line may be cut, or hold only the closing quote.
    """

    def cells_of(line: bytes) -> list[bytes] | None:
        """The cells of a line in the columns of numbers, if the line is a row; else None."""
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
    """Whether a cell may be from the same column as a known number: the cell is empty, or it is a
    number of the same kind (both are whole, both lie in [0, 1], or the known one is outside [0, 1]
    and has decimals).
    """
    if cell in NO_NUMBER:
        return True
    if not NUMBER.fullmatch(cell) or cell[:1].isspace() != known[:1].isspace():
        return False
    value, other = (float(number.rstrip(b"%")) for number in (cell, known))
    if WHOLE.fullmatch(known) and WHOLE.fullmatch(cell):
        return True
    # A column with a probability holds probabilities.
    return 0 <= value <= 1 if 0 <= other <= 1 else not WHOLE.fullmatch(known)


def _lines(text: bytes) -> list[bytes]:
    """Split a text into its lines, which end with line feeds, or else with carriage returns."""
    return text.split(b"\n" if b"\n" in text else b"\r")
