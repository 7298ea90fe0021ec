"""The file that keeps a state: a line of magic, a line of JSON, numbers, a checksum.

    calibrant-state 4\\n
    {"arrays": [["name", [shape]], ...], "index": {...}, "kind": "accumulator", "recipe": {...}}\\n
    the arrays, little-endian float64, in that order, zlib-compressed as one piece
    32 bytes: SHA-256 of everything before

Nothing in it is executed when it is read, and no array is unpacked before its shape is known to be
what the recipe needs. A save writes a neighbouring file and renames it over
the old one, so that a crash leaves one of the two whole.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from calibrant._core.atomic_files import FileChanged, Version, atomic_write, version_of
from calibrant._core.errors import StateError
from calibrant._core.typing import Array

MAGIC = b"calibrant-state "
# Version 1 had no kind, no index, no measures and no missing; version 2 had bins without sum_w2z.
VERSION = 4
_CHECKSUM = 32
# The method that reads each kind of state, for messages.
READERS = {"accumulator": "Accumulator.load", "monitor": "Monitor.load"}
# The number of counts in the array "counts", the first of a stream; the second count is the number
# of columns of predictions.
N_COUNTS = 7

Shape = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class State:
    """The content of a state file: the kind of stream, the recipe (the options it was summed with),
    the arrays of sums by name, and an index that says what the arrays are of.
    """

    kind: str
    recipe: Mapping[str, Any]
    arrays: Mapping[str, Array]
    index: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Saved:
    """A state file whose header was read. The arrays, of the named `shapes`, are still compressed
    in `packed`; the method `arrays` unpacks them.
    """

    kind: str
    recipe: Mapping[str, Any]
    index: Mapping[str, Any]
    shapes: tuple[tuple[str, Shape], ...]
    packed: bytes
    # The file that it was read from, as it was then.
    version: Version | None = None

    def arrays(
        self, needed: Callable[[int], Mapping[str, Shape]], n_windows: int | None = None
    ) -> dict[str, Array]:
        """Unpack the arrays: a dict by name. Raise ValueError unless they have exactly the names
        and shapes that a stream needs.

        `needed` is a function from the number of columns of predictions, which the array "counts"
        holds, to the shapes of all other arrays. With `n_windows`, every array has a leading axis
        of that length.
        """
        if n_windows == 0:
            _check_shapes(self.shapes, {})
            return {}
        lead = () if n_windows is None else (n_windows,)
        if self.shapes[:1] != (("counts", (*lead, N_COUNTS)),):
            raise ValueError(
                "the first array must be counts of the shape "
                f"{'x'.join(map(str, (*lead, N_COUNTS)))}"
            )
        unpacking = _Unpacking(self.packed)
        counts = unpacking.next(self.shapes[0][1])
        columns = {whole_number(each, "columns") for each in np.unique(counts[..., 1]).tolist()}
        if len(columns) > 1:
            raise ValueError(f"windows of {min(columns)} and {max(columns)} columns")
        expected = {"counts": (N_COUNTS,), **needed(columns.pop())}
        _check_shapes(self.shapes, {name: (*lead, *shape) for name, shape in expected.items()})
        out = {"counts": counts}
        out.update((name, unpacking.next(shape)) for name, shape in self.shapes[1:])
        unpacking.finish()
        return out


class _Unpacking:
    """Reads arrays, one after the other, from bytes that were compressed in one run."""

    def __init__(self, packed: bytes) -> None:
        self._rest = packed
        self._stream = zlib.decompressobj()

    def next(self, shape: Shape) -> Array:
        """The next array, of this shape; raise ValueError if the bytes end before it is
        complete.
        """
        length = 8 * math.prod(shape)
        part = self._stream.decompress(self._rest, length)
        self._rest = self._stream.unconsumed_tail
        if len(part) < length:
            raise ValueError(f"{len(part) // 8} numbers, but {length // 8} are expected")
        return np.frombuffer(part, dtype="<f8").astype(np.float64).reshape(shape)

    def finish(self) -> None:
        """Raise ValueError if more bytes follow the last array."""
        if self._stream.decompress(self._rest, 1) or not self._stream.eof:
            raise ValueError("more numbers than expected")


def _check_shapes(found: tuple[tuple[str, Shape], ...], needed: Mapping[str, Shape]) -> None:
    """Raise ValueError unless the arrays in the file (`found`: name and shape of each) have exactly
    the names and shapes that are needed.
    """
    if dict(found) != dict(needed) or len(found) != len(needed):
        raise ValueError(
            f"arrays {_shapes_text(found)}, but {_shapes_text(needed.items())} are expected"
        )


def _shapes_text(shapes: Iterable[tuple[str, Shape]]) -> str:
    """The names and shapes of arrays as text for a message: "counts 7, bins 1x15x9"."""
    return ", ".join(f"{name} {'x'.join(map(str, shape))}" for name, shape in shapes) or "none"


def whole_number(value: Any, what: str) -> int:
    """A value from a file as an int of at least 0; raise ValueError, with a message that begins
    with `what`, if the value is no such number.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**53:
        raise ValueError(f"{what} {shortened(value)}")
    if value != int(value):
        raise ValueError(f"{what} {value!r}")
    return int(value)


def shortened(value: object, most: int = 200) -> str:
    """A value as text for a message, cut after `most` characters."""
    text = repr(value)
    return text if len(text) <= most else text[:most] + "..."


def write(path: str | os.PathLike[str], state: State, since: Version | None = None) -> Version:
    """Save atomically: the old file stays complete until the new one is complete on disk. Returns
    the version of the new file.

    `since` is the version of the file that the state was read from or last saved to. If that file
    is to be replaced, and another process has changed it since then, a StateError is raised.
    """
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
    try:
        with atomic_write(path, since=since) as beside:
            beside.write_bytes(content + hashlib.sha256(content).digest())
            written = version_of(beside)
    except FileChanged as error:
        raise StateError(
            f"{error}: the rows that it now holds would be lost. Load it again and add to that, or "
            "save under another name and merge both files"
        ) from None
    return Version(os.path.realpath(path), written.content)


def read(path: str | os.PathLike[str], kind: str | None = None) -> Saved:
    """Read a saved state; raise StateError if the file is damaged, or if it holds another kind of
    stream than `kind`.
    """
    version = version_of(path)
    content = Path(path).read_bytes()
    if not content.startswith(MAGIC):
        raise StateError(f"{path} is not a Calibrant state file")
    first, _, rest = content.partition(b"\n")
    format_version = first[len(MAGIC) :].decode("ascii", "replace")
    if format_version != str(VERSION):
        raise StateError(
            f"{path} has the format version {format_version[:20]}; this Calibrant reads version "
            f"{VERSION}: upgrade the older side"
        )
    whole = len(content) >= _CHECKSUM
    if not whole or hashlib.sha256(content[:-_CHECKSUM]).digest() != content[-_CHECKSUM:]:
        raise StateError(f"{path} is damaged: its checksum does not match its content")
    with content_errors(path):
        state = _parse_content(rest[:-_CHECKSUM])
    if kind not in (None, state.kind):
        raise StateError(
            f"{path} holds the state of another kind of stream ({state.kind}): read it with "
            f"{READERS[state.kind]}"
        )
    return replace(state, version=version)


@contextmanager
def content_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Inside the block, turn every error that the content of the file at `path` causes into a
    StateError that names the file.
    """
    try:
        yield
    except StateError as error:
        raise StateError(f"{path}: {str(error)[:500]}") from error
    except Exception as error:  # what anyone may have written: numbers too large, nests too deep
        message = shortened(error, 500)
        raise StateError(f"{path} is not a valid state file: {message}") from error


def _parse_content(content: bytes) -> Saved:
    """Parse the content of a state file, without its first line and its checksum: the header is
    read, the arrays stay compressed.
    """
    text, _, packed = content.partition(b"\n")
    header = parsed_json(text)
    if header["kind"] not in READERS:
        raise ValueError(f"kind {shortened(header['kind'])}")
    for part in ("recipe", "index"):
        if not isinstance(header[part], dict):
            raise ValueError(f"{part} {shortened(header[part])}")
    shapes = tuple(
        (str(name), tuple(whole_number(length, "length") for length in shape))
        for name, shape in header["arrays"]
    )
    return Saved(header["kind"], header["recipe"], header["index"], shapes, packed)


def parsed_json(text: str | bytes) -> Any:
    """The value of a JSON document; raise ValueError for NaN and infinite numbers, which our files
    never hold.
    """
    return json.loads(text, parse_constant=_check_constant)


def _check_constant(name: str) -> Any:
    """Raise ValueError for NaN or Infinity (`name`), which JSON does not have. `json.loads` calls
    this.
    """
    raise ValueError(f"{name}, which is not a number")
