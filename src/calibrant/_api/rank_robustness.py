"""Rank robustness: does an error keep its order of predictors when only its bins change?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from calibrant._core.errors import InputError
from calibrant._core.typing import Array, Index
from calibrant._inference.ranks import (
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
) -> RankRobustness:
    r"""Rank correlations of errors with losses, with themselves at other bins, and with dominance.

    .. math:: \rho \pm 1.96 \, (1 - \rho^2) / \sqrt{N}

    For each measure there is a row for each loss and number of bins, then for each pair of numbers
    of bins, over all N predictors; then for each number of bins the correlation with the order of
    the maximum dominance set of all the losses, over its members. Higher is better: an error that
    keeps the order of the losses is near 1, one whose sign turns with its bins ranks by its bins.

    Parameters
    ----------
    errors : mapping of (str, int) to array-like of shape (N,)
        Value per predictor for each measure and number of bins.
    losses : mapping of str to array-like of shape (N,)
        Value per predictor for each loss.
    names : sequence of str, optional
        Names of the predictors, for messages and the result.

    Returns
    -------
    RankRobustness
        `rows` with every correlation and its margin, and the maximum dominance set (`chain`).

    Raises
    ------
    InputError
        If there are no errors or losses, or they are not of the same predictors.

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
    """
    if not errors or not losses:
        raise InputError("errors and losses must each have one entry or more")
    loss_table = _stack_columns(losses, "losses", names)
    error_table = _stack_columns(errors, "errors", names)
    if len(loss_table) != len(error_table):
        raise InputError(
            "errors and losses must be of the same predictors; got "
            f"{len(error_table)} and {len(loss_table)}"
        )
    chain = maximum_dominance_set(loss_table, names=names)
    n = len(loss_table)
    with_losses = spearman_table(loss_table, error_table)
    with_itself = spearman_table(error_table)
    with_order = _correlations_with_dominance(chain, error_table)
    keys = list(errors)
    labels = [f"{measure}({bins})" for measure, bins in keys]

    rows = []
    for measure in dict.fromkeys(measure for measure, _ in keys):
        own = [i for i, key in enumerate(keys) if key[0] == measure]
        for j, loss in enumerate(losses):
            rows += [
                _rank_correlation(measure, "loss", loss, labels[i], float(with_losses[j, i]), n)
                for i in own
            ]
        rows += [
            _rank_correlation(measure, "bins", labels[i], labels[j], float(with_itself[i, j]), n)
            for i, j in combinations(own, 2)
        ]
        rows += [
            _rank_correlation(
                measure, "dominance", DOMINANCE_ORDER, labels[i], with_order[i], len(chain)
            )
            for i in own
        ]
    return RankRobustness(
        rows=tuple(rows),
        chain=tuple(chain.tolist()),
        names=None if names is None else tuple(names),
        n=n,
    )


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


def _correlations_with_dominance(chain: Index, errors: Array) -> list[float]:
    """The rank correlation of each column of errors with the order of dominance.

    `chain` has the indices of the predictors in that order; all are NaN with fewer than two.
    """
    if len(chain) < 2:
        return [math.nan] * errors.shape[1]
    position = np.arange(len(chain), dtype=np.float64)[:, None]
    return [float(rho) for rho in spearman_table(position, errors[chain])[0]]


def _rank_correlation(
    measure: str, relation: Relation, first: str, second: str, rho: float, n: int
) -> RankCorrelation:
    """One rank correlation, rho, with its margin; both are None if rho is NaN.

    `first` and `second` name what is correlated, `relation` says what they are to each other, and n
    is the number of predictors.
    """
    if math.isnan(rho):
        return RankCorrelation(measure, relation, first, second, None, None, n)
    return RankCorrelation(measure, relation, first, second, rho, spearman_margin(rho, n), n)
