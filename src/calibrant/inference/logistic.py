"""Logistic regression of targets on logits: Cox's slope and intercepts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrant.samples.links import sigmoid

Array = NDArray[np.float64]

# Data that a logistic curve can separate have no finite fit; parameters stop here.
BOUND = 50.0


@dataclass(frozen=True)
class LogisticFit:
    """``P(z = 1) = sigmoid(intercept + slope h)``, with the covariance of (intercept, slope).

    `bounded` says that the likelihood has no maximum: the data are separated, or the reports are
    all alike and only the intercept was fitted.
    """

    intercept: float
    slope: float
    covariance: Array
    log_likelihood: float
    bounded: bool


def fit_logistic(
    z: Array, h: Array, w: Array | None, *, slope: float | None = None, robust: bool = False
) -> LogisticFit:
    """The maximum-likelihood fit by Newton's method; with `slope` given, of the intercept alone.

    `robust` takes the covariance from the scatter of the scores (soft targets, weights) instead of
    from the Bernoulli model.
    """
    weights = np.ones(h.size) if w is None else w
    fixed = slope is not None or float(np.ptp(h[weights > 0])) < 1e-12
    theta = np.array([0.0, 1.0 if slope is None else slope])
    free = 1 if fixed else 2
    basis = np.stack([np.ones(h.size), h])[:free]
    bounded, best = False, -np.inf
    for _ in range(60):
        p = sigmoid(theta[0] + theta[1] * h)
        score = basis @ (weights * (z - p))
        information = (basis * (weights * p * (1.0 - p))) @ basis.T
        step = np.zeros(2)
        step[:free] = np.linalg.lstsq(information, score, rcond=1e-12)[0]
        # Halve a step that lowers the likelihood: far from the optimum Newton overshoots.
        best = _log_likelihood(z, h, weights, theta)
        scale = 1.0
        while _log_likelihood(z, h, weights, theta + scale * step) < best - 1e-12 * abs(best):
            scale /= 2.0
            if scale < 1e-6:
                break
        theta = theta + scale * step
        if np.abs(theta).max() > BOUND:
            theta, bounded = np.clip(theta, -BOUND, BOUND), True
            break
        if np.abs(scale * step).max() < 1e-12:
            break
    p = sigmoid(theta[0] + theta[1] * h)
    information = (basis * (weights * p * (1.0 - p))) @ basis.T
    inverse = np.linalg.pinv(information)
    if robust:
        scores = basis * (weights * (z - p))
        inverse = inverse @ (scores @ scores.T) @ inverse
    covariance = np.zeros((2, 2))
    covariance[:free, :free] = inverse
    likelihood = _log_likelihood(z, h, weights, theta)
    # A fit without any loss stops where rounding does, before the bound.
    bounded = bounded or likelihood > -1e-9 * float(weights.sum())
    return LogisticFit(float(theta[0]), float(theta[1]), covariance, likelihood, bounded)


def _log_likelihood(z: Array, h: Array, w: Array, theta: Array) -> float:
    line = theta[0] + theta[1] * h
    return float((w * (z * line - np.logaddexp(0.0, line))).sum())
