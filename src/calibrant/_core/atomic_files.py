"""Files that are there whole or not at all, whatever happens while they are written."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A neighbour to write to, which takes the file's name once it is complete on disk."""
    target = Path(path)
    beside = temp_path(target)
    try:
        yield beside
        with open(beside, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)


def temp_path(target: Path) -> Path:
    """A name in the same folder: hidden, so that patterns do not meet what a killed process left
    behind, and of the same kind by its ending.
    """
    return target.with_name(f".{target.stem}.{secrets.token_hex(6)}.part{target.suffix}")
