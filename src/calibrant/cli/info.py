"""`calibrant info`: what this installation can do."""

from __future__ import annotations

import argparse
import json
import platform
from importlib import metadata
from typing import Any

from calibrant import __version__
from calibrant.engines.selection import available, kernels, n_threads, why_not_native


def add(commands: Any) -> None:
    parser = commands.add_parser("info", help="what this installation can do")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    facts = installation()
    if options.json:
        print(json.dumps(facts))
        return
    for name, value in facts.items():
        print(f"{name:12} {value}")
    if not facts["native"]:
        print(
            "\nThe compiled kernels are not there, so everything runs on NumPy: the same numbers, "
            f"several times slower.\nReason: {why_not_native}\n"
            "To get them, install a C compiler and reinstall calibrant."
        )


def installation() -> dict[str, Any]:
    """What this installation is and can do."""
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
    }
