"""evaluate() of lazy frames: one query gives nearly everything, one more the quantiles."""

from __future__ import annotations

from dataclasses import replace

from calibrant._api.evaluate_samples import (
    Options,
    Provenance,
    assemble,
    choose_measures,
    describe_input,
    equal_mass_note,
    recipe_of,
    rule_names,
)
from calibrant._api.infer_from_sums import infer_from_sums
from calibrant._api.pooled_sums import sums_of_frame
from calibrant._api.slices import SlicesOfSums
from calibrant._api.slices_of_frame import FrameSlices
from calibrant._core.binning import both_rules
from calibrant._data.frame_input import named_columns
from calibrant._data.frame_samples import FrameSamples
from calibrant._measures.catalogue import Measure
from calibrant._summaries.frame import LEVELS_UP_TO, sum_frame
from calibrant._summaries.requirements import known_measures
from calibrant.results._evaluation import Evaluation
from calibrant.results._reliability import ReliabilityTable


def evaluate_frame(samples: FrameSamples, options: Options) -> Evaluation:
    """Evaluate a lazy frame: its own engine computes the sums, and no rows are loaded."""
    by = (
        None
        if options.by is None
        else named_columns(options.by, "by", samples.frame.collect_schema())
    )
    fixed, truthful = both_rules(options.bins, samples.count_rows, cells=options.by is None)
    names = None if options.measures is None else known_measures(options.measures)
    shape = samples.shape
    chosen = choose_measures(names, shape)
    inferring = options.intervals != "none"
    distances = any(measure.notion == "distribution" for measure in chosen)
    rules = (fixed, truthful)
    summary, sums = sum_frame(samples, rules, names, distances=distances, fine=inferring)
    notes: tuple[str, ...] = ()
    if names is None:
        summary.most_levels = LEVELS_UP_TO
        absent = [m for m in chosen if not summary.has(m)]
        chosen = tuple(measure for measure in chosen if summary.has(measure))
        notes = _absent_notes(absent, soft=sums.findings.soft)
    provenance = Provenance(
        recipe={
            **recipe_of(samples, (fixed, truthful), sums.n_rows, sums.n_missing),
            "engine": samples.where,
            "cells": summary.cells.m,
        },
        rules=rule_names(fixed, truthful),
        inferred=describe_input(samples, sums.findings),
        measure_notes=(*equal_mass_note(chosen, truthful), *notes),
    )
    table, cuts = summary.table
    reliability = ReliabilityTable(table, fixed, cuts, summary.scalar)
    everything = names is None
    result = assemble(summary, chosen, reliability, provenance, samples, everything=everything)
    if inferring:
        measures = tuple(measure for measure in chosen if measure.name in result)
        inferred = sums_of_frame(samples, summary, rules, options.groups)
        result = infer_from_sums(result, inferred, measures, options)
    if by is None:
        return result
    table_of_slices = SlicesOfSums.from_measures(by, chosen, shape, asked=names is not None)
    losses = any(m.statistic == "losses" for m in table_of_slices.measures)
    shown = tuple(measure.name for measure in table_of_slices.measures)
    every = FrameSlices(samples, by, rules, options.groups, shown)
    if not inferring and options.groups is None and fixed.is_fixed:
        plain = every.sums(fine=False, losses=losses)
        slices = table_of_slices.evaluate_slices(
            (name, n, None if own is None else own.summary) for name, n, own in plain
        )
    else:
        slices = table_of_slices.infer_slices(
            every.sums(losses=losses),
            options.tolerance if inferring else None,
            options.level,
            options.n_resamples,
            options.seed,
        )
    return replace(result, slices=slices)


def _absent_notes(measures: list[Measure], *, soft: bool) -> tuple[str, ...]:
    """Notes on `measures` that were dropped and can be asked for by name.

    Distances between distributions are noted only if some labels are `soft`: otherwise they do not
    apply.
    """
    long = [m.name for m in measures if m.notion != "distribution"]
    distances = [m.name for m in measures if m.notion == "distribution" and soft]
    notes = []
    if long:
        notes.append(
            f"{', '.join(long)}: not computed, because they need long queries here; name them to "
            "get them"
        )
    if distances:
        notes.append(f"{', '.join(distances)}: not computed, because there are too many classes")
    return tuple(notes)
