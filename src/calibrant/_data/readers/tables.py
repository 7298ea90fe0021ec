"""Tables of other programs: Excel, Stata, SAS and R, read whole by the packages that know them."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from calibrant._core.errors import InputError, MissingExtra
from calibrant._core.optional import need
from calibrant._data.readers.arrow_values import (
    SchemaReader,
    array_column,
    array_names,
    batch_column,
    is_text,
    schema_names,
    value_type,
)
from calibrant._data.readers.chunks import (
    Chunk,
    Column,
    Field,
    Kind,
    Location,
    Names,
    not_a_number,
    plain_number,
)
from calibrant._data.readers.csv_errors import EMPTY, TRUTHS
from calibrant._data.readers.find import File

KINDS = {"excel": "Excel", "stata": "Stata", "sas": "SAS", "r": "R"}


@dataclass(frozen=True, eq=False)
class Table:
    """The columns of a file, and notes about them."""

    names: list[str]
    columns: list[Any]
    messages: tuple[str, ...] = ()
    # The number that the program shows beside the first row; None if it shows none.
    first_row: int | None = None
    # The numbers of columns whose numbers have become text, by name, for fields that need numbers.
    numbers: Mapping[str, Any] = field(default_factory=dict)


def _table_of_frame(frame: Any, messages: tuple[str, ...] = ()) -> Table:
    """The columns of a pandas frame as a table. Columns are taken by position, because two may have
    one name.
    """
    columns = [frame.iloc[:, place] for place in range(frame.shape[1])]
    return Table([str(name) for name in frame.columns], columns, messages)


def _read_excel(pd: Any, file: File) -> Table:
    """Read the first sheet of an Excel file. Cells keep the type in which they were typed: text
    that looks like a number stays text. `pd` is pandas.
    """
    need("openpyxl", "reading Excel files", "formats")
    with pd.ExcelFile(file.path, engine="openpyxl") as book:
        sheets = book.sheet_names
        cells = book.parse(sheets[0], header=None, dtype=object, na_filter=False)
    rows = [[None if cell == "" else cell for cell in row] for row in cells.values.tolist()]
    some = (at for at, row in enumerate(rows) if any(cell is not None for cell in row))
    header = next(some, len(rows))
    names = ["" if cell is None else str(cell) for row in rows[header : header + 1] for cell in row]
    more = f", of {len(sheets)}" if len(sheets) > 1 else ""
    note = f"{file.path.name}: the sheet {sheets[0]!r}{more}"
    columns = [[row[place] for row in rows[header + 1 :]] for place in range(len(names))]
    return Table(names, columns, (note,), header + 2)


def _read_stata(pd: Any, file: File) -> Table:
    """Read a Stata file. Numbers that have value labels become these texts, and a note names their
    columns. `pd` is pandas.
    """
    with pd.read_stata(file.path, iterator=True, convert_categoricals=False) as reader:
        table = _table_of_frame(reader.read())
        known, sets = reader.value_labels(), reader._lbllist
    numbers, labelled = {}, []
    for place, (name, label_set) in enumerate(zip(table.names, sets, strict=True)):
        codes = table.columns[place]
        texts = known.get(label_set, {}) if label_set else {}
        bare = codes[codes.notna() & ~codes.isin(list(texts))]
        if codes.notna().sum() == bare.size:  # no value that is there has a label
            continue
        by_code = texts | {code: _code_text(code) for code in bare.unique()}
        table.columns[place] = codes.map(by_code).astype(object)
        labelled.append(name)
        if bare.size and kind_of(by_code.values()) != "number":
            numbers[name] = codes
    if not labelled:
        return table
    note = f"{file.path.name}: value labels are read for {', '.join(map(repr, labelled))}"
    return replace(table, messages=(note,), numbers=numbers)


def _code_text(code: Any) -> str:
    """The text for a number in a labelled Stata column that has no value label itself."""
    return str(int(code)) if float(code).is_integer() else str(code)


def _read_sas(pd: Any, file: File) -> Table:
    """Read a SAS file, sas7bdat or xpt. `pd` is pandas."""
    if file.path.suffix.lower() != ".xpt":
        return _table_of_frame(pd.read_sas(file.path, format="sas7bdat", encoding="utf-8"))
    frame = pd.read_sas(file.path, format="xport", encoding="utf-8")
    table = _table_of_frame(frame)
    for place, column in enumerate(table.columns):
        if column.dtype.kind == "f":
            # pandas reads a zero of this format as the least number that the format has.
            table.columns[place] = column.mask(column.abs() <= 16.0**-65, 0.0)
    return table


def _read_r(pd: Any, file: File) -> Table:
    """Read the one data frame of an R file; raise InputError if it has none or several. `pd` is
    pandas.
    """
    pyreadr = need("pyreadr", "reading R files", "formats")
    objects = pyreadr.read_r(str(file.path))
    found = {name: value for name, value in objects.items() if isinstance(value, pd.DataFrame)}
    if len(found) != 1:
        names = ", ".join(str(name) for name in found) or "none"
        raise InputError(
            f"{file} must hold one data frame; it holds {len(found)} ({names}): save the one to "
            "read with saveRDS(frame, file)"
        )
    name, frame = next(iter(found.items()))
    notes = () if name is None else (f"{file.path.name}: the data frame {name!r}",)
    return _table_of_frame(frame, notes)


_READ = {"excel": _read_excel, "stata": _read_stata, "sas": _read_sas, "r": _read_r}


class TableReader(SchemaReader):
    """A table of another program (Excel, Stata, SAS, R), read into memory."""

    def __init__(self, file: File) -> None:
        """Read the whole table into memory, as Arrow arrays."""
        self.file = file
        kind = KINDS[file.format]
        self._pa = need("pyarrow", f"reading {kind} files")
        found = self._read(kind)
        columns = [self._as_arrow(column) for column in found.columns]
        self._table = self._pa.Table.from_arrays(columns, names=found.names).combine_chunks()
        self._numbers = {name: self._as_arrow(each) for name, each in found.numbers.items()}
        self._kinds: dict[str, Kind] = {}
        self._schema = self._table.schema
        self.names = schema_names(self._schema)
        self.n_rows = self._table.num_rows
        self.messages = found.messages
        first = found.first_row
        self._line = None if first is None else lambda row: f"row {row + first}"

    def _read(self, kind: str) -> Table:
        """Read the whole file by the package for its format; any error of that package becomes an
        InputError. `kind` is the format's name in messages.
        """
        pd = need("pandas", f"reading {kind} files", "formats")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return _READ[self.file.format](pd, self.file)
        except (InputError, MissingExtra):
            raise
        except Exception as error:  # the packages raise errors of many kinds
            first = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise InputError(
                f"{self.file} cannot be read as {kind}: {first}. Save it as CSV or Parquet, or "
                "check that the file is complete"
            ) from None

    def _as_arrow(self, column: Any) -> Any:
        """A column as an Arrow array; as text if it holds values of several kinds."""
        try:
            array = self._pa.array(column, from_pandas=True)
        except (self._pa.ArrowException, TypeError, ValueError, OverflowError):
            # Several kinds of values in one column: as text, which says what they were.
            gone = (value is None or value != value for value in column)
            texts = [None if no else str(value) for no, value in zip(gone, column, strict=True)]
            array = self._pa.array(texts, self._pa.string())
        return array.combine_chunks() if hasattr(array, "combine_chunks") else array

    def chunks(
        self, piece: Any, fields: Sequence[Field], rows: int
    ) -> Generator[Chunk, None, None]:
        """Yield the rows of the table in chunks of at most `rows`; the only piece is None."""
        first, per_row = 0, self.file.size / max(1, self._table.num_rows)
        for batch in self._table.to_batches():
            n_bytes = per_row * batch.num_rows
            yield from self._chunks_of(batch, first, n_bytes, fields, rows)
            first += batch.num_rows

    def _location(self, first: int) -> Location:
        """The location of the rows that begin at row `first` of the table. For Excel, errors give
        the number of the row in the sheet.
        """
        return Location(self.file, first, self._line)

    def _column(self, batch: Any, field: Field, location: Location) -> Column | Names:
        """The column of a batch that a field asks for. Text may write numbers, as in a CSV file."""
        if field.is_number and field.name in self._numbers:
            numbers = self._numbers[field.name].slice(location.first, batch.num_rows)
            return array_column(numbers, field, location)
        if not is_text(value_type(self._schema, field.name)):
            return batch_column(batch, field, location)
        kind: Kind = "number" if field.is_number else "name"
        if field.role == "label":
            kind = self._kind(field.name)
        return column_of(array_names(batch.column(field.name)), kind, field, location)

    def _kind(self, name: str) -> Kind:
        """What a column of text holds: "number", "truth" or "name"."""
        if name not in self._kinds:
            found = array_names(self._table.column(name).combine_chunks().unique())
            self._kinds[name] = kind_of(found.known[code] for code in found.codes)
        return self._kinds[name]


def kind_of(texts: Iterable[str | None]) -> Kind:
    """What all these texts write: "number", "truth" (true and false) or "name". Empty texts are
    ignored.
    """
    some = {text.strip() for text in texts if text is not None} - EMPTY
    if all(plain_number(text) is not None for text in some):
        return "number"
    return "truth" if some <= TRUTHS else "name"


def column_of(texts: Names, kind: Kind, field: Field, location: Location) -> Column | Names:
    """A column of text as numbers, truth values or names, whichever `kind` says; raise InputError,
    with the location, for a text of another kind.
    """
    if kind == "name":
        known = [text if text and text.strip() else None for text in texts.known]
        return Names(texts.codes, known)

    def number(text: str | None) -> float | str | None:
        """The number of a text; None if the text is empty; the text itself if it is not
        a number.
        """
        if text is None or text.strip() in EMPTY:
            return None
        if kind == "truth":
            return text.strip().lower() in ("true", "1")
        value = plain_number(text)
        return text if value is None else value

    return texts.as_numbers(
        [number(text) for text in texts.known],
        lambda row, text: not_a_number(location.row(row), field, text),
        np.bool_ if kind == "truth" else np.float64,
    )
