"""Confidence intervals of measures against the distributions that votes were drawn from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from calibrant._core.messages import setting
from calibrant._core.typing import Array
from calibrant._data.samples import Samples
from calibrant._inference.limits import Limits
from calibrant._inference.means import influences, mean_limits
from calibrant._inference.paired import SamplingErrors
from calibrant._inference.tails import quantiles
from calibrant._inference.voted_rows import VotedRows, is_mean
from calibrant._measures.catalogue import Measure

BOUND = "bound over all label distributions compatible with the votes"


def note_on_votes(measure: Measure, rows: VotedRows | None, resampled: str) -> str:
    """The note beside an interval of a measure that the noise of votes adds to; "" where there is
    nothing to say. `rows` is None if the votes are not known, and `resampled` is "rows", "votes" or
    "both".
    """
    if rows is None:
        return (
            "against the given labels: if these are vote shares, the interval includes vote "
            f"noise, and {setting('votes')} removes it"
        )
    if rows.why_not:
        return f"the interval includes vote noise, which cannot be removed: {rows.why_not}"
    if resampled == "rows":
        return ""
    notes = []
    if rows.singles and not measure.vote_model:
        notes.append(f"rows with one vote ({rows.singles}) are assumed to vary like the others")
    if measure.vote_model:
        below, above = rows.mean_bounds(measure)
        notes.append(
            "votes identify a distance only in part: more rows cannot narrow this interval below "
            f"{max(above - below, 0.0):.2g}; more votes per row can"
        )
        if rows.singles:
            notes.append(f"rows with one vote ({rows.singles}) widen the interval")
    return "; ".join(notes)


@dataclass
class VoteLimits:
    """Limits and estimates of measures of samples whose labels are shares of votes.

    `compute` gives the value of a measure in other samples.
    """

    rows: VotedRows
    level: float
    many_draws: int
    few_draws: int
    compute: Callable[[Measure, Samples], float]
    _errors_by_measure: dict[str, Array] = field(default_factory=dict)

    @property
    def _unit_name(self) -> str:
        """What varies independently, in words: "clusters" or "rows"."""
        return "clusters" if self.rows.groups is not None else "rows"

    def estimate(self, measure: Measure, value: float) -> float:
        """The value less what the noise of votes adds to it; the value itself where that has no
        formula.
        """
        return value if measure.vote_excess is None else value - self.rows.excess(measure)

    def bounded(self, measure: Measure) -> Limits:
        """Interval of a distance from the label distributions, from its bounds in every row. It
        holds for these rows, and for samples of their population.
        """
        bounds = self.rows.bounds(measure)
        low, high, estimate, error = self.rows.limits_between(bounds, self.level)
        method = f"{BOUND}, and interval for a mean of {self._unit_name}"
        return Limits(low, high, method, error, estimate)

    def of_same_rows(self, measure: Measure, value: float) -> Limits:
        """Limits of the true value for these very rows, of which only the votes are drawn again."""
        errors = self._vote_errors(measure)
        tail, error = (1.0 - self.level) / 2.0, float(errors.std(ddof=1))
        above, below = quantiles(errors, (1.0 - tail, tail))
        start = estimate = self.estimate(measure, value) if is_mean(measure) else value
        if not is_mean(measure):
            estimate = value - float(errors.mean())
        method = "resampled votes of the same rows"
        return Limits(start - above, start - below, method, error, estimate)

    def target_variance(self, measure: Measure, value: float, z: Array, w: Array | None) -> Limits:
        """Limits of the variance of the true shares, without the noise of their votes; z are the
        observed shares of class 1 or of the top label, (n,), and w the weights.
        """
        rows = (z - float(np.average(z, weights=w))) ** 2 - self.rows.excess_rows(measure)
        low, high, error = mean_limits(influences(rows, w, self.rows.groups), self.level)
        centre = self.estimate(measure, value)
        method = f"BCa interval for a mean of {self._unit_name}"
        return Limits(centre + low, centre + high, method, error, centre)

    def sampling_errors(self, measure: Measure, value: float) -> SamplingErrors:
        """How the value varies: for a distance between its bounds, for other measures with other
        votes of the same rows.
        """
        if measure.vote_model:
            return SamplingErrors(voted=(self.rows, measure))
        excess = value - self.estimate(measure, value)
        return SamplingErrors(errors=self._vote_errors(measure) + excess)

    def _vote_errors(self, measure: Measure) -> Array:
        """The errors of the value, (draws,), in draws of other votes of the same rows; computed
        once.
        """
        if measure.name not in self._errors_by_measure:
            self._errors_by_measure[measure.name] = self.rows.errors(
                measure,
                self.many_draws if is_mean(measure) else self.few_draws,
                lambda samples: self.compute(measure, samples),
            )
        return self._errors_by_measure[measure.name]
