"""Which files are meant: a path, a folder or a pattern becomes a list of files, always in the same
order. Also the bytes of files of text, unpacked if they are packed.
"""

from __future__ import annotations

import difflib
import glob
import io
import os
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from calibrant._core.errors import InputError, one_of
from calibrant._core.messages import setting
from calibrant._core.optional import need

SUFFIXES = {
    "parquet": (".parquet", ".pq"),
    "csv": (".csv", ".tsv"),
    "jsonl": (".jsonl", ".ndjson", ".json"),
    "arrow": (".arrow", ".arrows", ".ipc", ".feather"),
    "npz": (".npz",),
    "excel": (".xlsx", ".xlsm"),
    "stata": (".dta",),
    "sas": (".sas7bdat", ".xpt"),
    "r": (".rds", ".rda", ".rdata"),
}
# Suffixes of files that cannot be read, and how to convert these.
CONVERTED = {
    ".xls": "in Excel, save it as .xlsx or CSV",
    ".ods": "in LibreOffice, save it as .xlsx or CSV",
    ".sav": "in R, write.csv(haven::read_sav(file), ...); in Python, pandas.read_spss",
    ".mat": "in Python, scipy.io.loadmat and numpy.savez; in MATLAB, writetable",
    ".pkl": "load it where it was written, and save a frame with to_parquet",
    ".pickle": "load it where it was written, and save a frame with to_parquet",
    ".pt": "load it with torch, and save arrays with numpy.savez",
    ".h5": "in Python, pandas.read_hdf or h5py, and to_parquet",
    ".npy": "save labels and predictions together, with numpy.savez",
}
# Formats of logs of evaluations of language models, each with the format of its text.
LOGS = {"lm-eval": "jsonl", "inspect": "jsonl", "hle": "jsonl"}
# These and lists of records are read into memory, all of a file at once.
READ_WHOLE = {"json": "jsonl", **LOGS}
FORMATS = (*SUFFIXES, *READ_WHOLE)
EVAL = ".eval"
# Text may be packed; the other formats pack their own columns.
PACKED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
# The suffix of files that folders and patterns leave out, unless a format is given: most of them
# describe the rows.
ONLY_BY_NAME = ".json"
# The first bytes of a saved state of a stream, which holds no rows.
STATE = b"calibrant-state "

TO_A_FILE = "Write them to a file first"
Fingerprint = tuple[int, int, int]


@dataclass(frozen=True)
class File:
    """One file to read: its path, its format, and its compression (`packed`; None: not
    compressed).
    """

    path: Path
    format: str
    packed: str | None = None
    # The filter of a log of lm-evaluation-harness.
    filter: str | None = None
    # The unit of length by which log-likelihoods of choices are divided; None: they are not.
    acc_norm: str | None = None
    # Which half of the arrays of an NPZ archive to read, such as "val" of val_labels.
    half: str | None = None

    def __str__(self) -> str:
        """The file's path, as messages show it."""
        return str(self.path)

    @property
    def size(self) -> int:
        """The file's size in bytes, as it is on disk."""
        return self.fingerprint()[0]

    def fingerprint(self) -> Fingerprint:
        """The size, time of change and inode number of the file, which differ after a change of the
        file.
        """
        try:
            status = self.path.stat()
        except OSError as error:
            raise unreadable(self.path, error) from None
        return status.st_size, status.st_mtime_ns, status.st_ino


def unreadable(path: Any, error: OSError) -> InputError:
    """The InputError for an error of the operating system about a file."""
    return InputError(f"{path} cannot be read: {error.strerror or error}")


@contextmanager
def opened(file: File) -> Iterator[tuple[BinaryIO, Any]]:
    """Open a file: yield the stream of its uncompressed bytes, and the file on disk, whose position
    tells how far reading has come. Errors of reading become InputErrors.
    """
    try:
        with file.path.open("rb") as below:
            yield _unpacked(file, below), below
    except EOFError:
        raise InputError(f"{file} ends too early: the compressed file is incomplete") from None
    except zlib.error as error:
        raise InputError(f"{file} cannot be decompressed because it is damaged: {error}") from None
    except OSError as error:
        raise unreadable(file, error) from None


def _unpacked(file: File, below: BinaryIO) -> BinaryIO:
    """The stream of uncompressed bytes over an open file; the open file itself if it is not
    compressed.
    """
    # Each is imported where it is needed: most files are not packed.
    if file.packed == "gzip":
        import gzip

        return io.BufferedReader(gzip.GzipFile(fileobj=below))
    if file.packed == "bz2":
        import bz2

        return io.BufferedReader(bz2.BZ2File(below))
    if file.packed == "zstd":
        pa = need("pyarrow", "unpacking .zst")
        return io.BufferedReader(pa.CompressedInputStream(below, "zstd"))
    return below


def list_files(path: Any, format: str | None = None) -> list[File]:
    """The files that `path` stands for, each once: a path, a folder, a pattern or a list of these.
    Those of a folder or pattern are in the order of their names; raise InputError if there are no
    files. `format` is their format; None takes it from their names.
    """
    if format is not None:
        one_of("format", format, FORMATS)
    if isinstance(path, str | os.PathLike):
        return _files_of(path, format)
    if not isinstance(path, Sequence) or not all(isinstance(p, str | os.PathLike) for p in path):
        raise InputError(
            f"path must be a file, a folder, a pattern or a list of them; got {path!r}"
        )
    files = [file for one in path for file in _files_of(one, format)]
    if not files:
        raise InputError("path is an empty list: name at least one file")
    twice = [name for name, n in Counter(file.path.resolve() for file in files).items() if n > 1]
    if twice:
        raise InputError(f"{twice[0]} is named twice: name every file once")
    return files


def _files_of(path: str | os.PathLike[str], format: str | None) -> list[File]:
    """The files that one path, folder or pattern stands for; raise InputError if there are none."""
    text = os.path.expanduser(os.fspath(path))
    if text == "-":
        raise InputError(
            f"standard input cannot be read, because rows are read more than once. {TO_A_FILE}"
        )
    scheme = re.match(r"([a-z][a-z0-9+.-]+)://", text)
    if scheme:
        raise InputError(
            f"{text} is in a store ({scheme[1]}), but files are read from disks: mount or copy it, "
            "or pass a frame that reads the store, such as evaluate('label', 'p', "
            f"data=polars.scan_parquet({text!r})) or pyarrow.dataset.dataset({text!r}).to_table()"
        )
    location = Path(text)
    try:
        if location.is_dir():
            return _check_one_format(path, _visible_files(location), format)
        if os.path.lexists(text):
            return [_file_at(location, format)]
    except OSError as error:
        raise unreadable(path, error) from None
    if glob.has_magic(text):
        matches = [Path(name) for name in glob.glob(text, recursive=True)]
        files = sorted(name for name in matches if name.is_file())
        if not files:
            raise InputError(f"no file matches {text!r}")
        return _check_one_format(path, files, format)
    folder = location.parent
    if not folder.is_dir():
        raise InputError(f"there is no folder {str(folder)!r}, so there is no file {text!r}")
    raise InputError(f"there is no file {text!r}{_nearest_file(location)}")


# Names of files that a message lists.
LISTED = 10


def _nearest_file(location: Path) -> str:
    """The end of an error about a file that does not exist: the file in the same folder with the
    most similar name, or else some files that can be read. Suffixes are not compared.
    """
    endings = (*(suffix for each in SUFFIXES.values() for suffix in each), EVAL, *PACKED)
    names = sorted(
        name
        for name in os.listdir(location.parent)
        if not name.startswith(".") and name.lower().endswith(endings)
    )
    stems = {name: name.partition(".")[0].lower() for name in names}
    close = difflib.get_close_matches(
        location.name.partition(".")[0].lower(), stems.values(), n=1, cutoff=0.7
    )
    if close:
        meant = [name for name in names if stems[name] == close[0]]
        alike = difflib.get_close_matches(location.name, meant, n=1, cutoff=0.0)
        return f": did you mean {alike[0]!r}?"
    if not names:
        return ""
    more = ", ..." if len(names) > LISTED else ""
    return f". That folder has {', '.join(map(repr, names[:LISTED]))}{more}"


def _visible_files(folder: Path) -> list[Path]:
    """The files in a folder and its subfolders, sorted. Files and folders whose name begins with a
    dot or an underscore are left out: programs use them for their own purposes.
    """

    def shown(path: Path) -> bool:
        """Whether no part of a path, relative to the folder, begins with a dot or an underscore."""
        return not any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)

    found = [path for path in folder.rglob("*") if shown(path) and path.is_file()]
    return sorted(found, key=lambda path: path.relative_to(folder).parts)


def _check_one_format(asked: Any, paths: list[Path], format: str | None) -> list[File]:
    """The files among these paths that can be read, or that have the given format. Raise InputError
    if there are none, or if no format is given and they have several. `asked` is the user's
    argument, for the message.
    """
    if format is not None:
        wanted = {format, READ_WHOLE.get(format, format)}
        chosen = [path for path in paths if (_format_of_name(path) or "?")[0] in wanted]
        chosen = chosen or [path for path in paths if not path.suffix]
        if not chosen:
            suffixes = SUFFIXES.get(format) or (*SUFFIXES[READ_WHOLE[format]], EVAL)
            raise InputError(f"{asked} has no {format} files ({', '.join(suffixes)})")
        return [_file_at(path, format) for path in chosen]
    known = {path: _format_of_name(path) for path in paths if path.suffix != ONLY_BY_NAME}
    formats = Counter(guess[0] for guess in known.values() if guess)
    if not formats:
        every = ", ".join(suffix for suffixes in SUFFIXES.values() for suffix in suffixes)
        raise InputError(f"{asked} has no files that can be read: their names end in {every}")
    if len(formats) > 1:
        counted = ", ".join(f"{n} {name}" for name, n in formats.items())
        raise InputError(
            f"{asked} has files of several formats ({counted}): choose one with {setting('format')}"
        )
    return [_file_at(path, None) for path, guess in known.items() if guess]


def _format_of_name(path: Path) -> tuple[str, str | None] | None:
    """The format and the compression (None: none) that a file's name stands for; None if the name
    has no known format.
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = PACKED.get(suffixes[-1]) if suffixes else None
    last = suffixes[-2:-1] if packed else suffixes[-1:]
    if last == [EVAL]:
        return "inspect", None
    for format, known in SUFFIXES.items():
        if last and last[0] in known and (not packed or format in ("csv", "jsonl")):
            return format, packed
    return None


def _file_at(path: Path, format: str | None) -> File:
    """The File at a path, in the given format, or for None in the format of its name; raise
    InputError if that is not known, or if the file cannot be opened.
    """
    guess = _format_of_name(path)
    if format is None and guess is None:
        if is_state(path):
            raise InputError(
                f"{path} is a state saved by Accumulator.save or Monitor.save: it holds sums, not "
                "rows. Evaluate it with calibrant merge, or give it alone to report or check; in "
                "Python, use Accumulator.load or Monitor.load"
            )
        how = CONVERTED.get(path.suffix.lower())
        if how is not None:
            raise InputError(f"{path} has a format that cannot be read. Convert it: {how}")
        raise InputError(
            f"{path} does not show its format: its name ends in {path.suffix or 'no suffix'}. Give "
            f"{setting('format')}, one of {', '.join(FORMATS)}"
        )
    try:
        if not path.is_file():
            raise InputError(
                f"{path} is not an ordinary file, and rows are read more than once. {TO_A_FILE}"
                if path.exists()
                else f"{path} is a broken link"
            )
        with path.open("rb") as file:
            start = file.read(4)
    except OSError as error:
        raise unreadable(path, error) from None
    name = format or (guess[0] if guess else "")
    return File(path, name, packing(start) if name in ("csv", "jsonl", *READ_WHOLE) else None)


def is_state(path: Path) -> bool:
    """Whether a file is a saved state of an Accumulator or Monitor, judged by its first bytes."""
    try:
        with path.open("rb") as file:
            return file.read(len(STATE)) == STATE
    except OSError:
        return False


def packing(start: bytes) -> str | None:
    """The compression of a file, judged by its first bytes, because names may be wrong: "gzip",
    "bz2" or "zstd"; None if it is not compressed.
    """
    for magic, name in ((b"\x1f\x8b", "gzip"), (b"BZh", "bz2"), (b"\x28\xb5\x2f\xfd", "zstd")):
        if start.startswith(magic):
            return name
    return None
