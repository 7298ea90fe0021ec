"""The rate behind a judge's answers to all rows, some of which have a human label too.

Every estimate is a smooth function of weighted means, so its variance is the sum of squared
influences of rows, or of clusters (Angelopoulos et al., 2023, arXiv:2311.01453, for the
prediction-powered mean; Rogan and Gladen, 1978, doi:10.1093/oxfordjournals.aje.a112510, for the
rate corrected by sensitivity and specificity).

A judge that agrees with twenty labels is not known to be perfect, though the sample variance of its
errors is 0. So variances come from the labelled rows and half a row in each corner, (human, judge)
= (0, 0), (0, 1), (1, 0), (1, 1), as Agresti and Min (2005, doi:10.1002/sim.1781) have it for paired
shares; a quarter is enough for Rogan and Gladen's rate. tests/long/test_long_judge.py has the
coverage.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from calibrant._core.typing import Array, Index
from calibrant._inference.blocks import effective
from calibrant._inference.budget import LABELS_TO_SPARE
from calibrant._inference.numbers import ADDED_ROWS
from calibrant._measures.proportions import wilson_limits

# The human labels and the judge's answers of the four corners.
_HUMAN, _JUDGED = np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.0, 1.0, 0.0, 1.0])


@dataclass(frozen=True)
class Limits:
    """An estimate with its interval; NaN where it is not defined."""

    value: float
    low: float
    high: float


UNDEFINED = Limits(math.nan, math.nan, math.nan)


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """The labelled rows first, then the others: human labels (n,), the judge's answers (n + m,),
    weights (n + m,), and the cluster of each row as a number, (n + m,), or None.
    """

    human: Array
    judged: Array
    weights: Array
    groups: Index | None
    level: float
    # How many rows are added in each corner.
    added: float = ADDED_ROWS

    @property
    def n(self) -> int:
        """The number of labelled rows."""
        return self.human.size

    @cached_property
    def units(self) -> float:
        """The effective number of labelled rows, or of clusters that have labelled rows."""
        if self.groups is None:
            return effective(self.weights[: self.n])
        clusters = np.unique(self.groups[: self.n], return_inverse=True)[1]
        return effective(self.weights[: self.n], clusters)

    @cached_property
    def quantile(self) -> float:
        """Student's quantile for the level, by the number of labelled units."""
        from scipy.special import stdtrit

        return float(stdtrit(max(self.units - 1.0, 1.0), (1.0 + self.level) / 2.0))

    @cached_property
    def shares(self) -> Array:
        """Each labelled row's share of the weight of labelled rows, and 0 for the corners."""
        weights = self.weights[: self.n]
        return np.append(weights / weights.sum(), np.zeros(4))

    @cached_property
    def with_corners(self) -> Array:
        """The same, with `added` rows of mean weight in each corner, (n + 4,)."""
        mean = self.weights[: self.n].mean()
        weights = np.append(self.weights[: self.n], np.full(4, self.added * mean))
        return np.asarray(weights / weights.sum())

    @cached_property
    def labels(self) -> Array:
        """The human labels, and those of the corners, (n + 4,)."""
        return np.append(self.human, _HUMAN)

    @cached_property
    def answers(self) -> Array:
        """The judge's answers to the labelled rows, and those of the corners, (n + 4,)."""
        return np.append(self.judged[: self.n], _JUDGED)

    @cached_property
    def others(self) -> Array:
        """The judge's answers to the unlabelled rows, (m,)."""
        return self.judged[self.n :]

    @cached_property
    def other_shares(self) -> Array:
        """Each unlabelled row's share of their weight, (m,)."""
        weights = self.weights[self.n :]
        return np.asarray(weights / weights.sum()) if weights.size else weights

    def variance(self, labelled: Array, other: Array | None = None) -> float:
        """The variance of an estimate by the influences of labelled rows and corners, (n + 4,), and
        of the unlabelled rows, (m,), if it depends on them.
        """
        rows = np.zeros(self.judged.size)
        rows[: self.n] = labelled[: self.n]
        if other is not None:
            rows[self.n :] = other
        sums = rows if self.groups is None else np.bincount(self.groups, rows)
        corners = float((labelled[self.n :] ** 2).sum()) / self.added  # each is a part of a row
        few = (self.units + 4 * self.added) / max(self.units - 1.0, 0.5)
        return (float((sums**2).sum()) + corners) * few

    def share(self, value: float, cornered: float, variance: float) -> Limits:
        """Wilson's interval of a share, by the number of independent rows that would give it this
        variance. `cornered` is the estimate with the corners.
        """
        value, inside = min(max(value, 0.0), 1.0), min(max(cornered, 1e-6), 1.0 - 1e-6)
        independent = np.asarray([inside * (1.0 - inside) / variance])
        low, high = wilson_limits(np.asarray([value]), independent, self.quantile)
        return Limits(value, float(low[0]), float(high[0]))

    def about(self, value: float, cornered: float, variance: float, least: float) -> Limits:
        """Limits of an estimate between `least` and 1, symmetric about that with the corners."""
        half = self.quantile * math.sqrt(variance)
        low, high = min(cornered - half, value), max(cornered + half, value)
        return Limits(value, max(low, least), min(high, 1.0))


def prediction_powered(rows: JudgedRows, *, alone: bool = False) -> Limits:
    """The prediction-powered rate: ``mean_m(lam j) + mean_n(h - lam j)`` with the lam of least
    variance; with `alone`, lam = 0, the human labels alone.
    """
    lam = 0.0 if alone else _Moments.of(rows, rows.shares).lam(rows)
    residual = rows.labels - lam * rows.answers
    mean_of_others = float(rows.other_shares @ rows.others) if rows.others.size else 0.0
    plain, cornered = float(rows.shares @ residual), float(rows.with_corners @ residual)
    variance = rows.variance(
        rows.with_corners * (residual - cornered),
        lam * rows.other_shares * (rows.others - mean_of_others),
    )
    shift = lam * mean_of_others
    return rows.share(plain + shift, cornered + shift, variance)


def rogan_gladen(rows: JudgedRows) -> Limits:
    """The rate by sensitivity and specificity, ``(p - (1 - spec)) / (sens + spec - 1)``, where p is
    the judge's rate among the unlabelled rows. Undefined unless sens + spec > 1.
    """
    rows = replace(rows, added=ADDED_ROWS / 2.0)
    p = float(rows.other_shares @ rows.others)

    def parts(shares: Array) -> tuple[float, float, float]:
        """The estimate, cut to [0, 1], the mean answer where the label is 1, and where it is 0."""
        hit, alarm = (_mean_where(rows, shares, label) for label in (1.0, 0.0))
        better = hit > alarm  # also False for NaN
        rate = (p - alarm) / (hit - alarm) if better else math.nan
        return min(max(rate, 0.0), 1.0) if better else math.nan, hit, alarm

    plain = parts(rows.shares)[0]
    cornered, hit, alarm = parts(rows.with_corners)
    if math.isnan(plain) or math.isnan(cornered):
        return UNDEFINED
    ones = rows.labels == 1.0
    weight = np.where(ones, rows.with_corners @ ones, rows.with_corners @ ~ones)
    errors = rows.with_corners / weight * (rows.answers - np.where(ones, hit, alarm))
    moved = -np.where(ones, cornered, 1.0 - cornered) * errors
    other = rows.other_shares * (rows.others - p)
    variance = rows.variance(moved, other) / (hit - alarm) ** 2
    return rows.about(plain, cornered, variance, 0.0)


def mean_answer(rows: JudgedRows, label: float) -> Limits:
    """The judge's mean answer where the human label is `label`: the sensitivity for 1, and 1 minus
    the specificity for 0.
    """
    value = _mean_where(rows, rows.shares, label)
    if math.isnan(value):
        return UNDEFINED
    cornered, here = _mean_where(rows, rows.with_corners, label), rows.labels == label
    weight = float(rows.with_corners @ here)
    errors = rows.with_corners * here / weight * (rows.answers - cornered)
    return rows.share(value, cornered, rows.variance(errors))


def _mean_where(rows: JudgedRows, shares: Array, label: float) -> float:
    """The mean answer of the labelled rows with this label; NaN if there are none."""
    here = shares * (rows.labels == label)
    return float(here @ rows.answers / here.sum()) if here.sum() > 0 else math.nan


def judge_alone(rows: JudgedRows) -> Limits:
    """The judge's mean answer to all rows, labelled or not."""
    weights = rows.weights / rows.weights.sum()
    value = float(weights @ rows.judged)
    moved = weights * (rows.judged - value)
    sums = moved if rows.groups is None else np.bincount(rows.groups, moved)
    return rows.share(value, value, max(float((sums**2).sum()), 1.0 / rows.judged.size**2))


def bias(rows: JudgedRows) -> Limits:
    """The judge's mean answer less the mean human label, in the labelled rows."""
    gaps = rows.answers - rows.labels
    cornered = float(rows.with_corners @ gaps)
    variance = rows.variance(rows.with_corners * (gaps - cornered))
    return rows.about(float(rows.shares @ gaps), cornered, variance, -1.0)


def kappa(rows: JudgedRows) -> tuple[Limits, float]:
    """Cohen's kappa of human labels and decisions, both 0 or 1, and the largest kappa that their
    two rates allow. Undefined where all labels and decisions are one.
    """
    value, ceiling, _ = _kappa_and_influences(rows, rows.shares)
    cornered, _, influences = _kappa_and_influences(rows, rows.with_corners)
    if math.isnan(value):
        return UNDEFINED, math.nan
    return rows.about(value, cornered, rows.variance(influences), -1.0), ceiling


def _kappa_and_influences(rows: JudgedRows, shares: Array) -> tuple[float, float, Array]:
    """Kappa, its ceiling, and the influence of each labelled row and corner on kappa."""
    human, judged = float(shares @ rows.labels), float(shares @ rows.answers)
    agree = (rows.labels == rows.answers).astype(np.float64)
    observed = float(shares @ agree)
    expected = human * judged + (1.0 - human) * (1.0 - judged)
    most = min(human, judged) + min(1.0 - human, 1.0 - judged)
    if expected >= 1.0:
        return math.nan, math.nan, np.zeros_like(agree)
    chance = (2.0 * judged - 1.0) * (rows.labels - human)
    chance += (2.0 * human - 1.0) * (rows.answers - judged)
    moved = (agree - observed) * (1.0 - expected) - chance * (1.0 - observed)
    influences = shares * moved / (1.0 - expected) ** 2
    return (
        (observed - expected) / (1.0 - expected),
        (most - expected) / (1.0 - expected),
        influences,
    )


def random_part_p_value(rows: JudgedRows) -> float:
    """The p-value of the hypothesis that the judge's mean answer is the same in the labelled and in
    the unlabelled rows, as where the labelled ones are a random part.
    """
    from scipy.special import stdtr

    here, there = float(rows.shares @ rows.answers), float(rows.other_shares @ rows.others)
    cornered = float(rows.with_corners @ rows.answers)
    variance = rows.variance(
        rows.with_corners * (rows.answers - cornered), rows.other_shares * (there - rows.others)
    )
    return 2.0 * float(stdtr(max(rows.units - 1.0, 1.0), -abs(here - there) / math.sqrt(variance)))


def labels_needed(rows: JudgedRows, width: float) -> int:
    """How many of these rows must have a human label for a prediction-powered interval of this
    width; if more than there are, how many labelled rows are needed without any judge.

    With T rows in all the variance is ``v ((1 - r^2) / n + r^2 / T)`` at n labels, for the variance
    v of labels and their correlation r with the judge's answers. v is scaled to the present width,
    so that it has what clusters, weights and few rows add.
    """
    total, alone = float(rows.judged.size), not rows.others.size
    explained = 0.0 if alone else _Moments.of(rows, rows.with_corners).explained
    v, wanted = _label_variance(rows, explained), (width / (2.0 * rows.quantile)) ** 2
    rest = wanted - v * explained / total
    needed = v * (1.0 - explained) / rest if rest > 0 else math.inf
    # Rounding must not add a label to the present number.
    return max(2, math.ceil((needed if needed <= total else v / wanted) - 1e-9))


def _label_variance(rows: JudgedRows, explained: float) -> float:
    """The v of `labels_needed`, at the present width; r^2 is `explained`."""
    found = prediction_powered(rows, alone=not rows.others.size)
    present = ((found.high - found.low) / (2.0 * rows.quantile)) ** 2
    return present / ((1.0 - explained) / rows.n + explained / rows.judged.size)


def rows_needed(rows: JudgedRows, width: float) -> tuple[int, int] | None:
    """How many human labels, and answers by the judge in all, give an interval of this width with
    fewer labels than without the judge; None if a judge like this saves none.

    They solve ``v ((1 - r^2) / n + r^2 / T) = w`` (see `labels_needed`) at n somewhat above
    ``v (1 - r^2) / w``, the fewest labels that any number T of answers allows.
    """
    explained = _Moments.of(rows, rows.with_corners).explained
    alone = 0.0 if not rows.others.size else explained
    v, wanted = _label_variance(rows, alone), (width / (2.0 * rows.quantile)) ** 2
    labels = LABELS_TO_SPARE * v * (1.0 - explained) / wanted
    answers = explained * v / wanted / (1.0 - 1.0 / LABELS_TO_SPARE)
    if labels >= v / wanted or answers <= labels:
        return None
    return max(2, rows.n, math.ceil(labels - 1e-9)), math.ceil(max(answers, labels) - 1e-9)


@dataclass(frozen=True)
class _Moments:
    """Variances of labels and answers and their covariance, in the labelled rows."""

    human: float
    judged: float
    covariance: float

    @classmethod
    def of(cls, rows: JudgedRows, shares: Array) -> _Moments:
        """The moments under these shares of the labelled rows and corners."""
        h, j = rows.labels - shares @ rows.labels, rows.answers - shares @ rows.answers
        return cls(float(shares @ h**2), float(shares @ j**2), float(shares @ (h * j)))

    @property
    def explained(self) -> float:
        """The squared correlation of labels and answers."""
        product = self.human * self.judged
        return self.covariance**2 / product if product > 0 else 0.0

    def lam(self, rows: JudgedRows) -> float:
        """``cov(h, j) / ((1 + n/m) var(j))``, with the variance of answers to all rows."""
        n, m = effective(rows.weights[: rows.n]), effective(rows.weights[rows.n :])
        spread = float(rows.other_shares @ (rows.others - rows.other_shares @ rows.others) ** 2)
        variance = (n * self.judged + m * spread) / (n + m)
        return self.covariance / ((1.0 + n / m) * variance) if variance > 0 else 0.0
