"""The packages that pages are made with, imported when a page is."""

from __future__ import annotations

import importlib
from typing import Any

from calibrant._core.errors import MissingExtra


def need(package: str) -> Any:
    """An optional package, or an error that says how to get it."""
    try:
        return importlib.import_module(package)
    except ImportError:
        known = {"vl_convert": "vl-convert-python"}.get(package, package)
        raise MissingExtra(known, "report", "a page") from None
