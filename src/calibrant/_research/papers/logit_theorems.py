"""What Chidambaram et al. (2024) prove, computed: where ECE jumps, how often, and how fast LS-ECE
is estimated.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

from calibrant._api.metrics.binned import ece
from calibrant._api.metrics.smooth import ls_ece
from calibrant._core.binning import LevelSets
from calibrant._core.progress import TaskProgress
from calibrant._research.papers.folder import Columns, columns_of
from calibrant._research.papers.logit_experiments import SPREAD, TEMPERATURE

Row: TypeAlias = dict[str, Any]

# The probabilities of the label 1 at four points of equal weight, and predictors of them.
TRUTHS = (0.2, 0.4, 0.6, 0.8)
PREDICTORS = {
    "no ties": (0.3, 0.35, 0.5, 0.9),
    "ties, gaps of one sign": (0.1, 0.1, 0.5, 0.5),
    "ties, gaps of both signs": (0.25, 0.25, 0.7, 0.7),
    "one value for all rows": (0.5, 0.5, 0.5, 0.5),
}
SIZES = (1e-2, 1e-4, 1e-8)
# Samples of theorem 5.3 have so many rows, and noise of these widths.
ROWS, SIGMAS = (500, 2000, 8000), (0.02, 0.1, 0.5)


def jumps(seed: int, n_moves: int = 200) -> Columns:
    """Theorems 3.8 and 3.10: columns of the ECE of predictors, and of the least and the largest ECE
    that they have where each prediction is moved by up to some size, at random.
    """
    rng, truths, rows = np.random.default_rng([seed, 38]), np.array(TRUTHS), []
    for name, values in PREDICTORS.items():
        g = np.array(values)
        row: Row = {"predictor": name, "ECE": ece(truths, g, bins=LevelSets())}
        row["mean |g* - g|"] = float(np.abs(truths - g).mean())
        for size in SIZES:
            moved = g + rng.uniform(-size, size, (n_moves, g.size))
            errors = [ece(truths, each, bins=LevelSets()) for each in moved]
            row[f"moved by {size:g}"] = f"{min(errors):.4f} to {max(errors):.4f}"
        rows.append(row)
    return columns_of(rows)


def discontinuities(seed: int, n_draws: int = 1000) -> Columns:
    """Corollary 3.4: columns of the share of predictors at which ECE is not continuous, for
    predictions of so many points drawn at random, and for the same ones with few digits.
    """
    rng, rows = np.random.default_rng([seed, 34]), []
    for points in (2, 10, 100):
        found = {"as drawn": 0, "three digits": 0, "two digits": 0, "one digit": 0}
        for _ in range(n_draws):
            truths, g = rng.uniform(0.1, 0.9, (2, points))
            for name, digits in zip(found, (16, 3, 2, 1), strict=True):
                rounded = np.round(g, digits)
                gap = float(np.abs(truths - rounded).mean())
                found[name] += ece(truths, rounded, bins=LevelSets()) < gap - 1e-12
        rows.append({"points": points, **{name: n / n_draws for name, n in found.items()}})
    return columns_of(rows)


def smoothed_error(sigma: float) -> float:
    """The true LS-ECE, with Gaussian noise, of normal logits h and labels that are 1 with
    probability sigmoid(h / T): an integral over the noisy logit, of one over h.
    """
    from scipy.special import expit

    total = SPREAD**2 + sigma**2
    t = np.linspace(-8.0, 8.0, 8001) * math.sqrt(total)
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    # Given h + noise = t, h is normal with this mean and variance.
    h = t[:, None] * SPREAD**2 / total + nodes * math.sqrt(SPREAD**2 * sigma**2 / total)
    outcome = expit(h / TEMPERATURE) @ weights / weights.sum()
    density = np.exp(-(t**2) / (2 * total)) / math.sqrt(2 * math.pi * total)
    return float((density * np.abs(outcome - expit(t))).sum() * (t[1] - t[0]))


def estimation_errors(seed: int, progress: TaskProgress, n_replications: int = 50) -> Columns:
    """Theorem 5.3: columns of the mean distance between LS-ECE of a sample and its true value,
    times the root of n sigma, which stays bounded.
    """
    from scipy.special import expit

    rng, rows = np.random.default_rng([seed, 53]), []
    with progress.task("Theorem 5.3", len(SIGMAS) * len(ROWS) * n_replications) as step:
        for sigma in SIGMAS:
            true = smoothed_error(sigma)
            row: Row = {"sigma": sigma, "true LS-ECE": true}
            for n in ROWS:
                off = []
                for _ in range(n_replications):
                    h = rng.normal(0, SPREAD, n)
                    y = (rng.random(n) < expit(h / TEMPERATURE)).astype(np.float64)
                    off.append(abs(ls_ece(y, h, sigma=sigma, from_logits=True) - true))
                    step()
                mean = float(np.mean(off))
                row[f"n = {n:,}"] = (
                    f"{mean:.4f} (times sqrt(n sigma): {mean * math.sqrt(n * sigma):.3f})"
                )
            rows.append(row)
    return columns_of(rows)
