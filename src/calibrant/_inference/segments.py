"""The search for segments where predictions are wrong, and the chance of finding as much in vain.

Each segment's sum of residuals is divided by its standard deviation where predictions are right.
How large the largest of thousands of such ratios is then, is found by drawing outcomes from the
predictions, once for all segments: they overlap, and that is accounted for.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrant._data.segment_columns import SegmentColumn
from calibrant._inference.cells import Problem
from calibrant._inference.significance import drawn_tail

Array = NDArray[np.float64]
Codes = NDArray[np.intp]

# Additions for which outcomes are drawn row by row; beyond, whole blocks of rows change sign.
AFFORDABLE = 1.5e9
N_BLOCKS = 1024
# A segment with less variance than ten even chances is not judged: a single outcome may decide.
LEAST_VARIANCE = 2.5


@dataclass(frozen=True, eq=False)
class Crossing:
    """The segments of one choice of columns: those with enough rows, and each row's segment.

    `index` numbers the kept segments from 0; rows of others have the number `size`.
    """

    columns: tuple[int, ...]
    cells: Codes
    index: Codes

    @property
    def size(self) -> int:
        return int(self.cells.size)

    def sums(self, values: Array) -> Array:
        out: Array = np.bincount(self.index, values, self.size + 1)[: self.size].astype(np.float64)
        return out


@dataclass(frozen=True, eq=False)
class Found:
    """Every segment that was judged: its columns and cell, sums, and the ratio to be explained."""

    crossings: tuple[Crossing, ...]
    n: Array
    weight: Array
    predicted: Array
    target: Array
    ratio: Array
    # The largest absolute ratio in each sample whose predictions are right.
    largest: Array
    n_small: int

    def p_value(self, ratio: float) -> float:
        """The chance that the search finds as much where nothing is wrong."""
        return drawn_tail(ratio**2, self.largest**2)


def crossings_of(columns: Sequence[SegmentColumn], depth: int) -> Iterator[tuple[int, ...]]:
    for size in range(1, depth + 1):
        yield from itertools.combinations(range(len(columns)), size)


def cells_of(columns: Sequence[SegmentColumn], chosen: tuple[int, ...]) -> tuple[Codes, int]:
    """Each row's cell of a crossing, and how many cells there could be."""
    cells, size = np.zeros(columns[0].codes.size, dtype=np.intp), 1
    for i in chosen:
        cells, size = cells * len(columns[i].labels) + columns[i].codes, size * len(
            columns[i].labels
        )  # fmt: skip
    return cells, size


def labels_of(columns: Sequence[SegmentColumn], chosen: tuple[int, ...], cell: int) -> list[int]:
    """The code of each chosen column, from a cell's number."""
    codes = []
    for i in reversed(chosen):
        cell, code = divmod(cell, len(columns[i].labels))
        codes.append(int(code))
    return codes[::-1]


def search(
    problem: Problem,
    columns: Sequence[SegmentColumn],
    depth: int,
    *,
    min_rows: int,
    n_draws: int,
    seed: int,
    votes: Codes | None,
    groups: Codes | None,
) -> Found | None:
    """Judge every segment; None where there is none to judge."""
    noise = _noise_of(problem, votes, groups)
    w = problem.weights
    residual = w * (problem.u - problem.z)
    kept: list[Crossing] = []
    sums: list[tuple[Array, ...]] = []
    n_small = 0
    for chosen in crossings_of(columns, depth):
        cells, size = cells_of(columns, chosen)
        n = np.bincount(cells[w > 0] if problem.w is not None else cells, minlength=size)
        variance = noise.variances(cells, size)
        enough = (n >= min_rows) & (variance >= noise.least)
        n_small += int(np.count_nonzero((n > 0) & ~enough))
        if not enough.any():
            continue
        place = np.full(size, int(enough.sum()), dtype=np.intp)
        place[enough] = np.arange(int(enough.sum()))
        crossing = Crossing(chosen, np.flatnonzero(enough), place[cells])
        of_rows = (w, w * problem.u, w * problem.z, residual)
        added = [crossing.sums(values) for values in of_rows]
        kept.append(crossing)
        sums.append((n[enough].astype(np.float64), *added[:3],
                     added[3] / np.sqrt(variance[enough])))  # fmt: skip
    if not kept:
        return None
    n, weight, predicted, target, ratio = (np.concatenate(part) for part in zip(*sums, strict=True))
    largest = noise.largest(kept, n_draws, np.random.default_rng([seed, 0x5E6]))
    return Found(tuple(kept), n, weight, predicted, target, ratio, largest, n_small)


@dataclass(frozen=True, eq=False)
class _Noise:
    """How residuals scatter where predictions are right.

    `residuals` are one draw of them by row, or those seen, and signs change by `blocks`: rows,
    clusters, or rows put together. `spread` is the variance of each row where that is known.
    """

    problem: Problem
    spread: Array | None
    votes: Codes | None
    groups: Codes | None
    least: float

    def variances(self, cells: Codes, size: int) -> Array:
        """The variance of the sum of residuals of each cell."""
        if self.spread is not None:
            out: Array = np.bincount(cells, self.spread, size).astype(np.float64)
            return out
        seen = self.problem.weights * (self.problem.u - self.problem.z)
        if self.groups is None:
            return np.bincount(cells, seen**2, size).astype(np.float64)
        n_groups = int(self.groups.max()) + 1
        keys, inverse = np.unique(cells * n_groups + self.groups, return_inverse=True)
        squares = np.bincount(inverse, seen) ** 2
        return np.bincount(keys // n_groups, squares, size).astype(np.float64)

    def drawn(self, rng: np.random.Generator) -> Array:
        """Residuals of a sample whose predictions are right."""
        p = self.problem
        m = np.ones(1, dtype=np.intp) if self.votes is None else self.votes
        z = rng.binomial(m, np.clip(p.u, 0.0, 1.0)) / m
        return p.weights * (p.u - z)

    def largest(self, kept: Sequence[Crossing], n_draws: int, rng: np.random.Generator) -> Array:
        if self.spread is not None and len(kept) * self.problem.n * n_draws <= AFFORDABLE:
            return self._by_outcomes(kept, n_draws, rng)
        return self._by_blocks(kept, n_draws, rng)

    def _by_outcomes(
        self, kept: Sequence[Crossing], n_draws: int, rng: np.random.Generator
    ) -> Array:
        assert self.spread is not None
        scales = [1.0 / np.sqrt(crossing.sums(self.spread)) for crossing in kept]
        out = np.zeros(n_draws)
        for draw in range(n_draws):
            residual = self.drawn(rng)
            out[draw] = max(
                float(np.abs(crossing.sums(residual) * scale).max())
                for crossing, scale in zip(kept, scales, strict=True)
            )
        return out

    def _by_blocks(self, kept: Sequence[Crossing], n_draws: int, rng: np.random.Generator) -> Array:
        """Sums over blocks of rows, or clusters, each with a random normal factor: their variances
        and covariances are those of the residuals.
        """
        p = self.problem
        residual = p.weights * (p.u - p.z) if self.spread is None else self.drawn(rng)
        blocks = self.groups
        if blocks is None:
            blocks = np.arange(p.n)
        if int(blocks.max()) >= N_BLOCKS:
            blocks = rng.integers(0, N_BLOCKS, int(blocks.max()) + 1)[blocks]
        n_blocks = int(blocks.max()) + 1
        factors = rng.standard_normal((n_blocks, n_draws))
        out = np.zeros(n_draws)
        for crossing in kept:
            key = crossing.index * n_blocks + blocks
            parts = np.bincount(key, residual, (crossing.size + 1) * n_blocks)
            parts = parts.reshape(-1, n_blocks)[: crossing.size]
            scale = np.sqrt((parts**2).sum(axis=1))
            drawn = np.abs(parts @ factors)
            drawn /= np.where(scale > 0, scale, np.inf)[:, None]
            np.maximum(out, drawn.max(axis=0), out=out)
        return out


def _noise_of(problem: Problem, votes: Codes | None, groups: Codes | None) -> _Noise:
    w = problem.weights
    typical = float((w**2).sum() / w.sum()) if w.any() else 1.0
    if groups is not None or (votes is None and not problem.hard):
        return _Noise(problem, None, votes, groups, 1e-300)
    m = 1.0 if votes is None else np.asarray(votes, dtype=np.float64)
    spread = w * w * problem.u * (1.0 - problem.u) / m
    return _Noise(problem, spread, votes, None, LEAST_VARIANCE * typical**2 / float(np.max(m)))
