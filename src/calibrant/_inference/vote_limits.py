"""Limits of measures against the distributions that votes were drawn from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calibrant._data.samples import Samples
from calibrant._inference.blocks import Blocks
from calibrant._inference.means import influences, mean_limits
from calibrant._inference.paired import Against, Scatter
from calibrant._inference.tails import quantile
from calibrant._inference.voted_rows import VotedRows, is_mean
from calibrant._measures.catalogue import Measure
from calibrant.results._uncertainty import NoiseFloor

Array = NDArray[np.float64]
# Low, high, the method, the standard error of the value, and the estimate.
Found: TypeAlias = tuple[float, float, str, float | None, float | None]

VOTES_UNKNOWN = (
    "against the labels given: if they are shares of votes, the noise of these is in it, and "
    "votes= takes it out"
)
_FEW = (
    "so few votes do not tell how the distributions behind them are spread: the estimate is that "
    "of one law, and limits reach over those that the votes allow of the laws that are tried"
)


def note_on_votes(measure: Measure, rows: VotedRows | None, resampled: str) -> str:
    """What to know about the noise of votes in a measure that it adds to."""
    if rows is None:
        return VOTES_UNKNOWN
    if rows.why_not:
        return f"the noise of votes is in it, and cannot be taken out: {rows.why_not}"
    notes = []
    if rows.singles and resampled != "rows":
        notes.append(f"rows of one vote ({rows.singles}) are taken to scatter as the others do")
    if measure.vote_model and resampled != "rows" and rows.few(measure):
        notes.append(_FEW)
    return "; ".join(notes)


@dataclass
class VoteLimits:
    """Limits and estimates of one set of samples whose labels are shares of votes."""

    rows: VotedRows
    blocks: Blocks
    groups: NDArray[np.intp] | None
    level: float
    many_draws: int
    few_draws: int
    seed: int
    compute: Callable[[Measure, Samples], float]
    _drawn: dict[Any, Any] = field(default_factory=dict)

    @property
    def _kind(self) -> str:
        return "clusters" if self.groups is not None else "rows"

    @property
    def _tail(self) -> float:
        return (1.0 - self.level) / 2.0

    def estimate(self, measure: Measure, value: float) -> float:
        """The value without the noise of votes, where that is known without resampling."""
        if measure.vote_model:
            return self.rows.model(measure).estimate(measure.loss)
        if measure.vote_excess is None:
            return value
        return value - self.rows.excess(measure)

    def of_same_rows(self, measure: Measure, value: float) -> Found:
        """Limits for these very rows: other votes are drawn for them."""
        errors = self._vote_errors(measure)
        centre = self.estimate(measure, value) if is_mean(measure) else value
        centres = [centre]
        if measure.vote_model:
            model = self.rows.model(measure)
            centres = [model.estimate(measure.loss, law) for law in model.laws]
        low = min(centres) - quantile(errors, 1.0 - self._tail)
        high = max(centres) - quantile(errors, self._tail)
        if not is_mean(measure):
            centre = value - float(errors.mean())
        return low, high, "other votes drawn for the same rows", float(errors.std(ddof=1)), centre

    def modelled(self, measure: Measure, floor: NoiseFloor | None) -> Found:
        """Limits of a distance from the distributions behind the votes."""
        drawn, tail = self._resampled(measure), self._tail
        low = min(quantile(each, tail) for each in drawn.values())
        high = max(quantile(each, 1.0 - tail) for each in drawn.values())
        if self._may_be_right(floor):
            # Predictions that are right row by row could have shown as much.
            low, high = (low, measure.high) if measure.higher_is_better else (measure.low, high)
        method = f"bootstrap of {self._kind} with their votes, by a model of what is behind these"
        estimate = self.rows.model(measure).estimate(measure.loss)
        return low, high, method, max(float(each.std(ddof=1)) for each in drawn.values()), estimate

    def _may_be_right(self, floor: NoiseFloor | None) -> bool:
        """Whether predictions that are right row by row could have shown as much."""
        return floor is not None and min(floor.p_value, floor.p_low) > self._tail

    def of_scattered(self, measure: Measure, value: float, z: Array, w: Array | None) -> Found:
        """Limits of how true targets, and not their votes, scatter about the mean target."""
        rows = (z - float(np.average(z, weights=w))) ** 2 - self.rows.excess_rows(measure)
        low, high, error = mean_limits(influences(rows, w, self.groups), self.level)
        centre = self.estimate(measure, value)
        return centre + low, centre + high, f"BCa limits of a mean of {self._kind}", error, centre

    def scatter(
        self, measure: Measure, value: float, floor: NoiseFloor | None, *, rows_too: bool
    ) -> Scatter:
        """How the value errs about the true one, in resamples of rows with their votes or in other
        votes of the same rows.
        """
        excess = value - self.estimate(measure, value)
        if not rows_too:
            return Scatter(None, (self._vote_errors(measure) + excess)[None], excess=excess)
        # So that limits are quantiles of the estimates themselves: near 0 these are one-sided.
        by_law = {law: value - drawn for law, drawn in self._resampled(measure).items()}
        model = self.rows.model(measure)
        against = Against(
            model.p, model.w, self.groups, self._may_be_right(floor),
            lambda p, q: model.values_of(p, q)[measure.loss],
        )  # fmt: skip
        errors = next(iter(by_law.values()))[None]
        return Scatter(None, errors, excess=excess, by_law=by_law, against=against)

    def _vote_errors(self, measure: Measure) -> Array:
        key = ("votes", measure.name)
        if key not in self._drawn:
            quick = is_mean(measure) and not measure.vote_model
            self._drawn[key] = self.rows.errors(
                measure, self.many_draws if quick else self.few_draws,
                lambda samples: self.compute(measure, samples),
            )  # fmt: skip
        out: Array = self._drawn[key]
        return out

    def _resampled(self, measure: Measure) -> dict[str, Array]:
        """Estimates in resamples of rows with their votes, by law."""
        key = ("rows", measure.name)
        if key not in self._drawn:
            counts = self.blocks.resamples(self.many_draws, self.seed, self.rows.w)
            model = self.rows.model(measure)
            self._drawn[key] = model.resampled(measure.loss, self.blocks, counts)
        out: dict[str, Array] = self._drawn[key]
        return out
