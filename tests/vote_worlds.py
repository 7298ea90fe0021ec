"""Simulated worlds of votes in which the true distribution of every row is known.

The short tests of `tests/inference/test_vote_intervals.py` and the long ones of
`tests/long/test_long_vote_intervals.py` draw from the same worlds.
"""

from __future__ import annotations

import numpy as np

import calibrant as cal
from judged import intervals


def smoothed(q, k):
    return (1.0 - 0.1 * k) * q + 0.1


def sharpened(q, by=1.5):
    p = q**by
    return p / p.sum(axis=1, keepdims=True)


def right(n, k, rng):
    q = rng.dirichlet(np.ones(k), n)
    return q, q


def mixed_with_equal(n, k, rng):
    q = rng.dirichlet(np.full(k, 0.3), n)
    return smoothed(q, k), q


def certain_or_torn(n, k, rng):
    """Rows are certain, or people are torn: predictions are right on average alone."""
    p = rng.dirichlet(np.ones(k), n)
    label = (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(0, k - 1)
    return p, np.where(rng.random((n, 1)) < 0.5, np.eye(k)[label], 1.0 / k)


def some_off(n, k, rng):
    """Most rows are right, and some have their classes in another order."""
    q = rng.dirichlet(np.ones(k), n)
    return np.where(rng.random((n, 1)) < 0.15, np.roll(q, 1, axis=1), q), q


KIN = ("ent_ce", "rank_cs", "jsd", "js_divergence", "kl", "wasserstein")
WORLDS = (right, mixed_with_equal, certain_or_torn, some_off)


def held(world, k, m, n, measures, n_samples):
    """Samples whose bounds hold the truth, and their mean width, by measure."""
    p, q = world(60_000, k, np.random.default_rng(1))
    truth = {name: cal.evaluate(q, p, measures=[name])[name] for name in measures}
    hits, widths = dict.fromkeys(measures, 0), dict.fromkeys(measures, 0.0)
    for seed in range(n_samples):
        rng = np.random.default_rng((seed, k, m))
        p, q = world(n, k, rng)
        for name, found in intervals(rng.multinomial(m, q), p, measures, seed=seed).items():
            hits[name] += found.low <= truth[name] <= found.high
            widths[name] += (found.high - found.low) / n_samples
    return hits, widths


def difference(counts, first, second, measure):
    models = {"a": first, "b": second}
    found = cal.compare(counts, models, measures=[measure], n_resamples=50, bin_counts=(2,))
    return found.difference("a", "b", measure)


def difference_and_bounds(measure, seed):
    """The difference of too sure and too unsure predictions, the width that the bounds of each
    alone would leave it, and its true value.
    """
    rng = np.random.default_rng((5, seed))
    q = rng.dirichlet(np.ones(3), 200)
    counts = rng.multinomial(6, q)
    models = sharpened(q), sharpened(q, 0.75)
    true, other = (getattr(cal, measure)(q, p) for p in models)
    first, second = (cal.interval(counts, p, measure=measure) for p in models)
    apart = first.high - second.low - (first.low - second.high)
    return difference(counts, *models, measure), apart, true - other
