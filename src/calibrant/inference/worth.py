"""What each measure's value is worth: the way that fits the measure, chosen and carried out."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.binning import Rule
from calibrant.errors import InputError
from calibrant.inference.bootstrap import basic_limits, resampled_counts, resampled_tables
from calibrant.inference.cells import Problem, cells_of, problem_of, table_of
from calibrant.inference.family import Family, family_of, limits
from calibrant.inference.null import cell_samples, drawn_samples, null_mean, null_tables
from calibrant.inference.paired import draw_lots, drawn_table, replicates
from calibrant.inference.squared import l2_limits
from calibrant.inference.worlds import world_curves, world_limits
from calibrant.measures.catalogue import Measure
from calibrant.results.uncertainty import Interval, NoiseFloor
from calibrant.samples.samples import Notion, Samples
from calibrant.statistics.bins import BinTable
from calibrant.summary import Summary

Array = NDArray[np.float64]

# Draws of a world when a whole measure must be computed for each.
FEW_DRAWS = 40
# Errors of the scalar problem that are not sums over bins but vanish with the gap all the same.
GAP_MEASURES = ("sweep_ece", "ks_error", "ls_ece", "smooth_ece", "brier_miscalibration")

SOFT_HAVE_NO_FLOOR = (
    "soft labels have no noise floor of their own: how much they would scatter about the right "
    "reports depends on how they came about. Give votes=, the number of votes behind each label"
)


@dataclass
class Worth:
    """Intervals and noise floors of one set of samples; draws are shared between measures."""

    samples: Samples
    fixed: Rule
    quantile: Rule
    measures: tuple[Measure, ...]
    level: float = 0.95
    n_resamples: int = 1000
    seed: int = 0
    groups: NDArray[np.intp] | None = None
    votes: Any = None
    _problems: dict[Any, Problem | None] = field(default_factory=dict)
    _families: dict[Any, Family] = field(default_factory=dict)
    _null: dict[Any, BinTable] = field(default_factory=dict)
    _wholes: dict[Any, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Rows without weight are not there: a resample of nothing else would have no value."""
        weights = self.samples.weights
        if weights is None or (weights > 0).all() or not (weights > 0).any():
            return
        held = np.flatnonzero(weights > 0)
        s = self.samples
        self.samples = replace(
            s, reports=s.reports[held], targets=s.targets[held], weights=weights[held]
        )
        if self.groups is not None:
            self.groups = np.unique(self.groups[held], return_inverse=True)[1].astype(np.intp)
        if np.ndim(self.votes):
            self.votes = self.votes[held]

    @cached_property
    def scalar(self) -> Notion:
        return "confidence" if self.samples.multiclass else "binary"

    @cached_property
    def soft(self) -> bool:
        problem = self._problem(("scalar", "fixed"))
        return not problem.hard if problem is not None else bool(self._plain_problem.hard is False)

    @cached_property
    def _plain_problem(self) -> Problem:
        """The scalar problem in one bin: for measures that have none."""
        from calibrant.binning import EqualWidth

        problem = problem_of(self.samples, self.scalar, EqualWidth(15))
        assert problem is not None
        return problem

    def _problem(self, key: tuple[str, str]) -> Problem | None:
        if key not in self._problems:
            notion: Notion = self.scalar if key[0] == "scalar" else "confidence"
            rule = self.fixed if key[1] == "fixed" else self.quantile
            self._problems[key] = problem_of(self.samples, notion, rule)
        return self._problems[key]

    def _binned(self, measure: Measure) -> tuple[tuple[str, str], Problem] | None:
        """The binned problem that a measure is a formula of, or None."""
        keys = {
            "bins": ("scalar", "fixed"),
            "quantile_bins": ("scalar", "quantile"),
            "confidence_bins": ("confidence", "quantile"),
        }
        key = keys.get(measure.statistic)
        if key is None or measure.of_tables is None:
            return None
        dropping = getattr(self.fixed if key[1] == "fixed" else self.quantile, "drop_one", False)
        problem = None if dropping else self._problem(key)
        return None if problem is None else (key, problem)

    @property
    def _counts_rows(self) -> bool:
        """Whether rows are interchangeable: unweighted, not grouped, hard."""
        return self.samples.weights is None and self.groups is None and not self.soft

    # --- intervals -------------------------------------------------------------------------------

    def interval(self, measure: Measure, value: float) -> Interval:
        """Where the true value lies."""
        low, high, method, error, centre = self._limits(measure, value)
        low = min(max(low, measure.low), measure.high)
        high = min(max(high, low), measure.high)
        return Interval(
            measure.name, value, low, high, self.level, method, self.seed, error, centre
        )

    def _limits(
        self, measure: Measure, value: float
    ) -> tuple[float, float, str, float | None, float | None]:
        """The limits, how they were found, the standard error of the value, and its bias-free
        counterpart.
        """
        binned = self._binned(measure)
        if binned is not None and measure.of_tables is not None:
            key, problem = binned
            error = self._standard_error(key, problem, measure.of_tables)
            if measure.name == "debiased_l2":
                method = "closed form of the debiased squared error"
                return *l2_limits(problem, self.level, self.groups), method, error, value
            if key not in self._families:
                draws = max(200, self.n_resamples * 2 // 5)
                self._families[key] = family_of(problem, draws, self.seed, self.groups)
            found = limits(value, self._families[key], measure.of_tables, self.level)
            method = "worlds through the data that could have shown the value"
            return *found[:2], method, error, found[2]
        if measure.name in GAP_MEASURES and self._counts_rows:
            return *self._world_limits(measure, value), "worlds through the data, drawn", None, None
        drawn = self._bootstrapped(measure)
        kind = "clusters" if self.groups is not None else "rows"
        limits_ = basic_limits(value, drawn, self.level)
        return *limits_, f"basic bootstrap of {kind}", float(drawn.std(ddof=1)), None

    def _standard_error(
        self, key: tuple[str, str], problem: Problem, statistic: Callable[[BinTable], Array]
    ) -> float:
        """The bootstrap's standard deviation: cells are drawn where rows are interchangeable."""
        drawn = ("drawn tables", key)
        if drawn not in self._wholes:
            rng = np.random.default_rng((self.seed, 8))
            if self._counts_rows:
                table = table_of(problem)
                self._wholes[drawn] = resampled_tables(table, self.n_resamples, rng)
            else:
                lots = draw_lots(problem.n, self.n_resamples, self.seed, self.groups)
                self._wholes[drawn] = drawn_table(problem, lots)
        return float(statistic(self._wholes[drawn]).std(ddof=1))

    def _world_limits(self, measure: Measure, value: float) -> tuple[float, float]:
        """Of all measures that read the same statistic at once: drawing it is what costs."""
        group = [
            m for m in self.measures if m.statistic == measure.statistic and m.name in GAP_MEASURES
        ]

        def measured(samples: Samples) -> list[float]:
            summary = self._summary(samples)
            return [m.compute(summary) for m in group]

        key = ("worlds", measure.statistic)
        if key not in self._wholes:
            self._wholes[key] = world_curves(
                self._plain_problem, self.samples, measured, self.level, FEW_DRAWS, self.seed
            )
        j = [m.name for m in group].index(measure.name)
        low, high, truth = (curve[:, j] for curve in self._wholes[key])
        return world_limits(value, low, high, truth)

    def _bootstrapped(self, measure: Measure) -> Array:
        """The measure's value in resamples of the rows, or of the cells where those will do."""
        n = self._n_whole
        if self._by_cells(measure):
            cells = cells_of(self._plain_problem)
            sample = cell_samples(cells, self.samples, cells.n, cells.positives)
            rng = np.random.default_rng((self.seed, 3))
            return self._measured(measure, "cells", lambda: resampled_counts(sample, n, rng))
        # Rows, or clusters, are drawn for all measures together.
        if "rows" not in self._wholes:
            draws = draw_lots(self.samples.n, self.n_resamples, self.seed, self.groups)
            wanted = tuple(m for m in self.measures if not self._has_own_limits(m))
            found = replicates(self.samples, wanted, self.fixed, self.quantile, draws)
            self._wholes["rows"] = {m.name: f for m, f in zip(wanted, found, strict=True)}
        out: Array = self._wholes["rows"][measure.name]
        return out

    def _has_own_limits(self, measure: Measure) -> bool:
        """Whether a measure's interval comes from worlds or cells, not from rows."""
        if self._binned(measure) is not None or self._by_cells(measure):
            return True
        return measure.name in GAP_MEASURES and self._counts_rows

    def _by_cells(self, measure: Measure) -> bool:
        """Whether cells will do for rows. Not for bins: rules that come here see single reports."""
        scalar = measure.notion in ("scalar", "loss") and not self.samples.multiclass
        in_bins = measure.statistic.endswith("bins") or measure.statistic == "above"
        return (scalar or measure.notion == "scalar") and not in_bins and self._counts_rows

    # --- noise floors ----------------------------------------------------------------------------

    def noise_floor(self, measure: Measure, value: float) -> NoiseFloor | None:
        """What the measure shows when the reports are right; None for soft labels without votes."""
        if self.soft and self.votes is None:
            return None
        drawn, method = self._null_values(measure)
        exact = None
        binned = self._binned(measure)
        if binned is not None and self.votes is None:
            exact = null_mean(measure, binned[1])
        if measure.higher_is_better:
            beyond = int(np.count_nonzero(drawn <= value))
        else:
            beyond = int(np.count_nonzero(drawn >= value * (1.0 - 1e-12)))
        return NoiseFloor(
            measure.name,
            value,
            float(drawn.mean()) if exact is None else exact,
            float(np.quantile(drawn, 0.05 if measure.higher_is_better else 0.95)),
            (1.0 + beyond) / (1.0 + drawn.size),
            int(drawn.size),
            method,
            exact is not None,
            self.seed,
        )

    def _null_values(self, measure: Measure) -> tuple[Array, str]:
        binned = self._binned(measure)
        said = "outcomes" if self.votes is None else "votes"
        if binned is not None and measure.of_tables is not None:
            key, problem = binned
            if key not in self._null:
                rng = np.random.default_rng((self.seed, 5))
                self._null[key] = null_tables(problem, self.n_resamples, rng, self.votes)
            return measure.of_tables(self._null[key]), f"{said} drawn from the reports"
        n = self._n_whole
        rng = np.random.default_rng((self.seed, 6))
        if self._by_cells(measure) and self.votes is None:
            cells = cells_of(self._plain_problem)

            def draws() -> Any:
                for positives in rng.binomial(cells.n, cells.u, (n, cells.n.size)):
                    yield cell_samples(cells, self.samples, cells.n, positives)

            return self._measured(measure, "null cells", draws), f"{said} drawn from the reports"
        drawn = self._measured(
            measure, "null rows", lambda: drawn_samples(self.samples, n, rng, self.votes)
        )
        return drawn, f"{said} drawn from the reports"

    # --- whole measures --------------------------------------------------------------------------

    @property
    def _n_whole(self) -> int:
        """Resamples where a whole measure is computed for each."""
        return max(50, self.n_resamples // 5)

    def _summary(self, samples: Samples) -> Summary:
        return Summary(samples, self.fixed, self.quantile)

    def _measured(self, measure: Measure, kind: str, draws: Callable[[], Any]) -> Array:
        """The measure of each drawn sample; all that read the same statistic are taken together."""
        key = (kind, measure.statistic)
        group = [m for m in self.measures if m.statistic == measure.statistic]
        if key not in self._wholes:
            rows = []
            for sample in draws():
                summary = self._summary(sample)
                # A resample may hold nothing that a measure is about: no report above a threshold.
                with suppress(InputError):
                    rows.append([m.compute(summary) for m in group])
            if not rows:
                rows = [[m.compute(self._summary(self.samples)) for m in group]]
            self._wholes[key] = np.array(rows)
        out: Array = self._wholes[key][:, [m.name for m in group].index(measure.name)]
        return out


def checked_votes(votes: Any, n: int) -> Any:
    """Votes behind soft labels: a whole number, or one per row."""
    if votes is None:
        return None
    array = np.asarray(votes)
    if array.dtype.kind not in "iu" or array.shape not in ((), (n,)) or (array < 1).any():
        raise InputError(
            f"votes must be a whole number of at least 1, or one per row; got {votes!r}"
        )
    return array.astype(np.int64)
