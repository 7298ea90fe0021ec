"""The search for segments where predictions are wrong, and the chance of finding as much in vain.

Each segment's sum of residuals is divided by its standard deviation where predictions are right.
How large the largest of thousands of such ratios is then, is found by drawing outcomes from the
predictions, once for all segments: they overlap, and that is accounted for.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from calibrant._core.typing import Array, Index
from calibrant._data.segment_columns import SegmentColumn
from calibrant._inference.blocks import summed
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
    sizes = [len(columns[i].labels) for i in chosen]
    return np.ravel_multi_index([columns[i].codes for i in chosen], sizes), math.prod(sizes)


def labels_of(columns: Columns, chosen: tuple[int, ...], cell: int) -> list[int]:
    """The code of each chosen column, from a cell's number."""
    codes = np.unravel_index(cell, [len(columns[i].labels) for i in chosen])
    return [int(code) for code in codes]


def search(
    noise: Noise | SeenNoise,
    columns: Columns,
    depth: int,
    *,
    min_rows: int,
    n_draws: int,
    seed: int,
) -> Found | None:
    """Judge every segment; None where there is none to judge."""
    kept: list[Crossing] = []
    n_small = 0
    for number in range(1, depth + 1):
        for chosen in itertools.combinations(range(len(columns)), number):
            cells, size = cells_of(columns, chosen)
            # Without weights rows are counted by their weights, once.
            same = noise.rows[0] is noise.rows[1]
            added = [summed(cells, values, size) for values in noise.rows[same:]]
            sums = np.stack([added[0], *added] if same else added)
            variance = noise.variances(cells, size)
            enough = np.flatnonzero((sums[0] >= min_rows) & (variance >= noise.least))
            n_small += int(np.count_nonzero(sums[0])) - enough.size
            if enough.size:
                kept.append(Crossing(chosen, enough, size, sums[:, enough], variance[enough]))
    if not kept:
        return None
    rng = np.random.default_rng([seed, 0x5E6])
    whole = float(noise.variances(np.zeros(noise.rows[0].size, dtype=np.intp), 1)[0])
    return Found(tuple(kept), noise.largest(columns, kept, n_draws, rng), n_small, whole)


@dataclass(frozen=True, eq=False)
class Noise:
    """How residuals of rows, or of cells of rows, scatter where predictions are right.

    `rows` are their numbers, and their sums of w, w u and w z. `spread` is the variance of each
    residual, and `draw` gives all residuals of a sample. Segments of less variance than `least` are
    not judged. `even` is what the variance of outcomes would be, where `spread` are squares seen.
    """

    rows: tuple[Array, Array, Array, Array]
    least: float
    spread: Array
    draw: Callable[[np.random.Generator], Array]
    even: Array | None = None

    def variances(self, cells: Index, size: int) -> Array:
        """The variance of the sum of residuals of each cell."""
        seen = summed(cells, self.spread, size)
        return seen if self.even is None else _at_least(seen, summed(cells, self.even, size))

    def largest(
        self, columns: Columns, kept: Sequence[Crossing], n_draws: int, rng: np.random.Generator
    ) -> Array:
        """The largest absolute ratio of each of `n_draws` samples."""
        n = self.spread.size
        if len(kept) * n * n_draws > SEGMENT_ADDITIONS:
            blocks = _blocks(np.arange(n), rng)
            return _largest_of_blocks(blocks, self.draw(rng), columns, kept, n_draws, rng)
        out, step = np.zeros(n_draws), max(1, SEGMENT_NUMBERS // n)
        for start in range(0, n_draws, step):
            part = out[start : start + step]
            drawn = [self.draw(rng) for _ in part]
            for crossing in kept:
                cells, size = cells_of(columns, crossing.columns)
                sums = np.stack([np.bincount(cells, r, size)[crossing.cells] for r in drawn])
                ratios = np.abs(sums / np.sqrt(crossing.variance))
                np.maximum(part, ratios.max(axis=1), out=part)
        return out


def _blocks(units: Index, rng: np.random.Generator) -> tuple[Index, int]:
    """The block of each row, its unit or one at random where there are more units; and how many."""
    number = int(units.max()) + 1
    if number <= SEGMENT_BLOCKS:
        return units, number
    return rng.integers(0, SEGMENT_BLOCKS, number)[units], SEGMENT_BLOCKS


def _largest_of_blocks(
    in_blocks: tuple[Index, int],
    residual: Array,
    columns: Columns,
    kept: Sequence[Crossing],
    n_draws: int,
    rng: np.random.Generator,
) -> Array:
    """The largest absolute ratios where whole blocks of residuals have random factors."""
    blocks, n_blocks = in_blocks
    out, factors = np.zeros(n_draws), rng.standard_normal((n_blocks, n_draws))
    for crossing in kept:
        cells, size = cells_of(columns, crossing.columns)
        # Sums over blocks have the variances and covariances of the residuals.
        parts = np.bincount(cells * n_blocks + blocks, residual, size * n_blocks)
        parts = parts.reshape(size, n_blocks)[crossing.cells]
        scale = np.sqrt((parts**2).sum(axis=1))
        ratios = np.abs(parts @ factors) / np.where(scale > 0, scale, np.inf)[:, None]
        np.maximum(out, ratios.max(axis=0), out=out)
    return out


class _Parts(NamedTuple):
    """The parts of clusters, or the rows, within cells of a crossing.

    `of_rows` is the part of each row, `cells` the cell of each part, and `model` the variance of
    each cell if outcomes were independent.
    """

    of_rows: Index
    cells: Index
    model: Array


@dataclass(frozen=True, eq=False)
class SeenNoise:
    """The noise of clusters, and of soft labels without votes: what the residuals seen tell.

    Where events are rare a segment may have none, and its residuals hardly scatter. Its variance is
    at least what predictions of 0/1 outcomes have, times what all segments together show in excess
    of that; and the largest ratio is that of outcomes drawn in clusters too, if that is larger.
    """

    rows: tuple[Array, Array, Array, Array]
    least: float
    problem: Problem
    groups: Index | None

    @cached_property
    def _seen(self) -> Array:
        return self.problem.weights * (self.problem.u - self.problem.z)

    @cached_property
    def _even(self) -> Array:
        return self.problem.weights**2 * self.problem.u * (1.0 - self.problem.u)

    @cached_property
    def _clusters(self) -> Index:
        return np.arange(self.problem.n) if self.groups is None else self.groups

    def variances(self, cells: Index, size: int) -> Array:
        """The variance of the sum of residuals of each cell."""
        return self._variances(self._seen, self._parts(cells, size))

    def _parts(self, cells: Index, size: int) -> _Parts:
        model = summed(cells, self._even, size)
        if self.groups is None:
            return _Parts(self._clusters, cells, model)
        n_groups = int(self.groups.max()) + 1
        keys, of_rows = np.unique(cells * n_groups + self.groups, return_inverse=True)
        return _Parts(of_rows, keys // n_groups, model)

    def _variances(self, residual: Array, parts: _Parts) -> Array:
        sums = summed(parts.of_rows, residual, parts.cells.size)
        seen = summed(parts.cells, sums * sums, parts.model.size)
        # Soft labels may scatter less than outcomes do.
        return _at_least(seen, parts.model, 1.0 if self.problem.hard else 0.0)

    def largest(
        self, columns: Columns, kept: Sequence[Crossing], n_draws: int, rng: np.random.Generator
    ) -> Array:
        """The largest absolute ratio of each of `n_draws` samples."""
        blocks = _blocks(self._clusters, rng)
        out = _largest_of_blocks(blocks, self._seen, columns, kept, n_draws, rng)
        many = len(kept) * self.problem.n * n_draws > SEGMENT_ADDITIONS / 4
        if many or not self.problem.hard:
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

    def _of_outcomes(self, together: float, rng: np.random.Generator) -> Array:
        """Residuals of outcomes that are decided by one draw in a share of the clusters."""
        p, clusters = self.problem, self._clusters
        n_clusters = int(clusters.max()) + 1
        own, common = rng.random(p.n), rng.random(n_clusters)[clusters]
        shared = (rng.random(n_clusters) < together)[clusters]
        z = (np.where(shared, common, own) < p.u).astype(np.float64)
        return p.weights * (p.u - z)


def _at_least(seen: Array, model: Array, least: float = 0.0) -> Array:
    """Variances seen, and no less than a model's times what all together show in excess of it."""
    expected = float(model.sum())
    excess = float(seen.sum()) / expected if expected > 0.0 else 0.0
    return np.maximum(seen, max(excess, least) * model)


def noise_of_rows(problem: Problem, votes: Index | None, groups: Index | None) -> Noise | SeenNoise:
    """Outcomes, or votes, drawn from the predictions; of clusters, and of soft labels without
    votes, the noise that was seen.
    """
    w, u = problem.weights, problem.u
    counted = w if problem.w is None else (w > 0).astype(np.float64)
    rows = (counted, w, w * u, w * problem.z)
    least = LEAST_SEGMENT_VARIANCE * float((w**2).sum() / w.sum()) ** 2
    if groups is not None or (votes is None and not problem.hard):
        # How much soft labels scatter is not known beforehand.
        return SeenNoise(rows, least if problem.hard else 1e-300, problem, groups)
    m = 1.0 if votes is None else votes

    def draw(rng: np.random.Generator) -> Array:
        if votes is None:
            return w * (u - (rng.random(problem.n) < u))
        return w * (u - rng.binomial(votes, np.clip(u, 0.0, 1.0), problem.n) / votes)

    return Noise(rows, least / float(np.max(m)), w * w * u * (1.0 - u) / m, draw)


def noise_of_cells(
    rows: tuple[Array, Array, Array, Array], squares: Array, spread: Array, even: Array | None
) -> Noise:
    """Cells of rows that have every column in common, each with independent residuals that are
    normal in sum. `rows` and `squares` are sums of 1, w, w u, w z and of w^2; `spread` is the
    variance of the sum of residuals, or, of soft labels, the sum of their squares, and `even` what
    the variance of outcomes would be.
    """
    typical = float(squares.sum() / rows[1].sum())
    least = LEAST_SEGMENT_VARIANCE * typical**2 if even is None else 1e-300

    def draw(rng: np.random.Generator) -> Array:
        return rng.standard_normal(spread.size) * np.sqrt(spread)

    return Noise(rows, least, spread, draw, even)
