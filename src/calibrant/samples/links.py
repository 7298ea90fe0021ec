"""Logits to probabilities, and the one clipping rule."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# A report of 0 on what then happened has infinite log loss. Such reports are lifted to this floor
# and counted; it is the spacing of doubles at 1, the clip that scikit-learn uses too.
LOG_FLOOR = float(np.finfo(np.float64).eps)


def sigmoid(logits: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """1 / (1 + exp(-h)) in float64, without overflow on either side."""
    h = np.asarray(logits, dtype=np.float64)
    small = np.exp(-np.abs(h))
    out: NDArray[np.float64] = np.where(h >= 0, 1.0, small) / (1.0 + small)
    return out


def softmax(logits: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Rows of logits to rows of probabilities in float64."""
    h = np.asarray(logits, dtype=np.float64)
    out: NDArray[np.float64] = np.exp(h - h.max(axis=1, keepdims=True))
    out /= out.sum(axis=1, keepdims=True)
    return out


def clip_to_floor(
    probabilities: NDArray[np.float64], floor: float
) -> tuple[NDArray[np.float64], int]:
    """Probabilities lifted to the floor, and how many were lifted."""
    low = probabilities < floor
    return np.where(low, floor, probabilities), int(np.count_nonzero(low))
