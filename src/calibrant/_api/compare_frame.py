"""compare() of several columns of a lazy frame, which its own engine sums."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from calibrant._api.compare_sums import SummedComparison
from calibrant._api.model_rows import predictor_columns
from calibrant._api.pooled_sums import pooled_rows, sums_of_frame
from calibrant._api.resampling import Resampling
from calibrant._api.rows import GivenRows, as_source, cluster_column
from calibrant._api.summed_predictor import SummedPredictor
from calibrant._core.bin_tables import BinTable
from calibrant._core.binning import Bins, Cuts, Rule, both_rules
from calibrant._core.errors import errors_about
from calibrant._data.frame_samples import FrameSamples
from calibrant._engines import frames
from calibrant._inference.pooled_rows import PooledSums
from calibrant._summaries.frame import FrameSummary, sum_frame
from calibrant._summaries.requirements import known_measures
from calibrant.results._comparison import Comparison


@dataclass(eq=False)
class FramePredictor(SummedPredictor):
    """One predictor of a lazy frame: its columns, their sums, and what intervals are computed
    from.
    """

    samples: FrameSamples
    summary: FrameSummary

    @classmethod
    def read(
        cls,
        given: GivenRows,
        labels: Any,
        columns: Any,
        reading: Mapping[str, Any],
        rules: tuple[Rule, Rule],
        clusters: str | None,
        measures: tuple[str, ...] | None,
    ) -> FramePredictor:
        """One predictor, from the names of its columns of labels and predictions. `reading` are
        options of labels and predictions, `clusters` is the column of clusters. Only what the
        `measures` need is summed; None stands for all.
        """
        rows = {"sample_weight": given.sample_weight, "votes": given.votes, "data": given.data}
        samples = cast(FrameSamples, as_source(labels, columns, **rows, **reading))
        return cls.of(samples, rules, clusters, measures)

    @classmethod
    def of(
        cls,
        samples: FrameSamples,
        rules: tuple[Rule, Rule],
        clusters: str | None,
        measures: tuple[str, ...] | None,
    ) -> FramePredictor:
        """One predictor, whose engine sums what the `measures` need; None stands for all."""
        summary, sums = sum_frame(samples, rules, measures, fine=True)
        of_frame = sums_of_frame(samples, summary, rules, clusters)
        return cls(samples, summary, of_frame, sums.n_rows, sums.n_missing)

    @property
    def table(self) -> tuple[BinTable, Cuts]:
        """The scalar problem in the ordinary bins, and the cuts between them."""
        return self.summary.table

    @cached_property
    def cuts(self) -> tuple[Cuts, Cuts]:
        """The cuts between the ordinary bins and between the bins of truthful measures."""
        return self.table[1], self.summary.quantile_cuts

    def joint_sums(
        self, other: FramePredictor, rules: tuple[Rule, Rule], clusters: str | None
    ) -> tuple[PooledSums, PooledSums]:
        """The sums of this predictor and of another on the same rows, pooled where both have the
        same cells; `clusters` is the column of clusters.
        """
        columns = frames.joint_columns(
            self.samples, other.samples, self.summary.scalar, (self.cuts, other.cuts), clusters
        )
        ours, theirs = map(pooled_rows, columns)
        return PooledSums(self.summary, rules, ours), PooledSums(other.summary, rules, theirs)


def compare_frame(
    given: GivenRows, reading: Mapping[str, Any], measures: Any, bins: Bins, **draws: Any
) -> Comparison:
    """Compare columns of the lazy frame ``given.data``. `reading` are options of labels and
    predictions that all predictors share, `draws` are the level, the number of draws and the seed.
    """
    resampling = Resampling(rules=both_rules(bins, lambda: count_frame_rows(given.data)), **draws)
    clusters = cluster_column(given.groups, given.data)
    asked_for = None if measures is None else known_measures(measures)
    predictors = {}
    for name, (labels, columns) in predictor_columns(given).items():
        with errors_about(name):
            predictors[name] = FramePredictor.read(
                given, labels, columns, reading, resampling.rules, clusters, asked_for
            )
    comparison = SummedComparison(measures=measures, resampling=resampling)
    return comparison.compare(predictors, clusters)


def count_frame_rows(data: Any) -> int:
    """The number of rows of a lazy frame, by a query."""
    import narwhals as nw

    frame: Any = nw.from_native(data)
    return int(frame.select(n=nw.len()).collect()["n"].to_list()[0])
