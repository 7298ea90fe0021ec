"""Packages that a test compares with, and that need not be installed."""

import doctest
import importlib
import os
import sys
from typing import Any

import pytest

from calibrant._core.errors import MissingExtra
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


def message_without(package: str, module: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """What importing a module of ours says where a package is not installed."""
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, module, raising=False)
    with pytest.raises(MissingExtra) as caught:
        importlib.import_module(module)
    return str(caught.value)


def failed_examples(module: Any) -> int:
    """How many examples of a module's docstrings fail, of some."""
    failed, tried = doctest.testmod(module)
    assert tried
    return failed


def need_compiled(made: object) -> None:
    """Skip a file of tests whose compiled module was not built, or fail where all must be there."""
    if made is None and os.environ.get("CALIBRANT_REQUIRE_ALL") == "1":
        raise ImportError("a compiled module was not built, and CALIBRANT_REQUIRE_ALL is 1")
    if made is None:
        pytest.skip("it was not compiled here", allow_module_level=True)
