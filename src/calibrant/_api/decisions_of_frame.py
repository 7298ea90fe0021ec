"""decision_curve() of a lazy frame: exact counts at thresholds, and folds of pooled rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations

import numpy as np

from calibrant._api.net_benefits import FOLDS, Judged, chosen_map, cross_fitted_predictions
from calibrant._api.pooled_folds import deal_into_folds, fixed_order
from calibrant._api.pooled_sums import numbered_clusters
from calibrant._core.errors import check_weight_total, errors_about
from calibrant._core.typing import Array, Index
from calibrant._data.explain import check_not_swapped
from calibrant._data.frame_samples import FrameSamples
from calibrant._engines.cells import PooledColumns
from calibrant._engines.frames.decisions import ThresholdGroups, joint_groups, threshold_groups
from calibrant._inference.decisions import Outcomes
from calibrant._inference.pooled_rows import PooledRows


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
        outcomes = _outcomes(groups.columns)
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
        outcomes = _outcomes(groups.columns)
        if number == 0:
            of_rows = replace(outcomes, counts=groups.columns.n)
            map_name = chosen_map(recalibration, of_rows)
        yield _judged(name, groups, outcomes, thresholds, map_name, seed)


def _judged(
    name: str,
    groups: ThresholdGroups,
    outcomes: Outcomes,
    thresholds: Array,
    map_name: str | None,
    seed: int,
) -> Judged:
    """One model's predictions in pooled rows, cross-fitted by the named map, None for no map."""
    n, own = groups.columns.n, groups.predictions(thresholds)[0]
    n_rows = round(float(n.sum()))
    if map_name is None:
        return Judged(outcomes, {name: own}, {}, None, n_rows)
    rng = np.random.default_rng((seed, 13))
    order = fixed_order(groups.u, outcomes.z)
    row, fold, share = deal_into_folds(n, outcomes.groups, FOLDS, rng, order)
    outcomes = _parts(outcomes, row, share)
    mapped = cross_fitted_predictions(map_name, groups.u[row], outcomes, fold)
    return Judged(outcomes, {name: own[row]}, {name: mapped}, map_name, n_rows)


def _parts(outcomes: Outcomes, row: Index, share: Array) -> Outcomes:
    """The outcomes of parts of rows: of which row each is, and its share of it."""
    w = np.ones(outcomes.z.size) if outcomes.w is None else outcomes.w
    return Outcomes(
        outcomes.z[row],
        w[row] * share,
        None if outcomes.groups is None else outcomes.groups[row],
        outcomes.rows[row] * share,
    )


def _outcomes(columns: PooledColumns) -> Outcomes:
    """The outcomes of pooled rows."""
    groups = None
    if columns.clusters is not None:
        groups = numbered_clusters(columns.clusters, columns.n)
    rows = PooledRows.from_columns(columns, groups)
    samples = rows.samples
    return Outcomes(samples.targets, samples.weights, rows.groups, rows.counts)
