"""Bounds of a mean of f(x, q) over rows, where the true shares q are known from a few votes only.

x is the prediction of a row, or those of two predictors. The expectation of a function g of a row's
m votes is a polynomial of degree m in q, and every polynomial of degree m is the expectation of
some g. If f(x, q) is no such polynomial, its mean is identified only in part: the mean of g is an
upper bound if g's polynomial lies above f for all q, and a lower bound if it lies below, whatever
the distribution of q. This holds in every row, and so for these rows and for their population.

The sharpest g depends on the distribution of the votes. It is fitted to some folds of the rows and
used in the other one, so that fitting does not bias the bound: a poor g makes it wider, never wrong
(Ji, Lei and Spector, 2023, arXiv:2310.08115, who do so for bounds of treatment effects). For
predictions near a knot, g minimises the largest mean over all distributions of votes within a
chi-square distance of the observed one. This quadratic programme is solved by non-negative least
squares (Lawson and Hanson, 1974, Solving Least Squares Problems, chapter 23). Between knots g is
interpolated, and then shifted until its polynomial lies on its side of f again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from calibrant._core.typing import Array, Counts, Index, Mask
from calibrant._inference.budget import (
    BORROWED,
    BOUNDED_ROWS,
    FITTED_ROWS,
    FOLDS,
    KNOTS,
    NEAR,
    OWN_CLASSES,
)
from calibrant._inference.vote_experiments import Binomial, Unlabelled

# A number of votes: their possible patterns, and true shares at which g is compared with f.
Experiment = Binomial | Unlabelled
# f: from x, (points, predictors), and true shares, (values,) or (points, 1), to (points, values).
Distance = Callable[[Array, Array], Array]


class Part(NamedTuple):
    """One term, such as a class, of a sum that is bounded.

    `x` are the predictions of every row, (n, predictors), `counts` its votes, such as those for the
    class, and `m` the number of all its votes. `kinks` has for each predictor the true shares at
    which the bounded function may have a kink.
    """

    x: Array
    counts: Counts
    m: Counts
    kinks: tuple[Array, ...] = ()


@dataclass(frozen=True, eq=False)
class Bounds:
    """A lower and an upper bound in every row, (2, n) each. The first of the two rows is the bound,
    the second its expectation by the other folds, which does not depend on the row's own votes.
    """

    low: Array
    high: Array

    @property
    def rows(self) -> Array:
        """The lower and the upper bound of every row, (2, n), without their expectations."""
        return np.stack([self.low[0], self.high[0]])

    def __add__(self, other: Bounds) -> Bounds:
        """The bounds of the sum of two functions."""
        return Bounds(self.low + other.low, self.high + other.high)

    def reversed(self) -> Bounds:
        """The bounds of the negative of the bounded function."""
        return Bounds(-self.high, -self.low)

    def at_least(self, low: float) -> Bounds:
        """The bounds of a function that is nowhere below `low`: in rows whose lower bound is
        expected to be at most `low`, it is replaced by `low`.
        """
        return Bounds(np.where(self.low[1] > low, self.low, low), self.high)

    def clipped_to(self, low: Any, high: Any) -> Bounds:
        """The bounds of a function that lies between `low` and `high`: a lower bound that is
        expected to be outside is replaced by `low`, an upper one by `high`.
        """
        better = [(low < each[1]) & (each[1] < high) for each in (self.low, self.high)]
        return Bounds(np.where(better[0], self.low, low), np.where(better[1], self.high, high))


def fold_of(n: int, groups: Index | None, seed: int) -> Index:
    """A random fold for every row, (n,). Rows of one cluster in `groups` get the same fold."""
    units = n if groups is None else int(groups.max()) + 1
    folds = np.random.default_rng((seed, 21)).permutation(units) % min(FOLDS, units)
    return (folds if groups is None else folds[groups]).astype(np.intp)


def bounds_of(
    parts: Sequence[Part],
    f: Distance,
    experiment: Callable[[int], Experiment],
    degrees: Sequence[int],
    fold: Index,
    w: Array,
) -> list[Bounds]:
    """Bounds of the function f in every row, for each part.

    They are means of functions of as many votes as the largest of `degrees` that a row has votes
    for. `experiment` gives the patterns that a number of votes can have; `fold` and `w` are the
    fold and the weight of every row.
    """
    knots = Knots(np.concatenate([part.x for part in parts]))
    out = [Bounds(np.zeros((2, len(w))), np.zeros((2, len(w)))) for _ in parts]
    level = [np.searchsorted(degrees, part.m, side="right") - 1 for part in parts]
    for at in np.unique(np.concatenate(level)).tolist():
        fit = _Fit(knots, f, experiment(degrees[at]), parts, w)
        for held in range(int(fold.max()) + 1):
            tallies = fit.tallies(fold != held)
            for members in _fit_groups(parts):
                functions = fit.solved(_added([tallies[j] for j in members]), _added(tallies))
                for j in members:
                    own = np.flatnonzero((fold == held) & (level[j] == at))
                    for rows in np.split(own, np.arange(BOUNDED_ROWS, len(own), BOUNDED_ROWS)):
                        fit.apply(functions, parts[j], rows, out[j])
    return out


def _fit_groups(parts: Sequence[Part]) -> list[list[int]]:
    """Lists of the numbers of parts that share one fit: the `OWN_CLASSES` parts with most votes
    each have their own, all others share one.
    """
    if len(parts) <= OWN_CLASSES:
        return [[j] for j in range(len(parts))]
    often = np.argsort([-int(part.counts.sum()) for part in parts], kind="stable").tolist()
    return [*([j] for j in often[:OWN_CLASSES]), often[OWN_CLASSES:]]


class Knots:
    """Knots of the predictions x, the same along each axis, and linear interpolation in the
    simplices between them (Kuhn's triangulation). Equal predictions of two predictors lie on an
    edge between knots.

    `points` are the knots that are used, (knots, predictors).
    """

    def __init__(self, x: Array) -> None:
        """Place the knots at quantiles of x, (n, predictors), and keep those next to some row."""
        at = np.unique(np.quantile(x, np.linspace(0.0, 1.0, KNOTS[x.shape[1]])))
        self._at = at if len(at) > 1 else np.append(at, at + 1.0)
        self._ids, self._sorted = np.empty(0, dtype=np.intp), np.sort(self._axes(x), axis=0)
        used = [self._corners(part)[0] for part in _chunks(x)]
        self._ids = np.unique(np.concatenate([np.unique(each) for each in used]))
        shape = (len(self._at),) * x.shape[1]
        self.points: Array = self._at[np.stack(np.unravel_index(self._ids, shape), axis=1)]

    @staticmethod
    def _axes(x: Array) -> Array:
        """The coordinates in which nearness is measured: x of one predictor; the mean of two
        predictions and their difference.
        """
        return x if x.shape[1] == 1 else np.stack([x.mean(axis=1), x[:, 1] - x[:, 0]], axis=1)

    def _corners(self, x: Array) -> tuple[Index, Array]:
        """The numbers of the knots at the corners of the simplex around each point, (n, corners),
        and their interpolation weights.
        """
        size, d = len(self._at), x.shape[1]
        below = np.clip(np.searchsorted(self._at, x) - 1, 0, size - 2)
        part = (x - self._at[below]) / (self._at[below + 1] - self._at[below])
        part = np.clip(part, 0.0, 1.0)
        order = np.argsort(-part, axis=1, kind="stable")
        ends = np.pad(np.take_along_axis(part, order, axis=1), ((0, 0), (1, 1)))
        ends[:, 0] = 1.0
        step = size ** np.arange(d - 1, -1, -1)
        walk = np.pad(np.cumsum(step[order], axis=1), ((0, 0), (1, 0)))
        return (below @ step)[:, None] + walk, -np.diff(ends, axis=1)

    def interpolated(self, x: Array, at_knots: Array) -> Array:
        """Values at the knots, (knots, ...), interpolated at the points x: (n, ...)."""
        ids, share = self._corners(x)
        return np.einsum("ns,ns...->n...", share, at_knots[np.searchsorted(self._ids, ids)])

    def nearness(self, x: Array) -> Array:
        """The kernel weight of each row at each knot, (knots, n): it falls with the distance of
        their ranks, and is above 0 everywhere.
        """
        out = np.ones((len(self.points), len(x)))
        axes = zip(self._axes(self.points).T, self._axes(x).T, self._sorted.T, strict=True)
        for (knots, rows, all_rows), near in zip(axes, NEAR[x.shape[1]], strict=True):
            at = np.clip(_rank(knots, all_rows), near / 2.0, 1.0 - near / 2.0)
            out *= np.maximum(1.0 - np.abs(at[:, None] - _rank(rows, all_rows)) / near, 1e-6)
        return out


def _rank(values: Array, among: Array) -> Array:
    """The mid-rank of values among the sorted numbers `among`, as a share between 0 and 1."""
    both = np.searchsorted(among, values) + np.searchsorted(among, values, side="right")
    return both / (2.0 * len(among))


def _chunks(x: Array) -> list[Array]:
    """The rows of x in chunks of at most `BOUNDED_ROWS`."""
    return np.split(x, np.arange(BOUNDED_ROWS, len(x), BOUNDED_ROWS))


class _Tally(NamedTuple):
    """At every knot, the sums of the kernel weights of rows by their pattern of votes, (knots,
    patterns), and the sums of the squared weights, (knots,).
    """

    sums: Array
    squares: Array

    @property
    def effective_rows(self) -> Array:
        """The effective number of rows at every knot (Kish), (knots,); 0 where a knot has no
        weight.
        """
        total: Array = self.sums.sum(axis=1)
        return np.divide(total**2, self.squares, out=0.0 * total, where=self.squares > 0)

    @property
    def shares(self) -> Array:
        """The distribution of vote patterns at every knot, (knots, patterns); 0 where a knot has no
        weight.
        """
        total: Array = self.sums.sum(axis=1, keepdims=True)
        return np.divide(self.sums, total, out=0.0 * self.sums, where=total > 0)


def _added(tallies: Sequence[_Tally]) -> _Tally:
    """The sum of several tallies."""
    sums, squares = zip(*tallies, strict=True)
    return _Tally(np.sum(sums, axis=0), np.sum(squares, axis=0))


class _Functions(NamedTuple):
    """Functions g of vote patterns whose expectations lie below (first) and above (second) the
    bounded function at every knot, (2, knots, patterns), and their means over the fitted
    distribution of votes, (2, knots).
    """

    g: Array
    mean: Array


class _Fit:
    """Functions of a number of votes that bound f: they are fitted at knots, and
    applied to rows.
    """

    def __init__(
        self, knots: Knots, f: Distance, experiment: Experiment, parts: Sequence[Part], w: Array
    ) -> None:
        """Compute f at the knots, and the nearness and vote patterns of the rows that functions are
        fitted to: a random part of those with enough votes. `w` are the weights of the rows.
        """
        self._knots, self._f, self._experiment = knots, f, experiment
        self._at_knots = f(knots.points, experiment.values)
        self._at_patterns = f(knots.points, experiment.pattern_values)
        # With many classes fewer rows of each suffice.
        size = FITTED_ROWS * OWN_CLASSES // max(len(parts), OWN_CLASSES)
        some = np.random.default_rng(22).permutation(len(w))[:size]
        self._rows = [some[part.m[some] >= experiment.degree] for part in parts]
        self._near = [
            knots.nearness(part.x[rows]) * w[rows]
            for part, rows in zip(parts, self._rows, strict=True)
        ]
        self._patterns = [
            experiment.patterns(part.counts[rows], part.m[rows])
            for part, rows in zip(parts, self._rows, strict=True)
        ]

    def tallies(self, fitted: Mask) -> list[_Tally]:
        """The vote patterns at every knot, counted in the rows where `fitted` is True: one tally
        for each part.
        """
        out = []
        for rows, near, patterns in zip(self._rows, self._near, self._patterns, strict=True):
            kept = fitted[rows]
            out.append(_Tally(near[:, kept] @ patterns[kept], (near[:, kept] ** 2).sum(axis=1)))
        return out

    def solved(self, own: _Tally, every: _Tally) -> _Functions:
        """The bounding functions for the votes of some parts, tallied in `own`; where these have
        few rows, up to `BORROWED` rows of all parts, tallied in `every`, are added.
        """
        borrowed = np.clip(every.effective_rows - own.effective_rows, 0.0, BORROWED)
        votes = own.effective_rows[:, None] * own.shares + borrowed[:, None] * every.shares
        n = votes.sum(axis=1)
        distribution = (votes + 1.0) / (n + votes.shape[1])[
            :, None
        ]  # one more vote of every pattern
        g = np.stack([-self._above(-1.0, distribution, n), self._above(1.0, distribution, n)])
        return _Functions(g, np.einsum("sap,ap->sa", g, distribution))

    def _above(self, sign: float, distribution: Array, n: Array) -> Array:
        """The function g of vote patterns at every knot, (knots, patterns), whose expectation lies
        above f (sign 1) or -f (sign -1), with the least mean under the worst distribution of votes.

        `distribution` is the observed one at every knot, (knots, patterns), from n rows, (knots,).
        The worst is over distributions within the chi-square distance ``degree / n`` of it, which
        is the mean distance of the true one. It adds ``sqrt(degree / n)`` standard deviations to
        the observed mean, which a parabola approximates.
        """
        f, plain = sign * self._at_knots, sign * self._at_patterns
        centre, width = (distribution * plain).sum(axis=1), np.ptp(f, axis=1)
        scale = np.maximum(np.sqrt((distribution * plain**2).sum(axis=1)), 1e-3 * width)
        slack = np.sqrt(max(self._experiment.degree, 1) / np.maximum(n, 1.0))
        above, out = self._experiment.chances.T, np.repeat(f[:, :1], distribution.shape[1], axis=1)
        for a in np.flatnonzero(width > 0.0):  # a constant is its own bound
            by = float(slack[a] / scale[a])
            out[a] = centre[a] + least_above(above, f[a] - centre[a], distribution[a], by)
        return out

    def apply(self, functions: _Functions, part: Part, rows: Index, out: Bounds) -> None:
        """Write the bounds of a part in some rows into `out`; `rows` are their numbers."""
        x, experiment = part.x[rows], self._experiment
        patterns = experiment.patterns(part.counts[rows], part.m[rows])
        f = self._f(x, experiment.values)
        kinks = [
            (self._f(x, values[:, None])[:, 0], experiment.chances_of(at[rows]))
            for at, values in zip(part.kinks, x.T, strict=False)
        ]
        for side, (sign, bound) in enumerate(((-1.0, out.low), (1.0, out.high))):
            g = self._knots.interpolated(x, functions.g[side])
            off = (sign * (f - g @ experiment.chances)).max(axis=1)
            for at_kink, chances in kinks:
                off = np.maximum(off, sign * (at_kink - np.einsum("np,pn->n", g, chances)))
            bound[0, rows] = np.einsum("np,np->n", g, patterns) + sign * off
            bound[1, rows] = self._knots.interpolated(x, functions.mean[side]) + sign * off


def least_above(chances: Array, f: Array, distribution: Array, slack: float) -> Array:
    """The g with ``chances @ g >= f`` that minimises ``distribution @ g + slack / 2 * distribution
    @ g**2``.

    `chances` are the probabilities of vote patterns at true shares, (shares, patterns), f is
    (shares,), and g and `distribution` are (patterns,). g is the point of a polyhedron that is
    nearest to ``-1 / slack``, found by non-negative least squares; without convergence it is the
    constant that is the largest f.
    """
    from scipy.optimize import nnls

    root = np.sqrt(slack * distribution)
    system = np.vstack([(chances / root).T, f + 1.0 / slack])
    target = np.zeros(len(system))
    target[-1] = 1.0
    try:
        weights, _ = nnls(system, target, maxiter=100 * len(f))
    except RuntimeError:  # without convergence a constant above f will do
        return np.full(distribution.shape, float(f.max()))
    left = system @ weights - target
    return -1.0 / slack - left[:-1] / left[-1] / root
