"""Means of rows: losses, and distances between distributions.

The mean of a skewed loss is not normal about the truth: a few wrong certainties carry it. The
bootstrap's BCa limits have a closed form for a mean (the ABC limits of DiCiccio and Efron, 1992,
doi:10.1093/biomet/79.2.231): its third moment tells how far each limit must move.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from calibrant._core.distances import distances
from calibrant._core.typing import Array, Index
from calibrant._data.links import LOG_FLOOR
from calibrant._data.samples import Samples
from calibrant._inference.blocks import effective, summed
from calibrant._inference.budget import ROW_ENTRIES
from calibrant._inference.numbers import ROWS_ALIKE


def row_values(samples: Samples, *, distribution: bool) -> dict[str, Array]:
    """The losses of every row by field of `LossSums`; with `distribution` the distances of
    distributions.
    """
    parts: dict[str, list[Array]] = {}
    for p, q in distribution_blocks(samples):
        losses = losses_of_rows(p, q, distribution=distribution, multiclass=samples.multiclass)
        for name, values in losses.items():
            parts.setdefault(name, []).append(values)
    return {name: np.concatenate(values) for name, values in parts.items()}


def distribution_blocks(samples: Samples) -> Iterator[tuple[Array, Array]]:
    """Predictions and targets as rows of probabilities, block by block."""
    k = samples.n_classes
    step = max(1, ROW_ENTRIES // k)
    for start in range(0, samples.n, step):
        block = samples.block(start, min(start + step, samples.n))
        p = np.clip(block.predictions.astype(np.float64), 0.0, 1.0)
        z = block.targets
        if not samples.multiclass:
            p = np.stack([1.0 - p, p], axis=1)
            z = np.clip(z.astype(np.float64), 0.0, 1.0)
            yield p, np.stack([1.0 - z, z], axis=1)
            continue
        if z.ndim == 1:
            q = np.zeros(p.shape)
            q[np.arange(len(p)), z.astype(np.int64)] = 1.0
        else:
            q = np.clip(z.astype(np.float64), 0.0, 1.0)
        yield p, q


def distribution_rows(samples: Samples) -> tuple[Array, Array]:
    """Predictions and targets as rows of probabilities, (n, k); of binary problems (n, 2)."""
    parts = list(distribution_blocks(samples))
    return np.concatenate([p for p, _ in parts]), np.concatenate([q for _, q in parts])


def losses_of_rows(p: Array, q: Array, *, distribution: bool, multiclass: bool) -> dict[str, Array]:
    """The losses of rows of probabilities; with `distribution` the distances of p from q."""
    if distribution:
        return distances(p, q, floor=LOG_FLOOR)
    rows = np.arange(len(p))
    top = p.argmax(axis=1)
    if not multiclass:  # of two equal ones the class 0 is the top label, as everywhere
        top = (p[:, 1] > p[:, 0]).astype(np.intp)
    c, hit = p[rows, top], q[rows, top]
    square = ((p - q) ** 2).sum(axis=1)
    size = np.sqrt(np.einsum("ij,ij->i", p, p))
    return {
        "brier": square if multiclass else square / 2.0,
        "log": -np.einsum("ij,ij->i", q, np.log(np.maximum(p, LOG_FLOOR))),
        "spherical": 1.0 - np.einsum("ij,ij->i", p, q) / np.where(size > 0, size, 1.0),
        "classification": 1.0 - hit,
        "hits": hit,
        "confidence": 1.0 - hit + (c - hit) ** 2,
    }


@dataclass(frozen=True, eq=False)
class Influences:
    """What each row or cluster moves a weighted mean by, and how many equal ones there would be."""

    moved: Array
    units: float
    # Each row's share of the weight, where rows have weights of their own.
    shares: Array | None = None

    @property
    def variance(self) -> float:
        """The variance of the mean."""
        return self._spread[0]

    @property
    def df(self) -> float:
        """To how many degrees of freedom the variance is known."""
        return self._spread[1]

    @cached_property
    def _spread(self) -> tuple[float, float]:
        """The variance and its degrees of freedom, by Satterthwaite's match: where a few units
        carry it, hardly more than there are of these. Where few rows carry most of the weight, it
        is at least what rows of about their weight show, of which there are more.
        """
        squares, fewest = self.moved * self.moved, self.units - 1.0
        own, fourth = float(squares.sum()), float(squares @ squares)
        df = min(2.0 * own**2 / fourth, fewest) if fourth > 0.0 else fewest
        if self.shares is None:
            return own, df
        _, level, rows = np.unique(-self.shares, return_inverse=True, return_counts=True)
        # Rows of one weight stay together, so that their order does not matter.
        alike = ((np.cumsum(rows) - rows) // ROWS_ALIKE)[level]
        carries = self.shares > 0
        apart = np.divide(self.moved, self.shares, out=np.zeros_like(self.moved), where=carries)
        each = np.bincount(alike, apart**2) / np.maximum(np.bincount(alike, carries), 1.0)
        known = float((self.shares**2 * each[alike]).sum())
        # Equal weights are none, to the last bit.
        return (known, fewest) if known > own * (1.0 + 1e-9) else (own, df)

    @property
    def third(self) -> float:
        """The third moment of the mean."""
        return float((self.moved * self.moved) @ self.moved)

    def in_blocks(self, index: Index, size: int) -> Influences:
        """Those of blocks of rows."""
        shares = None if self.shares is None else summed(index, self.shares, size)
        return Influences(summed(index, self.moved, size), self.units, shares)

    def less(self, other: Influences) -> Influences:
        """Those of the difference of two means of the same rows."""
        return replace(self, moved=self.moved - other.moved)


def influences(values: Array, weights: Array | None, groups: Index | None) -> Influences:
    """How the rows, or clusters, of a weighted mean scatter about it."""
    w = np.ones(values.size) if weights is None else weights
    total = float(w.sum())
    moved = w * (values - float((w * values).sum()) / total) / total
    units = effective(w, groups)
    if groups is None:
        return Influences(moved, units, None if weights is None else w / total)
    return Influences(summed(groups, moved, int(groups.max()) + 1), units)


def mean_limits(parts: Influences, level: float) -> tuple[float, float, float]:
    """How far the lower and the upper limit lie from the mean, and its standard error."""
    return moment_limits(parts.variance, parts.third, parts.units, level, parts.df)


def moment_limits(
    variance: float, third: float, units: float, level: float, df: float | None = None
) -> tuple[float, float, float]:
    """Those of a mean with this variance and third moment, of so many equal rows."""
    from scipy.special import ndtri, stdtrit

    wider = units / max(units - 1.0, 0.5)
    spread = math.sqrt(variance * wider)
    if spread == 0.0:
        return 0.0, 0.0, 0.0
    cube, tail = spread**3, (1.0 - level) / 2.0
    lean = third / (6.0 * cube) if cube > 0.0 else 0.0  # losses of 1e-150 have a cube of 0
    point = -float(ndtri(tail))
    # Student's point over the normal one: the spread itself is not well known.
    known = -float(stdtrit(max(1.0, units - 1.0 if df is None else df), tail)) / point
    room = spread * known
    return room * _abc(-point, lean), room * _abc(point, lean), spread


def _abc(point: float, lean: float) -> float:
    """A limit in standard errors: bias and acceleration of a mean are both its skewness / 6."""
    w = lean + point
    room = 1.0 - lean * w
    return w / max(room, 0.2) ** 2


def null_moments(p: Array) -> dict[str, tuple[Array, Array, Array]]:
    """Mean, variance and third central moment of each row's losses over its outcomes."""
    squares = np.einsum("ij,ij->i", p, p)
    size = np.sqrt(squares)
    log = -np.log(np.maximum(p, LOG_FLOOR))
    c = p.max(axis=1)

    def moments_about(values: Array, mean: Array) -> tuple[Array, Array]:
        """Second and third moments of what the outcome r gives the value `values[:, r]`."""
        away = values - mean[:, None]
        power = away * away
        variance = np.einsum("ij,ij->i", p, power)
        power *= away
        return variance, np.einsum("ij,ij->i", p, power)

    def hit(right: Array, wrong: Array) -> tuple[Array, Array, Array]:
        """Of a loss that depends on whether the top label is right."""
        apart = right - wrong
        spread = c * (1.0 - c)
        return wrong + c * apart, spread * apart**2, spread * (1.0 - 2.0 * c) * apart**3

    # Brier and spherical losses fall with the probability of the outcome, in a straight line.
    rest = np.einsum("ij,ij->i", p, 1.0 - p)  # 1 less the squares, without cancellation
    second, third = moments_about(p, squares)
    mean_log = np.einsum("ij,ij->i", p, log)
    return {
        "brier": (rest, 4.0 * second, -8.0 * third),
        "log": (mean_log, *moments_about(log, mean_log)),
        "spherical": (rest / (1.0 + size), second / squares, -third / (squares * size)),
        "classification": hit(np.zeros_like(c), np.ones_like(c)),
        "confidence": hit((1.0 - c) ** 2, 1.0 + c * c),
    }


def null_losses(samples: Samples) -> dict[str, tuple[float, float, float]]:
    """Mean, standard deviation and skewness of every proper loss when outcomes come from the
    predictions.
    """
    sums: dict[str, Array] = {}
    total, step = 0.0, max(1, ROW_ENTRIES // samples.n_classes)
    for start in range(0, samples.n, step):
        block = samples.block(start, min(start + step, samples.n))
        p = np.clip(block.predictions.astype(np.float64), 0.0, 1.0)
        p = p / p.sum(axis=1, keepdims=True) if samples.multiclass else np.stack([1 - p, p], axis=1)
        w = np.ones(len(p)) if block.weights is None else block.weights
        total += float(w.sum())
        for name, (mean, variance, third) in null_moments(p).items():
            scale = 0.5 if name == "brier" and not samples.multiclass else 1.0
            part = np.array(
                [
                    scale * (w @ mean),
                    scale**2 * ((w * w) @ variance),
                    scale**3 * ((w * w * w) @ third),
                ]
            )
            sums[name] = sums[name] + part if name in sums else part
    out = {}
    for name, (mean, variance, third) in sums.items():
        spread = math.sqrt(max(float(variance), 0.0))
        cube = spread**3  # 0 already where predictions are of 1e-300
        skew = float(third) / cube if cube > 0 else 0.0
        out[name] = (float(mean) / total, spread / total, skew)
    return out
