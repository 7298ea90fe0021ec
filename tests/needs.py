"""Packages that a test compares with, and that need not be installed."""

import importlib
import os
from typing import Any

import pytest


def need(name: str) -> Any:
    """Import a peer; skip without it, or fail where every peer must be there."""
    if os.environ.get("CALIBRANT_REQUIRE_ALL") == "1":
        return importlib.import_module(name)
    return pytest.importorskip(name, reason=f"{name} is not installed")
