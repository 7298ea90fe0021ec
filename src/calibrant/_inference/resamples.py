"""Measures that have no formula over sums, computed anew in resamples of the rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from calibrant._core.binning import Rule
from calibrant._core.errors import InputError
from calibrant._core.typing import Array, Index
from calibrant._data.samples import Samples
from calibrant._inference.budget import MAX_BLOCKS
from calibrant._measures.catalogue import Measure
from calibrant._measures.measure import only_distance
from calibrant._summaries.samples import Summary


@dataclass(frozen=True, eq=False)
class Draws:
    """How often each block of rows was drawn in each resample: the same for every predictor."""

    blocks: Index
    counts: Array


def draw_blocks(n: int, n_resamples: int, seed: int, groups: Index | None = None) -> Draws:
    """Draws of rows dealt into blocks at random, or of whole groups."""
    rng = np.random.default_rng((seed, 7))
    blocks = groups
    if blocks is None:
        blocks = rng.permutation(n) % min(n, MAX_BLOCKS)
    n_blocks = int(blocks.max()) + 1
    drawn = rng.integers(0, n_blocks, (n_resamples, n_blocks))
    drawn += n_blocks * np.arange(n_resamples)[:, None]
    counts = np.bincount(drawn.ravel(), minlength=drawn.size).reshape(drawn.shape)
    return Draws(blocks.astype(np.intp), counts.astype(np.float64))


def replicates(
    samples: Samples, measure: Measure, fixed: Rule, quantile: Rule, draws: Draws
) -> Array:
    """The measure's value in every resample, each computed anew."""
    base = 1.0 if samples.weights is None else samples.weights.astype(np.float64)
    distance = only_distance((measure,))
    as_it_is = Summary(samples, fixed, quantile, distance=distance)
    values = []
    for counts in draws.counts:
        weighed = replace(samples, weights=counts[draws.blocks] * base)
        drawn = Summary(weighed, fixed, quantile, distance=distance)
        values.append(_computed(measure, drawn, as_it_is))
    return np.array(values)


def _computed(measure: Measure, drawn: Summary, as_it_is: Summary) -> float:
    try:
        return measure.compute(drawn)
    except InputError:
        # Nothing drawn that the measure is about (no prediction above a threshold): it says
        # nothing new.
        return measure.compute(as_it_is)
