"""`calibrant info`: what this installation can do."""

from __future__ import annotations

import argparse
import platform
from typing import Any

from calibrant._cli.output import print_json, print_line
from calibrant._cli.parsing import add_json
from calibrant._core.version import __version__

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


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "info",
        help="what this installation can do",
        description="What this installation can do: its engine, and the packages that it can use.",
    )
    add_json(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    from calibrant._engines.arrays.selection import why_not_native

    facts = installation()
    if options.json:
        print_json(facts)
        return
    for name, value in facts.items():
        shown = ", ".join(value) or "none" if isinstance(value, list) else value
        print_line(f"{name:12} {shown}")
    if not facts["native"]:
        print(
            "\nThe compiled kernels are not there, so everything runs on NumPy: the same numbers, "
            f"several times slower.\nReason: {why_not_native}\n"
            "To get them, install a C compiler and reinstall calibrant."
        )


def installation() -> dict[str, Any]:
    """Collect the versions, the engine and the packages of this installation."""
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
