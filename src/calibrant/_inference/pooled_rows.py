"""Uncertainty from sums: rows of nearly equal predictions, pooled into one row that stands for all.

Streams, files and frames in other engines are summed in some 2,500 fine cells. Independent rows of
equal weight whose labels are 0 or 1 are all but known from these sums: a cell of n rows with k
events is k rows with the label 1 and n - k with the label 0, at the cell's mean prediction.
Intervals, noise floors and verdicts are then those of rows, whatever the number of rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibrant._core.bin_tables import FIELDS
from calibrant._core.binning import Rule
from calibrant._core.errors import NeedsRows
from calibrant._core.typing import Array
from calibrant._core.validation import check_level, check_resamples
from calibrant._data.samples import Samples
from calibrant._inference.rounding import EQUAL_PREDICTIONS, ROUNDED_SUMS
from calibrant._inference.uncertainty import Uncertainty
from calibrant._measures.measure import Measure
from calibrant._measures.statistics import STATISTICS
from calibrant._summaries.stream import StreamSummary


@dataclass(frozen=True, eq=False)
class PooledSums:
    """The sums of a stream, a file or a frame, and the rules of fixed and of quantile bins."""

    summary: StreamSummary
    rules: tuple[Rule, Rule]

    def why_not(self, measure: Measure) -> str:
        """Why the sums do not give an interval of a measure, in words; "" where they do."""
        statistic = STATISTICS[measure.statistic]
        if measure.statistic == "distribution":
            return "whole distributions are compared row by row"
        if self.summary.n_columns > 1 and statistic.problem != "scalar":
            return "every class of each row is needed, and sums have the top label alone"
        rule = self.rules[0] if statistic.binning == "fixed" else self.rules[1]
        of_rows = measure.statistic == "losses"
        if self._is_crowded and not of_rows and not (statistic.merges and rule.is_fixed):
            return (
                "the order of predictions is needed, and too many of them share one cell of the "
                "sums"
            )
        return ""

    def refuse(self, measures: Iterable[Measure]) -> None:
        """Raise NeedsRows if the sums do not give an interval of some measure, with each reason
        once.
        """
        reasons: dict[str, list[str]] = {}
        for measure in measures:
            reasons.setdefault(self.why_not(measure), []).append(measure.name)
        each = [f"{', '.join(names)}: {why}" for why, names in reasons.items() if why]
        if each:
            raise NeedsRows(
                f"no interval from sums for {'; '.join(each)}. Name other measures, or collect a "
                "sample of rows and evaluate that"
            )

    def uncertainty(
        self, measures: tuple[Measure, ...], level: float, n_resamples: int, seed: int
    ) -> Uncertainty:
        """The Uncertainty of measures of the scalar problem: P(y = 1), or the top label's
        confidence.
        """
        check_resamples(n_resamples, seed)
        return Uncertainty(
            self.samples,
            *self.rules,
            measures,
            check_level(level),
            int(n_resamples),
            int(seed),
            repeats=True,
            of_top_labels=self.summary.n_columns > 1,
        )

    def _field(self, name: str) -> Array:
        """A field of the sums by cell, (cells,)."""
        sums: Array = self.summary.sums["cells"][:, FIELDS.index(name)]
        return sums

    @cached_property
    def _is_crowded(self) -> bool:
        """Whether a cell of different predictions has more rows than a bin of equal mass."""
        if not self.summary.cells.fine:
            return False
        n = self._field("n")
        weight = np.where(n > 0, self._field("sum_w"), 1.0)
        mean = self._field("sum_wu") / weight
        differ = self._field("sum_wu2") / weight - mean**2 > EQUAL_PREDICTIONS
        most = max(getattr(rule, "m", 1) for rule in self.rules)
        return bool((n[differ] * most > n.sum()).any())

    @cached_property
    def samples(self) -> Samples:
        """The rows that the sums stand for: at most two for each cell, one for each label, whose
        weights are their numbers. Raises NeedsRows for sums of bins, unequal weights and soft
        labels.
        """
        if not self.summary.cells.fine:
            raise NeedsRows(
                "intervals need sums in fine cells, and these are of bins alone, since the "
                "measures were named when sums began: begin without names, or give the rows"
            )
        n, w, w2 = (self._field(name) for name in ("n", "sum_w", "sum_w2"))
        # Weights that are all the same do not count, whatever they are.
        weight = float(w.sum() / n.sum())
        if not (_are_near(w, weight * n) and _are_near(w2, weight * w)):
            raise NeedsRows(
                "intervals from sums need rows of equal weight: with sample_weight, collect a "
                "sample of rows and evaluate that"
            )
        wz, wz2 = self._field("sum_wz"), self._field("sum_wz2")
        events = np.rint(wz / weight)
        if not (_are_near(wz, weight * events) and _are_near(wz2, wz)):
            raise NeedsRows(
                "intervals from sums need labels of 0 and 1: with soft labels, collect a sample of "
                "rows and evaluate that"
            )
        used = n > 0
        u = np.clip(self._field("sum_wu")[used] / w[used], 0.0, 1.0)
        counts = np.concatenate([events[used], n[used] - events[used]])
        labels = np.repeat([1.0, 0.0], u.size)
        some = counts > 0
        return Samples(np.tile(u, 2)[some], labels[some], counts[some])


def _are_near(sums: Array, others: Array) -> bool:
    """Whether sums are equal to others but for rounding."""
    return bool(np.allclose(sums, others, rtol=ROUNDED_SUMS, atol=0.0))
