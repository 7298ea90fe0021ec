"""Evidence that the windows of a stream differ from a baseline, valid however often it is checked.

The hypothesis: in every bin the mean of the outcomes' probabilities differs from the baseline's by
a share, between 0 and 1, of the difference of the mean predictions. Predictions may thus move
within a bin, with the outcomes or without them. The baseline's probabilities are known from its
rows only, so the evidence is the least over all that these rows allow:

1. Let ``f(l, p) = log(1 + p (e^l - 1))``. By convexity in z and Jensen's inequality,
   ``E exp(l sum z - n f(l, p)) <= 1`` for any n independent targets z in [0, 1] whose expectations
   have the mean p: for outcomes, votes and soft labels, and whatever the spread in the bin.
2. Chernoff's bound gives each bin an interval for its mean from the baseline alone. All of them
   hold but with the chance `REGION_CHANCE`; a bin's evidence is that at the interval's worse end.
3. For all bins together, let g be what the means sum to beyond the baseline's outcomes. Its own
   evidence B(g) is multiplied by the windows' M(g). Their rows are independent, so B(g) M(g) is an
   e-process at the true g, and the least over g lies below. Where the bins' shares of rows differ
   from the baseline's, 2. bounds the difference.
4. A change may begin in any window: the evidence is a mean over beginnings, with weights that sum
   to 1. Beginnings left out only lower it.
5. ``1 - 20 REGION_CHANCE`` times the mean of 2. and 3. reaches 20 with a probability of at most 5 %
   (Ville's inequality, and the chance of 2.).

The steps are known (Waudby-Smith and Ramdas, 2024, arXiv:2010.09686, for bounded means; Wasserman,
Ramdas and Balakrishnan, 2020, arXiv:1912.11436, for the least over a nuisance; Shin, Ramdas and
Rinaldo, 2023, arXiv:2203.03532, for means over beginnings); their combination is ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from calibrant._core.bin_tables import BinTable
from calibrant._core.typing import Array, Index, Mask
from calibrant._inference.budget import FAR_SUM, GOLDEN_SECTIONS, HALVINGS, PAIRS_OF_WINDOWS
from calibrant._inference.numbers import (
    BASELINE_BET,
    CHANGE_BET_RATIO,
    REGION_CHANCE,
    SMALLEST_CHANGE_BET,
)
from calibrant._inference.rounding import LARGEST_EXPONENT, LEAST_EVIDENCE


@dataclass(frozen=True)
class _Sums:
    """Sums by bin: of weights (one for each row or cluster), of predictions and of targets."""

    weight: Array
    predicted: Array
    target: Array

    def __getitem__(self, which: Index | Mask) -> _Sums:
        """The sums with this index in each array."""
        return _Sums(*(np.asarray(a[which]) for a in (self.weight, self.predicted, self.target)))

    def __sub__(self, other: _Sums) -> _Sums:
        """These sums less others."""
        return _Sums(
            self.weight - other.weight,
            self.predicted - other.predicted,
            self.target - other.target,
        )


def _sums(table: BinTable) -> _Sums:
    """The sums of a bin table of one class."""
    return _Sums(table.sum_w[0], table.sum_wu[0], table.sum_wz[0])


def running_change(
    tables: Sequence[BinTable | None],
    numbers: Sequence[int],
    baseline: BinTable,
    *,
    grouped: bool = False,
    slices: int = 1,
) -> list[float]:
    """The evidence after each window that it or windows before it differ from the baseline.

    `tables` are the windows' bin tables (None without rows), `numbers` their places in time, from 1
    on and rising; gaps are windows without rows. With `grouped`, the weights are those of clusters.
    The chance that the baseline's intervals miss is divided among so many `slices`.
    """
    then = _sums(baseline)
    known = then.weight > 0
    if not known.any() or not tables:
        return [math.nan] * len(tables)
    then = then[known]
    blank = np.zeros((3, then.weight.size))
    rows = [
        blank if t is None else np.stack([t.sum_w[0], t.sum_wu[0], t.sum_wz[0]])[:, known]
        for t in tables
    ]
    added = np.concatenate([blank[None], np.cumsum(rows, axis=0)])
    upto = _Sums(added[:, 0], added[:, 1], added[:, 2])
    game = _Game.against(then, grouped, REGION_CHANCE / slices)
    number = np.asarray(numbers, dtype=np.int64)
    first, last = _beginnings(number)
    out = np.zeros(number.size)
    for at in range(0, first.size, PAIRS_OF_WINDOWS):
        begin, end = first[at : at + PAIRS_OF_WINDOWS], last[at : at + PAIRS_OF_WINDOWS]
        logs = game.log_evidence(upto[end + 1] - upto[begin]) + _log_share(number[begin])
        np.add.at(out, end, np.exp(np.minimum(logs, LARGEST_EXPONENT)))
    return [float(value) for value in (1.0 - 20.0 * REGION_CHANCE) * out]


def _beginnings(number: Index) -> tuple[Index, Index]:
    """Pairs (index of the first window, index of the last): all late beginnings, few early ones.

    A beginning d windows before the end is there if its number less 1 is a multiple of the largest
    power of 2 up to d / 2. Which there are depends on the numbers alone.
    """
    firsts, lasts = [], []
    for end in range(number.size):
        distance = number[end] - number[: end + 1]
        step = 1 << np.maximum(np.log2(np.maximum(distance, 2)).astype(np.int64) - 1, 0)
        firsts.append(np.flatnonzero((number[: end + 1] - 1) % step == 0))
        lasts.append(np.full(firsts[-1].size, end))
    return np.concatenate(firsts), np.concatenate(lasts)


def _log_share(number: Index) -> Array:
    """The logarithms of weights of beginnings that sum to 1 over the numbers 1, 2, 3 and so on."""
    octave = np.floor(np.log2(number))
    return np.asarray(-octave * math.log(2.0) - np.log((octave + 1.0) * (octave + 2.0)))


def _exponent(bet: float, p: Array, grouped: bool) -> tuple[Array, Array]:
    """The bound on ``log E e^(bet z)`` a row or cluster at the mean p, and its slope in p.

    The sums of clusters lie between 0 and their weight. Their number in a bin is not known, so that
    the bound is that of many small ones, of outcomes or of non-outcomes, whichever are rarer.
    """
    up, down = math.expm1(bet), math.expm1(-bet)
    if not grouped:
        return np.log1p(p * up), up / (1.0 + p * up)
    rare = p <= 0.5
    bound = np.where(rare, p * up, bet + (1.0 - p) * down)
    return bound, np.where(rare, up, -down)


def _worst_excess(bet: float, low: Array, high: Array, grouped: bool) -> Array:
    """The largest ``_exponent - bet p`` for means p between `low` and `high`."""
    up, down = math.expm1(bet) - bet, math.expm1(-bet) + bet
    top = down / (up + down) if grouped else 1.0 / bet - 1.0 / math.expm1(bet)
    p = np.clip(top, low, high)
    if not grouped:
        return np.asarray(_exponent(bet, p, grouped)[0] - bet * p)
    return np.minimum(p * up, (1.0 - p) * down)


def _divergence(rate: Array, mean: Array, grouped: bool) -> Array:
    """The exponent, a row, of Chernoff's bound on the chance of the `rate` at the `mean`."""
    of_outcome, of_other = _relative(rate, mean), _relative(1.0 - rate, 1.0 - mean)
    if not grouped:
        return np.asarray(of_outcome + of_other)
    return np.maximum(of_outcome - rate + mean, of_other + rate - mean)


def _relative(rate: Array, mean: Array) -> Array:
    """``rate log(rate / mean)``, 0 where the rate is 0."""
    least = np.finfo(np.float64).tiny
    return np.asarray(
        np.where(rate > 0, rate * np.log(np.maximum(rate, least) / np.maximum(mean, least)), 0.0)
    )


def _end_of_interval(rate: Array, far: Array, allowed: Array, grouped: bool) -> Array:
    """The mean between `rate` and `far` at which the divergence passes what is allowed."""
    near = rate.copy()
    for _ in range(HALVINGS):
        middle = (near + far) / 2.0
        inside = _divergence(rate, middle, grouped) <= allowed
        near, far = np.where(inside, middle, near), np.where(inside, far, middle)
    return far


@dataclass(frozen=True)
class _Game:
    """The bets against one baseline, and what its rows say of the gaps."""

    then: _Sums
    # Each bin's rate in the baseline, and how far below and above it the true mean may lie.
    rate: Array
    below: Array
    above: Array
    # The standard deviation of the baseline's sum of targets.
    spread: float
    # The loss of the two bets of the baseline on its own rows: downwards and upwards.
    losses: tuple[float, float]
    grouped: bool

    @classmethod
    def against(cls, then: _Sums, grouped: bool, chance: float) -> _Game:
        """The bets against a baseline whose intervals may all hold but with this chance."""
        rate = np.clip(then.target / then.weight, 0.0, 1.0)
        allowed = math.log(2.0 * rate.size / chance) / then.weight
        low = _end_of_interval(rate, np.zeros(rate.size), allowed, grouped)
        high = _end_of_interval(rate, np.ones(rate.size), allowed, grouped)
        # One more outcome, so that a baseline without variance has bets.
        spread = math.sqrt(float((then.weight * rate * (1.0 - rate)).sum()) + 1.0)
        down, up = (
            float((then.weight * _worst_excess(bet, low, high, grouped)).sum())
            for bet in (-BASELINE_BET / spread, BASELINE_BET / spread)
        )
        return cls(then, rate, low - rate, high - rate, spread, (down, up), grouped)

    @property
    def bets(self) -> Array:
        """Bets on changes that the baseline could show, from small ones to 1, of both signs."""
        smallest = min(1.0, SMALLEST_CHANGE_BET / self.spread)
        n = 1 + int(math.log(1.0 / smallest) / math.log(CHANGE_BET_RATIO))
        bets = smallest * CHANGE_BET_RATIO ** np.arange(n)
        return np.concatenate([bets, -bets])

    def log_evidence(self, now: _Sums) -> Array:
        """The logarithm of the mean evidence of single bins and of all, a row of `now` each."""
        there = now.weight > 0
        predicted = np.divide(now.predicted, now.weight, out=np.zeros(there.shape), where=there)
        moved = np.where(there, predicted - self.then.predicted / self.then.weight, 0.0)
        of_bins, steps, slopes = [], [], []
        for bet in self.bets:
            # The share of the move that is worse for the bet. Beyond 0 and 1 it is a bound still.
            p = self.rate + (np.maximum(moved, 0.0) if bet > 0 else np.minimum(moved, 0.0))
            worse = np.clip(p + (self.above if bet > 0 else self.below), 0.0, 1.0)
            loss = now.weight * _exponent(bet, worse, self.grouped)[0]
            of_bins.append(
                np.exp(np.minimum(bet * now.target - loss, LARGEST_EXPONENT)).mean(axis=1)
            )
            step, slope = self._all_bins(bet, now, p)
            steps.append(step)
            slopes.append(slope)
        of_all = self._least(np.stack(steps, axis=1), np.stack(slopes, axis=1))
        return np.logaddexp(
            np.log(np.maximum(np.mean(of_bins, axis=0), LEAST_EVIDENCE)), of_all
        ) - math.log(2.0)

    def _all_bins(self, bet: float, now: _Sums, p: Array) -> tuple[Array, Array]:
        """A bet on all bins together: its logarithm is ``step - slope g`` or more, for what the
        baseline's means sum to beyond its outcomes, g. `p` are the means if that is 0 in each bin.
        """
        value, tangent = _exponent(bet, p, self.grouped)
        pull = now.weight * tangent
        slope = pull.sum(axis=1) / self.then.weight.sum()
        rest = pull - slope[:, None] * self.then.weight
        unlike = np.maximum(rest, 0.0) * self.above + np.minimum(rest, 0.0) * self.below
        return (bet * now.target - now.weight * value - unlike).sum(axis=1), slope

    def _least(self, steps: Array, slopes: Array) -> Array:
        """The least, over the sum g, of the logarithm of the baseline's evidence times that of the
        windows, whose bets have the logarithms ``steps - slopes g``.
        """
        bet = BASELINE_BET / self.spread

        def both(g: Array) -> Array:
            """The logarithm at g: convex, as a sum of logarithms of sums of exponentials."""
            own = np.exp(np.minimum(bet * g - self.losses[0], LARGEST_EXPONENT))
            own = own + np.exp(np.minimum(-bet * g - self.losses[1], LARGEST_EXPONENT))
            logs = steps - slopes * g[:, None]
            top = logs.max(axis=1)
            windows = top + np.log(np.exp(logs - top[:, None]).mean(axis=1))
            return np.asarray(np.log(0.5 + 0.25 * own) + windows)

        return _least_of_convex(both, FAR_SUM * self.spread, steps.shape[0])


def _least_of_convex(function: Callable[[Array], Array], far: float, n: int) -> Array:
    """The least values of n convex functions between -far and far, by golden sections."""
    ratio = (math.sqrt(5.0) - 1.0) / 2.0
    low, high = np.full(n, -far), np.full(n, far)
    a, b = high - ratio * (high - low), low + ratio * (high - low)
    at_a, at_b = function(a), function(b)
    for _ in range(GOLDEN_SECTIONS):
        left = at_a < at_b
        low, high = np.where(left, low, a), np.where(left, b, high)
        new = np.where(left, high - ratio * (high - low), low + ratio * (high - low))
        at_new = function(new)
        a, b = np.where(left, new, b), np.where(left, a, new)
        at_a, at_b = np.where(left, at_new, at_b), np.where(left, at_a, at_new)
    return np.minimum(at_a, at_b)
