"""Tables of other programs: Excel, Stata, SAS and R, read whole by the packages that know them."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Sequence
from importlib import import_module
from typing import Any

from calibrant._core.errors import InputError, MissingExtra
from calibrant._data.readers.arrow_values import SchemaReader, arrow, column_in, names_of
from calibrant._data.readers.chunks import Chunk, Column, Field, Location
from calibrant._data.readers.find import File

KINDS = {"excel": "Excel", "stata": "Stata", "sas": "SAS", "r": "R"}


def _pandas(kind: str) -> Any:
    try:
        return import_module("pandas")
    except ImportError:
        raise MissingExtra("pandas", "formats", f"reading {kind} files") from None


def _excel(pd: Any, file: File) -> tuple[Any, str]:
    """The first sheet."""
    try:
        import_module("openpyxl")
    except ImportError:
        raise MissingExtra("openpyxl", "formats", "reading Excel files") from None
    with pd.ExcelFile(file.path, engine="openpyxl") as book:
        sheets = book.sheet_names
        frame = book.parse(sheets[0])
    more = f", of {len(sheets)}" if len(sheets) > 1 else ""
    return frame, f"the sheet {sheets[0]!r}{more}"


def _stata(pd: Any, file: File) -> tuple[Any, str]:
    # Numbers as they are stored: a label may be missing for some of them.
    return pd.read_stata(file.path, convert_categoricals=False), ""


def _sas(pd: Any, file: File) -> tuple[Any, str]:
    kind = "xport" if file.path.suffix.lower() == ".xpt" else "sas7bdat"
    return pd.read_sas(file.path, format=kind, encoding="utf-8"), ""


def _r(pd: Any, file: File) -> tuple[Any, str]:
    """The one data frame of an R file."""
    try:
        pyreadr = import_module("pyreadr")
    except ImportError:
        raise MissingExtra("pyreadr", "formats", "reading R files") from None
    found = {name: value for name, value in pyreadr.read_r(str(file.path)).items()
             if isinstance(value, pd.DataFrame)}  # fmt: skip
    if len(found) != 1:
        names = ", ".join(str(name) for name in found) or "none"
        raise InputError(
            f"{file} must hold one data frame; it holds {len(found)} ({names}): save the one that "
            "is meant with saveRDS(frame, file)"
        )
    name, frame = next(iter(found.items()))
    return frame, "" if name is None else f"the data frame {name!r}"


_READ = {"excel": _excel, "stata": _stata, "sas": _sas, "r": _r}


class TableReader(SchemaReader):
    """A table of another program, in memory."""

    def __init__(self, file: File) -> None:
        self.file = file
        kind = KINDS[file.format]
        self._pa = arrow(f"reading {kind} files")
        frame, what = self._read(kind)
        frame.columns = [str(name) for name in frame.columns]
        self._table = self._as_arrow(frame).combine_chunks()
        self._schema = self._table.schema
        self.names = names_of(self._schema)
        self.n_rows: int | None = self._table.num_rows
        self.messages = (f"{file.path.name}: {what}",) if what else ()

    def _read(self, kind: str) -> tuple[Any, str]:
        pd = _pandas(kind)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return _READ[self.file.format](pd, self.file)
        except (InputError, MissingExtra):
            raise
        except Exception as error:  # whatever a reader of another's format finds wrong
            first = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise InputError(
                f"{self.file} cannot be read as {kind}: {first}. Save it as CSV or Parquet, or "
                "check that it was written to the end"
            ) from None

    def _as_arrow(self, frame: Any) -> Any:
        """The table column by column, so that an odd one is named."""
        columns = {}
        for name in frame.columns:
            try:
                columns[name] = self._pa.Array.from_pandas(frame[name])
            except (self._pa.ArrowException, TypeError, ValueError):
                # Several kinds of values in one column: as text, which says what they were.
                texts = [None if value != value else str(value) for value in frame[name]]
                columns[name] = self._pa.array(texts)
        return self._pa.table(columns)

    def _list_length(self, name: str) -> int:
        for chunk in self.chunks(None, [field := Field(name, "number")], 1):
            column = chunk.columns[field]
            return int(column.values[0].size) if isinstance(column, Column) else 1
        return 1

    def pieces(self, fields: Sequence[Field]) -> list[Any]:
        return [None]

    def chunks(
        self, piece: Any, fields: Sequence[Field], rows: int
    ) -> Generator[Chunk, None, None]:
        first, per_row = 0, self.file.size / max(1, self._table.num_rows)
        for batch in self._table.to_batches(max_chunksize=rows):
            location = Location(self.file, first)
            columns = {field: column_in(batch, field, location) for field in fields}
            yield Chunk(first, batch.num_rows, round(per_row * batch.num_rows), columns)
            first += batch.num_rows
