"""`calibrant check`: a gate for pipelines, which passes only what the data show to be good."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from calibrant._cli import inputs
from calibrant._cli.output import print_json
from calibrant._cli.parsing import add_json, named_number
from calibrant._cli.words import in_options
from calibrant._core.errors import InputError

if TYPE_CHECKING:
    from calibrant.results._check import Check

# Predictions that are kept in memory, (n, k) counted as n k.
HELD = 200_000_000
_STYLES = {"pass": "bold green", "fail": "bold red", "undecided": "bold yellow"}


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "check",
        help="hold predictions to limits: 0 pass, 1 fail, 2 undecided",
        description="Check measures against limits, with their confidence intervals. Exit code 0: "
        "every interval lies within its limit; 1: an interval lies beyond its limit; 2: undecided, "
        "an interval contains its limit; 3: the check could not be done. " + inputs.DESCRIPTION,
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="file, folder or pattern")
    parser.add_argument(
        "--max", dest="at_most", type=named_number, action="append", default=[],
        metavar="MEASURE=LIMIT", help="at most this much, such as ece=0.05; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--min", dest="at_least", type=named_number, action="append", default=[],
        metavar="MEASURE=LIMIT", help="at least this much",
    )  # fmt: skip
    parser.add_argument(
        "--point", action="store_true", help="judge the values alone, without intervals"
    )
    inputs.add_columns(parser)
    inputs.add_bins(parser)
    inputs.add_groups(parser, "check each value of these columns too")
    inputs.add_chance(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    limits = {"at_most": options.at_most, "at_least": options.at_least}
    for option, counts in limits.items():
        if len(dict(counts)) < len(counts):
            raise InputError(f"{_SPELT[option]} names a measure twice: say its limit once")
    if not (options.at_most or options.at_least):
        raise InputError("there is nothing to check: say --max ece=0.05, or --min MEASURE=LIMIT")
    if options.point and options.groups is not None:
        raise InputError(
            "--groups has no effect with --point, which computes no interval: drop one of them"
        )
    taken = inputs.take_from_logs(options, by=False, held=not options.point)
    result, messages = _checked(options)
    messages = (*map(in_options, messages), *taken)
    options.code = result.code  # true whether or not anyone reads what follows
    if options.json:
        print_json({**result.to_dict(), "files": options.files, "inferred": list(messages)})
        return result.code
    _show(result, messages, inputs.format_files(options.files))
    return result.code


_SPELT = {"at_most": "--max", "at_least": "--min"}


def _checked(options: argparse.Namespace) -> tuple[Check, tuple[str, ...]]:
    """The verdict, and what was found out about the files."""
    from calibrant._api.check import check
    from calibrant._cli.terminal import working
    from calibrant._data.readers.read_rows import TooLarge, read_rows

    try:
        rows = read_rows(inputs.request_of(options, options.files), at_most=HELD)
    except TooLarge:
        if options.point and options.by is None:
            return _streamed(options)
        raise InputError(
            f"there are more than {HELD:,} predictions, too many to keep in memory for an "
            "interval: check a sample of the rows, or the values alone with --point and no --by"
        ) from None
    with working("intervals"):
        result = check(
            rows.y_true, rows.y_proba, at_most=dict(options.at_most),
            at_least=dict(options.at_least), level=options.level, point=options.point,
            bins=options.bins, groups=inputs.groups_of(rows, options.groups),
            by=inputs.slices_of(rows, options.by), seed=options.seed,
            sample_weight=rows.sample_weight, from_logits=options.from_logits,
        )  # fmt: skip
    name = ", ".join(options.by or ())
    parts = [
        limit if limit.where is None else replace(limit, where=f"{name} {limit.where}")
        for limit in result.rows
    ]
    return replace(result, rows=tuple(parts), n_missing=rows.n_missing), rows.messages


def _streamed(options: argparse.Namespace) -> tuple[Check, tuple[str, ...]]:
    from calibrant._api.check import check_values, limits_of
    from calibrant._api.files.evaluate_file import evaluate_file

    at_most, at_least = dict(options.at_most), dict(options.at_least)
    result = evaluate_file(
        **inputs.streamed_arguments(options), bins=options.bins,
        measures=list(dict.fromkeys([*at_most, *at_least])),
    )  # fmt: skip
    multiclass = result.inferred[0].startswith("multiclass")
    limits = limits_of(at_most, at_least, "multiclass" if multiclass else "binary")
    n_missing = int(result.recipe.get("n_missing", 0))
    return check_values(result.values, limits, result.recipe["n"], n_missing), result.inferred


def _show(result: Check, messages: tuple[str, ...], files: str) -> None:
    import sys

    from calibrant._api.evaluate_samples import missing_note
    from calibrant._cli.tables import print_table
    from calibrant._cli.terminal import PLAIN, print_styled

    print_styled(f"{result.verdict}: {files}", _STYLES[result.verdict], file=sys.stdout)
    notes = (in_options(missing_note(result.n_missing)),) if result.n_missing else ()
    for line in (*messages, *notes, *(limit.sentence for limit in result.rows)):
        print_styled(f"  {line}", PLAIN, file=sys.stdout)
    print()
    print_table(result.columns(), "Limits")
