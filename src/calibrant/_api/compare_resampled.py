"""Several predictors resampled together: draws, limits, and limits of every difference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant._api.evaluate_uncertainty import uncertainty_of
from calibrant._core.binning import Rule, equal_mass_rule
from calibrant._core.blas_threads import one_blas_thread
from calibrant._core.engine_choice import n_threads
from calibrant._data.samples import Samples
from calibrant._engines.arrays.passes import in_threads
from calibrant._inference.blocks import blocks_of
from calibrant._inference.budget import THREADS_FROM
from calibrant._inference.paired import Draws, Scatter, difference_limits, draw_blocks, replicates
from calibrant._inference.problems import Problems
from calibrant._inference.uncertainty import Uncertainty
from calibrant._measures.catalogue import Measure


class Resampled(NamedTuple):
    """One predictor's measures in every draw, their limits, and how they scatter."""

    drawn: list[NDArray[np.float64]]
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
    """Every predictor's measures in the same draws, in threads where there are rows enough."""
    first = samples[0]
    draws = draw_blocks(first.n, how.n_resamples, how.seed, how.groups, first.weights)
    blocks = blocks_of(first.n, how.groups, how.seed)

    def one(measured: tuple[Sequence[float], Samples]) -> Resampled:
        row, each = measured
        # As by `interval`: a predictor's own uncertainty does not depend on the others.
        uncertainty = uncertainty_of(
            each, how.fixed, how.quantile, chosen, level=how.level, groups=how.groups,
            n_resamples=how.n_resamples, seed=how.seed, blocks=blocks, votes=each.votes,
            resample=how.resample,
        )  # fmt: skip
        # Its problems, unless it left out rows without weight, which the common draws have.
        made = uncertainty.made if uncertainty.samples is each else Problems(each)
        both = list(zip(chosen, row, strict=True))
        return Resampled(
            _drawn(made, chosen, how.fixed, how.quantile, draws),
            [_limits(uncertainty, m, v) for m, v in both],
            [uncertainty.scatter(m, v) for m, v in both],
            uncertainty.resampling,
        )

    threads = n_threads() if first.n >= THREADS_FROM else 1
    with one_blas_thread(beside=threads):
        return in_threads(one, zip(values, samples, strict=True), threads)


def _drawn(
    made: Problems, chosen: tuple[Measure, ...], fixed: Rule, quantile: Rule, draws: Draws
) -> list[NDArray[np.float64]]:
    """The measures in every draw; those of equal mass keep their bins beside another rule."""
    own = equal_mass_rule(quantile)
    by_mass = tuple(m for m in chosen if m.equal_mass and own != quantile)
    others = tuple(m for m in chosen if m not in by_mass)
    by_measure = dict(
        zip(others, replicates(made, others, fixed, quantile, draws), strict=True)
        if others else ()
    )  # fmt: skip
    if by_mass:
        by_measure |= zip(by_mass, replicates(made, by_mass, fixed, own, draws), strict=True)
    return [by_measure[m] for m in chosen]


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
