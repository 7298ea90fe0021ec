"""Every number that decides a limit or a p-value, with its effect and the command that shows it.

Numbers that trade time or memory for precision stand in `budget`, guards against rounding in
`rounding`. Commands are run in the project's root; `coverage` is `python benchmarks/coverage.py`,
`verdicts` is `python benchmarks/verdicts.py` and `votes` is `python benchmarks/votes.py`. The
numbers are ours unless a source is named.
"""

from __future__ import annotations

import math

# --- few events -----------------------------------------------------------------------------------

# The one rule for few events, or non-events: with fewer than this the sample variance is
# unreliable. Their number gets Poisson limits, outcomes are drawn as counts, and a logarithm is not
# taken to be normal. The textbooks' ten.
#   coverage rare "rare clusters" found
FEW_EVENTS = 10.0
# The rows that the prediction counts as in the variance of a slot's outcomes, so that a slot
# without an event has a variance. For a prediction of 1/2 this is Laplace's rule of succession.
#   coverage rare "nearly calibrated" --rows 300
PRIOR_ROWS = 2.0
# Slots whose observed variance is less than this share of the expected one get the difference.
#   coverage found --measures ece ace mce
SHOWN_AT_LEAST = 0.5
# A prediction is all but certain if as many such rows as the sample has would be expected to have
# fewer misses than this: that the sample has none of them tells nothing.
#   coverage found --world "nearly all sure" --measures log_loss brier
NO_MISS = 0.01
# Where between the Poisson limits of rare events changes of errors are computed: -1 is the lower
# limit, 1 the upper one. A gap may be 0 between them, which widens the difference from other rows
# in one of fourteen comparisons, at most by a factor of 1.8.
#   coverage pairs --measures ece lin_ce
TOWARDS = (-1.0, 0.5, 1.0)

# --- single errors and their differences ----------------------------------------------------------

# The quantile of calibrated samples below which a value is not used for an upper limit: one
# standard error (power-constrained limits: Cowan, Cranmer, Gross and Vitells, 2011,
# arXiv:1105.3166).
#   coverage calibrated --measures ece smooth_ece
POWER_CONSTRAINT = 0.16
# The width, in predictions, of the kernel that smooths the gaps of a single error.
#   coverage ordinary --measures smooth_ece ici
SMOOTHED_OVER = 0.05
# The width, in predictions, of the kernel that correlates gaps of two predictors in their prior.
#   coverage pairs --measures ece smooth_ece
SMOOTH_OVER = 0.25
# The prior standard deviation of the shift and the slope, on the logit scale, of the gaps that two
# predictors have in common, and of the multiple of their difference. It is broad: rows decide.
# With 1 zigzag gaps are covered in 88 of 100 samples in place of 90; else limits stay the same.
#   coverage --pairs --world zigzag --world "slopes 1.2 and 0.85" --rows 300 --measures ece
TREND = 2.0
# The probability with which slots that are right are taken to be off, beside others that are surely
# off: by the sum of their gaps, and by its mean and trend. Where 2 % of rows are far off, limits
# hold the difference in 16 of 20 samples with 0.16, in 18 with this.
#   coverage --pairs --world "2 % sure and half right" --rows 2000 --measures ece smooth_ece
QUIET = 0.05
# Wide cells of a measure that is not of bins, of equal weight, in which gaps are estimated: so many
# at most, and each of at least so many rows or clusters.
#   coverage ordinary "nearly calibrated" --measures smooth_ece ks_error --rows 80 300 1000
WIDE_CELLS = 32
ROWS_OF_WIDE = 10.0
# The share of tr(A C A C), by which R' A C A R exceeds its true value on average, that is taken off
# in differences of squared errors. All of it leaves limits too short where one of two predictors is
# nearly right, none of it makes those of two calibrated ones 1.3 to 1.6 times as wide as values.
#   coverage pairs --measures lin_ce atb --rows 300 1000
SLOPE_BIAS = 0.5
# The largest factor by which the observed variances of gaps are raised in all slots together; what
# is missing beyond it is added slot by slot.
#   coverage "long tail" --measures top_label_ece
MOST_WIDENED_SLOTS = 2.0

# The least weight that is drawn for a wide cell, over its own, since its noise is divided by it. A
# factor of two does not matter: it moves limits by 3 % of their width at most (40 to 300 rows).
#   coverage ordinary --measures smooth_ece ks_error ici --rows 40 80 300
LEAST_DRAWN_WEIGHT = 0.1

# --- clusters, weights, means ---------------------------------------------------------------------

# The largest factor from normal to Student's quantiles that few clusters give.
#   coverage "huge cluster" clusters --rows 300
MOST_WIDENED_CLUSTERS = 3.0
# Student's factor above which an interval names few clusters, as it does with fewer than 30; the
# limits are the same. coverage clusters --rows 300
NOTABLE_STUDENT = 1.04
# Up to so many clusters random signs have too few combinations: Webb's six values replace them
# (Webb, 2023, doi:10.1111/caje.12661).
#   coverage --tests clusters
FEW_CLUSTERS = 12
# The rows of about the same weight whose mean squared deviation stands for that of each.
#   coverage "heavy weights" --measures brier log_loss
ROWS_ALIKE = 50
# The largest leverage in 1 - leverage, which divides residuals: a row or cluster that decides a
# logistic fit alone has a leverage of 1 and a residual of 0.
#   coverage --tests "huge cluster"
MOST_LEVERAGE = 0.9

# --- votes ----------------------------------------------------------------------------------------

# The factor for standard errors of bounds whose functions are fitted to other folds of the same
# rows. Folds are then correlated, and the variance is up to twice that of independent rows; in
# simulated worlds standard errors are 1.0 to 1.4 times as large.
#   votes
FITTED_FROM_ROWS = math.sqrt(2.0)
# How far shares times votes may be from whole numbers: shares may be rounded to two digits.
#   votes
ROUNDED_SHARES = 0.06
# The most outcomes that a soft label stands for if they are drawn row by row; beyond, labels vary
# little, and the sums of bins are drawn.
#   coverage soft scattered --tests
MOST_VOTES = 10

# Labelled rows that are added for each pair of a human label and a judge's answer, so that none of
# the four is without rows (Jeffreys' prior, as of a 2 x 2 table); half of them for Rogan and
# Gladen's rate. tests/inference/test_judge.py
ADDED_ROWS = 0.5

# --- noise floors and p-values --------------------------------------------------------------------

# The share of 1 - level that each test of a verdict has. Their sum of 1.2 bounds the probability of
# a false alarm at 6 % for a level of 95 %; the tests are correlated, so that it is 3 to 5 %.
# Without --calibrated the same command shows the effect of each share. The noise floor has half,
# since intervals lie above 0 where its p-value is below half of 1 - level. verdicts --calibrated
SHARES = {"slope": 0.4, "mean": 0.2, "noise floor": 0.5, "curve": 0.1}
# The fastest wave of gaps along the predictions that is tested, in half turns; and minus the power
# of its half turns that a wave's score is multiplied by.
#   verdicts
WAVES = 12
SLOW_WAVES = 0.25
# Of several tests with p-values below this the most specific one is named.
#   verdicts
CONVINCING = 1e-6
# The draws beyond a value from which on its p-value is counted, and beyond a quantile from which on
# it is read off the draws; with fewer a tail is fitted.
#   coverage --tests calibrated
ENOUGH_BEYOND = 10.0
FEWEST_BEYOND = 4.0
# The draws beyond the observed value from which on a p-value is counted, and the share of the
# largest draws that a tail is fitted to where there are fewer.
#   coverage --tests ordinary
ENOUGH_IN_TAIL = 50
TAIL_SHARE = 0.05
# The squared skewness or excess kurtosis above which a sum of outcomes is not taken to be normal.
#   coverage --tests rare
NOT_NORMAL = 0.05
# The expected events or non-events in a group below which a chi-square is unreliable.
#   coverage --tests rare
SMALL_COUNT = 2.0

# --- streams, segments, bands ---------------------------------------------------------------------

# Bins with less are merged before two streams are compared, since their sums are not yet normal: in
# variance of the sum of residuals, before and after merging; for soft labels `FEW_EVENTS` rows.
#   coverage --tests calibrated rare
LEAST_VARIANCE = 3.0
LEAST_AFTER = 1.0
# The bets (exponents) of e-values: small ones find small errors in many rows, large ones find large
# errors early.
#   coverage --tests ordinary
BETS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
# Evidence of a change from a baseline. The chance that the intervals of the baseline's bins miss is
# taken from the 5 % of the alarm. The bets are in standard deviations of the baseline's sum of
# outcomes: its own on gaps that its rows refute, and the windows' from the smallest change that as
# many rows show in many times more, each bet thrice the one before.
#   benchmarks/monitor_alarms.py
REGION_CHANCE = 0.005
BASELINE_BET = 4.0
SMALLEST_CHANGE_BET = 0.2
CHANGE_BET_RATIO = 3.0
# The runs of rows that a confidence band is simultaneous over: the more, the wider the band. And
# the fewest cells and rows of a local regression. coverage --tests calibrated
RUNS = 120
FEWEST_CELLS = 10
FEWEST_ROWS = 40
