"""The front door: evaluate() and reliability()."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from numpy.typing import ArrayLike

from calibrant._core.bin_tables import BinTable
from calibrant._core.binning import (
    Bins,
    LevelSets,
    Quantile,
    Rule,
    as_rule,
    both_rules,
    equal_mass_rule,
)
from calibrant._core.errors import InputError, NotDefined, check_some_left
from calibrant._core.validation import N_RESAMPLES, public
from calibrant._data.columns import is_lazy
from calibrant._data.source import Source
from calibrant._data.to_samples import to_samples, to_samples_in_place
from calibrant._engines.protocol import Findings
from calibrant._inference.budget import FULL_CLASSES
from calibrant._measures.binned import binned_errors
from calibrant._measures.catalogue import Measure, Shape, catalogue, equal_mass_names, find
from calibrant._measures.gap_scale import checked_tolerance
from calibrant._measures.smooth import LS_SIGMA
from calibrant._measures.statistics import Statistics
from calibrant._measures.truthful import linear_errors
from calibrant._summaries.samples import SourceStatistics, Summary, resolve_notion
from calibrant.results._evaluation import Estimate, Evaluation
from calibrant.results._reliability import ReliabilityTable


@public
def evaluate(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    bins: Bins = 15,
    measures: Iterable[str] | None = None,
    uncertainty: bool = False,
    tolerance: float = 0.05,
    level: float = 0.95,
    groups: ArrayLike | None = None,
    votes: ArrayLike | None = None,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    by: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    from_logits: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
    missing: str = "error",
) -> Evaluation:
    """Compute every measure that applies, with the reliability table and notes on the input.

    The values are those of the functions of the same name with their defaults; files, frames and
    streams give the same ones. `ace` and `tace` are defined by bins of equal mass: of another rule
    they take its number of bins, and a note says so.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    bins : int, str, sequence of float or bin rule, default 15
        A number means so many equal-width bins for ordinary errors and so many quantile bins for
        truthful ones; a rule (`EqualWidth`, `Quantile`, `Edges`, `LevelSets`) is used for both.
    measures : iterable of str, optional
        Names of `catalogue()`; by default all that apply, but for distances between distributions
        with hard labels and full calibration with more than 200 classes.
    uncertainty : bool, default False
        Whether to add a confidence interval and a noise floor to each measure, and a verdict.
    tolerance : float in (0, 1), default 0.05
        Largest calibration error, as a gap, that you can accept.
    level : float in (0, 1), default 0.95
        Confidence level of intervals and verdicts.
    groups : array-like of shape (n,) or str, optional
        Cluster of each row (patient, document, game); rows of one cluster are resampled together.
        Needs `uncertainty` or `by`.
    votes : int or array-like of shape (n,), optional
        Number of votes behind each soft label; losses and distances have no noise floor without it.
    n_resamples : int, default 1000
        Number of resamples behind each interval and noise floor.
    seed : int, default 0
        Seed of all random draws; the same seed gives the same result.
    by : array-like of shape (n,), str or list of str, optional
        Value of each row, or names of columns: `slices` then has an evaluation for each value, with
        p-values corrected for their number.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame or mapping, optional
        Frame whose columns the other arguments name. Lazy frames (polars, DuckDB, Spark, Dask,
        Ibis) are summed where they are, in one pass.
    missing : {"error", "drop"}, default "error"
        What to do with rows in which a value is missing: raise an error, or drop and count them.

    Returns
    -------
    Evaluation
        `evaluation["ece"]` is a value, `estimates` all of them, `reliability` the bins, `verdict`
        and `slices` where asked for, `inferred` and `notes` what to know of the input; prints as a
        table.

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row. Also if a measure asked for by name has no value for these data; one that was not asked
        for is left out with a note.

    Notes
    -----
    `classes` names the classes in the order of the columns, and a label belongs to the class of its
    name, where a number and its text are one name: 0 and "0". Only where no class has a number for
    its name are numeric labels class indices. `inferred` says how labels were read.

    Rows are matched by position: pandas objects with different indexes are an error.

    Examples
    --------
    >>> import calibrant as cal
    >>> result = cal.evaluate([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], measures=["ece", "brier"])
    >>> result["ece"], round(result["brier"], 4)
    (0.25, 0.075)
    """
    tolerance = checked_tolerance(tolerance)
    if groups is not None and not uncertainty and by is None:
        raise InputError(
            "groups has no effect on the values themselves: with it goes uncertainty=True, or by=, "
            "whose slices have p-values"
        )
    if is_lazy(data):
        if groups is not None:
            raise InputError(
                "groups needs the rows, which stay where they are in a frame of another engine: "
                "collect a sample of whole clusters and evaluate that"
            )
        # Frames elsewhere are summed there, in one pass for everything.
        from calibrant._api.evaluate_frame import evaluate_frame

        return evaluate_frame(
            y_true, y_proba, data, bins=bins, measures=measures, uncertainty=uncertainty, by=by,
            sample_weight=sample_weight, from_logits=from_logits, classes=classes, missing=missing,
        )  # fmt: skip
    # Resampling and slicing need the rows here; the rest is summed where they are.
    door = to_samples if uncertainty or by is not None else to_samples_in_place
    samples: Any = door(
        y_true, y_proba, sample_weight=sample_weight, from_logits=from_logits, classes=classes,
        data=data, missing=missing,
    )  # fmt: skip
    check_some_left(samples.n)
    fixed, quantile = both_rules(bins)
    summary = Summary(samples, fixed, quantile, together=measures is None)
    chosen = choose(measures, samples.shape)
    table, cuts = summary.table_with_cuts(summary.scalar, fixed)
    notes = equal_mass_note(chosen, quantile)
    if measures is None:
        kept = tuple(m for m in chosen if _is_worth_it(m, samples, quantile, summary.findings.soft))
        if any(m.statistic == "full_bins" for m in chosen if m not in kept):
            notes += (LONG_FULL,)
        chosen = kept
    with_classes = samples.multiclass and measures is None
    result = assemble(
        summary,
        chosen,
        rule_names(fixed, quantile),
        ReliabilityTable(table, fixed, cuts, summary.scalar),
        everything=measures is None,
        notes=notes,
        inferred=describe_input(samples, summary.findings),
        classes=class_columns(samples, summary) if with_classes else None,
        recipe={
            "n": samples.n,
            "n_classes": samples.n_classes,
            "bins": str(fixed),
            "truthful_bins": str(quantile),
            "from_logits": samples.from_logits,
            "weighted": samples.weighted,
            "n_missing": samples.n_missing,
        },
        n_missing=samples.n_missing,
    )
    if uncertainty:
        # Resampling is imported when it is asked for: most calls do without.
        from calibrant._api.evaluate_uncertainty import add_uncertainty, uncertainty_of

        worth = uncertainty_of(
            samples, fixed, quantile, _of(result, chosen), level=level, groups=groups, votes=votes,
            n_resamples=n_resamples, seed=seed, data=data,
        )  # fmt: skip
        result = add_uncertainty(result, worth, tolerance, asked=measures is not None)
    index = None
    if groups is not None:
        from calibrant._api.evaluate_uncertainty import clustered
        from calibrant._api.metrics.uncertainty import group_index

        index = group_index(groups, samples, data)
        result = replace(result, reliability=clustered(result.reliability, samples, index))
    if by is not None:
        from calibrant._api.slices import Judging, sliced

        slices = sliced(
            samples, by, data, fixed, quantile, chosen, votes=votes, seed=seed,
            groups=index, asked=measures is not None,
            judging=Judging(tolerance, level, n_resamples) if uncertainty else None,
        )  # fmt: skip
        result = replace(result, slices=slices)
    return result


def _of(result: Evaluation, chosen: tuple[Measure, ...]) -> tuple[Measure, ...]:
    """The measures that have a value."""
    return tuple(measure for measure in chosen if measure.name in result)


LONG_FULL = "lin_ce: left out, for full calibration of so many classes takes long; ask by name"


def _is_worth_it(measure: Measure, samples: Source, rule: Rule, soft: bool) -> bool:
    """Whether an evaluation of everything includes the measure; by name it always can."""
    if measure.statistic == "full_bins":
        ranked = isinstance(rule, Quantile) and rule.ties == "rank"
        return samples.n_classes <= FULL_CLASSES and not ranked
    return soft or not measure.soft_only


def assemble(
    summary: SourceStatistics,
    chosen: tuple[Measure, ...],
    rules: dict[str, str],
    table: ReliabilityTable,
    *,
    everything: bool,
    notes: tuple[str, ...] = (),
    inferred: tuple[str, ...],
    classes: dict[str, list[Any]] | None,
    recipe: dict[str, Any],
    n_missing: int = 0,
) -> Evaluation:
    """An Evaluation from whatever summary there is, of samples or of a stream.

    Of `everything`, a measure that has no value for these data is left out, and told.
    """
    estimates, undefined = [], []
    for measure in chosen:
        try:
            estimates.append(estimate_of(measure, summary, rules))
        except NotDefined as error:
            if not everything:
                raise type(error)(f"the measure {measure.name!r} has no value: {error}") from None
            undefined.append(f"{measure.name}: left out, {error}")
    # Notes come last: computing an estimate may find something to tell.
    found = notes_of(summary.findings, table.table, summary.n_logits_clipped)
    if n_missing:
        found = (missing_note(n_missing), *found)
    said = (*found, *notes, *undefined)
    return Evaluation(tuple(estimates), table, classes, inferred, said, recipe)


def equal_mass_note(chosen: Iterable[Measure], rule: Rule) -> tuple[str, ...]:
    """Which measures keep bins of equal mass where another rule was given for all."""
    names = [measure.name for measure in chosen if measure.equal_mass]
    own = equal_mass_rule(rule)
    if not names or own == rule:
        return ()
    are, they = ("is", "it") if len(names) == 1 else ("are", "they")
    return (f"{' and '.join(names)} {are} defined by bins of equal mass: {they} took {own}",)


def missing_note(n_missing: int) -> str:
    """The sentence for rows that were left out."""
    rows = "1 row was" if n_missing == 1 else f"{n_missing} rows were"
    return f"{rows} left out because a prediction, label or weight was missing (missing='drop')"


@public
def reliability(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    bins: Bins = 15,
    notion: str | None = None,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    from_logits: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> ReliabilityTable:
    """The reliability table: edges, rows, mean prediction, mean target and gap of each bin.

    Empty bins stay, and counts add up to n.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    bins : int, str, sequence of float or bin rule, default 15
        Number of equal-width bins, edges, or a rule: `EqualWidth`, `Quantile`, `Edges`,
        `LevelSets`.
    notion : {"binary", "confidence"}, optional
        What is judged: P(y = 1) for (n,) (`"binary"`), the top label for (n, k) (`"confidence"`).
    groups : array-like of shape (n,) or str, optional
        Cluster of each row (patient, document, game): limits of mean targets are then as wide as so
        many clusters allow.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame or mapping, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, DuckDB, Spark, Dask.

    Returns
    -------
    ReliabilityTable
        A row per bin (`columns`, `to_frame`), its `intervals` and its diagram (`plot`).

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.reliability([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], bins=2)
    ReliabilityTable (binary, 2 equal-width bins, left-closed)
      bin   lower   upper  n  mean_predicted  mean_target      gap
        0  0.0000  0.5000  2          0.3000       0.0000   0.3000
        1  0.5000  1.0000  2          0.8000       1.0000  -0.2000
    """
    rule = as_rule(bins)
    door = to_samples_in_place if groups is None else to_samples
    samples: Any = door(
        y_true, y_proba, sample_weight=sample_weight, from_logits=from_logits, classes=classes,
        data=data,
    )  # fmt: skip
    settled = resolve_notion(samples, notion)
    if settled in ("classwise", "full"):
        raise InputError(
            f"a reliability table has one row per bin, so notion={notion!r} has none: give one "
            "class's column as y_proba and (y_true == class) as y_true"
        )
    table, cuts = Summary(samples).table_with_cuts(settled, rule)
    found = ReliabilityTable(table, rule, cuts, settled)
    if groups is None:
        return found
    from calibrant._api.evaluate_uncertainty import clustered
    from calibrant._api.metrics.uncertainty import group_index

    return clustered(found, samples, group_index(groups, samples, data))


def choose(measures: Iterable[str] | None, shape: Shape) -> tuple[Measure, ...]:
    """The measures asked for by name, or all that apply."""
    if measures is None:
        return catalogue(shape)
    if isinstance(measures, str):
        raise InputError(f"measures must be a list of names; got the text {measures!r}")
    return tuple(find(name, shape) for name in measures)


def rule_names(fixed: Rule, quantile: Rule) -> dict[str, str]:
    """Which rule stands behind each statistic that a measure may read, or behind a measure."""
    return {
        **dict.fromkeys(equal_mass_names(), str(equal_mass_rule(quantile))),
        "bins": str(fixed),
        "class_bins": str(fixed),
        "quantile_bins": str(quantile),
        "class_quantile_bins": str(quantile),
        "confidence_bins": str(quantile),
        "full_bins": f"top class x {quantile}",
        "levels": str(LevelSets()),
        "logit_grid": f"Gaussian noise, sigma {LS_SIGMA:g}",
        "smooth": "bandwidth at its fixed point",
    }


def estimate_of(measure: Measure, summary: SourceStatistics, rules: dict[str, str]) -> Estimate:
    """One measure's value from a summary's statistics."""
    return Estimate(
        measure.name,
        measure.compute(summary),
        measure.title,
        summary.scalar if measure.notion == "scalar" else measure.notion,
        rules.get(measure.name, rules.get(measure.statistic, "")) if measure.needs_order else "",
        measure.claims.truthful,
        measure.higher_is_better,
    )


def class_columns(
    samples: Source, summary: Statistics, *, with_truthful: bool = True
) -> dict[str, list[Any]]:
    """A row per class: mean prediction, mean target, errors; the worst first. The truthful error
    goes by each class's own quantile bins, which not every summary has.
    """
    bins = summary.class_bins
    weight = bins.total_weight
    errors = binned_errors(bins)
    names = samples.class_names or tuple(str(r) for r in range(bins.n_classes))
    order = (-errors).argsort(kind="stable")
    columns = {
        "mean_predicted": bins.sum_wu.sum(axis=1) / weight,
        "mean_target": bins.sum_wz.sum(axis=1) / weight,
        "ece": errors,
    }
    if with_truthful:
        columns["lin_ce"] = linear_errors(summary.class_quantile_bins)
    out: dict[str, list[Any]] = {"class": [names[r] for r in order]}
    out.update({name: values[order].tolist() for name, values in columns.items()})
    return out


def describe_input(samples: Source, findings: Findings) -> tuple[str, ...]:
    """What the input was taken for, now that the values have been seen."""
    if samples.multiclass and not samples.soft_rows:
        return samples.inferred
    kind = "soft (probabilities)" if findings.soft else "hard (0 or 1)"
    return (*samples.inferred, f"labels are {kind}")


def notes_of(findings: Findings, table: BinTable, n_logits_clipped: int = 0) -> tuple[str, ...]:
    """What was clipped, tolerated or left out, in words."""
    notes = []
    if findings.n_predictions_clipped:
        notes.append(
            f"{findings.n_predictions_clipped} numbers overshot [0, 1] by at most 1e-4 and were "
            "brought back to it"
        )
    if findings.n_rows_off_simplex:
        notes.append(
            f"{findings.n_rows_off_simplex} rows of y_proba sum to 1 only within the tolerance"
        )
    if findings.n_log_clipped:
        notes.append(
            f"{findings.n_log_clipped} predictions below 1e-12 on what happened count as 1e-12 in "
            f"the "
            "log loss"
        )
    if n_logits_clipped:
        notes.append(
            f"{n_logits_clipped} predictions closer to 0 or 1 than 1e-6 (logits beyond 40) were "
            f"moved "
            "there for the logit-smoothed error"
        )
    if table.n_dropped:
        notes.append(f"{table.n_dropped} predictions of exactly 1 are in no bin (drop_one)")
    return tuple(notes)
