"""VotedRows: one set of samples whose labels are shares of votes, and the noise of these votes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._data.samples import Samples
from calibrant._inference.family import VoteScatter
from calibrant._inference.means import distribution_rows, row_functions
from calibrant._inference.vote_model import VoteModel
from calibrant._inference.votes import vote_residuals
from calibrant._measures.catalogue import Measure
from calibrant._measures.statistics import STATISTICS
from calibrant._measures.votes import vote_variances

Array = NDArray[np.float64]

# Shares may be rounded, to two digits or so: this far from whole numbers of votes.
ROUNDED = 0.06
# Votes a row up to which little but mean and spread of what is behind them shows.
FEW_VOTES = 5
ONE_VOTE = "every row has one vote, which tells nothing of how votes scatter"


def is_mean(measure: Measure) -> bool:
    """Whether a measure is a mean of what rows have for themselves."""
    return STATISTICS[measure.statistic].problem == "rows"


def whole_counts(z: Array, m: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Shares as counts of votes; None where they are none."""
    exact = z * m[:, None]
    counts = np.rint(exact)
    if np.abs(exact - counts).max(initial=0.0) > ROUNDED or (counts.sum(axis=1) != m).any():
        return None
    return counts.astype(np.int64)


@dataclass
class VotedRows:
    """Samples, the number of votes of each row, and what is known of the noise of these votes."""

    samples: Samples
    votes: NDArray[np.int64]
    seed: int
    # The measures that are asked for: what they draw is drawn once.
    measures: tuple[Measure, ...] = ()
    _kept: dict[Any, Any] = field(default_factory=dict)

    @cached_property
    def _rows(self) -> tuple[Array, Array]:
        return distribution_rows(self.samples)

    @cached_property
    def p(self) -> Array:
        return self._rows[0]

    @cached_property
    def z(self) -> Array:
        return self._rows[1]

    @cached_property
    def m(self) -> NDArray[np.int64]:
        return np.broadcast_to(self.votes, (self.samples.n,)).astype(np.int64)

    @cached_property
    def w(self) -> Array:
        weights = self.samples.weights
        return np.ones(self.samples.n) if weights is None else weights.astype(np.float64)

    @cached_property
    def why_not(self) -> str:
        """Why the noise of these votes cannot be known; "" where it can."""
        if not (self.m > 1).any():
            return ONE_VOTE
        if whole_counts(self.z, self.m) is None:
            return "the labels are no shares of so many votes"
        return ""

    @property
    def singles(self) -> int:
        """How many rows have one vote."""
        return int((self.m == 1).sum())

    def few(self, measure: Measure) -> bool:
        """Whether votes are too few to show how the distributions behind them are spread."""
        return float(np.median(self.m)) <= FEW_VOTES and len(self.model(measure).laws) > 1

    def method(self, measure: Measure) -> str:
        """How the noise of votes is taken out of a measure."""
        if measure.vote_model:
            return "by a model of the distributions behind the votes"
        if measure.vote_excess is not None:
            return "by the variance of shares, which is exact"
        if is_mean(measure):
            return "linear in the labels: there is none to take out"
        return "by test inversion, the votes of these rows drawn anew"

    def model(self, measure: Measure) -> VoteModel:
        """The law of the distributions behind the votes, for measures of one kind."""
        if measure.statistic not in self._kept:
            alone = sum(each.vote_model for each in self.measures) == 1
            values_of = row_functions(
                measure.statistic, multiclass=self.samples.multiclass,
                only=measure.loss if alone else None,
            )  # fmt: skip
            self._kept[measure.statistic] = VoteModel(
                self.p, self.z, self.m, self.w, values_of, self.seed
            )
        out: VoteModel = self._kept[measure.statistic]
        return out

    @cached_property
    def variances(self) -> Array:
        """Variances of the shares, of rows of one vote as the model has them: (n, k)."""
        return self._variances(self.z)

    def _variances(self, z: Array) -> Array:
        out = vote_variances(z, self.m)
        if self.singles:
            law = self._law
            one = law.mean * (1.0 - law.mean) * (1.0 - law.spread[:, None])
            out = np.where((self.m == 1)[:, None], one, out)
        return out

    @cached_property
    def _law(self) -> VoteModel:
        values_of = row_functions("losses", multiclass=self.samples.multiclass)
        return VoteModel(self.p, self.z, self.m, self.w, values_of, self.seed)

    def corrected(self, measure: Measure, z: Array | None = None) -> Array:
        """A loss of every row without what the noise of its votes adds to it."""
        own = self.z if z is None else z
        values_of = row_functions(measure.statistic, multiclass=self.samples.multiclass)
        values = values_of(self.p, own)[measure.loss]
        if measure.vote_excess is None:
            return values
        if z is None:
            return values - self.excess_rows(measure)
        out: Array = values - measure.vote_excess(self.p, self._variances(z))
        return out

    def excess_rows(self, measure: Measure) -> Array:
        """What the noise of votes adds to the square of each row, in expectation; in the mean, rows
        of one vote are told by the others.
        """
        assert measure.vote_excess is not None
        return measure.vote_excess(self.p, self.variances) + self._told_to_singles(measure)

    def _told_to_singles(self, measure: Measure) -> Array:
        """What each row of several votes moves those of one by, which are taken to scatter as the
        others do: their mean is 0, and their scatter that of what the others tell.
        """
        if not self.singles:
            return np.zeros(self.samples.n)
        assert measure.vote_excess is not None
        law = self._law
        one = (self.w * (self.m == 1))[:, None] * np.eye(law.n_groups)[law.group]
        at_no_spread = one.T @ measure.vote_excess(self.p, law.mean * (1.0 - law.mean))
        square, room = law.columns(self.z)
        total = room.sum(axis=0)
        share = np.divide(-at_no_spread, total, out=np.zeros_like(total), where=total > 0)
        moved = (square - law.spread[:, None] * room) @ share
        out: Array = np.divide(moved, self.w, out=np.zeros_like(moved), where=self.w > 0)
        out -= float(np.average(out, weights=self.w))
        return out

    def excess(self, measure: Measure) -> float:
        """What it adds to the measure: to a mean of squares, or to squared sums over bins."""
        assert measure.vote_excess is not None
        w = self.w**2 if measure.is_binned else self.w
        total = self.w.sum() ** 2 if measure.is_binned else self.w.sum()
        return float(w @ measure.vote_excess(self.p, self.variances)) / float(total)

    # --- other votes of the same rows ------------------------------------------------------------

    @cached_property
    def residuals(self) -> Array:
        """A vector for each row whose square has the mean of the votes' covariance: (n, k)."""
        return vote_residuals(self.z, self.m, np.random.default_rng((self.seed, 23)))

    @cached_property
    def scatter(self) -> VoteScatter:
        """How the shares of all classes scatter."""
        return VoteScatter(self.residuals, self.variances)

    @cached_property
    def scalar_scatter(self) -> VoteScatter:
        """The same of the scalar problem: of P(y = 1), or of the top label."""
        if not self.samples.multiclass:
            return VoteScatter(self.residuals[:, 1], self.variances[:, 1])
        top = self.p.argmax(axis=1)[:, None]
        residual, variance = (
            np.take_along_axis(each, top, axis=1)[:, 0] for each in (self.residuals, self.variances)
        )
        return VoteScatter(residual, variance)

    def errors(self, measure: Measure, n_draws: int, computed: Callable[[Samples], float]) -> Array:
        """How an estimate errs about the value against the true distributions, vote by vote: rows
        stay, and distributions are drawn that could be behind their votes.
        """
        if measure.vote_model:
            return self._modelled_errors(measure, n_draws)[measure.loss]
        rng = np.random.default_rng((self.seed, 24))
        law = self.model(measure) if is_mean(measure) else self._law
        total = float(self.w.sum())
        out = np.empty(n_draws)
        for i in range(n_draws):
            q, counts = law.other_votes(rng)
            z = counts / self.m[:, None]
            if is_mean(measure):
                truth = float(self.w @ law.values_of(self.p, q)[measure.loss]) / total
                out[i] = float(self.w @ self.corrected(measure, z)) / total - truth
            else:
                out[i] = computed(self._with(z)) - computed(self._with(q))
        return out

    def _modelled_errors(self, measure: Measure, n_draws: int) -> dict[str, Array]:
        """The same of every measure of one model, by name of its loss: they share the votes that
        are drawn.
        """
        key = ("errors", measure.statistic, n_draws)
        if key not in self._kept:
            own = (each for each in self.measures if each.statistic == measure.statistic)
            losses = {measure.loss, *(each.loss for each in own if each.vote_model)}
            law, rng = self.model(measure), np.random.default_rng((self.seed, 24))
            total, out = float(self.w.sum()), {loss: np.empty(n_draws) for loss in losses}
            for i in range(n_draws):
                q, counts = law.other_votes(rng)
                truths, estimates = law.values_of(self.p, q), law.revoted(out, counts, rng)
                for loss, errors in out.items():
                    errors[i] = estimates[loss] - float(self.w @ truths[loss]) / total
            self._kept[key] = out
        found: dict[str, Array] = self._kept[key]
        return found

    def _with(self, targets: Array) -> Samples:
        own = targets if self.samples.multiclass else np.ascontiguousarray(targets[:, 1])
        return replace(self.samples, targets=own)
