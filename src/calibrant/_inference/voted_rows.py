"""VotedRows: one set of samples whose labels are shares of votes, and the noise of these votes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from calibrant._core.typing import Array, Counts, Index
from calibrant._data.samples import Samples
from calibrant._inference.means import (
    distribution_rows,
    influences,
    losses_of_rows,
    mean_limits,
)
from calibrant._inference.numbers import FITTED_FROM_ROWS, ROUNDED_SHARES
from calibrant._inference.vote_bounds import Bounds, fold_of
from calibrant._inference.vote_distances import VotedDistances
from calibrant._measures.catalogue import Measure
from calibrant._measures.statistics import STATISTICS
from calibrant._measures.votes import vote_variances

ONE_VOTE = "every row has one vote, which tells nothing of how votes scatter"


def is_mean(measure: Measure) -> bool:
    """Whether a measure is a mean of what rows have for themselves."""
    return STATISTICS[measure.statistic].problem == "rows"


def whole_counts(z: Array, m: Counts) -> Counts | None:
    """Shares as counts of votes; None where they are none."""
    exact = z * m[:, None]
    counts = np.rint(exact)
    if np.abs(exact - counts).max(initial=0.0) > ROUNDED_SHARES or (counts.sum(axis=1) != m).any():
        return None
    return counts.astype(np.int64)


def one_vote(z: Array, rng: np.random.Generator) -> Index:
    """A vote of each row, drawn from its shares."""
    through = np.cumsum(z, axis=1)
    drawn = rng.random(len(z)) * through[:, -1]
    index = (through <= drawn[:, None]).sum(axis=1)
    return np.minimum(index, z.shape[1] - 1).astype(np.intp)


def vote_residuals(z: Array, m: Counts, rng: np.random.Generator) -> Array:
    """A vector for each row whose square has the mean of the votes' covariance: a vote drawn from
    the row, less the shares, over ``sqrt(m - 1)``.
    """
    out = -z / np.sqrt(np.maximum(m - 1, 1))[:, None]
    rows = np.arange(len(z))
    picked = one_vote(z, rng)
    out[rows, picked] += 1.0 / np.sqrt(np.maximum(m - 1, 1))
    return np.where((m > 1)[:, None], out, 0.0)


@dataclass
class VotedRows:
    """Samples, the number of votes of each row, and what is known of the noise of these votes."""

    samples: Samples
    votes: Counts
    seed: int
    groups: Index | None = None
    _bounds: dict[str, Bounds] = field(default_factory=dict)

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
    def m(self) -> Counts:
        return np.broadcast_to(self.votes, (self.samples.n,)).astype(np.int64)

    @cached_property
    def w(self) -> Array:
        weights = self.samples.weights
        return np.ones(self.samples.n) if weights is None else weights.astype(np.float64)

    @cached_property
    def counts(self) -> Counts:
        return np.rint(self.z * self.m[:, None]).astype(np.int64)

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

    def method(self, measure: Measure) -> str:
        """How the noise of votes is taken out of a measure."""
        if measure.vote_model:
            return "midway between bounds over all distributions that could have given the votes"
        if measure.vote_excess is not None:
            return "by the variance of shares, which is exact"
        if is_mean(measure):
            return "linear in the labels: there is none to take out"
        return "by test inversion, the votes of these rows drawn anew"

    # --- distances, which votes identify in part -------------------------------------------------

    def bounds(self, measure: Measure) -> Bounds:
        """Bounds of a distance in every row."""
        if measure.loss not in self._bounds:
            self._bounds[measure.loss] = self._distances(self.p).bounds(measure.loss)
        return self._bounds[measure.loss]

    def bounds_apart(self, other: VotedRows, measure: Measure) -> Bounds:
        """Bounds, in every row, of a distance less that of another predictor on the same rows.
        Other votes on them tell of other distributions: then both are bounded by themselves.
        """
        if np.array_equal(self.counts, other.counts):
            return self._distances(self.p, other.p).bounds(measure.loss)
        return self.bounds(measure) + other.bounds(measure).reversed()

    def _distances(self, *predictions: Array) -> VotedDistances:
        fold = fold_of(self.samples.n, self.groups, self.seed)
        return VotedDistances(predictions, self.counts, self.w, fold)

    def limits_between(self, bounds: Bounds, level: float) -> tuple[float, float, float, float]:
        """Limits of what lies between the means of two bounds, the middle, and its standard error.

        The lower limit is that of the lower bound, the upper one that of the upper.
        """
        exact = np.array_equal(*bounds.rows)
        wider = 1.0 if exact else FITTED_FROM_ROWS
        w = None if self.samples.weights is None else self.w
        below, above = (float(np.average(each, weights=w)) for each in bounds.rows)
        low, high = (
            wider * mean_limits(influences(each, w, self.groups), level)[side]
            for side, each in enumerate(bounds.rows)
        )
        middle = influences(bounds.rows.mean(axis=0), w, self.groups)
        ends = below + low, above + high
        # Where votes leave hardly anything open the two may cross by chance.
        error = wider * mean_limits(middle, level)[2]
        return min(ends), max(ends), 0.5 * (below + above), error

    # --- squares, which have exact corrections ---------------------------------------------------

    @cached_property
    def variances(self) -> Array:
        """Variances of the shares, (n, k); rows of one vote are taken to scatter as the others."""
        return self._variances(self.z)

    def _variances(self, z: Array) -> Array:
        out = vote_variances(z, self.m)
        if self.singles:
            out = np.where((self.m == 1)[:, None], self._likeness * self._usual, out)
        return out

    @cached_property
    def _middle(self) -> Array:
        """Halfway between predictions and the mean of all shares."""
        return 0.5 * (self.p + np.average(self.z, axis=0, weights=self.w))

    @property
    def _usual(self) -> Array:
        """What variances of single votes are taken to be in proportion to, (n, k)."""
        return self._middle * (1.0 - self._middle)

    @cached_property
    def _columns(self) -> tuple[Array, Array]:
        """What rows of several votes tell of the variance of one, and what it is usually."""
        several = self.w * (self.m > 1)
        one = self.m * vote_variances(self.z, self.m).sum(axis=1)
        return several * one, several * self._usual.sum(axis=1)

    @cached_property
    def _likeness(self) -> float:
        """The variance of one vote as a multiple of the usual one."""
        one, usual = (float(column.sum()) for column in self._columns)
        return one / usual if usual > 0 else 0.0

    def corrected(self, measure: Measure, z: Array | None = None) -> Array:
        """A loss of every row without what the noise of its votes adds to it."""
        own = self.z if z is None else z
        distribution = measure.statistic == "distribution"
        multiclass = self.samples.multiclass
        losses = losses_of_rows(self.p, own, distribution=distribution, multiclass=multiclass)
        values = losses[measure.loss]
        if measure.vote_excess is None:
            return values
        if z is None:
            return values - self.excess_rows(measure)
        return values - measure.vote_excess(self.p, self._variances(z))

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
        one, usual = self._columns
        of_singles = float((self.w * (self.m == 1)) @ measure.vote_excess(self.p, self._usual))
        total = float(usual.sum())
        moved = (one - self._likeness * usual) * (of_singles / total if total > 0 else 0.0)
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
        return self._noise(np.random.default_rng((self.seed, 23)))

    @property
    def scalar_residuals(self) -> Array:
        """The column of `residuals` that the scalar problem has, (n, 1): of class 1, or of each
        row's top label.
        """
        if not self.samples.multiclass:
            return self.residuals[:, 1:]
        return np.take_along_axis(self.residuals, self.p.argmax(axis=1)[:, None], axis=1)

    def errors(self, measure: Measure, n_draws: int, computed: Callable[[Samples], float]) -> Array:
        """How a value scatters with the votes of these rows."""
        rng, total = np.random.default_rng((self.seed, 24)), float(self.w.sum())
        out = np.empty(n_draws)
        for i in range(n_draws):
            if is_mean(measure):
                out[i] = float(self.w @ self.corrected(measure, self.z + self._noise(rng))) / total
            else:
                out[i] = computed(self._with_targets(self._centres + self._noise(rng, most=1.0)))
        seen = (
            float(out.mean()) if is_mean(measure) else computed(self._with_targets(self._centres))
        )
        return out - seen

    def _noise(self, rng: np.random.Generator, most: float = np.inf) -> Array:
        """How shares scatter about the true ones, (n, k). Rows of one vote are taken to scatter as
        the others, by at `most` this multiple of the usual variance.
        """
        out = vote_residuals(self.z, self.m, rng)
        if self.singles:
            away = np.eye(out.shape[1])[one_vote(self._middle, rng)] - self._middle
            out += np.where((self.m == 1)[:, None], np.sqrt(min(self._likeness, most)) * away, 0.0)
        return out

    @cached_property
    def _centres(self) -> Array:
        """Shares that noise can be added to and leave shares, (n, k): one vote is at an end."""
        return np.where((self.m == 1)[:, None], self._middle, self.z) if self.singles else self.z

    def _with_targets(self, targets: Array) -> Samples:
        own = np.clip(targets, 0.0, 1.0)  # of rounding
        own = own if self.samples.multiclass else np.ascontiguousarray(own[:, 1])
        return replace(self.samples, targets=own)
