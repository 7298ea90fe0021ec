"""Parquet: row groups are read apart from each other, and never more of one than a chunk."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from calibrant._core.errors import InputError
from calibrant._core.optional import need
from calibrant._data.readers.arrow_values import (
    SchemaReader,
    arrow_errors,
    column_path,
    is_text,
    schema_names,
)
from calibrant._data.readers.chunks import Chunk, Field
from calibrant._data.readers.find import File

# Row groups are put together until they hold this many rows, or a share of a large file: a piece
# must be worth opening the file, and there must be enough of them for every thread.
PIECE, SHARE = 1 << 20, 1 / 32
# Column chunks are read through a buffer of this size, so that one of many gigabytes is no harm.
BUFFER = 1 << 20

# The numbers of the row groups, the number of their first row, and how many rows they have.
Piece = tuple[list[int], int, int]


class ParquetReader(SchemaReader):
    """A Parquet file; its columns, rows and row groups are read from the footer."""

    def __init__(self, file: File) -> None:
        """Read the footer, and raise InputError if the row groups contradict it."""
        self.file = file
        self._parquet = need("pyarrow.parquet", "reading Parquet")
        if file.size == 0:
            raise InputError(f"{file} is empty (0 bytes): no Parquet file was written")
        with arrow_errors(file, "Parquet"), self._parquet.ParquetFile(file.path) as opened:
            self._metadata = opened.metadata
            self._schema = opened.schema_arrow
        _check_row_groups(file, self._metadata)
        self.names = schema_names(self._schema)
        self.n_rows = self._metadata.num_rows

    def _list_length(self, name: str) -> int:
        """The length of a column's lists, which the footer does not have: the numbers per row in
        the first row group.
        """
        # Footers have the number of values of a column, but not the lengths of its lists.
        path = ".".join(column_path(self._schema, name))
        for group in map(self._metadata.row_group, range(self._metadata.num_row_groups)[:1]):
            for column in map(group.column, range(group.num_columns)):
                if column.path_in_schema.startswith(f"{path}."):
                    return max(1, int(column.num_values) // max(1, int(group.num_rows)))
        return 1

    def pieces(self, fields: Sequence[Field]) -> list[Piece]:
        """The file in pieces of some row groups each: (numbers of the groups, number of the first
        row, number of rows).
        """
        out: list[Piece] = []
        enough = max(PIECE, self._metadata.num_rows * SHARE)
        first, groups, n_in_piece = 0, [], 0
        for group in range(self._metadata.num_row_groups):
            rows = self._metadata.row_group(group).num_rows
            if rows:
                groups.append(group)
                n_in_piece += rows
            if n_in_piece >= enough:
                out.append((groups, first, n_in_piece))
                first, groups, n_in_piece = first + n_in_piece, [], 0
        return [*out, (groups, first, n_in_piece)] if n_in_piece else out

    def chunks(
        self, piece: Piece, fields: Sequence[Field], rows: int
    ) -> Generator[Chunk, None, None]:
        """Yield the rows of a piece in chunks of at most `rows`; only the columns of these fields
        are read.
        """
        groups, first, _ = piece
        # Only the leaves that are wanted: a struct's others stay on the disk.
        wanted = [".".join(column_path(self._schema, field.name)) for field in fields]
        per_row = self.file.size / max(1, self._metadata.num_rows)
        with (
            arrow_errors(self.file, "Parquet"),
            self._parquet.ParquetFile(
                self.file.path,
                metadata=self._metadata,
                buffer_size=BUFFER,
                pre_buffer=False,
                read_dictionary=self._by_number(fields),
            ) as opened,
        ):
            # Two chunks at a time: they are the whole of a row group of the usual size, and no
            # other part of one is read as fast.
            for batch in opened.iter_batches(
                2 * rows, row_groups=groups, columns=list(dict.fromkeys(wanted)), use_threads=False
            ):
                n_bytes = per_row * batch.num_rows
                yield from self._chunks_of(batch, first, n_bytes, fields, rows)
                first += batch.num_rows

    def _by_number(self, fields: Sequence[Field]) -> list[str]:
        """The columns of text that are read as names: they come as the file mostly stores them,
        each distinct text once and a number for each row.
        """
        read = {field.name for field in fields if field.role in ("text", "label", "name")}
        return [each.name for each in self._schema if each.name in read and is_text(each.type)]


def _check_row_groups(file: File, metadata: Any) -> None:
    """Raise InputError unless the row groups together have as many rows as the footer says, and
    each of them as many as its columns have values.
    """
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    n = sum(int(group.num_rows) for group in groups)
    if n != metadata.num_rows:
        raise InputError(
            f"{file}: its {len(groups)} row groups have {n} rows, but the footer names "
            f"{metadata.num_rows}: a row group is missing. Write the file again"
        )
    # A column without lists has a value, or a gap, in every row.
    columns = range(metadata.num_columns)
    flat = [c for c in columns if metadata.schema.column(c).max_repetition_level == 0][:1]
    for number, group in enumerate(groups):
        for column in map(group.column, flat):
            if column.num_values != group.num_rows:
                raise InputError(
                    f"{file}: row group {number} has {group.num_rows} rows, but its column "
                    f"{column.path_in_schema!r} has {column.num_values}: the file is damaged. "
                    "Write it again"
                )
