"""Writing a page: whole, or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from calibrant._core.atomic_files import atomic_write
from calibrant._core.errors import InputError

ENDINGS = (".html", ".htm")


def write_page(path: str | os.PathLike[str], make: Callable[[], str]) -> Path:
    """Make a page and put it in the place of what was there; an error if it cannot be written."""
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        raise InputError(f"path must name a file, such as 'page.html'; got {path!r}")
    place = Path(path)
    if place.is_dir():
        raise InputError(f"path={str(path)!r} is a folder: name a file in it, such as page.html")
    if place.suffix.lower() not in ENDINGS:
        raise InputError(
            f"path={str(path)!r}: a page is HTML; give it a name that ends in .html (to_json() and "
            "a browser's printing make other things of it)"
        )
    content = make()
    try:
        with atomic_write(place) as beside:
            beside.write_text(content, encoding="utf-8", newline="\n")
    except OSError as error:
        why = error.strerror or error
        raise InputError(f"path={str(path)!r} cannot be written: {why}") from None
    return place
