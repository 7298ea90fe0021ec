"""evaluate() of labels known only to lie between two ends: the bounds of measures over all labels.

Each bound is a measure's ordinary value at labels that attain it: a formula is never written twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from calibrant._api.evaluate_samples import (
    bins_of,
    choose_measures,
    equal_mass_note,
    missing_note,
    notes_of,
    recipe_of,
    rule_names,
)
from calibrant._api.rows import as_samples
from calibrant._core.bin_tables import BinTable
from calibrant._core.binning import Bins, both_rules
from calibrant._core.errors import InputError, NotDefined, check_some_left
from calibrant._core.loss_sums import LossSums
from calibrant._core.messages import name_of
from calibrant._core.typing import Array
from calibrant._data.between import Between, read_between
from calibrant._data.columns import pick
from calibrant._data.samples import Samples
from calibrant._measures.catalogue import Measure, catalogue
from calibrant._measures.label_bounds import (
    MOST_CORNER_CLASSES,
    easiest,
    farthest,
    hardest,
    nearest,
    table_between,
)
from calibrant._measures.statistics import Statistics
from calibrant._summaries.samples import Summary
from calibrant.results._bounds import Bound, Bounds, ReliabilityBounds
from calibrant.results._reliability import ReliabilityTable

# The labels of each row at which losses of a kind are smallest and largest.
_LABELS = {"distance": (nearest, farthest), "score": (easiest, hardest)}
_SETS = "labels are intervals: each lies between lo and hi"
_MANY_CLASSES = (
    "its largest value is computed from the 2^(k - 1) k corners of each row's set, for at most "
    f"{MOST_CORNER_CLASSES} classes"
)


@dataclass
class Ends:
    """Rows with their labels' lower ends, and the same rows with their upper ends."""

    low: Summary
    high: Summary

    @cached_property
    def predictions(self) -> Array:
        """The probabilities of the rows, whose values are known to be sound."""
        samples: Any = self.low.samples
        return np.asarray(samples.block(0, samples.n).predictions, dtype=np.float64)


class _Extreme(Statistics):
    """The statistics of the labels at which measures of one kind are smallest or largest."""

    def __init__(self, ends: Ends, kind: str, largest: bool) -> None:
        self._ends, self._kind, self._largest = ends, kind, largest

    def _between(self, table: Callable[[Summary], BinTable]) -> BinTable:
        """A table of bins with the sums of labels that are nearest or farthest."""
        low, high = table(self._ends.low), table(self._ends.high)
        return table_between(low, high, farthest=self._largest)

    bins = property(lambda self: self._between(lambda s: s.bins))
    quantile_bins = property(lambda self: self._between(lambda s: s.quantile_bins))
    equal_mass_bins = property(lambda self: self._between(lambda s: s.equal_mass_bins))
    confidence_bins = property(lambda self: self._between(lambda s: s.confidence_bins))
    confidence_by_class = property(lambda self: self._between(lambda s: s.confidence_by_class))
    class_bins = property(lambda self: self._between(lambda s: s.class_bins))
    class_quantile_bins = property(lambda self: self._between(lambda s: s.class_quantile_bins))
    class_equal_mass_bins = property(lambda self: self._between(lambda s: s.class_equal_mass_bins))

    def above(self, threshold: float) -> BinTable:
        return self._between(lambda s: s.above(threshold))

    @cached_property
    def losses(self) -> LossSums:
        """Sums of the losses at the labels of each row that are best, or worst, for this kind."""
        low, high = self._ends.low.samples, self._ends.high.samples
        labels = _LABELS[self._kind][self._largest]
        if labels is farthest and low.n_classes > MOST_CORNER_CLASSES:
            raise NotDefined(_MANY_CLASSES)
        targets = labels(self._ends.predictions, low.targets, high.targets)  # type: ignore[attr-defined]
        return Summary(replace(low, targets=targets)).losses  # type: ignore[type-var]


def check_has_no(**given: Any) -> None:
    """Raise an InputError for the first argument that was given, and that sets of labels lack."""
    for name, value in given.items():
        if value is not None and value is not False:
            raise InputError(
                f"{name_of(name)} needs known labels, but these are intervals: drop it. Bounds "
                "describe these rows, without sampling error"
            )


def bounds_of(
    labels: Between,
    y_proba: Any,
    *,
    bins: Bins,
    measures: Iterable[str] | None,
    sample_weight: Any = None,
    data: Any = None,
    classes: Any = None,
    **reading: Any,
) -> Bounds:
    """The bounds of measures over all labels in the sets, with the bins' own.

    The keywords are those of `evaluate`.
    """
    low, high = _both_ends(labels, y_proba, sample_weight, data, classes, reading)
    check_some_left(low.n)
    fixed, quantile = both_rules(bins, low.n)
    ends = Ends(Summary(low, fixed, quantile), Summary(high, fixed, quantile))
    chosen = _measures_with_bounds(measures, low)
    extremes = {
        kind: (_Extreme(ends, kind, False), _Extreme(ends, kind, True))
        for kind in {measure.label_bounds for measure in chosen}
    }
    scalar, rules = ends.low.scalar, rule_names(fixed, quantile)
    (below, cuts), (above, _) = (
        each.table_with_cuts(scalar, fixed) for each in (ends.low, ends.high)
    )
    near, far = (table_between(below, above, farthest=each) for each in (False, True))
    found, left_out = [], []
    for measure in chosen:
        try:
            found.append(_bound(measure, extremes[measure.label_bounds], scalar, rules))
        except NotDefined as error:
            if measures is not None:
                raise type(error)(f"the measure {measure.name!r} has no value: {error}") from None
            left_out.append(f"{measure.name}: not computed, {error}")
    return Bounds(
        bounds=tuple(found),
        reliability=ReliabilityBounds(
            ReliabilityTable(near, fixed, cuts, scalar), far, below, above
        ),
        inferred=(*low.inferred, _SETS),
        notes=(
            *([missing_note(low.n_missing)] if low.n_missing else []),
            *notes_of(ends.low.findings, near, measures=[each.name for each in found]),
            *equal_mass_note(chosen, quantile),
            *left_out,
        ),
        recipe=recipe_of(low, (fixed, quantile), low.n, low.n_missing),
    )


def _both_ends(
    labels: Between, y_proba: Any, sample_weight: Any, data: Any, classes: Any, reading: Any
) -> tuple[Samples, Samples]:
    """The rows with their labels' lower ends, and the same with their upper ends."""
    names = None
    if data is not None:
        names = None if isinstance(y_proba, str) else tuple(map(str, y_proba))
        y_proba = pick(data, y_proba, "y_proba")
        if isinstance(sample_weight, str):
            sample_weight = pick(data, sample_weight, "sample_weight")
    lo, hi = read_between(labels, data)
    # Labels that are missing where an end is, and of which none is taken for a count of votes.
    samples = as_samples(
        (lo + hi) / 4, y_proba, sample_weight=sample_weight, classes=classes, **reading
    )
    if samples.multiclass and lo.ndim == 1:
        raise InputError(
            f"y_proba has {samples.n_classes} columns, so lo and hi of Between must have the shape "
            "(n, k), one column per class; got (n,)"
        )
    names = names if classes is None else samples.class_names
    low, high = (
        replace(
            samples,
            targets=samples.values_of_kept(end),
            label_sum_tolerance=np.inf,  # ends need not sum to 1, only a label between them
            class_names=names,
            inferred=tuple(each for each in samples.inferred if not each.startswith("targets")),
        )
        for end in (lo, hi)
    )
    return low, high


def _measures_with_bounds(measures: Iterable[str] | None, samples: Samples) -> tuple[Measure, ...]:
    """The measures that were asked for, or all that have bounds; an error for one without."""
    chosen = choose_measures(measures, samples.shape)
    known = [m.name for m in catalogue(samples.shape) if m.label_bounds]
    if measures is None:
        return tuple(m for m in chosen if m.label_bounds)
    for measure in chosen:
        if not measure.label_bounds:
            raise InputError(
                f"the measure {measure.name!r} has no exact bounds over labels that are sets. "
                f"Measures with bounds: {', '.join(known)}"
            )
    return chosen


def _bound(
    measure: Measure, extremes: tuple[Statistics, Statistics], scalar: str, rules: dict[str, str]
) -> Bound:
    """The smallest and the largest value of a measure over all labels in the sets."""
    first, last = (measure.compute(each) for each in extremes)
    return Bound(
        measure.name,
        min(first, last),
        max(first, last),
        measure.title,
        scalar if measure.notion == "scalar" else measure.notion,
        bins_of(measure, rules),
        measure.notion != "classwise",
    )
