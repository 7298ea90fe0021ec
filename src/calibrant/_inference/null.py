"""What a measure shows when the predictions are exactly right.

Hard labels are redrawn from the predictions. Soft labels, and rows that belong together, scatter in
ways that no prediction tells: there the residuals' own signs are redrawn, block by block, which
asks nothing but that their means are 0. Where events are rare, residuals do not tell how they
scatter: there a model of it must speak against the predictions too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.typing import Array, Index
from calibrant._data.samples import Samples
from calibrant._engines.arrays.draws import Outcomes
from calibrant._inference.blocks import Blocks
from calibrant._inference.budget import DRAWN_NUMBERS, SINGLE_ROWS
from calibrant._inference.cells import Cells, Drawn, Problem
from calibrant._inference.numbers import MOST_VOTES
from calibrant._inference.scatter import ScatterModel, rare_events
from calibrant._measures.catalogue import Measure


def null_drawn(
    problem: Problem, cells: Cells, blocks: Blocks, n_draws: int, rng: np.random.Generator
) -> Drawn:
    """Samples of a scalar problem whose predictions are right."""
    wu = cells.w * cells.u
    if problem.hard and not blocks.clustered:
        if problem.counts_once:
            rows = cells.n.astype(np.int64)[None]
            wz = Outcomes(rows, n_draws, rng.integers(0, 1 << 32, 4).tolist()).draw(
                np.clip(cells.u, 0.0, 1.0)
            )
        else:
            wz = wu + outcome_noise(problem, cells, cells.u, n_draws, rng)
        wz2 = wz
    else:
        w = problem.weights
        residual = blocks.sums(cells.index, cells.size, w * (problem.z - problem.u))
        wz = wu + blocks.signs(n_draws, rng) @ residual
        safe = np.where(cells.w > 0, cells.w, 1.0)
        spread = np.maximum(cells.wz2 - cells.wz**2 / safe, 0.0)
        # Squares of outcomes are the outcomes.
        wz2 = wz if problem.hard else spread + wz**2 / safe
    shape, m = wz.shape, (n_draws, cells.m)
    shared = np.broadcast_to(cells.by_bin(cells.w), m), np.broadcast_to(cells.by_bin(wu), m)
    return Drawn(
        cells, np.broadcast_to(cells.w, shape), np.broadcast_to(wu, shape), wz, wz2, shared
    )


def null_of_rare_events(
    problem: Problem, drawn: Drawn, blocks: Blocks, rng: np.random.Generator
) -> Drawn | None:
    """The same samples with outcomes drawn where residuals do not tell how events scatter; None
    where they do.
    """
    if problem.hard and not blocks.clustered:
        return None
    cells = drawn.cells
    noise = with_rare_events(drawn.wz - drawn.wu, problem, cells, blocks, rng)
    if noise is None:
        return None
    wz, safe = drawn.wu + noise, np.where(cells.w > 0, cells.w, 1.0)
    wz2 = wz if problem.hard else drawn.wz2 - drawn.wz**2 / safe + wz**2 / safe
    return replace(drawn, wz=wz, wz2=wz2, made={})


def with_rare_events(
    noise: Array, problem: Problem, cells: Cells, blocks: Blocks, rng: np.random.Generator
) -> Array | None:
    """Residuals, (draws, cells), with outcomes drawn from the predictions in their place, in bins
    whose events are rare; None if no bin's are.
    """
    n_draws, weight = noise.shape[0], cells.by_bin(cells.w)
    mean = np.divide(
        cells.by_bin(cells.w * cells.u), weight, out=np.zeros(cells.m), where=weight > 0
    )
    size = problem.outcome_size(blocks)
    # Labels as soft as these are as good as means of so many outcomes.
    votes = round(1.0 / problem.dispersion)
    of_rows = votes <= MOST_VOTES and votes * problem.n * n_draws <= SINGLE_ROWS
    rare = rare_events(weight, cells.by_bin(cells.w2), mean, size)
    own, place = rare.cells_within(cells.bins)
    if own.size == 0:
        return None
    out = noise.copy()
    if of_rows:
        together = _together(problem, blocks.groups, size)
        parts = (
            _noise_of_rows(problem, cells, own, cells.u, n_draws, rng, blocks.groups, together)
            for _ in range(votes)
        )
        out[:, own] = sum(parts) / votes
    else:
        # Only the sums of these bins: within one, what is more or less falls on all cells alike.
        share = cells.w[own] / weight[cells.bins[own]]
        sums = cells.by_bin(noise)[:, rare.bins]
        out[:, own] += (rare.noise(mean, n_draws, rng) - sums)[:, place] * share
    return out


def _together(problem: Problem, groups: Index | None, size: float) -> float:
    """The chance that the outcomes of a cluster all go by one random number, as if half an event
    more had been seen that did: few events do not tell.
    """
    w, z = problem.weights, problem.z
    seen = min(float(w @ z), float(w @ (1.0 - z))) * float(w.sum()) / float(w @ w) / size
    return (ScatterModel.from_problem(problem, groups).correlation * seen + 0.5) / (seen + 0.5)


def _noise_of_rows(
    problem: Problem,
    cells: Cells,
    own: Index,
    rates: Array,
    n_draws: int,
    rng: np.random.Generator,
    groups: Index | None = None,
    together: float = 0.0,
) -> Array:
    """How outcomes of some cells scatter about the rates of all cells, where those of a cluster all
    go by one random number, or each by its own: (draws, cells).
    """
    order, firsts = cells.rows_in_order
    sizes = np.append(firsts[1:], problem.n) - firsts
    is_own = np.zeros(cells.size, dtype=bool)
    is_own[own] = True
    rows = order[np.repeat(is_own, sizes)]
    starts = np.cumsum(sizes[own]) - sizes[own]
    rate, w = rates[cells.index[rows]], problem.weights[rows]
    hit, miss = w * (1.0 - rate), w * (0.0 - rate)
    # What is below a rate is below the next single number above it: no number need be widened.
    bound = rate.astype(np.float32)
    bound = np.where(bound < rate, np.nextafter(bound, np.float32(2.0)), bound)
    cluster = None if groups is None else np.unique(groups[rows], return_inverse=True)[1]
    step, out = max(1, DRAWN_NUMBERS // rows.size), np.empty((n_draws, own.size))
    for start in range(0, n_draws, step):
        part = out[start : start + step]
        numbers = rng.random((len(part), rows.size), dtype=np.float32)
        if cluster is not None:
            shared = rng.random((len(part), int(cluster.max()) + 1), dtype=np.float32)
            # A number below the chance to go together tells that, and divided by it which number.
            one = shared < together
            shared /= together
            np.copyto(numbers, shared[:, cluster], where=one[:, cluster])
        part[:] = np.add.reduceat(np.where(numbers < bound, hit, miss), starts, axis=1)
    return out


def outcome_noise(
    problem: Problem, cells: Cells, rates: Array, n_draws: int, rng: np.random.Generator
) -> Array:
    """How weighted outcomes scatter about the rates of their cells: (draws, cells)."""
    if problem.n * n_draws <= SINGLE_ROWS:
        return _noise_of_rows(problem, cells, np.arange(cells.size), rates, n_draws, rng)
    # A cell's outcomes as so many equal ones as its weights are worth.
    trials = np.divide(cells.w**2, cells.w2, out=np.zeros(cells.size), where=cells.w2 > 0)
    whole = np.maximum(1, np.rint(trials)).astype(np.int64)
    drawn = rng.binomial(whole, np.clip(rates, 0.0, 1.0), (n_draws, cells.size))
    return cells.w * (drawn / whole - rates)


def drawn_samples(
    samples: Samples, n_draws: int, rng: np.random.Generator, votes: Any = None
) -> Iterator[Samples]:
    """Whole samples with targets drawn from the predictions, for measures that compare rows."""
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
    through = np.cumsum(p, axis=1)[:, :-1]
    for _ in range(n_draws):
        if votes is None:
            targets: NDArray[Any] = (through <= rng.random(samples.n)[:, None]).sum(axis=1)
        else:
            counts = np.broadcast_to(votes, (samples.n,))
            targets = rng.multinomial(counts, p) / counts[:, None]
        yield replace(plain, targets=targets)


def null_mean(measure: Measure, problem: Problem) -> float | None:
    """The exact mean of a measure under calibrated predictions, where one is known."""
    return None if measure.null_mean is None else measure.null_mean(problem.u, problem.weights)
