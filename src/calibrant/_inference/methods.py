"""Methods: how each kind of measure gets its limits, one function a method.

Squared errors, their roots and absolute errors are functions of second moments (`squares`,
`gap_paths`); losses are means, ranking measures have influences, and what votes identify in part
has bounds. `METHODS` has them by name.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from calibrant._core.typing import Array
from calibrant._inference.bootstrap import basic_limits
from calibrant._inference.context import Context
from calibrant._inference.decomposition import discrimination_limits, uncertainty_limits
from calibrant._inference.gap_paths import GapPaths
from calibrant._inference.means import Influences, influences, mean_limits, moment_limits
from calibrant._inference.noise_floors import NoiseFloors
from calibrant._inference.readings import SlotReading, slot_reading
from calibrant._inference.resamples import draw_blocks, replicates
from calibrant._inference.rounding import NO_ERROR
from calibrant._inference.second_moments import SecondMoments, second_moments
from calibrant._inference.slot_noise import FineSlots, SlotNoise
from calibrant._inference.squares import Square, diagonal_form, limits_of_square
from calibrant._inference.tails import Law, upper_tail
from calibrant._measures.catalogue import Measure

SQUARED = "noncentral chi-square of the squared residuals"
INVERTED = "test inversion over a least-favourable family"
INVERTED_VOTES = f"{INVERTED}, the votes of these rows drawn anew"


@dataclass(frozen=True)
class Found:
    """Limits, how they were found, the standard error of the value, and the estimate without its
    bias; None where a method has neither.
    """

    low: float
    high: float
    method: str
    error: float | None = None
    estimate: float | None = None


Method = Callable[[NoiseFloors, Measure, float], Found | None]


def find_limits(rows: NoiseFloors, measure: Measure, value: float) -> Found:
    """Limits by the first method that a measure has."""
    each = (METHODS[name](rows, measure, value) for name in method_names(rows, measure))
    return next(found for found in each if found is not None)


def method_names(rows: NoiseFloors, measure: Measure) -> tuple[str, ...]:
    """The methods that are tried for a measure, in order."""
    way, of_votes = measure.interval_method, rows.resampling == "votes"
    if rows.resampling != "rows" and measure.vote_model:
        return ("bounds",)
    if of_votes and way != "inversion":
        return ("votes",)
    if way != "inversion":
        return (way if way in METHODS else "resampled",)
    closed = ("quadratic",) if measure.form else ("root",) if measure.gaps == "root" else ()
    return (*closed, "absolute", "votes" if of_votes else "resampled")


def _units(rows: Context) -> str:
    return "clusters" if rows.groups is not None else "rows"


# --- functions of second moments ------------------------------------------------------------------


def _moments(rows: Context, reading: SlotReading) -> SecondMoments:
    out: SecondMoments = rows.once(
        ("moments", reading.key), lambda: second_moments((reading.slots,), rows.blocks)
    )
    return out


def quadratic(rows: NoiseFloors, measure: Measure, value: float) -> Found | None:
    """Limits of a squared error in closed form; None where its bins drop rows."""
    reading = slot_reading(measure, rows)
    if reading is None or reading.form is None:
        return None
    square = Square(_moments(rows, reading), reading.form)
    # A corrected error is larger than its population's: that is what its limits are about.
    shown = value if measure.of_population is None else square.value
    low, high, estimate = limits_of_square(square, shown, rows.level)
    return Found(low, high, SQUARED, square.standard_error, estimate)


def root(rows: NoiseFloors, measure: Measure, value: float) -> Found | None:
    """Limits of the root of a mean of squared gaps: roots of those of the mean."""
    reading = slot_reading(measure, rows)
    if reading is None:
        return None
    weight = reading.slots.weight
    each = np.divide(reading.slots.total, weight, out=np.zeros(weight.size), where=weight > 0)
    square = Square(_moments(rows, reading), diagonal_form(each))
    limits = limits_of_square(square, square.value, rows.level)
    low, high, estimate = (math.sqrt(end) for end in limits)
    error = square.standard_error / (2.0 * max(estimate, math.sqrt(square.bias), NO_ERROR))
    return Found(low, high, f"roots of limits: {SQUARED}", error, estimate)


def gap_paths(rows: Context, reading: SlotReading) -> GapPaths:
    """The paths of a reading's gaps."""

    def make() -> GapPaths:
        fine = None
        if reading.fine is not None:
            assert reading.parents is not None
            fine = FineSlots((reading.fine,), (reading.parents,), (rows.blocks,))
        n_draws = rows.many_draws if fine is None else rows.few_draws
        return GapPaths(SlotNoise(_moments(rows, reading), n_draws, rows.seed, fine))

    return rows.once(("paths", reading.key, reading.fine is None), make)


def absolute(rows: NoiseFloors, measure: Measure, value: float) -> Found | None:
    """Limits of an absolute error by test inversion; None where a measure is not of slots."""
    reading = slot_reading(measure, rows)
    if reading is None:
        return None
    paths = gap_paths(rows, reading)
    largest = measure.gaps == "largest" and reading.fine is None
    of_gaps = paths.limits_of_largest if largest else paths.limits
    of_votes = rows.resampling == "votes"
    # Whether the data differ from calibrated ones is what the noise floor tests.
    floor = None if of_votes else rows.null_values(measure)
    null = None if floor is None else floor[0]
    # A sum of gaps in bins is a norm; squares, and gaps that are smoothed, are none.
    of_norm = null if reading.fine is None and measure.power == 1 else None
    found = of_gaps(reading.of_sample, reading.of_population, reading.seen, rows.level, of_norm)
    low, estimate = found.low, found.estimate
    if of_votes:
        if measure.vote_excess is not None:
            estimate = max(value - rows.voted.rows.excess(measure), measure.low)
        return Found(low, found.high, INVERTED_VOTES, found.error, estimate)
    if null is not None and low > 0.0:
        p = upper_tail(null, rows.on_null_scale(measure, value))
        low = 0.0 if p > (1.0 - rows.level) / 2.0 else low
    return Found(low, found.high, INVERTED, found.error, estimate)


# --- means, influences, rates ---------------------------------------------------------------------


def influences_of(rows: Context, measure: Measure) -> Influences:
    """What rows or clusters move a mean by."""
    distribution = measure.statistic == "distribution"
    weights = rows.samples.weights
    w = None if weights is None else weights.astype(np.float64)
    if rows.takes_out_votes(measure):
        values = rows.voted.rows.corrected(measure)
    else:
        values = rows.made.row_values(distribution=distribution)[measure.loss]
    return influences(values, w, rows.groups)


def mean(rows: NoiseFloors, measure: Measure, value: float) -> Found:
    """Limits of a mean of what rows have."""
    low, high, error = mean_limits(influences_of(rows, measure), rows.level)
    if rows.takes_out_votes(measure):
        value = rows.voted.estimate(measure, value)
    method = f"BCa limits of a mean of {_units(rows)}"
    return Found(value + low, value + high, method, error, value)


def moved_by(rows: Context, measure: Measure) -> Influences:
    """What rows or clusters move a measure by that is no mean."""

    def make() -> Influences:
        assert measure.moved is not None
        problem = rows.plain_problem
        values, units = measure.moved(problem.levels[1], problem.z, problem.weights)
        own = influences(values, problem.w, rows.groups)
        return replace(own, units=min(own.units, units))

    return rows.once(("moved", measure.name), make)


def influence(rows: NoiseFloors, measure: Measure, value: float) -> Found:
    """Limits from what each row moves a share by, found on the logit scale, which takes up its
    skewness: near 0 and 1 a second correction for that would be one too many.
    """
    method = f"limits from what {_units(rows)} move it by (DeLong)"
    if not 0.0 < value < 1.0:
        return Found(value, value, method, 0.0, value)
    parts = moved_by(rows, measure)
    down, up, error = moment_limits(parts.variance, 0.0, parts.units, rows.level)
    at, steep = math.log(value / (1.0 - value)), value * (1.0 - value)
    low, high = (1.0 / (1.0 + math.exp(min(-at - d / steep, 700.0))) for d in (down, up))
    return Found(low, high, method, error, value)


def rate(rows: NoiseFloors, measure: Measure, value: float) -> Found:
    """Limits of how targets vary about their mean."""
    problem = rows.plain_problem
    if rows.takes_out_votes(measure):
        return Found(*rows.voted.of_scattered(measure, value, problem.z, problem.w))
    low, high = uncertainty_limits(problem, rows.groups, rows.level)
    return Found(low, high, "limits of the rate", None, value)


def discrimination(rows: NoiseFloors, measure: Measure, value: float) -> Found:
    """Limits of the discrimination of an isotonic fit."""
    problem = rows.plain_problem
    low, high, estimate = discrimination_limits(
        problem, problem.fine_cells, rows.blocks, rows.few_draws, rows.level, rows.seed
    )
    return Found(low, high, INVERTED, None, estimate)


# --- votes, and what is left ----------------------------------------------------------------------


def bounds(rows: NoiseFloors, measure: Measure, value: float) -> Found:
    """Bounds of what votes identify only in part."""
    return Found(*rows.voted.bounded(measure))


def votes(rows: NoiseFloors, measure: Measure, value: float) -> Found:
    """Limits where rows stay and their votes are drawn anew."""
    return Found(*rows.voted.of_same_rows(measure, value))


def replicates_of(rows: Context, measure: Measure) -> Array:
    """The measure's value in resamples of the rows."""

    def make() -> Array:
        draws = draw_blocks(rows.samples.n, rows.few_draws, rows.seed, rows.groups)
        return replicates(rows.samples, measure, rows.fixed, rows.quantile, draws)

    return rows.once(("replicates", measure.name), make)


def resampled(rows: NoiseFloors, measure: Measure, value: float) -> Found:
    """Basic limits of resamples, for a measure that has nothing better. Of an error over more bins
    than are drawn they do not know the bias: from what the noise floor allows up to the value.
    """
    drawn = replicates_of(rows, measure)
    low, high = basic_limits(value, drawn, rows.level)
    floor = rows.null_values(measure) if measure.interval_method == "inversion" else None
    if floor is not None:
        low = max(0.0, value - Law(floor[0]).quantile((1.0 + rows.level) / 2.0))
        high = max(high, value)
    return Found(low, high, f"basic bootstrap of {_units(rows)}", float(drawn.std(ddof=1)))


METHODS: dict[str, Method] = {
    "quadratic": quadratic,
    "root": root,
    "absolute": absolute,
    "mean": mean,
    "influence": influence,
    "rate": rate,
    "discrimination": discrimination,
    "bounds": bounds,
    "votes": votes,
    "resampled": resampled,
}
