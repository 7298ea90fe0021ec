"""The theory of Lu, Wu, Hartline and Hu, computed as exactly as can be: examples, identities, and
theorems 3.3, 4.1, 4.2 and 4.3 in small worlds.

A world has a few feature values; samples of n rows are counted by feature and label, so that an
expectation over all samples is a sum over counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np

from calibrant._api.metrics.binned import ece
from calibrant._api.metrics.losses import brier_score, confidence_loss
from calibrant._api.metrics.truthful import classwise_ce, confidence_ce, lin_ce
from calibrant._core.binning import EqualWidth, LevelSets, Quantile
from calibrant._core.typing import Array
from calibrant._research.papers.folder import Columns, Erratum, Section, Table, columns_of

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


def _errors(m: int) -> dict[str, Measure]:
    """The truthful errors of (n, k) predictions in m bins of equal width, and ECE of the
    confidence, which is not truthful.
    """
    rule = EqualWidth(m)
    return {
        "LinCE (full)": lambda y, p: lin_ce(y, p, bins=rule),
        "LinCE (classwise)": lambda y, p: classwise_ce(y, p, bins=rule),
        "ConfCE corrected": lambda y, p: confidence_ce(y, p, bins=rule),
        "ECE (not truthful)": lambda y, p: ece(y, p, bins=rule, notion="confidence"),
    }


def _losses(truths: Array, h: Array) -> dict[str, Array]:
    """The expected loss of a prediction h, (m, k), at each feature value, (m,), by the error that
    it belongs to.
    """
    square = (h**2 - 2.0 * h * truths + truths).sum(axis=1)
    top = np.arange(len(h)), h.argmax(axis=1)
    c, q = h[top], truths[top]
    return {
        "LinCE (full)": square,
        "LinCE (classwise)": square / h.shape[1],
        "ConfCE corrected": 1.0 - q + c**2 - 2.0 * c * q + q,
    }


@dataclass(frozen=True)
class World:
    """Feature values with their chances, (m,), and the chances of the labels given each, (m, k)."""

    chances: Array
    truths: Array

    def recalibrated(self, h: Array) -> Array:
        """The distribution of the label given each prediction of h, (m, k)."""
        _, alike = np.unique(h, axis=0, return_inverse=True)
        same = (alike.ravel()[:, None] == alike.ravel()) * self.chances
        return same @ self.truths / same.sum(axis=1, keepdims=True)

    def risk(self, error: str, h: Array) -> float:
        """The expected loss that belongs to an error."""
        return float(self.chances @ _losses(self.truths, h)[error])

    def expected(self, error: Measure, h: Array, n: int) -> float:
        """The expected error of h over all samples of n rows."""
        q = (self.chances[:, None] * self.truths).ravel()
        cells = np.flatnonzero(q > 0)
        k, terms = self.truths.shape[1], []
        for counts in _all_counts(n, cells.size):
            weight = math.factorial(n) * math.prod(
                q[cell] ** count / math.factorial(count)
                for cell, count in zip(cells, counts, strict=True)
            )
            rows = np.repeat(cells, counts)
            terms.append(weight * error(rows % k, h[rows // k]))
        return math.fsum(terms)


def _all_counts(n: int, size: int) -> Iterator[tuple[int, ...]]:
    """Every way to put n rows into cells, as counts."""
    for bars in combinations(range(n + size - 1), size - 1):
        ends = (-1, *bars, n + size - 1)
        yield tuple(b - a - 1 for a, b in pairwise(ends))


WORLD = World(
    np.array([0.4, 0.35, 0.25]), np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.25, 0.3, 0.45]])
)


def theorem_3_3() -> Columns:
    """Theorem 3.3: columns of the expected confidence error of the truth and of the best of all
    misreports on a grid, for two rows, over all outcomes; and how far the expectation of any report
    is from the formula of the proof.
    """
    truths, k = np.array([[0.3, 0.2, 0.5], [0.3, 0.25, 0.45]]), 3
    grid = [np.array(p) / 3 for p in product(range(4), repeat=k) if sum(p) == 3]
    outcomes = [(truths[0, a] * truths[1, b], [a, b]) for a, b in product(range(k), repeat=2)]
    rows = []
    for name, corrected in (("ConfCE corrected", True), ("ConfCE (not truthful)", False)):
        for m in (2, 0):
            rule = EqualWidth(m) if m else LevelSets()
            found, off = [], []
            for reports in (truths, *(np.array(pair) for pair in product(grid, repeat=2))):
                terms = (
                    q * confidence_ce(y, reports, corrected=corrected, bins=rule)
                    for q, y in outcomes
                )
                found.append(math.fsum(terms))
                off.append(abs(found[-1] - _proof_of_3_3(reports, truths, m, corrected)))
            row = {"error": name, "bins": m or "level sets", "E of the truth": found[0]}
            row |= {"least E of a misreport": min(found[1:]), "margin": min(found[1:]) - found[0]}
            rows.append({**row, "bias from the proof": max(off)})
    return columns_of(rows)


def _proof_of_3_3(reports: Array, truths: Array, m: int, corrected: bool) -> float:
    """The expected confidence error as the proof has it: squared biases of m bins of equal width
    (0: of level sets), plus 1 - q^2 of the selected classes, or q (1 - q) without the correction.
    """
    top = np.arange(len(reports)), reports.argmax(axis=1)
    c, q = reports[top], truths[top]
    cells = np.minimum(np.floor(c * m), m - 1) if m else c
    biases = sum(float((c - q)[cells == cell].sum()) ** 2 for cell in set(cells))
    rest = 1.0 - q**2 if corrected else q * (1.0 - q)
    return (biases + float(rest.sum())) / len(q) ** 2


def limits_of_3_3(seed: int, n_draws: int) -> Columns:
    """Theorem 3.3's limit: columns of the mean corrected error of a calibrated and of an
    overconfident predictor, with Monte Carlo margins, and of each times the number of bins.
    """
    rng, rows = np.random.default_rng([seed, 33]), []
    for n in (100, 1000, 10_000):
        m = round(n ** (1 / 3))
        found: dict[str, list[float]] = {"calibrated": [], "overconfident": []}
        for _ in range(n_draws):
            p = rng.dirichlet([1.0, 1.0, 1.0], n)
            y = (p.cumsum(axis=1)[:, :-1] < rng.random((n, 1))).sum(axis=1)
            sharp = p**2 / (p**2).sum(axis=1, keepdims=True)
            for name, predicted in zip(found, (p, sharp), strict=True):
                found[name].append(confidence_ce(y, predicted, bins=Quantile(m)))
        row: dict[str, Any] = {"n": n, "bins": m}
        for name, values in found.items():
            margin = 1.96 * np.std(values) / math.sqrt(n_draws)
            row[name] = f"{np.mean(values):.3g} ± {margin:.1g}"
            row[f"{name}, times bins"] = f"{m * np.mean(values):.3g} ± {m * margin:.1g}"
        rows.append(row)
    return columns_of(rows)


def theorem_4_1(n: int = 2) -> Columns:
    """Theorem 4.1: columns of the expected errors of a calibrated predictor f and of g, a
    calibrated one that sees f through noise, and of their difference, beside that of the losses
    over n.
    """
    kernel = np.array([[0.9, 0.1], [0.3, 0.7], [0.2, 0.8]])
    # A feature is now a pair of what f sees and what the noise made of it, which no label sees.
    wide = World((WORLD.chances[:, None] * kernel).ravel(), WORLD.truths.repeat(2, axis=0))
    f, g = wide.truths, wide.recalibrated(np.tile(np.eye(2), (3, 1)))
    return _compare_expected_errors(wide, [("g", f, g)], n, (1, 5), ("E[f]", "E[g]"))


def theorem_4_2(n: int = 3) -> Columns:
    """Theorem 4.2: columns of the expected errors of wrong predictors h after recalibration and as
    they are, and of their difference.
    """
    sharp = WORLD.truths**3 / (WORLD.truths**3).sum(axis=1, keepdims=True)
    alike = np.array([[0.1, 0.2, 0.7], [0.8, 0.1, 0.1], [0.8, 0.1, 0.1]])
    # Values apart by a hair share a bin, and tell the features apart all the same.
    near = np.array([[0.41, 0.31, 0.28], [0.4, 0.32, 0.28], [0.4, 0.31, 0.29]])
    predictors = (
        ("overconfident", sharp),
        ("wrong, two of them equal", alike),
        ("almost equal", near),
    )
    listed = [(name, WORLD.recalibrated(h), h) for name, h in predictors]
    return _compare_expected_errors(WORLD, listed, n, (5,), ("E[recalibrated]", "E[h]"))


def _compare_expected_errors(
    world: World,
    listed: list[tuple[str, Array, Array]],
    n: int,
    bins: tuple[int, ...],
    titles: tuple[str, str],
) -> Columns:
    """Columns of the expected errors of two predictors, of which a theorem says that the first has
    none larger: a row for each error, pair (with its name) and rule of bins.
    """
    rows = []
    for error, (name, first, second), m in product(_errors(1), listed, bins):
        measure = _errors(m)[error]
        values = [world.expected(measure, h, n) for h in (first, second)]
        row: dict[str, Any] = {"error": error, "predictor": name, "bins": m}
        row |= dict(zip(titles, values, strict=True)) | {"margin": values[1] - values[0]}
        known = error in _losses(world.truths, first)
        gap = world.risk(error, second) - world.risk(error, first) if known else None
        rows.append({**row, "gap of losses / n": None if gap is None else gap / n})
    return columns_of(rows)


def theorem_4_3(sizes: tuple[int, ...] = (1, 3, 9, 12)) -> Columns:
    """Theorem 4.3: columns of the bias of an informed predictor f that is too far from 0 and 1, of
    the gap of its loss to that of g, a calibrated constant, and of their errors times n.
    """
    world = World(np.array([0.5, 0.5]), np.array([[0.8, 0.2], [0.2, 0.8]]))
    f, g = np.array([[0.6, 0.4], [0.4, 0.6]]), np.full((2, 2), 0.5)
    rows = []
    for error, n in product(list(_errors(1))[1:3], sizes):
        measure = _errors(5)[error]
        left = [world.risk(error, world.recalibrated(h)) for h in (f, g)]
        times_n = [n * world.expected(measure, h, n) for h in (f, g)]
        bias, gap = times_n[0] - left[0], left[1] - left[0]
        row = {"error": error, "n": n, "bias of f": bias, "gap of losses": gap}
        row |= {"covered": "yes" if bias <= gap + 1e-12 else "no"}
        row |= {"n E[f]": times_n[0], "n E[g]": times_n[1], "margin": times_n[1] - times_n[0]}
        rows.append(row)
    return columns_of(rows)


def section_on_orders(seed: int, quick: bool) -> Section:
    """The section on the theorems, with a table for each."""
    return Section(
        "Which orders truthful errors preserve, in small worlds",
        (
            "Theorem 3.3: with its correction, no misreport has a smaller expected confidence "
            "error than the truth. Without it, a misreport does: it selects a less likely class, "
            "whose outcome varies less.",
            "Theorem 4.1: if a calibrated predictor sees another through noise, its expected "
            "error is not smaller. The margin is the gap of their losses over n. Theorem 4.2: "
            "recalibration never raises the expected error. Both fail for ECE, which is not "
            "truthful.",
            "Theorem 4.3: if the losses of two predictors after recalibration differ by more than "
            "the bias of the first, the first does not have a larger error. The bias grows with "
            "n, so an order may be covered with few rows but not with many. compare() checks this "
            "for your own predictors (order_bias).",
            "All expectations are sums over every sample, except for the limit of theorem 3.3, "
            "whose margins come from a simulation.",
        ),
        (
            Table("theorem_3_3", "Theorem 3.3: two rows of three classes.", theorem_3_3()),
            Table(
                "theorem_3_3_limits",
                "Theorem 3.3's limit: mean corrected errors in quantile bins.",
                limits_of_3_3(seed, 40 if quick else 200),
            ),
            Table(
                "theorem_4_1", "Theorem 4.1: f, and g, which sees f through noise.", theorem_4_1()
            ),
            Table("theorem_4_2", "Theorem 4.2: before and after recalibration.", theorem_4_2()),
            Table("theorem_4_3", "Theorem 4.3: the bias against the gap.", theorem_4_3()),
        ),
    )


SOUNDNESS = Erratum(
    "1",
    "theorems 3.1 and 3.3, soundness in the limit",
    "in m quantile bins, with m and n / m growing, the expected squared error of a miscalibrated "
    "predictor stays above 0",
    "no bin holds more than n / m rows (up to one), so the error of every predictor is at most "
    "about 1 / m and tends to 0. Multiplied by m, a rescaling that section 2 allows, it stays "
    "above 0",
)
