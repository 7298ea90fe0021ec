"""Lines of the coverage table: what intervals do on samples of a world.

    run_line("two networks", "ece", 10_000, 40).ratio

`run_lines` measures several measures on the same samples; each gives what it gives alone.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from calibrant._data.to_samples import to_samples
from calibrant._measures.catalogue import Measure, catalogue
from calibrant._measures.coefficients import COEFFICIENTS, Coefficient
from calibrant._measures.statistics import STATISTICS

from .estimates import differences, intervals_of, labels_of, plain_bootstrap, singles, values
from .pairs import WORLDS
from .populations import Array, Drawn, Population, drawn
from .truths import Truth

# Seeds of samples, of those that show the law of an estimator, and of resamples.
SAMPLES, LAW, RESAMPLES = 0, 77, 78
# How many samples show the law of an estimator, and resamples of a plain bootstrap.
N_LAW, N_PLAIN = 400, 100


class Record(NamedTuple):
    """One sample: the interval, the value, the truth, and the interval of a plain bootstrap."""

    low: float
    high: float
    value: float
    truth: float
    plain_low: float = math.nan
    plain_high: float = math.nan


@dataclass(frozen=True)
class Line:
    """What the intervals of one measure do in one world, at one number of rows.

    Attributes
    ----------
    coverage : float
        The share of samples whose interval contains the truth; `below` and `above` count those
        whose interval lies wholly on one side of it.
    width, span : float
        The mean width of the interval, and the 95 % span of the estimator over fresh samples.
    power : float
        The share of intervals that exclude 0. Where the truth is 0 these are wrong decisions.
    oracle_power : float
        The same share for an oracle that knows the law of the estimator about the truth.
    bootstrap_coverage, bootstrap_power : float
        Both for percentiles of a plain bootstrap; nan where none was run.
    options : str
        Options of the command that are not the usual ones.
    """

    world: str
    measure: str
    rows: int
    reps: int
    pairs: bool
    truth: float
    coverage: float
    below: int
    above: int
    width: float
    span: float
    power: float
    oracle_power: float
    bootstrap_coverage: float = math.nan
    bootstrap_power: float = math.nan
    options: str = ""

    @property
    def ratio(self) -> float:
        """The mean width over the span: 1.0 to 1.3 is sharp, 2 and more is a bound."""
        return self.width / self.span if self.span > 0 else math.nan

    @property
    def standard_error(self) -> float:
        return math.sqrt(max(self.coverage * (1 - self.coverage), 0.01) / self.reps)

    @property
    def command(self) -> str:
        """What measures this line alone."""
        return (
            f'python benchmarks/coverage.py --world "{self.world}" --measures {self.measure} '
            f"{'--pairs' if self.pairs else '--singles'} --rows {self.rows} --reps {self.reps}"
            f"{self.options}"
        )


# --- truths --------------------------------------------------------------------------------------


@cache
def truth_of_side(world: str, which: int) -> Truth:
    """The truth of one predictor of a world, made once in each process."""
    population = WORLDS[world]
    return Truth(population.side(which) if population.pair else population)


def true_values(
    world: str, sample: Drawn, measures: Sequence[Measure | Coefficient], pairs: bool
) -> Array:
    """The true value of each measure in the bins of the sample, or the true difference."""
    population = WORLDS[world]
    if not pairs:
        return _of_side(truth_of_side(world, 0), sample.y, sample.u, sample.w, measures)
    if population.alike:
        return np.zeros(len(measures))
    first, second = (
        _of_side(truth_of_side(world, which), y, sample.u[which], sample.w, measures)
        for which, y in enumerate(labels_of(sample))
    )
    difference = first - second
    # Intercepts of logits on one line are the same, but for rounding.
    return np.where(np.abs(difference) < 1e-12, 0.0, difference)


def _of_side(
    truth: Truth, y: Array, u: Array, w: Array | None, measures: Sequence[Measure | Coefficient]
) -> Array:
    like = to_samples(y, u, sample_weight=w)
    return np.array([truth.value(measure, like) for measure in measures])


def measures_of(
    population: Population, measures: Iterable[str] | None = None
) -> tuple[Measure | Coefficient, ...]:
    """The measures that a population has a truth for, of those that are named."""
    chosen = set(measures if measures is not None else population.measures) or None
    fitted = tuple(COEFFICIENTS[name] for name in COEFFICIENTS if name in (chosen or ()))
    return _catalogued(population, chosen) + fitted


def _catalogued(population: Population, chosen: set[str] | None) -> tuple[Measure, ...]:
    known = [
        m for m in catalogue("multiclass" if population.n_classes > 1 else "binary")
        if chosen is None or m.name in chosen
    ]  # fmt: skip
    if population.votes_known:
        return tuple(known)
    by_rows = [m for m in known if STATISTICS[m.statistic].problem == "rows"]
    if population.labels == "exact":
        return tuple(m for m in known if m in by_rows or m.soft_only)
    soft = population.labels != "outcomes"
    return tuple(
        m for m in known
        if not m.soft_only
        and not (soft and (m.statistic == "losses" or m.name == "brier_uncertainty"))
    )  # fmt: skip


# --- lines ---------------------------------------------------------------------------------------


class Task(NamedTuple):
    """Samples of a world, by their numbers; those of `law` only show how values scatter."""

    world: str
    measures: tuple[str, ...]
    rows: int
    pairs: bool
    reps: tuple[int, ...]
    law: tuple[int, ...]
    bootstrap: int
    n_resamples: int


def run_task(task: Task) -> tuple[list[list[Record]], list[Array]]:
    """Records of each sample, a list of measures each, and values of the samples of the law."""
    warnings.simplefilter("ignore")
    population = _population(task)
    chosen = {m.name: m for m in measures_of(population, task.measures)}
    measures = [chosen[name] for name in task.measures]
    find = differences if task.pairs else singles
    records = []
    for rep in task.reps:
        sample = drawn(population, task.rows, rep, SAMPLES)
        intervals = intervals_of(find, sample, task.measures, task.n_resamples)
        true = true_values(task.world, sample, measures, task.pairs)
        plain = np.full((2, len(measures)), np.nan)
        if task.bootstrap:
            rng = np.random.default_rng((RESAMPLES, task.rows, rep))
            plain = plain_bootstrap(sample, task.measures, task.pairs, task.bootstrap, rng)
        records.append([
            Record(i.low, i.high, i.value, t, *ends)
            for i, t, ends in zip(intervals, true, plain.T, strict=True)
        ])  # fmt: skip
    law = [
        values(drawn(population, task.rows, rep, LAW), task.measures, task.pairs)
        for rep in task.law
    ]
    return records, law


def _population(task: Task) -> Population:
    """The world; the first predictor of a pair where single intervals are asked for."""
    population = WORLDS[task.world]
    return population.side(0) if population.pair and not task.pairs else population


def run_lines(
    world: str, measures: Iterable[str] | None, n: int, reps: int, *, pairs: bool | None = None,
    law: int = N_LAW, bootstrap: int = 0, n_resamples: int = 1000, jobs: int = 1,
    mapped: Callable[..., Iterable[Any]] = map,
) -> list[Line]:  # fmt: skip
    """Measure one line for each measure, all on the same samples.

    Parameters
    ----------
    world : str
        A name of `WORLDS`.
    measures : iterable of str or None
        Names of the catalogue; None for those of the world.
    n, reps : int
        Rows of a sample and the number of samples.
    pairs : bool, optional
        Whether the two predictors of a pair are compared; by default what the world is.
    law : int, default N_LAW
        Samples that show how the estimator scatters; they need no interval.
    bootstrap : int, default 0
        Resamples of a plain bootstrap beside each interval.
    n_resamples : int, default 1000
        Resamples of the interval itself, where it has any.
    jobs, mapped : int and callable
        Into how many tasks the samples are divided, and what maps `run_task` over them.
    """
    population = WORLDS[world]
    pairs = population.pair if pairs is None else pairs
    names = tuple(m.name for m in measures_of(population, measures))
    tasks = [
        Task(
            world, names, n, pairs, tuple(range(job, reps, jobs)), tuple(range(job, law, jobs)),
            bootstrap, n_resamples,
        )
        for job in range(jobs)
    ]  # fmt: skip
    done = list(mapped(run_task, tasks))
    options = f" --law {law}" if law != N_LAW else ""
    options += f" --bootstrap {bootstrap}" if pairs and bootstrap != N_PLAIN else ""
    records = np.array([rep for found, _ in done for rep in found])  # (reps, measures, fields)
    scatter = np.array([each for _, found in done for each in found])
    return [
        line_of(world, name, n, pairs, records[:, j], scatter[:, j], options)
        for j, name in enumerate(names)
    ]


def run_line(world: str, measure: str, n: int, reps: int, **options: Any) -> Line:
    """Measure one line; options are those of `run_lines`."""
    (line,) = run_lines(world, [measure], n, reps, **options)
    return line


def line_of(
    world: str, measure: str, n: int, pairs: bool, records: Array, law: Array, options: str = ""
) -> Line:
    """The line of records of shape (reps, fields) and of values of fresh samples."""
    records = records[np.isfinite(records[:, 0])]
    low, high, value, truth, plain_low, plain_high = records.T
    below, above = high < truth, low > truth
    # Basic limits by the simulated law of the estimator about the truth.
    root = np.quantile(law[np.isfinite(law)] - truth.mean(), (0.975, 0.025))
    oracle_low, oracle_high = value - root[0], value - root[1]
    span = float(root[0] - root[1])

    def excludes(a: Array, b: Array, what: Array | float) -> float:
        return float(((a > what) | (b < what)).mean())

    resampled = bool(np.isfinite(plain_low).all())
    return Line(
        world, measure, n, len(records), pairs, float(truth.mean()),
        1.0 - float((below | above).mean()), int(below.sum()), int(above.sum()),
        float((high - low).mean()), span if span > 1e-12 else 0.0, excludes(low, high, 0.0),
        excludes(oracle_low, oracle_high, 0.0),
        1.0 - excludes(plain_low, plain_high, truth) if resampled else math.nan,
        excludes(plain_low, plain_high, 0.0) if resampled else math.nan, options,
    )  # fmt: skip
