"""Intervals of the parts of the Brier score that are not errors: discrimination, uncertainty."""

from __future__ import annotations

import numpy as np

from calibrant._core.typing import Array, Index
from calibrant._engines.arrays.draws import Outcomes, fit_isotonic
from calibrant._inference.blocks import Blocks, effective
from calibrant._inference.budget import DISCRIMINATIONS
from calibrant._inference.cells import Cells, Drawn, Problem
from calibrant._inference.inversion import Path
from calibrant._inference.means import influences, mean_limits
from calibrant._inference.null import outcome_noise
from calibrant._measures.cell_formulas import isotonic_parts
from calibrant._measures.proportions import wilson


def uncertainty_limits(problem: Problem, groups: Index | None, level: float) -> tuple[float, float]:
    """Limits of the variance of the targets.

    Of outcomes it is ``q (1 - q)``, which has its top at 1/2: limits of the rate q are carried
    over (Wilson's; with clusters or weights those of as many equal rows).
    """
    z, w = problem.z, problem.weights
    if not problem.hard:
        base = float((w * z).sum() / w.sum())
        low, high, _ = mean_limits(influences((z - base) ** 2, problem.w, groups), level)
        value = float((w * (z - base) ** 2).sum() / w.sum())
        return max(0.0, value + low), value + high
    q = float((w * z).sum() / w.sum())
    rows = effective(w)
    parts = influences(z, problem.w, groups)
    if groups is not None and 0.0 < q < 1.0:
        # As many rows as would scatter like the clusters do.
        rows = min(rows, q * (1.0 - q) / max(parts.variance, 1e-300))
    ends = [float(end) for end in wilson(np.array(q), np.array(rows), level)]
    values = [end * (1.0 - end) for end in ends]
    return min(values), 0.25 if ends[0] <= 0.5 <= ends[1] else max(values)


def discrimination_limits(
    problem: Problem, cells: Cells, blocks: Blocks, n_draws: int, level: float, seed: int
) -> tuple[float, float, float]:
    """Limits and an estimate, by test inversion over populations whose rates are the isotonic fit,
    drawn together about their mean or apart: an isotonic fit to a sample finds more than there is.
    """
    fit = fit_isotonic(cells.w[None], cells.wz[None])[0]
    base = float(cells.wz.sum() / cells.w.sum())
    plain = problem.hard and problem.counts_once and not blocks.clustered
    rng = np.random.default_rng((seed, 1))
    noise: Array | None = None
    if plain:
        n = int(cells.n.sum())
        outcomes = Outcomes(rng.multinomial(n, cells.n / n, n_draws), n_draws, (seed, 3))
        weight = outcomes.rows.astype(np.float64)
    else:
        share, w = np.full(blocks.size, 1.0 / blocks.size), problem.weights
        counts = rng.multinomial(blocks.size, share, n_draws).astype(np.float64)
        weight = counts @ blocks.sums(cells.index, cells.size, w)
        if not problem.hard or blocks.clustered:
            # About the predictions: about the fit itself labels scatter too little.
            away = w * (problem.z - problem.u)
            away -= w * (problem.gaps()[problem.bins])
            noise = (counts - 1.0) @ blocks.sums(cells.index, cells.size, away)

    def parts(w: Array, wz: Array) -> Array:
        return isotonic_parts(Drawn(cells, w, w * cells.u, wz, wz))[1]

    def at(t: float) -> tuple[float, Array]:
        rates = np.clip(base + t * (fit - base), 0.0, 1.0)
        if plain:
            drawn = outcomes.draw(rates)
        elif noise is None:
            again = np.random.default_rng((seed, 3))
            drawn = weight * rates + outcome_noise(problem, cells, rates, n_draws, again)
        else:
            drawn = weight * rates + noise
        return float(parts(cells.w[None], (cells.w * rates)[None])[0]), parts(weight, drawn)

    value = float(parts(cells.w[None], cells.wz[None])[0])
    path, tail = Path(DISCRIMINATIONS, at), (1.0 - level) / 2.0
    low, estimate, high = (path.crossing(q, value) for q in (1.0 - tail, 0.5, tail))
    return low, high, min(max(estimate, low), high)
