"""What Chidambaram et al. (2024) show without data: two counterexamples, figure 2, theorem 5.4."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calibrant._api.metrics.binned import ece
from calibrant._api.metrics.smooth import ls_ece, smooth_ece
from calibrant._core.binning import LevelSets
from calibrant._core.progress import TaskProgress
from calibrant._research.papers.folder import Columns

Array: TypeAlias = NDArray[np.float64]

ALPHA = 1e-3
SIGMA = 0.1  # of the smooth errors beside the counterexamples
TEMPERATURE = 2.0
SPREAD = 2.0  # standard deviation of the logits in the worlds of theorem 5.4


def two_point(epsilons: tuple[float, ...] = (0.0, 1e-12, 1e-6, 1e-3, 1e-2, 1e-1)) -> Columns:
    """Definition 3.1: x = y - 1/2, prediction 1/2 + epsilon on the right side. Exact, no sample."""
    y = [0, 1]
    predictions = [[0.5 - epsilon, 0.5 + epsilon] for epsilon in epsilons]
    return {
        "epsilon": [f"{epsilon:g}" for epsilon in epsilons],
        "ECE": [ece(y, p, bins=LevelSets()) for p in predictions],
        "expected": [0.5 - epsilon if epsilon else 0.0 for epsilon in epsilons],
        f"LS-ECE, sigma = {SIGMA}": [ls_ece(y, p, sigma=SIGMA) for p in predictions],
        "smECE": [smooth_ece(y, p) for p in predictions],
    }


def no_level_sets(seed: int, n: int = 200_000) -> Columns:
    """Proposition 3.5: g(x) = x1 is calibrated, its perturbation of size delta is far from it."""
    rng = np.random.default_rng(seed)
    x1 = rng.random(n)
    upper = rng.random(n) < x1  # x2 >= 1/2, which is what the label is
    columns: dict[str, list[Any]] = {
        "predictor": ["g = x1"],
        "ECE": [ece(upper, x1, bins=15)],
        "expected": [0.0],
        "the proof's bound": [None],
        f"LS-ECE, sigma = {SIGMA}": [ls_ece(upper, x1, sigma=SIGMA)],
        "smECE": [smooth_ece(upper, x1)],
    }
    for parts in (10, 100, 1000):
        delta, cell = 1 / parts, np.floor(x1 * parts)
        g = np.where(upper, cell + delta / 4, cell + 1 - delta / 4) * delta
        row = (
            f"delta = 1/{parts}",
            ece(upper, g, bins=LevelSets()),
            # The label follows from the level, so the error is the mean of |y - g|.
            1 / 3 + delta / 2 - delta**2 / 12,
            1 / 3 - 2 * delta,
            ls_ece(upper, g, sigma=SIGMA),
            smooth_ece(upper, g),
        )
        for name, value in zip(columns, row, strict=True):
            columns[name].append(value)
    return columns


def two_point_sample(seed: int, n: int = 1000) -> tuple[Array, Array]:
    """Figure 2: labels of the two-point distribution, and the predictions sigmoid(x / 1000)."""
    from scipy.special import expit

    y = np.random.default_rng(seed).integers(0, 2, n).astype(np.float64)
    return y, np.asarray(expit(ALPHA * (y - 0.5)))


def figure_2(y: Array, p: Array) -> Columns:
    """Binned ECE over bins 1 to 100, and LS-ECE with sigma = 1 / bins."""
    bins = list(range(1, 101))
    return {
        "bins": bins,
        "binned ECE": [ece(y, p, bins=m) for m in bins],
        "LS-ECE": [ls_ece(y, p, sigma=1 / m) for m in bins],
        "LS-ECE, uniform": [ls_ece(y, p, sigma=1 / m, noise="uniform") for m in bins],
    }


def some_of_figure_2(curves: Columns, y: Array, p: Array, seed: int, n_draws: int) -> Columns:
    """A few rows of figure 2, with LS-ECE by draws as the paper estimates it."""
    rng = np.random.default_rng([seed, 2])
    chosen = [m for m in (1, 2, 3, 10, 11, 99, 100) if m in curves["bins"]]
    columns = {name: [values[m - 1] for m in chosen] for name, values in curves.items()}
    columns["LS-ECE by draws"] = [
        ls_ece(y, p, sigma=1 / m, method="monte-carlo", n_draws=n_draws, rng=rng) for m in chosen
    ]
    return columns


def true_error(temperature: float) -> float:
    """E|sigmoid(h / T) - sigmoid(h)| for normal logits: the ECE of predictions sigmoid(h)."""
    from scipy.special import expit

    h = np.linspace(-8 * SPREAD, 8 * SPREAD, 200_001)
    density = np.exp(-((h / SPREAD) ** 2) / 2) / (SPREAD * math.sqrt(2 * math.pi))
    gap = np.abs(expit(h / temperature) - expit(h))
    # Smooth but for one kink at 0, which is a node; the tails are below 1e-14.
    return float((density * gap).sum() * (h[1] - h[0]))


def convergence(
    seed: int, progress: TaskProgress, *, largest: int = 10**6, n_replications: int = 10
) -> Columns:
    """Theorem 5.4: LS-ECE with sigma = n^(-1/3) tends to the ECE; with sigma = 1/n it does not."""
    from scipy.special import expit

    rng = np.random.default_rng(seed)
    sizes = [n for n in (100, 1000, 10**4, 10**5, 10**6) if n <= largest]
    columns: dict[str, list[Any]] = {
        name: []
        for name in (
            "world",
            "n",
            "sigma",
            "true ECE",
            "LS-ECE",
            "LS-ECE sd",
            "binned ECE",
            "binned ECE sd",
            "LS-ECE at 1/n",
            "LS-ECE at 1/n sd",
        )
    }
    worlds = {"overconfident": TEMPERATURE, "calibrated": 1.0}
    with progress.task("Theorem 5.4", len(worlds) * len(sizes) * n_replications) as step:
        for world, temperature in worlds.items():
            for n in sizes:
                errors = []
                for _ in range(n_replications):
                    h = rng.normal(0, SPREAD, n)
                    y = (rng.random(n) < expit(h / temperature)).astype(np.float64)
                    errors.append(
                        (
                            ls_ece(y, h, sigma="schedule", from_logits=True),
                            ece(y, h, bins=15, from_logits=True),
                            # Too narrow: n sigma must grow. Sorting makes the largest slow.
                            ls_ece(y, h, sigma=1 / n, noise="uniform", from_logits=True)
                            if n <= 10**5
                            else math.nan,
                        )
                    )
                    step()
                means, spreads = np.mean(errors, axis=0), np.std(errors, axis=0)
                pairs = [number for pair in zip(means, spreads, strict=True) for number in pair]
                row = (world, n, n ** (-1 / 3), true_error(temperature), *map(float, pairs))
                for name, value in zip(columns, row, strict=True):
                    columns[name].append(value)
    return columns
