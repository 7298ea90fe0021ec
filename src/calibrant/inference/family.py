"""Families of worlds through the data, from calibrated to worse than observed.

An interval for a calibration error cannot come from the bootstrap alone: the error of a sample lies
above the true one, the more so the closer the truth is to 0, and a resample's lies above the
sample's. So intervals are made by inverting a test. A family of worlds runs through the data: in
the world c the target of a report u has the mean ``u + c g(u)``, g being the miscalibration seen.
c = 0 is the calibrated world, that of the noise floor. In every world the true error is known, and
how samples scatter about it can be drawn; the interval holds the true errors of the worlds in which
the value seen would not be among the extreme ones (DiCiccio and Romano, 1990, Nonparametric
confidence limits by resampling methods and least favorable families).

g has two shapes: the gaps of the bins as they are, and the smooth gap of a logistic recalibration.
The first shape is too ragged, the second may be too smooth; the interval covers both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from calibrant.inference.cells import Cells, Problem
from calibrant.inference.logistic import fit_logistic
from calibrant.samples.links import logit, sigmoid
from calibrant.statistics.bins import FIELDS, BinTable

Array = NDArray[np.float64]
Statistic = Callable[[BinTable], Array]

# True errors below this are sums that should cancel: the calibrated world has an error of 0.
ROUNDING = 1e-14
# Values that differ by less of themselves are the same.
SLACK = 1e-12

# Rows are dealt into at most this many lots before they are resampled.
MOST_LOTS = 4000


class Family(Protocol):
    """Worlds through the data, by shape of the gap and size c."""

    n_shapes: int

    def true_table(self, shape: int, c: float) -> BinTable:
        """What a sample tends to in the world c."""
        ...

    def drawn_tables(self, shape: int, c: float) -> BinTable:
        """Samples from the world c, one a class of the table."""
        ...


@dataclass
class OutcomeFamily:
    """Worlds of hard labels: rows are resampled by cells, outcomes are drawn anew."""

    cells: Cells
    gaps: Sequence[Array]
    n_draws: int
    seed: int
    _rows: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        self.n_shapes = len(self.gaps)
        n = int(self.cells.n.sum())
        rng = np.random.default_rng(self.seed)
        self._rows = rng.multinomial(n, self.cells.n / n, self.n_draws)

    def rates(self, shape: int, c: float) -> Array:
        """The mean target of each cell in the world c."""
        out: Array = np.clip(self.cells.u + c * self.gaps[shape], 0.0, 1.0)
        return out

    def true_table(self, shape: int, c: float) -> BinTable:
        return self.cells.tables(self.cells.n, (self.cells.n * self.rates(shape, c))[None])

    def drawn_counts(self, shape: int, c: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows and positives of each cell, in each draw."""
        # The same random numbers in every world: limits vary smoothly with c.
        rng = np.random.default_rng((self.seed, 1))
        return self._rows, rng.binomial(self._rows, self.rates(shape, c))

    def drawn_tables(self, shape: int, c: float) -> BinTable:
        return self.cells.tables(*self.drawn_counts(shape, c))


@dataclass
class ResidualFamily:
    """Worlds of soft labels, weights or clusters: lots of rows are resampled as they are, and only
    the gap of their bin is changed.
    """

    problem: Problem
    gaps: Sequence[Array]
    lots: NDArray[np.intp]
    n_draws: int
    seed: int

    def __post_init__(self) -> None:
        self.n_shapes = len(self.gaps)
        self._gaps = self.problem.gaps()
        p = self.problem
        w, z = p.weights, p.z
        n_lots = int(self.lots.max()) + 1
        rng = np.random.default_rng(self.seed)
        chosen = rng.integers(0, n_lots, (self.n_draws, n_lots))
        counts = np.stack([np.bincount(row, minlength=n_lots) for row in chosen]).astype(np.float64)
        key = self.lots * p.m + p.bins
        shifts = [w * gap for gap in self.gaps]
        columns = [(w > 0).astype(np.float64), w, w * w, w * p.u, w * z, w * z * z, *shifts]
        # Sums of each lot and bin, and those of the resamples: (columns, draws, bins).
        per_lot = [
            np.bincount(key, column, n_lots * p.m).reshape(n_lots, p.m) for column in columns
        ]
        self._drawn = [counts @ sums for sums in per_lot]
        self._seen = [sums.sum(axis=0)[None] for sums in per_lot]

    def _table(self, sums: list[Array], shape: int, c: float) -> BinTable:
        out = np.zeros((*sums[0].shape, len(FIELDS)))
        for j, column in zip((0, 1, 2, 3, 4, 7), sums[:6], strict=True):
            out[:, :, j] = column
        # The gap seen is taken out of every row, and the world's put in.
        shift = c * sums[6 + shape] - self._gaps * sums[1]
        per_row = np.divide(shift, sums[1], out=np.zeros_like(shift), where=sums[1] > 0)
        out[:, :, 7] += per_row * (2.0 * out[:, :, 4] + shift)
        out[:, :, 4] += shift
        return BinTable(out, has_squares=False)

    def true_table(self, shape: int, c: float) -> BinTable:
        return self._table(self._seen, shape, c)

    def drawn_tables(self, shape: int, c: float) -> BinTable:
        return self._table(self._drawn, shape, c)


def family_of(
    problem: Problem, n_draws: int, seed: int, groups: NDArray[np.intp] | None = None
) -> OutcomeFamily | ResidualFamily:
    """The family of worlds that fits a problem."""
    if problem.hard and problem.w is None and groups is None:
        cells = problem.coarse_cells
        return OutcomeFamily(cells, cell_gaps(problem, cells), n_draws, seed)
    if groups is None:
        rng = np.random.default_rng((seed, 2))
        groups = rng.permutation(problem.n) % min(problem.n, MOST_LOTS)
    seen = problem.gaps()[problem.bins]
    gaps = _gap_shapes(seen, problem.u, problem.z, problem.w)
    return ResidualFamily(problem, gaps, groups, n_draws, seed)


def cell_gaps(problem: Problem, cells: Cells) -> list[Array]:
    """The shapes of the gap at each cell; a cell stands for its rows in the fit too."""
    counts = cells.n.astype(np.float64)
    return _gap_shapes(problem.gaps()[cells.bins], cells.u, cells.positives / counts, counts)


def _gap_shapes(seen: Array, u: Array, z: Array, w: Array | None) -> list[Array]:
    """The gap at each report, as seen in its bin and as a logistic recalibration has it."""
    h = logit(np.clip(u, 1e-7, 1 - 1e-7))
    fit = fit_logistic(z, h, w)
    smooth: Array = sigmoid(fit.intercept + fit.slope * h) - u
    # A sample without any gap still needs worlds to compare with: those in which reports are low.
    flat = u * (1.0 - u) + 1e-3
    return [gap if float(np.abs(gap).max()) > 1e-9 else flat for gap in (seen, smooth)]


def limits(
    value: float, family: Family, statistic: Statistic, level: float, n_worlds: int = 12
) -> tuple[float, float, float]:
    """The lowest and the highest true value among the worlds that could have shown `value`, and
    that of the world in which as many samples lie above `value` as below: an estimate without the
    upward bias.
    """
    tail = (1.0 - level) / 2.0
    found = []
    for shape in range(family.n_shapes):
        middles: list[tuple[float, float]] = []

        def world(
            c: float, shape: int = shape, middles: list[tuple[float, float]] = middles
        ) -> tuple[float, float, float]:
            drawn = statistic(family.drawn_tables(shape, c))
            truth = float(statistic(family.true_table(shape, c))[0])
            # Weibull's positions: another draw lies beyond them just as often as it should.
            low, middle, high = np.quantile(drawn, [tail, 0.5, 1.0 - tail], method="weibull")
            middles.append((truth, float(middle)))
            return float(low), float(high), truth

        low, high = invert(value, world, n_worlds)
        truths, medians = (np.array(column) for column in zip(*sorted(middles), strict=True))
        centre = float(np.interp(value, np.maximum.accumulate(medians), truths))
        found.append((low, high, min(max(centre, low), high)))
    lows, highs, centres = zip(*found, strict=True)
    return min(lows), max(highs), float(np.mean(centres))


def invert(
    value: float, world: Callable[[float], tuple[float, float, float]], n_worlds: int
) -> tuple[float, float]:
    """The true values at which `value` is the upper and the lower end of what is usual."""
    furthest, worst = 1.0, world(1.0)
    for _ in range(10):
        if worst[0] > value:
            break
        further = world(2.0 * furthest)
        if further[2] <= worst[2] * (1.0 + SLACK):
            break  # every rate has come to its end: all further worlds are this one
        furthest, worst = 2.0 * furthest, further
    found = [world(c) for c in np.linspace(0.0, furthest, n_worlds)]
    low, high, truth = (np.maximum.accumulate([f[j] for f in found]) for j in range(3))
    truth[truth < ROUNDING] = 0.0
    return lowest_truth(value, high, truth), highest_truth(value, low, truth)


def lowest_truth(value: float, high: Array, truth: Array) -> float:
    """The true value of the first world that reaches `value` on a lucky day."""
    # Where outcomes are all alike many worlds reach just as far: the first of them counts.
    j = int(np.searchsorted(high, value * (1.0 - SLACK)))
    if j == 0 or j == high.size:
        return float(truth[min(j, high.size - 1)])
    return float(np.interp(value, high[j - 1 : j + 1], truth[j - 1 : j + 1]))


def highest_truth(value: float, low: Array, truth: Array) -> float:
    """The true value of the last world that stays as low as `value` on a lucky day.

    A rate ends at 0 and at 1, so the worlds may end before one of them is always above `value`. The
    reports of another sample may be worse all the same: beyond the last world, what is usual is
    taken to keep its distance from what is true.
    """
    beyond = max(0.0, value - float(low[-1]))
    return float(np.interp(value * (1.0 + SLACK), low, truth)) + beyond
