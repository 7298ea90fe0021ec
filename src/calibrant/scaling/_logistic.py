"""Logistic regression of soft targets on a few features: shared by maps of one probability."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from calibrant._data.links import both_classes
from calibrant.scaling._predictions import FloatArray
from calibrant.scaling._softmax_fit import SoftmaxLoss, spread


@dataclass(frozen=True, eq=False)
class LogisticFit:
    """The outcome of a logistic regression: slopes, intercept and log loss, the number of steps,
    whether a minimum was reached, and whether the rows are separable: the map is right on every
    row, so that a steeper one always fits better.
    """

    slopes: FloatArray
    intercept: float
    loss: float
    n_iter: int
    reached: bool
    separable: bool

    @property
    def parameters(self) -> tuple[float, ...]:
        """The slopes followed by the intercept."""
        return (*self.slopes.tolist(), self.intercept)


def fit_logistic(
    features: FloatArray,
    targets: FloatArray,
    shares: FloatArray,
    start: FloatArray | None = None,
) -> LogisticFit:
    """Fit the slopes and intercept with the least log loss of sigmoid(features . slopes +
    intercept).

    `features` (n, d), `targets` (n,) in [0, 1], and `shares` (n,), weights that sum to 1. The
    search begins at `start`, by default slopes of 1, and an intercept of 0.
    """
    d = features.shape[1]
    start = np.ones(d) if start is None else start
    mean, deviation = spread(features, shares)
    unit = np.column_stack([(features - mean) / deviation, np.ones(len(targets))])
    loss = SoftmaxLoss(
        forward=lambda theta: _score_pairs(unit @ theta),
        back=lambda scores: (0.5 * (scores[:, 1] - scores[:, 0])) @ unit,
        targets=both_classes(targets),
        shares=shares,
    )
    minimum = loss.minimum(np.append(deviation * start, mean @ start))
    slopes = minimum.at[:d] / deviation
    intercept = float(minimum.at[d] - slopes @ mean)
    eta, weighted = features @ slopes + intercept, shares != 0
    both = 0 < targets[weighted].mean() < 1
    hard = ((targets == 0) | (targets == 1))[weighted].all()
    right = (np.where(targets == 1, eta, -eta)[weighted] > 0).all()
    value = loss.value_and_gradient(minimum.at)[0]
    return LogisticFit(
        slopes, intercept, value, minimum.n_iter, minimum.reached, bool(both and hard and right)
    )


def _score_pairs(logits: FloatArray) -> FloatArray:
    """Two class scores (-h/2, h/2) for each logit h, (n, 2)."""
    out = np.empty((logits.size, 2), logits.dtype)
    np.multiply(logits, 0.5, out=out[:, 1])
    np.negative(out[:, 1], out=out[:, 0])
    return out


def fit_increasing(features: FloatArray, targets: FloatArray, shares: FloatArray) -> LogisticFit:
    """Fit a logistic regression as `fit_logistic` does, with no slope below 0.

    The loss is convex: at its least value some slopes are 0 and the others are those of a fit to
    their features alone. So every set of features is fitted, and the best fit without a negative
    slope is taken.
    """
    free = fit_logistic(features, targets, shares)
    if (free.slopes >= 0).all():
        return free
    d = features.shape[1]
    kept = []
    for size in range(d):
        for chosen in combinations(range(d), size):
            fit = fit_logistic(features[:, chosen], targets, shares)
            slopes = np.zeros(d)
            slopes[list(chosen)] = fit.slopes
            if (slopes >= 0).all():
                kept.append(replace(fit, slopes=slopes))
    return min(kept, key=lambda fit: fit.loss)
