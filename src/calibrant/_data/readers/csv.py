"""CSV, parsed by Arrow block by block; what it cannot read is looked up to name the line."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import Any

from calibrant._core.errors import InputError
from calibrant._data.readers.arrow_values import arrow, is_text, names, readable, values
from calibrant._data.readers.chunks import Chunk, Column, Field, Location, Names
from calibrant._data.readers.csv_errors import GAPS, first_fault, header_of, line_of, open_quote
from calibrant._data.readers.find import File

# Bytes parsed at a time. Arrow reads some thirty such blocks ahead, and a row must fit into one:
# larger ones are for files that need them.
BLOCKS = (1 << 20, 1 << 24, 1 << 28)


class CsvReader:
    """A CSV file with a line of names first."""

    def __init__(self, file: File) -> None:
        self.file = file
        self._pa = arrow("reading CSV")
        self._csv = arrow("reading CSV", "pyarrow.csv")
        self._compute = arrow("reading CSV", "pyarrow.compute")
        self._header = header_of(file)
        self.names = self._header.names
        self.n_rows: int | None = None if self.names else 0
        self._kinds: dict[str, Any] = {}
        self.messages: tuple[str, ...] = ()
        if self._header.delimiter != ",":
            self.messages = (f"columns are separated by {self._header.delimiter!r}",)

    def has(self, name: str) -> bool:
        return name in self.names

    def width(self, name: str) -> int:
        return 1

    def precision(self, name: str) -> str:
        return "double"

    def pieces(self, fields: Sequence[Field]) -> list[Any]:
        return [None] if self.names else []

    def chunks(
        self, piece: Any, fields: Sequence[Field], rows: int
    ) -> Generator[Chunk, None, None]:
        first, at, batch = 0, 0, None
        try:
            types = self._types(fields)
            for batch, now in self._batches(types):
                for start in range(0, batch.num_rows, rows):
                    span = batch.slice(start, rows)
                    location = Location(self.file, first)
                    parsed = {field: self._column(span, field, location) for field in fields}
                    yield Chunk(first, span.num_rows, now - at, parsed, self._line)
                    first, at = first + span.num_rows, now
        except (InputError, UnicodeDecodeError) as error:
            # Arrow does not say where, and a file may be long: look from where it went well.
            raise first_fault(self._header, self._numbers(fields), first) or error from None
        if batch is not None:
            fault = open_quote(self._header, {name: batch[name][-1].as_py() for name in types})
            if fault is not None:
                raise fault

    def _numbers(self, fields: Sequence[Field]) -> list[str]:
        """The columns that must be numbers, as far as is known."""
        plain = self._pa.float64()
        return [
            field.name
            for field in fields
            if field.role == "number"
            or (field.role == "label" and self._kinds.get(field.name) == plain)
        ]

    def _types(self, fields: Sequence[Field]) -> dict[str, Any]:
        """How to read each column: as text wherever something wants it so."""
        out = {}
        for name in dict.fromkeys(field.name for field in fields):
            roles = {field.role for field in fields if field.name == name}
            if roles & {"text", "name"}:
                out[name] = self._pa.string()
            else:
                out[name] = self._pa.float64() if "number" in roles else self._kind(name)
        return out

    def _kind(self, name: str) -> Any:
        """What a column of labels holds, as its first block has it: numbers, booleans or text."""
        if name not in self._kinds:
            types = self._pa.types
            first = next(self._batches({name: None}), None)
            kind = self._pa.null() if first is None else first[0].schema.field(0).type
            plain = types.is_integer(kind) or types.is_floating(kind) or types.is_null(kind)
            other = self._pa.bool_() if types.is_boolean(kind) else self._pa.string()
            self._kinds[name] = self._pa.float64() if plain else other
        return self._kinds[name]

    def _column(self, batch: Any, field: Field, location: Location) -> Column | Names:
        array = batch.column(batch.schema.get_field_index(field.name))
        kind = array.type
        if field.role in ("label", "number"):
            kind = self._pa.float64() if field.role == "number" else self._kind(field.name)
        if kind != array.type:  # it was read as text for something else
            gaps = self._compute.is_in(array, value_set=self._pa.array(sorted(GAPS)))
            with readable(self.file, "CSV"):
                array = self._compute.if_else(gaps, None, array).cast(kind)
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
                with readable(self.file, "CSV"), self._pa.OSFile(str(self.file.path)) as below:
                    for batch in self._opened(below, types, block):
                        fresh = batch.slice(max(0, done - passed))
                        passed += batch.num_rows
                        if fresh.num_rows:
                            yield fresh, below.tell()
                            done = passed
                return
            except InputError as error:
                if "straddling" not in str(error) or block == BLOCKS[-1]:
                    raise

    def _opened(self, below: Any, types: dict[str, Any], block: int) -> Any:
        packed = self.file.packed
        source = below if packed is None else self._pa.CompressedInputStream(below, packed)
        return self._csv.open_csv(
            source,
            read_options=self._csv.ReadOptions(block_size=block),
            # Texts of prompts and answers have lines of their own.
            parse_options=self._csv.ParseOptions(
                delimiter=self._header.delimiter, newlines_in_values=True
            ),
            convert_options=self._csv.ConvertOptions(
                include_columns=list(types),
                column_types={name: kind for name, kind in types.items() if kind is not None},
                null_values=sorted(GAPS),
            ),
        )

    def _line(self, row: int) -> int:
        return line_of(self._header, row)
