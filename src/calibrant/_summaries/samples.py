"""Summary: the statistics of one set of samples, each computed when a measure first asks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from calibrant._core.bin_tables import BinTable, VectorTable, table_has_squares
from calibrant._core.binning import (
    Cuts,
    EqualWidth,
    FixedRule,
    LevelSets,
    Quantile,
    Rule,
    equal_mass_rule,
    fixed_cuts,
)
from calibrant._core.errors import InputError, NotDefined, check_weight_total, one_of
from calibrant._core.grid import LogitGrid
from calibrant._core.level_table import LevelTable
from calibrant._core.loss_sums import COMPLEMENTS, LossSums
from calibrant._data.explain import check_not_swapped, explained
from calibrant._data.samples import Notion, Samples
from calibrant._data.source import Source
from calibrant._data.tensor_samples import TensorSamples
from calibrant._engines.arrays.counting import class_tables, stack
from calibrant._engines.arrays.passes import MatrixSums, top_label_problem
from calibrant._engines.dispatch import engine_of
from calibrant._engines.protocol import Findings
from calibrant._measures.catalogue import THRESHOLD
from calibrant._measures.smooth import LS_SIGMA
from calibrant._measures.statistics import Statistics
from calibrant._summaries.smooth import SmoothSummary

T = TypeVar("T")


def resolve_notion(samples: Source, notion: str | None) -> Notion:
    """The notion of calibration asked for or, for None, the usual one: P(y = 1) for (n,)
    predictions, the top label for (n, k).
    """
    if notion is None:
        return "confidence" if samples.multiclass else "binary"
    one_of("notion", notion, get_args(Notion))
    if samples.multiclass and notion == "binary":
        raise InputError(
            f"notion='binary' needs y_proba of the shape (n,); got (n, {samples.n_classes}). Give "
            "one class's column, or use notion='confidence' or 'classwise'"
        )
    if not samples.multiclass and notion in ("classwise", "full"):
        raise InputError(
            f"notion={notion!r} needs y_proba of the shape (n, k); got (n,). Use notion='binary', "
            "or give both columns: np.stack([1 - p, p], axis=1)"
        )
    return notion  # type: ignore[return-value]


class SourceStatistics(Statistics, Protocol):
    """The statistics of a source of data, with the findings about its rows."""

    @property
    def scalar(self) -> Notion:
        """The scalar problem that is measured: "binary" (the probability of class 1), or
        "confidence" (the largest probability) for (n, k) predictions.
        """
        ...

    @property
    def findings(self) -> Findings:
        """Counts of clipped and tolerated values, and whether labels are soft."""
        ...

    @property
    def n_logits_clipped(self) -> int:
        """The number of predictions that were moved to the ends of the logit grid."""
        ...


@dataclass
class Summary:
    """`Statistics` of samples, each computed when a measure first asks for it.

    `fixed` is the rule of bins of the ordinary measures, `quantile` that of the truthful ones. The
    scalar problem is the binary one, or that of the confidence for (n, k) predictions.
    """

    samples: Source
    fixed: Rule = EqualWidth(15)
    quantile: Rule = Quantile(15)
    notion: str | None = None
    # Whether to read (n, k) predictions once for all that the ordinary bins and the losses need.
    together: bool = False
    # The one distance between distributions that is read: the others are not computed.
    distance: str | None = None
    findings: Findings = Findings()
    n_logits_clipped: int = 0

    def __post_init__(self) -> None:
        self.scalar: Notion = resolve_notion(self.samples, self.notion)
        if self.scalar in ("classwise", "full"):
            self.scalar = "confidence"
        self.engine = engine_of(self.samples)

    @property
    def soft(self) -> bool:
        """Whether some label is not 0 or 1, or votes are known."""
        return self.findings.soft or self.samples.voted

    def _add_findings(self, findings: Findings) -> None:
        """Add the findings of a pass to those known so far. Raises InputError if labels are soft
        and every prediction is 0 or 1, which looks like swapped arguments.
        """
        mine = self.findings
        if findings.soft and not mine.soft:
            check_not_swapped(self.samples)
        # Every pass counts the same rows, so the largest count is the count.
        self.findings = Findings(
            max(mine.n_predictions_clipped, findings.n_predictions_clipped),
            max(mine.n_rows_off_simplex, findings.n_rows_off_simplex),
            max(mine.n_log_clipped, findings.n_log_clipped),
            mine.soft or findings.soft,
        )

    def _call_engine(
        self, sum_up: Callable[..., Any], *arguments: Any, **options: Any
    ) -> list[Any]:
        """Call `sum_up`, a function of the engine, on these arguments; keep the findings that it
        returns last, and return the rest as a list. A row that cannot be measured raises an
        InputError that explains it.
        """
        with explained(self.samples):
            *sums, findings = sum_up(*arguments, **options)
        self._add_findings(findings)
        return sums

    def table(self, notion: Notion, rule: Rule, *, squares: bool = True) -> BinTable:
        """The bin table of a notion ("binary", "confidence" or "classwise") and a rule of bins.
        Without `squares` the sums of squared predictions may be left out.
        """
        engine, samples = self.engine, self.samples
        if notion == "classwise":
            (table,) = self._call_engine(engine.classwise_table, samples, rule, squares=squares)
        else:
            table, _ = self._call_engine(engine.bin_table, samples, notion, rule, squares=squares)
        return self._check_weight(table)

    def top_class_table(self, rule: Rule) -> BinTable:
        """The table of the confidence problem, the rows of each predicted class apart. NotDefined
        for (n,) predictions.
        """
        if not self.samples.multiclass:
            raise NotDefined("it needs predictions of the shape (n, k); these are (n,)")
        (table,) = self._call_engine(self.engine.top_class_table, self.samples, rule)
        check_weight_total(table.total_weight.sum(), self._n_rows)
        return table

    def table_with_cuts(self, notion: Notion, rule: Rule) -> tuple[BinTable, Cuts]:
        """The bin table of the binary or the confidence problem, and the cuts between the bins."""
        if self._reads_once and notion == self.scalar and rule == self.fixed:
            assert isinstance(rule, FixedRule)
            return self.bins, fixed_cuts(rule, self.samples.precision)
        table, cuts = self._call_engine(self.engine.bin_table, self.samples, notion, rule)
        if notion == self.scalar and rule == self.fixed and not self._reads_once:
            self.__dict__.setdefault("bins", table)  # whoever asks for these bins has them
        return self._check_weight(table), cuts

    @property
    def _n_rows(self) -> int:
        """The number of rows, without dropped ones; 1 for a frame, whose rows are not
        counted yet.
        """
        samples = self.samples
        return samples.n if isinstance(samples, Samples | TensorSamples) else 1

    def _check_weight(self, table: BinTable) -> BinTable:
        """The table itself; raises InputError if its total weight is 0 or not finite."""
        check_weight_total(table.total_weight[0], self._n_rows)
        return table

    # --- what the catalogue's measures read ------------------------------------------------------

    @cached_property
    def _matrix(self) -> MatrixSums:
        """The sums of one read of (n, k) predictions: every class and the top label in the ordinary
        bins, and the losses.
        """
        assert isinstance(self.fixed, FixedRule)
        cuts = fixed_cuts(self.fixed, self.samples.precision)
        with explained(self.samples):
            total = self.engine.matrix_sums(
                self.samples, classwise=cuts, confidence=cuts, losses=True
            )
        self._add_findings(total.findings)
        return total

    @property
    def _reads_once(self) -> bool:
        """Whether ordinary bins and losses come from one read, `_matrix`: for (n, k) predictions
        and fixed bins that cover all of [0, 1], where all measures are evaluated `together`.
        """
        plain = self.fixed.is_fixed and not self.fixed.drops_one
        return self.together and self.samples.multiclass and plain

    @cached_property
    def bins(self) -> BinTable:
        """The scalar problem (binary or confidence) in the ordinary bins."""
        if self._reads_once:
            top = self._matrix.confidence
            assert top is not None
            return self._check_weight(BinTable(top[None]))
        return self.table(self.scalar, self.fixed)

    @cached_property
    def _scalar_problem(self) -> tuple[Source, Notion]:
        """The samples and the notion of the scalar problem (the binary one, or that of the
        confidence).

        If all measures are evaluated, the top label of (n, k) predictions in arrays is read once
        and kept as a binary problem: 16 bytes a row, which must be sorted anyway.
        """
        samples = self.samples
        if not (self.together and samples.multiclass and isinstance(samples, Samples)):
            return samples, self.scalar
        with explained(samples):
            top, hit, findings = top_label_problem(samples)
        self._add_findings(findings)
        return replace(samples, predictions=top, targets=hit, from_logits=False), "binary"

    def _scalar_table(self, rule: Rule) -> BinTable:
        """The table of the scalar problem by any rule of bins, with fixed edges or edges that
        depend on the predictions.
        """
        if rule.is_fixed:  # edges meet predictions in the precision in which they came
            return self.table(self.scalar, rule)
        table, _ = self._call_engine(self.engine.bin_table, *self._scalar_problem, rule)
        return self._check_weight(table)

    @cached_property
    def quantile_bins(self) -> BinTable:
        """The scalar problem in the bins of the rule `quantile`."""
        levels = self._level_table
        if levels is None or not isinstance(self.quantile, Quantile):
            return self._scalar_table(self.quantile)
        return self._check_weight(BinTable(self._sums(levels.quantile_cuts(self.quantile.m))[None]))

    @property
    def _level_table(self) -> LevelTable | None:
        """The level sets (sums of each distinct prediction, in order) from which quantile bins can
        be merged; None unless all measures are evaluated, the rows are in memory, and equal
        predictions share a bin.
        """
        by_rank = isinstance(self.quantile, Quantile) and self.quantile.ties == "rank"
        if not self.together or by_rank or not isinstance(self.samples, Samples):
            return None
        return self.levels if isinstance(self.levels, LevelTable) else None

    def _sums(self, cuts: Cuts) -> NDArray[np.float64]:
        """The sums of the scalar problem in the bins between given cuts, (bins, fields)."""
        (sums,) = self._call_engine(self.engine.scalar_sums, *self._scalar_problem, cuts)
        return sums

    @cached_property
    def confidence_bins(self) -> BinTable:
        """The confidence problem in the bins of the rule `quantile`."""
        if self.scalar == "confidence":
            return self.quantile_bins
        return self.table("confidence", self.quantile)

    @cached_property
    def levels(self) -> BinTable:
        """The scalar problem with a bin for each distinct prediction, in order."""
        return self._scalar_table(LevelSets())

    @cached_property
    def class_bins(self) -> BinTable:
        """Each class against the rest in the ordinary bins."""
        if self._reads_once:
            table = self._matrix.classwise
            assert table is not None
            return self._check_weight(BinTable(table, has_squares=table_has_squares(table)))
        return self.table("classwise", self.fixed)

    @cached_property
    def confidence_by_class(self) -> BinTable:
        """The top-label problem in the ordinary bins, the rows of each predicted class apart."""
        return self.top_class_table(self.fixed)

    @property
    def _sorts_classes_once(self) -> bool:
        """Whether one sort of each class's column serves all equal-mass bins: for (n, k) arrays,
        where all measures are evaluated `together`.
        """
        return self.together and self.samples.multiclass and isinstance(self.samples, Samples)

    @cached_property
    def _class_tables(self) -> tuple[BinTable | None, BinTable | None]:
        """Equal-mass bins of each class against the rest: of all predictions, and of those above
        the usual threshold (None if no class has any).
        """
        assert isinstance(self.samples, Samples)
        self.bins  # noqa: B018 - every row is sound, and has a weight
        rule = equal_mass_rule(self.quantile)
        with explained(self.samples):
            return class_tables(self.samples, rule, threshold=THRESHOLD)

    @cached_property
    def class_quantile_bins(self) -> BinTable:
        """Each class against the rest in the bins of the rule `quantile`."""
        if self._sorts_classes_once and equal_mass_rule(self.quantile) == self.quantile:
            return self.class_equal_mass_bins
        return self.table("classwise", self.quantile)

    @cached_property
    def equal_mass_bins(self) -> BinTable:
        """The scalar problem in bins of equal mass, whatever rule was given."""
        rule = equal_mass_rule(self.quantile)
        return self.quantile_bins if rule == self.quantile else self.table(self.scalar, rule)

    @cached_property
    def class_equal_mass_bins(self) -> BinTable:
        """Each class against the rest in bins of equal mass, whatever rule was given."""
        if self._sorts_classes_once:
            every, _ = self._class_tables
            assert every is not None
            return self._check_weight(every)
        rule = equal_mass_rule(self.quantile)
        return self.class_quantile_bins if rule == self.quantile else self.table("classwise", rule)

    @cached_property
    def losses(self) -> LossSums:
        """Sums of the proper losses."""
        if self._reads_once:
            sums = self._matrix.losses
            assert sums is not None
            return LossSums(sums, self.samples.n_classes)
        return self._loss_sums()

    def mean_loss(self, name: str) -> float:
        """The mean of one proper loss, computed without the others where that is faster."""
        if self._reads_once or "losses" in self.__dict__:
            return self.losses.mean(name)
        return self._loss_sums(only=COMPLEMENTS.get(name, name)).mean(name)

    @cached_property
    def distribution(self) -> LossSums:
        """Sums of the distances between predicted and target distributions; of `distance` alone, if
        it is given.
        """
        return self._loss_sums(distribution=True, only=self.distance)

    def mean_distance(self, name: str, *, spacing: NDArray[np.float64] | None = None) -> float:
        """The mean of one distance between distributions, computed without the others where that is
        faster.

        `spacing` is how far neighbouring classes are apart, 1 by default.
        """
        known = "distribution" in self.__dict__ and self.distance in (None, name)
        if known and spacing is None:
            return self.distribution.mean(name)
        return self._loss_sums(distribution=True, only=name, spacing=spacing).mean(name)

    def _loss_sums(self, **options: Any) -> LossSums:
        """The sums of losses that the engine's `loss_sums` gives for these options. Raises
        InputError if the total weight is 0 or not finite.
        """
        (losses,) = self._call_engine(self.engine.loss_sums, self.samples, **options)
        check_weight_total(losses.sums[1], self._n_rows)
        return losses

    def vectors(self, phi: NDArray[np.float64] | None = None) -> VectorTable:
        """Vector predictions summed by cell, for a linear property of the label.

        `phi` (k, d) has the property's value for each class; None stands for the label itself. A
        cell is which coordinate is largest and the bin of that coordinate.
        """
        (table,) = self._call_engine(self.engine.vector_table, self.samples, self.quantile, phi)
        check_weight_total(table.sum_w.sum(), self._n_rows)
        return table

    @property
    def bins_and_distances(self) -> tuple[BinTable, LossSums]:
        """The scalar problem in the ordinary bins, and distances of predictions from targets."""
        return self.bins, self.distribution

    @cached_property
    def logit_grid(self) -> LogitGrid:
        """The masses of the scalar problem on the logit grid of the default bandwidth."""
        smooth = SmoothSummary(*self._scalar_problem, findings=self.findings)
        grid = smooth.logit_grid(LS_SIGMA)
        self._add_findings(smooth.findings)
        self.n_logits_clipped = smooth.n_logits_clipped
        return grid

    @cached_property
    def smooth(self) -> float:
        """The smooth calibration error (smECE) of the scalar problem, at its fixed point."""
        smooth = SmoothSummary(*self._scalar_problem, findings=self.findings)
        value = smooth.smooth_ece(None)
        self._add_findings(smooth.findings)
        return value

    @cached_property
    def full_bins(self) -> VectorTable:
        """The whole predicted distributions as vectors, summed by cell (largest coordinate and bin
        of its value).
        """
        return self.vectors()

    def above(self, threshold: float) -> BinTable:
        """Predictions above a threshold in bins of equal mass, for each class that has any.
        NotDefined if none has.
        """
        samples, engine = self.samples, self.engine
        if isinstance(samples, Samples) and not samples.multiclass:
            return self._rows_above(samples, threshold)
        rule = equal_mass_rule(self.quantile)
        if self._sorts_classes_once and threshold == THRESHOLD:
            return some_above(self._class_tables[1], threshold)
        with explained(samples):
            self.table(self.scalar, EqualWidth(1))  # every row is sound, and has a weight
            if samples.multiclass and isinstance(samples, Samples):
                table = class_tables(samples, rule, every=False, threshold=threshold)[1]
            elif samples.multiclass and isinstance(samples, TensorSamples):
                from calibrant._engines.tensors.tables import class_table_above

                table = class_table_above(samples, rule, threshold)
            else:
                columns: Iterable[Any] = (
                    engine.class_columns(samples) if samples.multiclass else [samples]
                )
                parts = (engine.rows_above(column, threshold) for column in columns)
                tables = [engine.bin_table(p, "binary", rule)[0] for p in parts if p is not None]
                table = stack(tables) if tables else None
        return some_above(table, threshold)

    def _rows_above(self, samples: Samples, threshold: float) -> BinTable:
        """The predictions of a binary problem above a threshold in bins of equal mass; rows are
        summed in their place, without a copy.
        """
        rule = equal_mass_rule(self.quantile)
        # The threshold is compared in the predictions' own precision, as edges of bins are.
        edge = np.nextafter(float(np.asarray(threshold, dtype=samples.precision)), np.inf)
        if self._level_table is not None:
            above = self._level_table.from_edge(edge)
            cuts = above.quantile_cuts(rule.m) if above.n_bins else None
        else:
            self._check_weight(self.table(self.scalar, EqualWidth(1)))
            with explained(samples):
                rows = self.engine.rows_above(samples, threshold)
                if rule.ties == "rank" and rows is not None:
                    return self.engine.bin_table(rows, "binary", rule)[0]
                cuts = None if rows is None else self.engine.bin_table(rows, "binary", rule)[1]
        inner = some_above(cuts, threshold).inner
        return BinTable(self._sums(Cuts(np.append(edge, inner)))[None, 1:])


def some_above(found: T | None, threshold: float) -> T:
    """What was found of the predictions above the threshold of the measure `tace`; raises
    NotDefined if it is None, because there are none.
    """
    if found is None:
        raise NotDefined(
            f"no prediction is above the threshold of {threshold:g}: tace(..., threshold=...) "
            "takes a lower one"
        )
    return found
