"""`calibrant report`: predictions in files, evaluated without loading them."""

from __future__ import annotations

import argparse
from typing import Any

from calibrant.show.tables import print_evaluation


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "report",
        help="evaluate predictions in files",
        description="Evaluate predictions in Parquet, CSV, JSONL, Arrow or NPZ files. Several "
        "files, folders and patterns are one set of rows. Columns are found by their usual names "
        "unless they are told.",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="file, folder or pattern")
    parser.add_argument("--label", type=_names, metavar="COLUMN", help="labels; y_true")
    parser.add_argument(
        "--proba", type=_names, action="extend", metavar="COLUMN[,...]",
        help="reports; y_proba. A column, or one for each class: repeat it, or give a list",
    )  # fmt: skip
    parser.add_argument("--weight", metavar="COLUMN", help="weights of rows")
    parser.add_argument("--classes", type=_names, metavar="NAME,...", help="labels, column order")
    parser.add_argument("--from-logits", action="store_true", help="reports are logits")
    parser.add_argument("--bins", type=_bins, default=15, help="a count, or edges 0,...,1")
    parser.add_argument("--measures", type=_names, metavar="NAME,...", help="only these")
    parser.add_argument("--by", type=_names, metavar="COLUMN,...", help="evaluate each value too")
    parser.add_argument("--missing", default="error", help="drop: leave such rows out, counted")
    parser.add_argument("--format", help="parquet, csv, jsonl, arrow or npz, if names do not say")
    parser.add_argument("--one-pass", action="store_true", help="quantile bins from cells")
    parser.add_argument(
        "--progress", action="store_true", default=None, help="also where there is no terminal"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    from calibrant.file_evaluation import evaluate_file

    found = evaluate_file(
        options.files[0] if len(options.files) == 1 else options.files,
        y_true=_one_or_several(options.label),
        y_proba=_one_or_several(options.proba),
        sample_weight=options.weight,
        bins=options.bins,
        measures=options.measures,
        from_logits=options.from_logits,
        classes=options.classes,
        by=options.by,
        missing=options.missing,
        format=options.format,
        exact=not options.one_pass,
        progress=options.progress,
    )
    if options.json:
        print(found.to_json())
        return
    print_evaluation(found, f"{', '.join(options.files)}: {found.recipe['n']:,} rows")


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _one_or_several(names: list[str] | None) -> Any:
    return names[0] if names is not None and len(names) == 1 else names


def _bins(text: str) -> Any:
    try:
        return [float(edge) for edge in text.split(",")] if "," in text else int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither a count nor edges such as 0,0.5,1"
        ) from None
