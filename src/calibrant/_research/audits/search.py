"""A search for lies that needs no gradient: random steps from the truth, kept when they help."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from calibrant._research.audits.subjects import Array

_LOWEST = 1e-3


def search(expected: Callable[[Array], float], truth: Array, *, steps: int, seed: int) -> Array:
    """The best prediction found that is not the truth.

    Steps are in logits, of a size that grows after a success and shrinks after failures; one in
    four makes two rows alike instead, which no step of a random size would ever do. Half of the
    steps start from the truth with a small step, half from far away.
    """
    rng = np.random.default_rng(seed)
    best: Array | None = None
    lowest = np.inf
    for size in (0.1, 2.0):
        at, here = truth, np.inf
        for _ in range(steps // 2):
            tried = _alike(at, rng) if rng.random() < 0.25 else _moved(at, size, rng)
            value = expected(tried)
            if value < here:
                at, here, size = tried, value, min(size * 1.5, 3.0)
            else:
                size = max(size * 0.85, 1e-3)
            if value < lowest and not np.array_equal(tried, truth):
                best, lowest = tried, value
    return truth if best is None else best


def _moved(predictions: Array, size: float, rng: np.random.Generator) -> Array:
    rows = (
        np.stack([1 - predictions, predictions], axis=1) if predictions.ndim == 1 else predictions
    )
    # One row or all of them.
    which = np.ones(len(rows)) if rng.random() < 0.5 else np.eye(len(rows))[rng.integers(len(rows))]
    moved = np.log(np.maximum(rows, _LOWEST))
    moved = moved + size * which[:, None] * rng.normal(size=rows.shape)
    powered = np.exp(moved - moved.max(axis=1, keepdims=True))
    out: Array = np.maximum(powered / powered.sum(axis=1, keepdims=True), _LOWEST)
    out /= out.sum(axis=1, keepdims=True)
    return out[:, 1] if predictions.ndim == 1 else out


def _alike(predictions: Array, rng: np.random.Generator) -> Array:
    i, j = rng.choice(len(predictions), 2, replace=False)
    out = predictions.copy()
    out[[i, j]] = (predictions[i] + predictions[j]) / 2
    return out
