"""evaluate_file(): measures of rows in files, which are never loaded whole."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from calibrant._api.cells_of_sums import over_cells
from calibrant._api.evaluate_samples import (
    LONG_FULL,
    Options,
    Provenance,
    assemble,
    choose_measures,
    describe_input,
    equal_mass_note,
    rule_names,
)
from calibrant._api.files.exact import FileSummary
from calibrant._api.files.refinement import Refiner
from calibrant._api.files.sums import Plan, Tally
from calibrant._api.slices import SliceOfSums
from calibrant._api.streaming.summed_stream import approximate_notes, rule_names_from_cells
from calibrant._core.bin_counts import is_by_rows
from calibrant._core.binning import Bins, Cuts, EqualWidth, FixedRule, Quantile, Rule, both_rules
from calibrant._core.errors import InputError, check_weight_total
from calibrant._core.given_cells import Cells
from calibrant._core.messages import about_measures, setting, worded
from calibrant._core.progress import RowProgress
from calibrant._core.texts import message
from calibrant._core.validation import N_RESAMPLES, public
from calibrant._data.columns import check_different_columns
from calibrant._data.readers.columns import ReadRequest
from calibrant._data.readers.passes import over_pieces
from calibrant._data.readers.source import FileRows, file_rows
from calibrant._inference.budget import FULL_CLASSES
from calibrant._inference.pooled_rows import PooledSums
from calibrant._measures.catalogue import Measure, Shape
from calibrant._summaries.requirements import in_stream, known_measures
from calibrant._summaries.stream import StreamSummary
from calibrant.results._evaluation import Evaluation
from calibrant.results._reliability import ReliabilityTable

Paths: TypeAlias = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


@public
def evaluate_file(
    path: Paths,
    *,
    y_true: str | Sequence[str] | None = None,
    y_proba: str | Sequence[str] | None = None,
    sample_weight: str | None = None,
    votes: str | None = None,
    counts: str | Sequence[str] | None = None,
    bins: Bins = 15,
    measures: Iterable[str] | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    by: str | Sequence[str] | None = None,
    missing: str = "error",
    format: str | None = None,
    filter: str | None = None,
    task: str | Sequence[str] | None = None,
    skip: str | Sequence[str] | None = None,
    acc_norm: str | None = None,
    percent: bool = False,
    words: Mapping[str, float | None] | None = None,
    confidence: str | None = None,
    refusals: str | None = None,
    answer: str | None = None,
    gold: str | None = None,
    exact: bool = True,
    uncertainty: bool = False,
    groups: str | None = None,
    tolerance: float = 0.05,
    level: float = 0.95,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    progress: bool | None = None,
) -> Evaluation:
    r"""Evaluate Parquet, CSV, JSONL, Arrow or NPZ files, which are never loaded whole, and logs.

    The values equal those of `evaluate` for the same rows. Most need one pass; quantile bins, also
    for every class, need a refinement pass over the few rows near their edges, and full calibration
    needs a third pass.

    Parameters
    ----------
    path : str, path-like or list of these
        File, folder, pattern such as `"day-*.parquet"`, or a list of these.
    y_true : str or list of str, optional
        Column of labels; by default, found by its usual names. Two candidates are an error.
    y_proba : str or list of str, optional
        Column of probabilities (numbers, lists or records), or one column per class; by default,
        found by its usual names.
    sample_weight : str, optional
        Column of weights; every row counts 1 by default.
    votes : str, optional
        Column of the number of votes behind each soft label, or of all votes with counts of class
        1.
    counts : str or list of str, optional
        Columns of vote counts, one per class (or one column of lists), instead of `y_true`.
    bins : int, str, sequence of float, EqualWidth, Edges or Cells, default 15
        Bins that are fixed in advance, or cells by columns; a number also gives the number of
        quantile bins for measures that use them. `"cbrt"` and `"auto"` choose the number of bins by
        the number of rows.
    measures
        Names of `catalogue()`; by default all that apply.
    classes
        Names of the classes in the order of the columns; labels belong to the class of their name.
    by : str or list of str, optional
        Columns whose values split the rows into `slices`, in the first pass.
    format : str, optional
        Format of the files: "parquet", "csv", "jsonl", "arrow", "npz", "json", "lm-eval",
        "inspect", "excel", "stata", "sas" or "r"; by default it follows from the file name and, for
        records, from their fields: a JSON list, a log of lm-evaluation-harness or of Inspect AI.
    filter : str, optional
        lm-eval filter to use if the log has several.
    task, skip : str or list of str, optional
        Tasks to read, and tasks to skip, if logs have several. Tasks without a confidence are
        skipped, and `inferred` names them.
    acc_norm : {"characters", "bytes"}, optional
        Divide the log-likelihood of each choice by its length in this unit, as the harness does
        for its metrics acc_norm and acc_bytes.
    percent : bool, default False
        Whether `y_proba` is in percent, as 85 or "85%".
    words : mapping of str to float, optional
        The probability that each word of `y_proba` stands for, such as ``{"likely": 0.7}``; None
        for a refusal. With `percent`, percentages may be mixed in.
    confidence : {"auto"}, optional
        Read each confidence by the rule for its form: words of `words`, "85%", "85 out of 100",
        numbers up to 1 and above it, refusals, gaps. `inferred` says how many had each form; 1 is
        an error, since it may mean 1 % or certainty. Labels say whether the answer was right.
    refusals : {"excluded", "wrong"}, optional
        How answers without a confidence count: dropped, or wrong at confidence 0; by default, as
        `missing` says.
    answer, gold : str, optional
        Columns of answers and of right answers, instead of `y_true`: a row is 1 if they are equal.
    exact : bool, default True
        Whether to take refinement passes; if not, measures that need an order use about 2,500 cells
        of [0, 1], with a note.
    uncertainty : bool, default False
        Whether to add intervals, noise floors and a verdict, from the same sums. Soft labels and
        `groups` take one more reading. With several classes, only measures of the top label have
        them.
    groups : str, optional
        Column of the cluster of each row, whose rows vary together; its rows may be anywhere in the
        files.
    tolerance
        Largest error, as a gap, that you can accept.
    level (and verdicts)
    n_resamples
    seed
    progress : bool, optional
        Whether to show progress (rows and rate); by default only on a terminal.

    Returns
    -------
    Evaluation
        As `evaluate` returns; `inferred` says which columns were found, `notes` what was dropped or
        approximated.

    Raises
    ------
    InputError
        If a file, column or value cannot be read; the message names the file and its first bad row.

    Notes
    -----
    Fields within records have dotted paths as names; the fields of a record of probabilities are
    the names of the classes. Measures that need all predictions in order are computed for up to
    2^17 distinct predictions, otherwise a note says that they are not. As labels, 0 and "0" are the
    same name (the reference page on files has the rule).

    Examples
    --------
    >>> import json, tempfile, pathlib
    >>> import calibrant as cal
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "answers.jsonl"
    >>> rows = [(0, 0.2), (1, 0.7), (1, 0.9), (0, 0.4)]
    >>> lines = [json.dumps({"correct": y, "confidence": p}) for y, p in rows]
    >>> _ = file.write_text("\n".join(lines))
    >>> cal.evaluate_file(file, bins=10)["ece"]
    0.25
    """
    check_different_columns(y_true, y_proba)
    request = ReadRequest.build(
        path,
        from_logits=from_logits,
        from_logprobs=from_logprobs,
        percent=percent,
        words=words,
        confidence=confidence,
        answer=answer,
        gold=gold,
        missing=missing,
        acc_norm=acc_norm,
        refusals=refusals,
        y_true=y_true,
        y_proba=y_proba,
        sample_weight=sample_weight,
        votes=votes,
        counts=counts,
        by=by,
        classes=classes,
        format=format,
        filter=filter,
        task=task,
        skip=skip,
    )
    if groups is not None and (by is not None or not uncertainty):
        raise InputError(
            "groups and by= cannot be combined for files: drop one, or call evaluate with data= "
            "the path of a Parquet file"
            if uncertainty
            else "groups has no effect on values: add uncertainty=True"
        )
    options = Options(
        bins=bins,
        measures=measures,
        groups=groups,
        intervals="all" if uncertainty else "none",
        clinical=uncertainty,
        tolerance=tolerance,
        level=level,
        n_resamples=n_resamples,
        seed=seed,
    )
    return evaluate_request(request, options, exact=exact, progress=progress).result


class FileEvaluation(NamedTuple):
    """The evaluation of files, the sums that it was made of, and for each slice its name, the
    number of its rows and its sums.
    """

    result: Evaluation
    sums: PooledSums
    slices: tuple[SliceOfSums, ...]


def evaluate_request(
    request: ReadRequest,
    options: Options,
    *,
    exact: bool = True,
    fine: bool = False,
    progress: bool | None = None,
) -> FileEvaluation:
    """Evaluate the files of a request; `exact` and `progress` are those of `evaluate_file`. With
    `fine` rows are summed in fine cells even if no interval is asked for, and so are those of each
    slice, in place of a table of slices.
    """
    if isinstance(options.bins, Cells):
        return _evaluate_cells(request, options, options.bins, exact=exact, progress=progress)
    # Counting the rows takes a pass of its own.
    counted, bins = is_by_rows(options.bins), options.bins
    fixed, quantile = both_rules(15 if counted else bins)
    if not isinstance(fixed, FixedRule):
        raise InputError(
            f"{setting('bins', bins)}: "
            f"{worded(python='files', command='rows that are not kept in memory')} need bins that "
            "are fixed in advance, "
            f"{worded(python='a count, EqualWidth or Edges', command='a count or edges')}. With a "
            "count, measures with quantile bins use the same number"
        )
    names = None if options.measures is None else known_measures(options.measures)
    options = replace(options, measures=names)
    rows = file_rows(request)
    if counted:
        fixed, quantile = both_rules(bins, partial(_count_rows, rows, progress))
        assert isinstance(fixed, FixedRule)
    logits, all_fine = bool(request.from_logits), fine or options.intervals != "none"
    plan = Plan(rows.chosen, fixed, names, logits, bool(exact), all_fine)
    _check_available(names, plan, "multiclass" if rows.multiclass else plan.shape)
    tally = plan.tally()
    with RowProgress(rows.n_bytes, show=progress) as shown:
        for piece in over_pieces(rows, plan.tally, shown):
            tally.merge(piece)
    _check_not_empty(tally, rows)
    return _evaluation(tally, rows, quantile, options, progress, request)


def _evaluate_cells(
    request: ReadRequest, options: Options, cells: Cells, *, exact: bool, progress: bool | None
) -> FileEvaluation:
    """Evaluate files over given cells, whose columns split the rows in the first pass."""
    if not cells.names or request.by or options.intervals != "none":
        raise InputError(
            "cells of files must be columns, Cells('site', 'age'), without by= or uncertainty=: "
            "drop these options, or read the rows and evaluate arrays"
        )
    split = replace(request, by=list(cells.names))
    whole = evaluate_request(
        split, replace(options, bins=EqualWidth(15)), exact=exact, fine=True, progress=progress
    )
    tables = {name: own.summary.bins for name, _, own in whole.slices if own is not None}
    if not tables:
        raise InputError("cells of votes need the rows in memory: evaluate arrays")
    shape: Shape = "multiclass" if whole.sums.summary.n_columns > 1 else "binary"
    result = over_cells(whole.result, cells, tables, shape, options.measures)
    return whole._replace(result=result, slices=())


def _count_rows(rows: FileRows, progress: bool | None) -> int:
    """Count the rows to be measured, in one pass: all without a missing value."""
    with RowProgress(rows.n_bytes, show=progress, label="counting rows") as shown:
        return sum(over_pieces(rows, lambda batches: sum(batch.n for batch in batches), shown))


def _check_available(names: tuple[str, ...] | None, plan: Plan, shape: Shape) -> None:
    """Raise an InputError, before reading, for a named measure that needs several passes.

    Nothing is checked if no measure is named, or if the files may be read again (`plan.exact`).
    """
    if names is None or plan.exact:
        return
    own_bins = plan.tally().total.own_bins
    for measure in choose_measures(names, shape):
        # It is not known yet whether labels are soft, which distances need.
        if not in_stream(measure, own_bins=own_bins, approximate=True):
            raise InputError(
                f"the measure {measure.name!r} takes more than one pass: drop exact=False"
            )


def _check_not_empty(tally: Tally, rows: FileRows) -> None:
    """Raise an InputError if no row can be measured, or if two columns seem to be swapped.

    Soft labels beside predictions that are all 0 or 1 seem to be swapped.
    """
    if tally.example is None:
        dropped = tally.total.n_missing
        content = f"{dropped} rows, each with a missing value" if dropped else "no rows"
        raise InputError(f"{rows.called} {content}: there is nothing to measure")
    if tally.total.soft and tally.like_labels:
        first, second = rows.chosen.y_true.names[0], rows.chosen.y_proba.names[0]
        raise InputError(message("swapped", first=repr(first), second=repr(second)))


def _evaluation(
    tally: Tally,
    rows: FileRows,
    truthful: Rule,
    options: Options,
    show: bool | None,
    request: ReadRequest,
) -> FileEvaluation:
    """The evaluation from the sums of the first pass; exact values may read the files again.

    `truthful` is the rule of bins for truthful measures, `options` name the measures asked for
    (None for all) and say whether they have intervals, and `show` says whether to show progress.
    """
    assert tally.example is not None
    names = None if options.measures is None else tuple(options.measures)
    total, plan = tally.total, tally.plan
    shape: Shape = "multiclass" if total.columns > 1 else plan.shape
    chosen = choose_measures(names, shape)
    own = not isinstance(truthful, Quantile)
    summary = total.summary(approximate=True)
    summary.findings = replace(summary.findings, answers=plan.chosen.answers)
    summary.own_bins = own
    if plan.exact:
        summary = FileSummary(
            summary.cells,
            summary.sums,
            total.columns,
            summary.findings,
            own,
            refiner=Refiner(rows, plan.samples, show),
            class_sums=tally.class_sums,
            precision=tally.precision,
        )
    check_weight_total(float(summary.bins.total_weight[0]), total.n_rows)
    total.warn_of_logits()
    kept, notes = _available_measures(chosen, summary, truthful, everything=names is None)
    if isinstance(summary, FileSummary):
        summary.measures = kept
    columns = rows.chosen
    empty = f"{rows.n_empty} of {len(rows.files)} files hold no rows"
    provenance = Provenance(
        recipe={
            "n": total.n_rows,
            "n_classes": max(2, total.columns),
            "bins": str(total.rule),
            "truthful_bins": str(truthful),
            "from_logits": total.from_logits,
            "cells": summary.cells.m,
            "n_missing": total.n_missing,
            "weighted": tally.example.weighted,
            "exact": plan.exact,
            "files": len(rows.files),
            "columns": {
                "y_true": list(columns.y_true.names),
                "y_proba": list(columns.y_proba.names),
                "sample_weight": columns.sample_weight,
                "votes": columns.votes,
                "by": list(columns.by),
            },
        },
        rules=rule_names_from_cells(summary, truthful)
        if summary.approximate
        else rule_names(summary.cells.rule, truthful),
        inferred=(*describe_input(tally.example, summary.findings), *rows.messages),
        row_notes=(empty,) if rows.n_empty else (),
        measure_notes=notes,
    )
    slices, pooled, rules = None, tuple[SliceOfSums, ...](), (total.rule, truthful)
    voted = tally.example.voted and summary.findings.soft
    if tally.slices is not None and plan.fine and not voted:
        pooled = tuple(
            (name, n, PooledSums(each, rules) if each.bins.total_weight[0] > 0 else None)
            for name, n, each in tally.slices.summaries()
        )
    if tally.slices is not None and options.intervals != "none" and pooled:
        draws = (options.level, options.n_resamples, options.seed)
        slices = tally.slices.slices.infer_slices(pooled, options.tolerance, *draws)
    elif tally.slices is not None and not pooled:
        slices = tally.slices.evaluate_slices()
    # A lean pass sums no squares.
    table = replace(summary.bins, has_squares=False) if plan.lean else summary.bins
    reliability = ReliabilityTable(table, total.rule, Cuts(np.empty(0)), summary.scalar)
    result = assemble(
        summary, kept, reliability, provenance, tally.example, everything=names is None
    )
    sums = PooledSums(summary, rules, voted=tally.example.voted)
    if plan.fine and not sums.voted and (options.groups is not None or summary.soft):
        # Imported when it is asked for: most files are read once.
        from calibrant._api.files.pooled import PoolPass

        hard = not summary.soft
        pool = PoolPass(request, summary.cells, summary.scalar, options.groups, hard, show)
        sums = replace(sums, pooled=pool.rows())
    if options.intervals != "none":
        # Imported when it is asked for: most calls do without inference.
        from calibrant._api.infer_from_sums import infer_from_sums

        measures = tuple(measure for measure in kept if measure.name in result)
        result = infer_from_sums(result, sums, measures, options)
    return FileEvaluation(replace(result, slices=slices), sums, pooled)


def _available_measures(
    chosen: tuple[Measure, ...], summary: StreamSummary, truthful: Rule, *, everything: bool
) -> tuple[tuple[Measure, ...], tuple[str, ...]]:
    """Those of the `chosen` measures that the sums can give, and notes on the others.

    `truthful` is the rule of bins for truthful measures. With `everything`, no measure was named,
    and slow ones are dropped.
    """
    kept = tuple(measure for measure in chosen if summary.has(measure))
    if not everything:
        return kept, equal_mass_note(kept, truthful)
    notes = []
    distances = [m.name for m in chosen if m not in kept and m.notion == "distribution"]
    if distances and summary.findings.soft:
        notes.append(
            f"{', '.join(distances)}: not computed, because many rows in succession have hard "
            f"labels: name them, or drop {setting('exact', False)}"
        )
    absent = [m.name for m in chosen if m not in kept and m.notion != "distribution"]
    if absent:
        notes.append(
            f"{', '.join(absent)}: not computed, because they take more than one pass "
            f"({setting('exact', False)})"
        )
    if summary.n_columns > FULL_CLASSES and any(m.statistic == "full_bins" for m in kept):
        kept = tuple(measure for measure in kept if measure.statistic != "full_bins")
        notes.append(about_measures(LONG_FULL, ("lin_ce",)))
    notes += approximate_notes(kept, summary)
    return kept, (*equal_mass_note(kept, truthful), *notes)
