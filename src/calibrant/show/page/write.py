"""Writing a page: whole, or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path

from calibrant.errors import InputError


def write_page(path: str | os.PathLike[str], make: Callable[[], str]) -> Path:
    """Make a page and put it in the place of what was there; an error if it cannot be written."""
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        raise InputError(f"path must name a file, such as 'page.html'; got {path!r}")
    place = Path(path)
    if place.is_dir():
        raise InputError(f"path={str(path)!r} is a folder: name a file in it, such as page.html")
    content = make()
    # Hidden, of the same kind by its name, and on the same disk: renaming replaces in one step.
    beside = place.with_name(f".{place.stem}.{secrets.token_hex(6)}{place.suffix}")
    try:
        with open(beside, "x", encoding="utf-8", newline="\n") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, place)
    except OSError as error:
        why = error.strerror or error
        raise InputError(f"path={str(path)!r} cannot be written: {why}") from None
    finally:
        beside.unlink(missing_ok=True)
    return place
