"""decompose() of a lazy frame: rows pooled in narrow cells, and split into folds at random."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from calibrant._api.cross_fitting import Folded, check_enough_units
from calibrant._api.curve_of_frame import CurveOfFrame
from calibrant._api.pooled_folds import deal_into_folds, fixed_order
from calibrant._core.errors import InputError, NeedsRows
from calibrant._data.frame_samples import FrameSamples
from calibrant._engines import frames


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
    rng = np.random.default_rng((seed, 19))
    whole = rows.samples
    order = fixed_order(whole.predictions, whole.targets)
    row, fold, share = deal_into_folds(n, rows.groups, folds, rng, order)
    weights = np.ones(whole.n) if whole.weights is None else whole.weights
    counts = np.ones(whole.n) if rows.counts is None else rows.counts
    parts = replace(
        whole,
        predictions=whole.predictions[row],
        targets=whole.targets[row],
        weights=weights[row] * share,
    )
    own = None if rows.groups is None else rows.groups[row]
    sums, _ = frames.loss_sums(samples)
    return Folded(parts, fold, own, counts[row] * share, rows.n, sums)
