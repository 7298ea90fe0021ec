"""The four experiments of Leznik (2026), in the order that their one generator runs through.

Three targets are measured: the posterior (SMECE), the thresholded label (the paper's ECE), and an
outcome drawn from the posterior, which the paper speaks of but does not run. The last has a
generator of its own, so that the paper's stays in step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calibrant._api.metrics.binned import ece, soft_ece
from calibrant._core.binning import EqualWidth
from calibrant._core.progress import TaskProgress
from calibrant._research.papers.soft_mean_printed import (
    MODELS,
    PAIRS,
    SIZES,
    STEEPNESSES,
    Cell,
    k_column,
    n_column,
    pair_row,
)

Array: TypeAlias = NDArray[np.float64]
Numbers: TypeAlias = tuple[float, ...]  # a value, or a mean and its standard deviation

AS_PRINTED = EqualWidth(10, drop_one=True)
CORRECTED = EqualWidth(10)
RULES = ("measured", "corrected")


@dataclass(frozen=True)
class Draw:
    """One sample: the posterior P(y = 1 | x), the label 1[x >= 0], and five models' predictions."""

    posterior: Array
    thresholded: Array
    predictions: dict[str, Array]


@dataclass
class Results:
    """Every number, by table and then by cell (row, column).

    `measured` has the paper's bins, `corrected` has the last bin closed, and `outcomes` has labels
    that are drawn. `n_dropped` counts the predictions of model D that the paper's bins drop in
    experiment 1; `diagrams` has the sample of experiment 1 and an outcome for each of its rows.
    """

    measured: dict[str, dict[Cell, Numbers]] = field(default_factory=dict)
    corrected: dict[str, dict[Cell, Numbers]] = field(default_factory=dict)
    outcomes: dict[str, dict[Cell, Numbers]] = field(default_factory=dict)
    n_dropped: int = 0
    diagrams: tuple[Draw, Array] | None = None

    def put(self, rule: str, table: str, row: str, column: str, *numbers: float) -> None:
        """Store the numbers of one cell; `rule` is "measured", "corrected" or "outcomes"."""
        cells = getattr(self, rule).setdefault(table, {})
        cells[row, column] = tuple(float(number) for number in numbers)


def draw(rng: np.random.Generator, k: float, n: int) -> Draw:
    """A sample of n rows with the posterior sigmoid(k x).

    x is drawn first and then the random model E, as in the paper, so that the numbers are the same.
    """
    from scipy.special import expit

    x = rng.uniform(-3, 3, n)
    posterior = np.asarray(expit(k * x))
    predictions = {
        "A": posterior,
        "B": np.asarray(expit(3 * k * x)),
        "C": np.asarray(expit(0.4 * k * x)),
        "D": np.minimum(posterior + 0.15, 1.0),
        "E": rng.uniform(0, 1, n),
    }
    return Draw(posterior, (x >= 0).astype(np.float64), predictions)


def outcomes(rng: np.random.Generator, sample: Draw) -> Array:
    """Labels drawn from the posterior, one for each row."""
    return (rng.random(sample.posterior.size) < sample.posterior).astype(np.float64)


def both_rules(
    measure: Callable[..., float], target: Array, predictions: Array
) -> tuple[float, float]:
    """The error with predictions of exactly 1 dropped, as printed, and with the last bin closed."""
    dropped = measure(target, predictions, bins=AS_PRINTED)
    # The rules differ in predictions of exactly 1 alone, and then only by how far targets are from
    # 1.
    lost = predictions.max() == 1.0 and (target[predictions == 1.0] != 1.0).any()
    return dropped, measure(target, predictions, bins=CORRECTED) if lost else dropped


def errors(sample: Draw) -> dict[str, Array]:
    """By measure, "SMECE" and "ECE": the errors of a sample, (2 rules, 5 models).

    The rules are those of `RULES`. SMECE is against the posterior, ECE against the thresholded
    label.
    """
    soft = [both_rules(soft_ece, sample.posterior, u) for u in sample.predictions.values()]
    hard = [both_rules(ece, sample.thresholded, u) for u in sample.predictions.values()]
    return {"SMECE": np.array(soft).T, "ECE": np.array(hard).T}


def outcome_errors(rng: np.random.Generator, sample: Draw) -> Array:
    """The ECE of each model against outcomes drawn from the posterior, (5,).

    The last bin is closed.
    """
    labels = outcomes(rng, sample)
    return np.array([ece(labels, u, bins=CORRECTED) for u in sample.predictions.values()])


def ranked_right(found: Array) -> Array:
    """For each of the ten pairs, 1 if the model that comes first in A to E has the smaller error.

    `found` has errors (..., 5 models); the result is (..., 10 pairs), 0 for the other pairs. B and
    C always count as right.
    """
    first = [MODELS.index(i) for i, _ in PAIRS]
    second = [MODELS.index(j) for _, j in PAIRS]
    right = found[..., first] < found[..., second]
    right[..., PAIRS.index(("B", "C"))] = True  # the paper counts them as tied
    return right.astype(np.float64)


def run(
    *, seed: int, n_ranking: int, n_sizes: int, n_outcomes: int, progress: TaskProgress
) -> Results:
    """All four experiments.

    `n_ranking` and `n_sizes` are the replications of experiments 3 and 4; in the first `n_outcomes`
    of them outcomes are drawn too.
    """
    rng, chance = np.random.default_rng(seed), np.random.default_rng([seed, 1])
    results = Results()
    _core(results, rng, chance)
    _steepness(results, rng, chance)
    with progress.task("Experiment 3: ranking", len(STEEPNESSES) * n_ranking) as step:
        for k in STEEPNESSES:
            _ranking(results, rng, chance, k, n_ranking, min(n_outcomes, n_ranking), step)
    with progress.task("Experiment 4: sample size", len(SIZES) * n_sizes) as step:
        for n in SIZES:
            _size(results, rng, chance, n, n_sizes, min(n_outcomes, n_sizes), step)
    return results


def _core(results: Results, rng: np.random.Generator, chance: np.random.Generator) -> None:
    """Experiment 1: errors and ranks of the five models on one sample, for table 2.

    `rng` is the paper's generator, `chance` the one that outcomes are drawn with.
    """
    sample = draw(rng, 2.0, 5000)
    results.n_dropped = int((sample.predictions["D"] == 1.0).sum())
    for measure, found in errors(sample).items():
        for rule, values in zip(RULES, found, strict=True):
            ranks = np.argsort(np.argsort(values)) + 1
            for model, value, rank in zip(MODELS, values, ranks, strict=True):
                results.put(rule, "table_2", model, measure, value)
                results.put(rule, "table_2", model, f"{measure} rank", rank)
    results.diagrams = (sample, outcomes(chance, sample))


def _steepness(results: Results, rng: np.random.Generator, chance: np.random.Generator) -> None:
    """Experiment 2: errors of the five models at each k of the posterior sigmoid(k x).

    They go to tables 3 and 4. `rng` is the paper's generator, `chance` the one that outcomes are
    drawn with.
    """
    for k in STEEPNESSES:
        sample = draw(rng, k, 5000)
        for table, found in zip(("table_3", "table_4"), errors(sample).values(), strict=True):
            for rule, values in zip(RULES, found, strict=True):
                for model, value in zip(MODELS, values, strict=True):
                    results.put(rule, table, model, k_column(k), value)
        drawn = outcome_errors(chance, sample)
        for model, value in zip(MODELS, drawn, strict=True):
            results.put("outcomes", "by_k", model, k_column(k), value)


def _ranking(
    results: Results,
    rng: np.random.Generator,
    chance: np.random.Generator,
    k: float,
    n: int,
    n_outcomes: int,
    step: Callable[[], Any],
) -> None:
    """Experiment 3: the share of n samples in which each pair is ranked right, tables 5 and 6.

    `k` is that of the posterior sigmoid(k x). `rng` is the paper's generator, `chance` the one that
    outcomes are drawn with, in the first `n_outcomes` samples. `step` is called after each sample.
    """
    right: dict[str, list[Array]] = {"SMECE": [], "ECE": []}
    drawn = []
    for i in range(n):
        sample = draw(rng, k, 1000)
        for measure, found in errors(sample).items():
            right[measure].append(ranked_right(found))
        if i < n_outcomes:
            drawn.append(ranked_right(outcome_errors(chance, sample)))
        step()
    for measure, replications in right.items():
        shares = np.mean(replications, axis=0)
        for rule, share in zip(RULES, shares, strict=True):
            results.put(rule, "table_5", measure, k_column(k), share.mean())
            if k == 2.0:
                for (i_, j_), value in zip(PAIRS, share, strict=True):
                    results.put(rule, "table_6", pair_row(i_, j_), measure, value)
    share = np.mean(drawn, axis=0)
    results.put("outcomes", "ranking", "all ten pairs", k_column(k), share.mean())
    for (i_, j_), value in zip(PAIRS, share, strict=True):
        results.put("outcomes", "ranking", pair_row(i_, j_), k_column(k), value)


def _size(
    results: Results,
    rng: np.random.Generator,
    chance: np.random.Generator,
    n: int,
    n_replications: int,
    n_outcomes: int,
    step: Callable[[], Any],
) -> None:
    """Experiment 4: mean and standard deviation of errors over samples of n rows, tables 7 and 8.

    `rng` is the paper's generator, `chance` the one that outcomes are drawn with, in the first
    `n_outcomes` samples. `step` is called after each sample.
    """
    found: dict[str, list[Array]] = {"table_7": [], "table_8": []}
    drawn = []
    for i in range(n_replications):
        sample = draw(rng, 2.0, n)
        values = errors(sample)
        found["table_7"].append(values["SMECE"])
        found["table_8"].append(values["ECE"])
        if i < n_outcomes:
            drawn.append(outcome_errors(chance, sample))
        step()
    for table, replications in found.items():
        means, spreads = np.mean(replications, axis=0), np.std(replications, axis=0)
        for rule, mean, spread in zip(RULES, means, spreads, strict=True):
            for model, value, sd in zip(MODELS, mean, spread, strict=True):
                results.put(rule, table, model, n_column(n), value, sd)
    for model, value, sd in zip(MODELS, np.mean(drawn, axis=0), np.std(drawn, axis=0), strict=True):
        results.put("outcomes", "by_n", model, n_column(n), value, sd)
