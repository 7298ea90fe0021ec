"""Misreports: predictions other than the truth that a strategic forecaster might make."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from calibrant._core.typing import Array
from calibrant._data.links import both_classes

Misreport = tuple[str, Array]
_FEW_ROWS = 4
# Prefixes of names of misreports that are dropped in expensive worlds: they are larger or smaller
# variants of another.
_MORE_OF_A_KIND = (
    "0.1",
    "0.9",
    "sharpened, temperature 0.25",
    "blunted, temperature 4",
    "rows reversed",
    "slightly",
    "first class slightly",
    "classes shifted by 2",
    "classes shifted by 3",
    "top and least",
)


def misreports(truth: Array, *, few: bool = False) -> list[Misreport]:
    """The standard misreports (predictions other than the truth), as pairs (name, predictions).

    `truth` has the true probabilities, (n,) or (n, k). `few` drops those that are a larger or
    smaller variant of another.
    """
    every = _binary_misreports(truth) if truth.ndim == 1 else _multiclass_misreports(truth)
    return [
        (name, predictions)
        for name, predictions in every
        if not np.array_equal(predictions, truth) and not (few and name.startswith(_MORE_OF_A_KIND))
    ]


def tempered(truth: Array, temperature: float) -> Array:
    """Divide the logits of probabilities, (n,) or (n, k), by a temperature.

    A temperature below 1 sharpens them, one above 1 blunts them.
    """
    powered = both_classes(truth) ** (1 / temperature)
    out = powered / powered.sum(axis=1, keepdims=True)
    return out[:, 1] if truth.ndim == 1 else out


def _common_misreports(truth: Array) -> Iterator[Misreport]:
    """Yield misreports that exist for binary and multiclass truths, as (name, predictions)."""
    n = len(truth)
    yield "the mean for all", np.repeat(truth.mean(axis=0, keepdims=True), n, axis=0)
    for temperature in (0.5, 0.25):
        yield f"sharpened, temperature {temperature:g}", tempered(truth, temperature)
    for temperature in (2.0, 4.0):
        yield f"blunted, temperature {temperature:g}", tempered(truth, temperature)
    yield "rows reversed", truth[::-1].copy()
    order = np.argsort(truth if truth.ndim == 1 else truth.max(axis=1), kind="stable")
    for size in (2, (n + 1) // 2):
        if 1 < size < n:
            yield f"pooled in blocks of {size}", _pool_blocks(truth, order, size)
    if n <= _FEW_ROWS:
        for i, j in combinations(range(n), 2):
            merged = truth.copy()
            merged[[i, j]] = (truth[i] + truth[j]) / 2
            yield f"rows {i} and {j} pooled", merged


def _pool_blocks(
    truth: Array, order: np.ndarray[tuple[int], np.dtype[np.intp]], size: int
) -> Array:
    """Replace the probabilities of every block of `size` consecutive rows by the block's mean.

    `order` has the row indices in the order in which blocks are formed.
    """
    out = truth.copy()
    for start in range(0, len(truth), size):
        block = order[start : start + size]
        out[block] = truth[block].mean(axis=0)
    return out


def _binary_misreports(truth: Array) -> Iterator[Misreport]:
    """Yield misreports of binary probabilities P(y = 1), (n,), as pairs (name, predictions)."""
    n = len(truth)
    for constant in (0.5, 0.1, 0.25, 0.75, 0.9):
        yield f"{constant:g} for all", np.full(n, constant)
    yield from _common_misreports(truth)
    yield "rounded to 0 or 1", (truth > 0.5).astype(float)
    yield "reversed", 1 - truth
    yield "slightly higher", np.minimum(truth + 0.01, 1.0)
    yield "slightly lower", np.maximum(truth - 0.01, 0.0)
    yield "ties broken", np.clip(truth + 1e-3 * (np.arange(n) - (n - 1) / 2) / n, 0, 1)


def _multiclass_misreports(truth: Array) -> Iterator[Misreport]:
    """Yield misreports of rows of class probabilities, (n, k), as pairs (name, predictions)."""
    n, k = truth.shape
    rows, top = np.arange(n), truth.argmax(axis=1)
    yield "uniform", np.full((n, k), 1 / k)
    yield from _common_misreports(truth)
    certain = np.eye(k)[top]
    yield "certain of the top class", certain
    yield "slightly more confident in the top class", 0.99 * truth + 0.01 * certain
    yield "first class slightly higher", 0.99 * truth + 0.01 * np.eye(k)[0]
    for shift in range(1, min(k, 4)):
        yield f"classes shifted by {shift}", np.roll(truth, shift, axis=1)
    for rank, words in ((1, "second"), (k - 1, "least likely")):
        other = np.argsort(-truth, axis=1, kind="stable")[:, rank]
        moved = truth.copy()
        moved[rows, top], moved[rows, other] = truth[rows, other], truth[rows, top]
        yield f"top and {words} class swapped", moved
    parted = truth + 1e-3 * ((rows - (n - 1) / 2) / n)[:, None] * (certain - 1 / k)
    yield "ties broken", parted / parted.sum(axis=1, keepdims=True)
