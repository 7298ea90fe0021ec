"""`calibrant centres`: calibration over several centres, and what a new one may show."""

from __future__ import annotations

import argparse

from calibrant._cli import inputs
from calibrant._cli.options import CLUSTERS, READS_FILES, add_columns, add_files
from calibrant._cli.output import Outcome, check_picture, check_writable, print_status
from calibrant._cli.parsing import Parser
from calibrant._cli.terminal import print_wrapped, spinner
from calibrant._core.errors import InputError

DESCRIPTION = (
    "Estimate the calibration slope, intercept, O:E ratio and C-statistic of a binary outcome at "
    "each centre, their mean (random effects), and a prediction interval for a new centre. "
    f"{READS_FILES}"
)
QUANTITIES = ("slope", "intercept_in_the_large", "observed_expected", "c_statistic")


def add_options(parser: Parser) -> None:
    """Add the options of `calibrant centres` to its parser."""
    add_files(parser)
    parser.option("--by COLUMN,...", "the column that names the centre of each row (required)")
    parser.option("-o --out PICTURE", "also draw the centres (.png, .svg, .pdf)")
    parser.option(
        "--draw",
        "what -o draws: a forest plot of one quantity, or the mean calibration curve",
        choices=(*QUANTITIES, "curve"),
        default="slope",
    )
    parser.option("--details", "also print the values of every centre")
    add_columns(parser)
    parser.option("--groups COLUMN", f"{CLUSTERS} (patient)")
    parser.option("--level LEVEL", "the confidence level of intervals; default 0.95", default=0.95)


def run(options: argparse.Namespace) -> Outcome:
    """Summarise the centres of the files, and draw them if an option asks for it."""
    from calibrant._api.centres import centres
    from calibrant._data.readers.read_rows import read_rows
    from calibrant._data.slice_names import row_names

    if not options.by:
        raise InputError("--by must name the column of the centres, such as --by hospital")
    check_picture(options.out)
    check_writable(options.out, options.files, options.format)
    rows = read_rows(inputs.request_of(options, options.files), at_most=10_000_000)
    with spinner("centres"):
        found = centres(
            rows.y_true,
            rows.y_proba,
            by=row_names([rows.other("by", name) for name in options.by]),
            groups=inputs.groups_of(rows, options.groups),
            sample_weight=rows.sample_weight,
            classes=rows.class_names,
            **inputs.options_by_name(options, "level", "from_logits"),
        )
    if options.out is not None:
        (found.plot_curve() if options.draw == "curve" else found.plot(options.draw)).save(
            options.out
        )
        print_status(f"written: {options.out}")

    def show() -> None:
        """Print the title, the messages, the means over centres, and the centres' slopes."""
        from calibrant._cli.file_messages import short_lines
        from calibrant._cli.tables import print_summary, print_table

        print_summary(found.title, (*found._messages(), *short_lines(rows.messages)))
        print_table(found.display_columns(), "Mean of centres, and a new centre")
        for quantity in QUANTITIES if options.details else ():
            own = {key: part for key, part in found.each[quantity].items() if key != "note"}
            print_table(own, f"{quantity} by centre")
        if not options.details:
            print_wrapped("  --details prints every centre")

    return Outcome(found.to_dict, show)
