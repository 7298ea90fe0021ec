"""The arrays of a NumPy archive: what their headers say, and their rows, a span at a time."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from calibrant._core.errors import InputError
from calibrant._data.readers.find import File, unreadable

# Rows from..to of an array. Of a packed one they must be asked for in order.
Read = Callable[[int, int], NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Member:
    """One array of an archive."""

    file: File
    entry: str
    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]
    # Bytes of its header; and where its numbers lie in the file, if they are not packed.
    header: int
    start: int | None

    @property
    def width(self) -> int:
        """Numbers a row."""
        return int(np.prod(self.shape[1:], dtype=np.int64))

    @contextmanager
    def opened(self) -> Iterator[Read]:
        """A way to read rows."""
        with whole(self.file):
            if self.start is not None:
                with self.file.path.open("rb") as stream:
                    yield lambda a, b: self._stored(stream, a, b)
                return
            with zipfile.ZipFile(self.file.path) as archive, archive.open(self.entry) as packed:
                packed.read(self.header)
                if self.fortran and len(self.shape) == 2:
                    # Its columns lie one after the other: no row is there before the last column.
                    all_rows = self._take(packed, self.shape[0]).reshape(self.shape, order="F")
                    yield lambda a, b: all_rows[a:b]
                else:
                    yield lambda a, b: self._take(packed, b - a).reshape(-1, *self.shape[1:])

    def _stored(self, stream: BinaryIO, a: int, b: int) -> NDArray[Any]:
        start, item = self.start or 0, self.dtype.itemsize
        if self.fortran and len(self.shape) == 2:
            out = np.empty((b - a, self.width), dtype=self.dtype)
            for column in range(self.width):
                stream.seek(start + (column * self.shape[0] + a) * item)
                out[:, column] = self._numbers(stream, b - a)
            return out
        stream.seek(start + a * self.width * item)
        return self._take(stream, b - a).reshape(-1, *self.shape[1:])

    def _take(self, stream: Any, rows: int) -> NDArray[Any]:
        return self._numbers(stream, rows * self.width)

    def _numbers(self, stream: Any, count: int) -> NDArray[Any]:
        held = stream.read(count * self.dtype.itemsize)
        if len(held) < count * self.dtype.itemsize:
            raise InputError(f"{self.file} ends too early: it was not written to the end")
        return np.frombuffer(held, dtype=self.dtype)


@contextmanager
def whole(file: File) -> Iterator[None]:
    """Turn what a damaged archive raises into an InputError."""
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise InputError(f"{file} cannot be read as NPZ: {error}") from None
    except OSError as error:
        raise unreadable(file, error) from None


def members_of(file: File) -> dict[str, Member]:
    """The arrays of an archive by name. Numbers are not read yet."""
    out = {}
    with whole(file), file.path.open("rb") as raw, zipfile.ZipFile(raw) as archive:
        for info in archive.infolist():
            if not info.filename.endswith(".npy"):
                continue
            with archive.open(info) as packed:
                shape, fortran, dtype, header = _header(file, info.filename, packed)
            plain = info.compress_type == zipfile.ZIP_STORED
            start = _start(raw, info) + header if plain else None
            name = info.filename.removesuffix(".npy")
            out[name] = Member(file, info.filename, shape, fortran, dtype, header, start)
    return out


def _header(file: File, entry: str, packed: Any) -> tuple[tuple[int, ...], bool, Any, int]:
    try:
        version = npy.read_magic(packed)
        read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[version]
        shape, fortran, dtype = read(packed)
    except (ValueError, KeyError) as error:
        raise InputError(f"{file}: the array {entry!r} cannot be read: {error}") from None
    return shape, fortran, dtype, packed.tell()


def _start(raw: BinaryIO, info: zipfile.ZipInfo) -> int:
    """Where an entry's bytes begin: after its own header, whose length only it tells."""
    raw.seek(info.header_offset)
    local = struct.unpack("<26xHH", raw.read(30))
    return info.header_offset + 30 + int(local[0]) + int(local[1])
