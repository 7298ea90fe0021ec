"""The bins of errors over all classes, and their rows recalibrated by a temperature."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from calibrant._core.binning import LevelSets, Rule
from calibrant._data.samples import Samples
from calibrant._engines.arrays.counting import class_columns
from calibrant._inference.cells import Whole, problem_of
from calibrant._inference.classes import ClassBins
from calibrant._measures.catalogue import THRESHOLD

Array = NDArray[np.float64]


def class_bins(samples: Samples, rule: Rule, *, above: bool) -> tuple[ClassBins, int] | None:
    """Every class's bins; with `above` without small predictions. And the number of classes."""
    columns = class_columns(samples) if samples.multiclass else iter([samples])
    problems = []
    for column in columns:
        part = column
        if above:
            u = np.asarray(column.block(0, column.n).predictions, dtype=np.float64)
            weights = (u > THRESHOLD).astype(np.float64)
            if column.weights is not None:
                weights *= column.weights
            if not (weights > 0).any():
                continue  # a class that no prediction is about is not in the mean
            part = replace(column, weights=weights)
        problem = problem_of(part, "binary", rule)
        if problem is None:
            return None
        problems.append(problem)
    if not problems:
        return None
    m, k = max(problem.m for problem in problems), len(problems)
    index = np.stack([r * m + problem.bins for r, problem in enumerate(problems)], axis=1)
    u, z, w = (
        np.stack([getattr(problem, name) for problem in problems], axis=1)
        for name in ("u", "z", "weights")
    )
    hard = all(problem.hard for problem in problems)
    # Labels are drawn from whole rows: a part of the classes alone has none to draw.
    y = _labels(samples) if hard and samples.multiclass and k == samples.n_classes else None
    return ClassBins(index, k * m, u, z, w, y, hard), k


def full_bins(
    samples: Samples, rule: Rule, whole: Whole | None = None
) -> tuple[ClassBins, int] | None:
    """Every cell of vector predictions times every class, and the number of classes."""
    k = samples.n_classes
    p = np.clip(samples.block(0, samples.n).predictions.astype(np.float64), 0.0, 1.0)
    y = _labels(samples)
    if y is None:
        z = np.clip(samples.block(0, samples.n).targets.astype(np.float64), 0.0, 1.0)
    else:
        z = np.zeros(p.shape)
        z[np.arange(samples.n), y] = 1.0
    if isinstance(rule, LevelSets):
        _, cells = np.unique(p, axis=0, return_inverse=True)
    else:
        problem = problem_of(samples, "confidence", rule, whole)
        if problem is None:
            return None
        _, cells = np.unique(p.argmax(axis=1) * problem.m + problem.bins, return_inverse=True)
    index = cells.reshape(-1, 1) * k + np.arange(k)
    w = np.ones(samples.n) if samples.weights is None else samples.weights.astype(np.float64)
    weights = np.broadcast_to(w[:, None], p.shape)
    return ClassBins(
        index, (int(cells.max()) + 1) * k, p, z, np.array(weights), y, y is not None, alike=k
    ), k


def _labels(samples: Samples) -> NDArray[np.intp] | None:
    """The label of every row, or None for soft ones."""
    targets = samples.block(0, samples.n).targets
    if targets.ndim == 1:
        return targets.astype(np.intp)
    hard = ((targets == 0) | (targets == 1)).all()
    return targets.argmax(axis=1).astype(np.intp) if hard else None


def recalibrated(bins: ClassBins, samples: Samples) -> Array | None:
    """The rows after a temperature, which corrects the most common fault of networks."""
    if not samples.multiclass or bins.u.shape[1] != samples.n_classes:
        return None
    logs = np.log(np.maximum(bins.u, 1e-12))
    # Sums over a few classes are products with ones: a reduction takes ten times as long.
    ones = np.ones(logs.shape[1])
    below = logs - logs.max(axis=1, keepdims=True)
    step = max(1, logs.size // 1_000_000)
    h, some = logs[::step], below[::step]
    seen = (bins.z[::step] * h) @ ones

    def scaled(below: Array, slope: float) -> Array:
        p = np.exp(slope * below)
        p /= (p @ ones)[:, None]
        return p

    slope = 1.0
    for _ in range(12):  # Newton's steps for the inverse temperature
        expected = scaled(some, slope) * h
        mean = expected @ ones
        score = float((seen - mean).sum())
        expected *= h
        curvature = float((expected @ ones - mean**2).sum())
        move = score / curvature if curvature > 0 else 0.0
        slope = min(max(slope + move, slope / 2.0, 0.02), slope * 2.0, 50.0)
        if abs(move) < 1e-4 * slope:
            break
    return scaled(below, slope)
