"""The examples and identities of Lu, Wu, Hartline and Hu, computed as exactly as can be."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from calibrant._api.metrics.binned import ece
from calibrant._api.metrics.losses import brier_score, confidence_loss
from calibrant._api.metrics.truthful import classwise_ce, confidence_ce, lin_ce
from calibrant._core.binning import EqualWidth, LevelSets
from calibrant._core.typing import Array
from calibrant._research.papers.folder import Columns, columns_of

Measure = Callable[[Any, Any], float]


def example_1_1(seed: int, n_draws: int, sizes: tuple[int, ...] = (100, 1000, 10_000)) -> Columns:
    """Example 1.1: columns of the mean ECE of predicting the truth, and of predicting 1/2 for all.

    Row i of n has P(y = 1) = i / n. Every distinct prediction is a bin; labels are drawn `n_draws`
    times at each n of `sizes`.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for n in sizes:
        chances = np.arange(1, n + 1) / n
        half = np.full(n, 0.5)
        truth, constant = [], []
        for _ in range(n_draws):
            y = (rng.random(n) < chances).astype(int)
            truth.append(ece(y, chances, bins=LevelSets()))
            constant.append(ece(y, half, bins=LevelSets()))
        rows.append(
            {
                "n": n,
                "truth": float(np.mean(truth)),
                "constant 1/2": float(np.mean(constant)),
                "constant, in theory": math.sqrt(1.0 / (3.0 * math.pi * n)),
            }
        )
    return columns_of(rows)


def example_c_1(n: int = 50, k: int = 10) -> Columns:
    """Example C.1: columns of expected confidence errors of the truth and of a uniform prediction.

    Class 1 has the probability 1/2, class 0 only 1/k. All n rows are alike, so that an error
    depends on the number of hits (right top labels) alone, which is binomial.
    """
    truth = np.zeros(k)
    truth[1], truth[0], truth[2] = 0.5, 1.0 / k, 0.5 - 1.0 / k

    def expected(prediction: Array, top: int, corrected: bool) -> float:
        """The expected error of a prediction, whose top class is `top`, over numbers of hits."""
        rows, chance = np.tile(prediction, (n, 1)), float(truth[top])
        terms = []
        for hits in range(n + 1):
            labels = np.where(np.arange(n) < hits, top, 3)
            weight = math.comb(n, hits) * chance**hits * (1.0 - chance) ** (n - hits)
            terms.append(weight * confidence_ce(labels, rows, corrected=corrected))
        return math.fsum(terms)

    uniform = np.full(k, 1.0 / k)
    return {
        "error": ["ConfCE", "ConfCE corrected"],
        "truth": [expected(truth, 1, False), expected(truth, 1, True)],
        "uniform prediction": [expected(uniform, 0, False), expected(uniform, 0, True)],
        "smaller error": ["the misreport", "the truth"],
    }


def _outcomes(chances: Array) -> list[tuple[float, Array]]:
    """Every possible row of 0/1 labels with its probability; `chances` are P(y = 1), (n,)."""
    return [
        (
            math.prod(p if y else 1.0 - p for y, p in zip(labels, chances, strict=True)),
            np.array(labels),
        )
        for labels in product((0, 1), repeat=len(chances))
    ]


def theorem_3_1(seed: int, n: int = 8) -> Columns:
    """Theorem 3.1: columns of E[LinCE] over all outcomes of n rows, beside bias plus variance.

    There is a row for each number of bins, with random truth and predictions; the difference should
    be 0.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for m in (1, 2, 4):
        chances, predictions = rng.random(n), rng.random(n)
        rule = EqualWidth(m)
        expected = math.fsum(q * lin_ce(y, predictions, bins=rule) for q, y in _outcomes(chances))
        # With the chances themselves as soft labels, only the bias is left.
        bias = lin_ce(chances, predictions, bins=rule)
        variance = float((chances * (1.0 - chances)).sum()) / n**2
        difference = expected - bias - variance
        values = {"bias": bias, "variance": variance, "difference": difference}
        rows.append({"bins": m, "E[LinCE]": expected, **values})
    return columns_of(rows)


def lemma_d_1(n: int = 3) -> Columns:
    """Lemma D.1: columns of n times a calibrated predictor's expected error, and of its loss.

    There is a row for each of three pairs of error and expected loss. All outcomes of n rows are
    summed over; the difference should be 0.
    """
    chances = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.3, 0.3, 0.4]])
    k = chances.shape[1]
    pairs: dict[str, tuple[Measure, Measure]] = {
        "LinCE (full) and Brier": (
            partial(lin_ce, bins=EqualWidth(5)),
            brier_score,
        ),
        "LinCE (classwise) and Brier / k": (
            partial(classwise_ce, bins=EqualWidth(5)),
            lambda y, p: brier_score(y, p) / k,
        ),
        "ConfCE corrected and confidence loss": (
            partial(confidence_ce, bins=EqualWidth(5)),
            confidence_loss,
        ),
    }
    atoms = [(chances[x, y] / len(chances), x, y) for x in range(len(chances)) for y in range(k)]
    rows = []
    for name, (error, loss) in pairs.items():
        terms = []
        for drawn in product(atoms, repeat=n):
            weight = math.prod(q for q, _, _ in drawn)
            predictions = chances[[x for _, x, _ in drawn]]
            labels = [y for _, _, y in drawn]
            terms.append(weight * error(labels, predictions))
        left = n * math.fsum(terms)
        right = math.fsum(q * loss([y], chances[[x]]) for q, x, y in atoms)
        values = {"n E[error]": left, "E[loss]": right, "difference": left - right}
        rows.append({"identity": name, **values})
    return columns_of(rows)
