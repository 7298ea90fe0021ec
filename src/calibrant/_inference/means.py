"""Means over rows: losses, distances between distributions, and their limits.

The mean of a skewed loss is not normal about the truth: a few confident errors carry it. The
bootstrap's BCa interval of a mean has a closed form in its third moment (the ABC interval of
DiCiccio and Efron, 1992, doi:10.1093/biomet/79.2.231).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
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
from calibrant._inference.rounding import SLACK


def row_values(samples: Samples, *, distribution: bool) -> dict[str, Array]:
    """The losses of every row, (n,), by field of `LossSums`; with `distribution`, the distances
    between the predicted distributions and the labels instead.
    """
    parts: dict[str, list[Array]] = {}
    for p, q in distribution_blocks(samples):
        losses = losses_of_rows(p, q, distribution=distribution, multiclass=samples.multiclass)
        for name, values in losses.items():
            parts.setdefault(name, []).append(values)
    return {name: np.concatenate(values) for name, values in parts.items()}


def distribution_blocks(samples: Samples) -> Iterator[tuple[Array, Array]]:
    """Predictions and targets as probabilities of all classes, (rows, k) each, block of rows by
    block; with two classes k is 2.
    """
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


def row_weights(samples: Samples) -> Array:
    """The weight of every row, (n,); 1 where none are given."""
    weights = samples.weights
    return np.ones(samples.n) if weights is None else weights.astype(np.float64)


def distribution_rows(samples: Samples) -> tuple[Array, Array]:
    """Predictions and targets as probabilities of all classes, (n, k) each; with two classes k is
    2.
    """
    parts = list(distribution_blocks(samples))
    return np.concatenate([p for p, _ in parts]), np.concatenate([q for _, q in parts])


def losses_of_rows(p: Array, q: Array, *, distribution: bool, multiclass: bool) -> dict[str, Array]:
    """The losses (n,) of predictions p against targets q, (n, k) each, by name; with
    `distribution`, the distances of p from q instead.

    Unless `multiclass`, the Brier score is that of one class.
    """
    if distribution:
        return distances(p, q, floor=LOG_FLOOR)
    rows = np.arange(len(p))
    top = p.argmax(axis=1)
    if not multiclass:  # at 1/2 the top label is class 0, as everywhere
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
    """The influence of each row or cluster on an estimate. The error of the estimate is about the
    sum of the influences.

    `values` has one influence a unit (row or cluster), and `units` is their effective number.
    """

    values: Array
    units: float
    # Each row's share of the total weight; None without weights and for clusters.
    shares: Array | None = None
    # How many equal rows each row stands for, if not for one.
    counts: Array | float = 1.0

    @property
    def variance(self) -> float:
        """The variance of the estimate, before a correction for the number of units."""
        return self._variance_and_df[0]

    @property
    def df(self) -> float:
        """The degrees of freedom of the variance, by Satterthwaite."""
        return self._variance_and_df[1]

    @cached_property
    def _variance_and_df(self) -> tuple[float, float]:
        """The variance of the estimate, and its degrees of freedom by Satterthwaite: hardly more
        than the number of units that carry it.

        With weights, rows are grouped by weight, `ROWS_ALIKE` rows to a group, and the variance is
        at least the one that has each row's squared deviation replaced by its group's mean: a
        single heavy row does not show how heavy rows vary.
        """
        squares, most_df = self.values * self.values, self.units - 1.0
        variance, fourth = (float((self.counts * each).sum()) for each in (squares, squares**2))
        df = min(2.0 * variance**2 / fourth, most_df) if fourth > 0.0 else most_df
        if self.shares is None:
            return variance, df
        _, rank = np.unique(-self.shares, return_inverse=True)
        counts = np.broadcast_to(self.counts, self.values.shape)
        rows = np.bincount(rank, counts)
        # Rows of equal weight are in one group, so that the order of rows does not matter.
        group = ((np.cumsum(rows) - rows) // ROWS_ALIKE).astype(np.intp)[rank]
        counted = self.shares > 0
        deviation = np.divide(
            self.values, self.shares, out=np.zeros_like(self.values), where=counted
        )
        mean_square = np.bincount(group, counts * deviation**2) / np.maximum(
            np.bincount(group, counts * counted), 1.0
        )
        grouped = float((counts * self.shares**2 * mean_square[group]).sum())
        # With equal weights both are the same but for rounding.
        return (grouped, most_df) if grouped > variance * (1.0 + 1e-9) else (variance, df)

    @property
    def third(self) -> float:
        """The third central moment of the estimate: the sum of the cubed influences."""
        return float((self.counts * self.values * self.values) @ self.values)

    def in_blocks(self, index: Index, size: int) -> Influences:
        """The influences summed by block; `index` is the block of each row, of `size` blocks."""
        shares = None if self.shares is None else summed(index, self.shares, size)
        return Influences(summed(index, self.values, size), self.units, shares)

    def less(self, other: Influences) -> Influences:
        """The influences on the difference of two estimates from the same rows: the first less
        `other`.
        """
        return self.plus(other, -1.0)

    def plus(self, other: Influences, sign: float) -> Influences:
        """The influences on an estimate plus `sign` times another one from the same rows."""
        return replace(self, values=self.values + sign * other.values)


def influences(
    values: Array, weights: Array | None, groups: Index | None, counts: Array | None = None
) -> Influences:
    """The influences of rows, or of the clusters `groups`, on the weighted mean of
    `values`, (n,). `counts` is how many equal rows each row stands for, (n,), with their weight;
    one each if None.
    """
    w = np.ones(values.size) if weights is None else weights
    total = float(w.sum())
    deviations = (values - float((w * values).sum()) / total) / total
    of_rows, units = w * deviations, effective(w, groups, counts)
    if groups is not None:
        return Influences(summed(groups, of_rows, int(groups.max()) + 1), units)
    if counts is None:
        return Influences(of_rows, units, None if weights is None else w / total)
    shares = None if np.array_equal(w, counts) else w / total / counts
    return Influences(of_rows / counts, units, shares, counts)


def added_variances(parts: Sequence[Influences]) -> tuple[float, float]:
    """The variance of a sum or difference of estimates from different rows, and its degrees of
    freedom by Welch and Satterthwaite; infinite where all variances are 0.
    """
    total = sum(each.variance for each in parts)
    squares = sum(each.variance**2 / max(each.df, 0.5) for each in parts)
    return total, total**2 / squares if squares > 0 else math.inf


def mean_limits(parts: Influences, level: float) -> tuple[float, float, float]:
    """The lower and the upper limit of an estimate, both less the estimate, and its
    standard error.
    """
    return moment_limits(parts.variance, parts.third, parts.units, level, parts.df)


def moment_limits(
    variance: float, third: float, units: float, level: float, df: float | None = None
) -> tuple[float, float, float]:
    """The lower and the upper limit of a mean, both less the mean, and its standard error.

    They follow from its variance, its third central moment and the effective number of rows
    `units`; `df` are the degrees of freedom of the variance, units - 1 if None.
    """
    from scipy.special import ndtri, stdtrit

    unbiased = units / max(units - 1.0, 0.5)
    error = math.sqrt(variance * unbiased)
    if error == 0.0:
        return 0.0, 0.0, 0.0
    cube, tail = error**3, (1.0 - level) / 2.0
    acceleration = third / (6.0 * cube) if cube > 0.0 else 0.0  # 1e-150 cubed underflows
    normal = -float(ndtri(tail))
    # Student's quantile over the normal one, since the standard error is estimated.
    student = -float(stdtrit(max(1.0, units - 1.0 if df is None else df), tail)) / normal
    scale = error * student
    return scale * _abc(-normal, acceleration), scale * _abc(normal, acceleration), error


def _abc(normal: float, acceleration: float) -> float:
    """The ABC limit of a mean in standard errors, at the quantile `normal` of the normal
    distribution. Bias correction and acceleration of a mean are both its skewness / 6.
    """
    w = acceleration + normal
    return w / max(1.0 - acceleration * w, SLACK) ** 2


def null_moments(p: Array) -> dict[str, tuple[Array, Array, Array]]:
    """Mean, variance and third central moment of each row's loss, (n,) each, by the loss's name, if
    its label is drawn from its prediction p, (n, k).
    """
    squares = np.einsum("ij,ij->i", p, p)
    size = np.sqrt(squares)
    log = -np.log(np.maximum(p, LOG_FLOOR))
    c = p.max(axis=1)

    def moments_about(values: Array, mean: Array) -> tuple[Array, Array]:
        """Variance and third central moment of each row's loss, (n,) each; the loss is `values[:,
        r]` if the label is class r, and its mean is `mean`.
        """
        deviation = values - mean[:, None]
        power = deviation * deviation
        variance = np.einsum("ij,ij->i", p, power)
        power *= deviation
        return variance, np.einsum("ij,ij->i", p, power)

    def of_top_label(right: Array, wrong: Array) -> tuple[Array, Array, Array]:
        """Mean, variance and third central moment, (n,) each, of a loss that is `right` if the top
        label is right, and else `wrong`.
        """
        change = right - wrong
        variance = c * (1.0 - c)
        return wrong + c * change, variance * change**2, variance * (1.0 - 2.0 * c) * change**3

    # Brier and spherical losses are linear in the probability of the label.
    rest = np.einsum("ij,ij->i", p, 1.0 - p)  # 1 - squares, without cancellation
    second, third = moments_about(p, squares)
    mean_log = np.einsum("ij,ij->i", p, log)
    return {
        "brier": (rest, 4.0 * second, -8.0 * third),
        "log": (mean_log, *moments_about(log, mean_log)),
        "spherical": (rest / (1.0 + size), second / squares, -third / (squares * size)),
        "classification": of_top_label(np.zeros_like(c), np.ones_like(c)),
        "confidence": of_top_label((1.0 - c) ** 2, 1.0 + c * c),
    }


def null_losses(
    samples: Samples, counts: Array | None = None
) -> dict[str, tuple[float, float, float]]:
    """Mean, standard deviation and skewness of the mean of every proper loss, by its name, if
    labels are drawn from the predictions. `counts` is how many equal rows each row stands for; one
    each if None.
    """
    sums: dict[str, Array] = {}
    total, step = 0.0, max(1, ROW_ENTRIES // samples.n_classes)
    for start in range(0, samples.n, step):
        block = samples.block(start, min(start + step, samples.n))
        p = np.clip(block.predictions.astype(np.float64), 0.0, 1.0)
        p = p / p.sum(axis=1, keepdims=True) if samples.multiclass else np.stack([1 - p, p], axis=1)
        w = np.ones(len(p)) if block.weights is None else block.weights
        each = w if counts is None else w / counts[start : start + len(p)]
        total += float(w.sum())
        for name, (mean, variance, third) in null_moments(p).items():
            scale = 0.5 if name == "brier" and not samples.multiclass else 1.0
            part = np.array(
                [
                    scale * (w @ mean),
                    scale**2 * ((w * each) @ variance),
                    scale**3 * ((w * each * each) @ third),
                ]
            )
            sums[name] = sums[name] + part if name in sums else part
    out = {}
    for name, (mean, variance, third) in sums.items():
        deviation = math.sqrt(max(float(variance), 0.0))
        cube = deviation**3  # underflows for predictions of 1e-300
        skew = float(third) / cube if cube > 0 else 0.0
        out[name] = (float(mean) / total, deviation / total, skew)
    return out
