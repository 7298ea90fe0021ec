"""`calibrant conventions`: what each well-known tool would report for the same predictions."""

from __future__ import annotations

import argparse

from calibrant._cli import inputs
from calibrant._cli.options import READS_FILES, add_columns, add_files
from calibrant._cli.output import Outcome, print_lines
from calibrant._cli.parsing import Parser, bin_count
from calibrant._cli.terminal import print_wrapped
from calibrant._core.errors import counted

DESCRIPTION = (
    "Show what each well-known tool reports as ECE for the same predictions, and why they differ. "
    f"The tools need not be installed. {READS_FILES}"
)


def add_options(parser: Parser) -> None:
    """Add the options of `calibrant conventions` to its parser."""
    add_files(parser)
    add_columns(parser, weight=False)
    parser.option(
        "--bins BINS",
        "the number of bins for all tools (default 15), or cbrt or auto, as in `calibrant report`",
        type=bin_count,
        default=15,
    )
    parser.option("--details", "also print the rules of tools whose numbers do not differ")


def run(options: argparse.Namespace) -> Outcome:
    """Compute the ECE of the files by the rule of each well-known tool."""
    from calibrant._api.conventions import conventions
    from calibrant._api.evaluate_samples import missing_notes
    from calibrant._data.readers.read_rows import read_rows

    rows = read_rows(inputs.request_of(options, options.files))
    result = conventions(
        rows.y_true, rows.y_proba, bins=options.bins, from_logits=options.from_logits
    )

    def show() -> None:
        """Print what was read, the table of tools, and why the tools that differ do so."""
        from calibrant._cli.file_messages import short_lines
        from calibrant._cli.tables import print_table

        missing = missing_notes(rows.n_missing, rows.messages)
        note = (result.note,) if result.note else ()
        files = inputs.format_files(options.files)
        lines = (*short_lines(rows.messages), *missing, *note)
        print_lines(f"{files}: {counted(rows.n, 'row')}", lines)
        print_wrapped(result._agreement)
        print_table(result._short_columns(), f"What each tool reports as ECE ({result.notion})")
        explained = result.rows if options.details else result._differing
        for row in explained:
            print_wrapped(f"{row.tool}: {row.why}", hanging="  ")
        if len(explained) < len(result.rows):
            print_wrapped("--details prints the rules of the other tools too")

    about_rows = {"n": rows.n, "n_missing": rows.n_missing, "inferred": list(rows.messages)}
    return Outcome(lambda: {**result.to_dict(), **about_rows}, show)
