"""Guards against rounding: what is below them is 0, or all the same. They decide no limit."""

from __future__ import annotations

import numpy as np

from calibrant._core.typing import Array

# Values that differ by less of themselves are the same.
SLACK = 1e-12
# True errors, and values, below these are sums that should cancel.
ROUNDED_ERROR, ROUNDED_FLOOR = 1e-14, 1e-13
# A standard error below this is none, and a skewness.
NO_ERROR, NO_SKEW = 1e-9, 1e-3
# What is added to a covariance that may be singular, as a share of its mean variance.
JITTER = 1e-9
# Predictions so close to 1 are certain: what they say of misses is rounding.
CERTAIN = 1e-9
# The smallest p-value that is reported, for no sample shows that a chance is 0; and the smallest
# that a law fitted to draws is believed to have: below it two seeds differ by many powers of ten.
LEAST_P, LEAST_FITTED_P = 5e-324, 1e-12
# Predictions of exactly 0 or 1 have no variance of their own; this one they get.
FLAT = 1e-6
# Concentrations beyond which a population is all but one point, or all but certain.
LEAST_CONCENTRATION, MOST_CONCENTRATION = 1e-4, 1e4
# Squared standard errors from which on the root of a noncentral chi-square is normal.
MANY_ERRORS = 1e5
# Eigenvalues below this share of the largest are 0.
NO_EIGENVALUE = 1e-14


def symmetric_root(matrix: Array) -> Array:
    """The symmetric root of a covariance matrix, or of each in a stack of them.

    Eigenvectors have a sign, and a direction where eigenvalues are equal, that depend on the
    processor; draws made with them would differ from machine to machine. This root does not.
    """
    values, vectors = np.linalg.eigh(matrix)
    values = np.where(values > NO_EIGENVALUE * values[..., -1:], values, 0.0).clip(min=0.0)
    return (vectors * np.sqrt(values)[..., None, :]) @ vectors.swapaxes(-1, -2)
