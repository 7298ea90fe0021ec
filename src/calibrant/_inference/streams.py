"""What a stream's bins can tell without its rows: the noise floor, and whether two differ.

Both need every row to count once: of weights the bins do not hold enough.
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
from calibrant._inference.numbers import BETS, LEAST_AFTER, LEAST_ROWS, LEAST_VARIANCE
from calibrant._inference.rounding import FLAT
from calibrant._inference.tails import all_bins_tail, upper_tail


def counts_once(table: BinTable) -> bool:
    """Whether every row of a scalar problem has the weight 1."""
    n, w, w2 = (table.sums[0, :, j] for j in range(3))
    return bool((w == n).all() and (w2 == n).all())


@dataclass(frozen=True)
class StreamFloor:
    """The 95 % point of a measure when the predictions are right, the chance of the value seen, and
    the mean.
    """

    upper: float
    p_value: float
    mean: float = math.nan


NO_FLOOR = StreamFloor(math.nan, math.nan)


def noise_floor(
    table: BinTable, statistic: Callable[[BinTable], Array], value: float, *, seed: int = 0
) -> StreamFloor:
    """What a binned measure shows when outcomes follow the predictions.

    A bin's outcomes then sum to a Poisson binomial with mean ``sum u`` and variance
    ``sum u (1 - u)``; they are drawn as binomials of that mean and, together, of that variance.
    """
    w, mean, squares = table.sum_w[0], table.sum_wu[0], table.sum_wu2[0]
    # The rarer of the two outcomes: its variance hardly depends on how trials are rounded.
    turned = 2.0 * mean > w
    rare = np.where(turned, w - mean, mean)
    rare_squares = np.where(turned, w - 2.0 * mean + squares, squares)
    # Draws of its own for every table, or what they err by would be the same in all windows.
    whole = np.stack([w, table.sum_wz[0]]).round().astype(np.int64)
    rng = np.random.default_rng((seed, 5, zlib.crc32(whole.tobytes())))
    n = _trials(np.maximum(rare, 0.0), rare_squares, w, rng)
    chance = np.divide(rare, n, out=np.zeros(n.shape), where=n > 0)
    drawn_rare = rng.binomial(n, np.clip(chance, 0.0, 1.0))
    outcomes = np.where(turned, w - drawn_rare, drawn_rare)
    sums = np.repeat(table.sums, STREAM_DRAWS, axis=0)
    for field in ("sum_wz", "sum_wz2", "sum_w2z"):
        sums[:, :, FIELDS.index(field)] = outcomes
    drawn = statistic(BinTable(sums, np.repeat(table.dropped, STREAM_DRAWS, axis=0)))
    seen = np.where(turned, w - table.sum_wz[0], table.sum_wz[0])
    p_value = max(upper_tail(drawn, value), all_bins_tail(seen, rare, n.max(axis=0)))
    return StreamFloor(float(np.quantile(drawn, 0.95)), p_value, float(np.mean(drawn)))


def _trials(mean: Array, squares: Array, rows: Array, rng: np.random.Generator) -> Counts:
    """Trials of binomials of this mean whose variances are those of the sums, on average over
    draws: (draws, bins).
    """
    exact = np.divide(mean * mean, squares, out=np.zeros_like(mean), where=squares > 0)
    exact = np.clip(exact, mean, np.maximum(rows, mean))
    below = np.maximum(np.floor(exact), 1.0)
    # As often one more as makes the mean of 1 / n that of the exact number.
    more = (1.0 / below - 1.0 / np.maximum(exact, below)) * below * (below + 1.0)
    n = below + (rng.random((STREAM_DRAWS, mean.size)) < more)
    return np.where(rows > 0, np.maximum(n, np.ceil(mean)), 0.0).astype(np.int64)


def running_e_values(tables: Sequence[BinTable | None]) -> list[float]:
    """The evidence against calibration in each window and all before it; None for one without rows.

    Half is bet on one fault that stays, on the bins of all windows together; half anew on each
    window, which finds a change after a long calm. For calibrated predictions either is a product
    of means of at most 1, and ever reaches 1 / alpha with a chance of at most alpha, however often
    one looks (Arnold, Henzi and Ziegel, 2023, arXiv:2109.11761).
    """
    out, together, anew = [], None, 0.0
    for table in tables:
        if table is not None:
            together = table if together is None else together + table
            anew += log_e_value(table)
        staying = 0.0 if together is None else log_e_value(together)
        # A number of this size is certainty; beyond it there would be infinity.
        out.append(math.exp(min(float(np.logaddexp(staying, anew)) - math.log(2.0), 700.0)))
    return out


def log_e_value(table: BinTable) -> float:
    """The logarithm of the evidence in a table against calibration.

    With outcomes that follow the predictions, ``exp(l R - V (e^l - 1 - l))`` has an expectation of
    at most 1 (Bennett), ``R = sum (z - u)`` and ``V = sum u (1 - u)`` being those of a bin or of
    all of them, for R of either sign. So has the mean over bins, signs and a few l.
    """
    moved = -table.residual[0]
    spread = np.maximum(table.sum_wu[0] - table.sum_wu2[0], 0.0)
    # All bins together weigh as much as the bins one by one, whichever of them hold rows.
    r, v = np.append(moved, moved.sum()), np.append(spread, spread.sum())
    weights = np.append(np.full(moved.size, 0.5 / moved.size), 0.5)
    bets = np.array(BETS)[:, None, None]
    signs = np.array([1.0, -1.0])[None, :, None]
    logs = bets * signs * r - v * (np.expm1(bets) - bets)
    top = float(logs.max())
    return top + math.log(float((np.exp(logs - top) * weights).sum(axis=2).mean()))


def shift_of(now: BinTable, then: BinTable) -> float:
    """How far mean target less mean prediction has moved, like compared with like.

    The change of each bin's gap, weighted as `now` has its rows: that other predictions are made
    now is no shift. NaN where no bin has rows in both.
    """
    w, before = now.sum_w[0], then.sum_w[0]
    both = (w > 0) & (before > 0)
    if not both.any():
        return math.nan
    w, before = w[both], before[both]
    change = then.residual[0][both] / before - now.residual[0][both] / w
    return float((w * change).sum() / w.sum())


def p_of_change(now: BinTable, then: BinTable, *, soft: bool) -> float:
    """The chance that streams with the same gaps, bin by bin, differ as much as these.

    Twice the smaller of two chances: that of the shift of all bins together, which sees a common
    change early, and that of a chi-square of the bins' differences, which sees any. The variance of
    a residual is taken as ``phi u (1 - u)`` with a bin's own phi, from both streams together:
    predictions may move within their bin without an alarm. NaN where there is too little to tell.
    """
    sums = now.sums[0], then.sums[0]
    known = [p for p in (_p_of_shift(*sums, soft), _p_of_bins(*sums, soft)) if not math.isnan(p)]
    return min(1.0, len(known) * min(known)) if known else math.nan


def _p_of_shift(now: Array, then: Array, soft: bool) -> float:
    both = (now[:, 0] > 0) & (then[:, 0] > 0)
    now, then = now[both], then[both]
    # Of all bins as one: whether there is enough for a normal law.
    if not _enough(now.sum(axis=0)[None], then.sum(axis=0)[None], soft, LEAST_VARIANCE)[0]:
        return math.nan
    variances = _variances(now, then)
    n, m = now[:, 0], then[:, 0]
    shift = (n * _differences(now, then)).sum()
    variance = (variances[0] + variances[1] * (n / m) ** 2).sum()
    return math.erfc(abs(shift) / math.sqrt(2.0 * variance)) if variance > 0 else math.nan


def _p_of_bins(now: Array, then: Array, soft: bool) -> float:
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
    """The change of each bin's gap, mean target less mean prediction."""
    return _residual(then) / then[:, 0] - _residual(now) / now[:, 0]


def _residual(sums: Array) -> Array:
    return sums[:, FIELDS.index("sum_wu")] - sums[:, FIELDS.index("sum_wz")]


def _variances(first: Array, second: Array) -> tuple[Array, Array]:
    """The variance of each bin's sum of residuals, in either stream."""
    both = first + second
    n = np.maximum(both[:, 0], 1.0)
    squares = both[:, 5] - 2.0 * both[:, 6] + both[:, 7]
    scatter = np.maximum(squares - _residual(both) ** 2 / n, 0.0) / np.maximum(n - 1.0, 1.0)
    nominal = [s[:, 3] - s[:, 5] + FLAT * s[:, 0] for s in (first, second)]
    total = nominal[0] + nominal[1]
    phi = np.divide(scatter * n, total, out=np.zeros_like(total), where=total > 0)
    # What rounding leaves of labels that are the predictions is not scatter.
    phi = np.where(scatter > 1e-12, phi, 0.0)
    return phi * nominal[0], phi * nominal[1]


def _enough(first: Array, second: Array, soft: bool, least: float) -> Mask:
    """Which bins hold enough in both streams."""
    variances = np.minimum(*_variances(first, second))
    if soft:
        rows = np.minimum(first[:, 0], second[:, 0]) >= LEAST_ROWS
        return np.asarray(rows & (variances > 0))
    return np.asarray(variances >= least)
