"""Optional packages, imported when something needs them."""

from __future__ import annotations

import importlib
from typing import Any

from calibrant._core.errors import MissingExtra


def need(package: str, purpose: str = "a page", extra: str | None = None) -> Any:
    """Import an optional package, or raise a MissingExtra that says how to install it. `extra` is
    the extra of Calibrant that has it: by default "plot" for matplotlib and "report" for others.
    `purpose` says what needs the package, as the message begins.
    """
    try:
        return importlib.import_module(package)
    except ImportError:
        name = package.partition(".")[0]
        known = {"vl_convert": "vl-convert-python"}.get(name, name)
        usual = "plot" if name == "matplotlib" else "report"
        raise MissingExtra(known, usual if extra is None else extra, purpose) from None
