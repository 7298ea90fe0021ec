"""check() of a lazy frame: its own engine sums all rows, every slice, and pairs with a baseline."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from calibrant._api.check_sums import SliceOfSums, SummedBaseline, check_sums
from calibrant._api.compare_frame import FramePredictor, count_frame_rows, joint_sums
from calibrant._api.limits import LimitOn, limits_of
from calibrant._api.rows import GivenRows, cluster_column
from calibrant._api.slices import has_sums_of_slices
from calibrant._core.binning import Bins, EqualWidth, FixedRule, Rule, both_rules
from calibrant._core.errors import InputError, NeedsRows
from calibrant._data.frame_input import named_columns
from calibrant._data.frame_samples import FrameSamples
from calibrant._data.slice_names import row_names
from calibrant._engines.cells import N_LINEAR, N_OF_SLICES, Cells
from calibrant._engines.frames.streams import slice_groups
from calibrant._inference.pooled_rows import PooledSums
from calibrant._measures.catalogue import Measure, canonical, catalogue
from calibrant._summaries.stream import StreamSummary
from calibrant.results._check import Check


def measures_of(limits: tuple[LimitOn, ...]) -> list[Measure]:
    """The measures that have limits."""
    return [each.what for each in limits if isinstance(each.what, Measure)]


def _measures_named(asked: Iterable[Mapping[str, float] | None]) -> tuple[str, ...]:
    """The measures among the names of all limits; others are coefficients, or are no names at all,
    which is an error later.
    """
    known = {measure.name for measure in catalogue()}
    names = (canonical(name) for limits in asked for name in limits or ())
    return tuple(dict.fromkeys(name for name in names if name in known))


@dataclass(frozen=True, eq=False)
class FrameCheck:
    """A check of columns of a lazy frame. `reading` are options of labels and predictions that the
    model and its baseline share.
    """

    given: GivenRows
    reading: Mapping[str, Any]
    bins: Bins
    level: float
    n_resamples: int
    seed: int

    def check(
        self, asked: tuple[Mapping[str, float] | None, ...], baseline: str | list[str] | None
    ) -> Check:
        """Check the limits `asked` for: at most, at least, increase and decrease. `baseline` names
        the columns of another model's predictions.
        """
        given = self.given
        clusters = cluster_column(given.groups, given.data)
        rules = both_rules(self.bins, lambda: count_frame_rows(given.data))
        names = _measures_named(asked)
        read = partial(
            FramePredictor.read,
            given,
            reading=self.reading,
            rules=rules,
            clusters=clusters,
            measures=names,
        )
        new = read(given.y_true, given.y_proba)
        limits = limits_of(asked[0], asked[1], new.samples.shape, asked[2], asked[3])
        old = None
        if baseline is not None:
            old = read(given.y_true, baseline)
        slices: list[SliceOfSums] = []
        if given.by is not None:
            self._check_slices(rules[0], clusters, baseline)
            of_order = [m.name for m in measures_of(limits) if not has_sums_of_slices(m)]
            if of_order:
                raise NeedsRows(
                    f"by= of a frame in another engine gives slices sums in bins and of losses: "
                    f"leave out {', '.join(of_order)}, or check one slice at a time"
                )
            slices = list(self._slices(new.samples, rules, limits))
        measures = measures_of(limits)
        pair = None
        if old is not None:
            old.sums.refuse(measures)
            pair = SummedBaseline(old.sums, joint_sums(new, old, rules, clusters))
        new.sums.refuse(measures)
        return check_sums(
            new.sums,
            new.values(measures, asked=True),
            limits,
            new.n_rows,
            new.n_missing,
            level=self.level,
            seed=self.seed,
            n_resamples=self.n_resamples,
            slices=slices,
            baseline=pair,
        )

    def _check_slices(self, fixed: Rule, clusters: str | None, baseline: Any) -> None:
        """Raise an InputError for what slices of a lazy frame do not go with."""
        other = "groups" if clusters is not None else "baseline" if baseline is not None else ""
        if other:
            raise InputError(
                f"{other} and by= of a frame in another engine cannot be given together: leave one "
                "of them out, or check one slice at a time"
            )
        if not isinstance(fixed, FixedRule):
            raise InputError(
                f"by=... of a frame in another engine needs bins that are the same for all slices; "
                f"got {fixed}. Use a count, EqualWidth or Edges"
            )

    def _slices(
        self, samples: FrameSamples, rules: tuple[Rule, Rule], limits: tuple[LimitOn, ...]
    ) -> Iterator[SliceOfSums]:
        """Yield the sums of every slice, all from one query."""
        by = named_columns(self.given.by, "by", samples.frame.collect_schema())
        fixed = rules[0] if isinstance(rules[0], FixedRule) else EqualWidth(1)
        measures = measures_of(limits)
        # Coefficients are fitted to the cells, which must then be fine.
        cells = Cells(fixed, True, N_OF_SLICES if len(measures) == len(limits) else N_LINEAR)
        losses = any(measure.statistic == "losses" for measure in measures)
        for name, sums in slice_groups(samples, by, cells, row_names, losses=losses):
            summary = StreamSummary(
                cells, sums.arrays, samples.n_columns, sums.findings, rules[0] == rules[1], True
            )
            yield name, sums.n_rows, PooledSums(summary, rules)
