"""The tests behind a verdict: calibration slope, mean prediction, noise floor and curve.

The noise floor of an error spreads its power over all alternatives. The usual ones are a wrong
slope, a wrong mean and gaps that change smoothly along the predictions; a test of its own finds
each with half of the rows. Every test has a share of the probability of a false alarm, and the
smallest p-value over its share decides (Bonferroni).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from calibrant._core.binning import EqualWidth
from calibrant._core.typing import Array, Index, Mask
from calibrant._data.links import logit, sigmoid
from calibrant._engines.arrays.streams import EPS
from calibrant._inference.budget import FITTED_CELLS_FROM
from calibrant._inference.cells import Drawn, Problem
from calibrant._inference.coefficients import (
    FittedCoefficient,
    fit_coefficient,
    fit_logistic,
    why_not_estimable,
)
from calibrant._inference.noise_floors import NoiseFloors
from calibrant._inference.numbers import CONVINCING, SHARES, SLOW_WAVES, WAVES
from calibrant._inference.rounding import ROUNDED_FLOOR, SLACK
from calibrant._inference.tails import upper_tail
from calibrant._measures.catalogue import Measure
from calibrant._measures.coefficients import COEFFICIENTS
from calibrant.results._uncertainty import NoiseFloor

SLOPE, MEAN, FLOOR, CURVE = "slope", "mean", "noise floor", "curve"
# Notions that ask about one probability: P(y = 1), or that of the top label.
SCALAR = ("scalar", "confidence", "confidence by class")


@dataclass(frozen=True)
class CalibrationTests:
    """The results of the tests behind a verdict.

    `p_values` has the p-value of each test by its name ("slope", "mean", "noise floor", "curve").
    `slope` is the calibration slope, None where it is not estimable. `predicted` and `observed` are
    the mean prediction and the mean target. `slope_gap` is the mean distance by which the slope
    alone moves predictions, None where it moves their mean too: for confidences.
    """

    p_values: dict[str, float]
    slope: FittedCoefficient | None
    predicted: float
    observed: float
    slope_gap: float | None = None

    @property
    def shares(self) -> dict[str, float]:
        """Each test's share of the false alarms, by name. Without a slope its share goes to the
        noise floor.
        """
        shares = dict(SHARES)
        if SLOPE not in self.p_values:
            shares[FLOOR] += shares.pop(SLOPE)
        return shares

    @property
    def adjusted(self) -> dict[str, float]:
        """Each test's p-value over the test's share of the false alarms, at most 1, by name."""
        shares = self.shares
        return {name: min(1.0, p / shares[name]) for name, p in self.p_values.items()}

    @property
    def p_value(self) -> float:
        """The p-value of all tests together: the smallest adjusted one."""
        return min(self.adjusted.values())

    @property
    def first(self) -> str:
        """The name of the test that decides: the one with the smallest adjusted p-value.

        If slope or mean have one below `CONVINCING`, it is this one, which says more precisely what
        is wrong. If both have, there is no doubt about either, and it is the larger error.
        """
        adjusted = self.adjusted
        specific = [name for name in (SLOPE, MEAN) if adjusted.get(name, 1.0) < CONVINCING]
        if len(specific) > 1 and self.slope_gap is not None:
            return MEAN if abs(self.predicted - self.observed) > self.slope_gap else SLOPE
        return min(specific or adjusted, key=lambda name: adjusted[name])

    def slope_level(self, level: float) -> float:
        """The level of the slope's confidence interval in a verdict of this level: the slope has
        only a share of 1 - level.
        """
        return 1.0 - SHARES[SLOPE] * (1.0 - level)

    def slope_limits(self, level: float) -> tuple[float, float] | None:
        """The slope's confidence interval in a verdict of this level; None without a slope. It
        excludes 1 only where the test of the slope rejects, so that it never contradicts the
        verdict.
        """
        if self.slope is None:
            return None
        own = self.slope_level(level)
        low, high = self.slope.limits(own)
        if self.p_values[SLOPE] >= 1.0 - own:
            low, high = min(low, 1.0), max(high, 1.0)
        return low, high


def calibration_tests(
    rows: NoiseFloors, measure: Measure, floor: NoiseFloor | None
) -> CalibrationTests | None:
    """The tests that a verdict on a calibration error rests on, `floor` being its noise floor.

    None where the noise floor alone decides: for losses, and for errors over all classes, which
    have no single slope.
    """
    if not measure.is_error or measure.notion not in SCALAR:
        return None
    problem = _problem(rows, measure)
    slope = fit_slope(problem, rows.groups)
    w = problem.weights / problem.weights.sum()
    # Residuals of soft labels that equal the predictions are rounding errors.
    off = float(w @ np.abs(problem.z - problem.u)) > ROUNDED_FLOOR
    draws = rows.calibrated_draws(problem) if off else []
    p_values = {}
    if slope is not None:
        # Wald's test alone rejects too often with few events or heavy weights.
        p_values[SLOPE] = max([slope.p_value(1.0), *map(slope_p, draws)]) if off else 1.0
    # With draws under two noise models the larger p-value counts.
    p_values[MEAN] = max(map(mean_p, draws), default=1.0)
    if floor is not None:
        p_values[FLOOR] = floor.p_value
    p_values[CURVE] = max(map(curve_p, draws), default=1.0)
    slope_gap = None
    if slope is not None and measure.notion == "scalar" and not rows.of_confidences:
        slope_gap = _gap_of_slope(slope.value, problem.u, w)
    return CalibrationTests(p_values, slope, float(w @ problem.u), float(w @ problem.z), slope_gap)


def _gap_of_slope(slope: float, u: Array, w: Array) -> float:
    """The mean distance of predictions u from those with this slope around the same centre; w are
    weights that sum to 1. Predictions without a logit stay where they are.
    """
    kept = _has_logit(u)
    u, w = u[kept], w[kept]
    h, mass = logit(u), w * u * (1.0 - u)
    centre = float(mass @ h) / max(float(mass.sum()), 1e-300)
    return float(w @ np.abs(u - sigmoid(centre + slope * (h - centre))))


def _problem(rows: NoiseFloors, measure: Measure) -> Problem:
    """The predictions and targets that the measure is about, in 15 bins of equal width: of class 1,
    or of the top label.
    """
    if measure.notion == "confidence" and not rows.samples.multiclass:
        folded = rows.problems.scalar(EqualWidth(15), "confidence")
        assert folded is not None
        return folded
    return rows.plain_problem


def fit_slope(problem: Problem, groups: Index | None) -> FittedCoefficient | None:
    """The calibration slope of one predicted probability a row; None where it is not estimable.

    Predictions of 0 and 1 have no logit. If clipped, their clipped value would decide the slope, so
    they are left out, and left to the other tests. Many unweighted independent rows are fitted as
    cells of nearly equal predictions.
    """
    alike = problem.w is None or (problem.counts is not None and problem.counts_once)
    unweighted = problem.hard and groups is None and alike
    if unweighted and (problem.counts is not None or problem.n > FITTED_CELLS_FROM):
        cells = problem.fine_cells
        kept = _has_logit(cells.u)
        z, h, w = (cells.wz / cells.w)[kept], logit(cells.u[kept]), cells.w[kept]
        if not kept.any() or why_not_estimable(z, h, w):
            return None
        fit = fit_logistic(z, h, w)
        error = math.sqrt(max(float(fit.inverse_information[1, 1]), 0.0))
        return FittedCoefficient(fit.slope, error, math.inf)
    kept = _has_logit(problem.u)
    if not kept.any():
        return None
    if not kept.all():
        problem = replace(
            problem,
            u=problem.u[kept],
            z=problem.z[kept],
            bins=problem.bins[kept],
            w=None if problem.w is None else problem.w[kept],
            counts=None if problem.counts is None else problem.counts[kept],
        )
        groups = None if groups is None else np.unique(groups[kept], return_inverse=True)[1]
    fitted = fit_coefficient(COEFFICIENTS["slope"], problem, groups)
    return None if math.isnan(fitted.value) else fitted


def _has_logit(u: Array) -> Mask:
    """Which predictions u are far enough from 0 and 1 that their logit is not clipped."""
    return (u >= EPS) & (u <= 1.0 - EPS)


def slope_p(drawn: Drawn) -> float:
    """The p-value of the score test of slope 1, from `drawn` samples of calibrated predictions.

    The score is the sum of residuals (target less prediction) times logits; the logits are centred,
    so that it does not respond to a wrong mean.
    """
    cells = drawn.cells
    kept = _has_logit(cells.u)
    h = logit(np.where(kept, cells.u, 0.5))
    variance = np.where(kept, cells.w * cells.u * (1.0 - cells.u), 0.0)
    centre = float(variance @ h) / max(float(variance.sum()), 1e-300)
    return _two_sided(*_scores(drawn, np.where(kept, h - centre, 0.0)))


def mean_p(drawn: Drawn) -> float:
    """The two-sided p-value of the mean of target less prediction, from `drawn` samples of
    calibrated predictions.
    """
    return _two_sided(*_scores(drawn, np.ones(drawn.cells.size)))


def curve_p(drawn: Drawn) -> float:
    """The p-value of waves in the gaps (mean target less mean prediction) along the predictions
    (Neyman's smooth test, 1937), from `drawn` samples of calibrated predictions.

    The waves are cosines of a scale that weighs rows by their standard deviation. The first two,
    which are close to the mean and the slope, are left out, and slow waves weigh more. With rare
    events the statistic has a long tail, so that draws are counted and no tail is fitted.
    """
    cells, least = drawn.cells, 1.0 / (1.0 + len(drawn.wz))
    varies = cells.by_bin((drawn.wz != drawn.wu).any(axis=0).astype(np.float64)) > 0.0
    observed = cells.by_bin(cells.wz - cells.w * cells.u)
    if (np.abs(observed[~varies]) > 1e-9 * cells.w.max()).any():  # a gap that no draw has
        return least
    deviation = np.sqrt(np.clip(cells.u * (1.0 - cells.u), 0.0, None))
    mass, half_turns = cells.w * deviation, np.arange(2, WAVES + 1)
    position = (np.cumsum(mass) - mass / 2.0) / max(float(mass.sum()), 1e-300)
    waves = np.cos(np.outer(position, np.pi * half_turns))
    # Predictions of 0 and 1 in a bin with others are left to the noise floor.
    inverse = np.divide(1.0, np.sqrt(deviation), out=np.zeros(cells.size), where=deviation > 0.0)
    waves *= inverse[:, None]
    scores, observed = _scores(drawn, waves)
    error = np.sqrt(np.mean(scores**2, axis=0))
    unit = np.divide(
        half_turns**-SLOW_WAVES, error, out=np.zeros(half_turns.size), where=error > 0.0
    )
    with np.errstate(over="ignore"):  # an event at a prediction next to 0 may overflow
        statistic = float(((observed * unit) ** 2).sum())
    beyond = np.count_nonzero(((scores * unit) ** 2).sum(axis=1) >= statistic * (1.0 - SLACK))
    return (1.0 + int(beyond)) * least


def _two_sided(drawn: Array, observed: Array | float) -> float:
    """The two-sided p-value of an observed value among drawn ones: twice the smaller tail
    probability, since sums of rare events are skewed; 1 where all draws are equal.
    """
    if not np.ptp(drawn) > 0.0:  # all predictions are 0 or 1, and left to the noise floor
        return 1.0
    value = float(observed)
    return min(1.0, 2.0 * upper_tail(drawn, value), 2.0 * upper_tail(-drawn, -value))


def _scores(drawn: Drawn, contrasts: Array) -> tuple[Array, Array]:
    """Sums over cells of residuals times contrasts: in every draw, and the observed ones.

    `contrasts` are (cells,), or (cells, c) for c sums at once.
    """
    cells = drawn.cells
    return (drawn.wz - drawn.wu) @ contrasts, (cells.wz - cells.w * cells.u) @ contrasts
