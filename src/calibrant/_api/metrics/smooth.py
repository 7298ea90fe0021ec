"""Smooth calibration errors as one-line functions: no bins, no jumps."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from calibrant._api.rows import as_source, note_two_columns
from calibrant._api.ties import settle_ties
from calibrant._core.arguments import Rows
from calibrant._core.binning import EqualWidth
from calibrant._core.errors import InputError, one_of
from calibrant._core.validation import check_count, check_eps, is_number, public
from calibrant._data.samples import Notion
from calibrant._data.source import Source
from calibrant._engines.arrays.streams import EPS
from calibrant._engines.dispatch import engine_of
from calibrant._measures.catalogue import Measure, catalogue
from calibrant._measures.kernel_ece import KERNELS
from calibrant._measures.smooth import LS_SIGMA, WIDE_SIGMA
from calibrant._measures.smooth_links import LINKS
from calibrant._summaries.samples import Summary, resolve_notion
from calibrant._summaries.smooth import NOISES, SmoothSummary, smallest_sigma, smallest_unit_sigma
from calibrant.results._reliability import ReliabilityTable
from calibrant.results._smooth_curve import N_CHECKED, SmoothCurve, bins_outside

# The most rows of which all pairs are compared.
MOST_PAIRED = 50_000
# The noises that are drawn as in the paper's figures.
DRAWN_NOISES = ("gaussian", "uniform")
# The largest bandwidth on the logit scale: wider noise would flatten any curve.
WIDEST_CURVE = 1000.0


@public
def ls_ece(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sigma: float | str = LS_SIGMA,
    noise: str = "gaussian",
    link: str = "logit",
    method: str = "exact",
    notion: str | None = None,
    ties: str = "first",
    eps: float = EPS,
    n_draws: int = 10_000,
    rng: np.random.Generator | None = None,
    **rows: Unpack[Rows],
) -> float:
    r"""Logit-smoothed ECE: the calibration error of predictions with noise added to their logits.

    .. math:: \int \Bigl| \frac{1}{W} \sum_i w_i K_\sigma(t - h_i) (z_i - \rho(t)) \Bigr| \, dt

    where h is the logit of the prediction, rho the sigmoid and K the density of the noise, Gaussian
    by default. It is continuous in the predictions; binned ECE is not. Range [0, 1], lower is
    better.

    Parameters
    ----------
    sigma : float or "schedule", default 0.1
        Width of the noise; the default is the same for every model, so values can be compared;
        `"schedule"` is ``n^(-1/3)``, with which LS-ECE estimates the true ECE consistently.
    noise : {"gaussian", "logistic", "uniform", "triangular", "laplace"}, default "gaussian"
        Shape of the noise. Gaussian, logistic and Laplace noise have the scale sigma, uniform and
        triangular noise lies on [-sigma/2, sigma/2].
    link : {"logit", "probit", "identity"}, default "logit"
        Where noise is added: to logits, to normal quantiles, or to the predictions themselves. Rho
        is the link's inverse; noise that leaves [0, 1] counts as a prediction of 0 or 1.
    method : {"exact", "monte-carlo"}, default "exact"
        Evaluate the integral, or draw points with `rng` as in the paper (only for logits with
        Gaussian or uniform noise).
    notion
    ties
    eps : float, default 1e-06
        Predictions are clipped to [eps, 1 - eps] before their logits are taken.
    n_draws : int, default 10000
        Number of draws of ``method="monte-carlo"``.
    rng : numpy.random.Generator, optional
        Generator of ``method="monte-carlo"``; by default a fresh one.

    Returns
    -------
    float
        The calibration error, in [0, 1].

    Notes
    -----
    Section 4 of the paper takes any noise whose density is continuous almost everywhere and any
    increasing link. The integral is accurate to about 1e-7 with Gaussian and logistic noise, and to
    1e-9 with the others.

    With ``sigma="schedule"`` sigma tends to 0 while n sigma grows (theorem 5.4); with weights, n is
    (sum w)^2 / sum w^2. Logits are clipped to [-40, 40]. With Gaussian noise memory does not grow
    with n; uniform noise has a closed form between the sorted samples, which are copied. As sigma
    tends to 0, LS-ECE tends to the error over distinct logits, ``ece(bins=LevelSets())``; as sigma
    grows, it tends to 1/2, whatever the predictions.

    References
    ----------
    Chidambaram, Lee, McSwiggen and Rezchikov (2024), How Flawed Is ECE? An Analysis via Logit
    Smoothing, ICML, arXiv:2402.10046.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.ls_ece([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]), 4)
    0.2504
    """
    one_of("noise", noise, NOISES)
    one_of("link", link, LINKS)
    one_of("method", method, ("exact", "monte-carlo"))
    check_eps(eps)
    samples = as_source(y_true, y_proba, **rows)
    samples, resolved = settle_ties(samples, _smoothed_notion(samples, notion), ties)
    summary = SmoothSummary(samples, resolved, eps)
    if method == "monte-carlo":
        if link != "logit" or noise not in DRAWN_NOISES:
            raise InputError(
                f"method='monte-carlo' draws {' or '.join(DRAWN_NOISES)} noise on logits; for "
                f"noise={noise!r} with link={link!r} leave method='exact'"
            )
        _check_draws(n_draws, rng)
    unlimited = method == "monte-carlo" or (noise, link) == ("uniform", "logit")
    width = _logit_bandwidth(sigma, summary, "uniform" if unlimited else noise, link)
    if method == "monte-carlo":
        return summary.monte_carlo(width, noise, n_draws, rng or np.random.default_rng())
    return summary.ls_ece(width, noise, link)


@public
def smooth_ece(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sigma: float | None = None,
    notion: str | None = None,
    ties: str = "first",
    **rows: Unpack[Rows],
) -> float:
    r"""Smooth ECE (smECE): the error after smoothing the residuals over the predictions.

    .. math:: \sigma^* \text{ with } \int_0^1 \Bigl| \frac{1}{W} \sum_i w_i (z_i - u_i)
        \tilde K_{\sigma^*}(t, u_i) \Bigr| \, dt = \sigma^*

    where K is the Gaussian reflected at 0 and 1. The bandwidth equals the error. Not to be
    confused with SMECE, the soft mean error (`soft_ece`). Range [0, 1], lower is better;
    continuous.

    Parameters
    ----------
    sigma : float, optional
        Bandwidth at which to evaluate the integral, instead of its fixed point.
    notion
    ties

    Returns
    -------
    float
        The calibration error, in [0, 1].

    References
    ----------
    Blasiok and Nakkiran (2024), Smooth ECE: Principled Reliability Diagrams via Kernel Smoothing,
    arXiv:2309.12236.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.smooth_ece([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]), 4)
    0.1778
    """
    samples = as_source(y_true, y_proba, **rows)
    if sigma is not None:
        _check_unit_sigma(sigma)
    samples, resolved = settle_ties(samples, _smoothed_notion(samples, notion), ties)
    return SmoothSummary(samples, resolved).smooth_ece(sigma)


@public
def ece_kde(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    kernel: str = "beta",
    bandwidth: float | None = None,
    notion: str | None = None,
    **rows: Unpack[Rows],
) -> float:
    r"""ECE by kernel density estimates (ECE-KDE): no bins, but a bandwidth.

    .. math:: \frac{1}{W} \sum_j w_j \Bigl| \frac{\sum_{i \neq j} w_i K_b(u_j, u_i) z_i}
        {\sum_{i \neq j} w_i K_b(u_j, u_i)} - u_j \Bigr|

    where K is the density at u_j of the beta distribution with the parameters u_i / b + 1 and
    (1 - u_i) / b + 1. With the other kernels, which are reflected at 0 and 1, it is

    .. math:: \frac{1}{W} \int_0^1 \Bigl| \sum_i w_i K_b(t, u_i) (t - z_i) \Bigr| \, dt

    Range [0, 1], lower is better.

    Parameters
    ----------
    kernel : {"beta", "gaussian", "triweight"}, default "beta"
        Kernel of the density estimates.
    bandwidth : float, optional
        Bandwidth b, for kernels other than beta the kernel's standard deviation. By default the
        most likely of 20 bandwidths by leave-one-out density (beta); or the standard deviation of
        the predictions of events, times (2 n)^(-1/5).
    notion

    Returns
    -------
    float
        The calibration error, in [0, 1].

    Notes
    -----
    ``kernel="beta"`` equals the code of Popordanoska et al. with ``p=1`` at the same bandwidth,
    except that theirs sums over classes: it is twice as large for one column, and a sum instead of
    the mean of ``notion="classwise"``. Their choice of a bandwidth has another term, which prefers
    small ones. It compares all pairs of rows, up to 50,000 rows, and clips predictions to [1e-6, 1
    - 1e-6]. ``kernel="triweight"`` is the code of Zhang et al., on a finer grid; these two kernels
    take any number of rows. Where the bandwidth is small, single rows are their own frequency, and
    the error is overestimated; where it is large, gaps are smoothed away.

    References
    ----------
    Popordanoska, Sayer and Blaschko (2022), A Consistent and Differentiable Lp Canonical
    Calibration Error Estimator, NeurIPS, arXiv:2210.07810. Zhang, Kailkhura and Han (2020),
    Mix-n-Match: Ensemble and Compositional Methods for Uncertainty Calibration in Deep Learning,
    ICML, arXiv:2003.07329.

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1, 1, 0, 1], [0.2, 0.7, 0.9, 0.4, 0.6]
    >>> round(cal.ece_kde(y, p, bandwidth=0.1), 4), round(cal.ece_kde(y, p, kernel="gaussian"), 4)
    (0.1328, 0.2366)
    """
    one_of("kernel", kernel, ("beta", *KERNELS))
    if bandwidth is not None:
        check = _check_sigma if kernel == "beta" else _check_unit_sigma
        check(bandwidth, "bandwidth")
    samples = as_source(y_true, y_proba, **rows)
    if kernel == "beta" and (n := samples.count_rows()) > MOST_PAIRED:
        raise InputError(
            f"kernel='beta' compares all pairs of rows and takes at most {MOST_PAIRED:,} rows; got "
            f"{n:,}. Use kernel='gaussian', or a random sample of the rows"
        )
    return SmoothSummary(samples, _smoothed_notion(samples, notion)).kernel_ece(kernel, bandwidth)


@public
def smooth_reliability(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    kind: str = "unit",
    sigma: float | None = None,
    notion: str | None = None,
    **rows: Unpack[Rows],
) -> SmoothCurve:
    """The smoothed reliability curve: density, mean target, and the difference integrated.

    ``kind="unit"`` smooths over the predictions as `smooth_ece` does, ``kind="logit"`` over their
    logits as `ls_ece` does.

    Parameters
    ----------
    kind : {"unit", "logit"}, default "unit"
        The axis over which the curve is smoothed.
    sigma : float, optional
        Bandwidth; by default the fixed point of `smooth_ece` (`"unit"`) or the schedule of `ls_ece`
        (`"logit"`), which adapt to the number of rows.
    notion (scalar)

    Returns
    -------
    SmoothCurve
        The curve with its band, its table (`columns`) and its diagram (`plot`).

    Notes
    -----
    The curve averages over neighbouring predictions: it misses changes within a bandwidth, and its
    band does not include that bias. It is compared with bins of the same rows:
    `SmoothCurve.outside` lists bins outside the band, and `notes` says so.

    References
    ----------
    Blasiok and Nakkiran (2024), arXiv:2309.12236; Chidambaram, Lee, McSwiggen and Rezchikov (2024),
    arXiv:2402.10046.

    Examples
    --------
    >>> import calibrant as cal
    >>> curve = cal.smooth_reliability([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    >>> list(curve.columns())
    ['prediction', 'density', 'mean_target', 'difference']
    """
    one_of("kind", kind, ("unit", "logit"))
    if sigma is not None and kind == "unit":
        _check_unit_sigma(sigma)
    elif sigma is not None:
        _check_logit_sigma(sigma)
    samples = as_source(y_true, y_proba, **rows)
    resolved = _smoothed_notion(samples, notion)
    if resolved == "classwise":
        raise InputError("a curve needs one problem: give one class's column as y_proba")
    return note_two_columns(smooth_curve(samples, resolved, kind, sigma), samples, resolved)


def smooth_curve(
    samples: Source, notion: Notion, kind: str = "unit", sigma: float | None = None
) -> SmoothCurve:
    """The smoothed reliability curve of validated rows.

    It is smoothed over predictions (`kind` "unit") or over their logits ("logit"). `sigma` is the
    bandwidth, None for the default of the kind.
    """
    summary = SmoothSummary(samples, notion)
    width = sigma or (
        max(summary.schedule(), smallest_sigma())
        if kind == "logit"
        else max(summary.smooth_ece(None), 1e-4)
    )
    points = summary.curve(kind, width)
    places = points["logit" if kind == "logit" else "prediction"]
    rows, n = summary.rows_behind(kind, width, places)
    curve = SmoothCurve(
        points=points,
        kind=kind,
        sigma=float(width),
        notion=notion,
        n_effective=rows,
        n=n,
        is_hard=not summary.findings.soft,
    )
    rule = EqualWidth(N_CHECKED)
    table, cuts, _ = engine_of(samples).bin_table(samples, notion, rule)
    return replace(curve, outside=bins_outside(curve, ReliabilityTable(table, rule, cuts, notion)))


def _smoothed_notion(samples: Source, notion: str | None) -> Notion:
    """The user's notion of calibration, or the default for None; "full" is an InputError."""
    resolved = resolve_notion(samples, notion)
    if resolved == "full":
        raise InputError("notion='full' has no smooth error: use 'confidence' or 'classwise'")
    return resolved


def _check_sigma(sigma: Any, name: str = "sigma") -> None:
    """Raise an InputError unless the bandwidth is a positive, finite number."""
    if not is_number(sigma) or not float(sigma) > 0:
        raise InputError(f"{name} must be a positive number; got {sigma!r}")
    if not math.isfinite(float(sigma)):
        raise InputError(f"{name} must be finite; got {sigma!r}")


def _check_unit_sigma(sigma: Any, name: str = "sigma") -> None:
    """Raise an InputError if a bandwidth over predictions is too small for the finest grid."""
    _check_sigma(sigma, name)
    if sigma < smallest_unit_sigma():
        raise InputError(
            f"{name}={sigma!r} is too small for the grid: the smallest that fits is "
            f"{smallest_unit_sigma():.1e}. Without smoothing, use ece(..., bins=LevelSets())"
        )


def _check_logit_sigma(sigma: Any) -> None:
    """Raise an InputError if a bandwidth over logits is too small or too large for the grid."""
    _check_sigma(sigma)
    if not smallest_sigma() <= sigma <= WIDEST_CURVE:
        raise InputError(
            f"sigma={sigma!r} does not fit a curve over logits: it must lie between "
            f"{smallest_sigma():.1e} and {WIDEST_CURVE:g}"
        )


def _check_draws(n_draws: Any, rng: Any) -> None:
    """Raise an InputError unless n_draws is 1 or more and rng is a generator or None."""
    check_count("n_draws", n_draws, 1, "a whole number, 1 or more")
    if rng is not None and not isinstance(rng, np.random.Generator):
        raise InputError(
            f"rng must be a numpy.random.Generator, such as numpy.random.default_rng(0); "
            f"got {rng!r}"
        )


def _logit_bandwidth(
    sigma: float | str, summary: SmoothSummary, noise: str, link: str = "logit"
) -> float:
    """The bandwidth on the scale of the link: `sigma`, or n^(-1/3) for "schedule".

    n is the effective number of rows. An InputError is raised for a bandwidth too small for the
    grid, or too wide; uniform noise on logits takes any.
    """
    if isinstance(sigma, str):
        one_of("sigma", sigma, ("schedule",))
        return max(summary.schedule(), smallest_sigma())
    _check_sigma(sigma)
    free = (noise, link) == ("uniform", "logit")
    if float(sigma) > WIDE_SIGMA and not free and (noise, link) != ("gaussian", "logit"):
        raise InputError(
            f"sigma={sigma!r} is too wide for noise={noise!r} with link={link!r}: it may be at "
            f"most {WIDE_SIGMA:g}"
        )
    if not free and sigma < smallest_sigma():
        raise InputError(
            f"sigma={sigma!r} is too small for the grid: the smallest that fits is "
            f"{smallest_sigma():.1e}. Use noise='uniform' on logits, which needs no grid"
        )
    return float(sigma)


@public
def ici(
    y_true: ArrayLike, y_proba: ArrayLike, *, part: str = "mean", **rows: Unpack[Rows]
) -> float:
    r"""Integrated calibration index: the mean distance between a local regression and the risks.

    .. math:: \frac{1}{W} \sum_i w_i \, | \hat f(u_i) - u_i |

    where the curve is a local regression of the outcomes on the predictions, as R's ``loess`` has
    it (span 0.75, degree 2, interpolated between vertices). Range [0, 1], lower is better.

    Parameters
    ----------
    y_true : array-like of shape (n,) or str
        Outcomes: 0/1, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or str
        Predicted risks, P(y = 1); with `data`, a column's name.
    part : {"mean", "e50", "e90", "emax"}, default "mean"
        The mean distance (ICI), its median, its 90% quantile, or its maximum.

    Returns
    -------
    float
        The distance, in [0, 1].

    Notes
    -----
    Neighbourhoods are shares of weight, but R counts rows: the two differ by at most one row. With
    up to three distinct predictions, the curve is their mean outcomes.

    References
    ----------
    Austin and Steyerberg (2019), doi:10.1002/sim.8281. Cleveland and Grosse (1991), Statistics and
    Computing 1.

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1, 0, 1, 0, 0] * 30, [0.1, 0.6, 0.5, 0.3, 0.2, 0.35] * 30
    >>> round(cal.ici(y, p), 4), round(cal.ici(y, p, part="emax"), 4)
    (0.351, 0.7)
    """
    parts = _ici_measures()
    one_of("part", part, parts)
    samples = as_source(y_true, y_proba, **rows)
    if samples.multiclass:
        raise InputError(
            f"ici needs one outcome, with y_proba of the shape (n,); got (n, {samples.n_classes}). "
            "Give one class's column as y_proba and (y_true == class) as y_true"
        )
    return parts[part].compute(Summary(samples))


def _ici_measures() -> dict[str, Measure]:
    """The measures that `ici` computes, by the value of its argument `part`, such as "mean"."""
    own = (m for m in catalogue("binary") if m.function.partition("(")[0] == ici.__name__)
    return {m.function.partition("part='")[2].rstrip("')") or "mean": m for m in own}
