"""Passes over many drawn samples: outcomes, labels, isotonic fits, rising bins.

A row of each array is one draw, a column a cell: rows of the sample with nearly the same
prediction. Compiled where built, and else in NumPy with the same random numbers, so that a seed
gives the same result on both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.bin_tables import FIELDS, BinTable
from calibrant._core.binning import ROUNDING, MiddleRanks
from calibrant._core.typing import Array
from calibrant._engines.arrays.selection import kernels
from calibrant._measures.ordered import sweep_bins

Labels = NDArray[np.uint16]
Numbers = NDArray[np.int32]

# How many random numbers are made at a time, and how many may be kept for the next call.
AT_A_TIME = 1 << 18
KEPT = 1 << 23
# The most classes that a drawn label has room for.
MOST_LABELS = 1 << 16
# Up to this many classes a random number is compared with all; among more it is searched.
FEW_COMPARED = 40
# Up to this many rows a cell, outcomes are drawn one by one, and beyond as a binomial number: the
# first where random numbers are made for every call, the second where they are kept.
FEW_ROWS, FEW_KEPT = 24, 140
# Where all draws have the same rows: up to this many rows a cell, a table has the chance of every
# count of outcomes.
FEW_TABLED = 500
# From this variance on, a binomial number is a normal one corrected for its skewness and rounded.
# Its quantiles differ by less than 0.06 counts, of a standard deviation of 10.
LARGE_VARIANCE = 100.0
# Random numbers are whole numbers from 0 to below this.
_END = 2.0**31


def _compiled_kernels() -> Any:
    """The module of compiled kernels for draws; None where the NumPy engine is in use."""
    return getattr(kernels(), "draws", None)


def _numbers(bits: np.random.SFC64, shape: tuple[int, int]) -> Numbers:
    """Random whole numbers of 31 bits, in an array of this shape, taken from the generator `bits`;
    its state moves on.
    """
    size = shape[0] * shape[1]
    compiled = _compiled_kernels()
    if compiled is not None:
        numbers, state = np.empty(size, dtype=np.int32), bits.state
        compiled.fill_numbers(numbers, state["state"]["state"])
        bits.state = state
        return numbers.reshape(shape)
    raw = bits.random_raw((size + 1) // 2).view(np.uint32)[:size]
    return (raw >> np.uint32(1)).view(np.int32).reshape(shape)


def _last_outcome_number(chances: Array) -> Numbers:
    """The largest 31-bit random number that counts as an outcome of 1 for each chance in [0, 1]; -1
    for a chance of 0.
    """
    return (np.ceil(np.clip(chances, 0.0, 1.0) * _END) - 1.0).astype(np.int32)


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Random 0/1 outcomes of the rows in each cell, drawn again and again for other rates.

    `rows` (draws or 1, cells) are the numbers of rows in each cell. A random number for each row is
    cheaper than a binomial one for each cell where cells have few rows. Every call uses the same
    random numbers, so that results for other rates differ by the rates alone.
    """

    rows: NDArray[np.int64]
    n_draws: int
    seed: Sequence[int]

    def draw(self, rates: Array) -> Array:
        """Draw the number of outcomes 1 in each cell, (draws, cells), where `rates` has the chance
        of a 1 in each cell.
        """
        shape = (self.n_draws, self.rows.shape[1])
        if len(self.rows) == 1 and self._rows_per_draw <= FEW_TABLED * shape[1]:
            return _binomials(self.rows[0], rates, self.n_draws, self.seed)
        if not self._draws_each_row:
            return self._draw_counts(rates)
        hits = np.empty(shape)
        lasts, compiled = _last_outcome_number(rates), _compiled_kernels()
        count = count_outcomes if compiled is None else compiled.count_outcomes
        start = 0
        for numbers in self._numbers if self._keeps_numbers else self._blocks_of_numbers():
            end = start + len(numbers)
            rows = self.rows if len(self.rows) == 1 else self.rows[start:end]
            count(hits[start:end], numbers, rows, lasts)
            start = end
        return hits

    def _draw_counts(self, rates: Array) -> Array:
        """Draw as `draw` does, by a random number for each cell and not for each row."""
        large = (self.rows * (rates * (1.0 - rates))).min(axis=0) >= LARGE_VARIANCE
        out = np.empty((self.n_draws, rates.size))
        if not large.any():
            out[:] = np.random.default_rng(self.seed).binomial(self.rows, rates, out.shape)
            return out
        rng = np.random.default_rng((*self.seed, 1))
        out[:, large] = _binomials_of_large_variance(
            self.rows[:, large], rates[large], rng, self.n_draws
        )
        if not large.all():
            rows = np.ascontiguousarray(self.rows[:, ~large])
            out[:, ~large] = replace(self, rows=rows).draw(rates[~large])
        return out

    @property
    def _rows_per_draw(self) -> int:
        """The total number of rows of a draw, the largest where draws differ."""
        return int(self.rows.sum(axis=1).max(initial=0))

    @property
    def _draws_each_row(self) -> bool:
        """Whether cells have so few rows that a random number for each row is cheaper than a
        binomial one for each cell.
        """
        few = FEW_KEPT if self._keeps_numbers else FEW_ROWS
        return self._rows_per_draw <= few * int(self.rows.shape[1])

    @property
    def _keeps_numbers(self) -> bool:
        """Whether the random numbers stay in memory for the next call: draws differ in rows, and
        all numbers fit.
        """
        return len(self.rows) > 1 and self._rows_per_draw * self.n_draws <= KEPT

    @cached_property
    def _numbers(self) -> list[Numbers]:
        """All random numbers in memory, as a list of arrays (draws, rows) that each cover some
        draws.
        """
        return list(self._blocks_of_numbers())

    def _blocks_of_numbers(self) -> Iterator[Numbers]:
        """Yield the random numbers for some draws at a time, (draws, rows), from the seed."""
        bits, step = np.random.SFC64(self.seed), max(1, AT_A_TIME // max(1, self._rows_per_draw))
        for start in range(0, self.n_draws, step):
            yield _numbers(bits, (min(step, self.n_draws - start), self._rows_per_draw))


def _binomials(rows: NDArray[np.int64], rates: Array, n_draws: int, seed: Sequence[int]) -> Array:
    """Binomial counts of the outcomes 1 in each cell, (draws, cells), from the number of rows of
    each cell and the chance of a 1 there. Each count is looked up in the cell's cumulative
    distribution by one random number.
    """
    from scipy.special import gammaln, xlog1py, xlogy

    firsts = np.concatenate([[0], np.cumsum(rows)])
    # The chances of 0, 1, ... outcomes of each cell; the largest count has what is left.
    hits = np.arange(firsts[-1]) - np.repeat(firsts[:-1], rows)
    n, rate = np.repeat(rows, rows), np.repeat(np.clip(rates, 0.0, 1.0), rows)
    ways = gammaln(np.arange(1.0, rows.max(initial=0) + 2.0))
    chances = np.exp(
        ways[n] - ways[hits] - ways[n - hits] + xlogy(hits, rate) + xlog1py(n - hits, -rate)
    )
    through = np.cumsum(np.append(0.0, chances))
    lasts = _last_outcome_number(through[1:] - np.repeat(through[firsts[:-1]], rows))
    numbers = _numbers(np.random.SFC64(seed), (n_draws, rows.size))
    out, compiled = np.empty(numbers.shape), _compiled_kernels()
    if compiled is not None:
        compiled.count_steps(out, numbers, lasts, firsts)
        return out
    for c, (start, end) in enumerate(pairwise(firsts)):
        out[:, c] = np.searchsorted(lasts[start:end], numbers[:, c])
    return out


def _binomials_of_large_variance(
    rows: NDArray[np.int64], rates: Array, rng: np.random.Generator, n_draws: int
) -> Array:
    """Binomial counts of the outcomes 1, (draws, cells), as normal numbers with the skewness of
    binomial ones (Cornish and Fisher), rounded.
    """
    normal, variance = rng.standard_normal((n_draws, rates.size)), rows * (rates * (1.0 - rates))
    skewed = (1.0 - 2.0 * rates) / 6.0 * (normal * normal - 1.0)
    return np.clip(np.rint(rows * rates + np.sqrt(variance) * normal + skewed), 0.0, rows)


def count_outcomes(hits: Array, numbers: Numbers, rows: NDArray[np.int64], lasts: Numbers) -> None:
    """Count the outcomes 1 of each draw and cell, and write them to `hits` (draws, cells).

    A row's outcome is 1 if its random number in `numbers` (draws, rows in order of cells) is at
    most its cell's number in `lasts`; `rows` are the numbers of rows in each cell.
    """
    # A last cell has the numbers that a draw of fewer rows leaves.
    unused = numbers.shape[1] - rows.sum(axis=1, keepdims=True)
    shape = (len(hits), len(lasts) + 1)
    of_cell = np.broadcast_to(np.hstack([rows, unused]), shape).ravel()
    lasts_of_cell = np.broadcast_to(np.append(lasts, -1), shape).ravel()
    # One entry more than numbers, so that empty cells at the end begin at an entry too.
    below = np.zeros(numbers.size + 1, dtype=np.int8)
    below[:-1] = numbers.ravel() <= np.repeat(lasts_of_cell, of_cell)
    counts = np.add.reduceat(below, np.cumsum(of_cell) - of_cell, dtype=np.int32)
    hits[...] = np.where(of_cell > 0, counts, 0).reshape(shape)[:, :-1]


def draw_labels(rates: Array, n_draws: int, seed: Sequence[int]) -> Labels:
    """Random labels of n rows in each draw, (draws, n), where `rates` (n, k) are the chances of the
    k classes.
    """
    n, k = rates.shape
    # The memory order suits both ways: comparing few classes, or searching among many.
    lasts = _last_outcome_number(np.cumsum(rates, axis=1)[:, : k - 1])
    lasts = np.asfortranarray(lasts) if k <= FEW_COMPARED else np.ascontiguousarray(lasts)
    labels = np.empty((n_draws, n), dtype=np.uint16)
    bits, compiled = np.random.SFC64(seed), _compiled_kernels()
    step = max(1, AT_A_TIME // max(1, n))
    for start in range(0, n_draws, step):
        part = labels[start : start + step]
        numbers = _numbers(bits, part.shape)
        if compiled is not None:
            compiled.draw_labels(part, lasts, numbers)
        else:
            for d, row in enumerate(numbers):
                part[d] = (row[:, None] > lasts).sum(axis=1)
    return labels


def count_labels(
    labels: Labels, index: NDArray[np.int32], size: int, weights: Array | None
) -> Array:
    """The sum of weights (without weights, the number) of the labels that fall in each bin, (draws,
    size).

    `labels` is (draws, n); `index` (n, k) is the bin that a row belongs to under each possible
    label, below 0 if none.
    """
    sums = np.zeros((len(labels), size))
    compiled = _compiled_kernels()
    if compiled is not None:
        compiled.count_labels(sums, labels, np.ascontiguousarray(index), weights)
        return sums
    rows = np.arange(len(index))
    for d, y in enumerate(labels):
        at = index[rows, y]
        some = at >= 0
        sums[d] = np.bincount(at[some], None if weights is None else weights[some], size)
    return sums


def fit_isotonic(w: Array, wz: Array) -> Array:
    """The isotonic regression of each draw, (draws, cells): the increasing values that fit the
    cells' mean targets `wz` / `w` best, weighted by `w`; 0 where a cell has no weight.
    """
    fits = np.zeros(w.shape)
    compiled = _compiled_kernels()
    if compiled is not None:
        compiled.fit_isotonic(fits, np.ascontiguousarray(w), np.ascontiguousarray(wz))
        return fits
    from scipy.optimize import isotonic_regression

    for d, (weight, target) in enumerate(zip(w, wz, strict=True)):
        some = weight > 0
        if some.any():
            mean = target[some] / weight[some]
            fits[d, some] = isotonic_regression(mean, weights=weight[some]).x
    return fits


def rising_bins(w: Array, wz: Array) -> NDArray[np.int32]:
    """The bin of each cell in each draw, (draws, cells), in the largest number of equal-mass bins
    whose mean targets never fall from one bin to the next.

    `w` and `wz` are each cell's weight and weighted sum of targets. The number of bins is raised
    until the first fall, draw by draw (Roelofs et al., 2022).
    """
    bins = np.zeros(w.shape, dtype=np.int32)
    compiled = _compiled_kernels()
    if compiled is not None:
        compiled.rising_bins(bins, np.ascontiguousarray(w), np.ascontiguousarray(wz), ROUNDING)
        return bins
    for d, (weight, target) in enumerate(zip(w, wz, strict=True)):
        some = weight > 0
        if not some.any():
            continue
        levels = np.zeros((1, int(some.sum()), len(FIELDS)))
        for name, column in (("n", weight), ("sum_w", weight), ("sum_wz", target)):
            levels[0, :, FIELDS.index(name)] = column[some]
        m = sweep_bins(BinTable(levels, has_squares=False)).n_bins
        firsts = MiddleRanks.from_mass(weight[some]).firsts(m)
        bins[d, some] = np.repeat(np.arange(m), np.diff(firsts))
    return bins
