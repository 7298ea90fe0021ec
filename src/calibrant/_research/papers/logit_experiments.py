"""What Chidambaram et al. (2024) show and prove, computed: counterexamples, figure 2, where ECE
jumps and how often, and theorems 5.3 and 5.4 without data; figures 3 to 5 on saved predictions of
any classifiers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from calibrant._api.metrics.binned import ece
from calibrant._api.metrics.smooth import ece_kde, ls_ece, smooth_ece
from calibrant._core.binning import LevelSets
from calibrant._core.progress import TaskProgress
from calibrant._core.typing import Array
from calibrant._research.papers.folder import Columns, columns_of
from calibrant._research.papers.predictions import Predictions, Predictor

Row: TypeAlias = dict[str, Any]

ALPHA = 1e-3
SIGMA = 0.1  # of the smooth errors beside the counterexamples
TEMPERATURE = 2.0
BINS = (1, *range(10, 101, 10))
OTHERS = ("LS-ECE", "LS-ECE, uniform", "smECE")
SPREAD = 2.0  # standard deviation of the logits in the worlds of theorem 5.4
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


def two_point(epsilons: tuple[float, ...] = (0.0, 1e-12, 1e-6, 1e-3, 1e-2, 1e-1)) -> Columns:
    """Definition 3.1: columns of errors of predictions 1/2 -/+ epsilon, right for both labels.

    There is a row for each epsilon. Both labels are equally likely, so errors are exact.
    """
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
    """Proposition 3.5: columns of errors of a calibrated predictor and of small perturbations.

    The predictor is g(x) = x1. There is a row for g and for each size delta of a perturbation,
    measured on n drawn rows.
    """
    rng = np.random.default_rng(seed)
    x1 = rng.random(n)
    upper = rng.random(n) < x1  # whether x2 >= 1/2, which is the label

    def row(predictor: str, g: Array, error: float, expected: float, bound: float | None) -> Row:
        """One row of the table: errors of predictions g, beside the expected ECE and its bound."""
        return {
            "predictor": predictor,
            "ECE": error,
            "expected": expected,
            "the proof's bound": bound,
            f"LS-ECE, sigma = {SIGMA}": ls_ece(upper, g, sigma=SIGMA),
            "smECE": smooth_ece(upper, g),
        }

    rows = [row("g = x1", x1, ece(upper, x1, bins=15), 0.0, None)]
    for parts in (10, 100, 1000):
        delta, cell = 1 / parts, np.floor(x1 * parts)
        g = np.where(upper, cell + delta / 4, cell + 1 - delta / 4) * delta
        # The label follows from the level, so the error is the mean of |y - g|.
        expected, bound = 1 / 3 + delta / 2 - delta**2 / 12, 1 / 3 - 2 * delta
        error = ece(upper, g, bins=LevelSets())
        rows.append(row(f"delta = 1/{parts}", g, error, expected, bound))
    return columns_of(rows)


def two_point_sample(seed: int, n: int = 1000) -> tuple[Array, Array]:
    """Draw the sample of figure 2: n labels y, and the predictions sigmoid((y - 1/2) / 1000)."""
    from scipy.special import expit

    y = np.random.default_rng(seed).integers(0, 2, n).astype(np.float64)
    return y, np.asarray(expit(ALPHA * (y - 0.5)))


def figure_2(y: Array, p: Array) -> Columns:
    """The columns of figure 2: ECE of y and p in 1 to 100 bins, LS-ECE with sigma = 1 / bins."""
    bins = list(range(1, 101))
    return {
        "bins": bins,
        "binned ECE": [ece(y, p, bins=m) for m in bins],
        "LS-ECE": [ls_ece(y, p, sigma=1 / m) for m in bins],
        "LS-ECE, uniform": [ls_ece(y, p, sigma=1 / m, noise="uniform") for m in bins],
    }


def figure_2_with_draws(curves: Columns, y: Array, p: Array, seed: int, n_draws: int) -> Columns:
    """A few rows of figure 2, with LS-ECE by random draws, as the paper computes it, added.

    `curves` are the columns of `figure_2`, computed from labels `y` and predictions `p`.
    """
    rng = np.random.default_rng([seed, 2])
    chosen = [m for m in (1, 2, 3, 10, 11, 99, 100) if m in curves["bins"]]
    columns = {name: [values[m - 1] for m in chosen] for name, values in curves.items()}
    columns["LS-ECE by draws"] = [
        ls_ece(y, p, sigma=1 / m, method="monte-carlo", n_draws=n_draws, rng=rng) for m in chosen
    ]
    return columns


def true_error(temperature: float) -> float:
    """The true ECE of predictions sigmoid(h), if the label is 1 with probability sigmoid(h / T).

    Logits h are normal with standard deviation `SPREAD`, and T is the temperature. The integral
    over h is numerical.
    """
    from scipy.special import expit

    h = np.linspace(-8 * SPREAD, 8 * SPREAD, 200_001)
    density = np.exp(-((h / SPREAD) ** 2) / 2) / (SPREAD * math.sqrt(2 * math.pi))
    gap = np.abs(expit(h / temperature) - expit(h))
    # Smooth but for one kink at 0, which is a node; the tails are below 1e-14.
    return float((density * gap).sum() * (h[1] - h[0]))


def convergence(
    seed: int, progress: TaskProgress, *, largest: int = 10**6, n_replications: int = 10
) -> Columns:
    """Theorem 5.4: columns of errors by sample size, which tend to the true ECE or do not.

    LS-ECE with sigma = n^(-1/3) does; with sigma = 1/n it does not. There is a row for each of two
    worlds (overconfident and calibrated) and each sample size up to `largest`: means and standard
    deviations over replications, beside the true ECE.
    """
    from scipy.special import expit

    rng = np.random.default_rng(seed)
    sizes = [n for n in (100, 1000, 10**4, 10**5, 10**6) if n <= largest]
    rows: list[Row] = []
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
                            # Too narrow: n sigma must grow. The largest n is slow to sort.
                            ls_ece(y, h, sigma=1 / n, noise="uniform", from_logits=True)
                            if n <= 10**5
                            else math.nan,
                        )
                    )
                    step()
                row = {"world": world, "n": n, "sigma": n ** (-1 / 3)}
                row["true ECE"] = true_error(temperature)
                names = ("LS-ECE", "binned ECE", "LS-ECE at 1/n")
                means, spreads = np.mean(errors, axis=0), np.std(errors, axis=0)
                for name, mean, spread in zip(names, means, spreads, strict=True):
                    row |= {name: float(mean), f"{name} sd": float(spread)}
                rows.append(row)
    return columns_of(rows)


def estimators(seed: int, n_replications: int) -> Columns:
    """Sections 4 and 5: the mean over samples of each estimate of the true ECE, and their standard
    deviation, by estimator.
    """
    from scipy.special import expit

    of: dict[str, Callable[..., float]] = {
        "binned ECE, 15 bins": partial(ece, bins=15),
        "LS-ECE, Gaussian": partial(ls_ece, sigma="schedule"),
        "LS-ECE, uniform": partial(ls_ece, sigma="schedule", noise="uniform"),
        "LS-ECE, Laplace": partial(ls_ece, sigma="schedule", noise="laplace"),
        "LS-ECE, probit link": partial(ls_ece, sigma="schedule", link="probit"),
        "ECE-KDE, beta": ece_kde,
        "ECE-KDE, triweight": partial(ece_kde, kernel="triweight"),
    }
    worlds = {"overconfident": TEMPERATURE, "calibrated": 1.0}
    rows: list[Row] = [{"estimator": "true ECE"}, *({"estimator": name} for name in of)]
    for world, temperature in worlds.items():
        for n in (500, 2000):
            rng = np.random.default_rng((seed, n))
            drawn = [rng.normal(0, SPREAD, n) for _ in range(n_replications)]
            labels = [rng.random(n) < expit(h / temperature) for h in drawn]
            rows[0][f"{world}, n = {n:,}"] = f"{true_error(temperature):.4f}"
            for row, estimate in zip(rows[1:], of.values(), strict=True):
                values = [estimate(y, expit(h)) for y, h in zip(labels, drawn, strict=True)]
                row[f"{world}, n = {n:,}"] = f"{np.mean(values):.4f} ({np.std(values):.4f})"
    return columns_of(rows)


# --- saved predictions -------------------------------------------------------------------------


def curves(
    predictions: Predictions, progress: TaskProgress, bins: tuple[int, ...] = BINS
) -> Columns:
    """Columns of every error of saved predictions, a row for each predictor and number of bins."""
    rows: list[Row] = []
    with progress.task("Saved predictions", len(predictions.predictors)) as step:
        for predictor in predictions.predictors:
            rows += _errors(predictor, bins)
            step()
    return columns_of(rows)


def _errors(predictor: Predictor, bins: tuple[int, ...]) -> list[Row]:
    """One predictor's errors: a row for each number of bins m, smoothed with sigma = 1 / m."""
    y, p = predictor.labels, predictor.predictions
    given: dict[str, Any] = {"from_logits": predictor.from_logits}
    smooth = smooth_ece(y, p, **given)  # it chooses its own bandwidth: one value for all
    return [
        {
            "set": predictor.rows,
            "predictor": predictor.name,
            "n": len(y),
            "bins": m,
            "binned ECE": ece(y, p, bins=m, **given),
            "LS-ECE": ls_ece(y, p, sigma=1 / m, **given),
            "LS-ECE, uniform": ls_ece(y, p, sigma=1 / m, noise="uniform", **given),
            "smECE": smooth,
        }
        for m in bins
    ]


def _absolute_differences(errors: Columns, other: str) -> Array:
    """The absolute difference of binned ECE and another error, in each row of `errors`.

    `errors` are the columns of `curves`, and `other` is the name of one of them.
    """
    return np.abs(np.array(errors["binned ECE"]) - np.array(errors[other]))


def differences(errors: Columns) -> Columns:
    """Mean and standard deviation over predictors of |binned ECE - other error|, by set and bins.

    `errors` are the columns of `curves`; the other errors are those of `OTHERS`.
    """
    sets, bins = np.array(errors["set"]), np.array(errors["bins"])
    rows: list[Row] = []
    for name in dict.fromkeys(errors["set"]):
        for m in dict.fromkeys(errors["bins"]):
            here = (sets == name) & (bins == m)
            row = {"set": name, "predictors": int(here.sum()), "bins": m}
            for other in OTHERS:
                gaps = _absolute_differences(errors, other)[here]
                row |= {other: float(gaps.mean()), f"{other} sd": float(gaps.std())}
            rows.append(row)
    return columns_of(rows)


def by_predictor(errors: Columns, at: int = 10) -> Columns:
    """One row a predictor: its errors in `at` bins, and its mean differences over numbers of bins.

    `errors` are the columns of `curves`. The means leave out one bin, which stands apart as in the
    paper's figures: it measures the mean prediction alone.
    """
    names, sets, bins = (np.array(errors[each]) for each in ("predictor", "set", "bins"))
    rows: list[Row] = []
    for own_set, name in dict.fromkeys(zip(errors["set"], errors["predictor"], strict=True)):
        here = (names == name) & (sets == own_set)
        chosen = int(np.flatnonzero(here & (bins == at))[0])
        shown = ("set", "predictor", "n", "binned ECE", *OTHERS)
        row = {each: errors[each][chosen] for each in shown}
        for other in OTHERS:
            row[f"|ECE - {other}|"] = float(
                _absolute_differences(errors, other)[here & (bins > 1)].mean()
            )
        rows.append(row)
    return columns_of(rows)


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
