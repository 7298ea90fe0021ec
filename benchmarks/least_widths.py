"""The least width that an honest interval can have near calibration.

    python benchmarks/least_widths.py [--rows 300 1000 5000] [--reps 400]

An oracle knows that true logits are those of the predictions less a shift, and nothing else of the
size of the shift. Its upper limit is the true error at the shift whose samples fall below the
observed value with a chance of 2.5 %. Prints the mean of this limit over samples of calibrated
predictions (their lower limit is 0), over the 95 % span of the values of such samples: no interval
that rests on the value alone can be narrower and hold every shift.
"""

from __future__ import annotations

import argparse

import numpy as np
from known_truth.populations import Array
from scipy.special import expit

import calibrant as cal

MEASURES = {
    "ece": cal.ece, "smooth_ece": cal.smooth_ece, "ls_ece": cal.ls_ece, "ks_error": cal.ks_error,
}  # fmt: skip
SPREAD, POPULATION, SHIFTS = 1.5, 400_000, 9


def values(measure: str, shift: float, n: int, reps: int, rng: np.random.Generator) -> Array:
    """Values of samples whose true logits are those of the predictions less a shift."""
    out = []
    for _ in range(reps):
        logit = rng.normal(0.0, SPREAD, n)
        y = (rng.random(n) < expit(logit - shift)).astype(int)
        out.append(MEASURES[measure](y, expit(logit)))
    return np.array(out)


def least_ratio(measure: str, n: int, reps: int) -> float:
    """The mean upper limit of the oracle over the span of values of calibrated predictions."""
    rng = np.random.default_rng((1, n))
    logit = rng.normal(0.0, SPREAD, POPULATION)
    shifts = np.linspace(0.0, 9.0 / np.sqrt(n), SHIFTS)
    truths = [MEASURES[measure](expit(logit - shift), expit(logit)) for shift in shifts]
    low = [np.quantile(values(measure, shift, n, reps, rng), 0.025) for shift in shifts]
    calibrated = values(measure, 0.0, n, reps, rng)
    span = float(np.subtract(*np.quantile(calibrated, (0.975, 0.025))))
    return float(np.interp(calibrated, np.maximum.accumulate(low), truths).mean()) / span


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[300, 1000, 5000])
    parser.add_argument("--reps", type=int, default=400)
    options = parser.parse_args()
    for measure in MEASURES:
        ratios = [f"{least_ratio(measure, n, options.reps):.2f}" for n in options.rows]
        print(f"{measure:12s}", *ratios, sep="  ")


if __name__ == "__main__":
    main()
