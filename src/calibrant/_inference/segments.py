"""The search for segments where predictions are wrong, and the p-values of what it finds.

A segment is a cell of one or more columns: the rows with the same value of each. Its ratio is its
sum of residuals over the standard deviation that the sum has if the predictions are right. The
distribution of the largest of thousands of ratios comes from outcomes drawn from the predictions,
in all segments at once, so that their overlap is accounted for.
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
from calibrant._inference.budget import (
    SEGMENT_ADDITIONS,
    SEGMENT_BLOCKS,
    SEGMENT_NUMBERS,
    SHARE_DRAWS,
)
from calibrant._inference.cells import Problem
from calibrant._inference.numbers import FEW_EVENTS
from calibrant._inference.significance import drawn_tail

Columns = Sequence[SegmentColumn]

# The variance of the outcomes of a segment that is tested: that of `FEW_EVENTS` outcomes of
# probability 1/2. With less a single outcome may decide.
LEAST_VARIANCE = FEW_EVENTS / 4.0


@dataclass(frozen=True, eq=False)
class Crossing:
    """The segments of one choice of columns (a crossing): rows with the same value of each are a
    cell.

    `columns` are the numbers of the columns, `cells` those of the cells that are tested, of `size`
    possible cells. `variance` is that of each tested cell's sum of residuals if predictions are
    right.
    """

    columns: tuple[int, ...]
    cells: Index
    size: int
    # By tested cell, (4, cells): rows, and sums of w, w u and w z.
    sums: Array
    variance: Array


@dataclass(frozen=True, eq=False)
class SegmentSearch:
    """All tested segments, and in `largest` the largest ratio (sum of residuals over its standard
    deviation) of each sample drawn as if predictions were right.

    `n_small` segments are too small to be tested. `variance` is that of the sum of all residuals if
    the predictions are right.
    """

    crossings: tuple[Crossing, ...]
    largest: Array
    n_small: int
    variance: float

    def p_value(self, ratio: float) -> float:
        """The p-value of a segment's ratio: the probability that the largest ratio of a search is
        at least as large if predictions are right.
        """
        return drawn_tail(ratio**2, self.largest**2)

    @property
    def critical(self) -> float:
        """The ratio that the largest one of a search exceeds in 5 % of samples if predictions are
        right.
        """
        return float(np.quantile(self.largest, 0.95))


def cells_of(columns: Columns, chosen: tuple[int, ...]) -> tuple[Index, int]:
    """The cell of each row in a crossing of the columns with the numbers `chosen`, and the number
    of possible cells. Rows with the same value of each of these columns are in one cell.
    """
    sizes = [len(columns[i].labels) for i in chosen]
    return np.ravel_multi_index([columns[i].codes for i in chosen], sizes), math.prod(sizes)


def labels_of(columns: Columns, chosen: tuple[int, ...], cell: int) -> list[int]:
    """The code of each chosen column's value in a cell, in the order of `chosen`."""
    codes = np.unravel_index(cell, [len(columns[i].labels) for i in chosen])
    return [int(code) for code in codes]


def search(
    noise: ModelNoise | ObservedNoise,
    columns: Columns,
    depth: int,
    *,
    min_rows: int,
    n_draws: int,
    seed: int,
) -> SegmentSearch | None:
    """Test every segment of up to `depth` columns; None where all are too small.

    Segments need `min_rows` rows and a sufficient variance.
    """
    kept: list[Crossing] = []
    n_small = 0
    for number in range(1, depth + 1):
        for chosen in itertools.combinations(range(len(columns)), number):
            cells, size = cells_of(columns, chosen)
            # Without weights the number of rows is their weight: it is summed once.
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
    total = float(noise.variances(np.zeros(noise.rows[0].size, dtype=np.intp), 1)[0])
    return SegmentSearch(tuple(kept), noise.largest(columns, kept, n_draws, rng), n_small, total)


@dataclass(frozen=True, eq=False)
class ModelNoise:
    """Independent residuals of rows, or of cells of rows, whose variance is known if the
    predictions are right.

    `rows` are four columns: the number of rows, and the sums of weight, of weight times prediction
    and of weight times target. `variance` is that of each residual, and `draw` gives all residuals
    of a sample. Segments of less variance than `least` are not tested. Where `variance` holds
    observed squares, `outcome_variance` is that of 0/1 outcomes; else it is None.
    """

    rows: tuple[Array, Array, Array, Array]
    least: float
    variance: Array
    draw: Callable[[np.random.Generator], Array]
    outcome_variance: Array | None = None

    def variances(self, cells: Index, size: int) -> Array:
        """The variance of the sum of residuals of each cell, (size,); `cells` is the cell of each
        row.
        """
        variance = summed(cells, self.variance, size)
        if self.outcome_variance is None:
            return variance
        return _at_least_model(variance, summed(cells, self.outcome_variance, size))

    def largest(
        self, columns: Columns, kept: Sequence[Crossing], n_draws: int, rng: np.random.Generator
    ) -> Array:
        """The largest absolute ratio, over all tested segments, of each of `n_draws` samples."""
        n = self.variance.size
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
    """The block of each row, and the number of blocks. Each of the `units` (a row or cluster) is a
    block; if they are too many, each unit gets a random block.
    """
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
    """The largest absolute ratio over all tested segments, (draws,), where each draw multiplies
    whole blocks of residuals by normal numbers.

    `in_blocks` is the block of each row, and the number of blocks.
    """
    blocks, n_blocks = in_blocks
    out, factors = np.zeros(n_draws), rng.standard_normal((n_blocks, n_draws))
    for crossing in kept:
        cells, size = cells_of(columns, crossing.columns)
        # The products have the variances and covariances of the residuals.
        parts = np.bincount(cells * n_blocks + blocks, residual, size * n_blocks)
        parts = parts.reshape(size, n_blocks)[crossing.cells]
        scale = np.sqrt((parts**2).sum(axis=1))
        ratios = np.abs(parts @ factors) / np.where(scale > 0, scale, np.inf)[:, None]
        np.maximum(out, ratios.max(axis=0), out=out)
    return out


class _ClusterParts(NamedTuple):
    """The parts of clusters (or rows) that lie in one cell of a crossing of columns.

    `of_rows` is the part that each row belongs to, `cells` the cell of each part, and `model` the
    variance of each cell's sum of residuals if outcomes are independent.
    """

    of_rows: Index
    cells: Index
    model: Array


@dataclass(frozen=True, eq=False)
class ObservedNoise:
    """The noise of clusters, and of soft labels without votes, estimated from the residuals.

    Where events are rare a segment may have none, and its residuals hardly vary. So its variance is
    at least that of independent outcomes, times the overdispersion of all segments together; and
    the largest ratio is at least that of outcomes drawn in clusters. `rows` and `least` are as in
    `ModelNoise`.
    """

    rows: tuple[Array, Array, Array, Array]
    least: float
    problem: Problem
    groups: Index | None

    @cached_property
    def _residuals(self) -> Array:
        """The weight of each row times its prediction less its target."""
        return self.problem.weights * (self.problem.u - self.problem.z)

    @cached_property
    def _outcome_variance(self) -> Array:
        """The variance of each row's residual if its target is a 0/1 outcome of the predicted
        probability.
        """
        return self.problem.weights**2 * self.problem.u * (1.0 - self.problem.u)

    @cached_property
    def _clusters(self) -> Index:
        """The cluster of each row, (n,); without clusters each row is its own."""
        return np.arange(self.problem.n) if self.groups is None else self.groups

    def variances(self, cells: Index, size: int) -> Array:
        """The variance of the sum of residuals of each cell, (size,); `cells` is the cell of each
        row.
        """
        return self._variances(self._residuals, self._parts(cells, size))

    def _parts(self, cells: Index, size: int) -> _ClusterParts:
        """How clusters are divided by cells; `cells` is the cell of each row, of `size` cells."""
        model = summed(cells, self._outcome_variance, size)
        if self.groups is None:
            return _ClusterParts(self._clusters, cells, model)
        n_groups = int(self.groups.max()) + 1
        keys, of_rows = np.unique(cells * n_groups + self.groups, return_inverse=True)
        return _ClusterParts(of_rows, keys // n_groups, model)

    def _variances(self, residual: Array, parts: _ClusterParts) -> Array:
        """The variance of the sum of residuals of each cell: the sum of squares of the cluster
        parts' sums, at least that of independent outcomes for hard labels.
        """
        sums = summed(parts.of_rows, residual, parts.cells.size)
        observed = summed(parts.cells, sums * sums, parts.model.size)
        # Soft labels may vary less than outcomes do.
        return _at_least_model(observed, parts.model, 1.0 if self.problem.hard else 0.0)

    def largest(
        self, columns: Columns, kept: Sequence[Crossing], n_draws: int, rng: np.random.Generator
    ) -> Array:
        """The largest absolute ratio, over all tested segments, of each of `n_draws` samples."""
        blocks = _blocks(self._clusters, rng)
        out = _largest_of_blocks(blocks, self._residuals, columns, kept, n_draws, rng)
        many = len(kept) * self.problem.n * n_draws > SEGMENT_ADDITIONS / 4
        if many or not self.problem.hard:
            return out
        common_share = self._common_share(rng)
        crossings = []
        for crossing in kept:
            cells, size = cells_of(columns, crossing.columns)
            crossings.append((cells, size, crossing.cells, self._parts(cells, size)))
        for draw in range(n_draws):
            residual = self._draw_residuals(common_share, rng)
            for cells, size, tested, parts in crossings:
                sums = np.bincount(cells, residual, size)[tested]
                ratios = sums / np.sqrt(self._variances(residual, parts)[tested])
                out[draw] = max(out[draw], float(np.abs(ratios).max()))
        return out

    def _common_share(self, rng: np.random.Generator) -> float:
        """The share of clusters in which one random number should decide all outcomes, so that the
        drawn clusters vary as much as the observed ones.
        """
        own, common = (
            np.mean([self._squares(self._draw_residuals(share, rng)) for _ in range(SHARE_DRAWS)])
            for share in (0.0, 1.0)
        )
        excess = self._squares(self._residuals) - own
        return float(np.clip(excess / (common - own), 0.0, 1.0)) if common > own else 0.0

    def _squares(self, residual: Array) -> float:
        """The sum over clusters of the squares of their summed residuals."""
        sums = np.bincount(self._clusters, residual)
        return float(sums @ sums)

    def _draw_residuals(self, common_share: float, rng: np.random.Generator) -> Array:
        """The residuals of drawn outcomes, (n,); in the share `common_share` of clusters one random
        number decides all outcomes.
        """
        p, clusters = self.problem, self._clusters
        n_clusters = int(clusters.max()) + 1
        own, common = rng.random(p.n), rng.random(n_clusters)[clusters]
        shared = (rng.random(n_clusters) < common_share)[clusters]
        z = (np.where(shared, common, own) < p.u).astype(np.float64)
        return p.weights * (p.u - z)


def _at_least_model(observed: Array, model: Array, least: float = 0.0) -> Array:
    """The observed variances, but at least those of a model, times a factor: the overdispersion
    (sum of the observed over sum of the model's) or `least`, whichever is larger.
    """
    expected = float(model.sum())
    overdispersion = float(observed.sum()) / expected if expected > 0.0 else 0.0
    return np.maximum(observed, max(overdispersion, least) * model)


def noise_of_rows(
    problem: Problem, votes: Index | None, groups: Index | None
) -> ModelNoise | ObservedNoise:
    """How the residuals of rows vary if predictions are right: as outcomes drawn from the
    predictions, or as shares of `votes` votes. With clusters, and with soft labels without votes,
    as the observed residuals do.
    """
    w, u = problem.weights, problem.u
    counted = w if problem.w is None else (w > 0).astype(np.float64)
    rows = (counted, w, w * u, w * problem.z)
    least = LEAST_VARIANCE * float((w**2).sum() / w.sum()) ** 2
    if groups is not None or (votes is None and not problem.hard):
        # How much soft labels vary is not known beforehand.
        return ObservedNoise(rows, least if problem.hard else 1e-300, problem, groups)
    m = 1.0 if votes is None else votes

    def draw(rng: np.random.Generator) -> Array:
        """All residuals of a sample drawn from the predictions, (n,)."""
        if votes is None:
            return w * (u - (rng.random(problem.n) < u))
        return w * (u - rng.binomial(votes, np.clip(u, 0.0, 1.0), problem.n) / votes)

    return ModelNoise(rows, least / float(np.max(m)), w * w * u * (1.0 - u) / m, draw)


def noise_of_cells(
    rows: tuple[Array, Array, Array, Array],
    squares: Array,
    variance: Array,
    outcome_variance: Array | None,
) -> ModelNoise:
    """How residuals of cells, whose rows agree in every column, vary if predictions are right:
    their sums are taken to be normal.

    `rows` are the number of rows, and the sums of weight, of weight times prediction and of weight
    times target, by cell; `squares` are sums of squared weights. `variance` is that of the sum of
    residuals or, for soft labels, the sum of their squares; `outcome_variance`, which only soft
    labels have, is the variance of 0/1 outcomes.
    """
    typical = float(squares.sum() / rows[1].sum())
    least = LEAST_VARIANCE * typical**2 if outcome_variance is None else 1e-300

    def draw(rng: np.random.Generator) -> Array:
        """Normal residuals of all cells, (cells,)."""
        return rng.standard_normal(variance.size) * np.sqrt(variance)

    return ModelNoise(rows, least, variance, draw, outcome_variance)
