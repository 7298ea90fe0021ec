"""Pooled rows divided into folds at random, as rows are divided for cross-fitting."""

from __future__ import annotations

import numpy as np

from calibrant._core.typing import Array, Index

# Up to this many rows are dealt out exactly; the folds of more have sizes that vary by chance.
_MOST_DEALT = 10**9


def fixed_order(predictions: Array, targets: Array) -> Index:
    """An order of pooled rows, whatever the order that an engine returned them in: by kind of
    target, then by prediction. Cells of one kind have predictions that are apart.
    """
    kind = (targets > 0.0).astype(np.intp) + (targets >= 1.0)
    return np.lexsort((predictions, kind))


def deal_into_folds(
    n: Array,
    groups: Index | None,
    folds: int,
    rng: np.random.Generator,
    order: Index | None = None,
) -> tuple[Index, Index, Array]:
    """Split the rows of pooled rows, `n` each, into folds: the pooled row and the fold of every
    part, and the share of the pooled row that the part is. They are assigned in this `order`, by
    which a seed always gives the same folds.

    Rows of one pooled row are alike, so that their numbers in the folds are all that a division of
    rows decides. Rows of a cluster, where there are some, are in one fold.
    """
    if groups is not None:
        fold = rng.permutation(int(groups.max()) + 1)[groups] % folds
        return np.arange(n.size), fold, np.ones(n.size)
    order = np.arange(n.size) if order is None else order
    rows = np.rint(n[order]).astype(np.int64)
    dealt = np.empty((folds, n.size), dtype=np.int64)
    left, total = rows.copy(), int(rows.sum())
    if total < _MOST_DEALT:
        for j in range(folds - 1):
            size = (total - j + folds - 1) // folds  # row number i is in the fold i % folds
            dealt[j] = rng.multivariate_hypergeometric(left, size, method="marginals")
            left -= dealt[j]
    else:
        for j in range(folds - 1):
            dealt[j] = rng.binomial(left, 1.0 / (folds - j))
            left -= dealt[j]
    dealt[-1] = left
    fold, row = np.nonzero(dealt)
    return order[row], fold, dealt[fold, row] / rows[row]
