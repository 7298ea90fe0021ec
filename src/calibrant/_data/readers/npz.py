"""NPZ: arrays by name, read a span of rows at a time, packed or not; nothing is unpickled."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError
from calibrant._data.readers.chunks import Chunk, Column, Field, Names
from calibrant._data.readers.find import File
from calibrant._data.readers.npz_members import members_of

# Numbers of a piece: arrays that are not packed are read in pieces, apart from each other.
PIECE = 1 << 22

Span = tuple[int, int]


class NpzReader:
    """A NumPy archive. It needs no package but NumPy."""

    n_rows: int | None = None
    said: tuple[str, ...] = ()

    def __init__(self, file: File) -> None:
        self.file = file
        if file.size == 0:
            raise InputError(f"{file} has 0 bytes, which no NPZ file has: it was not written")
        self._members = members_of(file)
        self.names = tuple(self._members)

    def has(self, name: str) -> bool:
        return name in self._members

    def width(self, name: str) -> int:
        return max(1, self._members[name].width)

    def precision(self, name: str) -> str:
        dtype = self._members[name].dtype
        size = dtype.itemsize if dtype.kind == "f" else 8
        return {2: "half", 4: "single"}.get(size, "double")

    def pieces(self, fields: Sequence[Field]) -> list[Span]:
        n = self._count(fields)
        members = [self._members[field.name] for field in fields]
        step = max(1, PIECE // max(self.width(field.name) for field in fields))
        if any(member.start is None for member in members):
            step = max(1, n)
        return [(start, min(start + step, n)) for start in range(0, n, step)]

    def chunks(
        self, piece: Span, fields: Sequence[Field], rows: int
    ) -> Generator[Chunk, None, None]:
        first, last = piece
        per_row = self.file.size / max(1, self._count(fields))
        with ExitStack() as stack:
            names = dict.fromkeys(field.name for field in fields)
            reads = {name: stack.enter_context(self._members[name].opened()) for name in names}
            for start in range(first, last, rows):
                stop = min(start + rows, last)
                arrays = {name: read(start, stop) for name, read in reads.items()}
                columns = {field: _column(arrays[field.name], field) for field in fields}
                yield Chunk(start, stop - start, round(per_row * (stop - start)), columns)

    def _count(self, fields: Sequence[Field]) -> int:
        """The rows that all wanted arrays have."""
        rows = {field.name: self._rows(field) for field in fields}
        if len(set(rows.values())) > 1:
            said = ", ".join(f"{name!r} has {n}" for name, n in rows.items())
            raise InputError(f"{self.file}: arrays must have the same number of rows; {said}")
        return next(iter(rows.values()))

    def _rows(self, field: Field) -> int:
        member = self._members[field.name]
        where = f"{self.file}: the array {field.name!r}"
        if member.dtype.hasobject:
            raise InputError(
                f"{where} holds Python objects, which are never loaded (they may run code): save "
                "it as numbers or as text of a fixed length"
            )
        kinds = "biufU" if field.role != "number" else "biuf"
        if member.dtype.kind not in kinds and field.role != "text":
            raise InputError(f"{where} holds {member.dtype}: it must be numbers")
        if len(member.shape) not in (1, 2) or (field.role == "text" and len(member.shape) != 1):
            raise InputError(f"{where} has the shape {member.shape}: it must have a row per sample")
        return member.shape[0]


def _column(array: NDArray[Any], field: Field) -> Column | Names:
    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    if field.role == "text" or native.dtype.kind == "U":
        known, codes = np.unique(native, return_inverse=True)
        return Names(codes.astype(np.intp, copy=False), known.tolist())
    return Column(native)
