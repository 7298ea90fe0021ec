"""Cox's recalibration from sums by cell of the logits: slope, intercepts and their errors.

Within a cell every function of a row's logit is a polynomial in its distance t from the centre,
whose sum over rows is a sum of moments (`LogitSums`). Fits, standard errors and tests are those of
`coefficients`, to rounding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from calibrant._core.typing import Array, Mask
from calibrant._data.links import logit
from calibrant._engines.logit_sums import EVENT, NO_EVENT, NOISE, SOFT, ClusterScores, LogitSums
from calibrant._inference.coefficients import (
    CoxFits,
    LogisticFit,
    Reach,
    not_estimable_from,
    standard_errors,
)
from calibrant._inference.noise_model import NoiseModel
from calibrant._inference.numbers import FEW_EVENTS, MOST_LEVERAGE
from calibrant._inference.significance import chi_square_tail, f_tail, quadratic_form


class Rows(Protocol):
    """The rows that were summed, read once more for what depends on the fits."""

    def score_squares(self, fits: Sequence[LogisticFit]) -> Array:
        """Sums over rows of squared scores, each divided by 1 less its row's leverage, (fits, 3),
        with the factors 1, h and h^2 for the logit h.
        """

    def cluster_scores(self, fits: Sequence[LogisticFit]) -> ClusterScores | None:
        """The scores by cluster; None where rows are independent."""


class NoRows:
    """Rows that count once and are independent, and need not be read again."""

    def score_squares(self, fits: Sequence[LogisticFit]) -> Array:
        """Never asked for: rows have no weights."""
        raise NotImplementedError

    def cluster_scores(self, fits: Sequence[LogisticFit]) -> ClusterScores | None:
        """None: there are no clusters."""
        return None


def cox_fits_from(sums: LogitSums, rows: Rows) -> CoxFits:
    """Fit slope and intercepts, as `coefficients.cox_fits` does, from the sums of rows. `rows` are
    read once more where they have weights or clusters.
    """
    up, down = _reach(sums, EVENT), _reach(sums, NO_EVENT)
    why_not = not_estimable_from(up, down)
    if up.is_empty or down.is_empty:
        return CoxFits(why_not)
    cells = _Cells(sums.centred())
    large = cells.fit(slope=1.0)
    both = None if why_not else cells.fit()
    fits = [large] if both is None else [large, both]
    clusters = rows.cluster_scores(fits)
    of_both = None
    if clusters is not None:
        df = max(_effective(clusters.sums["weight"]) - 2.0, 1.0)
        covariances = [_cluster_covariance(fit, clusters, k) for k, fit in enumerate(fits)]
        of_large, of_both = covariances[0], None if both is None else covariances[1]
    elif sums.hard and not sums.weighted:
        df, of_large = math.inf, large.inverse_information
        if both is not None:
            of_both = both.inverse_information
            ratio = 2.0 * (both.log_likelihood - large.log_likelihood)
            if chi_square_tail(ratio, 1.0) < 0.05:
                of_large = np.maximum(of_large, _robust_covariance(large, cells.squares(large)))
    else:
        df = max(sums.effective - 2.0, 1.0)
        squares = rows.score_squares(fits) if sums.weighted else map(cells.squares, fits)
        covariances = [_robust_covariance(*each) for each in zip(fits, squares, strict=True)]
        of_large, of_both = covariances[0], None if both is None else covariances[1]
    alike = both is None and cells.spread < 1e-12
    tested, covariance = (large, of_large) if alike else (both, of_both)
    p = math.nan
    if tested is not None and covariance is not None:
        if math.isinf(df):
            at_predictions = cells.log_likelihood(0.0, 1.0)
            p = chi_square_tail(2.0 * (tested.log_likelihood - at_predictions), tested.n_free)
        else:
            p = _robust_p(tested, covariance, _Noise.of(sums, clusters), df)
    errors = (math.nan, math.nan) if of_both is None else standard_errors(of_both)
    return CoxFits(why_not, both, large, errors, standard_errors(of_large)[0], p, df)


def _effective(weights: Array) -> float:
    """The effective number of clusters of these weights."""
    return float(weights.sum()) ** 2 / float((weights**2).sum())


def _robust_covariance(fit: LogisticFit, squares: Array) -> Array:
    """The sandwich covariance of the fitted parameters; `squares` are the sums of squared scores,
    (3,).
    """
    n = fit.n_free
    middle = np.array([squares[:2], squares[1:]])[:n, :n]
    covariance: Array = fit.inverse_information @ middle @ fit.inverse_information
    return covariance


def _cluster_covariance(fit: LogisticFit, clusters: ClusterScores, k: int) -> Array:
    """The sandwich covariance of a fit, number k, with scores summed by cluster."""
    left = 1.0 - np.minimum(clusters.leverage[k], MOST_LEVERAGE)
    influence = fit.inverse_information @ (clusters.scores[k, : fit.n_free] / left)
    return np.asarray(influence @ influence.T)


def _reach(sums: LogitSums, outcome: int) -> Reach:
    """The reach of the logits of rows in which this outcome has a share."""
    own = (sums.kind == outcome) | (sums.kind == SOFT)
    return Reach.of(np.concatenate([sums.low[own], sums.high[own]]))


@dataclass(frozen=True)
class _Noise:
    """The scores of correct predictions, (2,), their covariance (2, 2) by the noise model, and
    whether every label equals its prediction.
    """

    scores: Array
    covariance: Array
    is_exact: bool

    @classmethod
    def of(cls, sums: LogitSums, clusters: ClusterScores | None) -> _Noise:
        """The scores and their covariance, from sums of rows or of clusters."""
        if clusters is None:
            assert sums.noise is not None
            of_rows = dict(zip(NOISE, sums.noise.sum(axis=0), strict=True))
            model, scale = NoiseModel(1.0, 0.0), np.zeros((2, 1))
            square, variance = of_rows["square"], of_rows["variance"]
        else:
            of_rows = {name: float(each.sum()) for name, each in clusters.sums.items()}
            model = _correlation(clusters, hard=sums.hard)
            scale = np.array([clusters.sums["scale"], clusters.sums["scale_h"]])
            square, variance = of_rows["weighted_square"], of_rows["weighted_variance"]
        dispersion = 1.0 if sums.hard else square / max(variance, 1e-300)
        noise = [of_rows[f"noise_{power}"] for power in range(3)]
        over_rows = np.array([noise[:2], noise[1:]])
        covariance = replace(model, dispersion=dispersion).covariance(over_rows, scale)
        return cls(np.array([of_rows["gap"], of_rows["gap_h"]]), covariance, not square > 0.0)


def _correlation(clusters: ClusterScores, *, hard: bool) -> NoiseModel:
    """The noise model with the correlation within clusters, as `NoiseModel.from_problem` has it."""
    sums = clusters.sums
    dispersion = 1.0
    if not hard:
        variance = float(sums["weighted_variance"].sum())
        dispersion = float(sums["weighted_square"].sum()) / max(variance, 1e-300)
    with_outcome = [np.count_nonzero(sums[name]) for name in ("non_events", "events")]
    if hard and min(with_outcome) < FEW_EVENTS:
        return NoiseModel(dispersion, 1.0)
    products = float((sums["residual"] ** 2).sum() - sums["square"].sum())
    largest = dispersion * float((sums["deviation"] ** 2).sum() - sums["variance"].sum())
    return NoiseModel(dispersion, min(max(products / largest, 0.0), 1.0) if largest > 0 else 0.0)


def _robust_p(fit: LogisticFit, covariance: Array, noise: _Noise, df: float) -> float:
    """The p-value of intercept 0 and slope 1, as `coefficients` has it for weights, soft labels and
    clusters.
    """
    if noise.is_exact:
        return 1.0
    n = fit.n_free
    deviation = np.array([fit.intercept, fit.slope - 1.0])[:n]
    wald = f_tail(quadratic_form(deviation, covariance), n, df)
    scores = quadratic_form(noise.scores[:n], noise.covariance[:n, :n])
    return max(wald, chi_square_tail(scores, n))


@dataclass(frozen=True, eq=False)
class _Cells:
    """The sums that are fitted: polynomials in t, (cells, powers), from the power 0 upwards."""

    sums: LogitSums

    @cached_property
    def spread(self) -> float:
        """The range of the logits."""
        return float(self.sums.high.max() - self.sums.low.min())

    @cached_property
    def scale(self) -> tuple[float, float]:
        """The mean logit and its standard deviation, about which fits are made."""
        w, at = self.sums.w, self.sums.at
        within = [w[:, j].sum() if j < self.powers else 0.0 for j in range(3)]
        mean = float(w[:, 0] @ at + within[1]) / float(within[0])
        away = at - mean
        square = float(w[:, 0] @ away**2 + within[2])
        if self.powers > 1:
            square += 2.0 * float(w[:, 1] @ away)
        return mean, math.sqrt(max(square, 0.0) / float(within[0])) or 1.0

    @property
    def powers(self) -> int:
        """The number of powers of t that are summed."""
        return int(self.sums.w.shape[1])

    @cached_property
    def target(self) -> Array:
        """The target of hard cells, (cells,): 1 for events, else 0."""
        return (self.sums.kind == EVENT).astype(np.float64)

    def line(self, intercept: float, slope: float) -> Array:
        """The polynomial of ``intercept + slope h``."""
        out = np.zeros((self.sums.at.size, self.powers))
        out[:, 0] = intercept + slope * self.sums.at
        if self.powers > 1:
            out[:, 1] = slope
        return out

    def probability(self, intercept: float, slope: float, *, mirrored: Mask | None = None) -> Array:
        """The polynomial of sigmoid(line), by ``s' = s (1 - s)``; where `mirrored`, that of
        sigmoid(-line), which keeps its digits where the probability is next to 1.
        """
        sign = np.ones(self.sums.at.size) if mirrored is None else np.where(mirrored, -1.0, 1.0)
        line = sign * (intercept + slope * self.sums.at)
        small = np.exp(-np.abs(line))
        series = np.zeros((line.size, self.powers))
        series[:, 0] = np.where(line >= 0.0, 1.0, small) / (1.0 + small)
        other = np.where(line >= 0.0, small, 1.0) / (1.0 + small)
        for k in range(self.powers - 1):
            # s - s^2, whose constant term is s (1 - s) without cancellation.
            square = sum(series[:, j] * series[:, k - j] for j in range(k + 1))
            term = series[:, 0] * other if k == 0 else series[:, k] - square
            series[:, k + 1] = term / (k + 1)
        factors = (sign * slope)[:, None] ** np.arange(self.powers)
        return np.asarray(series * factors)

    def log_likelihood(self, intercept: float, slope: float) -> float:
        """The weighted log-likelihood of a logistic model."""
        sums, line = self.sums, self.line(intercept, slope)
        softplus = np.zeros(line.shape)
        softplus[:, 0] = np.logaddexp(0.0, line[:, 0])
        if self.powers > 1:
            p = self.probability(intercept, slope)
            softplus[:, 1:] = slope * p[:, :-1] / np.arange(1, self.powers)
        return float((sums.wz * line).sum() - (sums.w * softplus).sum())

    def residual(self, intercept: float, slope: float) -> Array:
        """The polynomial of z - p in cells of hard labels; that of -p in cells of soft ones."""
        sign = np.where(self.target > 0.0, 1.0, -1.0)[:, None]
        return sign * self.probability(intercept, slope, mirrored=self.target > 0.0)

    def fit(self, slope: float | None = None) -> LogisticFit:
        """The maximum-likelihood fit by Newton's method, as `coefficients.fit_logistic` makes it
        from rows; with `slope` given, of the intercept alone.
        """
        centre, scale = (0.0, 1.0) if slope is not None else self.scale
        free = 1 if slope is not None else 2
        basis = [self.line(1.0, 0.0), self.line(-centre / scale, 1.0 / scale)][:free]

        def of_logits(theta: Array) -> tuple[float, float]:
            """Intercept and slope of the logit itself, from those of the standardised one."""
            return float(theta[0] - theta[1] * centre / scale), float(theta[1] / scale)

        starts = [(centre, scale), (self._even, 0.0)]
        if slope is not None:
            starts = [(0.0, slope), (self._even - slope * self.scale[0], slope)]
        tried = [(self.log_likelihood(*of_logits(np.array(start))), start) for start in starts]
        likelihood, start = max(tried, key=lambda each: each[0])
        theta = np.array(start)
        for _ in range(100):
            score, information = self._score(basis, *of_logits(theta))
            step = np.zeros(2)
            step[:free] = np.linalg.lstsq(information, score, rcond=1e-12)[0]
            part, candidate = 1.0, theta + step
            reached = self.log_likelihood(*of_logits(candidate))
            while reached < likelihood - 1e-12 * abs(likelihood) and part >= 1e-6:
                part /= 2.0
                candidate = theta + part * step
                reached = self.log_likelihood(*of_logits(candidate))
            theta, likelihood = candidate, reached
            if np.abs(part * step).max() < 1e-12:
                break
        _, information = self._score(basis, *of_logits(theta))
        inverse = np.linalg.pinv(information).astype(np.float64)
        if slope is not None:
            return LogisticFit(float(theta[0]), slope, inverse, likelihood)
        back = np.array([[1.0, -centre / scale], [0.0, 1.0 / scale]])
        return LogisticFit(*of_logits(theta), back @ inverse @ back.T, likelihood)

    @property
    def _even(self) -> float:
        """The logit of the mean target."""
        ones = self.line(1.0, 0.0)
        return float(logit((self.sums.wz * ones).sum() / (self.sums.w * ones).sum()))

    def _score(self, basis: Sequence[Array], intercept: float, slope: float) -> tuple[Array, Array]:
        """The score and the information of a logistic model in the coordinates of `basis`."""
        sums = self.sums
        off, p = self.residual(intercept, slope), self.probability(intercept, slope)
        variance = self._slope_of_sigmoid(p)
        soft = sums.wz * (sums.kind == SOFT)[:, None]
        score = [float((sums.w * _times(off, b)).sum() + (soft * b).sum()) for b in basis]
        information = [
            [float((sums.w * _times(variance, _times(one, other))).sum()) for other in basis]
            for one in basis
        ]
        return np.array(score), np.array(information)

    def _slope_of_sigmoid(self, p: Array) -> Array:
        """The polynomial of p (1 - p)."""
        return p - _times(p, p)

    def squares(self, fit: LogisticFit) -> Array:
        """Sums of the squared scores of rows that count once, each divided by 1 less its row's
        leverage, with the factors 1, h and h^2, (3,).
        """
        sums, p = self.sums, self.probability(fit.intercept, fit.slope)
        h, b = self.line(0.0, 1.0), np.zeros((2, 2))
        b[: fit.n_free, : fit.n_free] = fit.inverse_information
        form = b[1, 1] * _times(h, h) + 2.0 * b[0, 1] * h + self.line(b[0, 0], 0.0)
        factor = _inverse_of_left(_times(form, self._slope_of_sigmoid(p)))
        off = self.residual(fit.intercept, fit.slope)
        soft = (sums.kind == SOFT)[:, None]
        out = []
        for power in range(3):
            weight = factor if power == 0 else _times(factor, h if power == 1 else _times(h, h))
            total = (sums.w * _times(_times(off, off), weight)).sum()
            extra = sums.wzz * weight + 2.0 * sums.wz * _times(off, weight)
            out.append(float(total + (soft * extra).sum()))
        return np.array(out)


def _times(one: Array, other: Array) -> Array:
    """The product of polynomials (cells, powers), without the powers above the last."""
    out = np.zeros(one.shape)
    for j in range(one.shape[1]):
        out[:, j:] += one[:, j : j + 1] * other[:, : one.shape[1] - j]
    return out


def _inverse_of_left(leverage: Array) -> Array:
    """The polynomial of ``(1 - leverage)^-2``; a constant where the leverage is `MOST_LEVERAGE` or
    more.
    """
    huge = leverage[:, 0] >= MOST_LEVERAGE
    left = -leverage
    left[:, 0] += 1.0
    left[huge] = 0.0
    left[huge, 0] = 1.0 - MOST_LEVERAGE
    inverse = np.zeros(left.shape)
    inverse[:, 0] = 1.0 / left[:, 0]
    for k in range(1, left.shape[1]):
        rest = sum(left[:, j] * inverse[:, k - j] for j in range(1, k + 1))
        inverse[:, k] = -rest / left[:, 0]
    return _times(inverse, inverse)
