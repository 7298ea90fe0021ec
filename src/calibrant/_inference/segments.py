"""The search for segments where predictions are wrong, and the chance of finding as much in vain.

Each segment's sum of residuals is divided by its standard deviation where predictions are right.
How large the largest of thousands of such ratios is then, is found by drawing outcomes from the
predictions, once for all segments: they overlap, and that is accounted for.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibrant._core.typing import Array, Index
from calibrant._data.segment_columns import SegmentColumn
from calibrant._inference.budget import SEGMENT_ADDITIONS, SEGMENT_BLOCKS, SEGMENT_NUMBERS
from calibrant._inference.cells import Problem
from calibrant._inference.numbers import LEAST_SEGMENT_VARIANCE
from calibrant._inference.significance import drawn_tail

Columns = Sequence[SegmentColumn]


@dataclass(frozen=True, eq=False)
class Crossing:
    """The segments of one choice of columns: the cells that are judged, and what they sum to."""

    columns: tuple[int, ...]
    cells: Index
    size: int
    # Rows, and sums of w, w u and w z.
    sums: Array
    variance: Array

    @property
    def ratio(self) -> Array:
        """The sum of residuals over its standard deviation where predictions are right."""
        return (self.sums[2] - self.sums[3]) / np.sqrt(self.variance)


@dataclass(frozen=True, eq=False)
class Found:
    """Every segment that was judged, and the largest ratio of each drawn sample.

    `variance` is that of the sum of all residuals where predictions are right.
    """

    crossings: tuple[Crossing, ...]
    largest: Array
    n_small: int
    variance: float

    def p_value(self, ratio: float) -> float:
        """The chance that the search finds as much where nothing is wrong."""
        return drawn_tail(ratio**2, self.largest**2)

    @property
    def critical(self) -> float:
        """The ratio that the largest of a search stays below in 95 % of samples."""
        return float(np.quantile(self.largest, 0.95))


def cells_of(columns: Columns, chosen: tuple[int, ...]) -> tuple[Index, int]:
    """Each row's cell of a crossing, and how many cells there could be."""
    cells, size = columns[chosen[0]].codes, len(columns[chosen[0]].labels)
    for i in chosen[1:]:
        n_labels = len(columns[i].labels)
        cells, size = cells * n_labels + columns[i].codes, size * n_labels
    return cells, size


def labels_of(columns: Columns, chosen: tuple[int, ...], cell: int) -> list[int]:
    """The code of each chosen column, from a cell's number."""
    codes = []
    for i in reversed(chosen):
        cell, code = divmod(cell, len(columns[i].labels))
        codes.append(int(code))
    return codes[::-1]


def search(
    problem: Problem,
    columns: Columns,
    depth: int,
    *,
    min_rows: int,
    n_draws: int,
    seed: int,
    votes: Index | None,
    groups: Index | None,
) -> Found | None:
    """Judge every segment; None where there is none to judge."""
    w = problem.weights
    counted = w if problem.w is None else (w > 0).astype(np.float64)
    rows = (counted, w, w * problem.u, w * problem.z)
    noise = _noise_of(problem, votes, groups)
    return _judged(rows, noise, columns, depth, min_rows=min_rows, n_draws=n_draws, seed=seed)


@dataclass(frozen=True, eq=False)
class CellSums:
    """Sums over rows that have every column in common, a number for each such cell.

    `spread` is the variance of the sum of residuals where predictions are right; or, of soft labels
    without votes, the sum of their squares, and `even` what the variance of outcomes would be.
    """

    n: Array
    w: Array
    ww: Array
    wu: Array
    wz: Array
    spread: Array
    even: Array | None = None


def search_cells(
    sums: CellSums, columns: Columns, depth: int, *, min_rows: int, n_draws: int,
    seed: int,
) -> Found | None:  # fmt: skip
    """Judge every segment from cells of all columns crossed, whose residuals are independent.

    What differs from `search` is that the sum of a cell's residuals is drawn as normal.
    """
    rows = (sums.n, sums.w, sums.wu, sums.wz)
    typical = float(sums.ww.sum() / sums.w.sum())
    least = LEAST_SEGMENT_VARIANCE * typical**2 if sums.even is None else 1e-300
    noise = _CellNoise(sums.spread, None, least, sums.even)
    return _judged(rows, noise, columns, depth, min_rows=min_rows, n_draws=n_draws, seed=seed)


def _judged(
    rows: tuple[Array, Array, Array, Array], noise: _Noise, columns: Columns,
    depth: int, *, min_rows: int, n_draws: int, seed: int,
) -> Found | None:  # fmt: skip
    kept: list[Crossing] = []
    n_small = 0
    for number in range(1, depth + 1):
        for chosen in itertools.combinations(range(len(columns)), number):
            cells, size = cells_of(columns, chosen)
            # Without weights rows are counted by their weights, once.
            same = rows[0] is rows[1]
            added = [np.bincount(cells, values, size) for values in rows[same:]]
            sums: Array = np.stack([added[0], *added] if same else added).astype(np.float64)
            variance = noise.variances(cells, size)
            enough = np.flatnonzero((sums[0] >= min_rows) & (variance >= noise.least))
            n_small += int(np.count_nonzero(sums[0])) - enough.size
            if enough.size:
                kept.append(Crossing(chosen, enough, size, sums[:, enough], variance[enough]))
    if not kept:
        return None
    rng = np.random.default_rng([seed, 0x5E6])
    whole = float(noise.variances(np.zeros(noise.n, dtype=np.intp), 1)[0])
    return Found(tuple(kept), noise.largest(columns, kept, n_draws, rng), n_small, whole)


@dataclass(frozen=True, eq=False)
class _Noise(ABC):
    """How residuals scatter where predictions are right.

    `spread` is the variance of each row, or cell, where that is known. Where it is not, with
    clusters or soft labels without votes, residuals are those seen, and whole clusters or rows have
    random factors.
    """

    spread: Array | None
    groups: Index | None
    least: float

    @property
    @abstractmethod
    def n(self) -> int:
        """How many rows, or cells, have residuals."""

    @abstractmethod
    def variances(self, cells: Index, size: int) -> Array:
        """The variance of the sum of residuals of each cell."""

    @abstractmethod
    def _drawn(self, rng: np.random.Generator) -> Array:
        """Residuals of a sample whose predictions are right."""

    def _of_blocks(self, rng: np.random.Generator) -> Array:
        """Residuals whose sums over blocks have random factors."""
        return self._drawn(rng)

    def largest(
        self, columns: Columns, kept: Sequence[Crossing], n_draws: int, rng: np.random.Generator
    ) -> Array:
        """The largest absolute ratio of each of `n_draws` samples."""
        out = np.zeros(n_draws)
        if self.spread is not None and len(kept) * self.n * n_draws <= SEGMENT_ADDITIONS:
            step = max(1, SEGMENT_NUMBERS // self.n)
            for start in range(0, n_draws, step):
                part = out[start : start + step]
                drawn = [self._drawn(rng) for _ in part]
                for crossing in kept:
                    cells, size = cells_of(columns, crossing.columns)
                    sums = np.stack([np.bincount(cells, r, size)[crossing.cells] for r in drawn])
                    _raise_to(part, np.abs(sums / np.sqrt(crossing.variance)).max(axis=1))
            return out
        blocks, n_blocks = self._blocks(rng)
        residual = self._of_blocks(rng)
        factors = rng.standard_normal((n_blocks, n_draws))
        for crossing in kept:
            cells, size = cells_of(columns, crossing.columns)
            # Sums over blocks have the variances and covariances of the residuals.
            parts = np.bincount(cells * n_blocks + blocks, residual, size * n_blocks)
            parts = parts.reshape(size, n_blocks)[crossing.cells]
            scale = np.sqrt((parts**2).sum(axis=1))
            ratios = np.abs(parts @ factors) / np.where(scale > 0, scale, np.inf)[:, None]
            _raise_to(out, ratios.max(axis=0))
        return out

    def _blocks(self, rng: np.random.Generator) -> tuple[Index, int]:
        """Rows or clusters, at random in so many blocks where there are more of them."""
        n = self.n
        number = n if self.groups is None else int(self.groups.max()) + 1
        if self.groups is None and number > SEGMENT_BLOCKS:
            return rng.integers(0, SEGMENT_BLOCKS, n), SEGMENT_BLOCKS
        own = np.arange(n) if self.groups is None else self.groups
        if number <= SEGMENT_BLOCKS:
            return own, number
        return rng.integers(0, SEGMENT_BLOCKS, number)[own], SEGMENT_BLOCKS


@dataclass(frozen=True, eq=False)
class _RowNoise(_Noise):
    """The noise of rows: outcomes, or votes, that are drawn from the predictions."""

    problem: Problem
    votes: Index | None

    @property
    def n(self) -> int:
        return self.problem.n

    @cached_property
    def _seen(self) -> Array:
        return self.problem.weights * (self.problem.u - self.problem.z)

    def variances(self, cells: Index, size: int) -> Array:
        assert self.spread is not None
        return _added(cells, self.spread, size)

    def _drawn(self, rng: np.random.Generator) -> Array:
        p = self.problem
        if self.votes is None:
            z: Array = (rng.random(p.n) < p.u).astype(np.float64)
        else:
            z = rng.binomial(self.votes, np.clip(p.u, 0.0, 1.0), p.n) / self.votes
        return p.weights * (p.u - z)


@dataclass(frozen=True, eq=False)
class _Parts:
    """The parts of clusters, or the rows, within cells of a crossing.

    `index` is the part of each row, `cells` the cell of each part, and `model` the variance of each
    cell if outcomes were independent.
    """

    index: Index
    cells: Index
    model: Array


@dataclass(frozen=True, eq=False)
class _SeenNoise(_RowNoise):
    """The noise of clusters, and of soft labels without votes: what the residuals seen tell.

    Where events are rare a segment may have none, and its residuals hardly scatter. Its variance is
    at least what predictions of 0/1 outcomes have, times what all segments together show in excess
    of that; and the largest ratio is that of outcomes drawn in clusters too, if that is larger.
    """

    def variances(self, cells: Index, size: int) -> Array:
        return self._variances(self._seen, self._parts(cells, size))

    def _parts(self, cells: Index, size: int) -> _Parts:
        model = _added(cells, self._even, size)
        if self.groups is None:
            return _Parts(np.arange(self.n), cells, model)
        n_groups = int(self.groups.max()) + 1
        keys, index = np.unique(cells * n_groups + self.groups, return_inverse=True)
        return _Parts(index, keys // n_groups, model)

    def _variances(self, residual: Array, parts: _Parts) -> Array:
        sums: Array = np.bincount(parts.index, residual, parts.cells.size).astype(np.float64)
        seen = _added(parts.cells, sums * sums, parts.model.size)
        # Soft labels may scatter less than outcomes do.
        return _at_least(seen, parts.model, 1.0 if self.problem.hard else 0.0)

    @cached_property
    def _even(self) -> Array:
        p = self.problem
        return p.weights**2 * p.u * (1.0 - p.u)

    def _of_blocks(self, rng: np.random.Generator) -> Array:
        return self._seen

    def largest(
        self, columns: Columns, kept: Sequence[Crossing], n_draws: int, rng: np.random.Generator
    ) -> Array:
        out = super().largest(columns, kept, n_draws, rng)
        if not self.problem.hard or len(kept) * self.n * n_draws > SEGMENT_ADDITIONS / 4:
            return out
        together = self._together(rng)
        crossings = []
        for crossing in kept:
            cells, size = cells_of(columns, crossing.columns)
            crossings.append((cells, size, crossing.cells, self._parts(cells, size)))
        for draw in range(n_draws):
            residual = self._of_outcomes(together, rng)
            for cells, size, judged, parts in crossings:
                sums = np.bincount(cells, residual, size)[judged]
                ratios = sums / np.sqrt(self._variances(residual, parts)[judged])
                out[draw] = max(out[draw], float(np.abs(ratios).max()))
        return out

    def _together(self, rng: np.random.Generator) -> float:
        """The share of clusters in which one draw decides all rows, to scatter as much as seen."""
        alone, shared = (
            np.mean([self._squares(self._of_outcomes(share, rng)) for _ in range(20)])
            for share in (0.0, 1.0)
        )
        more = self._squares(self._seen) - alone
        return float(np.clip(more / (shared - alone), 0.0, 1.0)) if shared > alone else 0.0

    def _squares(self, residual: Array) -> float:
        sums = np.bincount(self._clusters, residual)
        return float(sums @ sums)

    @cached_property
    def _clusters(self) -> Index:
        return np.arange(self.n) if self.groups is None else self.groups

    def _of_outcomes(self, together: float, rng: np.random.Generator) -> Array:
        """Residuals of outcomes that are decided by one draw in a share of the clusters."""
        p, clusters = self.problem, self._clusters
        n_clusters = int(clusters.max()) + 1
        own, common = rng.random(p.n), rng.random(n_clusters)[clusters]
        shared = (rng.random(n_clusters) < together)[clusters]
        z = (np.where(shared, common, own) < p.u).astype(np.float64)
        return p.weights * (p.u - z)


@dataclass(frozen=True, eq=False)
class _CellNoise(_Noise):
    """The noise of cells, each with the sum of the residuals of its rows."""

    spread: Array
    even: Array | None = None

    @property
    def n(self) -> int:
        return int(self.spread.size)

    def variances(self, cells: Index, size: int) -> Array:
        seen = _added(cells, self.spread, size)
        return seen if self.even is None else _at_least(seen, _added(cells, self.even, size))

    def _drawn(self, rng: np.random.Generator) -> Array:
        return rng.standard_normal(self.n) * np.sqrt(self.spread)


def _added(cells: Index, values: Array, size: int) -> Array:
    return np.bincount(cells, values, size).astype(np.float64)


def _at_least(seen: Array, model: Array, least: float = 0.0) -> Array:
    """Variances seen, and no less than a model's times what all together show in excess of it."""
    expected = float(model.sum())
    excess = float(seen.sum()) / expected if expected > 0.0 else 0.0
    return np.maximum(seen, max(excess, least) * model)


def _raise_to(out: Array, values: Array) -> None:
    np.maximum(out, values, out=out)


def _noise_of(problem: Problem, votes: Index | None, groups: Index | None) -> _Noise:
    w = problem.weights
    typical = float((w**2).sum() / w.sum())
    if groups is not None or (votes is None and not problem.hard):
        # How much soft labels scatter is not known beforehand.
        least = LEAST_SEGMENT_VARIANCE * typical**2 if problem.hard else 1e-300
        return _SeenNoise(None, groups, least, problem, votes)
    m = 1.0 if votes is None else votes
    spread = w * w * problem.u * (1.0 - problem.u) / m
    least = LEAST_SEGMENT_VARIANCE * typical**2 / float(np.max(m))
    return _RowNoise(spread, None, least, problem, votes)
