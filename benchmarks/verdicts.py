"""How many rows a verdict needs to say "miscalibrated", and how often it does so wrongly.

    python benchmarks/verdicts.py [WORLD ...] [--reps 300] [--rows 900 1300 ...]
    python benchmarks/verdicts.py --calibrated [WORLD ...] [--reps 300] [--rows 300 1000]

Predictions are off by an ECE of 0.03: by a slope, by a shift of all logits, or by an oscillation
about the truth. They are uniform, or have normal logits, or lie between 0.1 and 0.9. Prints, for
each world and number of rows, the share of samples whose verdict is "miscalibrated", what decided
them, and the rows at which that share reaches 80 %.

With --calibrated: how often the verdict is "miscalibrated" where predictions are right, and how
often a verdict contradicts itself: "not enough data" above a slope whose interval excludes 1.
"""

from __future__ import annotations

import argparse
import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtr

import calibrant as cal

Array = NDArray[Any]
Options = dict[str, Any]
Rng = np.random.Generator

# The slope, the shift and the height of waves that give uniform predictions an ECE of 0.03.
SLOPE, SHIFT, HEIGHT = 0.81532, 0.18019, 0.03 * math.pi / 2
# Those of predictions whose true logits are normal, and of a wave between 0.1 and 0.9.
SPREAD, STEEP, FLAT, LOWERED, MIDDLE_HEIGHT = 1.3, 1.22100, 0.81082, 0.15953, 0.047488


def of_uniform(truth: Callable[[Array], Array]) -> Callable[[int, Rng], tuple[Array, Array]]:
    """Uniform predictions, and what is true."""

    def draw(n: int, rng: Rng) -> tuple[Array, Array]:
        u = rng.random(n)
        return u, truth(u)

    return draw


def of_normal(slope: float, shift: float = 0.0) -> Callable[[int, Rng], tuple[Array, Array]]:
    """Predictions whose logits are those of the truth times a slope, less a shift."""

    def draw(n: int, rng: Rng) -> tuple[Array, Array]:
        h = rng.normal(0.0, SPREAD, n)
        return expit(slope * h - shift), expit(h)

    return draw


def wave(times: float, phase: float = 0.0) -> Callable[[int, Rng], tuple[Array, Array]]:
    """A truth that oscillates so many times about predictions from 0 to 1."""
    return of_uniform(
        lambda u: np.clip(u + HEIGHT * np.sin(2 * math.pi * times * u + phase), 0.0, 1.0)
    )


def wave_in_the_middle(n: int, rng: Rng) -> tuple[Array, Array]:
    u = rng.uniform(0.1, 0.9, n)
    return u, u + MIDDLE_HEIGHT * np.sin(4 * math.pi * u)


OFF: dict[str, Callable[[int, Rng], tuple[Array, Array]]] = {
    "slope": of_uniform(lambda u: expit(SLOPE * logit(u))),
    "normal logits, too extreme": of_normal(STEEP),
    "normal logits, not extreme enough": of_normal(FLAT),
    "shift": of_uniform(lambda u: expit(logit(u) - SHIFT)),
    "normal logits, shift": of_normal(1.0, LOWERED),
    "oscillation": wave(2),
    "oscillation in the middle": wave_in_the_middle,
    "three waves": wave(3),
    "four waves": wave(4),
    "two waves, cosine": wave(2, math.pi / 2),
}
SLOPE_ROWS, SHIFT_ROWS, WAVE_ROWS = (900, 1100, 1300), (1700, 2100, 2500), (2200, 2600, 3000)
ROWS = {
    "slope": SLOPE_ROWS,
    "normal logits, too extreme": SLOPE_ROWS,
    "normal logits, not extreme enough": (1100, 1300, 1500),
    "shift": SHIFT_ROWS,
    "normal logits, shift": SHIFT_ROWS,
}


def outcomes(u: Array, rng: Rng) -> Array:
    return (rng.random(u.size) < u).astype(int)


def labelled(u: Array, rng: Rng) -> Options:
    return {"y_true": outcomes(u, rng), "y_proba": u}


def tenths(n: int, rng: Rng) -> Options:
    shares = np.array([4, 1, 1, 1, 1, 2, 1, 1, 2, 2, 4])
    return labelled(rng.choice(11, n, p=shares / shares.sum()) / 10, rng)


def classes(k: int, spread: float) -> Callable[[int, Rng], Options]:
    def draw(n: int, rng: Rng) -> Options:
        h = np.exp(rng.normal(0.0, spread, (n, k)))
        p = h / h.sum(axis=1, keepdims=True)
        y = (rng.random(n)[:, None] > np.cumsum(p, axis=1)[:, :-1]).sum(axis=1)
        return {"y_true": y, "y_proba": p}

    return draw


def weighted(a: float, b: float) -> Callable[[int, Rng], Options]:
    def draw(n: int, rng: Rng) -> Options:
        return {**labelled(rng.beta(a, b, n), rng), "sample_weight": rng.lognormal(0.0, 1.0, n)}

    return draw


def voted(m: int, a: float = 1.0, b: float = 1.0) -> Callable[[int, Rng], Options]:
    def draw(n: int, rng: Rng) -> Options:
        u = rng.beta(a, b, n)
        return {"y_true": rng.binomial(m, u) / m, "y_proba": u, "votes": m}

    return draw


def clustered(
    size: int, correlation: float, a: float = 1.0, b: float = 1.0
) -> Callable[[int, Rng], Options]:
    """Outcomes of a cluster share a normal factor; a size of 0 stands for ten clusters in all."""

    def draw(n: int, rng: Rng) -> Options:
        u, groups = rng.beta(a, b, n), np.arange(n) // (size or n // 10)
        common = rng.normal(size=groups.max() + 1)[groups]
        x = math.sqrt(correlation) * common + math.sqrt(1 - correlation) * rng.normal(size=n)
        return {"y_true": (ndtr(x) < u).astype(int), "y_proba": u, "groups": groups}

    return draw


CALIBRATED: dict[str, Callable[[int, Rng], Options]] = {
    "uniform": lambda n, rng: labelled(rng.random(n), rng),
    "normal logits": lambda n, rng: labelled(expit(rng.normal(0.0, SPREAD, n)), rng),
    "extreme logits": lambda n, rng: labelled(expit(rng.normal(0.0, 6.0, n)), rng),
    "three values": lambda n, rng: labelled(rng.choice([0.1, 0.5, 0.95], n), rng),
    "constant": lambda n, rng: labelled(np.full(n, 0.05), rng),
    "at the ends": lambda n, rng: labelled(rng.beta(0.15, 0.15, n), rng),
    "tenths": tenths,
    "rare": lambda n, rng: labelled(rng.beta(1, 100, n), rng),
    "very uneven and rare": lambda n, rng: labelled(rng.beta(0.3, 30, n), rng),
    "3 classes": classes(3, 1.5),
    "10 classes": classes(10, 2.0),
    "10 classes, nearly certain": classes(10, 8.0),
    "weights": weighted(1, 1),
    "weights, rare": weighted(1, 30),
    "clusters of 5": clustered(5, 0.3),
    "clusters of 20": clustered(20, 0.3),
    "ten clusters": clustered(0, 0.1),
    "clusters of 5, rare": clustered(5, 0.3, 1, 30),
    "3 votes": voted(3),
    "20 votes": voted(20),
    "5 votes, rare": voted(5, 1, 30),
}


def power(world: str, n: int, reps: int, *, seed: int = 0) -> Counter[str]:
    """What decided the verdicts of so many samples; "" where they were not "miscalibrated"."""
    rng, found = np.random.default_rng((seed, n)), Counter[str]()
    for i in range(reps):
        u, truth = OFF[world](n, rng)
        verdict = cal.verdict(outcomes(truth, rng), u, seed=i)
        found[verdict.decided_by] += 1
    return found


def rows_for(share: float, rows: Sequence[int], shares: Sequence[float]) -> float:
    """The rows at which a share of samples is found, on the line through the nearest two."""
    at = min(max(int(np.searchsorted(shares, share)), 1), len(rows) - 1)
    rise = max(shares[at] - shares[at - 1], 1e-9)
    return rows[at - 1] + (share - shares[at - 1]) / rise * (rows[at] - rows[at - 1])


def alarms(world: str, n: int, reps: int, *, seed: int = 1) -> tuple[Counter[str], int]:
    """What decided the verdicts on calibrated predictions, and how many contradict themselves."""
    rng, found, against = np.random.default_rng((seed, n)), Counter[str](), 0
    for i in range(reps):
        verdict = cal.verdict(**CALIBRATED[world](n, rng), seed=i)
        found[verdict.decided_by] += 1
        low, high = verdict.slope_low, verdict.slope_high
        excludes = low is not None and high is not None and not low <= 1.0 <= high
        against += excludes and verdict.verdict == "not enough data"
    return found, against


def _by_test(found: Counter[str]) -> str:
    total = found.total()
    return ", ".join(f"{name} {count / total:.1%}" for name, count in found.most_common() if name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("worlds", nargs="*", help="which; default all")
    parser.add_argument("--reps", type=int, default=300, help="samples of each world and size")
    parser.add_argument("--rows", type=int, nargs="+")
    parser.add_argument("--calibrated", action="store_true", help="false alarms in place of power")
    options = parser.parse_args()
    for world in options.worlds or (CALIBRATED if options.calibrated else OFF):
        shares = []
        default = (300, 1000) if options.calibrated else ROWS.get(world, WAVE_ROWS)
        rows = options.rows or default
        for n in rows:
            began = time.perf_counter()
            if options.calibrated:
                found, against = alarms(world, n, options.reps)
                more = f"; {against} contradict themselves"
            else:
                found, more = power(world, n, options.reps), ""
            shares.append(1.0 - found[""] / options.reps)
            took = time.perf_counter() - began
            print(
                f"{world}, {n:,} rows: miscalibrated {shares[-1]:.1%} ({_by_test(found)}){more}"
                f"  [{took:.0f} s]",
                flush=True,
            )
        if not options.calibrated and len(rows) > 1:
            print(f"{world}: 80 % at about {rows_for(0.8, rows, shares):,.0f} rows", flush=True)


if __name__ == "__main__":
    main()
