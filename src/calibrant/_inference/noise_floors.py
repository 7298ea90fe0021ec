"""Noise floors: the values that measures have in samples of calibrated predictions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from calibrant._core.messages import setting
from calibrant._core.typing import Array
from calibrant._inference.cells import Drawn, Problem, observed_draw
from calibrant._inference.class_errors import errors_over_classes
from calibrant._inference.context import Context
from calibrant._inference.means import null_losses
from calibrant._inference.null import (
    ClassNull,
    LabelDraws,
    can_draw_labels,
    drawn_samples,
    null_drawn,
    null_of_rare_events,
)
from calibrant._inference.rounding import LEAST_FITTED_P, ROUNDED_FLOOR
from calibrant._inference.slots import Slots
from calibrant._inference.tails import all_bins_tail, gamma_tail, lower_tail, upper_tail
from calibrant._measures.catalogue import Measure
from calibrant.results._uncertainty import NoiseFloor

OUTCOMES, SCATTER = "outcomes drawn from the predictions", "scatter of the given labels"


def why_no_floor(measure: Measure, *, soft: bool) -> str:
    """The sentence that says why a measure has no noise floor: it measures ranking, labels are soft
    (`soft`), or else rows are in clusters.
    """
    if measure.is_ranking:
        return (
            f"{measure.name} measures {measure.in_place_of_calibration}, not calibration, so it "
            "has no noise floor. cal.interval gives its confidence interval"
        )
    if soft:
        return (
            "soft labels have no noise floor for this measure, because their noise is unknown. "
            f"Give {setting('votes')}, the number of votes of each row"
        )
    return (
        f"{measure.name} has no noise floor with groups=, because the correlation of outcomes "
        "within a cluster is unknown. cal.interval gives its confidence interval; calibration "
        "errors have a noise floor with clusters too"
    )


def without_rounding_errors(values: Array) -> Array:
    """The values, with 0 for those so small that they are rounding errors of sums that cancel."""
    return np.where(np.abs(values) < ROUNDED_FLOOR, 0.0, values)


def largest_null(nulls: Sequence[Array]) -> Array:
    """Among the values drawn under several noise models, (draws,) each, those with the largest 95 %
    quantile.
    """
    if len(nulls) == 1:
        return nulls[0]
    return max(nulls, key=lambda drawn: float(np.quantile(drawn, 0.95)))


@dataclass
class NoiseFloors(Context):
    """Noise floors of one set of samples: the values that measures have where predictions are
    right. Measures share the draws.
    """

    def prepare(self) -> None:
        """Draw what all measures read, before several threads would draw it at the same time."""
        self.calibrated_draws(self.plain_problem)

    def noise_floor(self, measure: Measure, value: float) -> NoiseFloor | None:
        """The noise floor of a measure, and the p-value of its observed `value`.

        None for measures of ranking, and where neither the predictions nor the labels tell how
        labels vary.
        """
        if measure.is_ranking:
            return None
        if measure.statistic == "losses" and self.votes is None:
            return self._loss_floor(measure, value)
        null = self.null_values(measure)
        if null is None:
            return None
        drawn, method = without_rounding_errors(null[0]), null[1]
        exact = None
        if measure.null_mean is not None and not (
            self.soft or self.counts is not None or self.groups is not None
        ):
            binned = self.binned(measure)
            problem = self.plain_problem if binned is None else binned[1]
            exact = measure.null_mean(problem.u, problem.weights)
        observed = float(without_rounding_errors(np.array(self.on_null_scale(measure, value))))
        of_cells = self._cell_formula(measure) is not None
        scale = value / observed if observed > 0 and of_cells else 1.0
        better = measure.higher_is_better
        p = max(upper_tail(drawn, observed), self._all_bins_tail(measure))
        p_low = lower_tail(drawn, observed)
        return NoiseFloor(
            measure.name,
            value,
            min(scale * float(drawn.mean()), measure.high) if exact is None else exact,
            # Draws with other signs of the residuals may leave the range of the measure.
            min(scale * float(np.quantile(drawn, 0.05 if better else 0.95)), measure.high),
            p_low if better else p,
            int(drawn.size),
            method,
            exact is not None,
            self.seed,
            p if better else p_low,
        )

    def _all_bins_tail(self, measure: Measure) -> float:
        """The probability, if predictions are right, that every bin is as far off as observed: a
        lower bound of the p-value. 0 where it is not known: for measures that are not errors of
        bins, soft labels, clusters and weights.
        """
        binned = self.binned(measure) if measure.is_error else None
        weighted = binned is not None and not (
            binned[1].w is None or (self.counts is not None and binned[1].counts_once)
        )
        if binned is None or self.soft or self.groups is not None or weighted:
            return 0.0
        problem = binned[1]
        events, expected = problem.by_bin(problem.z), problem.by_bin(problem.u)
        return all_bins_tail(events, expected, problem.by_bin().astype(np.int64))

    def on_null_scale(self, measure: Measure, value: float) -> float:
        """The observed value of a measure, computed in the same way as its null values.

        A measure that is not of bins has null values from cells (rows with nearly the same
        prediction), and so is its value; for other measures it is `value` itself.
        """
        formula = self._cell_formula(measure)
        if self.binned(measure) is None and formula is not None:
            return self.once(
                ("value in cells", measure.name),
                lambda: float(formula(observed_draw(self.plain_problem.fine_cells))[0]),
            )
        return value

    @property
    def _labels_vary_freely(self) -> bool:
        """Whether labels are soft or in clusters: the predictions do not determine how much these
        labels vary.
        """
        return self.soft or self.groups is not None

    def _cell_formula(self, measure: Measure) -> Callable[[Drawn], Array] | None:
        """The measure as a formula of sums by cell (rows with nearly the same prediction); None
        where it has none, or where null values cannot be drawn in cells.

        Soft labels and clusters have draws with random signs of the residuals, which serve
        calibration errors only.
        """
        return None if self._labels_vary_freely and not measure.is_error else measure.cell_formula

    def null_values(self, measure: Measure) -> tuple[Array, str] | None:
        """The measure's values in samples whose predictions are right, (draws,), and in words how
        these are drawn; None where it is not known how labels vary.
        """
        method = SCATTER if self._labels_vary_freely else OUTCOMES
        binned, formula = self.binned(measure), measure.table_formula
        cell_formula = self._cell_formula(measure)
        if binned is not None and formula is not None:
            key, problem = binned

            def of_tables() -> Array:
                """The values from the bin tables of all draws."""
                draws = self.calibrated_draws(problem)
                return largest_null([formula(each.tables()) for each in draws])

            return self.once(("null", measure.name, key), of_tables), method
        if cell_formula is not None:

            def of_cells() -> Array:
                """The values from the cells of all draws."""
                draws = self.calibrated_draws(self.plain_problem)
                return largest_null([cell_formula(each.first(self.many_draws)) for each in draws])

            return self.once(("null", measure.name), of_cells), method
        classes = errors_over_classes(measure, self)
        if classes is not None:
            residuals = self.once(
                ("null", classes.key), lambda: self._class_null(classes.slots).residuals()
            )
            weight = classes.slots.weight
            values = [classes.errors(r, np.broadcast_to(weight, r.shape)) for r in residuals]
            return largest_null(values), method
        # With votes the hypothesis is that each row's votes are drawn from its prediction.
        if self._labels_vary_freely and self.votes is None:
            return None
        return self._null_of_rows(measure)

    def _class_null(self, slots: Slots) -> ClassNull:
        """How residuals are drawn in the slots (bins) of all classes if the
        predictions are right.
        """
        drawn = None
        if can_draw_labels(slots, self.samples.n_classes, self.many_draws):
            drawn = self.once("labels", lambda: LabelDraws(slots.u, self.many_draws, self.seed))
        return ClassNull(slots, self.blocks, self.many_draws, self.seed, drawn)

    def calibrated_draws(self, problem: Problem) -> list[Drawn]:
        """Draws of a scalar problem (one predicted probability a row) whose predictions are right:
        an entry for each noise model, of which there are one or two.
        """

        def make() -> list[Drawn]:
            """The draws of one noise model and, where events are rare and labels soft or clustered,
            of a second.
            """
            n_draws = max(self.n_resamples, self.many_draws)
            rng = np.random.default_rng((self.seed, 5))
            first = null_drawn(problem, problem.fine_cells, self.blocks, n_draws, rng)
            second = null_of_rare_events(problem, first, self.blocks, rng)
            return [first] if second is None else [first, second]

        return self.once(("calibrated", id(problem.fine_cells)), make)

    def _null_of_rows(self, measure: Measure) -> tuple[Array, str]:
        """The measure's values, (draws,), in whole samples of labels drawn from the predictions,
        and in words how these are drawn.

        It serves measures that have no formula of bins or cells. Measures of the same statistic
        share the samples.
        """
        group = tuple(
            m
            for m in self.measures
            if m.statistic == measure.statistic and self._cell_formula(m) is None
        )
        group = group if measure in group else (*group, measure)

        def make() -> Array:
            """The values of all measures of the group in drawn samples, (draws, measures)."""
            rng = np.random.default_rng((self.seed, 6))
            values = []
            for sample in drawn_samples(self.samples, self.few_draws, rng, self.votes):
                summary = self.summary(sample, *group)
                values.append([m.compute(summary) for m in group])
            return np.array(values)

        drawn = self.once(("null of rows", measure.statistic, len(group)), make)
        what = "outcomes" if self.votes is None else "votes"
        return drawn[:, group.index(measure)], f"{what} drawn from the predictions"

    def _loss_floor(self, measure: Measure, value: float) -> NoiseFloor | None:
        """The noise floor of a loss, from the mean, variance and skewness that it has if labels are
        drawn from the predictions; None for soft labels and clusters.
        """
        if self._labels_vary_freely:
            return None
        moments = self.once("null losses", lambda: null_losses(self.samples, self.counts))
        mean, deviation, skew = moments[measure.loss]
        if deviation > 0:
            x = (value - mean) / deviation
            p, p_low = gamma_tail(x, skew), gamma_tail(-x, -skew)
            upper = min(mean + deviation * self._cornish_fisher(skew), measure.high)
        else:  # predictions of 0 and 1 allow for one value only
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
    def _cornish_fisher(skew: float) -> float:
        """The 95 % point of a distribution of mean 0, variance 1 and this small skewness."""
        from scipy.special import ndtri

        normal = float(ndtri(0.95))
        return normal + skew * (normal**2 - 1.0) / 6.0
