"""Cross-fitting: each row goes through a map that was fitted to the rows of other folds."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calibrant._core.errors import InputError, one_of
from calibrant._core.loss_sums import LossSums
from calibrant._core.typing import Array, Index
from calibrant._data.samples import Samples
from calibrant._inference.means import row_values
from calibrant._measures.catalogue import catalogue, find

# The rows of each class that a map with parameters for each class needs.
ROWS_A_CLASS = 20
FOLDS = 5


@dataclass(frozen=True, eq=False)
class Folded:
    """Samples, with the fold of each row and its cluster, if any.

    Pooled rows have `counts`, how many equal rows each stands for, `n`, the number of rows in all,
    and by field the mean losses of the rows themselves, where cells pool different predictions.
    """

    samples: Samples
    fold: Index
    groups: Index | None
    counts: Array | None = None
    n: int | None = None
    losses: LossSums | None = None


def proper_loss_field(loss: str, samples: Samples) -> str:
    """The name by which `LossSums` and row losses have a proper loss; an error if unknown."""
    proper = [
        m.name
        for m in catalogue(samples.shape)
        if m.loss and m.claims.continuous and m.claims.truthful and m.group == "losses"
    ]
    known = {**{name: name for name in proper}, "brier_score": "brier", "nll": "log_loss"}
    return find(known[one_of("loss", loss, known)], samples.shape).loss


def check_two_classes(samples: Samples) -> None:
    """Raise an InputError if only one class occurs: a map that excludes the others would win."""
    targets = samples.targets
    if samples.weights is not None:
        targets = targets[samples.weights > 0]
    if samples.soft_rows:
        one = np.count_nonzero(targets.max(axis=0)) == 1
    else:
        one = targets.min() == targets.max() and (samples.multiclass or targets[0] in (0, 1))
    if one:
        raise InputError(
            "y_true holds only one class, so a map that excludes all others would seem best. Give "
            "rows of two or more classes"
        )


def fold_of(samples: Samples, groups: Index | None, folds: int, seed: int) -> Index:
    """A random fold for each row, (n,), 0 to folds - 1; all rows of a cluster are in one fold."""
    n_units = check_enough_units(samples.n, groups, folds)
    units = np.arange(samples.n) if groups is None else groups
    fold: Index = np.random.default_rng((int(seed), 19)).permutation(n_units)[units]
    return fold % folds


def check_enough_units(n: int, groups: Index | None, folds: int) -> int:
    """The number of rows, `n`, or of clusters; an InputError if they are fewer than the folds."""
    n_units = n if groups is None else int(groups.max()) + 1
    if n_units < folds:
        what = "rows" if groups is None else "clusters"
        raise InputError(
            f"folds={folds} needs at least as many {what}; got {n_units}: give fewer folds or "
            f"more {what}"
        )
    return n_units


def fit_and_apply(scaler: Any, fit: Samples, onto: Samples) -> Array:
    """Fit a recalibration map to the rows `fit`, and return its predictions for the rows `onto`.

    Warnings of the fit are hidden.
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        scaler.fit(fit.targets, fit.predictions, sample_weight=fit.weights, votes=fit.votes)
        return np.asarray(scaler.transform(onto.predictions), dtype=np.float64)


def row_losses(samples: Samples, predictions: Array, field: str) -> Array:
    """The loss of each row, (n,), under other `predictions`; `field` names the loss."""
    other = replace(samples, predictions=predictions, from_logits=False)
    return row_values(other, distribution=False)[field]


def weighted_mean(values: Array, samples: Samples) -> float:
    """The mean of `values`, (n,), by the weights of the samples."""
    w = np.ones(values.size) if samples.weights is None else samples.weights.astype(np.float64)
    return float(w @ values) / float(w.sum())
