"""centres(): calibration at several centres, on average and at a new one (random effects)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from calibrant._api.metrics.ranking import auroc
from calibrant._api.reliability_curve import scalar_problem
from calibrant._api.rows import (
    as_samples,
    check_one_outcome,
    check_without,
    group_index,
    take_clusters,
)
from calibrant._api.slices import slice_labels
from calibrant._core.arguments import Rows
from calibrant._core.errors import InputError
from calibrant._core.typing import Array, Index
from calibrant._core.validation import check_level, public
from calibrant._data.columns import is_lazy, scan_if_path
from calibrant._data.links import logit, sigmoid
from calibrant._data.slice_names import in_natural_order, rows_by_name
from calibrant._engines.arrays.streams import EPS
from calibrant._inference.cells import Problem
from calibrant._inference.clinical import observed_expected
from calibrant._inference.coefficients import fit_coefficient
from calibrant._inference.means import influences, mean_limits, moment_limits
from calibrant._inference.random_effects import random_effects
from calibrant._inference.significance import student_quantile
from calibrant._inference.spline_curve import fitted_spline, spline_basis
from calibrant._measures.coefficients import COEFFICIENTS
from calibrant._measures.ranking import auroc_influence
from calibrant.results._centres import AcrossCentres, Centres

# The fewest centres that show how centres differ.
_FEWEST = 3
# The places of the mean curve, between the first and the last percentile of the predictions.
_PLACES = 41
_SCALES: Mapping[str, str] = {
    "slope": "identity",
    "intercept_in_the_large": "identity",
    "observed_expected": "log",
    "c_statistic": "logit",
}
_BACK: Mapping[str, Callable[[float], float]] = {
    "identity": float,
    "log": math.exp,
    "logit": lambda x: float(sigmoid(np.array(x))),
}


@public
def centres(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    by: ArrayLike,
    groups: ArrayLike | None = None,
    level: float = 0.95,
    **rows: Unpack[Rows],
) -> Centres:
    r"""Calibration and discrimination over several centres, and of a new centre.

    Each centre has a calibration slope, an intercept in the large, an O:E ratio and a C-statistic.
    Their values :math:`y_j` with the variances :math:`v_j` are summarised by random effects,

    .. math:: y_j \sim N(\theta_j, v_j), \qquad \theta_j \sim N(\mu, \tau^2),

    on the log scale for O:E and the logit scale for C: the mean over centres with its interval, the
    standard deviation tau between centres, and a prediction interval for a new centre.

    Parameters
    ----------
    y_true : array-like of shape (n,) or str
        Outcomes: 0/1, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or str
        Predicted risks, P(y = 1); with `data`, a column's name.
    by
        Centre of each row (hospital, study), or names of columns.
    groups
        Cluster of each row within its centre (patient); rows of one cluster vary together.
    level
    data (in memory)

    Returns
    -------
    Centres
        A row per quantity; `each` has the values of centres, `plot` draws a forest plot, and
        `plot_curve` the mean calibration curve.

    Raises
    ------
    InputError
        If there are fewer than three centres, or the input cannot be read as outcomes and risks.

    Notes
    -----
    tau is that of restricted maximum likelihood. The interval of the mean is Hartung and Knapp's,
    modified: its variance is never below that of the model (factor ``max(1, q)``; Knapp and
    Hartung 2003, Röver, Knapp and Friede 2015), so centres that agree by chance do not narrow it.

    The prediction interval averages normal distributions over the confidence distribution of tau
    that inverts Cochran's Q (Viechtbauer 2007), as Nagashima, Noma and Furukawa (2019) do by
    resampling. It always contains the interval of the mean. The usual prediction interval,
    ``estimate +- t(k - 2) sqrt(tau^2 + error^2)`` (Higgins, Thompson and Spiegelhalter 2009),
    treats tau as known. It contained the true value of a new centre in 81 to 93 % of simulations
    with 10 to 30 moderately different centres, instead of 95 %. From 10 centres on, this function's
    interval is usually wider (by 1 to 50 % at the median of simulations), because tau is uncertain;
    with 4 to 6 very different centres it can be narrower. `tau` and `error` give the usual one.

    The mean curve summarises, at each prediction, the centres' logistic curves of a restricted
    cubic spline with three knots (two-stage meta-analysis of Barrenada et al. 2025). A centre
    without events, or whose predictions separate the outcomes, has no finite value of some
    quantities. It is not used for these, and a note says so.

    References
    ----------
    Debray et al. (2017), doi:10.1136/bmj.i6460. Snell et al. (2018),
    doi:10.1177/0962280217705678. Knapp and Hartung (2003), doi:10.1002/sim.1482. Röver, Knapp and
    Friede (2015), doi:10.1186/s12874-015-0091-1. Viechtbauer (2007), doi:10.1002/sim.2514.
    Higgins, Thompson and Spiegelhalter (2009), doi:10.1111/j.1467-985X.2008.00552.x.
    Nagashima, Noma and Furukawa (2019), doi:10.1177/0962280218773520. Barrenada et al. (2025),
    arXiv:2503.08389.

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1, 1, 0, 1, 0] * 60, [0.2, 0.7, 0.9, 0.4, 0.3, 0.6] * 60
    >>> found = cal.centres(y, p, by=sorted("abcd" * 90))
    >>> round(found["c_statistic"].estimate, 3), found["c_statistic"].tau
    (0.778, 0.0)
    """
    check_level(level)
    rows["data"] = data = scan_if_path(rows.get("data"))
    if is_lazy(data):
        check_without(by=by)
    samples = as_samples(y_true, y_proba, **rows)
    check_one_outcome(samples, "centres")
    index = group_index(groups, samples, data)
    labels, name = slice_labels(by, samples, data)
    rows_of = rows_by_name(labels)
    if len(rows_of) < _FEWEST:
        raise InputError(
            f"by must name {_FEWEST} or more centres, to estimate how centres differ; got "
            f"{len(rows_of)}. clinical_summary(..., by=) compares fewer"
        )
    found = []
    for label, own in sorted(rows_of.items(), key=lambda item: in_natural_order(item[0])):
        if samples.weights is None or (samples.weights[own] > 0).any():
            parts = scalar_problem(samples.take(own), "binary", take_clusters(index, own))
            found.append(_Centre.of(str(label), *parts))
    each = {quantity: _columns_of_centres(found, quantity, float(level)) for quantity in _SCALES}
    return Centres(
        rows=tuple(_pooled_over_centres(found, quantity, float(level)) for quantity in _SCALES),
        each=each,
        curve=_mean_curve(found, float(level)),
        n=samples.n,
        level=float(level),
        by=name,
    )


@dataclass(frozen=True)
class _Value:
    """A centre's value of a quantity on its scale, with standard error and degrees of freedom; NaN
    with the reason where it has none.
    """

    value: float
    error: float = math.nan
    df: float = math.inf
    why_not: str = ""


@dataclass(frozen=True, eq=False)
class _Centre:
    """A centre: its rows, their clusters, and its values by quantity."""

    name: str
    problem: Problem
    groups: Index | None
    values: Mapping[str, _Value]

    @classmethod
    def of(cls, name: str, problem: Problem, groups: Index | None) -> _Centre:
        """The centre of these rows."""
        if groups is not None and int(groups.max()) == 0:
            alone = _Value(math.nan, why_not="all its rows are in one cluster")
            return cls(name, problem, groups, dict.fromkeys(_SCALES, alone))
        values = {key: _coefficient(key, problem, groups) for key in list(_SCALES)[:2]}
        values["observed_expected"] = _log_ratio(problem, groups)
        values["c_statistic"] = _logit_of_c(problem, groups)
        return cls(name, problem, groups, values)


def _coefficient(name: str, problem: Problem, groups: Index | None) -> _Value:
    """The slope or the intercept in the large."""
    fit = fit_coefficient(COEFFICIENTS[name], problem, groups)
    return _Value(fit.value, fit.error, fit.df, str(fit.why_not))


def _log_ratio(problem: Problem, groups: Index | None) -> _Value:
    """The logarithm of observed over expected events."""
    w = problem.weights
    observed, expected = float(w @ problem.z), float(w @ problem.u)
    if observed <= 0.0 or expected <= 0.0:
        what = "seen" if observed <= 0.0 else "expected"
        return _Value(math.nan, why_not=f"no event is {what}")
    log_ratio = (problem.z / observed - problem.u / expected) * float(w.sum())
    parts = influences(log_ratio, problem.w, groups, problem.counts)
    return _Value(math.log(observed / expected), mean_limits(parts, 0.95)[2], parts.units - 1.0)


def _logit_of_c(problem: Problem, groups: Index | None) -> _Value:
    """The logit of the C-statistic, with DeLong's error."""
    w, z = problem.weights, problem.z
    if not ((w * z).any() and (w * (1.0 - z)).any()):
        return _Value(math.nan, why_not="every outcome is the same")
    c = auroc(z, problem.u, sample_weight=problem.w)
    if not 0.0 < c < 1.0:
        return _Value(math.nan, why_not=f"its C-statistic is {c:g}, whose logit is infinite")
    values, units = auroc_influence(problem.levels[1], z, w, problem.counts)
    parts = influences(values, problem.w, groups, problem.counts)
    units = min(parts.units, units)
    error = moment_limits(parts.variance, 0.0, units, 0.95)[2] / (c * (1.0 - c))
    return _Value(math.log(c / (1.0 - c)), error, max(units - 1.0, 1.0))


def _pooled_over_centres(found: list[_Centre], quantity: str, level: float) -> AcrossCentres:
    """A quantity over centres, back on the scale that people read."""
    scale = _SCALES[quantity]
    values = {centre.name: centre.values[quantity] for centre in found}
    kept = [value for value in values.values() if value.error > 0.0]
    why = {
        name: value.why_not or "it has no standard error"
        for name, value in values.items()
        if not value.error > 0.0
    }
    note = "; ".join(f"{name} was not used: {reason}" for name, reason in why.items())
    numbers = [math.nan] * 5
    tau = error = math.nan
    if len(kept) >= _FEWEST:
        y, v = (np.array(part) for part in zip(*((k.value, k.error**2) for k in kept), strict=True))
        fit = random_effects(y, v, level)
        numbers = [
            _BACK[scale](x) for x in (fit.mean, fit.low, fit.high, fit.new_low, fit.new_high)
        ]
        tau, error = fit.tau, fit.error
    else:
        note = f"fewer than {_FEWEST} centres have a value; {note}"
    estimate, low, high, new_low, new_high = numbers
    return AcrossCentres(
        quantity=quantity,
        centres=len(kept),
        estimate=estimate,
        low=low,
        high=high,
        tau=tau,
        new_low=new_low,
        new_high=new_high,
        error=error,
        scale=scale,
        note=note,
    )


def _columns_of_centres(found: list[_Centre], quantity: str, level: float) -> dict[str, list[Any]]:
    """The values of centres as columns, with the intervals of a clinical summary of each."""
    back = _BACK[_SCALES[quantity]]
    names = ("centre", "n", "events", "value", "low", "high", "note")
    out: dict[str, list[Any]] = {name: [] for name in names}
    for centre in found:
        own, problem = centre.values[quantity], centre.problem
        half = student_quantile(0.5 + level / 2.0, own.df) * own.error
        known = not math.isnan(own.value)
        ends = (own.value, own.value - half, own.value + half)
        row = [back(x) if known and not math.isnan(x) else math.nan for x in ends]
        if known and quantity == "observed_expected":
            # As in a clinical summary of the centre: the Poisson interval counts if events are few.
            summary = observed_expected(problem, centre.groups, level)
            row[1:] = summary.low, summary.high
        total = float(problem.weights @ problem.z)
        events = int(total) if total.is_integer() else total
        for name, item in zip(
            out, (centre.name, problem.n, events, *row, own.why_not), strict=True
        ):
            out[name].append(item)
    return out


def _mean_curve(found: list[_Centre], level: float) -> dict[str, Array]:
    """The mean of the centres' curves at each place, with limits, and those of a new centre."""
    names = ("prediction", "mean_target", "low", "high", "new_low", "new_high")
    u = np.concatenate([centre.problem.u for centre in found])
    h = _logits(u)
    knots = np.quantile(h, [0.1, 0.5, 0.9])
    first, last = np.quantile(u, [0.01, 0.99]).tolist()
    at = np.linspace(first, last, _PLACES)
    bends = bool((np.diff(knots) > 0.0).all())
    curves = [own for own in (_curve_of(c, _logits(at), knots, bends) for c in found) if own]
    if len(curves) < _FEWEST or first == last:
        return {name: np.empty(0) for name in names}
    y, v = (np.array(part) for part in zip(*curves, strict=True))
    fits = [random_effects(y[:, j], v[:, j], level) for j in range(at.size)]
    lines = [[getattr(fit, name) for fit in fits] for name in ("mean", *names[2:])]
    return dict(zip(names, (at, *(sigmoid(np.array(line)) for line in lines)), strict=True))


def _curve_of(centre: _Centre, at: Array, knots: Array, bends: bool) -> tuple[Array, Array] | None:
    """A centre's curve at the logits `at`, and its variance, as logits: a spline with these knots,
    or a line where that has no finite fit; None without either.
    """
    problem = centre.problem
    if centre.groups is not None and int(centre.groups.max()) == 0:
        return None
    robust = not (problem.hard and problem.counts_once and centre.groups is None)
    rows, places = (
        spline_basis(x, knots) if bends else np.stack([np.ones(x.size), x])
        for x in (_logits(problem.u), at)
    )
    for columns in (3, 2) if bends else (2,):
        fit = fitted_spline(
            problem.z, rows[:columns], problem.weights, centre.groups, robust=robust
        )
        if fit is not None:
            theta, covariance = fit
            basis = places[:columns]
            return theta @ basis, np.einsum("in,ij,jn->n", basis, covariance, basis)
    return None


def _logits(u: Array) -> Array:
    """The logits of predictions, clipped as for Cox's fits."""
    return logit(np.clip(u, EPS, 1.0 - EPS))
