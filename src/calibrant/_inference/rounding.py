"""Guards against rounding: smaller numbers, or differences, count as 0. They decide no limit."""

from __future__ import annotations

import numpy as np

from calibrant._core.typing import Array

# Values whose relative difference is smaller are equal.
SLACK = 1e-12
# Below these a true error, and an observed one, is a rounding error of sums that cancel.
ROUNDED_ERROR, ROUNDED_FLOOR = 1e-14, 1e-13
# A standard error, and a skewness, below these counts as 0.
NO_ERROR, NO_SKEW = 1e-9, 1e-3
# A difference of two estimates, or its standard error, below this share of theirs counts as 0.
ROUNDED_ERRORS = 1e-7
# The ridge that is added to a covariance that may be singular, over its mean variance.
JITTER = 1e-9
# The variance, over the mean noise variance, that stands for no noise at all where gaps are taken
# to be 0; and the eigenvalues of a kernel, over the largest, below which its root is not inverted.
ZERO_GAP = 1e-6
# A miss probability below this counts as 0: it is a rounding error.
CERTAIN = 1e-9
# The smallest p-value that is reported, since no sample shows that a probability is 0; and the
# smallest from a tail fitted to draws: below it two seeds differ by many powers of ten.
LEAST_P, LEAST_FITTED_P = 5e-324, 1e-12
# The variance that predictions of exactly 0 or 1 get.
FLAT = 1e-6
# Concentrations beyond which a population is all but one point, or all but certain.
LEAST_CONCENTRATION, MOST_CONCENTRATION = 1e-4, 1e4
# The noncentral chi-square value from which on its root is taken to be normal.
MANY_ERRORS = 1e5
# The fewest degrees of freedom of one: below, it hardly depends on them, and with 0 it has none.
LEAST_DF = 1e-6
# The variance of predictions below which those of a cell are equal but for rounding; and how far
# sums over rows may be from what they are equal to.
EQUAL_PREDICTIONS, ROUNDED_SUMS = 1e-14, 1e-9
# Exponents of evidence are cut here, below the largest number, and its logarithm is taken from here
# on.
LARGEST_EXPONENT, LEAST_EVIDENCE = 600.0, 1e-300
# Eigenvalues below this share of the largest are 0.
NO_EIGENVALUE = 1e-14


def symmetric_root(matrix: Array) -> Array:
    """The symmetric root R of a covariance matrix C, with R R = C, or of each in a stack of them.

    Eigenvectors have a sign, and a direction where eigenvalues are equal, that depend on the
    processor; draws made with them would differ from machine to machine. This root does not.
    """
    values, vectors = np.linalg.eigh(matrix)
    values = np.where(values > NO_EIGENVALUE * values[..., -1:], values, 0.0).clip(min=0.0)
    return (vectors * np.sqrt(values)[..., None, :]) @ vectors.swapaxes(-1, -2)
