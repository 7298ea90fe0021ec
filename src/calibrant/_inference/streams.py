"""Tests on the bin table of a stream, without its rows: the noise floor, evidence against
calibration, and whether two streams differ.

They need rows without weights: a bin table does not hold enough of weighted rows.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from calibrant._core.bin_tables import FIELDS, BinTable
from calibrant._core.typing import Array, Counts, Mask
from calibrant._inference.budget import STREAM_DRAWS
from calibrant._inference.numbers import BETS, FEW_EVENTS, LEAST_AFTER, LEAST_VARIANCE
from calibrant._inference.rounding import FLAT
from calibrant._inference.tails import all_bins_tail, upper_tail


def counts_once(table: BinTable) -> bool:
    """Whether every row behind a bin table of one probability a row has the weight 1."""
    n, w, w2 = (table.sums[0, :, j] for j in range(3))
    return bool((w == n).all() and (w2 == n).all())


@dataclass(frozen=True)
class StreamFloor:
    """The noise floor of a measure: the 95 % quantile that it has if the predictions are right, the
    p-value of the observed value, and the mean that it has if they are right.
    """

    upper: float
    p_value: float
    mean: float = math.nan


NO_FLOOR = StreamFloor(math.nan, math.nan)


def noise_floor(
    table: BinTable, statistic: Callable[[BinTable], Array], value: float, *, seed: int = 0
) -> StreamFloor:
    """The noise floor of a binned measure whose observed value is `value`, from draws of its
    distribution if the predictions are right. `statistic` computes it for every class of a bin
    table.

    A bin's number of events is then Poisson binomial with mean ``sum u`` and variance ``sum u (1 -
    u)`` over its predictions u. It is drawn as a binomial of that mean whose number of trials
    varies, so that the variance is right on average.
    """
    w, mean, squares = table.sum_w[0], table.sum_wu[0], table.sum_wu2[0]
    # The rarer outcome is drawn: its variance hardly depends on how trials are rounded.
    flipped = 2.0 * mean > w
    rare = np.where(flipped, w - mean, mean)
    rare_squares = np.where(flipped, w - 2.0 * mean + squares, squares)
    # The seed depends on the table, so that the errors of draws differ from window to window.
    counts = np.stack([w, table.sum_wz[0]]).round().astype(np.int64)
    rng = np.random.default_rng((seed, 5, zlib.crc32(counts.tobytes())))
    n = _trials(np.maximum(rare, 0.0), rare_squares, w, rng)
    rate = np.divide(rare, n, out=np.zeros(n.shape), where=n > 0)
    drawn_rare = rng.binomial(n, np.clip(rate, 0.0, 1.0))
    outcomes = np.where(flipped, w - drawn_rare, drawn_rare)
    sums = np.repeat(table.sums, STREAM_DRAWS, axis=0)
    for field in ("sum_wz", "sum_wz2", "sum_w2z"):
        sums[:, :, FIELDS.index(field)] = outcomes
    drawn = statistic(BinTable(sums, np.repeat(table.dropped, STREAM_DRAWS, axis=0)))
    events = np.where(flipped, w - table.sum_wz[0], table.sum_wz[0])
    p_value = max(upper_tail(drawn, value), all_bins_tail(events, rare, n.max(axis=0)))
    return StreamFloor(float(np.quantile(drawn, 0.95)), p_value, float(np.mean(drawn)))


def _trials(mean: Array, squares: Array, rows: Array, rng: np.random.Generator) -> Counts:
    """Numbers of trials, (draws, bins), for which binomials with the `mean` of each bin have the
    right variance on average over draws.

    By bin, `mean` is the sum of the predictions u, `squares` that of u^2, and `rows` the number of
    rows.
    """
    exact = np.divide(mean * mean, squares, out=np.zeros_like(mean), where=squares > 0)
    exact = np.clip(exact, mean, np.maximum(rows, mean))
    below = np.maximum(np.floor(exact), 1.0)
    # One more with a probability that makes the mean of 1 / n that of the exact number.
    more = (1.0 / below - 1.0 / np.maximum(exact, below)) * below * (below + 1.0)
    n = below + (rng.random((STREAM_DRAWS, mean.size)) < more)
    return np.where(rows > 0, np.maximum(n, np.ceil(mean)), 0.0).astype(np.int64)


def running_e_values(tables: Sequence[BinTable | None]) -> list[float]:
    """The e-value against calibration after each window; a table is None for a window without rows.

    It is the mean of two e-values: one of the bins of all windows together, for a fault that stays,
    and one that is the product over windows, for a change after a long calm. If predictions are
    calibrated, it ever reaches 1 / alpha with a probability of at most alpha, however often one
    looks (Arnold, Henzi and Ziegel, 2023, arXiv:2109.11761).
    """
    out, pooled, product = [], None, 0.0
    for table in tables:
        if table is not None:
            pooled = table if pooled is None else pooled + table
            product += log_e_value(table)
        of_pooled = 0.0 if pooled is None else log_e_value(pooled)
        # Capped, since the exponential would overflow.
        out.append(math.exp(min(float(np.logaddexp(of_pooled, product)) - math.log(2.0), 700.0)))
    return out


def log_e_value(table: BinTable) -> float:
    """The logarithm of the e-value of a table against calibration.

    Let ``R = sum (z - u)`` and ``V = sum u (1 - u)`` over the predictions u and outcomes z of one
    bin or of all. If outcomes follow the predictions, ``exp(l R - V (e^l - 1 - l))`` has an
    expectation of at most 1 for every bet l (Bennett), and so has the same with -R. So has the mean
    over bins, both signs and a few bets l.
    """
    residual = -table.residual[0]
    variance = np.maximum(table.sum_wu[0] - table.sum_wu2[0], 0.0)
    # The sum over all bins weighs as much as all single bins, empty ones included.
    r, v = np.append(residual, residual.sum()), np.append(variance, variance.sum())
    weights = np.append(np.full(residual.size, 0.5 / residual.size), 0.5)
    bets = np.array(BETS)[:, None, None]
    signs = np.array([1.0, -1.0])[None, :, None]
    logs = bets * signs * r - v * (np.expm1(bets) - bets)
    top = float(logs.max())
    return top + math.log(float((np.exp(logs - top) * weights).sum(axis=2).mean()))


def corrected_e_values(e_values: Array) -> Array:
    """E-values corrected for their number, (..., k) for k hypotheses: each one's least mean with
    others.

    The mean over all hypotheses that are true is an e-value however they depend on each other, and
    no corrected e-value of a true one is larger: the chance that any of those ever reaches 20 is at
    most 5 % (closed testing by means; Vovk and Wang, 2021, arXiv:1912.06116).
    """
    order = np.argsort(e_values, axis=-1)
    ascending = np.take_along_axis(e_values, order, axis=-1)
    # Smaller ones lower the mean, and larger ones never do: j of them, the j smallest.
    below = np.concatenate(
        [np.zeros((*e_values.shape[:-1], 1)), np.cumsum(ascending, axis=-1)[..., :-1]], axis=-1
    )
    least = ascending.copy()
    for rank in range(1, e_values.shape[-1]):
        means = (below[..., 1 : rank + 1] + ascending[..., rank, None]) / np.arange(2, rank + 2)
        least[..., rank] = np.minimum(least[..., rank], means.min(axis=-1))
    out = np.empty_like(least)
    np.put_along_axis(out, order, least, axis=-1)
    return out


def shift_of(now: BinTable, then: BinTable) -> float:
    """The change of the mean gap (mean target less mean prediction) from the table `then` to `now`.

    Gaps are compared bin by bin and weighted by the rows of `now`, so that a change of the
    predictions alone is no shift. NaN where no bin has rows in both.
    """
    w, before = now.sum_w[0], then.sum_w[0]
    both = (w > 0) & (before > 0)
    if not both.any():
        return math.nan
    w, before = w[both], before[both]
    change = then.residual[0][both] / before - now.residual[0][both] / w
    return float((w * change).sum() / w.sum())


def p_of_change(now: BinTable, then: BinTable, *, soft: bool) -> float:
    """The p-value of the hypothesis that two streams have the same gap (mean target less mean
    prediction) in every bin; NaN where rows are too few.

    It is twice the smaller of two p-values: of the mean shift, which finds a common change early,
    and of a chi-square of the bins' differences, which finds any. The variance of a residual is
    ``phi u (1 - u)`` for the prediction u, with one phi for a bin in both streams, so that
    predictions that move within their bin raise no alarm.
    """
    sums = now.sums[0], then.sums[0]
    known = [p for p in (_p_of_shift(*sums, soft), _p_of_bins(*sums, soft)) if not math.isnan(p)]
    return min(1.0, len(known) * min(known)) if known else math.nan


def _p_of_shift(now: Array, then: Array, soft: bool) -> float:
    """The p-value of the mean change of gaps (mean target less prediction), weighted by the rows of
    `now`; NaN where rows are too few. `now` and `then` are sums by bin, (bins, fields).
    """
    both = (now[:, 0] > 0) & (then[:, 0] > 0)
    now, then = now[both], then[both]
    # Whether the rows of all bins together suffice for a normal approximation.
    if not _enough(now.sum(axis=0)[None], then.sum(axis=0)[None], soft, LEAST_VARIANCE)[0]:
        return math.nan
    variances = _variances(now, then)
    n, m = now[:, 0], then[:, 0]
    shift = (n * _differences(now, then)).sum()
    variance = (variances[0] + variances[1] * (n / m) ** 2).sum()
    return math.erfc(abs(shift) / math.sqrt(2.0 * variance)) if variance > 0 else math.nan


def _p_of_bins(now: Array, then: Array, soft: bool) -> float:
    """The p-value of a chi-square of the changes of all bins' gaps (mean target less prediction);
    NaN where rows are too few. `now` and `then` are sums by bin, (bins, fields); small bins are
    merged into one.
    """
    small = ~_enough(now, then, soft, LEAST_VARIANCE)
    if small.any():
        now, then = (np.vstack([part[~small], part[small].sum(axis=0)]) for part in (now, then))
    kept = _enough(now, then, soft, LEAST_AFTER)
    if not kept.any():
        return math.nan
    now, then = now[kept], then[kept]
    variances = _variances(now, then)
    variance = variances[0] / now[:, 0] ** 2 + variances[1] / then[:, 0] ** 2
    from scipy.special import chdtrc

    return float(chdtrc(int(kept.sum()), (_differences(now, then) ** 2 / variance).sum()))


def _differences(now: Array, then: Array) -> Array:
    """The change of each bin's gap (mean target less mean prediction) from `then` to `now`,
    (bins,); both are sums by bin, (bins, fields).
    """
    return _residual(then) / then[:, 0] - _residual(now) / now[:, 0]


def _residual(sums: Array) -> Array:
    """The sum of prediction less target of each bin, (bins,), from sums by bin, (bins, fields)."""
    return sums[:, FIELDS.index("sum_wu")] - sums[:, FIELDS.index("sum_wz")]


def _variances(first: Array, second: Array) -> tuple[Array, Array]:
    """The variance of each bin's sum of residuals in the first stream, and in the second, (bins,)
    each; the streams are sums by bin, (bins, fields).
    """
    both = first + second
    n = np.maximum(both[:, 0], 1.0)
    squares = both[:, 5] - 2.0 * both[:, 6] + both[:, 7]
    observed = np.maximum(squares - _residual(both) ** 2 / n, 0.0) / np.maximum(n - 1.0, 1.0)
    nominal = [s[:, 3] - s[:, 5] + FLAT * s[:, 0] for s in (first, second)]
    total = nominal[0] + nominal[1]
    phi = np.divide(observed * n, total, out=np.zeros_like(total), where=total > 0)
    # Residuals of labels that equal the predictions are rounding errors.
    phi = np.where(observed > 1e-12, phi, 0.0)
    return phi * nominal[0], phi * nominal[1]


def _enough(first: Array, second: Array, soft: bool, least: float) -> Mask:
    """Whether each bin has enough rows in both streams for its sum to be nearly normal, (bins,): a
    variance of at least `least` or, with soft labels, `FEW_EVENTS` rows.
    """
    variances = np.minimum(*_variances(first, second))
    if soft:
        rows = np.minimum(first[:, 0], second[:, 0]) >= FEW_EVENTS
        return np.asarray(rows & (variances > 0))
    return np.asarray(variances >= least)
