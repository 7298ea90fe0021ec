"""What each measure's value is worth: the way that fits the measure, chosen and carried out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.inference.bootstrap import basic_limits, resampled_counts, resampled_tables
from calibrant.inference.cells import Problem, table_of
from calibrant.inference.family import Family, family_of, limits
from calibrant.inference.judged import Judged
from calibrant.inference.null import cell_samples, drawn_samples, null_mean, null_tables
from calibrant.inference.null_classes import class_problems, null_class_values
from calibrant.inference.null_losses import MANY_ENTRIES, null_losses
from calibrant.inference.paired import draw_lots, drawn_table, replicates
from calibrant.inference.squared import l2_limits
from calibrant.inference.worlds import world_curves, world_limits
from calibrant.measures.catalogue import Measure
from calibrant.results.uncertainty import Interval, NoiseFloor
from calibrant.samples.samples import Samples
from calibrant.statistics.bins import BinTable

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
class Worth(Judged):
    """Intervals and noise floors of one set of samples; draws are shared between measures."""

    _families: dict[Any, Family] = field(default_factory=dict)
    _null: dict[Any, BinTable] = field(default_factory=dict)

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
        binned = self.binned(measure)
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
            return found[0], min(found[1], measure.high), method, error, found[2]
        if measure.name in GAP_MEASURES and self.counts_rows:
            low, high = self._world_limits(measure, value)
            return low, min(high, measure.high), "worlds through the data, drawn", None, None
        drawn = self._bootstrapped(measure)
        kind = "clusters" if self.groups is not None else "rows"
        limits_ = basic_limits(value, drawn, self.level)
        return *limits_, f"basic bootstrap of {kind}", float(drawn.std(ddof=1)), None

    def _standard_error(
        self, key: tuple[str, str], problem: Problem, statistic: Callable[[BinTable], Array]
    ) -> float:
        """The bootstrap's standard deviation: cells are drawn where rows are interchangeable."""
        drawn = ("drawn tables", key)
        if drawn not in self.wholes:
            rng = np.random.default_rng((self.seed, 8))
            if self.counts_rows:
                table = table_of(problem)
                self.wholes[drawn] = resampled_tables(table, self.n_resamples, rng)
            else:
                lots = draw_lots(problem.n, self.n_resamples, self.seed, self.groups)
                self.wholes[drawn] = drawn_table(problem, lots)
        return float(statistic(self.wholes[drawn]).std(ddof=1))

    def _world_limits(self, measure: Measure, value: float) -> tuple[float, float]:
        """Of all measures that read the same statistic at once: drawing it is what costs."""
        group = [
            m for m in self.measures if m.statistic == measure.statistic and m.name in GAP_MEASURES
        ]

        def measured(samples: Samples) -> list[float]:
            summary = self.summary(samples)
            return [m.compute(summary) for m in group]

        key = ("worlds", measure.statistic)
        if key not in self.wholes:
            self.wholes[key] = world_curves(
                self.plain_problem, self.samples, measured, self.level, FEW_DRAWS, self.seed
            )
        j = [m.name for m in group].index(measure.name)
        low, high, truth = (curve[:, j] for curve in self.wholes[key])
        return world_limits(value, low, high, truth)

    def _bootstrapped(self, measure: Measure) -> Array:
        """The measure's value in resamples of the rows, or of the cells where those will do."""
        n = self.n_whole
        if self.by_cells(measure):
            cells = self.plain_problem.fine_cells
            sample = cell_samples(cells, self.samples, cells.n, cells.positives)
            rng = np.random.default_rng((self.seed, 3))
            return self.measured(
                measure, "cells", lambda: resampled_counts(sample, n, rng), GAP_MEASURES
            )
        # Rows, or clusters, are drawn for all measures together.
        if "rows" not in self.wholes:
            draws = draw_lots(self.samples.n, self.n_resamples, self.seed, self.groups)
            wanted = tuple(m for m in self.measures if not self._has_own_limits(m))
            found = replicates(self.samples, wanted, self.fixed, self.quantile, draws, self.n_whole)
            self.wholes["rows"] = {m.name: f for m, f in zip(wanted, found, strict=True)}
        out: Array = self.wholes["rows"][measure.name]
        return out

    def _has_own_limits(self, measure: Measure) -> bool:
        """Whether a measure's interval comes from worlds or cells, not from rows."""
        if self.binned(measure) is not None or self.by_cells(measure):
            return True
        return measure.name in GAP_MEASURES and self.counts_rows

    # --- noise floors ----------------------------------------------------------------------------

    def noise_floor(self, measure: Measure, value: float) -> NoiseFloor | None:
        """What the measure shows when the reports are right; None for soft labels without votes."""
        if self.soft and self.votes is None:
            return None
        drawn, method = self._null_values(measure)
        exact = None
        binned = self.binned(measure)
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
        binned = self.binned(measure)
        said = "outcomes" if self.votes is None else "votes"
        if binned is not None and measure.of_tables is not None:
            key, problem = binned
            if key not in self._null:
                rng = np.random.default_rng((self.seed, 5))
                self._null[key] = null_tables(problem, self.n_resamples, rng, self.votes)
            return measure.of_tables(self._null[key]), f"{said} drawn from the reports"
        n = self.n_whole
        rng = np.random.default_rng((self.seed, 6))
        if self.by_cells(measure) and self.votes is None:
            cells = self.plain_problem.fine_cells

            def draws() -> Any:
                for positives in rng.binomial(cells.n, cells.u, (n, cells.n.size)):
                    yield cell_samples(cells, self.samples, cells.n, positives)

            return self.measured(measure, "null cells", draws), f"{said} drawn from the reports"
        if self.samples.multiclass and self.votes is None:
            drawn_classes = self._null_classes(measure)
            if drawn_classes is not None:
                return drawn_classes, f"{said} drawn from the reports"
        many = self.samples.multiclass and self.samples.reports.size > MANY_ENTRIES
        if measure.statistic == "losses" and many and self.votes is None:
            if "null losses" not in self.wholes:
                found = null_losses(self.samples, self.n_resamples, self.seed)
                self.wholes["null losses"] = found
            return self.wholes["null losses"][measure.name], "mean and variance under the reports"
        drawn = self.measured(
            measure, "null rows", lambda: drawn_samples(self.samples, n, rng, self.votes)
        )
        return drawn, f"{said} drawn from the reports"

    def _null_classes(self, measure: Measure) -> Array | None:
        """Of errors over all classes the bins stay, and only labels are drawn."""
        rules = {"class_bins": self.fixed, "class_quantile_bins": self.quantile}
        above = measure.statistic == "above"
        rule = self.quantile if above else rules.get(measure.statistic)
        if rule is None:
            return None
        group = [m for m in self.measures if m.statistic == measure.statistic]
        key = ("null classes", measure.statistic)
        if key not in self.wholes:
            problems = class_problems(self.samples, rule, above=above)
            rng = np.random.default_rng((self.seed, 6))
            self.wholes[key] = (
                None
                if problems is None
                else null_class_values(problems, group, self.samples, self.n_whole, rng)
            )
        found: Array | None = self.wholes[key]
        return None if found is None else found[:, [m.name for m in group].index(measure.name)]
