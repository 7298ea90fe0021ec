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


def difference(y, first, second, measure, **options):
    models = {"a": first, "b": second}
    found = cal.compare(y, models, measures=[measure], bin_counts=(5,), **options)
    return found.difference("a", "b", measure)


def named_better(measure, slope, samples):
    """How often the predictor with this slope is named better than one with 1.6, of 2,000 rows."""
    named = []
    for seed in samples:
        y, h = outcomes(2000, seed)
        named.append(difference(y, sigmoid(1.6 * h), sigmoid(slope * h), measure).better)
    assert "a" not in named
    return named.count("b")


def times_held(n, slope, truth, samples):
    """How often limits of the difference from a slope of 1.5 contain the true one."""
    held = 0
    for seed in samples:
        y, h = outcomes(n, seed)
        found = difference(y, sigmoid(1.5 * h), sigmoid(slope * h), "ece", n_resamples=500)
        held += found.low <= truth <= found.high
    return held
