"""What benchmarks of language models, and a metric to come, report as calibration error.

They follow the pattern of `peer_rules`: predictions in [0, 1] (confidences) against targets
(whether the answer was right), in a number of bins.
"""

from __future__ import annotations

import math

import numpy as np

from calibrant._core.typing import Array
from calibrant._measures.peer_rules import PeerRule
from calibrant._measures.runs import RUN, runs_rms


def hendrycks_bins(n: int) -> int:
    """The number of bins of 100 rows that n rows make; the last bin also takes the remaining
    rows.
    """
    return n // RUN


def hendrycks_rms(predictions: Array, targets: Array, n_bins: int) -> float:
    """`calib_err` with p="2": root mean square gap over runs of 100 rows in order of confidence.

    The loop of the original ends one bin early, so the most confident rows, up to 199 of them, have
    no part in the sum, while n counts them. In another number of bins: runs of n // bins rows.

    The original's sort leaves rows of one confidence in any order, and the number depends on it:
    this is the root of the mean of its square over all of their orders.
    """
    n = predictions.size
    rows = RUN if n_bins == hendrycks_bins(n) else n // n_bins
    used = rows * (n_bins - 1)
    if used <= 0:
        return 0.0
    order = np.argsort(predictions, kind="stable")
    u, z = predictions[order].astype(np.float64), targets[order].astype(np.float64)
    # Where the rows of each confidence begin.
    firsts = np.flatnonzero(np.append(True, u[1:] != u[:-1]))
    sums = (np.add.reduceat(column, firsts) for column in (np.ones(n), u, z, z * z))
    return runs_rms(*sums, run=rows, n_runs=n_bins)


def _right_closed(predictions: Array, n_bins: int) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """The bin of each row, from 0, in equal-width bins that include their right edge, as
    `numpy.digitize(..., right=True) - 1` gives it; a prediction of 0 is in bin -1.
    """
    return np.digitize(predictions, np.linspace(0.0, 1.0, n_bins + 1), right=True) - 1


def browse_comp_error(predictions: Array, targets: Array, n_bins: int) -> float:
    """`calibration_error` of BrowseComp in inspect_evals: weighted mean gap over right-closed bins,
    where predictions of 0 are in the first bin.
    """
    bins = np.clip(_right_closed(predictions, n_bins), 0, n_bins - 1)
    residuals = np.bincount(bins, predictions - targets, n_bins)
    return float(np.abs(residuals).sum() / predictions.size)


def browse_comp_before(predictions: Array, targets: Array, n_bins: int) -> float:
    """BrowseComp's `calibration_error` before its repair: predictions of 0 are in no bin, though n
    counts them.
    """
    bins = _right_closed(predictions, n_bins)
    inside = bins >= 0
    residuals = np.bincount(bins[inside], (predictions - targets)[inside], n_bins)
    return float(np.abs(residuals).sum() / predictions.size)


def scikit_learn_bins(n: int) -> int:
    """The number of bins that scikit-learn takes for n rows: ``ceil(n ** (1/3))``."""
    return math.ceil(math.pow(n, 1 / 3))


def scikit_learn_l2(predictions: Array, targets: Array, n_bins: int) -> float:
    """`calibration_error` as proposed for scikit-learn: root mean square gap in quantile bins."""
    edges = np.percentile(predictions, np.linspace(0.0, 1.0, n_bins + 1) * 100)
    bins = np.searchsorted(edges[1:-1], predictions)
    counts = np.bincount(bins, minlength=n_bins)
    residuals = np.bincount(bins, predictions - targets, n_bins)
    filled = counts > 0
    squares = np.square(residuals[filled]) / counts[filled]
    return math.sqrt(float(squares.sum() / predictions.size))


BENCHMARK_RULES: tuple[PeerRule, ...] = (
    PeerRule(
        tool="Hendrycks, HLE calib_err",
        version="as published",
        default_bins=0,
        bins_of_rows=hendrycks_bins,
        fewest_rows=RUN,
        rule=(
            "runs of 100 rows in order of confidence, the last with the remaining rows; root mean "
            "square; the last run is dropped, but counted in n; over all orders of equal "
            "confidences"
        ),
        why=(
            "It is the root mean square gap, and the loop ends one bin early: it ignores the 100 "
            "to 199 most confident answers. If many of these are overconfident, the number is too "
            "low; with fewer than 200 rows it is 0. The number depends on the order of rows with "
            "equal confidence, which is common for stated confidences; this is the root mean "
            "square over all orders."
        ),
        soft_targets="right",
        compute=hendrycks_rms,
    ),
    PeerRule(
        tool="inspect_evals BrowseComp",
        version="0.26.0",
        default_bins=10,
        rule="equal width, right-closed; 0 in the first bin, 1 in the last; edges j * (1/m); "
        "float64",
        why=(
            "Bins are closed on the right, so a confidence on an edge, as stated confidences "
            "often are, is counted one bin lower. Answers without a confidence count as 100 %."
        ),
        soft_targets="right",
        compute=browse_comp_error,
    ),
    PeerRule(
        tool="inspect_evals BrowseComp, before",
        version="until issue 2141",
        default_bins=10,
        rule="equal width, right-closed; 0 in no bin, 1 in the last; edges j * (1/m); float64",
        why="A confidence of exactly 0 falls in no bin, so its gap is lost while n still counts "
        "it.",
        soft_targets="right",
        compute=browse_comp_before,
    ),
    PeerRule(
        tool="scikit-learn calibration_error (proposed)",
        version="PR 34261, not merged",
        default_bins=0,
        bins_of_rows=scikit_learn_bins,
        rule="between the quantiles of the predictions, right-closed, ceil(cbrt(n)) bins; root "
        "mean square; float64",
        why=(
            "It is in no release, only in an open pull request (34261). It is the root mean square "
            "gap, over bins of equal mass whose number grows with n."
        ),
        soft_targets="refused",
        compute=scikit_learn_l2,
    ),
)
