"""Reliability curves and decision curves from the sums of a stream."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from calibrant._api.net_benefits import (
    FOLDS,
    Judged,
    check_thresholds,
    chosen_map,
    cross_fitted_predictions,
    curve_of_judged,
)
from calibrant._api.pooled_folds import deal_into_folds
from calibrant._api.row_curves import fitted_curve
from calibrant._core.bin_tables import FIELDS
from calibrant._core.binning import FixedRule, outer_edges
from calibrant._core.errors import InputError, NeedsRows
from calibrant._core.typing import Array
from calibrant._inference.decisions import Outcomes
from calibrant._inference.pooled_rows import PooledSums
from calibrant._inference.rounding import EQUAL_PREDICTIONS
from calibrant._measures.catalogue import find
from calibrant.results._decision_curve import DecisionCurve
from calibrant.results._reliability_curve import ReliabilityCurve


def curve_of_sums(
    sums: PooledSums, method: str, band: str | None, level: float, span: float | None, seed: int
) -> ReliabilityCurve:
    """The reliability curve of the cells of a stream, with its band; None for no band."""
    summary = sums.summary
    why = sums.why_not(find("smooth_ece", "multiclass" if summary.n_columns > 1 else "binary"))
    if why:
        raise NeedsRows(f"no curve from sums: {why}. Collect a sample of rows")
    uncertainty = sums.uncertainty((), level, 50, seed)
    problem, total = uncertainty.plain_problem, _totals(sums)
    ends = _ends_of_cells(sums, problem.levels[0])
    curve = fitted_curve(
        problem, summary.scalar, method, band, level, span=span, seed=seed, extent=ends
    )
    weight = curve.points["weight"] * (total["sum_w"] / float(problem.weights.sum()))
    points = {**curve.points, "weight": weight}
    return replace(curve, points=points, n=round(total["n"]))


def _totals(sums: PooledSums) -> dict[str, float]:
    """The sums over all cells, by field."""
    return dict(zip(FIELDS, sums.summary.sums["cells"].sum(axis=0).tolist(), strict=True))


def _ends_of_cells(sums: PooledSums, means: Array) -> tuple[Array, Array]:
    """The ends of the cells that have these mean predictions; the means themselves where all
    predictions of a cell are equal.
    """
    edges = np.concatenate([[0.0], _edges(sums), [1.0]])
    cells = sums.summary.sums["cells"]
    own = np.clip(np.searchsorted(edges, means, side="right") - 1, 0, edges.size - 2)
    weight = np.where(cells[:, 1] > 0, cells[:, 1], 1.0)
    mean = cells[:, FIELDS.index("sum_wu")] / weight
    same = (cells[:, FIELDS.index("sum_wu2")] / weight - mean**2 <= EQUAL_PREDICTIONS)[own]
    return np.where(same, means, edges[own]), np.where(same, means, edges[own + 1])


def _edges(sums: PooledSums) -> Array:
    """The inner edges of the cells."""
    inner: Array = sums.summary.cells.cuts(np.dtype(np.float64)).inner
    return inner


def decisions_of_sums(
    sums: PooledSums,
    thresholds: Iterable[float] | None,
    recalibration: str | None,
    level: float,
    seed: int,
) -> DecisionCurve:
    """The decision curve of one model from the cells of a stream, at thresholds that are edges of
    cells.
    """
    if sums.summary.n_columns > 1:
        raise InputError(
            "a decision curve needs one outcome, with predictions of the shape (n,); the stream "
            f"has {sums.summary.n_columns} columns"
        )
    edges = _edges(sums)
    chosen = _checked_thresholds(sums, thresholds, edges)
    rows = sums.rows
    samples, u = rows.samples, rows.samples.predictions
    # Of equal predictions at an edge the mean may be rounded to below it.
    cell = np.searchsorted(edges, u * (1.0 + 1e-14), side="right")
    own = np.append(-1.0, edges)[cell]
    outcomes = Outcomes(samples.targets, samples.weights, None, rows.counts)
    name = None
    if sums.summary.findings.soft or (samples.weights is not None and not _counts_once(outcomes)):
        if recalibration not in (None, "default"):
            raise NeedsRows(
                "recalibration from sums needs labels of 0 and 1 and unweighted rows: drop "
                "recalibration, or collect a sample of rows"
            )
    else:
        name = chosen_map(recalibration, outcomes)
    n = round(float(_totals(sums)["n"]))
    if name is None:
        judged = Judged(outcomes, {"model": own}, {}, None, n)
    else:
        rng = np.random.default_rng((seed, 13))
        row, fold, share = deal_into_folds(outcomes.rows, None, FOLDS, rng)
        parts = outcomes.rows[row] * share
        outcomes = Outcomes(outcomes.z[row], parts, None, parts)
        mapped = cross_fitted_predictions(name, u[row], outcomes, fold)
        judged = Judged(outcomes, {"model": own[row]}, {"model": mapped}, name, n)
    return curve_of_judged([judged], ("model",), chosen, level)


def _counts_once(outcomes: Outcomes) -> bool:
    """Whether the weight of each row is the number of equal rows that it stands for."""
    return outcomes.w is None or np.array_equal(outcomes.w, outcomes.rows)


def _checked_thresholds(
    sums: PooledSums, thresholds: Iterable[float] | None, edges: Array
) -> Array:
    """The thresholds, by default the edges of the stream's bins; an InputError for one that is no
    edge of cells.
    """
    if thresholds is None:
        rule = sums.rules[0]
        assert isinstance(rule, FixedRule)
        own = outer_edges(rule)
        return own[np.isin(own, edges) & (own > 0.0) & (own < 1.0)]
    chosen = check_thresholds(thresholds)
    known = np.isin(chosen, np.append(0.0, edges))
    if not known.all():
        raise InputError(
            f"the threshold {chosen[~known][0]:g} is not an edge of the stream's cells: create the "
            "stream with bins=100 for the thresholds 0.01, 0.02, ... 0.99"
        )
    return chosen
