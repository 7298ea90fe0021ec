"""`calibrant page`: a page that measures the files dropped on it, in a browser."""

from __future__ import annotations

import argparse

from calibrant._cli.output import Outcome, check_page_options, check_writable, print_line
from calibrant._cli.parsing import Parser

DESCRIPTION = (
    "Write a page that measures: a CSV or JSON lines file dropped on it stays in the browser. It "
    "shows a verdict, the ECE with its noise floor, ATB, losses, the calibration slope, AUROC and "
    "a reliability diagram."
)
DEFAULT = "measure.html"


def add_options(parser: Parser) -> None:
    """Add the options of `calibrant page` to its parser."""
    parser.option("-o --out PAGE", f"the HTML file to write; default {DEFAULT}", default=DEFAULT)


def run(options: argparse.Namespace) -> Outcome:
    """Write the page that measures."""
    from calibrant._api.measure_page import measure_page
    from calibrant.results._pages.page import write_page

    check_page_options(options.out, None)
    check_writable(options.out)
    path = str(write_page(options.out, measure_page))
    return Outcome(lambda: {"written": [path]}, lambda: print_line(f"Written: {path}"))
