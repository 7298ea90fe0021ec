"""Rows of a lazy frame, pooled and divided into folds at random: for decompose(), and for
decision_curve(), with exact counts at thresholds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from calibrant._api.cross_fitting import Folded, check_enough_units
from calibrant._api.curve_of_frame import CurveOfFrame
from calibrant._api.net_benefits import FOLDS, Judged, chosen_map, cross_fitted_predictions
from calibrant._api.pooled_folds import deal_into_folds, fixed_order
from calibrant._api.pooled_sums import pooled_rows
from calibrant._core.errors import InputError, NeedsRows, check_weight_total, errors_about
from calibrant._core.typing import Array, Index
from calibrant._data.explain import check_not_swapped
from calibrant._data.frame_samples import FrameSamples
from calibrant._engines import frames
from calibrant._engines.frames.decisions import ThresholdGroups, joint_groups, threshold_groups
from calibrant._inference.decisions import Outcomes
from calibrant._inference.pooled_rows import PooledRows


def folded_frame(samples: FrameSamples, clusters: str | None, folds: int, seed: int) -> Folded:
    """The rows of a lazy frame, pooled by cell, label and cluster (which the column `clusters`
    names) and divided into folds.
    """
    if samples.multiclass:
        raise InputError(
            "decompose of a frame in another engine needs one outcome, with y_proba of the shape "
            f"(n,); got (n, {samples.n_classes}). Give one class's column, or collect a sample of "
            "rows"
        )
    if samples.voted:
        raise NeedsRows(
            "decompose needs the votes of each row, which sums do not hold: drop votes=, or "
            "collect a sample of rows"
        )
    pooled = CurveOfFrame(samples, "binary", clusters)
    rows, n = pooled.rows, pooled.groups.columns.n
    check_enough_units(rows.n, rows.groups, folds)
    parts = _deal(rows, rows.samples.predictions, n, folds, (seed, 19))
    sums, _ = frames.loss_sums(samples)
    own = parts.rows
    return Folded(own.samples, parts.fold, own.groups, own.counts, rows.n, sums)


def judged_frames(
    samples: Mapping[str, FrameSamples],
    thresholds: Array,
    recalibration: str | None,
    clusters: str | None,
    seed: int,
) -> list[Judged]:
    """Each model's predictions in pooled rows, with those after recalibration, and each pair's in
    rows pooled by both.

    One query reads a model and one a pair. `clusters` is the column that names clusters.
    """
    alone = list(_judged_alone(samples, thresholds, recalibration, clusters, seed))
    *_, last = samples.values()  # its frame has every model's predictions as probabilities
    pairs = []
    for one, other in combinations(samples, 2):
        first = replace(samples[one], frame=last.frame)
        (second,) = samples[other].predictions
        groups = joint_groups(first, (second,), thresholds, clusters)
        outcomes = _outcomes(pooled_rows(groups.columns))
        predictions = dict(zip((one, other), groups.predictions(thresholds), strict=True))
        pairs.append(Judged(outcomes, predictions, {}, None, alone[0].n, with_always=False))
    return [*alone, *pairs]


def _judged_alone(
    samples: Mapping[str, FrameSamples],
    thresholds: Array,
    recalibration: str | None,
    clusters: str | None,
    seed: int,
) -> Iterator[Judged]:
    """Yield each model's predictions in rows pooled by fine cell, divided into folds."""
    map_name: str | None = None
    for number, (name, each) in enumerate(samples.items()):
        with errors_about(name):
            groups = threshold_groups(each, thresholds, clusters)
            if not groups.columns.hard:
                check_not_swapped(each)
            check_weight_total(float(groups.columns.w.sum()), int(groups.columns.n.sum()) or 1)
        rows = pooled_rows(groups.columns)
        if number == 0:
            of_rows = replace(_outcomes(rows), counts=groups.columns.n)
            map_name = chosen_map(recalibration, of_rows)
        yield _judged(name, groups, rows, thresholds, map_name, seed)


def _judged(
    name: str,
    groups: ThresholdGroups,
    rows: PooledRows,
    thresholds: Array,
    map_name: str | None,
    seed: int,
) -> Judged:
    """One model's predictions in pooled rows, cross-fitted by the named map, None for no map."""
    n, own = groups.columns.n, groups.predictions(thresholds)[0]
    n_rows = round(float(n.sum()))
    if map_name is None:
        return Judged(_outcomes(rows), {name: own}, {}, None, n_rows)
    parts = _deal(rows, groups.u, n, FOLDS, (seed, 13))
    outcomes = _outcomes(parts.rows)
    mapped = cross_fitted_predictions(map_name, groups.u[parts.whole], outcomes, parts.fold)
    return Judged(outcomes, {name: own[parts.whole]}, {name: mapped}, map_name, n_rows)


def _outcomes(rows: PooledRows) -> Outcomes:
    """The outcomes of pooled rows."""
    samples = rows.samples
    return Outcomes(samples.targets, samples.weights, rows.groups, rows.counts)


class _Parts(NamedTuple):
    """Pooled rows divided among folds: the parts, the fold of each, and the number of the pooled
    row that each is a part of.
    """

    rows: PooledRows
    fold: Index
    whole: Index


def _deal(rows: PooledRows, u: Array, n: Array, folds: int, seed: tuple[int, int]) -> _Parts:
    """Divide pooled rows among folds at random; `u` are their predictions, which the order of the
    draws goes by, and `n` is how many rows each stands for.
    """
    samples = rows.samples
    order = fixed_order(u, samples.targets)
    rng = np.random.default_rng(seed)
    whole, fold, share = deal_into_folds(n, rows.groups, folds, rng, order)
    weights = np.ones(samples.n) if samples.weights is None else samples.weights
    counts = np.ones(samples.n) if rows.counts is None else rows.counts
    parts = replace(
        samples,
        predictions=samples.predictions[whole],
        targets=samples.targets[whole],
        weights=weights[whole] * share,
    )
    groups = None if rows.groups is None else rows.groups[whole]
    return _Parts(
        replace(rows, samples=parts, counts=counts[whole] * share, groups=groups), fold, whole
    )
