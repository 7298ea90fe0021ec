"""Noise floors: what measures show when predictions are right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from calibrant._core.messages import setting
from calibrant._core.typing import Array
from calibrant._inference.cells import Cells, Drawn, Problem, as_seen
from calibrant._inference.class_bins import ClassBins
from calibrant._inference.class_errors import errors_over_classes
from calibrant._inference.context import Context
from calibrant._inference.means import null_losses
from calibrant._inference.null import drawn_samples, null_drawn, null_mean, null_of_rare_events
from calibrant._inference.null_classes import ClassNull, LabelDraws, can_draw_labels
from calibrant._inference.rounding import LEAST_FITTED_P, ROUNDED_FLOOR
from calibrant._inference.tails import chance_as_far, lower_tail, upper_chance, upper_tail
from calibrant._measures.catalogue import Measure
from calibrant.results._uncertainty import NoiseFloor

OUTCOMES, SCATTER = "outcomes drawn from the predictions", "scatter of the labels given"


def why_no_floor(measure: Measure, *, soft: bool) -> str:
    """Why a measure of these samples has no noise floor: ranking, soft labels, or else clusters."""
    if measure.is_ranking:
        return (
            f"{measure.name} measures {measure.in_place_of_calibration}, not calibration: there is "
            "no value that calibrated predictions show. cal.interval gives its confidence interval"
        )
    if soft:
        return (
            "soft labels have no noise floor for this measure: how much they would scatter about "
            "the right predictions depends on how they came about. Give "
            f"{setting('votes')}, the number of votes behind each label"
        )
    return (
        f"{measure.name} has no noise floor with groups=: how much the outcomes of one cluster "
        "vary together, predictions do not tell. cal.interval gives its confidence interval; "
        "calibration errors have a noise floor with clusters too"
    )


def rounded(values: Array) -> Array:
    """Values with those at 0 that are sums which should cancel."""
    return np.where(np.abs(values) < ROUNDED_FLOOR, 0.0, values)


def widest(several: Sequence[Array]) -> Array:
    """The draws that reach furthest: where nobody knows how labels scatter, all ways must speak
    against the predictions.
    """
    if len(several) == 1:
        return several[0]
    return max(several, key=lambda drawn: float(np.quantile(drawn, 0.95)))


@dataclass
class NoiseFloors(Context):
    """Noise floors of one set of samples; draws are shared between measures."""

    _null: dict[Any, Any] = field(default_factory=dict)

    def prepare(self) -> None:
        """Make what all measures read, before threads do so at the same time."""
        self._null_drawn(self.plain_problem, self.plain_problem.fine_cells)

    def noise_floor(self, measure: Measure, value: float) -> NoiseFloor | None:
        """What the measure shows when the predictions are right; None where nothing tells."""
        if measure.is_ranking:
            return None
        if measure.statistic == "losses" and self.votes is None:
            return self._loss_floor(measure, value)
        null = self.null_values(measure)
        if null is None:
            return None
        drawn, method = rounded(null[0]), null[1]
        exact = None
        if measure.null_mean is not None and not self.soft and self.groups is None:
            binned = self.binned(measure)
            problem = self.plain_problem if binned is None else binned[1]
            exact = null_mean(measure, problem)
        seen = float(rounded(np.array(self.on_null_scale(measure, value))))
        scale = value / seen if seen > 0 and self._of_cells(measure) is not None else 1.0
        better = measure.higher_is_better
        p, p_low = max(upper_tail(drawn, seen), self._as_far(measure)), lower_tail(drawn, seen)
        return NoiseFloor(
            measure.name,
            value,
            min(scale * float(drawn.mean()), measure.high) if exact is None else exact,
            # Redrawn residuals may leave the range that samples have.
            min(scale * float(np.quantile(drawn, 0.05 if better else 0.95)), measure.high),
            p_low if better else p,
            int(drawn.size),
            method,
            exact is not None,
            self.seed,
            p if better else p_low,
        )

    def _as_far(self, measure: Measure) -> float:
        """The chance that all bins are as far off as they are, which the error's is not below; 0
        where that is not known.
        """
        binned = self.binned(measure) if measure.is_error else None
        if binned is None or self.soft or self.groups is not None or binned[1].w is not None:
            return 0.0
        problem = binned[1]
        seen, expected = problem.by_bin(problem.z), problem.by_bin(problem.u)
        return chance_as_far(seen, expected, problem.by_bin().astype(np.int64))

    def on_null_scale(self, measure: Measure, value: float) -> float:
        """The value as the null is drawn: on cells, where measures are not of bins."""
        of_cells = self._of_cells(measure)
        if self.binned(measure) is None and of_cells is not None:
            return self.seen_in_cells(measure, of_cells)
        return value

    def seen_in_cells(self, measure: Measure, formula: Callable[[Drawn], Array]) -> float:
        """The value of the data themselves as cells have it."""
        key = ("seen", measure.name)
        if key not in self._null:
            self._null[key] = float(formula(as_seen(self.plain_problem.fine_cells))[0])
        return self._null[key]

    def _of_cells(self, measure: Measure) -> Callable[[Drawn], Array] | None:
        """The formula over cells, if a null is drawn there: residuals that scatter as they did are
        those of errors alone.
        """
        scatter = self.soft or self.groups is not None
        return None if scatter and not measure.is_error else measure.cell_formula

    def null_values(self, measure: Measure) -> tuple[Array, str] | None:
        """The measure's value in samples whose predictions are right, and how they were drawn."""
        scatter = self.soft or self.groups is not None
        method = SCATTER if scatter else OUTCOMES
        binned, formula, of_cells = (
            self.binned(measure),
            measure.table_formula,
            self._of_cells(measure),
        )
        if binned is not None and formula is not None:
            key, problem = binned
            key_: Any = ("null", measure.name, key)
            if key_ not in self._null:
                drawn = self._null_drawn(problem, problem.fine_cells)
                self._null[key_] = widest([formula(each.tables()) for each in drawn])
            return self._null[key_], method
        if of_cells is not None:
            key_ = ("null", measure.name)
            if key_ not in self._null:
                problem = self.plain_problem
                drawn = self._null_drawn(problem, problem.fine_cells)
                many = self.many_draws
                self._null[key_] = widest([of_cells(each.first(many)) for each in drawn])
            return self._null[key_], method
        classes = errors_over_classes(measure, self)
        if classes is not None:
            key_ = ("null", classes.key)
            if key_ not in self._null:
                self._null[key_] = self._class_null(classes.bins).residuals()
            weight, errors = classes.bins.weight, classes.errors
            residuals = self._null[key_]
            return widest([errors(r, np.broadcast_to(weight, r.shape)) for r in residuals]), method
        # Of votes the hypothesis is about every row; outcomes of a cluster may vary together.
        if scatter and self.votes is None:
            return None
        return self._null_rows(measure)

    def _class_null(self, bins: ClassBins) -> ClassNull:
        drawn = None
        if can_draw_labels(bins, self.samples.n_classes, self.many_draws):
            drawn = self.once("labels", lambda: LabelDraws(bins.u, self.many_draws, self.seed))
        return ClassNull(bins, self.blocks, self.many_draws, self.seed, drawn)

    def calibrated_draws(self, problem: Problem) -> list[Drawn]:
        """Samples of a scalar problem whose predictions are right, drawn in one way or in two."""
        return self._null_drawn(problem, problem.fine_cells)

    def _null_drawn(self, problem: Problem, cells: Cells) -> list[Drawn]:
        key = ("drawn", id(cells))
        if key not in self._null:
            n_draws = max(self.n_resamples, self.many_draws)
            rng = np.random.default_rng((self.seed, 5))
            seen = null_drawn(problem, cells, self.blocks, n_draws, rng)
            rare = null_of_rare_events(problem, seen, self.blocks, rng)
            self._null[key] = [seen] if rare is None else [seen, rare]
        drawn: list[Drawn] = self._null[key]
        return drawn

    def _null_rows(self, measure: Measure) -> tuple[Array, str]:
        """Whole samples drawn row by row: predictions equal to the distributions of labels."""
        group = tuple(
            m
            for m in self.measures
            if m.statistic == measure.statistic and self._of_cells(m) is None
        )
        group = group if measure in group else (*group, measure)
        key = ("rows", measure.statistic, len(group))
        if key not in self._null:
            rng = np.random.default_rng((self.seed, 6))
            values = []
            for sample in drawn_samples(self.samples, self.few_draws, rng, self.votes):
                summary = self.summary(sample, *group)
                values.append([m.compute(summary) for m in group])
            self._null[key] = np.array(values)
        what = "outcomes" if self.votes is None else "votes"
        drawn: Array = self._null[key][:, group.index(measure)]
        return drawn, f"{what} drawn from the predictions"

    def _loss_floor(self, measure: Measure, value: float) -> NoiseFloor | None:
        """Of losses the law under the predictions is known: mean, variance, skewness."""
        if self.soft or self.groups is not None:
            return None
        if "losses" not in self._null:
            self._null["losses"] = null_losses(self.samples)
        mean, spread, skew = self._null["losses"][measure.loss]
        if spread > 0:
            x = (value - mean) / spread
            p, p_low = upper_chance(x, skew), upper_chance(-x, -skew)
            upper = min(mean + spread * self._upper_point(skew), measure.high)
        else:  # certain predictions: what they say can be shown, and nothing else
            above, below = value > mean + ROUNDED_FLOOR, value < mean - ROUNDED_FLOOR
            p, p_low = (LEAST_FITTED_P if above else 1.0), (LEAST_FITTED_P if below else 1.0)
            upper = mean
        return NoiseFloor(
            measure.name,
            value,
            mean,
            upper,
            p,
            0,
            "moments under the predictions",
            True,
            self.seed,
            p_low,
        )

    @staticmethod
    def _upper_point(skew: float) -> float:
        # Cornish and Fisher's point of a law with a little skewness.
        return 1.6448536269514722 + skew * (1.6448536269514722**2 - 1.0) / 6.0
