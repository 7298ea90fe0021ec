"""Rank robustness: does an error keep its order of predictors when only its bins change?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from calibrant._core.errors import InputError
from calibrant._core.typing import Array, Index
from calibrant._inference.blocks import as_groups
from calibrant._inference.ranks import (
    correlation_interval,
    jackknife_variance,
    left_out_correlations,
    maximum_dominance_set,
    pool_table,
    spearman_margin,
    spearman_table,
)
from calibrant.results._robustness import RankCorrelation, RankRobustness, Relation

DOMINANCE_ORDER = "dominance order"


def rank_robustness(
    errors: Mapping[tuple[str, int], ArrayLike],
    losses: Mapping[str, ArrayLike],
    *,
    names: Sequence[str] | None = None,
    groups: ArrayLike | None = None,
) -> RankRobustness:
    r"""Rank correlations of errors with losses, with themselves at other bins, and with dominance.

    .. math:: \rho \pm 1.96 \, (1 - \rho^2) / \sqrt{N}

    For each measure there is a row for each loss and number of bins, then for each pair of numbers
    of bins, over all N predictors; then for each number of bins the correlation with the order of
    the maximum dominance set of all the losses, over its members. Higher is better: an error that
    preserves the order of the losses is near 1; if the sign changes with the bins, the bins decide
    the ranking.

    The margin is the paper's. It assumes that all N predictors are independent, which checkpoints
    of one training run are not, and ignores the sampling noise of the rows. With `groups`, each
    correlation has a 95 % interval over the G groups: a jackknife over groups, with Student's t of
    G - 1 degrees of freedom on Fisher's scale. The maximum dominance set is held fixed. This
    interval does not include the sampling noise of the rows: to see it, measure the predictors on
    halves of the rows.

    Parameters
    ----------
    errors : mapping of (str, int) to array-like of shape (N,)
        Value per predictor for each measure and number of bins.
    losses : mapping of str to array-like of shape (N,)
        Value per predictor for each loss.
    names : sequence of str, optional
        Names of the predictors, for messages and the result.
    groups : array-like of shape (N,), optional
        Group of each predictor, such as its training run; at least two groups.

    Returns
    -------
    RankRobustness
        `rows` with every correlation and its margin, and the maximum dominance set (`chain`).

    Raises
    ------
    InputError
        If there are no errors or losses, if their numbers of predictors differ, or if there is only
        one group.

    References
    ----------
    Lu, Wu, Hartline and Hu (2026), Truthful Calibration Errors for Multi-Class Prediction, section
    5.2 and table 1.

    Examples
    --------
    >>> import calibrant as cal
    >>> losses = {"brier_score": [0.1, 0.2, 0.3, 0.4]}
    >>> errors = {("ece", 20): [0.02, 0.01, 0.04, 0.03], ("ece", 5): [0.03, 0.02, 0.01, 0.00]}
    >>> cal.rank_robustness(errors, losses)
    Rank robustness over 4 predictors, 4 of them in the maximum dominance set
      measure  relation   first            second   spearman  margin  n
      ece      loss       brier_score      ece(20)    0.6000  0.6272  4
      ece      loss       brier_score      ece(5)    -1.0000  0.0000  4
      ece      bins       ece(20)          ece(5)    -0.6000  0.6272  4
      ece      dominance  dominance order  ece(20)    0.6000  0.6272  4
      ece      dominance  dominance order  ece(5)    -1.0000  0.0000  4

    Eight checkpoints, two from each of four training runs. Four runs say little:

    >>> losses = {"log_loss": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]}
    >>> errors = {("ece", 20): [0.02, 0.01, 0.04, 0.08, 0.06, 0.05, 0.07, 0.03]}
    >>> runs = ["a", "b", "c", "d", "a", "b", "c", "d"]
    >>> row = cal.rank_robustness(errors, losses, groups=runs).select(relation="loss")[0]
    >>> round(row.value, 2), round(row.low, 2), round(row.high, 2)
    (0.45, -0.87, 0.98)
    """
    if not errors or not losses:
        raise InputError("errors and losses must each have at least one entry")
    loss_table = _stack_columns(losses, "losses", names)
    error_table = _stack_columns(errors, "errors", names)
    if len(loss_table) != len(error_table):
        raise InputError(
            f"errors and losses must have the same number of predictors; got {len(error_table)} "
            f"and {len(loss_table)}"
        )
    members = None if groups is None else _check_groups(groups, len(loss_table))
    chain = maximum_dominance_set(loss_table, names=names)
    whole = _Correlations(np.concatenate([loss_table, error_table], axis=1), members)
    place = np.arange(len(chain), dtype=np.float64)[:, None]
    along = _Correlations(
        np.concatenate([place, error_table[chain]], axis=1),
        None if members is None else members[chain],
    )
    keys = list(errors)
    labels = [f"{measure}({bins})" for measure, bins in keys]
    first = len(losses)

    rows = []
    for measure in dict.fromkeys(measure for measure, _ in keys):
        own = [i for i, key in enumerate(keys) if key[0] == measure]
        for j, loss in enumerate(losses):
            rows += [whole.row(measure, "loss", (loss, labels[i]), (j, first + i)) for i in own]
        rows += [
            whole.row(measure, "bins", (labels[i], labels[j]), (first + i, first + j))
            for i, j in combinations(own, 2)
        ]
        rows += [
            along.row(measure, "dominance", (DOMINANCE_ORDER, labels[i]), (0, 1 + i)) for i in own
        ]
    return RankRobustness(
        rows=tuple(rows),
        chain=tuple(chain.tolist()),
        names=None if names is None else tuple(names),
        n=len(loss_table),
        n_groups=None if members is None else int(members.max()) + 1,
    )


class _Correlations:
    """The rank correlations of a table's columns with each other, and their intervals over groups
    of rows. `members` has the number of each row's group, or is None.
    """

    def __init__(self, table: Array, members: Index | None) -> None:
        self.n = len(table)
        nothing = np.full((table.shape[1],) * 2, math.nan)
        self.rho = spearman_table(table) if self.n > 1 else nothing
        self.n_groups = 0 if members is None else len(np.unique(members))
        if members is not None and self.n_groups > 1:
            self.variance = jackknife_variance(left_out_correlations(table, members))

    def row(
        self, measure: str, relation: Relation, names: tuple[str, str], at: tuple[int, int]
    ) -> RankCorrelation:
        """One rank correlation with its margin and interval, which are None where it is NaN.

        `names` are those of the two columns, `relation` says what they are to each other, and `at`
        are their places in the table.
        """
        rho = float(self.rho[at])
        if math.isnan(rho):
            return RankCorrelation(measure, relation, *names, None, None, self.n)
        low = high = None
        if self.n_groups > 1 and math.isfinite(self.variance[at]):
            low, high = correlation_interval(rho, float(self.variance[at]), self.n_groups - 1)
        margin = spearman_margin(rho, self.n)
        return RankCorrelation(measure, relation, *names, rho, margin, self.n, low, high)


def _check_groups(groups: ArrayLike, n: int) -> Index:
    """The number of each predictor's group, from 0."""
    if np.shape(groups) != (n,):
        raise InputError(
            f"groups must have {n} entries, one per predictor; got the shape {np.shape(groups)}"
        )
    members = as_groups(groups, n)
    if not members.any():
        raise InputError("groups must name two or more groups: one group gives no interval")
    return members


def _stack_columns(
    columns: Mapping[str, ArrayLike] | Mapping[tuple[str, int], ArrayLike],
    argument: str,
    names: Sequence[str] | None,
) -> Array:
    """Check the columns, and put them side by side: (predictors, columns).

    An InputError is raised for a column of another length. `argument` is the name in errors, and
    `names` are those of the predictors.
    """
    checked: list[Array] = []
    for key, values in columns.items():
        if np.ndim(values) != 1:
            raise InputError(
                f"{argument}[{key!r}] must be one column, (n,); got {np.shape(values)}"
            )
        column = pool_table(np.asarray(values)[:, None], f"{argument}[{key!r}]", names)
        if checked and len(column) != len(checked[0]):
            raise InputError(
                f"{argument}[{key!r}] must have {len(checked[0])} predictors, as the entry before "
                f"it; got {len(column)}"
            )
        checked.append(column)
    return np.concatenate(checked, axis=1)
