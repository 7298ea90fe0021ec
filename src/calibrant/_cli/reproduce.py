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
    "Repeat the experiments of a paper. The values that it prints stand beside the measured ones, "
    "and its errors are marked."
)


def add_options(parser: Parser) -> None:
    """Add the options of `calibrant reproduce` to its parser."""
    parser.add_argument(
        "paper",
        metavar="PAPER",
        help="one of ten-bins, soft-mean, logit-smoothing, truthful, ambiguous, literature",
    )
    parser.option("-o --out FOLDER", "write a page, tables and figures to this folder")
    parser.option(
        "--data FILE",
        "saved predictions that the paper needs: a folder (.npz files or checkouts) or a table",
    )
    parser.option("--quick", "run fewer replications")
    parser.option("--seed SEED", "use this seed instead of the paper's")
    parser.option("--tau TAU", "soft-mean: the threshold of labels, instead of 0.5")
    parser.option(
        "--inputs",
        "soft-mean: draw x uniformly, as in the paper, or from the Gaussian classes",
        choices=("uniform", "gaussian"),
    )
    parser.option("--sd SD", "soft-mean: the standard deviation of class 1, instead of 1")
    parser.option("--dimensions N", "soft-mean: the dimensions of x, instead of 1")


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
