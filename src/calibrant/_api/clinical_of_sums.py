"""The clinical summary from the sums of a stream, a file or a lazy frame."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from calibrant._api.clinical_values import KnownFromSums, summary_from
from calibrant._api.cox_limits import cox_with_limits
from calibrant._api.metrics.significance import cox_of
from calibrant._core.bin_tables import FIELDS
from calibrant._core.errors import NotDefined
from calibrant._core.grid import STREAM_SPACING, LogitGrid
from calibrant._data.links import logit
from calibrant._engines.arrays.streams import EPS
from calibrant._engines.logit_sums import EVENT, NO_EVENT, LogitSums
from calibrant._inference.coefficients import CoxFits, cox_fits
from calibrant._inference.cox_sums import NoRows, cox_fits_from
from calibrant._inference.pooled_rows import PooledSums
from calibrant._inference.uncertainty import Uncertainty
from calibrant._measures.statistics import Statistics
from calibrant._summaries.stream import StreamSummary
from calibrant.results._clinical import ClinicalSummary
from calibrant.results._uncertainty import CoxCalibration

# What is known of values for which the order of all predictions is not at hand.
FROM_CELLS = "from about 2,500 cells of predictions"


def clinical_of_sums(sums: PooledSums, uncertainty: Uncertainty) -> ClinicalSummary:
    """The clinical summary of one binary outcome; `uncertainty` has the rows that the sums stand
    for.
    """
    statistics, note = _statistics(sums.summary)
    return summary_from(
        uncertainty, known_from(sums, statistics, note, _cox(sums.summary, uncertainty))
    )


def known_from(
    sums: PooledSums, statistics: Statistics, note: str, cox: CoxCalibration
) -> KnownFromSums:
    """What is known exactly of the rows of these sums."""
    totals = dict(zip(FIELDS, sums.summary.sums["cells"].sum(axis=0).tolist(), strict=True))
    counts_once = totals["sum_w"] == totals["sum_w2"] == totals["n"]
    weight = None if counts_once else totals["sum_w"]
    return KnownFromSums(cox, statistics, totals["sum_wz"], weight, sums.why_not, note)


def cells_as_levels(summary: StreamSummary) -> Statistics:
    """The same sums as statistics whose distinct predictions are the cells."""
    return StreamSummary(
        summary.cells, summary.sums, summary.n_columns, summary.findings, approximate=True
    )


def _statistics(summary: StreamSummary) -> tuple[Statistics, str]:
    """The statistics that values come from, and what to know of them: the distinct predictions
    where the summary has them, and else the cells.
    """
    if type(summary) is StreamSummary:
        return cells_as_levels(summary), FROM_CELLS
    try:
        summary.levels  # noqa: B018 - computed, and kept, or not to be had
    except NotDefined:
        return cells_as_levels(summary), FROM_CELLS
    return summary, ""


def _cox(summary: StreamSummary, uncertainty: Uncertainty) -> CoxCalibration:
    """Cox's fit of the masses on the logit grid, which are exact to its spacing, where they were
    summed; and else of the pooled rows.

    Errors of weighted, soft and clustered rows are those of the pooled ones.
    """
    problem, groups, level = uncertainty.plain_problem, uncertainty.groups, uncertainty.level
    grid = _logit_sums(summary, weighted=not problem.counts_once)
    if grid is None:
        return cox_of(problem, groups, level, EPS)
    pooled = cox_fits(problem, logit(np.clip(problem.u, EPS, 1.0 - EPS)), groups)
    exact = None
    if pooled.large is not None:
        exact = cox_fits_from(replace(grid, weighted=False, hard=True), NoRows())
    fits = pooled
    if exact is not None and (exact.both is None) == (pooled.both is None):
        own = problem.hard and problem.counts_once and groups is None
        fits = exact if own else _with_values_of(pooled, exact)
    return cox_with_limits(fits, None, summary.n_logits_clipped, level, EPS)


def _with_values_of(fits: CoxFits, exact: CoxFits) -> CoxFits:
    """Fits with their errors, and the values of other ones."""
    return replace(fits, both=exact.both, large=exact.large)


def _logit_sums(summary: StreamSummary, *, weighted: bool) -> LogitSums | None:
    """The masses on the logit grid as sums by cell without moments; None where none were summed,
    and for raw logits beyond those of clipped predictions.
    """
    if "logits" not in summary.sums:
        return None
    grid: LogitGrid = summary.logit_grid
    at = STREAM_SPACING * (np.arange(grid.plus.size) - grid.plus.size // 2)
    masses = np.concatenate([grid.plus[0], grid.minus[0]])
    kind = np.repeat([EVENT, NO_EVENT], at.size)
    at = np.tile(at, 2)
    some = masses != 0.0
    at, masses, kind = at[some], masses[some], kind[some]
    if not at.size or np.abs(at).max() > float(logit(np.array(1.0 - EPS))) + 4 * STREAM_SPACING:
        return None
    w = masses[:, None]
    wz = np.where(kind[:, None] == EVENT, w, 0.0)
    none = np.zeros(at.size, dtype=np.bool_)
    return LogitSums(at, kind, none, at, at, masses, masses, w, wz, wz, weighted, not weighted)
