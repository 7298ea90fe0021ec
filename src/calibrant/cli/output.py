"""What verbs write: files that are whole or not there, and JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from calibrant import whole_files
from calibrant.errors import InputError


def refuse_unwritable(path: str | None) -> None:
    """An error before the work and not after it, if a file cannot be put there."""
    if path is None:
        return
    place = Path(path)
    if place.is_dir():
        raise InputError(f"{path} is a folder: name a file in it")
    try:
        # A file of a few bytes tells more than the folder's permissions do.
        beside = whole_files.neighbour(place)
        beside.touch(exist_ok=False)
        beside.unlink()
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None


def refuse_no_folder(path: str | None) -> None:
    """An error before the work, if a folder cannot be made there or written to."""
    if path is None:
        return
    place = Path(path)
    if place.exists() and not place.is_dir():
        raise InputError(f"{path} is a file: name a folder")
    while not place.exists():
        place = place.parent
    try:
        beside = whole_files.neighbour(place / "folder")
        beside.mkdir()
        beside.rmdir()
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None


@contextmanager
def replacing(path: str) -> Iterator[Path]:
    """A neighbour to write to, which takes the file's name once it is whole, and only then."""
    try:
        with whole_files.replacing(path) as beside:
            yield beside
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from error


def print_json(content: Any) -> None:
    """One line of JSON: what is not a number is null, never NaN."""
    from calibrant.results.rendering import json_value

    print(json.dumps(json_value(content), allow_nan=False))


def tell(text: str) -> None:
    """A line about what was done, beside the output and not in it."""
    print(text, file=sys.stderr)
