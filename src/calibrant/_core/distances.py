"""How whole distributions compare, row by row: distances, divergences, entropy, rank."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from calibrant._core.short_rows import row_sums
from calibrant._core.typing import Array

Rows = Array
# Up to this number of classes, comparing all pairs of them is faster than sorting every row.
_PAIRS_UP_TO = 5


def distances(
    p: Rows, q: Rows, *, floor: float, only: str | None = None, spacing: Rows | None = None
) -> dict[str, Array]:
    """Compare predicted distributions p (n, k) with target distributions q (n, k) row by row: a
    dict of arrays (n,) by the names in `loss_sums.FIELDS`. `only` names one comparison; the dict
    then holds it and perhaps others that share its computation.

    `floor` is the smallest prediction whose logarithm is taken; `spacing` (k - 1,) holds the
    distances between neighbouring classes, 1 by default.
    """
    out: dict[str, Array] = {}
    if only in (None, "distribution", "absolute"):
        out["distribution"] = total_variation(p, q)
        out["absolute"] = 2.0 * out["distribution"]
    if only in (None, "entropy", "entropy_signed"):
        out["entropy_signed"] = entropy(p) - entropy(q)
        out["entropy"] = np.abs(out["entropy_signed"])
    if only in (None, "rank"):
        out["rank"] = same_ranking(p, q)
    if only in (None, "jensen_shannon", "root_jensen_shannon"):
        out["jensen_shannon"] = jensen_shannon(p, q)
        out["root_jensen_shannon"] = np.sqrt(out["jensen_shannon"])
    if only in (None, "relative_entropy"):
        out["relative_entropy"] = kullback_leibler(p, q, floor)
    if only in (None, "transport"):
        out["transport"] = wasserstein(p, q, spacing)
    if only in (None, "top_distance"):
        rows, top = np.arange(len(p)), p.argmax(axis=1)
        out["top_distance"] = np.abs(p[rows, top] - q[rows, top])
    return out


def total_variation(p: Rows, q: Rows) -> Array:
    """The total variation distance of each pair of rows: half the sum of absolute
    differences, (n,).
    """
    return 0.5 * row_sums(np.abs(p - q))


def entropy(p: Rows) -> Array:
    """The entropy of each row in nats, (n,); 0 log 0 is 0."""
    return 0.0 - row_sums(_p_log_p(p))  # never -0


def same_ranking(p: Rows, q: Rows) -> Array:
    """1 where a prediction ranks the classes as the target does, else 0, (n,). If the target gives
    one class more than another, so must the prediction; classes that the target ranks equal may
    come in any order.
    """
    n, k = q.shape
    if k <= _PAIRS_UP_TO:
        every = np.ones(n, dtype=bool)
        for i, j in combinations(range(k), 2):
            every &= (q[:, i] <= q[:, j]) | (p[:, i] > p[:, j])
            every &= (q[:, j] <= q[:, i]) | (p[:, j] > p[:, i])
        return every.astype(np.float64)
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


def jensen_shannon(p: Rows, q: Rows) -> Array:
    """Jensen-Shannon divergence of each pair of rows, in nats: at least 0, at most log 2.

    With s = p + q and d = (p - q) / s an entry adds ``s / 4 ((1 + d) log(1 + d) + (1 - d) log(1 -
    d))``. Near d = 0 those two terms cancel, and the distance, a root, would show an error of 1e-16
    as one of 1e-8: there the same is written with an inverse tangent.
    """
    difference, s = (p - q).ravel(), (p + q).ravel()
    near = 2.0 * np.abs(difference) < s
    terms = np.zeros_like(s)
    at = np.flatnonzero(near)
    d = difference[at] / s[at]
    terms[at] = 2.0 * d * np.arctanh(d) + np.log1p(-d * d)
    at = np.flatnonzero(~near & (s > 0))
    both = s[at]
    terms[at] = _p_log_p(2.0 * p.ravel()[at] / both) + _p_log_p(2.0 * q.ravel()[at] / both)
    return 0.25 * row_sums((s * terms).reshape(p.shape))


def _p_log_p(p: Rows) -> Rows:
    """The product ``p log p`` for each entry, in nats; 0 log 0 is 0."""
    # (A logarithm of all entries is faster than one of some, `where` these are above 0.)
    return p * np.log(np.where(p > 0, p, 1.0))


def kullback_leibler(p: Rows, q: Rows, floor: float) -> Array:
    """The Kullback-Leibler divergence of each pair of rows in nats, ``sum_r q_r log(q_r / p_r)``,
    (n,). Each p below `floor` counts as `floor`. The divergence is at least 0 (Gibbs): a negative
    result of rounding becomes 0.
    """
    ratio = np.where(q > 0, q / np.maximum(p, floor), 1.0)
    return np.maximum(row_sums(q * np.log(ratio)), 0.0)


def wasserstein(p: Rows, q: Rows, spacing: Rows | None = None) -> Array:
    """The Wasserstein-1 (earth mover's) distance of each pair of rows over ordered classes, (n,):
    the mass that crosses from each class to the next, times their distance in `spacing` (1 by
    default).
    """
    crossing = np.abs(np.cumsum(p - q, axis=1)[:, :-1])
    return row_sums(crossing) if spacing is None else crossing @ spacing
