"""What is told of files: what they were taken for, what was left out, what cannot be had."""

from __future__ import annotations

from dataclasses import replace

from calibrant.binning import EqualWidth
from calibrant.engines.cells import Cells
from calibrant.engines.protocol import Findings
from calibrant.errors import InputError
from calibrant.evaluation import choose, class_columns, said_of
from calibrant.files.tally import Tally
from calibrant.inputs.readers.source import FileRows
from calibrant.measures.catalogue import Shape, find
from calibrant.results.evaluation import Estimate, Evaluation
from calibrant.results.reliability import ReliabilityTable
from calibrant.stream_summary import StreamSummary

_BY_QUANTILES = ("quantile_bins", "confidence_bins")


def refuse_unkept(names: tuple[str, ...] | None, multiclass: bool) -> None:
    """An error, before anything is read, for a measure that sums cannot give."""
    if names is None:
        return
    kept = StreamSummary(Cells(EqualWidth(1), False), {}, 2 if multiclass else 1, Findings())
    for measure in choose(names, "multiclass" if multiclass else "binary"):
        # Whether labels are soft, as distances between distributions need, is not known yet.
        if measure.statistic != "distribution" and not kept.has(measure):
            raise InputError(
                f"the measure {measure.name!r} needs all rows in memory: load them with "
                "calibrant.file_evaluation.read_file and use evaluate"
            )


def refuse_nothing(tally: Tally, rows: FileRows) -> None:
    """An error if no row can be measured, or if labels and reports seem to be swapped."""
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
    evaluation: Evaluation, tally: Tally, rows: FileRows, quantile: str, exact: bool
) -> Evaluation:
    """The evaluation of the sums, with what is known of the files."""
    assert tally.example is not None
    chosen, total = rows.chosen, tally.total
    shape: Shape = "multiclass" if total.columns > 1 else "binary"
    own = quantile == str(total.rule)
    empty = f"{rows.n_empty} of {len(rows.files)} files hold no rows"
    classes = None
    if total.columns > 1 and total.measures is None:
        cells = Cells(total.rule)
        summary = StreamSummary(cells, total.packed(), total.columns, Findings())
        classes = class_columns(tally.example, summary)
    return replace(
        evaluation,
        estimates=tuple(
            _by_own_rule(estimate, shape, quantile) if own else estimate
            for estimate in evaluation.estimates
        ),
        reliability=_without_squares(evaluation) if tally.plan.lean else evaluation.reliability,
        classes=classes,
        inferred=(*said_of(tally.example, Findings(soft=total.soft)), *rows.said),
        notes=(*((empty,) if rows.n_empty else ()), *evaluation.notes),
        recipe={
            **evaluation.recipe,
            **({"truthful_bins": quantile} if own else {}),
            "weighted": tally.example.weighted,
            "exact": bool(exact),
            "files": len(rows.files),
            "columns": {
                "y_true": list(chosen.y_true.names),
                "y_proba": list(chosen.y_proba.names),
                "sample_weight": chosen.sample_weight,
                "by": list(chosen.by),
            },
        },
        slices=None if tally.slices is None else tally.slices.evaluated(),
    )


def _without_squares(evaluation: Evaluation) -> ReliabilityTable:
    """A table that knows what was not summed."""
    table = evaluation.reliability
    return replace(table, table=replace(table.table, has_squares=False))


def _by_own_rule(estimate: Estimate, shape: Shape, rule: str) -> Estimate:
    """An estimate in the rule's own bins, where a count would have meant quantile bins."""
    if find(estimate.name, shape).statistic not in _BY_QUANTILES:
        return estimate
    return replace(estimate, rule=rule)
