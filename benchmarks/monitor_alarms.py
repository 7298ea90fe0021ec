"""How often a monitor sees a change from a baseline where there is none, and how soon where one is.

    python benchmarks/monitor_alarms.py [--reps 100] [--windows 1000] [--baseline 1000 10000 ...]
    python benchmarks/monitor_alarms.py --change 0 50 180 [--factor 0.9] [--rows 300 1095]

The accepted model has an ECE of 0.02 (`--slope` and `--shift` of its logits); predictions are
Beta(0.5, 3), of a mean of 0.14. Without --change: the share of streams with an alarm in so many
windows, and the largest evidence. With it, the windows from the change, in which outcomes become
rarer by a factor, until the alarm: quartiles over streams, and the windows that a test of two
samples at 5 % needs for a power of 80 % if it is done once and the beginning is known.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from calibrant._core.bin_tables import FIELDS, BinTable
from calibrant._inference.change import running_change

Array = NDArray[np.float64]
BINS, ALARM = 15, 20.0


def tables(p: Array, y: Array, window: Array, n: int) -> list[BinTable]:
    """The bin tables of n windows."""
    at = np.minimum((p * BINS).astype(int), BINS - 1) + BINS * window.astype(int)
    sums = np.zeros((n, 1, BINS, len(FIELDS)))
    ones = np.ones(p.size)
    columns = {"n": ones, "sum_w": ones, "sum_w2": ones, "sum_wu": p, "sum_wz": y}
    for name, values in columns.items():
        counted = np.bincount(at, values, minlength=n * BINS).reshape(n, BINS)
        sums[:, 0, :, FIELDS.index(name)] = counted
    return [BinTable(part) for part in sums]


def stream(options: argparse.Namespace, seed: int, base: int, rows: int, change: int) -> Array:
    """The evidence of one stream after each window."""
    rng = np.random.default_rng((91, seed, base, rows, change + 1))

    def rate(p: Array) -> Array:
        return np.asarray(
            expit(options.slope * logit(np.clip(p, 1e-12, 1 - 1e-12)) + options.shift)
        )

    p = rng.beta(0.5, 3, base)
    then = tables(p, (rng.random(base) < rate(p)).astype(float), np.zeros(base), 1)[0]
    n = options.windows if change < 0 else change + options.after
    p, window = rng.beta(0.5, 3, n * rows), np.repeat(np.arange(n), rows)
    factor = np.where((change >= 0) & (window >= change), options.factor, 1.0)
    y = (rng.random(p.size) < factor * rate(p)).astype(float)
    return np.array(running_change(tables(p, y, window, n), range(1, n + 1), then))


def needed(options: argparse.Namespace, base: int, rows: int) -> float:
    """The windows that one test with a known beginning needs, infinite if the baseline is small."""
    rng = np.random.default_rng(0)
    p = np.clip(rng.beta(0.5, 3, 200_000), 1e-12, 1 - 1e-12)
    rate = expit(options.slope * logit(p) + options.shift)
    moved, variance = (1 - options.factor) * rate.mean(), (rate * (1 - rate)).mean()
    room = (moved / (1.96 + 0.842)) ** 2 / variance - 1 / base
    return float(1 / room / rows) if room > 0 else np.inf


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each baseline, number of rows and change."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--reps", type=int, default=100)
    parser.add_argument("--windows", type=int, default=1000)
    parser.add_argument("--after", type=int, default=200, help="windows after the change")
    parser.add_argument("--baseline", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--rows", type=int, nargs="+", default=[300])
    parser.add_argument("--change", type=int, nargs="+", default=[-1])
    parser.add_argument("--factor", type=float, default=0.9)
    parser.add_argument("--slope", type=float, default=0.85)
    parser.add_argument("--shift", type=float, default=-0.05)
    options = parser.parse_args(arguments)
    for base in options.baseline:
        for rows in options.rows:
            for change in options.change:
                found = [stream(options, seed, base, rows, change) for seed in range(options.reps)]
                told = f"baseline {base:7,}  rows {rows:5,}"
                if change < 0:
                    largest = np.array([e.max() for e in found])
                    alarms = (largest >= ALARM).mean()
                    print(f"{told}  alarms {alarms:6.1%}  largest {largest.max():.3g}", flush=True)
                    continue
                early = np.mean([(e[:change] >= ALARM).any() for e in found])
                late = [np.flatnonzero(e[change:] >= ALARM) for e in found]
                delays = [each[0] + 1 if each.size else np.inf for each in late]
                low, middle, high = np.quantile(delays, (0.25, 0.5, 0.75), method="lower")
                known = needed(options, base, rows)
                print(
                    f"{told}  change after {change:4}  alarm in {low:g}, {middle:g}, {high:g} "
                    f"windows  (one test: {known:.1f})  before {early:.1%}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
