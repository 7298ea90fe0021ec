"""Samples of calibrated predictions: what residuals are if the predictions are exactly right.

Hard labels are drawn from the predictions. How soft labels and the rows of a cluster vary, the
predictions do not say: there the signs of the residuals about their bin's mean are drawn, block by
block, which assumes no more than that they are alike above and below. In bins in which few events
are expected even that fails: of ten bins that expect a tenth of an event each, nine have none, and
their residuals hardly vary. So a second sample has outcomes drawn from the predictions there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.typing import Array, Counts, Index
from calibrant._data.samples import Samples
from calibrant._engines.arrays.draws import MOST_LABELS, Labels, Outcomes, draw_labels
from calibrant._inference.blocks import Blocks, student_factor, summed
from calibrant._inference.budget import (
    BLOCK_ENTRIES,
    DRAWN_LABELS,
    DRAWN_NUMBERS,
    SINGLE_ROWS,
)
from calibrant._inference.cells import Cells, Drawn, Problem, design_effect, dispersion
from calibrant._inference.noise_model import NoiseModel
from calibrant._inference.numbers import FEW_CLUSTERS, FEW_EVENTS, MOST_VOTES
from calibrant._inference.slots import Slots

# --- bins in which few events are expected --------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RareEventBins:
    """The bins in which few events, or few non-events, are expected.

    `bins` are their numbers, `weight` is the weight of each, and `trials` the number of independent
    outcomes that its rows are worth: fewer than rows in clusters, more with soft labels.
    """

    bins: Index
    weight: Array
    trials: Counts

    def find_cells(self, bins: Index) -> tuple[Index, Index]:
        """The numbers of the cells that lie in these bins, and for each of them the position of its
        bin in `self.bins`; `bins` is the bin of every cell.
        """
        position = np.full(int(bins.max(initial=-1)) + 1, -1)
        position[self.bins] = np.arange(self.bins.size)
        cells = np.flatnonzero(position[bins] >= 0)
        return cells, position[bins[cells]]

    def draw_residuals(self, rates: Array, n_draws: int, rng: np.random.Generator) -> Array:
        """Sums of residuals (weighted outcome less rate) of binomial outcomes, (draws, these bins);
        `rates` are the event rates of all bins.
        """
        rate = np.clip(rates[self.bins], 0.0, 1.0)
        drawn = rng.binomial(self.trials, rate, (n_draws, self.bins.size))
        return self.weight * (drawn / self.trials - rate)


def rare_event_bins(
    weight: Array, squares: Array, rates: Array, outcome_size: float
) -> RareEventBins:
    """The bins in which fewer than `FEW_EVENTS` events or non-events are expected.

    `weight` and `squares` are the sums of weights and of their squares in every bin, `rates` the
    bins' event rates; one independent outcome counts as `outcome_size` rows.
    """
    each = np.divide(squares, weight, out=np.ones(weight.size), where=weight > 0) * outcome_size
    rarer = np.minimum(rates, 1.0 - rates)
    bins = np.flatnonzero((weight * rarer < FEW_EVENTS * each) & (weight > 0))
    trials = np.maximum(1, np.rint(weight[bins] / each[bins])).astype(np.int64)
    return RareEventBins(bins, weight[bins], trials)


# --- a scalar problem -----------------------------------------------------------------------------


def null_drawn(
    problem: Problem, cells: Cells, blocks: Blocks, n_draws: int, rng: np.random.Generator
) -> Drawn:
    """Draws of a scalar problem (one predicted probability a row) whose predictions are right, as
    sums by cell.

    Independent hard labels are drawn from the predictions; with soft labels or clusters the
    observed residuals of each block get random signs.
    """
    wu = cells.w * cells.u
    if problem.hard and not blocks.clustered:
        if problem.counts_once:
            rows = cells.n.astype(np.int64)[None]
            wz = Outcomes(rows, n_draws, rng.integers(0, 1 << 32, 4).tolist()).draw(
                np.clip(cells.u, 0.0, 1.0)
            )
        else:
            wz = wu + outcome_residuals(problem, cells, cells.u, n_draws, rng)
        wz2 = wz
    else:
        wz = wu + _scattered_residuals(problem, cells, blocks, n_draws, rng)
        safe = np.where(cells.w > 0, cells.w, 1.0)
        variance = np.maximum(cells.wz2 - cells.wz**2 / safe, 0.0)
        # The square of a 0/1 outcome is the outcome.
        wz2 = wz if problem.hard else variance + wz**2 / safe
    shape, m = wz.shape, (n_draws, cells.m)
    by_bin = np.broadcast_to(cells.by_bin(cells.w), m), np.broadcast_to(cells.by_bin(wu), m)
    return Drawn(
        cells, np.broadcast_to(cells.w, shape), np.broadcast_to(wu, shape), wz, wz2, by_bin
    )


def _scattered_residuals(
    problem: Problem, cells: Cells, blocks: Blocks, n_draws: int, rng: np.random.Generator
) -> Array:
    """Sums of residuals by cell, (draws, cells): the observed ones of each block, about the gaps of
    their bins, with random signs or, of rows that each stand for many, normal numbers of their
    variance.
    """
    w = problem.weights
    if blocks.clustered:
        squares = (blocks.sums(problem.bins, problem.m, w) ** 2).sum(axis=0)
    else:
        squares = np.bincount(problem.bins, problem.squared_weights, problem.m)
    units = _units(problem.by_bin(), squares)
    residual = _null_residuals(problem, problem.bins, problem.gaps(), units)
    if problem.counts is not None and not blocks.clustered:
        variance = np.bincount(cells.index, problem.squared_weights * residual**2, cells.size)
        return rng.standard_normal((n_draws, cells.size)) * np.sqrt(variance)
    return blocks.signs(n_draws, rng) @ blocks.sums(cells.index, cells.size, w * residual)


def _units(weight: Array, squares: Array) -> Array:
    """How many rows or clusters of equal weight each bin is worth (Kish), 1 for an empty one: the
    square of its weight over `squares`, the sum of the squared weights of rows or clusters.
    """
    return np.divide(weight**2, squares, out=np.ones(weight.size), where=squares > 0)


def _null_residuals(rows: Problem | Slots, bins: Index, gap: Array, units: Array) -> Array:
    """The residuals that rows would have if their predictions were right, in the shape of `bins`.

    They are about the gap of their bin, which is error and not noise if predictions are wrong.
    Otherwise the gap of all rows of a block would have one sign, and a noise floor would not fall
    any further once there are more rows than blocks. Those of hard labels have the variance that
    the predictions say. A factor makes up for a gap that is estimated from as many `units` (rows or
    clusters) as its bin has, with Student's quantile in place of the normal one. Fewer than
    `FEW_CLUSTERS` units do not tell a gap from noise: their residuals stay about 0.
    """
    known = units >= FEW_CLUSTERS
    m = np.where(known, units, 2.0)
    factor = np.where(known, np.sqrt(m / (m - 1.0)) * student_factor(m - 1.0), 1.0)
    residual: Array = rows.z - rows.u - np.where(known, gap, 0.0)[bins]
    if rows.hard:
        seen, said = (
            summed(bins.ravel(), (rows.squared_weights * variance).ravel(), gap.size)
            for variance in (residual**2, rows.u * (1.0 - rows.u))
        )
        ratio = np.divide(said, seen, out=np.ones(gap.size), where=known & (seen > 0))
        factor *= np.sqrt(np.maximum(ratio, 0.0))
    return residual * factor[bins]


def null_of_rare_events(
    problem: Problem, drawn: Drawn, blocks: Blocks, rng: np.random.Generator
) -> Drawn | None:
    """The same draws, but with outcomes drawn from the predictions in bins where events are rare;
    None for independent hard labels, which are all drawn so, and where no bin has rare events.
    """
    if problem.hard and not blocks.clustered:
        return None
    cells = drawn.cells
    residuals = with_rare_events(drawn.wz - drawn.wu, problem, cells, blocks, rng)
    if residuals is None:
        return None
    wz, safe = drawn.wu + residuals, np.where(cells.w > 0, cells.w, 1.0)
    wz2 = wz if problem.hard else drawn.wz2 - drawn.wz**2 / safe + wz**2 / safe
    return replace(drawn, wz=wz, wz2=wz2, by_weights={})


def with_rare_events(
    residuals: Array, problem: Problem, cells: Cells, blocks: Blocks, rng: np.random.Generator
) -> Array | None:
    """The sums of residuals (target less prediction), (draws, cells), with those of drawn outcomes
    in the cells of bins where events are rare; None if there is no such bin.
    """
    n_draws, weight = residuals.shape[0], cells.by_bin(cells.w)
    mean = np.divide(
        cells.by_bin(cells.w * cells.u), weight, out=np.zeros(cells.m), where=weight > 0
    )
    outcome_size = problem.outcome_size(blocks)
    # Soft labels vary as the means of this many outcomes do.
    votes = round(1.0 / problem.dispersion)
    few = votes <= MOST_VOTES and votes * problem.n * n_draws <= SINGLE_ROWS
    row_by_row = few and problem.counts is None
    rare = rare_event_bins(weight, cells.by_bin(cells.w2), mean, outcome_size)
    own, position = rare.find_cells(cells.bins)
    if own.size == 0:
        return None
    out = residuals.copy()
    if row_by_row:
        chance = _chance_of_equal_outcomes(problem, blocks.groups, outcome_size)
        parts = (
            _row_outcome_residuals(
                problem, cells, own, cells.u, n_draws, rng, blocks.groups, chance
            )
            for _ in range(votes)
        )
        out[:, own] = sum(parts) / votes
    else:
        # The sums of bins are drawn; within a bin each cell takes its share of the change.
        share = cells.w[own] / weight[cells.bins[own]]
        sums = cells.by_bin(residuals)[:, rare.bins]
        out[:, own] += (rare.draw_residuals(mean, n_draws, rng) - sums)[:, position] * share
    return out


def _chance_of_equal_outcomes(problem: Problem, groups: Index | None, outcome_size: float) -> float:
    """The probability that one random number decides all outcomes of a cluster, estimated from the
    correlation of outcomes within clusters.

    Few events do not tell it, so half an event is added for which one number did decide.
    `outcome_size` is the number of rows that one independent outcome counts as.
    """
    w, z = problem.weights, problem.z
    rarer = min(float(w @ z), float(w @ (1.0 - z)))
    events = rarer * float(w.sum()) / float(w @ w) / outcome_size
    return (NoiseModel.from_problem(problem, groups).correlation * events + 0.5) / (events + 0.5)


def _row_outcome_residuals(
    problem: Problem,
    cells: Cells,
    own: Index,
    rates: Array,
    n_draws: int,
    rng: np.random.Generator,
    groups: Index | None = None,
    equal_chance: float = 0.0,
) -> Array:
    """Sums of weighted residuals (outcome less rate) of outcomes that are drawn row by row, (draws,
    own cells).

    `own` are the numbers of the cells that are drawn, and `rates` the event rates of all cells.
    With the probability `equal_chance` one random number decides all outcomes of a cluster in
    `groups`.
    """
    order, firsts = cells.rows_in_order
    sizes = np.append(firsts[1:], problem.n) - firsts
    is_own = np.zeros(cells.size, dtype=bool)
    is_own[own] = True
    rows = order[np.repeat(is_own, sizes)]
    starts = np.cumsum(sizes[own]) - sizes[own]
    rate, w = rates[cells.index[rows]], problem.weights[rows]
    hit, miss = w * (1.0 - rate), w * (0.0 - rate)
    # Random numbers are float32. One is below a rate exactly if it is below the next float32 at or
    # above the rate, so that no number need be converted.
    bound = rate.astype(np.float32)
    bound = np.where(bound < rate, np.nextafter(bound, np.float32(2.0)), bound)
    cluster = None if groups is None else np.unique(groups[rows], return_inverse=True)[1]
    step, out = max(1, DRAWN_NUMBERS // rows.size), np.empty((n_draws, own.size))
    for start in range(0, n_draws, step):
        part = out[start : start + step]
        numbers = rng.random((len(part), rows.size), dtype=np.float32)
        if cluster is not None:
            common = rng.random((len(part), int(cluster.max()) + 1), dtype=np.float32)
            # One number serves twice: below `equal_chance` the cluster's outcomes are equal, and
            # divided by it the number is uniform again.
            equal = common < equal_chance
            common /= equal_chance
            np.copyto(numbers, common[:, cluster], where=equal[:, cluster])
        part[:] = np.add.reduceat(np.where(numbers < bound, hit, miss), starts, axis=1)
    return out


def outcome_residuals(
    problem: Problem, cells: Cells, rates: Array, n_draws: int, rng: np.random.Generator
) -> Array:
    """Sums of weighted residuals (outcome less rate) of drawn outcomes, (draws, cells); `rates` are
    the event rates of the cells.
    """
    if problem.counts is None and problem.n * n_draws <= SINGLE_ROWS:
        return _row_outcome_residuals(problem, cells, np.arange(cells.size), rates, n_draws, rng)
    # A cell's outcomes are as many equal ones as its weights are worth.
    trials = np.divide(cells.w**2, cells.w2, out=np.zeros(cells.size), where=cells.w2 > 0)
    whole = np.maximum(1, np.rint(trials)).astype(np.int64)
    drawn = rng.binomial(whole, np.clip(rates, 0.0, 1.0), (n_draws, cells.size))
    return cells.w * (drawn / whole - rates)


# --- whole rows -----------------------------------------------------------------------------------


def drawn_samples(
    samples: Samples, n_draws: int, rng: np.random.Generator, votes: Any = None
) -> Iterator[Samples]:
    """Whole samples with targets drawn from the predictions, for measures that compare rows;
    `votes` is the number of votes of each row, None for single labels.
    """
    predictions = samples.block(0, samples.n).predictions.astype(np.float64)
    plain = replace(samples, predictions=predictions, from_logits=False)
    if not samples.multiclass:
        u = np.clip(predictions, 0.0, 1.0)
        counts = 1 if votes is None else votes
        for _ in range(n_draws):
            yield replace(plain, targets=rng.binomial(counts, u) / counts)
        return
    p = np.clip(predictions, 0.0, 1.0)
    p /= p.sum(axis=1, keepdims=True)
    cumulative = np.cumsum(p, axis=1)[:, :-1]
    for _ in range(n_draws):
        if votes is None:
            targets: NDArray[Any] = (cumulative <= rng.random(samples.n)[:, None]).sum(axis=1)
        else:
            counts = np.broadcast_to(votes, (samples.n,))
            targets = rng.multinomial(counts, p) / counts[:, None]
        yield replace(plain, targets=targets)


# --- errors over all classes ----------------------------------------------------------------------


@dataclass(eq=False)
class LabelDraws:
    """Labels of all rows, drawn from the predictions (n, k). All errors over classes share them."""

    predictions: Array
    n_draws: int
    seed: int

    @cached_property
    def rates(self) -> Array:
        """The probabilities that labels are drawn from, (n, k): the predictions, scaled to sum to
        1.
        """
        total = self.predictions.sum(axis=1, keepdims=True)
        return self.predictions / np.maximum(total, 1e-300)

    @cached_property
    def labels(self) -> Labels:
        """The drawn labels, (draws, n), as numbers of classes."""
        return draw_labels(self.rates, self.n_draws, (self.seed, 6))


def can_draw_labels(slots: Slots, n_classes: int, n_draws: int) -> bool:
    """Whether labels can be drawn row by row: the slots (bins) are of all classes, and there are
    few enough rows and classes.
    """
    few = slots.n * n_draws <= DRAWN_LABELS
    return few and slots.k == n_classes <= MOST_LABELS


@dataclass(frozen=True, eq=False)
class ClassNull:
    """Draws of the residuals in the slots (bins) of all classes if the predictions are right.

    `drawn` are labels drawn row by row; None where classes are drawn each for itself.
    """

    slots: Slots
    blocks: Blocks
    n_draws: int
    seed: int
    drawn: LabelDraws | None = None

    def residuals(self) -> list[Array]:
        """Sums of residuals (target less prediction), (draws, slots), in a list: drawn in one way
        and, where events are rare and labels are soft or clustered, in a second one.
        """
        first = self._draw()
        second = self._with_rare_events(first)
        return [first] if second is None else [first, second]

    @property
    def _independent_labels(self) -> bool:
        """Whether labels are hard, known for all classes, and not in clusters, so that they can be
        drawn from the predictions independently.
        """
        return self.slots.labels is not None and not self.blocks.clustered

    @property
    def _sums_fit(self) -> bool:
        """Whether a table of sums by block of rows and slot (bin) fits into memory."""
        return self.blocks.size * self.slots.size <= BLOCK_ENTRIES

    def _draw(self) -> Array:
        """Sums of residuals, (draws, slots): of labels drawn from the predictions or, for soft
        labels and clusters, of observed residuals with random signs or normal numbers of their
        variance.
        """
        p, rng = self.slots, np.random.default_rng((self.seed, 6))
        if self.drawn is not None and self._independent_labels:
            out = p.label_weights(self.drawn.labels)
            out -= p.sums(p.w * self.drawn.rates)
            return out
        if self._independent_labels:
            each = np.divide(p.squares, p.weight, out=np.ones(p.size), where=p.weight > 0)
            trials = np.maximum(1, np.rint(p.weight / each)).astype(np.int64)
            rate = np.clip(p.mean_u, 0.0, 1.0)
            hits = rng.binomial(trials, rate, (self.n_draws, p.size))
            return (hits / trials - rate) * p.weight
        squares = self._squares(p.w) if self.blocks.clustered else p.squares
        residual = p.w * _null_residuals(p, p.index, p.gap, _units(p.weight, squares))
        if self._sums_fit:
            sums = self.blocks.sums(p.index, p.size, residual)
            return self.blocks.signs(self.n_draws, rng) @ sums
        squares, rare = self._squares(residual), self._rare.bins
        outcomes = p.sums(p.w * p.w * p.u * (1.0 - p.u))
        squares[rare] = self._outcome_size * outcomes[rare]
        return rng.standard_normal((self.n_draws, p.size)) * np.sqrt(squares)

    def _with_rare_events(self, residuals: Array) -> Array | None:
        """The residuals, (draws, slots), with drawn outcomes in slots (bins) where events are rare;
        None if there is no such slot, if all outcomes are drawn anyway, or if slots are too many.
        """
        if self._independent_labels or not self._sums_fit or self._rare.bins.size == 0:
            return None
        out, rng = residuals.copy(), np.random.default_rng((self.seed, 7))
        out[:, self._rare.bins] = self._rare.draw_residuals(self.slots.mean_u, len(residuals), rng)
        return out

    @cached_property
    def _rare(self) -> RareEventBins:
        """The slots (bins) in which few events or non-events are expected."""
        slots = self.slots
        return rare_event_bins(slots.weight, slots.squares, slots.mean_u, self._outcome_size)

    @cached_property
    def _outcome_size(self) -> float:
        """How many rows one independent 0/1 outcome is worth: 1 for independent labels, less for
        soft labels, more for clusters.
        """
        p = self.slots
        residual = p.w * (p.z - p.u - p.gap[p.index])
        squares, inside = float((residual**2).sum()), float((p.w**2 * p.z * (1.0 - p.z)).sum())
        size = dispersion(squares, inside)
        if self.blocks.clustered:
            size *= design_effect(squares, float(self._squares(residual).sum()))
        return size

    def _squares(self, values: Array) -> Array:
        """Sums of squares by slot (bin), (slots,): of the values of rows, (n, k), or of their sums
        by cluster.
        """
        if self.blocks.clustered:
            return self.slots.block_squares(self.blocks, values)
        return self.slots.sums(values**2)
