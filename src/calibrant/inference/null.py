"""What a measure shows when the reports are exactly right: targets redrawn from the reports."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.inference.cells import Cells, Problem
from calibrant.measures.catalogue import Measure
from calibrant.samples.samples import Samples
from calibrant.statistics.bins import FIELDS, BinTable

Array = NDArray[np.float64]

# Numbers drawn at a time.
CHUNK = 1 << 22


def null_tables(
    problem: Problem, n_draws: int, rng: np.random.Generator, votes: Any = None
) -> BinTable:
    """Bin tables of targets drawn from the reports: one class of the table is one draw.

    Of unweighted problems whole cells are drawn at once; weights, or votes behind soft labels, are
    drawn row by row.
    """
    if problem.w is None and votes is None:
        cells = problem.fine_cells
        return cells.tables(cells.n, rng.binomial(cells.n, cells.u, (n_draws, cells.n.size)))
    order = np.argsort(problem.bins, kind="stable")
    u, w = problem.u[order], problem.weights[order]
    firsts = np.searchsorted(problem.bins[order], np.arange(problem.m))
    held = np.append(firsts[1:], u.size) > firsts
    counts = np.ones(1, np.int64) if votes is None else np.broadcast_to(votes, u.shape)[order]
    sums = np.zeros((n_draws, problem.m, len(FIELDS)))
    for j, column in ((0, w > 0), (1, w), (2, w * w), (3, w * u)):
        sums[:, :, j] = np.bincount(problem.bins[order], column, problem.m)
    step = max(1, CHUNK // u.size)
    for start in range(0, n_draws, step):
        rows = min(step, n_draws - start)
        z = rng.binomial(counts, u, (rows, u.size)) / counts
        for j, column in ((4, w * z), (7, w * z * z)):
            part = np.add.reduceat(column, np.minimum(firsts, u.size - 1), axis=1)
            sums[start : start + rows, :, j] = np.where(held, part, 0.0)
    return BinTable(sums, has_squares=False)


def drawn_samples(
    samples: Samples, n_draws: int, rng: np.random.Generator, votes: Any = None
) -> Iterator[Samples]:
    """Whole samples with targets drawn from the reports, for measures that are not of bins."""
    reports = samples.block(0, samples.n).reports.astype(np.float64)
    plain = replace(samples, reports=reports, from_logits=False)
    if not samples.multiclass:
        u = np.clip(reports, 0.0, 1.0)
        counts = 1 if votes is None else votes
        for _ in range(n_draws):
            yield replace(plain, targets=rng.binomial(counts, u) / counts)
        return
    p = np.clip(reports, 0.0, 1.0)
    p /= p.sum(axis=1, keepdims=True)
    through = np.cumsum(p, axis=1)[:, :-1]
    for _ in range(n_draws):
        if votes is None:
            targets: NDArray[Any] = (through <= rng.random(samples.n)[:, None]).sum(axis=1)
        else:
            counts = np.broadcast_to(votes, (samples.n,))
            targets = rng.multinomial(counts, p) / counts[:, None]
        yield replace(plain, targets=targets)


def cell_samples(
    cells: Cells, like: Samples, n: NDArray[np.int64], positives: NDArray[Any]
) -> Samples:
    """Drawn cells as a binary sample: a row for what happened and one for what did not.

    Positives may be fractions, those expected in a world: the sample is then the world itself.
    """
    reports = np.concatenate([cells.u, cells.u])
    weights = np.concatenate([positives, n - positives]).astype(np.float64)
    targets = np.repeat([1.0, 0.0], cells.u.size)
    held = weights > 0
    return replace(
        like, reports=reports[held], targets=targets[held], weights=weights[held],
        from_logits=False, class_names=None,
    )  # fmt: skip


def null_mean(measure: Measure, problem: Problem) -> float | None:
    """The exact mean of a truthful error under the reports (Lu et al., theorem 3.1), or None.

    A calibrated report's residuals have mean 0, so ``E[sum_B R_B^2] = sum_i w_i^2 u_i (1 - u_i)``
    whatever the bins.
    """
    if measure.name not in ("lin_ce", "confidence_ce", "confidence_ce_corrected"):
        return None
    w, u = problem.weights, problem.u
    total = float(w.sum())
    variance = float((w * w * u * (1.0 - u)).sum()) / total**2
    if measure.name == "confidence_ce_corrected":
        return variance + (1.0 - float((w * u).sum()) / total) / total
    return variance
