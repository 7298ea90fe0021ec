"""Bounds, row by row, on distances from the label distributions that votes were drawn from.

A distance that is a sum over classes is bounded class by class: each term depends on one share and
on the votes for that class. An entropy does not depend on which class has which share, so only the
sorted votes count. A root of a sum is bounded by its tangent and by Cauchy's inequality, and the
order of all classes by the order of each class and the next.
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
    return np.abs(x - q)


def _half(x: Array, q: Array) -> Array:
    return 0.5 * np.abs(x - q)


def _divergence(x: Array, q: Array) -> Array:
    """What a class adds to the Jensen-Shannon divergence."""
    x, q = np.broadcast_arrays(x, q)
    return jensen_shannon(x.reshape(-1, 1), q.reshape(-1, 1)).reshape(x.shape)


def _relative_entropy(x: Array, q: Array) -> Array:
    """What a class adds to the divergence of Kullback and Leibler, but for what is linear in q."""
    return q * np.log(np.where(q > 0.0, q, 1.0)) + 0.0 * x


def _order(x: Array, q: Array) -> Array:
    """Whether a class that is predicted above another one, with the share x of both, has no smaller
    share than it; of equal predictions, the same share.
    """
    return np.where(x > 0.5, q >= 0.5, q == 0.5).astype(np.float64)


# Distances that are sums over classes; of ordered classes over what lies below each.
SUMS: dict[str, Term] = {
    "distribution": _half,
    "absolute": _absolute,
    "transport": _absolute,
    "jensen_shannon": _divergence,
}


def _of_two(term: Term) -> Term:
    """A sum over two classes as a function of the second one's share."""
    return lambda x, q: term(x, q) + term(1.0 - x, 1.0 - q)


def _root(term: Term) -> Term:
    return lambda x, q: np.sqrt(np.maximum(term(x, q), 0.0))


def _differences(term: Term, x: Array, q: Array) -> Array:
    """The term of one predictor, or that of the first less that of the second: x is (rows, 1 or
    2).
    """
    out = term(x[:, :1], np.atleast_2d(q))
    return out if x.shape[1] == 1 else out - term(x[:, 1:], np.atleast_2d(q))


@dataclass(frozen=True, eq=False)
class VotedDistances:
    """Votes of every row, (n, k), with weights and folds; and the predictions of one predictor, or
    of two whose difference is bounded.
    """

    predictions: tuple[Array, ...]
    counts: Counts
    w: Array
    fold: Index

    @property
    def _m(self) -> Counts:
        return self.counts.sum(axis=1)

    @property
    def _k(self) -> int:
        return int(self.counts.shape[1])

    def bounds(self, loss: str) -> Bounds:
        """Bounds of a distance, or of a difference of two, in every row."""
        of_pair = len(self.predictions) == 2
        if loss == "relative_entropy":
            # The entropy of the votes is in both of a pair, and the rest is linear in the shares.
            linear = self._cross_entropies()
            return linear if of_pair else linear + self._summed(_relative_entropy)
        if loss in SUMS:
            out = self._summed(SUMS[loss], cumulated=loss == "transport")
        elif loss == "entropy":
            out = self._of_entropies()
        elif of_pair:
            return self._apart(loss)
        else:
            out = self._of_orders() if loss == "rank" else self._of_roots()
        return out if of_pair else out.at_least(0.0)

    # --- sums over classes -----------------------------------------------------------------------

    def _summed(self, term: Term, *, cumulated: bool = False) -> Bounds:
        parts = self._parts(cumulated=cumulated)
        if len(parts) == 1 and not cumulated:
            term = _of_two(term)
        every = self._bounded(parts, term)
        return sum(every[1:], start=every[0])

    def _parts(self, *, cumulated: bool = False) -> list[Part]:
        """Classes, or classes up to each but the last; of two classes one tells of both."""
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

    def _bounded(self, parts: list[Part], term: Term) -> list[Bounds]:
        f: Distance = partial(_differences, term)
        return bounds_of(parts, f, Binomial, DEGREES, self.fold, self.w)

    def _cross_entropies(self) -> Bounds:
        """What is linear in the shares needs no bounds: votes have its mean. Nothing is expected of
        a row beside its own votes, so that these bounds are not to be cut.
        """
        z = self.counts / self._m[:, None]
        first, *second = (
            -(z * np.log(np.maximum(p, LOG_FLOOR))).sum(axis=1) for p in self.predictions
        )
        rows = np.stack([first - second[0] if second else first] * 2)
        return Bounds(rows, rows)

    # --- whole distributions ---------------------------------------------------------------------

    def _of_entropies(self) -> Bounds:
        x = np.stack([entropy(p) for p in self.predictions], axis=1)
        ordered = tuple(np.sort(p, axis=1)[:, ::-1] for p in self.predictions)

        def experiment(degree: int) -> Unlabelled:
            return Unlabelled(degree, self._k, self.predictions[0])

        part = Part(x, self.counts, self._m, ordered)
        f: Distance = partial(_differences, _absolute)
        degrees = unlabelled_degrees(self._k)
        [out] = bounds_of([part], f, experiment, degrees, self.fold, self.w)
        return out

    def _of_roots(self) -> Bounds:
        """A root lies below its tangents, and the root of a sum of squares above every sum of them
        with weights whose squares sum to 1.
        """
        if self._k == 2:
            return self._bounded(self._parts(), _root(_of_two(_divergence)))[0]
        whole = self._summed(_divergence)
        # Where the tangent touches: halfway between what is expected of a row and of all.
        near = np.maximum(whole.high[1], 0.0)
        at = np.sqrt(0.5 * (near + max(float(np.average(near, weights=self.w)), 1e-12)))
        roots = self._bounded(self._parts(), _root(_divergence))
        weights = np.maximum([each.low[1] for each in roots], 1e-12)
        weights /= np.sqrt((weights**2).sum(axis=0))
        low = np.einsum("rn,rsn->sn", weights, np.stack([each.low for each in roots]))
        return Bounds(low, 0.5 * (at + whole.high / at))

    def _of_orders(self) -> Bounds:
        """All neighbours must be in order. That are no more rows than have two of them in order,
        and no fewer than are left without those that have two of them out of order.
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
        # How many votes two classes have depends on the row's votes, and so does what is expected.
        every = [self._as_others(each) for each in self._bounded(parts, _order)]
        high = np.stack([each.high for each in every])
        tightest = high[:, 1].argmin(axis=0)
        out = Bounds(
            1.0 + np.sum([each.low - 1.0 for each in every], axis=0),
            np.take_along_axis(high, tightest[None, None], axis=0)[0],
        )
        return out.clipped_to(0.0, 1.0)

    def _as_others(self, bounds: Bounds) -> Bounds:
        """The same bounds, of which nothing is expected but the means of the other folds."""
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

    def _apart(self, loss: str) -> Bounds:
        """A difference of two whose bounds are found apart; it is at most what is between the two
        predictions, a distance that keeps the triangle inequality or two different orders.
        """
        first, second = (replace(self, predictions=(p,)).bounds(loss) for p in self.predictions)
        if loss == "rank":
            one, other = self.predictions
            between = 1.0 - same_ranking(one, other) * same_ranking(other, one)
        else:
            between = distances(*self.predictions, floor=LOG_FLOOR, only=loss)[loss]
        return (first + second.reversed()).clipped_to(-between, between)
