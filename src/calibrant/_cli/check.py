"""`calibrant check`: a gate for pipelines, which passes only what the data show to be good."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from calibrant._cli import inputs
from calibrant._cli.output import (
    Outcome,
    atomic_write,
    check_writable,
    print_json,
    print_line,
    print_status,
)
from calibrant._cli.parsing import add_json, named_number, names
from calibrant._cli.states import check_no_rows_needed, state_among, sums_in
from calibrant._core.errors import InputError, counted
from calibrant._core.messages import name_of

if TYPE_CHECKING:
    from calibrant._data.readers.columns import ReadRequest
    from calibrant._data.readers.read_rows import Rows
    from calibrant.results._check import Check
    from calibrant.results._evaluation import Evaluation

# The most predictions that are kept in memory; (n, k) are n k predictions.
MOST_IN_MEMORY = 200_000_000
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
        "--max",
        dest="at_most",
        type=named_number,
        action="append",
        default=[],
        metavar="MEASURE=LIMIT",
        help="at most this much, such as ece=0.05; may be repeated",
    )
    parser.add_argument(
        "--min",
        dest="at_least",
        type=named_number,
        action="append",
        default=[],
        metavar="MEASURE=LIMIT",
        help="at least this much, such as auroc=0.8 or slope=0.9",
    )
    _add_baseline(parser)
    parser.add_argument(
        "--point", action="store_true", help="judge the values alone, without intervals"
    )
    inputs.add_columns(parser)
    inputs.add_bins(parser)
    inputs.add_groups(parser, "check each value of these columns too")
    inputs.add_chance(parser)
    parser.add_argument(
        "--summary",
        choices=("github",),
        help="also write a Markdown summary to $GITHUB_STEP_SUMMARY (or print it), and an "
        "annotation for each limit that is not kept",
    )
    parser.add_argument("--junit", metavar="FILE", help="also write JUnit XML, for build servers")
    add_json(parser)
    parser.set_defaults(run=run)


def _add_baseline(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("baseline")
    group.add_argument(
        "--baseline",
        metavar="FILE",
        help="predictions to compare with: file, folder or pattern, with the same columns",
    )
    group.add_argument(
        "--max-increase",
        type=named_number,
        action="append",
        default=[],
        metavar="MEASURE=LIMIT",
        help="at most so much above the baseline, such as ece=0.005; may be repeated",
    )
    group.add_argument(
        "--max-decrease",
        type=named_number,
        action="append",
        default=[],
        metavar="MEASURE=LIMIT",
        help="at most so much below the baseline, for what is better the higher it is",
    )
    group.add_argument(
        "--id", metavar="COLUMN", help="match rows with the baseline's by this column"
    )
    group.add_argument(
        "--own-labels",
        action="store_true",
        help="each file has its model's own labels, such as whether its own answer was right; of "
        "columns called correct this is known",
    )
    group.add_argument(
        "--unpaired",
        action="store_true",
        help="take the baseline's rows for other rows, even if their labels are the same",
    )
    group.add_argument(
        "--baseline-proba",
        type=names,
        metavar="COLUMN[,...]",
        help="predictions in the baseline, if their columns are called otherwise",
    )


def run(options: argparse.Namespace) -> Outcome:
    check_writable(options.junit, [*options.files, options.baseline], options.format)
    title = f"calibrant check {inputs.format_files(options.files)}"
    try:
        result, messages = _run_check(options)
    except (Exception, KeyboardInterrupt) as error:
        _write_error(options.junit, title, error)
        raise
    if options.junit is not None:
        with atomic_write(options.junit) as temp:
            temp.write_text(result.to_junit(name=title), encoding="utf-8")
        print_status(f"written: {options.junit}")

    def show() -> None:
        if options.json:
            print_json({**result.to_dict(), "files": options.files, "inferred": list(messages)})
        else:
            _show(result, messages, inputs.format_files(options.files))
        if options.summary is not None:
            _print_github_summary(result, title, as_json=options.json)

    return Outcome(result.code, show)


def _run_check(options: argparse.Namespace) -> tuple[Check, tuple[str, ...]]:
    """Check files or a state; return the result and what was inferred about the input."""
    _check_options(options)
    state = state_among(options.files)
    if state is not None:
        return _check_state(state, options)
    options, taken = inputs.columns_of_logs(options, by=False, held=not options.point)
    result, messages = _check_rows(options)
    return result, (*messages, *taken)


def _write_error(path: str | None, title: str, error: BaseException) -> None:
    """Write XML of a failed run over that of an earlier one, which may say that it passed."""
    from contextlib import suppress

    from calibrant.results._build_servers import junit_error

    if path is None:
        return
    said = str(error) or "interrupted"
    with suppress(InputError), atomic_write(path) as temp:
        temp.write_text(junit_error(title, said), encoding="utf-8")


def _limits(options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Collect the limits by measure, under the arguments of `check`."""
    arguments = ("at_most", "at_least", "max_increase", "max_decrease")
    return {argument: dict(getattr(options, argument)) for argument in arguments}


def _check_options(options: argparse.Namespace) -> None:
    """Raise an error for options that contradict each other, before any row is read."""
    from calibrant._api.check import check_options
    from calibrant._api.limits import check_some_limit

    limits = _limits(options)
    for argument, by_measure in limits.items():
        if len(by_measure) < len(getattr(options, argument)):
            raise InputError(f"{name_of(argument)} names a measure twice: say its limit once")
    check_some_limit(*limits.values())
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
        raise InputError("--id matches the rows that --unpaired takes for others: drop one of them")


def _print_github_summary(result: Check, title: str, *, as_json: bool) -> None:
    """Add to the summary of a job on GitHub, or print it elsewhere; print the annotations."""
    import os
    import sys

    markdown, annotations = result.to_github(name=title)
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(markdown)
    for line in (*(() if path else markdown.splitlines()), *annotations.splitlines()):
        print_line(line, file=sys.stderr if as_json else sys.stdout)


def _check_rows(options: argparse.Namespace) -> tuple[Check, tuple[str, ...]]:
    """Check rows in memory; return the result and what was inferred about the files."""
    from calibrant._api.check import check
    from calibrant._cli.same_rows import are_correctness
    from calibrant._cli.terminal import working
    from calibrant._data.readers.read_rows import TooLarge, read_rows

    try:
        rows = read_rows(inputs.request_of(options, options.files), at_most=MOST_IN_MEMORY)
        old = None if options.baseline is None else _baseline_rows(rows, options)
    except TooLarge:
        if options.point and options.by is None and options.id is None:
            return _check_streamed(options)
        raise InputError(
            f"there are more than {MOST_IN_MEMORY:,} predictions, too many to keep in memory for "
            "an interval: check a sample of the rows, or the values alone with --point and no --by"
        ) from None
    more: dict[str, Any] = {**_limits(options)}
    if old is not None:
        ids, old_ids = _matching_ids(rows, old, options)
        more |= {
            "ids": ids,
            "paired": False if options.unpaired else None,
            "own_labels": options.id is not None
            and (options.own_labels or are_correctness(rows, old)),
            "baseline": {
                "y_true": old.y_true,
                "y_proba": old.y_proba,
                "ids": old_ids,
                **inputs.row_arguments(old, options),
            },
        }
    with working("intervals"):
        result = check(
            rows.y_true,
            rows.y_proba,
            **inputs.row_arguments(rows, options),
            **inputs.given(options, "level", "point", "bins", "seed", "from_logits", "missing"),
            **more,
        )
    name = ", ".join(options.by or ())
    parts = [
        limit if limit.where is None else replace(limit, where=f"{name} {limit.where}")
        for limit in result.rows
    ]
    messages = rows.messages
    if old is not None:
        messages = (*messages, *(f"baseline: {line}" for line in old.messages))
    notes = result.notes
    if "ids" in more and more["ids"] is not None and options.id is None:
        notes = tuple(map(_reword_paired_note, notes))
    whole = replace(result, rows=tuple(parts), n_missing=rows.n_missing, notes=notes)
    return whole, messages


def _reword_paired_note(note: str) -> str:
    """Say "by place in the files" in the note on paired rows; other notes stay as they are."""
    from calibrant._api.baseline import PAIRED, paired_note
    from calibrant._core.messages import Note

    if not isinstance(note, Note) or note.code != PAIRED:
        return note
    return paired_note(note.values["n"], "by place in the files")


def _check_state(path: str, options: argparse.Namespace) -> tuple[Check, tuple[str, ...]]:
    """Compare limits with the values of sums, which have no intervals."""
    from calibrant._api.check import check_values
    from calibrant._api.limits import limits_of
    from calibrant._inference.coefficients import COEFFICIENTS

    if not options.point:
        raise InputError(
            f"{path} is a state of a stream: its sums give values, and an interval needs rows. "
            "Check the values alone with --point, or give the files of rows"
        )
    check_no_rows_needed(by=options.by, groups=options.groups, baseline=options.baseline)
    _, total = sums_in(path)
    limits = limits_of(shape=total.shape, **_limits(options))
    fitted = [each.what.name for each in limits if each.what.name in COEFFICIENTS]
    if fitted:
        raise InputError(f"{fitted[0]} is fitted to rows, and a state holds sums")
    result = total.evaluate(measures=list(dict.fromkeys(each.what.name for each in limits)))
    found = check_values(result.values, limits, total.n_rows, total.n_missing)
    return found, (f"{path} holds the sums of {counted(total.n_rows, 'row')}", *result.inferred)


def _baseline_rows(rows: Rows, options: argparse.Namespace) -> Rows:
    """Read the rows of the baseline, in the class order of the checked rows."""
    from calibrant._data.readers.read_rows import read_rows

    request = inputs.request_of(options, options.baseline)
    if options.baseline_proba is not None:
        request = replace(request, y_proba=inputs.one_or_several(options.baseline_proba))
    if request.classes is None:
        request = replace(request, classes=inputs.class_texts(rows))
    return read_rows(request, at_most=MOST_IN_MEMORY)


def _matching_ids(rows: Rows, old: Rows, options: argparse.Namespace) -> tuple[Any, Any]:
    """Give the ids that match rows: a column, or places in the files if rows were dropped."""
    if options.id is not None:
        from calibrant._data.align_rows import id_texts

        ids, others = (id_texts(each.other("ids", options.id)) for each in (rows, old))
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
    from calibrant._api.check import check_values
    from calibrant._api.limits import limits_of
    from calibrant._data.checks import noted_shape

    result = _streamed_evaluation(options, inputs.request_of(options, options.files))
    shape = noted_shape(result.inferred)
    limits = limits_of(shape=shape, **_limits(options))
    before, messages = None, result.inferred
    if options.baseline is not None:
        request = inputs.request_of(options, options.baseline)
        if options.baseline_proba is not None:
            request = replace(request, y_proba=inputs.one_or_several(options.baseline_proba))
        before = _streamed_evaluation(options, request)
        if noted_shape(before.inferred) != shape:
            raise InputError("the baseline has other classes than the checked rows")
        messages = (*messages, *(f"baseline: {line}" for line in before.inferred))
    n_missing = int(result.recipe.get("n_missing", 0))
    found = check_values(
        result.values,
        limits,
        result.recipe["n"],
        n_missing,
        None if before is None else before.values,
        None if before is None else before.recipe["n"],
    )
    return found, messages


def _streamed_evaluation(options: argparse.Namespace, request: ReadRequest) -> Evaluation:
    """Evaluate files whose rows are not kept in memory."""
    from calibrant._api.files.evaluate_file import evaluate_file
    from calibrant._inference.coefficients import COEFFICIENTS

    names = list(dict.fromkeys(name for limits in _limits(options).values() for name in limits))
    fitted = [name for name in names if name in COEFFICIENTS]
    if fitted:
        raise InputError(
            f"{fitted[0]} is fitted to rows in memory, and there are more than {MOST_IN_MEMORY:,} "
            "predictions: check a sample of the rows"
        )
    arguments = inputs.streamed_arguments(options)
    arguments |= {"path": request.path, "y_proba": request.y_proba}
    return evaluate_file(**arguments, bins=options.bins, measures=names)


def _show(result: Check, messages: tuple[str, ...], files: str) -> None:
    from calibrant._api.evaluate_samples import missing_note
    from calibrant._cli.terminal import print_styled

    print_styled(f"{result.verdict}: {files}", _STYLES[result.verdict])
    notes = (missing_note(result.n_missing),) if result.n_missing else ()
    for line in (*messages, *notes, *result.notes, *(limit.sentence for limit in result.rows)):
        print_styled(f"  {line}")
