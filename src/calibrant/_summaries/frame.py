"""FrameSummary: the statistics of a frame in another engine. Most come from one query's sums; the
few that need the rows again ask for them again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from calibrant._core.bin_tables import FIELDS, BinTable, VectorTable
from calibrant._core.binning import (
    Cuts,
    EqualWidth,
    FixedRule,
    LevelSets,
    Quantile,
    Rule,
    edges_at,
    equal_mass_rule,
    fixed_cuts,
)
from calibrant._core.errors import NotDefined, check_weight_total
from calibrant._core.given_cells import Cells as GivenCells
from calibrant._core.loss_sums import LossSums
from calibrant._data.explain import check_not_swapped
from calibrant._data.frame_samples import FrameSamples
from calibrant._data.samples import Notion
from calibrant._engines import frames
from calibrant._engines.arrays.counting import stack, without_dropped
from calibrant._engines.arrays.streams import StreamSums
from calibrant._engines.cells import Cells
from calibrant._engines.frames.groups import Groups
from calibrant._measures.catalogue import THRESHOLD, Measure
from calibrant._summaries.requirements import holdings, in_frame, needs_fine_cells
from calibrant._summaries.samples import some_above
from calibrant._summaries.smooth import SmoothSummary
from calibrant._summaries.stream import StreamSummary

# The most distinct predictions for level sets that nobody asked for by name: about as many as the
# first query has groups.
LEVELS_UP_TO = 1 << 15


@dataclass
class FrameSummary(StreamSummary):
    """The exact statistics of a frame whose rows can be read again. `fixed` is the rule of bins of
    the ordinary measures, `truthful` that of the truthful ones. The scalar problem is the binary
    one, or that of the confidence for (n, k) predictions.
    """

    samples: FrameSamples = None  # type: ignore[assignment]
    fixed: Rule = EqualWidth(15)
    truthful: Rule = Quantile(15)
    # The groups of the first query, which its sums were put together from.
    groups: Groups = None  # type: ignore[assignment]
    # The most distinct predictions that are brought here; None for the limit of queries by name.
    most_levels: int | None = None

    def has(self, measure: Measure) -> bool:
        """Whether an evaluation of all measures includes this one; a measure asked for by name is
        always given.
        """
        if measure.notion == "distribution":
            return self.losses.has_distribution
        return in_frame(measure, self.n_columns, self.truthful)

    @cached_property
    def table(self) -> tuple[BinTable, Cuts]:
        """The scalar problem in the ordinary bins, and the cuts between them."""
        return self._table(self.scalar, self.fixed)

    @cached_property
    def bins(self) -> BinTable:
        """The scalar problem in the ordinary bins."""
        return self.table[0]

    @cached_property
    def _quantile(self) -> tuple[BinTable, Cuts]:
        """The scalar problem in the bins of the truthful measures, and the cuts between them."""
        if self.truthful == self.fixed:
            return self.table
        return self._table(self.scalar, self.truthful)

    @cached_property
    def quantile_bins(self) -> BinTable:
        """The scalar problem in the bins of the truthful measures."""
        return self._quantile[0]

    @property
    def quantile_cuts(self) -> Cuts:
        """The cuts between the bins of the truthful measures."""
        return self._quantile[1]

    @cached_property
    def equal_mass_bins(self) -> BinTable:
        """The scalar problem in bins of equal mass, whatever rule was given."""
        rule = equal_mass_rule(self.truthful)
        if rule == self.truthful:
            return self.quantile_bins
        return self._table(self.scalar, rule)[0]

    @cached_property
    def levels(self) -> BinTable:
        """The scalar problem with a bin for each distinct prediction, in order. NotDefined if there
        are too many to collect.
        """
        if isinstance(self.fixed, LevelSets):
            return self.bins
        if isinstance(self._levels, NotDefined):
            raise self._levels
        return self._levels

    @cached_property
    def _levels(self) -> BinTable | NotDefined:
        """The level sets (a bin for each distinct prediction), or the NotDefined error that says
        why there are none; from one query, run once.
        """
        try:
            return frames.level_sets(self.samples, self.scalar, self.most_levels, self.groups)[0]
        except NotDefined as too_many:
            return too_many

    @cached_property
    def confidence_bins(self) -> BinTable:
        """The confidence problem in the bins of the truthful measures."""
        if self.n_columns > 1:
            return self.quantile_bins
        return self._table("confidence", self.truthful)[0]

    def _table(self, notion: Notion, rule: Rule) -> tuple[BinTable, Cuts]:
        """The table of the binary or the confidence problem by a rule of bins, and the cuts between
        the bins.
        """
        if isinstance(rule, FixedRule):
            cells = self.sums["cells" if notion == self.scalar else "top_cells"]
            return self.cells.bins(cells), fixed_cuts(rule, self.samples.precision)
        if isinstance(rule, LevelSets | GivenCells):
            return frames.bin_table(self.samples, notion, rule)[:2]
        bins = self._equal_mass_of(rule.m)
        refined = bins.own if notion == self.scalar else bins.folded
        return refined.table, refined.cuts

    def _equal_mass_of(self, m: int) -> frames.EqualMass:
        """The bins of equal mass of the scalar problem and its parts, refined once for all."""
        if m not in self._by_count:
            binary = self.n_columns == 1
            self._by_count[m] = frames.EqualMass(
                self.samples,
                self.scalar,
                self.groups,
                m,
                fold="top_cells" in self.sums,
                threshold=THRESHOLD if binary else None,
            )
        return self._by_count[m]

    @cached_property
    def _by_count(self) -> dict[int, frames.EqualMass]:
        """The bins of equal mass so far, by their number."""
        return {}

    @cached_property
    def class_bins(self) -> BinTable:
        """Each class against the rest in the ordinary bins."""
        if isinstance(self.fixed, FixedRule):
            return without_dropped(self.sums["classwise"].copy(), self.fixed, True)
        return frames.classwise_table(self.samples, self.fixed)[0]

    @cached_property
    def confidence_by_class(self) -> BinTable:
        """The confidence problem in the ordinary bins, the rows of each predicted class apart."""
        if self.fixed.is_fixed:
            return super().confidence_by_class
        return frames.top_class_table(self.samples, self.fixed)[0]

    @cached_property
    def class_quantile_bins(self) -> BinTable:
        """Each class against the rest in the bins of the truthful measures."""
        if self.truthful == self.fixed:
            return self.class_bins
        return self.class_equal_mass_bins

    @cached_property
    def class_equal_mass_bins(self) -> BinTable:
        """Each class against the rest in bins of equal mass, whatever rule was given."""
        if self.n_columns == 1:
            return self.equal_mass_bins
        problems = self._classes.refined(equal_mass_rule(self.truthful).m)
        return stack([groups.table for groups in problems.values()])

    @cached_property
    def _classes(self) -> frames.ClassQuantiles:
        """The equal-mass bins of each class, computed at the first use."""
        return frames.ClassQuantiles(self.samples, THRESHOLD)

    @cached_property
    def distribution(self) -> LossSums:
        """Sums of the distances between predicted and target distributions."""
        if self.losses.has_distribution:
            return self.losses
        return frames.loss_sums(self.samples, distribution=True)[0]

    @cached_property
    def full_bins(self) -> VectorTable:
        """The whole predicted distributions as vectors, summed by cell (largest coordinate and bin
        of its value).
        """
        rule = self.truthful
        if isinstance(rule, Quantile):
            # The cuts between the bins of the top label are known, and save their queries.
            rule = edges_at(self._quantile[1])
        return frames.vector_table(self.samples, rule)[0]

    def above(self, threshold: float) -> BinTable:
        """Predictions above the usual threshold in bins of equal mass, for each class that has any.
        NotDefined if none has.
        """
        assert threshold == THRESHOLD
        m = equal_mass_rule(self.truthful).m
        if self.n_columns == 1:
            above = self._equal_mass_of(m).above
            return some_above(above if above.low.size else None, threshold).table
        problems = self._classes.refined(m, above=True)
        found = some_above(problems or None, threshold)
        return stack([groups.table for groups in found.values()])

    @cached_property
    def smooth(self) -> float:
        """The smooth calibration error (smECE) at its fixed point (where width of noise and error
        are equal), on a finer grid than that of the first query if necessary.
        """
        try:
            return super().smooth
        except NotDefined:  # finer than the grid that was summed
            total = float(self.bins.total_weight[0])
            return SmoothSummary(self.samples, self.scalar).smooth_ece(None, total)


def sum_frame(
    samples: FrameSamples,
    rules: tuple[Rule, Rule],
    names: tuple[str, ...] | None,
    *,
    distances: bool = False,
    fine: bool = False,
) -> tuple[FrameSummary, StreamSums]:
    """The statistics of a lazy frame, and the sums that they are made from, by one query.

    `rules` are those of fixed and of quantile bins, `names` the measures, None for all. With
    `distances` the distances between distributions are summed too, and with `fine` rows are summed
    in fine cells even if no measure needs them.
    """
    for rule in rules:
        if isinstance(rule, Quantile):
            frames.check_ranks(rule)
    cells = _cells(rules[0], names, fine=fine)
    holds = holdings(names, samples.multiclass)
    threshold = None if samples.multiclass or not cells.fine else THRESHOLD
    groups = frames.stream_groups(samples, cells, holds, threshold=threshold)
    sums = frames.sums_of_groups(groups, cells, holds, distances=distances)
    _check_sums(samples, sums)
    findings = replace(sums.findings, answers=samples.answers)
    given = (cells, sums.arrays, samples.n_columns, findings, rules[0] == rules[1], False)
    summary = FrameSummary(*given, samples, *rules, groups)
    return summary, sums


def _cells(fixed: Rule, names: tuple[str, ...] | None, *, fine: bool) -> Cells:
    """The cells to sum rows in: the rule's bins, with fine cells if a measure needs order.

    `names` are the measures, None for all; with `fine` there are fine cells in any case. A rule
    whose bins depend on the rows has fine cells alone.
    """
    if isinstance(fixed, FixedRule):
        return Cells(fixed, fine or needs_fine_cells(names))
    return Cells(EqualWidth(1))


def _check_sums(samples: FrameSamples, sums: StreamSums) -> None:
    """Raise an InputError if no row has weight, or if labels and predictions seem to be swapped."""
    by_field = dict(zip(FIELDS, sums.arrays["cells"].T, strict=True))
    check_weight_total(by_field["sum_w"].sum(), sums.n_rows)
    # If every prediction u is 0 or 1, the sums of u and of u^2 agree: the columns may be swapped.
    if sums.findings.soft and np.array_equal(by_field["sum_wu"], by_field["sum_wu2"]):
        check_not_swapped(samples)
