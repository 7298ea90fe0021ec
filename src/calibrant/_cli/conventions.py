"""`calibrant conventions`: what each well-known tool would report for the same predictions."""

from __future__ import annotations

import argparse
from typing import Any

from calibrant._cli import inputs
from calibrant._cli.output import print_json, print_line
from calibrant._cli.parsing import add_json, bin_count
from calibrant._core.errors import counted


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "conventions",
        help="what each well-known tool would report",
        description="What each well-known tool would report as ECE for the same predictions, and "
        "why they differ. None of them needs to be installed. " + inputs.DESCRIPTION,
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="file, folder or pattern")
    inputs.add_columns(parser, weight=False)
    parser.add_argument(
        "--bins",
        type=bin_count,
        default=15,
        help="number of bins for all tools; default 15; or cbrt or auto, by the number of rows",
    )
    add_json(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    from calibrant._api.conventions import conventions
    from calibrant._data.readers.read_rows import read_rows

    rows = read_rows(inputs.request_of(options, options.files))
    result = conventions(
        rows.y_true, rows.y_proba, bins=options.bins, from_logits=options.from_logits
    )
    if options.json:
        print_json(
            {
                **result.to_dict(),
                "n": rows.n,
                "n_missing": rows.n_missing,
                "inferred": list(rows.messages),
            }
        )
        return
    from calibrant._api.evaluate_samples import missing_note
    from calibrant._cli.tables import print_table

    print_line(f"{', '.join(options.files)}: {counted(rows.n, 'row')}")
    missing = (missing_note(rows.n_missing),) if rows.n_missing else ()
    note = (result.note,) if result.note else ()
    for line in (*rows.messages, *missing, *note):
        print_line(f"  {line}")
    print_line()
    kept = {k: v for k, v in result.columns().items() if k not in ("rule", "why", "version")}
    print_table(kept, f"What each tool would call ECE ({result.notion})")
    for row in result.rows:
        print_line(f"{row.tool}: {row.why}")
