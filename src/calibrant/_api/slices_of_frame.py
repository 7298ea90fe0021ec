"""The sums of every slice of a lazy frame: all from one query, or of one slice after another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from calibrant._api.compare_frame import FramePredictor
from calibrant._api.slices import SliceOfSums
from calibrant._core.binning import FixedRule, Rule
from calibrant._data.frame_samples import FrameSamples
from calibrant._data.slice_names import row_names
from calibrant._engines.cells import N_OF_SLICES, Cells
from calibrant._engines.frames.slices import Slice, slices_of
from calibrant._engines.frames.streams import slice_groups
from calibrant._inference.pooled_rows import PooledSums
from calibrant._summaries.stream import StreamSummary


@dataclass(frozen=True)
class FrameSlices:
    """The slices of a lazy frame by the columns `by`, with bins by these rules. `clusters` is the
    column that names clusters, None for independent rows.
    """

    samples: FrameSamples
    by: tuple[str, ...]
    rules: tuple[Rule, Rule]
    clusters: str | None = None
    # The names of the measures that are computed; None for all.
    measures: tuple[str, ...] | None = None

    def sums(
        self, *, fine: bool = True, losses: bool = True, n_linear: int = N_OF_SLICES
    ) -> Iterator[SliceOfSums]:
        """Yield the sums of every slice, in order, from one query, with or without `losses`: in
        bins or, with `fine`, in `n_linear` cells.

        Clusters need queries for each slice, and so do bins that are not the same for all.
        """
        fixed = self.rules[0]
        if self.clusters is not None or not isinstance(fixed, FixedRule):
            yield from self.each_summed()
            return
        cells, columns = Cells(fixed, fine, n_linear), self.samples.n_columns
        own = fixed == self.rules[1]
        for name, sums in slice_groups(self.samples, self.by, cells, row_names, losses=losses):
            summary = StreamSummary(cells, sums.arrays, columns, sums.findings, own, fine)
            has_weight = bool(summary.bins.total_weight[0] > 0)
            yield name, sums.n_rows, PooledSums(summary, self.rules) if has_weight else None

    def each_summed(self) -> Iterator[SliceOfSums]:
        """Yield the sums of every slice, in order, each from queries of its own."""
        for name, part in slices_of(self.samples, self.by, self.clusters).items():
            own = self.predictor(part)
            yield name, part.n, None if own is None else own.sums

    def predictor(self, part: Slice) -> FramePredictor | None:
        """The predictor of a slice, with its sums; None if no row has weight. If all rows are of
        one cluster, its sums have `is_one_cluster`.
        """
        if not part.has_weight:
            return None
        if self.clusters is None or not part.is_one_cluster:
            return FramePredictor.of(part.samples, self.rules, self.clusters, self.measures)
        plain = FramePredictor.of(part.samples, self.rules, None, self.measures)
        rows = plain.sums.rows
        one = replace(rows, groups=np.zeros(rows.samples.n, dtype=np.intp))
        return replace(plain, sums=replace(plain.sums, pooled=one))
