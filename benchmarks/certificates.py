"""How wide a proved bound is: certificates beside the ordinary upper limit of the ECE.

    python benchmarks/certificates.py [--rows 300 1000 ...] [--gaps 0 0.03 ...] [--reps 20]

Predictions are uniform; the truth is `gap` nearer to 1/2, in every bin. For each gap and number of
rows, means over samples: the ECE in 15 bins, the one-sided 99.9 % limit of `cal.interval`, the
bound of `cal.certify` at one number of rows and at all of them (`Accumulator.certify`), the
empirical Bernstein bound of Maurer and Pontil (2009) of the same mean, and the ratio of the first
bound to the limit. Samples are the same in every run.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

import calibrant as cal

LEVEL = 0.999
HEADER = ("gap", "rows", "ECE", "limit", "bound", "all looks", "Bernstein", "ratio")


def bernstein(e: float, square: float, n: int) -> float:
    """The largest m + sqrt(2 (s - m^2) L / (n - 1)) + 14 L / (3 (n - 1)) for m up to e."""
    log = math.log(2 / (1 - LEVEL))
    c = 2 * log / (n - 1)
    m = min(e, math.sqrt(square / (1 + c)))
    return m + math.sqrt((square - m * m) * c) + 14 * log / (3 * (n - 1))


def measured(gap: float, n: int, seed: int) -> tuple[float, ...]:
    """ECE, limit, bound, bound at all looks and Bernstein's bound of one sample."""
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    y = rng.random(n) < np.clip(p + np.where(p < 0.5, gap, -gap), 0, 1)
    limit = cal.interval(y, p, level=2 * LEVEL - 1, seed=seed).high
    found = cal.certify(y, p, level=LEVEL)
    ever = cal.Accumulator().update(y, p).certify(level=LEVEL).upper
    square = float(((p - y) ** 2).mean())
    return found.value, limit, found.upper, ever, bernstein(found.value, square, n)


def main() -> None:
    """Print a line for each gap and number of rows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, nargs="+", default=[300, 1000, 10_000, 100_000])
    parser.add_argument("--gaps", type=float, nargs="+", default=[0.0, 0.01, 0.03, 0.06])
    parser.add_argument("--reps", type=int, default=20)
    options = parser.parse_args()
    print("".join(f"{name:>10s}" for name in HEADER))
    for gap in options.gaps:
        for n in options.rows:
            samples = [measured(gap, n, seed) for seed in range(options.reps)]
            means = np.array(samples).mean(axis=0)
            ratio = means[2] / means[1]
            numbers = "".join(f"{mean:10.4f}" for mean in means)
            print(f"{gap:10g}{n:10d}{numbers}{ratio:10.2f}", flush=True)


if __name__ == "__main__":
    main()
