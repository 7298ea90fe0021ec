"""Bounds, row by row, on distances from the label distributions that votes were drawn from.

A distance that is a sum over classes is bounded class by class: each term depends on one share and
on the votes for that class. An entropy does not depend on which class has which share, so it is a
function of the sorted votes. The root of a sum is bounded by its tangent and by Cauchy's
inequality, and the agreement of two rankings by that of each class and the next.

In terms, x is the predicted probability of a class and q its true share of votes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from calibrant._core.distances import distances, entropy, jensen_shannon, same_ranking
from calibrant._core.typing import Array, Counts, Index
from calibrant._data.links import LOG_FLOOR
from calibrant._inference.budget import DEGREES
from calibrant._inference.vote_bounds import Bounds, Distance, Part, bounds_of
from calibrant._inference.vote_experiments import Binomial, Unlabelled, unlabelled_degrees

Term = Callable[[Array, Array], Array]


def _absolute(x: Array, q: Array) -> Array:
    """The absolute difference of the predicted value x and the true one q, such as a
    class's share.
    """
    return np.abs(x - q)


def _half(x: Array, q: Array) -> Array:
    """Half of the absolute difference of x and q: the term of one class in the total variation."""
    return 0.5 * np.abs(x - q)


def _divergence(x: Array, q: Array) -> Array:
    """The term of one class in the Jensen-Shannon divergence of prediction x and true share q."""
    x, q = np.broadcast_arrays(x, q)
    return jensen_shannon(x.reshape(-1, 1), q.reshape(-1, 1)).reshape(x.shape)


def _relative_entropy(x: Array, q: Array) -> Array:
    """The term q log q of one class in the Kullback-Leibler divergence from true shares q to
    predictions x, in the shape of both. The rest, -q log x, is linear in q and bounded elsewhere.
    """
    return q * np.log(np.where(q > 0.0, q, 1.0)) + 0.0 * x


def _order(x: Array, q: Array) -> Array:
    """Whether two classes are in the predicted order, as 1 or 0.

    x is the predicted probability of the first class over that of both, at least 1/2, and q the
    same of the true shares. The order is right if q >= 1/2 or, for equal predictions, if q = 1/2.
    """
    return np.where(x > 0.5, q >= 0.5, q == 0.5).astype(np.float64)


# Distances that are sums over classes; "transport" sums over cumulative shares.
SUMS: dict[str, Term] = {
    "distribution": _half,
    "absolute": _absolute,
    "transport": _absolute,
    "jensen_shannon": _divergence,
}


def _of_two(term: Term) -> Term:
    """From the term of one class, the sum of the terms of both classes of a two-class problem, as a
    function of the second class's prediction x and true share q.
    """
    return lambda x, q: term(x, q) + term(1.0 - x, 1.0 - q)


def _root(term: Term) -> Term:
    """The square root of a term, as a function of the same arguments."""
    return lambda x, q: np.sqrt(np.maximum(term(x, q), 0.0))


def _differences(term: Term, x: Array, q: Array) -> Array:
    """The term of one predictor or, for two, that of the first less that of the second.

    x are predictions, (rows, 1) or (rows, 2), and q true shares, (shares,) or (rows, 1).
    """
    out = term(x[:, :1], np.atleast_2d(q))
    return out if x.shape[1] == 1 else out - term(x[:, 1:], np.atleast_2d(q))


@dataclass(frozen=True, eq=False)
class VotedDistances:
    """Bounds of distances between predictions and label distributions.

    `counts` are the votes of every row by class, (n, k), `w` and `fold` the weight and the fold of
    every row. `predictions` are those (n, k) of one predictor, or of two if the difference of their
    distances is bounded.
    """

    predictions: tuple[Array, ...]
    counts: Counts
    w: Array
    fold: Index

    @property
    def _m(self) -> Counts:
        """The number of votes of each row, (n,)."""
        return self.counts.sum(axis=1)

    @property
    def _k(self) -> int:
        """The number of classes."""
        return int(self.counts.shape[1])

    def bounds(self, loss: str) -> Bounds:
        """Bounds of the distance `loss` in every row or, with two predictors, of the first's
        distance less the second's.
        """
        of_pair = len(self.predictions) == 2
        if loss == "relative_entropy":
            # In a difference the entropy of the shares cancels; the rest is linear in the shares.
            linear = self._cross_entropies()
            return linear if of_pair else linear + self._summed(_relative_entropy)
        if loss in SUMS:
            out = self._summed(SUMS[loss], cumulated=loss == "transport")
        elif loss == "top_distance" and not of_pair:
            [out] = self._bounded([self._top_part()], _absolute)
        elif loss == "entropy":
            out = self._entropy_bounds()
        elif of_pair:
            return self._difference_of_bounds(loss)
        else:
            out = self._ranking_bounds() if loss == "rank" else self._root_bounds()
        return out if of_pair else out.at_least(0.0)

    # --- sums over classes -----------------------------------------------------------------------

    def _summed(self, term: Term, *, cumulated: bool = False) -> Bounds:
        """Bounds, in every row, of a distance that is the sum of `term` over classes; over
        cumulative shares if `cumulated`.
        """
        parts = self._parts(cumulated=cumulated)
        if len(parts) == 1 and not cumulated:
            term = _of_two(term)
        every = self._bounded(parts, term)
        return sum(every[1:], start=every[0])

    def _parts(self, *, cumulated: bool = False) -> list[Part]:
        """The terms to be bounded, one for each class; if `cumulated`, one for the classes up to
        each but the last. With two classes, one term stands for both.
        """
        counts, predictions, m = self.counts, self.predictions, self._m
        if cumulated:
            counts = np.cumsum(counts, axis=1)
            predictions = tuple(np.cumsum(p, axis=1) for p in predictions)
        columns = range(self._k - 1) if cumulated else (1,) if self._k == 2 else range(self._k)
        out = []
        for r in columns:
            x = np.clip(np.stack([p[:, r] for p in predictions], axis=1), 0.0, 1.0)
            out.append(Part(x, counts[:, r], m, tuple(x.T)))
        return out

    def _top_part(self) -> Part:
        """The term of the predicted class of each row."""
        [p] = self.predictions
        rows, top = np.arange(len(p)), p.argmax(axis=1)
        x = np.clip(p[rows, top], 0.0, 1.0)
        return Part(x[:, None], self.counts[rows, top], self._m, (x,))

    def _bounded(self, parts: list[Part], term: Term) -> list[Bounds]:
        """Bounds of `term` in every row, for each part; with two predictors, bounds of its
        difference.
        """
        f: Distance = partial(_differences, term)
        return bounds_of(parts, f, Binomial, DEGREES, self.fold, self.w)

    def _cross_entropies(self) -> Bounds:
        """The cross entropy of prediction and votes in every row, or the difference of two
        predictors', as bounds that coincide.

        It is linear in the true shares, so that the votes estimate it without bias, and both bounds
        are the estimate. The expectation of a row is its own estimate, so these bounds must not be
        clipped.
        """
        z = self.counts / self._m[:, None]
        first, *second = (
            -(z * np.log(np.maximum(p, LOG_FLOOR))).sum(axis=1) for p in self.predictions
        )
        rows = np.stack([first - second[0] if second else first] * 2)
        return Bounds(rows, rows)

    # --- whole distributions ---------------------------------------------------------------------

    def _entropy_bounds(self) -> Bounds:
        """Bounds, in every row, of the absolute difference between the entropy of the prediction
        and that of the true shares; with two predictors, of the first's less the second's.
        """
        x = np.stack([entropy(p) for p in self.predictions], axis=1)
        ordered = tuple(np.sort(p, axis=1)[:, ::-1] for p in self.predictions)

        def experiment(degree: int) -> Unlabelled:
            """The possible sorted numbers of votes among `degree` votes."""
            return Unlabelled(degree, self._k, self.predictions[0])

        part = Part(x, self.counts, self._m, ordered)
        f: Distance = partial(_differences, _absolute)
        degrees = unlabelled_degrees(self._k)
        [out] = bounds_of([part], f, experiment, degrees, self.fold, self.w)
        return out

    def _root_bounds(self) -> Bounds:
        """Bounds, in every row, of the root of the Jensen-Shannon divergence.

        A root lies below its tangents, and the root of a sum lies above every weighted sum of the
        terms' roots whose squared weights sum to 1 (Cauchy).
        """
        if self._k == 2:
            return self._bounded(self._parts(), _root(_of_two(_divergence)))[0]
        whole = self._summed(_divergence)
        # The tangent touches halfway between the expectations of the row and of all rows.
        near = np.maximum(whole.high[1], 0.0)
        at = np.sqrt(0.5 * (near + max(float(np.average(near, weights=self.w)), 1e-12)))
        roots = self._bounded(self._parts(), _root(_divergence))
        weights = np.maximum([each.low[1] for each in roots], 1e-12)
        weights /= np.sqrt((weights**2).sum(axis=0))
        low = np.einsum("rn,rsn->sn", weights, np.stack([each.low for each in roots]))
        return Bounds(low, 0.5 * (at + whole.high / at))

    def _ranking_bounds(self) -> Bounds:
        """Bounds, in every row, of whether the true shares rank all classes as the prediction does
        (1 or 0).

        By Bonferroni the probability of that is at most the probability that any one pair of
        neighbours is in order, and at least 1 less the sum of the probabilities that pairs are not.
        """
        [p] = self.predictions
        order = np.argsort(-p, axis=1, kind="stable")
        p = np.take_along_axis(p, order, axis=1)
        counts = np.take_along_axis(self.counts, order, axis=1)
        parts = []
        for r in range(self._k - 1):
            both = p[:, r] + p[:, r + 1]
            x = np.divide(p[:, r], both, out=np.full(len(p), 0.5), where=both > 0.0)[:, None]
            parts.append(Part(x, counts[:, r], counts[:, r] + counts[:, r + 1]))
        # The number of votes for two classes depends on the row's votes, and so would the expected
        # bound: means of the other folds replace it.
        every = [self._expect_fold_means(each) for each in self._bounded(parts, _order)]
        high = np.stack([each.high for each in every])
        tightest = high[:, 1].argmin(axis=0)
        out = Bounds(
            1.0 + np.sum([each.low - 1.0 for each in every], axis=0),
            np.take_along_axis(high, tightest[None, None], axis=0)[0],
        )
        return out.clipped_to(0.0, 1.0)

    def _expect_fold_means(self, bounds: Bounds) -> Bounds:
        """The same bounds; as each row's expected bound, the mean bound of the rows in the other
        folds.
        """
        low, high = (
            np.stack([each[0], np.full(len(self.w), end)])
            for each, end in ((bounds.low, -np.inf), (bounds.high, np.inf))
        )
        for held in range(int(self.fold.max()) + 1):
            own = self.fold == held
            if not own.all():
                for each in (low, high):
                    each[1, own] = np.average(each[0, ~own], weights=self.w[~own])
        return Bounds(low, high)

    def _difference_of_bounds(self, loss: str) -> Bounds:
        """Bounds of the first predictor's distance less the second's in every row, from those of
        each.

        By the triangle inequality the difference is at most the distance between the two
        predictions; for rankings it is 0 if the two predictions rank alike.
        """
        first, second = (replace(self, predictions=(p,)).bounds(loss) for p in self.predictions)
        if loss == "rank":
            one, other = self.predictions
            between = 1.0 - same_ranking(one, other) * same_ranking(other, one)
        else:
            between = distances(*self.predictions, floor=LOG_FLOOR, only=loss)[loss]
        return (first + second.reversed()).clipped_to(-between, between)
