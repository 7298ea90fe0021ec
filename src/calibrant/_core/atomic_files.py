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

# Bytes at the end of a file that tell it from others of its size; states end with a checksum.
TAIL = 1 << 16


class FileChanged(Exception):
    """Another process has written the file in the meantime."""


@dataclass(frozen=True)
class Version:
    """A file as it was at some moment."""

    path: str
    # Its size and the hash of its end; None if there was no file. (Times and numbers of files may
    # change on a network's disk although nobody wrote.)
    content: tuple[int, bytes] | None


def version_of(path: str | os.PathLike[str]) -> Version:
    """The file as it is now."""
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
    """A temporary file to write to, which replaces the file once it is complete on disk.

    A link stays a link: the file that it leads to is replaced. A device or a pipe is none, and
    stays too. `since` is what the file was when it was read: if it is another one by then,
    `FileChanged` is raised and the file stays.
    """
    target = Path(os.path.realpath(path))
    check_plain(path)
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
                    f"{path} was written by another process in the meantime: nothing was written"
                )
            os.replace(temp, target)
    finally:
        temp.unlink(missing_ok=True)


def check_plain(path: str | os.PathLike[str]) -> None:
    """An error for what is there and can be replaced by no file: /dev/null would be gone."""
    target = Path(path)
    if target.exists() and not target.is_file() and not target.is_dir():
        raise OSError(errno.EINVAL, "it is a device or a pipe: name a file", os.fspath(path))


@contextmanager
def atomic_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A new folder to fill, which replaces the one at `path` at the end of the block.

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
    """A name in the same folder: hidden, so that patterns do not meet what a killed process left
    behind, and of the same kind by its ending. Of a link the folder is that of its file.
    """
    given, folder = Path(path), Path(os.path.realpath(path)).parent
    return folder / f".{given.stem}.{secrets.token_hex(6)}.part{given.suffix}"
