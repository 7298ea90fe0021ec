"""report(): everything about some predictions, as data and as a page."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calibrant._api.conventions import conventions_of
from calibrant._api.decision_curve import THRESHOLDS, curve_of_samples
from calibrant._api.evaluate_samples import Options, evaluate_samples
from calibrant._api.label_bounds import bounds_of, check_has_no
from calibrant._api.report.assembly import assemble_report, recipe_of
from calibrant._api.report.bins import (
    NOT_OVER_CLASSES,
    bin_views,
    classes_are_few,
    kind_and_count,
    sensitivity,
)
from calibrant._api.report.map_choice import checked_maps
from calibrant._api.report.recalibration import SideBySide, side_by_side
from calibrant._api.risk_curve import risk_coverage_curve
from calibrant._api.row_curves import PLACES
from calibrant._api.rows import group_index, take_clusters
from calibrant._api.vote_profile import profile_of
from calibrant._core.binning import Bins, EqualWidth, LevelSets, Rule, both_rules
from calibrant._core.engine_choice import n_threads, one_blas_thread
from calibrant._core.errors import InputError
from calibrant._core.validation import public
from calibrant._data.between import Between
from calibrant._data.explain import explained
from calibrant._data.logprobs import given_as
from calibrant._data.samples import Samples
from calibrant._data.to_samples import to_samples
from calibrant._engines.arrays.passes import in_threads, whole_problem
from calibrant._inference.budget import THREADS_FROM
from calibrant._inference.cells import ScalarRows
from calibrant._measures.catalogue import HEADLINE
from calibrant._summaries.samples import Summary, resolve_notion
from calibrant.results._annotators import Annotators
from calibrant.results._conventions import Conventions
from calibrant.results._decision_curve import DecisionCurve
from calibrant.results._pages.provenance import checked_name, checked_source
from calibrant.results._report import BinView, Report
from calibrant.results._risk_coverage import RiskCoverage

# Edges of predictions, and the weight of events and of non-events between them.
Histogram = tuple[list[float], list[float], list[float]]
# The most rows behind a page's decision curve: more change nothing that a reader would see.
MOST_DECIDED = 50_000
# The share of events below which they are rare: thresholds are then in proportion to it.
RARE = 0.05


@public
def report(
    y_true: ArrayLike | Between,
    y_proba: ArrayLike,
    *,
    name: str | None = None,
    measures: Iterable[str] | None = None,
    bins: Bins = 15,
    by: ArrayLike | None = None,
    segments: Mapping[str, ArrayLike] | Sequence[str] | None = None,
    depth: int = 2,
    groups: ArrayLike | None = None,
    votes: ArrayLike | None = None,
    resample: str | None = None,
    annotators: Annotators | None = None,
    sample_weight: ArrayLike | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
    missing: str = "error",
    tolerance: float = 0.05,
    level: float = 0.95,
    seed: int = 0,
    recalibrate: str | Iterable[str] | None = None,
    source: Mapping[str, Any] | str | None = None,
) -> Report:
    """Everything worth knowing about some predictions, as data and as an HTML page.

    The page answers in words, shows every measure with its interval and noise floor, and has an
    interactive reliability diagram, the classes, the slices, the effect of recalibration, the
    values of other tools, and the recipe. ``report(...).save("page.html")`` writes it as one file
    that needs no network.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str, list of str or Between
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
        Labels that are known only to lie `Between` two ends have a page of bounds.
    name : str, optional
        Title of the page; by default a neutral one.
    measures
        Names of `catalogue()`; by default all that apply. ECE, which the answer goes by, is always
        included.
    bins
    by
        Value of each row, or names of columns, by which rows are split into slices.
    segments : mapping of str to array-like, or list of str, optional
        Columns to search for segments where predictions are wrong, as `find_segments` has them.
    depth : int, default 2
        The most columns that segments are crossings of.
    groups
    votes (taken out)
    resample
    annotators : Annotators, optional
        The table that `annotators` gives, to be shown on the page beside the votes.
    data (in memory)
    tolerance
        Largest calibration error, as a gap, that you can accept.
    level (and verdicts)
    seed
    recalibrate : str or iterable of str, optional
        Names of the recalibration maps to show side by side: "temperature", "platt", "beta",
        "isotonic", "histogram", "vector", "matrix", "dirichlet", "label-smoothing". By default,
        those that these rows can have.
    source : str or mapping, optional
        Where the rows come from, for the recipe: a text, or names with values (file, columns,
        command).

    Returns
    -------
    Report
        `answer` and `sentences` in words, `evaluation` with every measure, `save` for the page;
        shows itself in notebooks. For labels `Between` two ends it is `Bounds`, with a page too.

    Examples
    --------
    >>> import calibrant as cal
    >>> found = cal.report([0, 1, 1, 0] * 50, [0.2, 0.7, 0.9, 0.4] * 50, name="a toy")
    >>> found.answer
    'No: they are miscalibrated.'
    >>> found.evaluation["ece"] == cal.ece([0, 1, 1, 0] * 50, [0.2, 0.7, 0.9, 0.4] * 50)
    True
    """
    if measures is not None and not isinstance(measures, str):
        measures = list(measures)  # read twice: for the evaluation and for the recipe
    title, origin = checked_name(name, "Predictions"), checked_source(source)
    if annotators is not None and not isinstance(annotators, Annotators):
        raise InputError(
            "annotators must be the table that cal.annotators(votes, y_proba) gives; got "
            f"{type(annotators).__name__}"
        )
    maps = checked_maps(recalibrate)
    if isinstance(y_true, Between):
        check_has_no(groups=groups, votes=votes, resample=resample, by=by, segments=segments)
        check_has_no(annotators=annotators, recalibrate=recalibrate)
        bounds = bounds_of(
            y_true,
            y_proba,
            bins=bins,
            measures=add_ece(measures),
            sample_weight=sample_weight,
            data=data,
            classes=classes,
            from_logits=from_logits,
            from_logprobs=from_logprobs,
            missing=missing,
        )
        # The stub says so to type checkers.
        return replace(bounds, name=name, source=origin)  # type: ignore[return-value]
    given = given_as(from_logits, from_logprobs)
    samples = to_samples(y_true, y_proba, sample_weight, given, classes, data, missing, votes=votes)
    index = group_index(groups, samples, data)
    evaluated = Options(
        bins=bins,
        measures=add_ece(measures),
        intervals="all",
        tolerance=tolerance,
        level=level,
        groups=index,
        resample=resample,
        seed=seed,
        by=by,
        data=data,
        clinical=True,
        segments=segments,
        depth=depth,
    )
    # The evaluation and the other sections run side by side. If both fail, the first one raises.
    threads = n_threads() if samples.n >= THREADS_FROM else 1
    work: tuple[Callable[[], Any], ...] = (
        partial(evaluate_samples, samples, evaluated),
        partial(_other_sections, samples, bins, index, level, seed, maps),
    )
    with one_blas_thread(beside=threads):
        evaluation, beside = in_threads(operator.call, work, threads)
    views, change, tools, risk, histogram = beside
    votes_beside = None
    if samples.votes is not None:
        rule = both_rules(bins, samples.n)[0]
        votes_beside = profile_of(samples, rule, level=float(level), seed=int(seed))
    left_out = None if classes_are_few(samples) or not samples.multiclass else NOT_OVER_CLASSES
    recipe = recipe_of(
        evaluated,
        origin,
        given,
        maps=maps,
        measures=measures,
        missing=missing,
        weighted=sample_weight is not None,
        voted=samples.votes is not None,
        counted=votes is None and samples.votes is not None,
        annotated=annotators is not None,
        named_classes=classes is not None,
    )
    return assemble_report(
        evaluation,
        samples.shape,
        recipe,
        change,
        name=title,
        views=views,
        sensitivity=sensitivity(samples, views[0]),
        tools=tools,
        no_sensitivity=left_out,
        risk=risk,
        decisions=decisions_of_rows(samples, float(level), index, int(seed)),
        histogram=histogram,
        votes=votes_beside,
        annotators=annotators,
    )


def _other_sections(
    samples: Samples, bins: Bins, groups: Any, level: Any, seed: Any, maps: tuple[str, ...] | None
) -> tuple[tuple[BinView, ...], SideBySide, Conventions | str, RiskCoverage, Histogram]:
    """The sections of the page beside the evaluation.

    They are: views in every number of bins, recalibration maps, the values of other tools (or why
    these are not asked), the risk-coverage curve, and a histogram. `maps` are the maps that the
    user named, or None.
    """
    fixed, quantile = both_rules(bins, samples.n)
    notion = resolve_notion(samples, None)
    with explained(samples):
        whole = whole_problem(samples, notion)
    views = bin_views(
        samples, notion, kind_and_count(fixed)[1], quantile, groups, float(level), whole
    )
    change = side_by_side(
        samples, fixed, quantile, groups=groups, level=float(level), seed=int(seed), names=maps
    )
    levels = Summary(samples).table(notion, LevelSets())
    risk = risk_coverage_curve(samples, notion, levels, float(level), groups, whole)
    return views, change, _other_tools(samples, fixed, whole), risk, _histogram(whole)


def decisions_of_rows(
    samples: Samples, level: float, groups: Any, seed: int
) -> DecisionCurve | None:
    """The decision curve of a binary outcome, from at most MOST_DECIDED random rows.

    None with several classes.
    """
    if samples.multiclass:
        return None
    if samples.n > MOST_DECIDED:
        rows = np.sort(np.random.default_rng((seed, 17)).permutation(samples.n)[:MOST_DECIDED])
        samples = samples.take(rows)
        groups = take_clusters(groups, rows)
    thresholds = np.array(THRESHOLDS) * _largest_threshold(samples)
    return curve_of_samples({"model": samples}, thresholds, "default", level, groups, seed)


def _largest_threshold(samples: Samples) -> float:
    """Where the decision curve ends: at ten times the share of a rare event, otherwise at 1.

    Above it nobody would be acted on.
    """
    weights = np.ones(samples.n) if samples.weights is None else samples.weights
    share = float(weights @ samples.targets.astype(np.float64) / weights.sum())
    return 10 * share if 0 < share < RARE else 1.0


def _histogram(whole: ScalarRows) -> Histogram:
    """The histogram of predictions: edges, weights of events and weights of non-events.

    A soft label counts in part as an event, in part as a non-event.
    """
    u, z, w, findings = whole
    edges = np.linspace(0.0, 1.0, PLACES + 1)
    if w is None and not findings.soft:  # rows are counted, which takes no order
        parts = [np.histogram(u[z == label], edges)[0].astype(np.float64) for label in (1.0, 0.0)]
    else:
        weights = np.ones(u.size) if w is None else w
        both = (weights * z, weights * (1 - z))
        parts = [np.histogram(u, edges, weights=each)[0] for each in both]
    return edges.tolist(), parts[0].tolist(), parts[1].tolist()


def add_ece(measures: Iterable[str] | None) -> list[str] | None:
    """Put the ECE, which the page needs, before the measures asked for; None stays None."""
    if measures is None or isinstance(measures, str):
        return measures  # type: ignore[return-value] # a text is an error of choose_measures()
    return list(dict.fromkeys([HEADLINE, *measures]))


def _other_tools(samples: Samples, rule: Rule, whole: ScalarRows) -> Conventions | str:
    """The values of other tools for these predictions, or a sentence on why there are none.

    `whole` has the predictions, targets, weights and findings.
    """
    if samples.weights is not None:
        return "The rows have weights, which most other tools do not support."
    own = EqualWidth(kind_and_count(rule)[1] or 15)
    return conventions_of(samples, own, resolve_notion(samples, None), whole)
