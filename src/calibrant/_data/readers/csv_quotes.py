"""Quotes of CSV: those that are opened and not closed where a field ends.

A stray quote at the beginning of a field makes one text of all lines up to the next quote. Arrow
reads it so, and the rows are gone. A sound text of several lines ends where a field does.
"""

from __future__ import annotations

import numpy as np

from calibrant._core.errors import InputError
from calibrant._data.readers.csv_errors import Header
from calibrant._data.readers.packed_text import opened

BLOCK = 1 << 20
QUOTE = ord('"')


class Quotes:
    """The quotes of a text that comes block by block, from the beginning of a row on."""

    def __init__(self, header: Header) -> None:
        self._header = header
        # Fields begin behind these, and end before them.
        self._around = np.zeros(256, dtype=np.bool_)
        self._around[[ord(header.delimiter), ord("\n"), ord("\r")]] = True
        self._last = b"\n"
        self._is_open = False
        # The line in which the block begins, and the one in which the quote was opened.
        self._line = self._opened_in = 1
        self._pending = b""

    def add(self, text: bytes, *, end: bool = False) -> None:
        """Look at a block; an InputError where lines would be lost. `end`: it is the last one."""
        text = self._pending + text
        # A quote at the end of a block may be half of an escaped one.
        kept = len(text) if end else len(text.rstrip(b'"'))
        self._pending, text = text[kept:], text[:kept]
        if text:
            if b'"' in text and not self._is_sound(text):
                self._walk(text)
            self._line += _line_ends(text)
            self._last = text[-1:]
        if end and self._is_open:
            raise InputError(
                f"{self._header.file}, line {self._opened_in} opens a quote that is never closed: "
                "all lines after it would be one text"
            )

    def _is_sound(self, text: bytes) -> bool:
        """Whether every quote of the block opens or closes a field, or is escaped within one. If
        so, they are counted.
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
            return False
        first = at[opening & ~behind_one]
        if first.size:
            self._opened_in = self._line + _line_ends(text[: first[-1] - 1])
        self._is_open = bool(opening[-1])
        return True

    def _walk(self, text: bytes) -> None:
        """One quote after the other."""
        parts = text.split(b'"')
        line, before, at = self._line, self._last, 0
        while at < len(parts) - 1:
            line += _line_ends(parts[at])
            before = parts[at][-1:] or before
            at += 1
            if self._is_open:
                if parts[at] == b"" and at < len(parts) - 1:  # escaped
                    at += 1
                    continue
                self._is_open = False
                behind = parts[at][:1] or b"\n"
                if not self._around[behind[0]] and self._opened_in < line:
                    raise InputError(
                        f"{self._header.file}, line {self._opened_in} opens a quote that line "
                        f"{line} closes within a field: all lines between would be one text. "
                        "Remove the quote, or write it twice within quotes"
                    )
            elif self._around[before[0]]:
                self._is_open, self._opened_in = True, line
            before = b'"'


def _line_ends(text: bytes) -> int:
    return text.count(b"\n") or text.count(b"\r")


def check_quotes(header: Header) -> None:
    """Read a file once more, for its quotes alone."""
    quotes = Quotes(header)
    with opened(header.file) as (stream, _):
        text = stream.read(BLOCK).removeprefix(b"\xef\xbb\xbf")
        while text:
            quotes.add(text)
            text = stream.read(BLOCK)
    quotes.add(b"", end=True)
