"""Dominance: which predictors are better than which on every loss, and the longest such line."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant._inference.ranks import pool_table


def dominates(a: ArrayLike, b: ArrayLike) -> NDArray[np.bool_]:
    r"""Whether the losses `a` are better than `b`: nowhere larger, and somewhere smaller.

    .. math:: a \succ b \iff \forall j: a_j \le b_j \ \text{and}\ \exists j: a_j < b_j

    The last axis holds the losses, the others broadcast. Equal losses dominate in neither
    direction.

    Examples
    --------
    >>> dominates([0.1, 0.4], [[0.2, 0.4], [0.1, 0.4], [0.0, 0.5]]).tolist()
    [True, False, False]
    """
    left, right = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    return np.asarray((left <= right).all(axis=-1) & (left < right).any(axis=-1))


def maximum_dominance_set(
    losses: ArrayLike, *, names: Sequence[str] | None = None
) -> NDArray[np.intp]:
    r"""The longest line of predictors, each better on every loss than the next.

    .. math:: \max \{ m : i_1 \succ i_2 \succ \dots \succ i_m \}, \quad a \succ b \iff
        \forall j: \ell_j(a) \le \ell_j(b) \ \text{and}\ \exists j: \ell_j(a) < \ell_j(b)

    where `losses` has a row per predictor and a column per loss; lower is better. Returns the rows
    of the line from the best to the worst. `names` are only for error messages.

    Predictors with equal losses are not comparable: one of them at most is in the line, the first
    in the table. Of several longest lines it is the one with the least losses, compared from its
    best predictor on and from the first column on; so which losses are in it does not depend on the
    order of the rows. Takes O(n^2 c) time and O(n c) memory.

    References
    ----------
    Lu, Wu, Hartline and Hu, Truthful Calibration Errors for Multi-Class Prediction, section 5.2;
    Blackwell (1951) for the order that it stands for.

    Examples
    --------
    Rows 0 and 2 each win on one loss; both beat row 1, and row 3 beats them all.

    >>> maximum_dominance_set([[0.2, 0.5], [0.4, 0.6], [0.3, 0.4], [0.1, 0.1]]).tolist()
    [3, 0, 1]
    """
    table = pool_table(losses, "losses", names)
    # Whoever dominates comes earlier in this order, and equal rows come side by side.
    order = np.lexsort(table.T[::-1])
    ordered = table[order]
    distinct = np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)])
    # lexsort is stable: the row kept of equal ones is the first in the table.
    order, columns = order[distinct], np.ascontiguousarray(ordered[distinct].T)

    n = len(order)
    length = np.ones(n, dtype=np.intp)
    follower = np.full(n, -1, dtype=np.intp)
    for row in range(n - 2, -1, -1):
        # Among distinct rows in this order, "nowhere smaller" is all of being dominated, and the
        # first loss has been compared by the sorting.
        worse = np.ones(n - row - 1, dtype=bool)
        for column in columns[1:]:
            worse &= column[row + 1 :] >= column[row]
        reach = np.where(worse, length[row + 1 :], 0)
        best = int(reach.argmax())  # the first of the longest
        if reach[best]:
            length[row] += reach[best]
            follower[row] = row + 1 + best

    line = [int(length.argmax())]
    while follower[line[-1]] >= 0:
        line.append(int(follower[line[-1]]))
    return np.asarray(order[line], dtype=np.intp)
