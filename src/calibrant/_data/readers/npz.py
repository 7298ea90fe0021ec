"""NPZ: a zip archive of arrays by name, read some rows at a time, packed or not. Python objects in
it are never loaded.

`numpy.load` would read whole arrays; archives may be larger than memory.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from calibrant._core.errors import InputError
from calibrant._data.readers.chunks import Chunk, Column, Field, Location, Names, Reader
from calibrant._data.readers.find import File, unreadable

# A function that reads some rows of an array, given the first and the one behind the last. Those of
# a packed array must be asked for in order.
Read = Callable[[int, int], NDArray[Any]]


# The most numbers of an array in a piece. Packed arrays are one piece.
PIECE = 1 << 22

# Bytes that a checksum is taken of at a time.
BLOCK = 1 << 20

Span = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Member:
    """One array of an archive: its name there (`entry`), its shape, whether it is in Fortran order,
    and its dtype.
    """

    file: File
    entry: str
    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]
    # Bytes of its header; and where its numbers lie in the file, if they are not packed.
    header: int
    start: int | None
    # The checksum of header and numbers, as the archive has it.
    checksum: int

    @property
    def width(self) -> int:
        """The number of numbers per row."""
        return int(np.prod(self.shape[1:], dtype=np.int64))

    @contextmanager
    def opened(self) -> Iterator[Read]:
        """Open the array: yield a function of a and b that reads the rows from a up to b. The rows
        of a compressed array must be read in order.
        """
        with archive_errors(self.file):
            if self.start is not None:
                with self.file.path.open("rb") as stream:
                    yield lambda a, b: self._read_stored(stream, a, b)
                return
            with zipfile.ZipFile(self.file.path) as archive, archive.open(self.entry) as packed:
                packed.read(self.header)
                if self.fortran and len(self.shape) == 2:
                    # Columns are stored one after the other: a row is complete only after the last
                    # column.
                    all_rows = self._next_rows(packed, self.shape[0]).reshape(self.shape, order="F")
                    yield lambda a, b: all_rows[a:b]
                else:
                    yield lambda a, b: self._next_rows(packed, b - a).reshape(-1, *self.shape[1:])

    def check_checksum(self) -> None:
        """Raise InputError if the numbers of an array that is not compressed do not match its
        checksum. A compressed array is checked while it is decompressed.
        """
        if self.start is None:
            return
        found = 0
        left = self.header + int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize
        with archive_errors(self.file), self.file.path.open("rb") as stream:
            stream.seek(self.start - self.header)
            while left and (block := stream.read(min(left, BLOCK))):
                found, left = zlib.crc32(block, found), left - len(block)
        if found != self.checksum:
            raise InputError(
                f"{self.file}: the array {self.entry!r} is damaged: its checksum does not match "
                "its numbers. Write it again"
            )

    def _read_stored(self, stream: BinaryIO, a: int, b: int) -> NDArray[Any]:
        """Read the rows from a up to b of an array that is not compressed."""
        start, item = self.start or 0, self.dtype.itemsize
        if self.fortran and len(self.shape) == 2:
            out = np.empty((b - a, self.width), dtype=self.dtype)
            for column in range(self.width):
                stream.seek(start + (column * self.shape[0] + a) * item)
                out[:, column] = self._next_numbers(stream, b - a)
            return out
        stream.seek(start + a * self.width * item)
        return self._next_rows(stream, b - a).reshape(-1, *self.shape[1:])

    def _next_rows(self, stream: Any, rows: int) -> NDArray[Any]:
        """Read the numbers of the next `rows` rows of the stream, as an array of one dimension."""
        return self._next_numbers(stream, rows * self.width)

    def _next_numbers(self, stream: Any, count: int) -> NDArray[Any]:
        """Read the next `count` numbers of the stream; raise InputError if it ends before that."""
        data = stream.read(count * self.dtype.itemsize)
        if len(data) < count * self.dtype.itemsize:
            raise InputError(f"{self.file} ends too early: the file is incomplete")
        return np.frombuffer(data, dtype=self.dtype)


@contextmanager
def archive_errors(file: File) -> Iterator[None]:
    """Inside the block, turn the errors that a damaged archive causes into InputErrors."""
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise InputError(f"{file} cannot be read as NPZ: {error}") from None
    except OSError as error:
        raise unreadable(file, error) from None


def members_of(file: File) -> dict[str, Member]:
    """The arrays of an archive by name. Only their headers are read."""
    out = {}
    with archive_errors(file), file.path.open("rb") as raw, zipfile.ZipFile(raw) as archive:
        for info in archive.infolist():
            if not info.filename.endswith(".npy"):
                continue
            with archive.open(info) as packed:
                shape, fortran, dtype, header = _header(file, info.filename, packed)
            plain = info.compress_type == zipfile.ZIP_STORED
            start = _data_start(raw, info) + header if plain else None
            name = info.filename.removesuffix(".npy")
            out[name] = Member(file, info.filename, shape, fortran, dtype, header, start, info.CRC)
            if not dtype.hasobject:
                _check_length(out[name], info.file_size - header)
    return out


def _check_length(member: Member, n_bytes: int) -> None:
    """Raise InputError unless an array has as many bytes (`n_bytes`) as its shape needs. If it had
    fewer, reading would go on into the next array.
    """
    expected = int(np.prod(member.shape, dtype=np.int64)) * member.dtype.itemsize
    if n_bytes != expected:
        raise InputError(
            f"{member.file}: the array {member.entry!r} has {n_bytes} bytes of numbers, but its "
            f"shape {member.shape} needs {expected}: the file is incomplete or damaged. Write it "
            "again"
        )


def _header(file: File, entry: str, packed: Any) -> tuple[tuple[int, ...], bool, Any, int]:
    """Read an array's header: its shape, whether it is in Fortran order, its dtype, and the
    header's length in bytes.
    """
    try:
        version = npy.read_magic(packed)
        read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[version]
        shape, fortran, dtype = read(packed)
    except (ValueError, KeyError) as error:
        raise InputError(f"{file}: the array {entry!r} cannot be read: {error}") from None
    return shape, fortran, dtype, packed.tell()


def _data_start(raw: BinaryIO, info: zipfile.ZipInfo) -> int:
    """The position in the archive at which an entry's bytes begin, after the entry's local header,
    which has a length of its own.
    """
    raw.seek(info.header_offset)
    local = struct.unpack("<26xHH", raw.read(30))
    return info.header_offset + 30 + int(local[0]) + int(local[1])


class NpzReader(Reader):
    """A NumPy archive. It needs no package but NumPy."""

    def __init__(self, file: File) -> None:
        """Read the names and headers of the arrays, without their numbers."""
        self.file = file
        if file.size == 0:
            raise InputError(f"{file} is empty (0 bytes): no NPZ file was written")
        self._members = members_of(file)
        if file.half is not None:
            start = f"{file.half}_"
            self._members = {
                name.removeprefix(start): member
                for name, member in self._members.items()
                if name.startswith(start)
            }
            self.messages = (f"the arrays {start}... of {file} are read",)
        self.names = tuple(self._members)
        # Arrays whose checksum was looked at: files may be read several times.
        self._sound: set[str] = set()

    def width(self, name: str) -> int:
        """The number of numbers per row of an array, at least 1."""
        return max(1, self._members[name].width)

    def precision(self, name: str) -> str:
        """The precision of an array's numbers: "half", "single" or "double"."""
        dtype = self._members[name].dtype
        size = dtype.itemsize if dtype.kind == "f" else 8
        return {2: "half", 4: "single"}.get(size, "double")

    def pieces(self, fields: Sequence[Field]) -> list[Span]:
        """Spans of rows as pairs (first row, row after the last); one span for all rows if an array
        is compressed. The checksums of the arrays are checked first.
        """
        n = self._count(fields)
        members = [self._members[field.name] for field in fields]
        for field in fields:
            if field.name not in self._sound:
                self._members[field.name].check_checksum()
                self._sound.add(field.name)
        step = max(1, PIECE // max(self.width(field.name) for field in fields))
        if any(member.start is None for member in members):
            step = max(1, n)
        return [(start, min(start + step, n)) for start in range(0, n, step)]

    def chunks(
        self, piece: Span, fields: Sequence[Field], rows: int
    ) -> Generator[Chunk, None, None]:
        """Yield the rows of a piece, which is a span of rows, in chunks of at most `rows`."""
        first, last = piece
        per_row = self.file.size / max(1, self._count(fields))
        with ExitStack() as stack:
            names = dict.fromkeys(field.name for field in fields)
            reads = {name: stack.enter_context(self._members[name].opened()) for name in names}
            for start in range(first, last, rows):
                stop = min(start + rows, last)
                arrays = {name: read(start, stop) for name, read in reads.items()}
                columns = {field: _column(arrays[field.name], field) for field in fields}
                n_bytes = round(per_row * (stop - start))
                yield Chunk(Location(self.file, start), stop - start, n_bytes, columns)

    def _count(self, fields: Sequence[Field]) -> int:
        """The number of rows of the arrays that the fields ask for; raise InputError unless it is
        the same for all.
        """
        rows = {field.name: self._rows(field) for field in fields}
        if len(set(rows.values())) > 1:
            counts = ", ".join(f"{name!r} has {n}" for name, n in rows.items())
            raise InputError(f"{self.file}: arrays must have the same number of rows; {counts}")
        return next(iter(rows.values()))

    def _rows(self, field: Field) -> int:
        """The number of rows of the array that a field asks for; raise InputError if its type or
        shape does not suit the field's role.
        """
        member = self._members[field.name]
        where = f"{self.file}: the array {field.name!r}"
        if member.dtype.hasobject:
            raise InputError(
                f"{where} holds Python objects, which are never loaded because they may run code: "
                "save it as numbers or as text of a fixed length"
            )
        kinds = "biuf" if field.is_number else "biufU"
        if member.dtype.kind not in kinds and field.role != "text":
            raise InputError(f"{where} holds {member.dtype}: it must be numbers")
        if len(member.shape) not in (1, 2) or (field.role == "text" and len(member.shape) != 1):
            raise InputError(
                f"{where} has the shape {member.shape}: it must have one row per sample"
            )
        return member.shape[0]


def _column(array: NDArray[Any], field: Field) -> Column | Names:
    """An array as a column: names if it holds text or the field's role is "text", else numbers in
    this machine's byte order.
    """
    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    if field.role == "text" or native.dtype.kind == "U":
        known, codes = np.unique(native, return_inverse=True)
        return Names(codes.astype(np.intp, copy=False), known.tolist())
    return Column(native)
