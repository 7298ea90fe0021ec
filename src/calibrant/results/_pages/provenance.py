"""Where the rows of a page come from, and what it was made with."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from typing import Any

import numpy as np

from calibrant._core.errors import InputError
from calibrant._core.version import __version__
from calibrant._engines.arrays.selection import kernels


def checked_name(name: Any, otherwise: str) -> str:
    """The title of a page: `name`, or `otherwise` if it is None; an error unless it is a text."""
    if name is None:
        return otherwise
    if not isinstance(name, str):
        raise InputError(f"name must be a text, the title of the page; got {name!r}")
    return name


def checked_source(source: Any) -> dict[str, str]:
    """Where the rows of a page come from, as texts by name, such as ``{"file": "a.csv"}``.

    It is empty for None. A single text gets the name "source", and values of None are dropped.
    Anything but a text or a mapping is an error.
    """
    if source is None:
        return {}
    if isinstance(source, str):
        return {"source": source}
    if not isinstance(source, Mapping):
        raise InputError(
            f"source must be a text, or names with values such as {{'file': 'a.csv'}}; got "
            f"{type(source).__name__}"
        )
    return {
        str(key): ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        for key, value in source.items()
        if value is not None
    }


def versions() -> dict[str, str]:
    """The versions of the packages that computed the numbers, and the name of the engine."""
    return {
        "calibrant": __version__,
        "engine": kernels().name,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }
