"""What the noise of votes adds to squares of labels, row by row.

Labels are shares z of m votes: ``E (u - z)^2 = (u - q)^2 + q (1 - q) / m`` for the share q that all
the world's votes would give. The unbiased estimate of the variance is ``z (1 - z) / (m - 1)``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calibrant._core.typing import Array


def vote_variances(z: Array, votes: NDArray[np.int64]) -> Array:
    """Unbiased estimates of the variances of shares (n, k); 0 for rows of one vote, which tell
    nothing of it.
    """
    room = np.maximum(votes - 1, 1).astype(np.float64)[:, None]
    return np.where(votes[:, None] > 1, z * (1.0 - z) / room, 0.0)


def top_excess(p: Array, variances: Array) -> Array:
    """What votes add to the square of the top label's share; two classes have the same."""
    return np.take_along_axis(variances, p.argmax(axis=1)[:, None], axis=1)[:, 0]


def summed_excess(p: Array, variances: Array) -> Array:
    """What votes add to squares summed over classes."""
    del p
    return variances.sum(axis=1)


def mean_excess(p: Array, variances: Array) -> Array:
    """What votes add to squares averaged over classes, or to that of P(y = 1)."""
    del p
    return variances.mean(axis=1)
