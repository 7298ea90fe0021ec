"""Optional packages, imported when something needs them."""

from __future__ import annotations

import importlib
from typing import Any

from calibrant._core.errors import MissingExtra


def need(package: str, purpose: str = "a page", extra: str | None = None) -> Any:
    """Import an optional package, or one of its modules; raise a MissingExtra that says how to
    install it if it is not there. `extra` is the extra of Calibrant that has it: by default "plot"
    for matplotlib, "cli" for PyArrow and "report" for others. `purpose` says what needs the
    package, as the message begins.
    """
    try:
        return importlib.import_module(package)
    except ImportError:
        name = package.partition(".")[0]
        known = {"vl_convert": "vl-convert-python"}.get(name, name)
        usual = {"matplotlib": "plot", "pyarrow": "cli"}.get(name, "report")
        raise MissingExtra(known, usual if extra is None else extra, purpose) from None
