"""`calibrant check`: a gate for pipelines, which passes only what the data show to be good."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, TextIO

from calibrant._cli import inputs
from calibrant._cli.check_config import with_config
from calibrant._cli.file_messages import messages_by_file, short_lines
from calibrant._cli.inputs import SUMMED_FROM
from calibrant._cli.options import (
    READS_FILES,
    add_bins,
    add_chance,
    add_columns,
    add_files,
    add_own_labels,
    add_slices,
)
from calibrant._cli.output import Outcome, atomic_write, check_writable, print_line, print_status
from calibrant._cli.parsing import Parser, replace_options
from calibrant._cli.states import check_no_rows_needed, find_state, load_sums
from calibrant._cli.terminal import print_styled, spinner
from calibrant._core.errors import InputError, NeedsRows, counted
from calibrant._core.messages import name_of

if TYPE_CHECKING:
    from calibrant._data.readers.columns import ReadRequest
    from calibrant._data.readers.read_rows import Rows
    from calibrant.results._check import Check
    from calibrant.results._evaluation import Evaluation

DESCRIPTION = (
    "Compare the confidence intervals of measures with limits. Exit code 0: every interval is "
    "within its limit; 1: an interval is beyond its limit; 2: undecided, because an interval "
    f"contains its limit; 3: the check could not be done. {READS_FILES}"
)
# The most predictions that are kept in memory; n rows of k classes are n k predictions.
MOST_IN_MEMORY = 200_000_000
_STYLES = {"pass": "bold green", "fail": "bold red", "undecided": "bold yellow"}


def add_options(parser: Parser) -> None:
    """Add the options of `calibrant check` to its parser."""
    limits: dict[str, Any] = {"action": "append", "default": []}
    add_files(parser, needed=False)
    parser.option(
        "--config FILE",
        "a TOML file with limits in the tables [max], [min], [max-increase], [max-decrease] and "
        "[slices], and with other options by their names; options that you type take precedence",
    )
    parser.option(
        "--max MEASURE=LIMIT",
        "the measure must be at most LIMIT, such as ece=0.05; may be repeated",
        dest="at_most",
        **limits,
    )
    parser.option(
        "--min MEASURE=LIMIT",
        "the measure must be at least LIMIT, such as auroc=0.8 or slope=0.9; may be repeated",
        dest="at_least",
        **limits,
    )
    group = parser.group("baseline")
    group.option(
        "--baseline FILE",
        "predictions to compare with: a file, folder or pattern with the same columns",
    )
    group.option(
        "--max-increase MEASURE=LIMIT",
        "the measure may exceed the baseline's by at most LIMIT, "
        "such as ece=0.005; may be repeated",
        **limits,
    )
    group.option(
        "--max-decrease MEASURE=LIMIT",
        "the measure may be below the baseline's by at most LIMIT, for measures such as auroc",
        **limits,
    )
    group.option("--id COLUMN", "match rows with those of the baseline by this column")
    add_own_labels(group)
    group.option(
        "--unpaired", "treat the baseline's rows as other rows, even if their labels are the same"
    )
    group.option(
        "--baseline-proba COLUMN[,...]",
        "the prediction columns of the baseline, if they have other names",
    )
    parser.option("--point", "compare the values alone with the limits, without intervals")
    add_columns(parser)
    add_bins(parser)
    add_slices(parser, "also check each value of these columns by itself")
    parser.option(
        "--tolerance TOLERANCE",
        "with --by: compare the ECE of slices with this number, instead of the limits",
    )
    parser.option(
        "--undecided-slices",
        "with --by: the result of the check if a slice has too few rows to decide: undecided (the "
        "default), only a note (warn), or fail",
        choices=("undecided", "warn", "fail"),
        default="undecided",
    )
    add_chance(parser)
    parser.option(
        "--summary",
        "also write a Markdown summary to $GITHUB_STEP_SUMMARY (or print it), and an annotation "
        "for each limit that does not pass",
        choices=("github",),
    )
    parser.option("--junit FILE", "also write JUnit XML, for build servers")


def run(options: argparse.Namespace) -> Outcome:
    """Check the files, and write the JUnit file and the GitHub summary if options name them."""
    options, said = with_config(options)
    if not options.files:
        raise InputError("no file to check is named: name one, or set files = [...] in --config")
    check_writable(options.junit, [*options.files, options.baseline], options.format)
    files = inputs.format_files(options.files)
    title = f"calibrant check {files}"
    try:
        result, messages = _run_check(options)
        messages = (*said, *messages)
    except (Exception, KeyboardInterrupt) as error:
        from calibrant.results._build_servers import junit_error

        # The XML of an earlier run may say that it passed.
        with suppress(InputError):
            _write_junit(options.junit, junit_error(title, str(error) or "interrupted"))
        raise
    if options.junit is not None:
        _write_junit(options.junit, result.to_junit(name=title))
        print_status(f"written: {options.junit}")
    if options.summary is not None and options.json:
        _print_github_summary(result, title, sys.stderr)

    def show() -> None:
        """Print the verdict and its reasons, then GitHub's summary if an option asks for it."""
        _show(result, messages, files)
        if options.summary is not None:
            _print_github_summary(result, title, sys.stdout)

    return Outcome(
        lambda: {**result.to_dict(), "files": options.files, "inferred": list(messages)},
        show,
        result.code,
    )


def _write_junit(path: str | None, xml: str) -> None:
    """Write JUnit XML to a file; do nothing if the path is None."""
    if path is not None:
        with atomic_write(path) as temp:
            temp.write_text(xml, encoding="utf-8")


def _run_check(options: argparse.Namespace) -> tuple[Check, tuple[str, ...]]:
    """Check files of rows, or the saved state of a stream, against the limits.

    Return the result, and messages on what was inferred about the input.
    """
    _check_options(options)
    state = find_state(options.files)
    if state is not None:
        return _check_state(state, options)
    options, taken = inputs.columns_of_logs(options, by=False, in_memory=not options.point)
    result, messages = _check_rows(options)
    return result, (*messages, *taken)


def _limit_arguments(options: argparse.Namespace) -> dict[str, Any]:
    """Collect the limits as arguments of the library's `check`.

    The keys are at_most, at_least, max_increase and max_decrease; each value maps measures to
    numbers.
    """
    arguments = ("at_most", "at_least", "max_increase", "max_decrease")
    return {argument: dict(getattr(options, argument)) for argument in arguments}


def _check_options(options: argparse.Namespace) -> None:
    """Raise an error for options that contradict each other, before any row is read."""
    from calibrant._api.check import check_options
    from calibrant._api.limits import check_some_limit, limits_of_slices

    limits = _limit_arguments(options)
    for argument, by_measure in limits.items():
        if len(by_measure) < len(getattr(options, argument)):
            raise InputError(f"{name_of(argument)} names a measure twice: give it one limit")
    check_some_limit(*limits.values())
    limits_of_slices(options.tolerance, options.undecided_slices, options.by)
    about_baseline = {
        "ids": options.id,
        "own_labels": options.own_labels,
        "paired": options.unpaired,
        "baseline_proba": options.baseline_proba,
    }
    check_options(
        [(name, each) for name in ("max_increase", "max_decrease") for each in limits[name]],
        baseline=options.baseline is not None,
        needs_baseline=[argument for argument, given in about_baseline.items() if given],
        own_labels=options.own_labels,
        ids=options.id is not None,
        point=options.point,
        groups=options.groups is not None,
    )
    if options.id is not None and options.unpaired:
        raise InputError("--id and --unpaired contradict each other: leave out one of them")


def _print_github_summary(result: Check, title: str, file: TextIO) -> None:
    """Write the Markdown summary of a check, and print its annotations, for GitHub.

    The summary is added to the file that $GITHUB_STEP_SUMMARY names, or printed if that is not set.
    """
    markdown, annotations = result.to_github(name=title)
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if path:
        with open(path, "a", encoding="utf-8") as summary:
            summary.write(markdown)
    for line in (*(() if path else markdown.splitlines()), *annotations.splitlines()):
        print_line(line, file=file)


def _check_rows(options: argparse.Namespace) -> tuple[Check, tuple[str, ...]]:
    """Check rows in memory, read from files, with the rows of the baseline if there is one.

    Return the result, and messages on what was inferred about the files. If predictions are too
    many for memory, rows are summed as they are read, provided that --point is given without --by
    and --id; otherwise that is an error.
    """
    from calibrant._api.check import check
    from calibrant._data.readers.read_rows import TooLarge, read_rows

    old, by_sums = None, _sums_suffice(options)
    try:
        at_most = min(SUMMED_FROM, MOST_IN_MEMORY) if by_sums else MOST_IN_MEMORY
        rows = read_rows(inputs.request_of(options, options.files), at_most=at_most)
        if options.baseline is not None:
            old = read_rows(_baseline_request(options, rows), at_most=MOST_IN_MEMORY)
    except TooLarge:
        if by_sums:
            with suppress(NeedsRows):
                return _check_by_sums(options)
            return _check_rows(replace_options(options, rows_needed=True))
        if options.point and options.by is None and options.id is None:
            return _check_streamed(options)
        raise InputError(
            f"there are more than {MOST_IN_MEMORY:,} predictions, too many to keep in memory for "
            "an interval: check a sample of the rows, or the values alone with --point and no --by"
        ) from None
    about_baseline = {} if old is None else _baseline_arguments(rows, old, options)
    with spinner("intervals"):
        result = check(
            rows.y_true,
            rows.y_proba,
            **inputs.row_arguments(rows, options),
            **inputs.options_by_name(options, "level", "point", "seed", "from_logits", "missing"),
            bins=inputs.bins_of(rows, options.bins),
            **inputs.options_by_name(options, "tolerance", "undecided_slices"),
            **_limit_arguments(options),
            **about_baseline,
        )
    messages, notes = rows.messages, result.notes
    if old is not None:
        messages = (*messages, *messages_by_file({"baseline": old.messages}))
        if about_baseline["ids"] is not None and options.id is None:
            notes = tuple(map(_reword_paired_note, notes))
    result = replace(result, n_missing=rows.n_missing, notes=notes)
    return _with_columns_of_slices(result, options), messages


def _sums_suffice(options: argparse.Namespace) -> bool:
    """Whether the options allow intervals from sums of the rows.

    `rows_needed` is set once sums have turned out not to be enough.
    """
    limits = _limit_arguments(options)
    if getattr(options.bins, "names", None):  # cells
        return False
    rows = ("baseline", "id", "votes", "counts", "item", "annotator", "rows_needed")
    changes = limits["max_increase"] or limits["max_decrease"]
    given = any(getattr(options, name, None) for name in rows)
    return not (options.point or changes or given or (options.groups and options.by))


def _check_by_sums(options: argparse.Namespace) -> tuple[Check, tuple[str, ...]]:
    """Check files by intervals from sums that are made as they are read, in little memory.

    Return the result, and messages on what was inferred about the files. Raises NeedsRows if a
    limit has no interval from sums.
    """
    from calibrant._api.check_sums import check_sums
    from calibrant._api.evaluate_samples import Options
    from calibrant._api.files.evaluate_file import evaluate_request
    from calibrant._api.limits import limits_of, limits_of_slices
    from calibrant._api.slices import has_sums_of_slices
    from calibrant._data.checks import shape_from_notes
    from calibrant._measures.catalogue import catalogue
    from calibrant._summaries.requirements import known_measures
    from calibrant.results._check import with_policy

    of_slices = limits_of_slices(options.tolerance, options.undecided_slices, options.by)
    given = _limit_arguments(options)
    names, coefficients = _measures_and_coefficients(chain(*given.values(), of_slices or {}))
    if options.by and coefficients:
        raise NeedsRows("coefficients of slices are fitted to rows")
    asked = known_measures(names)
    if options.by and not all(has_sums_of_slices(m) for m in catalogue() if m.name in asked):
        raise NeedsRows("slices have sums in bins and of losses")
    request = replace(inputs.request_of(options, options.files), by=options.by, others={})
    evaluated = Options(bins=options.bins, measures=names, groups=options.groups)
    result, sums, slices = evaluate_request(request, evaluated, fine=True)
    shape = shape_from_notes(result.inferred)
    checked = check_sums(
        sums,
        result.values,
        limits_of(shape=shape, **given),
        *_row_counts(result),
        **inputs.options_by_name(options, "level", "seed"),
        slices=slices,
        of_slices=None if of_slices is None else limits_of(shape, of_slices),
    )
    checked = with_policy(checked, options.undecided_slices)
    return _with_columns_of_slices(checked, options), result.inferred


def _measures_and_coefficients(names: Iterable[str]) -> tuple[list[str], list[str]]:
    """The measures among the names of limits, and the coefficients such as the slope, each once."""
    from calibrant._measures.coefficients import COEFFICIENTS

    every = list(dict.fromkeys(names))
    coefficients = [name for name in every if name in COEFFICIENTS]
    return [name for name in every if name not in coefficients], coefficients


def _row_counts(result: Evaluation) -> tuple[int, int]:
    """The numbers of rows that were evaluated and dropped."""
    return result.recipe["n"], int(result.recipe.get("n_missing", 0))


def _with_columns_of_slices(result: Check, options: argparse.Namespace) -> Check:
    """The check with the columns of --by before the name of each slice."""
    name = ", ".join(options.by or ())
    limits = tuple(
        limit if limit.where is None else replace(limit, where=f"{name} {limit.where}")
        for limit in result.rows
    )
    return replace(result, rows=limits)


def _baseline_request(options: argparse.Namespace, rows: Rows) -> ReadRequest:
    """Make the request to read the baseline's file, with classes in the order of `rows`."""
    request = inputs.request_of(options, options.baseline)
    return replace(
        request,
        y_proba=inputs.unpack_single(options.baseline_proba or options.proba),
        classes=request.classes or inputs.class_texts(rows),
    )


def _baseline_arguments(rows: Rows, old: Rows, options: argparse.Namespace) -> dict[str, Any]:
    """Collect the arguments of the library's `check` that describe the baseline.

    The keys are ids, paired, own_labels and baseline; `old` are the baseline's rows.
    """
    from calibrant._cli.same_rows import are_correctness

    ids, old_ids = _matching_ids(rows, old, options)
    own_labels = options.own_labels or are_correctness(rows, old)
    return {
        "ids": ids,
        "paired": False if options.unpaired else None,
        "own_labels": options.id is not None and own_labels,
        "baseline": {
            "y_true": old.y_true,
            "y_proba": old.y_proba,
            "ids": old_ids,
            **inputs.row_arguments(old, options),
        },
    }


def _reword_paired_note(note: str) -> str:
    """Reword the note on paired rows: they were paired by position in the files, not by ids.

    Users gave no ids, of which the library speaks. Other notes are returned unchanged.
    """
    from calibrant._api.baseline import PAIRED, paired_note
    from calibrant._core.messages import Note

    if not isinstance(note, Note) or note.code != PAIRED:
        return note
    return paired_note(note.values["n"], "by position in the files")


def _check_state(path: str, options: argparse.Namespace) -> tuple[Check, tuple[str, ...]]:
    """Check a stream's saved state, the file at `path`: by intervals from its sums, or by values
    alone with --point.

    Return the result, and messages on the content of the state.
    """
    from calibrant._api.check_sums import check_sums, check_values
    from calibrant._api.limits import limits_of

    check_no_rows_needed(by=options.by, groups=options.groups, baseline=options.baseline)
    _, total = load_sums(path)
    limits = limits_of(shape=total.shape, **_limit_arguments(options))
    names, coefficients = _measures_and_coefficients(each.what.name for each in limits)
    if coefficients and options.point:
        raise InputError(f"{coefficients[0]} always has an interval: leave out --point")
    result = total.evaluate(measures=names)
    judged = result.values, limits, total.n_rows, total.n_missing
    if options.point:
        checked = check_values(*judged)
    else:
        chance = inputs.options_by_name(options, "level", "seed")
        try:
            checked = check_sums(total.pooled_sums(), *judged, **chance)
        except NeedsRows as error:
            raise InputError(f"{path}: {error}. --point checks the values alone") from None
    return checked, (f"{path} holds the sums of {counted(total.n_rows, 'row')}", *result.inferred)


def _matching_ids(rows: Rows, old: Rows, options: argparse.Namespace) -> tuple[Any, Any]:
    """Give the ids by which rows are matched with the baseline's rows, `old`: a pair.

    They are the column of --id; or, if rows were dropped and the files are otherwise the same rows,
    the positions of rows in the files. Both are None if no ids are needed, or rows are not the
    same.
    """
    if options.id is not None:
        from calibrant._data.align_rows import id_texts, row_of_id

        ids, others = (id_texts(each.other("ids", options.id)) for each in (rows, old))
        need = f"--id {options.id} must name each row once"
        for prefix, keys in (("", ids), ("baseline: ", others)):
            row_of_id(keys, f"{prefix}{need}")
        return ids, others
    dropped = rows.n_missing or old.n_missing
    if options.unpaired or not dropped or rows.n + rows.n_missing != old.n + old.n_missing:
        return None, None
    import numpy as np

    common = np.intersect1d(rows.positions, old.positions, assume_unique=True)
    if not common.size or not np.array_equal(
        rows.take_positions(common).y_true, old.take_positions(common).y_true
    ):
        return None, None
    return rows.positions, old.positions


def _check_streamed(options: argparse.Namespace) -> tuple[Check, tuple[str, ...]]:
    """Check the values of files whose rows are summed as they are read; there are no intervals.

    Return the result, and messages on what was inferred about the files.
    """
    from calibrant._api.check_sums import check_values
    from calibrant._api.limits import limits_of
    from calibrant._data.checks import shape_from_notes

    result = _evaluate_streamed(options)
    shape = shape_from_notes(result.inferred)
    limits = limits_of(shape=shape, **_limit_arguments(options))
    messages, before = result.inferred, {}
    if options.baseline is not None:
        proba = options.baseline_proba or options.proba
        old = _evaluate_streamed(replace_options(options, files=[options.baseline], proba=proba))
        if shape_from_notes(old.inferred) != shape:
            raise InputError("the classes of the baseline differ from those of the checked rows")
        messages = (*messages, *messages_by_file({"baseline": old.inferred}))
        before = {"before": old.values, "n_before": old.recipe["n"]}
    return check_values(result.values, limits, *_row_counts(result), **before), messages


def _evaluate_streamed(options: argparse.Namespace) -> Evaluation:
    """Evaluate the measures that have limits, from sums of rows made as files are read.

    Coefficients such as the slope need rows in memory, and are an error.
    """
    from calibrant._api.files.evaluate_file import evaluate_file

    names, coefficients = _measures_and_coefficients(chain(*_limit_arguments(options).values()))
    if coefficients:
        raise InputError(
            f"{coefficients[0]} needs the rows in memory, and these are more than "
            f"{MOST_IN_MEMORY:,} predictions: check a sample of the rows"
        )
    return evaluate_file(**inputs.streamed_arguments(options), bins=options.bins, measures=names)


def _show(result: Check, messages: tuple[str, ...], files: str) -> None:
    """Print the verdict, a sentence for each limit, what was read, and the notes."""
    from calibrant._api.evaluate_samples import missing_notes

    print_styled(f"{result.verdict}: {files}", _STYLES[result.verdict])
    notes = missing_notes(result.n_missing, messages)
    limits = (limit.sentence for limit in result.rows)
    for line in (*limits, *short_lines(messages), *notes, *result.notes):
        print_styled(f"  {line}", hanging="  ")
