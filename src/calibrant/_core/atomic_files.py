"""Atomic writes: a file is there whole or not at all, whatever happens meanwhile."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary file to write to, which replaces the file once it is complete on disk."""
    target = Path(path)
    temp = temp_path(target)
    try:
        yield temp
        with open(temp, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(temp, target)
    finally:
        temp.unlink(missing_ok=True)


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


def temp_path(target: Path) -> Path:
    """A name in the same folder: hidden, so that patterns do not meet what a killed process left
    behind, and of the same kind by its ending.
    """
    return target.with_name(f".{target.stem}.{secrets.token_hex(6)}.part{target.suffix}")
