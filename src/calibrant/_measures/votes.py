"""What the noise of votes adds to squares of labels, row by row.

Labels are shares z of m votes: ``E (u - z)^2 = (u - q)^2 + q (1 - q) / m`` for the share q that all
the world's votes would give. The unbiased estimate of the variance is ``z (1 - z) / (m - 1)``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calibrant._core.typing import Array


def vote_variances(z: Array, votes: NDArray[np.int64]) -> Array:
    """Unbiased estimates of the sampling variances of shares z of votes, (n, k).

    `votes` is the number of votes of each row, (n,). A row of one vote has no estimate, and gets 0.
    """
    room = np.maximum(votes - 1, 1).astype(np.float64)[:, None]
    return np.where(votes[:, None] > 1, z * (1.0 - z) / room, 0.0)


def top_excess(p: Array, variances: Array) -> Array:
    """The excess that the noise of votes adds to the squared error of the top label, for each row,
    (n,).

    p are predictions and `variances` those of the shares of votes, (n, k) each; of two classes both
    have the same variance.
    """
    return np.take_along_axis(variances, p.argmax(axis=1)[:, None], axis=1)[:, 0]


def summed_excess(p: Array, variances: Array) -> Array:
    """The excess that the noise of votes adds to squared errors summed over classes, for each row,
    (n,); p is not used.
    """
    del p
    return variances.sum(axis=1)


def mean_excess(p: Array, variances: Array) -> Array:
    """The excess that the noise of votes adds to squared errors averaged over classes, for each
    row, (n,); p is not used.

    With two classes it is the excess in the squared error of P(y = 1).
    """
    del p
    return variances.mean(axis=1)
