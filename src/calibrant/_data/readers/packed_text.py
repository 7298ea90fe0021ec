"""Files of text as bytes, unpacked on the way where they are packed."""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

from calibrant._core.errors import InputError
from calibrant._data.readers.arrow_values import arrow
from calibrant._data.readers.find import File, unreadable


@contextmanager
def opened(file: File) -> Iterator[tuple[BinaryIO, Any]]:
    """The unpacked bytes, and the file below, whose position tells how far reading has come."""
    try:
        with file.path.open("rb") as below:
            yield _unpacked(file, below), below
    except EOFError:
        raise InputError(f"{file} ends too early: it was not packed to the end") from None
    except zlib.error as error:
        raise InputError(f"{file} cannot be unpacked, it is damaged: {error}") from None
    except OSError as error:
        raise unreadable(file, error) from None


def _unpacked(file: File, below: BinaryIO) -> BinaryIO:
    # Each is imported where it is needed: most files are not packed.
    if file.packed == "gzip":
        import gzip

        return io.BufferedReader(gzip.GzipFile(fileobj=below))
    if file.packed == "bz2":
        import bz2

        return io.BufferedReader(bz2.BZ2File(below))
    if file.packed == "zstd":
        pa = arrow("unpacking .zst")
        return io.BufferedReader(pa.CompressedInputStream(below, "zstd"))
    return below
