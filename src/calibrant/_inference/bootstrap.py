"""The bootstrap: a measure recomputed in resamples of the rows, and its basic interval.

It serves the measures that are not a formula of sums.
"""

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
class BlockDraws:
    """Resamples of blocks of rows: `blocks` is the block of each row, and `counts` how often each
    resample drew each block, (resamples, blocks).

    All predictors on the same rows share them.
    """

    blocks: Index
    counts: Array


def draw_blocks(n: int, n_resamples: int, seed: int, groups: Index | None = None) -> BlockDraws:
    """Draw resamples of n rows: of whole clusters if `groups` are given, else of random blocks of
    rows.
    """
    rng = np.random.default_rng((seed, 7))
    blocks = groups
    if blocks is None:
        blocks = rng.permutation(n) % min(n, MAX_BLOCKS)
    n_blocks = int(blocks.max()) + 1
    drawn = rng.integers(0, n_blocks, (n_resamples, n_blocks))
    drawn += n_blocks * np.arange(n_resamples)[:, None]
    counts = np.bincount(drawn.ravel(), minlength=drawn.size).reshape(drawn.shape)
    return BlockDraws(blocks.astype(np.intp), counts.astype(np.float64))


def replicates(
    samples: Samples, measure: Measure, fixed: Rule, quantile: Rule, draws: BlockDraws
) -> Array:
    """The measure's value in every resample, (resamples,).

    `fixed` is the bin rule of ordinary measures, `quantile` that of truthful ones.
    """
    base = 1.0 if samples.weights is None else samples.weights.astype(np.float64)
    distance = only_distance((measure,))
    original = Summary(samples, fixed, quantile, distance=distance)
    values = []
    for counts in draws.counts:
        weighted = replace(samples, weights=counts[draws.blocks] * base)
        resample = Summary(weighted, fixed, quantile, distance=distance)
        values.append(_value_in_resample(measure, resample, original))
    return np.array(values)


def _value_in_resample(measure: Measure, resample: Summary, original: Summary) -> float:
    """The measure's value in a resample; in the original sample where the resample lacks the rows
    that the measure is about.
    """
    try:
        return measure.compute(resample)
    except InputError:
        # The resample has no row that the measure is about (no prediction above its threshold).
        return measure.compute(original)


def basic_limits(value: float, drawn: Array, level: float) -> tuple[float, float]:
    """The basic bootstrap interval: the value less the quantiles of (replicate - value).

    `drawn` are the replicates, the values in resamples. They vary about the value as the value
    varies about the truth, bias included.
    """
    tails = [(1.0 - level) / 2.0, (1.0 + level) / 2.0]
    low, high = np.quantile(drawn, tails, method="weibull")
    return float(2.0 * value - high), float(2.0 * value - low)
