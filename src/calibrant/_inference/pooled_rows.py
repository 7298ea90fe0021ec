"""Uncertainty from sums: rows of nearly equal predictions, pooled into one row that stands for all.

Streams, files and frames in other engines are summed in some 2,500 fine cells. Rows of one cell
with one label differ in their weights alone: r equal rows have the same sum of weights and of
squared weights, with r = (sum w)^2 / sum w^2. So one row stands for r equal ones, and intervals,
noise floors and verdicts are those of rows, whatever the number of rows. Rows of a cluster vary
together: they are pooled only within their cluster.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibrant._core.bin_tables import FIELDS
from calibrant._core.binning import Rule
from calibrant._core.errors import NeedsRows
from calibrant._core.given_cells import Cells
from calibrant._core.typing import Array, Index
from calibrant._core.validation import check_level, check_resamples
from calibrant._data.samples import Samples
from calibrant._engines.cells import PooledColumns
from calibrant._inference.rounding import EQUAL_PREDICTIONS, ROUNDED_SUMS
from calibrant._inference.uncertainty import Uncertainty
from calibrant._measures.measure import Measure
from calibrant._measures.statistics import STATISTICS
from calibrant._summaries.stream import StreamSummary


@dataclass(frozen=True, eq=False)
class PooledRows:
    """Rows that each stand for many: `samples`, whose weights are sums, how many equal rows each of
    them stands for (None for one each), the cluster of each (None for independent rows), and the
    number of rows in all.
    """

    samples: Samples
    counts: Array | None
    groups: Index | None
    n: int

    @classmethod
    def from_columns(cls, sums: PooledColumns, groups: Index | None = None) -> PooledRows:
        """The rows that these sums stand for; `groups` is the number of each one's cluster."""
        n = float(sums.n.sum())
        # Weights that are all the same do not count, whatever they are.
        scale = float(sums.w.sum()) / n
        w, w2 = sums.w / scale, sums.w2 / scale**2
        if _are_near(w, sums.n) and _are_near(w2, w):
            w = w2 = np.rint(sums.n) if sums.hard else sums.n
        counts = w * w / w2
        u, z = np.clip(sums.u, 0.0, 1.0), np.clip(sums.z, 0.0, 1.0)
        if sums.hard:
            z = np.rint(z)
        single = bool((counts == 1.0).all())
        weights = None if single and bool((w == 1.0).all()) else w
        return cls(Samples(u, z, weights), None if single else counts, groups, round(n))


@dataclass(frozen=True, eq=False)
class PooledSums:
    """The sums of a stream, a file or a frame, and the rules of fixed and of quantile bins.

    `pooled` are rows that were pooled by cell, label and cluster; None where the sums of cells are
    all that is known.
    """

    summary: StreamSummary
    rules: tuple[Rule, Rule]
    pooled: PooledRows | None = None
    # Whether soft labels are shares of known numbers of votes.
    voted: bool = False
    # Whether rows come in clusters that count once each, and it is not known which row is of which.
    clusters_lost: bool = False

    @property
    def is_one_cluster(self) -> bool:
        """Whether rows come in clusters, and all of them are of one."""
        groups = None if self.pooled is None else self.pooled.groups
        return groups is not None and int(groups.max()) < 1

    def why_not(self, measure: Measure) -> str:
        """Why the sums do not give an interval of a measure, in words; "" where they do."""
        statistic = STATISTICS[measure.statistic]
        if measure.notion == "distribution":
            return "it compares whole distributions row by row"
        if self.summary.n_columns > 1 and statistic.problem != "scalar":
            return "it needs every class of each row, but sums hold only the top label"
        of_rows = measure.statistic == "losses"
        if of_rows and self.pooled is None and self._has_soft_labels:
            return "sums of soft labels by cell do not hold the variance of losses"
        rule = self.rules[0] if statistic.binning == "fixed" else self.rules[1]
        if isinstance(rule, Cells) and statistic.is_binned:
            return "it needs the predictions within each given cell, which sums do not hold"
        if self._is_crowded and not of_rows and not (statistic.merges and rule.is_fixed):
            return (
                "it needs the order of predictions, but too many of them share one cell of the sums"
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
        rows = self.rows
        return Uncertainty(
            rows.samples,
            *self.rules,
            measures,
            check_level(level),
            int(n_resamples),
            int(seed),
            rows.groups,
            counts=rows.counts,
            rows_given=rows.n,
            of_top_labels=self.summary.n_columns > 1,
            of_answers=self.summary.findings.answers,
        )

    def _field(self, name: str) -> Array:
        """A field of the sums by cell, (cells,)."""
        sums: Array = self.summary.sums["cells"][:, FIELDS.index(name)]
        return sums

    @cached_property
    def _has_soft_labels(self) -> bool:
        """Whether some label is neither 0 nor 1."""
        return self.summary.findings.soft

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
    def rows(self) -> PooledRows:
        """The rows that the sums stand for. Raises NeedsRows for sums of bins alone, for clusters
        that are not held, and for votes, which intervals draw anew row by row.
        """
        voted = self.voted or self.summary.findings.voted
        if voted and self._has_soft_labels:
            raise NeedsRows(
                "intervals with votes resample the votes of each row, which sums do not hold: "
                "drop the votes, which gives intervals against the given labels, or collect a "
                "sample of rows"
            )
        if self.pooled is not None:
            return self.pooled
        if self.clusters_lost:
            raise NeedsRows(
                "these sums count each cluster once and do not hold its rows: use the windows of "
                "the monitor, or give the rows with groups="
            )
        if not self.summary.cells.fine:
            raise NeedsRows(
                "intervals need sums in fine cells, but these sums hold only bins, because "
                "measures were named at their creation: create them without measures=, or give "
                "the rows"
            )
        return PooledRows.from_columns(self._split_by_label())

    def _split_by_label(self) -> PooledColumns:
        """The sums of each cell divided between two labels, which have the cell's sums of weights,
        of labels and of squared labels.

        Labels of 0 and 1 are their own squares. For soft labels, the two are one standard deviation
        below and above their mean or, if that is beyond 0 or 1, there.
        """
        n, w, w2, wu, wz, wz2, w2z = (
            self._field(name)[self._field("sum_w") > 0]
            for name in ("n", "sum_w", "sum_w2", "sum_wu", "sum_wz", "sum_wz2", "sum_w2z")
        )
        mean, square = wz / w, wz2 / w
        low, high = np.zeros(w.size), np.ones(w.size)
        if self._has_soft_labels:
            low, high = _two_points(mean, np.sqrt(np.maximum(square - mean**2, 0.0)))
        apart = np.where(high > low, high - low, 1.0)
        upper = np.where(high > low, np.clip((mean - low) / apart, 0.0, 1.0), 1.0)
        # The share of squared weights that the upper label has.
        squares = np.where(high > low, np.clip((w2z / w2 - low) / apart, 0.0, 1.0), 1.0)
        both = [
            (share * n, share * w, of_squares * w2, wu / w, label)
            for share, of_squares, label in ((upper, squares, high), (1 - upper, 1 - squares, low))
        ]
        columns = [np.concatenate(each) for each in zip(*both, strict=True)]
        some = (columns[1] > 0) & (columns[2] > 0)
        hard = not self._has_soft_labels
        return PooledColumns(*(each[some] for each in columns), clusters=None, hard=hard)


def _two_points(mean: Array, deviation: Array) -> tuple[Array, Array]:
    """The two values in [0, 1] of a distribution with this mean and standard deviation: one
    deviation below and above the mean or, if one of these is beyond 0 or 1, that end and another.
    """
    low, high = mean - deviation, mean + deviation
    square = deviation**2
    below, above = low < 0.0, high > 1.0
    far = mean + np.divide(square, mean, out=np.zeros_like(mean), where=mean > 0)
    near = mean - np.divide(square, 1.0 - mean, out=np.zeros_like(mean), where=mean < 1)
    high = np.where(below, far, np.where(above, 1.0, high))
    low = np.where(below, 0.0, np.where(above, near, low))
    return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)


def _are_near(sums: Array, others: Array) -> bool:
    """Whether sums are equal to others but for rounding."""
    return bool(np.allclose(sums, others, rtol=ROUNDED_SUMS, atol=0.0))
