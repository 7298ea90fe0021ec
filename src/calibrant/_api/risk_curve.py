"""The risk-coverage curve with a band: which rows a threshold keeps, and their risk."""

from __future__ import annotations

import numpy as np

from calibrant._core.bin_tables import BinTable
from calibrant._core.typing import Array, Index
from calibrant._data.samples import Notion, Samples
from calibrant._engines.arrays.ordering import stable_order
from calibrant._engines.arrays.passes import whole_problem
from calibrant._inference.cells import ScalarRows
from calibrant._inference.context import rows_of_weight, take_rows
from calibrant._measures.proportions import wilson
from calibrant._measures.ranking import aurc, risk_curve
from calibrant.results._risk_coverage import RiskCoverage

# The most points of a drawn curve; with fewer distinct predictions each of them is a point.
POINTS = 200


def risk_coverage_curve(
    samples: Samples,
    notion: Notion,
    levels: BinTable,
    level: float,
    groups: Index | None,
    whole: ScalarRows | None = None,
) -> RiskCoverage:
    """The risk-coverage curve of validated rows with its band.

    `levels` has the sums of each distinct prediction, and `level` is that of the band. `whole` has
    the predictions, targets, weights and findings, None if yet to be computed.
    """
    curve = risk_curve(levels)
    at = _points_to_draw(curve.coverage)
    thresholds = levels.mean_u[0][levels.sum_w[0] > 0][::-1][at]
    weighted = rows_of_weight(samples)
    samples, groups = take_rows(samples, groups, weighted)
    known = whole if weighted is None else None
    u, z, w, findings = known or whole_problem(samples, notion)
    weights = np.ones(u.size) if w is None else w
    order = stable_order(u)[::-1]
    z, weights = z[order], weights[order]
    counts = u.size - np.searchsorted(u[order[::-1]], thresholds)
    moved = (
        _clustered_risk_variance(z, weights, counts, curve.risk[at], groups[order])
        if groups is not None
        else _risk_variance(z, weights, counts, curve.risk[at])
    )
    n = np.divide(
        curve.risk[at] * (1.0 - curve.risk[at]), moved, out=np.zeros(at.size), where=moved > 0
    )
    # The variance gives an effective number of rows, which is at most that of the rows kept.
    kept = _effective_rows_kept(weights, counts)
    low, high = wilson(curve.risk[at], np.where((n > 0) & (n < kept), n, kept), level)
    return RiskCoverage(
        coverage=curve.coverage[at],
        risk=curve.risk[at],
        threshold=thresholds,
        low=low,
        high=high,
        aurc=aurc(levels),
        notion=notion,
        level=level,
        n=samples.n,
        is_hard=not findings.soft,
        steps=(curve.coverage, curve.risk),
    )


def _points_to_draw(coverage: Array) -> Index:
    """The indices of the points to draw: all, or POINTS at about equal steps of coverage."""
    if coverage.size <= POINTS:
        return np.arange(coverage.size)
    near = np.searchsorted(coverage, np.linspace(0.0, 1.0, POINTS + 1)[1:])
    return np.unique(np.minimum(near, coverage.size - 1))


# In the following functions the targets z and weights w are in falling order of predictions, and
# `counts` is the number of rows that each threshold keeps. The risk of a row is 1 - z.


def _effective_rows_kept(w: Array, counts: Index) -> Array:
    """The effective number of rows at or above each threshold, (thresholds,).

    Weights w are ordered by falling prediction; `counts` is how many rows each threshold keeps.
    """
    through, squares = np.cumsum(w), np.cumsum(w * w)
    return through[counts - 1] ** 2 / squares[counts - 1]


def _local_risk(z: Array, w: Array, counts: Index) -> Array:
    """The risk near each threshold, (thresholds,): mean of 1 - z over about 2 sqrt(n) rows.

    Targets z and weights w are ordered by falling prediction; `counts` is how many rows each
    threshold keeps.
    """
    reach = max(1, int(np.sqrt(z.size)))
    first, last = np.maximum(counts - reach, 0), np.minimum(counts + reach, z.size)
    through = np.concatenate([[0.0], np.cumsum(w)])
    missed = np.concatenate([[0.0], np.cumsum(w * (1.0 - z))])
    weight = through[last] - through[first]
    return np.divide(
        missed[last] - missed[first], weight, out=np.zeros(counts.size), where=weight > 0
    )


def _risk_variance(z: Array, w: Array, counts: Index, risk: Array) -> Array:
    """The variance of the risk at each threshold, (thresholds,).

    It is due to the rows that are kept, and to the threshold, which varies with them. Targets z and
    weights w are ordered by falling prediction; `counts` is how many rows each threshold keeps.
    """
    there, e, w2 = _local_risk(z, w, counts), 1.0 - z, w * w
    last = counts - 1
    share = np.cumsum(w)[last] / w.sum()
    c0, c1, c2 = (np.cumsum(x)[last] for x in (w2, w2 * e, w2 * e * e))
    first = c2 - 2.0 * there * c1 + there**2 * c0
    cross = (risk - there) * (c1 - there * c0)
    own = first / share**2 - 2.0 * cross / share + (risk - there) ** 2 * w2.sum()
    return np.maximum(own, 0.0) / float(w.sum()) ** 2


def _clustered_risk_variance(
    z: Array, w: Array, counts: Index, risk: Array, groups: Index
) -> Array:
    """The variance of the risk at each threshold, (thresholds,), where rows come in clusters.

    The arguments are those of `_risk_variance`, and the number of each row's cluster.
    """
    there, e, total = _local_risk(z, w, counts), 1.0 - z, float(w.sum())
    n_groups = int(groups.max()) + 1
    out = np.empty(counts.size)
    for j, count in enumerate(counts):
        share = float(w[:count].sum()) / total
        kept = np.bincount(groups[:count], w[:count] * (e[:count] - there[j]) / share, n_groups)
        moved = kept - np.bincount(groups, w, n_groups) * (risk[j] - there[j])
        out[j] = (moved**2).sum() / total**2 * n_groups / max(n_groups - 1, 1)
    return out
