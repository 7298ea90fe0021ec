"""Ranking and abstention: whether higher predictions go with more events, whatever their size.

These say nothing about calibration: increasing maps of the predictions do not change them.
Formulas are over tables with a bin for each distinct prediction (a level), in increasing order;
equal predictions cannot be told apart, and are ranked, kept and dropped together. u is a
prediction, z its target and w its weight.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from calibrant._core.bin_tables import BinTable, OrderedLevels
from calibrant._core.errors import NotDefined
from calibrant._core.typing import Array, Index

# The share of rows that `accuracy_at_coverage` keeps unless another is named.
COVERAGE = 0.8
ONE_OUTCOME = "the AUROC needs both outcomes: every label is {seen}, so there are no pairs to rank"


def _level_weights(levels: BinTable) -> tuple[Array, Array]:
    """The weight, and the weighted sum of targets, of each level with weight, (levels,) each.

    A level is a distinct prediction; levels are in increasing order.
    """
    w, wz = levels.sum_w[0], levels.sum_wz[0]
    if w.all():
        return w, wz
    nonempty = w > 0  # cells of a stream may be empty
    return w[nonempty], wz[nonempty]


def auroc(levels: BinTable) -> float:
    """The area under the ROC curve, P(u of an event > u of a non-event), where ties count one half.

    A row of target z counts as z of an event and 1 - z of a non-event.
    """
    if isinstance(levels, OrderedLevels):
        total, events = (float(part) for part in levels.totals)
        rest = total - events
    else:
        w, up = _level_weights(levels)
        down = np.maximum(w - up, 0.0)
        events, rest = float(up.sum()), float(down.sum())
    if events <= 0.0 or rest <= 0.0:
        raise NotDefined(ONE_OUTCOME.format(seen=0 if events <= 0.0 else 1))
    if isinstance(levels, OrderedLevels):
        return min(1.0, levels.ranked_pairs() / (events * rest))
    below = np.cumsum(down) - down / 2.0
    return min(1.0, float(up @ below) / (events * rest))


class RiskCurve(NamedTuple):
    """Risk against coverage: a point for each level down to which rows are kept, highest first.

    `coverage` is the share of weight kept, `risk` the mean of 1 - z among kept rows, and `share`
    the level's own share of the weight.
    """

    coverage: Array
    risk: Array
    share: Array


def risk_curve(levels: BinTable) -> RiskCurve:
    """The risk at every coverage that a threshold can reach, from the smallest to all rows."""
    w, wz = (column[::-1] for column in _level_weights(levels))
    kept = np.cumsum(w)
    risk = np.clip(np.cumsum(w - wz) / kept, 0.0, 1.0)
    return RiskCurve(kept / kept[-1], risk, w / kept[-1])


def aurc(levels: BinTable) -> float:
    """The mean, over rows, of the risk among the rows predicted at least as high."""
    if isinstance(levels, OrderedLevels):
        return levels.mean_risk()
    curve = risk_curve(levels)
    return float(curve.share @ curve.risk)


def accuracy_at(levels: BinTable, coverage: float = COVERAGE) -> float:
    """The mean target of the share `coverage` of rows with the highest predictions.

    If a level is kept in part, each of its rows counts in part.
    """
    if isinstance(levels, OrderedLevels):
        rows = coverage * float(levels.totals[0])
        return min(1.0, max(0.0, levels.highest_targets(coverage) / rows))
    w, wz = (column[::-1] for column in _level_weights(levels))
    kept = np.cumsum(w)
    room = coverage * kept[-1] - (kept - w)
    part = np.clip(room / w, 0.0, 1.0)
    return min(1.0, max(0.0, float(part @ wz) / (coverage * float(kept[-1]))))


def mean_target(table: BinTable) -> float:
    """The mean target of all rows."""
    return min(1.0, max(0.0, float(table.sum_wz[0].sum() / table.sum_w[0].sum())))


# --- what each row moves a value by ---------------------------------------------------------------

# The number of each row's prediction among the distinct ones, in increasing order.
Levels = Index


class RowInfluence(NamedTuple):
    """The influence of each row on a value, and the effective number of rows that the value depends
    on.

    `values` has the change of the value for each unit of weight at a row. `units` is an effective
    number of rows: as many rows of equal weight have the same precision. With two outcomes it is
    that of the rarer one.
    """

    values: Array
    units: float


def _sum_by_level(at: Levels, z: Array, w: Array) -> tuple[Array, Array]:
    """The weight, and the weighted sum of targets, of each level (distinct prediction) in
    increasing order.

    `at` has the number of each row's level, `z` its target and `w` its weight.
    """
    both, up = (np.bincount(at, x).astype(np.float64) for x in (w, w * z))
    return both, up


def _effective_rows(w: Array, counts: Array | None) -> float:
    """The effective number of rows with these weights: (sum w)^2 / sum w^2, or 0 without weight.
    `counts` is how many equal rows each row stands for; one each if None.
    """
    total = float(w.sum())
    squares = w * w if counts is None else w * w / counts
    return total * total / float(squares.sum()) if total > 0 else 0.0


def auroc_influence(at: Levels, z: Array, w: Array, counts: Array | None = None) -> RowInfluence:
    """The influence of each row on the AUROC, by DeLong's placements.

    A placement is the share of rows of the other outcome that a row is ranked correctly against.
    `at` has the number of each row's level (distinct prediction).
    """
    both, up = _sum_by_level(at, z, w)
    down = np.maximum(both - up, 0.0)
    events, rest = up.sum(), down.sum()
    below = (np.cumsum(down) - down / 2.0) / rest
    above = 1.0 - (np.cumsum(up) - up / 2.0) / events
    value, total = float(up @ below) / events, events + rest
    values = total * (z * (below[at] - value) / events + (1.0 - z) * (above[at] - value) / rest)
    outcomes = (w * z, w * (1.0 - z))
    return RowInfluence(values, min(_effective_rows(each, counts) for each in outcomes))


def aurc_influence(at: Levels, z: Array, w: Array, counts: Array | None = None) -> RowInfluence:
    """The influence of each row on the AURC (area under the risk-coverage curve).

    It is the row's own risk, plus what the row adds to the risk of every row predicted no higher.
    `at` has the number of each row's level (distinct prediction).
    """
    both, up = _sum_by_level(at, z, w)
    total = both.sum()
    kept = np.cumsum(both[::-1])[::-1]
    risk = np.cumsum((both - up)[::-1])[::-1] / kept
    value = float(both @ risk) / total
    # Sums over the levels g up to a row's own, of w_g / W_g and of that times the risk: w_g is the
    # weight of the level, and W_g that of the rows predicted at least as high.
    reach, paid = np.cumsum(both / kept), np.cumsum(both / kept * risk)
    values = risk[at] - value + (1.0 - z) * reach[at] - paid[at]
    return RowInfluence(values, _effective_rows(w, counts))


def accuracy_influence(
    at: Levels, z: Array, w: Array, counts: Array | None = None, *, coverage: float = COVERAGE
) -> RowInfluence:
    """The influence of each row on the accuracy at a coverage.

    A row above the threshold counts by the difference of its target from that of rows at the
    threshold, other rows not at all. `at` has the number of each row's level (distinct prediction).
    """
    both, up = _sum_by_level(at, z, w)
    total = both.sum()
    above = np.cumsum(both[::-1])[::-1] - both
    part = np.clip((coverage * total - above) / both, 0.0, 1.0)
    # The mean target at the threshold, of about sqrt(n) rows on either side of it.
    edge = int(np.flatnonzero(part > 0)[0])
    near = np.abs(np.cumsum(both) - np.cumsum(both)[edge]) <= total / np.sqrt(
        max(_effective_rows(w, counts), 1.0)
    )
    near[edge] = True
    there = float(up[near].sum() / both[near].sum())
    values = (z - there) * part[at] / coverage
    units = coverage * _effective_rows(w, counts)
    return RowInfluence(values - float((w * values).sum()) / total, units)
