"""Vega, Vega-Lite and Vega-Embed as one script, so that a page draws without a network."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from calibrant._core.atomic_files import atomic_write
from calibrant._core.optional import need


def vega_script() -> str:
    """Give the libraries' code; bundling takes seconds, so it is kept in the user's cache."""
    cached = _cache_folder() / f"vega-{_version()}.js"
    with suppress(OSError, UnicodeDecodeError):
        script = cached.read_text(encoding="utf-8")
        if "window.vegaEmbed=" in script:
            return script
    script = str(need("vl_convert").javascript_bundle())
    # A home that cannot be written to only costs the seconds again.
    with suppress(OSError):
        cached.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(cached) as temporary:
            temporary.write_text(script, encoding="utf-8")
    return script


def _version() -> str:
    """The version of what bundles them, without a load of all that it is made of."""
    if find_spec("vl_convert") is not None:
        with suppress(PackageNotFoundError):
            return version("vl-convert-python")
    return str(need("vl_convert").__version__)


def _cache_folder() -> Path:
    if os.name == "nt":
        folder = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        folder = str(Path.home() / "Library" / "Caches")
    else:
        folder = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(folder) / "calibrant"
