"""`calibrant reproduce`: a paper's experiments again."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from calibrant._cli.inputs import options_by_name
from calibrant._cli.output import Outcome, check_folder, print_line, print_lines
from calibrant._cli.parsing import Parser
from calibrant._cli.terminal import print_wrapped

if TYPE_CHECKING:
    from calibrant._research.papers.folder import Reproduction

DESCRIPTION = (
    "Reproduce a paper's experiments: printed values beside measured ones, and errors of the paper "
    "marked."
)


def add_options(parser: Parser) -> None:
    """Add the options of `calibrant reproduce` to its parser."""
    parser.add_argument(
        "paper",
        metavar="PAPER",
        help="ten-bins, soft-mean, logit-smoothing, truthful, ambiguous or literature",
    )
    parser.option("-o --out FOLDER", "folder for the page, tables and figures")
    parser.option(
        "--data FILE", "folder of saved predictions (.npz) or checkouts, or a pool's table"
    )
    parser.option("--quick", "fewer replications")
    parser.option("--seed SEED", "a seed instead of the paper's")
    parser.option("--tau TAU", "soft-mean: threshold of labels, in place of 0.5")
    parser.option(
        "--inputs",
        "soft-mean: x is uniform, as in the paper, or drawn from the Gaussian classes",
        choices=("uniform", "gaussian"),
    )
    parser.option("--sd SD", "soft-mean: standard deviation of class 1, in place of 1")
    parser.option("--dimensions N", "soft-mean: dimensions of x, in place of 1")


def run(options: argparse.Namespace) -> Outcome:
    """Repeat the paper's experiments, and write the page and the tables if a folder is given."""
    from calibrant._research.papers.reproduce import reproduce

    check_folder(options.out)
    done = reproduce(
        options.paper,
        **options_by_name(options, "out", "data", "quick", "seed"),
        **options_by_name(options, "tau", "inputs", "sd", "dimensions"),
        progress=not options.json,
    )
    return Outcome(done.to_dict, lambda: _show(done, options.out))


def _show(done: Reproduction, folder: str | None) -> None:
    """Print the sections with their tables, the errors found in the paper, and written files."""
    from calibrant._cli.tables import print_table

    print_lines(f"{done.title}: {done.paper}", ())
    for section in done.sections:
        print_lines(section.heading, ())
        for paragraph in section.paragraphs:
            print_lines(paragraph, ())
        for table in section.tables:
            if table.on_page:
                print_table(table.columns, table.caption)
    for erratum in done.errata:
        found = f"{erratum.paper} -> {erratum.found}"
        print_wrapped(f"Erratum {erratum.number}, {erratum.where}: {found}", hanging="  ")
    if folder is not None:
        print_line()
        print_line(f"Written: {folder}/index.html, with tables and figures beside it")
