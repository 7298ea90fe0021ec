"""How often intervals hold the truth, in worlds whose truth is known.

    python benchmarks/coverage.py [WORLD ...] [--reps 400] [--rows 300 1000 ...] [--smooth]

Prints, for each world, number of rows and measure, the share of samples whose 95 % interval holds
the true value, and how many lie wholly below it and wholly above it. In the calibrated world the
truth is 0: there the share is that of the samples whose interval reaches 0.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import calibrant as cal
from calibrant.inference.cells import problem_of
from calibrant.inference.family import Family, family_of
from calibrant.inference.worth import Worth
from calibrant.inputs.accept import accept
from calibrant.measures.catalogue import find
from calibrant.results.uncertainty import Interval
from calibrant.statistics.bins import BinTable
from calibrant.summary import Summary

Array = NDArray[Any]

BINS = cal.EqualWidth(15)
ROWS = (300, 1000, 3000, 10_000, 30_000)
MEASURES = ("ece", "rmsce", "lin_ce", "debiased_l2", "brier")
SMOOTH = ("ls_ece", "smooth_ece")
# Rows that stand for infinitely many.
VERY_MANY = 2_000_000


def sigmoid(x: Array) -> Array:
    return 1.0 / (1.0 + np.exp(-x))


class World(NamedTuple):
    """Reports and the right ones: u and q of n rows, and the cluster of each where there are any.

    h is normal about `centre`; the logit of u is ``slope h + shift``, that of q is h. Clusters of
    `size` rows share the part `alike` of the variance of h, and add one normal number of standard
    deviation `common` to the logit of q.
    """

    slope: float = 1.0
    shift: float = 0.0
    centre: float = 0.0
    spread: float = 1.5
    size: int = 1
    common: float = 0.0
    alike: float = 0.0

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        groups = np.arange(n) // self.size
        own, shared, added = rng.normal(size=n), *rng.normal(size=(2, groups[-1] + 1))
        both = np.sqrt(1 - self.alike) * own + np.sqrt(self.alike) * shared[groups]
        h = self.centre + self.spread * both
        q = sigmoid(h + self.common * added[groups])
        return sigmoid(self.slope * h + self.shift), q, groups


WORLDS = {
    "overconfident": World(slope=2.0),
    "underconfident": World(slope=0.5),
    "biased": World(shift=0.5),
    "slightly overconfident": World(slope=1.15),
    "rare event": World(slope=0.9, shift=0.1, centre=-4.0, spread=1.0),
    "calibrated": World(),
    "clusters": World(slope=1.5, size=20, common=1.0, alike=0.9),
}


@cache
def truths(world: str, measures: tuple[str, ...] = (*MEASURES, *SMOOTH)) -> dict[str, float]:
    """The true values: with the right reports as soft targets, in very many rows."""
    u, q, _ = WORLDS[world].draw(VERY_MANY, np.random.default_rng(99))
    found = cal.evaluate(q, u, bins=BINS, measures=measures).values
    if "brier" in found:  # an outcome scatters about the right report
        found["brier"] += float((q * (1 - q)).mean())
    return found


class Remembering:
    """A family that draws each of its worlds once, for all measures."""

    def __init__(self, family: Family) -> None:
        self.n_shapes = family.n_shapes
        self._family = family
        self._tables: dict[Any, tuple[BinTable, BinTable]] = {}

    def _both(self, shape: int, c: float) -> tuple[BinTable, BinTable]:
        if (shape, c) not in self._tables:
            self._tables[shape, c] = (
                self._family.true_table(shape, c),
                self._family.drawn_tables(shape, c),
            )
        return self._tables[shape, c]

    def true_table(self, shape: int, c: float) -> BinTable:
        return self._both(shape, c)[0]

    def drawn_tables(self, shape: int, c: float) -> BinTable:
        return self._both(shape, c)[1]


def intervals(
    y: Array,
    u: Array,
    measures: Sequence[str],
    n_resamples: int = 1000,
    groups: Array | None = None,
) -> dict[str, Interval]:
    """What `calibrant.interval` finds for each measure, with the draws of worlds shared."""
    samples = accept(y, u)
    chosen = tuple(find(name, "binary") for name in measures)
    worth = Worth(samples, BINS, BINS, chosen, n_resamples=n_resamples, groups=groups)
    summary = Summary(samples, BINS, BINS)
    problem = problem_of(samples, "binary", BINS)
    assert problem is not None
    family = Remembering(family_of(problem, max(200, n_resamples * 2 // 5), 0, groups))
    worth._families = {("scalar", "fixed"): family, ("scalar", "quantile"): family}
    return {m.name: worth.interval(m, m.compute(summary)) for m in chosen}


def drawn(world: str, n: int, reps: int, seed: int = 0) -> Iterator[tuple[Array, Array, Array]]:
    """Outcomes, reports and clusters of `reps` samples."""
    for rep in range(reps):
        rng = np.random.default_rng((seed, n, rep, *map(ord, world)))
        u, q, groups = WORLDS[world].draw(n, rng)
        yield (rng.random(n) < q).astype(np.int64), u, groups


class Count(NamedTuple):
    """Samples whose interval holds the truth, lies wholly below it, wholly above it."""

    holds: int
    below: int
    above: int

    @property
    def share(self) -> float:
        return self.holds / sum(self)


def coverage(
    world: str,
    n: int,
    reps: int,
    measures: Sequence[str],
    *,
    n_resamples: int = 1000,
    clustered: bool = False,
    seed: int = 0,
) -> dict[str, Count]:
    """How often the interval of each measure holds its true value."""
    true = truths(world)
    if world == "calibrated":
        true = {name: value if name == "brier" else 0.0 for name, value in true.items()}
    counts = {name: [0, 0, 0] for name in measures}
    for y, u, groups in drawn(world, n, reps, seed):
        found = intervals(y, u, measures, n_resamples, groups if clustered else None)
        for name, interval in found.items():
            where = 1 if interval.high < true[name] else 2 if interval.low > true[name] else 0
            counts[name][where] += 1
    return {name: Count(*count) for name, count in counts.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("worlds", nargs="*", choices=[[], *WORLDS], help="which; default all")
    parser.add_argument("--reps", type=int, default=400, help="samples of each world and size")
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS, help="rows of a sample")
    parser.add_argument("--resamples", type=int, default=1000, help="n_resamples of an interval")
    parser.add_argument(
        "--smooth", action="store_true", help="smooth measures too, which take long"
    )
    options = parser.parse_args()
    measures = (*MEASURES, *SMOOTH) if options.smooth else MEASURES
    print("share of samples whose 95 % interval holds the truth (wholly below it / above it)")
    print(f"{'world':24}{'rows':>7}" + "".join(f"{name:>18}" for name in measures))
    for world in options.worlds or WORLDS:
        for n in options.rows:
            for clustered in (False, True) if world == "clusters" else (False,):
                began = time.perf_counter()
                found = coverage(
                    world, n, options.reps, measures, n_resamples=options.resamples,
                    clustered=clustered,
                )  # fmt: skip
                cells = "".join(
                    f"{f'{c.share:.1%} ({c.below}/{c.above})':>18}" for c in found.values()
                )
                name = f"{world}, groups=" if clustered else world
                print(f"{name:24}{n:7}{cells}   {time.perf_counter() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
