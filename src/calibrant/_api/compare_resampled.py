"""Several predictors resampled together: their intervals, and those of every difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
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
from calibrant._inference.differences import Differences
from calibrant._inference.uncertainty import Uncertainty
from calibrant._measures.catalogue import Measure


class Resampled(NamedTuple):
    """One predictor's uncertainty, and the limits of its measures."""

    uncertainty: Uncertainty
    limits: list[tuple[float, float, float]]


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
            each,
            how.fixed,
            how.quantile,
            chosen,
            level=how.level,
            groups=how.groups,
            n_resamples=how.n_resamples,
            seed=how.seed,
            blocks=blocks,
            votes=each.votes,
            resample=how.resample,
        )
        both = list(zip(chosen, row, strict=True))
        return Resampled(uncertainty, [_limits(uncertainty, m, v) for m, v in both])

    threads = n_threads() if first.n >= THREADS_FROM else 1
    with one_blas_thread(beside=threads):
        return in_threads(one, zip(values, samples, strict=True), threads)


def _limits(uncertainty: Uncertainty, measure: Measure, value: float) -> tuple[float, float, float]:
    """An interval and its estimate."""
    interval = uncertainty.interval(measure, value)
    return interval.low, interval.high, interval.estimate


def pair_limits(
    values: Sequence[Sequence[float]],
    resamples: Sequence[Resampled],
    chosen: tuple[Measure, ...],
    level: float,
) -> NDArray[np.float64]:
    """Limits and estimate of every difference, (measures, predictors, predictors, 3)."""
    n = len(resamples)
    out = np.zeros((len(chosen), n, n, 3))

    def one(pair: tuple[int, int]) -> None:
        a, b = pair
        differences = Differences(resamples[a].uncertainty, resamples[b].uncertainty)
        for j, measure in enumerate(chosen):
            both = values[a][j], values[b][j]
            low, high, estimate = differences.limits(measure, both, level)
            out[j, a, b] = low, high, estimate
            out[j, b, a] = 0.0 - high, 0.0 - low, 0.0 - estimate

    with one_blas_thread(beside=1):
        for pair in combinations(range(n), 2):
            one(pair)
    return out
