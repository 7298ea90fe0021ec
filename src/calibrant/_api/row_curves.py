"""Reliability curves that follow the rows: isotonic (CORP), and local regression, with bands.

Neither has a bandwidth that is the same everywhere. The isotonic curve steps where the frequencies
step; the local one looks as far as a share of the rows lies, its span, which is chosen by cross
validation. In names, u is a prediction, z its target, w a weight and wz a weighted target.
"""

from __future__ import annotations

import math

import numpy as np

from calibrant._core.errors import InputError
from calibrant._core.typing import Array, Index
from calibrant._engines.arrays.draws import fit_isotonic
from calibrant._inference.blocks import Blocks, blocks_of, effective
from calibrant._inference.budget import BAND_DRAWS, CURVE_CELLS
from calibrant._inference.cells import Problem
from calibrant._inference.null import null_drawn
from calibrant._inference.numbers import FEWEST_CELLS, FEWEST_ROWS, RUNS
from calibrant._measures.local_regression import SPAN, curve_matrix, local_fit
from calibrant._measures.proportions import wilson
from calibrant.results._reliability_curve import ReliabilityCurve

# The bands of each method, the usual one first.
BANDS_OF = {"isotonic": ("consistency", "confidence"), "local": ("pointwise",)}
# The most points at which a local regression is drawn.
POINTS = 256
# Rows are counted in so many parts of [0, 1] of equal width, for the strip over a diagram.
PLACES = 40
# Shares of rows that a local regression may look at. A small share is tried only if it holds
# FEWEST_CELLS cells and FEWEST_ROWS rows.
SPANS = (SPAN, 0.5, 0.35, 0.25, 0.18, 0.12, 0.08, 0.055, 0.04, 0.028, 0.02)


def fitted_curve(
    problem: Problem,
    notion: str,
    method: str,
    band: str | None,
    level: float,
    *,
    groups: Index | None = None,
    span: float | None = None,
    seed: int = 0,
    extent: tuple[Array, Array] | None = None,
) -> ReliabilityCurve:
    """The curve of a scalar problem by a method of `BANDS_OF`, with one of its bands; None for no
    band.

    `groups` are clusters as numbers, `span` is that of `local_curve`, and `extent` that of
    `isotonic_curve`. An InputError is raised for a confidence band that the rows cannot have.
    """
    if method == "local":
        curve = local_curve(problem, notion, level, groups, span)
        return curve if band is not None else curve.without_band()
    if band == "confidence":
        check_unweighted_outcomes(problem, groups)
    blocks = blocks_of(problem.n, groups, seed)
    return isotonic_curve(problem, blocks, notion, band, level, seed, extent)


def _pool_predictions(problem: Problem, most: int) -> tuple[Array, Array, Array]:
    """Mean prediction, weight and summed weighted target of each cell, in increasing order.

    A cell is a distinct prediction. If there are more than `most`, neighbours are pooled into about
    `most` cells of equal weight.
    """
    levels, at = problem.levels
    w = np.bincount(at, problem.weights).astype(np.float64)
    wz = np.bincount(at, problem.weights * problem.z).astype(np.float64)
    kept = w > 0
    u, w, wz = levels[kept], w[kept], wz[kept]
    if u.size <= most:
        return u, w, wz
    firsts = _cell_starts(w, most)
    weight = np.add.reduceat(w, firsts)
    return np.add.reduceat(w * u, firsts) / weight, weight, np.add.reduceat(wz, firsts)


def _cell_starts(w: Array, most: int) -> Index:
    """The index of the first prediction in each of at most `most` cells of about equal weight.

    `w` are the weights of distinct predictions in increasing order.
    """
    through = np.cumsum(w)
    cell = np.minimum((most * (through - w / 2.0) / through[-1]).astype(np.intp), most - 1)
    return np.flatnonzero(np.append(True, cell[1:] != cell[:-1]))


def _shares_of_rows(problem: Problem) -> Array:
    """The share of the weight in each of PLACES equal parts of [0, 1], for the diagram."""
    counts, _ = np.histogram(problem.u, bins=PLACES, range=(0.0, 1.0), weights=problem.weights)
    return counts / counts.sum()


# --- isotonic -------------------------------------------------------------------------------------


def isotonic_curve(
    problem: Problem,
    blocks: Blocks,
    notion: str,
    band: str | None,
    level: float,
    seed: int,
    extent: tuple[Array, Array] | None = None,
) -> ReliabilityCurve:
    """The increasing curve nearest to the targets, given at both ends of each of its steps.

    `band` is "consistency", "confidence", or None for no band; `blocks` say which rows are
    resampled together. Where rows are pooled ones, `extent` has the smallest and the
    largest prediction behind each distinct one.
    """
    u, w, wz = _pool_predictions(problem, problem.n)
    fit = fit_isotonic(w[None], wz[None])[0]
    firsts = np.append(0, np.flatnonzero(fit[1:] != fit[:-1]) + 1)
    ends = np.append(firsts[1:], u.size) - 1
    at = np.unique(np.concatenate([firsts, ends]))
    x, y = u[at], fit[at]
    n = np.add.reduceat(w, firsts)
    points = {"prediction": x, "mean_target": y, "weight": np.repeat(n, 1 + (ends > firsts))}
    if band == "consistency":
        points |= _consistency_band(problem, blocks, x, level, seed)
    elif band == "confidence":
        points |= _confidence_band(problem, x, y, level, extent)
    return ReliabilityCurve(
        points=points,
        method="isotonic",
        band=band,
        level=level,
        notion=notion,
        is_hard=problem.hard,
        n=round(problem.n_rows),
        shares=_shares_of_rows(problem),
    )


def _consistency_band(
    problem: Problem, blocks: Blocks, x: Array, level: float, seed: int
) -> dict[str, Array]:
    """Limits "low" and "high", at each place x, of the curves of calibrated predictions.

    The limits come from draws, and hold at each place by itself, not everywhere at once.
    """
    cells = problem.fine_cells
    rng = np.random.default_rng((seed, 11))
    # Clusters and soft labels are drawn from their scatter, which may leave [0, 1].
    curves = np.clip(null_drawn(problem, cells, blocks, BAND_DRAWS, rng).isotonic(), 0.0, 1.0)
    order = np.argsort(cells.u)
    tails = (1.0 - level) / 2.0
    low, high = np.quantile(curves[:, order], [tails, 1.0 - tails], axis=0)
    where = cells.u[order]
    return {"low": np.interp(x, where, low), "high": np.interp(x, where, high)}


def _confidence_band(
    problem: Problem, x: Array, y: Array, level: float, extent: tuple[Array, Array] | None
) -> dict[str, Array]:
    """Limits "low" and "high" of the true curve that hold at all places x at once. `extent` is that
    of `isotonic_curve`.

    They hold at any number of rows; y is the fitted curve at x. Where the probabilities of rows are
    at most c, events are no more frequent than with probability c. So the outcomes of a run of
    neighbouring rows give a lower limit for all predictions above the run, and an upper one for all
    below. Every run of cells is tried, with Bonferroni's correction for their number (Dimitriadis,
    Duembgen, Henzi, Puke and Ziegel, 2023).
    """
    from scipy.special import betaincinv

    u, w, wz = _pool_predictions(problem, RUNS)
    m = u.size
    rows, hits = np.append(0.0, np.cumsum(w)), np.append(0.0, np.cumsum(wz))
    first, last = np.triu_indices(m)
    n, k = rows[last + 1] - rows[first], np.rint(hits[last + 1] - hits[first])
    tail = (1.0 - level) / 2.0 / first.size
    low = np.where(k > 0, betaincinv(np.maximum(k, 1.0), n - k + 1.0, tail), 0.0)
    high = np.where(k < n, betaincinv(k + 1.0, np.maximum(n - k, 1e-9), 1.0 - tail), 1.0)
    lower, upper = np.zeros(m), np.ones(m)
    np.maximum.at(lower, last, low)
    np.minimum.at(upper, first, high)
    lower = np.maximum.accumulate(lower)
    upper = np.minimum.accumulate(upper[::-1])[::-1]
    # A run extends from its first row to its last.
    begins, ends = _cell_ends(problem, extent)
    below = np.searchsorted(ends, x, side="right") - 1
    above = np.searchsorted(begins, x, side="left")
    low_at = np.where(below >= 0, lower[np.maximum(below, 0)], 0.0)
    high_at = np.where(above < m, upper[np.minimum(above, m - 1)], 1.0)
    return {"low": np.minimum(low_at, y), "high": np.maximum(high_at, y)}


def _cell_ends(problem: Problem, extent: tuple[Array, Array] | None = None) -> tuple[Array, Array]:
    """The first and the last prediction of each cell of `_pool_predictions`; `extent` has those
    behind each distinct prediction, where rows are pooled ones.
    """
    levels, at = problem.levels
    first, last = extent or (levels, levels)
    if levels.size <= RUNS:
        return first, last
    starts = _cell_starts(np.bincount(at, problem.weights).astype(np.float64), RUNS)
    return first[starts], last[np.append(starts[1:], levels.size) - 1]


def check_unweighted_outcomes(problem: Problem, groups: Index | None) -> None:
    """Raise an InputError unless labels are hard and rows have neither weights nor clusters.

    A confidence band needs that.
    """
    w, counts = problem.w, problem.counts
    weighted = w is not None and (counts is None or not np.array_equal(w, counts))
    if not problem.hard or weighted or groups is not None:
        raise InputError(
            "band='confidence' needs hard labels, without weights or clusters. Use "
            "band='consistency', which supports them"
        )


# --- local regression -----------------------------------------------------------------------------


def local_curve(
    problem: Problem, notion: str, level: float, groups: Index | None, span: float | None = None
) -> ReliabilityCurve:
    """A local regression of the targets, with a band that holds at each place by itself.

    Each place is fitted to the nearest share of the rows: `span`, or for None the share with the
    least error in cross validation.
    """
    u, w, wz = _pool_predictions(problem, CURVE_CELLS)
    rows = effective(problem.weights, None, problem.counts)
    if u.size <= 3:
        curve, chosen = wz / w, SPAN
        n = w / w.sum() * rows
    else:
        chosen = _best_span(u, w, wz, rows) if span is None else span
        matrix = curve_matrix(u, w, chosen)
        curve = np.clip(local_fit(u, w, wz, chosen), 0.0, 1.0)
        # The effective number of rows behind the curve at each place. Its variance is that of a
        # share of so many rows: at the ends, where the curve may touch 0 or 1, that of neighbours
        # says nothing.
        n = 1.0 / ((matrix**2) @ (w.sum() / (w * rows)))
    if not problem.hard:
        n = n * _outcomes_per_label(problem, u, w, curve)
    if groups is not None:
        n = n / _design_effect(problem, groups)
    low, high = wilson(curve, np.clip(n, 1.0, rows if problem.hard else None), level)
    points = {"prediction": u, "mean_target": curve, "weight": w, "low": low, "high": high}
    if u.size > POINTS:
        kept = np.unique(np.linspace(0, u.size - 1, POINTS).astype(np.intp))
        points = {name: column[kept] for name, column in points.items()}
    return ReliabilityCurve(
        points=points,
        method="local",
        band="pointwise",
        level=level,
        notion=notion,
        is_hard=problem.hard,
        n=round(problem.n_rows),
        shares=_shares_of_rows(problem),
        span=chosen,
    )


def _outcomes_per_label(problem: Problem, u: Array, w: Array, curve: Array) -> float:
    """The number of independent 0/1 outcomes that one soft label is equivalent to.

    It is the variance of an outcome over that of the labels about the curve; u and w are the places
    and weights of the curve.
    """
    off = problem.z - np.interp(problem.u, u, curve)
    scatter = float(problem.weights @ (off * off)) / float(problem.weights.sum())
    outcome = float(w @ (curve * (1.0 - curve))) / float(w.sum())
    return outcome / scatter if scatter > 1e-4 * outcome else 1e4


def _design_effect(problem: Problem, groups: Index) -> float:
    """The design effect: how many clustered rows carry the information of one independent row."""
    from calibrant._measures.proportions import design_effects

    cell = np.minimum((problem.u * 10).astype(np.intp), 9)
    counts = 1.0 if problem.counts is None else problem.counts
    effects = design_effects(cell, problem.z, problem.w, groups, 10, counts)
    weight = np.bincount(cell, problem.weights, 10)
    return float(effects @ weight / weight.sum())


def _best_span(u: Array, w: Array, wz: Array, rows: float) -> float:
    """The share of rows, among SPANS, with the least generalised cross validation error.

    u, w and wz are the results of `_pool_predictions`; `rows` is the effective number of rows.
    """
    best, least = SPAN, math.inf
    for span in SPANS:
        if span < SPAN and (span * u.size < FEWEST_CELLS or span * rows < FEWEST_ROWS):
            break
        matrix = curve_matrix(u, w, span)
        free = u.size - float(np.trace(matrix))
        if free <= 0.2 * u.size:
            break
        off = wz / w - matrix @ (wz / w)
        error = float(w @ (off * off)) / free**2
        if error < least:
            best, least = span, error
    return best
