"""The compiled scanner of text, where it was built and may be used."""

from __future__ import annotations

from typing import Any

from calibrant._core.engine_choice import requested_engine

try:
    from calibrant._data.readers import _scan
except ImportError:  # not built: no C compiler at install time
    _compiled: Any = None
else:
    _compiled = _scan


def scanner() -> Any:
    """The compiled module that scans text; None if it was not built, or if the user requested the
    engine "numpy". Readers then do without it.
    """
    return None if requested_engine() == "numpy" else _compiled


def count_lines(text: bytes) -> int:
    """The number of line feeds in a text."""
    compiled = scanner()
    return int(compiled.count_lines(text)) if compiled else text.count(b"\n")
