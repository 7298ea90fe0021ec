"""Certificates: upper bounds of calibration errors that hold for every sample size and population.

An error that is the largest mean of X = f(u) (u - z), over functions f that are fixed before the
rows are seen, is the mean of X for one f in the population. That f is not known, and need not be:
its mean on the sample is at most the sample's error, its mean square at most that of u - z. A
bound for one mean of bounded rows that grows with both of these is then a bound for the error.

Such a bound is that of a bet. For 0 < lambda < 1 and X >= -1 (X <= 1 after a change of sign),

    E exp(-lambda X - psi X^2) <= 1 - lambda E X,    psi = -log(1 - lambda) - lambda

(Fan, Grama and Liu 2015, lemma 4.1), so that the product of exp(-lambda X - psi X^2) over n
independent rows, divided by (1 - lambda m)^n for the mean m of their expectations, is at most 1 in
expectation. So is an average of these products over several lambda. By Markov's inequality it
exceeds 1 / delta with probability at most delta; by Ville's it does so at no time at all. The bound
is the largest m at which it does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calibrant._core.bin_tables import BinTable
from calibrant._core.errors import InputError
from calibrant._core.grid import STREAM_SPACING, UnitGrid
from calibrant._core.messages import name_of, setting
from calibrant._core.typing import Array, Index
from calibrant._inference.budget import HALVINGS, N_BETS
from calibrant._measures.measure import Measure
from calibrant._measures.smooth import LS_SIGMA, WIDE_SIGMA, ls_ece_of_grid
from calibrant._measures.smooth_ece import smooth_ece_of_grid
from calibrant._measures.statistics import STATISTICS
from calibrant._summaries.samples import Summary
from calibrant._summaries.smooth import CELLS_PER_SIGMA, SmoothSummary
from calibrant._summaries.stream import StreamSummary
from calibrant.results._certificate import Certificate

# Logit noise of width sigma moves a residual by at most this much times sigma, in the mean: the
# sigmoid's slope is at most 1/4, and the mean of a standard normal's absolute value sqrt(2 / pi).
MOVED_BY_NOISE = math.sqrt(2.0 / math.pi) / 4.0
# The narrowest noise, on the logit scale and of predictions, that grids of streams resolve.
LEAST_SIGMAS = {"logit_grid": CELLS_PER_SIGMA * STREAM_SPACING, "smooth": 0.002}


@dataclass(frozen=True)
class Units:
    """Rows with weights, or clusters of rows, as one bounded number each: their number, the mean
    square of the largest that each can be, and the largest weight and the mean square of weights,
    where the mean weight is 1.
    """

    n: int
    square: float
    largest: float = 1.0
    spread: float = 1.0

    @classmethod
    def of_rows(cls, sizes: Array, w: Array, groups: Index | None, bins: Index | None) -> Units:
        """The units of rows with weights w in clusters (`groups`, None for rows by themselves).

        `sizes` are the rows' residuals; where f is constant in the bins (of each row, if given),
        residuals of a cluster and a bin cancel.
        """
        weights, most = w, np.abs(w * sizes)
        if groups is not None and bins is not None:
            m = int(bins.max()) + 1
            by_bin, cell = np.unique(groups * m + bins, return_inverse=True)
            most = _sums_by(by_bin // m, np.abs(_sums_by(cell, w * sizes)))
        elif groups is not None:
            most = _sums_by(groups, most)
        if groups is not None:
            weights = _sums_by(groups, w)
        counts = weights > 0
        mean = float(weights[counts].mean())
        weights, most = weights[counts] / mean, most[counts] / mean
        squares = float((most**2).mean()), float(weights.max()), float((weights**2).mean())
        return cls(weights.size, *squares)


def _sums_by(groups: Index, values: Array) -> Array:
    """The sum of values by group."""
    out: Array = np.bincount(groups, values).astype(np.float64)
    return out


def upper_bound(
    value: float,
    units: Units,
    level: float,
    *,
    reach: float = 1.0,
    anytime: bool = False,
) -> float:
    """The upper bound of an error whose value on the sample is `value`.

    A unit's number is at most `reach` times its weight. With `anytime` the bound holds at all
    sample sizes together.
    """
    span = reach * units.largest
    e, square = value / span, units.square / span**2
    stakes, shares = _stakes(units, level, anytime)
    bets = stakes / (1.0 + stakes)
    cost = np.log1p(stakes) - bets
    logs = np.log(shares) - units.n * (bets * e + cost * square)

    def is_excluded(mean: float) -> bool:
        """Whether the average of the bets excludes a mean, in units of the span."""
        each = logs - units.n * np.log1p(-bets * mean)
        most = each.max()
        return bool(most + math.log(np.exp(each - most).sum()) > -math.log(1.0 - level))

    highest = 1.0 / units.largest
    if not is_excluded(highest):
        return reach
    return span * _first_from(is_excluded, max(0.0, e), highest)


def _stakes(units: Units, level: float, anytime: bool) -> tuple[Array, Array]:
    """The stakes x of the bets ``x / (1 + x)``, and their shares of the average, which add up to
    at most 1.
    """
    j = np.arange(N_BETS, dtype=np.float64)
    shares = 1.0 / ((j + 1.0) * (j + 2.0))
    if anytime:
        return 2.0 ** (1.0 - j / 2), shares
    # The first bet is best for outcomes of probability 1/2, whose residuals have the square 1/4.
    usual = 0.25 * units.spread / units.largest**2
    first = math.sqrt(-2.0 * math.log(1.0 - level) / (units.n * usual))
    return first * 2.0 ** (j / 2), shares


def _first_from(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The smallest number between two at which a condition holds that holds from there on, and at
    `high`; rounded up.
    """
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def certificate(
    measure: Measure,
    statistics: Summary | StreamSummary,
    level: float,
    n_classes: int,
    *,
    sigma: float | None = None,
    anytime: bool = False,
    units: Units | None = None,
    clusters: bool = False,
    bins: str = "",
) -> Certificate:
    """The certificate of a measure from statistics of rows, in whose bins it is computed.

    `units` are those of weights and clusters, None for rows, or clusters, that count 1 each;
    `clusters` says which. `n_classes` is the number of columns of predictions, `bins` the rule in
    words.
    """
    if STATISTICS[measure.statistic].over_classes and units is not None:
        raise InputError(
            f"measure={measure.name!r} is over all classes, so its certificate needs unweighted "
            "rows: drop weights and groups, or certify 'ece' of the top label"
        )
    soft = statistics.findings.soft
    sigma = _checked_sigma(measure, sigma)
    reach, own = _reach_and_square(measure, statistics, n_classes, soft)
    if units is None:
        units = Units(_count_units(statistics, clusters), own)
    if measure.statistic == "logit_grid":
        assert sigma is not None
        units = _with_noise(units, sigma)

    def bound(value: float) -> float:
        """The upper bound for a value on the sample."""
        assert units is not None
        return upper_bound(value, units, level, reach=reach, anytime=anytime)

    if measure.statistic == "smooth":
        value, upper = _smooth(statistics, sigma, bound)
    else:
        if measure.statistic == "logit_grid":
            value = ls_ece_of_grid(statistics.logit_grid, sigma or LS_SIGMA)
        else:
            value = measure.compute(statistics)
        value = math.sqrt(value) if measure.power == 2 else value
        upper = bound(value)
    called = measure.called(soft=soft)
    return Certificate(
        measure=measure.name,
        upper=upper,
        value=value,
        level=level,
        n=units.n,
        unit="cluster" if clusters else "row",
        of=f"root of {called}" if measure.power == 2 else called,
        bins=bins if measure.is_binned else "",
        sigma=sigma,
        anytime=anytime,
    )


def _checked_sigma(measure: Measure, sigma: float | None) -> float | None:
    """The width of the noise of a smooth error; None for the fixed point of smECE, and for errors
    without noise.
    """
    least = LEAST_SIGMAS.get(measure.statistic)
    if least is None and sigma is not None:
        raise InputError(
            f"{name_of('sigma')} is the noise width of a smooth error, but {measure.name!r} has no "
            "noise: drop it"
        )
    if sigma is None:
        return LS_SIGMA if measure.statistic == "logit_grid" else None
    numeric = isinstance(sigma, int | float | np.floating) and not isinstance(sigma, bool)
    if least is not None and not (numeric and least <= sigma <= WIDE_SIGMA):
        raise InputError(
            f"{name_of('sigma')} must be a number from {least:g} to {WIDE_SIGMA:g} that is fixed "
            f"in advance, such as {setting('sigma', 0.1)}; got {sigma!r}"
        )
    return float(sigma)


def _count_units(statistics: Summary | StreamSummary, clusters: bool) -> int:
    """The number of rows, or of `clusters` that count 1 each; InputError if rows have weights.

    Of such a cluster the square of the mean is at most the mean of squares, which the sums have.
    """
    table = statistics.bins
    sums = table.sums.sum(axis=(0, 1)) + table.dropped.sum(axis=0)
    if not (clusters or (math.isclose(sums[0], sums[1]) and math.isclose(sums[0], sums[2]))):
        raise InputError(
            "a certificate of weighted rows needs the rows, but only sums are available: give "
            f"arrays, or drop {name_of('sample_weight')}"
        )
    return round(float(sums[1]))


def _squares(table: BinTable) -> Array:
    """The sums of w (u - z)^2 in the bins of a table, and in none of them."""
    parts = (table.sums[0], table.dropped)
    u2, uz, z2 = (np.concatenate([part[:, j] for part in parts]) for j in (5, 6, 7))
    out: Array = np.maximum(u2 - 2.0 * uz + z2, 0.0)
    return out


def _reach_and_square(
    measure: Measure, statistics: Summary | StreamSummary, k: int, soft: bool
) -> tuple[float, float]:
    """The largest number that a row of weight 1 can be, and a bound of the mean square of these.

    Over k classes a residual r is a vector, and a row's number is at most |r|_1 / k, or for squares
    |r|_2 / sqrt(k). Of hard labels |r|_1 = 2 (1 - p_y), whose square is at most 4 |r|_2^2 (k - 1)
    / k.
    """
    if STATISTICS[measure.statistic].over_classes:
        brier = statistics.losses.mean("brier")
        if STATISTICS[measure.statistic].problem == "full":
            return math.sqrt(2.0), brier
        if measure.power == 2:
            return math.sqrt(2.0 / k), brier / k
        times = k if soft else 4.0 * (k - 1) / k
        return 2.0 / k, min(4.0, times * brier) / k**2
    squares = _squares(statistics.bins)
    total = float(statistics.bins.total_weight[0])
    if measure.power == 2 and measure.is_binned:  # f is a unit vector over the bins
        return 1.0, float(_squares(getattr(statistics, measure.statistic)).max()) / total
    return 1.0, min(1.0, float(squares.sum()) / total)


def _with_noise(units: Units, sigma: float) -> Units:
    """The units of residuals that logit noise has moved, by Minkowski's inequality."""
    moved = MOVED_BY_NOISE * sigma * math.sqrt(units.spread)
    most = min(math.sqrt(units.square) + moved, math.sqrt(units.spread))
    return Units(units.n, most**2, units.largest, units.spread)


def _smooth(
    statistics: Summary | StreamSummary, sigma: float | None, bound: Callable[[float], float]
) -> tuple[float, float]:
    """smECE and its bound: at a width sigma, or for None at the fixed point.

    The error falls as the width grows, in the sample and in the population. If the population's
    fixed point exceeds a width that exceeds its own bound, then the bound at the fixed point fails
    as well: one and the same mean.
    """
    total = float(statistics.bins.total_weight[0])
    if isinstance(statistics, StreamSummary):
        grid = UnitGrid(statistics.sums["residuals"])
    else:
        grid = SmoothSummary(statistics.samples, statistics.scalar).unit_grid()

    def error(width: float) -> float:
        """smECE at a width."""
        return smooth_ece_of_grid(grid, total, width)

    if sigma is not None:
        return error(sigma), bound(error(sigma))

    def holds(width: float) -> bool:
        """Whether a width exceeds its own bound."""
        return bound(error(width)) <= width

    least = CELLS_PER_SIGMA / grid.cells
    upper = least if holds(least) else _first_from(holds, least, 1.0)
    return smooth_ece_of_grid(grid, total), upper
