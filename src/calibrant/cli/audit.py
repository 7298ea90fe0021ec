"""`calibrant audit`: measures' claims put to the test."""

from __future__ import annotations

import argparse
from typing import Any


def add(commands: Any) -> None:
    parser = commands.add_parser("audit", help="put measures' claims to the test")
    parser.add_argument("measures", nargs="*", metavar="MEASURE", help="names; default all")
    parser.add_argument("-o", "--out", help="folder for the tables (CSV, JSON, Markdown)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    from calibrant.auditing import audit

    found = audit(options.measures or None, seed=options.seed)
    if options.out is not None:
        found.save(options.out)
    print(found.to_json() if options.json else found)
