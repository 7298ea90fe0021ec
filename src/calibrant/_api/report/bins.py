"""The data of the diagram: predictions and targets in every number of bins, with measures and
curves.

Soft labels have a second view, in which each label is replaced by the likeliest outcome.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._api.metrics.smooth import smooth_curve
from calibrant._api.reliability_curve import scalar_problem
from calibrant._api.row_curves import BANDS_OF, fitted_curve
from calibrant._core.bin_tables import FIELDS, BinTable
from calibrant._core.binning import Cuts, Edges, EqualWidth, LevelSets, MiddleRanks, Quantile, Rule
from calibrant._core.typing import Array, Index
from calibrant._data.explain import explained
from calibrant._data.samples import Notion, Samples
from calibrant._engines.arrays.passes import whole_problem
from calibrant._engines.cells import Cells
from calibrant._inference.budget import is_small_over_classes
from calibrant._inference.cells import ScalarRows
from calibrant._measures.catalogue import Measure, Shape, catalogue, listed
from calibrant._measures.cutoffs import worst_interval
from calibrant._measures.proportions import design_effects
from calibrant._measures.statistics import STATISTICS, OneTable
from calibrant._summaries.bin_counts import RULES, BinCounts, Runs, merged
from calibrant._summaries.samples import Summary
from calibrant.results._reliability import ReliabilityTable
from calibrant.results._reliability_curve import ReliabilityCurve
from calibrant.results._report import BinView, MeasureOverBins

# The numbers of bins that a reader of the page may choose from.
COUNTS = (*range(1, 51), 60, 70, 80, 90, 100)
# Errors over all classes cost a pass for each number of bins: a few numbers, of moderate problems.
_CLASS_COUNTS = (2, 5, 10, 15, 20, 30, 50, 75, 100)
NOT_OVER_CLASSES = (
    "Errors over all classes are not shown: with this many rows or classes, each number of bins "
    "takes long."
)


def bin_views(
    samples: Samples,
    notion: Notion,
    extra: int | None,
    truthful: Rule = Quantile(15),
    groups: Index | None = None,
    level: float = 0.95,
    whole: ScalarRows | None = None,
) -> tuple[BinView, ...]:
    """The diagram's data for the labels as given and, if they are soft, for likeliest labels too.

    `extra` is a number of bins beside the usual ones. `truthful` is the rule of the evaluation's
    truthful measures: they are shown in bins of its kind alone. Bars allow for clusters, `groups`.
    `whole` has each row's prediction, target and weight, and findings; None if yet to be computed.
    """
    counts = ViewCells.with_count(extra).counts
    kind = kind_and_count(truthful)[0]
    views = [_view(samples, notion, counts, "labels as given", kind, groups, level, whole)]
    if not views[0].tables["equal-width"][0].is_hard:
        hard = _with_likeliest_labels(samples)
        views.append(_view(hard, notion, counts, "likeliest label", kind, groups, level))
    return tuple(views)


def kind_and_count(rule: Rule) -> tuple[str | None, int | None]:
    """The kind, "equal-width" or "quantile", and the number of bins of a rule.

    Both are None for a rule that the page cannot show.
    """
    for kind, plain in (("equal-width", EqualWidth), ("quantile", Quantile)):
        if isinstance(rule, plain) and rule == plain(rule.m):
            return kind, rule.m
    return None, None


def _view(
    samples: Samples,
    notion: Notion,
    counts: tuple[int, ...],
    labels: str,
    truthful: str | None,
    groups: Index | None,
    level: float,
    whole: ScalarRows | None = None,
) -> BinView:
    """The diagram's data for one set of labels: tables in every number of bins, measures, curves.

    `labels` is the title. `truthful` is the kind of bins in which truthful measures are shown, None
    for none.
    """
    with explained(samples):
        u, z, w, _ = whole or whole_problem(samples, notion)
    problem = Samples(u, z, w)
    runs = Runs.from_problem(problem, counts, samples.precision)
    tables = {rule: tuple(runs.reliability(rule, m, notion) for m in counts) for rule in RULES}
    if groups is not None:

        def with_bars(table: ReliabilityTable) -> ReliabilityTable:
            """The reliability table with error bars that allow for clusters."""
            bins, m = table.cuts.find(u), table.table.n_bins
            return replace(table, design=design_effects(bins, z, w, groups, m))

        tables = {rule: tuple(map(with_bars, each)) for rule, each in tables.items()}
    curve = smooth_curve(problem, "binary")
    return BinView(
        labels=labels,
        counts=counts,
        tables=tables,
        values=_values_in_bins(tables, samples.shape, truthful),
        curve=replace(curve, notion=notion),
        curves=_curves(problem, notion, groups, level),
        cutoffs=worst_interval(Summary(problem).table("binary", LevelSets())),
    )


def _values_in_bins(
    tables: dict[str, tuple[ReliabilityTable, ...]], shape: Shape, truthful: str | None
) -> dict[str, dict[str, list[float]]]:
    """The values of the diagram's measures in each of its tables, by rule and name.

    `truthful` is the kind of bins in which truthful measures are shown, None for none.
    """
    return {
        rule: {
            m.name: [m.compute(OneTable(table.table)) for table in tables[rule]]
            for m in _measures_in_bins(shape, in_truthful_bins=rule == truthful)
        }
        for rule in RULES
    }


@dataclass(frozen=True, eq=False)
class ViewCells:
    """The cells from which the diagram's tables are made if rows are summed: they have the edges of
    equal-width bins of every number among theirs. Quantile bins are as fine as cells.
    """

    counts: tuple[int, ...]

    @classmethod
    def with_count(cls, extra: int | None) -> ViewCells:
        """The cells for the usual numbers of bins and, if any, an `extra` one."""
        return cls(tuple(sorted({*COUNTS, *(() if extra is None else (extra,))})))

    @cached_property
    def cells(self) -> Cells:
        """The cells to sum rows in."""
        return Cells(Edges(np.unique([j / m for m in self.counts for j in range(m + 1)]).tolist()))

    def tables(
        self, sums: Array, precision: np.dtype[Any], notion: Notion
    ) -> dict[str, tuple[ReliabilityTable, ...]]:
        """The tables of every number of bins, by rule, from the sums in the cells."""
        edges = self.cells.cuts(np.dtype(np.float64)).inner
        lower = np.concatenate([[0.0], self.cells.cuts(precision).inner])
        used = np.flatnonzero(sums[:, FIELDS.index("sum_w")] > 0)
        ranks = MiddleRanks.from_mass(sums[used, FIELDS.index("sum_w")])
        tables: dict[str, tuple[ReliabilityTable, ...]] = {}
        for rule in RULES:
            every = []
            for m in self.counts:
                if rule == "equal-width":
                    inner = np.searchsorted(edges, np.arange(1, m) / m) + 1
                    named: Rule = EqualWidth(m)
                else:
                    firsts = ranks.firsts(m)[1:-1]
                    inner = np.append(used, sums.shape[0])[firsts]
                    named = Quantile(m)
                table = BinTable(merged(sums[None], np.concatenate([[0], inner])))
                cuts = Cuts(np.append(lower, 1.0)[inner])
                every.append(ReliabilityTable(table, named, cuts, notion))
            tables[rule] = tuple(every)
        return tables


def view_of_sums(
    sums: Array,
    cells: ViewCells,
    sampled: Samples,
    notion: Notion,
    level: float,
    quantile: Rule,
    exact: BinTable | None,
) -> BinView:
    """The diagram's data of rows that are summed: tables of all rows, from their `sums` in `cells`,
    and curves of some rows that were `sampled` from them.

    `quantile` is the rule of truthful measures, and `exact` its table, where it is one of quantile
    bins.
    """
    kind, count = kind_and_count(quantile)
    tables = cells.tables(sums, sampled.precision, notion)
    if exact is not None and count in cells.counts:
        at = cells.counts.index(count)
        known = list(tables["quantile"])
        known[at] = replace(known[at], table=exact)
        tables["quantile"] = tuple(known)
    with explained(sampled):
        u, z, w, _ = whole_problem(sampled, notion)
    problem = Samples(u, z, w)
    return BinView(
        labels="labels as given",
        counts=cells.counts,
        tables=tables,
        values=_values_in_bins(tables, sampled.shape, kind),
        curve=replace(smooth_curve(problem, "binary"), notion=notion),
        curves=_curves(problem, notion, None, level),
        cutoffs=worst_interval(BinTable(sums[None].copy())),
    )


def _curves(
    samples: Samples, notion: Notion, groups: Index | None, level: float
) -> dict[str, ReliabilityCurve]:
    """The isotonic and the local reliability curve, by name, the default one first."""
    problem, groups = scalar_problem(samples, "binary", groups)
    return {
        method: fitted_curve(problem, notion, method, bands[0], level, groups=groups)
        for method, bands in BANDS_OF.items()
    }


def _measures_in_bins(shape: Shape, *, in_truthful_bins: bool) -> list[Measure]:
    """The measures shown in the bins of one kind (equal-width or quantile), in catalogue order.

    Ordinary errors are shown in bins of either kind, which the page names beside them. Truthful
    errors are shown only in bins of the kind that the evaluation uses, `in_truthful_bins`, so that
    one name has one value on a page.
    """

    def is_shown(measure: Measure) -> bool:
        """Whether the diagram shows the measure, in one problem, in bins of this kind."""
        statistic = STATISTICS[measure.statistic]
        own_bins = statistic.binning == "fixed" or in_truthful_bins
        return bool(measure.rank_in("bins", shape)) and not statistic.over_classes and own_bins

    return [measure for measure in catalogue(shape) if is_shown(measure)]


def _with_likeliest_labels(samples: Samples) -> Samples:
    """The samples with each soft label replaced by its likeliest class, the first of equals."""
    soft: NDArray[np.floating] = samples.targets
    hard = soft.argmax(axis=1) if soft.ndim == 2 else (soft > 0.5)
    return replace(samples, targets=hard)


def sensitivity(samples: Samples, view: BinView) -> tuple[MeasureOverBins, ...]:
    """The values of every binned measure at each number of bins, in catalogue order."""
    more = _class_curves(samples) if classes_are_few(samples) else []
    return curves_over_bins(samples.shape, view, more)


def curves_over_bins(
    shape: Shape, view: BinView, more: Sequence[MeasureOverBins] = ()
) -> tuple[MeasureOverBins, ...]:
    """The values of the view's measures at each number of bins, and `more`, in catalogue order."""
    curves = [
        MeasureOverBins(name, rule, view.counts, tuple(values))
        for rule in RULES
        for name, values in view.values[rule].items()
    ]
    curves += more
    ranks = {measure.name: measure.rank_in("bins", shape) for measure in catalogue(shape)}
    return tuple(sorted(curves, key=lambda curve: ranks[curve.measure]))


def classes_are_few(samples: Samples) -> bool:
    """Whether errors over all classes are quick enough to compute at several numbers of bins."""
    return samples.multiclass and is_small_over_classes(samples)


def _class_curves(samples: Samples) -> list[MeasureOverBins]:
    """The values of errors over all classes at each number of bins."""
    tables = BinCounts(samples, _CLASS_COUNTS)
    summaries = [tables.summary_at(m) for m in _CLASS_COUNTS]
    curves = []
    for measure in listed("bins", "multiclass"):
        statistic = STATISTICS[measure.statistic]
        if statistic.over_classes:
            rule = "equal-width" if statistic.binning == "fixed" else "quantile"
            values = tuple(measure.compute(summary) for summary in summaries)
            curves.append(MeasureOverBins(measure.name, rule, _CLASS_COUNTS, values))
    return curves
