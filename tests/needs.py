"""Packages that a test compares with, and that need not be installed."""

import importlib
import os
from typing import Any

import pytest

from calibrant._engines.arrays.selection import available

# Where everything must be there, a test of kernels that were not built is run, and fails.
compiled_only = pytest.mark.skipif(
    "native" not in available() and os.environ.get("CALIBRANT_REQUIRE_ALL") != "1",
    reason="the compiled kernels were not built here",
)


def need(name: str) -> Any:
    """Import a peer; skip without it, or fail where every peer must be there."""
    if os.environ.get("CALIBRANT_REQUIRE_ALL") == "1":
        return importlib.import_module(name)
    return pytest.importorskip(name, reason=f"{name} is not installed")


def need_compiled(made: object) -> None:
    """Skip a file of tests whose compiled module was not built, or fail where all must be there."""
    if made is None and os.environ.get("CALIBRANT_REQUIRE_ALL") == "1":
        raise ImportError("a compiled module was not built, and CALIBRANT_REQUIRE_ALL is 1")
    if made is None:
        pytest.skip("it was not compiled here", allow_module_level=True)
