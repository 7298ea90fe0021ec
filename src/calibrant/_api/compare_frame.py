"""compare() of several columns of a lazy frame, which its own engine sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

from calibrant._api.compare_coefficients import (
    Fits,
    NamedMeasures,
    add_coefficients,
    clipped_notes,
)
from calibrant._api.compare_sums import SummedComparison
from calibrant._api.cox_of_frame import FrameRows
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
from calibrant._engines.arrays.streams import EPS
from calibrant._engines.frames.logits import logit_sums, sums_of_groups
from calibrant._inference.coefficients import CoxFits, fit_coefficients
from calibrant._inference.cox_sums import cox_fits_from
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
    _joint: dict[int, tuple[PooledSums, PooledSums]] = field(default_factory=dict)

    @classmethod
    def read(
        cls,
        labels: Any,
        columns: Any,
        rows: Mapping[str, Any],
        rules: tuple[Rule, Rule],
        clusters: str | None,
        measures: tuple[str, ...] | None,
    ) -> FramePredictor:
        """One predictor, from the names of its columns of labels and predictions. `rows` are
        further options of rows, `clusters` is the column of clusters. Only what the `measures` need
        is summed; None stands for all.
        """
        samples = cast(FrameSamples, as_source(labels, columns, **rows))
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
        if id(other) not in self._joint:
            columns = frames.joint_columns(
                self.samples, other.samples, self.summary.scalar, (self.cuts, other.cuts), clusters
            )
            ours, theirs = map(pooled_rows, columns)
            self._joint[id(other)] = (
                PooledSums(self.summary, rules, ours),
                PooledSums(other.summary, rules, theirs),
            )
        return self._joint[id(other)]

    def cox_fits(self, clusters: str | None) -> tuple[CoxFits, int]:
        """Cox's fits, exact from sums of all rows, and the number of predictions that were
        clipped.
        """
        groups, findings = logit_sums(self.samples, self.summary.scalar, EPS)
        sums = sums_of_groups(groups, EPS, findings)
        rows = FrameRows(self.samples, self.summary.scalar, EPS, clusters)
        return cox_fits_from(sums, rows), int(sums.n[sums.moved].sum())


def compare_frame(
    given: GivenRows, rows: Mapping[str, Any], named: NamedMeasures, bins: Bins, **draws: Any
) -> Comparison:
    """Compare columns of the lazy frame ``given.data``. `rows` are options of rows that all
    predictors share, `draws` are the level, the number of draws and the seed.
    """
    resampling = Resampling(rules=both_rules(bins, lambda: count_frame_rows(given.data)), **draws)
    clusters = cluster_column(given.groups, given.data)
    measures = named.others
    asked_for = None if measures is None else known_measures(measures)
    predictors = {}
    for name, (labels, columns) in predictor_columns(given).items():
        with errors_about(name):
            predictors[name] = FramePredictor.read(
                labels, columns, rows, resampling.rules, clusters, asked_for
            )
    comparison = SummedComparison(
        measures=measures, resampling=resampling, alone=not named.coefficients
    )
    found = comparison.compare(predictors, clusters)
    if not named.coefficients:
        return found
    return _with_coefficients(found, named, list(predictors.values()), comparison, clusters)


def _with_coefficients(
    found: Comparison,
    named: NamedMeasures,
    predictors: Sequence[FramePredictor],
    comparison: SummedComparison,
    clusters: str | None,
) -> Comparison:
    """The comparison with slopes and intercepts. Their values are those of all rows; how two vary
    together comes from the cells that both have in common.
    """
    cox = [each.cox_fits(clusters) for each in predictors]
    singles = [[fits.of(what) for what in named.coefficients] for fits, _ in cox]

    def pair(a: int, b: int) -> tuple[Fits, Fits]:
        """The fits of two predictors, with influences of the cells that both have in common."""
        both = predictors[a].joint_sums(predictors[b], comparison.rules, clusters)
        ours, theirs = (
            [
                replace(joint, value=own.value)
                for own, joint in zip(
                    singles[i],
                    fit_coefficients(named.coefficients, each.plain_problem, each.groups),
                    strict=True,
                )
            ]
            for i, each in zip((a, b), comparison.uncertainties(both), strict=True)
        )
        return ours, theirs

    notes = clipped_notes(dict(zip(found.names, (n for _, n in cox), strict=True)))
    found = replace(found, notes=(*found.notes, *notes))
    return add_coefficients(found, named, singles, pair)


def count_frame_rows(data: Any) -> int:
    """The number of rows of a lazy frame, by a query."""
    import narwhals as nw

    frame: Any = nw.from_native(data)
    return int(frame.select(n=nw.len()).collect()["n"].to_list()[0])
