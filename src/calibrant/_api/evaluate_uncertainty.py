"""Intervals, noise floors and the verdict of a whole evaluation."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from calibrant._api.clinical_values import summary_from
from calibrant._api.curve_of_rows import curve_of_rows
from calibrant._api.verdicts import verdict_of
from calibrant._core.engine_choice import n_threads, one_blas_thread
from calibrant._core.messages import about_measures, setting, worded
from calibrant._core.typing import Index
from calibrant._data.samples import Samples
from calibrant._engines.arrays.passes import in_threads, whole_problem
from calibrant._inference.budget import THREADS_FROM, quick_measures, takes_long
from calibrant._inference.uncertainty import Uncertainty
from calibrant._measures.catalogue import HEADLINE, Measure, catalogue
from calibrant._measures.proportions import design_effects
from calibrant.results._clinical import ClinicalSummary
from calibrant.results._evaluation import Estimate, Evaluation
from calibrant.results._reliability import ReliabilityTable
from calibrant.results._uncertainty import ESTIMAND

# With this many rows in each class it is no coincidence if the ranges of weights do not overlap.
_ROWS_OF_A_CLASS = 5
_RESAMPLED = {
    "both": (
        "estimates and intervals are for the label distributions: vote noise, which values "
        "include, is removed"
    ),
    "votes": (
        "estimates and intervals are for the label distributions of these rows only: other rows "
        "would give other numbers"
    ),
}


def resampled_note(resampling: str) -> tuple[str, ...]:
    """The note on what intervals mean where votes were resampled; () where none were.

    `resampling` is "both" (rows and votes), "votes", or another word for rows alone.
    """
    return (_RESAMPLED[resampling],) if resampling in _RESAMPLED else ()


def cheap_measures(samples: Samples, groups: Index | None) -> tuple[Measure, ...]:
    """The measures of the catalogue whose intervals take about a second for these rows.

    Clusters (`groups`) and several classes are resampled row by row, which takes longer.
    """
    in_rows = samples.multiclass or groups is not None
    entries = samples.predictions.size if in_rows else 0
    return quick_measures(catalogue(samples.shape), entries, samples.n)


def add_uncertainty(
    result: Evaluation,
    uncertainty: Uncertainty,
    tolerance: float,
    *,
    asked: bool,
    clinical: bool = False,
    why_without: str = "",
) -> Evaluation:
    """Add intervals, noise floors and a verdict to an evaluation.

    Every measure of `uncertainty` gets an interval, except those that take minutes, unless `asked`
    for by name. With `clinical`, the clinical summary is made from the same resamples.
    `why_without` says in words why other measures have no interval, where it is not for time.
    """
    samples, soft = uncertainty.samples, uncertainty.soft
    expensive: set[str] = set()
    if not asked:
        expensive = {m.name for m in uncertainty.measures if takes_long(m, samples, soft=soft)}
    # Measures without an interval are not resampled.
    measures = {m.name: m for m in uncertainty.measures if m.name not in expensive}
    uncertainty.measures = tuple(measures.values())
    estimates, summary = _with_intervals(result.estimates, measures, uncertainty, clinical)
    notes = list(result.notes)
    if uncertainty.soft and uncertainty.votes is None:
        notes.append(
            "soft labels: intervals and noise floors use the scatter of the given labels; "
            + worded(
                python="losses and distances have no noise floor without votes=",
                command="losses and distances have no noise floor without the number of votes "
                "(--votes COLUMN)",
            )
        )
    if uncertainty.counts is None and _weights_go_with_labels(uncertainty.samples):
        notes.append(
            "weights depend on the labels (case-control or class weights): noise floors, p-values "
            "and the verdict are invalid. Intervals of losses, calibration slope and intercepts "
            "are valid"
        )
    notes += resampled_note(uncertainty.resampling)
    notes += interval_notes(estimates)
    without = [each.name for each in estimates if each.name not in measures]
    if without:
        why = why_without or (
            f"resampling them takes long here; name them with {setting('measures')}"
            if expensive
            else f"they take longer; name some with {setting('measures')}, or use "
            f"{setting('intervals', 'all')}"
        )
        text = f"no intervals for {', '.join(without)}: {why}"
        notes.append(about_measures(text, ()))  # of interest beside the measures alone
    headline = headline_of([measures[each.name] for each in estimates if each.interval])
    verdict = None
    if headline is not None:
        main = next(each for each in estimates if each.name == headline.name)
        assert main.interval is not None
        verdict = verdict_of(main.interval, main.noise_floor, tolerance, headline, uncertainty)
    recipe = {
        **result.recipe,
        "level": uncertainty.level,
        "n_resamples": uncertainty.n_resamples,
        "seed": uncertainty.seed,
        "grouped": uncertainty.groups is not None,
        "tolerance": tolerance,
        "estimand": ESTIMAND,
        **({"resampled": uncertainty.resampling} if uncertainty.votes is not None else {}),
    }
    return replace(
        result,
        estimates=tuple(estimates),
        notes=tuple(notes),
        verdict=verdict,
        recipe=recipe,
        clinical=summary,
    )


def _weights_go_with_labels(samples: Samples) -> bool:
    """Whether each class has weights in its own range, which suggests that weights depend on
    labels.
    """
    if samples.weights is None or samples.targets.ndim > 1:
        return False
    labels, weights = np.asarray(samples.targets), np.asarray(samples.weights, dtype=np.float64)
    if not np.all(labels == np.floor(labels)):
        return False
    labels, weights = labels[weights > 0], weights[weights > 0]
    order = np.argsort(labels, kind="stable")
    classes, first, rows = np.unique(labels[order], return_index=True, return_counts=True)
    if classes.size < 2 or rows.min() < _ROWS_OF_A_CLASS:
        return False
    least, most = (each.reduceat(weights[order], first) for each in (np.minimum, np.maximum))
    by_weight = np.argsort(least)
    return bool((most[by_weight][:-1] < least[by_weight][1:]).all())


def with_cluster_bars(table: ReliabilityTable, samples: Samples, groups: Any) -> ReliabilityTable:
    """The reliability table with error bars and a curve that allow for clusters of rows.

    `groups` has the number of each row's cluster.
    """
    notion: Any = table.notion
    u, z, w, _ = whole_problem(samples, notion)
    design = design_effects(table.cuts.find(u), z, w, groups, table.table.n_bins)
    return replace(table, design=design, fit=curve_of_rows(samples, notion, groups))


def headline_of(measures: Sequence[Measure]) -> Measure | None:
    """The measure that a verdict is about: the ECE, else the first calibration error, else None."""
    errors = [measure for measure in measures if measure.is_error]
    return next((m for m in errors if m.name == HEADLINE), errors[0] if errors else None)


def interval_notes(estimates: Sequence[Estimate]) -> list[str]:
    """Notes on the intervals; one note names all measures that it is about."""
    about: dict[str, list[str]] = {}
    for estimate in estimates:
        interval = estimate.interval
        if interval is None:
            continue
        if interval.note:
            about.setdefault(interval.note, []).append(estimate.name)
        if interval.about:  # it is about other labels than the value is
            continue
        if interval.bias:
            note = f"{interval.bias}; report the bias-corrected `estimate` with the interval"
            about.setdefault(note, []).append(estimate.name)
    return [about_measures(f"{', '.join(n)}: {note}", n) for note, n in about.items()]


def _with_intervals(
    estimates: Sequence[Estimate],
    measures: dict[str, Measure],
    uncertainty: Uncertainty,
    clinical: bool,
) -> tuple[list[Estimate], ClinicalSummary | None]:
    """The estimates with intervals, and the clinical summary; None unless `clinical`.

    `measures` are those that get an interval, by name. Measures of bins and of fine cells (which
    hold rows of nearly the same prediction) share few computations, and run in threads of their
    own; measures of cells take long, and are divided among further threads.
    """
    asked = [each for each in estimates if each.name in measures]
    of_cells = [each for each in asked if measures[each.name].cell_formula is not None]
    of_bins = [each for each in asked if measures[each.name].cell_formula is None]
    threads = 1
    if of_cells and of_bins and uncertainty.samples.n >= THREADS_FROM:
        threads = n_threads()
        uncertainty.prepare()
    lanes = [of_cells[j :: max(1, threads - 1)] for j in range(max(1, threads - 1))]

    def lane(some: Sequence[Estimate]) -> list[Estimate]:
        """The estimates of one thread, with intervals and noise floors."""
        out = []
        for each in some:
            measure, value, floor = measures[each.name], each.value, None
            # The noise floor of a distance needs votes: a single outcome is not a distribution.
            if measure.notion != "distribution" or uncertainty.votes is not None:
                floor = uncertainty.noise_floor(measure, value)
            interval = uncertainty.interval(measure, value)
            out.append(replace(each, interval=interval, noise_floor=floor))
        return out

    # The clinical summary comes last: it reuses what the measures of cells have drawn.
    work: list[Callable[[], Any]] = [partial(lane, some) for some in (*lanes, of_bins)]
    if clinical:
        work.append(partial(summary_from, uncertainty))
    with one_blas_thread(beside=threads):
        results = in_threads(operator.call, work, min(threads, len(lanes) + 1))
    summary = results.pop() if clinical else None
    found = {each.name: each for part in results for each in part}
    return [found.get(each.name, each) for each in estimates], summary
