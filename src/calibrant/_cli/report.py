"""`calibrant report`: predictions in files, evaluated, on the terminal and as a page."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from calibrant._cli import inputs
from calibrant._cli.options import (
    READS_FILES,
    add_bins,
    add_chance,
    add_columns,
    add_files,
    add_slices,
    add_tolerance,
)
from calibrant._cli.output import (
    Outcome,
    check_page_options,
    check_table,
    check_writable,
    print_status,
    write_table,
)
from calibrant._cli.parsing import Parser, replace_options
from calibrant._cli.states import check_no_rows_needed, find_state, load_sums
from calibrant._cli.terminal import spinner
from calibrant._core.errors import InputError, NeedsRows, counted
from calibrant._core.messages import CLASSES, FOUND, find_note

if TYPE_CHECKING:
    from calibrant._data.readers.read_rows import Rows
    from calibrant.results._annotators import Annotators
    from calibrant.results._conventions import Conventions
    from calibrant.results._evaluation import Evaluation

DESCRIPTION = (
    "Evaluate predictions in files, and print a verdict and the main measures with confidence "
    "intervals. Several files, folders and patterns are one set of rows. Up to ten million "
    "predictions are read into memory; more are summed while reading. The saved state of an "
    "Accumulator or a Monitor is evaluated too, if it is the only file. " + READS_FILES
)
# The most predictions that are kept in memory, and the most for a page; (n, k) are n k predictions.
MOST_IN_MEMORY, MOST_FOR_PAGE = 10_000_000, 200_000_000
# The most annotators that are listed, and the most whose votes predictions are compared with.
MOST_LISTED, MOST_EVALUATED = 20, 60


class _Additions(NamedTuple):
    """What is printed beside an evaluation: the annotators' agreement, and other tools' numbers."""

    annotators: Annotators | None = None
    tools: Conventions | None = None


_NO_ADDITIONS = _Additions()


def add_options(parser: Parser) -> None:
    """Add the options of `calibrant report` to its parser."""
    add_files(parser)
    parser.option("-o --out PAGE", "also write a report page (.html)")
    parser.option("--table FILE", "also write the measures as a table for a paper (.tex or .md)")
    add_columns(parser)
    for end, which in (("low", "smallest"), ("high", "largest")):
        parser.option(
            f"--label-{end} COLUMN[,...]",
            f"the {which} probability that each label may have, if labels are only known to lie "
            "between two ends: a column, or one for each class",
        )
    parser.option(
        "--multilabel",
        "each row may have several labels: every column of --label is evaluated with its own "
        "column of --proba; labels that were not annotated are empty",
    )
    parser.option(
        "--question COLUMN",
        "each row is one of several answers to the question that this column names: measure "
        "self-consistency, and the stated confidences (--proba) of answers and questions. Needs "
        "--answer, and --correct or --gold",
    )
    parser.option(
        "--correct COLUMN", "with --question: the column that says whether an answer is right"
    )
    add_bins(parser)
    parser.option("--measures NAME,...", "evaluate only these measures")
    add_slices(parser, "also evaluate each value of these columns by itself")
    parser.option(
        "--segments COLUMN,...",
        "search the values of these columns, alone and combined, for groups of rows whose "
        "predictions are wrong",
    )
    parser.option("--depth DEPTH", "with --segments: combine at most so many columns; default 2")
    add_tolerance(parser)
    add_chance(parser)
    parser.option(
        "--all-intervals", "compute intervals for every measure, not only for the quick ones"
    )
    parser.option(
        "--clinical",
        "also print what papers on prediction models report: slope, O:E, C-statistic, ICI and "
        "more, with intervals; for binary outcomes",
    )
    parser.option(
        "--details", "also print every measure, the bins, the classes, and what other tools report"
    )
    parser.option("--title TITLE", "the title of the page; default: the names of the files")
    parser.option(
        "--recalibrate NAME,...",
        "the recalibration maps that the page compares, such as beta,isotonic; default: those that "
        "suit the data",
    )
    parser.option(
        "--stream",
        "sum the rows while reading and never keep them in memory, whatever their number",
    )
    parser.option(
        "--one-pass", "read the files only once, with approximate quantile bins; implies --stream"
    )
    parser.option(
        "--progress",
        "show progress even if the output is no terminal",
        action="store_true",
        default=None,
    )


def run(options: argparse.Namespace) -> Outcome:
    """Evaluate the files, in memory or as they are read, and write the page if -o names it."""
    check_table(options.table)
    check_writable(options.table, options.files, options.format)
    of_labels = (options.multilabel, options.label_low, options.label_high)
    if options.table is not None and any(of_labels):
        raise InputError(
            "--table needs one set of labels: it cannot be combined with --multilabel, --label-low "
            "and --label-high"
        )
    if options.multilabel:
        from calibrant._cli.report_other_rows import report_labels

        return report_labels(options)
    if options.question is not None:
        from calibrant._cli.report_other_rows import report_answers

        return report_answers(options)
    if options.correct is not None:
        raise InputError(
            "--correct needs --question, for several answers to a question; otherwise name the "
            "column that says whether an answer is right with --label"
        )
    check_page_options(options.out, options.title)
    check_writable(options.out, options.files, options.format)
    if options.label_low is not None or options.label_high is not None:
        from calibrant._cli.report_other_rows import report_bounds

        return report_bounds(options)
    if options.recalibrate is not None:
        from calibrant._api.report.map_choice import checked_maps

        checked_maps(options.recalibrate)
        if options.out is None:
            raise InputError("--recalibrate needs a page: name its file with -o PAGE")
    state = find_state(options.files)
    if state is not None:
        return _report_state(state, options)
    streamed = options.stream or options.one_pass
    options, taken = inputs.columns_of_logs(options, by=True, in_memory=not streamed)
    if streamed and options.all_intervals:
        raise InputError(
            "--all-intervals needs the rows in memory: leave it out, or --stream and --one-pass"
        )
    if streamed and options.out is not None:
        raise InputError("a page needs the rows in memory: leave out --stream and --one-pass")
    result, additions = (None, _NO_ADDITIONS) if streamed else _evaluate_in_memory(options)
    if result is None and options.out is not None:
        try:
            result = _write_page_of_sums(options)
        except NeedsRows:
            options = replace_options(options, rows_needed=True)
            result, additions = _evaluate_in_memory(options)
    if result is None:
        result = _evaluate_streamed(options)
    result = replace(result, inferred=(*result.inferred, *taken))
    title = f"{inputs.format_files(options.files)}: {counted(result.recipe['n'], 'row')}"
    return _outcome(result, title, options, additions)


def _outcome(
    result: Evaluation,
    title: str,
    options: argparse.Namespace,
    additions: _Additions = _NO_ADDITIONS,
) -> Outcome:
    """Make the outcome of an evaluation, with what is printed beside it.

    The table for a paper is written if options name it; the page was written before.
    """
    write_table(options.table, result)
    if options.out is not None:
        print_status(f"written: {options.out}")

    def show() -> None:
        """Print the evaluation, then the first MOST_LISTED annotators."""
        from calibrant._cli.tables import (
            choose_columns,
            print_evaluation,
            print_hint,
            print_table,
        )

        named = options.measures is not None
        print_evaluation(result, title, named=named, details=options.details)
        if voters is not None:
            of_details = ("expected", "noise_95")
            columns = choose_columns(voters.display_columns(), of_details, details=options.details)
            listed = {name: values[:MOST_LISTED] for name, values in columns.items()}
            print_table(listed, voters.title)
        if tools is not None:
            why = "Other tools (calibrant conventions says why they differ)"
            print_table(tools._short_columns(), why)
        if not options.details:
            print_hint(result, named=named)

    voters, tools = additions.annotators, additions.tools
    more = {} if voters is None else {"annotators": voters.to_dict()}
    return Outcome(lambda: {**result.to_dict(), **more}, show)


def _report_state(path: str, options: argparse.Namespace) -> Outcome:
    """Evaluate a stream's saved state, the file at `path`: the sum of all of its windows.

    The page of a monitor has a time axis; other states have no page.
    """
    from calibrant._api.streaming.monitor import Monitor

    check_no_rows_needed(by=options.by, groups=options.groups, segments=options.segments)
    state, total = load_sums(path)
    if options.out is not None:
        if not isinstance(state, Monitor):
            raise InputError("a page needs rows, or the windows of a Monitor: leave out -o")
        name = options.title or os.path.basename(path)
        state.evaluate().save(options.out, name=name, source={"state": os.path.basename(path)})
    draws = inputs.options_by_name(options, "measures", "tolerance", "level", "seed")
    try:
        result = total.evaluate(uncertainty=True, **draws)
    except NeedsRows as error:
        plain = total.evaluate(measures=options.measures)
        result = replace(plain, notes=(*plain.notes, str(error)))
    return _outcome(result, f"{path}: sums of {counted(total.n_rows, 'row')}", options)


def _evaluate_in_memory(options: argparse.Namespace) -> tuple[Evaluation | None, _Additions]:
    """Evaluate rows in memory, with intervals, and write the page if -o names it.

    Return the evaluation and what is printed beside it. The evaluation is None if there are too
    many rows for memory; for a page that sums do not make that is an error.
    """
    from calibrant._data.readers.read_rows import TooLarge, read_rows

    page = options.out is not None
    rows_needed = page and not _sums_make_a_page(options)
    try:
        rows = read_rows(
            inputs.request_of(options, options.files),
            at_most=MOST_FOR_PAGE if rows_needed else MOST_IN_MEMORY,
        )
    except TooLarge:
        if rows_needed:
            raise InputError(
                f"there are more than {MOST_FOR_PAGE:,} predictions, too "
                "many for a page: give fewer "
                "rows, or leave out -o"
            ) from None
        return None, _NO_ADDITIONS
    voters = _annotators(rows, options)
    with spinner("intervals"):
        result = _write_page(rows, voters, options) if page else _evaluate_rows(rows, options)
    return _with_file_info(result, rows, options), _Additions(voters, _other_tools(rows, options))


def _other_tools(rows: Rows, options: argparse.Namespace) -> Conventions | None:
    """What other tools report, where --details prints it; they take no weights."""
    if not options.details or options.json or rows.sample_weight is not None:
        return None
    from calibrant._api.conventions import conventions

    return conventions(rows.y_true, rows.y_proba, from_logits=options.from_logits)


def _sums_make_a_page(options: argparse.Namespace) -> bool:
    """Whether the options allow a page from sums of the rows.

    `rows_needed` is set once sums have turned out not to be enough.
    """
    of_rows = ("segments", "groups", "item", "annotator", "weight", "votes", "counts", "clinical")
    return not any(getattr(options, name, None) for name in (*of_rows, "rows_needed"))


def _write_page_of_sums(options: argparse.Namespace) -> Evaluation:
    """Write the page of files that are too large for memory, and return its evaluation.

    Raises NeedsRows if sums are not enough for the page.
    """
    from calibrant._api.report.summed import report_of_files

    request = replace(inputs.request_of(options, options.files), by=options.by, others={})
    names = inputs.command_without_folders(options, options.files)
    page = report_of_files(
        request,
        name=options.title or names["files"],
        source=names,
        **inputs.options_by_name(options, "measures", "bins", "tolerance", "level", "seed"),
        **inputs.options_by_name(options, "recalibrate", "progress"),
    )
    page.save(options.out)
    return page.evaluation


def _annotators(rows: Rows, options: argparse.Namespace) -> Annotators | None:
    """Measure how far annotators agree, and how well the predictions are calibrated for each.

    None if rows do not say who gave a vote, or if only one annotator did. With more than 60
    annotators only their agreement is measured.
    """
    votes = rows.vote_table
    if votes is None or votes.annotator is None:
        return None
    from calibrant._api.annotators import annotators

    several = len(set(votes.annotator.tolist()))
    if several < 2:
        return None
    with spinner("annotators"):
        return annotators(
            votes,
            rows.y_proba if several <= MOST_EVALUATED else None,
            **inputs.options_by_name(options, "level", "seed", "from_logits"),
        )


def _evaluate_rows(rows: Rows, options: argparse.Namespace) -> Evaluation:
    """Evaluate rows in memory with the options of the command, without a page."""
    from calibrant._api.evaluate_samples import Options, evaluate_samples
    from calibrant._api.rows import group_index

    samples = inputs.samples_of(rows, from_logits=options.from_logits)
    return evaluate_samples(
        samples,
        Options(
            intervals="all" if options.all_intervals else "cheap",
            by=inputs.slices_of(rows, options.by),
            groups=group_index(inputs.groups_of(rows, options.groups), samples, None),
            clinical=_wants_clinical(options, multiclass=samples.multiclass),
            bins=inputs.bins_of(rows, options.bins),
            **inputs.options_by_name(options, "measures", "tolerance", "level", "seed"),
            **_segment_arguments(rows, options),
        ),
    )


def _segment_arguments(rows: Rows, options: argparse.Namespace) -> dict[str, Any]:
    """Collect the arguments of the search for segments; {} without --segments."""
    if options.segments is None:
        if options.depth is not None:
            raise InputError("--depth needs --segments COLUMN,...")
        return {}
    columns = {name: rows.others[name] for name in options.segments}
    return {"segments": columns, "depth": 2 if options.depth is None else options.depth}


def _wants_clinical(options: argparse.Namespace, *, multiclass: bool) -> bool:
    """Whether --clinical is given; raise an error if it does not apply to the rows."""
    if options.clinical and multiclass:
        raise InputError("--clinical is for binary outcomes; these rows have several classes")
    if options.clinical and options.measures is not None:
        raise InputError("--clinical comes with all measures: leave out --measures")
    return bool(options.clinical)


def _write_page(rows: Rows, voters: Annotators | None, options: argparse.Namespace) -> Evaluation:
    """Write the page, and return its evaluation for the terminal.

    The evaluation has only the measures of --measures, and the clinical summary only with
    --clinical.
    """
    from calibrant._api.evaluate_samples import choose_measures
    from calibrant._api.report.report import report

    # Unknown names are an error before the work.
    shown = choose_measures(options.measures, rows.shape)
    clinical = _wants_clinical(options, multiclass=rows.multiclass)
    page = report(
        rows.y_true,
        rows.y_proba,
        name=options.title or inputs.command_without_folders(options, options.files)["files"],
        annotators=voters,
        classes=rows.class_names,
        source=_page_source(rows, options),
        **inputs.row_arguments(rows, options),
        bins=inputs.bins_of(rows, options.bins),
        **inputs.options_by_name(options, "measures", "tolerance", "level", "seed"),
        **inputs.options_by_name(options, "from_logits", "missing", "recalibrate"),
        **_segment_arguments(rows, options),
    )
    page = replace(page, evaluation=_named_slices(page.evaluation, options))
    if clinical:  # the page begins with what was asked for
        shown_first = {**page.recipe["options"], "clinical": True}
        page = replace(page, recipe={**page.recipe, "options": shown_first})
    page.save(options.out)
    names = {measure.name for measure in shown}
    kept = tuple(each for each in page.evaluation.estimates if each.name in names)
    return replace(
        page.evaluation, estimates=kept, clinical=page.evaluation.clinical if clinical else None
    )


def _page_source(rows: Rows, options: argparse.Namespace) -> dict[str, Any]:
    """Collect what the page says of the data: command, files, columns, how confidences were read,
    and dropped rows.
    """
    written = options.confidence or options.words or options.refusals
    read = (text for text in rows.messages if find_note([text], FOUND, CLASSES) is None)
    facts = {
        **inputs.command_without_folders(options, options.files),
        "labels": ", ".join(rows.chosen.y_true.names),
        "predictions": ", ".join(rows.chosen.y_proba.names),
        "weights": rows.chosen.sample_weight,
        "votes": rows.chosen.votes,
        "confidences": "; ".join(read) if written else None,
        "rows dropped": f"{rows.n_missing:,}, something missing" if rows.n_missing else None,
    }
    return {name: value for name, value in facts.items() if value is not None}


def _with_file_info(result: Evaluation, rows: Rows, options: argparse.Namespace) -> Evaluation:
    """Add facts on the files to the evaluation: columns, dropped rows and messages."""
    from calibrant._api.evaluate_samples import missing_notes

    chosen = rows.chosen
    notes = missing_notes(rows.n_missing, rows.messages)
    columns = {
        "y_true": list(chosen.y_true.names),
        "y_proba": list(chosen.y_proba.names),
        "sample_weight": chosen.sample_weight,
        "votes": chosen.votes,
        "by": list(options.by or ()),
        "groups": options.groups,
    }
    more = {"n_missing": rows.n_missing, "files": rows.n_files, "columns": columns}
    return replace(
        _named_slices(result, options),
        inferred=(*result.inferred, *rows.messages),
        notes=(*notes, *result.notes),
        recipe={**result.recipe, **more},
    )


def _named_slices(result: Evaluation, options: argparse.Namespace) -> Evaluation:
    """Name the slices of an evaluation by the columns of --by, if it has slices."""
    if result.slices is None:
        return result
    return replace(result, slices=replace(result.slices, by=", ".join(options.by)))


def _evaluate_streamed(options: argparse.Namespace) -> Evaluation:
    """Evaluate files of any size: rows are summed as they are read. Measures whose interval follows
    from sums have one.

    Options that need rows in memory are an error.
    """
    from calibrant._api.evaluate_samples import Options
    from calibrant._api.files.evaluate_file import evaluate_request
    from calibrant._data.columns import check_different_columns
    from calibrant._data.readers.columns import ReadRequest

    if options.clinical:
        raise InputError("--clinical needs the rows in memory: give fewer rows, or leave it out")
    if options.segments is not None:
        raise InputError(
            "--segments needs the rows in memory: give fewer rows, or leave it out; in Python "
            "find_segments(..., data=PATH) searches a Parquet file of any size by sums"
        )
    if options.groups is not None and options.by:
        raise InputError(
            "--groups and --by can only be combined if the rows are in memory: leave out one of "
            "them"
        )
    check_different_columns(options.label, options.proba)
    arguments = inputs.streamed_arguments(options)
    request = ReadRequest.build(arguments.pop("path"), **arguments, by=options.by)
    names = ("bins", "measures", "tolerance", "level", "seed", "groups")
    given = Options(intervals="cheap", **inputs.options_by_name(options, *names))
    exact, progress = not options.one_pass, options.progress
    return evaluate_request(request, given, exact=exact, progress=progress).result
