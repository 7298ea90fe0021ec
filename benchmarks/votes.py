"""What the noise of few votes does to measures, and what is left when it is taken out.

    python benchmarks/votes.py [WORLD ...] [--reps 100] [--rows 200 2000] [--votes 2 3 5 10 50]
        [--classes 2 3 10] [--measures dist_ce ent_ce ...] [--resample both|votes]
    python benchmarks/votes.py --compare [WORLD ...] ...
    python benchmarks/votes.py --estimators [WORLD ...] ...

Worlds have predictions p and distributions q of every row; labels are shares of m votes drawn from
q. Prints, for each world, number of classes, rows and votes and each measure, the true value, by
how much the plain value is off, by how much the estimate without the noise of votes is, the share
of 95 % intervals that hold the truth, with how many lie wholly below and wholly above it, and their
mean length. Intervals of distances are bounds: votes identify these only in part.
The truth is that of 200,000 rows; with --resample votes, that of the rows of the sample.

With --compare: differences between the world's predictor and a softer one on the same rows, by
`compare`, with the noise of votes taken out of both.

With --estimators: how ways of taking the noise out compare, by their mean error: the plain value;
half of the votes and all of them extrapolated (a jackknife of the first order, then of the second);
for entropy the corrections of Miller and Madow, Grassberger, and Chao and Shen; and the middle of
the bounds, which Calibrant takes.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
from known_truth.worlds import softmax
from numpy.typing import NDArray

import calibrant as cal
from calibrant._core.distances import distances, entropy
from calibrant._inference.vote_splits import without_replacement
from calibrant._measures.catalogue import find

Array = NDArray[Any]
VERY_MANY = 200_000


def exact(k: int, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Predictions are the distributions that votes are drawn from."""
    q = rng.dirichlet(np.ones(k), n)
    return q.copy(), q


def overconfident(k: int, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    q = rng.dirichlet(np.ones(k), n)
    return softmax(1.5 * np.log(q + 1e-6) + rng.normal(0.0, 0.3, (n, k))), q


def sharp(k: int, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Most rows are all but certain, and predictions are noisy."""
    q = rng.dirichlet(np.full(k, 0.3), n)
    return softmax(np.log(q + 0.01) + rng.normal(0.0, 0.5, (n, k))), q


def flat(k: int, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Annotators are torn in every row; predictions are surer."""
    q = rng.dirichlet(np.full(k, 8.0), n)
    return softmax(2.0 * np.log(q) + rng.normal(0.0, 0.3, (n, k))), q


def calibrated(k: int, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Right on average, and not row by row."""
    p = rng.dirichlet(np.ones(k), n)
    q = rng.standard_gamma(8.0 * p + 1e-9)
    return p, q / q.sum(axis=1, keepdims=True)


def two_kinds(k: int, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Half of the rows are certain, and predictions do not tell which."""
    p, q = calibrated(k, n, rng)
    certain = rng.random(n) < 0.5
    q[certain] = rng.multinomial(1, p / p.sum(axis=1, keepdims=True))[certain]
    return p, q


def torn(k: int, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Half of the rows are certain, and in the others all classes are as likely."""
    p, q = calibrated(k, n, rng)
    q = rng.multinomial(1, p / p.sum(axis=1, keepdims=True)).astype(np.float64)
    q[rng.random(n) < 0.5] = 1.0 / k
    return p, q


def smoothed(k: int, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Predictions are mixed with equal ones."""
    q = rng.dirichlet(np.full(k, 0.3), n)
    return (1.0 - 0.1 * k) * q + 0.1 if k < 10 else 0.9 * q + 0.1 / k, q


def some_off(k: int, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Most rows are right, and some have their classes in another order."""
    q = rng.dirichlet(np.ones(k), n)
    return np.where(rng.random((n, 1)) < 0.15, np.roll(q, 1, axis=1), q), q


def shifted(k: int, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """One class is predicted too often."""
    q = rng.dirichlet(np.ones(k), n)
    h = np.log(q + 1e-6)
    h[:, 0] += 1.0
    return softmax(h), q


def unrelated(k: int, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    return rng.dirichlet(np.full(k, 3.0), n), rng.dirichlet(np.full(k, 0.5), n)


WORLDS: dict[str, Callable[[int, int, np.random.Generator], tuple[Array, Array]]] = {
    each.__name__: each
    for each in (
        exact, overconfident, sharp, flat, calibrated, two_kinds, torn, smoothed, some_off, shifted,
        unrelated,
    )
}  # fmt: skip
MEASURES = ("brier", "dist_ce", "ent_ce", "rank_cs", "jsd", "ece", "classwise_ce")


@cache
def truth(world: str, k: int, measure: str) -> float:
    """The measure in a very large sample, against the true distributions."""
    p, q = WORLDS[world](k, VERY_MANY if k < 10 else VERY_MANY // 4, np.random.default_rng(9))
    return float(cal.evaluate(q, p, measures=[measure])[measure])


def votes_of(m: int, n: int, rng: np.random.Generator) -> Array:
    """So many votes for each row; 0: as in a real collection, from one to ten."""
    return rng.integers(1, 11, n) if m == 0 else np.full(n, m)


def samples(
    world: str, k: int, n: int, m: int, reps: int
) -> Iterator[tuple[int, Array, Array, Array, Array]]:
    for rep in range(reps):
        rng = np.random.default_rng((rep, k, n, m))
        p, q = WORLDS[world](k, n, rng)
        votes = votes_of(m, n, rng)
        yield rep, p, q, votes, rng.multinomial(votes, q)


def coverage(options: argparse.Namespace) -> None:
    print(
        "world           k  votes  rows  measure        truth    plain  without     sd  "
        "held  below  above  length"
    )
    for world, k, n, m in cases(options):
        rows: dict[str, list[tuple[float, ...]]] = {name: [] for name in options.measures}
        for rep, p, q, votes, counts in samples(world, k, n, m, options.reps):
            shares = counts / votes[:, None]
            for name in options.measures:
                found = cal.interval(
                    shares, p, measure=name, votes=votes, resample=options.resample, seed=rep,
                    n_resamples=options.draws,
                )  # fmt: skip
                true = truth(world, k, name)
                if options.resample == "votes":
                    true = float(cal.evaluate(q, p, measures=[name])[name])
                assert found.estimate is not None
                rows[name].append((
                    true, found.value - true, found.estimate - true, found.high < true,
                    found.low > true, found.high - found.low,
                ))  # fmt: skip
        for name, values in rows.items():
            true, plain, without, below, above, length = np.mean(values, axis=0)
            sd = float(np.std([row[2] for row in values]))
            print(
                f"{world:14s} {k:2d}  {m or '1-10':>5}  {n:4d}  {name:12s} {true:7.4f} "
                f"{plain:+8.4f} {without:+8.4f} {sd:6.4f} {1 - below - above:5.2f} {below:6.2f} "
                f"{above:6.2f} {length:7.4f}",
                flush=True,
            )


def softer(p: Array) -> Array:
    """Another predictor on the same rows, less sure."""
    return softmax(0.6 * np.log(np.maximum(p, 1e-9)))


@cache
def true_difference(world: str, k: int, measure: str) -> float:
    p, q = WORLDS[world](k, VERY_MANY if k < 10 else VERY_MANY // 4, np.random.default_rng(9))
    a, b = (cal.evaluate(q, each, measures=[measure])[measure] for each in (p, softer(p)))
    return float(a - b)


def differences(options: argparse.Namespace) -> None:
    """Differences of two predictors on the same rows, by compare."""
    print(
        "world           k  votes  rows  measure        truth  without     sd  held  below  above  "
        "length"
    )
    for world, k, n, m in cases(options):
        rows: dict[str, list[tuple[float, ...]]] = {name: [] for name in options.measures}
        for rep, p, _, _, counts in samples(world, k, n, m, options.reps):
            found = cal.compare(
                counts, {"own": p, "softer": softer(p)}, measures=options.measures, seed=rep,
                n_resamples=options.draws, bin_counts=(5,),
            )  # fmt: skip
            for name in options.measures:
                true, each = (
                    true_difference(world, k, name),
                    found.difference("own", "softer", name),
                )
                rows[name].append((
                    each.estimate - true, each.high < true, each.low > true, each.high - each.low
                ))  # fmt: skip
        for name, values in rows.items():
            without, below, above, length = np.mean(values, axis=0)
            sd = float(np.std([row[0] for row in values]))
            print(
                f"{world:14s} {k:2d}  {m or '1-10':>5}  {n:4d}  {name:12s} "
                f"{true_difference(world, k, name):+7.4f} {without:+8.4f} {sd:6.4f} "
                f"{1 - below - above:5.2f} {below:6.2f} {above:6.2f} {length:7.4f}",
                flush=True,
            )


# --- ways of taking the noise out -----------------------------------------------------------------


def grassberger(counts: Array) -> Array:
    """Entropy by Grassberger (2003), arXiv:physics/0307138, in nats."""
    from scipy.special import psi

    m = counts.sum(axis=1)
    n = np.maximum(counts, 1)
    g = psi(n) + 0.5 * (-1.0) ** n * (psi((n + 1) / 2) - psi(n / 2))
    return np.log(m) - (counts * g).sum(axis=1) / m


def chao_shen(counts: Array) -> Array:
    """Entropy by Chao and Shen (2003), doi:10.1023/A:1026096204727."""
    m = counts.sum(axis=1)[:, None]
    once = np.minimum((counts == 1).sum(axis=1)[:, None], m - 1)
    p = (1.0 - once / m) * counts / m
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = -p * np.log(p) / (1.0 - (1.0 - p) ** m)
    return np.nan_to_num(parts).sum(axis=1)


def ways(p: Array, counts: Array, m: Array, name: str, seed: int) -> dict[str, float]:
    """The mean by each way."""
    rng, loss = np.random.default_rng(seed), find(name, "multiclass").loss

    def values_of(a: Array, b: Array) -> dict[str, Array]:
        return distances(a, b, floor=1e-12, only=loss)

    def of_some(j: Array) -> float:
        drawn = [
            values_of(p, without_replacement(counts, j, rng) / j[:, None])[loss] for _ in range(20)
        ]
        return float(np.mean(drawn))

    z, half, third = counts / m[:, None], np.maximum(m // 2, 1), np.maximum(m // 3, 1)
    plain, by_half = float(values_of(p, z)[loss].mean()), of_some(half)
    out = {"plain": plain}
    x = [float(np.mean(1.0 / each)) for each in (m, half, third)]
    out["jackknife 1"] = plain + x[0] / (x[1] - x[0]) * (plain - by_half) if x[1] > x[0] else plain
    if x[2] > x[1] > x[0]:
        line = np.polyfit(x, [plain, by_half, of_some(third)], 2)
        out["jackknife 2"] = float(line[-1])
    if loss == "entropy":
        seen = (counts > 0).sum(axis=1)
        for name, own in (
            ("Miller-Madow", entropy(z) + (seen - 1) / (2 * m)),
            ("Grassberger", grassberger(counts)),
            ("Chao-Shen", chao_shen(counts)),
        ):
            kept = np.clip(own, 0.0, np.log(p.shape[1]))
            out[name] = float(np.abs(entropy(p) - kept).mean())
    out["bounds"] = cal.vote_noise(z, p, measure=name, votes=m, seed=seed).estimate
    return out


def estimators(options: argparse.Namespace) -> None:
    for world, k, n, m in cases(options):
        for name in options.measures:
            if not find(name, "multiclass").vote_model:
                continue
            true, errors = truth(world, k, name), {}
            for rep, p, _, votes, counts in samples(world, k, n, m, options.reps):
                for way, value in ways(p, counts, votes, name, rep).items():
                    errors.setdefault(way, []).append(value - true)
            text = "  ".join(f"{way} {np.mean(e):+.3f}" for way, e in errors.items())
            print(
                f"{world:14s} k {k:2d}  votes {m or '1-10':>4}  {name} {true:.3f}: {text}",
                flush=True,
            )


def cases(options: argparse.Namespace) -> Iterator[tuple[str, int, int, int]]:
    for world in options.worlds or WORLDS:
        for k in options.classes:
            for n in options.rows:
                for m in options.votes:
                    yield world, k, n, m


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("worlds", nargs="*", choices=[*WORLDS, []], metavar="WORLD")
    parser.add_argument("--reps", type=int, default=100)
    parser.add_argument("--rows", type=int, nargs="+", default=[200, 2000])
    parser.add_argument("--votes", type=int, nargs="+", default=[2, 3, 5, 10, 50])
    parser.add_argument("--classes", type=int, nargs="+", default=[2, 3, 10])
    parser.add_argument("--measures", nargs="+", default=list(MEASURES))
    parser.add_argument("--resample", default="both", choices=["both", "votes"])
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--estimators", action="store_true")
    parser.add_argument("--compare", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    way = estimators if options.estimators else differences if options.compare else coverage
    way(options)


if __name__ == "__main__":
    main()
