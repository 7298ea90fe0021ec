"""A population of which all numbers of a clinical summary are known."""

from __future__ import annotations

import numpy as np

import calibrant as cal


def limits_that_hold(n_samples: int) -> dict[str, int]:
    """In how many samples the limits hold a slope of 1 / 1.5, the O:E and the other numbers."""
    rng = np.random.default_rng(3)
    h = rng.normal(-0.5, 1.2, 50_000)
    q, u = 1 / (1 + np.exp(-h)), 1 / (1 + np.exp(-1.5 * h - 0.3))
    brier, mean = (q * (1 - u) ** 2 + (1 - q) * u**2).mean(), q.mean()
    truth = {
        "slope": 1 / 1.5,
        "observed_expected": mean / u.mean(),
        "scaled_brier": 1 - brier / (mean * (1 - mean)),
        "brier": brier,
        "c_statistic": cal.auroc(q, u),
        "ici": cal.ici(q, u),
    }
    inside = dict.fromkeys(truth, 0)
    for _ in range(n_samples):
        rows = rng.integers(0, h.size, 200)
        y = (rng.random(200) < q[rows]).astype(int)
        found = cal.clinical_summary(y, u[rows], n_resamples=50)
        for name, value in truth.items():
            inside[name] += found[name].low <= value <= found[name].high
    return inside
