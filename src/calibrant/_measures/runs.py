"""The calibration error of Humanity's Last Exam: runs of 100 rows in order of confidence."""

from __future__ import annotations

import math

import numpy as np

from calibrant._core.bin_tables import BinTable
from calibrant._core.typing import Array

# Rows of a run.
RUN = 100


def hle_rms(levels: BinTable) -> float:
    """The root mean square gap over runs of 100 rows in order of the predictions.

    As the published script has it, the last run, which also takes the rows left over, is dropped,
    while n counts it; so it is 0 of fewer than 200 rows. Rows of one prediction are in any order:
    it is the root of the mean square over all of their orders. Weights count rows.
    """
    mass, kept = levels.sum_w[0], levels.sum_w[0] > 0
    n_runs = math.floor(float(mass.sum()) / RUN * (1.0 + 1e-12))
    wz = levels.sum_wz[0][kept]
    # Without their squares targets are 0 or 1.
    wz2 = levels.sum_wz2[0][kept] if levels.has_squares else wz
    return runs_rms(mass[kept], levels.sum_wu[0][kept], wz, wz2, run=RUN, n_runs=n_runs)


def runs_rms(w: Array, wu: Array, wz: Array, wz2: Array, *, run: float, n_runs: int) -> float:
    """The root mean square gap over all runs but the last, from sums by level, in order.

    `w` counts the rows of each level, `run` those of a run; `wu`, `wz` and `wz2` are the sums of
    predictions, targets and squares of targets.
    """
    if n_runs < 2:
        return 0.0
    through, total = np.cumsum(w), float(w.sum())
    # Parts of levels in runs: they end where a level or a run ends.
    ends = run * np.arange(1.0, n_runs)
    cuts = np.union1d(through[through < ends[-1]], ends)
    within = np.diff(cuts, prepend=0.0)
    middle = cuts - within / 2.0
    level = np.searchsorted(through, middle)
    of_run = np.searchsorted(ends, middle)
    mean, size = wz[level] / w[level], w[level]
    spread = np.maximum(wz2[level] / size - mean**2, 0.0)
    # A run may have only some of the rows of a level, which are then a random choice.
    left = np.maximum(size - within, 0.0) / np.maximum(size - 1.0, 1.0)
    gaps = np.bincount(of_run, within * (wu[level] / size - mean))
    variance = np.bincount(of_run, within * left * spread)
    return math.sqrt(float((gaps**2 + variance).sum()) / (run * total))
