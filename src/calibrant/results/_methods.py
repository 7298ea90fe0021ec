"""Sentences for a paper's methods section: what was measured, how, and with what uncertainty."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from calibrant._core.errors import InputError, counted
from calibrant._core.version import __version__
from calibrant._data.checks import shape_from_notes
from calibrant._measures.catalogue import Shape, find
from calibrant._measures.coefficients import COEFFICIENTS, canonical_compared
from calibrant._measures.statistics import STATISTICS
from calibrant.results._ranked_pairs import listing
from calibrant.results._rendering import distinct_numbers, percent
from calibrant.results._uncertainty import Interval, interval_words

# An `Evaluation` and a `Comparison`, which lie above: they say themselves by this module.
Evaluation: TypeAlias = Any
Comparison: TypeAlias = Any

_PLACES = 3
# Of more predictors than this, the text has the first two alone, and a table the rest.
_MOST_NAMED = 4


def _chosen_measures(
    measures: Sequence[str] | None, known: Sequence[str], shape: Shape
) -> list[str]:
    """The measures of the text by their own names: those given, or of the `known` ones the first
    calibration error and the first loss, of which a paper needs both.
    """
    if measures is not None:
        if isinstance(measures, str) or not measures:
            raise InputError("measures must be a list of one measure or more")
        return [canonical_compared(name) for name in measures]
    entries = {name: find(name, shape) for name in known if name not in COEFFICIENTS}
    error = [name for name, entry in entries.items() if entry.is_error][:1]
    loss = [name for name, entry in entries.items() if entry.notion == "loss"][:1]
    return [*error, *loss] or list(known[:1])


def methods_of_evaluation(evaluation: Evaluation, measures: Sequence[str] | None) -> str:
    """The text on these measures of an evaluation, or on those that are usual."""
    shape = shape_from_notes(evaluation.inferred)
    parts, how = [], dict[str, list[str]]()
    for name in _chosen_measures(measures, list(evaluation.values), shape):
        estimate = evaluation.estimate(name)
        called, interval = evaluation._sentence_names[estimate.name], estimate.interval
        value = _plain(estimate.value)
        if interval is not None:
            value = _with_interval(interval)
            how.setdefault(interval.method, []).append(called)
        is_error = find(estimate.name, shape).is_error
        top = is_error and shape == "multiclass" and estimate.notion == "confidence"
        full_name = _full_name(called, estimate.rule if is_error else "", top_label=top)
        parts.append(f"{full_name} is {value}")
        if is_error and estimate.noise_floor is not None:
            upper = _plain(estimate.noise_floor.upper)
            parts.append(f"a calibrated model would stay below {upper} in 95% of samples")
    parts[0] = f"on {counted(evaluation.recipe['n'], 'row')}, {parts[0]}"
    ways = "; ".join(f"{method} ({', '.join(names)})" for method, names in how.items())
    return _text([*parts, *([f"intervals: {ways}"] if ways else [])], evaluation.recipe)


def methods_of_comparison(comparison: Comparison, measures: Sequence[str] | None) -> str:
    """The text on these measures of a comparison, or on those that are usual: values, who is best,
    and the difference.
    """
    n, rows = len(comparison.names), counted(comparison.recipe["n"], "row")
    parts = [f"{n} models are compared on the same {rows}"]
    for measure in _chosen_measures(measures, comparison.measures, comparison.shape):
        index = comparison._measure_index(measure)
        called = comparison._sentence_names[measure]
        shown = comparison.order(measure)[: n if n <= _MOST_NAMED else 2]
        limits = comparison.limits[:, index]
        values = []
        for name in shown:
            low, high, estimate = limits[comparison.names.index(name)].tolist()
            own = comparison.value(name, measure)
            interval = Interval(measure, own, low, high, comparison.level, "", estimate=estimate)
            values.append(f"{_with_interval(interval)} for {name}")
        parts.append(f"{_name_in_comparison(comparison, measure, called)} is {listing(values)}")
        parts.append(comparison.sentence(measure).removesuffix("."))
        if len(shown) > 1:
            gap = comparison.difference(shown[1], shown[0], measure)
            value, low, high = distinct_numbers((gap.estimate, gap.low, gap.high), (0.0,), _PLACES)
            parts.append(
                f"the {called} of {shown[1]} less that of {shown[0]} is {value} "
                f"({percent(gap.level)} CI {low} to {high})"
            )
    return _text(parts, comparison.recipe)


def _name_in_comparison(comparison: Comparison, measure: str, called: str) -> str:
    """A measure as a sentence names it first; a slope or an intercept has no bins."""
    if measure in COEFFICIENTS:
        return _full_name(called)
    entry, rule = find(measure, comparison.shape), ""
    if entry.is_binned and entry.is_error:
        rule = comparison.recipe["bins"]
    if STATISTICS[entry.statistic].binning == "quantile":
        rule = comparison.recipe["truthful_bins"]
    top = entry.is_error and comparison.shape == "multiclass" and entry.notion == "scalar"
    return _full_name(called, rule, top_label=top)


def _full_name(called: str, rule: str = "", *, top_label: bool = False) -> str:
    """A measure as a sentence names it first: "the top-label ECE (15 equal-width bins)".

    `rule` are its bins, if it has any; `top_label` says whether it is an error of the top label.
    """
    kind, bins = "top-label " if top_label else "", f" ({rule})" if rule else ""
    return f"the {kind}{called}{bins}"


def _plain(value: float) -> str:
    """A number with three places, or more where it is small."""
    return distinct_numbers((value,), (), _PLACES)[0]


def _with_interval(interval: Interval) -> str:
    """An estimate with its interval, and the sample's value where that is another."""
    if math.isnan(interval.low):
        return _plain(interval.value)
    estimate, low, high, sample, *_ = interval_words(interval, (), (), _PLACES)
    corrected = "bias-corrected; " if sample else ""
    inside = f"{corrected}{percent(interval.level)} CI {low} to {high}"
    return f"{estimate} ({'; '.join(filter(None, [inside, sample.partition(' (')[0]]))})"


def _text(parts: Sequence[str], recipe: Mapping[str, Any]) -> str:
    """Clauses as sentences, with how intervals were drawn and by what."""
    how = []
    if recipe.get("grouped"):
        how.append("rows of one cluster are resampled together")
    if "n_resamples" in recipe:
        draws = f" with {recipe['n_resamples']:,} resamples and seed {recipe['seed']}"
    else:
        draws = ""
    sentences = [*parts, *how, f"computed by Calibrant {__version__}{draws}"]
    return " ".join(f"{each[0].upper()}{each[1:]}." for each in sentences)
