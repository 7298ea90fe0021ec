"""Optional packages, imported when something needs them."""

from __future__ import annotations

import importlib
from typing import Any

from calibrant._core.errors import MissingExtra


def need(package: str, purpose: str = "a page") -> Any:
    """Import a package of the extras `plot` or `report`, or say how to install it."""
    try:
        return importlib.import_module(package)
    except ImportError:
        name = package.partition(".")[0]
        known = {"vl_convert": "vl-convert-python"}.get(name, name)
        raise MissingExtra(known, "plot" if name == "matplotlib" else "report", purpose) from None
