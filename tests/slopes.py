"""Two predictors, one of them with a steeper slope: how often limits name or hold what is true.

`tests/inference/test_gap_pairs.py` looks at a sample or some, `tests/long` at many.
"""

from __future__ import annotations

import numpy as np

import calibrant as cal
from rivals import sigmoid

ABSOLUTE = (
    "ece",
    "ace",
    "rmsce",
    "smooth_ece",
    "ls_ece",
    "ks_error",
    "cutoff_ce",
    "debiased_l2",
    "ici",
    "brier_miscalibration",
)


def outcomes(n, seed):
    rng = np.random.default_rng((53, seed))
    h = rng.normal(0, 1.5, n)
    return (rng.random(n) < sigmoid(h)).astype(int), h


def differences(y, first, second, measures, **options):
    """The difference in each of the measures, from one comparison: draws are made once for all."""
    models = {"a": first, "b": second}
    found = cal.compare(y, models, measures=measures, bin_counts=(5,), **options)
    return {measure: found.difference("a", "b", measure) for measure in measures}


def difference(y, first, second, measure, **options):
    return differences(y, first, second, [measure], **options)[measure]


def named_better(measures, slope, samples):
    """How often each measure names the predictor with this slope better than one with 1.6, of 2,000
    rows.
    """
    named = {measure: [] for measure in measures}
    for seed in samples:
        y, h = outcomes(2000, seed)
        found = differences(y, sigmoid(1.6 * h), sigmoid(slope * h), measures)
        for measure, each in found.items():
            named[measure].append(each.better)
    assert not [measure for measure, better in named.items() if "a" in better]
    return {measure: better.count("b") for measure, better in named.items()}


def times_held(n, slope, truth, samples):
    """How often limits of the difference from a slope of 1.5 contain the true one."""
    held = 0
    for seed in samples:
        y, h = outcomes(n, seed)
        found = difference(y, sigmoid(1.5 * h), sigmoid(slope * h), "ece", n_resamples=500)
        held += found.low <= truth <= found.high
    return held
