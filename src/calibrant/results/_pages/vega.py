"""Vega, Vega-Lite and Vega-Embed as one script, so that a page draws without a network."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

from calibrant._core.atomic_files import atomic_write
from calibrant._core.optional import need


def vega_script() -> str:
    """The libraries' code. To bundle it takes seconds, so the user's cache keeps it."""
    vl_convert = need("vl_convert")
    kept = _cache_folder() / f"vega-{vl_convert.__version__}.js"
    with suppress(OSError, UnicodeDecodeError):
        found = kept.read_text(encoding="utf-8")
        if "window.vegaEmbed=" in found:
            return found
    script = str(vl_convert.javascript_bundle())
    # A home that cannot be written to only costs the seconds again.
    with suppress(OSError):
        kept.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(kept) as beside:
            beside.write_text(script, encoding="utf-8")
    return script


def _cache_folder() -> Path:
    if os.name == "nt":
        place = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        place = str(Path.home() / "Library" / "Caches")
    else:
        place = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(place) / "calibrant"
