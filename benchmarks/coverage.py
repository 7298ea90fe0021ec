"""How often intervals hold the truth, and tests are wrong, in populations whose truth is known.

    python benchmarks/coverage.py [KIND ...] [--reps 200] [--rows 100 1000] [--measures ece ...]
    python benchmarks/coverage.py --tests [KIND ...] ...

Prints, for each population, number of rows and measure, the share of samples whose 95 % interval
holds the true value, its standard error, and how many lie wholly below the truth and wholly above
it. In calibrated populations errors are 0. With --tests: how often p-values fall below 0.05 and
verdicts say "miscalibrated" where the predictions are exactly right.

The true value is the measure in the whole population, in the bins of the sample.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import calibrant as cal
from calibrant._core.bin_tables import BinTable
from calibrant._core.binning import Edges, EqualWidth, Quantile, Rule
from calibrant._data.samples import Samples
from calibrant._data.to_samples import to_samples
from calibrant._engines.arrays.counting import bin_table, class_columns
from calibrant._inference.uncertainty import Uncertainty
from calibrant._measures.catalogue import Measure, catalogue
from calibrant._measures.statistics import STATISTICS
from calibrant._summaries.samples import Summary

Array = NDArray[Any]
Draw = Callable[[int, np.random.Generator], tuple[Array, Array]]

FIXED, MASS = EqualWidth(15), Quantile(15)
# Rows that stand for infinitely many.
VERY_MANY = 200_000
# The same for measures that take too long on so many.
FEW = 2000
ALPHA = 0.05


def sigmoid(x: Array) -> Array:
    return 1.0 / (1.0 + np.exp(-x))


@dataclass(frozen=True)
class Population:
    """Predictions u and right probabilities q of n rows; how labels, weights and clusters come."""

    draw: Draw
    calibrated: bool = False
    labels: str = "outcomes"
    weights: bool = False
    clusters: bool = False
    votes: int = 5


class Sample(NamedTuple):
    y: Array
    u: Array
    w: Array | None
    groups: Array | None


def scalar(u: Callable[[np.random.Generator, int], Array], q: Callable[[Array], Array]) -> Draw:
    def draw(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        predicted = u(rng, n)
        return predicted, np.clip(q(predicted), 0.0, 1.0)

    return draw


def logistic(slope: float, shift: float = 0.0, centre: float = 0.0, spread: float = 1.5) -> Draw:
    """The logit of u is ``slope h + shift``, that of q is h, which is normal."""

    def draw(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        h = rng.normal(centre, spread, n)
        return sigmoid(slope * h + shift), sigmoid(h)

    return draw


def network(k: int, temperature: float, spread: float = 2.0) -> Draw:
    """Rows of k classes whose logits are too large by a factor, the temperature."""

    def draw(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        h = rng.normal(0.0, spread, (n, k))

        def softmax(x: Array) -> Array:
            p = np.exp(x - x.max(axis=1, keepdims=True))
            return p / p.sum(axis=1, keepdims=True)

        return softmax(h * temperature), softmax(h)

    return draw


def _crowds(rng: np.random.Generator, n: int) -> Array:
    side = rng.random(n)
    return np.where(side < 0.35, 0.0, np.where(side < 0.7, 1.0, rng.random(n)))


def _tenths(rng: np.random.Generator, n: int) -> Array:
    shares = np.array([4, 1, 1, 1, 1, 2, 1, 1, 2, 2, 4])
    return rng.choice(11, n, p=shares / shares.sum()) / 10


def _same(u: Array) -> Array:
    return u


ORDINARY = {
    "overconfident": logistic(2.0),
    "underconfident": logistic(0.5),
    "biased": logistic(1.0, 0.5),
    "slightly overconfident": logistic(1.15),
    "oscillating": scalar(lambda r, n: r.beta(2, 2, n), lambda u: u + 0.08 * np.sin(9 * u)),
    "tenths": scalar(_tenths, lambda u: 0.5 + 0.8 * (u - 0.5)),
    "imbalanced": scalar(lambda r, n: r.beta(1, 12, n), lambda u: u**1.2),
    "one bin off": scalar(
        lambda r, n: r.beta(2, 2, n), lambda u: u + 0.3 * ((u > 0.4) & (u < 7 / 15))
    ),
}
CALIBRATED = {
    "calibrated": scalar(lambda r, n: r.random(n), _same),
    "calibrated at the ends": scalar(lambda r, n: r.beta(0.15, 0.15, n), _same),
    "calibrated tenths": scalar(_tenths, _same),
}
CROWDS = {
    "crowds at 0 and 1": scalar(
        _crowds, lambda u: np.where(u == 0, 0.06, np.where(u == 1, 0.9, u))
    ),
    "wrong at the ends": scalar(
        lambda r, n: sigmoid(r.normal(0, 4, n)),
        lambda u: np.where(u < 0.02, 0.03, np.where(u > 0.98, 0.95, u)),
    ),
}
RARE = {"rare": logistic(1.0, 0.4, -5.0, 0.8)}
RARE_RIGHT = {"rare, calibrated": scalar(lambda r, n: sigmoid(r.normal(-5.0, 0.8, n)), _same)}


def _each(draws: dict[str, Draw], **options: Any) -> dict[str, Population]:
    return {name: Population(draw, **options) for name, draw in draws.items()}


def _some(draws: dict[str, Draw], *names: str) -> dict[str, Draw]:
    return {name: draws[name] for name in names}


_FEW = _some(ORDINARY, "overconfident", "oscillating")
_RIGHT = _some(CALIBRATED, "calibrated")
KINDS: dict[str, dict[str, Population]] = {
    "ordinary": _each(ORDINARY),
    "calibrated": _each(CALIBRATED, calibrated=True),
    "crowds": _each(CROWDS),
    "rare": _each(RARE) | _each(RARE_RIGHT, calibrated=True),
    "weights": _each(_FEW, weights=True) | _each(_RIGHT, weights=True, calibrated=True),
    "clusters": _each(_FEW, clusters=True) | _each(_RIGHT, clusters=True, calibrated=True),
    "rare clusters": _each(RARE, clusters=True) | _each(RARE_RIGHT, clusters=True, calibrated=True),
    "soft": _each(_FEW, labels="votes") | _each(_RIGHT, labels="votes", calibrated=True),
    "scattered": _each(_FEW, labels="scattered")
    | _each(_RIGHT, labels="scattered", calibrated=True),
    "exact": _each({**_FEW, "3 classes": network(3, 1.6)}, labels="exact"),
    "classes": {
        f"{k} classes, {name}": Population(network(k, t), t == 1.0)
        for k in (3, 10)
        for name, t in (("too sure", 1.6), ("not sure", 0.7), ("calibrated", 1.0))
    },
    "many classes": {
        f"100 classes, {name}": Population(network(100, t, 3.0), t == 1.0)
        for name, t in (("too sure", 1.5), ("calibrated", 1.0))
    },
}


def samples_of(population: Population, n: int, reps: int, seed: int = 0) -> Iterator[Sample]:
    """Independent samples of a population."""
    for rep in range(reps):
        rng = np.random.default_rng((seed, n, rep))
        u, q = population.draw(n, rng)
        weights = np.exp(rng.normal(0.0, 1.0, n)) if population.weights else None
        groups, y = None, None
        if population.clusters:
            sizes = rng.geometric(1 / 8, n)
            groups = np.repeat(np.arange(n), sizes)[:n]
            # In three of ten clusters all rows share their luck.
            common = rng.random(n) < 0.3
            luck = np.where(common[groups], rng.random(n)[groups], rng.random(n))
            y = (luck < q).astype(np.int64)
        elif population.labels == "outcomes":
            if q.ndim == 2:
                y = (np.cumsum(q, axis=1) < rng.random(n)[:, None]).sum(axis=1)
            else:
                y = (rng.random(n) < q).astype(np.int64)
        elif population.labels == "exact":
            y = q
        else:
            if population.labels == "scattered":  # right on average, not row by row
                q = rng.beta(4 * q + 1e-9, 4 * (1 - q) + 1e-9)
            y = rng.binomial(population.votes, q) / population.votes
        yield Sample(y, u, weights, groups)


# --- truth ---------------------------------------------------------------------------------------


@dataclass
class Truth:
    """A population of very many rows, with its right probabilities as soft labels."""

    population: Population
    _whole: dict[Any, float] = field(default_factory=dict)
    _tables: dict[Any, BinTable] = field(default_factory=dict)

    def __post_init__(self) -> None:
        u, q = self.population.draw(
            VERY_MANY if not self._many() else 40_000, np.random.default_rng(12345)
        )
        self.u, self.q = u, q
        self.samples = to_samples(q, u)
        # What measures share is made once.
        self._summary = Summary(self.samples, FIXED, MASS)

    def _many(self) -> bool:
        return self.population.draw(2, np.random.default_rng(0))[0].ndim == 2

    def value(self, measure: Measure, like: Samples) -> float:
        """The measure in the population, in the bins of a sample."""
        by_rows = STATISTICS[measure.statistic].problem == "rows"
        scattered = self.population.labels not in ("outcomes", "exact") and by_rows
        if self.population.calibrated and measure.statistic != "losses" and not _part(measure):
            return 0.0
        if measure.is_binned:
            return self._binned(measure, like)
        if measure.name not in self._whole:
            self._whole[measure.name] = (
                self._mean(measure)
                if measure.statistic == "losses" and self.population.labels == "outcomes"
                else self._plain(measure)
            )
        if scattered:
            raise ValueError("losses of soft labels have no simple truth")
        return self._whole[measure.name]

    def _plain(self, measure: Measure) -> float:
        if measure.interval == "rate":
            _, q = self._scalar()
            return float(q.mean() * (1 - q.mean()))
        summary = self._summary
        if measure.resampling_cost(soft=True) == "high":  # a sweep over as many bins as rows
            summary = Summary(to_samples(self.q[:FEW], self.u[:FEW]), FIXED, MASS)
        return float(measure.compute(summary))

    def _scalar(self) -> tuple[Array, Array]:
        if self.u.ndim == 1:
            return self.u, self.q
        rows, top = np.arange(len(self.u)), self.u.argmax(axis=1)
        return self.u[rows, top], self.q[rows, top]

    def _mean(self, measure: Measure) -> float:
        """The expected loss: outcomes scatter about the right probabilities."""
        value = float(measure.compute(self._summary))
        _, q = self._scalar()
        if measure.loss == "brier":
            spread = q * (1 - q) if self.u.ndim == 1 else 1 - (self.q**2).sum(axis=1)
            return value + float(spread.mean())
        if measure.loss == "confidence":
            return value + float((q * (1 - q)).mean())
        return value

    def _binned(self, measure: Measure, like: Samples) -> float:
        rule: Rule = FIXED if STATISTICS[measure.statistic].binning == "fixed" else MASS
        if measure.notion == "classwise" or measure.statistic == "above":
            columns = zip(_columns(self.samples), _columns(like), strict=True)
            found = [self._one(measure, mine, own, rule) for mine, own in columns]
            return float(np.mean([f for f in found if f is not None]))
        if measure.statistic == "full_bins":
            edges = _edges(like, "confidence", rule)
            top = self.u.argmax(axis=1)
            cell = top * edges.m + np.searchsorted(_inner(edges), self.u.max(1), side="right")
            size = int(cell.max()) + 1
            residual = [np.bincount(cell, c, size) for c in (self.u - self.q).T]
            assert measure.of_vectors is not None
            total = np.array([float(len(self.u))])
            return float(measure.of_vectors(np.ravel(residual)[None], total)[0])
        notion = "confidence" if like.multiclass else "binary"
        edges = _edges(like, notion, rule)
        formula = measure.of_population or measure.table_formula
        assert formula is not None
        return float(formula(self._table(notion, edges))[0])

    def _table(self, notion: Any, edges: Edges) -> BinTable:
        """Made once: measures share the bins of a sample, and samples those of equal widths."""
        key = (notion, tuple(edges.edges))
        if key not in self._tables:
            self._tables[key] = bin_table(self.samples, notion, edges)[0]
        return self._tables[key]

    @staticmethod
    def _one(measure: Measure, mine: Samples, own: Samples, rule: Rule) -> float | None:
        if measure.statistic == "above":
            mine, own = (
                Samples(s.predictions[s.predictions > 0.01], s.targets[s.predictions > 0.01])
                for s in (mine, own)
            )
            if not own.n:
                return None
        table, _, _ = bin_table(mine, "binary", _edges(own, "binary", rule))
        assert measure.table_formula is not None
        return float(measure.table_formula(table)[0])


def _part(measure: Measure) -> bool:
    return measure.is_ranking or measure.interval in ("rate", "discrimination")


def _columns(samples: Samples) -> Iterator[Samples]:
    return class_columns(samples) if samples.multiclass else iter([samples])


def _edges(samples: Samples, notion: Any, rule: Rule) -> Edges:
    _, cuts, _ = bin_table(samples, notion, rule)
    inner = np.unique(cuts.inner)
    inner = inner[(inner > 0) & (inner < 1)]
    return Edges([0.0, *inner.tolist(), 1.0])


def _inner(edges: Edges) -> Array:
    return np.asarray(edges.edges)[1:-1]


@cache
def truth_of(kind: str, name: str) -> Truth:
    return Truth(KINDS[kind][name])


# --- shares --------------------------------------------------------------------------------------


class Count(NamedTuple):
    """Samples whose interval holds the truth, lies wholly below it, wholly above it."""

    holds: int
    below: int
    above: int

    @property
    def share(self) -> float:
        return self.holds / max(1, sum(self))

    @property
    def standard_error(self) -> float:
        return math.sqrt(max(self.share * (1 - self.share), 0.01) / max(1, sum(self)))

    def __str__(self) -> str:
        return f"{self.share:.0%}±{self.standard_error:.0%} ({self.below}/{self.above})"


def measured(kind: str, name: str, measures: Sequence[str] | None) -> tuple[Measure, ...]:
    """The measures that a population has a truth for."""
    population = KINDS[kind][name]
    shape = "multiclass" if population.draw(2, np.random.default_rng(0))[0].ndim == 2 else "binary"
    known = tuple(m for m in catalogue(shape) if measures is None or m.name in measures)
    if population.labels == "exact":
        return tuple(m for m in known if STATISTICS[m.statistic].problem == "rows")
    soft = population.labels != "outcomes"
    return tuple(
        m for m in known
        if not m.soft_only
        and not (soft and (m.statistic == "losses" or m.interval == "rate"))
    )  # fmt: skip


def coverage(
    kind: str, name: str, n: int, reps: int, measures: Sequence[str] | None = None, *,
    seed: int = 0, n_resamples: int = 1000, level: float = 0.95,
) -> dict[str, Count]:  # fmt: skip
    """How often the interval of each measure holds its true value."""
    truth, chosen = truth_of(kind, name), measured(kind, name, measures)
    counts = {m.name: [0, 0, 0] for m in chosen}
    for sample in samples_of(truth.population, n, reps, seed):
        samples = to_samples(sample.y, sample.u, sample_weight=sample.w)
        worth = Uncertainty(
            samples, FIXED, MASS, chosen, level=level, n_resamples=n_resamples, groups=sample.groups
        )
        summary = Summary(samples, FIXED, MASS)
        for measure in chosen:
            interval = worth.interval(measure, measure.compute(summary))
            true = truth.value(measure, samples)
            where = 1 if interval.high < true else 2 if interval.low > true else 0
            counts[measure.name][where] += 1
    return {name: Count(*count) for name, count in counts.items()}


def false_alarms(kind: str, name: str, n: int, reps: int, *, seed: int = 1) -> dict[str, float]:
    """How often what is exactly right is called wrong, at 5 %."""
    population = KINDS[kind][name]
    alarms: dict[str, list[bool]] = {}

    def note(test: str, wrong: bool) -> None:
        alarms.setdefault(test, []).append(wrong)

    for y, u, w, groups in samples_of(population, n, reps, seed):
        found = cal.evaluate(
            y, u, sample_weight=w, groups=groups, uncertainty=True, n_resamples=500,
            measures=[m.name for m in measured(kind, name, TESTED)],
        )  # fmt: skip
        for e in found.estimates:
            if e.noise_floor is not None:
                note(e.name, e.noise_floor.p_value < ALPHA)
        assert found.verdict is not None
        note("verdict", found.verdict.verdict == "miscalibrated")
        hard = population.labels == "outcomes"
        options: dict[str, Any] = {} if w is None else {"sample_weight": w}
        if groups is not None:
            options["groups"] = groups
        note("cox", cal.cox_calibration(y, u, **options).p_value < ALPHA)
        if hard and groups is None:
            note("spiegelhalter", cal.spiegelhalter(y, u, **options).p_value < ALPHA)
            note("truthful", cal.truthful_test(y, u, **options).p_value < ALPHA)
            if w is None:
                note("hosmer-lemeshow", cal.hosmer_lemeshow(y, u).p_value < ALPHA)
    return {test: float(np.mean(wrong)) for test, wrong in alarms.items()}


TESTED = ("ece", "rmsce", "ace", "tace", "lin_ce", "classwise_ece", "classwise_ce", "ks_error",
          "ls_ece", "smooth_ece", "brier_miscalibration", "debiased_l2")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("kinds", nargs="*", help=f"which: {', '.join(KINDS)}; default all")
    parser.add_argument("--reps", type=int, default=200, help="samples of each population and size")
    parser.add_argument("--rows", type=int, nargs="+", default=(100, 1000, 10_000))
    parser.add_argument("--measures", nargs="+", help="default: all that have a truth")
    parser.add_argument("--tests", action="store_true", help="false alarms in place of coverage")
    options = parser.parse_args()
    for kind in options.kinds or KINDS:
        for name, population in KINDS[kind].items():
            for n in options.rows:
                began = time.perf_counter()
                if options.tests:
                    if not population.calibrated:
                        continue
                    shares = false_alarms(kind, name, n, options.reps)
                    error = math.sqrt(0.05 * 0.95 / options.reps)
                    told = "  ".join(f"{test} {share:.1%}" for test, share in shares.items())
                    told += f"  (±{error:.1%} at 5 %)"
                else:
                    found = coverage(kind, name, n, options.reps, options.measures)
                    told = "  ".join(f"{m} {count}" for m, count in found.items())
                took = time.perf_counter() - began
                print(f"{kind}: {name}, {n} rows: {told}  [{took:.0f} s]", flush=True)


if __name__ == "__main__":
    main()
