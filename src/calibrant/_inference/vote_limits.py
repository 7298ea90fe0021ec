"""Confidence intervals of measures against the label distributions that votes were drawn from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from calibrant._core.messages import setting
from calibrant._core.typing import Array
from calibrant._data.samples import Samples
from calibrant._inference.means import influences, mean_limits
from calibrant._inference.paired import Scatter
from calibrant._inference.tails import quantiles
from calibrant._inference.voted_rows import VotedRows, is_mean
from calibrant._measures.catalogue import Measure

# Low, high, the method, the standard error of the value, and the estimate.
Found: TypeAlias = tuple[float, float, str, float | None, float | None]

BOUND = "bound over all distributions that could have given the votes"


def note_on_votes(measure: Measure, rows: VotedRows | None, resampled: str) -> str:
    """What to know about the noise of votes in a measure that it adds to."""
    if rows is None:
        return (
            "against the labels given: if they are shares of votes, the noise of these is in it, "
            f"and {setting('votes')} takes it out"
        )
    if rows.why_not:
        return f"the noise of votes is in it, and cannot be taken out: {rows.why_not}"
    if resampled == "rows":
        return ""
    notes = []
    if rows.singles and not measure.vote_model:
        notes.append(f"rows of one vote ({rows.singles}) are taken to scatter as the others do")
    if measure.vote_model:
        below, above = np.average(rows.bounds(measure).rows, axis=1, weights=rows.w).tolist()
        notes.append(
            f"votes identify a distance only in part: up to {max(above - below, 0.0):.2g} of the "
            "width would remain with any number of rows"
        )
        if rows.singles:
            notes.append(f"rows of one vote ({rows.singles}) make it wide")
    return "; ".join(notes)


@dataclass
class VoteLimits:
    """Limits and estimates of one set of samples whose labels are shares of votes."""

    rows: VotedRows
    level: float
    many_draws: int
    few_draws: int
    compute: Callable[[Measure, Samples], float]
    _drawn: dict[str, Array] = field(default_factory=dict)

    @property
    def _kind(self) -> str:
        return "clusters" if self.rows.groups is not None else "rows"

    def estimate(self, measure: Measure, value: float) -> float:
        """The value without the noise of votes, where that is known without resampling."""
        return value if measure.vote_excess is None else value - self.rows.excess(measure)

    def bounded(self, measure: Measure) -> Found:
        """Limits of a distance from the distributions behind the votes. Bounds hold row by row, and
        so for these rows and for rows like these.
        """
        bounds = self.rows.bounds(measure)
        low, high, estimate, error = self.rows.limits_between(bounds, self.level)
        return low, high, f"{BOUND}, with limits of a mean of {self._kind}", error, estimate

    def of_same_rows(self, measure: Measure, value: float) -> Found:
        """Limits for these very rows: other votes are drawn for them."""
        errors = self._vote_errors(measure)
        tail, error = (1.0 - self.level) / 2.0, float(errors.std(ddof=1))
        above, below = quantiles(errors, (1.0 - tail, tail))
        start = centre = self.estimate(measure, value) if is_mean(measure) else value
        if not is_mean(measure):
            centre = value - float(errors.mean())
        method = "other votes drawn for the same rows"
        return start - above, start - below, method, error, centre

    def of_scattered(self, measure: Measure, value: float, z: Array, w: Array | None) -> Found:
        """Limits of how true targets, and not their votes, scatter about the mean target."""
        rows = (z - float(np.average(z, weights=w))) ** 2 - self.rows.excess_rows(measure)
        low, high, error = mean_limits(influences(rows, w, self.rows.groups), self.level)
        centre = self.estimate(measure, value)
        return centre + low, centre + high, f"BCa limits of a mean of {self._kind}", error, centre

    def scatter(self, measure: Measure, value: float) -> Scatter:
        """How the value errs about the true one: within its bounds, or with other votes of the same
        rows.
        """
        if measure.vote_model:
            return Scatter(None, None, voted=(self.rows, measure))
        excess = value - self.estimate(measure, value)
        return Scatter(None, self._vote_errors(measure) + excess)

    def _vote_errors(self, measure: Measure) -> Array:
        if measure.name not in self._drawn:
            self._drawn[measure.name] = self.rows.errors(
                measure,
                self.many_draws if is_mean(measure) else self.few_draws,
                lambda samples: self.compute(measure, samples),
            )
        return self._drawn[measure.name]
