"""The bootstrap of counted rows: cells of equal rows drawn with replacement, and its interval."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calibrant._core.bin_tables import FIELDS, BinTable

Array = NDArray[np.float64]


def resampled_tables(table: BinTable, n_resamples: int, rng: np.random.Generator) -> BinTable:
    """Resamples of an unweighted table of hard labels, each a class of the result.

    (bin, label) cells are drawn, never rows: milliseconds for a thousand, whatever n. Within a cell
    predictions are all but normal about their mean.
    """
    n, hits = table.sum_w[0], table.sum_wz[0]
    label_n = np.stack([n - hits, hits])
    label_u = np.stack([table.sum_wu[0] - table.sum_wuz[0], table.sum_wuz[0]])
    safe = np.maximum(label_n, 1.0)
    # Both labels of a bin share what spread of predictions is left within them.
    within = np.maximum(table.sum_wu2[0] - (label_u**2 / safe).sum(axis=0), 0.0)
    spread = np.sqrt(within / np.maximum(n, 1.0))
    total = int(n.sum())
    drawn = rng.multinomial(total, label_n.ravel() / total, n_resamples)
    drawn = drawn.reshape(n_resamples, 2, -1)
    noise = rng.standard_normal((n_resamples, n.size)) * spread
    sums = np.zeros((n_resamples, n.size, len(FIELDS)))
    sums[:, :, 0] = sums[:, :, 1] = sums[:, :, 2] = drawn.sum(axis=1)
    sums[:, :, 3] = (drawn * (label_u / safe)).sum(axis=1) + np.sqrt(sums[:, :, 1]) * noise
    sums[:, :, 4] = sums[:, :, 7] = sums[:, :, 8] = drawn[:, 1]
    return BinTable(sums, has_squares=False)


def basic_limits(value: float, drawn: Array, level: float) -> tuple[float, float]:
    """The basic bootstrap interval: a resample errs about the sample as the sample about the truth.

    So the resamples' distance from the value is taken off on the other side, bias included.
    """
    tails = [(1.0 - level) / 2.0, (1.0 + level) / 2.0]
    low, high = np.quantile(drawn, tails, method="weibull")
    return float(2.0 * value - high), float(2.0 * value - low)
