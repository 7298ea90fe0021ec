"""Several predictors resampled together: their intervals, and those of every difference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant._api.evaluate_uncertainty import uncertainty_of
from calibrant._core.binning import Rule
from calibrant._core.blas_threads import one_blas_thread
from calibrant._core.engine_choice import n_threads
from calibrant._data.samples import Samples
from calibrant._engines.arrays.passes import in_threads
from calibrant._inference.blocks import blocks_of
from calibrant._inference.budget import THREADS_FROM
from calibrant._inference.paired import Scatter, difference_limits
from calibrant._inference.uncertainty import Uncertainty
from calibrant._measures.catalogue import Measure


class Resampled(NamedTuple):
    """The limits of one predictor's measures, and how they scatter."""

    limits: list[tuple[float, float, float]]
    scatters: list[Scatter]
    # What was drawn anew for the limits: rows, votes or both.
    resampling: str


@dataclass(frozen=True, kw_only=True)
class Resampling:
    """How predictors are resampled: rules, level, clusters as numbers, draws and their seed."""

    fixed: Rule
    quantile: Rule
    level: float
    groups: Any
    n_resamples: int
    seed: int
    # What is drawn anew where labels are shares of votes.
    resample: Any = None


def resampled(
    samples: Sequence[Samples],
    values: Sequence[Sequence[float]],
    chosen: tuple[Measure, ...],
    how: Resampling,
) -> list[Resampled]:
    """Every predictor's measures in the same resamples, in threads where rows are many."""
    first = samples[0]
    blocks = blocks_of(first.n, how.groups, how.seed)

    def one(measured: tuple[Sequence[float], Samples]) -> Resampled:
        row, each = measured
        # As by `interval`: a predictor's own uncertainty does not depend on the others.
        uncertainty = uncertainty_of(
            each, how.fixed, how.quantile, chosen, level=how.level, groups=how.groups,
            n_resamples=how.n_resamples, seed=how.seed, blocks=blocks, votes=each.votes,
            resample=how.resample,
        )  # fmt: skip
        both = list(zip(chosen, row, strict=True))
        return Resampled(
            [_limits(uncertainty, m, v) for m, v in both],
            [uncertainty.scatter(m, v) for m, v in both],
            uncertainty.resampling,
        )

    threads = n_threads() if first.n >= THREADS_FROM else 1
    with one_blas_thread(beside=threads):
        return in_threads(one, zip(values, samples, strict=True), threads)


def _limits(uncertainty: Uncertainty, measure: Measure, value: float) -> tuple[float, float, float]:
    """An interval and its estimate."""
    interval = uncertainty.interval(measure, value)
    return interval.low, interval.high, math.nan if interval.estimate is None else interval.estimate


def pair_limits(
    values: NDArray[np.float64], scatters: list[list[Scatter]], level: float
) -> NDArray[np.float64]:
    """Limits and estimate of every difference, (measures, predictors, predictors, 3)."""
    n, n_measures = values.shape
    out = np.zeros((n_measures, n, n, 3))
    for j in range(n_measures):
        for a in range(n):
            for b in range(a + 1, n):
                low, high, estimate = difference_limits(
                    float(values[a, j] - values[b, j]), scatters[a][j], scatters[b][j], level
                )
                out[j, a, b] = low, high, estimate
                out[j, b, a] = 0.0 - high, 0.0 - low, 0.0 - estimate
    return out
