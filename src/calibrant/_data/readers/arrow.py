"""Arrow's own format: files and streams of record batches, feather among them."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from calibrant._core.errors import InputError
from calibrant._core.optional import need
from calibrant._data.readers.arrow_values import (
    SchemaReader,
    arrow_errors,
    column_path,
    schema_names,
)
from calibrant._data.readers.chunks import Chunk, Field
from calibrant._data.readers.find import File

# The size in bytes from which a file is mapped into memory, so that a part of a batch can be read:
# a batch may be as large as its file. Smaller files are read, which is safer if others write to
# them.
MAPPED_FROM = 1 << 28

# What a file begins and ends with; between are a stream and a list of its batches.
MAGIC = b"ARROW1"
STREAM_AT = 8

Opened = tuple[Any, Any, Callable[[], None]]


class _ListedBatches:
    """The record batches of an Arrow file, found by the list (footer) at its end."""

    def __init__(self, opened: Any) -> None:
        """Store `opened`, an Arrow file that PyArrow has opened."""
        self._opened = opened
        self.schema = opened.schema

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the record batches, in the order of the list."""
        return map(self._opened.get_batch, range(self._opened.num_record_batches))


class ArrowReader(SchemaReader):
    """An Arrow file or stream."""

    def __init__(self, file: File) -> None:
        """Read the schema, and find out whether the file is a stream, a file around a stream, or a
        file that can be read only by the list of batches at its end. Raise InputError if it is
        incomplete.
        """
        self.file = file
        self._pa = need("pyarrow", "reading Arrow files")
        with file.path.open("rb") as opened:
            start = opened.read(len(MAGIC))
            opened.seek(max(0, file.size - len(MAGIC)))
            end = opened.read(len(MAGIC))
        if not start:
            raise InputError(f"{file} is empty (0 bytes): no Arrow file was written")
        if start[:4] == b"FEA1":
            raise InputError(f"{file} is a feather file of version 1: save it as version 2")
        if start == MAGIC and end != MAGIC:
            raise InputError(f"{file} cannot be read as Arrow: the file is incomplete")
        # A file is read as the stream within it, because only a stream allows reading parts of a
        # batch.
        self._first = STREAM_AT if start == MAGIC else 0
        self._by_footer = False
        try:
            self._schema = self._read_schema()
        except InputError:
            # Files that Polars writes have no stream within them.
            self._by_footer = start == MAGIC
            if not self._by_footer:
                raise
            self._schema = self._read_schema()
        self.names = schema_names(self._schema)

    def _read_schema(self) -> Any:
        """Open the file and return the schema of its record batches."""
        with self._opened() as (batches, _, _):
            return batches.schema

    @contextmanager
    def _opened(self, columns: list[int] | None = None) -> Iterator[Opened]:
        """Open the file: yield its record batches with these columns (None: all), the source that
        they are read from, and a function that frees the memory of a chunk after use.
        """
        ipc = self._pa.ipc
        options = ipc.IpcReadOptions(included_fields=columns, use_threads=False)
        with arrow_errors(self.file, "Arrow"), self._source() as (source, done):
            if self._by_footer:
                with ipc.open_file(source, options=options) as opened:
                    yield _ListedBatches(opened), source, done
                return
            source.seek(self._first)
            with ipc.open_stream(source, options=options) as opened:
                yield opened, source, done

    @contextmanager
    def _source(self) -> Iterator[tuple[Any, Callable[[], None]]]:
        """Open the file's bytes: yield them as an Arrow source, and a function that frees the
        memory of what has been read. A large file is mapped into memory; for a small one the
        function does nothing.
        """
        if self.file.size < MAPPED_FROM or not hasattr(mmap, "MADV_DONTNEED"):
            with self._pa.OSFile(str(self.file.path)) as source:
                yield source, lambda: None
            return
        with self.file.path.open("rb") as opened:
            mapped = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
        try:
            # What has been summed need not stay in memory.
            yield self._pa.BufferReader(mapped), lambda: mapped.madvise(mmap.MADV_DONTNEED)
        finally:
            with suppress(BufferError):  # after an error some batch may still be looked at
                mapped.close()

    def chunks(
        self, piece: Any, fields: Sequence[Field], rows: int
    ) -> Generator[Chunk, None, None]:
        """Yield the rows of the file in chunks of at most `rows`; raise InputError at the end if
        batches are missing. The only piece of an Arrow file is None.
        """
        tops = {column_path(self._schema, field.name)[0] for field in fields}
        columns = sorted(self._schema.get_field_index(name) for name in tops)
        first, n_batches, at = 0, 0, self._first
        with self._opened(columns) as (batches, source, done):
            behind_last = source.tell()
            for batch in batches:
                n_batches, behind_last = n_batches + 1, source.tell()
                n_bytes, at = behind_last - at, behind_last
                for chunk in self._chunks_of(batch, first, n_bytes, fields, rows):
                    yield chunk
                    done()
                first += batch.num_rows
            self._check_end(behind_last, source.tell(), n_batches)

    def _check_end(self, behind_last: int, now: int, n_batches: int) -> None:
        """Raise InputError if batches are missing, or if bytes follow the end of the stream.
        `behind_last` is the position after the last batch, `now` the position reached in the file;
        `n_batches` is the number of batches read.
        """
        if self._by_footer:
            return
        if self._first:
            if n_batches != self._n_listed():
                raise InputError(
                    f"{self.file} is damaged: {n_batches} batches can be read, but the list at its "
                    f"end names {self._n_listed()}"
                )
        elif now == behind_last:
            raise InputError(
                f"{self.file} ends without the mark that ends a stream, so batches may be missing: "
                "the file was cut, or its writer was not closed. Write it again"
            )
        elif now < self.file.size:
            raise InputError(
                f"{self.file} has {self.file.size - now:,} bytes after the end of its stream: give "
                "each stream a file of its own"
            )

    def _n_listed(self) -> int:
        """The number of batches in the list (footer) at the end of the file."""
        with arrow_errors(self.file, "Arrow"), self._source() as (source, _):
            return int(self._pa.ipc.open_file(source).num_record_batches)
