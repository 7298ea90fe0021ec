"""Budgets: how many draws and how much data intervals may take, and which measures that excludes.

Every threshold that trades time for precision is here, so that one change of mind is one edit.
"""

from __future__ import annotations

from collections.abc import Iterable

from calibrant._data.samples import Samples
from calibrant._measures.catalogue import Measure
from calibrant._measures.statistics import STATISTICS

# --- draws ----------------------------------------------------------------------------------------

# Rows, or clusters, are dealt at random into at most this many blocks, which are resampled whole.
MAX_BLOCKS = 1000
# Draws of a stream's noise floor.
STREAM_DRAWS = 1000


def many_draws(n_resamples: int) -> int:
    """Draws where a measure is a sum over bins."""
    return max(200, n_resamples * 2 // 5)


def few_draws(n_resamples: int) -> int:
    """Draws where a measure costs more than a sum over bins; limits are of a fitted law."""
    return max(100, n_resamples // 8)


# Rows from which on resampling is worth two threads.
THREADS_FROM = 1000

# --- memory ---------------------------------------------------------------------------------------

# Entries of a table of all classes that are measured at a time.
TABLE_ENTRIES = 1 << 21
# Numbers drawn at a time.
DRAWN_NUMBERS = 1 << 22
# Rows times draws up to which weighted outcomes are drawn one by one.
SINGLE_ROWS = 100_000_000
# Rows times draws up to which labels of several classes are drawn row by row.
DRAWN_LABELS = 20_000_000
# Blocks times bins of all classes up to which blocks are summed bin by bin.
BLOCK_ENTRIES = 30_000_000

# --- what is done unasked -------------------------------------------------------------------------

# Entries of (n, k) predictions, and classes, up to which measures of all classes are resampled, or
# computed at many numbers of bins, unasked.
CLASSWISE_ENTRIES = 500_000
MOST_CLASSES = 100
# Entries of predictions up to which losses, which are resampled in rows, have an interval in quick
# mode.
QUICK_ENTRIES = 300_000
# Predictions up to which `calibrant scale` gives the differences limits.
COMPARED_PREDICTIONS = 200_000
# Rows on which `recommend` tries maps at most, predictions of several classes, and as many of these
# as there may be for the sake of the rows; and rows times parameters of a map that it tries. The
# page tries maps on the same rows, so that both choose the same one.
TRIED_ROWS, TRIED_PREDICTIONS = 20_000, 50_000
FEWEST_TRIED_ROWS, MOST_TRIED_PREDICTIONS = 2_500, 250_000
TRIED_WORK = 200_000_000
# Classes up to which full calibration (k numbers in each of k m cells) is evaluated unasked.
FULL_CLASSES = 200
# Slices up to which an evaluation has a clinical summary of each.
MOST_SUBGROUPS = 12


def n_tried_rows(n_classes: int) -> int:
    """Rows on which `recommend` tries maps at most."""
    wanted = max(TRIED_PREDICTIONS // n_classes, FEWEST_TRIED_ROWS)
    return max(1000, min(TRIED_ROWS, MOST_TRIED_PREDICTIONS // n_classes, wanted))


def is_small_over_classes(samples: Samples) -> bool:
    """Whether measures over all classes are cheap enough to be repeated many times unasked."""
    k = samples.n_classes
    return samples.n * k <= CLASSWISE_ENTRIES and k <= MOST_CLASSES


def takes_long(measure: Measure, samples: Samples, *, soft: bool) -> bool:
    """Whether the interval of a measure takes too long to be computed unasked."""
    if measure.resampling_cost(soft=soft) == "high":
        return True
    over_classes = measure.notion in ("classwise", "full", "distribution")
    return samples.multiclass and over_classes and not is_small_over_classes(samples)


def quick_measures(measures: Iterable[Measure], entries: int) -> tuple[Measure, ...]:
    """The measures whose intervals take about a second; `entries` of predictions are resampled row
    by row, 0 where they need not be.
    """
    costs = ("low", "rows") if entries <= QUICK_ENTRIES else ("low",)
    return tuple(
        m for m in measures
        if m.resampling_cost() in costs and not STATISTICS[m.statistic].over_classes
    )  # fmt: skip
