"""What is told of files: what they were taken for, what was left out, what cannot be had."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from calibrant._api.evaluate_samples import (
    FULL_UP_TO,
    LONG_FULL,
    assemble,
    choose,
    class_columns,
    describe_input,
    equal_mass_note,
    rule_names,
)
from calibrant._api.files.exact import FileSummary
from calibrant._api.files.refinement import Looks
from calibrant._api.files.sums import Plan, Tally
from calibrant._core.binning import Cuts, Quantile, Rule
from calibrant._core.errors import InputError, check_weight_total
from calibrant._data.readers.source import FileRows
from calibrant._measures.catalogue import EQUAL_MASS, Measure, Shape
from calibrant._summaries.stream import StreamSummary
from calibrant.results._evaluation import Evaluation
from calibrant.results._reliability import ReliabilityTable


def check_available(names: tuple[str, ...] | None, plan: Plan, multiclass: bool) -> None:
    """An error, before anything is read, for a measure that one pass cannot give."""
    if names is None or plan.exact:
        return
    kept = plan.tally().total.summary(columns=2 if multiclass else 1, approximate=True)
    for measure in choose(names, "multiclass" if multiclass else "binary"):
        # Whether labels are soft, as distances between distributions need, is not known yet.
        if measure.statistic != "distribution" and not kept.has(measure):
            raise InputError(
                f"the measure {measure.name!r} takes more than one pass: leave out exact=False"
            )


def check_not_empty(tally: Tally, rows: FileRows) -> None:
    """An error if no row can be measured, or if labels and predictions seem to be swapped."""
    if tally.example is None:
        dropped = tally.total.n_missing
        said = f"{dropped} rows, and in each something is missing" if dropped else "no rows"
        raise InputError(f"{rows.called} {said}: there is nothing to measure")
    if tally.total.soft and tally.like_labels:
        raise InputError(
            "y_true holds fractions while every y_proba is 0 or 1: the columns seem to be swapped. "
            f"y_true is {rows.chosen.y_true.names[0]!r}, y_proba {rows.chosen.y_proba.names[0]!r}"
        )


def told(
    tally: Tally, rows: FileRows, truthful: Rule, names: tuple[str, ...] | None, show: bool | None
) -> Evaluation:
    """The evaluation of the sums, and of the files where they must be read again."""
    assert tally.example is not None
    total, plan = tally.total, tally.plan
    shape: Shape = "multiclass" if total.columns > 1 else "binary"
    chosen = choose(names, shape)
    own = not isinstance(truthful, Quantile)
    summary = total.summary(approximate=True)
    summary.own_bins = own
    if plan.exact:
        looks = Looks(rows, plan.samples, show)
        summary = FileSummary(
            summary.cells, summary.sums, total.columns, summary.findings, own,
            looks=looks, class_sums=tally.class_sums, precision=tally.precision,
        )  # fmt: skip
    check_weight_total(float(summary.bins.total_weight[0]), total.n_rows)
    total.tell_logits()
    kept, notes = _kept(chosen, summary, truthful, everything=names is None)
    if isinstance(summary, FileSummary):
        summary.measures = kept
    by_class = any(measure.statistic == "class_quantile_bins" for measure in kept)
    slices = None if tally.slices is None else tally.slices.evaluated()
    columns = rows.chosen
    found = assemble(
        summary,
        kept,
        _rule_names(summary, truthful),
        _reliability(tally, summary),
        everything=names is None,
        notes=notes,
        inferred=(*describe_input(tally.example, summary.findings), *rows.said),
        classes=None,
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
                "by": list(columns.by),
            },
        },
        n_missing=total.n_missing,
    )
    empty = f"{rows.n_empty} of {len(rows.files)} files hold no rows"
    classes = None
    if total.columns > 1 and names is None:
        classes = class_columns(tally.example, summary, with_truthful=by_class)
    more = (empty,) if rows.n_empty else ()
    return replace(found, classes=classes, notes=(*more, *found.notes), slices=slices)


def _kept(
    chosen: tuple[Measure, ...], summary: StreamSummary, truthful: Rule, *, everything: bool
) -> tuple[tuple[Measure, ...], tuple[str, ...]]:
    """The measures that can be had, and what is told of the others."""
    kept = tuple(measure for measure in chosen if summary.has(measure))
    if not everything:
        for measure in chosen:
            if measure not in kept:
                raise InputError(
                    f"the measure {measure.name!r} is of soft labels, and these are hard"
                )
        return kept, equal_mass_note(kept, truthful)
    notes = []
    gone = [m.name for m in chosen if m not in kept and m.statistic != "distribution"]
    if gone:
        notes.append(f"{', '.join(gone)}: left out, for they take more than one pass (exact=False)")
    if summary.n_columns > FULL_UP_TO and any(m.statistic == "full_bins" for m in kept):
        kept = tuple(measure for measure in kept if measure.statistic != "full_bins")
        notes.append(LONG_FULL)
    near = [m.name for m in kept if summary.approximate and summary.is_from_cells(m)]
    if near:
        notes.append(f"approximate, from {summary.cells.m} cells: {', '.join(near)}")
    return kept, (*equal_mass_note(kept, truthful), *notes)


def _rule_names(summary: StreamSummary, truthful: Rule) -> dict[str, str]:
    fixed = summary.cells.rule
    out = rule_names(fixed, truthful)
    if not summary.approximate:
        return out
    cells = f"{summary.cells.m} cells"
    near = f"{fixed.m} quantile bins from {cells}"
    if not summary.own_bins:
        out |= {"quantile_bins": near, "confidence_bins": near}
    return out | {"levels": cells, **dict.fromkeys(EQUAL_MASS, near)}


def _reliability(tally: Tally, summary: StreamSummary) -> ReliabilityTable:
    """A table that knows what was not summed."""
    table = replace(summary.bins, has_squares=False) if tally.plan.lean else summary.bins
    return ReliabilityTable(table, tally.total.rule, Cuts(np.empty(0)), summary.scalar)
