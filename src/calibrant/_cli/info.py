"""`calibrant info`: what this installation can do."""

from __future__ import annotations

import argparse
import platform
from typing import Any

from calibrant._cli.output import Outcome
from calibrant._cli.parsing import Parser
from calibrant._cli.terminal import print_wrapped
from calibrant._core.version import __version__

DESCRIPTION = "Show what this installation can do: its engine, and the packages that it can use."
# Packages that add formats, colours, figures and engines.
PACKAGES = (
    "pyarrow",
    "rich",
    "shtab",
    "matplotlib",
    "pandas",
    "polars",
    "duckdb",
    "pyspark",
    "torch",
    "sklearn",
)


def add_options(parser: Parser) -> None:
    """Add no option: `calibrant info` has none."""


def run(options: argparse.Namespace) -> Outcome:
    """Report the versions, the engine and the optional packages of this installation."""
    facts = installation()
    return Outcome(lambda: facts, lambda: _show(facts))


def _show(facts: dict[str, Any]) -> None:
    """Print the facts, a line each, and how to get the compiled kernels if they are missing."""
    from calibrant._engines.arrays.selection import why_not_native

    for name, value in facts.items():
        shown = ", ".join(value) or "none" if isinstance(value, list) else value
        print_wrapped(f"{name:12} {shown}", hanging=" " * 13)
    if not facts["native"]:
        print()
        for line in (
            "The compiled kernels are missing, so everything runs on NumPy: the same numbers, "
            "several times slower.",
            f"Reason: {why_not_native}",
            "To get them, install a C compiler and reinstall calibrant.",
        ):
            print_wrapped(line)


def installation() -> dict[str, Any]:
    """Collect the versions, the engine and the optional packages of this installation.

    The packages are listed under `with` (installed) and `without` (not installed).
    """
    from importlib import metadata
    from importlib.util import find_spec

    from calibrant._core.engine_choice import n_threads
    from calibrant._engines.arrays.selection import available, kernels

    return {
        "calibrant": __version__,
        "python": platform.python_version(),
        "numpy": metadata.version("numpy"),
        "scipy": metadata.version("scipy"),
        "narwhals": metadata.version("narwhals"),
        "engine": kernels().name,
        "native": "native" in available(),
        "threads": n_threads(),
        "machine": platform.machine(),
        "with": [name for name in PACKAGES if find_spec(name) is not None],
        "without": [name for name in PACKAGES if find_spec(name) is None],
    }
