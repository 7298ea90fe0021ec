"""CSV, cut into blocks of whole rows: plain numbers by a compiled scanner, anything else by Arrow,
or by the standard library where PyArrow is not installed.

Where a block cannot be read, the file is read again line by line to name the line.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from itertools import islice
from typing import Any

import numpy as np

from calibrant._core.errors import InputError
from calibrant._core.optional import need
from calibrant._data.readers.arrow_values import array_column, array_names, arrow_errors, is_text
from calibrant._data.readers.chunks import (
    Chunk,
    Column,
    Field,
    Kind,
    Location,
    Names,
    Reader,
    plain_number,
)
from calibrant._data.readers.csv_errors import (
    GAPS,
    LONGEST,
    TRUTHS,
    first_fault,
    header_of,
    line_of,
    read_header,
)
from calibrant._data.readers.csv_quotes import Quotes, check_quotes
from calibrant._data.readers.find import File, opened
from calibrant._data.readers.scanner import count_lines, scanner

# Bytes of a block. A row must fit into one: the larger sizes are for files with longer rows.
BLOCKS = (1 << 20, 1 << 24, 1 << 28)
# Blocks that a thread takes at a time.
PIECE = 4


@dataclass(frozen=True, eq=False)
class Block:
    """The text of some complete rows, and the number of bytes of the file that were read since the
    block before.
    """

    text: bytes
    n_bytes: int


@dataclass(frozen=True, eq=False)
class Piece:
    """Some consecutive blocks, and the number of blocks of the file before them."""

    first: int
    blocks: Iterable[Block]


class CsvReader(Reader):
    """A CSV file whose first line has the names of the columns."""

    def __init__(self, file: File) -> None:
        """Read the line of names."""
        self.file = file
        self._header = header_of(file)
        self.names = self._header.names
        self.n_rows = None if self.names else 0
        self._kinds: dict[str, Kind] = {}
        if self._header.delimiter != ",":
            self.messages = (f"columns are separated by {self._header.delimiter!r}",)

    @cached_property
    def _pa(self) -> Any:
        """PyArrow. It is slow to import, and files of plain numbers do not need it."""
        return need("pyarrow", "reading CSV")

    @cached_property
    def _csv(self) -> Any:
        """PyArrow's module for CSV."""
        return need("pyarrow.csv", "reading CSV")

    @cached_property
    def _compute(self) -> Any:
        """PyArrow's module of functions on arrays."""
        return need("pyarrow.compute", "reading CSV")

    def pieces(self, fields: Sequence[Field]) -> Iterator[Piece]:
        """Yield the file in pieces of some blocks each, if all fields are numbers; else as one
        piece.
        """
        if not self.names:
            return
        blocks = self._blocks()
        if not self._are_numbers(fields):
            yield Piece(0, blocks)
            return
        first = 0
        while some := list(islice(blocks, PIECE)):
            yield Piece(first, some)
            first += len(some)

    def chunks(
        self, piece: Piece, fields: Sequence[Field], rows: int
    ) -> Generator[Chunk, None, None]:
        """Yield the rows of a piece in chunks of at most `rows`; raise InputError, which names the
        line, for the first row that cannot be read.
        """
        before = cache(partial(self._rows_before, piece.first))
        location = Location(self.file, 0, partial(line_of, self._header), before)
        for block in piece.blocks:
            n_bytes = block.n_bytes
            try:
                for n, columns in self._slices(block.text, fields, rows, location):
                    yield Chunk(location, n, n_bytes, columns)
                    location, n_bytes = location.after(n), 0
            except (InputError, UnicodeDecodeError) as error:
                raise self._first_fault(fields, location.number(0)) or error from None

    def _slices(
        self, text: bytes, fields: Sequence[Field], rows: int, location: Location
    ) -> Iterator[tuple[int, dict[Field, Column | Names]]]:
        """Yield the rows of a block in parts of at most `rows`: for each part the number of rows,
        and the columns by field. `location` is that of the block's first row.
        """
        wanted = list(dict.fromkeys(field.name for field in fields))
        scanned = self._scan(text, wanted) if self._are_numbers(fields) else None
        if scanned is not None:
            n, columns = scanned
            if count_lines(text) > n:
                self._check_long_rows(text)
            for start in range(0, n, rows):
                parts = {field: columns[field.name].part(start, rows) for field in fields}
                yield min(rows, n - start), dict(parts)
            return
        batch = self._parsed(text, fields)
        n_returns = text.count(b"\r") - text.count(b"\r\n")
        if count_lines(text) + n_returns + (text[-1] not in b"\r\n") > batch.num_rows:
            self._check_long_rows(text)
        for start in range(0, batch.num_rows, rows):
            span, here = batch.slice(start, rows), location.after(start)
            yield span.num_rows, {field: self._column(span, field, here) for field in fields}

    def _check_long_rows(self, text: bytes) -> None:
        """Raise InputError if a stray quote joins several rows to one. Callers ask this for blocks
        with more lines than rows: some rows have several lines, or some lines are empty.
        """
        if b'"' in text:
            Quotes(self._header).add(text, end=True)

    def _first_fault(self, fields: Sequence[Field], row: int) -> InputError | None:
        """The error for the first faulty row from row number `row` on, with its line; None if no
        row is faulty. Raise InputError for a stray quote anywhere, the cause of most other faults.
        """
        check_quotes(self._header)  # a stray quote is the cause of most other faults
        labels = [field for field in fields if field.role == "label"]
        numbers = [field for field in fields if field.is_number]
        numbers += [field for field in labels if self._kinds.get(field.name) == "number"]
        truths = [field for field in labels if self._kinds.get(field.name) == "truth"]
        return first_fault(self._header, numbers, truths, row)

    def _rows_before(self, blocks: int) -> int:
        """The number of rows in the first `blocks` blocks of the file."""
        total = 0
        for block in islice(self._blocks(), blocks):
            scanned = self._scan(block.text, [])
            if scanned is None:
                total += self._n_parsed(block.text)
            else:
                total += scanned[0]
        return total

    def _are_numbers(self, fields: Sequence[Field]) -> bool:
        """Whether all fields are columns of numbers; columns of labels are judged by their first
        values.
        """
        return all(
            field.is_number or (field.role == "label" and self._kind(field.name) == "number")
            for field in fields
        )

    def _kind(self, name: str) -> Kind:
        """What a column of labels holds: "number", "truth" or "name", judged by the first block in
        which it is not empty.
        """
        if name not in self._kinds:
            kinds = (self._kind_in(block.text, name) for block in self._blocks())
            self._kinds[name] = next(filter(None, kinds), "number")
        return self._kinds[name]

    def _kind_in(self, text: bytes, name: str) -> Kind | None:
        """What a column holds in the text of a block: "number", "truth" or "name"; None if it is
        empty there.
        """
        scanned = self._scan(text, [name])
        if scanned is not None:
            gaps = scanned[1][name].gaps
            return "number" if gaps is None or not gaps.all() else None
        return self._kind_parsed(text, name)

    def _kind_parsed(self, text: bytes, name: str) -> Kind | None:
        """What a column holds in the text of a block that the scanner cannot read."""
        types = self._pa.types
        try:
            kind = self._batch(text, {name: None}).schema.field(0).type
        except InputError:  # reading the rows raises it again, with the line
            return "name"
        if types.is_null(kind):
            return None
        if types.is_boolean(kind):
            return "truth"
        return "number" if types.is_integer(kind) or types.is_floating(kind) else "name"

    def _parsed(self, text: bytes, fields: Sequence[Field]) -> Any:
        """The rows of a block that the scanner cannot read, with the columns of these fields."""
        return self._batch(text, self._types(fields))

    def _n_parsed(self, text: bytes) -> int:
        """The number of rows in a block that the scanner cannot read."""
        return int(self._batch(text, {self.names[0]: self._pa.binary()}).num_rows)

    def _types(self, fields: Sequence[Field]) -> dict[str, Any]:
        """The Arrow type in which to read each column, by name; text if two fields need different
        types of the same column.
        """
        types: dict[str, Any] = {}
        for field in fields:
            kind = self._type(field)
            if types.setdefault(field.name, kind) != kind:
                types[field.name] = self._pa.string()
        return types

    def _type(self, field: Field) -> Any:
        """The Arrow type that a field needs for its column."""
        kind: Kind = "number" if field.is_number else "name"
        if field.role == "label":
            kind = self._kind(field.name)
        types = {"number": self._pa.float64, "truth": self._pa.bool_, "name": self._pa.string}
        return types[kind]()

    def _column(self, batch: Any, field: Field, location: Location) -> Column | Names:
        """The column of a batch that a field asks for. If the batch has it as text, for another
        field, it is converted first.
        """
        array, kind = batch.column(batch.schema.get_field_index(field.name)), self._type(field)
        if kind != array.type:  # it was read as text for something else
            gaps = self._compute.is_in(array, value_set=self._pa.array(sorted(GAPS)))
            with arrow_errors(self.file, "CSV"):
                array = self._compute.if_else(gaps, None, array)
                array = self._compute.utf8_trim_whitespace(array).cast(kind)
        if not is_text(kind):
            return array_column(array, field, location)
        parsed = array_names(array)
        return Names(
            parsed.codes, [name if name and name.strip() else None for name in parsed.known]
        )

    def _batch(self, text: bytes, types: dict[str, Any]) -> Any:
        """The rows of a block read by Arrow, with the columns in `types` only; a type of None
        leaves it to Arrow to find the type.
        """
        with arrow_errors(self.file, "CSV"):
            table = self._csv.read_csv(
                self._pa.BufferReader(text),
                self._csv.ReadOptions(
                    column_names=self.names, block_size=len(text), use_threads=False
                ),
                # Texts of prompts and answers may have several lines.
                self._csv.ParseOptions(delimiter=self._header.delimiter, newlines_in_values=True),
                self._csv.ConvertOptions(
                    include_columns=list(types),
                    column_types={name: kind for name, kind in types.items() if kind is not None},
                    null_values=sorted(GAPS),
                ),
            )
            return table.combine_chunks().to_batches()[0]

    def _scan(self, text: bytes, wanted: Sequence[str]) -> tuple[int, dict[str, Column]] | None:
        """Read a text by the compiled scanner: the number of rows, and the wanted columns of
        numbers by name. None if one of them holds something else than plain numbers, or if there is
        no scanner.
        """
        compiled = scanner()
        if compiled is None:
            return None
        # For every column of the file, its position among those that are wanted, or -1.
        positions = np.full(len(self.names), -1, dtype=np.int32)
        for position, name in enumerate(wanted):
            positions[self.names.index(name)] = position
        scanned = compiled.csv_rows(text, self._header.delimiter, positions, len(wanted))
        if scanned is None:
            return None
        n, columns = scanned
        return n, {name: Column(*column) for name, column in zip(wanted, columns, strict=True)}

    def _blocks(self) -> Iterator[Block]:
        """Yield all rows after the line of names, in blocks of complete rows that can be read
        independently of each other. Blocks become larger if a row does not fit into one.
        """
        sizes = iter(BLOCKS)
        size, at = next(sizes), 0
        with opened(self.file) as (stream, below):
            text, start = read_header(stream, self._header.delimiter, size)
            text = text[start:]
            while text:
                now, more = below.tell(), stream.read(size)
                end = self._rows_end(text) if more else len(text)
                block = text[:end]
                if re.search(rb"[^\r\n]", block):
                    yield Block(block, now - at)
                    at = now
                if not end and len(text) >= size:  # a row is longer than a block
                    size = next(sizes, 0)
                if not size:
                    raise self._first_fault([], 0) or InputError(
                        f"{self.file} cannot be read as CSV: a row has more than {BLOCKS[-1]:,} "
                        "bytes"
                    )
                text = text[end:] + more

    def _rows_end(self, text: bytes) -> int:
        """The length in bytes of the complete rows at the beginning of a text. Arrow ends a row at
        a carriage return too, and then passes over the line feed that follows.
        """
        compiled, returns = scanner(), self._header.returns
        if b'"' in text and compiled is not None and not returns:
            end, is_open = compiled.last_row_end(text, self._header.delimiter)
            return len(text) if text.endswith(b"\r") and not is_open else end
        plain = text
        if b'"' in text:
            plain = self._quoted_field.sub(lambda field: b"-" * len(field[0]), text)
        if plain.endswith(b"\r"):
            return len(text)
        return 1 + max(plain.rfind(b"\n"), plain.rfind(b"\r") if returns else -1)

    @cached_property
    def _quoted_field(self) -> re.Pattern[bytes]:
        """A pattern that matches a text in quotes at the beginning of a field; without a closing
        quote it reaches to the end.
        """
        mark = self._header.delimiter.encode()
        return re.compile(rb'(?<![^%b\r\n])"[^"]*(?:""[^"]*)*(?:"|\Z)' % mark)


@dataclass(frozen=True, eq=False)
class Texts:
    """The wanted columns of some rows, each value as the text that stands in the file."""

    num_rows: int
    columns: dict[str, list[str]]

    def slice(self, start: int, rows: int) -> Texts:
        """At most `rows` rows from row `start` on."""
        parts = {name: texts[start : start + rows] for name, texts in self.columns.items()}
        return Texts(min(rows, self.num_rows - start), parts)


class PlainCsvReader(CsvReader):
    """A CSV file whose first line has the names of the columns, read without PyArrow."""

    def _parsed(self, text: bytes, fields: Sequence[Field]) -> Texts:
        """The rows of a block, with the columns of these fields."""
        csv.field_size_limit(max(csv.field_size_limit(), LONGEST))  # prompts and answers are long
        lines = io.StringIO(text.decode(), newline="")
        try:
            rows = [row for row in csv.reader(lines, delimiter=self._header.delimiter) if row]
        except csv.Error as error:
            raise InputError(f"{self.file} cannot be read as CSV: {error}") from None
        if any(len(row) != len(self.names) for row in rows):  # the line is looked up by the caller
            raise InputError(
                f"{self.file} cannot be read as CSV: a row has another number of fields"
            )
        places = {field.name: self.names.index(field.name) for field in fields}
        columns = {name: [row[place] for row in rows] for name, place in places.items()}
        return Texts(len(rows), columns)

    def _n_parsed(self, text: bytes) -> int:
        """The number of rows in a block."""
        return self._parsed(text, []).num_rows

    def _kind_parsed(self, text: bytes, name: str) -> Kind | None:
        """What a column holds in a block: "number", "truth" or "name"; None if it is empty."""
        try:
            values = set(self._parsed(text, [Field(name, "text")]).columns[name]) - GAPS
        except InputError:  # reading the rows raises it again, with the line
            return "name"
        if not values:
            return None
        if all(plain_number(value.strip(" \t")) is not None for value in values):
            return "number"
        return "truth" if values <= TRUTHS else "name"

    def _column(self, batch: Texts, field: Field, location: Location) -> Column | Names:
        """A column as numbers, truth values or names. The caller looks up the row of a fault."""
        texts = batch.columns[field.name]
        kind: Kind = "number" if field.is_number else "name"
        if field.role == "label":
            kind = self._kind(field.name)
        known: dict[str, int] = {}
        codes = np.array([known.setdefault(text, len(known)) for text in texts], dtype=np.intp)
        if kind == "name":
            return Names(codes, [name if name.strip() else None for name in known])

        def read(text: str) -> float | str | None:
            """The number of a text; None for a gap, and the text itself if it is none."""
            if text in GAPS:
                return None
            if kind == "truth":
                return float(text.lower() in ("1", "true")) if text in TRUTHS else text
            number = plain_number(text.strip(" \t"))
            return text if number is None else number

        column = Names(codes, list(known)).as_numbers(
            [read(text) for text in known],
            lambda row, text: InputError(f"{location.row(row)}: {field.name} is {text!r}"),
        )
        return column if kind == "number" else Column(column.values.astype(np.bool_), column.gaps)
