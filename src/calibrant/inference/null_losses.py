"""What losses show when the reports are right, without drawing: a mean of many independent rows is
normal, and the mean and variance of each row's loss have closed forms.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calibrant.samples.links import LOG_FLOOR
from calibrant.samples.samples import Samples

Array = NDArray[np.float64]

# Entries of (n, k) reports from which drawing every row's outcome takes long.
MANY_ENTRIES = 2_000_000
_BLOCK = 1 << 16


def null_losses(samples: Samples, n_draws: int, seed: int) -> dict[str, Array]:
    """Draws of every proper loss of (n, k) reports when outcomes come from the reports.

    Each loss is drawn by itself: its own scatter is right, not how it goes with the others.
    """
    sums: dict[str, Array] = {}
    total = 0.0
    step = max(1, _BLOCK // samples.n_classes)
    for start in range(0, samples.n, step):
        block = samples.block(start, min(start + step, samples.n))
        p = np.clip(block.reports.astype(np.float64), 0.0, 1.0)
        p /= p.sum(axis=1, keepdims=True)
        w = np.ones(len(p)) if block.weights is None else block.weights
        total += float(w.sum())
        for name, (mean, variance) in _moments(p).items():
            part = np.array([w @ mean, (w * w) @ variance])
            sums[name] = sums[name] + part if name in sums else part
    rng = np.random.default_rng((seed, 9))
    return {
        name: mean / total + np.sqrt(max(variance, 0.0)) / total * rng.standard_normal(n_draws)
        for name, (mean, variance) in sums.items()
    }


def _moments(p: Array) -> dict[str, tuple[Array, Array]]:
    """Mean and variance of each row's losses over its outcomes."""
    squares = np.einsum("ij,ij->i", p, p)
    cubes = np.einsum("ij,ij,ij->i", p, p, p)
    spread = cubes - squares**2  # the variance of p_y, which Brier and spherical loss are linear in
    log = -np.log(np.maximum(p, LOG_FLOOR))
    entropy = np.einsum("ij,ij->i", p, log)
    c = p.max(axis=1)
    hit = c * (1.0 - c)
    return {
        "brier": (1.0 - squares, 4.0 * spread),
        "log_loss": (entropy, np.einsum("ij,ij,ij->i", p, log, log) - entropy**2),
        "spherical_loss": (1.0 - np.sqrt(squares), spread / squares),
        "classification_error": (1.0 - c, hit),
        # (c - 1)^2 where the top label is right, 1 + c^2 where it is not: 2c apart.
        "confidence_loss": (1.0 + c * c - 2.0 * c * c, hit * 4.0 * c * c),
    }
