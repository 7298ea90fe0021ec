"""Cox's recalibration ``logit P(z = 1) = a + b logit u``: slope, intercepts and their limits.

u is the prediction, z the target (the label, or the share of votes), w the weight of a row and h
the logit of its prediction.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from calibrant._core.messages import Note
from calibrant._core.typing import Array, Index
from calibrant._data.links import logit, sigmoid
from calibrant._engines.arrays.streams import EPS
from calibrant._inference.blocks import cluster_sums, effective
from calibrant._inference.cells import Problem
from calibrant._inference.means import Influences, added_variances
from calibrant._inference.noise_model import NoiseModel
from calibrant._inference.numbers import MOST_LEVERAGE
from calibrant._inference.rounding import LEAST_P, ROUNDED_ERRORS
from calibrant._inference.significance import (
    chi_square_tail,
    f_tail,
    quadratic_form,
    student_quantile,
)
from calibrant._measures.coefficients import Coefficient

# --- logistic regression --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LogisticFit:
    """A fit of ``P(z = 1) = sigmoid(intercept + slope h)`` to targets z with the logits h.

    `inverse_information` is that of the free parameters: (intercept,), or (intercept, slope). It is
    their covariance if rows are independent outcomes without weights; in a sandwich covariance it
    is the bread.
    """

    intercept: float
    slope: float
    inverse_information: Array
    log_likelihood: float

    @property
    def n_free(self) -> int:
        """How many parameters were fitted: 1 (the intercept), or 2."""
        return len(self.inverse_information)


def why_not_estimable(z: Array, h: Array, w: Array | None) -> str:
    """Why slope and intercept of targets z on logits h, with weights w, have no finite best fit; ""
    where they have one.

    They have one unless a logit separates the two outcomes. A soft target counts as both outcomes.
    """
    kept = slice(None) if w is None else w > 0
    z, h = z[kept], h[kept]
    return not_estimable_from(*(Reach.of(part) for part in (h[z > 0], h[z < 1])))


class Reach(NamedTuple):
    """The smallest and the largest logit of some rows; from infinity to minus infinity for none."""

    low: float
    high: float

    @classmethod
    def of(cls, h: Array) -> Reach:
        """The reach of the logits h."""
        return cls(float(h.min(initial=math.inf)), float(h.max(initial=-math.inf)))

    @property
    def is_empty(self) -> bool:
        """Whether there are no rows."""
        return self.low > self.high


def not_estimable_from(up: Reach, down: Reach) -> str:
    """Why slope and intercept have no finite best fit, from the reach of the logits of events and
    of non-events; "" where they have one.
    """
    if up.is_empty or down.is_empty:
        seen = "1" if down.is_empty else "0"
        return _not_estimable("", f"every outcome is {seen}, so the best intercept is infinite")
    if max(up.high, down.high) - min(up.low, down.low) < 1e-12:
        return _not_estimable(
            "slope ",
            "the predictions do not vary, so only the intercept at slope 1 was fitted and tested",
        )
    if up.low >= down.high or down.low >= up.high:
        return _not_estimable(
            "slope and intercept ",
            "the predictions separate the outcomes, so the best slope is infinite",
        )
    return ""


def _not_estimable(what: str, reason: str) -> Note:
    """A note that `what` (slope, intercept) is not estimable, with the reason."""
    return Note(f"{what}not estimable: {reason}", "not estimable", reason=reason)


def fit_logistic(z: Array, h: Array, w: Array | None, *, slope: float | None = None) -> LogisticFit:
    """The maximum-likelihood fit of targets z on logits h, by Newton's method; with `slope` given,
    the fit of the intercept alone.

    There must be a maximum: `why_not_estimable`.
    """
    weights = np.ones(h.size) if w is None else w
    # Logits are standardised, so that predictions that hardly differ are fitted as well as others.
    kept = h[weights > 0]
    centre, scale = (0.0, 1.0) if slope is not None else (float(kept.mean()), float(kept.std()))
    x = (h - centre) / scale
    free = 1 if slope is not None else 2
    basis = np.stack([np.ones(h.size), x])[:free]
    # From the predictions, or from the prevalence where that fits better: far from the optimum the
    # information is next to 0, and the steps have no end.
    even = float(logit(np.array(np.average(z, weights=weights))))
    starts = [(centre, scale), (even, 0.0)]
    if slope is not None:
        starts = [(0.0, slope), (even - slope * float(np.average(h, weights=weights)), slope)]
    tried = [(_log_likelihood(z, x, weights, np.array(start)), start) for start in starts]
    likelihood, start = max(tried, key=lambda each: each[0])
    theta = np.array(start)
    for _ in range(100):
        p = sigmoid(theta[0] + theta[1] * x)
        score = basis @ (weights * (z - p))
        information = (basis * (weights * p * (1.0 - p))) @ basis.T
        step = np.zeros(2)
        step[:free] = np.linalg.lstsq(information, score, rcond=1e-12)[0]
        # Halve a step that lowers the likelihood: far from the optimum Newton overshoots.
        part, candidate = 1.0, theta + step
        reached = _log_likelihood(z, x, weights, candidate)
        while reached < likelihood - 1e-12 * abs(likelihood) and part >= 1e-6:
            part /= 2.0
            candidate = theta + part * step
            reached = _log_likelihood(z, x, weights, candidate)
        theta, likelihood = candidate, reached
        if np.abs(part * step).max() < 1e-12:
            break
    p = sigmoid(theta[0] + theta[1] * x)
    inverse = np.linalg.pinv((basis * (weights * p * (1.0 - p))) @ basis.T).astype(np.float64)
    if slope is not None:
        return LogisticFit(float(theta[0]), slope, inverse, likelihood)
    back = np.array([[1.0, -centre / scale], [0.0, 1.0 / scale]])
    intercept, fitted = back @ theta
    return LogisticFit(float(intercept), float(fitted), back @ inverse @ back.T, likelihood)


def robust_covariance(
    fit: LogisticFit,
    z: Array,
    h: Array,
    w: Array,
    groups: Index | None,
    counts: Array | None = None,
) -> Array:
    """The sandwich covariance of the fitted parameters, (parameters, parameters), with scores
    summed by cluster.
    """
    influence = parameter_influences(fit, z, h, w, groups, counts)
    if counts is not None and groups is None:
        influence = influence / np.sqrt(counts)
    return influence @ influence.T


def parameter_influences(
    fit: LogisticFit,
    z: Array,
    h: Array,
    w: Array,
    groups: Index | None,
    counts: Array | None = None,
) -> Array:
    """The influence of each row, or of each cluster, on the fitted parameters: (parameters, rows or
    clusters).

    z are the targets, h the logits, w the weights and `groups` the clusters of the rows, None for
    independent rows; each row stands for `counts` equal ones, whose influences add up. Each sum of
    scores is divided by 1 - leverage (HC3, or its like for clusters): residuals of rows with a high
    leverage are too small.
    """
    basis = np.stack([np.ones(h.size), h])[: fit.n_free]
    p = sigmoid(fit.intercept + fit.slope * h)
    leverage = np.einsum("in,ij,jn->n", basis, fit.inverse_information, basis) * w * p * (1.0 - p)
    scores = basis * (w * (z - p))
    if groups is not None:
        leverage, scores = np.bincount(groups, leverage), cluster_sums(scores, groups)
    elif counts is not None:
        leverage = leverage / counts
    left = 1.0 - np.minimum(leverage, MOST_LEVERAGE)
    return fit.inverse_information @ (scores / left)


def _log_likelihood(z: Array, h: Array, w: Array, theta: Array) -> float:
    """The weighted log-likelihood of targets z with logits h; theta is (intercept, slope)."""
    line = theta[0] + theta[1] * h
    return float((w * (z * line - np.logaddexp(0.0, line))).sum())


# --- the fits and their test ----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CoxFits:
    """Two fits of Cox's recalibration: `both` of slope and intercept, and `large` of the intercept
    at slope 1 (calibration in the large). Each is None where it is not estimable, and `why_not`
    says why.

    `both_errors` are the standard errors of (intercept, slope), `large_error` is that of the
    intercept at slope 1, and `p_value` tests slope 1 and intercept 0 together.
    """

    why_not: str
    both: LogisticFit | None = None
    large: LogisticFit | None = None
    both_errors: tuple[float, ...] = (math.nan, math.nan)
    large_error: float = math.nan
    p_value: float = math.nan
    # Degrees of freedom of the limits; infinite where they are normal.
    df: float = math.inf

    def of(self, coefficient: Coefficient) -> FittedCoefficient:
        """One coefficient of the fits, without influences of rows."""
        fit = self.both if coefficient.with_slope else self.large
        if fit is None:
            return FittedCoefficient(math.nan, math.nan, math.inf, None, self.why_not)
        value = (fit.intercept, fit.slope)[coefficient.row]
        large = self.large_error
        error = self.both_errors[coefficient.row] if coefficient.with_slope else large
        return FittedCoefficient(value, error, self.df)


def cox_fits(problem: Problem, h: Array, groups: Index | None) -> CoxFits:
    """Fit slope and intercepts on the logits h of the predictions, (n,).

    Unweighted independent outcomes have standard errors from the information, and a likelihood
    ratio test. Weights, soft labels and clusters have sandwich standard errors and Wald's test; so
    has the intercept at slope 1 if the slope differs from 1.
    """
    z, w = problem.z, problem.weights
    why_not = why_not_estimable(z, h, problem.w)
    if not (((z > 0) & (w > 0)).any() and ((z < 1) & (w > 0)).any()):
        return CoxFits(why_not)
    large = fit_logistic(z, h, problem.w, slope=1.0)
    both = None if why_not else fit_logistic(z, h, problem.w)
    scores = (z, h, w, groups, problem.counts)
    of_both = None
    if problem.hard and problem.counts_once and groups is None:
        df, of_large = math.inf, large.inverse_information
        if both is not None:
            of_both = both.inverse_information
            ratio = 2.0 * (both.log_likelihood - large.log_likelihood)
            if chi_square_tail(ratio, 1.0) < 0.05:
                # The slope is not 1: the information of a misspecified model does not give the
                # variance of its intercept.
                of_large = np.maximum(of_large, robust_covariance(large, *scores))
    else:
        units = effective(w, groups, problem.counts)
        df, of_large = max(units - 2.0, 1.0), robust_covariance(large, *scores)
        of_both = None if both is None else robust_covariance(both, *scores)
    # If all predictions are equal there is no slope, and the intercept alone is tested.
    alike = both is None and float(np.ptp(h[w > 0])) < 1e-12
    tested, covariance = (large, of_large) if alike else (both, of_both)
    p = math.nan
    if tested is not None and covariance is not None:
        if math.isinf(df):
            p = _likelihood_ratio_p(tested, z, h, w)
        else:
            p = _robust_p(tested, covariance, problem, h, groups, df)
    errors = (math.nan, math.nan) if of_both is None else standard_errors(of_both)
    return CoxFits(why_not, both, large, errors, standard_errors(of_large)[0], p, df)


def standard_errors(covariance: Array) -> tuple[float, ...]:
    """The roots of the diagonal of a covariance matrix."""
    return tuple(math.sqrt(max(float(v), 0.0)) for v in covariance.diagonal())


def _likelihood_ratio_p(fit: LogisticFit, z: Array, h: Array, w: Array) -> float:
    """The p-value of the likelihood ratio test of intercept 0 and slope 1, z being the targets, h
    the logits of the predictions and w the weights.
    """
    at_predictions = float((w * (z * h - np.logaddexp(0.0, h))).sum())
    return chi_square_tail(2.0 * (fit.log_likelihood - at_predictions), fit.n_free)


def _robust_p(
    fit: LogisticFit,
    covariance: Array,
    problem: Problem,
    h: Array,
    groups: Index | None,
    df: float,
) -> float:
    """The p-value of intercept 0 and slope 1, the larger of two: Wald's test with the sandwich
    covariance, and the score test with the noise model's covariance.
    """
    w, u = problem.weights, problem.u
    if not (w * np.abs(problem.z - u)).any():  # every label equals its prediction
        return 1.0
    deviation = np.array([fit.intercept, fit.slope - 1.0])[: fit.n_free]
    wald = f_tail(quadratic_form(deviation, covariance), fit.n_free, df)
    b = np.stack([w, w * h])[: fit.n_free]
    scores = b * np.sqrt(u * (1.0 - u))
    of_rows = scores if problem.counts is None else scores / np.sqrt(problem.counts)
    over_clusters = of_rows if groups is None else cluster_sums(scores, groups)
    model = NoiseModel.from_problem(problem, groups).covariance(of_rows @ of_rows.T, over_clusters)
    return max(wald, chi_square_tail(quadratic_form(b @ (problem.z - u), model), fit.n_free))


# --- single coefficients --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FittedCoefficient:
    """An estimated coefficient: `value` and its standard error `error`, with `df` degrees of
    freedom.

    Where it is not estimable, both are NaN and `why_not` has the reason.
    """

    value: float
    error: float
    df: float
    # The influence of each row or cluster; None where nobody asks for it.
    influences: Influences | None = None
    why_not: str = ""

    def limits(self, level: float) -> tuple[float, float]:
        """The lower and the upper limit of Wald's confidence interval, with Student's quantiles."""
        half = student_quantile(0.5 + level / 2.0, self.df) * self.error
        return self.value - half, self.value + half

    def plus(
        self, other: FittedCoefficient, sign: float, *, paired: bool = True
    ) -> FittedCoefficient:
        """This coefficient plus `sign` times another one: their difference, or their sum.

        On the same rows (`paired`) the influences of each row, or cluster, on both estimates are
        added before they are squared: this is the sandwich covariance of the stacked estimating
        equations of both fits, with HC3's correction for small samples. On other rows variances
        add. The degrees of freedom are Satterthwaite's, so that a few heavy rows count as few.
        """
        value = self.value + sign * other.value
        assert self.influences is not None and other.influences is not None
        if paired:
            both = self.influences.plus(other.influences, sign)
            variance, df = both.variance, both.df
        else:
            variance, df = added_variances((self.influences, other.influences))
        # Before and after temperature scaling the intercept is the same, but for rounding.
        least = ROUNDED_ERRORS * (self.error + other.error)
        error = math.sqrt(variance)
        value, error = (0.0 if abs(each) <= least else each for each in (value, error))
        return FittedCoefficient(value, error, max(df, 1.0))

    def p_value(self, hypothesis: float) -> float:
        """The p-value of the `hypothesis` that the true value is this: below 1 - level where the
        interval of that level excludes it.
        """
        from scipy.special import ndtr, stdtr

        distance = abs(self.value - hypothesis)
        if not self.error > 0.0:
            return 1.0 if distance < 1e-12 else LEAST_P
        x = -distance / self.error
        return max(2.0 * float(ndtr(x) if math.isinf(self.df) else stdtr(self.df, x)), LEAST_P)


def distance_limits(
    difference: tuple[float, float], total: tuple[float, float]
) -> tuple[float, float]:
    """The lower and the upper limit of ``|d1| - |d2|``, from those of ``d1 - d2`` and ``d1 + d2``.

    ``|d1| - |d2|`` is the smaller in size of the two, and positive where their signs agree. It is 0
    where one of the two is 0. So it differs from 0 only if both do, and needs no correction for two
    tests (an intersection-union test; Berger, 1982, doi:10.2307/1268136). Its limits are those of
    the same function over all differences and totals within theirs.
    """
    (least, most), (low, high) = difference, total
    below, above = max(min(most, -low), min(-least, high)), max(min(most, high), min(-least, -low))
    return 0.0 - below, 0.0 + above


def fit_coefficient(
    coefficient: Coefficient, problem: Problem, groups: Index | None
) -> FittedCoefficient:
    """Fit a coefficient to one predicted probability a row; NaN, with the reason, where it is not
    estimable.
    """
    return fit_coefficients((coefficient,), problem, groups)[0]


def fit_coefficients(
    coefficients: Sequence[Coefficient], problem: Problem, groups: Index | None
) -> list[FittedCoefficient]:
    """Fit several coefficients to the same rows, as `fit_coefficient` does each."""
    # Predictions of 0 and 1 have no logit: they are clipped, as `cox_calibration` does.
    h = logit(np.clip(problem.u, EPS, 1.0 - EPS))
    fits = cox_fits(problem, h, groups)
    rows = (problem.z, h, problem.weights, groups, problem.counts)
    units = effective(problem.weights, groups, problem.counts)
    moved = {
        fit: parameter_influences(fit, *rows) for fit in (fits.both, fits.large) if fit is not None
    }
    out = []
    for each in coefficients:
        fit, own = fits.both if each.with_slope else fits.large, fits.of(each)
        if fit is not None:
            influence, counts = moved[fit][each.row], np.ones(1)
            if problem.counts is not None and groups is None:
                influence, counts = influence / problem.counts, problem.counts
            own = replace(own, influences=Influences(influence, units, None, counts))
        out.append(own)
    return out
