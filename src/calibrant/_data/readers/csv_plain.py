"""CSV without PyArrow: what the compiled scanner leaves is read by the standard library."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calibrant._core.errors import InputError
from calibrant._data.readers.chunks import Column, Field, Kind, Location, Names, plain_number
from calibrant._data.readers.csv import CsvReader
from calibrant._data.readers.csv_errors import GAPS, LONGEST, TRUTHS


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
