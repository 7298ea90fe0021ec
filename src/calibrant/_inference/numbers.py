"""Every number that decides a limit or a p-value, with what it buys and the command that shows it.

Numbers that trade time or memory for precision stand in `budget`, guards against rounding in
`rounding`. Commands are run in the project's root; `coverage` is `python benchmarks/coverage.py`,
`verdicts` is `python benchmarks/verdicts.py` and `votes` is `python benchmarks/votes.py`. The
numbers are ours unless a source is named.
"""

from __future__ import annotations

import math

# --- few events -----------------------------------------------------------------------------------

# The one rule for few events, or failures: of fewer than these, what was seen does not tell how
# they vary. Their number has Poisson's limits, outcomes are drawn whole, one by one or in their
# slot, and a logarithm is not taken to be normal. The textbooks' ten.
#   coverage rare "rare clusters" found
FEW_EVENTS = 10.0
# A prediction counts as so many rows in the variance of a slot's outcomes: a slot without any event
# is not known to have none. At 1 / 2 this is Laplace's rule of succession.
#   coverage rare "nearly calibrated" --rows 300
PRIOR_ROWS = 2.0
# Slots that show less than this share of the variance expected of them get what is missing.
#   coverage found --measures ece ace mce
SHOWN_AT_LEAST = 0.5
# Misses that a prediction expects of as many rows as there are, below which it is all but certain:
# that none was seen says no more than that such rows are few.
#   coverage found --world "nearly all sure" --measures log_loss brier
NO_MISS = 0.01
# How far towards the limits of what is rare differences of errors are looked at: they bend where a
# gap is 0.
#   coverage pairs --measures ece lin_ce
TOWARDS = (-1.0, 0.5, 1.0)

# --- single errors and their differences ----------------------------------------------------------

# How often calibrated predictions show less than an upper limit is ever based on: one standard
# error (power-constrained limits: Cowan, Cranmer, Gross and Vitells, 2011, arXiv:1105.3166).
#   coverage calibrated --measures ece smooth_ece
POWER_CONSTRAINT = 0.16
# How far along the predictions gaps are smoothed: of single errors, and in the prior of two
# predictors' gaps.
#   coverage ordinary --measures smooth_ece ici
SMOOTHED_OVER = 0.05
#   coverage pairs --measures ece smooth_ece
SMOOTH_OVER = 0.25
# How large shifts and slopes of two predictors that err on either side of the labels may be, on the
# scale of logits: 1 lets a slope be anything from 0 to 2.
#   coverage --pairs --world "slopes 1.2 and 0.85" --measures ece smooth_ece
TREND = 1.0
# Cells of a measure that is not of bins: equally wide on the scale of arcsin(sqrt(u)), on which
# outcomes vary alike everywhere, 0.008 wide in the middle and 0.0001 at the ends. Gaps are found in
# wider cells of equal weight, each of so many rows, or clusters, at least.
#   coverage ordinary "nearly calibrated" --measures smooth_ece ks_error --rows 80 300 1000
FINE_CELLS = 192
WIDE_CELLS = 32
ROWS_OF_WIDE = 10.0
# How much more than seen gaps may vary on average: beyond it slots are corrected one by one.
#   coverage "long tail" --measures top_label_ece
MOST_WIDENED_SLOTS = 2.0

# --- clusters, weights, means ---------------------------------------------------------------------

# Of few clusters the scatter is known as badly as Student's t says, up to this factor.
#   coverage "huge cluster" clusters --rows 300
MOST_WIDENED_CLUSTERS = 3.0
# Of fewer clusters two signs have too few arrangements (Webb, 2023, doi:10.1111/caje.12661).
#   coverage --tests clusters
FEW_CLUSTERS = 12
# Rows, or clusters, of about the same weight that tell how such ones vary.
#   coverage "heavy weights" --measures brier log_loss
ROWS_ALIKE = 50
# A row (or a cluster) that decides a logistic fit alone has a leverage of 1 and a residual of 0:
# nothing can be learnt of its scatter, and dividing by 1 - leverage is stopped here.
#   coverage --tests "huge cluster"
MOST_LEVERAGE = 0.9

# --- votes ----------------------------------------------------------------------------------------

# Rows of each fold are measured by what the others fit, and fit what these are measured by: luck
# that two folds share counts twice, and the variance is up to twice that of rows by themselves. In
# simulated worlds standard errors are 1.0 to 1.4 times as large.
#   votes
FITTED_FROM_ROWS = math.sqrt(2.0)
# Shares may be rounded, to two digits or so: this far from whole numbers of votes.
#   votes
ROUNDED_SHARES = 0.06
# Soft labels that are as good as means of more outcomes vary little: bins' sums will do.
#   coverage soft scattered --tests
MOST_VOTES = 10

# --- noise floors and p-values --------------------------------------------------------------------

# What each test may spend of the chance of a false alarm. The sum of 1.2 bounds it at 6 % for a
# level of 95 %; the tests overlap, so that it is 3 to 5 %. Without --calibrated the same command
# shows what each share buys. Half for the noise floor, since intervals lie above 0 where its
# p-value is below half of 1 - level.
#   verdicts --calibrated
SHARES = {"slope": 0.4, "mean": 0.2, "noise floor": 0.5, "curve": 0.1}
# The fastest wave of gaps along the predictions that is looked for, in half turns.
#   verdicts
WAVES = 12
# P-values below this are all convincing: the most specific test is named.
#   verdicts
CONVINCING = 1e-6
# Predictions in one cell differ by less than this on the logit scale: outcomes drawn from their
# mean are as good as drawn from each. At 1/2 it is a width of 1/256. Up to so many rows have all
# but a cell each: measures that choose their own bins are then those of rows. Beyond the limit all
# share a cell.
#   coverage --tests calibrated
FINE = 1.0 / 64.0
FEW_ROWS = 1000
FINEST = 1.0 / 4096.0
CELL_LIMIT = 14.0
# Draws that must lie beyond a value before its chance is read off them, and beyond a quantile.
#   coverage --tests calibrated
ENOUGH_BEYOND = 10.0
FEWEST_BEYOND = 4.0
# Draws beyond what was seen that settle a large p-value (Besag and Clifford, 1991), those that a
# small one is read from, and the share of the largest that a tail is fitted to where there are
# fewer.
#   coverage --tests ordinary
CLEAR = 100
ENOUGH_IN_TAIL = 50
TAIL_SHARE = 0.05
# Surprising outcomes (the less likely of the two) that are drawn one by one, on average a draw. The
# rows that matter least are drawn as a normal sum where there would be more.
#   coverage --tests rare
SURPRISES = 100.0
# Squared skewness and excess kurtosis above which a sum of outcomes is not normal enough.
#   coverage --tests rare
NOT_NORMAL = 0.05
# Expected events or non-events in a group below which a chi-square is not to be relied on.
#   coverage --tests rare
SMALL_COUNT = 2.0

# --- streams, segments, bands ---------------------------------------------------------------------

# Bins with less than this are put together before two streams are compared: of hard labels the
# variance of their outcomes' sum, of soft ones rows. Sums of so little are not yet normal.
#   coverage --tests calibrated rare
LEAST_VARIANCE = 3.0
LEAST_AFTER = 1.0
LEAST_ROWS = 10.0
# What is bet on a bin: small bets find small faults in many rows, large ones great ones early.
#   coverage --tests ordinary
BETS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
# A segment with less variance than ten even chances is not judged: a single outcome may decide.
#   coverage --tests rare
LEAST_SEGMENT_VARIANCE = 2.5
# Runs of rows that a confidence band is made of: their number is what such a band pays for. And the
# cells and rows that a local regression needs.
#   coverage --tests calibrated
RUNS = 120
FEWEST_CELLS = 10
FEWEST_ROWS = 40
