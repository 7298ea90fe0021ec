"""The bootstrap of counted rows: cells of equal rows drawn with replacement, and its interval.

A resample is the sample with other weights: how often each row was drawn. So every measure that
takes weights can be resampled, and none is written twice. Single rows and clusters are drawn in
`paired`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.samples.samples import Samples
from calibrant.statistics.bins import FIELDS, BinTable

Array = NDArray[np.float64]


def resampled_counts(
    samples: Samples, n_resamples: int, rng: np.random.Generator
) -> Iterator[Samples]:
    """Resamples of a sample whose weights count equal rows."""
    counts = samples.weights
    assert counts is not None
    n = int(counts.sum())
    for _ in range(n_resamples):
        yield replace(samples, weights=rng.multinomial(n, counts / n).astype(np.float64))


def resampled_tables(table: BinTable, n_resamples: int, rng: np.random.Generator) -> BinTable:
    """Resamples of an unweighted table of hard labels, each a class of the result.

    (bin, label) cells are drawn, never rows: milliseconds for a thousand, whatever n. Within a cell
    reports are all but normal about their mean.
    """
    n, hits = table.sum_w[0], table.sum_wz[0]
    label_n = np.stack([n - hits, hits])
    label_u = np.stack([table.sum_wu[0] - table.sum_wuz[0], table.sum_wuz[0]])
    safe = np.maximum(label_n, 1.0)
    # Both labels of a bin share what spread of reports is left within them.
    within = np.maximum(table.sum_wu2[0] - (label_u**2 / safe).sum(axis=0), 0.0)
    spread = np.sqrt(within / np.maximum(n, 1.0))
    total = int(n.sum())
    drawn = rng.multinomial(total, label_n.ravel() / total, n_resamples)
    drawn = drawn.reshape(n_resamples, 2, -1)
    noise = rng.standard_normal((n_resamples, n.size)) * spread
    sums = np.zeros((n_resamples, n.size, len(FIELDS)))
    sums[:, :, 0] = sums[:, :, 1] = sums[:, :, 2] = drawn.sum(axis=1)
    sums[:, :, 3] = (drawn * (label_u / safe)).sum(axis=1) + np.sqrt(sums[:, :, 1]) * noise
    sums[:, :, 4] = sums[:, :, 7] = drawn[:, 1]
    return BinTable(sums, has_squares=False)


def basic_limits(value: float, drawn: Array, level: float) -> tuple[float, float]:
    """The basic bootstrap interval: a resample errs about the sample as the sample about the truth.

    So the resamples' distance from the value is taken off on the other side, bias included.
    """
    tails = [(1.0 - level) / 2.0, (1.0 + level) / 2.0]
    low, high = np.quantile(drawn, tails, method="weibull")
    return float(2.0 * value - high), float(2.0 * value - low)


def as_groups(groups: Any, n: int) -> NDArray[np.intp]:
    """Names of groups as numbers from 0."""
    values = np.asarray(groups)
    if values.dtype == object:  # names of several types, or missing ones, have no order
        values = np.array([f"{type(v).__name__} {v}" for v in values])
    _, index = np.unique(values, return_inverse=True)
    out: NDArray[np.intp] = index.reshape(n).astype(np.intp)
    return out
