"""compare(): several predictors on the same rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeGuard, Unpack

import numpy as np
from numpy.typing import ArrayLike

from calibrant._api.annotator_ceiling import ceiling_of_models
from calibrant._api.compare_coefficients import NamedMeasures, coefficients_of_rows
from calibrant._api.compare_sums import limits_of_pairs
from calibrant._api.cross_fitting import FOLDS
from calibrant._api.curve_of_rows import reliability_table
from calibrant._api.evaluate_samples import choose_measures, describe_input, notes_of
from calibrant._api.evaluate_uncertainty import resampled_note
from calibrant._api.model_rows import model_set, own_labels_note
from calibrant._api.order_bias import has_order_bias, order_bias
from calibrant._api.rank_robustness import rank_robustness
from calibrant._api.resampling import Resampling
from calibrant._api.risk_curve import risk_coverage_curve
from calibrant._api.rows import GivenRows, check_without, group_index, read_cells
from calibrant._api.scale_on import recalibrate_predictors
from calibrant._api.slices import slices_of_samples
from calibrant._core.arguments import WeightedRows
from calibrant._core.binning import Bins, EqualWidth, Quantile, both_rules
from calibrant._core.engine_choice import n_threads, one_blas_thread
from calibrant._core.errors import InputError, NotDefined, errors_about
from calibrant._core.given_cells import Cells
from calibrant._core.typing import Array, Index
from calibrant._core.validation import (
    N_RESAMPLES,
    check_level,
    check_resample,
    check_resamples,
    public,
)
from calibrant._data.arrays import is_summed_on_device
from calibrant._data.columns import is_lazy, scan_if_path
from calibrant._data.logprobs import given_as
from calibrant._data.samples import Samples
from calibrant._engines.arrays.passes import in_threads
from calibrant._inference.blocks import blocks_of
from calibrant._inference.budget import THREADS_FROM
from calibrant._inference.differences import Differences
from calibrant._inference.uncertainty import Uncertainty
from calibrant._measures.catalogue import Measure, Shape, listed
from calibrant._measures.gap_scale import checked_tolerance
from calibrant._measures.ranking import aurc_influence
from calibrant._summaries.samples import Summary
from calibrant.results._comparison import Comparison
from calibrant.results._order_bias import OrderBias
from calibrant.results._risk_coverage import RiskCoverage
from calibrant.results._robustness import RankRobustness
from calibrant.results._slices import Slices
from calibrant.scaling._same_rows import about_mapped

# Rank correlations of fewer predictors are too easily high by chance.
FEWEST_RANKED = 8


@public
def compare(
    y_true: ArrayLike | Mapping[str, ArrayLike],
    y_proba: Mapping[str, ArrayLike] | ArrayLike,
    *,
    ids: Mapping[str, ArrayLike] | ArrayLike | None = None,
    models: ArrayLike | None = None,
    measures: Iterable[str] | None = None,
    bins: Bins = 15,
    bin_counts: Sequence[int] = (5, 20, 100),
    tolerance: float = 0.05,
    level: float = 0.95,
    groups: ArrayLike | None = None,
    by: ArrayLike | None = None,
    votes: ArrayLike | None = None,
    resample: str | None = None,
    scale_on: Mapping[str, Any] | None = None,
    scaler: str = "temperature",
    ceiling: bool = False,
    answered: Mapping[str, float] | None = None,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    **rows: Unpack[WeightedRows],
) -> Comparison:
    """Compare predictors on the same rows: differences with intervals, ranks and robustness.

    All predictors are resampled together, so common noise cancels in differences.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str, list of str, or mapping of str to these
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`. A
        mapping by predictor if each has its own labels, such as whether its own answer was right.
    y_proba : mapping of str to array-like or str
        Predictions of each predictor by its name, as (n,) or (n, k), or columns' names with `data`;
        with `models`, the predictions of all of them.
    ids : mapping of str to array-like of shape (n,), optional
        Id of each row for "y_true" and for predictors by name; rows are matched by it. A predictor
        without ids is in the order of `y_true`. If each predictor has its own labels, ids by
        predictor; with `models`, the id of every row.
    models : array-like of shape (n,) or str, optional
        Long format: the model of each row; `y_true`, `y_proba` and `ids` then have a value for each
        row of each model. Slices, clusters and weights are those of the first model's rows.
    measures
        Names of `catalogue()`, and "slope", "intercept" and "intercept_in_the_large" of
        `cox_calibration`; by default ECE, smooth ECE, the truthful errors and the usual losses.
    bins
    bin_counts : sequence of int, default (5, 20, 100)
        Numbers of bins at which rank robustness is computed.
    tolerance
        Largest calibration error, as a gap, that you can accept, in a slice (`by`) and on the page.
    level
        Confidence level of values and differences.
    groups
    by
        Value of each row, or names of columns: `slices` then has the slices of each predictor.
    votes (taken out)
    resample
    scale_on : mapping, optional
        Validation rows to fit a recalibration map of each predictor, to compare predictors after
        recalibration: `y_true`, `y_proba` (a mapping with the same names), and, if used,
        `sample_weight`, `votes` and `data`.
    scaler : str, default "temperature"
        Map to fit: "temperature", "platt", "isotonic", "beta", "histogram", "vector", "matrix",
        "dirichlet" or "label-smoothing".
    ceiling : bool, default False
        Whether to add the rows of `annotator_ceiling`: one annotator, half of the votes, and as
        many annotators again. Needs votes.
    answered : mapping of str to float, optional
        Share of the questions to which each predictor gave a confidence, by name: an additional
        column (`read_confidences` gives the shares).
    n_resamples
    seed
    data

    Returns
    -------
    Comparison
        `values`, `order(measure)`, `difference(first, second, measure)`, `robustness` (rank
        correlations and the maximum dominance set, of eight predictors or more), `order_bias`
        (whether truthful errors order predictors like the losses), and diagrams (`plot`).

    Notes
    -----
    If a `calibrant.scaling` map was fitted in this session to rows that are compared here, `notes`
    says to which share of the rows.

    Slopes and intercepts are those of `clinical_summary`. A slope is better the closer it is to 1,
    an intercept the closer to 0: ranks and `better` follow from the difference of the distances.
    `difference` has that of the values too, from the joint sandwich covariance of both fits.

    `order_bias` is computed for truthful errors named in `measures`, for independent rows without
    weights.

    References
    ----------
    Lu, Wu, Hartline and Hu (2026), Truthful Calibration Errors for Multi-Class Prediction, theorem
    4.3 and section 5.2.

    Examples
    --------
    >>> import calibrant as cal
    >>> y = [0, 1, 1, 0] * 25
    >>> good, bad = [0.1, 0.8, 0.9, 0.2] * 25, [0.3, 0.5, 0.6, 0.6] * 25
    >>> found = cal.compare(y, {"good": good, "bad": bad})
    >>> found.order("brier"), found.difference("bad", "good", "brier").better
    (['good', 'bad'], 'good')
    """
    check_resamples(n_resamples, seed)
    check_level(level)
    checked_tolerance(tolerance)
    shares = check_answered(answered)
    named = NamedMeasures.of(measures)
    measures = named.others
    named.check_without(by=by, ceiling=ceiling)
    rows["data"] = scan_if_path(rows.get("data"))
    given = GivenRows(
        y_true=y_true,
        y_proba=y_proba,
        sample_weight=rows.get("sample_weight"),
        groups=groups,
        by=by,
        votes=votes,
        ids=ids,
        data=rows["data"],
    )
    draws: dict[str, Any] = {
        "level": float(level),
        "n_resamples": int(n_resamples),
        "seed": int(seed),
    }
    if is_lazy(given.data):
        check_without(
            models=models,
            resample=resample,
            scale_on=scale_on,
            ceiling=ceiling or None,
            answered=answered,
        )
        # A frame of another engine is summed there.
        from calibrant._api.compare_frame import compare_frame

        return compare_frame(given, rows, named, bins, **draws)
    absent: tuple[Any, ...] = (models, ids, by, votes, resample, scale_on, ceiling or None)
    absent += (answered, named.coefficients or None)
    needs_rows = isinstance(bins, Cells) or any(value is not None for value in absent)
    if not needs_rows and _is_on_device(y_proba):
        # Imported where large tensors are given.
        from calibrant._api.on_device import compare_on_device

        found = compare_on_device(y_true, y_proba, groups, rows, measures, bins, **draws)
        if found is not None:
            return found
    how = given_as(rows.get("from_logits", False), rows.get("from_logprobs", False))
    classes = rows.get("classes")
    maps: tuple[str, ...] = ()
    if scale_on is not None:
        y_proba, data, maps = recalibrate_predictors(
            y_proba, scale_on, scaler, how, classes, given.data
        )
        given, how = replace(given, y_proba=y_proba, data=data), False
    compared = model_set(given, models, how, classes)
    samples, n_own = compared.samples, compared.n_own_labels
    check_names_answered(shares, samples)
    first = next(iter(samples.values()))
    shape = first.shape
    chosen = listed("compare", shape) if measures is None else choose_measures(measures, shape)
    if not (chosen or named.coefficients):
        raise InputError("measures must name at least one measure")
    rules = both_rules(read_cells(bins, given.data), first.n, cells=ids is None and by is None)
    bin_counts = _whole_counts(bin_counts)
    index = group_index(compared.groups, first, compared.data)
    drawn_anew = check_resample(resample, first.votes)
    named.check_without(resample=drawn_anew if drawn_anew == "votes" else None)

    summaries = {name: Summary(each, *rules) for name, each in samples.items()}
    threads = n_threads() if first.n >= THREADS_FROM else 1
    chosen, values, undefined = _values_of_predictors(
        chosen, summaries, threads, asked=measures is not None
    )
    # This comes first because it raises an error for labels that are not votes.
    people = None
    if ceiling:
        if n_own:
            raise InputError(
                "ceiling=True needs the same labels for all predictors, but each has its own"
            )
        people = ceiling_of_models(samples, chosen, rules, float(level), int(seed))
    resampling = Resampling(rules=rules, groups=index, **draws)
    # Slices come before the draws because a bad column is an error.
    slices: dict[str, Slices] | None = None
    if compared.by is not None:
        by, data, asked = compared.by, compared.data, measures is not None
        largest = checked_tolerance(tolerance)
        slices = {
            name: slices_of_samples(
                each, by, data, chosen, resampling, asked=asked, tolerance=largest
            )
            for name, each in samples.items()
        }
    resamples = _resample_predictors(
        list(samples.values()), values, chosen, replace(resampling, resample=drawn_anew)
    )
    drawn_anew_note = resampled_note(resamples[0].uncertainty.resampling)
    findings = next(iter(summaries.values())).findings
    limits = np.array([each.limits for each in resamples])
    biases, no_biases = _order_biases(
        samples, chosen if measures is not None else (), np.array(values), limits, resampling
    )
    with one_blas_thread(beside=1):
        pairs = limits_of_pairs(
            values,
            chosen,
            resampling.level,
            lambda a, b: Differences(resamples[a].uncertainty, resamples[b].uncertainty),
        )
    found = Comparison(
        names=tuple(samples),
        measures=tuple(m.name for m in chosen),
        higher_is_better=tuple(m.higher_is_better for m in chosen),
        values=np.array(values),
        limits=limits,
        pairs=pairs,
        level=float(level),
        robustness=_robustness(
            samples, shape, bin_counts, threads, chosen if measures is not None else None
        ),
        slices=slices,
        inferred=(*describe_input(first, findings), *own_labels_note(n_own, first.n)),
        shape=shape,
        soft=findings.soft,
        notes=(
            *maps,
            *_notes(samples, summaries, [m.name for m in chosen]),
            *undefined,
            *drawn_anew_note,
            *no_biases,
        ),
        recipe={
            "n": first.n,
            "n_classes": first.n_classes,
            "bins": str(rules[0]),
            "truthful_bins": str(rules[1]),
            "bin_counts": list(bin_counts),
            "from_logits": first.from_logits,
            "weighted": first.weights is not None,
            **draws,
            "grouped": index is not None,
            **({} if slices is None and tolerance == 0.05 else {"tolerance": float(tolerance)}),
            "matched_by_ids": compared.matched,
            **({"own_labels": True} if n_own else {}),
            **({} if scale_on is None else {"scaler": scaler}),
        },
        tables=tuple(reliability_table(summary) for summary in summaries.values()),
        ceiling=people,
        order_bias=biases,
        risks=_risk_curves(samples, summaries, chosen, float(level), index),
        answered=None if shares is None else tuple(shares[name] for name in samples),
    )
    if not named.coefficients:
        return found
    uncertainties = {name: each.uncertainty for name, each in zip(samples, resamples, strict=True)}
    return coefficients_of_rows(found, named, uncertainties)


def _risk_curves(
    samples: Mapping[str, Samples],
    summaries: Mapping[str, Summary],
    chosen: tuple[Measure, ...],
    level: float,
    groups: Index | None,
) -> tuple[RiskCoverage, ...]:
    """The risk-coverage curve of each predictor, if the area under it is among the measures."""
    if not any(measure.moved is aurc_influence for measure in chosen):
        return ()
    return tuple(
        risk_coverage_curve(each, summary.scalar, summary.levels, level, groups)
        for each, summary in zip(samples.values(), summaries.values(), strict=True)
    )


def check_answered(answered: Mapping[str, float] | None) -> dict[str, float] | None:
    """Check that shares of answered questions are shares, and return them by name."""
    if answered is None:
        return None
    if not isinstance(answered, Mapping):
        raise InputError(f"answered must map names of predictors to shares; got {answered!r}")
    for name, share in answered.items():
        if not 0.0 <= share <= 1.0:
            raise InputError(f"answered[{name!r}] is {share!r}: it must be a share in [0, 1]")
    return {name: float(share) for name, share in answered.items()}


def check_names_answered(shares: Mapping[str, float] | None, names: Iterable[str]) -> None:
    """Raise InputError unless there is a share of answered questions for each predictor."""
    if shares is not None and set(shares) != set(names):
        raise InputError(
            f"answered has shares of {', '.join(shares)}, but the predictors are "
            f"{', '.join(names)}: give one share for each predictor"
        )


def _is_on_device(y_proba: Any) -> TypeGuard[Mapping[str, Any]]:
    """Whether predictions are large tensors on an accelerator, of fewer predictors than have rank
    correlations, which need the rows.
    """
    if not isinstance(y_proba, Mapping) or not 1 < len(y_proba) < FEWEST_RANKED:
        return False
    return all(map(is_summed_on_device, y_proba.values()))


def _order_biases(
    samples: Mapping[str, Samples],
    asked: Sequence[Measure],
    values: Array,
    limits: Array,
    resampling: Resampling,
) -> tuple[dict[str, OrderBias] | None, tuple[str, ...]]:
    """The bias of the order by each truthful error that was `asked` for, and notes.

    None if there is none: the theorem is about independent rows that count alike, and recalibration
    is learned from several.
    """
    first = next(iter(samples.values()))
    concerned = any(has_order_bias(measure, first.shape) for measure in asked)
    if first.n < 2 * FOLDS or len(samples) < 2 or not concerned:
        return None, ()
    given = {
        "weights": first.weighted,
        "clusters": resampling.groups is not None,
        "votes": first.voted,
    }
    if any(given.values()):
        why = ", ".join(name for name, is_so in given.items() if is_so)
        return None, (
            f"order_bias: not computed, because theorem 4.3 does not cover rows with {why}",
        )
    draws = resampling.level, resampling.seed
    return {
        measure.name: order_bias(samples, measure, values[:, j], limits[:, j], *draws)
        for j, measure in enumerate(asked)
        if has_order_bias(measure, first.shape)
    }, ()


def _values_of_predictors(
    chosen: tuple[Measure, ...], summaries: Mapping[str, Summary], threads: int, *, asked: bool
) -> tuple[tuple[Measure, ...], list[list[float]], tuple[str, ...]]:
    """The measures to show, each predictor's values, (predictors, measures), and notes.

    A measure that has no value for some predictor is dropped with a note; if measures were `asked`
    for by name, NotDefined is raised instead.
    """

    def measure_one(item: tuple[str, Summary]) -> tuple[dict[str, float], dict[str, str]]:
        """One predictor's values by measure, and the reasons for absent values by measure."""
        name, summary = item
        row, notes = {}, {}
        for measure in chosen:
            try:
                with errors_about(name):
                    row[measure.name] = measure.compute(summary)
            except NotDefined as error:
                if asked:
                    raise
                notes[measure.name] = f"{measure.name}: not computed, {error}"
        return row, notes

    found = in_threads(measure_one, summaries.items(), threads)
    table = [row for row, _ in found]
    # Of several predictors without a value, the first says why.
    notes = {name: note for _, each in reversed(found) for name, note in each.items()}
    notes = {m.name: notes[m.name] for m in chosen if m.name in notes}
    kept = tuple(m for m in chosen if m.name not in notes)
    return kept, [[row[m.name] for m in kept] for row in table], tuple(notes.values())


def _notes(
    samples: Mapping[str, Samples], summaries: Mapping[str, Summary], measures: Sequence[str]
) -> tuple[str, ...]:
    """Notes on each predictor's predictions, and on rows that its map was fitted to."""
    fitted = about_mapped({name: each.predictions for name, each in samples.items()})
    return tuple(
        f"{name}: {note}"
        for name, summary in summaries.items()
        for note in (
            *notes_of(summary.findings, summary.bins, summary.n_logits_clipped, measures=measures),
            *([fitted[name]] if name in fitted else ()),
        )
    )


class ResampledPredictor(NamedTuple):
    """One predictor's uncertainty, and (lower limit, upper limit, estimate) of each measure."""

    uncertainty: Uncertainty
    limits: list[tuple[float, float, float]]


def _resample_predictors(
    samples: Sequence[Samples],
    values: Sequence[Sequence[float]],
    chosen: tuple[Measure, ...],
    resampling: Resampling,
) -> list[ResampledPredictor]:
    """The intervals of every predictor, all from the same resamples of rows.

    `values` are (predictors, measures). Predictors run in threads where rows are many.
    """
    first = samples[0]
    blocks = blocks_of(first.n, resampling.groups, resampling.seed)

    def resample_one(measured: tuple[Sequence[float], Samples]) -> ResampledPredictor:
        """The intervals of one predictor, from a pair: its values, (measures,), and its samples."""
        row, each = measured
        # As in `interval`: the uncertainty of a predictor does not depend on the others.
        uncertainty = resampling.uncertainty(each, chosen, blocks)
        intervals = map(uncertainty.interval, chosen, row)
        return ResampledPredictor(
            uncertainty, [(one.low, one.high, one.estimate) for one in intervals]
        )

    threads = n_threads() if first.n >= THREADS_FROM else 1
    with one_blas_thread(beside=threads):
        return in_threads(resample_one, zip(values, samples, strict=True), threads)


def _whole_counts(bin_counts: Any) -> tuple[int, ...]:
    """The numbers of bins as integers, each once; an InputError for anything else, or none."""
    if not isinstance(bin_counts, Iterable) or isinstance(bin_counts, str):
        raise InputError(
            f"bin_counts must be numbers of bins, such as (5, 20, 100); got {bin_counts!r}"
        )
    with errors_about("bin_counts"):
        counts = tuple(dict.fromkeys(EqualWidth(m).m for m in bin_counts))
    if not counts:
        raise InputError("bin_counts must hold at least one number of bins; got none")
    return counts


def _robustness(
    samples: Mapping[str, Samples],
    shape: Shape,
    bin_counts: Sequence[int],
    threads: int,
    asked: Sequence[Measure] | None,
) -> RankRobustness | None:
    """Rank correlations of errors at several numbers of bins with each other and with losses.

    Ranks are those of the predictors. None for fewer than `FEWEST_RANKED` predictors, or if no such
    error is among the measures `asked` for (None for all).
    """
    chosen = listed("robustness", shape)
    if asked is not None:
        names_asked = {m.name for m in asked}
        chosen = tuple(m for m in chosen if not m.is_error or m.name in names_asked)
    if len(samples) < FEWEST_RANKED or not any(m.is_error for m in chosen):
        return None
    measured = sorted((m for m in chosen if m.is_error), key=lambda m: m.name)

    def errors_and_losses(each: Samples) -> tuple[list[float], list[float]]:
        """One predictor's errors, measure by measure at each number of bins, and its losses."""
        summary = Summary(each)
        binned = [Summary(each, EqualWidth(m), Quantile(m)) for m in bin_counts]
        losses = [m.compute(summary) for m in chosen if not m.is_error]
        return [measure.compute(own) for measure in measured for own in binned], losses

    found = in_threads(errors_and_losses, samples.values(), threads)
    keys = [(measure.name, m) for measure in measured for m in bin_counts]
    errors = {key: [each[0][j] for each in found] for j, key in enumerate(keys)}
    names = [m.name for m in chosen if not m.is_error]
    losses = {name: [each[1][j] for each in found] for j, name in enumerate(names)}
    return rank_robustness(errors, losses, names=tuple(samples))
