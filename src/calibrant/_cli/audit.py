"""`calibrant audit`: measures' claims put to the test."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from calibrant._cli.output import Outcome, check_folder, check_own_files, print_status
from calibrant._cli.parsing import add_json, whole

if TYPE_CHECKING:
    from calibrant.results._audit import Audit


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "audit",
        help="put measures' claims to the test",
        description="Test on simulated data with known truth whether measures are truthful, "
        "continuous, complete and sound, whether weights are shares, and how far they depend "
        "on the number of bins. Exit code: 0 if every claim is confirmed, 1 if one is refuted, "
        "2 if one cannot be decided.",
    )
    parser.add_argument(
        "measures", nargs="*", metavar="MEASURE", help="names of measures; default: all"
    )
    parser.add_argument(
        "-o", "--out", metavar="FOLDER", help="folder for the tables (CSV, JSON, Markdown)"
    )
    parser.add_argument(
        "--seed", type=whole, default=0, help="seed of the simulated data; default 0"
    )
    add_json(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> Outcome:
    from calibrant._cli.terminal import working
    from calibrant._research.audits.audit import audit

    check_folder(options.out)
    if options.out is not None:
        check_own_files(options.out, FILES, _is_ours)
    with working("the audit"):
        result = audit(options.measures or None, seed=options.seed)
    if options.out is not None:
        _save(result, options.out)
        print_status(f"written: {options.out}")
    code = 1 if result.refuted else 0 if result else 2
    return Outcome(code, lambda: print(result.to_json() if options.json else result))


# The files that an audit writes, and the bytes that each begins with.
FILES = {
    "audit.csv": b"measure,shape,",
    "audit.json": b'{"rows": ',
    "audit.md": b"# Audit of ",
}


def _is_ours(name: str, content: bytes) -> bool:
    return content.startswith(FILES[name])


def _save(result: Audit, folder: str) -> None:
    """Write to a temporary folder and move the files from there, so that each is whole."""
    import os
    import tempfile
    from pathlib import Path

    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".audit.", dir=target) as beside:
        result.save(beside)
        for file in sorted(Path(beside).iterdir()):
            os.replace(file, target / file.name)
