"""Logistic regression of targets on logits: Cox's slope and intercepts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant._core.messages import Note
from calibrant._core.typing import Array, Index
from calibrant._data.links import sigmoid
from calibrant._inference.numbers import MOST_LEVERAGE


@dataclass(frozen=True, eq=False)
class LogisticFit:
    """``P(z = 1) = sigmoid(intercept + slope h)``, and what its covariances are made of.

    `bread` is the inverse of the information about the free parameters: (intercept,), or
    (intercept, slope). It is their covariance where rows are independent outcomes that count once.
    """

    intercept: float
    slope: float
    bread: Array
    log_likelihood: float

    @property
    def free(self) -> int:
        """How many parameters were fitted: 1 (the intercept), or 2."""
        return len(self.bread)


def why_not_estimable(z: Array, h: Array, w: Array | None) -> str:
    """Why slope and intercept have no finite maximum of the likelihood; "" where they have one.

    In one dimension a soft target is both classes at its place. The likelihood has a maximum unless
    the places of one class end where those of the other begin.
    """
    kept = slice(None) if w is None else w > 0
    z, h = z[kept], h[kept]
    up, down = h[z > 0], h[z < 1]
    if up.size == 0 or down.size == 0:
        seen = "1" if down.size == 0 else "0"
        return _not_estimable(
            "", f"every outcome is {seen}, and no finite intercept fits that best"
        )
    if float(np.ptp(h)) < 1e-12:
        return _not_estimable(
            "slope ",
            "all predictions are alike; only the intercept at slope 1 was fitted, and p is its",
        )
    if up.min() >= down.max() or down.min() >= up.max():
        return _not_estimable(
            "slope and intercept ",
            "the outcomes are separated by the predictions, and the likelihood grows with the "
            "slope without end",
        )
    return ""


def _not_estimable(what: str, reason: str) -> Note:
    return Note(f"{what}not estimable: {reason}", "not estimable", reason=reason)


def fit_logistic(z: Array, h: Array, w: Array | None, *, slope: float | None = None) -> LogisticFit:
    """The maximum-likelihood fit by Newton's method; with `slope` given, of the intercept alone.

    There must be a maximum: `why_not_estimable`.
    """
    weights = np.ones(h.size) if w is None else w
    # Logits about 0 on a scale of 1: predictions that hardly differ are as well placed as others.
    kept = h[weights > 0]
    centre, scale = (0.0, 1.0) if slope is not None else (float(kept.mean()), float(kept.std()))
    x = (h - centre) / scale
    theta = np.array([0.0, slope]) if slope is not None else np.array([centre, scale])
    free = 1 if slope is not None else 2
    basis = np.stack([np.ones(h.size), x])[:free]
    likelihood = _log_likelihood(z, x, weights, theta)
    for _ in range(100):
        p = sigmoid(theta[0] + theta[1] * x)
        score = basis @ (weights * (z - p))
        information = (basis * (weights * p * (1.0 - p))) @ basis.T
        step = np.zeros(2)
        step[:free] = np.linalg.lstsq(information, score, rcond=1e-12)[0]
        # Halve a step that lowers the likelihood: far from the optimum Newton overshoots.
        part, tried = 1.0, theta + step
        found = _log_likelihood(z, x, weights, tried)
        while found < likelihood - 1e-12 * abs(likelihood) and part >= 1e-6:
            part /= 2.0
            tried = theta + part * step
            found = _log_likelihood(z, x, weights, tried)
        theta, likelihood = tried, found
        if np.abs(part * step).max() < 1e-12:
            break
    p = sigmoid(theta[0] + theta[1] * x)
    bread = np.linalg.pinv((basis * (weights * p * (1.0 - p))) @ basis.T).astype(np.float64)
    if slope is not None:
        return LogisticFit(float(theta[0]), slope, bread, likelihood)
    back = np.array([[1.0, -centre / scale], [0.0, 1.0 / scale]])
    intercept, fitted = back @ theta
    return LogisticFit(float(intercept), float(fitted), back @ bread @ back.T, likelihood)


def robust_covariance(fit: LogisticFit, z: Array, h: Array, w: Array, groups: Index) -> Array:
    """The covariance of the free parameters from the scatter of the scores, summed by cluster."""
    moved = moved_by_rows(fit, z, h, w, groups)
    return moved @ moved.T


def moved_by_rows(fit: LogisticFit, z: Array, h: Array, w: Array, groups: Index) -> Array:
    """What each cluster (or row, each a cluster of its own) moves the free parameters by.

    Each sum of scores is divided by 1 - leverage (HC3, or its like for clusters): without it the
    rows that pull the line towards themselves seem to scatter too little.
    """
    basis = np.stack([np.ones(h.size), h])[: fit.free]
    p = sigmoid(fit.intercept + fit.slope * h)
    leverage = np.einsum("in,ij,jn->n", basis, fit.bread, basis) * w * p * (1.0 - p)
    left = 1.0 - np.minimum(np.bincount(groups, leverage), MOST_LEVERAGE)
    return fit.bread @ (summed(basis * (w * (z - p)), groups) / left)


def summed(rows: Array, groups: Index) -> Array:
    """The rows of a matrix (k, n) summed by cluster: (k, clusters)."""
    return np.stack([np.bincount(groups, row) for row in rows])


def _log_likelihood(z: Array, h: Array, w: Array, theta: Array) -> float:
    line = theta[0] + theta[1] * h
    return float((w * (z * line - np.logaddexp(0.0, line))).sum())
