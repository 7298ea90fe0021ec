"""`calibrant scale`: fit a recalibration map to one file, put another through it."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from calibrant._cli import inputs
from calibrant._cli.options import CLUSTERS, READS_FILES, add_bins, add_columns
from calibrant._cli.output import (
    Outcome,
    atomic_write,
    check_writable,
    print_status,
)
from calibrant._cli.parsing import Parser, replace_options
from calibrant._cli.terminal import print_wrapped
from calibrant._core.atomic_files import version_of
from calibrant._core.errors import InputError, counted
from calibrant._core.map_names import METHODS

if TYPE_CHECKING:
    from calibrant._cli.recalibration import FittedMap
    from calibrant._measures.catalogue import Shape
    from calibrant.results._rendering import Columns

DESCRIPTION = (
    "Fit a recalibration map to held-out rows (--fit), apply a map to predictions (--apply), or "
    "both. --scaler names the JSON file of the map, which --fit writes, and which --apply alone "
    "reads. " + READS_FILES
)
AUTO = "auto"
ON_THE_FIT = "Before and after, on the rows of the fit, where every map looks too good"


def add_options(parser: Parser) -> None:
    """Add the options of `calibrant scale` to its parser."""
    parser.option("--fit FILE", "held-out rows to fit the map to")
    parser.option(
        "--map --method",
        "the map (default temperature), or auto: the simplest map whose cross-validated log loss "
        "is within one standard error of the lowest",
        dest="method",
        choices=(*METHODS, AUTO),
        default="temperature",
    )
    parser.option(
        "--groups COLUMN", f"with --map auto: {CLUSTERS} (patient, day), which is kept in one fold"
    )
    parser.option(
        "--prior SHARE",
        "with --map prior-shift: the share of class 1 where the map will be used (of all classes: "
        "a,b,c)",
    )
    parser.option(
        "--source-prior SHARE",
        "with --map prior-shift: the share of class 1 for which the predictions were made; by "
        "default that of the labels, if --prior is given",
    )
    parser.option("--apply FILE", "rows to apply the map to")
    parser.option("--scaler FILE", "the file of the map (.json)")
    parser.option(
        "--no-fitted-rows",
        "leave out of the map's file the hashes of up to 4,096 rows, by which rows of the fit are "
        "recognised later",
        dest="fitted_rows",
        action="store_false",
    )
    parser.option(
        "-o --out FILE",
        "with --apply: the file of recalibrated rows (.csv, .jsonl, "
        ".parquet, .arrow, .npz); without "
        "it: the file of the map",
    )
    parser.option("--keep COLUMN,...", "with --apply: columns to copy to the output")
    add_columns(parser)
    add_bins(parser)


def run(options: argparse.Namespace) -> Outcome:
    """Fit a map or load one, write it, and recalibrate the rows of --apply by it."""
    from calibrant._cli.recalibration import fit_map, load_map

    _check_options(options)
    map_file = options.scaler if options.apply is not None else options.scaler or options.out
    written_map = None if options.fit is None else map_file
    _check_nothing_lost(options, written_map)
    if options.fit is not None:
        before = None if written_map is None else version_of(written_map)
        _check_kept_columns(options)
        own = replace_options(options, keep=None)  # the output has the applied rows only
        if _has_both(options):
            own.half = "val"
        request = inputs.request_of(own, options.fit)
        kind = None if options.method == AUTO else METHODS[options.method]
        fitted_map = fit_map(
            request,
            kind,
            options.bins,
            groups=options.groups,
            priors=(options.prior, options.source_prior),
        )
        if written_map is not None:
            with atomic_write(written_map, since=before) as temp:
                text = fitted_map.to_json(fitted_rows=options.fitted_rows)
                temp.write_text(text + "\n", encoding="utf-8")
    else:
        fitted_map = load_map(options.scaler)
    result: dict[str, Any] = {}
    if options.fit is not None:
        result["fit"] = {"file": options.fit, **fitted_map.summary}
    if options.apply is not None:
        result["apply"] = _apply(fitted_map, options)
    # Last, since its hashes of rows are long.
    result["scaler"] = fitted_map.to_dict(fitted_rows=options.fitted_rows)
    for path in dict.fromkeys((written_map, options.out)):
        if path is not None:
            print_status(f"written: {path}")
    return Outcome(lambda: result, lambda: _show(fitted_map, result))


def _check_options(options: argparse.Namespace) -> None:
    """Raise an error for options that contradict each other, before any row is read."""
    if options.fit is None and options.apply is None:
        raise InputError("nothing is asked for: give --fit FILE, --apply FILE, or both")
    shifts = options.fit is not None and options.method == "prior-shift"
    if not shifts and (options.prior is not None or options.source_prior is not None):
        raise InputError("--prior and --source-prior need --fit FILE --method prior-shift")
    if options.fit is None and options.scaler is None:
        raise InputError("--apply needs a map: name its file with --scaler, or fit one with --fit")
    if options.groups is not None and (options.fit is None or options.method != AUTO):
        raise InputError("--groups needs --fit and --map auto, which chooses a map")
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
    """Raise an error if a written file would replace an input, or the map the output rows.

    `map_file` is where the map will be written, or None.
    """
    from calibrant._cli.written_rows import check_map_name

    read = [options.fit, options.apply, None if options.fit is not None else options.scaler]
    for path in dict.fromkeys((options.out, map_file)):
        check_writable(path, read, options.format)
    if map_file is None:
        return
    check_map_name(map_file)
    if options.apply is not None and os.path.realpath(map_file) == os.path.realpath(options.out):
        raise InputError(
            "--scaler and -o name the same file, and the map and the rows each need their own"
        )


def _check_kept_columns(options: argparse.Namespace) -> None:
    """Raise an error, before the fit, if the file of --apply lacks a column of --keep."""
    if options.keep is None:
        return
    from calibrant._data.readers.columns import require
    from calibrant._data.readers.recognise import find_files
    from calibrant._data.readers.source import open_reader

    reader = open_reader(find_files(options.apply, options.format)[0])
    for name in options.keep if reader.names else ():
        require(reader, "keep", name)


def _has_both(options: argparse.Namespace) -> bool:
    """Whether one NPZ file has the rows of the fit, val_..., beside those to map, test_...; not
    where columns are named so in full.
    """
    named = [*(options.label or ()), *(options.proba or ())]
    if options.apply != options.fit or any(n.startswith(("val_", "test_")) for n in named):
        return False
    return inputs.have_halves([options.fit], options.format)


def _apply(fitted_map: FittedMap, options: argparse.Namespace) -> dict[str, Any]:
    """Recalibrate the rows of --apply by the map, and write them.

    Return the facts for JSON: files, numbers of rows, messages, the share of rows that the map was
    fitted to, and the measures before and after (None if rows have no labels).
    """
    from calibrant._cli.recalibration import apply_map, before_and_after, read_rows_to_map
    from calibrant._cli.written_rows import renamed_labels, write_rows

    own = replace_options(options, groups=None)  # --groups is about the fit
    if _has_both(options):
        own.half = "test"
    request = inputs.request_of(own, options.apply)
    rows, labelled = read_rows_to_map(request, fitted_map)
    after, share = apply_map(rows, fitted_map)
    with atomic_write(options.out) as temp:
        write_rows(temp, replace(rows, y_proba=after), labelled=labelled)
    renamed = renamed_labels(options.out, rows) if labelled else None
    return {
        "file": options.apply,
        "out": options.out,
        "n": rows.n,
        "n_missing": rows.n_missing,
        "inferred": [*rows.messages, *([] if renamed is None else [renamed])],
        "share_fitted": share,
        "measures": before_and_after(rows, after, fitted_map.scaler, options.bins)
        if labelled
        else None,
    }


def _show(fitted_map: FittedMap, result: dict[str, Any]) -> None:
    """Print the map, why it was chosen, and the measures before and after."""
    from calibrant._api.evaluate_samples import missing_notes
    from calibrant._cli.file_messages import short_lines
    from calibrant._cli.tables import print_summary, print_table

    choice = fitted_map.choice
    if choice is not None:
        print_summary(choice.title, choice._messages())
        print_table(choice.display_columns())
    print_wrapped(fitted_map.scaler._in_words(), hanging="  ")
    for section in (result.get("fit"), result.get("apply")):
        if section is None:
            continue
        title = _table_title(section["share_fitted"]) if "share_fitted" in section else ON_THE_FIT
        lines = short_lines(section["inferred"])
        lines += missing_notes(section["n_missing"], section["inferred"])
        if section["measures"] is None:
            lines.append("no labels were found or named (--label): the map is not evaluated")
        print()
        print_summary(f"{section['file']}: {counted(section['n'], 'row')}", lines)
        if section["measures"] is not None:
            print_table(_as_changes(section["measures"]), title)
            if section.get("share_fitted", 1.0) in (0.0, None):
                print_wrapped(_change_in_words(section["measures"]), hanging="  ")


def _as_changes(measures: Columns) -> Columns:
    """The table of measures as it is printed, with the limits of a change in one column."""
    from calibrant.results._rendering import range_text

    if "difference" not in measures:
        return measures
    ends = zip(measures["low"], measures["high"], strict=True)
    return {
        **{name: measures[name] for name in ("measure", "unchanged", "recalibrated")},
        "change (sample)": measures["difference"],
        "change (corrected)": measures["estimate"],
        "95% CI": [range_text(low, high) for low, high in ends],
    }


def _change_in_words(measures: Columns) -> str:
    """Whether the map helped, by the intervals of the changes; "" where there are none."""
    from calibrant._measures.catalogue import listed

    if "difference" not in measures:
        return ""

    better: list[str] = []
    worse: list[str] = []
    same: list[str] = []
    shapes: tuple[Shape, ...] = ("binary", "multiclass")
    known = {measure.name: measure for shape in shapes for measure in listed("scale", shape)}
    for name, low, high in zip(*(measures[key] for key in ("measure", "low", "high")), strict=True):
        measure = known[name]
        up, down = (better, worse) if measure.higher_is_better else (worse, better)
        (up if low > 0 else down if high < 0 else same).append(measure.called())
    clauses = [
        f"{', '.join(names)} {what}"
        for names, what in (
            (better, "improved by more than chance explains"),
            (worse, "got worse by more than chance explains"),
            (same, "did not change significantly"),
        )
        if names
    ]
    helped = "was not shown to help" if not better else "helped" if not worse else "helped in part"
    return f"  The map {helped}: {'; '.join(clauses)}."


def _table_title(share: float | None) -> str:
    """Title the table of measures by the share of its rows that the map was fitted to.

    None means that such rows cannot be recognised.
    """
    from calibrant.scaling._same_rows import overlap_sentence

    if share is None:
        return (
            "Before and after (rows of the fit would not be recognised here: the predictions "
            "repeat too much)"
        )
    if share == 0:
        return "Before and after (no row of the fit was recognised among these)"
    if share >= 0.995:
        return ON_THE_FIT
    known = overlap_sentence(share, "the map")
    return f"Before and after: {known}, and every map looks too good there"
