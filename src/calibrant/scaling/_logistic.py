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
    """Slopes, intercept and log loss; the steps taken; whether a minimum was reached; and whether
    the map is right on every row, so that no slope is steep enough.
    """

    slopes: FloatArray
    intercept: float
    loss: float
    n_iter: int
    reached: bool
    separable: bool

    @property
    def parameters(self) -> tuple[float, ...]:
        return (*self.slopes.tolist(), self.intercept)


def fit_logistic(
    features: FloatArray,
    targets: FloatArray,
    shares: FloatArray,
    start: FloatArray | None = None,
) -> LogisticFit:
    """The best slopes and intercept of sigmoid(features . slopes + intercept), from slopes 1 or
    from `start`.
    """
    d = features.shape[1]
    start = np.ones(d) if start is None else start
    mean, deviation = spread(features, shares)
    unit = np.column_stack([(features - mean) / deviation, np.ones(len(targets))])
    loss = SoftmaxLoss(
        forward=lambda theta: _pairs(unit @ theta),
        back=lambda scores: (0.5 * (scores[:, 1] - scores[:, 0])) @ unit,
        targets=both_classes(targets),
        shares=shares,
    )
    minimum = loss.minimum(np.append(deviation * start, mean @ start))
    slopes = minimum.at[:d] / deviation
    intercept = float(minimum.at[d] - slopes @ mean)
    eta, weighted = features @ slopes + intercept, shares > 0
    both = 0 < targets[weighted].mean() < 1
    hard = ((targets == 0) | (targets == 1))[weighted].all()
    right = (np.where(targets == 1, eta, -eta)[weighted] > 0).all()
    value = loss.value_and_gradient(minimum.at)[0]
    return LogisticFit(
        slopes, intercept, value, minimum.n_iter, minimum.reached, bool(both and hard and right)
    )


def _pairs(logits: FloatArray) -> FloatArray:
    """Each logit as a pair of scores, that far apart."""
    out = np.empty((logits.size, 2), logits.dtype)
    np.multiply(logits, 0.5, out=out[:, 1])
    np.negative(out[:, 1], out=out[:, 0])
    return out


def fit_increasing(features: FloatArray, targets: FloatArray, shares: FloatArray) -> LogisticFit:
    """The same with no slope below 0.

    The loss is convex, so its least value there is that of some set of features on their own, the
    other slopes being 0: the best of those that keep the rule.
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
