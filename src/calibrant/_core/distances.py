"""How whole distributions compare, row by row (Baan et al. 2022): distance, entropy, rank."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float64]


def total_variation(p: Rows, q: Rows) -> NDArray[np.float64]:
    """Half the sum of absolute differences of each pair of rows."""
    out: NDArray[np.float64] = 0.5 * np.abs(p - q).sum(axis=1)
    return out


def entropy(p: Rows) -> NDArray[np.float64]:
    """Entropy of each row, in nats; 0 log 0 is 0."""
    logs = np.log(p, out=np.zeros_like(p), where=p > 0)
    out: NDArray[np.float64] = -(p * logs).sum(axis=1)
    return out


def same_ranking(p: Rows, q: Rows) -> NDArray[np.float64]:
    """1 where every strict preference of the target row is kept strictly by the prediction, else 0.

    Classes that the target ranks equal may come in any order.
    """
    n, k = q.shape
    order = np.argsort(-q, axis=1, kind="stable")
    rows = np.arange(n)[:, None]
    ranked_q, ranked_p = q[rows, order], p[rows, order]
    # Between neighbours with a strict preference, all of the better ones must be above all of the
    # worse ones: the smallest prediction so far against the largest prediction to come.
    smallest_before = np.minimum.accumulate(ranked_p, axis=1)[:, : k - 1]
    largest_after = np.maximum.accumulate(ranked_p[:, ::-1], axis=1)[:, ::-1][:, 1:]
    strict = ranked_q[:, : k - 1] > ranked_q[:, 1:]
    kept = (~strict | (smallest_before > largest_after)).all(axis=1)
    return np.asarray(kept, dtype=np.float64)
