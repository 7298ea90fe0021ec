"""Intervals of measures that are not sums over bins: samples are drawn from worlds and measured."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from calibrant.inference.cells import Problem
from calibrant.inference.family import OutcomeFamily, cell_gaps, highest_truth, lowest_truth
from calibrant.inference.null import cell_samples
from calibrant.samples.samples import Samples

Array = NDArray[np.float64]
Values = Callable[[Samples], list[float]]

# Sizes of the gap: from none, through the one seen (1), to thrice as much.
SIZES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)


def world_curves(
    problem: Problem, like: Samples, measured: Values, level: float, n_draws: int, seed: int
) -> tuple[Array, Array, Array]:
    """What is usual in each world, and true there: low, high and truth, (sizes, measures).

    As `family.limits`, with one shape of the gap midway between the ragged and the smooth one, and
    with normal limits about the mean of the draws, because such a measure costs more than a sum.
    """
    from scipy.special import ndtri

    cells = problem.fine_cells
    ragged, smooth = cell_gaps(problem, cells)
    family = OutcomeFamily(cells, [0.5 * (ragged + smooth)], n_draws, seed)
    z = float(ndtri(0.5 + level / 2.0))
    low, high, truth = [], [], []
    for size in SIZES:
        drawn = np.array([
            measured(cell_samples(cells, like, n, positives))
            for n, positives in zip(*family.drawn_counts(0, size), strict=True)
        ])  # fmt: skip
        scatter = drawn.std(axis=0, ddof=1) * math.sqrt(1.0 + 1.0 / n_draws)
        low.append(drawn.mean(axis=0) - z * scatter)
        high.append(drawn.mean(axis=0) + z * scatter)
        expected = cells.n * family.rates(0, size)
        truth.append(measured(cell_samples(cells, like, cells.n, expected)))
    curves = (np.maximum.accumulate(np.array(a), axis=0) for a in (low, high, truth))
    return tuple(curves)  # type: ignore[return-value]


def world_limits(value: float, low: Array, high: Array, truth: Array) -> tuple[float, float]:
    """The true values at which `value` is the upper and the lower end of what is usual.

    What could have come from calibrated reports reaches 0, whatever little a kernel makes of them.
    """
    lower = 0.0 if value <= high[0] else lowest_truth(value, high, truth)
    return lower, highest_truth(value, low, truth)
