"""What a measure shows when the predictions are exactly right.

Hard labels are redrawn from the predictions. Soft labels, and rows that belong together, scatter in
ways that no prediction tells: there the residuals' own signs are redrawn, block by block, which
asks nothing but that their means are 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._data.samples import Samples
from calibrant._engines.arrays.draws import Outcomes
from calibrant._inference.blocks import Blocks
from calibrant._inference.budget import DRAWN_NUMBERS, SINGLE_ROWS
from calibrant._inference.cells import Cells, Drawn, Problem
from calibrant._measures.catalogue import Measure

Array = NDArray[np.float64]


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
        wz2 = spread + wz**2 / safe
    shape, m = wz.shape, (n_draws, cells.m)
    shared = np.broadcast_to(cells.by_bin(cells.w), m), np.broadcast_to(cells.by_bin(wu), m)
    return Drawn(
        cells, np.broadcast_to(cells.w, shape), np.broadcast_to(wu, shape), wz, wz2, shared
    )


def outcome_noise(
    problem: Problem, cells: Cells, rates: Array, n_draws: int, rng: np.random.Generator,
    single_rows: int = SINGLE_ROWS, numbers: NDArray[np.float32] | None = None,
) -> Array:  # fmt: skip
    """How weighted outcomes scatter about the rates of their cells: (draws, cells).

    `numbers` are those that `rng` would draw for the rows, (draws, n), where they are kept.
    """
    if problem.n * n_draws > single_rows:
        # A cell's outcomes as so many equal ones as its weights are worth.
        trials = np.divide(cells.w**2, cells.w2, out=np.zeros(cells.size), where=cells.w2 > 0)
        whole = np.maximum(1, np.rint(trials)).astype(np.int64)
        drawn = rng.binomial(whole, np.clip(rates, 0.0, 1.0), (n_draws, cells.size))
        out: Array = cells.w * (drawn / whole - rates)
        return out
    order, firsts = cells.rows_in_order
    of_row, w = rates[cells.index[order]], problem.weights[order]
    hit, miss = w * (1.0 - of_row), w * (0.0 - of_row)
    # What is below a rate is below the next single number above it: no number need be widened.
    bound = of_row.astype(np.float32)
    bound = np.where(bound < of_row, np.nextafter(bound, np.float32(2.0)), bound)
    step = max(1, DRAWN_NUMBERS // problem.n) if numbers is None else n_draws
    parts = []
    for start in range(0, n_draws, step):
        shape = (min(step, n_draws - start), problem.n)
        own = rng.random(shape, dtype=np.float32) if numbers is None else numbers
        parts.append(np.add.reduceat(np.where(own < bound, hit, miss), firsts, axis=1))
    return np.concatenate(parts)


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
