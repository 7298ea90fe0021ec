"""What every reader gives: chunks of the columns that are wanted, and where their rows are.

A piece is a part of a file that can be read by itself, in a thread. A chunk is some rows of it, few
enough to be in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError
from calibrant._core.messages import setting
from calibrant._core.texts import message
from calibrant._core.typing import Index, Mask
from calibrant._data.readers.find import File

# What a column is used for: "label", numbers or names; "name", labels that are names even where
# they look like numbers; "proba", predictions; "number", weights, votes and soft labels; "text",
# what rows are grouped by.
Role: TypeAlias = Literal["label", "name", "proba", "number", "text"]
# What a column of text holds.
Kind: TypeAlias = Literal["number", "truth", "name"]


@dataclass(frozen=True)
class Field:
    """A column to be read, and its role: what it is used for."""

    name: str
    role: Role
    # The record of which this is a field, if its fields are the classes: a further field is an
    # error.
    of_record: str | None = field(default=None, compare=False)

    @property
    def is_number(self) -> bool:
        """Whether the column must hold numbers: predictions, weights, votes, soft labels."""
        return self.role in ("proba", "number")


@dataclass(frozen=True, eq=False)
class Column:
    """Numbers, one per row, (n,), or several, (n, k); and `gaps`, a mask (n,) of the rows in which
    they are missing, or None if no row is missing.
    """

    values: NDArray[Any]
    gaps: Mask | None = None

    def part(self, start: int, rows: int) -> Column:
        """The part of the column with `rows` rows from row `start` on."""
        gaps = None if self.gaps is None else self.gaps[start : start + rows]
        some = gaps is not None and gaps.any()
        return Column(self.values[start : start + rows], gaps if some else None)


@dataclass(frozen=True, eq=False)
class Names:
    """Names stored by number: `known[codes[i]]` is the name of row i; None if the row
    has no name.
    """

    codes: Index
    known: list[Any]

    @classmethod
    def of_values(cls, values: Iterable[Any]) -> Names:
        """Values of any hashable types, one per row, as names. 1, 1.0 and True are equal, but not
        the same name.
        """
        known: dict[Any, int] = {}
        codes = [known.setdefault((type(value), value), len(known)) for value in values]
        return cls(np.array(codes, dtype=np.intp), [value for _, value in known])

    @classmethod
    def of_numbers(cls, column: Column) -> Names:
        """A column of numbers, (n,), as names; a gap is None."""
        known, codes = np.unique(column.values, return_inverse=True)
        codes = codes.reshape(-1)
        if column.gaps is not None:
            codes[column.gaps] = known.size
        return cls(codes, [*known.tolist(), None])

    def of_rows(self) -> NDArray[Any]:
        """The name of each row as an array (n,) of objects; None for a row that has no name."""
        known = np.empty(len(self.known), dtype=object)
        known[:] = self.known
        return known[self.codes]

    def as_numbers(
        self,
        numbers: Sequence[float | str | None],
        error: Callable[[int, str], InputError],
        dtype: type[Any] = np.float64,
    ) -> Column:
        """The rows as a column of numbers of type `dtype`. `numbers` has, for each of the known
        names, a number, None for a missing value, or a text that says why there is no number. For
        the first row with such a text, `error(row, text)` is raised.
        """
        wrong = np.array([isinstance(number, str) for number in numbers], dtype=np.bool_)
        if wrong[self.codes].any():
            row = int(np.argmax(wrong[self.codes]))
            raise error(row, str(numbers[self.codes[row]]))
        gone = np.array([number is None for number in numbers], dtype=np.bool_)
        usable = [0 if no else number for no, number in zip(wrong | gone, numbers, strict=True)]
        values = np.array(usable, dtype=dtype)
        return Column(values[self.codes], gone[self.codes] if gone.any() else None)


@dataclass(frozen=True)
class Location:
    """The place in a file at which some rows begin."""

    file: File
    # The number of the first of these rows, counted from 0 behind the rows that `before` counts, or
    # else from the beginning of the file.
    first: int
    # A function from a row's number in the file to its line, or to words that say where it is; None
    # if the file has no lines.
    line: Callable[[int], int | str] | None = None
    # A function that counts the rows before: it reads them all, so only errors call it.
    before: Callable[[], int] | None = None

    def __str__(self) -> str:
        """The place of the first of these rows in words, as by `row`."""
        return self.row(0)

    def after(self, rows: int) -> Location:
        """The location that is `rows` rows further on."""
        return replace(self, first=self.first + rows)

    def number(self, row: int) -> int:
        """The number of a row within the file, counted from 0, where `row` is its number from this
        location on.
        """
        return self.first + row + (self.before() if self.before else 0)

    def row(self, row: int) -> str:
        """The place of a row in words, where `row` is its number from this location on: "FILE, line
        3", or "FILE, row 2" for files without lines. Lines are counted from 1, as in editors, rows
        from 0.
        """
        return f"{self.file}, {self.place(row)}"

    def place(self, row: int) -> str:
        """The place of a row in words, as by `row`, without the file."""
        number = self.number(row)
        if self.line is None:
            return f"row {number}"
        place = self.line(number)
        return place if isinstance(place, str) else f"line {place}"


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some consecutive rows of a file, and their columns."""

    location: Location
    n_rows: int
    # The bytes of the file by which reading these rows has moved on.
    n_bytes: int
    columns: dict[Field, Column | Names]


class Reader:
    """A file that can be read any number of times; the base of the readers of all formats."""

    file: File
    # The columns' names, and the number of rows if it is known before they are read.
    names: tuple[str, ...]
    n_rows: int | None = None
    # What was inferred about the file.
    messages: tuple[str, ...] = ()

    def has(self, name: str) -> bool:
        """Whether the file has a column of this name."""
        return name in self.names

    def width(self, name: str) -> int:
        """The number of numbers per row of a column: 1, or the length of its lists."""
        return 1

    def precision(self, name: str) -> str:
        """The precision of a column's numbers: "half", "single" or "double"."""
        return "double"

    def pieces(self, fields: Sequence[Field]) -> Iterable[Any]:
        """The pieces of the file, in order: parts that can be read independently of each other, in
        threads for example. By default all rows are one piece, None.
        """
        return [None]

    def chunks(
        self, piece: Any, fields: Sequence[Field], rows: int
    ) -> Generator[Chunk, None, None]:
        """Yield the rows of a piece (a part from `pieces`), with the columns of these fields, in
        chunks of at most `rows` rows.
        """
        raise NotImplementedError

    def all_chunks(self, fields: Sequence[Field], rows: int) -> Iterator[Chunk]:
        """Yield the rows of the whole file, with the columns of these fields, in chunks of at most
        `rows` rows.
        """
        for piece in self.pieces(fields):
            with closing(self.chunks(piece, fields, rows)) as chunks:
                yield from chunks


def plain_number(text: str) -> float | None:
    """The number that a text writes; None if the text is not a number."""
    if "_" in text:  # Python's own way to write 1_000
        return None
    try:
        return float(text)
    except ValueError:
        return None


def new_class_error(location: str, column: str, name: str) -> InputError:
    """The error for a column or field of a class that earlier rows do not have. `column` is its
    full name, `name` that of the class.
    """
    return InputError(
        f"{location} has {column!r}, but earlier rows have no class {name!r}: give every row the "
        f"same classes, or name the columns to read with {setting('y_proba', [...])}"
    )


def not_a_number(location: str, field: Field, text: str) -> InputError:
    """The error for a text in place of a number, with a hint at what may be meant. For predictions
    the hint names the options that read percentages and words.
    """
    hint, of_proba = "", field.role == "proba"
    if text.strip().endswith("%"):
        hint = message("each_percent" if of_proba else "by_100")
    elif plain_number(text.replace(",", ".", 1)) is not None:
        hint = message("comma")
    elif any(letter.isalpha() for letter in text):
        if of_proba:
            hint = message("words")
        elif field.role == "label":
            hint = ", but the first labels are: give numbers in all rows, or names in all rows"
    shown = repr(shortened(text))
    return InputError(
        message("no_number", location=location, column=field.name, value=shown, hint=hint)
    )


def shortened(text: str) -> str:
    """A text for a message, cut to 40 characters."""
    return text if len(text) <= 40 else text[:37] + "..."
