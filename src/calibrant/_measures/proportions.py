"""Intervals for the mean target of each bin."""

from __future__ import annotations

import numpy as np

from calibrant._core.bin_tables import BinTable, ratio
from calibrant._core.errors import one_of
from calibrant._core.typing import Array, Index
from calibrant._core.validation import check_level

METHODS = ("wilson", "clopper-pearson", "normal", "beta")


def is_hard(table: BinTable) -> bool:
    """Whether all targets of the table are 0 or 1: exactly then the sum of their squares is their
    sum.
    """
    return bool(np.allclose(table.sum_wz2, table.sum_wz, rtol=1e-12, atol=1e-12))


def design_effects(
    bins: Index,
    z: Array,
    w: Array | None,
    groups: Index,
    m: int,
    counts: Array | float = 1.0,
) -> Array:
    """The design effect of each bin, (m,): how many clustered rows have the information of one
    independent row.

    It is the variance of a bin's mean target over clusters (`groups`), by that over rows. Bins hold
    few clusters, so it is taken from the bin itself or from the correlation within clusters that
    all bins show together, whichever is larger; never below 1. `bins` has the bin of each row, `z`
    its target and `w` its weight; each row stands for `counts` equal ones, which share its weight.
    """
    w = np.ones(z.size) if w is None else np.asarray(w, dtype=np.float64)
    sums: list[Array] = [np.bincount(bins, x, m).astype(np.float64) for x in (w * z, w)]
    residual = w * (z - ratio(*sums)[bins])
    residual[w == 0] = 0.0
    # Sums over the rows that share a cluster and a bin.
    key, pair = np.unique(groups.astype(np.int64) * m + bins, return_inverse=True)
    of_bin = key % m
    weight, moved = np.bincount(pair, w), np.bincount(pair, residual)
    clusters = np.bincount(of_bin[weight > 0], minlength=m).astype(np.float64)
    few = np.divide(clusters, clusters - 1.0, out=np.ones(m), where=clusters > 1)
    over_clusters = np.bincount(of_bin, moved**2, m) * few
    over_rows = np.bincount(bins, residual**2 / counts, m)
    own = np.divide(over_clusters, over_rows, out=np.ones(m), where=over_rows > 0)
    squares = np.bincount(bins, w * w / counts, m)
    size = np.divide(np.bincount(of_bin, weight**2, m), squares, out=np.ones(m), where=squares > 0)
    variance = np.divide(over_rows, squares, out=np.zeros(m), where=squares > 0)
    possible = float((variance * squares * (size - 1.0)).sum())
    # If the targets of no bin scatter, the correlation is unknown, and is taken to be 1.
    shared = float((over_clusters - over_rows).sum()) / possible if possible > 0 else 1.0
    pooled = 1.0 + (size - 1.0) * min(max(shared, 0.0), 1.0)
    return np.maximum(np.maximum(own, pooled), 1.0)


def wilson(p: Array, n: Array, level: float) -> tuple[Array, Array]:
    """Wilson's confidence interval, as lower and upper ends, of shares p, each of n rows, at
    the confidence `level`.
    """
    from scipy import special

    return wilson_limits(p, n, float(special.ndtri(1.0 - (1.0 - level) / 2.0)))


def wilson_limits(p: Array, n: Array, z: float) -> tuple[Array, Array]:
    """Wilson's interval of shares p, each of n rows, at z standard errors."""
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)


def mean_target_limits(
    table: BinTable,
    level: float = 0.95,
    method: str | None = None,
    design: Array | None = None,
) -> tuple[Array, Array]:
    """Lower and upper end of the interval of each bin's mean target, NaN in an empty bin.

    "wilson" and "clopper-pearson" are for hard labels; "normal" and "beta" take the scatter of soft
    labels from the labels themselves, the latter staying within [0, 1]. By default it is "wilson"
    for hard labels and "beta" for others. With weights, n is the effective number of rows,
    (sum w)^2 / sum w^2; with clusters, that over their design effects (`design_effects`).
    """
    from scipy import special

    level = check_level(level)
    hard = is_hard(table)
    method = one_of("method", method or ("wilson" if hard else "beta"), METHODS)
    n = ratio(table.sum_w[0] ** 2, table.sum_w2[0])
    if design is not None:
        n = n / design
    p = np.clip(table.mean_z[0], 0.0, 1.0)
    tail = (1.0 - level) / 2.0
    z = float(special.ndtri(1.0 - tail))
    if method == "wilson":
        return wilson(p, n, level)
    if method == "clopper-pearson":
        hits = p * n
        with np.errstate(invalid="ignore"):
            low = np.where(hits > 0, special.betaincinv(hits, n - hits + 1, tail), 0.0)
            high = np.where(hits < n, special.betaincinv(hits + 1, n - hits, 1 - tail), 1.0)
        return _nan_where_empty(low, n), _nan_where_empty(high, n)
    spread = np.maximum(ratio(table.sum_wz2[0], table.sum_w[0]) - p * p, 0.0)
    # With one row, the mean is only known to lie in [0, 1].
    with np.errstate(divide="ignore", invalid="ignore"):
        alone = n <= 1
        variance = np.where(alone, p * (1 - p), spread / (n - 1))
    if method == "normal":
        half = np.where(alone, 1.0, z * np.sqrt(variance))
        return np.maximum(p - half, 0.0), np.minimum(p + half, 1.0)
    spreads = (variance > 0) & (p > 0) & (p < 1)
    size = np.where(spreads, p * (1 - p) / np.where(spreads, variance, 1.0) - 1.0, 1.0)
    # No beta distribution has so large a variance: then the interval is also [0, 1].
    unknown = alone | (size <= 0)
    inside = spreads & ~unknown
    a, b = np.where(inside, p * size, 1.0), np.where(inside, (1 - p) * size, 1.0)
    low = np.where(inside, special.betaincinv(a, b, tail), np.where(unknown, 0.0, p))
    high = np.where(inside, special.betaincinv(a, b, 1 - tail), np.where(unknown, 1.0, p))
    return _nan_where_empty(low, n), _nan_where_empty(high, n)


def _nan_where_empty(values: Array, n: Array) -> Array:
    """The values of bins, with NaN where the number of rows n is NaN, which marks empty bins."""
    return np.where(np.isnan(n), np.nan, values)
