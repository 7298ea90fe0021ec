"""CSV, block by block: plain numbers by a compiled scanner, anything else by Arrow.

What Arrow cannot read is looked up to name the line.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache, cached_property, partial
from importlib.util import find_spec
from itertools import islice
from typing import Any

from calibrant._core.errors import InputError
from calibrant._data.readers.arrow_values import arrow, is_text, names, readable, values
from calibrant._data.readers.chunks import Chunk, Column, Field, Location, Names
from calibrant._data.readers.csv_blocks import Piece, blocks_of, part_of, pieces_of, scanned
from calibrant._data.readers.csv_errors import GAPS, first_fault, header_of, line_of
from calibrant._data.readers.csv_quotes import Quotes, check_quotes
from calibrant._data.readers.find import File
from calibrant._data.readers.scanner import scanner

# Bytes parsed at a time. Arrow reads some thirty such blocks ahead, and a row must fit into one:
# larger ones are for files that need them.
BLOCKS = (1 << 20, 1 << 24, 1 << 28)


class CsvReader:
    """A CSV file with a line of names first."""

    def __init__(self, file: File) -> None:
        self.file = file
        if find_spec("pyarrow") is None:
            arrow("reading CSV")
        self._header = header_of(file)
        self.names = self._header.names
        self.n_rows: int | None = None if self.names else 0
        self._kinds: dict[str, Any] = {}
        self._plain: dict[str, bool] = {}
        self.messages: tuple[str, ...] = ()
        if self._header.delimiter != ",":
            self.messages = (f"columns are separated by {self._header.delimiter!r}",)

    def has(self, name: str) -> bool:
        return name in self.names

    def width(self, name: str) -> int:
        return 1

    def precision(self, name: str) -> str:
        return "double"

    # Slow to import, and not needed for files of plain numbers.
    @cached_property
    def _pa(self) -> Any:
        return arrow("reading CSV")

    @cached_property
    def _csv(self) -> Any:
        return arrow("reading CSV", "pyarrow.csv")

    @cached_property
    def _compute(self) -> Any:
        return arrow("reading CSV", "pyarrow.compute")

    def pieces(self, fields: Sequence[Field]) -> Iterable[Piece]:
        if not self.names:
            return []
        return pieces_of(self._header, BLOCKS[0]) if self._can_scan(fields) else [Piece(0, [])]

    def _can_scan(self, fields: Sequence[Field]) -> bool:
        """Whether all columns hold numbers, as far as the first block tells."""
        if scanner() is None:
            return False
        return all(
            field.is_number or (field.role == "label" and self._is_plain(field.name))
            for field in fields
        )

    def _is_plain(self, name: str) -> bool:
        if name not in self._plain:
            self._plain[name] = self._starts_plain(name)
        return self._plain[name]

    def _starts_plain(self, name: str) -> bool:
        """Whether the first block in which a column holds anything holds numbers."""
        some = False
        for block in blocks_of(self._header, BLOCKS[0]):
            some = True
            found = None if block is None else scanned(self._header, block.text, [name])
            if found is None:
                return False
            gaps = found[1][name].gaps
            if gaps is None or not gaps.all():
                return True
        return some

    def chunks(
        self, piece: Piece, fields: Sequence[Field], rows: int
    ) -> Generator[Chunk, None, None]:
        if not piece.blocks:
            yield from self._read_in_order(fields, rows, self._rows_before(piece.first))
            return
        first, before = 0, cache(partial(self._rows_before, piece.first))
        for block in piece.blocks:
            n_bytes = block.n_bytes
            for n, columns in self._slices(block.text, fields, rows):
                location = Location(self.file, first, self._line, before)
                yield Chunk(location, n, n_bytes, columns)
                first, n_bytes = first + n, 0

    def _slices(
        self, text: bytes, fields: Sequence[Field], rows: int
    ) -> Iterator[tuple[int, dict[Field, Column | Names]]]:
        """The columns of every so many rows of a block."""
        found = scanned(self._header, text, list(dict.fromkeys(field.name for field in fields)))
        try:
            if found is None or _has_rows_of_lines(text, found[0]):
                Quotes(self._header).add(text, end=True)
            if found is not None:
                n, columns = found
                for start in range(0, n, rows):
                    parts = {field: part_of(columns[field.name], start, rows) for field in fields}
                    yield min(rows, n - start), dict(parts)
                return
            batch = self._batch(text, self._types(fields))
            for start in range(0, batch.num_rows, rows):
                span = batch.slice(start, rows)
                location = Location(self.file, 0)
                yield span.num_rows, {f: self._column(span, f, location) for f in fields}
        except (InputError, UnicodeDecodeError) as error:
            raise self._fault(fields, rows) or error from None

    def _batch(self, text: bytes, types: dict[str, Any]) -> Any:
        """The rows of a block, by Arrow."""
        with readable(self.file, "CSV"):
            table = self._csv.read_csv(
                self._pa.BufferReader(text),
                self._csv.ReadOptions(
                    column_names=self.names, block_size=len(text), use_threads=False
                ),
                **self._options(types),
            )
            return table.combine_chunks().to_batches()[0]

    def _fault(self, fields: Sequence[Field], rows: int) -> InputError | None:
        """The error that reading in order raises, which names the line; None if it raises none."""
        try:
            for _ in self._read_in_order(fields, rows, 0):
                pass
        except InputError as error:
            return error
        return None

    def _rows_before(self, blocks: int) -> int:
        """How many rows the first blocks have."""
        total = 0
        for block in islice(blocks_of(self._header, BLOCKS[0]), blocks):
            assert block is not None
            found = scanned(self._header, block.text, [])
            if found is None:
                total += self._batch(block.text, {self.names[0]: self._pa.binary()}).num_rows
            else:
                total += found[0]
        return total

    def _read_in_order(
        self, fields: Sequence[Field], rows: int, done: int
    ) -> Generator[Chunk, None, None]:
        """The rows behind some that are done with, by Arrow."""
        first, at = 0, 0
        try:
            types = self._types(fields)
            for batch, now in self._batches(types):
                for start in range(0, batch.num_rows, rows):
                    span = batch.slice(start, rows)
                    n, skipped = span.num_rows, max(0, done - first)
                    if skipped < n:
                        span = span.slice(skipped)
                        location = Location(self.file, first + skipped, self._line)
                        parsed = {field: self._column(span, field, location) for field in fields}
                        yield Chunk(location, n - skipped, now - at, parsed)
                    first, at = first + n, now
        except (InputError, UnicodeDecodeError) as error:
            # A stray quote is the cause of most other faults.
            check_quotes(self._header)
            # Arrow does not say where, and a file may be long: look from where it went well.
            float64, truth = self._pa.float64(), self._pa.bool_()
            numbers, truths = self._known(fields, float64), self._known(fields, truth)
            raise first_fault(self._header, numbers, truths, first) or error from None
        check_quotes(self._header)

    def _known(self, fields: Sequence[Field], kind: Any) -> list[Field]:
        """The columns that must be of a kind, as far as is known: numbers, or truth values."""
        return [
            field
            for field in fields
            if (field.is_number and kind == self._pa.float64())
            or (field.role == "label" and self._kinds.get(field.name) == kind)
        ]

    def _types(self, fields: Sequence[Field]) -> dict[str, Any]:
        """How to read each column: as text wherever something wants it so."""
        out = {}
        for name in dict.fromkeys(field.name for field in fields):
            uses = [field for field in fields if field.name == name]
            if any(field.role in ("text", "name") for field in uses):
                out[name] = self._pa.string()
            else:
                is_number = any(field.is_number for field in uses)
                out[name] = self._pa.float64() if is_number else self._kind(name)
        return out

    def _kind(self, name: str) -> Any:
        """What a column of labels holds, as the first block with any of them has it: numbers,
        booleans or text.
        """
        if self._plain.get(name):
            self._kinds[name] = self._pa.float64()
        if name not in self._kinds:
            types = self._pa.types
            first = next(self._batches({name: None}), None)
            kind = self._pa.null() if first is None else first[0].schema.field(0).type
            if types.is_null(kind) and first is not None:
                kind = self._later_kind(name)
            plain = types.is_integer(kind) or types.is_floating(kind) or types.is_null(kind)
            other = self._pa.bool_() if types.is_boolean(kind) else self._pa.string()
            self._kinds[name] = self._pa.float64() if plain else other
        return self._kinds[name]

    def _later_kind(self, name: str) -> Any:
        """The kind of a column whose first block is empty; Arrow would take all of it for empty."""
        gaps = self._pa.array(sorted(GAPS))
        for batch, _ in self._batches({name: self._pa.string()}):
            texts = batch.column(0)
            texts = texts.filter(self._compute.invert(self._compute.is_in(texts, value_set=gaps)))
            texts = self._compute.utf8_trim_whitespace(texts)
            for kind in (self._pa.float64(), self._pa.bool_()) if len(texts) else ():
                with suppress(self._pa.ArrowInvalid):
                    return texts.cast(kind).type
            if len(texts):
                return texts.type
        return self._pa.null()

    def _column(self, batch: Any, field: Field, location: Location) -> Column | Names:
        array = batch.column(batch.schema.get_field_index(field.name))
        kind = array.type
        if field.is_number or field.role == "label":
            kind = self._pa.float64() if field.is_number else self._kind(field.name)
        if kind != array.type:  # it was read as text for something else
            gaps = self._compute.is_in(array, value_set=self._pa.array(sorted(GAPS)))
            with readable(self.file, "CSV"):
                array = self._compute.if_else(gaps, None, array)
                array = self._compute.utf8_trim_whitespace(array).cast(kind)
        if not is_text(kind):
            return values(array, field, location)
        parsed = names(array)
        return Names(
            parsed.codes, [name if name and name.strip() else None for name in parsed.known]
        )

    def _batches(self, types: dict[str, Any]) -> Iterator[tuple[Any, int]]:
        """The rows of these columns, and how far reading has come."""
        done = 0
        for block in BLOCKS:
            passed = 0
            try:
                with readable(self.file, "CSV"):
                    below = self._pa.OSFile(str(self.file.path))
                    for batch in self._opened(below, types, block):
                        fresh = batch.slice(max(0, done - passed))
                        passed += batch.num_rows
                        if fresh.num_rows:
                            yield fresh, below.tell()
                            done = passed
                    # At the end alone: Arrow reads ahead, and if the file were closed meanwhile,
                    # the one opened next could have its number, and its blocks read for this one.
                    below.close()
                return
            except InputError:  # a row may be longer than a block: larger ones may hold it
                if block == BLOCKS[-1]:
                    raise

    def _opened(self, below: Any, types: dict[str, Any], block: int) -> Any:
        packed = self.file.packed
        source = below if packed is None else self._pa.CompressedInputStream(below, packed)
        return self._csv.open_csv(
            source, read_options=self._csv.ReadOptions(block_size=block), **self._options(types)
        )

    def _options(self, types: dict[str, Any]) -> dict[str, Any]:
        return {
            # Texts of prompts and answers have lines of their own.
            "parse_options": self._csv.ParseOptions(
                delimiter=self._header.delimiter, newlines_in_values=True
            ),
            "convert_options": self._csv.ConvertOptions(
                include_columns=list(types),
                column_types={name: kind for name, kind in types.items() if kind is not None},
                null_values=sorted(GAPS),
            ),
        }

    def _line(self, row: int) -> int:
        return line_of(self._header, row)


def _has_rows_of_lines(text: bytes, n_rows: int) -> bool:
    """Whether a row of a block may have several lines. Empty lines look like those of a row."""
    return b'"' in text and scanner().count_lines(text) > n_rows
