"""bayes_error(): the smallest classification error that any classifier can have, from votes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant._core.errors import InputError
from calibrant._core.typing import Array
from calibrant._core.validation import check_count, check_level, check_seed, public
from calibrant._data.arrays import to_array
from calibrant._data.checks import checked_weights
from calibrant._data.vote_rows import VoteRows, read_vote_rows
from calibrant._inference.bayes_error import (
    Debiased,
    debiased,
    plug_in,
    possible_limits,
)
from calibrant._inference.bootstrap import basic_limits
from calibrant._inference.few_events import poisson_limits, with_unseen
from calibrant._inference.means import influences, mean_limits
from calibrant._inference.numbers import FEW_EVENTS
from calibrant.results._bayes_error import BayesError

_PLAIN = "1 minus the largest share, BCa intervals"
_DEBIASED = (
    "bias of few votes removed by a Dirichlet model; BCa intervals that cover any population "
    "compatible with the votes"
)
_ISOTONIC = "shares corrected by isotonic regression of the labels, bootstrap of rows"
_ONE_VOTE = (
    "y_true has one vote per row, but agreement needs at least 2 votes on some rows. Give more "
    "votes, or give probabilities without votes="
)
_UNKNOWN = (
    "shares without votes= are taken as the true distributions; if they come from few votes, this "
    "estimate is too low"
)
_OF_SHARES = (
    "how well these shares separate the labels: at least the Bayes error, and equal to it if the "
    "shares rank the rows as the true probabilities do"
)


@public
def bayes_error(
    y_true: ArrayLike,
    *,
    debias: bool = True,
    votes: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    level: float = 0.95,
    n_resamples: int = 200,
    seed: int = 0,
) -> BayesError:
    r"""The smallest classification error that any classifier can have, from soft labels.

    .. math:: \frac{1}{W} \sum_i w_i \, (1 - \max_r q_{ir})

    where q is the distribution of the labels of a row: for two classes the mean of min(q, 1 - q).
    Range [0, 1 - 1/k].

    Shares of few votes are more extreme than the distributions that they were drawn from, and the
    mean above is then too low: with two votes per row by a third or more. `debias` removes this
    bias by a Dirichlet model with the same mean and the same chance that two votes on a row agree,
    in closed form. For other populations, part of the bias may remain: if some rows are tied
    between two classes and the others are certain, a third of the value with two votes and a
    quarter with five. The interval covers all populations.

    With `labels`, shares need not be the true distributions: an isotonic regression of the labels
    on the shares, class by class, corrects them first.

    Parameters
    ----------
    y_true : array-like of shape (n, k) or (n,)
        Counts of votes, a row for each item and a column for each class; or shares. (n,): shares of
        class 1, or with `votes` counts of it.
    debias : bool, default True
        Whether to remove the bias of few votes; it needs counts, or `votes`.
    votes : int or array-like of shape (n,), optional
        Number of votes behind each row of shares; counts need none.
    labels : array-like of shape (n,), optional
        Hard labels, one per row: class indices, or 0/1.
    sample_weight : array-like of shape (n,), optional
        Weight of each row, at least 0; every row counts 1 by default.
    level
        Level of the interval.
    n_resamples
        Number of resamples of rows for the interval with `labels`; otherwise none are drawn.
    seed
        Seed of these resamples.

    Returns
    -------
    BayesError
        A float, with `low` and `high` (both: `interval`), `plug_in` (the mean without correction),
        `method` and `note`.

    Raises
    ------
    InputError
        If `y_true` holds neither counts nor shares, if every row has a single vote, or if `labels`
        do not fit.

    Notes
    -----
    Two votes of a row disagree with probability ``1 - sum(q^2)``, which can be estimated without
    bias and is at least the row's error. It also bounds the error over all populations with the
    same votes: from identical rows to a mixture of certain rows and rows tied between classes. The
    interval covers this range, widened by BCa bootstrap intervals over rows (DiCiccio and Efron,
    1992). More rows cannot make it narrower than the range, but more votes can.

    References
    ----------
    Ishida et al. (2023), Is the performance of my deep network too good to be true?, ICLR,
    arXiv:2202.00395. Ushio, Ishida and Sugiyama (2025), arXiv:2505.20761.

    Examples
    --------
    >>> import calibrant as cal
    >>> found = cal.bayes_error([[3, 0], [2, 1], [0, 3], [1, 2]] * 25)
    >>> round(found, 3), round(found.plug_in, 3)
    (0.25, 0.167)
    >>> round(cal.bayes_error([[0.9, 0.1], [0.6, 0.4]] * 50), 3)
    0.25
    """
    level = check_level(level)
    check_count("n_resamples", n_resamples, 50)
    rows = read_vote_rows(y_true, votes)
    n = len(rows.shares)
    weights = np.ones(n)
    if sample_weight is not None:
        weights = checked_weights(to_array(sample_weight, "sample_weight"), n).astype(np.float64)
        _check_weights(weights)
    if labels is not None:
        hard = _hard_labels(labels, rows)
        return _isotonic_estimate(rows.shares, hard, weights, level, n_resamples, check_seed(seed))
    if rows.votes is None and (rows.shares.max(axis=1) == 1.0).all():
        raise InputError(_ONE_VOTE)
    if not debias or rows.votes is None:
        found, note = plug_in(rows.shares, weights), _UNKNOWN if rows.votes is None else ""
        return _estimate_with_limits(found, rows, weights, level, _PLAIN, note)
    _check_several_votes(rows.votes, weights)
    found = debiased(rows.counts, weights)
    bounds = possible_limits(rows.counts, weights, level)
    single = int(np.count_nonzero(rows.votes == 1))
    note = f"{single} rows have one vote, which cannot show disagreement" if single else ""
    return _estimate_with_limits(found, rows, weights, level, _DEBIASED, note, bounds)


def _check_weights(weights: Array) -> None:
    """Raise an InputError unless weights are finite and at least 0, and some are above 0."""
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.sum() > 0):
        raise InputError(
            "sample_weight must hold finite numbers of at least 0, not all of them 0; got numbers "
            f"from {weights.min():g} to {weights.max():g}"
        )


def _check_several_votes(votes: NDArray[np.int64], weights: Array) -> None:
    """Raise an InputError unless some row with a positive weight has two votes or more."""
    if not (weights[votes > 1] > 0).any():
        raise InputError(_ONE_VOTE)


def _estimate_with_limits(
    found: Debiased,
    rows: VoteRows,
    weights: Array,
    level: float,
    method: str,
    note: str,
    bounds: tuple[float, float] | None = None,
) -> BayesError:
    """The result of `bayes_error`: the point estimate `found` with a confidence interval.

    `bounds` contain every value that the few votes allow; the interval is widened to contain them.
    None widens nothing. `method` and `note` are texts of the result.
    """
    parts = influences(found.row_values, weights, None)
    low, high, _ = mean_limits(parts, level)
    most = 1.0 - 1.0 / rows.shares.shape[1]
    ends = found.value + np.array([low, high])
    if bounds is not None:
        ends = np.array([min(ends[0], bounds[0]), max(ends[1], bounds[1])])
        # With hardly any disagreeing vote the sample variance is unreliable.
        ends[1] = max(ends[1], _disagreement_limit(rows.counts, level))
    low, high = with_unseen(found.value, (ends[0], ends[1]), (0.0, most), parts.units, level)
    return BayesError(
        found.value, float(low), float(high), level, found.plug_in, method, note, len(weights)
    )


def _disagreement_limit(counts: NDArray[np.int64], level: float) -> float:
    """Upper Poisson limit of disagreeing votes per row; 0 if FEW_EVENTS or more disagree.

    A vote disagrees if it is not for its row's most frequent class. `counts` are votes, (rows,
    classes); rows of a single vote do not count.
    """
    votes = counts.sum(axis=1)
    several = votes > 1
    against = int((votes - counts.max(axis=1))[several].sum())
    if against >= FEW_EVENTS:
        return 0.0
    return poisson_limits(against, level)[1] / max(int(np.count_nonzero(several)), 1)


def _hard_labels(labels: Any, rows: VoteRows) -> NDArray[np.int64]:
    """Check that labels are class indices, and return them as integers, (n,)."""
    n, k = rows.shares.shape
    hard = to_array(labels, "labels")
    if hard.shape != (n,) or hard.dtype.kind not in "iufb":
        raise InputError(
            f"labels must be {n} class indices, one for each row of y_true; got the shape "
            f"{hard.shape}, {hard.dtype}"
        )
    bad = ~((hard >= 0) & (hard < k) & (hard == np.floor(hard)))
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"labels[{row}] is {hard[row].item()!r}: labels must be class indices from 0 to {k - 1}"
        )
    return hard.astype(np.int64)


def _isotonic_estimate(
    shares: Array,
    hard: NDArray[np.int64],
    weights: Array,
    level: float,
    n_resamples: int,
    seed: int,
) -> BayesError:
    """The Bayes error from vote shares that isotonic regressions on hard labels have corrected.

    `hard` has the class index of each row. The limits come from a bootstrap of the rows.
    """
    rng = np.random.default_rng(seed)
    fit = IsotonicShares(shares, hard)
    value = plug_in(fit.corrected(weights), weights).value
    n = len(shares)
    drawn = []
    for _ in range(n_resamples):
        times = rng.multinomial(n, np.full(n, 1.0 / n)) * weights
        if times.sum() > 0:
            drawn.append(plug_in(fit.corrected(times), times).value)
    low, high = basic_limits(value, np.array(drawn), level)
    most = 1.0 - 1.0 / shares.shape[1]
    ends = np.clip([low, high], 0.0, most)
    plain = plug_in(shares, weights).value
    return BayesError(value, float(ends[0]), float(ends[1]), level, plain, _ISOTONIC, _OF_SHARES, n)


class IsotonicShares:
    """Shares of votes, corrected by an isotonic regression of hard labels for each class.

    The corrected shares of a row are divided by their sum, so that they sum to 1.
    """

    def __init__(self, shares: Array, hard: NDArray[np.int64]) -> None:
        self.shape = shares.shape
        # With two classes only one is fitted; the other is its complement.
        self.classes = [1] if shares.shape[1] == 2 else list(range(shares.shape[1]))
        self.hits = [np.asarray(hard == r, dtype=np.float64) for r in self.classes]
        # Distinct shares, and which of them each row has: the order is the same in every resample.
        self.levels = [np.unique(shares[:, r], return_inverse=True) for r in self.classes]

    def corrected(self, weights: Array) -> Array:
        """The corrected shares, (rows, classes), from regressions with these row weights."""
        from scipy.optimize import isotonic_regression

        out = np.empty(self.shape)
        for r, hits, (levels, index) in zip(self.classes, self.hits, self.levels, strict=True):
            mass = np.bincount(index, weights, len(levels))
            some = mass > 0
            means = np.bincount(index, weights * hits, len(levels))[some] / mass[some]
            fitted = isotonic_regression(means, weights=mass[some]).x
            out[:, r] = np.interp(levels, levels[some], np.clip(fitted, 0.0, 1.0))[index]
        if self.shape[1] == 2:
            out[:, 0] = 1.0 - out[:, 1]
            return out
        totals = out.sum(axis=1, keepdims=True)
        even = np.full_like(out, 1.0 / self.shape[1])
        return np.divide(out, totals, out=even, where=totals > 0)
