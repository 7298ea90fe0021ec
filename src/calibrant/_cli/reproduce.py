"""`calibrant reproduce`: a paper's experiments again."""

from __future__ import annotations

import argparse
import textwrap
from typing import Any

from calibrant._cli.output import check_folder, print_json, print_line
from calibrant._cli.parsing import add_json, whole


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "reproduce",
        help="do a paper's experiments again",
        description="Reproduce a paper's experiments: printed values beside measured ones, and "
        "errors of the paper marked.",
    )
    parser.add_argument(
        "paper", metavar="PAPER", help="soft-mean, logit-smoothing, truthful or ambiguous"
    )
    parser.add_argument(
        "-o", "--out", metavar="FOLDER", help="folder for the page, tables and figures"
    )
    parser.add_argument(
        "--data", metavar="FILE", help="folder of saved predictions (.npz), or a pool's table"
    )
    parser.add_argument("--quick", action="store_true", help="fewer replications")
    parser.add_argument("--seed", type=whole, help="a seed instead of the paper's")
    add_json(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    from calibrant._cli.tables import print_table
    from calibrant._research.papers.reproduce import reproduce

    check_folder(options.out)
    done = reproduce(
        options.paper,
        out=options.out,
        data=options.data,
        quick=options.quick,
        seed=options.seed,
        progress=not options.json,
    )
    if options.json:
        print_json(done.to_dict())
        return
    print_line(f"{done.title}: {done.paper}")
    print_line()
    for section in done.sections:
        print_line(section.heading)
        print_line()
        for paragraph in section.paragraphs:
            for line in (*textwrap.wrap(paragraph, 100), ""):
                print_line(line)
        for table in section.tables:
            if table.on_page:
                print_table(table.columns, table.caption)
    for erratum in done.errata:
        print_line(f"Erratum {erratum.number}, {erratum.where}: {erratum.paper} -> {erratum.found}")
    if options.out is not None:
        print_line()
        print_line(f"Written: {options.out}/index.html, with tables and figures beside it")
