"""Smooth calibration errors as one-line functions: no bins, no jumps."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calibrant._api.two_columns import noted
from calibrant._core.binning import EqualWidth
from calibrant._core.errors import InputError, one_of
from calibrant._core.validation import check_count, check_eps, public
from calibrant._data.logprobs import given_as
from calibrant._data.samples import Notion
from calibrant._data.source import Source
from calibrant._data.to_samples import as_source
from calibrant._engines.arrays.streams import EPS
from calibrant._engines.dispatch import engine_of
from calibrant._measures.smooth import LS_SIGMA
from calibrant._summaries.samples import resolve_notion
from calibrant._summaries.smooth import NOISES, SmoothSummary, smallest_sigma, smallest_unit_sigma
from calibrant.results._reliability import ReliabilityTable
from calibrant.results._smooth_curve import N_CHECKED, SmoothCurve, bins_outside

# Noise that is wider than all logits, of which a curve shows nothing.
WIDEST_CURVE = 1000.0


@public
def ls_ece(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sigma: float | str = LS_SIGMA,
    noise: str = "gaussian",
    method: str = "exact",
    notion: str | None = None,
    eps: float = EPS,
    n_draws: int = 10_000,
    rng: np.random.Generator | None = None,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Logit-smoothed ECE: the calibration error of the predictions after noise on their logits.

    .. math:: \int \Bigl| \frac{1}{W} \sum_i w_i K_\sigma(t - h_i) (z_i - \rho(t)) \Bigr| \, dt

    where h is the logit of the prediction, rho the sigmoid and K the density of the noise:
    Gaussian, or uniform on [-sigma/2, sigma/2]. It is continuous in the predictions, where binned
    ECE jumps. Range [0, 1], lower is better.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    sigma : float or "schedule", default 0.1
        Width of the noise, the same for every model by default, so that values can be compared;
        `"schedule"` is ``n^(-1/3)``, with which LS-ECE estimates the true ECE consistently.
    noise : {"gaussian", "uniform"}, default "gaussian"
        Shape of the noise.
    method : {"exact", "monte-carlo"}, default "exact"
        Evaluate the integral, or draw places with `rng` as the paper does.
    notion : {"binary", "confidence", "classwise"}, optional
        What is judged: `"binary"` for (n,); for (n, k) the top label (`"confidence"`, the default)
        or the mean over classes (`"classwise"`).
    eps : float, default 1e-06
        Predictions are clipped to [eps, 1 - eps] before their logits are taken.
    n_draws : int, default 10000
        Number of draws of ``method="monte-carlo"``.
    rng : numpy.random.Generator, optional
        Generator of ``method="monte-carlo"``; by default a fresh one.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes behind each row, where `y_true` counts those for class 1; counts of every
        class carry their own.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame or mapping, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, DuckDB, Spark, Dask.

    Returns
    -------
    float
        The calibration error, in [0, 1].

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    Notes
    -----
    With ``sigma="schedule"`` sigma tends to 0 while n sigma grows (theorem 5.4); with weights, n is
    (sum w)^2 / sum w^2. Logits are clipped to [-40, 40]. With Gaussian noise memory does not grow
    with n; uniform noise has a closed form between the sorted samples, which are copied. As sigma
    tends to 0 LS-ECE tends to the error over distinct logits, ``ece(bins=LevelSets())``, and as it
    grows to 1/2, whatever the predictions.

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
    one_of("method", method, ("exact", "monte-carlo"))
    check_eps(eps)
    given = given_as(from_logits, from_logprobs)
    samples = as_source(y_true, y_proba, sample_weight, given, classes, data, votes=votes)
    resolved = _resolved(samples, notion)
    summary = SmoothSummary(samples, resolved, eps)
    width = _width(sigma, summary, noise if method == "exact" else "uniform")
    if method == "monte-carlo":
        _check_draws(n_draws, rng)
        return summary.monte_carlo(width, noise, n_draws, rng or np.random.default_rng())
    return summary.ls_ece(width, noise)


@public
def smooth_ece(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sigma: float | None = None,
    notion: str | None = None,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Smooth ECE (smECE): the error after smoothing the residuals over the predictions.

    .. math:: \sigma^* \text{ with } \int_0^1 \Bigl| \frac{1}{W} \sum_i w_i (z_i - u_i)
        \tilde K_{\sigma^*}(t, u_i) \Bigr| \, dt = \sigma^*

    where K is the Gaussian reflected at 0 and 1: the bandwidth is its own answer. Not to be
    confused with SMECE, the soft mean error (`soft_ece`). Range [0, 1], lower is better;
    continuous.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    sigma : float, optional
        Bandwidth at which to evaluate the integral, in place of its fixed point.
    notion : {"binary", "confidence", "classwise"}, optional
        What is judged: `"binary"` for (n,); for (n, k) the top label (`"confidence"`, the default)
        or the mean over classes (`"classwise"`).
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes behind each row, where `y_true` counts those for class 1; counts of every
        class carry their own.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame or mapping, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, DuckDB, Spark, Dask.

    Returns
    -------
    float
        The calibration error, in [0, 1].

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

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
    given = given_as(from_logits, from_logprobs)
    samples = as_source(y_true, y_proba, sample_weight, given, classes, data, votes=votes)
    if sigma is not None:
        _check_unit_sigma(sigma)
    return SmoothSummary(samples, _resolved(samples, notion)).smooth_ece(sigma)


@public
def smooth_reliability(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    kind: str = "unit",
    sigma: float | None = None,
    notion: str | None = None,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> SmoothCurve:
    """The smoothed reliability curve: density, mean target, and the difference integrated.

    ``kind="unit"`` smooths over the predictions as `smooth_ece` does, ``kind="logit"`` over their
    logits as `ls_ece` does.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    kind : {"unit", "logit"}, default "unit"
        The axis over which the curve is smoothed.
    sigma : float, optional
        Bandwidth; by default the fixed point of `smooth_ece` (`"unit"`) or the schedule of `ls_ece`
        (`"logit"`), as smooth as the rows allow.
    notion : {"binary", "confidence"}, optional
        What is judged: P(y = 1) for (n,) (`"binary"`), the top label for (n, k) (`"confidence"`).
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes behind each row, where `y_true` counts those for class 1; counts of every
        class carry their own.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame or mapping, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, DuckDB, Spark, Dask.

    Returns
    -------
    SmoothCurve
        The curve with its band, its table (`columns`) and its diagram (`plot`).

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    Notes
    -----
    The curve is an average over neighbouring predictions: where the frequency changes within a
    bandwidth it does not follow, and its band does not include that bias. It is checked against
    bins of the same rows: `SmoothCurve.outside` lists those that lie outside the band, and `notes`
    says so.

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
    given = given_as(from_logits, from_logprobs)
    samples = as_source(y_true, y_proba, sample_weight, given, classes, data, votes=votes)
    resolved = _resolved(samples, notion)
    if resolved == "classwise":
        raise InputError("a curve is of one problem: give one class's column as y_proba")
    return noted(smooth_curve(samples, resolved, kind, sigma), samples, resolved)


def smooth_curve(
    samples: Source, notion: Notion, kind: str = "unit", sigma: float | None = None
) -> SmoothCurve:
    """The smoothed reliability curve of validated rows."""
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
        points, kind, float(width), notion, n_effective=rows, n=n,
        is_hard=not summary.findings.soft,
    )  # fmt: skip
    rule = EqualWidth(N_CHECKED)
    table, cuts, _ = engine_of(samples).bin_table(samples, notion, rule)
    return replace(curve, outside=bins_outside(curve, ReliabilityTable(table, rule, cuts, notion)))


def _resolved(samples: Source, notion: str | None) -> Notion:
    resolved = resolve_notion(samples, notion)
    if resolved == "full":
        raise InputError("notion='full' has no smooth error: use 'confidence' or 'classwise'")
    return resolved


def _check_sigma(sigma: Any) -> None:
    if not isinstance(sigma, numbers.Real) or isinstance(sigma, bool) or not float(sigma) > 0:
        raise InputError(f"sigma must be a positive number; got {sigma!r}")
    if not math.isfinite(float(sigma)):
        raise InputError(f"sigma must be finite; got {sigma!r}")


def _check_unit_sigma(sigma: Any) -> None:
    _check_sigma(sigma)
    if sigma < smallest_unit_sigma():
        raise InputError(
            f"sigma={sigma!r} is too small for the grid: the smallest that fits is "
            f"{smallest_unit_sigma():.1e}. For no smoothing at all use ece(..., bins=LevelSets())"
        )


def _check_logit_sigma(sigma: Any) -> None:
    """The bandwidth of a curve over logits: its grid must fit at both ends."""
    _check_sigma(sigma)
    if not smallest_sigma() <= sigma <= WIDEST_CURVE:
        raise InputError(
            f"sigma={sigma!r} does not fit a curve over logits: it must lie between "
            f"{smallest_sigma():.1e} and {WIDEST_CURVE:g}"
        )


def _check_draws(n_draws: Any, rng: Any) -> None:
    check_count("n_draws", n_draws, 1, "a whole number, 1 or more")
    if rng is not None and not isinstance(rng, np.random.Generator):
        raise InputError(
            f"rng must be a numpy.random.Generator, such as numpy.random.default_rng(0); "
            f"got {rng!r}"
        )


def _width(sigma: float | str, summary: SmoothSummary, noise: str) -> float:
    if isinstance(sigma, str):
        one_of("sigma", sigma, ("schedule",))
        return max(summary.schedule(), smallest_sigma())
    _check_sigma(sigma)
    if noise == "gaussian" and sigma < smallest_sigma():
        raise InputError(
            f"sigma={sigma!r} is too small for the grid: the smallest that fits is "
            f"{smallest_sigma():.1e}. Use noise='uniform', which needs none"
        )
    return float(sigma)
