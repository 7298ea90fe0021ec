"""Tables as text: as wide as they are, or of a width, with names of columns on several lines, long
names cut, and columns in blocks.

No column is left out: what does not fit beside the others follows below them, after the names of
the rows. Names of rows are cut in the middle; other texts go on in the next line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from calibrant._core.lines import shortened_middle, wrapped
from calibrant.results._rendering import Columns, shown_in

# Texts are not made narrower than this, and so many spaces stand between two columns.
_NARROWEST = 24
_GAP = 2


@dataclass
class _Column:
    """A column as text: its name and its cells, each of one or more lines.

    `numeric` says whether the cells are numbers, `names_rows` whether they name the rows.
    """

    head: list[str]
    cells: list[list[str]]
    numeric: bool
    names_rows: bool

    @property
    def width(self) -> int:
        """The letters of its longest line."""
        lines = (line for lines in (self.head, *self.cells) for line in lines)
        return max(map(len, lines), default=0)

    def fold_head(self) -> None:
        """Break a name that is longer than the cells at its underscores and spaces."""
        pieces = re.findall(r"[^_ ]+[_ ]?|[_ ]", self.head[0])
        own = (line for lines in self.cells for line in lines)
        most = max(map(len, (*pieces, *own)), default=0)
        lines = [""]
        for piece in pieces:
            if len((lines[-1] + piece).rstrip()) > most:
                lines.append("")
            lines[-1] += piece
        self.head = [line.rstrip() for line in lines]

    def narrow(self, most: int) -> None:
        """Make texts at most so wide: names of rows are cut, others go on in the next line."""
        if self.names_rows:
            self.cells = [[shortened_middle(cell[0], most)] for cell in self.cells]
        else:
            self.cells = [wrapped(" ".join(cell), most) for cell in self.cells]
        self.head = [shortened_middle(line, most) for line in self.head]


def as_text(columns: Columns, *, indent: str = "", most: int | None = None) -> str:
    """An aligned text table of columns, numbers to the right, each line after the `indent`.

    A table of more than `most` rows shows the first and the last ones, `most` in all.
    """
    n, cut = len(next(iter(columns.values()), ())), 0
    if most is not None and n > most:
        cut, last = most - most // 4, n - most // 4
        columns = {name: [*values[:cut], *values[last:]] for name, values in columns.items()}
    lines = _table_lines(_text_columns(columns), indent)
    if cut and most is not None:
        lines.insert(cut + 1, f"{indent}... {n - most:,} more rows ...")
    return "\n".join(lines)


def fitted_text(columns: Columns, width: int, *, indent: str = "") -> str:
    """An aligned table of columns whose lines have at most `width` letters, the indent included.

    Columns that do not fit make further tables below, each of which begins with the first column.
    """
    room = width - len(indent)
    given = _text_columns(columns)
    if _width(given) > room:
        for column in given:
            column.fold_head()
    if _width(given) > room and _least_width(given) <= room:
        _narrow_texts(given, room)
    blocks = _blocks(given, room)
    for block in blocks:
        _narrow_texts(block, room)
    return "\n\n".join("\n".join(_table_lines(block, indent)) for block in blocks)


def _text_columns(columns: Columns) -> list[_Column]:
    """The columns as text, each name and each value on one line."""
    return [
        _Column(
            [name],
            [[shown_in(name, value)] for value in values],
            any(isinstance(value, int | float) for value in values),
            i == 0,
        )
        for i, (name, values) in enumerate(columns.items())
    ]


def _width(columns: Sequence[_Column]) -> int:
    """The width of columns side by side."""
    return sum(column.width + _GAP for column in columns) - _GAP


def _least_width(columns: Sequence[_Column]) -> int:
    """The width of columns side by side whose texts are as narrow as they may be."""
    most = [each.width if each.numeric else min(each.width, _NARROWEST) for each in columns]
    return sum(width + _GAP for width in most) - _GAP


def _narrow_texts(columns: Sequence[_Column], room: int) -> None:
    """Narrow the widest text until the columns fit side by side, or none may be narrower."""
    texts = [column for column in columns if not column.numeric]
    while texts and _width(columns) > room:
        widest = max(texts, key=lambda column: column.width)
        before = widest.width
        if before <= _NARROWEST:
            return
        widest.narrow(max(_NARROWEST, before - max(1, _width(columns) - room)))
        if widest.width == before:  # one long word
            texts.remove(widest)


def _blocks(columns: Sequence[_Column], room: int) -> list[list[_Column]]:
    """Columns side by side as far as they fit, the first of them in every block.

    The first column, which names the rows, takes a third of the room at most.
    """
    if _width(columns) > room and not columns[0].numeric:
        columns[0].narrow(max(12, room // 3))
    blocks: list[list[_Column]] = []
    for column in columns[1:]:
        if not blocks or _width([*blocks[-1], column]) > room:
            blocks.append([columns[0]])
        blocks[-1].append(column)
    return blocks or [list(columns)]


def _table_lines(columns: Sequence[_Column], indent: str) -> list[str]:
    """The lines of columns side by side: names at the bottom of their lines, numbers right."""
    height = max((len(column.head) for column in columns), default=0)
    heads = [[""] * (height - len(column.head)) + column.head for column in columns]
    lines = list(zip(*heads, strict=True))
    for cells in zip(*(column.cells for column in columns), strict=True):
        lines += zip_longest(*cells, fillvalue="")
    widths, out = [column.width for column in columns], []
    for line in lines:
        padded = (
            cell.rjust(width) if column.numeric else cell.ljust(width)
            for cell, column, width in zip(line, columns, widths, strict=True)
        )
        out.append((indent + (" " * _GAP).join(padded)).rstrip())
    return out
