"""The file that keeps a state: a line of magic, a line of JSON, numbers, a checksum.

    calibrant-state 1\\n
    {"recipe": {...}, "arrays": [["name", [shape]], ...]}\\n
    the arrays, little-endian float64, in that order, zlib-compressed as one piece
    32 bytes: SHA-256 of everything before

Nothing in it is executed when it is read. A save writes a neighbouring file and renames it over
the old one, so that a crash leaves one of the two whole.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import StateError

MAGIC = b"calibrant-state "
VERSION = 1


def write(
    path: str | os.PathLike[str], recipe: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Save atomically: the old file stays whole until the new one is complete on disk."""
    header = {"recipe": recipe, "arrays": [[name, list(a.shape)] for name, a in arrays.items()]}
    body = b"".join(np.ascontiguousarray(a, dtype="<f8").tobytes() for a in arrays.values())
    text = json.dumps(header, sort_keys=True).encode()
    content = MAGIC + str(VERSION).encode() + b"\n" + text + b"\n" + zlib.compress(body)
    content += hashlib.sha256(content).digest()
    target = Path(path)
    handle, temporary = tempfile.mkstemp(prefix=target.name + ".", dir=target.parent or ".")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, NDArray[np.float64]]]:
    """The recipe and the arrays of a saved state; a StateError if it is not whole."""
    content = Path(path).read_bytes()
    if not content.startswith(MAGIC):
        raise StateError(f"{path} is not a Calibrant state file")
    first, _, rest = content.partition(b"\n")
    version = first[len(MAGIC) :].decode("ascii", "replace")
    if version != str(VERSION):
        raise StateError(
            f"{path} has the format version {version}; this Calibrant reads version {VERSION}: "
            "upgrade the older side"
        )
    if len(content) < 32 or hashlib.sha256(content[:-32]).digest() != content[-32:]:
        raise StateError(f"{path} is damaged: its checksum does not match its content")
    text, _, packed = rest[:-32].partition(b"\n")
    header = json.loads(text)
    numbers = np.frombuffer(zlib.decompress(packed), dtype="<f8").astype(np.float64)
    arrays, at = {}, 0
    for name, shape in header["arrays"]:
        size = int(np.prod(shape))
        arrays[name] = numbers[at : at + size].reshape(shape)
        at += size
    return header["recipe"], arrays
