"""Logit-smoothed errors: integrals over the logit grid, and their exact or sampled versions.

``integral |f|`` is a sum over nodes plus a term for every change of sign, where |f| has a kink that
the sum does not see.

h is the logit of a row's prediction, z its target and w its weight; t is a point on the logit scale
and rho(t) is sigmoid(t). Sigma is the scale of the noise that logits are smoothed with: the
standard deviation of Gaussian noise, or the width of uniform noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from calibrant._core.grid import LogitGrid
from calibrant._core.typing import Array, Index

# The default bandwidth of LS-ECE: the same for every model, so that values can be compared.
LS_SIGMA = 0.1
# The Gaussian is 0 for all purposes at this many standard deviations.
TAIL = 9.0
# Nodes per sigma on which mass is deposited: the deposit's own error falls with their fourth power.
NODES_PER_SIGMA = 32
# With wider noise the grid would grow too large; `_wide_noise_integral` takes its place.
WIDE_SIGMA = 64.0
# The sigmoid is 0 or 1 to the last digit beyond this logit.
SIGMOID_ENDS = 40.0
# Uniform noise narrower or wider than this is in its limit to the last digit: the error over
# distinct logits, or 1/2.
LEAST_WIDTH, MOST_WIDTH = 1e-200, 1e200
# Nodes per sigma (or per unit of the sigmoid) at which the smoothed integrand is summed: fewer,
# because smoothing leaves almost no high frequencies, and kinks are handled separately.
SUMMED_PER_SIGMA = 16


def integral_of_absolute(f: Array, spacing: float) -> float:
    """The integral of |f| over nodes of equal spacing, f being 0 or even beyond both ends.

    A plain sum is exact to all orders where f is smooth, but |f| has a kink wherever f changes
    sign. The Euler-Maclaurin terms of a kink at the fraction `at` of its cell are Bernoulli
    polynomials times the jumps of the derivatives there; the cubic through the four nodes around it
    gives both.
    """
    size = np.abs(f)
    total = float(size.sum())
    j = np.flatnonzero((f[:-1] >= 0) != (f[1:] >= 0))
    # Where there is no mass f is rounding noise of either sign, in thousands of nodes.
    j = j[size[j] + size[j + 1] > 1e-16 * total]
    if not j.size:
        return spacing * total
    # Beyond an end f goes on as its mirror image.
    f0, f1, f2, f3 = f[np.abs(j - 1)], f[j], f[j + 1], f[np.minimum(j + 2, 2 * f.size - 4 - j)]
    c1, c2, c3 = cubic_through(f0, f1, f2, f3)
    at = f1 / (f1 - f2)
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(2):
            step = f1 + at * (c1 + at * (c2 + at * c3))
            step /= c1 + at * (2.0 * c2 + 3.0 * at * c3)
            # A cubic that is flat where it should cross says nothing: the chord's crossing stays.
            at = np.where(np.abs(step) < 1.0, np.minimum(np.maximum(at - step, 0.0), 1.0), at)
    upward = 2.0 * np.where(f2 >= 0, 1.0, -1.0)
    first = upward * (c1 + at * (2.0 * c2 + 3.0 * at * c3))
    second = upward * (2.0 * c2 + 6.0 * c3 * at)
    third = upward * 6.0 * c3
    q = at * (at - 1.0)
    total += float(first @ (q + 1 / 6)) / 2
    total -= float(second @ (q * (at - 0.5))) / 6
    total += float(third @ (q * q - 1 / 30)) / 24
    return spacing * total


def cubic_through(f0: Any, f1: Any, f2: Any, f3: Any) -> tuple[Any, Any, Any]:
    """The cubic through the values at four neighbouring nodes, arrays or tensors: the coefficients
    of the first, second and third power of the distance from the second node.
    """
    return (
        f2 - f1 / 2.0 - f0 / 3.0 - f3 / 6.0,
        (f0 + f2) / 2.0 - f1,
        (f3 - f0) / 6.0 + (f1 - f2) / 2.0,
    )


def valid_convolution(values: Array, kernel: Array) -> Array:
    """The convolution where the kernel, the shorter of the two, lies within the values.

    The same steps as ``scipy.signal.fftconvolve(values, kernel, mode="valid")``, whose package
    takes longer to load than all else on a page.
    """
    from scipy import fft

    size = values.size + kernel.size - 1
    n = [fft.next_fast_len(size, real=True)]
    product = fft.rfftn(values, n) * fft.rfftn(kernel, n)
    return fft.irfftn(product, n)[kernel.size - 1 : values.size]


def logistic(t: Array) -> tuple[Array, Array]:
    """sigmoid(t) and sigmoid(-t), each with full precision: neither is computed as 1 less the
    other.
    """
    odds = np.exp(np.minimum(-t, 700.0))
    up = 1.0 / (1.0 + odds)
    return up, odds * up


class Spectrum(NamedTuple):
    """Noise that is smooth: the factor that it leaves of a frequency (times sigma), and the
    distance and the frequency, in units of sigma, beyond which nothing is left.
    """

    factor: Callable[[Array], Array]
    reach: float = TAIL
    highest: float = TAIL


GAUSSIAN = Spectrum(lambda frequency: np.exp(-0.5 * frequency**2))


def smoothed_logits(
    grid: LogitGrid, r: int, sigma: float, noise: Spectrum = GAUSSIAN, per_sigma: int = 0
) -> tuple[Array, Array, Array]:
    """Points t, and the smoothed sums of w z and of w (1 - z) there, for class r.

    All three are (points,). Only the stretch of the grid that holds mass is smoothed. The spectrum
    of the result is short: it is cut or padded to as many points as sigma needs, which interpolates
    between the nodes. The logit 0 is always a point: to exchange the labels 0 and 1 changes
    nothing.
    """
    from scipy import fft

    nonempty = (grid.plus[r] != 0) | (grid.minus[r] != 0)
    first, last = int(nonempty.argmax()), nonempty.size - 1 - int(nonempty[::-1].argmax())
    wanted = min(sigma, 1.0) / (per_sigma or SUMMED_PER_SIGMA)
    coarser = max(1, int(wanted / grid.spacing + 1e-9))
    finer = max(1, math.ceil(grid.spacing / wanted - 1e-9))
    pad = math.ceil(noise.reach * sigma / grid.spacing) + 4
    middle = (nonempty.size - 1) // 2
    pad += (first - pad - middle) % coarser
    size = coarser * fft.next_fast_len(-(-(last - first + 1 + 2 * pad) // coarser), real=True)
    masses = np.zeros((2, size))
    masses[0, pad : pad + last - first + 1] = grid.plus[r, first : last + 1]
    masses[1, pad : pad + last - first + 1] = grid.minus[r, first : last + 1]
    n_points, spacing = size * finer // coarser, grid.spacing * coarser / finer
    step = 2.0 * np.pi / (size * grid.spacing)
    n_left = min(size // 2, n_points // 2, math.ceil(noise.highest / (sigma * step))) + 1
    damping = noise.factor(sigma * step * np.arange(n_left)) / spacing
    smooth = fft.irfft(fft.rfft(masses, axis=1)[:, :n_left] * damping, n=n_points, axis=1)
    t = (first - pad - middle) * grid.spacing + np.arange(n_points) * spacing
    return t, smooth[0], smooth[1]


def ls_ece_of_grid(grid: LogitGrid, sigma: float) -> float:
    """LS-ECE with Gaussian noise of standard deviation sigma, the mean over classes."""
    if sigma <= WIDE_SIGMA:
        return smoothed_error(grid, sigma)
    integrals = [_wide_noise_integral(grid, r, sigma) for r in range(grid.total_weight.size)]
    return float(np.mean(integrals / grid.total_weight))


def smoothed_error(
    grid: LogitGrid,
    sigma: float,
    noise: Spectrum = GAUSSIAN,
    rho: Callable[[Array], tuple[Array, Array]] = logistic,
    per_sigma: int = 0,
) -> float:
    """LS-ECE with smooth noise, the mean over classes. `rho` gives the prediction that belongs to a
    point of the grid, and 1 less it.
    """
    values = []
    for r, total in enumerate(grid.total_weight):
        t, plus, minus = smoothed_logits(grid, r, sigma, noise, per_sigma)
        up, down = rho(t)
        # z - rho(t) is split into a term for events and one for non-events, so that nothing cancels
        # at the ends.
        difference = plus * down - minus * up
        values.append(integral_of_absolute(difference, float(t[1] - t[0])) / total)
    return float(np.mean(values))


def _wide_noise_integral(grid: LogitGrid, r: int, sigma: float) -> float:
    """The integral of LS-ECE of class r, before division by the weight, for very wide noise.

    Beyond the grid the sigmoid is 0 or 1, and the integral is the noise's own tail. On the grid
    masses are convolved with the noise directly: nothing grows with sigma.
    """
    from scipy.special import ndtr

    plus, minus = grid.plus[r], grid.minus[r]
    middle = (plus.size - 1) // 2
    h = (np.arange(plus.size) - middle) * grid.spacing
    # Where the grid ends before the sigmoid does, as with clipped predictions, points go on.
    more = max(0, math.ceil((SIGMOID_ENDS - h[-1]) / grid.spacing))
    end = middle + more
    t = np.arange(-end, end + 1) * grid.spacing
    away = np.arange(-end - middle, end + middle + 1) * grid.spacing
    kernel = np.exp(-0.5 * (away / sigma) ** 2) / (sigma * math.sqrt(2.0 * math.pi))
    smooth = [valid_convolution(kernel, mass) for mass in (plus, minus)]
    up, down = logistic(t)
    f = smooth[0] * down - smooth[1] * up
    # The sum counts the end nodes in full: half of each, and the term of the slope, are subtracted.
    inside = integral_of_absolute(f, grid.spacing)
    inside -= 0.5 * grid.spacing * (abs(f[0]) + abs(f[-1]))
    slopes = np.abs(f[[0, 1, 2, -3, -2, -1]]) @ np.array([3.0, -4.0, 1.0, 1.0, -4.0, 3.0]) / 2.0
    inside -= grid.spacing * float(slopes) / 12.0
    below = plus @ ndtr((t[0] - h) / sigma)
    above = minus @ ndtr((h - t[-1]) / sigma)
    return float(inside + below + above)


def ls_ece_uniform(h: Array, z: Array, w: Array, sigma: float, *, in_order: bool = False) -> float:
    """LS-ECE with noise uniform on [-sigma/2, sigma/2], in closed form.

    With `in_order` the logits h are sorted already. Each row has an interval of the width sigma
    about its logit. Between neighbouring ends of these intervals the same rows take part, and the
    integrand is Z (1 - rho(t)) - N rho(t) with Z and N their sums of w z and w (1 - z).
    """
    sigma = min(max(sigma, LEAST_WIDTH), MOST_WIDTH)
    if not in_order:
        order = np.argsort(h, kind="stable")
        h, z, w = h[order], z[order], w[order]
    rows, signs = _sorted_ends(h, sigma)
    a = h[rows] - signs * (sigma / 2)
    # The lengths between neighbouring ends, from differences: sums of h and sigma lose digits.
    d = np.maximum(np.diff(h[rows]) - np.diff(signs) * (sigma / 2), 0.0)
    inside = np.cumsum(signs).astype(np.int64)[:-1]
    positive = np.where(inside > 0, np.cumsum(signs * (w * z)[rows])[:-1], 0.0)
    negative = np.where(inside > 0, np.cumsum(signs * (w * (1.0 - z))[rows])[:-1], 0.0)
    positive, negative = np.maximum(positive, 0.0), np.maximum(negative, 0.0)
    some = (d > 0.0) & ((positive > 0.0) | (negative > 0.0))
    positive, negative, a, d = positive[some], negative[some], a[:-1][some], d[some]
    # Where rho crosses Z / (Z + N) the integrand changes sign.
    with np.errstate(divide="ignore"):
        crossing = np.clip(np.log(positive) - np.log(negative) - a, 0.0, d)
    total = np.abs(_integrate_intervals(positive, negative, a, crossing)).sum()
    rest = np.flatnonzero(crossing < d)
    a, d = a[rest] + crossing[rest], d[rest] - crossing[rest]
    total += np.abs(_integrate_intervals(positive[rest], negative[rest], a, d)).sum()
    return float(total / sigma / w.sum())


def _sorted_ends(h: Array, sigma: float) -> tuple[Index, Array]:
    """The ends of the intervals of width sigma about sorted logits h, in increasing order: the row
    of each end, and its sign, (2n,) each.

    An end is h - sigma/2 of a row (sign 1) or h + sigma/2 (sign -1). Ends are compared by
    differences of h, which are exact where sigma is small.
    """
    n = h.size
    reach = h + sigma
    n_before = np.searchsorted(h, reach, side="right")
    # `reach` is rounded: a logit that equals it may lie a little farther away than sigma.
    beyond = h[n_before - 1] - h > sigma
    n_before = np.where(beyond, np.searchsorted(h, reach, side="left"), n_before)
    rows = np.empty(2 * n, dtype=np.intp)
    signs = np.ones(2 * n)
    at = np.arange(n) + n_before
    signs[at] = -1.0
    rows[at] = np.arange(n)
    rows[signs > 0] = np.arange(n)
    return rows, signs


def _integrate_intervals(positive: Array, negative: Array, a: Array, d: Array) -> Array:
    """The integral of Z (1 - rho) - N rho over each interval from a to a + d, where rho is the
    sigmoid.

    `positive` is Z and `negative` is N. The integral of rho is log(1 + rho(a) (e^d - 1)), which
    keeps its digits where d is small.
    """
    out = np.zeros_like(a)
    here = np.flatnonzero((d > 0.0) & (d < 1.0))
    up, down = logistic(a[here])
    rho, rest = np.log1p(up * np.expm1(d[here])), -np.log1p(down * np.expm1(-d[here]))
    out[here] = positive[here] * rest - negative[here] * rho
    far = np.flatnonzero(d >= 1.0)
    a, b = a[far], a[far] + d[far]
    rho, rest = _softplus(b) - _softplus(a), _softplus(-a) - _softplus(-b)
    out[far] = positive[far] * rest - negative[far] * rho
    return out


def _softplus(t: Array) -> Array:
    """log(1 + e^t), without overflow."""
    return np.logaddexp(0.0, t)


def ls_ece_monte_carlo(
    h: Array,
    z: Array,
    w: Array,
    sigma: float,
    noise: str,
    n_draws: int,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """The paper's estimate of LS-ECE from draws of a row and noise, and its standard error.

    A point t is drawn as a random row's logit plus noise, `n_draws` times; the estimate is the mean
    of |E[z | t] - rho(t)|, with the conditional mean by the noise's own kernel. With one draw the
    standard error is NaN.
    """
    p = w / w.sum()
    rows = rng.choice(h.size, size=n_draws, p=p)
    off = sigma * (
        rng.standard_normal(n_draws) if noise == "gaussian" else rng.random(n_draws) - 0.5
    )
    gaps = np.empty(n_draws)
    step = max(1, (1 << 22) // h.size)
    for start in range(0, n_draws, step):
        here = slice(start, start + step)
        # Distances come from differences of logits: noise below their last digit is then kept.
        away = np.abs(h[rows[here], None] - h + off[here, None])
        if noise == "gaussian":
            least = away.min(axis=1, keepdims=True)  # the nearest weighs 1: no underflow
            with np.errstate(over="ignore"):  # infinitely far: a weight of 0
                kernel = np.exp((least - away) / sigma * ((least + away) / (2 * sigma))) * p
        else:
            kernel = (away <= sigma / 2) * p
        mean_z = kernel @ z / kernel.sum(axis=1)
        gaps[here] = np.abs(mean_z - logistic(h[rows[here]] + off[here])[0])
    spread = float(gaps.std(ddof=1)) if n_draws > 1 else math.nan
    return float(gaps.mean()), spread / math.sqrt(n_draws)


# The number of points of a curve, which is more than a screen can show.
N_POINTS = 513


def logit_curve(grid: LogitGrid, sigma: float) -> dict[str, Array]:
    """The integrand of LS-ECE, point by point on the logit scale, for the first class.

    The columns are "logit", "prediction" (its sigmoid), the smoothed "density" of logits and the
    "mean_target" there, and "difference", the integrand before its absolute value is taken.
    """
    t, plus, minus = smoothed_logits(grid, 0, sigma)
    up, down = logistic(t)
    total = float(grid.total_weight[0])
    mass = plus + minus
    seen = np.flatnonzero(mass > 1e-12 * mass.max())
    keep = np.unique(np.linspace(seen[0], seen[-1], N_POINTS).astype(np.intp))
    return {
        "logit": t[keep],
        "prediction": up[keep],
        "density": mass[keep] / total,
        "mean_target": mean_targets(plus, mass, keep),
        "difference": (plus * down - minus * up)[keep] / total,
    }


def mean_targets(targets: Array, mass: Array, keep: Index) -> Array:
    """Mean targets at the nodes `keep` of a curve: smoothed sums of targets over smoothed weights
    (`mass`).

    They are NaN where there is no mass, as there may be between predictions that lie far apart.
    """
    nonempty = mass[keep] > 1e-12 * mass.max()
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(nonempty, np.clip(targets[keep] / mass[keep], 0.0, 1.0), np.nan)
