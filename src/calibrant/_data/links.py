"""Logits to probabilities, the one clipping rule, and how exact probabilities must be."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.short_rows import row_maxima, row_sums
from calibrant._core.texts import TEXTS
from calibrant._core.typing import Array

# How far outside [0, 1] a prediction may lie, as after a softmax in float32: it is clipped and
# counted.
OVERSHOOT = 1e-4
# How far from 1 a row of predictions or of soft labels may sum, by the precision it was rounded to.
ROW_SUM_TOLERANCE = 1e-4
HALF_ROW_SUM_TOLERANCE = {"float16": 5e-3, "bfloat16": 4e-2}
# Rows that sum to 1 less precisely than this are counted and noted.
ROW_SUM_TOLD = 1e-5
# The end of errors about soft labels that do not sum to 1.
ROUNDED = TEXTS["rounded"]


# A prediction of 0 on what then happened has infinite log loss. Predictions below this floor are
# lifted to it and counted, whether they came as probabilities or as logits: one row must not
# decide the mean, and the same predictions must not score differently in another form.
LOG_FLOOR = 1e-12


def sigmoid(logits: NDArray[np.floating[Any]]) -> Array:
    """The probabilities of logits h, 1 / (1 + exp(-h)), in float64, without overflow on either
    side.
    """
    h = np.asarray(logits, dtype=np.float64)
    small = np.exp(-np.abs(h))
    return np.where(h >= 0, 1.0, small) / (1.0 + small)


def softmax(logits: NDArray[np.floating[Any]]) -> Array:
    """Rows of logits, (n, k), as rows of probabilities in float64 and C order."""
    h = np.ascontiguousarray(logits, dtype=np.float64)
    with np.errstate(over="ignore"):  # a difference past the largest double is a probability of 0
        out: Array = np.exp(h - row_maxima(h)[:, None])
    out /= row_sums(out)[:, None]
    return out


def both_classes(probabilities: Array) -> Array:
    """Probabilities as (n, k). Those of a binary problem, (n,), are of class 1: they become the
    second column of (n, 2), after a column for class 0.
    """
    if probabilities.ndim == 2:
        return probabilities
    return np.stack([1.0 - probabilities, probabilities], axis=1)


def clip_to_floor(probabilities: Array, floor: float) -> tuple[Array, int]:
    """Probabilities with those below the floor replaced by it, and the number of those replaced."""
    low = probabilities < floor
    return np.where(low, floor, probabilities), int(np.count_nonzero(low))


def logit(probabilities: Array) -> Array:
    """The logits log(p / (1 - p)) of probabilities; infinite at 0 and 1."""
    return np.log(probabilities) - np.log1p(-probabilities)
