"""What clinical papers report beside Cox's fit, each with its interval."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import NotDefined
from calibrant._inference.cells import Problem
from calibrant._inference.means import influences, mean_limits
from calibrant._inference.uncertainty import Uncertainty
from calibrant._measures.catalogue import Measure
from calibrant.results._clinical import ClinicalValue
from calibrant.results._uncertainty import CoxCalibration

Array = NDArray[np.float64]

SLOPE_TITLES = {
    "slope": "calibration slope; below 1, predictions are too extreme",
    "intercept": "intercept, fitted with the slope",
    "intercept_in_the_large": "calibration in the large: the intercept at slope 1",
}
OBSERVED_EXPECTED = "observed over expected events; below 1, predictions are too high on the whole"
SCALED = "share of the Brier score of the mean outcome that is saved"
# Events below which their number scatters more than its logarithm tells.
FEW_EVENTS = 10
ONE_OUTCOME = "every outcome is the same"


def not_estimable(title: str, why: str) -> ClinicalValue:
    """A value that there is none of, and why."""
    return ClinicalValue(math.nan, math.nan, math.nan, "", why, title)


def cox_values(fit: CoxCalibration) -> dict[str, ClinicalValue]:
    """Slope and both intercepts."""
    fields = {
        "slope": "slope", "intercept": "intercept", "intercept_in_the_large": "intercept_at_slope_1"
    }  # fmt: skip
    out = {}
    for name, attribute in fields.items():
        value, low, high = (getattr(fit, attribute + end) for end in ("", "_low", "_high"))
        title = SLOPE_TITLES[name]
        out[name] = (
            not_estimable(title, _reason(fit.note))
            if math.isnan(value)
            else ClinicalValue(value, low, high, "Wald, of a logistic fit", _about(fit), title)
        )
    return out


def _reason(note: str) -> str:
    """Why there is no fit, without what the value says of itself."""
    return note.rpartition("not estimable: ")[2]


def _about(fit: CoxCalibration) -> str:
    if not fit.n_clipped:
        return ""
    return fit.note.partition(";")[0]


def observed_expected(
    problem: Problem, groups: NDArray[np.intp] | None, level: float
) -> ClinicalValue:
    """Observed events over expected ones; limits on the log scale."""
    w = problem.weights
    observed, expected = float(w @ problem.z), float(w @ problem.u)
    if expected <= 0.0:
        return not_estimable(OBSERVED_EXPECTED, "no event is expected: every prediction is 0")
    ratio = observed / expected
    if observed <= 0.0:
        # No event seen: Poisson's limit of their number, in rows as the weights are worth.
        unit = float((w * w).sum() / w.sum())
        high = -math.log((1.0 - level) / 2.0) * unit / expected
        return ClinicalValue(0.0, 0.0, high, "Poisson", "no event was seen", OBSERVED_EXPECTED)
    moved = (problem.z - ratio * problem.u) * float(w.sum()) / observed
    down, up, _ = mean_limits(influences(moved, problem.w, groups), level)
    low, high = ratio * math.exp(down), ratio * math.exp(up)
    method = "delta method, on the log scale"
    if observed**2 < FEW_EVENTS * float(w * w @ problem.z):
        # Few events scatter as Poisson's do, whatever these few show.
        from scipy.special import gammaincinv

        events = observed**2 / float(w * w @ problem.z)
        tail = (1.0 - level) / 2.0
        low = min(low, ratio * float(gammaincinv(events, tail)) / events)
        high = max(high, ratio * float(gammaincinv(events + 1.0, 1.0 - tail)) / events)
        method += "; Poisson limits of few events"
    return ClinicalValue(ratio, low, high, method, "", OBSERVED_EXPECTED)


def scaled_brier(problem: Problem, groups: NDArray[np.intp] | None, level: float) -> ClinicalValue:
    """1 - B / (m (1 - m)), m the mean outcome."""
    w = problem.weights / problem.weights.sum()
    z, loss = problem.z, (problem.u - problem.z) ** 2
    mean, brier = float(w @ z), float(w @ loss)
    most = mean * (1.0 - mean)
    if most <= 1e-15:
        return not_estimable(SCALED, f"{ONE_OUTCOME}, so that there is nothing to explain")
    value = 1.0 - brier / most
    moved = -(loss - brier) / most + brier * (1.0 - 2.0 * mean) * (z - mean) / most**2
    low, high, _ = mean_limits(influences(moved, problem.w, groups), level)
    return ClinicalValue(value, value + low, min(value + high, 1.0), "delta method", "", SCALED)


def measured(measure: Measure, uncertainty: Uncertainty, title: str) -> ClinicalValue:
    """A measure of the catalogue, with its interval."""
    try:
        value = measure.compute(uncertainty.summary(uncertainty.samples))
    except NotDefined as error:
        return not_estimable(title, str(error))
    interval = uncertainty.interval(measure, value)
    return ClinicalValue(value, interval.low, interval.high, interval.method, interval.note, title)
