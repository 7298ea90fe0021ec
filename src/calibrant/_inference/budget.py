"""Budgets: how many draws and how much data intervals may take, and which measures that excludes.

Every threshold that trades time for precision is here, so that one change of mind is one edit. What
decides a limit or a p-value stands in `numbers`. `python benchmarks/resampling.py` shows the times.
"""

from __future__ import annotations

from collections.abc import Iterable

from calibrant._data.samples import Samples
from calibrant._measures.catalogue import Measure
from calibrant._measures.statistics import STATISTICS

# --- draws ----------------------------------------------------------------------------------------

# The most blocks that rows, or clusters, are put into at random. Blocks are resampled whole, and
# 1000 of them give a standard error to 2 % (1 / sqrt(2 blocks)).
MAX_BLOCKS = 1000
# Draws of a stream's noise floor: the standard error of a p-value of 0.05 is 0.007.
STREAM_DRAWS = 1000


def many_draws(n_resamples: int) -> int:
    """The number of draws for a measure that is a sum over bins, if `n_resamples` are asked for. Of
    200 draws five lie beyond each 95 % limit, which is a quantile of the draws.
    """
    return max(200, n_resamples * 2 // 5)


def few_draws(n_resamples: int) -> int:
    """The number of draws for a measure that costs more than a sum over bins, if `n_resamples` are
    asked for. Limits are quantiles of a fitted distribution, whose standard deviation 100 draws
    give to 7 %.
    """
    return max(100, n_resamples // 8)


# Draws behind a p-value: the few suffice for a large one, the most are made for a small one. Its
# standard error is then 0.009 at 0.1, and 0.001 at 0.01.
FEW_DRAWS, MOST_DRAWS = 1_000, 10_000
# The draws beyond the observed value after which drawing stops (Besag and Clifford, 1991).
CLEAR = 100
# The expected number of surprises (the less likely outcome of a row) that are drawn one by one. If
# there are more, the rows of the smallest variance are drawn as a normal sum.
SURPRISES = 100.0
# Redrawn samples behind a consistency band, of which ten lie beyond either side; and cells of a
# local regression, whose matrix grows with their square: the narrowest span has ten of them.
BAND_DRAWS, CURVE_CELLS = 400, 512
# Variances between centres that stand for their confidence distribution, and those at which
# functions of the variance are tabulated.
CENTRE_VARIANCES, TRIED_VARIANCES = 400, 1000
# Draws that show which share of clusters varies together.
SHARE_DRAWS = 20
# Permutations that are drawn for groups of annotators: their mean is known exactly, and variance
# and skewness need no more.
EXCHANGES = 300
# Rows that are drawn to estimate the effect of twice as many votes, enough for three digits; and
# draws.
SPLIT_ROWS, SPLIT_DRAWS = 40_000, 40
# Entries (rows times classes) of a vote profile that are drawn in all, and draws of it: a band's
# width is known to 14 % from 25 draws, and to 5 % from 200.
PROFILE_ENTRIES, FEWEST_PROFILES, MOST_PROFILES = 20_000_000, 25, 200
# Rows from which on resampling is worth two threads.
THREADS_FROM = 1000

# --- memory ---------------------------------------------------------------------------------------

# Entries of a table of all classes that are measured at a time: 16 MiB of each sum.
TABLE_ENTRIES = 1 << 21
# Numbers drawn at a time: 16 MiB in single precision.
DRAWN_NUMBERS = 1 << 22
# Rows times draws up to which weighted outcomes are drawn one by one; beyond, a cell has a binomial
# count of as many equal outcomes as its weights are worth.
SINGLE_ROWS = 100_000_000
# Rows times draws up to which labels of several classes are drawn row by row, so that classes
# exclude each other; beyond, each bin of a class has outcomes of its own.
DRAWN_LABELS = 20_000_000
# Pairs of first and last window whose evidence of a change is computed at a time: a few megabytes.
PAIRS_OF_WINDOWS = 8192
# Blocks times bins of all classes up to which blocks are summed bin by bin: 240 MB.
BLOCK_ENTRIES = 30_000_000

# Entries of rows that are read at a time: 512 KiB, which stay in a cache.
ROW_ENTRIES = 1 << 16
# Entries of a table of slots by slots, 128 MiB: beyond, the prior of two predictors' gaps ignores
# the overlap of their slots.
MOST_OVERLAPS = 1 << 24
# Bins of a scalar problem, or of the classes of top labels between them: every one is drawn.
MOST_BINS = 1500
# Slots whose second moments are factored exactly, by eigenvectors; beyond, blocks of rows are their
# factor. And slots of a class whose gaps have one joint law with those of another predictor;
# beyond, limits of a difference are those of two single ones.
FACTORED_SLOTS, PAIRED_SLOTS = 300, 300
# Up to so many cells a product with a matrix sums them faster than a loop over each draw.
FEW_CELLS = 128
# Additions for which outcomes of segments are drawn row by row; beyond, whole blocks of rows are
# drawn. And numbers of a chunk of draws, 32 MiB.
SEGMENT_ADDITIONS, SEGMENT_BLOCKS, SEGMENT_NUMBERS = 1.5e9, 1024, 1 << 22

# --- grids, series and fits: finer ones change limits by less than their draws --------------------

# The width of a cell on the logit scale, within which outcomes are drawn from the mean prediction;
# at 1/2 it is 1/256 of probability. Up to `FEW_ROWS` rows cells are so fine that nearly each row
# has its own, and measures that choose their bins choose them by rows. Logits beyond `CELL_LIMIT`
# share a cell.
FINE, FEW_ROWS, FINEST, CELL_LIMIT = 1.0 / 64.0, 1000, 1.0 / 4096.0, 14.0
# Fine cells of a measure that is not of bins: equally wide on the scale of arcsin(sqrt(u)), on
# which outcomes have the same variance everywhere, 0.008 wide in the middle and 0.0001 at the ends.
FINE_CELLS = 192
# Points of the paths of gaps: standard errors, parts of the number of slots below the threshold,
# and multiples of smoothed gaps; and multiples of the observed discrimination.
STEPS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0)
PARTS = 12
# The factor of the steps of a path beyond the largest of `STEPS`.
STEP_RATIO = 1.4
MULTIPLES = (
    0.0, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 1.0, 1.1, 1.2, 1.35, 1.5, 1.75, 2.0, 2.5, 3.5, 5.0,
    8.0, 12.0,
)  # fmt: skip
DISCRIMINATIONS = (0.0, 0.2, 0.45, 0.65, 0.8, 0.9, 0.95, 1.0, 1.05, 1.15, 1.25, 1.4, 1.6, 2.0)
# Events that are drawn of a slot at most, where few are expected: of ten, 32 or more
# come in fewer than one of ten million draws.
MOST_EVENTS = 32
# Steps of the fit of variances; they converge linearly, and limits do not need their last digits.
# They begin at this share of the noise variance or more.
FIT_STEPS, FIT_FROM = 25, 0.05
# The bets of a certificate: the stakes of each are sqrt(2) times those of the one before, or as
# much smaller. Those of the first are largest, and more bets only lower a bound.
N_BETS = 40
# Human labels of a plan, over the fewest that any number of answers by a judge allows; with fewer
# to spare, infinitely many answers would be needed.
LABELS_TO_SPARE = 1.25
# Halvings of an interval, to the last digits; golden sections of one, to a millionth; and the
# standard deviations of a baseline's sum within which the least evidence is searched.
HALVINGS, GOLDEN_SECTIONS, FAR_SUM = 60, 32, 10.0
# Rows of the factor whose products make up tr(A C A C), where there are many more slots: their
# 250,000 products stand for all.
MOST_UNITS = 500
# More rows than this are fitted as fine cells: five digits of the slope stay the same.
FITTED_CELLS_FROM = 20_000
# The most steps of a walk of partial sums, and with clusters, which have a covariance matrix; terms
# of the series for the range of a Brownian motion, and the smallest range that they suffice for.
MOST_POINTS, MOST_POINTS_CLUSTERED = 512, 64
TERMS, LEAST_RANGE = 64, 0.5
# Numbers of votes for which the bias of the Bayes error is computed; between them it is
# interpolated, and beyond the largest it falls as 1 / m.
MOST_SIZES, MOST_VOTES_OF_BIAS = 8, 150
# Equally likely classes among which the largest bias is searched.
MOST_EQUAL_CLASSES = 10
# Bounds from votes are valid whatever these are; these make them sharp and quick. Folds; knots of
# one predictor, and along each axis of two; the kernel's width at a knot, in ranks; the most rows
# of other classes that are borrowed where a class has few; classes with a fit of their own; the
# most rows that are fitted, and rows that are bounded at a time.
FOLDS = 5
KNOTS = {1: 20, 2: 12}
NEAR = {1: (0.1,), 2: (0.2, 0.5)}
BORROWED = 50.0
OWN_CLASSES = 10
FITTED_ROWS = 25_000
BOUNDED_ROWS = 1 << 14
# True shares, denser towards 0 and 1, between which polynomials leave their side of a distance by
# less than 1e-4 on average; numbers of votes that count; patterns of votes without regard to which
# class is which, the shares these are held against, and subsets that stand for all.
TRUE_SHARES = 60
DEGREES = (0, 1, 2, 3, 4, 5, 7, 10, 14, 20, 30, 50)
PATTERNS, SORTED_SHARES, SUBSETS = 50, 200, 8

# --- what is done unasked -------------------------------------------------------------------------

# Entries of (n, k) predictions, and classes, up to which measures of all classes are resampled, or
# computed at many numbers of bins, unasked.
CLASSWISE_ENTRIES = 500_000
MOST_CLASSES = 100
# Entries of predictions up to which losses, which are resampled in rows, have an interval in quick
# mode.
QUICK_ENTRIES = 300_000
# Rows up to which the smooth ECE has one, for which it takes 0.6 s more of a processor; 0.2 s for
# 100,000 rows, and 1.8 s for 4,000,000. python benchmarks/resampling.py smooth
QUICK_ROWS = 1_000_000
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
    """The most rows on which `recommend` tries recalibration maps, by the number of classes."""
    wanted = max(TRIED_PREDICTIONS // n_classes, FEWEST_TRIED_ROWS)
    return max(1000, min(TRIED_ROWS, MOST_TRIED_PREDICTIONS // n_classes, wanted))


def is_small_over_classes(samples: Samples) -> bool:
    """Whether rows times classes, and classes, are few enough that measures over all classes are
    repeated many times unasked.
    """
    k = samples.n_classes
    return samples.n * k <= CLASSWISE_ENTRIES and k <= MOST_CLASSES


def takes_long(measure: Measure, samples: Samples, *, soft: bool) -> bool:
    """Whether the interval of a measure takes too long to be computed unasked; `soft`: labels are
    soft.
    """
    if measure.resampling_cost(soft=soft) == "high":
        return True
    over_classes = measure.notion in ("classwise", "full", "distribution")
    return samples.multiclass and over_classes and not is_small_over_classes(samples)


def quick_measures(measures: Iterable[Measure], entries: int, n: int = 0) -> tuple[Measure, ...]:
    """The measures whose intervals take about a second.

    Measures that resample rows are among them if `entries`, the number of predictions that they
    read, is at most `QUICK_ENTRIES`; measures over all classes are not. Those of the first lines of
    a report, such as the smooth ECE, are among them up to `n` = `QUICK_ROWS` rows.
    """
    costs = ("low", "rows") if entries <= QUICK_ENTRIES else ("low",)
    return tuple(
        m
        for m in measures
        if not STATISTICS[m.statistic].over_classes
        and (m.resampling_cost() in costs or (m.statistic == "smooth" and 0 < n <= QUICK_ROWS))
    )
