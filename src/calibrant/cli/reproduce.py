"""`calibrant reproduce`: a paper's experiments again."""

from __future__ import annotations

import argparse
import json
import textwrap
from typing import Any

from calibrant.show.tables import print_table


def add(commands: Any) -> None:
    parser = commands.add_parser("reproduce", help="do a paper's experiments again")
    parser.add_argument("paper", metavar="PAPER", help="soft-mean, logit-smoothing or truthful")
    parser.add_argument("-o", "--out", help="folder for the page, tables and figures")
    parser.add_argument("--data", help="folder of saved predictions (.npz), or a pool's table")
    parser.add_argument("--quick", action="store_true", help="fewer replications")
    parser.add_argument("--seed", type=int, help="instead of the paper's")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    from calibrant.reproducing import reproduce

    done = reproduce(
        options.paper, out=options.out, data=options.data, quick=options.quick, seed=options.seed,
        progress=not options.json,
    )  # fmt: skip
    if options.json:
        print(json.dumps(done.to_dict()))
        return
    print(f"{done.title}: {done.paper}\n")
    for section in done.sections:
        print(f"{section.heading}\n")
        for paragraph in section.paragraphs:
            print("\n".join(textwrap.wrap(paragraph, 100)) + "\n")
        for table in section.tables:
            if table.on_page:
                print_table(table.columns, table.caption)
    for erratum in done.errata:
        print(f"Erratum {erratum.number}, {erratum.where}: {erratum.paper} -> {erratum.found}")
    if options.out is not None:
        print(f"\nWritten: {options.out}/index.html, with tables and figures beside it")
