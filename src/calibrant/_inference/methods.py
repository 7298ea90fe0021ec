"""Methods: how each kind of measure gets its limits, one function a method.

Squared errors, their roots and absolute errors are functions of second moments (`squares`,
`gap_paths`); losses are means, ranking measures have influences, and measures that votes identify
only in part have bounds. `METHODS` has them by name.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from calibrant._core.errors import NeedsRows
from calibrant._core.typing import Array
from calibrant._engines.arrays.draws import Outcomes, fit_isotonic
from calibrant._inference.blocks import Blocks, effective
from calibrant._inference.bootstrap import basic_limits, draw_blocks, replicates
from calibrant._inference.budget import DISCRIMINATIONS
from calibrant._inference.cells import Drawn, Problem
from calibrant._inference.context import Context
from calibrant._inference.gap_paths import GapPaths
from calibrant._inference.inversion import Path
from calibrant._inference.limits import Limits
from calibrant._inference.means import Influences, influences, mean_limits, moment_limits
from calibrant._inference.noise_floors import NoiseFloors
from calibrant._inference.null import outcome_residuals
from calibrant._inference.readings import SlotReading, slot_reading
from calibrant._inference.rounding import NO_ERROR
from calibrant._inference.second_moments import (
    FineSlots,
    SecondMoments,
    SlotNoise,
    second_moments,
)
from calibrant._inference.squares import Square, diagonal_form, limits_of_square
from calibrant._inference.tails import DrawnLaw, upper_tail
from calibrant._measures.catalogue import Measure
from calibrant._measures.cell_formulas import isotonic_parts
from calibrant._measures.proportions import wilson

SQUARED = "noncentral chi-square of the squared residuals"
INVERTED = "test inversion over a least-favourable family"
INVERTED_VOTES = f"{INVERTED}, with resampled votes of these rows"

Method = Callable[[NoiseFloors, Measure, float], Limits | None]


def find_limits(rows: NoiseFloors, measure: Measure, value: float) -> Limits:
    """The interval of a measure by the first method that applies to it; `value` is the observed
    value.
    """
    each = (METHODS[name](rows, measure, value) for name in method_names(rows, measure))
    return next(limits for limits in each if limits is not None)


def method_names(rows: NoiseFloors, measure: Measure) -> tuple[str, ...]:
    """The names of the methods that are tried for a measure, in order; the last one
    always applies.
    """
    method, only_votes = measure.interval_method, rows.resampling == "votes"
    if method == "parts":
        return (method,)
    if rows.resampling != "rows" and measure.vote_model:
        return ("bounds",)
    # Other votes of the same rows: the variance of targets is a square in each row's votes, and
    # draws about the observed shares vary less than votes do. Its limits for other rows cover both.
    if only_votes and method not in ("inversion", "rate"):
        return ("votes",)
    if method != "inversion":
        return (method if method in METHODS else "resampled",)
    closed = ("quadratic",) if measure.form else ("root",) if measure.gaps == "root" else ()
    return (*closed, "absolute", "votes" if only_votes else "resampled")


def _unit_name(rows: Context) -> str:
    """What varies independently, in words: "clusters" or "rows"."""
    return "clusters" if rows.groups is not None else "rows"


# --- functions of second moments ------------------------------------------------------------------


def _moments(rows: Context, reading: SlotReading) -> SecondMoments:
    """The second moments of the residuals in a reading's slots (bins), computed once."""
    out: SecondMoments = rows.once(
        ("moments", reading.key), lambda: second_moments((reading.slots,), rows.blocks)
    )
    return out


def quadratic(rows: NoiseFloors, measure: Measure, value: float) -> Limits | None:
    """Limits of a squared error in closed form; None for a measure that is no quadratic form of the
    residuals of slots, and where its bins drop rows.
    """
    reading = slot_reading(measure, rows)
    if reading is None or reading.form is None:
        return None
    square = Square(_moments(rows, reading), reading.form)
    # A corrected error exceeds the population's, which its limits are about.
    observed = value if measure.of_population is None else square.value
    low, high, estimate = limits_of_square(square, observed, rows.level)
    return Limits(low, high, SQUARED, square.standard_error, estimate)


def root(rows: NoiseFloors, measure: Measure, value: float) -> Limits | None:
    """Limits of the root of a mean of squared gaps (mean target less prediction): the roots of the
    mean's limits. None where the measure is not read from slots (bins).
    """
    reading = slot_reading(measure, rows)
    if reading is None:
        return None
    weight = reading.slots.weight
    inverse = np.divide(reading.slots.total, weight, out=np.zeros(weight.size), where=weight > 0)
    square = Square(_moments(rows, reading), diagonal_form(inverse))
    limits = limits_of_square(square, square.value, rows.level)
    low, high, estimate = (math.sqrt(end) for end in limits)
    error = square.standard_error / (2.0 * max(estimate, math.sqrt(square.bias), NO_ERROR))
    return Limits(low, high, f"square root of the interval: {SQUARED}", error, estimate)


def gap_paths(rows: Context, reading: SlotReading) -> GapPaths:
    """The paths of populations along which the interval of a measure is found, for its reading from
    slots (bins).
    """

    def make() -> GapPaths:
        """The paths, with draws of the noise of the reading's slots (bins)."""
        fine = None
        if reading.fine is not None:
            assert reading.parents is not None
            fine = FineSlots((reading.fine,), (reading.parents,), (rows.blocks,))
        n_draws = rows.many_draws if fine is None else rows.few_draws
        return GapPaths(SlotNoise(_moments(rows, reading), n_draws, rows.seed, fine))

    return rows.once(("paths", reading.key, reading.fine is None), make)


def absolute(rows: NoiseFloors, measure: Measure, value: float) -> Limits | None:
    """Limits of an absolute error by test inversion; None for a measure that is not read from slots
    (bins).
    """
    reading = slot_reading(measure, rows)
    if reading is None:
        return None
    paths = gap_paths(rows, reading)
    largest = measure.gaps == "largest" and reading.fine is None
    invert = paths.limits_of_largest if largest else paths.limits
    only_votes = rows.resampling == "votes"
    # The noise floor tests whether the predictions are calibrated.
    floor = None if only_votes else rows.null_values(measure)
    null = None if floor is None else floor[0]
    # A sum of absolute gaps in bins is a norm; sums of squares and smoothed gaps are not.
    norm_null = null if reading.fine is None and measure.power == 1 else None
    limits = invert(reading.of_sample, reading.of_population, reading.value, rows.level, norm_null)
    if only_votes:
        limits = replace(limits, method=INVERTED_VOTES)
        if measure.vote_excess is None:
            return limits
        return replace(limits, estimate=max(value - rows.voted.rows.excess(measure), measure.low))
    low = limits.low
    if null is not None and low > 0.0:
        p = upper_tail(null, rows.on_null_scale(measure, value))
        low = 0.0 if p > (1.0 - rows.level) / 2.0 else low
    return replace(limits, low=low, method=INVERTED)


# --- means, influences, rates ---------------------------------------------------------------------


def mean_influences(rows: Context, measure: Measure) -> Influences:
    """The influences of rows or clusters on a measure that is a mean over rows; without vote noise
    where that is removed.
    """
    distribution = measure.statistic == "distribution"
    weights = rows.samples.weights
    w = None if weights is None else weights.astype(np.float64)
    if rows.removes_vote_noise(measure):
        values = rows.voted.rows.corrected(measure)
    else:
        values = rows.problems.row_values(distribution=distribution)[measure.loss]
    return influences(values, w, rows.groups, rows.counts)


def mean(rows: NoiseFloors, measure: Measure, value: float) -> Limits:
    """Limits of a mean over rows, such as a loss."""
    low, high, error = mean_limits(mean_influences(rows, measure), rows.level)
    if rows.removes_vote_noise(measure):
        value = rows.voted.estimate(measure, value)
    method = f"BCa interval for a mean of {_unit_name(rows)}"
    return Limits(value + low, value + high, method, error, value)


def ranking_influences(rows: Context, measure: Measure) -> Influences:
    """The influences of rows or clusters on a measure of ranking, which is not a mean."""

    def make() -> Influences:
        """The influences, with the smaller of two effective numbers of rows: the rows' own and the
        measure's.
        """
        assert measure.moved is not None
        problem = rows.plain_problem
        values, units = measure.moved(problem.levels[1], problem.z, problem.weights, problem.counts)
        own = influences(values, problem.w, rows.groups, rows.counts)
        return replace(own, units=min(own.units, units))

    return rows.once(("ranking influences", measure.name), make)


def influence(rows: NoiseFloors, measure: Measure, value: float) -> Limits:
    """Limits of a measure of ranking between 0 and 1, from the influences of rows, on the logit
    scale.

    The logit takes care of the skewness near 0 and 1, so the third moment is not used. A value of 0
    or 1 has limits without width, which are widened elsewhere.
    """
    method = f"influences of {_unit_name(rows)} (DeLong)"
    if not 0.0 < value < 1.0:
        return Limits(value, value, method, 0.0, value)
    parts = ranking_influences(rows, measure)
    down, up, error = moment_limits(parts.variance, 0.0, parts.units, rows.level)
    logit, slope = math.log(value / (1.0 - value)), value * (1.0 - value)
    low, high = (1.0 / (1.0 + math.exp(min(-logit - d / slope, 700.0))) for d in (down, up))
    return Limits(low, high, method, error, value)


def rate(rows: NoiseFloors, measure: Measure, value: float) -> Limits:
    """Limits of the variance of the targets, the uncertainty term of the Brier score.

    For outcomes of the rate q it is ``q (1 - q)``, which is largest at 1/2: it follows from the
    interval of the rate (Wilson's; with clusters or weights, for the equivalent number of
    independent rows). Soft labels have the interval of a mean of squared deviations.
    """
    problem, groups = rows.plain_problem, rows.groups
    if rows.removes_vote_noise(measure) or rows.resampling == "votes":
        return rows.voted.target_variance(measure, value, problem.z, problem.w)
    method = "interval of the rate"
    z, w = problem.z, problem.weights
    q = float((w * z).sum() / w.sum())
    if not problem.hard:
        squares = influences((z - q) ** 2, problem.w, groups, problem.counts)
        down, up, _ = mean_limits(squares, rows.level)
        variance = float((w * (z - q) ** 2).sum() / w.sum())
        return Limits(max(0.0, variance + down), variance + up, method, None, value)
    n = effective(w, None, problem.counts)
    parts = influences(z, problem.w, groups, problem.counts)
    if groups is not None and 0.0 < q < 1.0:
        # As many independent rows as have the variance of the clusters' mean.
        n = min(n, q * (1.0 - q) / max(parts.variance, 1e-300))
    ends = [float(end) for end in wilson(np.array(q), np.array(n), rows.level)]
    variances = [end * (1.0 - end) for end in ends]
    high = 0.25 if ends[0] <= 0.5 <= ends[1] else max(variances)
    return Limits(min(variances), high, method, None, value)


def discrimination(rows: NoiseFloors, measure: Measure, value: float) -> Limits:
    """Limits of the discrimination term of an isotonic fit, by test inversion.

    The populations have the rates of the fit, moved together towards their mean or apart: the
    isotonic fit to a sample shows more discrimination than its population has.
    """
    problem, blocks, n_draws = rows.plain_problem, rows.blocks, rows.few_draws
    cells, seed = problem.fine_cells, rows.seed
    fit = fit_isotonic(cells.w[None], cells.wz[None])[0]
    base = float(cells.wz.sum() / cells.w.sum())
    independent = problem.hard and problem.counts_once and not blocks.clustered
    rng = np.random.default_rng((seed, 1))
    noise: Array | None = None
    if independent:
        n = int(cells.n.sum())
        outcomes = Outcomes(rng.multinomial(n, cells.n / n, n_draws), n_draws, (seed, 3))
        weight = outcomes.rows.astype(np.float64)
    else:
        drawn_sums = _resampled_sums(problem, blocks, n_draws, rng)
        weight = drawn_sums(problem.weights)
        if not problem.hard or blocks.clustered:
            # Residuals about the bins' means: about the isotonic fit labels vary too little.
            residual = problem.weights * (problem.z - problem.u - problem.gaps()[problem.bins])
            noise = drawn_sums(residual) - np.bincount(cells.index, residual, cells.size)

    def measured(w: Array, wz: Array) -> Array:
        """The discrimination of each draw, from sums by cell (draws, cells) of weights, and of
        weight times target.
        """
        return isotonic_parts(Drawn(cells, w, w * cells.u, wz, wz))[1]

    def at(t: float) -> tuple[float, Array]:
        """The true discrimination with the rates t times as far from their mean as in the fit, and
        the values of samples.
        """
        rates = np.clip(base + t * (fit - base), 0.0, 1.0)
        if independent:
            drawn = outcomes.draw(rates)
        elif noise is None:
            again = np.random.default_rng((seed, 3))
            drawn = weight * rates + outcome_residuals(problem, cells, rates, n_draws, again)
        else:
            drawn = weight * rates + noise
        truth = float(measured(cells.w[None], (cells.w * rates)[None])[0])
        return truth, measured(weight, drawn)

    observed = float(measured(cells.w[None], cells.wz[None])[0])
    path, tail = Path(DISCRIMINATIONS, at), (1.0 - rows.level) / 2.0
    low, estimate, high = (path.crossing(q, observed) for q in (1.0 - tail, 0.5, tail))
    return Limits(low, high, INVERTED, None, min(max(estimate, low), high))


def _resampled_sums(
    problem: Problem, blocks: Blocks, n_draws: int, rng: np.random.Generator
) -> Callable[[Array], Array]:
    """A function from values (n,) to their sums by fine cell in resamples, (draws, cells).

    Blocks are drawn with replacement; of rows that each stand for many, how often these are drawn
    is a Poisson number.
    """
    cells = problem.fine_cells
    if problem.counts is not None and not blocks.clustered:
        times = rng.poisson(problem.counts, (n_draws, problem.n)) / problem.counts
        order, firsts = cells.rows_in_order
        return lambda values: np.add.reduceat((times * values)[:, order], firsts, axis=1)
    share = np.full(blocks.size, 1.0 / blocks.size)
    drawn = rng.multinomial(blocks.size, share, n_draws).astype(np.float64)
    return lambda values: drawn @ blocks.sums(cells.index, cells.size, values)


# --- votes, and all other measures ----------------------------------------------------------------


def bounds(rows: NoiseFloors, measure: Measure, value: float) -> Limits:
    """Limits of a distance that votes identify only in part: its bounds over all label
    distributions that could have given the votes.
    """
    return rows.voted.bounded(measure)


def parts(rows: NoiseFloors, measure: Measure, value: float) -> Limits:
    """Interval of a difference of two measures, from the intervals of both at half the error each
    (Bonferroni): they hold however the two vary together.
    """
    assert measure.parts is not None
    both, at = [], replace(rows, level=(1.0 + rows.level) / 2.0)
    for part in measure.parts:
        own = part.compute(rows.summary(rows.samples, part))
        found = find_limits(at, part, own)
        centre = own if found.estimate is None else found.estimate
        both.append((found.covering(centre).within(part.low, part.high), centre))
    (first, centre), (second, taken) = both
    method = f"interval of {measure.parts[0].title} minus that of {measure.parts[1].name}"
    return Limits(first.low - second.high, first.high - second.low, method, None, centre - taken)


def votes(rows: NoiseFloors, measure: Measure, value: float) -> Limits:
    """Limits where rows are fixed and only their votes are drawn again."""
    return rows.voted.of_same_rows(measure, value)


def replicates_of(rows: Context, measure: Measure) -> Array:
    """The measure's value in resamples of the rows, (resamples,), computed once."""

    if rows.counts is not None:
        raise NeedsRows(
            f"{measure.name}: with this many bins the interval resamples rows, which sums do not "
            "hold. Use fewer bins, or collect a sample of rows and evaluate that"
        )

    def make() -> Array:
        """The values in resamples of blocks of rows."""
        draws = draw_blocks(rows.samples.n, rows.few_draws, rows.seed, rows.groups)
        return replicates(rows.samples, measure, rows.fixed, rows.quantile, draws)

    return rows.once(("replicates", measure.name), make)


def resampled(rows: NoiseFloors, measure: Measure, value: float) -> Limits:
    """Basic bootstrap limits, for a measure without a better method.

    They do not know the bias of an error that has too many bins for another method. Its limits
    reach from the value less the noise floor's quantile up to the value at least.
    """
    drawn = replicates_of(rows, measure)
    low, high = basic_limits(value, drawn, rows.level)
    floor = rows.null_values(measure) if measure.interval_method == "inversion" else None
    if floor is not None:
        low = max(0.0, value - DrawnLaw(floor[0]).quantile((1.0 + rows.level) / 2.0))
        high = max(high, value)
    method = f"basic bootstrap of {_unit_name(rows)}"
    return Limits(low, high, method, float(drawn.std(ddof=1)))


METHODS: dict[str, Method] = {
    "quadratic": quadratic,
    "root": root,
    "absolute": absolute,
    "mean": mean,
    "influence": influence,
    "rate": rate,
    "discrimination": discrimination,
    "bounds": bounds,
    "parts": parts,
    "votes": votes,
    "resampled": resampled,
}
