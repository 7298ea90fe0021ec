"""`calibrant audit`: measures' claims put to the test."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from calibrant._cli.output import Outcome, check_folder, check_own_files, print_status
from calibrant._cli.parsing import Parser, names
from calibrant._cli.terminal import print_wrapped, spinner

if TYPE_CHECKING:
    from calibrant.results._audit import Audit


DESCRIPTION = (
    "Test on simulated data, whose truth is known, whether measures are truthful, continuous, "
    "complete and sound, whether a weight of 2 counts as two rows, and how much measures depend on "
    "the number of bins. Exit code 0: every claim is confirmed; 1: one is refuted; 2: one is "
    "undecided."
)
# The files that an audit writes, and the bytes that each begins with.
FILES = {
    "audit.csv": b"measure,shape,",
    "audit.json": b'{"$schema": "urn:calibrant:',
    "audit.md": b"# Audit of ",
}


def add_options(parser: Parser) -> None:
    """Add the options of `calibrant audit` to its parser."""
    parser.add_argument(
        "measures", nargs="*", metavar="MEASURE", help="a measure's name; default: all measures"
    )
    parser.option(
        "--properties NAME,...",
        "some of truthful, continuous, complete, sound, weighted and bin_sensitivity (default: "
        "all), or sequential: can a forecaster who sees earlier outcomes beat the truth?",
        type=names,
    )
    parser.option("-o --out FOLDER", "write tables (CSV, JSON, Markdown) to this folder")
    parser.option("--seed SEED", "the seed of the simulated data; default 0", default=0)


def run(options: argparse.Namespace) -> Outcome:
    """Audit the measures, and write the tables if a folder is given."""
    from calibrant._research.audits.audit import audit

    check_folder(options.out)
    if options.out is not None:
        check_own_files(options.out, FILES, lambda name, content: content.startswith(FILES[name]))
    with spinner("the audit"):
        some = {} if options.properties is None else {"properties": options.properties}
        result = audit(options.measures or None, seed=options.seed, **some)
    if options.out is not None:
        _save(result, options.out)
        print_status(f"written: {options.out}")
    code = 1 if result.refuted else 0 if result else 2
    return Outcome(result.to_dict, lambda: _show(result), code)


def _show(result: Audit) -> None:
    """Print which properties each measure has, and for one or two measures what was found."""
    from calibrant._cli.tables import print_summary, print_table

    print_summary(result.title, result._messages())
    print_table(result.table())
    if result._has_few:
        for row in result.rows:
            print_wrapped(f"  {row.property}: {row.sentence}", hanging="  ")


def _save(result: Audit, folder: str) -> None:
    """Write the three files of an audit to a folder, which is created if absent.

    They are written to a temporary folder first and moved from there, so that each is complete.
    """
    import os
    import tempfile
    from pathlib import Path

    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".audit.", dir=target) as beside:
        result.save(beside)
        for file in sorted(Path(beside).iterdir()):
            os.replace(file, target / file.name)
