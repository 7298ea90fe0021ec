"""Section 4 of Tao et al. (2026): three clusters of points, on one of which people are divided.

The paper trains a network on the voted labels. Here the predictor is what such a network tends to,
the exact probability of the voted label given the point, so that nothing but the target of the fit
is at fault.
"""

from __future__ import annotations

import warnings
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calibrant import scaling
from calibrant._api.metrics.binned import ece
from calibrant._research.papers.folder import Columns

Array: TypeAlias = NDArray[np.float64]

MEANS = np.array([[-3.2, 1.1], [0.0, 0.0], [3.2, -1.1]])
SPREADS = np.array([[0.60, 0.45], [1.15, 0.75], [0.60, 0.45]])
VOTES = np.array([[1.0, 0.0, 0.0], [0.0, 0.7, 0.3], [0.0, 0.0, 1.0]])
N_VOTES = 10


def toy(seed: int, n: int = 3000) -> Columns:
    """Errors against the voted label and against the distribution that votes are drawn from."""
    rng = np.random.default_rng(seed)
    clusters, points = _points(rng, n)
    counts = rng.multinomial(N_VOTES, VOTES[clusters])
    new_clusters, new_points = _points(rng, n)
    logits, new_logits = _logits(points), _logits(new_points)
    shares = counts / N_VOTES
    # Given the point, a vote is that of each cluster with the cluster's probability.
    truth = _softmax(new_logits) @ VOTES
    rows: list[tuple[str, Any, Any, Array]] = [("as they are", "", None, _softmax(new_logits))]
    for map_, name, targets, kind in (
        (scaling.TemperatureScaling(), "temperature", clusters, "majority"),
        (scaling.VectorScaling(), "vector", clusters, "majority"),
        (scaling.HistogramBinning(from_logits=True), "histogram", clusters, "majority"),
        (scaling.LabelSmoothingTemperature(), "label smoothing", clusters, "majority"),
        (scaling.TemperatureScaling(), "temperature", shares, "shares"),
        (scaling.DirichletCalibration(from_logits=True), "Dirichlet", shares, "shares"),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            map_.fit(targets, logits)
            rows.append(
                (name, kind, getattr(map_, "temperature_", None), map_.transform(new_logits))
            )
    return {
        "map": [name for name, *_ in rows],
        "fitted to": [kind for _, kind, *_ in rows],
        "T": ["" if t is None else f"{t:.2f}" for _, _, t, _ in rows],
        "ECE, voted label": [ece(new_clusters, p) for *_, p in rows],
        "ECE, votes": [ece(truth, p) for *_, p in rows],
    }


def _points(rng: np.random.Generator, n: int) -> tuple[NDArray[np.int64], Array]:
    clusters = rng.integers(0, 3, n)
    return clusters, MEANS[clusters] + SPREADS[clusters] * rng.normal(size=(n, 2))


def _logits(points: Array) -> Array:
    """Log densities of the clusters: their softmax is the probability of each voted label."""
    gaps = (points[:, None, :] - MEANS) / SPREADS
    out: Array = -0.5 * (gaps**2).sum(axis=2) - np.log(SPREADS).sum(axis=1)
    return out


def _softmax(logits: Array) -> Array:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    out: Array = powers / powers.sum(axis=1, keepdims=True)
    return out
