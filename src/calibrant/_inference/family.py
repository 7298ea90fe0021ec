"""A least-favourable family of populations through the data, and the intervals it gives.

A confidence interval for a calibration error cannot come from the bootstrap alone: the error of a
sample lies above the true one, the more so the closer the truth is to 0, and a resample's lies
above the sample's. So intervals are made by inverting a test (DiCiccio and Romano, 1990,
Nonparametric confidence limits by resampling methods and least favorable families). In the member t
of the family the gap of a bin is

    sign(g) max(|g| - t s, 0)

with g the gap seen and s its standard error: every bin moves by the same number of its own standard
errors. t = 0 is the data as seen, a large t a calibrated population, t < 0 a worse one. A bin that
is surely off keeps its gap while a noisy one loses it. In every member the true error is known, and
how samples scatter about it can be drawn; the interval holds the true errors of the members in
which the value seen would not be among the extreme ones.

Where all bins are off by a little, none of them surely, that family is too ragged: it makes some
gaps large and the others 0. So a second one has the smooth gap of a logistic recalibration, times a
factor. Where few bins are surely off and the others right, the lowest true error that could have
shown the value belongs to a population in which the others are exactly right: a third one has it,
for the lower limit. The interval covers all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._data.links import logit, sigmoid
from calibrant._engines.arrays.draws import Outcomes
from calibrant._inference.blocks import Blocks
from calibrant._inference.budget import DRAWN_NUMBERS, SINGLE_ROWS_OF_MEMBER
from calibrant._inference.cells import Cells, Drawn, Problem
from calibrant._inference.logistic import fit_logistic, why_not_estimable
from calibrant._inference.null import outcome_noise, with_rare_events
from calibrant._inference.rare_events import scatter_ratio
from calibrant._inference.tails import Law, Laws

Array = NDArray[np.float64]
Statistic = Callable[[Drawn], Array]

# True errors below this are sums that should cancel: a calibrated population has an error of 0.
ROUNDING = 1e-14
# Values that differ by less of themselves are the same.
SLACK = 1e-12
# How often calibrated predictions show less than an upper limit is ever based on.
LUCK = 0.16
# Standard errors from which on a bin is surely off.
SURE = 2.0
# Families, of which the last gives the lower limit alone.
SHAPES = ("threshold", "smooth", "sure")
# Multiples of the smooth gap, the worst first.
FACTORS = (5.0, 3.5, 2.75, 2.25, 1.75, 1.5, 1.25, 1.0, 0.75, 0.5, 0.25, 0.0)
# Members that are tried first; further ones as far as a gap needs to vanish.
MEMBERS = (-6.0, -4.5, -3.5, -2.75, -2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.5, 6.5)
# Predictions weigh as much as this many rows in the standard error of a bin's outcomes: a bin
# without any event is not known to have none.
PRIOR_ROWS = 2.0
# Bins of fewer rows keep them in every draw.
FEW_ROWS = 5


def thresholded(gap: Array, scale: Array, t: float) -> Array:
    """Gaps moved t standard errors towards 0, and there stopped."""
    out: Array = np.sign(gap) * np.maximum(np.abs(gap) - t * scale, 0.0)
    return out


def moved(gap: Array, scale: Array, mean: Array, t: float) -> Array:
    """Gaps in the member t of the family; `mean` is each bin's mean prediction.

    A mean target ends at 0 and at 1. Where a worse gap would lead beyond, so many standard errors
    may lead further on the other side: of few rows nobody knows which way they are off.
    """
    if t >= 0:
        return thresholded(gap, scale, t)
    up = gap >= 0
    here, there = np.where(up, 1.0 - mean, mean), np.where(up, mean, 1.0 - mean)
    same = np.minimum(np.abs(gap) - t * scale, here)
    other = np.minimum(-t * scale - np.abs(gap), there)
    sign = np.where(up, 1.0, -1.0)
    out: Array = np.where(same >= other, sign * same, -sign * other)
    return out


def outcome_variance(rows: Array, mean_u: Array, mean_z: Array) -> Array:
    """The variance of an outcome in each bin, from what was seen and what was predicted.

    A bin in which all outcomes were alike is not known to have none of the other kind, even where
    predictions were certain: half an outcome is added.
    """
    q = (rows * mean_z + PRIOR_ROWS * mean_u) / (rows + PRIOR_ROWS)
    half = 0.5 / (rows + 1.0)
    alike = (mean_z <= 0.0) | (mean_z >= 1.0)
    least = np.where(alike, half * (1.0 - half), 0.0)
    return np.maximum(q * (1.0 - q), least)


@dataclass(frozen=True, eq=False)
class VoteScatter:
    """How the shares of every row scatter, (n,) or (n, k): a residual drawn once, of mean 0 and the
    covariance of the row's votes, and the variance.
    """

    residual: Array
    variance: Array


@dataclass
class Family:
    """The family of one scalar problem; draws are common to all members and all measures."""

    problem: Problem
    cells: Cells
    blocks: Blocks
    n_draws: int
    seed: int
    # How the shares of each row scatter, where rows stay and their votes are drawn anew.
    votes: VoteScatter | None = None
    # By what is true in them: families meet, at the latest where predictions are right.
    _members: dict[bytes, tuple[Drawn, Drawn]] = field(default_factory=dict)
    _rare_members: dict[bytes, Drawn] = field(default_factory=dict)
    # The same by where they are: every measure asks for them.
    _at: dict[tuple[str, float], tuple[Drawn, Drawn]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        p, cells = self.problem, self.cells
        self.gap = p.gaps()
        total = cells.by_bin(cells.w)
        self.total = np.where(total > 0, total, 1.0)
        self.mean = cells.by_bin(cells.w * cells.u) / self.total
        # Outcomes can be drawn; soft labels, and rows that belong together, scatter as they did.
        self.outcomes = p.hard and not self.blocks.clustered and self.votes is None
        self.scale = self._standard_errors()
        seen = np.abs(self.gap[self.scale > 0]) / self.scale[self.scale > 0]
        self.last = float(seen.max(initial=1.0)) + 1.0
        if self.votes is not None:
            self._revote(self.votes)
            return
        rng = np.random.default_rng((self.seed, 1))
        if self.outcomes and p.counts_once:
            rows = self._drawn_rows(rng)
            # The same random numbers in every member: limits vary smoothly with t.
            self._outcomes = Outcomes(rows, self.n_draws, (self.seed, 3))
            self._w = rows.astype(np.float64)
            self._wu = self._w * cells.u
            return
        w = p.weights
        counts = self.blocks.resamples(self.n_draws, self.seed, p.w)
        values = [w, w * p.u]
        if not self.outcomes:
            values += [w * p.z] if p.hard else [w * p.z, w * p.z**2]
        self._w, self._wu, *of_targets = self.blocks.drawn_sums(
            counts, cells.index, cells.size, *values
        )
        if self.outcomes:
            return
        wz, wz2 = of_targets[0], of_targets[-1]
        centre = thresholded(self.gap, self.scale, 1.0)[cells.bins]
        seen = cells.wz - cells.w * cells.u - centre * cells.w
        wider = self.blocks.widened(w)
        self._noise = self._where_rows_are(wider * (wz - self._wu - centre * self._w - seen))
        mean = np.divide(wz, self._w, out=np.zeros_like(self._w), where=self._w > 0)
        self._spread = np.maximum(wz2 - self._w * mean**2, 0.0)

    def _drawn_rows(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """How many rows each cell has in every draw. Bins of few rows keep theirs: in a resample
        a third of such bins would have none and others two rows, whose noise partly cancels.
        """
        cells = self.cells
        out = np.broadcast_to(cells.n.astype(np.int64), (self.n_draws, cells.size)).copy()
        many = cells.by_bin(cells.n)[cells.bins] >= FEW_ROWS
        n = int(cells.n[many].sum())
        if n:
            out[:, many] = rng.multinomial(n, cells.n[many] / n, self.n_draws)
        return out

    def _where_rows_are(self, noise: Array) -> Array:
        """The noise of cells that a resample has no row of, among the other cells of their bin:
        measures that order cells would see some of it and not the rest.
        """
        cells, none = self.cells, self._w <= 0
        if not none.any():
            return noise
        weight = cells.by_bin(self._w)
        lost = cells.by_bin(np.where(none, noise, 0.0))
        each = np.divide(lost, weight, out=np.zeros_like(lost), where=weight > 0)[:, cells.bins]
        kept = noise + self._w * each
        return np.where(none & (weight[:, cells.bins] > 0), 0.0, kept)

    def _revote(self, votes: VoteScatter) -> None:
        """Draws in which rows stay, and shares scatter as votes do."""
        p, cells = self.problem, self.cells
        shape = (self.n_draws, cells.size)
        self._w = np.broadcast_to(cells.w, shape)
        self._wu = np.broadcast_to(cells.w * cells.u, shape)
        moved = self.blocks.sums(cells.index, cells.size, p.weights * votes.residual)
        signs = self.blocks.signs(self.n_draws, np.random.default_rng((self.seed, 1)))
        self._noise = signs @ moved
        safe = np.where(cells.w > 0, cells.w, 1.0)
        self._spread = np.broadcast_to(np.maximum(cells.wz2 - cells.wz**2 / safe, 0.0), shape)

    def _standard_errors(self) -> Array:
        """The standard error of each bin's gap."""
        p, m = self.problem, self.problem.m
        total = p.by_bin()
        safe = np.where(total > 0, total, 1.0)
        if self.votes is not None:
            known: Array = np.sqrt(p.by_bin(p.weighted(self.votes.variance))) / safe
            return known
        variance = np.zeros(m)
        if p.hard:
            squares = total if p.w is None else p.by_bin(p.w)
            rows = np.divide(total**2, squares, out=np.ones(m), where=squares > 0)
            mean_u, mean_z = p.by_bin(p.u) / safe, p.by_bin(p.z) / safe
            variance = outcome_variance(rows, mean_u, mean_z) * squares / safe**2
        if not self.outcomes:
            residual = self.blocks.sums(p.bins, m, p.weighted(p.z - p.u))
            weight = self.blocks.sums(p.bins, m, p.weights)
            share = (weight**2).sum(axis=0) / safe**2
            centred = ((residual - self.gap * weight) ** 2).sum(axis=0) / safe**2
            plain = (residual**2).sum(axis=0) / safe**2
            few = share > 0.6  # all but one block: nothing is known of how it scatters
            own = np.where(few, plain, centred / np.where(few, 1.0, 1.0 - share))
            variance = np.maximum(variance, own)
        out: Array = np.sqrt(variance)
        return out

    @cached_property
    def smooth_gap(self) -> Array:
        """The gap of each cell by a logistic recalibration.

        The predictions count as two rows beside the data, so that separated outcomes have a fit.
        """
        cells, rows = self.cells, float(self.problem.n)
        h = logit(np.clip(cells.u, 1e-7, 1.0 - 1e-7))
        seen = np.divide(cells.wz, cells.w, out=cells.u.copy(), where=cells.w > 0)
        mean = (rows * seen + PRIOR_ROWS * cells.u) / (rows + PRIOR_ROWS)
        weight = cells.w * (rows / cells.w.sum())
        out: Array = np.zeros(cells.size)
        if 0.0 < float(weight @ mean) < float(weight.sum()):
            alone = why_not_estimable(mean, h, weight) != ""
            fit = fit_logistic(mean, h, weight, slope=1.0 if alone else None)
            out = sigmoid(fit.intercept + fit.slope * h) - cells.u
        # Data without any such gap still need populations to compare with: too low predictions.
        return out if float(np.abs(out).max()) > 1e-9 else cells.u * (1.0 - cells.u) + 1e-3

    # --- members ---------------------------------------------------------------------------------

    def grid(self, shape: str) -> list[float]:
        """The members of a family that are tried, the worst first."""
        if shape == "sure" and not (np.abs(self.gap) > SURE * self.scale).any():
            return []
        if shape == "smooth":
            return [-factor for factor in FACTORS]
        grid = [t for t in MEMBERS if t < self.last]
        while grid[-1] < self.last:
            grid.append(min(self.last, 1.6 * grid[-1]) if grid[-1] >= MEMBERS[-1] else self.last)
        return grid

    def _gaps(self, shape: str, t: float) -> Array:
        """The gap of each cell in the member t."""
        if shape == "smooth":
            return -t * self.smooth_gap
        gap = moved(self.gap, self.scale, self.mean, t)
        if shape == "sure":
            gap = np.where(np.abs(self.gap) > SURE * self.scale, gap, 0.0)
        return gap[self.cells.bins]

    def _rates(self, shape: str, t: float) -> Array:
        """The mean target of each cell in the member t: outcomes stay between 0 and 1.

        A bin's gap below 0 takes its share of every prediction in the bin, one above 0 its share of
        what is left to 1: so the bin has just this gap, and no rate leaves [0, 1].
        """
        cells = self.cells
        u, gap = cells.u, self._gaps(shape, t)
        mean = u if shape == "smooth" else self.mean[cells.bins]
        down = gap < 0
        room = np.where(down, mean, 1.0 - mean)
        share = np.divide(np.abs(gap), room, out=np.ones_like(gap), where=room > 0)
        left = 1.0 - np.minimum(share, 1.0)
        out: Array = np.where(down, u * left, 1.0 - (1.0 - u) * left)
        # Without a gap the predictions are right, to the last bit.
        return np.where(gap == 0.0, u, out)

    def member(self, shape: str, t: float) -> tuple[Drawn, Drawn]:
        """What is true in the member t, and samples from it."""
        if (shape, t) not in self._at:
            self._at[shape, t] = self._member(shape, t)
        return self._at[shape, t]

    def _member(self, shape: str, t: float) -> tuple[Drawn, Drawn]:
        # Outcomes have rates; what scatters as it did has its gaps, of which -0 is 0.
        level = self._rates(shape, t) if self.outcomes else self._gaps(shape, t) + 0.0
        key = level.tobytes()
        if key not in self._members:
            self._members.setdefault(key, (self._truth(level), self._drawn(level)))
        return self._members[key]

    def rare_member(self, shape: str, t: float) -> Drawn | None:
        """Samples from the member t with drawn outcomes in bins whose events are rare; None if no
        bin's are.
        """
        if self._rare_noise is None:
            return None
        level = self._gaps(shape, t) + 0.0
        key = level.tobytes()
        if key not in self._rare_members:
            self._rare_members[key] = self._scattered(level, self._rare_noise, self.mean)
        return self._rare_members[key]

    @cached_property
    def _rare_noise(self) -> Array | None:
        if self.outcomes or self.votes is not None:
            return None
        rng = np.random.default_rng((self.seed, 4))
        return with_rare_events(self._noise, self.problem, self.cells, self.blocks, rng, self._w)

    def _truth(self, level: Array) -> Drawn:
        cells = self.cells
        wu = cells.w * cells.u
        if self.outcomes:
            wz = cells.w * level
            return Drawn(cells, cells.w[None], wu[None], wz[None], wz[None])
        wz = wu + cells.w * level
        mean = np.divide(wz, cells.w, out=np.zeros_like(wz), where=cells.w > 0)
        return Drawn(cells, cells.w[None], wu[None], wz[None], (cells.w * mean**2)[None])

    def _drawn(self, level: Array) -> Drawn:
        cells = self.cells
        if self.outcomes and self.problem.counts_once:
            hits = self._outcomes.draw(level)
            return Drawn(cells, self._w, self._wu, hits, hits, *self._shared)
        if self.outcomes:
            rng = np.random.default_rng((self.seed, 3))
            noise = outcome_noise(
                self.problem, cells, level, self.n_draws, rng, SINGLE_ROWS_OF_MEMBER, self._numbers
            )
            wz = self._w * level + noise
            return Drawn(cells, self._w, self._wu, wz, np.maximum(wz, 0.0), *self._shared)
        centre = thresholded(self.gap, self.scale, 1.0)
        return self._scattered(level, self._noise, self.mean + centre)

    def _scattered(self, level: Array, noise: Array, rates: Array) -> Drawn:
        """Samples from where cells have these gaps, of noise that was drawn where bins have these
        rates.
        """
        wz = self._w * level
        wz += self._wu
        wz += noise * self._scatter(level, rates)
        if self.problem.hard:  # squares of outcomes are the outcomes
            return Drawn(self.cells, self._w, self._wu, wz, wz, *self._shared)
        mean = np.divide(wz, self._w, out=np.zeros_like(wz), where=self._w > 0)
        wz2 = self._spread + self._w * mean**2
        return Drawn(self.cells, self._w, self._wu, wz, wz2, *self._shared)

    def _scatter(self, level: Array, rates: Array) -> Array | float:
        """How much more each cell's residuals scatter where gaps are these than where they were
        drawn: outcomes have a variance that goes with their rate.
        """
        if not self.problem.hard or self.votes is not None:
            return 1.0
        cells = self.cells
        gap = cells.by_bin(cells.w * level) / self.total
        return scatter_ratio(rates, self.mean + gap)[cells.bins]

    @cached_property
    def _numbers(self) -> NDArray[np.float32] | None:
        """The random numbers of all rows, the same in every member, where they are few."""
        shape = (self.n_draws, self.problem.n)
        if self.n_draws * self.problem.n > DRAWN_NUMBERS:
            return None
        return np.random.default_rng((self.seed, 3)).random(shape, dtype=np.float32)

    @cached_property
    def _shared(self) -> tuple[tuple[Array, Array], dict[Any, Array]]:
        """What all members have in common."""
        return (self.cells.by_bin(self._w), self.cells.by_bin(self._wu)), {}


# --- inversion -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Limits:
    """The limits of a true value, and the true value of which the one seen is as likely too high
    as too low.
    """

    low: float
    high: float
    estimate: float


@dataclass(frozen=True, eq=False)
class Member:
    """A member of a family: its true value, which few of them are asked for, and the law of what
    samples show there.
    """

    true: Callable[[], float]
    law: Law | Laws
    _usual: dict[float, float] = field(default_factory=dict)

    @cached_property
    def truth(self) -> float:
        truth = self.true()
        return 0.0 if abs(truth) < ROUNDING else truth

    def usual(self, q: float) -> float:
        """The q-quantile of what samples show."""
        if q not in self._usual:
            self._usual[q] = self.law.quantile(q)
        return self._usual[q]


def invert(
    value: float,
    member: Callable[[str, float], Member],
    grids: dict[str, list[float]],
    level: float,
) -> Limits:
    """The true values of the members of the families that could have shown `value`.

    `member` gives one by the shape of its family and its place there. `grids` has the places in
    each family, from the worst to the calibrated one: true values, and what is usual, fall.
    """
    tail = (1.0 - level) / 2.0
    parts, lows, highs, estimates = [], [], [], []
    for shape, grid in grids.items():
        if not grid:
            continue
        seen_at = 0.0 if shape in ("threshold", "sure") else -1.0
        part = _Inversion(partial(member, shape), grid, tail, seen_at)
        lows.append(part.low(value))
        parts.append(part)
        if shape != "sure":
            highs.append(part.high(value))
            estimates.append(part.estimate(value))
    reached = [low for low in lows if low is not None]
    low = min(reached or [part.beyond(value) for part in parts])
    high = max(low, *highs)
    return Limits(low, high, min(max(float(np.mean(estimates)), low), high))


@dataclass
class _Inversion:
    """One family, and its members."""

    member: Callable[[float], Member]
    grid: list[float]
    tail: float
    # Where in the family the data themselves are.
    seen_at: float
    _seen: dict[float, Member] = field(default_factory=dict)

    def at(self, t: float) -> Member:
        if t not in self._seen:
            self._seen[t] = self.member(t)
        return self._seen[t]

    def low(self, value: float) -> float | None:
        """The lowest true value that reaches `value` on a lucky day; None if no member does."""
        value *= 1.0 - SLACK
        # The worst member need not show the most: rates end at 0 and at 1.
        if all(self.at(t).usual(1.0 - self.tail) < value for t in self.grid):
            return None
        return self._crossing(1.0 - self.tail, value)

    def beyond(self, value: float) -> float:
        """The true value of what no member reaches: as far below as the data as seen have it."""
        seen = self.at(self.seen_at)
        return max(0.0, seen.truth + value - max(seen.usual(1.0 - self.tail), seen.truth))

    def high(self, value: float) -> float:
        """The highest true value that stays as low as `value` on a lucky day.

        If the value is lower than calibrated predictions show on a day in six, that counts: a limit
        below what such data can exclude would be luck (power-constrained: Cowan, Cranmer, Gross and
        Vitells, 2011, arXiv:1105.3166).
        """
        floor = self.at(self.grid[-1]).usual(LUCK)
        return self._crossing(self.tail, max(value, floor) * (1.0 + SLACK))

    def estimate(self, value: float) -> float:
        """The true value of which `value` is as likely too high as too low."""
        last = self.at(self.grid[-1])
        return last.truth if last.usual(0.5) >= value else self._crossing(0.5, value)

    def _crossing(self, q: float, value: float) -> float:
        """The true value where the q-quantile, which falls with t, crosses `value`.

        Looked for step by step from the data as seen: far away from them a measure that chooses its
        own bins need not fall.
        """
        j = int(np.searchsorted(self.grid, self.seen_at))
        while j + 1 < len(self.grid) and self.at(self.grid[j]).usual(q) > value:
            j += 1
        while j > 0 and self.at(self.grid[j - 1]).usual(q) <= value:
            j -= 1
        below = self.at(self.grid[j])
        if below.usual(q) > value:  # the last member, and still above
            return below.truth
        if j == 0:
            # Rates end at 0 and at 1, so members may end before one of them is always above the
            # value. Another sample may be worse all the same: beyond the last member, what is usual
            # is taken to keep its distance from what is true.
            beyond = value / (1.0 + SLACK) - below.usual(q)
            return below.truth + (max(0.0, beyond) if q == self.tail else 0.0)
        above = self.at(self.grid[j - 1])
        span = above.usual(q) - below.usual(q)
        share = (value - below.usual(q)) / span if span > 0 else 0.0
        return below.truth + share * (above.truth - below.truth)
