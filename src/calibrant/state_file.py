"""The file that keeps a state: a line of magic, a line of JSON, numbers, a checksum.

    calibrant-state 2\\n
    {"arrays": [["name", [shape]], ...], "index": {...}, "kind": "accumulator", "recipe": {...}}\\n
    the arrays, little-endian float64, in that order, zlib-compressed as one piece
    32 bytes: SHA-256 of everything before

Nothing in it is executed when it is read. A save writes a neighbouring file and renames it over
the old one, so that a crash leaves one of the two whole.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import CalibrantError, StateError
from calibrant.whole_files import replacing

MAGIC = b"calibrant-state "
# 1 had no kind, no index, no measures, no missing.
VERSION = 2
_CHECKSUM = 32
# What a kind of state is read with.
READERS = {"accumulator": "Accumulator.load", "monitor": "Monitor.load"}


@dataclass(frozen=True, eq=False)
class State:
    """What a file holds: whose state it is, how it was summed, the sums, and what they are of."""

    kind: str
    recipe: Mapping[str, Any]
    arrays: Mapping[str, NDArray[np.float64]]
    index: Mapping[str, Any] = field(default_factory=dict)


def write(path: str | os.PathLike[str], state: State) -> None:
    """Save atomically: the old file stays whole until the new one is complete on disk."""
    header = {
        "kind": state.kind,
        "recipe": state.recipe,
        "index": state.index,
        "arrays": [[name, list(a.shape)] for name, a in state.arrays.items()],
    }
    try:
        text = json.dumps(header, sort_keys=True).encode()
    except TypeError as error:
        raise StateError(
            f"a state can be saved only if its classes are numbers or text: {error}"
        ) from None
    body = b"".join(np.ascontiguousarray(a, dtype="<f8").tobytes() for a in state.arrays.values())
    content = MAGIC + str(VERSION).encode() + b"\n" + text + b"\n" + zlib.compress(body)
    with replacing(path) as beside:
        beside.write_bytes(content + hashlib.sha256(content).digest())


def read(path: str | os.PathLike[str], kind: str | None = None) -> State:
    """A saved state; a StateError if it is not whole, or not of the kind that is wanted."""
    content = Path(path).read_bytes()
    if not content.startswith(MAGIC):
        raise StateError(f"{path} is not a Calibrant state file")
    first, _, rest = content.partition(b"\n")
    version = first[len(MAGIC) :].decode("ascii", "replace")
    if version != str(VERSION):
        raise StateError(
            f"{path} has the format version {version[:20]}; this Calibrant reads version "
            f"{VERSION}: upgrade the older side"
        )
    whole = len(content) >= _CHECKSUM
    if not whole or hashlib.sha256(content[:-_CHECKSUM]).digest() != content[-_CHECKSUM:]:
        raise StateError(f"{path} is damaged: its checksum does not match its content")
    with refused(path):
        state = _parsed(rest[:-_CHECKSUM])
    if kind not in (None, state.kind):
        raise StateError(
            f"{path} holds the state of another kind of stream ({state.kind}): read it with "
            f"{READERS[state.kind]}"
        )
    return state


@contextmanager
def refused(path: str | os.PathLike[str]) -> Iterator[None]:
    """Whatever a file holds that no save writes becomes a StateError that names the file."""
    try:
        yield
    except StateError as error:
        raise StateError(f"{path}: {error}") from error
    except (CalibrantError, LookupError, TypeError, ValueError, AttributeError, zlib.error) as e:
        raise StateError(f"{path} does not hold what a state file holds: {e!r}") from e


def _parsed(content: bytes) -> State:
    text, _, packed = content.partition(b"\n")
    header = json.loads(text)
    if header["kind"] not in READERS:
        raise ValueError(f"kind {header['kind']!r}")
    shapes = [
        (str(name), tuple(int(length) for length in shape)) for name, shape in header["arrays"]
    ]
    sizes = [int(np.prod(shape, dtype=object)) for _, shape in shapes]
    # No more is unpacked than the header promises, however well it was packed.
    unpacked = zlib.decompressobj().decompress(packed, 8 * sum(sizes) + 1)
    numbers = np.frombuffer(unpacked, dtype="<f8").astype(np.float64)
    if numbers.size != sum(sizes):
        raise ValueError(f"{numbers.size} numbers where {sum(sizes)} were announced")
    arrays, at = {}, 0
    for (name, shape), size in zip(shapes, sizes, strict=True):
        arrays[name] = numbers[at : at + size].reshape(shape)
        at += size
    return State(header["kind"], header["recipe"], arrays, header["index"])
