"""Files whose rows a state has: their names, sizes and hashes, so that none is added twice."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from calibrant._core.errors import InputError
from calibrant._core.state_file import shortened, whole_number
from calibrant._data.readers.find import PACKED, File, opened

# A state remembers this many files, the last ones: a retry comes soon. Each takes some 80 bytes.
MOST = 1000
BLOCK = 1 << 20
DIGITS = 32


@dataclass(frozen=True)
class AddedFile:
    """A file whose rows were added: its name, and its content's size and hash at that time."""

    name: str
    size: int
    digest: str


@dataclass
class AddedFiles:
    """The files that were added last, at most MOST of them, the oldest first."""

    files: list[AddedFile] = field(default_factory=list)

    def add(self, files: Iterable[AddedFile]) -> None:
        """Append files to the list; a file that is listed already is not listed twice."""
        known = dict.fromkeys((*self.files, *files))
        self.files = list(known)[-MOST:]

    def check_new(self, file: File) -> AddedFile:
        """Raise an InputError if a file was added before; return its name, size and hash.

        A file was added before if one with the same content was, or one of the same name that has
        grown since. For a compressed file, the unpacked content is compared.
        """
        name = file.path.name
        own_name = _name_without_compression(name)
        grown = {
            each.size: each
            for each in self.files
            if _name_without_compression(each.name) == own_name
        }
        with opened(file) as (content, _):
            new, starts = fingerprint(content, name, grown)
        same = {(new.size, new.digest)}
        if file.packed:  # older states have the hash of the compressed bytes
            with file.path.open("rb") as raw:
                as_packed = fingerprint(raw, name)[0]
            same.add((as_packed.size, as_packed.digest))
        for known in self.files:
            if (known.size, known.digest) in same:
                under = "" if known.name == name else f" under the name {known.name}"
                raise InputError(
                    f"{file} was added before{under}, so its rows would count twice. Drop it, or "
                    "add it again with --again"
                )
        for size, digest in starts.items():
            if grown[size].digest == digest:
                raise InputError(
                    f"{file} has grown since it was added, so its first {size:,} bytes would count "
                    "twice. Add a file with only the new rows, or add the whole file again with "
                    "--again"
                )
        return new

    def first_common_file(self, other: AddedFiles) -> AddedFile | None:
        """A file whose rows are in both states; None if there is none."""
        known = {(file.size, file.digest) for file in self.files}
        return next((file for file in other.files if (file.size, file.digest) in known), None)

    def packed(self) -> list[list[Any]]:
        """The files as plain data for a state file: a list of [name, size, hash]."""
        return [[file.name, file.size, file.digest] for file in self.files]


def unpacked_files(packed: Any) -> AddedFiles:
    """The files from the plain data of `AddedFiles.packed`; a ValueError for any other form."""
    if not isinstance(packed, list) or len(packed) > MOST:
        raise ValueError(f"added {shortened(packed)}")
    files = []
    for each in packed:
        name, size, digest = each
        if not (isinstance(name, str) and isinstance(digest, str) and len(digest) == DIGITS):
            raise ValueError(f"added {shortened(each)}")
        files.append(AddedFile(name, whole_number(size, "size"), digest))
    return AddedFiles(files)


def _name_without_compression(name: str) -> str:
    """The name of a file without an ending such as ".gz"."""
    stem, ending = os.path.splitext(name)
    return stem if ending.lower() in PACKED else name


def fingerprint(
    file: BinaryIO, name: str, sizes: Iterable[int] = ()
) -> tuple[AddedFile, dict[int, str]]:
    """The name, size and hash of a file's content, and the hashes of its beginnings by length.

    A beginning is the first `size` bytes, for each of `sizes` that the file reaches.
    """
    hashed, done, starts = hashlib.blake2b(digest_size=DIGITS // 2), 0, {}
    stops = sorted(sizes)
    while block := file.read(min(BLOCK, stops[0] - done) if stops else BLOCK):
        hashed.update(block)
        done += len(block)
        if stops and done == stops[0]:
            starts[stops.pop(0)] = hashed.hexdigest()
    return AddedFile(name, done, hashed.hexdigest()), starts
