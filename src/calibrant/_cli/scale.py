"""`calibrant scale`: fit a recalibration map to one file, put another through it."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from calibrant._cli import inputs
from calibrant._cli.output import atomic_write, check_writable, print_json, say, tell
from calibrant._cli.parsing import add_json, changed, names, shares
from calibrant._core.atomic_files import version_of
from calibrant._core.errors import InputError, counted
from calibrant._core.map_names import METHODS

if TYPE_CHECKING:
    from calibrant._cli.recalibration import Fitted

AUTO = "auto"
ON_THE_FIT = "Before and after, on the rows of the fit: every map looks too good there"


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "scale",
        help="recalibrate: fit a map, put predictions through it",
        description="Fit a recalibration map to held-out rows (--fit), put predictions through it "
        "(--apply), or both. A map is kept in a JSON file: written by --fit, read without it. "
        + inputs.DESCRIPTION,
    )
    parser.add_argument("--fit", metavar="FILE", help="held-out rows to fit a map to")
    parser.add_argument(
        "--map",
        "--method",
        dest="method",
        choices=(*METHODS, AUTO),
        default="temperature",
        help="the map; default temperature. auto: the simplest of those whose log loss, on rows of "
        "the fit that a map was not fitted to, is within one standard error of the lowest",
    )
    parser.add_argument(
        "--groups",
        metavar="COLUMN",
        help="column that names the cluster of each row (patient, day): --map auto keeps a cluster "
        "together",
    )
    parser.add_argument(
        "--prior",
        type=shares,
        metavar="SHARE",
        help="with --method prior-shift: the share of class 1 where the map is used (of all "
        "classes: a,b,c)",
    )
    parser.add_argument(
        "--source-prior",
        type=shares,
        metavar="SHARE",
        help="with --method prior-shift: the share at which the predictions are calibrated; by "
        "default that of the labels, if --prior is given",
    )
    parser.add_argument("--apply", metavar="FILE", help="rows to put through the map")
    parser.add_argument("--scaler", metavar="FILE", help="the map's file (.json)")
    parser.add_argument(
        "--no-fitted-rows",
        dest="fitted_rows",
        action="store_false",
        help="write the map without the hashes of up to 4,096 rows by which rows of the fit are "
        "recognised",
    )
    parser.add_argument(
        "-o",
        "--out",
        metavar="FILE",
        help="recalibrated rows (.csv, .jsonl, .parquet, .arrow, .npz); without --apply, the map",
    )
    parser.add_argument(
        "--keep", type=names, metavar="COLUMN,...", help="columns to copy to the output"
    )
    inputs.add_columns(parser)
    inputs.add_bins(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    from calibrant._cli.recalibration import fitted, loaded

    _check_clear(options)
    map_file = options.scaler if options.apply is not None else options.scaler or options.out
    written_map = None if options.fit is None else map_file
    _check_nothing_lost(options, written_map)
    if options.fit is not None:
        before = None if written_map is None else version_of(written_map)
        _check_kept(options)
        own = changed(options, keep=None)  # of the applied rows alone
        request = inputs.request_of(own, options.fit)
        kind = None if options.method == AUTO else METHODS[options.method]
        fit_result = fitted(
            request,
            kind,
            options.bins,
            groups=options.groups,
            priors=(options.prior, options.source_prior),
        )
        if written_map is not None:
            with atomic_write(written_map, since=before) as temp:
                text = fit_result.to_json(fitted_rows=options.fitted_rows)
                temp.write_text(text + "\n", encoding="utf-8")
    else:
        fit_result = loaded(options.scaler)
    result: dict[str, Any] = {"scaler": fit_result.to_dict(fitted_rows=options.fitted_rows)}
    if options.fit is not None:
        result["fit"] = {"file": options.fit, **fit_result.summary}
    if options.apply is not None:
        result["apply"] = _apply(fit_result, options)
    for path in dict.fromkeys((written_map, options.out)):
        if path is not None:
            tell(f"written: {path}")
    if options.json:
        print_json(result)
    else:
        _show(fit_result, result)


def _check_clear(options: argparse.Namespace) -> None:
    if options.fit is None and options.apply is None:
        raise InputError("there is nothing to do: say --fit FILE, --apply FILE, or both")
    shifts = options.fit is not None and options.method == "prior-shift"
    if not shifts and (options.prior is not None or options.source_prior is not None):
        raise InputError("--prior and --source-prior need --fit FILE --method prior-shift")
    if options.fit is None and options.scaler is None:
        raise InputError("--apply needs a map: name its file with --scaler, or fit one with --fit")
    if options.groups is not None and (options.fit is None or options.method != AUTO):
        raise InputError("--groups is for the choice of a map: it needs --fit and --map auto")
    if options.apply is not None:
        from calibrant._cli.written_rows import format_of

        if options.out is None:
            raise InputError("--apply needs a file to write to: -o FILE")
        format_of(options.out)
    elif options.scaler is not None and options.out is not None:
        raise InputError("--scaler and -o both name the map's file: leave out one of them")
    elif options.keep is not None:
        raise InputError("--keep copies columns to the recalibrated rows: it needs --apply")


def _check_nothing_lost(options: argparse.Namespace, map_file: str | None) -> None:
    """An error if a file that is read, or rows by their name, would be lost to what is written."""
    from calibrant._cli.written_rows import check_rows_name

    read = [options.fit, options.apply, None if options.fit is not None else options.scaler]
    for path in dict.fromkeys((options.out, map_file)):
        check_writable(path, read, options.format)
    if map_file is None:
        return
    check_rows_name(map_file)
    if options.apply is not None and os.path.realpath(map_file) == os.path.realpath(options.out):
        raise InputError("--scaler and -o name one file: the map and the rows need one each")


def _check_kept(options: argparse.Namespace) -> None:
    """An error before anything is fitted, if there is no column to keep."""
    if options.keep is None:
        return
    from calibrant._data.readers.columns import require
    from calibrant._data.readers.recognise import find_files
    from calibrant._data.readers.source import open_reader

    reader = open_reader(find_files(options.apply, options.format)[0])
    for name in options.keep if reader.names else ():
        require(reader, "keep", name)


def _apply(fit_result: Fitted, options: argparse.Namespace) -> dict[str, Any]:
    """Write the recalibrated rows; what became better or worse, if there are labels."""
    from calibrant._cli.recalibration import before_and_after, mapped, rows_to_map
    from calibrant._cli.written_rows import renamed_labels, write_rows

    own = changed(options, groups=None)  # clusters are of the fit
    request = inputs.request_of(own, options.apply)
    rows, labelled = rows_to_map(request, fit_result)
    after, share = mapped(rows, fit_result)
    with atomic_write(options.out) as temp:
        write_rows(temp, rows, after, labelled=labelled)
    renamed = renamed_labels(options.out, rows) if labelled else None
    return {
        "file": options.apply,
        "out": options.out,
        "n": rows.n,
        "n_missing": rows.n_missing,
        "inferred": [*rows.messages, *([] if renamed is None else [renamed])],
        "share_fitted": share,
        "measures": before_and_after(rows, after, fit_result, options.bins) if labelled else None,
    }


def _show(fit_result: Fitted, result: dict[str, Any]) -> None:
    from calibrant._api.evaluate_samples import missing_note
    from calibrant._cli.tables import print_table

    if fit_result.choice is not None:
        for line in str(fit_result.choice).splitlines():
            say(line)
        say()
    for line in str(fit_result.scaler).splitlines():
        say(line)
    for section in (result.get("fit"), result.get("apply")):
        if section is None:
            continue
        title = _title(section["share_fitted"]) if "share_fitted" in section else ON_THE_FIT
        say()
        say(f"{section['file']}: {counted(section['n'], 'row')}")
        for line in section["inferred"]:
            say(f"  {line}")
        if section["n_missing"]:
            say(f"  {missing_note(section['n_missing'])}")
        if section["measures"] is None:
            say("  no labels were found or named (--label): the map is not evaluated")
        else:
            say()
            print_table(section["measures"], title)


def _title(share: float | None) -> str:
    """What is known of the rows that a map is judged on; never that it has not seen them."""
    from calibrant.scaling._same_rows import among

    if share is None:
        return (
            "Before and after (rows of the fit would not be recognised here: the predictions "
            "repeat too much)"
        )
    if share == 0:
        return "Before and after (no row of the fit was recognised among these)"
    if share >= 0.995:
        return ON_THE_FIT
    return f"Before and after: {among(share, 'the map')}, and every map looks too good there"
