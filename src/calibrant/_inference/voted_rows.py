"""Samples whose labels are shares of votes, and the noise that votes add to measures."""

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
    row_weights,
)
from calibrant._inference.numbers import FITTED_FROM_ROWS, ROUNDED_SHARES
from calibrant._inference.vote_bounds import Bounds, fold_of
from calibrant._inference.vote_distances import VotedDistances
from calibrant._measures.catalogue import Measure
from calibrant._measures.statistics import STATISTICS
from calibrant._measures.votes import vote_variances
from calibrant.results._uncertainty import ESTIMATE_OF_INTERVAL

ONE_VOTE = "every row has one vote, which does not show how votes vary"


def is_mean(measure: Measure) -> bool:
    """Whether a measure is a mean over rows, such as a loss or a distance."""
    return STATISTICS[measure.statistic].problem == "rows"


def whole_counts(z: Array, m: Counts) -> Counts | None:
    """The votes by class, (n, k), of rows with the shares z, (n, k), and m votes, (n,); None where
    shares are no parts of so many votes.
    """
    exact = z * m[:, None]
    counts = np.rint(exact)
    if np.abs(exact - counts).max(initial=0.0) > ROUNDED_SHARES or (counts.sum(axis=1) != m).any():
        return None
    return counts.astype(np.int64)


def one_vote(z: Array, rng: np.random.Generator) -> Index:
    """The class of one vote of each row, (n,), drawn from its shares z, (n, k)."""
    cumulative = np.cumsum(z, axis=1)
    drawn = rng.random(len(z)) * cumulative[:, -1]
    index = (cumulative <= drawn[:, None]).sum(axis=1)
    return np.minimum(index, z.shape[1] - 1).astype(np.intp)


def vote_residuals(z: Array, m: Counts, rng: np.random.Generator) -> Array:
    """A draw of the noise of the shares z, (n, k), of m votes: a vote drawn from each row, less the
    shares, over ``sqrt(m - 1)``.

    Its covariance is, on average, that of the shares; it is 0 for rows of one vote.
    """
    out = -z / np.sqrt(np.maximum(m - 1, 1))[:, None]
    rows = np.arange(len(z))
    picked = one_vote(z, rng)
    out[rows, picked] += 1.0 / np.sqrt(np.maximum(m - 1, 1))
    return np.where((m > 1)[:, None], out, 0.0)


@dataclass
class VotedRows:
    """Samples whose labels are shares of votes, with the number of votes of each row."""

    samples: Samples
    votes: Counts
    seed: int
    groups: Index | None = None
    _bounds: dict[str, Bounds] = field(default_factory=dict)

    @cached_property
    def _rows(self) -> tuple[Array, Array]:
        """Predictions and shares of votes by row and class, (n, k) each."""
        return distribution_rows(self.samples)

    @cached_property
    def p(self) -> Array:
        """The predictions, (n, k)."""
        return self._rows[0]

    @cached_property
    def z(self) -> Array:
        """The shares of votes, (n, k)."""
        return self._rows[1]

    @cached_property
    def m(self) -> Counts:
        """The number of votes of each row, (n,)."""
        return np.broadcast_to(self.votes, (self.samples.n,)).astype(np.int64)

    @cached_property
    def w(self) -> Array:
        """The weight of each row, (n,)."""
        return row_weights(self.samples)

    @cached_property
    def counts(self) -> Counts:
        """The votes by row and class, (n, k)."""
        return np.rint(self.z * self.m[:, None]).astype(np.int64)

    @cached_property
    def why_not(self) -> str:
        """Why it cannot be known how these votes vary, in words; "" where it can."""
        if not (self.m > 1).any():
            return ONE_VOTE
        if whole_counts(self.z, self.m) is None:
            return "the labels are not shares of the given numbers of votes"
        return ""

    @property
    def singles(self) -> int:
        """How many rows have one vote."""
        return int((self.m == 1).sum())

    def method(self, measure: Measure) -> str:
        """How the noise of votes is removed from a measure, in words."""
        if measure.vote_model:
            return "midpoint of bounds over all label distributions compatible with the votes"
        if measure.vote_excess is not None:
            return "exactly, by the variance of shares"
        if is_mean(measure):
            return "linear in the labels: no vote noise to remove"
        return ESTIMATE_OF_INTERVAL

    # --- distances, which votes identify only in part --------------------------------------------

    def bounds(self, measure: Measure) -> Bounds:
        """Bounds, in every row, of a distance from the label distributions."""
        if measure.loss not in self._bounds:
            self._bounds[measure.loss] = self._distances(self.p).bounds(measure.loss)
        return self._bounds[measure.loss]

    def mean_bounds(self, measure: Measure) -> tuple[float, float]:
        """The means over rows of the lower and of the upper bound of a distance."""
        low, high = np.average(self.bounds(measure).rows, axis=1, weights=self.w).tolist()
        return low, high

    def difference_bounds(self, other: VotedRows, measure: Measure) -> Bounds:
        """Bounds, in every row, of this predictor's distance less that of another on the same rows;
        if the other has different votes, from the bounds of each alone.
        """
        if np.array_equal(self.counts, other.counts):
            return self._distances(self.p, other.p).bounds(measure.loss)
        return self.bounds(measure) + other.bounds(measure).reversed()

    def _distances(self, *predictions: Array) -> VotedDistances:
        """The predictions of one or two predictors, (n, k) each, with the votes, weights and folds
        of the rows, ready to be bounded.
        """
        fold = fold_of(self.samples.n, self.groups, self.seed)
        return VotedDistances(predictions, self.counts, self.w, fold)

    def limits_between(self, bounds: Bounds, level: float) -> tuple[float, float, float, float]:
        """Four numbers: the lower limit of the mean lower bound, the upper limit of the mean upper
        bound, the middle of the two means, and its standard error.
        """
        exact = np.array_equal(*bounds.rows)
        factor = 1.0 if exact else FITTED_FROM_ROWS
        w = None if self.samples.weights is None else self.w
        below, above = (float(np.average(each, weights=w)) for each in bounds.rows)
        low, high = (
            factor * mean_limits(influences(each, w, self.groups), level)[side]
            for side, each in enumerate(bounds.rows)
        )
        middle = influences(bounds.rows.mean(axis=0), w, self.groups)
        ends = below + low, above + high
        error = factor * mean_limits(middle, level)[2]
        # Where the bounds nearly coincide, their limits may cross by chance.
        return min(ends), max(ends), 0.5 * (below + above), error

    # --- squares, which have exact corrections ---------------------------------------------------

    @cached_property
    def variances(self) -> Array:
        """The variance that votes give to each share, (n, k); for rows of one vote it is estimated
        from the other rows.
        """
        return self._variances(self.z)

    def _variances(self, z: Array) -> Array:
        """The variances of shares z, (n, k), due to the votes; for rows of one vote the nominal
        variance times the ratio that the other rows have.
        """
        out = vote_variances(z, self.m)
        if self.singles:
            out = np.where(
                (self.m == 1)[:, None], self._variance_ratio * self._nominal_variance, out
            )
        return out

    @cached_property
    def _middle(self) -> Array:
        """Halfway between the predictions and the mean of all shares, (n, k)."""
        return 0.5 * (self.p + np.average(self.z, axis=0, weights=self.w))

    @property
    def _nominal_variance(self) -> Array:
        """c (1 - c), (n, k), where c is halfway between prediction and mean share: the variance of
        one vote, up to a common factor.
        """
        return self._middle * (1.0 - self._middle)

    @cached_property
    def _single_vote_variances(self) -> tuple[Array, Array]:
        """The estimated variance of a single vote, summed over classes, and the nominal one, (n,)
        each. Both are times the row's weight, and 0 for rows of one vote.
        """
        several = self.w * (self.m > 1)
        estimated = self.m * vote_variances(self.z, self.m).sum(axis=1)
        return several * estimated, several * self._nominal_variance.sum(axis=1)

    @cached_property
    def _variance_ratio(self) -> float:
        """The estimated variance of a single vote over the nominal one, summed over the rows of
        several votes; 0 if there are none.
        """
        estimated, nominal = (float(column.sum()) for column in self._single_vote_variances)
        return estimated / nominal if nominal > 0 else 0.0

    def corrected(self, measure: Measure, z: Array | None = None) -> Array:
        """The loss of every row, (n,), less the expected part that is noise of votes, where that
        has a formula; with other shares z, (n, k), if given.
        """
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
        """What the noise of votes adds to each row's squared error in expectation, (n,). The
        variances of rows of one vote are estimated from the others, whose influence on them is
        included.
        """
        assert measure.vote_excess is not None
        return measure.vote_excess(self.p, self.variances) + self._influence_on_singles(measure)

    def _influence_on_singles(self, measure: Measure) -> Array:
        """The influence of each row of several votes on the excess of rows of one vote, (n,),
        through the variance ratio; its weighted mean is 0, and all are 0 if no row has one vote.
        """
        if not self.singles:
            return np.zeros(self.samples.n)
        assert measure.vote_excess is not None
        estimated, nominal = self._single_vote_variances
        excess = measure.vote_excess(self.p, self._nominal_variance)
        of_singles = float((self.w * (self.m == 1)) @ excess)
        total = float(nominal.sum())
        share = of_singles / total if total > 0 else 0.0
        influence = (estimated - self._variance_ratio * nominal) * share
        out: Array = np.divide(influence, self.w, out=np.zeros_like(influence), where=self.w > 0)
        out -= float(np.average(out, weights=self.w))
        return out

    def excess(self, measure: Measure) -> float:
        """How much the noise of votes adds to a measure in expectation. The measure is a mean over
        rows of squares or, if it is of bins, a sum of squared sums over bins.
        """
        assert measure.vote_excess is not None
        w = self.w**2 if measure.is_binned else self.w
        total = self.w.sum() ** 2 if measure.is_binned else self.w.sum()
        return float(w @ measure.vote_excess(self.p, self.variances)) / float(total)

    # --- other votes of the same rows ------------------------------------------------------------

    @cached_property
    def residuals(self) -> Array:
        """One draw of the noise that votes give to the shares, (n, k)."""
        return self._noise(np.random.default_rng((self.seed, 23)))

    @property
    def scalar_residuals(self) -> Array:
        """The noise of the shares of one class a row, (n, 1): of class 1 or, with several classes,
        of each row's top label.
        """
        if not self.samples.multiclass:
            return self.residuals[:, 1:]
        return np.take_along_axis(self.residuals, self.p.argmax(axis=1)[:, None], axis=1)

    def errors(self, measure: Measure, n_draws: int, computed: Callable[[Samples], float]) -> Array:
        """The errors of a measure, (draws,), in draws of the votes of these rows; `computed` gives
        the measure's value in other samples.

        For a mean over rows they are about the mean of the draws, for other measures about the
        value without noise.
        """
        rng, total = np.random.default_rng((self.seed, 24)), float(self.w.sum())
        out = np.empty(n_draws)
        for i in range(n_draws):
            if is_mean(measure):
                out[i] = float(self.w @ self.corrected(measure, self.z + self._noise(rng))) / total
            else:
                out[i] = computed(self._with_targets(self._centres + self._noise(rng, most=1.0)))
        centre = (
            float(out.mean()) if is_mean(measure) else computed(self._with_targets(self._centres))
        )
        return out - centre

    def _noise(self, rng: np.random.Generator, most: float = np.inf) -> Array:
        """A draw of the noise of the shares, (n, k). Rows of one vote vary as the others do, but
        with at most `most` times the nominal variance.
        """
        out = vote_residuals(self.z, self.m, rng)
        if self.singles:
            residual = np.eye(out.shape[1])[one_vote(self._middle, rng)] - self._middle
            scale = np.sqrt(min(self._variance_ratio, most))
            out += np.where((self.m == 1)[:, None], scale * residual, 0.0)
        return out

    @cached_property
    def _centres(self) -> Array:
        """Shares (n, k) that stay in [0, 1] when noise is added: the observed ones; for rows of one
        vote, whose shares are 0 and 1, halfway between prediction and mean share.
        """
        return np.where((self.m == 1)[:, None], self._middle, self.z) if self.singles else self.z

    def _with_targets(self, targets: Array) -> Samples:
        """The samples with other targets, (n, k), clipped to [0, 1]."""
        own = np.clip(targets, 0.0, 1.0)  # against rounding
        own = own if self.samples.multiclass else np.ascontiguousarray(own[:, 1])
        return replace(self.samples, targets=own)
