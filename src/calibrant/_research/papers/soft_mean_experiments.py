"""The four experiments of Leznik (2026), in the order that their one generator runs through.

Three targets are measured: the posterior (SMECE), the thresholded label (the paper's ECE), and an
outcome drawn from the posterior, which the paper speaks of but does not run. The last has a
generator of its own, so that the paper's stays in step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from calibrant._api.metrics.binned import ece, soft_ece
from calibrant._core.binning import EqualWidth
from calibrant._core.progress import TaskProgress
from calibrant._core.typing import Array
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

Numbers: TypeAlias = tuple[float, ...]  # a value, or a mean and its standard deviation

AS_PRINTED = EqualWidth(10, drop_one=True)
CORRECTED = EqualWidth(10)
RULES = ("measured", "corrected")


@dataclass(frozen=True)
class Draw:
    """A sample: the posterior P(y = 1 | x), the labels 1[x >= 0], five models' predictions."""

    posterior: Array
    thresholded: Array
    predictions: dict[str, Array]


@dataclass
class Results:
    """The numbers of all experiments, by table and then by cell (row, column).

    `measured` has numbers with the paper's bins, `corrected` those with the last bin closed, and
    `outcomes` those on drawn labels. `n_dropped` counts the predictions of model D that the paper's
    bins drop in experiment 1; `diagrams` has the sample of experiment 1 and an outcome for each of
    its rows.
    """

    measured: dict[str, dict[Cell, Numbers]] = field(default_factory=dict)
    corrected: dict[str, dict[Cell, Numbers]] = field(default_factory=dict)
    outcomes: dict[str, dict[Cell, Numbers]] = field(default_factory=dict)
    n_dropped: int = 0
    diagrams: tuple[Draw, Array] | None = None

    def store(
        self, rule: str, table: str, rows: Iterable[str], column: str, *numbers: Iterable[float]
    ) -> None:
        """Store the cells of one column of a table, with one or more numbers for each of `rows`.

        `rule` is "measured", "corrected" or "outcomes".
        """
        cells = getattr(self, rule).setdefault(table, {})
        for row, *own in zip(rows, *numbers, strict=True):
            cells[row, column] = tuple(float(number) for number in own)


def draw_sample(rng: np.random.Generator, k: float, n: int) -> Draw:
    """Draw a sample of n rows with the posterior sigmoid(k x).

    x is drawn before the random model E, as in the paper, so that the numbers are the paper's.
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


def draw_outcomes(rng: np.random.Generator, sample: Draw) -> Array:
    """Draw a label for each row from the posterior, (n,)."""
    return (rng.random(sample.posterior.size) < sample.posterior).astype(np.float64)


def error_by_both_rules(
    measure: Callable[..., float], target: Array, predictions: Array
) -> tuple[float, float]:
    """An error under both rules: predictions of exactly 1 dropped, as printed, or in the last bin.

    `measure` computes the error of `predictions` against `target`.
    """
    dropped = measure(target, predictions, bins=AS_PRINTED)
    # The rules differ in predictions of exactly 1 alone, and then only by how far targets are from
    # 1.
    lost = predictions.max() == 1.0 and (target[predictions == 1.0] != 1.0).any()
    return dropped, measure(target, predictions, bins=CORRECTED) if lost else dropped


def sample_errors(sample: Draw) -> dict[str, Array]:
    """The errors of the five models on a sample, under "SMECE" and "ECE", each (2 rules, 5 models).

    The rules are those of `RULES`. SMECE is against the posterior, ECE against the thresholded
    label.
    """
    soft = [error_by_both_rules(soft_ece, sample.posterior, u) for u in sample.predictions.values()]
    hard = [error_by_both_rules(ece, sample.thresholded, u) for u in sample.predictions.values()]
    return {"SMECE": np.array(soft).T, "ECE": np.array(hard).T}


def outcome_errors(rng: np.random.Generator, sample: Draw) -> Array:
    """The ECE of each model against labels drawn from the posterior, (5,), the last bin closed."""
    labels = draw_outcomes(rng, sample)
    return np.array([ece(labels, u, bins=CORRECTED) for u in sample.predictions.values()])


def pairs_ranked_right(found: Array) -> Array:
    """Whether each of the ten pairs of models is ranked right: 1 if so, else 0.

    A pair is ranked right if the model that is earlier in A to E has the smaller error; B and C
    always are. `found` has errors (..., 5 models); the result is (..., 10 pairs).
    """
    first = [MODELS.index(i) for i, _ in PAIRS]
    second = [MODELS.index(j) for _, j in PAIRS]
    right = found[..., first] < found[..., second]
    right[..., PAIRS.index(("B", "C"))] = True  # the paper counts them as tied
    return right.astype(np.float64)


def run(
    *, seed: int, n_ranking: int, n_sizes: int, n_outcomes: int, progress: TaskProgress
) -> Results:
    """Run all four experiments.

    `n_ranking` and `n_sizes` are the replications of experiments 3 and 4; in the first `n_outcomes`
    of these, labels are also drawn from the posterior.
    """
    rng, outcome_rng = np.random.default_rng(seed), np.random.default_rng([seed, 1])
    results = Results()
    _run_core(results, rng, outcome_rng)
    _run_steepness(results, rng, outcome_rng)
    with progress.task("Experiment 3: ranking", len(STEEPNESSES) * n_ranking) as step:
        for k in STEEPNESSES:
            errors, drawn = _replicate(rng, outcome_rng, k, 1000, n_ranking, n_outcomes, step)
            _store_ranking(results, k, errors, drawn)
    with progress.task("Experiment 4: sample size", len(SIZES) * n_sizes) as step:
        for n in SIZES:
            errors, drawn = _replicate(rng, outcome_rng, 2.0, n, n_sizes, n_outcomes, step)
            _store_sizes(results, n, errors, drawn)
    return results


def _run_core(results: Results, rng: np.random.Generator, outcome_rng: np.random.Generator) -> None:
    """Run experiment 1: errors and ranks of the five models on one sample, for table 2.

    The numbers are stored in `results`. `rng` is the paper's generator; `outcome_rng` draws labels
    from the posterior.
    """
    sample = draw_sample(rng, 2.0, 5000)
    results.n_dropped = int((sample.predictions["D"] == 1.0).sum())
    for measure, found in sample_errors(sample).items():
        for rule, values in zip(RULES, found, strict=True):
            results.store(rule, "table_2", MODELS, measure, values)
            ranks = np.argsort(np.argsort(values)) + 1
            results.store(rule, "table_2", MODELS, f"{measure} rank", ranks)
    results.diagrams = (sample, draw_outcomes(outcome_rng, sample))


def _run_steepness(
    results: Results, rng: np.random.Generator, outcome_rng: np.random.Generator
) -> None:
    """Run experiment 2: errors of the five models at each k of the posterior sigmoid(k x).

    The numbers are stored in `results`, for tables 3 and 4. `rng` is the paper's generator;
    `outcome_rng` draws labels from the posterior.
    """
    for k in STEEPNESSES:
        sample = draw_sample(rng, k, 5000)
        errors = sample_errors(sample)
        for table, measure in (("table_3", "SMECE"), ("table_4", "ECE")):
            for rule, values in zip(RULES, errors[measure], strict=True):
                results.store(rule, table, MODELS, k_column(k), values)
        drawn = outcome_errors(outcome_rng, sample)
        results.store("outcomes", "by_k", MODELS, k_column(k), drawn)


def _replicate(
    rng: np.random.Generator,
    outcome_rng: np.random.Generator,
    k: float,
    n: int,
    n_replications: int,
    n_outcomes: int,
    step: Callable[[], Any],
) -> tuple[dict[str, Array], Array]:
    """The errors of the five models on samples of n rows with the posterior sigmoid(k x).

    They are those of `sample_errors`, (replications, 2 rules, 5 models), and those against labels
    that `outcome_rng` draws in the first `n_outcomes` replications, (outcomes, 5). `rng` is the
    paper's generator, and `step` is called after each sample.
    """
    errors: dict[str, list[Array]] = {"SMECE": [], "ECE": []}
    drawn = []
    for i in range(n_replications):
        sample = draw_sample(rng, k, n)
        for measure, found in sample_errors(sample).items():
            errors[measure].append(found)
        if i < n_outcomes:
            drawn.append(outcome_errors(outcome_rng, sample))
        step()
    return {measure: np.array(found) for measure, found in errors.items()}, np.array(drawn)


def _store_ranking(results: Results, k: float, errors: dict[str, Array], drawn: Array) -> None:
    """Store experiment 3: the share of samples in which pairs are ranked right, tables 5 and 6."""
    pairs = [pair_row(i, j) for i, j in PAIRS]
    for measure, found in errors.items():
        shares = pairs_ranked_right(found).mean(axis=0)
        for rule, share in zip(RULES, shares, strict=True):
            results.store(rule, "table_5", [measure], k_column(k), [share.mean()])
            if k == 2.0:
                results.store(rule, "table_6", pairs, measure, share)
    share = pairs_ranked_right(drawn).mean(axis=0)
    column = [share.mean(), *share]
    results.store("outcomes", "ranking", ["all ten pairs", *pairs], k_column(k), column)


def _store_sizes(results: Results, n: int, errors: dict[str, Array], drawn: Array) -> None:
    """Store experiment 4: mean and deviation of errors over samples of n rows, tables 7 and 8."""
    for table, measure in (("table_7", "SMECE"), ("table_8", "ECE")):
        found = errors[measure]
        for rule, mean, sd in zip(RULES, found.mean(axis=0), found.std(axis=0), strict=True):
            results.store(rule, table, MODELS, n_column(n), mean, sd)
    results.store("outcomes", "by_n", MODELS, n_column(n), drawn.mean(axis=0), drawn.std(axis=0))
