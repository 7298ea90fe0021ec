"""The diagram's data: the scalar problem in every number of bins, with its measures and its curve;
for soft labels a second time, with each label replaced by the likeliest outcome.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from calibrant._api.metrics.smooth import smooth_curve
from calibrant._api.report.every_bin_count import COUNTS, RULES, every_bin_count
from calibrant._core.binning import EqualWidth, Quantile, Rule
from calibrant._data.explain import explained
from calibrant._data.samples import Notion, Samples
from calibrant._engines.arrays.passes import whole_problem
from calibrant._inference.budget import is_small_over_classes
from calibrant._measures.catalogue import Shape, find
from calibrant._measures.proportions import design_effects
from calibrant._measures.statistics import OneTable
from calibrant._summaries.samples import Summary
from calibrant.results._reliability import ReliabilityTable
from calibrant.results._report import BinSensitivity, BinView

# In bins of either rule, which the page names beside them.
_GAPS = ("ece", "rmsce", "mce")
# In the bins that the evaluation has them in, so that one name has one value on a page.
_TRUTHFUL: dict[Shape, tuple[str, ...]] = {
    "binary": ("debiased_l2", "lin_ce"),
    "multiclass": ("debiased_l2", "confidence_ce"),
}
# Errors over all classes cost a pass for each number of bins: a few numbers, of moderate problems.
_CLASS_COUNTS = (2, 5, 10, 15, 20, 30, 50, 75, 100)
NOT_OVER_CLASSES = (
    "Errors over all classes are not here: with this many rows or classes each number of bins "
    "takes long."
)
_CLASSWISE = (
    ("classwise_ece", "equal-width"), ("ace", "quantile"), ("classwise_ce", "quantile"),
)  # fmt: skip


def bin_views(
    samples: Samples,
    notion: Notion,
    extra: int | None,
    truthful: Rule = Quantile(15),
    groups: NDArray[np.intp] | None = None,
) -> tuple[BinView, ...]:
    """The view of the labels as they are, and of their likeliest outcomes if they are soft; bars of
    bins take clusters into account.

    `truthful` is the rule of the evaluation's truthful measures: they are shown in its kind of bins
    alone.
    """
    counts = tuple(sorted({*COUNTS, *(() if extra is None else (extra,))}))
    kind = _kind(truthful)
    views = [_view(samples, notion, counts, "labels as given", kind, groups)]
    if not views[0].tables["equal-width"][0].is_hard:
        views.append(_view(_hardened(samples), notion, counts, "likeliest label", kind, groups))
    return tuple(views)


def _kind(rule: Rule) -> str | None:
    """Which of the page's rules this is, if any."""
    if isinstance(rule, EqualWidth) and rule == EqualWidth(rule.m):
        return "equal-width"
    return "quantile" if isinstance(rule, Quantile) and rule == Quantile(rule.m) else None


def _view(
    samples: Samples,
    notion: Notion,
    counts: tuple[int, ...],
    labels: str,
    truthful: str | None,
    groups: NDArray[np.intp] | None,
) -> BinView:
    with explained(samples):
        u, z, w, _ = whole_problem(samples, notion)
    problem = Samples(u, z, w)
    tables = every_bin_count(problem, notion, counts, samples.precision)
    if groups is not None:

        def with_bars(table: ReliabilityTable) -> ReliabilityTable:
            bins, m = table.cuts.find(u), table.table.n_bins
            return replace(table, design=design_effects(bins, z, w, groups, m))

        tables = {rule: tuple(map(with_bars, each)) for rule, each in tables.items()}
    shape = samples.shape
    names = {rule: _GAPS + (_TRUTHFUL[shape] if rule == truthful else ()) for rule in RULES}
    values = {
        rule: {
            name: [measured(name, shape, table) for table in tables[rule]] for name in names[rule]
        }
        for rule in RULES
    }
    curve = smooth_curve(problem, "binary")
    return BinView(labels, counts, tables, values, replace(curve, notion=notion))


def measured(name: str, shape: Shape, table: ReliabilityTable) -> float:
    """A catalogued measure of one table."""
    return find(name, shape).compute(OneTable(table.table))


def _hardened(samples: Samples) -> Samples:
    """Soft labels replaced by the likeliest outcome; of equal ones by the first."""
    soft: NDArray[np.floating] = samples.targets
    hard = soft.argmax(axis=1) if soft.ndim == 2 else (soft > 0.5)
    return replace(samples, targets=hard)


def sensitivity(samples: Samples, view: BinView) -> tuple[BinSensitivity, ...]:
    """Every measure over bins against their number."""
    curves = [
        BinSensitivity(name, rule, view.counts, tuple(values))
        for rule in RULES
        for name, values in view.values[rule].items()
    ]
    if over_classes(samples):
        curves += _over_classes(samples)
    return tuple(sorted(curves, key=lambda curve: _rank(curve.measure)))


def over_classes(samples: Samples) -> bool:
    """Whether errors over all classes are cheap enough for several numbers of bins."""
    return samples.multiclass and is_small_over_classes(samples)


def _over_classes(samples: Samples) -> list[BinSensitivity]:
    values_of: dict[tuple[str, str], list[float]] = {key: [] for key in _CLASSWISE}
    for m in _CLASS_COUNTS:
        summary = Summary(samples, EqualWidth(m), Quantile(m))
        for name, rule in _CLASSWISE:
            values_of[name, rule].append(find(name, "multiclass").compute(summary))
    return [
        BinSensitivity(name, rule, _CLASS_COUNTS, tuple(values))
        for (name, rule), values in values_of.items()
    ]


def _rank(name: str) -> int:
    order = ("ece", "lin_ce", "confidence_ce", "rmsce", "mce", "debiased_l2")
    return order.index(name) if name in order else len(order)
