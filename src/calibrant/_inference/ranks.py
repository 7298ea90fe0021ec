"""Ranks: whether two quantities order predictors in the same way, and the order that all losses
share.

A pool of predictors is a table with a row for each of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from calibrant._core.errors import InputError
from calibrant._core.typing import Array, Index


def pool_table(values: ArrayLike, argument: str, names: Sequence[str] | None = None) -> Array:
    """The table as float64 of the shape (predictors, columns); an error unless its cells can be
    ordered.

    `argument` is its name in error messages, `names` are those of the predictors. Infinite cells
    stay: a log loss may be infinite, and is ordered like any number. NaN is an error.
    """
    try:
        table = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{argument} must be numbers, a row per predictor; got {values!r}"
        ) from error
    if table.ndim != 2 or table.shape[1] == 0:
        raise InputError(
            f"{argument} must have a row per predictor and a column per quantity, the shape (n, c) "
            f"with c >= 1; got {table.shape}"
        )
    if len(table) < 2:
        raise InputError(f"{argument} must have 2 or more predictors to compare; got {len(table)}")
    if names is not None and len(names) != len(table):
        raise InputError(
            f"names must have {len(table)} entries, one per predictor; got {len(names)}"
        )
    bad = np.isnan(table)
    if bad.any():
        row, column = (int(i) for i in np.argwhere(bad)[0])
        who = f"predictor {row}" if names is None else f"predictor {names[row]!r} (row {row})"
        where = f" in column {column}" if table.shape[1] > 1 else ""
        raise InputError(
            f"{argument} has {int(bad.sum())} NaN, the first for {who}{where}: drop the predictors "
            "that could not be measured"
        )
    return table


def average_ranks(table: ArrayLike) -> Array:
    """The rank of each cell in its column, from 1; equal cells share the mean of their ranks.

    Examples
    --------
    >>> average_ranks([[0.3], [0.1], [0.3], [0.9]]).ravel().tolist()
    [2.5, 1.0, 2.5, 4.0]
    """
    columns = pool_table(table, "table")
    ranks = np.empty(columns.shape)
    for j, ordered in enumerate(np.sort(columns.T)):
        below, through = (ordered.searchsorted(columns[:, j], side) for side in ("left", "right"))
        ranks[:, j] = 0.5 * (below + through + 1)
    return ranks


def spearman_table(table: ArrayLike, others: ArrayLike | None = None) -> Array:
    r"""Spearman's rank correlation of each column with each column, or with each of `others`.

    .. math:: \rho_{ab} = \frac{\sum_i (r_{ia} - \bar r)(s_{ib} - \bar r)}
        {\sqrt{\sum_i (r_{ia} - \bar r)^2 \sum_i (s_{ib} - \bar r)^2}}

    where r and s are average ranks and :math:`\bar r = (N + 1)/2`. Range [-1, 1]; NaN where one of
    the two columns is constant and so ranks nothing.

    References
    ----------
    Spearman (1904), doi:10.2307/1412159.

    Examples
    --------
    >>> spearman_table([[1, 9, 5], [2, 4, 5], [3, 1, 5]]).tolist()
    [[1.0, -1.0, nan], [-1.0, 1.0, nan], [nan, nan, nan]]
    """
    left = average_ranks(table)
    right = left if others is None else average_ranks(others)
    if len(right) != len(left):
        raise InputError(
            f"table and others must rank the same predictors; got {len(left)} and {len(right)} rows"
        )
    middle = (len(left) + 1) / 2
    # Halves and their products are exact in float64, so that equal orders give 1 and not 0.9999.
    return _correlations(left - middle, right - middle)


def _correlations(left: Array, right: Array) -> Array:
    """The correlation of each column of `left` with each of `right`, whose columns have mean 0; NaN
    where one of the two is constant.
    """
    scale = np.sqrt(np.outer((left**2).sum(axis=0), (right**2).sum(axis=0)))
    rho = np.full(scale.shape, np.nan)
    np.divide(left.T @ right, scale, out=rho, where=scale > 0)
    return rho


def left_out_correlations(table: ArrayLike, groups: ArrayLike) -> Array:
    """Spearman's rank correlations of a table's columns with each other, without each group of rows
    in turn: (groups, columns, columns). `groups` (n,) names the group of each row.
    """
    columns = pool_table(table, "table")
    members = np.unique(np.asarray(groups), return_inverse=True)[1].ravel()
    # Equal cells share a level; a group leaves the levels' counts, and ranks follow from these.
    levels = [np.unique(column, return_inverse=True)[1] for column in columns.T]
    out = np.empty((members.max() + 1, columns.shape[1], columns.shape[1]))
    for g, correlations in enumerate(out):
        kept = members != g
        centred = np.empty((int(kept.sum()), columns.shape[1]))
        for j, level in enumerate(levels):
            counts = np.bincount(level[kept])
            ranks = counts.cumsum() - (counts - 1) / 2
            centred[:, j] = ranks[level[kept]] - (len(centred) + 1) / 2
        correlations[:] = _correlations(centred, centred)
    return out


def jackknife_variance(left_out: Array) -> Array:
    """The variance of statistics over groups, from their values without each group in turn (groups,
    ...): ``(G - 1)/G`` times the sum of squared distances from their mean.
    """
    spread: Array = (len(left_out) - 1) * left_out.var(axis=0)
    return spread


def correlation_interval(rho: float, variance: float, df: float) -> tuple[float, float]:
    """The 95 % interval of a correlation from its variance: of Student's t with `df` degrees of
    freedom on Fisher's scale, where ``atanh(rho)`` has ``variance / (1 - rho^2)^2``.
    """
    if abs(rho) >= 1.0:  # the same order in every group
        return rho, rho
    from scipy.special import stdtrit

    reach = float(stdtrit(df, 0.975)) * math.sqrt(variance) / (1.0 - rho**2)
    middle = math.atanh(rho)
    return math.tanh(middle - reach), math.tanh(middle + reach)


def spearman_margin(rho: float, n: int) -> float:
    r"""The `±` beside a rank correlation: 1.96 of its standard deviations for large N.

    .. math:: 1.96 \, (1 - \rho^2) / \sqrt{N}

    It is the published tables' margin, and takes the N predictors for independent draws on rows
    without noise. Checkpoints of one training run are neither: `left_out_correlations` gives
    intervals over runs.

    References
    ----------
    Lu, Wu, Hartline and Hu, Truthful Calibration Errors for Multi-Class Prediction, table 1.

    Examples
    --------
    >>> round(spearman_margin(0.5, 100), 3)
    0.147
    """
    # As the published tables round it.
    return 1.96 * (1 - rho**2) / math.sqrt(n)


def maximum_dominance_set(losses: ArrayLike, *, names: Sequence[str] | None = None) -> Index:
    r"""The longest line of predictors, each with no loss above the next one's and one below.

    .. math:: \max \{ m : i_1 \succ i_2 \succ \dots \succ i_m \}, \quad a \succ b \iff
        \forall j: \ell_j(a) \le \ell_j(b) \ \text{and}\ \exists j: \ell_j(a) < \ell_j(b)

    where `losses` has a row per predictor and a column per loss; lower is better. Returns the rows
    of the line from the best to the worst. `names` are only for error messages.

    Predictors with equal losses are not comparable: one of them at most is in the line, the first
    in the table. Among several longest lines it is the one with the least losses, compared from its
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
