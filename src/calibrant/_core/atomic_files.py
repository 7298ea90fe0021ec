"""Atomic writes: a file is there whole or not at all, whatever happens meanwhile."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from calibrant._core.file_locks import locked

# Bytes at the end of a file that are hashed to tell it from other files of its size: a state file
# ends with a checksum, so that its end differs whenever its content does.
TAIL = 1 << 16


class FileChanged(Exception):
    """Another process has written the file in the meantime."""


@dataclass(frozen=True)
class Version:
    """The content of a file at one moment (its size and a hash), by which a later change is
    noticed.
    """

    path: str
    # Its size and the hash of its end; None if there was no file. (Times and numbers of files may
    # change on a network's disk although nobody wrote.)
    content: tuple[int, bytes] | None


def version_of(path: str | os.PathLike[str]) -> Version:
    """The version of the file as it is now; of a link, the version of the file that it leads to."""
    real = os.path.realpath(path)
    try:
        with open(real, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - TAIL))
            content = (size, hashlib.sha256(file.read()).digest())
    except FileNotFoundError:
        return Version(real, None)
    return Version(real, content)


@contextmanager
def atomic_write(path: str | os.PathLike[str], *, since: Version | None = None) -> Iterator[Path]:
    """Yield a temporary file to write to, which replaces the file at `path` when the block ends.

    A link stays a link: the file that it leads to is replaced. A device or a pipe is refused with
    an OSError. `since` is the version that the caller has read: if the file has changed since then,
    `FileChanged` is raised and the file stays as it is. None replaces whatever is there.
    """
    target = Path(os.path.realpath(path))
    check_no_device(path)
    temp = temp_path(path)
    try:
        yield temp
        with open(temp, "rb+") as file:
            os.fsync(file.fileno())
        if since is None or since.path != str(target):
            os.replace(temp, target)
            return
        with locked(target):
            if version_of(target) != since:
                raise FileChanged(
                    f"{path} was not written: another process has changed it in the meantime"
                )
            os.replace(temp, target)
    finally:
        temp.unlink(missing_ok=True)


def check_no_device(path: str | os.PathLike[str]) -> None:
    """Raise OSError if `path` is a device or a pipe, such as /dev/null, which must not be replaced
    by a file.
    """
    target = Path(path)
    if target.exists() and not target.is_file() and not target.is_dir():
        raise OSError(errno.EINVAL, "it is a device or a pipe: name a file", os.fspath(path))


@contextmanager
def atomic_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a new folder to fill, which replaces the one at `path` at the end of the block.

    An error or interruption leaves the folder at `path` as it was, or absent.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = temp_path(target)
    new, old = temporary / "new", temporary / "old"
    try:
        new.mkdir(parents=True)
        yield new
        if target.exists():
            target.rename(old)
        try:
            new.rename(target)
        except BaseException:
            if old.exists():
                old.rename(target)
            raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def temp_path(path: str | os.PathLike[str]) -> Path:
    """A random path for a temporary file, in the folder of `path`; of a link, in the folder of the
    file that it leads to. The name begins with a dot, so that patterns such as "*.csv" do not match
    files that a killed process left, and it keeps the suffix of `path`.
    """
    given, folder = Path(path), Path(os.path.realpath(path)).parent
    return folder / f".{given.stem}.{secrets.token_hex(6)}.part{given.suffix}"
