"""Intervals for the mean target of each bin."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError, one_of
from calibrant.statistics.bins import BinTable, ratio

Array = NDArray[np.float64]
METHODS = ("wilson", "clopper-pearson", "normal", "beta")


def is_hard(table: BinTable) -> bool:
    """Whether all targets are 0 or 1: only then is their sum of squares their sum."""
    return bool(np.allclose(table.sum_wz2, table.sum_wz, rtol=1e-12, atol=1e-12))


def checked_level(level: Any) -> float:
    """The level of an interval, if it is one."""
    if not is_number(level) or not 0 < float(level) < 1:
        raise InputError(f"level must be a number between 0 and 1, such as 0.95; got {level!r}")
    return float(level)


def is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)


def mean_target_limits(
    table: BinTable, level: float = 0.95, method: str | None = None
) -> tuple[Array, Array]:
    """Lower and upper limits of each bin's mean target, NaN where a bin is empty.

    "wilson" (default) and "clopper-pearson" are for hard labels; "normal" and "beta" (default) take
    the scatter of soft labels from the labels themselves, the latter staying within [0, 1]. With
    weights, n is the effective number of rows, (sum w)^2 / sum w^2.
    """
    from scipy import special

    level = checked_level(level)
    hard = is_hard(table)
    method = one_of("method", method or ("wilson" if hard else "beta"), METHODS)
    n = ratio(table.sum_w[0] ** 2, table.sum_w2[0])
    p = np.clip(table.mean_z[0], 0.0, 1.0)
    tail = (1.0 - level) / 2.0
    z = float(special.ndtri(1.0 - tail))
    if method == "wilson":
        centre = (p + z * z / (2 * n)) / (1 + z * z / n)
        half = z * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
        return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)
    if method == "clopper-pearson":
        hits = p * n
        with np.errstate(invalid="ignore"):
            low = np.where(hits > 0, special.betaincinv(hits, n - hits + 1, tail), 0.0)
            high = np.where(hits < n, special.betaincinv(hits + 1, n - hits, 1 - tail), 1.0)
        return _where_held(low, n), _where_held(high, n)
    spread = np.maximum(ratio(table.sum_wz2[0], table.sum_w[0]) - p * p, 0.0)
    # Of one row nothing is known but that it lies in [0, 1].
    with np.errstate(divide="ignore", invalid="ignore"):
        alone = n <= 1
        variance = np.where(alone, p * (1 - p), spread / (n - 1))
    if method == "normal":
        half = np.where(alone, 1.0, z * np.sqrt(variance))
        return np.maximum(p - half, 0.0), np.minimum(p + half, 1.0)
    spreads = (variance > 0) & (p > 0) & (p < 1)
    size = np.where(spreads, p * (1 - p) / np.where(spreads, variance, 1.0) - 1.0, 1.0)
    # No beta distribution within [0, 1] scatters as widely: then too nothing is known.
    unknown = alone | (size <= 0)
    inside = spreads & ~unknown
    a, b = np.where(inside, p * size, 1.0), np.where(inside, (1 - p) * size, 1.0)
    low = np.where(inside, special.betaincinv(a, b, tail), np.where(unknown, 0.0, p))
    high = np.where(inside, special.betaincinv(a, b, 1 - tail), np.where(unknown, 1.0, p))
    return _where_held(low, n), _where_held(high, n)


def _where_held(values: Array, n: Array) -> Array:
    out: Array = np.where(np.isnan(n), np.nan, values)
    return out
